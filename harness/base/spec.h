/* base/spec: names of devices: a kind and, after a colon, its option: "cuda:0", "emu", "emu:GH100". */
#pragma once

#include <stdbool.h>

#define SPEC_TIMED "cuda" /* the kind that keeps time */
#define SPEC_COUNTS "emu" /* the kind that counts exactly, and keeps none */

/* Is the device of the kind? NULL is of none. */
bool spec_is(const char *spec, const char *kind);
/* The text after the colon; "": none. */
const char *spec_option(const char *spec);
/* Does it keep time? And which of the two kinds a plan is made for. */
bool spec_is_timed(const char *spec);
const char *spec_kind(const char *spec);
