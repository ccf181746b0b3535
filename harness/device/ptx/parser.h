/* device/ptx/parser: what module.c (module level) and body.c (inside functions) share. */
#pragma once

#include "device/ptx/ptx.h"

#define BUCKETS 4096 /* of names, by hash */

enum name_kind { NAME_REG, NAME_REGS, NAME_VECTOR, NAME_VAR, NAME_LABEL };
struct name {
    const char *text;
    enum name_kind kind;
    int value, count; /* register id, or first id and how many; instruction index of a label */
    struct ptx_var *var;
    int depth;  /* of the scope */
    int before; /* next in the bucket */
};
struct pending { /* a symbol operand that may turn out to be a label */
    struct ptx_operand *operand;
};
struct parser {
    struct lexer lx;
    struct token t;
    struct ptx_module *m;
    struct ptx_function *f;
    struct error *err;
    bool failed;
    bool outline; /* ptx_outline: bodies are skipped, and what is not known */
    struct name *names;
    int name_count, name_room;
    int *buckets;
    struct pending *pending;
    int pending_count, pending_room;
    int depth;
    int scope_pending[PTX_MAX_DEPTH + 2];
    struct ptx_function *prototypes; /* of the function at hand, by label: results and parameters alone */
    bool call;                       /* the instruction at hand is one: '(' begins a list, not a constant */
    struct ptx_place place, inlined;
    bool nounroll; /* the pragma stands before the next instruction */
};

/* token helpers */
void parser_next(struct parser *p);
bool parser_fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool parser_is(const struct parser *p, const char *word);
bool parser_is_punct(const struct parser *p, char c);
bool parser_accept(struct parser *p, char c);
bool parser_expect(struct parser *p, char c);
bool parser_word(struct parser *p, const char *word); /* accepts it */
char *parser_take_name(struct parser *p, const char *what);
bool parser_int(struct parser *p, int64_t *out); /* with an optional sign */
bool parser_skip_parentheses(struct parser *p);
void parser_split(struct parser *p); /* the space from the type of ".param.u64" */
/* Constant expressions: does one begin here; its value; those behind the + and - of an address, added. */
bool parser_constant_here(const struct parser *p);
bool parser_constant(struct parser *p, uint64_t *out);
bool parser_offset(struct parser *p, uint64_t *offset);

/* scopes */
void scope_open(struct parser *p);
void scope_close(struct parser *p); /* binds labels */
bool name_add(struct parser *p, const char *text, enum name_kind kind, int value, int count, struct ptx_var *var);
const struct name *name_find(const struct parser *p, const char *text);
/* A register by name, also out of a range: its id or -1. */
int name_register(struct parser *p, const char *text);

/* [.align N] .type name[..] [= {..}], the space already read. */
/* The next of a list of declarations: the same type as the one before. */
struct ptx_var *parse_var_like(struct parser *p, const struct ptx_var *before);
struct ptx_var *parse_var(struct parser *p, enum ptx_space space, bool is_extern);
bool parse_loc(struct parser *p);
/* { statements } */
bool parse_body(struct parser *p);
bool parser_push(struct parser *p, struct ptx_instr *in);
/* ".v2 .u32", and one register or vector of that type */
bool parse_reg_type(struct parser *p, enum ptx_type *type, int *vector);
bool add_register(struct parser *p, enum ptx_type type, int count, int *first); /* unnamed ones, side by side */
bool declare_register(struct parser *p, const char *name, enum ptx_type type, int vector, int *first);

/* ---- call.c: parameters in registers ---- */
struct ptx_operand parser_registers(struct parser *p, const char *name, int first, int count);
struct ptx_var *parse_reg_param(struct parser *p);
bool parser_enter_function(struct parser *p);
bool parser_leave_function(struct parser *p);
bool parser_push_call(struct parser *p, struct ptx_instr *in);
