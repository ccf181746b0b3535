/* device/ptx/module: the level of a module: functions, variables, directives. */
#include "device/ptx/parser.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

/* ---- functions ---- */
static bool parse_params(struct parser *p, struct ptx_var **list, bool is_entry)
{
    struct ptx_var **tail = list;
    if (parser_accept(p, ')'))
        return true;
    do {
        parser_split(p);
        bool is_register = !is_entry && parser_word(p, ".reg");
        if (is_entry)
            parser_word(p, ".hidden"); /* one that a tool's runtime fills in */
        parser_split(p);
        if (!is_register && !parser_word(p, ".param"))
            return parser_fail(p, "'.param' was expected");
        struct ptx_var *v = is_register ? parse_reg_param(p) : parse_var(p, SPACE_PARAM, false);
        if (!v || (!is_register && !name_add(p, v->name, NAME_VAR, 0, 0, v)))
            return false;
        if (!parser_is_punct(p, ',') && !parser_is_punct(p, ')'))
            return parser_expect(p, ')');
        *tail = v;
        tail = &v->next;
    } while (parser_accept(p, ','));
    return parser_expect(p, ')');
}

static bool three_ints(struct parser *p, int out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        int64_t n = 0;
        if (!parser_int(p, &n))
            return false;
        if (n < 0 || n > 1 << 20)
            return parser_fail(p, "a dimension of %lld", (long long)n);
        out[i] = (int)n;
        if (i < 2 && !parser_accept(p, ','))
            break;
    }
    return true;
}

/* What may follow a function that is declared without a semicolon, as nvopencc did. */
static bool begins_a_declaration(const struct parser *p)
{
    static const char *const words[] = {".func",
                                        ".entry",
                                        ".visible",
                                        ".extern",
                                        ".weak",
                                        ".common",
                                        ".global",
                                        ".shared",
                                        ".const",
                                        ".file",
                                        ".loc",
                                        ".section",
                                        ".nv_intermediate_source_section",
                                        NULL};
    for (int i = 0; words[i]; i++)
        if (parser_is(p, words[i]))
            return true;
    return false;
}

static bool function_attributes(struct parser *p, struct ptx_function *f)
{
    int *dims = f->max_dims;
    int64_t n = 0;
    while (p->t.kind == TOKEN_WORD && p->t.at[0] == '.' && !begins_a_declaration(p)) {
        if (parser_word(p, ".maxntid")) {
            if (!three_ints(p, dims))
                return false;
            int64_t all = (int64_t)dims[0] * dims[1] * dims[2];
            f->max_threads = all > 1 << 20 ? 1 << 20 : (int)all;
        } else if (parser_word(p, ".reqntid")) {
            if (!three_ints(p, f->req_threads))
                return false;
        } else if (parser_word(p, ".reqnctapercluster")) {
            if (!three_ints(p, f->cluster))
                return false;
        } else if (parser_word(p, ".language")) { /* of the source, by number */
            do
                if (!parser_int(p, &n))
                    return false;
            while (parser_accept(p, ','));
        } else if (parser_word(p, ".minnctapersm") || parser_word(p, ".maxnreg") || parser_word(p, ".maxclusterrank") ||
                   parser_word(p, ".minperctamemory")) {
            if (!parser_int(p, &n))
                return false;
        } else if (parser_word(p, ".pragma")) {
            while (p->t.kind != TOKEN_END && !parser_accept(p, ';'))
                parser_next(p);
        } else if (!parser_word(p, ".noreturn") && !parser_word(p, ".explicitcluster") && !parser_word(p, ".blocksareclusters")) {
            return parser_fail(p, "function attribute '%.*s' is not supported", p->t.len, p->t.at);
        }
    }
    return true;
}

static bool function_head(struct parser *p, struct ptx_function *f)
{
    if (p->t.kind == TOKEN_WORD && parser_is(p, ".attribute")) {
        parser_next(p);
        if (!parser_skip_parentheses(p))
            return false;
    }
    if (parser_accept(p, '(') && !parse_params(p, &f->results, f->is_entry))
        return false;
    if (!(f->name = parser_take_name(p, "a function's name")))
        return false;
    if (parser_accept(p, '(') && !parse_params(p, &f->params, f->is_entry)) {
        f->unread = 0;
        for (const struct ptx_var *v = f->params; v; v = v->next)
            f->unread++;
        return false;
    }
    return function_attributes(p, f);
}

/* Behind what could not be read of a function's head, up to its body or what follows it. */
static bool skip_head(struct parser *p, const struct ptx_function *f)
{
    int depth = f->unread >= 0;
    p->failed = false;
    while (p->t.kind != TOKEN_END && !parser_is_punct(p, '{') && (depth > 0 || (!parser_is_punct(p, ';') && !begins_a_declaration(p)))) {
        depth += parser_is_punct(p, '(') - parser_is_punct(p, ')');
        parser_next(p);
    }
    return true;
}

