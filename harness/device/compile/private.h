/* device/compile, between its files: entries on disk (cache.c), the two compilers. */
#pragma once

#include "base/source.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include <pthread.h>

/* Options of every compilation, by compiler; part of the key. */
/* A head that defines this as 1 has its code compiled for a debugger. */
#define COMPILE_DEBUG "BENCH_DEBUG=1"
#define COMPILE_FLAGS_NVRTC "-lineinfo -std=c++17 -default-device --ptxas-options=-v"
#define COMPILE_FLAGS_NVCC "-lineinfo -std=c++17 -Xptxas -v -cubin"

enum compiler_kind { COMPILER_NVRTC, COMPILER_NVCC };
struct compiler {
    enum compiler_kind kind;
    char path[4096];         /* the library, or the nvcc */
    char version[96];        /* "nvrtc 13.0.88" */
    char build[96];          /* version and build number: part of the key */
    char *include;           /* CUDA headers, or NULL */
    char headers[HASH_TEXT]; /* which headers they are, wherever they lie */
    void *private_data;
};
extern pthread_mutex_t compile_loading; /* taken while a library is loaded, and while a process is forked that may load one */
bool nvrtc_open(struct compiler *c, const char *path, struct error *err);
bool nvcc_open(struct compiler *c, const char *path, struct error *err);

/* Both fill ptx, cubin and log of `out`; a compile error is a usage error with the compiler's lines. */
bool nvrtc_compile(const struct compiler *c, const struct source *s, const struct compile_request *r, struct compiled *out,
                   struct error *err);
/* nvrtc_compile in a subprocess; if that crashes, this process ends in the same way. */
bool compile_in_subprocess(const struct compiler *c, const struct source *s, const struct compile_request *r, struct compiled *out,
                           struct error *err);
/* compile() in `bench worker compile`, for a process that has a driver, whose heap and memory are in use; a crash there ends this process,
 * too. started: false if there is no such program to run. */
bool compile_in_program(const struct compile_request *r, struct compiled *out, bool *started, struct error *err);
bool compile_may_fork(void); /* false if a driver is loaded, or under a sanitizer with other threads: neither supports a fork */
bool nvcc_compile(const struct compiler *c, const struct source *s, const struct compile_request *r, struct compiled *out,
                  struct error *err);
/* The line of the log for an instance and its entry. */
#define COMPILE_ENTRY_LINE "bench: %s is the entry %s\n"
/* Text before the source that changes launch bounds; "" if the request has none. Line numbers stay the source's. Caller frees. */
char *compile_prelude(const struct compile_request *r);
/* The compiler's error lines as one error, shortened at a line's end. */
bool compile_failed(const struct compiler *c, const struct compile_request *r, const char *log, struct error *err);

/* One compiled item as bytes with a checksum, and back. `next` is where the following item starts. */
void entry_write(struct text *t, const struct compiled *c);
bool entry_read(const char *data, size_t bytes, struct compiled *c, size_t *next);
/* The folders of a compilation, as an entry keeps them; NULL where a name among them cannot be told. Caller frees. */
char *paths_of(const struct source *s, const char *cuda);
/* Replaces the paths in PTX, line table and log by those of another reader. False: this is impossible, and the entry cannot be used.
 */
bool paths_move(struct compiled *c, const char *paths);
bool paths_bound(const struct compiled *c); /* it holds paths that cannot be changed: __FILE__ */
/* The item of the opened bundle with this request, made by this kind of compiler when one is named. */
bool bundle_find(const char *request, const char *compiler, struct compiled *out);
const char *bundle_path(void); /* NULL: none is open */
