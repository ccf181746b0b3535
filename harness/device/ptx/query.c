#include "device/ptx/query.h"
#include "base/code_only.h"
#include "base/dtype.h"
#include "base/text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PARAM_BYTES_MAX 32764 /* the limit of sm_70 and later */

static struct ptx_module *outline(const char *ptx)
{
    return ptx_outline(ptx, strlen(ptx));
}

/* ---- heads ---- */
int ptx_params(const struct ptx_function *f, struct param *params, int max, size_t *param_bytes)
{
    SCOPED uint32_t *offsets = xcalloc((size_t)max + 1, sizeof *offsets);
    int count = 0;
    *param_bytes = ptx_param_layout(f->params, offsets, max);
    for (const struct ptx_var *v = f->params; v && count < max; v = v->next, count++) {
        bool bytes = v->array || v->vector > 1 || v->type == T_B128;
        params[count] = (struct param){.kind = bytes                     ? PARAM_BYTES
                                               : ptx_type_float(v->type) ? PARAM_FLOAT
                                                                         : PARAM_INT,
                                       .bytes = (uint32_t)v->bytes,
                                       .align = v->align,
                                       .offset = offsets[count],
                                       .untyped = !bytes && (v->type == T_B32 || v->type == T_B64)};
    }
    return count;
}

/* -1 + err: its parameters cannot be read, or are too many. */
static int entry_params(const struct ptx_function *f, struct param *params, int max, size_t *param_bytes, struct error *err)
{
    size_t bytes;
    int count = 0;
    for (const struct ptx_var *v = f->params; v; v = v->next, count++)
        if (v->bytes == 0 || v->bytes > PARAM_BYTES_MAX)
            break;
        else if (count == max)
            break;
    const struct ptx_var *odd = f->params;
    for (int i = 0; i < count; i++)
        odd = odd->next;
    if (count < max && (odd || f->unread >= 0)) {
        error_set(err, ERROR_INTERNAL, "PTX: parameter %d of entry %s cannot be read", count, f->name);
        return -1;
    }
    if (odd || ptx_params(f, params, max, &bytes) != count || bytes > PARAM_BYTES_MAX) {
        error_set(err, ERROR_USAGE, "PTX: entry %s has more than %d parameters, or more than %d bytes of them", f->name, max,
                  PARAM_BYTES_MAX);
        return -1;
    }
    if (param_bytes)
        *param_bytes = bytes;
    return count;
}

static int list_entries(const struct ptx_module *m, char ***names)
{
    int count = 0;
    *names = NULL;
    for (const struct ptx_function *f = m->functions; f; f = f->next)
        if (f->is_entry)
            *APPEND(*names, count) = xstrdup(f->name);
    return count;
}

static void no_entry(const struct ptx_module *m, const char *entry, struct error *err)
{
    SCOPED char **names = NULL;
    int count = list_entries(m, &names);
    SCOPED_TEXT list = {0};
    text_add_list(&list, (const char *const *)names, (size_t)count);
    error_set(err, ERROR_USAGE, "no kernel '%s' in the compiled code; it has: %.1500s", entry, count ? text_get(&list) : "none");
    const char *near = text_nearest(entry, (const char *const *)names, (size_t)count);
    if (near)
        error_hint(err, "did you mean %s? Kernels need extern \"C\" to keep their names", near);
    else
        error_hint(err, "kernels need extern \"C\" to keep their names");
    for (int i = 0; i < count; i++)
        free(names[i]);
}

static const struct ptx_function *find_entry(const struct ptx_module *m, const char *entry)
{
    const struct ptx_function *f = ptx_find_function(m, entry);
    return f && f->is_entry ? f : NULL;
}

int ptx_signature(const char *ptx, const char *entry, struct param *params, int max, size_t *param_bytes, struct error *err)
{
    struct ptx_module *m = outline(ptx);
    const struct ptx_function *f = find_entry(m, entry);
    int count = f ? entry_params(f, params, max, param_bytes, err) : -1;
    if (!f)
        no_entry(m, entry, err);
    ptx_free(m);
    return count;
}

int ptx_entries(const char *ptx, char ***names)
{
    struct ptx_module *m = outline(ptx);
    int count = list_entries(m, names);
    ptx_free(m);
    return count;
}

void ptx_target(const char *ptx, char out[32])
{
    struct ptx_module *m = outline(ptx);
    memcpy(out, m->target, sizeof m->target);
    ptx_free(m);
}

int ptx_block(const char *ptx, const char *entry)
{
    struct ptx_module *m = outline(ptx);
    const struct ptx_function *f = find_entry(m, entry);
    int threads = !f ? 0 : f->req_threads[0] ? f->req_threads[0] : f->max_dims[0];
    ptx_free(m);
    return threads;
}

/* ---- bodies ---- */
/* The words of one entry's body and of functions that are not inlined; of all bodies when `entry` is NULL. */
struct bodies {
    const char *entry;
    const struct ptx_function *next;
    struct lexer lx;
};

