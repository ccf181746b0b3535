/* device/ptx/body: statements of a PTX function body. */
#include "device/ptx/parser.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

/* .reg .b32 %r<10>, a, b; .reg .v4 .f32 v; */
static bool parse_reg(struct parser *p)
{
    enum ptx_type type;
    int vector, first = 0;
    if (!parse_reg_type(p, &type, &vector))
        return false;
    do {
        char *name = parser_take_name(p, "a register");
        if (!name)
            return false;
        int64_t count = 1;
        bool range = parser_accept(p, '<');
        if (range && (!parser_int(p, &count) || !parser_expect(p, '>')))
            return false;
        if (count < 1 || count > (vector > 1 ? 4096 : PTX_MAX_REGS))
            return parser_fail(p, "a range of %lld registers", (long long)count);
        if (!range || vector > 1) {
            for (int i = 0; i < (int)count; i++) {
                char number[16] = "";
                snprintf(number, sizeof number, "%d", i);
                char *one = arena_alloc(&p->m->arena, strlen(name) + sizeof number);
                memcpy(one, name, strlen(name));
                if (range)
                    memcpy(one + strlen(name), number, sizeof number);
                if (!declare_register(p, one, type, vector, &first))
                    return false;
            }
        } else if (!add_register(p, type, (int)count, &first) || !name_add(p, name, NAME_REGS, first, (int)count, NULL)) {
            return false;
        }
    } while (parser_accept(p, ','));
    return parser_expect(p, ';');
}

static bool parse_operand(struct parser *p, struct ptx_operand *o, int depth);

static bool parse_items(struct parser *p, struct ptx_operand *o, char close, int depth)
{
    struct ptx_operand items[128]; /* wgmma lists 128 registers at most */
    int n = 0, noted = p->pending_count;
    if (!parser_is_punct(p, close))
        do {
            if (n == 128)
                return parser_fail(p, "a list of more than 128 operands");
            if (!parse_operand(p, &items[n++], depth + 1))
                return false;
        } while (parser_accept(p, ','));
    o->items = arena_alloc(&p->m->arena, (size_t)(n ? n : 1) * sizeof *items);
    memcpy(o->items, items, (size_t)n * sizeof *items);
    o->count = n;
    /* symbols noted while they lay on the stack */
    for (int i = noted; i < p->pending_count; i++)
        if (p->pending[i].operand >= items && p->pending[i].operand < items + n)
            p->pending[i].operand = o->items + (p->pending[i].operand - items);
    return parser_expect(p, close);
}

static void note_pending(struct parser *p, struct ptx_operand *o)
{
    if (p->pending_count == p->pending_room) {
        p->pending_room = p->pending_room ? p->pending_room * 2 : 64;
        p->pending = xrealloc(p->pending, (size_t)p->pending_room * sizeof *p->pending);
    }
    p->pending[p->pending_count++].operand = o;
}

/* "%r2.h10" of a video instruction: a register, and which parts of it. */
static bool parse_part(struct parser *p, struct ptx_operand *o, const char *name)
{
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name || (dot[1] != 'b' && dot[1] != 'h') || dot[2] < '0' || dot[2] > '7')
        return false;
    char *stem = arena_text(&p->m->arena, name, (size_t)(dot - name));
    if ((o->reg = name_register(p, stem)) < 0)
        return false;
    o->kind = OPERAND_REG;
    o->name = stem;
    o->part = dot + 1;
    return true;
}

static bool parse_word_operand(struct parser *p, struct ptx_operand *o)
{
    char *name = parser_take_name(p, "an operand");
    if (!name)
        return false;
    o->name = name;
    if (!strcmp(name, "_")) {
        o->kind = OPERAND_SINK;
    } else if ((o->reg = name_register(p, name)) >= 0) {
        o->kind = OPERAND_REG;
    } else {
        const struct name *n = name_find(p, name);
        if (n && n->kind == NAME_VECTOR) {
            *o = parser_registers(p, name, n->value, n->count);
        } else if (!n && parse_part(p, o, name)) {
            return true;
        } else if (name[0] == '%') {
            o->kind = OPERAND_SPECIAL;
        } else if (n && n->kind == NAME_VAR) {
            o->kind = OPERAND_VAR;
            o->var = n->var;
        } else {
            o->kind = OPERAND_SYMBOL;
        }
    }
    return true;
}

