/* base/named: finds a thing by words of its id. */
#pragma once

#include "base/error.h"

struct named {
    const char *id, *name; /* "edsr/body_1/conv2d/naive[BLOCK=16]", "conv2d/naive"; may be NULL */
};
/* The one that the words mean: its id, or words of it in order. If several match: the only one whose name is the last word (with or
 * without its folder), or whose id has all words as whole names. -1 and a usage error with near ids, or with the command `listed` that
 * lists them. */
int named_find(const struct named *items, int count, const char *words, const char *listed, struct error *err);