static struct bodies bodies_of(const struct ptx_module *m, const char *entry)
{
    return (struct bodies){.entry = entry, .next = m->functions};
}

static bool next_word(struct bodies *b, struct token *t)
{
    for (;;) {
        if (b->lx.p < b->lx.end)
            lexer_next(&b->lx, t);
        else if (b->next) {
            const struct ptx_function *f = b->next;
            bool wanted = f->has_body && (!b->entry || !f->is_entry || !strcmp(f->name, b->entry));
            b->lx = wanted ? (struct lexer){f->body, f->body + f->body_bytes, f->line, f->body} : (struct lexer){0};
            b->next = f->next;
            continue;
        } else
            return false;
        if (t->kind == TOKEN_WORD)
            return true;
    }
}

static bool word_is(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && !memcmp(at, word, n);
}

/* The parts of an instruction's word: "mma", "sync", "aligned"; a modifier may also be a word of its own, behind a blank. */
struct parts {
    struct bodies *b;
    const char *at, *end;
};

static struct parts parts_of(struct bodies *b, const struct token *t)
{
    return (struct parts){b, t->at, t->at + t->len};
}

/* The next part; false behind the last. */
static bool next_part(struct parts *p, const char **at, size_t *n)
{
    if (p->at == p->end) {
        struct lexer ahead = p->b->lx;
        struct token t;
        lexer_next(&ahead, &t);
        if (t.kind != TOKEN_WORD || *t.at != '.')
            return false;
        p->b->lx = ahead;
        p->at = t.at;
        p->end = t.at + t.len;
    }
    p->at += *p->at == '.';
    *at = p->at;
    while (p->at < p->end && *p->at != '.')
        p->at++;
    *n = (size_t)(p->at - *at);
    return true;
}

#define RESULT_32 (1u << 31) /* f32 or s32, which no set of factors has */

struct factor_name {
    const char *name;
    unsigned bits;
};

static unsigned factor_of(const struct factor_name *names, const char *at, size_t n)
{
    for (; names->name; names++)
        if (word_is(at, n, names->name))
            return names->bits;
    return 0;
}

/* After the first word of a matrix product: the types of result, two factors and addend (wgmma has no addend; wmma of f16 names only result
 * and addend; tcgen05 has kinds, of which `kind::f16` includes bf16). */
static unsigned product_factors(struct parts *p)
{
    static const struct factor_name types[] = {{"f16", FACTOR_F16},
                                               {"bf16", FACTOR_BF16},
                                               {"tf32", FACTOR_TF32},
                                               {"f64", FACTOR_F64},
                                               {"s8", FACTOR_I8},
                                               {"u8", FACTOR_I8},
                                               {"e4m3", FACTOR_F8},
                                               {"e5m2", FACTOR_F8},
                                               {"e3m2", FACTOR_F8},
                                               {"e2m3", FACTOR_F8},
                                               {"e2m1", FACTOR_F8},
                                               {"s4", FACTOR_BITS},
                                               {"u4", FACTOR_BITS},
                                               {"b1", FACTOR_BITS},
                                               {"f32", RESULT_32},
                                               {"s32", RESULT_32},
                                               {NULL, 0}};
    static const struct factor_name kinds[] = {
        {"f8f6f4", FACTOR_F8}, {"mxf8f6f4", FACTOR_F8}, {"mxf4", FACTOR_F8},  {"mxf4nvf4", FACTOR_F8},
        {"i8", FACTOR_I8},     {"tf32", FACTOR_TF32},   {"f16", FACTOR_HALF}, {NULL, 0}};
    unsigned found[8] = {0}, count = 0, kind = 0;
    const char *at;
    for (size_t n; next_part(p, &at, &n);) {
        const char *colons = memmem(at, n, "::", 2);
        unsigned bits = colons ? 0 : factor_of(types, at, n);
        if (colons)
            kind |= factor_of(kinds, colons + 2, n - (size_t)(colons + 2 - at));
        if (bits && count < 8)
            found[count++] = bits;
    }
    unsigned sums = found[0] == FACTOR_F16 ? FACTOR_SUM_F16 : 0;
    if (count == 2)
        return kind | FACTOR_F16 | sums;
    return kind | (count >= 3 ? ((found[1] | found[2]) & ~RESULT_32) | sums : 0);
}

unsigned ptx_factors(const char *ptx, const char *entry)
{
    static const char *const products[] = {"mma", "wgmma", "wmma", "tcgen05"};
    struct ptx_module *m = outline(ptx);
    struct bodies b = bodies_of(m, entry);
    struct token t;
    unsigned all = 0;
    while (next_word(&b, &t)) {
        struct parts p = parts_of(&b, &t);
        const char *at;
        size_t n;
        if (!strchr("mwt", *t.at) || !next_part(&p, &at, &n))
            continue;
        for (size_t i = 0; i < sizeof products / sizeof *products; i++)
            if (word_is(at, n, products[i]))
                all |= product_factors(&p);
    }
    ptx_free(m);
    return all;
}

