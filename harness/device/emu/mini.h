/* device/emu/mini: a small interpreter: decoded instructions, warps whose lanes part and meet by lowest instruction first. */
#ifndef BENCH_DEVICE_EMU_MINI_H
#define BENCH_DEVICE_EMU_MINI_H

#include "device/device.h"
#include "device/emu/ptx.h"
#include <stdatomic.h>

#define SHARED_WINDOW 0x00007a0000000000ull
#define LOCAL_WINDOW 0x00007b0000000000ull
#define PARAM_WINDOW 0x00007c0000000000ull
#define GLOBAL_BASE 0x00007d0000000000ull
#define WINDOW_BYTES 0x0000010000000000ull

enum code {
    C_BAD, C_MOV, C_PACK, C_UNPACK, C_SPECIAL, C_ADD, C_SUB, C_MUL, C_MUL_HI, C_MUL_WIDE, C_MAD, C_MAD_WIDE, C_MAD_HI, C_FMA, C_DIV, C_REM, C_MIN, C_MAX, C_ABS, C_NEG, C_AND, C_OR, C_XOR,
    C_NOT, C_SHL, C_SHR, C_SETP, C_SELP, C_CVT, C_LD, C_ST, C_BRA, C_BAR, C_RET, C_ATOM, C_SHFL, C_VOTE, C_ACTIVEMASK, C_POPC, C_CLZ, C_BREV, C_BFIND, C_BFE, C_BFI, C_PRMT, C_SHF,
    C_RCP, C_SQRT, C_RSQRT, C_EX2, C_LG2, C_SIN, C_COS, C_TANH, C_COPYSIGN, C_TRAP, C_NOP, C_CVTA, C_LOP3, C_DP4A, C_MATCH, C_REDUX, C_ASSERT
};
enum counter {
    N_WARP, N_THREAD, N_FMA, N_FLOAT, N_INT, N_CONVERT, N_MOVE, N_LOAD_GLOBAL, N_STORE_GLOBAL, N_LOAD_SHARED, N_STORE_SHARED, N_BRANCH, N_DIVERGENT, N_BARRIER, N_ATOMIC,
    N_REQ_LD, N_REQ_ST, N_SEC_LD, N_SEC_ST, N_IDEAL_LD, N_IDEAL_ST, N_WAVE_LD, N_WAVE_ST, N_WIDEAL_LD, N_WIDEAL_ST, N_CONFLICT, N_FLOP32, N_FLOP16, N_COUNT
};
struct ins {
    uint8_t code, type, type2, space, vec, nsrc, ndst, compare, join, round;
    bool sat, ftz, wide, neg_guard, volatile_;
    int guard;          /* byte offset of the predicate's slot, -1 none */
    int dst[8], src[8]; /* byte offsets into the frame; -1 sink */
    bool src_neg[2];
    int64_t imm;
    int target, klass;
    const struct ptx_instr *from;
};
struct kernel {
    const struct ptx_function *function;
    struct ins *code;
    int count;
    uint32_t frame_bytes, const_at, const_bytes, shared_bytes, local_bytes;
    uint8_t *constants;
    int const_room;
    struct param *params;
    int param_count;
    size_t param_bytes;
    bool float_atomics;
};
struct region { uint64_t base; size_t bytes; uint8_t *host, *touched_read, *touched_written; char label[64]; };
struct mini {
    struct region *regions;
    int count;
    uint64_t next;
    uint64_t totals[N_COUNT];
    struct device_report reports[16];
    int report_count;
    struct line_count { int line; uint64_t n[N_COUNT]; } *lines;
    int line_count;
    atomic_flag lock;
};
struct warp {
    uint8_t *frame;
    uint8_t *local;
    uint32_t alive, at_bar;
    int pc;
    uint32_t mask;
    struct { int pc; uint32_t mask; } wait[33];
    int waits, id;
    bool done;
};
struct block {
    struct mini *m;
    const struct kernel *k;
    const struct device_launch *launch;
    uint8_t *shared;
    size_t shared_bytes;
    uint32_t index[3];
    struct warp *warps;
    int warp_count, threads;
    uint64_t *n;           /* counters of this thread */
    uint64_t *per_ins;     /* [ins][N_COUNT] of this thread */
    atomic_int *stop;
    double deadline;
    uint64_t steps;
};

/* Lanes that are on; a lane array of the destination and of a source. */
#define LANES for (int l = 0; l < 32; l++) if (mask >> l & 1)
#define D(T) ((T *)(void *)(w->frame + in->dst[0]))
#define S(T, i) ((const T *)(const void *)(w->frame + in->src[i]))

bool mini_decode(struct ptx_module *module, const struct ptx_function *f, struct kernel *k, struct error *err);
void mini_run_block(struct block *b, uint8_t *arena);
size_t mini_block_bytes(const struct kernel *k, const struct device_launch *launch);
struct region *mini_region(struct mini *m, uint64_t address);
/* false: reported, and the launch stops */
bool mini_memory(struct block *b, struct warp *w, const struct ins *in, uint32_t mask, bool store);
void mini_report(struct block *b, const struct warp *w, const struct ins *in, int lane, const char *kind, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Everything that touches registers only. */
void mini_alu(struct block *b, struct warp *w, const struct ins *in, uint32_t mask);
uint32_t mini_pred(const struct warp *w, int slot);
double mini_now(void);
extern const char *const mini_names[N_COUNT];

#endif
