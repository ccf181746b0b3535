/* The values of expressions. */
#include "base/expr.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value value_int(int64_t i)
{
    return (struct value){.kind = VALUE_INT, .i = i};
}

struct value value_real(double d)
{
    return (struct value){.kind = VALUE_REAL, .d = d};
}

struct value value_text(const char *s)
{
    struct value v = {.kind = VALUE_TEXT};
    snprintf(v.text, sizeof v.text, "%s", s);
    return v;
}

/* long double holds every int64 and every double exactly on x86-64. */
long double value_exact(const struct value *v)
{
    return v->kind == VALUE_INT ? (long double)v->i : (long double)v->d;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (a->kind == VALUE_TEXT || b->kind == VALUE_TEXT)
        return a->kind == b->kind && !strcmp(a->text, b->text);
    return value_exact(a) == value_exact(b);
}

double value_number(const struct value *v)
{
    return v->kind == VALUE_INT ? (double)v->i : v->kind == VALUE_REAL ? v->d : NAN;
}

void value_print(const struct value *v, char *out, size_t bytes)
{
    if (v->kind == VALUE_INT) {
        snprintf(out, bytes, "%lld", (long long)v->i);
    } else if (v->kind == VALUE_TEXT) {
        snprintf(out, bytes, "%s", v->text);
    } else {
        char s[40];
        for (int digits = 6; digits <= 17; digits++) { /* the shortest that reads back as the same number */
            snprintf(s, sizeof s, "%.*g", digits, v->d);
            if (strtod(s, NULL) == v->d)
                break;
        }
        snprintf(out, bytes, "%s", s);
    }
}
