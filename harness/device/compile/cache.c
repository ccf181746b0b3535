/* Compiled items on disk: one file per item in the cache, many in a bundle. Each item carries a checksum: a damaged one is as good as
 * absent. A file is written beside its place under a name of its own and renamed, so that processes and hosts may write one entry at once.
 */
#include "base/file.h"
#include "device/compile/private.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRY_MAGIC "bench-compiled 3\n"
#define BUNDLE_MAGIC "bench-bundle 2\n"
#define ENTRY_MAX_BYTES (256u << 20)
#define BUNDLE_MAX_BYTES (1024u << 20)

/* Layout: magic, then fields as an 8-byte little-endian length and the bytes, then the SHA-256 of all that as 64 digits. */
static void add_field(struct text *t, const void *data, size_t bytes)
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)bytes >> 8 * i);
    text_add_bytes(t, length, sizeof length);
    text_add_bytes(t, data, bytes);
}

void entry_write(struct text *t, const struct compiled *c)
{
    size_t start = t->len;
    char check[HASH_TEXT];
    text_add(t, ENTRY_MAGIC);
    add_field(t, c->key, strlen(c->key));
    add_field(t, c->request, strlen(c->request));
    add_field(t, c->compiler, strlen(c->compiler));
    add_field(t, c->arch, strlen(c->arch));
    char seconds[40];
    snprintf(seconds, sizeof seconds, "%.6f", c->seconds);
    add_field(t, seconds, strlen(seconds));
    add_field(t, c->paths ? c->paths : "", c->paths ? strlen(c->paths) : 0);
    add_field(t, c->log ? c->log : "", c->log ? strlen(c->log) : 0);
    add_field(t, c->ptx ? c->ptx : "", c->ptx_bytes);
    add_field(t, c->cubin ? c->cubin : "", c->cubin_bytes);
    hash_bytes(t->data + start, t->len - start, check);
    text_add(t, check);
}

struct reader {
    const char *data;
    size_t bytes, at;
    bool ok;
};

static char *read_field(struct reader *r, size_t *bytes)
{
    uint64_t n = 0;
    if (!r->ok || r->bytes - r->at < 8) {
        r->ok = false;
        return NULL;
    }
    for (int i = 7; i >= 0; i--)
        n = n << 8 | (unsigned char)r->data[r->at + (size_t)i];
    r->at += 8;
    if (n > r->bytes - r->at) {
        r->ok = false;
        return NULL;
    }
    char *p = xmalloc((size_t)n + 1);
    memcpy(p, r->data + r->at, (size_t)n);
    p[n] = 0;
    r->at += (size_t)n;
    if (bytes)
        *bytes = (size_t)n;
    return p;
}

static void read_text_field(struct reader *r, char *out, size_t room)
{
    SCOPED char *s = read_field(r, NULL);
    snprintf(out, room, "%s", s ? s : "");
}

bool entry_read(const char *data, size_t bytes, struct compiled *c, size_t *next)
{
    struct reader r = {data, bytes, strlen(ENTRY_MAGIC), true};
    char check[HASH_TEXT], seconds[40];
    *c = (struct compiled){0};
    if (bytes < r.at || memcmp(data, ENTRY_MAGIC, r.at))
        return false;
    read_text_field(&r, c->key, sizeof c->key);
    read_text_field(&r, c->request, sizeof c->request);
    read_text_field(&r, c->compiler, sizeof c->compiler);
    read_text_field(&r, c->arch, sizeof c->arch);
    read_text_field(&r, seconds, sizeof seconds);
    c->seconds = strtod(seconds, NULL);
    c->paths = read_field(&r, NULL);
    c->log = read_field(&r, NULL);
    c->ptx = read_field(&r, &c->ptx_bytes);
    c->cubin = read_field(&r, &c->cubin_bytes);
    if (!c->cubin_bytes) { /* PTX alone */
        free(c->cubin);
        c->cubin = NULL;
    }
    bool ok = r.ok && r.bytes - r.at >= HASH_TEXT - 1;
    if (ok) {
        hash_bytes(data, r.at, check);
        ok = memcmp(check, data + r.at, HASH_TEXT - 1) == 0;
    }
    if (!ok) {
        compiled_free(c);
        return false;
    }
    *next = r.at + HASH_TEXT - 1;
    return true;
}

