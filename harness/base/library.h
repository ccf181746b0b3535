/* base/library: shared libraries that are loaded at run time, so that one binary runs everywhere and names the missing library. */
#pragma once

#include "base/error.h"
#include <stddef.h>

struct library {
    void *handle;
    char path[4096]; /* the file that was loaded */
};
/* Tries `sonames` (NULL-terminated, e.g. "libnvrtc.so.13") in: $BENCH_LIBRARY_PATH (colon list), the installation's own wheels
 * (.deps/nvidia/<any>/lib in the source tree, share/bench/nvidia/<any>/lib installed), the loader's default path, /usr/local/cuda/lib64,
 * the CUPTI folder under it, and site-packages/nvidia/<any>/lib of $VIRTUAL_ENV and of the python3 on PATH. The error lists the places
 * and the remedy. */
bool library_open(struct library *lib, const char *const *sonames, struct error *err);
/* The same, but takes the newest library found, by the file name that a link leads to (libX.so.9.19.0) or the `header` (that of cuDNN
 * with ..._MAJOR, ..._MINOR and ..._PATCHLEVEL) in an `include` folder next to it. Also searches folders of the system and of python
 * packages (PyTorch's). A library in $BENCH_LIBRARY_PATH comes first. Loads nothing to compare versions. */
bool library_open_newest(struct library *lib, const char *const *sonames, const char *header, struct error *err);
/* The path of the newest library and its version, 9019000 for 9.19.0; false if no version can be found. Private to library.c and its
 * test. */
bool library_newest(const char *const *patterns, int count, const char *soname, const char *header, char path[4096], long *version);
/* Address of a function; an environment error naming library and symbol when it is missing. */
void *library_symbol(struct library *lib, const char *name, struct error *err);
void library_close(struct library *lib);
