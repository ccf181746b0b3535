#include "base/clock.h"
#include "base/file.h"
#include "device/compile/private.h"
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "compile 1" /* changes when keys mean something else */

/* The compilers opened so far, by the name they were asked for. */
pthread_mutex_t compile_loading = PTHREAD_MUTEX_INITIALIZER;
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
        return error_hint(err, "nvrtc (the pinned one), nvrtc:/path/libnvrtc.so.13, nvcc, nvcc:/path/nvcc");
    }
    if (*path && !**path)
        return error_set(err, ERROR_USAGE, "compiler '%s': a path is missing behind the colon", name);
    return true;
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

char *compile_cuda_include(void)
{
    static const char *const places[] = {".deps/nvidia/cu13/include", "nvidia/cu13/include", "/usr/local/cuda/include"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *dir = *places[i] == '/' ? xstrdup(places[i]) : file_share(places[i]);
        char *probe = file_join(dir, "cuda_fp16.h");
        bool found = file_exists(probe);
        free(probe);
        if (found)
            return dir;
        free(dir);
    }
    return NULL;
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

/* The cache's file also depends on where things lie: PTX and line tables carry the paths that messages show; and on how it was made. */
static char *entry_name(const struct source *s, const struct compiler *c, const char *key, bool apart)
{
    char out[HASH_TEXT];
    struct hash *h = hash_begin();
    hash_add_text(h, key);
    hash_add_text(h, s->path);
    hash_add_text(h, s->folders[1] ? s->folders[1] : "");
    hash_add_text(h, c->include ? c->include : "");
    if (!apart)
        hash_add_text(h, "beside a driver");
    hash_end(h, out);
    return text_format("%s.compiled", out);
}

static bool from_cache(const struct source *s, const struct compiler *compiler, const char *key, bool apart, struct compiled *out)
{
    size_t bytes, next;
    struct compiled c;
    char *name = entry_name(s, compiler, key, apart), *data = compile_cache_load(name, &bytes);
    bool ok = data && entry_read(data, bytes, &c, &next);
    free(name);
    free(data);
    if (!ok)
        return false;
    if (next != bytes || strcmp(c.key, key)) {
        compiled_free(&c);
        return false;
    }
    *out = c;
    out->from_cache = true;
    return true;
}

static bool compile_now(const struct compiler *c, const struct source *s, const struct compile_request *r, bool apart, struct compiled *out,
                        struct error *err)
{
    double start = clock_s();
    bool ok = c->kind == COMPILER_NVCC ? nvcc_compile(c, s, r, out, err)
              : apart                  ? compile_apart(c, s, r, out, err)
                                       : nvrtc_compile(c, s, r, out, err);
    out->seconds = clock_s() - start;
    return ok;
}

/* Both compilers define the macro before the source begins. */
char *compile_prelude(const struct compile_request *r)
{
    if (!r->bounds.threads)
        return xstrdup("");
    return text_format("#undef __launch_bounds__\n#define __launch_bounds__(...) __attribute__((launch_bounds(%d, %d)))\n",
                       r->bounds.threads, r->bounds.blocks);
}

bool compile_key(const struct compile_request *r, char out[HASH_TEXT], struct error *err)
{
    struct source s = {0};
    enum compiler_kind kind;
    const char *path;
    const struct compiler *c = NULL;
    bool ok = compiler_parse(r->compiler ? r->compiler : "nvrtc", &kind, &path, err) &&
              source_read(r->path, r->include, r->defines, r->define_count, &s, err) && (c = compiler_open(r->compiler, err)) != NULL;
    if (ok)
        hash_request(&s, r, kind, c->build, out);
    source_free(&s);
    return ok;
}

bool compile(const struct compile_request *r, struct compiled *out, struct error *err)
{
    struct source s = {0};
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
    bool apart = c->kind == COMPILER_NVCC || compile_may_fork();
    if (from_cache(&s, c, key, true, out) || (!apart && from_cache(&s, c, key, false, out))) {
        ok = true;
        goto done;
    }
    if (!compile_now(c, &s, r, apart, out, err))
        goto done;
    memcpy(out->key, key, sizeof key);
    memcpy(out->request, request, sizeof request);
    snprintf(out->compiler, sizeof out->compiler, "%s", c->version);
    snprintf(out->arch, sizeof out->arch, "%s", r->arch);
    struct text entry = {0};
    char *name = entry_name(&s, c, key, apart);
    entry_write(&entry, out);
    compile_cache_save(name, entry.data, entry.len);
    text_free(&entry);
    free(name);
    ok = true;
done:
    source_free(&s);
    if (!ok)
        compiled_free(out);
    return ok;
}

void compiled_free(struct compiled *c)
{
    free(c->ptx);
    free(c->cubin);
    free(c->log);
    *c = (struct compiled){0};
}

/* Did the compiler look for a header that lies in a folder of kernels/include: "wgmma.cuh", "sparse_tiles.cuh"? Then how it is included. */
static bool add_include_path(struct text *t, const char *log)
{
    char name[128], *dir = file_share("kernels/include"), **folders = NULL;
    const char *nvrtc = strstr(log, "cannot open source file \""), *nvcc = strstr(log, "fatal error: ");
    bool missed = (nvrtc && sscanf(nvrtc, "cannot open source file \"%127[^\"/\n]\"", name) == 1) ||
                  (nvcc && sscanf(nvcc, "fatal error: %127[^:/\n]: No such file", name) == 1);
    bool found = false;
    int count = missed ? file_list(dir, "", &folders, NULL) : 0;
    for (int i = 0; i < count; i++) {
        size_t n = strlen(folders[i]);
        const char *base = !strncmp(name, folders[i], n) && name[n] == '_' ? name + n + 1 : name;
        char *whole = text_format("%s/%s/%s", dir, folders[i], name), *rest = text_format("%s/%s/%s", dir, folders[i], base);
        if (file_exists(whole) || file_exists(rest)) {
            text_addf(t, "\n(%s %s/%s)", found ? "or" : "kernels/include has folders: it is", folders[i], file_exists(whole) ? name : base);
            found = true;
        }
        free(whole);
        free(rest);
        free(folders[i]);
    }
    free(folders);
    free(dir);
    return found;
}

/* A macro of ours whose name the compiler's own headers use: T of `template <typename T>`. They break far from what is at fault. */
static void add_taken_name(struct text *t, const struct compile_request *r, const char *log)
{
    const char *at = strstr(log, "__nv_nvrtc_builtin_header.h(");
    for (int i = 0; at && i < r->define_count; i++) {
        size_t n = strcspn(r->defines[i], "=");
        for (const char *p = at; (p = strchr(p, r->defines[i][0])) != NULL; p++) {
            bool word = !strncmp(p, r->defines[i], n) && !isalnum((unsigned char)p[n]) && p[n] != '_' && !isalnum((unsigned char)p[-1]) &&
                        p[-1] != '_';
            if (!word)
                continue;
            text_addf(t, "\n(%.*s, which the head defines, is a name in the compiler's own headers: call it something longer)", (int)n,
                      r->defines[i]);
            return;
        }
    }
}

/* Diagnostics come as blocks behind blank lines; a block of warnings alone is left out, so that the errors fit. */
/* A message about an absolute path that is no source shows its lines: /etc/passwd as an include. */
static bool shows_no_source(const char *block)
{
    static const char *const source[] = {".cu", ".cuh", ".h", ".hpp", ".hxx", ".hh", ".inl", ".inc", ".c", ".cpp", ".cc"};
    size_t n = strcspn(block, "(:\n");
    char *path = block[0] == '/' && block[n] == '(' ? xstrndup(block, n) : NULL;
    bool odd = path && !strstr(path, "/include/"); /* CUDA's own have names like <cuda/std/atomic> */
    for (size_t i = 0; odd && i < sizeof source / sizeof *source; i++)
        odd = !text_ends(path, source[i]);
    free(path);
    return odd;
}

/* The place of the compiler's first error: "k/flip.cu(23): error: ..." of NVRTC and nvcc, "k/flip.cu:23:5: error: ..." of the host's. */
static void log_place(const char *log, struct error *err)
{
    for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t end = strcspn(line, "\n"), name = strcspn(line, ":(\n");
        int number = 0, read = 0;
        bool found = sscanf(line + name, "(%7d)%n", &number, &read) == 1 && read > 0;
        found = found || sscanf(line + name, ":%7d%n", &number, &read) == 1;
        SCOPED char *rest = found ? xstrndup(line + name + read, end - name - (size_t)read) : xstrdup("");
        SCOPED char *file = xstrndup(line, name);
        if (found && number > 0 && (strstr(rest, " error") || strstr(rest, " catastrophic error"))) {
            error_at(err, file, number);
            return;
        }
    }
}

