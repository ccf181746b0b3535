/* emu/run/jit: what compiles one operation (jit_lanes.c), and stretches of them (jit.c). */
#ifndef BENCH_EMU_RUN_JIT_H
#define BENCH_EMU_RUN_JIT_H

#include "emu/exec.h"
#include "emu/run/x86.h"

enum { FRAME = 2, CONSTANTS = 1, WARP = 7, INSN = 6, EAX = 0 }; /* rdx, rcx: warp.base; rdi, rsi: a handler's arguments */
enum { CACHE = 27, T0 = 27, T1, T2, T3, NAN_REG };              /* vectors: below, registers of the stretch */
enum { K_NAN = 1, K0 = 2, K1 = 3, K_FIRST = 4, K_COUNT = 4 };
#define SEEN_MAX 96

struct value { /* a PTX register: this half's lanes in vector registers `reg`; of a predicate reg[0] is a mask register */
    uint32_t ref;
    uint8_t bytes; /* of a lane; 0: a predicate */
    uint8_t reg[2];
    bool dirty;
    uint32_t used; /* by this operation last */
};
struct compiler {
    struct machine_code code;
    struct value values[CACHE + K_COUNT];
    struct {
        uint32_t ref, end;
    } seen[SEEN_MAX];
    int value_count, seen_count;
    uint32_t busy, busy_masks; /* registers in use */
    uint32_t now;              /* number of the operation */
    int half;
    bool exact;  /* each NaN is made canonical at once */
    bool asked;  /* K_NAN holds something */
    int pending; /* a float result that is still to be looked at; -1: none */
    bool full;   /* the operation does not fit */
};

/* Can the operation be part of a stretch? */
bool jit_can(const struct insn *ip);
/* Adds its code for the half in hand. `full`: it does not fit, and what was added is to be dropped. */
void jit_operation(struct compiler *j, const struct insn *ip);
/* All float results are looked at. */
void jit_ask_pending(struct compiler *j);

static inline int base_of(uint32_t ref)
{
    return ref & 1 ? CONSTANTS : FRAME;
}
static inline int vectors_of(const struct value *v)
{
    return v->bytes == 8 ? 2 : 1;
}

#endif
