/* device/ptx/ptx: PTX text as a tree: module, functions, variables, instructions. Only what the text says; no meaning yet.
 *
 * Everything is allocated in the module's arena. Hostile text gives one error naming file, PTX line and what was found. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits: far above what compilers emit, low enough that a hostile text cannot eat the machine. */
#define PTX_MAX_BYTES (256u << 20)
#define PTX_MAX_REGS (1 << 20)
#define PTX_MAX_VAR_BYTES ((uint64_t)1 << 28)
#define PTX_MAX_DEPTH 64
#define PTX_MAX_MODS 16

/* ---- memory that lives as long as the module ---- */
struct arena_chunk;
struct arena {
    struct arena_chunk *last;
};
void *arena_alloc(struct arena *a, size_t bytes); /* zeroed, 16-byte aligned */
char *arena_text(struct arena *a, const char *s, size_t len);
void arena_free(struct arena *a);

/* ---- types and state spaces ---- */
enum ptx_type {
    T_NONE,
    T_PRED,
    T_B8,
    T_B16,
    T_B32,
    T_B64,
    T_B128,
    T_U8,
    T_U16,
    T_U32,
    T_U64,
    T_S8,
    T_S16,
    T_S32,
    T_S64,
    T_F16,
    T_F16X2,
    T_BF16,
    T_BF16X2,
    T_TF32,
    T_F32,
    T_F32X2,
    T_F64,
    T_U16X2,
    T_S16X2,
    T_E4M3,
    T_E5M2,
    T_E4M3X2,
    T_E5M2X2,
    T_E2M1X2,
    T_E2M3X2,
    T_E3M2X2,
    T_UE8M0X2,
    T_S2F6X2,
    T_COUNT
};
enum ptx_type ptx_type_parse(const char *s); /* without the dot; T_NONE when it is not a type */
const char *ptx_type_name(enum ptx_type t);
int ptx_type_bytes(enum ptx_type t); /* 0 for predicates */
bool ptx_type_signed(enum ptx_type t);
bool ptx_type_float(enum ptx_type t);

enum ptx_space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_CONST, SPACE_PARAM, SPACE_COUNT };

/* ---- lexer ---- */
enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_INT, TOKEN_F32, TOKEN_F64, TOKEN_TEXT, TOKEN_PUNCT, TOKEN_BAD };
struct token {
    enum token_kind kind;
    const char *at; /* into the source text */
    int len, line, column;
    uint64_t bits; /* TOKEN_INT, TOKEN_F32, TOKEN_F64; TOKEN_PUNCT: the character */
};
struct lexer {
    const char *p, *end;
    int line;
    const char *line_start;
};
/* Moves behind the brace that closes an open one, or to the end. */
void lexer_skip_braces(struct lexer *lx);
/* A word may hold dots and `::` ("ld.global.v4.f32", "%tid.x", ".shared::cta"). */
void lexer_next(struct lexer *lx, struct token *t);

/* ---- the tree ---- */
struct ptx_reloc {
    uint32_t offset, bytes;
    const char *name; /* symbol whose address is stored */
    int64_t add;
    uint64_t mask; /* these bits of it alone, moved down; 0: the whole */
    bool generic;
    struct ptx_reloc *next;
};
struct ptx_var {
    const char *name;
    enum ptx_space space;
    enum ptx_type type;
    uint32_t align;
    uint64_t bytes;              /* 0: extern shared array of open size */
    int vector;                  /* 1, 2 or 4 elements of the type */
    bool is_extern, in_register; /* in_register: a function's parameter that its body has in `reg`, one for each element */
    bool array;                  /* declared with dimensions */
    bool linked;                 /* .visible, .extern, .weak or .common stands before it */
    const char *at;              /* a module's variable: the word of its space, in the text */
    int reg;
    uint8_t *init; /* NULL: zeros */
    struct ptx_reloc *relocs;
    uint64_t address; /* set by the loader: emulated address, or offset in its space */
    struct ptx_var *next;
};