bool compile_failed(const struct compiler *c, const struct compile_request *r, const char *log, struct error *err)
{
    struct text t = {0};
    int hidden = 0;
    add_taken_name(&t, r, log);
    for (const char *p = log; *p;) {
        const char *end = strstr(p, "\n\n");
        size_t n = end ? (size_t)(end - p) : strlen(p);
        char *block = xstrndup(p, n);
        bool wanted = strstr(block, "error") || strstr(block, "fatal") || !strstr(block, "warning");
        if (shows_no_source(block)) {
            text_addf(&t, "\n%.*s: it is included, and no source: what is in it is not shown", (int)strcspn(block, "("), block);
            wanted = false;
        }
        char *rest = block, *line;
        while (wanted && (line = strsep(&rest, "\n"))) {
            if (strstr(line, "ptxas info") || !line[strspn(line, " \t\r")])
                continue;
            if (t.len + strlen(line) > 1700)
                hidden++;
            else
                text_addf(&t, "\n%s", line);
        }
        free(block);
        p += n + (end ? 2 : 0);
    }
    if (hidden)
        text_addf(&t, "\n(%d more lines)", hidden);
    if (!add_include_path(&t, log) && c->kind == COMPILER_NVRTC && strstr(log, "cannot open source file"))
        text_add(&t, "\n(nvrtc has few headers of the host, and not <vector> or <iostream>: put them under #ifndef __CUDACC_RTC__, or use "
                     "--compiler nvcc)");
    if (c->kind == COMPILER_NVRTC && strstr(log, "identifier \"cuda") && strstr(log, "\" is undefined"))
        text_add(&t, "\n(nvrtc compiles no host code: put it between #ifndef __CUDACC_RTC__ and #endif, or use --compiler nvcc)");
    if (strstr(log, "identifier \"__half") || strstr(log, "identifier \"__nv_bfloat16"))
        text_add(&t, "\n(the types of 16 bits are in <cuda_fp16.h> and <cuda_bf16.h>)");
    static const char *const macros[] = {"\"INFINITY\"", "\"NAN\"", "\"FLT_MAX\"", "\"INT_MAX\"", "\"CHAR_BIT\""};
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        if (c->kind == COMPILER_NVRTC && strstr(log, macros[i])) {
            text_add(&t,
                     "\n(of the host's constants nvrtc has INFINITY and NAN in <cuda/std/cmath>, INT_MAX in <cuda/std/climits>; FLT_MAX is "
                     "3.402823466e+38f)");
            break;
        }
    error_set(err, ERROR_USAGE, "%s does not compile for %s with %s:%s", r->label, r->arch, c->version,
              t.len ? text_get(&t) : "\n(the compiler said nothing)");
    log_place(log, err);
    text_free(&t);
    return false;
}
