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
