/* device/ptx/parser: tokens, names and scopes, for all files of the parser. */
#include "device/ptx/parser.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */
void parser_next(struct parser *p)
{
    lexer_next(&p->lx, &p->t);
}

bool parser_fail(struct parser *p, const char *format, ...)
{
    if (p->failed)
        return false;
    p->failed = true;
    SCOPED_TEXT what = {0};
    TEXT_ADD_ARGUMENTS(&what, format);
    int len = p->t.len < 40 ? p->t.len : 40;
    if (p->t.kind == TOKEN_END)
        error_set(p->err, ERROR_USAGE, "%s: PTX line %d: %s (at the end of the text)", p->m->label, p->t.line, text_get(&what));
    else
        error_set(p->err, ERROR_USAGE, "%s: PTX line %d, column %d: %s (at '%.*s')", p->m->label, p->t.line, p->t.column, text_get(&what),
                  len, p->t.at);
    return false;
}

bool parser_is(const struct parser *p, const char *word)
{
    return p->t.kind == TOKEN_WORD && strlen(word) == (size_t)p->t.len && !memcmp(p->t.at, word, (size_t)p->t.len);
}
bool parser_is_punct(const struct parser *p, char c)
{
    return p->t.kind == TOKEN_PUNCT && p->t.bits == (unsigned char)c;
}

bool parser_accept(struct parser *p, char c)
{
    if (!parser_is_punct(p, c))
        return false;
    parser_next(p);
    return true;
}
bool parser_expect(struct parser *p, char c)
{
    return parser_accept(p, c) || parser_fail(p, "'%c' was expected", c);
}

bool parser_word(struct parser *p, const char *word)
{
    if (!parser_is(p, word))
        return false;
    parser_next(p);
    return true;
}

char *parser_take_name(struct parser *p, const char *what)
{
    if (p->t.kind != TOKEN_WORD || p->t.at[0] == '.') {
        parser_fail(p, "%s was expected", what);
        return NULL;
    }
    char *s = arena_text(&p->m->arena, p->t.at, (size_t)p->t.len);
    parser_next(p);
    return s;
}

bool parser_int(struct parser *p, int64_t *out)
{
    bool minus = parser_accept(p, '-');
    if (p->t.kind != TOKEN_INT)
        return parser_fail(p, "an integer was expected");
    *out = (int64_t)(minus ? 0 - p->t.bits : p->t.bits);
    parser_next(p);
    return true;
}

/* Written by hand without a space: ".reg.b16 h;" */
void parser_split(struct parser *p)
{
    static const char *const words[] = {".reg.", ".v2.", ".v4.", ".v8.", ".local.", ".shared.", ".param.", ".global.", ".const."};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]) - 1;
        if ((size_t)p->t.len > n + 1 && !strncmp(p->t.at, words[i], n + 1)) {
            p->lx.p = p->t.at + n;
            p->t.len = (int)n;
        }
    }
}

/* ---- names and scopes ---- */
#define BODY_DEPTH 2 /* 0: the module, 1: a function's parameters */

static unsigned name_hash(const char *s)
{
    unsigned h = 2166136261u;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 16777619u;
    return h % BUCKETS;
}

const struct name *name_find(const struct parser *p, const char *text)
{
    for (int i = p->buckets[name_hash(text)]; i >= 0; i = p->names[i].before)
        if (p->names[i].kind != NAME_LABEL && p->names[i].kind != NAME_REGS && !strcmp(p->names[i].text, text))
            return &p->names[i];
    return NULL;
}

/* The innermost range of that stem that has a register of this number. Ranges have a name space of their own, and a range that is too short
 * does not hide a longer one of an outer scope. */
static const struct name *find_range(const struct parser *p, const char *stem, int number)
{
    for (int i = p->buckets[name_hash(stem)]; i >= 0; i = p->names[i].before)
        if (p->names[i].kind == NAME_REGS && number < p->names[i].count && !strcmp(p->names[i].text, stem))
            return &p->names[i];
    return NULL;
}

