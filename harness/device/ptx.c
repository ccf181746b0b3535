/* The parameters of PTX entries, from the text: enough of the grammar to be right for every entry that NVRTC and nvcc 13 write in either of
 * their dialects (NVVM 7 below sm_100; NVVM 20 from there on, which adds `.ptr .align N` to pointers), and to fail clearly on anything
 * else. */
#include "base/dtype.h"
#include "base/text.h"
#include "device/device.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    const char *at;
};

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* White space, comments and strings carry no entry; `.nv_debug_ptx_txt`-like data is numbers. */
static void skip_blank(struct scan *s)
{
    for (;;) {
        while (*s->at && isspace((unsigned char)*s->at))
            s->at++;
        if (s->at[0] == '/' && s->at[1] == '/') {
            s->at += strcspn(s->at, "\n");
        } else if (s->at[0] == '/' && s->at[1] == '*') {
            const char *end = strstr(s->at + 2, "*/");
            s->at = end ? end + 2 : s->at + strlen(s->at);
        } else {
            return;
        }
    }
}

/* The next token: a directive or word (with its dots and colons), or one other character. Length 0 at the end. */
static size_t token(struct scan *s, const char **start)
{
    skip_blank(s);
    *start = s->at;
    if (!*s->at)
        return 0;
    if (*s->at == '"') {
        s->at++;
        while (*s->at && *s->at != '"')
            s->at += s->at[0] == '\\' && s->at[1] ? 2 : 1;
        s->at += *s->at == '"';
    } else if (*s->at == '.' || word_char(*s->at)) {
        s->at++;
        while (word_char(*s->at))
            s->at++;
    } else {
        s->at++;
    }
    return (size_t)(s->at - *start);
}

static bool ptx_is(const char *start, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(start, word, n) == 0;
}

/* Moves behind the next `.entry`; its name, or 0 at the end of the text. */
static size_t next_entry(struct scan *s, const char **name)
{
    const char *t;
    for (size_t n; (n = token(s, &t));)
        if (ptx_is(t, n, ".entry"))
            return token(s, name);
    return 0;
}

/* u8 .. u64, s8 .. s64, b8 .. b64, f16 .. f64, pred never. False for a type that a parameter cannot have. */
static bool scalar_type(const char *t, size_t n, enum param_kind *kind, uint32_t *bytes)
{
    static const struct {
        const char *name;
        enum param_kind kind;
        uint32_t bytes;
    } types[] = {
        {".u8", PARAM_INT, 1},       {".s8", PARAM_INT, 1},    {".b8", PARAM_INT, 1},     {".u16", PARAM_INT, 2},
        {".s16", PARAM_INT, 2},      {".b16", PARAM_INT, 2},   {".u32", PARAM_INT, 4},    {".s32", PARAM_INT, 4},
        {".b32", PARAM_INT, 4},      {".u64", PARAM_INT, 8},   {".s64", PARAM_INT, 8},    {".b64", PARAM_INT, 8},
        {".b128", PARAM_BYTES, 16},  {".f16", PARAM_FLOAT, 2}, {".bf16", PARAM_FLOAT, 2}, {".f16x2", PARAM_FLOAT, 4},
        {".bf16x2", PARAM_FLOAT, 4}, {".f32", PARAM_FLOAT, 4}, {".f64", PARAM_FLOAT, 8},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (ptx_is(t, n, types[i].name)) {
            *kind = types[i].kind;
            *bytes = types[i].bytes;
            return true;
        }
    return false;
}

#define PARAM_BYTES_MAX 32764 /* what sm_70 and later take */

static bool ptx_number(const char *t, size_t n, uint32_t max, uint32_t *out)
{
    uint32_t v = 0;
    if (n == 0 || n > 8)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)t[i]))
            return false;
        v = v * 10 + (uint32_t)(t[i] - '0');
    }
    *out = v;
    return v <= max;
}

