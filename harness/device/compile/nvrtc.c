/* NVRTC by dlopen: CUDA C to PTX and cubin in one call, no driver needed. */
#include "base/file.h"
#include "base/kernel_name.h"
#include "base/text.h"
#include "base/library.h"
#include "device/compile/private.h"
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FUNCTIONS(X) \
    X(nvrtcGetErrorString) \
    X(nvrtcVersion) \
    X(nvrtcGetNumSupportedArchs) \
    X(nvrtcGetSupportedArchs) \
    X(nvrtcCreateProgram) \
    X(nvrtcDestroyProgram) \
    X(nvrtcCompileProgram) \
    X(nvrtcAddNameExpression) \
    X(nvrtcGetLoweredName) \
    X(nvrtcGetPTXSize) \
    X(nvrtcGetPTX) \
    X(nvrtcGetCUBINSize) \
    X(nvrtcGetCUBIN) \
    X(nvrtcGetProgramLogSize) \
    X(nvrtcGetProgramLog)

struct nvrtc {
    struct library library;
#define FIELD(name) __typeof__(name) *name;
    FUNCTIONS(FIELD)
#undef FIELD
};

static bool failed(const struct nvrtc *n, const char *what, nvrtcResult r, struct error *err)
{
    return error_set(err, r == NVRTC_ERROR_OUT_OF_MEMORY ? ERROR_MACHINE : ERROR_INTERNAL, "NVRTC: %s: %s", what,
                     n->nvrtcGetErrorString(r));
}

/* NVRTC loads its library of built-in functions by name, and a folder of wheels is not on the loader's path. So bench first loads the file
 * next to NVRTC, which makes the name known. If it is missing, NVRTC reports that. */
static void open_builtins(struct nvrtc *n)
{
    int major = 0, minor = 0;
    if (n->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS)
        return;
    SCOPED char *dir = file_dir(n->library.path), *path = text_format("%s/libnvrtc-builtins.so.%d.%d", dir, major, minor);
    if (file_exists(path))
        dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* stays for the life of the process */
}

/* The build is only said in the PTX that it writes: "release 13.0, V13.0.88", "Compiler Build ID: CL-36424714". */
static bool probe_build(const struct nvrtc *n, char *out, size_t room, struct error *err)
{
    nvrtcProgram program;
    size_t bytes = 0;
    int major = 0, minor = 0;
    nvrtcResult r = n->nvrtcVersion(&major, &minor);
    if (r == NVRTC_SUCCESS)
        r = n->nvrtcCreateProgram(&program, "", "probe", 0, NULL, NULL);
    if (r != NVRTC_SUCCESS)
        return failed(n, "it does not start", r, err);
    const char *option = "--gpu-architecture=compute_90";
    char *ptx = NULL, version[32] = "", build[32] = "";
    r = n->nvrtcCompileProgram(program, 1, &option);
    if (r != NVRTC_SUCCESS) { /* not even an empty program: say what the compiler says, so that doctor does not call it ok */
        char log[512] = "";
        if (n->nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes <= sizeof log)
            n->nvrtcGetProgramLog(program, log);
        log[strcspn(log, "\n")] = 0;
        n->nvrtcDestroyProgram(&program);
        return error_set(err, ERROR_ENVIRONMENT, "NVRTC %s compiles nothing: %s", n->library.path,
                         log[0] ? log : n->nvrtcGetErrorString(r));
    }
    if (n->nvrtcGetPTXSize(program, &bytes) == NVRTC_SUCCESS) {
        ptx = xcalloc(1, bytes + 1);
        if (n->nvrtcGetPTX(program, ptx) == NVRTC_SUCCESS) {
            const char *v = strstr(ptx, ", V"), *b = strstr(ptx, "Build ID: ");
            if (v)
                sscanf(v, ", V%31[0-9.]", version);
            if (b)
                sscanf(b, "Build ID: %31[A-Za-z0-9._-]", build);
        }
    }
    free(ptx);
    n->nvrtcDestroyProgram(&program);
    if (version[0])
        snprintf(out, room, "nvrtc %s\n%s", version, build);
    else
        snprintf(out, room, "nvrtc %d.%d\n%s", major, minor, build);
    return true;
}

#define HEAD_BYTES ((size_t)64 << 10)

/* A library's first pages have its build ID, its symbols and their places, which no other build shares: a copy of it elsewhere is the same.
 */
