#include "kernel/new/index.h"
#include "base/text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool index_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

const char *index_skip(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

const char *index_word(const char *p, char out[64])
{
    size_t n = 0;
    while (index_is_word(p[n]))
        n++;
    snprintf(out, 64, "%.*s", (int)(n < 63 ? n : 63), p);
    return p + n;
}

const char *index_closed(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += (*p == '(' || *p == '[' || *p == '{') - (*p == ')' || *p == ']' || *p == '}');
        if (depth <= 0)
            return p + 1;
    }
    return p;
}

void index_lower(char *s)
{
    for (; *s; s++)
        *s = (char)tolower((unsigned char)*s);
}

/* ---- sums of products ---- */

static struct product *add_term(struct sum *s)
{
    s->unknown |= s->count == TERMS_MAX;
    s->count -= s->count == TERMS_MAX; /* then the last one is overwritten */
    s->terms[s->count] = (struct product){0};
    return &s->terms[s->count++];
}

static void add_size(struct sum *s, const char *size)
{
    snprintf(add_term(s)->sizes[0], SHAPE_TEXT, "%s", size);
    s->terms[s->count - 1].size_count = strcmp(size, "1") != 0;
}

static void add_run(struct sum *s, const char *what, const char *bound)
{
    struct product *t = add_term(s);
    t->runs = 1;
    snprintf(t->what, sizeof t->what, "%s", what);
    snprintf(t->bound, sizeof t->bound, "%s", bound);
}

void index_add(struct sum *to, const struct sum *s)
{
    to->unknown |= s->unknown;
    for (int i = 0; i < s->count; i++)
        *add_term(to) = s->terms[i];
}

static void multiply(struct sum *out, const struct sum *a, const struct sum *b)
{
    *out = (struct sum){.unknown = a->unknown || b->unknown};
    for (int i = 0; i < a->count; i++)
        for (int k = 0; k < b->count; k++) {
            struct product *t = add_term(out);
            const struct product *x = &a->terms[i], *y = &b->terms[k];
            *t = x->runs || !y->runs ? *x : *y;
            const struct product *other = x->runs || !y->runs ? y : x;
            t->less = x->less != y->less;
            t->runs += other->runs;
            if (x->runs && y->runs) {
                t->bound[0] = 0;
                snprintf(t->with, sizeof t->with, "%s", t->runs == 2 ? other->what : "");
            }
            out->unknown |= t->size_count + other->size_count > FACTORS_MAX;
            for (int n = 0; n < other->size_count && t->size_count < FACTORS_MAX; n++)
                memcpy(t->sizes[t->size_count++], other->sizes[n], SHAPE_TEXT);
        }
}

void index_join(const struct product *t, char out[SHAPE_TEXT])
{
    SCOPED_TEXT all = {0};
    for (int i = 0; i < t->size_count; i++)
        text_addf(&all, "%s%s", i ? " * " : "", t->sizes[i]);
    snprintf(out, SHAPE_TEXT, "%s", all.len ? text_get(&all) : "1");
}

bool index_size(const struct sum *s, char out[SHAPE_TEXT])
{
    SCOPED_TEXT all = {0};
    bool sizes = s->count && !s->unknown;
    for (int i = 0; i < s->count && sizes; i++) {
        char one[SHAPE_TEXT];
        index_join(&s->terms[i], one);
        text_addf(&all, "%s%s", s->terms[i].less ? (i ? " - " : "-") : i ? " + " : "", one);
        sizes = !s->terms[i].runs;
    }
    snprintf(out, SHAPE_TEXT, s->count > 1 ? "(%s)" : "%s", text_get(&all));
    return sizes && all.len + 3 < SHAPE_TEXT;
}

/* A sum of sizes is one size, "(h - r + 1)". */
static void collapse(struct sum *s)
{
    char size[SHAPE_TEXT];
    if (s->count < 2 || !index_size(s, size))
        return;
    *s = (struct sum){0};
    add_size(s, size);
}

/* The factors of "a * b" without those of "b"; "" if one is missing. */
static void quotient(const char *all, const char *less, char out[SHAPE_TEXT])
{
    SCOPED char *rest = text_format(" * %s * ", all);
    SCOPED char *factors = xstrdup(less);
    char *next = factors;
    for (char *one; (one = strsep(&next, "*"));) {
        SCOPED char *factor = text_format(" %.*s ", (int)strcspn(one + (*one == ' '), " "), one + (*one == ' '));
        char *at = strstr(rest, factor);
        out[0] = 0;
        if (!at)
            return;
        memmove(at, at + strlen(factor) + 1, strlen(at + strlen(factor) + 1) + 1); /* with the star behind it */
    }
    size_t n = strlen(rest);
    snprintf(out, SHAPE_TEXT, "%.*s", n > 6 ? (int)(n - 6) : 0, rest + 3);
}