/* One parameter, its `.param` already read. *end: ')' or ','. */
static bool one_param(struct scan *s, struct param *p, char *end)
{
    const char *t;
    size_t n;
    bool typed = false, pointer = false, named = false;
    *p = (struct param){0};
    for (;;) {
        n = token(s, &t);
        if (n == 0)
            return false;
        if (n == 1 && (*t == ',' || *t == ')')) {
            *end = *t;
            return typed && named;
        }
        if (ptx_is(t, n, ".align")) {
            uint32_t align;
            n = token(s, &t);
            if (!ptx_number(t, n, 4096, &align) || align == 0 || (align & (align - 1)))
                return false;
            if (!pointer) /* behind `.ptr` it is what the pointer points to */
                p->align = align;
        } else if (ptx_is(t, n, ".ptr")) {
            pointer = true;
        } else if (pointer && (ptx_is(t, n, ".global") || ptx_is(t, n, ".shared") || ptx_is(t, n, ".const") || ptx_is(t, n, ".local"))) {
            continue;
        } else if (*t == '[') {
            uint32_t count;
            n = token(s, &t);
            if (!typed || !ptx_number(t, n, PARAM_BYTES_MAX, &count) || (uint64_t)count * p->bytes > PARAM_BYTES_MAX)
                return false;
            if (p->align == 0)
                p->align = p->bytes;
            p->kind = PARAM_BYTES;
            p->bytes *= count;
            n = token(s, &t);
            if (n != 1 || *t != ']')
                return false;
        } else if (*t == '.') {
            if (typed || !scalar_type(t, n, &p->kind, &p->bytes))
                return false;
            typed = true;
        } else if (word_char(*t) && !named) {
            named = true;
        } else {
            return false;
        }
    }
}

static int read_params(struct scan *s, const char *entry, struct param *params, int max, size_t *param_bytes, struct error *err)
{
    const char *t;
    size_t n = token(s, &t);
    int count = 0;
    uint32_t offset = 0;
    char end = ')';
    if (n == 1 && *t == '(') {
        n = token(s, &t);
        end = n == 1 && *t == ')' ? ')' : ',';
    }
    while (end == ',') {
        struct param p;
        if (!ptx_is(t, n, ".param") || !one_param(s, &p, &end)) {
            error_set(err, ERROR_INTERNAL, "PTX: parameter %d of entry %s cannot be read", count, entry);
            return -1;
        }
        if (p.align == 0)
            p.align = p.bytes;
        p.offset = (offset + p.align - 1) / p.align * p.align;
        offset = p.offset + p.bytes;
        if (count >= max || offset > PARAM_BYTES_MAX) {
            error_set(err, ERROR_USAGE, "PTX: entry %s has more than %d parameters, or more than %d bytes of them", entry, max,
                      PARAM_BYTES_MAX);
            return -1;
        }
        params[count++] = p;
        if (end == ',')
            n = token(s, &t);
    }
    if (param_bytes)
        *param_bytes = offset;
    return count;
}

int device_ptx_signature(const char *ptx, const char *entry, struct param *params, int max, size_t *param_bytes, struct error *err)
{
    struct scan s = {ptx};
    const char *name;
    for (size_t n; (n = next_entry(&s, &name));)
        if (ptx_is(name, n, entry))
            return read_params(&s, entry, params, max, param_bytes, err);
    char **names;
    int count = device_ptx_entries(ptx, &names);
    struct text list = {0};
    text_add_list(&list, (const char *const *)names, (size_t)count);
    error_set(err, ERROR_USAGE, "no kernel '%s' in the compiled code; it has: %.1500s", entry, count ? text_get(&list) : "none");
    const char *near = text_nearest(entry, (const char *const *)names, (size_t)count);
    if (near)
        error_hint(err, "did you mean %s? Kernels need extern \"C\" to keep their names", near);
    else
        error_hint(err, "kernels need extern \"C\" to keep their names");
    text_free(&list);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return -1;
}

int device_ptx_entries(const char *ptx, char ***names)
{
    struct scan s = {ptx};
    const char *name;
    int count = 0, room = 0;
    *names = NULL;
    for (size_t n; (n = next_entry(&s, &name));) {
        if (count == room)
            *names = xrealloc(*names, sizeof **names * (size_t)(room = room ? 2 * room : 8));
        (*names)[count++] = xstrndup(name, n);
    }
    return count;
}