/* [reg+4] [var+4] [4] [reg, {r, r}, ..] */
static bool parse_address(struct parser *p, struct ptx_operand *o, int depth)
{
    if (parser_constant_here(p)) {
        if (!parser_constant(p, &o->bits))
            return false;
    } else if (!parse_word_operand(p, o)) {
        return false;
    } else if (o->kind != OPERAND_REG && o->kind != OPERAND_VAR && o->kind != OPERAND_SYMBOL) {
        return parser_fail(p, "'%s' is not an address", o->name);
    }
    o->kind = OPERAND_ADDRESS;
    if (!parser_offset(p, &o->bits))
        return false;
    if (parser_accept(p, ','))
        return parse_items(p, o, ']', depth);
    return parser_expect(p, ']');
}

static bool parse_number(struct parser *p, struct ptx_operand *o, bool minus)
{
    o->bits = p->t.bits;
    if (p->t.kind == TOKEN_F32) {
        o->kind = OPERAND_F32;
        if (minus)
            o->bits ^= 0x80000000u;
    } else if (p->t.kind == TOKEN_F64) {
        o->kind = OPERAND_F64;
        if (minus)
            o->bits ^= (uint64_t)1 << 63;
    } else {
        return parser_fail(p, "an operand was expected");
    }
    parser_next(p);
    return true;
}

static bool parse_operand(struct parser *p, struct ptx_operand *o, int depth)
{
    *o = (struct ptx_operand){.reg = -1, .reg2 = -1, .target = -1};
    if (depth > 4)
        return parser_fail(p, "operands nested too deeply");
    if (parser_accept(p, '{')) {
        o->kind = OPERAND_VECTOR;
        return parse_items(p, o, '}', depth);
    }
    if (p->call && parser_accept(p, '(')) {
        o->kind = OPERAND_LIST;
        return parse_items(p, o, ')', depth);
    }
    if (parser_accept(p, '['))
        return parse_address(p, o, depth) && (parser_word(p, ".unified") || true);
    if (parser_constant_here(p)) {
        o->kind = OPERAND_INT;
        return parser_constant(p, &o->bits);
    }
    if (parser_accept(p, '!'))
        o->negated = true;
    bool minus = parser_accept(p, '-');
    if (p->t.kind != TOKEN_WORD)
        return parse_number(p, o, minus);
    if (!parse_word_operand(p, o))
        return false;
    if (minus && o->kind != OPERAND_REG)
        return parser_fail(p, "a number or a register was expected behind '-'");
    o->minus = minus;
    if (o->kind == OPERAND_VAR || o->kind == OPERAND_SYMBOL) {
        if (!parser_offset(p, &o->bits))
            return false;
        if (o->kind == OPERAND_SYMBOL)
            note_pending(p, o);
        return true;
    }
    if ((o->kind == OPERAND_REG || o->kind == OPERAND_SINK) && parser_accept(p, '|')) {
        if (parser_is(p, "_")) {
            parser_next(p);
            return true;
        }
        char *name = parser_take_name(p, "a register");
        if (!name)
            return false;
        o->reg2 = name_register(p, name);
        if (o->reg2 < 0)
            return parser_fail(p, "'%s' is not a register", name);
    }
    return true;
}

/* "ld.global.v4.f32" into op and modifiers */
static bool split_op(struct parser *p, struct ptx_instr *in)
{
    char *word = arena_text(&p->m->arena, p->t.at, (size_t)p->t.len);
    in->op = word;
    in->column = p->t.column;
    for (char *dot = strchr(word, '.'); dot; dot = strchr(dot + 1, '.')) {
        *dot = 0;
        if (in->mod_count == PTX_MAX_MODS)
            return parser_fail(p, "more than %d modifiers", PTX_MAX_MODS);
        in->mod_columns[in->mod_count] = in->column + (int)(dot - word);
        in->mods[in->mod_count++] = dot + 1;
    }
    parser_next(p);
    while (p->t.kind == TOKEN_WORD && p->t.at[0] == '.') {
        char *more = arena_text(&p->m->arena, p->t.at + 1, (size_t)p->t.len - 1);
        for (char *part = more; part;) {
            char *dot = strchr(part, '.');
            if (dot)
                *dot++ = 0;
            if (in->mod_count == PTX_MAX_MODS)
                return parser_fail(p, "more than %d modifiers", PTX_MAX_MODS);
            in->mod_columns[in->mod_count] = p->t.column + (int)(part - more);
            in->mods[in->mod_count++] = part;
            part = dot;
        }
        parser_next(p);
    }
    return true;
}