/* ---- names ---- */

static const struct shape_number *number_of(const struct reader *r, const char *name, const char *of)
{
    return FIRST_IN(r->out->numbers, i, r->out->number_count,
                    !r->out->numbers[i].real && !strcmp(r->out->numbers[i].name, name) && !strcmp(r->out->numbers[i].of, of));
}

int index_pointer(const struct reader *r, const char *name)
{
    for (int i = 0; i < r->s->count; i++)
        if (r->s->params[i].pointer && !strcmp(r->s->params[i].name, name))
            return i;
    return -1;
}

struct local *index_local(struct reader *r, const char *name)
{
    return FIRST_IN(r->locals, i, r->local_count, !strcmp(r->locals[i].name, name));
}

const char *index_bound(const struct reader *r, const char *name, const char *at)
{
    const char *found = NULL;
    for (int i = 0; i < r->bound_count; i++)
        if (!strcmp(r->bounds[i].name, name) && (!found || r->bounds[i].at < at))
            found = r->bounds[i].bound;
    return found;
}

/* The value of a constant of the file or of the template: `constexpr int NAME = 4`, `#define NAME 4`; "": there is none. */
static void constant_of(const struct reader *r, const char *name, char out[SHAPE_TEXT])
{
    out[0] = 0;
    for (int i = 0; i < r->s->choice_count; i++)
        if (!strcmp(r->s->choices[i].name, name) && isdigit((unsigned char)r->s->choices[i].value[0]))
            snprintf(out, SHAPE_TEXT, "%s", r->s->choices[i].value);
    size_t n = strlen(name);
    for (const char *p = r->file; !out[0] && (p = strstr(p, name)); p += n) {
        const char *after = index_skip(p + n);
        if ((p > r->file && index_is_word(p[-1])) || index_is_word(p[n]))
            continue;
        const char *line = p;
        while (line > r->file && !strchr("\n;{}", line[-1]))
            line--;
        bool defined = memmem(line, (size_t)(p - line), "#define", 7) && isdigit((unsigned char)*after),
             constant = memmem(line, (size_t)(p - line), "const", 5) && *after == '=' && isdigit((unsigned char)*index_skip(after + 1));
        if (defined || constant)
            snprintf(out, SHAPE_TEXT, "%ld", strtol(index_skip(after + constant), NULL, 0));
    }
}

/* ---- expressions ---- */

/* Skips what follows a name: `.rank()`, `[3]`, `(a, b)`. */
static void skip_rest(struct reader *r)
{
    char name[64];
    for (;;) {
        r->p = index_skip(r->p);
        if (*r->p == '(' || *r->p == '[')
            r->p = index_closed(r->p);
        else if (*r->p == '.' || (*r->p == '-' && r->p[1] == '>') || (*r->p == ':' && r->p[1] == ':'))
            r->p = index_word(index_skip(r->p + (*r->p == '.' ? 1 : 2)), name);
        else
            return;
    }
}

/* A local variable: its bound, else what its value says. */
static void parse_local(struct reader *r, const char *name, const char *at, struct sum *out)
{
    const char *bound = index_bound(r, name, at);
    struct local *local = bound ? NULL : index_local(r, name);
    if (!local || local->of >= 0 || local->opaque || r->depth >= DEPTH_MAX) {
        add_run(out, name, bound ? bound : "");
        return;
    }
    const char *back = r->p;
    struct sum *value = xcalloc(1, sizeof *value);
    r->p = local->value;
    local->opaque = true;
    index_parse(r, value);
    r->p = back;
    collapse(value);
    local->opaque = value->unknown || value->count > VALUE_MAX;
    if (value->count == 1 && value->terms[0].runs == 1 && !value->terms[0].size_count)
        snprintf(value->terms[0].label, sizeof value->terms[0].label, "%s", name);
    if (local->opaque)
        add_run(out, name, "");
    else
        index_add(out, value);
    free(value);
}

