#include "base/spec.h"
#include <string.h>

bool spec_is(const char *spec, const char *kind)
{
    size_t n = strlen(kind);
    return spec && !strncmp(spec, kind, n) && (!spec[n] || spec[n] == ':');
}

const char *spec_option(const char *spec)
{
    const char *colon = spec ? strchr(spec, ':') : NULL;
    return colon ? colon + 1 : "";
}

bool spec_is_timed(const char *spec)
{
    return spec_is(spec, SPEC_TIMED);
}

const char *spec_kind(const char *spec)
{
    return spec_is_timed(spec) ? SPEC_TIMED : SPEC_COUNTS;
}
