/* device/ptx/constant: constant expressions of integers, 64 bits wide, signed unless an operand is unsigned, as the PTX manual has them. */
#include "device/ptx/parser.h"
#include <string.h>

#define MAX_NESTED 64
#define LEVEL_TERM 10 /* products: what stands behind the + of an address */

struct value {
    uint64_t bits;
    bool is_unsigned;
};
enum operator{
    OR_ELSE,
    AND_THEN,
    EQUAL,
    UNEQUAL,
    AT_MOST,
    AT_LEAST,
    LEFT,
    RIGHT,
    OR,
    XOR,
    AND,
    LESS,
    MORE,
    PLUS,
    MINUS,
    TIMES,
    OVER,
    REST,
    NONE
};
static const struct {
    char text[3];
    unsigned char level; /* binds the tighter the higher */
} operators[NONE] = {
    [OR_ELSE] = {"||", 1}, [AND_THEN] = {"&&", 2}, [OR] = {"|", 3},        [XOR] = {"^", 4},    [AND] = {"&", 5},   [EQUAL] = {"==", 6},
    [UNEQUAL] = {"!=", 6}, [AT_MOST] = {"<=", 7},  [AT_LEAST] = {">=", 7}, [LESS] = {"<", 7},   [MORE] = {">", 7},  [LEFT] = {"<<", 8},
    [RIGHT] = {">>", 8},   [PLUS] = {"+", 9},      [MINUS] = {"-", 9},     [TIMES] = {"*", 10}, [OVER] = {"/", 10}, [REST] = {"%", 10}};

static bool expression(struct parser *p, int level, int depth, struct value *out);

/* The operator at hand. The text of two characters is two tokens, and '%' a word. */
static enum operator operator_here(const struct parser *p)
{
    bool percent = p->t.kind == TOKEN_WORD && p->t.len == 1 && p->t.at[0] == '%';
    if (p->t.kind != TOKEN_PUNCT && !percent)
        return NONE;
    for (int i = 0; i < NONE; i++) {
        size_t n = strlen(operators[i].text);
        if (p->t.at + n <= p->lx.end && !memcmp(p->t.at, operators[i].text, n))
            return (enum operator)i;
    }
    return NONE;
}

static bool apply(struct parser *p, enum operator op, struct value *a, struct value b)
{
    bool u = a->is_unsigned || b.is_unsigned;
    uint64_t x = a->bits, y = b.bits;
    int64_t sx = (int64_t)x, sy = (int64_t)y;
    if ((op == OVER || op == REST) && y == 0)
        return parser_fail(p, "a constant is divided by zero");
    switch (op) {
    case OR_ELSE: x = x || y; break;
    case AND_THEN: x = x && y; break;
    case EQUAL: x = x == y; break;
    case UNEQUAL: x = x != y; break;
    case AT_MOST: x = u ? x <= y : sx <= sy; break;
    case AT_LEAST: x = u ? x >= y : sx >= sy; break;
    case LESS: x = u ? x < y : sx < sy; break;
    case MORE: x = u ? x > y : sx > sy; break;
    case LEFT: x <<= y & 63; break; /* 1 << 64 is 1 for ptxas, too */
    case RIGHT: x = a->is_unsigned ? x >> (y & 63) : (uint64_t)(sx >> (y & 63)); break;
    case OR: x |= y; break;
    case XOR: x ^= y; break;
    case AND: x &= y; break;
    case PLUS: x += y; break;
    case MINUS: x -= y; break;
    case TIMES: x *= y; break;
    case OVER: x = u ? x / y : sy == -1 ? 0 - x : (uint64_t)(sx / sy); break;
    default: x %= y; break; /* of unsigned numbers always, as in the manual's table */
    }
    bool truth = operators[op].level <= 2 || operators[op].level == 6 || operators[op].level == 7;
    bool bitwise = op == OR || op == XOR || op == AND || op == REST;
    *a = (struct value){x, bitwise || (!truth && (op == LEFT || op == RIGHT ? a->is_unsigned : u))};
    return true;
}

static bool primary(struct parser *p, int depth, struct value *out)
{
    if (depth > MAX_NESTED)
        return parser_fail(p, "constants nested deeper than %d", MAX_NESTED);
    char sign = p->t.kind == TOKEN_PUNCT ? (char)p->t.bits : 0;
    if (sign == '-' || sign == '+' || sign == '~' || sign == '!') {
        parser_next(p);
        if (!primary(p, depth + 1, out))
            return false;
        out->bits = sign == '-' ? 0 - out->bits : sign == '~' ? ~out->bits : sign == '!' ? !out->bits : out->bits;
        out->is_unsigned = sign == '~' || (sign != '!' && out->is_unsigned);
        return true;
    }
    if (parser_accept(p, '(')) {
        bool s64 = parser_is(p, ".s64");
        if (s64 || parser_is(p, ".u64")) {
            parser_next(p);
            if (!parser_expect(p, ')') || !primary(p, depth + 1, out))
                return false;
            out->is_unsigned = !s64;
            return true;
        }
        return expression(p, 0, depth + 1, out) && parser_expect(p, ')');
    }
    if (parser_word(p, "WARP_SZ")) {
        *out = (struct value){32, false};
        return true;
    }
    if (p->t.kind != TOKEN_INT)
        return parser_fail(p, "an integer was expected");
    *out = (struct value){p->t.bits, p->t.at[p->t.len - 1] == 'U' || p->t.bits >> 63};
    parser_next(p);
    return true;
}

static bool expression(struct parser *p, int level, int depth, struct value *out)
{
    if (!primary(p, depth, out))
        return false;
    for (enum operator op; (op = operator_here(p)) != NONE && operators[op].level >= level;) {
        struct value right;
        p->lx.p = p->t.at + strlen(operators[op].text);
        parser_next(p);
        if (!expression(p, operators[op].level + 1, depth + 1, &right) || !apply(p, op, out, right))
            return false;
    }
    if (level == 0 && parser_accept(p, '?')) {
        struct value other;
        bool first = out->bits != 0;
        if (!expression(p, 0, depth + 1, out) || !parser_expect(p, ':') || !expression(p, 0, depth + 1, &other))
            return false;
        *out = (struct value){first ? out->bits : other.bits, out->is_unsigned || other.is_unsigned};
    }
    return true;
}

bool parser_constant_here(const struct parser *p)
{
    struct lexer ahead = p->lx;
    struct token t = p->t;
    while (t.kind == TOKEN_PUNCT && t.bits < 128 && strchr("-+~!(", (int)t.bits))
        lexer_next(&ahead, &t);
    return t.kind == TOKEN_INT || (t.kind == TOKEN_WORD && t.len == 7 && !memcmp(t.at, "WARP_SZ", 7)) ||
           (t.kind == TOKEN_WORD && t.len == 4 && (!memcmp(t.at, ".s64", 4) || !memcmp(t.at, ".u64", 4)));
}

bool parser_constant(struct parser *p, uint64_t *out)
{
    struct value v = {0};
    bool fine = expression(p, 0, 0, &v);
    *out = v.bits;
    return fine;
}

bool parser_offset(struct parser *p, uint64_t *offset)
{
    bool more = false; /* "a-4" is none, "a+8-4" and "a+-4" are */
    for (; parser_is_punct(p, '+') || (more && parser_is_punct(p, '-')); more = true) {
        bool minus = parser_is_punct(p, '-');
        struct value v;
        parser_next(p);
        if (!expression(p, LEVEL_TERM, 0, &v))
            return false;
        *offset += minus ? 0 - v.bits : v.bits;
    }
    return true;
}
