#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *err, enum error_kind kind, const char *format, ...)
{
    if (!err)
        return false;
    char text[sizeof err->text]; /* the arguments may point into err */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err->kind = kind;
    memcpy(err->text, text, sizeof text);
    err->hint[0] = err->file[0] = 0;
    err->line = 0;
    return false;
}

bool error_at(struct error *err, const char *file, int line)
{
    if (err) {
        snprintf(err->file, sizeof err->file, "%s", file);
        err->line = line;
    }
    return false;
}

bool error_where(struct error *err, const char *format, ...)
{
    if (!err)
        return false;
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text)
        return false;
    size_t left = sizeof text - (size_t)n - 1;
    if (left > 2) {
        memcpy(text + n, ": ", 2);
        snprintf(text + n + 2, left - 1, "%.*s", (int)left, err->text);
    }
    memcpy(err->text, text, sizeof text);
    return false;
}

bool error_hint(struct error *err, const char *format, ...)
{
    if (!err)
        return false;
    char hint[sizeof err->hint];
    va_list args;
    va_start(args, format);
    vsnprintf(hint, sizeof hint, format, args);
    va_end(args);
    memcpy(err->hint, hint, sizeof hint);
    return false;
}

void error_clear(struct error *err)
{
    if (err)
        memset(err, 0, sizeof *err);
}

int error_exit_code(enum error_kind kind)
{
    switch (kind) {
    case ERROR_NONE: return 0;
    case ERROR_USAGE: return 2;
    case ERROR_WRONG: return 4;
    case ERROR_MACHINE:
    case ERROR_ENVIRONMENT: return 5;
    case ERROR_INTERRUPTED: return 130;
    case ERROR_INTERNAL: break;
    }
    return 1;
}
