/* emu/run/jit: what compiles one operation (jit_lanes.c, jit_loads.c), and stretches of them (jit.c). */
#pragma once

#include "emu/exec.h"
#include "emu/run/x86.h"

enum { FRAME = 2, CONSTANTS = 1, WARP = 7, INSN = 6, EAX = 0 }; /* rdx, rcx: warp.base; rdi, rsi: a handler's arguments */
/* Vectors: below CACHE, registers of the stretch. T0 and T1: what a load has read. */
enum { CACHE = 25, T4 = 25, T0, T1, T2, T3, NAN_REG };
enum { STRETCH_MAX = 256 }; /* operations */
enum { K_LOOK = 1, K0 = 2, K1 = 3, K_FIRST = 4, K_COUNT = 4 };

struct value { /* half of a PTX register's lanes, in vector registers `reg`; of a predicate reg[0] is a mask register */
    uint32_t ref;
    uint8_t bytes; /* of a lane; 0: a predicate */
    uint8_t half;
    uint8_t reg[2];
    bool dirty;    /* the frame does not hold it yet */
    bool raw;      /* f32 whose NaN may be any: made canonical before anything but arithmetic sees it */
    bool dead;     /* written before it is read again: the frame need not get it */
    uint32_t next; /* the operation that reads it next; JIT_NEVER: none of the stretch */
    uint32_t used; /* by this step last */
};
#define JIT_NEVER 0xffffffffu
struct jit_access {                /* of a register by an operation of the stretch, in order */
    uint32_t ref, operation, next; /* next: as struct value has it, behind this access */
    uint8_t bytes;
    bool write, dead;
    bool scalar; /* read from the frame, but for one lane that may stand in a vector */
};
struct values {
    struct value at[CACHE + K_COUNT];
    int count;
};
/* A register whose lanes differ as those of all registers of its class do: as the memo of a load says, or NO_REF. */
struct jit_alike {
    uint32_t ref, class, memo;
};
#define JIT_ALIKE 16
struct compiler {
    struct machine_code code;
    struct values values;
    uint32_t busy, busy_masks; /* registers in use */
    uint32_t now;              /* number of the step: one half of an operation, or a load */
    int half;
    int halves; /* 1: of lanes 16 to 31 none runs */
    bool some;  /* only some lanes may run: others keep what the frame holds */
    bool full;  /* the operation does not fit */
    struct jit_access *accesses;
    uint32_t access_count, access_room;
    uint32_t operation, segment_end; /* the one in hand; the end of those whose halves are compiled one after the other, or 0 */
    bool records;                    /* accesses, nothing else */
    struct jit_alike alike[JIT_ALIKE];
    uint32_t alike_count, classes;
};

/* Can the operation be part of a stretch? Is it a load that can? */
bool jit_can(const struct insn *ip);
bool jit_can_load(const struct program *p, const struct insn *ip);
/* Is its result a float, whose NaN is to be the canonical one? */
bool jit_is_float(const struct insn *ip);
/* Adds the code of operations [from, end) of the sequence at ip, one half after the other. `full`: they do not fit, and the caller drops
 * the added code. */
void jit_operations(struct compiler *j, const struct insn *ip, uint32_t from, uint32_t end);
/* To be called behind each operation: what is known of the lanes of registers. */
void jit_follow(struct compiler *j, const struct insn *ip, uint32_t operation);
/* The same for a load: what stands in `jumps` is taken, with `then` in registers, where the load's handler is to run. */
void jit_load(struct compiler *j, const struct insn *ip, size_t jumps[2], struct values *then);
/* The vectors of a register, of the half in hand. They stay until the step ends. */
enum jit_use { JIT_READ, JIT_READ_RAW, JIT_WRITE, JIT_WRITE_RAW };
struct value jit_hold(struct compiler *j, uint32_t ref, int bytes, enum jit_use use);
/* Register `ref` of 32 bits takes the vector of an operand of the step, if nothing needs that any longer. */
bool jit_take_over(struct compiler *j, uint32_t from, uint32_t ref);
/* jit_next.c: sets `next` and `dead` of the recorded accesses of `count` operations. segments[i]: the first operation behind i that uses
 * bytes of the frame for another register than an operation from i on did before. */