static bool hash_library(const char *path, char key[HASH_TEXT])
{
    struct stat st = {0};
    FILE *f = fopen(path, "rb");
    SCOPED char *head = xmalloc(HEAD_BYTES);
    size_t n = f ? fread(head, 1, HEAD_BYTES, f) : 0;
    struct hash *h = hash_begin();
    bool ok = n > 0 && !fstat(fileno(f), &st);
    hash_add_text(h, "a library by content");
    hash_add(h, &st.st_size, sizeof st.st_size);
    hash_add(h, head, n);
    hash_end(h, key);
    if (f)
        fclose(f);
    return ok;
}

/* The probe costs some 70 ms: the cache remembers what it said of this library. */
static bool find_build(const struct nvrtc *n, struct compiler *c, struct error *err)
{
    char key[HASH_TEXT], text[160];
    size_t bytes = 0;
    bool readable = hash_library(c->path, key);
    SCOPED char *name = text_format("%s.compiler", key), *known = readable ? compile_cache_load(name, &bytes) : NULL;
    bool ok = known && bytes < sizeof text && strncmp(known, "nvrtc ", 6) == 0 && strchr(known, '\n');
    if (ok)
        snprintf(text, sizeof text, "%s", known);
    else if ((ok = probe_build(n, text, sizeof text, err)))
        compile_cache_save(name, text, strlen(text));
    if (ok) {
        char *newline = strchr(text, '\n');
        *newline = 0;
        snprintf(c->version, sizeof c->version, "%.90s", text);
        snprintf(c->build, sizeof c->build, "%.50s %.40s", text, newline + 1);
    }
    return ok;
}

/* The headers beside the library belong to it; else those of the installation. */
static char *find_include(const char *library)
{
    char *beside = file_beside(library, "../include"), *probe = file_join(beside, "cuda_fp16.h");
    bool found = file_exists(probe);
    free(probe);
    if (found)
        return beside;
    free(beside);
    return compile_cuda_include();
}