bool ptx_waits(const char *ptx, const char *entry)
{
    if (!strstr(ptx, "griddepcontrol"))
        return false;
    struct ptx_module *m = outline(ptx);
    struct bodies b = bodies_of(m, entry);
    struct token t;
    bool waits = false;
    while (!waits && next_word(&b, &t)) {
        struct parts p = parts_of(&b, &t);
        const char *at;
        size_t n;
        waits =
            *t.at == 'g' && next_part(&p, &at, &n) && word_is(at, n, "griddepcontrol") && next_part(&p, &at, &n) && word_is(at, n, "wait");
    }
    ptx_free(m);
    return waits;
}

/* ---- state ---- */
/* A quick test without parsing: does `.global` begin a word anywhere? It then declares a variable; in an instruction it follows the name.
 */
static bool may_have_state(const char *ptx)
{
    for (const char *p = ptx; (p = strstr(p, ".global")); p++)
        if (p == ptx || !isalnum((unsigned char)p[-1]))
            return true;
    return strstr(ptx, "malloc") != NULL;
}

static void mark_used(const struct ptx_var *const *vars, bool *used, int count, const char *name, size_t n)
{
    for (int i = 0; i < count; i++)
        used[i] |= *name == *vars[i]->name && word_is(name, n, vars[i]->name);
}

int ptx_state(const char *ptx, char ***names, bool *heap)
{
    *names = NULL;
    *heap = false;
    if (!may_have_state(ptx))
        return 0;
    struct ptx_module *m = outline(ptx);
    SCOPED const struct ptx_var **vars = NULL;
    int count = 0, used_count = 0;
    for (const struct ptx_var *v = m->vars; v; v = v->next)
        if (v->space == SPACE_GLOBAL)
            *APPEND(vars, count) = v;
    SCOPED bool *used = xcalloc((size_t)count + 1, sizeof *used);
    for (const struct ptx_var *v = m->vars; v; v = v->next)
        for (const struct ptx_reloc *r = v->relocs; r; r = r->next)
            mark_used(vars, used, count, r->name, strlen(r->name));
    struct bodies b = bodies_of(m, NULL);
    for (struct token t; next_word(&b, &t);) {
        *heap |= word_is(t.at, (size_t)t.len, "malloc");
        mark_used(vars, used, count, t.at, (size_t)t.len);
    }
    for (int i = count - 1; i >= 0; i--) /* the module has the last one first */
        if (used[i])
            *APPEND(*names, used_count) = xstrdup(vars[i]->name);
    ptx_free(m);
    return used_count;
}

const char *ptx_launches(const char *ptx)
{
    static const char *const registers[] = {"%gridid", "%current_graph_exec",
                                            "%pm0",    "%pm1",
                                            "%pm2",    "%pm3",
                                            "%pm4",    "%pm5",
                                            "%pm6",    "%pm7",
                                            "%pm0_64", "%pm1_64",
                                            "%pm2_64", "%pm3_64",
                                            "%pm4_64", "%pm5_64",
                                            "%pm6_64", "%pm7_64"};
    if (!strstr(ptx, registers[0]) && !strstr(ptx, registers[1]) && !strstr(ptx, "%pm"))
        return NULL;
    struct ptx_module *m = outline(ptx);
    struct bodies b = bodies_of(m, NULL);
    const char *found = NULL;
    for (struct token t; !found && next_word(&b, &t);)
        for (size_t i = 0; *t.at == '%' && i < sizeof registers / sizeof *registers; i++)
            found = word_is(t.at, (size_t)t.len, registers[i]) ? registers[i] : found;
    ptx_free(m);
    return found;
}

static int by_place(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    return (x > y) - (x < y);
}

char *ptx_expose(const char *ptx)
{
    struct ptx_module *m = outline(ptx);
    struct text out = {0};
    const char **at = NULL, *done = ptx;
    int count = 0;
    for (const struct ptx_var *v = m->vars; v; v = v->next)
        if (v->space == SPACE_GLOBAL && !v->linked)
            *APPEND(at, count) = v->at;
    if (count)
        qsort(at, (size_t)count, sizeof *at, by_place);
    for (int i = 0; i < count; i++) {
        if (i && at[i] == at[i - 1]) /* the same declaration's next variable */
            continue;
        text_addf(&out, "%.*s.visible ", (int)(at[i] - done), done);
        done = at[i];
    }
    text_add(&out, done);
    free(at);
    ptx_free(m);
    return text_take(&out);
}

char *ptx_code(const char *ptx)
{
    SCOPED char *words = code_words(ptx);
    struct text out = {0};
    bool section = false;
    for (const char *line = words, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        const char *word = line + (*line == ' ');
        section = section || !strncmp(word, ".section", 8);
        if (!section && strncmp(word, ".loc ", 5) && strncmp(word, ".file ", 6))
            text_addf(&out, "%.*s\n", (int)strcspn(word, "\n"), word);
        section = section && *word != '}';
    }
    return text_take(&out);
}