char *compile_cache_folder(char *why, size_t bytes)
{
    const char *given = getenv("BENCH_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *dir = NULL;
    struct error err = {0};
    struct stat st = {0};
    why[0] = 0;
    if (given && *given)
        dir = xstrdup(given);
    else if (xdg && *xdg == '/')
        dir = file_join(xdg, "bench");
    else if (home && *home == '/')
        dir = file_join(home, ".cache/bench");
    if (!dir)
        snprintf(why, bytes, "neither BENCH_CACHE, XDG_CACHE_HOME nor HOME is set (the last two must be absolute paths)");
    else if (!file_make_dirs(dir, &err))
        snprintf(why, bytes, "%.300s", err.text);
    else if (access(dir, W_OK | X_OK))
        snprintf(why, bytes, "%s: %s", dir, strerror(errno));
    else if (stat(dir, &st) || (st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & S_IWOTH)) /* what it holds is run */
        snprintf(why, bytes, "%s: %s, so others could put code there", dir,
                 st.st_mode & S_IWOTH ? "everybody may write to it" : "belongs to another user");
    if (why[0]) {
        free(dir);
        return NULL;
    }
    return dir;
}

static char *cache_path(const char *name)
{
    char why[512];
    char *dir = compile_cache_folder(why, sizeof why), *path = dir ? file_join(dir, name) : NULL;
    free(dir);
    return path;
}

char *compile_cache_load(const char *name, size_t *bytes)
{
    SCOPED char *path = cache_path(name);
    return path && file_exists(path) ? file_read(path, ENTRY_MAX_BYTES, bytes, NULL) : NULL;
}

void compile_cache_save(const char *name, const void *data, size_t bytes)
{
    SCOPED char *path = cache_path(name);
    if (path)
        file_write(path, data, bytes, NULL); /* a full disk costs the next run its time, not this one its result */
}

/* The bundle in use: one a process, as the command line gave it. */
static pthread_mutex_t bundle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *path;
    struct compiled *items;
    int count;
} bundle;

bool compile_bundle_write(const char *path, const struct compiled *items, int count, struct error *err)
{
    SCOPED_TEXT t = {0};
    text_add(&t, BUNDLE_MAGIC);
    for (int i = 0; i < count; i++)
        entry_write(&t, &items[i]);
    return file_write_named(path, text_get(&t), t.len, err);
}

static void close_locked(void)
{
    for (int i = 0; i < bundle.count; i++)
        compiled_free(&bundle.items[i]);
    free(bundle.items);
    free(bundle.path);
    memset(&bundle, 0, sizeof bundle);
}

void compile_bundle_close(void)
{
    pthread_mutex_lock(&bundle_lock);
    close_locked();
    pthread_mutex_unlock(&bundle_lock);
}

bool compile_bundle_use(const char *path, struct error *err)
{
    size_t bytes, at = strlen(BUNDLE_MAGIC), next;
    bool ok = false;
    SCOPED char *data = file_read(path, BUNDLE_MAX_BYTES, &bytes, err);
    if (!data)
        return false;
    pthread_mutex_lock(&bundle_lock);
    close_locked();
    if (bytes < at || memcmp(data, BUNDLE_MAGIC, at)) {
        error_set(err, ERROR_USAGE, "%s: not a bundle of `bench compile --bundle`", path);
        goto done;
    }
    while (at < bytes) {
        struct compiled c;
        if (!entry_read(data + at, bytes - at, &c, &next)) {
            error_set(err, ERROR_USAGE, "%s: damaged behind item %d (byte %zu)", path, bundle.count, at);
            goto done;
        }
        *APPEND(bundle.items, bundle.count) = c;
        at += next;
    }
    bundle.path = xstrdup(path);
    ok = true;
done:
    if (!ok)
        close_locked();
    pthread_mutex_unlock(&bundle_lock);
    return ok;
}

const char *bundle_path(void)
{
    return bundle.path;
}

bool compile_bundle_compiler(const char *compiler, char *out, size_t bytes)
{
    size_t kind = strcspn(compiler ? compiler : "nvrtc", ":");
    pthread_mutex_lock(&bundle_lock);
    bool one = bundle.count > 0 && !strncmp(bundle.items[0].compiler, compiler ? compiler : "nvrtc", kind);
    for (int i = 1; one && i < bundle.count; i++)
        one = !strcmp(bundle.items[i].compiler, bundle.items[0].compiler);
    if (one)
        snprintf(out, bytes, "%s", bundle.items[0].compiler);
    pthread_mutex_unlock(&bundle_lock);
    return one;
}

bool bundle_find(const char *request, const char *compiler, struct compiled *out)
{
    bool found = false;
    size_t n = compiler ? strcspn(compiler, ":") : 0;
    pthread_mutex_lock(&bundle_lock);
    for (int i = 0; i < bundle.count && !found; i++) {
        const struct compiled *c = &bundle.items[i];
        if (strcmp(c->request, request) || strncmp(c->compiler, compiler ? compiler : "", n))
            continue;
        *out = *c;
        out->ptx = xmalloc(c->ptx_bytes + 1);
        memcpy(out->ptx, c->ptx, c->ptx_bytes + 1);
        out->cubin = xmalloc(c->cubin_bytes + 1);
        memcpy(out->cubin, c->cubin, c->cubin_bytes);
        out->log = xstrdup(c->log);
        out->paths = xstrdup(c->paths);
        out->from_bundle = true;
        found = true;
    }
    pthread_mutex_unlock(&bundle_lock);
    return found;
}
