/* emu/decode/decode: from the PTX tree to internal operations. */
#pragma once

#include "emu/convert.h"
#include "emu/exec.h"
#include "emu/decode/flow.h"
#include "emu/ops.h"
#include <string.h>

#define FUNCTION_HANDLE 0x0000790000000000ull /* what function pointers hold: + 16 * number in the module */

struct placed { /* a variable's place in this program */
    const struct ptx_var *var;
    uint64_t at; /* shared: offset; local: offset from the activation's base; parameter: offset in the frame or in the parameter buffer */
    uint32_t stride; /* frame parameters: bytes a lane */
    int function;    /* -1: shared */
};
struct decode {
    struct program *p;
    const struct ptx_module *m;
    int sm; /* the number of the module's target: 90 of sm_90a; 0: it has none */
    struct error *err;
    struct placed *placed;
    int placed_count;
    /* growing arrays of the program */
    uint32_t code_room, constant_room;
    /* the function at hand */
    int function;
    const struct ptx_function *f;
    struct graph graph;
    struct slots slots;
    uint32_t first_flow; /* flow of block 0 */
    int32_t *origins;    /* by register: origin.c */
    uint8_t *overtaken;  /* by instruction, a bit: a load that another lane's store may overtake: origin.c */
    uint8_t *unread;     /* the same: an ldmatrix of which an mbarrier is told before anything has used it */
    uint16_t *uses;      /* by register: how often it is read, to know unused results */
    /* the instruction at hand */
    const struct ptx_instr *in;
    int at;         /* its number in the function */
    uint32_t flow;  /* current */
    uint32_t taken; /* modifiers understood, as bits */
    int scratch;
    int column; /* of an error; 0: of the instruction */
    uint64_t dynamic_align;
    uint64_t constant_base;             /* address of the module's first constant, near which all lie */
    const struct ptx_function *no_swap; /* a function without a compare-and-swap */
    bool short_addresses;               /* the module takes a constant's or a parameter's address as 32 bits */
    struct constant_seen {
        uint64_t bits;
        int bytes;
        uint32_t ref;
    } seen[4096];
    bool failed;
};

/* NULL + err. The variables of the module must have their addresses. */
struct program *decode_entry(const struct ptx_module *m, const struct ptx_function *entry, struct error *err);
void decode_free(struct program *p);
/* What device/path.c needs to know of a program, made when it is asked for the first time. */
const struct path_code *decode_path(struct program *p);
void decode_path_free(struct path_code *c);

