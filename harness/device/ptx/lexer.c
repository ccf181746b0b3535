/* device/ptx/lexer: PTX text as tokens. */
#include "device/ptx/ptx.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void skip_blank(struct lexer *lx)
{
    while (lx->p < lx->end) {
        char c = *lx->p;
        if (c == '\n') {
            lx->line++;
            lx->line_start = ++lx->p;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            lx->p++;
        } else if (c == '/' && lx->p + 1 < lx->end && lx->p[1] == '/') {
            while (lx->p < lx->end && *lx->p != '\n')
                lx->p++;
        } else if (c == '/' && lx->p + 1 < lx->end && lx->p[1] == '*') {
            lx->p += 2;
            while (lx->p < lx->end && !(*lx->p == '*' && lx->p + 1 < lx->end && lx->p[1] == '/')) {
                if (*lx->p++ == '\n') {
                    lx->line++;
                    lx->line_start = lx->p;
                }
            }
            lx->p = lx->p + 2 <= lx->end ? lx->p + 2 : lx->end;
        } else {
            return;
        }
    }
}

static bool word_start(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}
static bool word_more(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 0f3F800000, 0d3FF0000000000000: exactly that many digits. */
static bool hex_float(struct lexer *lx, struct token *t, int digits)
{
    const char *p = lx->p + 2;
    uint64_t v = 0;
    for (int i = 0; i < digits; i++, p++) {
        int d = p < lx->end ? hex_digit(*p) : -1;
        if (d < 0)
            return false;
        v = v << 4 | (uint64_t)d;
    }
    t->bits = v;
    t->kind = digits == 8 ? TOKEN_F32 : TOKEN_F64;
    lx->p = p;
    return true;
}

static void decimal_float(struct lexer *lx, struct token *t, const char *p)
{
    char digits[64];
    size_t n = 0;
    for (p = lx->p; p < lx->end && n < sizeof digits - 1; p++) {
        bool sign = (*p == '-' || *p == '+') && n && (digits[n - 1] == 'e' || digits[n - 1] == 'E');
        if (!isdigit((unsigned char)*p) && *p != '.' && *p != 'e' && *p != 'E' && !sign)
            break;
        digits[n++] = *p;
    }
    digits[n] = 0;
    double d = strtod(digits, NULL);
    memcpy(&t->bits, &d, 8);
    t->kind = TOKEN_F64;
    lx->p = p;
}

static void lex_number(struct lexer *lx, struct token *t)
{
    const char *p = lx->p;
    if (p + 1 < lx->end && *p == '0' && ((p[1] | 32) == 'f' || (p[1] | 32) == 'd') && hex_float(lx, t, (p[1] | 32) == 'f' ? 8 : 16))
        return;
    int base = 10;
    if (p + 1 < lx->end && *p == '0') {
        if ((p[1] | 32) == 'x')
            base = 16, p += 2;
        else if ((p[1] | 32) == 'b')
            base = 2, p += 2;
        else if (isdigit((unsigned char)p[1]))
            base = 8, p += 1;
    }
    uint64_t v = 0;
    bool fits = true;
    const char *start = p;
    for (; p < lx->end; p++) {
        int d = hex_digit(*p);
        if (d < 0 || d >= base)
            break;
        fits = fits && !__builtin_mul_overflow(v, (uint64_t)base, &v) && !__builtin_add_overflow(v, (uint64_t)d, &v);
    }
    if (base == 10 && p < lx->end && (*p == '.' || *p == 'e' || *p == 'E')) {
        decimal_float(lx, t, p);
        return;
    }
    if (!fits || (p == start && base != 10)) {
        t->kind = TOKEN_BAD;
        lx->p++;
        return;
    }
    if (p < lx->end && *p == 'U')
        p++;
    t->kind = TOKEN_INT;
    t->bits = v;
    lx->p = p;
}

void lexer_next(struct lexer *lx, struct token *t)
{
    skip_blank(lx);
    *t = (struct token){.kind = TOKEN_END, .at = lx->p, .line = lx->line, .column = (int)(lx->p - lx->line_start) + 1};
    if (lx->p >= lx->end)
        return;
    char c = *lx->p;
    if (word_start(c)) {
        const char *p = lx->p + 1;
        while (p < lx->end && (word_more(*p) || (*p == ':' && p + 2 < lx->end && p[1] == ':' && word_more(p[2]))))
            p += *p == ':' ? 2 : 1;
        t->kind = TOKEN_WORD;
        lx->p = p;
    } else if (isdigit((unsigned char)c)) {
        lex_number(lx, t);
    } else if (c == '"') {
        const char *p = lx->p + 1;
        while (p < lx->end && *p != '"' && *p != '\n')
            p += *p == '\\' && p + 1 < lx->end ? 2 : 1;
        t->kind = p < lx->end && *p == '"' ? TOKEN_TEXT : TOKEN_BAD;
        lx->p = p < lx->end ? p + 1 : lx->end;
    } else {
        t->kind = c > 32 && c < 127 ? TOKEN_PUNCT : TOKEN_BAD;
        t->bits = (unsigned char)c;
        lx->p++;
    }
    t->len = (int)(lx->p - t->at);
}

void lexer_skip_braces(struct lexer *lx)
{
    for (int depth = 1; depth > 0 && lx->p < lx->end;) {
        char c = *lx->p;
        if (c == '/' || c == '\n') {
            const char *before = lx->p;
            skip_blank(lx);
            lx->p += lx->p == before; /* a slash alone */
        } else if (c == '"') {
            struct token text;
            lexer_next(lx, &text);
        } else {
            depth += (c == '{') - (c == '}');
            lx->p++;
        }
    }
}
