/* base/order: comparisons for qsort. */
#pragma once

#include <string.h>

/* Doubles, the smallest first; none may be NaN. */
static inline int order_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Strings, through pointers to them. */
static inline int order_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Defines a comparison of structs `x` and `y`, or of structs that are reached through pointers:
 * `ORDER(by_line, struct line_count, ORDER_UP(file) ?: ORDER_UP(line))`. */
#define ORDER(name, type, order) \
    static int name(const void *first, const void *second) \
    { \
        const type *x = first, *y = second; \
        return order; \
    }
#define ORDER_POINTERS(name, type, order) \
    static int name(const void *first, const void *second) \
    { \
        const type *x = *(const type *const *)first, *y = *(const type *const *)second; \
        return order; \
    }
/* By a member that is a number: the smallest first, the largest first. */
#define ORDER_UP(member) ((x->member > y->member) - (x->member < y->member))
#define ORDER_DOWN(member) ((x->member < y->member) - (x->member > y->member))
