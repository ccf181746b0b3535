#include "plan/scenario/op_lines.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 16
#define MAX_VALUES 200000

/* One KEY=VALUE; a list is items[first .. first + count) of the pool, chained by next. */
struct value {
    const char *key, *word; /* into the text */
    int key_length, word_length, column;
    int child, next; /* indices; -1: none. child >= 0 or -2 (an empty list): a list */
};
struct reader {
    const char *file, *at, *line_start, *end;
    int line;
    struct value *pool;
    int count, room;
    struct error *err;
};

static bool fail_at(struct reader *r, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool fail_at(struct reader *r, int column, const char *format, ...)
{
    SCOPED_TEXT t = {0};
    TEXT_ADD_ARGUMENTS(&t, format);
    error_set(r->err, ERROR_USAGE, "%s:%d:%d: %s", r->file, r->line, column, text_get(&t));
    return false;
}

static int column_of(const struct reader *r)
{
    return (int)(r->at - r->line_start) + 1;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("_-+.:/", c);
}

static int word(struct reader *r, const char **begin)
{
    *begin = r->at;
    while (r->at < r->end && *r->at && is_word(*r->at))
        r->at++;
    return (int)(r->at - *begin);
}

static bool expect(struct reader *r, char c, const char *what)
{
    if (r->at < r->end && *r->at == c) {
        r->at++;
        return true;
    }
    if (r->at >= r->end)
        return fail_at(r, column_of(r), "the line ends where '%c' is expected (%s)", c, what);
    return fail_at(r, column_of(r), "'%c' should stand here (%s)", c, what);
}

/* Reads a list after its opening parenthesis, including the closing one. *first: its first value, or -2. */
static bool list(struct reader *r, int depth, int *first)
{
    int last = -1;
    *first = -2;
    if (depth > MAX_DEPTH)
        return fail_at(r, column_of(r), "more than %d lists within lists", MAX_DEPTH);
    if (r->at < r->end && *r->at == ')') {
        r->at++;
        return true;
    }
    for (;;) {
        struct value v = {.column = column_of(r), .child = -1, .next = -1};
        v.key_length = word(r, &v.key);
        if (!v.key_length)
            return fail_at(r, v.column, "a name is expected here");
        if (!expect(r, '=', "a list must have the form NAME=VALUE, NAME=VALUE"))
            return false;
        if (r->count == MAX_VALUES)
            return fail_at(r, v.column, "more than %d values", MAX_VALUES);
        if (r->count == r->room) {
            r->room = r->room ? 2 * r->room : 64;
            r->pool = xrealloc(r->pool, sizeof *r->pool * (size_t)r->room);
        }
        int own = r->count++;
        if (r->at < r->end && *r->at == '(') {
            r->at++;
            if (!list(r, depth + 1, &v.child))
                return false;
        } else if (!(v.word_length = word(r, &v.word))) {
            return fail_at(r, column_of(r), "'%.*s' has no value", v.key_length, v.key);
        }
        r->pool[own] = v; /* the pool may have moved */
        if (last >= 0)
            r->pool[last].next = own;
        else
            *first = own;
        last = own;
        if (r->at < r->end && *r->at == ',') {
            r->at++;
            continue;
        }
        return expect(r, ')', "the end of a list");
    }
}

static const struct value *get(const struct reader *r, const struct value *of, const char *key)
{
    for (int i = of ? of->child : -1; i >= 0; i = r->pool[i].next)
        if ((size_t)r->pool[i].key_length == strlen(key) && !memcmp(r->pool[i].key, key, strlen(key)))
            return &r->pool[i];
    return NULL;
}

/* Reads the number at list.dims.key or, for scalars, list.v; `fallback` < 0: it is required. */
static bool op_lines_number(struct reader *r, const struct value *list_of, const char *of, const char *key, int64_t fallback, int64_t *out)
{
    const struct value *in = get(r, list_of, of), *dims = key ? get(r, in, "dims") : in, *v = get(r, dims, key ? key : "v");
    char digits[24];
    long long n;
    if (!v && fallback >= 0) {
        *out = fallback;
        return true;
    }
    if (!v)
        return fail_at(r, in ? in->column : list_of->column, "no %s%s%s", of, key ? ".dims." : ".", key ? key : "v");
    snprintf(digits, sizeof digits, "%.*s", v->word_length < 20 ? v->word_length : 20, v->word_length ? v->word : "");
    if (v->child != -1 || !text_to_int(digits, &n) || n < 0 || n > 1000000000)
        return fail_at(r, v->column, "%s.%s must be an integer from 0 to 1000000000", of, key ? key : "v");
    *out = n;
    return true;
}

struct operation {
    int64_t n, c, h, w, k, r, s, stride, pad, groups, repeat;
    int64_t wide_stride, wide_pad; /* along x */
    bool relu;
};

/* Checks that a repeated key has the same value. */
static bool agrees(struct reader *r, const struct value *values, const char *of, const char *key, int64_t with)
{
    int64_t again;
    const struct value *v = get(r, values, of);
    return op_lines_number(r, values, of, key, with, &again) &&
           (again == with ||
            fail_at(r, v->column, "%s.%s is %lld, but the other values give %lld", of, key ? key : "v", (long long)again, (long long)with));
}

static bool operation_of(struct reader *r, const struct value *whole, struct operation *o)
{
    const struct value *texts = get(r, whole, "str_vals"), *values = get(r, whole, "nda_vals"), *type = get(r, texts, "type");
    int64_t in_channels, relu;
    if (!type || type->child != -1)
        return fail_at(r, whole->column, "no str_vals.type");
    if (type->word_length != 11 || memcmp(type->word, "Convolution", 11))
        return fail_at(r, type->column, "type %.*s: only Convolution is supported", type->word_length < 40 ? type->word_length : 40,
                       type->word);
    if (!values || values->child == -1)
        return fail_at(r, whole->column, "no nda_vals");
    if (!op_lines_number(r, values, "in", "img", -1, &o->n) || !op_lines_number(r, values, "in", "chan", -1, &o->c) ||
        !op_lines_number(r, values, "in", "y", -1, &o->h) || !op_lines_number(r, values, "in", "x", -1, &o->w) ||
        !op_lines_number(r, values, "filts", "out_chan", -1, &o->k) || !op_lines_number(r, values, "filts", "in_chan", -1, &in_channels) ||
        !op_lines_number(r, values, "filts", "y", -1, &o->r) || !op_lines_number(r, values, "filts", "x", -1, &o->s) ||
        !op_lines_number(r, values, "stride", "y", 1, &o->stride) || !op_lines_number(r, values, "stride", "x", 1, &o->wide_stride) ||
        !op_lines_number(r, values, "in_pad", "y", 0, &o->pad) || !op_lines_number(r, values, "in_pad", "x", 0, &o->wide_pad) ||
        !op_lines_number(r, values, "conv_has_relu", NULL, 0, &relu))
        return false;
    o->relu = relu != 0;
    if (!o->n || !o->c || !o->h || !o->w || !o->k || !o->r || !o->s || !o->stride || !o->wide_stride || !in_channels)
        return fail_at(r, values->column, "a size or a stride of 0");
    if (o->c % in_channels || o->k % (o->c / in_channels))
        return fail_at(r, get(r, values, "filts")->column, "filters of %lld channels do not divide an input of %lld into groups",
                       (long long)in_channels, (long long)o->c);
    o->groups = o->c / in_channels;
    if (o->h + 2 * o->pad < o->r || o->w + 2 * o->wide_pad < o->s)
        return fail_at(r, values->column, "the filter of %lldx%lld is larger than the padded input", (long long)o->r, (long long)o->s);
    int64_t p = (o->h + 2 * o->pad - o->r) / o->stride + 1, q = (o->w + 2 * o->wide_pad - o->s) / o->wide_stride + 1;
    return agrees(r, values, "kern_sz", "y", o->r) && agrees(r, values, "kern_sz", "x", o->s) &&
           agrees(r, values, "biases", "out_chan", o->k) && agrees(r, values, "out_chans", NULL, o->k) &&
           agrees(r, values, "out", "img", o->n) && agrees(r, values, "out", "chan", o->k) && agrees(r, values, "out", "y", p) &&
           agrees(r, values, "out", "x", q);
}

static bool one_line(struct reader *r, struct operation *o)
{
    struct value whole = {.column = column_of(r), .child = -1};
    r->count = 0;
    if (!expect(r, '(', "a line must be one list") || !list(r, 1, &whole.child))
        return false;
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
    return (r->at == r->end || fail_at(r, column_of(r), "unexpected text after the end of the list")) && operation_of(r, &whole, o);
}

static bool same(const struct operation *a, const struct operation *b)
{
    return a->n == b->n && a->c == b->c && a->h == b->h && a->w == b->w && a->k == b->k && a->r == b->r && a->s == b->s &&
           a->stride == b->stride && a->pad == b->pad && a->wide_stride == b->wide_stride && a->wide_pad == b->wide_pad &&
           a->groups == b->groups && a->relu == b->relu;
}

/* One number where both are alike; nothing where they are the usual one. */
static void add_sides(struct text *t, const char *name, int64_t y, int64_t x, int64_t usual, const char *pair)
{
    if (y != usual || x != usual)
        text_add(t, name);
    if (y == x && y != usual)
        text_addf(t, "%lld", (long long)y);
    else if (y != x)
        text_addf(t, pair, (long long)y, (long long)x);
}

static void add_layer(struct text *t, const struct operation *o)
{
    text_addf(t, "  n%lld_c%lld_%lldx%lld_k%lld_%lldx%lld", (long long)o->n, (long long)o->c, (long long)o->h, (long long)o->w,
              (long long)o->k, (long long)o->r, (long long)o->s);
    add_sides(t, "_s", o->stride, o->wide_stride, 1, "%lldx%lld");
    add_sides(t, "_p", o->pad, o->wide_pad, 0, "%lldx%lld");
    if (o->groups != 1)
        text_addf(t, "_g%lld", (long long)o->groups);
    text_addf(t, "%s: {n: %lld, c: %lld, h: %lld, w: %lld, k: %lld, kernel: ", o->relu ? "_relu" : "", (long long)o->n, (long long)o->c,
              (long long)o->h, (long long)o->w, (long long)o->k);
    text_addf(t, o->r == o->s ? "%lld" : "[%lld, %lld]", (long long)o->r, (long long)o->s);
    add_sides(t, ", stride: ", o->stride, o->wide_stride, 1, "[%lld, %lld]");
    add_sides(t, ", pad: ", o->pad, o->wide_pad, 0, "[%lld, %lld]");
    if (o->groups != 1)
        text_addf(t, ", groups: %lld", (long long)o->groups);
    if (o->relu)
        text_add(t, ", epilogue: [bias, relu]");
    if (o->repeat > 1)
        text_addf(t, ", repeat: %lld", (long long)o->repeat);
    text_add(t, "}\n");
}

static void add_operation(struct operation **ops, int *count, struct operation o)
{
    for (int i = 0; i < *count; i++)
        if (same(&(*ops)[i], &o)) {
            (*ops)[i].repeat++;
            return;
        }
    o.repeat = 1;
    *APPEND(*ops, *count) = o;
}

bool op_lines_scenario(const char *file, const char *text, size_t bytes, const char *name, struct text *out, struct error *err)
{
    struct reader r = {.file = file, .err = err};
    SCOPED struct operation *ops = NULL;
    int count = 0, lines = 0;
    bool ok = true;
    for (const char *at = text, *end = text + bytes; ok && at < end; at = r.end + 1) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct operation o = {0};
        r.line++;
        r.at = r.line_start = at;
        r.end = newline ? newline : end;
        while (r.at < r.end && (*r.at == ' ' || *r.at == '\t' || *r.at == '\r'))
            r.at++;
        if (r.at == r.end || *r.at == '#')
            continue;
        ok = one_line(&r, &o);
        lines += ok;
        if (ok)
            add_operation(&ops, &count, o);
    }
    if (ok && !count)
        ok = error_set(err, ERROR_USAGE, "%s: the file has no operation", file);
    if (ok) {
        text_addf(out, "scenario: %s\nabout: %d convolutions on %d lines of Boda's format\n", name, count, lines);
        text_add(out, "defaults: {op: conv2d, dtype: f32, layout: NCHW, math: f32, epilogue: [bias]}\n\nlayers:\n");
        for (int i = 0; i < count; i++)
            add_layer(out, &ops[i]);
        text_add(out, "\nvariants:\n  - cudnn\n  - conv2d/tconv\n  - conv2d/naive\n");
    }
    free(r.pool);
    return ok;
}