static void parse_name(struct reader *r, struct sum *out)
{
    char name[64], member[64] = "", value[SHAPE_TEXT];
    const char *at = r->p, *after = index_word(r->p, name);
    r->p = after;
    if (*index_skip(after) == '<' && strstr(name, "_cast")) { /* static_cast<size_t>(x) */
        r->p = strchr(after, '>') ? index_skip(strchr(after, '>') + 1) : after;
        return;
    }
    if (*after == '.')
        index_word(after + 1, member);
    bool built_in = !strcmp(name, "blockIdx") || !strcmp(name, "threadIdx") || !strcmp(name, "blockDim") || !strcmp(name, "gridDim");
    skip_rest(r);
    bool plain = r->p == index_skip(after);
    constant_of(r, name, value);
    if (built_in) {
        SCOPED char *what = text_format("%s.%s", name, member);
        add_run(out, what, "");
    } else if (plain && number_of(r, name, "")) {
        index_lower(name);
        add_size(out, name);
    } else if (*member && number_of(r, member, name)) {
        index_lower(member);
        add_size(out, member);
    } else if (plain && (value[0] || !strcmp(name, "warpSize"))) {
        add_size(out, value[0] ? value : "32");
    } else if (plain) {
        parse_local(r, name, at, out);
    } else {
        const struct local *local = index_local(r, name);
        int by = local ? local->of : index_pointer(r, name);
        add_run(out, name, "");
        out->terms[out->count - 1].by = *index_skip(after) == '[' ? 1 + by : 0;
    }
}

/* True at `(int)`, `(unsigned long)`: a cast, which is skipped. */
static bool skip_cast(struct reader *r)
{
    static const char types[] = " int long unsigned short size_t ptrdiff_t int32_t int64_t uint32_t uint64_t signed char uint const ";
    const char *end = index_closed(r->p), *p = index_skip(r->p + 1);
    bool all = end - r->p > 2;
    while (all && p < end - 1) {
        char name[64];
        p = index_skip(index_word(p, name));
        SCOPED char *spaced = text_format(" %s ", name);
        all = *name && strstr(types, spaced);
    }
    r->p = all ? end : r->p;
    return all;
}

static void parse_unary(struct reader *r, struct sum *out)
{
    *out = (struct sum){0};
    if (++r->depth > 4 * DEPTH_MAX || ++r->steps > STEPS_MAX)
        out->unknown = true;
    while (*(r->p = index_skip(r->p)) == '-' || *r->p == '+' || (*r->p == '(' && skip_cast(r)))
        r->p += *r->p == '-' || *r->p == '+';
    if (out->unknown || r->p >= r->end) {
        out->unknown = true;
    } else if (*r->p == '(') {
        r->p++;
        index_parse(r, out);
        collapse(out);
        out->unknown |= *(r->p = index_skip(r->p)) != ')';
        r->p += *r->p == ')';
    } else if (isdigit((unsigned char)*r->p)) {
        char *end, value[32];
        long n = strtol(r->p, &end, 0);
        r->p = end + strspn(end, "uUlL");
        snprintf(value, sizeof value, "%ld", n);
        if (n)
            add_size(out, value);
    } else if (index_is_word(*r->p)) {
        const char *before = r->p;
        parse_name(r, out);
        if (!out->count && !out->unknown && r->p > before) /* a cast stood here */
            parse_unary(r, out);
    } else {
        out->unknown = true;
    }
    r->depth--;
}

/* a / b, a >> b of sizes is a size; i % b runs up to b. */
static void divide(struct sum *a, const struct sum *b, char operator)
{
    char left[SHAPE_TEXT], right[SHAPE_TEXT];
    const bool divides = index_size(b, right), both = index_size(a, left) && divides, unknown = a->unknown || b->unknown;
    if (operator== '>')
        snprintf(right, sizeof right, "%ld", 1L << (strtol(right, NULL, 0) & 30));
    SCOPED char *text = text_format("%s %c %s", left, operator== '%' ? '%' : '/', right);
    const bool threads = divides && operator!= '%' && a->count == 1 && a->terms[0].runs == 1 && !strncmp(a->terms[0].what, "blockDim", 8);
    SCOPED char *share = text_format(SHAPE_THREADS " / %s", right);
    char bound[SHAPE_TEXT] = "";
    if (divides && operator== '/' && a->count == 1 && a->terms[0].bound[0] && !a->terms[0].size_count)
        quotient(a->terms[0].bound, right, bound);
    *a = (struct sum){.unknown = unknown};
    if (both && strlen(text) < SHAPE_TEXT)
        add_size(a, text);
    else if (threads)
        add_run(a, share, "");
    else
        add_run(a, "", operator== '%' && divides ? right : bound);
}