/* The library of a release that ci/setup fetched: the newest whose version begins so; NULL with an error otherwise. Caller frees. */
static char *release_path(const char *version, struct error *err)
{
    SCOPED char *folder = file_share(".deps/nvrtc"), **names = NULL, *best = NULL;
    SCOPED_TEXT all = {0};
    int count = file_list(folder, "", &names, NULL), found = -1;
    for (int i = 0; i < count; i++) {
        size_t n = strlen(version);
        bool fits = !strncmp(names[i], version, n) && (!names[i][n] || names[i][n] == '.');
        found = fits && (found < 0 || strverscmp(names[i], names[found]) > 0) ? i : found;
        text_addf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    if (found >= 0)
        best = text_format("%s/%s/libnvrtc.so.13", folder, names[found]);
    if (best)
        return xstrdup(best);
    error_set(err, ERROR_ENVIRONMENT, "compiler nvrtc:%s: %s has %s", version, folder, count > 0 ? text_get(&all) : "no other release");
    error_hint(err, "sh ci/setup --nvrtc %s COMMAND fetches it; or name a library: nvrtc:/path/libnvrtc.so.13", version);
    return NULL;
}

bool nvrtc_open(struct compiler *c, const char *named, struct error *err)
{
    static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
    bool release = named && !named[strspn(named, "0123456789.")];
    SCOPED char *path = !named ? NULL : release ? release_path(named, err) : xstrdup(named);
    if (named && !path)
        return false;
    struct nvrtc *n = xcalloc(1, sizeof *n);
    if (path) {
        n->library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        snprintf(n->library.path, sizeof n->library.path, "%s", path);
        if (!n->library.handle)
            error_set(err, ERROR_ENVIRONMENT, "compiler nvrtc:%s: %s", path, dlerror());
    } else if (!library_open(&n->library, sonames, err)) {
        error_where(err, "the compiler NVRTC");
    }
    bool ok = n->library.handle != NULL;
#define LOAD(name) ok = ok && (n->name = (__typeof__(n->name))library_symbol(&n->library, #name, err));
    FUNCTIONS(LOAD)
#undef LOAD
    if (ok) {
        open_builtins(n);
        snprintf(c->path, sizeof c->path, "%s", n->library.path);
        ok = find_build(n, c, err);
    }
    if (!ok) {
        library_close(&n->library);
        free(n);
        return false;
    }
    c->include = find_include(c->path);
    c->private_data = n;
    return true;
}

/* An architecture that this NVRTC does not know is said in words. */
static bool check_arch(const struct nvrtc *n, const struct compiler *c, const char *arch, struct error *err)
{
    int count = 0, wanted = 0;
    if (sscanf(arch, "sm_%d", &wanted) != 1)
        return error_set(err, ERROR_USAGE, "'%s' is not an architecture: sm_90a, sm_86 ...", arch);
    if (n->nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0)
        return true;
    SCOPED int *archs = xcalloc((size_t)count, sizeof *archs);
    SCOPED_TEXT list = {0};
    bool known = n->nvrtcGetSupportedArchs(archs) != NVRTC_SUCCESS;
    for (int i = 0; i < count; i++) {
        known = known || archs[i] == wanted;
        text_addf(&list, "%ssm_%d", i ? ", " : "", archs[i]);
    }
    if (!known)
        error_set(err, ERROR_ENVIRONMENT, "%s cannot compile for %s; it supports %s", c->version, arch, text_get(&list));
    return known;
}

static char *get_text(nvrtcResult (*size)(nvrtcProgram, size_t *), nvrtcResult (*get)(nvrtcProgram, char *), nvrtcProgram program,
                      size_t *bytes)
{
    size_t n = 0;
    char *out = NULL;
    if (size(program, &n) == NVRTC_SUCCESS) {
        out = xcalloc(1, n + 1);
        if (n && get(program, out) != NVRTC_SUCCESS) {
            free(out);
            out = NULL;
        }
    }
    if (bytes)
        *bytes = n;
    return out;
}

static void add_option(char **options, int *count, char *option)
{
    options[(*count)++] = option;
}

static int make_options(const struct compiler *c, const struct source *s, const struct compile_request *r, char **options)
{
    int count = 0;
    char flags[] = COMPILE_FLAGS_NVRTC, *rest = flags, *flag;
    const char *number = strchr(r->arch, '_'); /* sm_90a; without machine code compute_90a */
    add_option(options, &count,
               text_format("--gpu-architecture=%s%s", r->ptx_only && number ? "compute" : "sm", number ? number : r->arch));
    bool quote = strchr(s->path, '"') || (s->folders[0] && strchr(s->folders[0], '"')) || (s->folders[1] && strchr(s->folders[1], '"')) ||
                 strchr(s->host, '"');
    while ((flag = strsep(&rest, " ")))
        if (!quote || strcmp(flag, "-lineinfo")) /* NVRTC writes names between quotes, as they are, and ptxas cannot read that */
            add_option(options, &count, xstrdup(flag));
    /* With a driver, NVRTC keeps results in its own cache (~/.nv/ComputeCache), and a result from there has no log of ptxas: spills would
     * be unknown. This flag is not part of the key, since the code is the same. */
    int major = 0, minor = 0;
    if (sscanf(c->version, "nvrtc %d.%d", &major, &minor) == 2 && major >= 13)
        add_option(options, &count, xstrdup("--no-cache"));
    for (int i = 0; i < 2; i++)
        if (s->folders[i])
            add_option(options, &count, text_format("-I%s", s->folders[i]));
    add_option(options, &count, text_format("-I%s", s->host));
    if (c->include) {
        add_option(options, &count, text_format("-I%s", c->include));
        char *cccl = file_join(c->include, "cccl"); /* where CUDA 13 keeps <cuda/std/...> */
        if (file_is_dir(cccl))
            add_option(options, &count, text_format("-I%s", cccl));
        free(cccl);
    }
    for (int i = 0; i < r->define_count; i++) {
        add_option(options, &count, text_format("-D%s", r->defines[i]));
        if (!strcmp(r->defines[i], COMPILE_DEBUG))
            add_option(options, &count, xstrdup("--device-debug"));
    }
    if (r->bounds.threads)
        add_option(options, &count, text_format("--maxrregcount=%d", r->bounds.registers));
    return count;
}

/* The name expression that a define asks for, or NULL. */
static const char *instance_of(const char *define)
{
    const char *value = strncmp(define, KERNEL_INSTANCE, strlen(KERNEL_INSTANCE)) ? NULL : strchr(define, '=');
    return value ? value + 1 : NULL;
}

/* Adds to the log the entry of each instance, as compile_entry() reads it. */
static void log_entries(const struct nvrtc *n, nvrtcProgram program, const struct compile_request *r, struct compiled *out)
{
    SCOPED_TEXT t = {0};
    for (int i = 0; i < r->define_count; i++) {
        const char *name = instance_of(r->defines[i]), *entry = NULL;
        if (name && n->nvrtcGetLoweredName(program, name, &entry) == NVRTC_SUCCESS)
            text_addf(&t, COMPILE_ENTRY_LINE, name, entry);
    }
    if (t.len) {
        char *log = text_format("%s%s", out->log ? out->log : "", text_get(&t));
        free(out->log);
        out->log = log;
    }
}

/* Names that nvcc predefines by the headers that it always includes, and the headers of NVRTC that have them. */
static const struct {
    const char *names, *header;
} predefined[] = {{" INFINITY NAN HUGE_VAL HUGE_VALF M_PI M_PI_2 M_E M_LN2 M_LOG2E M_SQRT2 M_SQRT1_2 M_2_SQRTPI ", "cmath"},
                  {" INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX SHRT_MAX SHRT_MIN USHRT_MAX "
                   "SCHAR_MAX SCHAR_MIN UCHAR_MAX CHAR_MAX CHAR_MIN CHAR_BIT ",
                   "climits"},
                  {" FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON ", "cfloat"},
                  {" int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t INT8_MAX INT16_MAX INT32_MAX "
                   "INT64_MAX INT8_MIN INT16_MIN INT32_MIN INT64_MIN UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX ",
                   "cstdint"}};

/* Includes of the headers that have the names which this log says are undefined; "" if there are none. Caller frees. */
static char *missing_headers(const char *log)
{
    struct text t = {0};
    unsigned added = 0;
    for (const char *p = log; (p = strstr(p, "identifier \"")); p++) {
        char name[32];
        if (sscanf(p, "identifier \"%28[A-Za-z0-9_]\" is undefined", name + 1) != 1)
            continue;
        name[0] = ' ';
        strcat(name, " ");
        for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
            if (strstr(predefined[i].names, name) && !(added >> i & 1)) {
                text_addf(&t, "#include <%s>\n", predefined[i].header);
                added |= 1u << i;
            }
    }
    return t.len ? text_take(&t) : xstrdup("");
}

/* One run of the compiler, with `before` ahead of the source. The caller destroys the program and frees the options. */
static nvrtcResult run(const struct compiler *c, const struct source *s, const struct compile_request *r, const char *before,
                       nvrtcProgram *program, struct compiled *out)
{
    const struct nvrtc *n = c->private_data;
    SCOPED char *prelude = compile_prelude(r);
    SCOPED char *text = *prelude || *before ? text_format("%s%s#line 1\n%s", before, prelude, s->text) : NULL;
    nvrtcResult result = n->nvrtcCreateProgram(program, text ? text : s->text, s->path, 0, NULL, NULL);
    for (int i = 0; i < r->define_count && result == NVRTC_SUCCESS; i++)
        if (instance_of(r->defines[i]))
            result = n->nvrtcAddNameExpression(*program, instance_of(r->defines[i]));
    if (result != NVRTC_SUCCESS)
        return result;
    SCOPED char **options = xcalloc((size_t)r->define_count + 19, sizeof *options);
    int count = make_options(c, s, r, options);
    result = n->nvrtcCompileProgram(*program, count, (const char *const *)options);
    free(out->log);
    out->log = get_text(n->nvrtcGetProgramLogSize, n->nvrtcGetProgramLog, *program, NULL);
    for (int i = 0; i < count; i++)
        free(options[i]);
    return result;
}

bool nvrtc_compile(const struct compiler *c, const struct source *s, const struct compile_request *r, struct compiled *out,
                   struct error *err)
{
    const struct nvrtc *n = c->private_data;
    nvrtcProgram program = NULL;
    bool ok = false;
    if (!check_arch(n, c, r->arch, err))
        return false;
    nvrtcResult result = run(c, s, r, "", &program, out);
    SCOPED char *before = missing_headers(result == NVRTC_ERROR_COMPILATION && out->log ? out->log : "");
    if (*before) {
        n->nvrtcDestroyProgram(&program);
        result = run(c, s, r, before, &program, out);
    }
    if (result != NVRTC_SUCCESS) {
        if (result == NVRTC_ERROR_COMPILATION || (out->log && strlen(out->log) > 1))
            compile_failed(c, r, out->log ? out->log : "", err);
        else
            failed(n, s->path, result, err);
        goto done;
    }
    out->ptx = get_text(n->nvrtcGetPTXSize, n->nvrtcGetPTX, program, &out->ptx_bytes);
    if (!r->ptx_only)
        out->cubin = get_text(n->nvrtcGetCUBINSize, n->nvrtcGetCUBIN, program, &out->cubin_bytes);
    if (!out->log || !out->ptx || (!r->ptx_only && (!out->cubin || !out->cubin_bytes))) {
        error_set(err, ERROR_INTERNAL, "%s: %s produced no code for %s", r->label, c->version, r->arch);
        goto done;
    }
    out->ptx_bytes = strlen(out->ptx); /* NVRTC counts the NUL */
    log_entries(n, program, r, out);
    ok = true;
done:
    if (program)
        n->nvrtcDestroyProgram(&program);
    return ok;
}