/* The digits at the end of a name: its stem as `stem`, the number they are; -1: it has none, or no range is that long. */
static int split_number(const char *text, char stem[104])
{
    size_t len = strlen(text), cut = len;
    while (cut > 0 && text[cut - 1] >= '0' && text[cut - 1] <= '9')
        cut--;
    if (cut == len || cut == 0 || len - cut > 7 || cut > 100)
        return -1;
    memcpy(stem, text, cut);
    stem[cut] = 0;
    return atoi(text + cut);
}

static const struct name *find_label(const struct parser *p, const char *text, int depth)
{
    for (int i = p->buckets[name_hash(text)]; i >= 0; i = p->names[i].before)
        if (p->names[i].kind == NAME_LABEL && p->names[i].depth == depth && !strcmp(p->names[i].text, text))
            return &p->names[i];
    return NULL;
}

bool name_add(struct parser *p, const char *text, enum name_kind kind, int value, int count, struct ptx_var *var)
{
    if (kind == NAME_LABEL && find_label(p, text, p->depth))
        return parser_fail(p, "label '%s' twice", text);
    if (kind != NAME_LABEL && p->depth >= BODY_DEPTH) {
        const struct name *before = kind == NAME_REGS ? find_range(p, text, 0) : name_find(p, text);
        if (before && before->depth == p->depth)
            return parser_fail(p, "'%s%s' is declared twice in one scope", text, kind == NAME_REGS ? "<" : "");
    }
    if (p->name_count == p->name_room) {
        p->name_room = p->name_room ? p->name_room * 2 : 256;
        p->names = xrealloc(p->names, (size_t)p->name_room * sizeof *p->names);
    }
    unsigned h = name_hash(text);
    p->names[p->name_count] = (struct name){text, kind, value, count, var, p->depth, p->buckets[h]};
    p->buckets[h] = p->name_count++;
    return true;
}

/* A name alone and one out of a range: the inner scope's counts. */
int name_register(struct parser *p, const char *text)
{
    char stem[104];
    const struct name *n = name_find(p, text);
    int number = split_number(text, stem);
    const struct name *range = number >= 0 ? find_range(p, stem, number) : NULL;
    if (range && (!n || range->depth > n->depth))
        return range->value + number;
    if (range && range->depth == n->depth)
        parser_fail(p, "'%s' is declared alone and as one of '%s<%d>' in one scope", text, stem, range->count);
    return n && n->kind == NAME_REG ? n->value : -1;
}

void scope_open(struct parser *p)
{
    p->depth++;
    p->scope_pending[p->depth] = p->pending_count;
}

void scope_close(struct parser *p)
{
    int keep = p->scope_pending[p->depth];
    for (int i = keep; i < p->pending_count; i++) {
        struct ptx_operand *o = p->pending[i].operand;
        const struct name *n = find_label(p, o->name, p->depth);
        if (n)
            o->target = n->value;
        else
            p->pending[keep++] = p->pending[i];
    }
    p->pending_count = keep;
    while (p->name_count && p->names[p->name_count - 1].depth == p->depth) {
        struct name *n = &p->names[--p->name_count];
        p->buckets[name_hash(n->text)] = n->before;
    }
    p->depth--;
}

/* .loc file line column [, function_name label[+n], inlined_at file line column] ; the word is read. */
bool parse_loc(struct parser *p)
{
    int64_t file = 0, line = 0, column = 0;
    if (!parser_int(p, &file) || !parser_int(p, &line) || !parser_int(p, &column))
        return false;
    p->place = (struct ptx_place){(int)file, (int)line};
    p->inlined = (struct ptx_place){0, 0};
    if (!parser_accept(p, ','))
        return true;
    while (p->t.kind != TOKEN_END && !parser_is(p, "inlined_at") && !parser_is_punct(p, ';'))
        parser_next(p);
    if (!parser_word(p, "inlined_at"))
        return parser_fail(p, "'inlined_at' was expected");
    if (!parser_int(p, &file) || !parser_int(p, &line) || !parser_int(p, &column))
        return false;
    p->inlined = (struct ptx_place){(int)file, (int)line};
    return true;
}