static void parse_product(struct reader *r, struct sum *out)
{
    struct sum *next = xcalloc(2, sizeof *next);
    parse_unary(r, out);
    for (;;) {
        r->p = index_skip(r->p);
        char op = *r->p;
        bool shift = (op == '<' || op == '>') && r->p[1] == op;
        if (!shift && op != '*' && op != '/' && op != '%')
            break;
        if (r->p[1] == '=')
            break;
        r->p += 1 + shift;
        parse_unary(r, &next[0]);
        if (op == '*') {
            multiply(&next[1], out, &next[0]);
            *out = next[1];
        } else if (op == '<') {
            char n[SHAPE_TEXT];
            bool known = index_size(&next[0], n) && isdigit((unsigned char)*n);
            SCOPED char *power = text_format("%ld", 1L << (known ? strtol(n, NULL, 0) & 30 : 0));
            next[0] = (struct sum){.unknown = !known};
            add_size(&next[0], power);
            multiply(&next[1], out, &next[0]);
            *out = next[1];
        } else {
            divide(out, &next[0], op);
        }
    }
    free(next);
}

void index_parse(struct reader *r, struct sum *out)
{
    struct sum *next = xcalloc(1, sizeof *next);
    parse_product(r, out);
    while (!out->unknown && (*(r->p = index_skip(r->p)) == '+' || *r->p == '-') && r->p[1] != '=' && r->p[1] != *r->p && r->p[1] != '>') {
        const bool less = *r->p++ == '-';
        parse_product(r, next);
        for (int i = 0; i < next->count; i++)
            next->terms[i].less ^= less;
        index_add(out, next);
    }
    free(next);
}

/* ---- numbers ---- */

static void add_number(struct shapes *out, const char *name, const char *of, bool real, int bytes)
{
    if (out->number_count == SHAPE_NUMBERS)
        return;
    struct shape_number *n = &out->numbers[out->number_count++];
    snprintf(n->name, sizeof n->name, "%s", name);
    snprintf(n->of, sizeof n->of, "%s", of);
    n->real = real;
    n->bytes = bytes;
}

static bool real_type(const char *type)
{
    return !strcmp(type, "float") || !strcmp(type, "double");
}

/* The bytes of a member by its type: 4, 8; 0: another one. */
static int member_bytes(const char *from, const char *to)
{
    static const struct {
        const char *type;
        int bytes;
    } types[] = {{"short", 0},  {"char", 0}, {"int8_t", 0},  {"int16_t", 0}, {"bool", 0},  {"half", 0}, {"bfloat16", 0},
                 {"double", 8}, {"long", 8}, {"int64_t", 8}, {"size_t", 8},  {"float", 4}, {"int", 4},  {"unsigned", 4}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (memmem(from, (size_t)(to - from), types[i].type, strlen(types[i].type)))
            return types[i].bytes;
    return 0;
}

/* The brace of `struct TYPE {` or of `typedef struct {` ... `} TYPE;`; NULL: the file has neither. */
static const char *struct_open(const char *file, const char *type)
{
    SCOPED char *head = text_format("struct %s", type), *tail = text_format("} %s;", type);
    const char *at = strstr(file, head), *open = at ? index_skip(at + strlen(head)) : NULL;
    if (open && *open == '{')
        return open;
    at = strstr(file, tail);
    for (int depth = 0; at && at >= file; at--) {
        depth += (*at == '}') - (*at == '{');
        if (!depth)
            return at;
    }
    return NULL;
}

/* The members of `struct TYPE { int rows, cols; float eps; };`; false: the file has no such struct. */
static bool add_members(const struct reader *r, const struct signature_param *p)
{
    const char *open = struct_open(r->file, p->type);
    if (!open)
        return false;
    const char *end = index_closed(open);
    for (const char *m = open + 1; m < end; m = m + strcspn(m, ";") + 1) {
        const char *stop = m + strcspn(m, ";");
        bool real = memmem(m, (size_t)(stop - m), "float", 5) || memmem(m, (size_t)(stop - m), "double", 6);
        int bytes = member_bytes(m, stop);
        if (stop >= end)
            break;
        if (memchr(m, '(', (size_t)(stop - m)) || memchr(m, '*', (size_t)(stop - m)) || memchr(m, '[', (size_t)(stop - m))) {
            r->out->opaque[p - r->s->params] = true;
            continue;
        }
        for (const char *q = m; q <= stop; q++) { /* each name stands before a comma, an = or the end */
            char name[64];
            const char *begin = q;
            while (begin > m && index_is_word(begin[-1]))
                begin--;
            const char *next = index_skip(q);
            if (begin < q && !index_is_word(*q) && strchr(",=;", *next))
                index_word(begin, name), add_number(r->out, name, p->name, real, bytes);
        }
    }
    return true;
}

void index_numbers(struct reader *r)
{
    for (int i = 0; i < r->s->count; i++) {
        const struct signature_param *p = &r->s->params[i];
        if (!p->pointer && !p->map && !add_members(r, p))
            add_number(r->out, p->name, "", real_type(p->type), 0);
    }
}
