/* nvcc and its ptxas as another compiler: it needs a host compiler, and writes files; both stay in a folder of their own. */
#include "base/file.h"
#include "base/process.h"
#include "device/compile/private.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_MAX_BYTES (64u << 20)

/* Runs argv with both outputs into a file; the exit status, or -1 when it could not be started. */
static int spawn_into(char *const *argv, const char *file, struct error *err)
{
    int code = process_run((const char *const *)argv, &(struct process){.log = file});
    if (code == PROCESS_MISSING) {
        error_set(err, ERROR_ENVIRONMENT, "%s cannot be run: %s", argv[0], strerror(errno));
        error_hint(err, "omit --compiler: the pinned NVRTC needs no nvcc");
        return -1;
    }
    return code;
}

/* A folder of our own for the files that nvcc keeps. */
static char *make_folder(struct error *err)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = text_format("%s/bench-nvcc.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(dir))
        return dir;
    error_set(err, ERROR_ENVIRONMENT, "%s: cannot be made: %s", dir, strerror(errno));
    free(dir);
    return NULL;
}

bool nvcc_open(struct compiler *c, const char *path, struct error *err)
{
    static const char *const places[] = {"nvcc", "/usr/local/cuda/bin/nvcc"};
    char *dir = make_folder(err), *out = NULL, *log = NULL;
    bool ok = false;
    if (!dir)
        return false;
    out = file_join(dir, "version");
    for (int i = 0; i < (path ? 1 : 2) && !ok; i++) {
        snprintf(c->path, sizeof c->path, "%s", path ? path : places[i]);
        char *argv[] = {c->path, "--version", NULL};
        ok = spawn_into(argv, out, err) == 0;
    }
    if (!ok) {
        if (err && err->kind == ERROR_NONE)
            error_set(err, ERROR_ENVIRONMENT, "%s --version fails", c->path);
        goto done;
    }
    log = file_read(out, OUTPUT_MAX_BYTES, NULL, err);
    char version[32] = "", build[48] = "";
    const char *v = log ? strstr(log, ", V") : NULL, *b = log ? strstr(log, "Build cuda") : NULL;
    ok = v && sscanf(v, ", V%31[0-9.]", version) == 1;
    if (b)
        sscanf(b, "Build %47s", build);
    if (!ok) {
        error_set(err, ERROR_ENVIRONMENT, "%s does not print its version: is it nvcc?", c->path);
        goto done;
    }
    error_clear(err);
    snprintf(c->version, sizeof c->version, "nvcc %s", version);
    snprintf(c->build, sizeof c->build, "nvcc %s %s", version, build);
done:
    free(log);
    free(out);
    file_remove_flat(dir);
    free(dir);
    return ok;
}

/* The one file in dir that ends so; NULL with an error otherwise. */
static char *read_kept(const char *dir, const char *suffix, size_t *bytes, struct error *err)
{
    SCOPED char **names = NULL;
    char *data = NULL;
    int count = file_list(dir, suffix, &names, err);
    if (count < 0)
        return NULL;
    if (count != 1)
        error_set(err, ERROR_INTERNAL, "nvcc left %d files of kind %s", count, suffix);
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(dir, names[i]);
        if (count == 1)
            data = file_read(path, OUTPUT_MAX_BYTES, bytes, err);
    }
    return data;
}

/* nvcc passes names in double quotes to a shell: refuses names with characters that the shell interprets or splits at. */
static bool plain_name(const char *name, struct error *err)
{
    const char *odd = name;
    while (*odd && ((unsigned char)*odd >= 128 || isalnum((unsigned char)*odd) || strchr("_./+,@%=:-", *odd)))
        odd++;
    if (!*odd)
        return true;
    error_set(err, ERROR_USAGE, "%s: nvcc passes file names to a shell, and this one has a '%c'", name, *odd);
    return error_hint(err, "rename the folder, the file or TMPDIR; or omit --compiler: the pinned NVRTC takes any name");
}

