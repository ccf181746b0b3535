/* op/foreign_library.h: what the rows of libraries that bench ships have in common: they open one where bench looks for its own. */
#pragma once

#include "op/foreign.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct library_function {
    const char *name;
    void *to; /* of a pointer to such a function */
};

static inline int library_say(struct bench_call *call, int result, const char *text)
{
    snprintf(call->message, call->message_bytes, "%s", text);
    return result;
}

/* The functions of the library of this name, of the wheel that has it; 0, or what the row returns. */
static inline int library_find(struct bench_call *call, const char *soname, const char *wheel, const struct library_function *functions,
                               int count)
{
    void *library = call->on_host ? NULL : call->open_library(soname);
    if (call->on_host)
        return library_say(call, BENCH_UNSUPPORTED, "the library needs a GPU");
    if (!library) {
        snprintf(call->message, call->message_bytes, "%s was not found; it is in the wheel %s; set BENCH_LIBRARY_PATH to its folder",
                 soname, wheel);
        return BENCH_UNSUPPORTED;
    }
    for (int i = 0; i < count; i++)
        if (!(*(void **)functions[i].to = dlsym(library, functions[i].name)))
            return library_say(call, BENCH_UNSUPPORTED, functions[i].name);
    return 0;
}
