/* base/error: what went wrong, where, and what to do about it.
 *
 * A fallible function returns bool (true = done) or a pointer (NULL = failed) and takes `struct error *err` last.
 * The place that fails calls error_set(); every layer above adds its own place with error_where(); only cli/ prints.
 * Line 1 is the text, line 2 `hint:` the next command or the nearest valid word. */
#pragma once

#include <stdbool.h>

/* The kind decides the exit code (error_exit_code). */
enum error_kind {
    ERROR_NONE = 0,
    ERROR_INTERNAL,    /* exit 1: a bug of ours, or a CUDA error */
    ERROR_USAGE,       /* exit 2: wrong arguments or a wrong scenario, head, database */
    ERROR_WRONG,       /* exit 4: a row is wrong, crashed or hung */
    ERROR_ENVIRONMENT, /* exit 5: no such device, missing library, refused counters */
    ERROR_INTERRUPTED, /* exit 130 */
    ERROR_MACHINE,     /* exit 5: out of memory or disk space; it may work another time */
};

struct error {
    enum error_kind kind;
    char text[2048]; /* one line, or several for a compiler log; no trailing newline */
    char hint[1024]; /* "" when there is none */
    char file[256];  /* the source file at fault, which the text names too; "" where none is */
    int line;        /* of it; 0: not known */
};

/* Sets kind and text, clears the hint. Always returns false, so that `return error_set(...)` reads well.
 * A NULL err is allowed everywhere and ignored. */
bool error_set(struct error *err, enum error_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Puts "where: " before the text. Returns false. */
bool error_where(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the source file and line at fault. Call it after error_set, which clears them. The text stays. Returns false. */
bool error_at(struct error *err, const char *file, int line);
/* Sets the hint. Returns false. */
bool error_hint(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
void error_clear(struct error *err);
int error_exit_code(enum error_kind kind);