static bool skip_body(struct parser *p)
{
    p->f->body = p->lx.p;
    lexer_skip_braces(&p->lx);
    p->f->body_bytes = (size_t)(p->lx.p - p->f->body);
    p->f->has_body = true;
    parser_next(p);
    return true;
}

/* The word .func or .entry is read. A body replaces an earlier declaration. */
static bool parse_function(struct parser *p, bool is_entry)
{
    struct ptx_function *f = arena_alloc(&p->m->arena, sizeof *f);
    f->is_entry = is_entry;
    f->max_threads = f->unread = -1;
    f->line = p->t.line;
    p->f = f;
    p->place = p->inlined = (struct ptx_place){0, 0};
    scope_open(p);
    if (!function_head(p, f) && !(p->outline && f->name && skip_head(p, f)))
        return false;
    if (!parser_is_punct(p, '{'))
        parser_accept(p, ';');
    else if (p->outline ? !skip_body(p) : !parse_body(p))
        return false;
    scope_close(p);
    p->pending_count = 0;
    struct ptx_function *old = ptx_find_function(p->m, f->name);
    if (old && old->has_body && f->has_body)
        return parser_fail(p, "function '%s' twice", f->name);
    if (old) {
        if (f->has_body) {
            struct ptx_function *next = old->next;
            *old = *f;
            old->next = next;
        }
        return true;
    }
    struct ptx_function **tail = &p->m->functions;
    while (*tail)
        tail = &(*tail)->next;
    *tail = f;
    return true;
}

/* .alias NAME, FUNCTION; NAME is declared, FUNCTION has its body above */
static bool parse_alias(struct parser *p)
{
    const char *name = parser_take_name(p, "a function"), *of = NULL;
    if (name && parser_expect(p, ','))
        of = parser_take_name(p, "a function");
    struct ptx_function *f = name ? ptx_find_function(p->m, name) : NULL, *g = of ? ptx_find_function(p->m, of) : NULL;
    if (!of)
        return false;
    if (!f || f->has_body || f->is_entry || !g || !g->has_body || g->is_entry)
        return parser_fail(p, "a declared function and a function with a body are expected");
    struct ptx_function *next = f->next;
    const char *kept = f->name;
    *f = *g;
    f->next = next;
    f->name = kept;
    return parser_expect(p, ';');
}

static bool add_module_var(struct parser *p, struct ptx_var *v)
{
    const struct name *old = name_find(p, v->name);
    if (old && old->kind == NAME_VAR && old->var->is_extern && !v->is_extern && old->var->space == v->space) {
        struct ptx_var *next = old->var->next; /* a definition behind its declaration */
        *old->var = *v;
        old->var->next = next;
        return true;
    }
    if (!name_add(p, v->name, NAME_VAR, 0, 0, v))
        return false;
    v->next = p->m->vars;
    p->m->vars = v;
    return true;
}

/* `at`: the word of its space. */
static bool module_var(struct parser *p, enum ptx_space space, const char *at, bool is_extern, bool linked)
{
    struct ptx_var *v = parse_var(p, space, is_extern);
    for (; v; v = parse_var_like(p, v)) { /* .u32 a, b[2]; */
        v->at = at;
        v->linked = linked;
        if (!add_module_var(p, v))
            return false;
        if (!parser_accept(p, ','))
            return parser_expect(p, ';');
    }
    return false;
}

static bool parse_file(struct parser *p)
{
    int64_t n = 0;
    if (!parser_int(p, &n))
        return false;
    if (n < 0 || n > 100000 || p->t.kind != TOKEN_TEXT)
        return parser_fail(p, "'.file' needs a number and a name");
    if (n >= p->m->file_count) {
        int room = (int)n * 2 + 8;
        const char **files = arena_alloc(&p->m->arena, (size_t)room * sizeof *files);
        if (p->m->file_count)
            memcpy(files, p->m->files, (size_t)p->m->file_count * sizeof *files);
        p->m->files = files;
        p->m->file_count = room;
    }
    p->m->files[n] = arena_text(&p->m->arena, p->t.at + 1, (size_t)p->t.len - 2);
    parser_next(p);
    while (parser_accept(p, ',')) {
        int64_t ignored;
        if (!parser_int(p, &ignored))
            return false;
    }
    return true;
}

static bool parse_section(struct parser *p)
{
    while (p->t.kind != TOKEN_END && !parser_is_punct(p, '{'))
        parser_next(p);
    while (p->t.kind != TOKEN_END && !parser_is_punct(p, '}'))
        parser_next(p);
    return parser_expect(p, '}');
}

