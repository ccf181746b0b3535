/* base/mode: how a row is timed: with cold or warm caches, each run by itself (isolated) or back to back (sustained). */
#pragma once

#include <stdbool.h>

enum time_mode { MODE_NONE, MODE_COLD, MODE_WARM, MODE_COLD_SUSTAINED, MODE_SUSTAINED };

/* As they are stored and printed: "cold", "warm"; "isolated", "sustained"; "" for MODE_NONE. */
const char *mode_cache(enum time_mode mode);
const char *mode_load(enum time_mode mode);
/* MODE_NONE where the words name none. */
enum time_mode mode_of(const char *cache, const char *load);
bool mode_is_sustained(enum time_mode mode);
