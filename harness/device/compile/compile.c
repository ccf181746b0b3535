/* One compilation: its key, the bundle and the cache, else a compiler. */
#include "base/clock.h"
#include "base/file.h"
#include "device/compile/private.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "compile 1" /* changes when keys mean something else */

/* The compilers opened so far, by the name that callers asked for. */
static struct {
    char *name;
    struct compiler compiler;
} compilers[8];
static int compiler_count;

/* Splits "nvrtc", "nvrtc:/path", "nvcc", "nvcc:/path". */
static bool compiler_parse(const char *name, enum compiler_kind *kind, const char **path, struct error *err)
{
    size_t n = strcspn(name, ":");
    *path = name[n] ? name + n + 1 : NULL;
    if (n == 5 && strncmp(name, "nvrtc", n) == 0)
        *kind = COMPILER_NVRTC;
    else if (n == 4 && strncmp(name, "nvcc", n) == 0)
        *kind = COMPILER_NVCC;
    else {
        error_set(err, ERROR_USAGE, "no such compiler: '%s'", name);
        return error_hint(err, "nvrtc (the pinned one), nvrtc:13.5, nvrtc:/path/libnvrtc.so.13, nvcc, nvcc:/path/nvcc");
    }
    if (*path && !**path)
        return error_set(err, ERROR_USAGE, "compiler '%s': a path is missing after the colon", name);
    return true;
}

/* Which CUDA headers lie there: the compiler's build says most of it, and those of another release have other sizes. */
static void identify_headers(struct compiler *c)
{
    static const char *const names[] = {"cuda_fp16.h",
                                        "cuda_fp16.hpp",
                                        "cuda_bf16.h",
                                        "cuda_bf16.hpp",
                                        "cuda_fp8.hpp",
                                        "mma.h",
                                        "cuda_pipeline_helpers.h",
                                        "cooperative_groups.h",
                                        "cccl/cuda/std/__cccl/version.h"};
    struct hash *h = hash_begin();
    for (size_t i = 0; c->include && i < sizeof names / sizeof *names; i++) {
        SCOPED char *path = file_join(c->include, names[i]);
        struct stat st = {0};
        stat(path, &st);
        hash_add(h, &st.st_size, sizeof st.st_size);
    }
    hash_end(h, c->headers);
}

/* Opened once a process and kept; safe from several threads. */
static const struct compiler *compiler_open(const char *name, struct error *err)
{
    const struct compiler *found = NULL;
    enum compiler_kind kind;
    const char *path;
    if (!name)
        name = "nvrtc";
    if (!compiler_parse(name, &kind, &path, err))
        return NULL;
    pthread_mutex_lock(&compile_loading);
    for (int i = 0; i < compiler_count && !found; i++)
        if (strcmp(compilers[i].name, name) == 0)
            found = &compilers[i].compiler;
    if (!found && compiler_count == (int)(sizeof compilers / sizeof *compilers)) {
        error_set(err, ERROR_USAGE, "more than %d compilers in one process", compiler_count);
    } else if (!found) {
        struct compiler *c = &compilers[compiler_count].compiler;
        *c = (struct compiler){.kind = kind};
        if (kind == COMPILER_NVRTC ? nvrtc_open(c, path, err) : nvcc_open(c, path, err)) {
            identify_headers(c);
            compilers[compiler_count++].name = xstrdup(name);
            found = c;
        }
    }
    pthread_mutex_unlock(&compile_loading);
    return found;
}

bool compile_version(const char *compiler, char *out, size_t bytes, struct error *err)
{
    const struct compiler *c = compiler_open(compiler, err);
    if (c)
        snprintf(out, bytes, "%s", c->version);
    return c != NULL;
}

/* What makes two requests the same work, wherever the files lie; with the compiler's build it is the key. */
static void hash_request(const struct source *s, const struct compile_request *r, enum compiler_kind kind, const char *build,
                         char out[HASH_TEXT])
{
    struct hash *h = hash_begin();
    hash_add_text(h, FORMAT);
    hash_add_text(h, file_base(s->path));
    hash_add(h, s->text, s->bytes);
    hash_add_text(h, s->includes);
    for (int i = 0; i < r->define_count; i++)
        hash_add_text(h, r->defines[i]);
    hash_add_text(h, kind == COMPILER_NVRTC ? COMPILE_FLAGS_NVRTC : COMPILE_FLAGS_NVCC);
    hash_add_text(h, r->arch);
    if (r->bounds.threads)
        hash_add(h, &r->bounds, sizeof r->bounds);
    hash_add_text(h, build);
    if (*build && kind == COMPILER_NVRTC)
        hash_add_text(h, "a heap of its own"); /* entries of before are of processes that had compiled other things */
    hash_end(h, out);
}

/* The cache names an entry by its content and by how it was compiled, so that a second checkout finds what the first compiled. If the code
 * contains paths that cannot be changed (paths_bound), the name depends on the paths, too. */
static char *entry_name(const struct compiler *c, const char *key, const char *bound, bool apart, bool ptx_only)
{
    char out[HASH_TEXT];
    struct hash *h = hash_begin();
    hash_add_text(h, key);
    hash_add_text(h, c->headers);
    hash_add_text(h, bound ? bound : "");
    if (!apart)
        hash_add_text(h, "beside a driver");
    if (ptx_only)
        hash_add_text(h, "no machine code");
    hash_end(h, out);
    return text_format("%s.compiled", out);
}

