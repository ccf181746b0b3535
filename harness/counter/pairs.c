#include "counter/pairs.h"
#include <stddef.h>

#define CONFLICTS(op) "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" op ".sum"
#define WAVEFRONTS(op) "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_" op ".sum"
#define GLOBAL(what, op) "l1tex__t_" what "_pipe_lsu_mem_global_op_" op ".sum"
#define LOCAL(op) "l1tex__t_sectors_pipe_lsu_mem_local_op_" op ".sum"
#define THREADS(op) "smsp__sass_thread_inst_executed_op_" op "_pred_on.sum"
#define YES true, ""
#define NO(why) false, why

/* The l1tex counters of global loads include cp.async, those of shared loads its bookkeeping; where that matters, the counter from SASS
 * patching is used. */
const struct counter_pair counter_pairs[] = {
    {"emu.warp_instructions", {{1, "smsp__inst_executed.sum"}}, NO("PTX instructions and machine instructions differ")},
    {"emu.branches",
     {{1, "smsp__inst_executed_op_branch.sum"}},
     NO("the compiler unrolls loops and predicates short branches; exits are machine branches")},
    {"emu.divergent_branches", {{1, "smsp__sass_branch_targets_threads_divergent.sum"}}, NO("short branches become predicates")},
    {"emu.flop_f32",
     {{1, THREADS("fadd")}, {1, THREADS("fmul")}, {2, THREADS("ffma")}},
     NO("the compiler removes operations of lanes whose result is not stored")},
    {"emu.tensor_ops", {{1, "sm__inst_executed_pipe_tensor.sum"}, {-1, "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum"}}, YES},
    {"emu.global_requests_ld", {{1, "smsp__sass_inst_executed_op_global_ld.sum"}}, YES},
    {"emu.global_requests_st", {{1, GLOBAL("requests", "st")}}, YES},
    {"emu.global_requests_atomic", {{1, GLOBAL("requests", "atom")}, {1, GLOBAL("requests", "red")}}, YES},
    {"emu.global_sectors_ld", {{1, "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum"}}, YES},
    {"emu.global_sectors_st", {{1, GLOBAL("sectors", "st")}}, YES},
    {"emu.global_sectors_atomic", {{1, GLOBAL("sectors", "atom")}, {1, GLOBAL("sectors", "red")}}, YES},
    {"emu.async_pieces", {{1, "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"}}, YES},
    {"emu.warp_load_shared",
     {{1, "smsp__sass_inst_executed_op_shared_ld.sum"}, {1, "smsp__sass_inst_executed_op_ldsm.sum"}},
     NO("the compiler merges adjacent loads; wmma.load is several ldmatrix")},
    {"emu.warp_store_shared",
     {{1, "smsp__sass_inst_executed_op_shared_st.sum"}, {1, "smsp__sass_inst_executed_op_shared_stsm.sum"}},
     NO("wmma.store is several stores")},
    {"emu.shared_wavefronts_ld",
     {{1, WAVEFRONTS("ld")}, {1, WAVEFRONTS("ldsm")}},
     NO("the compiler merges adjacent loads; wmma.load is several ldmatrix")},
    {"emu.shared_wavefronts_st",
     {{1, WAVEFRONTS("st")}, {1, WAVEFRONTS("ldgsts")}, {1, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"}},
     NO("stores of other instructions than the machine's; bulk copies (TMA) are not counted here")},
    {"emu.shared_bank_conflicts",
     {{1, CONFLICTS("ld")}, {1, CONFLICTS("st")}, {1, CONFLICTS("ldgsts")}, {1, CONFLICTS("atom")}},
     NO("the compiler merges adjacent loads; the hardware counts a few more conflicts of asynchronous writes")},
    {"emu.warp_load_local", {{1, "smsp__inst_executed_op_local_ld.sum"}}, YES},
    {"emu.warp_store_local", {{1, "smsp__inst_executed_op_local_st.sum"}}, YES},
    {"emu.local_sectors", {{1, LOCAL("ld")}, {1, LOCAL("st")}}, YES},
    {"emu.unique_bytes_read",
     {{1, "dram__bytes_read.sum"}},
     NO("DRAM reads whole lines, the kernel's code and parameters, and evicted data again")},
    {NULL, {{0, NULL}}, NO("")},
};