/* ---- shared by decode*.c ---- */
/* Machine instructions beyond one that an instruction becomes. */
uint8_t decode_machine_more(const struct ptx_instr *in);
/* Sets the error at the instruction and returns false: emu does not support it, so a row is skipped; or no GPU takes it either. */
#define decode_fail(d, ...) decode_refuse(d, ERROR_ENVIRONMENT, __VA_ARGS__)
#define decode_wrong(d, ...) decode_refuse(d, ERROR_USAGE, __VA_ARGS__)
bool decode_refuse(struct decode *d, enum error_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool decode_take(struct decode *d, const char *mod);              /* the modifier is there: consume it */
enum ptx_type decode_take_type(struct decode *d);                 /* the next type among the modifiers; T_NONE */
int decode_take_word(struct decode *d, const char *const *words); /* the first of the words that is there, -1 */
bool decode_allowed(struct decode *d);                            /* allowed.c: types and modifiers that ptxas takes; else it has failed */
/* operands.c: as many operands as ptxas takes, and constants in their range? Has it `least` to `most` operands? */
bool decode_operands(struct decode *d);
bool decode_operand_count(struct decode *d, int least, int most);
/* registers.c: does ptxas take the registers and literals for these types? The n-th type among the modifiers; NULL: there are fewer. */
bool decode_registers_fit(struct decode *d);
const char *decode_nth_type(const struct ptx_instr *in, int n);
/* forms.c: is the modifier a type, of four packed numbers too? */
bool decode_is_type(const char *mod);
/* chips.c: has the target such an instruction, has the version such a target? The target's number; 0: it is not an sm_ one. */
bool decode_of_chip(struct decode *d);
bool decode_target_known(const struct ptx_module *m, struct error *err);
int decode_target_number(const struct ptx_module *m);
bool decode_form(struct decode *d);             /* are the modifiers one of the forms of forms.c? Else it has failed */
bool decode_arithmetic_form(struct decode *d);  /* the same for what ptxas refuses as well */
bool decode_unknown(struct decode *d, int mod); /* fails: emu knows no such modifier; -1: no such instruction */
struct insn *decode_emit(struct decode *d, enum op op);
struct insn *decode_emit_internal(struct decode *d, enum op op);   /* counts nothing */
const struct ptx_operand *decode_operand(struct decode *d, int k); /* fails when it is missing */
/* Slot of an operand that is read as `t`; wide: a register of more bytes is fine, too. */
uint32_t decode_source(struct decode *d, const struct ptx_operand *o, enum ptx_type t, bool wide);
uint32_t decode_target(struct decode *d, const struct ptx_operand *o, enum ptx_type t, bool wide);
uint32_t decode_constant(struct decode *d, uint64_t bits, int bytes);
uint32_t decode_pred(struct decode *d, const struct ptx_operand *o, bool *negated);
int decode_reg_bytes(const struct decode *d, int reg);
uint32_t decode_slot(const struct decode *d, int reg);
uint32_t decode_scratch(struct decode *d);
uint32_t decode_flushed(struct decode *d, uint32_t ref); /* an f32 operand of a .ftz instruction without its subnormals, in scratch */
uint32_t *decode_list(struct decode *d, int n);
/* An address operand: its slot and offset; `space` tells the width. Call it before decode_emit(): it may emit, too. */
struct place_ref {
    uint32_t a;
    int64_t imm;
    uint8_t flags; /* 1: a shared or local address in a 64-bit slot */
};
bool decode_address(struct decode *d, const struct ptx_operand *o, enum ptx_space space, struct place_ref *out);
enum ptx_space decode_take_space(struct decode *d);
/* A register's address in constant or parameter space, of which the lower 32 bits count, as a generic one: its slot, in `to`. */
uint32_t decode_widen(struct decode *d, enum ptx_space space, uint32_t a, int bytes, uint32_t to);

/* ---- alu.c ---- */
enum op decode_by_width(struct decode *d, enum ptx_type t, enum op op16, enum op op32, enum op op64);
/* d, a, b, c: n sources of type t; OP_none fails. */
bool decode_simple(struct decode *d, enum op op, enum ptx_type t, int n);
bool decode_predicate_logic(struct decode *d, enum op op);
/* ---- compare.c ---- */
bool decode_setp(struct decode *d);
bool decode_set(struct decode *d);
bool decode_select(struct decode *d);
/* ---- place.c ---- */
void decode_origins(struct decode *d);
void decode_overtaken(struct decode *d);
void decode_unread(struct decode *d);
void decode_joins(struct decode *d);     /* what ptxas makes one block of: flow.joined, flow.unrolled */
void decode_is_unread(struct decode *d); /* of the operation that was just emitted */
uint16_t decode_origin_of(struct decode *d, const struct ptx_operand *o);
const struct placed *decode_find_placed(const struct decode *d, const struct ptx_var *v, int function);
/* Shared variables of the entry and all it may call, which are gathered in program.functions. */
void decode_place_shared(struct decode *d, const struct ptx_function *entry);
/* Local variables and parameter areas of the function at hand. */
bool decode_place_function(struct decode *d, struct function *fn);
bool decode_call(struct decode *d, uint32_t next_flow);

/* One family each: true when the op was theirs (or failed). video: SIMD on the parts of a register; tensor: matrix instructions; tcgen05:
 * tensor memory; async: cp.async, mbarrier, bulk copies, wgmma, clusters. */
typedef bool decode_family(struct decode *d);
decode_family decode_alu, decode_move, decode_float, decode_memory, decode_warp, decode_video, decode_tensor, decode_tcgen05,
    decode_tensormap, decode_async;
/* The slot of the metadata and the selector of a sparse matrix of 16 rows, k elements of `bits` in a row; false: refused. */
bool decode_metadata(struct decode *d, int operand, int bits, int k, uint32_t *out);
/* The class an instruction counts in, its FLOP per thread. */
void decode_classify(const struct ptx_instr *in, struct cold *c);

/* Is the word one of the list? An empty one (`add..f32`) never is. */
static inline bool decode_listed(const char *list, const char *word)
{
    for (const char *at = list; *word; at++) {
        const char *rest = word;
        for (; *rest && *at == *rest; at++)
            rest++;
        if (!*rest && (*at == ' ' || !*at))
            return true;
        while (*at && *at != ' ')
            at++;
        if (!*at)
            return false;
    }
    return false;
}

/* Is one of the modifiers in the list? NULL: any will do, or none. */
static inline bool decode_has_one_of(const struct ptx_instr *in, const char *list)
{
    bool found = !list;
    for (int i = 0; i < in->mod_count && !found; i++)
        found = decode_listed(list, in->mods[i]);
    return found;
}

/* Does it access 256 bits at once? */
static inline bool decode_by_256_bits(const struct ptx_instr *in)
{
    return (instr_has(in, "v8") && decode_has_one_of(in, "b32 u32 s32 f32")) ||
           (instr_has(in, "v4") && decode_has_one_of(in, "b64 u64 s64 f64"));
}

/* Is it this instruction, by the word before the first point? */
static inline bool decode_is(const struct decode *d, const char *op)
{
    return instr_is(d->in, op);
}