/* What a name depends on where the paths themselves do: also of a name that paths_of() cannot put into its list. */
static char *bound_name(const struct source *s, const struct compiler *c)
{
    char *paths = paths_of(s, c->include), *cwd = paths ? NULL : getcwd(NULL, 0);
    char *name = paths ? paths : text_format("%s\n%s\n%s\n%s", cwd ? cwd : "", s->path, s->folders[1], c->include ? c->include : "");
    free(cwd);
    return name;
}

static bool from_entry(const struct compiler *compiler, const char *key, const char *bound, const char *paths, bool apart, bool ptx_only,
                       struct compiled *out)
{
    size_t bytes, next;
    struct compiled c;
    SCOPED char *name = entry_name(compiler, key, bound, apart, ptx_only), *data = compile_cache_load(name, &bytes);
    bool ok = data && entry_read(data, bytes, &c, &next);
    if (!ok)
        return false;
    if (next != bytes || strcmp(c.key, key) || (!bound && !paths_move(&c, paths))) {
        compiled_free(&c);
        return false;
    }
    *out = c;
    out->from_cache = true;
    return true;
}

static bool from_cache(const struct source *s, const struct compiler *c, const char *key, bool apart, bool ptx_only, struct compiled *out)
{
    SCOPED char *paths = paths_of(s, c->include), *bound = bound_name(s, c);
    for (int without = 0; without <= ptx_only; without++) /* machine code is no hindrance */
        if ((paths && from_entry(c, key, NULL, paths, apart, without, out)) || from_entry(c, key, bound, paths, apart, without, out))
            return true;
    return false;
}

static void to_cache(const struct source *s, const struct compiler *c, const char *key, bool apart, bool ptx_only, struct compiled *made)
{
    SCOPED_TEXT entry = {0};
    free(made->paths);
    made->paths = paths_of(s, c->include);
    SCOPED char *bound = paths_bound(made) ? bound_name(s, c) : NULL, *name = entry_name(c, key, bound, apart, ptx_only);
    entry_write(&entry, made);
    compile_cache_save(name, entry.data, entry.len);
}

static bool compile_now(const struct compiler *c, const struct source *s, const struct compile_request *r, bool apart, struct compiled *out,
                        struct error *err)
{
    double start = clock_s();
    bool ok = c->kind == COMPILER_NVCC ? nvcc_compile(c, s, r, out, err)
              : apart                  ? compile_in_subprocess(c, s, r, out, err)
                                       : nvrtc_compile(c, s, r, out, err);
    out->seconds = clock_s() - start;
    return ok;
}

bool compile_key(const struct compile_request *r, char out[HASH_TEXT], struct error *err)
{
    SCOPED_BY(source_free) struct source s = {0};
    enum compiler_kind kind;
    const char *path;
    const struct compiler *c = NULL;
    bool ok = compiler_parse(r->compiler ? r->compiler : "nvrtc", &kind, &path, err) &&
              source_read(r->path, r->include, r->defines, r->define_count, &s, err) && (c = compiler_open(r->compiler, err)) != NULL;
    if (ok)
        hash_request(&s, r, kind, c->build, out);
    return ok;
}

bool compile(const struct compile_request *r, struct compiled *out, struct error *err)
{
    SCOPED_BY(source_free) struct source s = {0};
    enum compiler_kind kind;
    const char *path;
    char request[HASH_TEXT], key[HASH_TEXT];
    bool ok = false;
    *out = (struct compiled){0};
    if (!compiler_parse(r->compiler ? r->compiler : "nvrtc", &kind, &path, err) ||
        !source_read(r->path, r->include, r->defines, r->define_count, &s, err))
        goto done;
    hash_request(&s, r, kind, "", request);
    if (bundle_find(request, r->compiler, out)) {
        char *paths = paths_of(&s, NULL);
        paths_move(out, paths); /* what cannot be moved keeps the paths of where it was compiled */
        free(paths);
        ok = true;
        goto done;
    }
    const struct compiler *c = compiler_open(r->compiler, err);
    if (!c) {
        if (bundle_path())
            error_where(err, "%s is not in the bundle %s, and cannot be compiled here", r->label, bundle_path());
        goto done;
    }
    hash_request(&s, r, kind, c->build, key);
    bool apart = c->kind == COMPILER_NVCC || compile_may_fork(), elsewhere = false;
    ok = from_cache(&s, c, key, true, r->ptx_only, out);
    if (!ok && !apart) /* that program caches it */
        ok = compile_in_program(r, out, &elsewhere, err) || (!elsewhere && from_cache(&s, c, key, false, r->ptx_only, out));
    if (ok || elsewhere)
        goto done;
    if (!compile_now(c, &s, r, apart, out, err))
        goto done;
    memcpy(out->key, key, sizeof key);
    memcpy(out->request, request, sizeof request);
    snprintf(out->compiler, sizeof out->compiler, "%s", c->version);
    snprintf(out->arch, sizeof out->arch, "%s", r->arch);
    to_cache(&s, c, key, apart, r->ptx_only && c->kind == COMPILER_NVRTC, out);
    ok = true;
done:
    if (!ok)
        compiled_free(out);
    return ok;
}