void jit_foresee(struct compiler *j, uint32_t count, uint32_t *segments);
/* Where the accesses of an operation begin, which stand side by side. */
uint32_t jit_first_access(const struct compiler *j, uint32_t operation);
/* The access of the operation in hand. */
const struct jit_access *jit_find_access(const struct compiler *j, uint32_t ref, int bytes, bool write);
/* Does the half stand in vectors already? Then they stay until the step ends. */
bool jit_held(struct compiler *j, uint32_t ref, int bytes, struct value *v);
/* Makes each NaN of a vector the canonical one. */
void jit_canonical(struct compiler *j, int reg);
/* Stores what the frame does not hold yet. */
void jit_flush(struct compiler *j, const struct values *values);

/* jit_reach.c, called by compiled code: these functions change only ordinary registers, T0 to T3 and the masks below K_FIRST. The addresses
 * of the active lanes follow the memo's pattern, from `first` on. NULL: nothing is counted yet, and the load's handler must run. Otherwise
 * the result is the first address in host memory; T0 and T1 are lanes 0 to 15 and 16 to 31 (32 bits), or T0 is all lanes (16 bits). */
enum jit_take { JIT_UNIFORM, JIT_ANY_16, JIT_ANY_32, JIT_ROWS }; /* which patterns, of elements of how many bits; rows of four words */
const uint8_t *jit_global(struct warp *w, struct memo *m, uint64_t first, enum jit_take take);
const uint8_t *jit_shared(struct warp *w, struct memo *m, uint32_t first, enum jit_take take);
/* Ti: the rows of 16 bytes of lanes i, i + 4, i + 8 and i + 12 of a half, whose rel these are. Returns `host`. */
const uint8_t *jit_rows(const uint8_t *host, const int32_t *rel);

/* An instruction of ordinary registers on a field of the warp. */
static inline void put_field(struct machine_code *c, unsigned opcode, int reg, size_t offset)
{
    x86_byte(c, opcode);
    x86_modrm(c, reg, WARP, (uint32_t)offset);
}
static inline void put_wide_field(struct machine_code *c, unsigned opcode, int reg, size_t offset)
{
    x86_byte(c, 0x48);
    put_field(c, opcode, reg, offset);
}
static inline void put_address(struct machine_code *c, unsigned reg, const void *address)
{
    X86(c, 0x48, (uint8_t)(0xb8 | reg));
    x86_put(c, &address, 8);
}
static inline int base_of(uint32_t ref)
{
    return ref & 1 ? CONSTANTS : FRAME;
}
/* The word at `ref` and eax: an instruction. */
static inline void put_word(struct machine_code *c, unsigned opcode, uint32_t ref)
{
    x86_byte(c, opcode);
    x86_modrm(c, EAX, base_of(ref), ref);
}
/* mov rdx, [rdi + base]; mov rcx, [rdi + base + 8] */
static inline void jit_bases(struct machine_code *c)
{
    put_wide_field(c, 0x8b, FRAME, offsetof(struct warp, base));
    put_wide_field(c, 0x8b, CONSTANTS, offsetof(struct warp, base) + sizeof(uint8_t *));
}
static inline int vectors_of(const struct value *v)
{
    return v->bytes == 8 ? 2 : 1;
}

static inline void vector(struct compiler *j, struct x86_form f, int reg, int second, int rm)
{
    x86_vector(&j->code, f, X86_ZMM, reg, second, rm, 0);
}
static inline void vector_by(struct compiler *j, struct x86_form f, int reg, int second, int rm, unsigned by)
{
    x86_vector_by(&j->code, f, X86_ZMM, reg, second, rm, by);
}

static inline struct value source(struct compiler *j, uint32_t ref, int bytes)
{
    return jit_hold(j, ref, bytes, JIT_READ);
}
/* The result's vectors, after all sources are held. */
static inline struct value target(struct compiler *j, uint32_t ref, int bytes)
{
    return jit_hold(j, ref, bytes, JIT_WRITE);
}