static bool parse_instr(struct parser *p)
{
    struct ptx_instr *in = arena_alloc(&p->m->arena, sizeof *in);
    in->guard = -1;
    in->ptx_line = p->t.line;
    in->place = p->place;
    in->inlined = p->inlined;
    in->nounroll = p->nounroll;
    p->nounroll = false;
    if (parser_accept(p, '@')) {
        in->guard_negated = parser_accept(p, '!');
        char *name = parser_take_name(p, "a predicate");
        if (!name)
            return false;
        in->guard = name_register(p, name);
        if (in->guard < 0 || p->f->regs[in->guard] != T_PRED)
            return parser_fail(p, "guard '%s' is not a predicate register", name);
    }
    if (p->t.kind != TOKEN_WORD)
        return parser_fail(p, "an instruction was expected");
    if (!split_op(p, in))
        return false;
    p->call = !strcmp(in->op, "call");
    while (!parser_is_punct(p, ';')) {
        if (in->count == PTX_MAX_OPERANDS)
            return parser_fail(p, "more than %d operands", PTX_MAX_OPERANDS);
        if (!parse_operand(p, &in->operands[in->count++], 0))
            return false;
        if (!parser_accept(p, ','))
            break;
    }
    if (!parser_expect(p, ';'))
        return false;
    if (p->call)
        return parser_push_call(p, in);
    return (strcmp(in->op, "ret") || parser_leave_function(p)) && parser_push(p, in);
}

/* name: .branchtargets a, b; becomes a pseudo-instruction that brx.idx finds through the label. */
static bool parse_targets(struct parser *p, const char *kind)
{
    struct ptx_instr *in = arena_alloc(&p->m->arena, sizeof *in);
    in->guard = -1;
    in->ptx_line = p->t.line;
    in->op = kind;
    struct ptx_operand *o = &in->operands[0];
    in->count = 1;
    *o = (struct ptx_operand){.kind = OPERAND_LIST, .reg = -1, .reg2 = -1, .target = -1};
    struct ptx_operand items[1024];
    int n = 0;
    do {
        if (n == 1024)
            return parser_fail(p, "more than 1024 targets");
        if (!parse_operand(p, &items[n], 1))
            return false;
        if (items[n].kind == OPERAND_SYMBOL)
            p->pending_count--; /* noted again below, at its final place */
        n++;
    } while (parser_accept(p, ','));
    o->items = arena_alloc(&p->m->arena, (size_t)n * sizeof *items);
    memcpy(o->items, items, (size_t)n * sizeof *items);
    o->count = n;
    for (int i = 0; i < n; i++)
        if (o->items[i].kind == OPERAND_SYMBOL)
            note_pending(p, &o->items[i]);
    return parser_expect(p, ';') && parser_push(p, in);
}

static bool skip_statement(struct parser *p)
{
    while (p->t.kind != TOKEN_END && !parser_is_punct(p, ';'))
        parser_next(p);
    return parser_expect(p, ';');
}