enum operand_kind {
    OPERAND_NONE,
    OPERAND_REG,
    OPERAND_INT,
    OPERAND_F32,
    OPERAND_F64,
    OPERAND_SYMBOL,
    OPERAND_VAR,
    OPERAND_ADDRESS,
    OPERAND_VECTOR,
    OPERAND_LIST,
    OPERAND_SPECIAL,
    OPERAND_SINK
};
struct ptx_operand {
    enum operand_kind kind;
    bool negated, minus;       /* !%p; -%r of a video instruction */
    int reg, reg2;             /* REG; ADDRESS base; reg2: the q of p|q; -1 = none */
    uint64_t bits;             /* INT, F32, F64; ADDRESS and VAR: the offset */
    const char *name;          /* SYMBOL (unresolved), SPECIAL ("%tid.x") */
    const char *part;          /* REG of a video instruction: "b0", "h10"; NULL: the whole */
    struct ptx_var *var;       /* VAR, or ADDRESS of a variable */
    int target;                /* SYMBOL that is a label: index of an instruction; -1 otherwise */
    struct ptx_operand *items; /* VECTOR, LIST, ADDRESS [map, {..}, ..]: the rest */
    int count;
};
struct ptx_place {
    int file, line; /* of .loc; 0 = none */
};
#define PTX_MAX_OPERANDS 12
struct ptx_instr {
    const char *op;                 /* "ld" */
    const char *mods[PTX_MAX_MODS]; /* "global", "v4", "f32" */
    int mod_count;
    int guard; /* register, -1 = none */
    bool guard_negated;
    bool nounroll; /* `.pragma "nounroll"` stands before it: the loop that begins here keeps its shape */
    struct ptx_operand operands[PTX_MAX_OPERANDS];
    int count;
    int ptx_line, column;            /* of its name, behind a guard */
    int mod_columns[PTX_MAX_MODS];   /* of the points before them */
    struct ptx_place place, inlined; /* innermost, and the call site it was inlined at */
};
struct ptx_reg {
    const char *name; /* prefix of a range */
    enum ptx_type type;
};
struct ptx_function {
    const char *name;
    bool is_entry, has_body;
    struct ptx_var *params, *results; /* lists in order */
    struct ptx_var *vars;             /* shared, local, param declared inside; any order */
    enum ptx_type *regs;
    int reg_count, reg_room;
    struct ptx_instr **instrs;
    int instr_count, instr_room;
    const char *body; /* of an outline: what stands between the braces, in the text */
    size_t body_bytes;
    int unread;         /* of an outline: the number of the first parameter that could not be read; -1: all could */
    int max_threads;    /* -1 = not given */
    int max_dims[3];    /* .maxntid; 0 = not given */
    int req_threads[3]; /* 0 = not given */
    int cluster[3];     /* .reqnctapercluster; 0 = not given */
    int line;
    struct ptx_function *next;
};
struct ptx_module {
    struct arena arena;
    int version; /* x 10 */
    char target[32];
    struct ptx_var *vars;
    struct ptx_function *functions;
    const char **files; /* .file N */
    int file_count;
    const char *label; /* for messages */
};

/* Parses; NULL + err. `label` names the text in messages. */
struct ptx_module *ptx_parse(const char *label, const char *text, size_t bytes, struct error *err);
/* The module without its bodies (functions have `body` instead of instructions), whatever the text: what this parser does not know, as in
 * a newer PTX, it skips up to the next declaration. Points into the text. */
struct ptx_module *ptx_outline(const char *text, size_t bytes);
void ptx_free(struct ptx_module *m);
/* Offset of each parameter of an entry in its buffer; returns the buffer's size. */
uint32_t ptx_param_layout(const struct ptx_var *params, uint32_t *offsets, int max);
struct ptx_function *ptx_find_function(const struct ptx_module *m, const char *name);
struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name);
/* Words are compared here, not by strcmp: this is asked for every instruction, hundreds of times, and most differ in their first letter. */
static inline bool ptx_word_is(const char *word, const char *is)
{
    for (; *word == *is && *word; word++)
        is++;
    return *word == *is;
}
static inline bool instr_is(const struct ptx_instr *in, const char *op)
{
    return ptx_word_is(in->op, op);
}
bool instr_has(const struct ptx_instr *in, const char *mod);
/* The instruction as text, for messages: "ld.global.f32". */
void ptx_instr_text(const struct ptx_instr *in, char *out, size_t bytes);
