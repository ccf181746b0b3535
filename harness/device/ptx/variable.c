/* device/ptx/variable: variables and their initial values. */
#include "device/ptx/parser.h"
#include <string.h>

struct init {
    uint8_t *data;
    uint64_t at, room, element, rows; /* rows: of the outermost list */
    struct ptx_var *var;
    bool open; /* the first dimension is as long as the list */
};

/* The address of a symbol, or of 0xff00(symbol) the bits of the mask. */
static bool init_address(struct parser *p, struct init *in, uint64_t mask)
{
    struct ptx_reloc *r = arena_alloc(&p->m->arena, sizeof *r);
    uint64_t add = 0;
    *r = (struct ptx_reloc){.offset = (uint32_t)in->at, .bytes = (uint32_t)in->element, .mask = mask};
    if ((r->generic = parser_word(p, "generic")) && !parser_expect(p, '('))
        return false;
    if (!(r->name = parser_take_name(p, "a symbol")) || !parser_offset(p, &add))
        return false;
    if (r->generic && (!parser_expect(p, ')') || !parser_offset(p, &add)))
        return false;
    r->add = (int64_t)add;
    r->next = in->var->relocs;
    in->var->relocs = r;
    in->at += in->element;
    return true;
}

static bool init_scalar(struct parser *p, struct init *in)
{
    if (in->open && in->at + in->element > in->room && in->room < PTX_MAX_VAR_BYTES / 2) {
        uint8_t *more = arena_alloc(&p->m->arena, in->room = 2 * in->room + 64);
        if (in->at)
            memcpy(more, in->data, in->at);
        in->data = more;
    }
    if (in->at + in->element > in->room)
        return parser_fail(p, "more initial values than '%s' holds", in->var->name);
    uint64_t bits = 0;
    if (parser_constant_here(p)) {
        if (!parser_constant(p, &bits))
            return false;
        if (parser_accept(p, '('))
            return init_address(p, in, bits) && parser_expect(p, ')');
    } else {
        bool minus = parser_accept(p, '-');
        bits = p->t.bits;
        if (p->t.kind == TOKEN_WORD && !minus)
            return init_address(p, in, 0);
        if (p->t.kind != TOKEN_F32 && p->t.kind != TOKEN_F64)
            return parser_fail(p, "an initial value was expected");
        if (minus)
            bits ^= p->t.kind == TOKEN_F32 ? (uint64_t)1 << 31 : (uint64_t)1 << 63;
        if (p->t.kind == TOKEN_F64 && in->element == 4) {
            double d;
            memcpy(&d, &bits, 8);
            float f = (float)d;
            bits = 0;
            memcpy(&bits, &f, 4);
        }
        parser_next(p);
    }
    memcpy(in->data + in->at, &bits, in->element < 8 ? in->element : 8);
    in->at += in->element;
    return true;
}

static bool init_list(struct parser *p, struct init *in, int depth)
{
    if (!parser_accept(p, '{'))
        return init_scalar(p, in);
    if (depth > 8)
        return parser_fail(p, "initial values nested too deeply");
    if (parser_accept(p, '}'))
        return true;
    do {
        if (!init_list(p, in, depth + 1))
            return false;
        in->rows += depth == 0;
    } while (parser_accept(p, ','));
    return parser_expect(p, '}');
}

static bool var_dims(struct parser *p, struct ptx_var *v, bool *open)
{
    while (parser_accept(p, '[')) {
        uint64_t n = 0;
        if (!v->array && parser_accept(p, ']')) {
            *open = v->array = true;
            continue;
        }
        if (!parser_is_punct(p, ']') && !parser_constant(p, &n))
            return false;
        v->array = true;
        if (n > 0 && v->bytes > PTX_MAX_VAR_BYTES / n && !(p->outline && v->space != SPACE_PARAM))
            return parser_fail(p, "variable '%s' is larger than %llu bytes", v->name, (unsigned long long)PTX_MAX_VAR_BYTES);
        v->bytes *= n;
        if (!parser_expect(p, ']'))
            return false;
    }
    return true;
}