static bool parse_directive(struct parser *p)
{
    static const struct {
        const char *word;
        enum ptx_space space;
    } spaces[] = {
        {".local", SPACE_LOCAL}, {".shared", SPACE_SHARED}, {".param", SPACE_PARAM}, {".global", SPACE_GLOBAL}, {".const", SPACE_CONST}};
    parser_split(p);
    if (parser_word(p, ".reg"))
        return parse_reg(p);
    if (parser_word(p, ".loc"))
        return parse_loc(p);
    if (parser_word(p, ".loc_intermediate")) { /* the same of the compiler's own representation: not a source anybody has */
        struct ptx_place place = p->place, inlined = p->inlined;
        bool fine = parse_loc(p);
        p->place = place;
        p->inlined = inlined;
        return fine && (!parser_is_punct(p, ';') || parser_fail(p, "no semicolon stands behind '.loc_intermediate'"));
    }
    if (parser_word(p, ".pragma")) {
        p->nounroll = p->t.len == 10 && !memcmp(p->t.at, "\"nounroll\"", 10);
        return skip_statement(p);
    }
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (!parser_word(p, spaces[i].word))
            continue;
        struct ptx_var *v = parse_var(p, spaces[i].space, false);
        for (; v; v = parse_var_like(p, v)) { /* .b8 a[16], b[16]; */
            if (!name_add(p, v->name, NAME_VAR, 0, 0, v))
                return false;
            v->next = p->f->vars;
            p->f->vars = v;
            if (!parser_accept(p, ','))
                return parser_expect(p, ';');
        }
        return false;
    }
    return parser_fail(p, "directive '%.*s' is not supported inside a function", p->t.len, p->t.at);
}

static bool prototype_list(struct parser *p, struct ptx_var **tail)
{
    if (!parser_accept(p, '(') || parser_accept(p, ')'))
        return true;
    do {
        parser_split(p);
        if (!parser_word(p, ".reg") && !parser_word(p, ".param"))
            return parser_fail(p, "'.param' was expected");
        if (!(*tail = parse_var(p, SPACE_PARAM, false)))
            return false;
        tail = &(*tail)->next;
    } while (parser_accept(p, ','));
    return parser_expect(p, ')');
}

/* (results) _ (parameters), attributes; of a call by address. */
static bool parse_prototype(struct parser *p, const char *name)
{
    struct ptx_function *f = arena_alloc(&p->m->arena, sizeof *f);
    *f = (struct ptx_function){.name = name, .next = p->prototypes};
    if (!prototype_list(p, &f->results) || !parser_take_name(p, "'_'") || !prototype_list(p, &f->params))
        return false;
    p->prototypes = f;
    return skip_statement(p);
}

/* A word, then ':' : a label. Looks one token ahead. */
static bool try_label(struct parser *p, bool *was)
{
    struct lexer ahead = p->lx;
    struct token t;
    lexer_next(&ahead, &t);
    *was = t.kind == TOKEN_PUNCT && t.bits == ':';
    if (!*was)
        return true;
    char *name = parser_take_name(p, "a label");
    if (!name || !parser_expect(p, ':'))
        return false;
    if (!name_add(p, name, NAME_LABEL, p->f->instr_count, 0, NULL))
        return false;
    if (parser_word(p, ".branchtargets"))
        return parse_targets(p, ".branchtargets");
    if (parser_word(p, ".calltargets"))
        return parse_targets(p, ".calltargets");
    return !parser_word(p, ".callprototype") || parse_prototype(p, name);
}

static bool parse_statement(struct parser *p, int *open)
{
    if (parser_accept(p, '{')) {
        if (p->depth >= PTX_MAX_DEPTH)
            return parser_fail(p, "scopes nested deeper than %d", PTX_MAX_DEPTH);
        scope_open(p);
        (*open)++;
        return true;
    }
    if (parser_accept(p, '}')) {
        scope_close(p);
        (*open)--;
        return true;
    }
    if (parser_accept(p, ';'))
        return true;
    if (p->t.kind == TOKEN_WORD && p->t.at[0] == '.')
        return parse_directive(p);
    if (p->t.kind == TOKEN_WORD) {
        bool was;
        if (!try_label(p, &was))
            return false;
        if (was)
            return true;
    }
    return parse_instr(p);
}

bool parse_body(struct parser *p)
{
    int open = 1;
    p->prototypes = NULL;
    if (!parser_expect(p, '{'))
        return false;
    scope_open(p);
    if (!parser_enter_function(p))
        return false;
    while (open > 0) {
        if (p->t.kind == TOKEN_END)
            return parser_fail(p, "the text ends inside a function body");
        if (!parse_statement(p, &open) || p->failed)
            return false;
    }
    p->f->has_body = true;
    return parser_leave_function(p); /* falling out of the body returns */
}