/* Behind `.global`: the variable's name, between its type and its sizes, values or `;`. 0: there is none. */
static size_t variable_name(struct scan *s, const char **name)
{
    const char *t;
    for (size_t n; (n = token(s, &t));) {
        if (word_char(*t) && !isdigit((unsigned char)*t)) {
            *name = t;
            return n;
        }
        if (*t == '(') /* .attribute(.managed) */
            while ((n = token(s, &t)) && *t != ')')
                ;
        else if (*t != '.' && !isdigit((unsigned char)*t))
            return 0;
    }
    return 0;
}

struct variables {
    char **names;
    bool *used;
    int count, room;
};

static void add_variable(struct variables *v, const char *name, size_t n)
{
    if (v->count == v->room) {
        v->room = v->room ? 2 * v->room : 16;
        v->names = xrealloc(v->names, sizeof *v->names * (size_t)v->room);
        v->used = xrealloc(v->used, sizeof *v->used * (size_t)v->room);
    }
    v->used[v->count] = false;
    v->names[v->count++] = xstrndup(name, n);
}

/* Nearly no module has any, and this is told without reading it word by word: a declaration's ".global" is a word by itself. */
static bool may_have_state(const char *ptx)
{
    for (const char *p = ptx; (p = strstr(p, ".global")); p++)
        if (p[7] && strchr(" \t\r\n\v\f/", p[7]))
            return true;
    return strstr(ptx, "malloc") != NULL;
}

/* A token's step into braces, or into parentheses, where a parameter may be `.ptr .global`, and out of them. */
static int nested(const char *t)
{
    return *t == '{' || *t == '(' ? 1 : *t == '}' || *t == ')' ? -1 : 0;
}

int device_ptx_state(const char *ptx, char ***names, bool *heap)
{
    *names = NULL;
    *heap = false;
    if (!may_have_state(ptx))
        return 0;
    struct scan s = {ptx};
    struct variables v = {0};
    const char *t;
    int depth = 0, count = 0;
    *heap = false;
    for (size_t n; (n = token(&s, &t));) { /* a variable stands before what refers to it */
        depth += nested(t);
        if (depth == 0 && ptx_is(t, n, ".global")) {
            if ((n = variable_name(&s, &t)))
                add_variable(&v, t, n);
            continue;
        }
        *heap |= depth > 0 && *t == 'm' && ptx_is(t, n, "malloc");
        for (int i = 0; word_char(*t) && i < v.count; i++)
            v.used[i] |= *t == *v.names[i] && ptx_is(t, n, v.names[i]);
    }
    for (int i = 0; i < v.count; i++)
        if (v.used[i])
            v.names[count++] = v.names[i];
        else
            free(v.names[i]);
    free(v.used);
    *names = v.names;
    return count;
}

const char *device_ptx_launches(const char *ptx)
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
    const char *t;
    if (!strstr(ptx, registers[0]) && !strstr(ptx, registers[1]) && !strstr(ptx, "%pm"))
        return NULL;
    struct scan s = {ptx};
    for (size_t n; (n = token(&s, &t));)
        for (size_t i = 0; *t == '%' && i < sizeof registers / sizeof *registers; i++)
            if (ptx_is(t, n, registers[i]))
                return registers[i];
    return NULL;
}

char *device_ptx_expose(const char *ptx)
{
    struct scan s = {ptx};
    struct text out = {0};
    const char *t, *done = ptx;
    bool linked = false; /* .visible, .extern, .weak, .common stand before it */
    int depth = 0;
    for (size_t n; (n = token(&s, &t));) {
        depth += nested(t);
        if (depth == 0 && !linked && ptx_is(t, n, ".global")) {
            text_addf(&out, "%.*s.visible ", (int)(t - done), done);
            done = t;
        }
        linked = ptx_is(t, n, ".visible") || ptx_is(t, n, ".extern") || ptx_is(t, n, ".weak") || ptx_is(t, n, ".common");
    }
    text_add(&out, done);
    return text_take(&out);
}