/* The text of a compiler's own representation, any text between .source_begin and .source_end, in code blocks of a section. */
static bool parse_intermediate_source(struct parser *p)
{
    static const char begin[] = ".source_begin", end[] = ".source_end";
    int depth = 0;
    do {
        if (p->t.kind == TOKEN_END)
            return parser_fail(p, "the text ends inside '.nv_intermediate_source_section'");
        depth += parser_is_punct(p, '{') - parser_is_punct(p, '}');
        if (parser_is(p, begin)) {
            const char *to = memmem(p->lx.p, (size_t)(p->lx.end - p->lx.p), end, strlen(end));
            if (!to)
                return parser_fail(p, "'.source_end' was expected");
            for (; p->lx.p < to; p->lx.p++)
                if (*p->lx.p == '\n') {
                    p->lx.line++;
                    p->lx.line_start = p->lx.p + 1;
                }
        }
        parser_next(p);
    } while (depth > 0);
    return true;
}

static bool parse_target(struct parser *p)
{
    snprintf(p->m->target, sizeof p->m->target, "%.*s", p->t.len < 31 ? p->t.len : 31, p->t.at);
    do
        parser_next(p);
    while (parser_accept(p, ','));
    return true;
}

static bool parse_top(struct parser *p)
{
    bool is_extern = false, linked = false;
    int64_t n = 0;
    if (parser_word(p, ".version")) {
        double v = 0;
        memcpy(&v, &p->t.bits, 8);
        p->m->version = p->t.kind == TOKEN_F64 && v > 0 && v < 100 ? (int)(v * 10 + 0.5) : 0;
        parser_next(p);
        return true;
    }
    if (parser_word(p, ".target"))
        return parse_target(p);
    if (parser_word(p, ".address_size"))
        return parser_int(p, &n) && (n == 64 || parser_fail(p, "only 64-bit addresses are supported, as in ptxas 13"));
    if (parser_word(p, ".file"))
        return parse_file(p);
    if (parser_word(p, ".section"))
        return parse_section(p);
    if (parser_word(p, ".nv_intermediate_source_section"))
        return parse_intermediate_source(p);
    if (parser_word(p, ".loc"))
        return parse_loc(p);
    while (parser_is(p, ".extern") || parser_is(p, ".visible") || parser_is(p, ".weak") || parser_is(p, ".common")) {
        is_extern |= parser_is(p, ".extern");
        linked = true;
        parser_next(p);
    }
    parser_split(p);
    const char *at = p->t.at;
    if (parser_word(p, ".func"))
        return parse_function(p, false);
    if (parser_word(p, ".entry"))
        return parse_function(p, true);
    if (parser_word(p, ".global"))
        return module_var(p, SPACE_GLOBAL, at, is_extern, linked);
    if (parser_word(p, ".const"))
        return module_var(p, SPACE_CONST, at, is_extern, linked);
    if (parser_word(p, ".shared"))
        return module_var(p, SPACE_SHARED, at, is_extern, linked);
    if (parser_word(p, ".alias"))
        return parse_alias(p);
    if (parser_word(p, ".pragma")) {
        parser_next(p);
        return parser_expect(p, ';');
    }
    return parser_fail(p, "this is not supported at module level");
}

static struct parser parser_open(const char *label, const char *text, size_t bytes, struct error *err)
{
    struct ptx_module *m = xcalloc(1, sizeof *m);
    m->label = arena_text(&m->arena, label, strlen(label));
    struct parser p = {.lx = {text, text + bytes, 1, text}, .m = m, .err = err, .buckets = xmalloc(BUCKETS * sizeof *p.buckets)};
    for (int i = 0; i < BUCKETS; i++)
        p.buckets[i] = -1;
    parser_next(&p);
    return p;
}

static void parser_close(struct parser *p)
{
    FREE_ALL(p->buckets, p->names, p->pending);
}

struct ptx_module *ptx_parse(const char *label, const char *text, size_t bytes, struct error *err)
{
    if (bytes > PTX_MAX_BYTES) {
        error_set(err, ERROR_USAGE, "%s: PTX of %zu bytes; %u at most", label, bytes, PTX_MAX_BYTES);
        return NULL;
    }
    while (bytes && text[bytes - 1] == 0)
        bytes--;
    struct parser p = parser_open(label, text, bytes, err);
    while (p.t.kind != TOKEN_END && !p.failed)
        if (!parse_top(&p))
            parser_fail(&p, "not understood");
    if (!p.failed && !p.m->target[0])
        parser_fail(&p, "no '.target' in this text: is it PTX?");
    parser_close(&p);
    if (p.failed) {
        ptx_free(p.m);
        return NULL;
    }
    return p.m;
}

/* Behind what could not be read, up to the next declaration. */
static void skip_declaration(struct parser *p)
{
    p->failed = false;
    while (p->depth > 0)
        scope_close(p);
    while (p->t.kind != TOKEN_END && !begins_a_declaration(p)) {
        if (parser_is_punct(p, '{'))
            lexer_skip_braces(&p->lx);
        parser_next(p);
    }
}

struct ptx_module *ptx_outline(const char *text, size_t bytes)
{
    struct parser p = parser_open("", text, bytes, NULL);
    p.outline = true;
    while (p.t.kind != TOKEN_END)
        if (!parse_top(&p))
            skip_declaration(&p);
    parser_close(&p);
    return p.m;
}
