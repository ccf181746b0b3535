#include "base/mode.h"
#include <string.h>

static const struct {
    const char *cache, *load;
} words[] = {[MODE_NONE] = {"", ""},
             [MODE_COLD] = {"cold", "isolated"},
             [MODE_WARM] = {"warm", "isolated"},
             [MODE_COLD_SUSTAINED] = {"cold", "sustained"},
             [MODE_SUSTAINED] = {"warm", "sustained"}};

const char *mode_cache(enum time_mode mode)
{
    return words[mode].cache;
}

const char *mode_load(enum time_mode mode)
{
    return words[mode].load;
}

enum time_mode mode_of(const char *cache, const char *load)
{
    int mode = cache && load ? MODE_SUSTAINED : MODE_NONE;
    while (mode > MODE_NONE && (strcmp(words[mode].cache, cache) || strcmp(words[mode].load, load)))
        mode--;
    return (enum time_mode)mode;
}

bool mode_is_sustained(enum time_mode mode)
{
    return mode == MODE_SUSTAINED || mode == MODE_COLD_SUSTAINED;
}
