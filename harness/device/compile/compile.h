/* device/compile/compile: CUDA C to PTX and cubin with the pinned NVRTC, cached by content. Needs no GPU and no driver. */
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stddef.h>

/* Launch bounds instead of the source's: __launch_bounds__(threads, blocks) for kernels that have any, at most `registers` a thread for
 * those that have none. threads 0: as the source says. */
struct compile_bounds {
    int threads, blocks, registers;
};
struct compile_request {
    const char *path;           /* the .cu: absolute; messages and line numbers name it */
    const char *label;          /* "conv2d/naive" */
    const char *const *defines; /* "NAME=VALUE", define_count of them */
    int define_count;
    const char *include;  /* folder of the shared headers; NULL: kernels/include of this installation. Part of the cache's key */
    const char *arch;     /* "sm_90a" */
    const char *compiler; /* NULL or "nvrtc": the pinned one; "nvrtc:13.5"; "nvrtc:/path/libnvrtc.so.13"; "nvcc" or "nvcc:/path": that nvcc
                             with ptxas */
    struct compile_bounds bounds;
    bool ptx_only; /* no machine code is needed, as on emu: NVRTC then runs no ptxas, which takes 40 % of the time. An entry of the cache
                      that has machine code answers, too */
};
struct compiled {
    char *ptx;
    size_t ptx_bytes;
    void *cubin; /* NULL: of a request for PTX alone */
    size_t cubin_bytes;
    char *log;         /* compiler's and ptxas's, -v */
    char *paths;       /* where its files lay when it was compiled, a line each (paths.c) */
    char compiler[96]; /* "nvrtc 13.0.88" */
    char arch[16];
    char key[HASH_TEXT];     /* of source, every included file, -D, flags, compiler build, arch; the same wherever the files lie */
    char request[HASH_TEXT]; /* the same without the compiler build: the key within a bundle */
    bool from_cache, from_bundle;
    double seconds; /* time that the compiler took when it ran */
};
/* Options always given: -lineinfo, -std=c++17, -default-device, --ptxas-options=-v, -I the .cu's folder, -I kernels/include, -I the CUDA
 * headers. A compile error is a usage error whose text is the compiler's own lines, at the variant's file and line. */
bool compile(const struct compile_request *request, struct compiled *out, struct error *err);
/* The kernel's entry in the code: for a name expression (KERNEL_INSTANCE) the name in the log, else the name itself. Caller frees. */
char *compile_entry(const char *log, const char *kernel);
/* `bench worker compile`: one request, from a process that has a driver. Returns the exit status. */
int compile_serve(void);
/* The key that compile() would give it, without compiling: the same wherever the files lie. */
bool compile_key(const struct compile_request *request, char out[HASH_TEXT], struct error *err);
void compiled_free(struct compiled *c);
/* Version of the compiler that `compiler` names, without compiling: "nvrtc 13.0.88". */
bool compile_version(const char *compiler, char *out, size_t bytes, struct error *err);
/* The cache's folder: $BENCH_CACHE, else $XDG_CACHE_HOME/bench, else ~/.cache/bench; made when it is missing. An entry that is damaged is
 * compiled again and replaced. A folder that cannot be written means no cache: NULL then, and `why` says why. Caller frees. */
char *compile_cache_folder(char *why, size_t bytes);
/* A file of the cache by its name, as it was saved; NULL / nothing where there is no cache. Caller frees. */
char *compile_cache_load(const char *name, size_t *bytes);
void compile_cache_save(const char *name, const void *data, size_t bytes);
/* The folder with cuda_fp16.h and the like that compilations use; NULL when there is none. Caller frees. */
char *compile_cuda_include(void);

/* Bundles: PTX and cubins of a whole plan in one file, for a machine without the compiler. compile() looks in the opened bundle first. */
bool compile_bundle_write(const char *path, const struct compiled *items, int count, struct error *err);
bool compile_bundle_use(const char *path, struct error *err);
/* The compiler that made everything in the opened bundle: "nvrtc 13.0.88". False: none is open, several did, or another kind is asked for.
 */
bool compile_bundle_compiler(const char *compiler, char *out, size_t bytes);
void compile_bundle_close(void);
