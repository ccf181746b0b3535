/* emu/ops: the list of internal operations. The .inc files hold each one once: here they become the enum, in isa_*.c the
 * handlers and the table, once per instruction set of the host. */
#pragma once

#define OP(name, ...) OP_##name,
enum op {
    OP_none,
#include "emu/ops_family.inc"
#include "emu/ops_int.inc"
#include "emu/ops_float.inc"
#include "emu/ops_half.inc"
#include "emu/ops_move.inc"
#include "emu/ops_memory.inc"
#include "emu/ops_flow.inc"
    OP_COUNT
};
#undef OP

/* compare codes of setp: aux */
enum compare { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN };
/* how setp joins its result with operand c: flags */
enum { JOIN_NONE, JOIN_AND, JOIN_OR, JOIN_XOR, JOIN_MASK = 3, JOIN_NEGATED = 4 };
/* load and store kinds: memory element -> register lane */
enum move_kind {
    MOVE_16,
    MOVE_32,
    MOVE_64,
    MOVE_128,
    MOVE_U8_16,
    MOVE_S8_16,
    MOVE_U8_32,
    MOVE_S8_32,
    MOVE_U16_32,
    MOVE_S16_32,
    MOVE_U8_64,
    MOVE_S8_64,
    MOVE_U16_64,
    MOVE_S16_64,
    MOVE_U32_64,
    MOVE_S32_64
};
/* value kinds of cvt: how a lane is read from or written to its slot */
enum value_form {
    FORM_U8,
    FORM_S8,
    FORM_U16,
    FORM_S16,
    FORM_U32,
    FORM_S32,
    FORM_U64,
    FORM_S64,
    FORM_F16,
    FORM_BF16,
    FORM_F32,
    FORM_F64,
    FORM_TF32,
    FORM_E4M3,
    FORM_E5M2, /* E4M3 to S2F6: at most 8 bits */
    FORM_E2M1,
    FORM_E2M3,
    FORM_E3M2,
    FORM_UE8M0,
    FORM_S2F6
};
enum round_mode { ROUND_N, ROUND_Z, ROUND_M, ROUND_P, ROUND_A };
#define NO_REF 0xffffffffu

/* special registers: mov_special's aux */
enum special {
    SPECIAL_TID_X,
    SPECIAL_TID_Y,
    SPECIAL_TID_Z,
    SPECIAL_NTID_X,
    SPECIAL_NTID_Y,
    SPECIAL_NTID_Z,
    SPECIAL_CTAID_X,
    SPECIAL_CTAID_Y,
    SPECIAL_CTAID_Z,
    SPECIAL_NCTAID_X,
    SPECIAL_NCTAID_Y,
    SPECIAL_NCTAID_Z,
    SPECIAL_LANEID,
    SPECIAL_WARPID,
    SPECIAL_NWARPID,
    SPECIAL_SMID,
    SPECIAL_NSMID,
    SPECIAL_GRIDID,
    SPECIAL_LANEMASK_EQ,
    SPECIAL_LANEMASK_LE,
    SPECIAL_LANEMASK_LT,
    SPECIAL_LANEMASK_GE,
    SPECIAL_LANEMASK_GT,
    SPECIAL_CLOCK,
    SPECIAL_CLOCK_HI,
    SPECIAL_CLOCK64,
    SPECIAL_GLOBALTIMER,
    SPECIAL_GLOBALTIMER_LO,
    SPECIAL_GLOBALTIMER_HI,
    SPECIAL_DYNAMIC_SMEM,
    SPECIAL_TOTAL_SMEM,
    SPECIAL_CLUSTERID_X,
    SPECIAL_CLUSTERID_Y,
    SPECIAL_CLUSTERID_Z,
    SPECIAL_NCLUSTERID_X,
    SPECIAL_NCLUSTERID_Y,
    SPECIAL_NCLUSTERID_Z,
    SPECIAL_CLUSTER_CTAID_X,
    SPECIAL_CLUSTER_CTAID_Y,
    SPECIAL_CLUSTER_CTAID_Z,
    SPECIAL_CLUSTER_NCTAID_X,
    SPECIAL_CLUSTER_NCTAID_Y,
    SPECIAL_CLUSTER_NCTAID_Z,
    SPECIAL_CLUSTER_CTARANK,
    SPECIAL_CLUSTER_NCTARANK,
    SPECIAL_IS_EXPLICIT_CLUSTER,
    SPECIAL_ENVREG0,
    SPECIAL_ENVREG1,
    SPECIAL_ENVREG2,
    SPECIAL_AGGREGATE_SMEM,
    SPECIAL_RESERVED_BEGIN,
    SPECIAL_RESERVED_END,
    SPECIAL_RESERVED_1,
    SPECIAL_RESERVED_CAP,
    SPECIAL_GRAPH_EXEC,
    SPECIAL_COUNT
};
extern const char *const special_names[SPECIAL_COUNT];