bool parser_skip_parentheses(struct parser *p)
{
    if (!parser_expect(p, '('))
        return false;
    for (int depth = 1; depth > 0; parser_next(p)) {
        if (p->t.kind == TOKEN_END)
            return parser_fail(p, "')' was expected");
        depth += parser_is_punct(p, '(') - parser_is_punct(p, ')');
    }
    return true;
}

static bool var_attributes(struct parser *p, struct ptx_var *v, int *vector)
{
    while (p->t.kind == TOKEN_WORD && p->t.at[0] == '.') {
        parser_split(p);
        int64_t n = 0;
        char word[24] = "";
        if (p->t.len < 24)
            memcpy(word, p->t.at + 1, (size_t)p->t.len - 1);
        enum ptx_type type = ptx_type_parse(word);
        if (parser_word(p, ".align")) {
            if (!parser_int(p, &n))
                return false;
            if (n < 1 || n > 65536 || (n & (n - 1)))
                return parser_fail(p, "alignment %lld", (long long)n);
            if (v->type == T_NONE) /* `.ptr .align n` behind the type speaks of the pointee */
                v->align = (uint32_t)n;
        } else if (parser_word(p, ".attribute")) {
            if (!parser_skip_parentheses(p))
                return false;
        } else if (parser_word(p, ".v2")) {
            *vector = 2;
        } else if (parser_word(p, ".v4")) {
            *vector = 4;
        } else if (parser_word(p, ".ptr") || (v->type != T_NONE && (parser_word(p, ".global") || parser_word(p, ".const") ||
                                                                    parser_word(p, ".local") || parser_word(p, ".shared")))) {
            continue;
        } else if (type != T_NONE && ptx_type_bytes(type) && v->type == T_NONE) {
            v->type = type;
            parser_next(p);
        } else if (p->outline && v->space != SPACE_PARAM) { /* a type of a newer PTX */
            v->type = v->type == T_NONE ? T_B8 : v->type;
            parser_next(p);
        } else {
            return parser_fail(p, "'%.*s' is not supported in a declaration", p->t.len, p->t.at);
        }
    }
    return true;
}

/* Name, dimensions, initial value. */
static bool var_rest(struct parser *p, struct ptx_var *v, uint64_t element)
{
    bool open = false;
    if (!(v->name = parser_take_name(p, "a variable's name")) || !var_dims(p, v, &open))
        return false;
    uint64_t row = v->bytes;
    v->bytes = open ? 0 : row;
    if (!parser_accept(p, '='))
        return true;
    struct init in = {.room = v->bytes, .element = element, .var = v, .open = open};
    in.data = arena_alloc(&p->m->arena, v->bytes ? v->bytes : 1);
    bool ok = init_list(p, &in, 0);
    v->init = in.data;
    v->bytes = open ? in.rows * row : v->bytes;
    return ok && (in.at <= v->bytes || parser_fail(p, "more initial values than '%s' holds", v->name));
}

struct ptx_var *parse_var_like(struct parser *p, const struct ptx_var *before)
{
    struct ptx_var *v = arena_alloc(&p->m->arena, sizeof *v);
    *v = (struct ptx_var){
        .space = before->space, .is_extern = before->is_extern, .type = before->type, .align = before->align, .vector = before->vector};
    uint64_t element = (uint64_t)ptx_type_bytes(v->type);
    v->bytes = element * (uint64_t)v->vector;
    return var_rest(p, v, element) ? v : NULL;
}

struct ptx_var *parse_var(struct parser *p, enum ptx_space space, bool is_extern)
{
    struct ptx_var *v = arena_alloc(&p->m->arena, sizeof *v);
    v->space = space;
    v->is_extern = is_extern;
    int vector = 1;
    if (!var_attributes(p, v, &vector))
        return NULL;
    if (v->type == T_NONE) {
        parser_fail(p, "a declaration without a type");
        return NULL;
    }
    uint64_t element = (uint64_t)ptx_type_bytes(v->type);
    v->bytes = element * (uint64_t)vector;
    if (!v->align)
        v->align = (uint32_t)v->bytes;
    v->vector = vector;
    return var_rest(p, v, element) ? v : NULL;
}
