#include "counter/pairs.h"
#include <stddef.h>
#include <string.h>

#define SHARED "l1tex__data_pipe_lsu_wavefronts_mem_shared"
#define CONFLICTS "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
#define GLOBAL(what, op) "l1tex__t_" what "_pipe_lsu_mem_global_op_" op ".sum"
#define LOCAL(op) "l1tex__t_sectors_pipe_lsu_mem_local_op_" op ".sum"
#define YES true, ""
#define NO(why) false, why

const struct counter_pair counter_pairs[] = {
    {"emu.warp_instructions", {{1, "smsp__inst_executed.sum"}}, NO("PTX instructions against machine instructions")},
    {"emu.branches", {{1, "smsp__inst_executed_op_branch.sum"}}, NO("the compiler unrolls loops and predicates short branches")},
    {"emu.divergent_branches", {{1, "smsp__sass_branch_targets_threads_divergent.sum"}}, NO("short branches become predicates")},
    {"emu.flop_f32",
     {{1, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"},
      {1, "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"},
      {2, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"}},
     YES},
    {"emu.warp_tensor", {{1, "sm__inst_executed_pipe_tensor_op_hmma.sum"}, {1, "sm__inst_executed_pipe_tensor_op_gmma.sum"}}, YES},
    {"emu.global_requests_ld", {{1, GLOBAL("requests", "ld")}}, YES},
    {"emu.global_requests_st", {{1, GLOBAL("requests", "st")}}, YES},
    {"emu.global_requests_atomic", {{1, GLOBAL("requests", "atom")}, {1, GLOBAL("requests", "red")}}, YES},
    {"emu.global_sectors_ld", {{1, GLOBAL("sectors", "ld")}}, YES},
    {"emu.global_sectors_st", {{1, GLOBAL("sectors", "st")}}, YES},
    {"emu.global_sectors_atomic", {{1, GLOBAL("sectors", "atom")}, {1, GLOBAL("sectors", "red")}}, YES},
    {"emu.async_sectors", {{1, "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"}}, YES},
    {"emu.warp_load_shared", {{1, "smsp__inst_executed_op_shared_ld.sum"}, {1, "smsp__inst_executed_op_ldsm.sum"}}, YES},
    {"emu.warp_store_shared", {{1, "smsp__inst_executed_op_shared_st.sum"}}, YES},
    {"emu.shared_wavefronts_ld", {{1, SHARED "_op_ld.sum"}}, YES},
    {"emu.shared_wavefronts_st", {{1, SHARED "_op_st.sum"}, {1, SHARED "_op_atom.sum"}, {1, "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"}}, YES},
    {"emu.shared_bank_conflicts", {{1, CONFLICTS "_op_ld.sum"}, {1, CONFLICTS "_op_st.sum"}}, YES},
    {"emu.warp_load_local", {{1, "smsp__inst_executed_op_local_ld.sum"}}, YES},
    {"emu.warp_store_local", {{1, "smsp__inst_executed_op_local_st.sum"}}, YES},
    {"emu.local_sectors", {{1, LOCAL("ld")}, {1, LOCAL("st")}}, YES},
    {"emu.unique_bytes_read", {{1, "dram__bytes_read.sum"}}, NO("L2 keeps what the launch before left, and reads whole lines")},
    {NULL, {{0, NULL}}, NO("")},
};

bool counter_gated(const char *emu)
{
    for (const struct counter_pair *p = counter_pairs; p->emu; p++)
        if (!strcmp(p->emu, emu))
            return p->gated;
    return false;
}