/* A word behind a dot of a matrix product. 0: it is no type of a factor. */
static unsigned factor_of(const char *t, size_t n)
{
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {{".f16", FACTOR_F16},    {".bf16", FACTOR_BF16}, {".tf32", FACTOR_TF32},
                 {".f64", FACTOR_F64},    {".s8", FACTOR_I8},     {".u8", FACTOR_I8},
                 {".e4m3", FACTOR_F8},    {".e5m2", FACTOR_F8},   {".e3m2", FACTOR_F8},
                 {".e2m3", FACTOR_F8},    {".e2m1", FACTOR_F8},   {".s4", FACTOR_BITS},
                 {".u4", FACTOR_BITS},    {".b1", FACTOR_BITS},   {"f8f6f4", FACTOR_F8},
                 {"mxf8f6f4", FACTOR_F8}, {"mxf4", FACTOR_F8},    {"mxf4nvf4", FACTOR_F8},
                 {"i8", FACTOR_I8},       {"tf32", FACTOR_TF32},  {"f16", FACTOR_F16 | FACTOR_BF16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (ptx_is(t, n, types[i].name))
            return types[i].bits;
    return 0;
}

#define RESULT_32 (1u << 31) /* f32 or s32, which no set of factors has */

/* Behind the first word of a matrix product, up to its first operand: result, two factors, addend (wgmma: no addend; wmma of f16: result
 * and addend alone; tcgen05: `.kind::f16`, which bf16 is too). */
static unsigned product_factors(struct scan *s)
{
    unsigned types[8] = {0}, count = 0, kind = 0;
    const char *t;
    bool colon = false;
    for (struct scan ahead = *s;; *s = ahead) {
        size_t n = token(&ahead, &t);
        if (n == 0 || (*t != '.' && *t != ':' && !colon))
            break;
        unsigned bits = ptx_is(t, n, ".f32") || ptx_is(t, n, ".s32") ? RESULT_32 : factor_of(t, n);
        if (colon)
            kind |= bits;
        else if (bits && count < 8)
            types[count++] = bits;
        colon = *t == ':';
    }
    unsigned sums = types[0] == FACTOR_F16 ? FACTOR_SUM_F16 : 0;
    if (count == 2)
        return kind | FACTOR_F16 | sums;
    return kind | (count >= 3 ? ((types[1] | types[2]) & ~RESULT_32) | sums : 0);
}

/* The words of one entry's body and of functions that are not inlined. */
struct bodies {
    struct scan s;
    const char *entry;
    int depth;
    bool other; /* in an entry that is not asked about */
};

static size_t body_token(struct bodies *b, const char **t)
{
    for (size_t n; (n = token(&b->s, t));) {
        b->depth += **t == '{' ? 1 : **t == '}' ? -1 : 0;
        if (b->depth == 0 && ptx_is(*t, n, ".func"))
            b->other = false;
        if (b->depth == 0 && ptx_is(*t, n, ".entry")) {
            n = token(&b->s, t);
            b->other = !ptx_is(*t, n, b->entry);
        } else if (b->depth > 0 && !b->other) {
            return n;
        }
    }
    return 0;
}

unsigned device_ptx_factors(const char *ptx, const char *entry)
{
    static const char *const products[] = {"mma", "wgmma", "wmma", "tcgen05"};
    struct bodies b = {.s = {ptx}, .entry = entry};
    const char *t;
    unsigned all = 0;
    for (size_t n; (n = body_token(&b, &t));)
        for (size_t i = 0; i < sizeof products / sizeof *products; i++)
            if (ptx_is(t, n, products[i]))
                all |= product_factors(&b.s);
    return all;
}

bool device_ptx_waits(const char *ptx, const char *entry)
{
    struct bodies b = {.s = {ptx}, .entry = entry};
    const char *t;
    bool control = false;
    for (size_t n; (n = body_token(&b, &t)); control = ptx_is(t, n, "griddepcontrol"))
        if (control && ptx_is(t, n, ".wait"))
            return true;
    return false;
}
