/* emu/decode/flow: basic blocks of a PTX function, the order in which they should run, and the slots of its registers.
 *
 * NVVM's PTX is in SSA form, with thousands of virtual registers. Liveness and a linear scan map them to few slots of a frame. A slot holds
 * 32 lanes (16, 32, 64 or 128 bit) or one predicate mask. Diverged lanes can share slots, because every write is masked and each lane
 * follows one path. */
#pragma once

#include "device/ptx/ptx.h"

struct graph_block {
    int first, end; /* instructions */
    int *next;      /* successors */
    int next_count;
    int order; /* loop-aware topological */
};
struct graph {
    struct graph_block *blocks;
    int count;
    int *block_of; /* by instruction, instr_count + 1 entries */
};
/* All memory comes from the arena. */
bool graph_build(struct arena *arena, const struct ptx_module *m, const struct ptx_function *f, struct graph *g, struct error *err);

/* How many leading operands an instruction writes, and whether those are also read. */
int instr_writes(const struct ptx_instr *in, bool *also_read);
/* Does one of its operands read the register, also as a part of an address or a list? Its guard is not asked. */
bool instr_reads(const struct ptx_instr *in, int reg);
bool instr_ends_block(const struct ptx_instr *in);

struct slots {
    uint32_t *offset; /* by register: byte offset in the frame */
    uint32_t bytes;
    int *undefined; /* registers that may be read before they are written */
    int undefined_count;
};
#define SLOT_SCRATCH 4096u /* the first bytes of every frame: for multi-step instructions */
bool slots_assign(struct arena *arena, const struct ptx_module *m, const struct ptx_function *f, const struct graph *g, struct slots *out,
                  struct error *err);
int slot_bytes(enum ptx_type t); /* 4 for a predicate, else 32 lanes; 8-bit registers take 16 bits */