/* The request's macros as a file that comes before the source: on nvcc's command line a shell would read their values. */
static char *macros(const struct compile_request *r)
{
    struct text t = {0};
    for (int i = 0; i < r->define_count; i++) {
        const char *d = r->defines[i], *value = strchr(d, '=');
        int name = value ? (int)(value - d) : (int)strlen(d);
        text_addf(&t, "#define %.*s ", name, d);
        for (value = value ? value + 1 : "1"; *value; value++)
            text_add_bytes(&t, *value == '\n' || *value == '\r' ? " " : value, 1);
        text_add(&t, "\n\n"); /* the empty line is for a value that ends with a backslash */
    }
    SCOPED char *prelude = compile_prelude(r);
    text_add(&t, prelude);
    return text_take(&t);
}

/* False + err if the machine made nvcc fail, and not the source: the disk is full, or the system killed one of its processes. */
static bool machine_left(const char *dir, const char *log, struct error *err)
{
    static const char block[65536];
    SCOPED char *probe = file_join(dir, "probe");
    struct error why = {0};
    const char *killed = strstr(log, "died due to signal 9"), *full = strstr(log, "No space left on device");
    bool room = file_write(probe, block, sizeof block, &why);
    if (killed)
        error_set(err, ERROR_MACHINE, "nvcc was killed: no memory?");
    else if (full || !room)
        error_set(err, ERROR_MACHINE, "nvcc failed because there is no space: %s", room ? "No space left on device" : why.text);
    if (full || !room)
        error_hint(err, "TMPDIR=FOLDER selects another folder");
    return room && !killed && !full;
}

bool nvcc_compile(const struct compiler *c, const struct source *s, const struct compile_request *r, struct compiled *out,
                  struct error *err)
{
    char *dir = make_folder(err), *log = NULL, *prelude = NULL, *before = NULL;
    bool ok = false;
    int count = 0;
    if (!dir)
        return false;
    SCOPED char **argv = xcalloc(32, sizeof *argv);
    char flags[] = COMPILE_FLAGS_NVCC, *rest = flags, *flag;
    const char *arch = strncmp(r->arch, "sm_", 3) == 0 ? r->arch + 3 : r->arch;
    argv[count++] = xstrdup(c->path);
    argv[count++] = text_format("-gencode=arch=compute_%s,code=sm_%s", arch, arch);
    while ((flag = strsep(&rest, " ")))
        argv[count++] = xstrdup(flag);
    argv[count++] = xstrdup("--keep");
    argv[count++] = text_format("--keep-dir=%s", dir);
    for (int i = 0; i < 2; i++)
        if (s->folders[i])
            argv[count++] = text_format("-I%s", s->folders[i]);
    prelude = macros(r);
    before = file_join(dir, "before.h");
    argv[count++] = xstrdup("-include");
    argv[count++] = xstrdup(before);
    if (r->bounds.threads)
        argv[count++] = text_format("--maxrregcount=%d", r->bounds.registers);
    for (int i = 0; i < r->define_count; i++)
        if (!strcmp(r->defines[i], COMPILE_DEBUG))
            argv[count++] = xstrdup("-G");
    if (!plain_name(dir, err) || !plain_name(s->path, err) || (s->folders[0] && !plain_name(s->folders[0], err)) ||
        (s->folders[1] && !plain_name(s->folders[1], err)) || !file_write(before, prelude, strlen(prelude), err))
        goto done;
    argv[count++] = xstrdup("-o");
    argv[count++] = text_format("%s/result.cubin", dir);
    argv[count++] = xstrdup(s->path);
    log = file_join(dir, "log");
    int status = spawn_into(argv, log, err);
    if (status < 0)
        goto done;
    out->log = file_read(log, OUTPUT_MAX_BYTES, NULL, err);
    if (!out->log)
        goto done;
    if (status) {
        if (machine_left(dir, out->log, err))
            compile_failed(c, r, out->log, err);
        goto done;
    }
    out->ptx = read_kept(dir, ".ptx", &out->ptx_bytes, err);
    out->cubin = out->ptx ? read_kept(dir, "result.cubin", &out->cubin_bytes, err) : NULL;
    ok = out->cubin != NULL;
done:
    for (int i = 0; i < count; i++)
        free(argv[i]);
    FREE_ALL(log, prelude, before);
    file_remove_flat(dir);
    free(dir);
    return ok;
}
