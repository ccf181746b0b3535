/* A compiler's log as one error: its error lines, and advice for the mistakes that are made most often. */
#include "base/file.h"
#include "device/compile/private.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Adds the right path of a header in a folder of kernels/include ("wgmma.cuh") that the compiler did not find. True if there is one. */
static bool add_include_path(struct text *t, const char *log)
{
    char name[128];
    SCOPED char *dir = file_share("kernels/include"), **folders = NULL;
    const char *nvrtc = strstr(log, "cannot open source file \""), *nvcc = strstr(log, "fatal error: ");
    bool missed = (nvrtc && sscanf(nvrtc, "cannot open source file \"%127[^\"/\n]\"", name) == 1) ||
                  (nvcc && sscanf(nvcc, "fatal error: %127[^:/\n]: No such file", name) == 1);
    bool found = false;
    int count = missed ? file_list(dir, "", &folders, NULL) : 0;
    for (int i = 0; i < count; i++) {
        size_t n = strlen(folders[i]);
        const char *base = !strncmp(name, folders[i], n) && name[n] == '_' ? name + n + 1 : name;
        SCOPED char *whole = text_format("%s/%s/%s", dir, folders[i], name), *rest = text_format("%s/%s/%s", dir, folders[i], base);
        if (file_exists(whole) || file_exists(rest)) {
            text_addf(t, "\n(%s %s/%s)", found ? "or" : "kernels/include has folders: it is", folders[i], file_exists(whole) ? name : base);
            found = true;
        }
    }
    return found;
}

/* Names a macro of the head that the compiler's own headers use as an identifier (T of `template <typename T>`): the error is then far from
 * its cause. */
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
            text_addf(t, "\n(%.*s, which the head defines, is also a name in the compiler's headers: use a longer name)", (int)n,
                      r->defines[i]);
            return;
        }
    }
}

/* A message about an absolute path that is not a source shows its lines: /etc/passwd as an include. */
static bool shows_no_source(const char *block)
{
    static const char *const source[] = {".cu", ".cuh", ".h", ".hpp", ".hxx", ".hh", ".inl", ".inc", ".c", ".cpp", ".cc"};
    size_t n = strcspn(block, "(:\n");
    SCOPED char *path = block[0] == '/' && block[n] == '(' ? xstrndup(block, n) : NULL;
    bool odd = path && !strstr(path, "/include/"); /* CUDA's own have names like <cuda/std/atomic> */
    return odd && ALL_OF(i, sizeof source / sizeof *source, !text_ends(path, source[i]));
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
    SCOPED_TEXT t = {0};
    int hidden = 0;
    add_taken_name(&t, r, log);
    for (const char *p = log; *p;) {
        const char *end = strstr(p, "\n\n");
        size_t n = end ? (size_t)(end - p) : strlen(p);
        SCOPED char *block = xstrndup(p, n);
        bool wanted = strstr(block, "error") || strstr(block, "fatal") || !strstr(block, "warning");
        if (shows_no_source(block)) {
            text_addf(&t, "\n%.*s: an included file that is not source code; its text is not shown", (int)strcspn(block, "("), block);
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
        p += n + (end ? 2 : 0);
    }
    if (hidden)
        text_addf(&t, "\n(%d more lines)", hidden);
    if (!add_include_path(&t, log) && c->kind == COMPILER_NVRTC && strstr(log, "cannot open source file"))
        text_add(
            &t,
            "\n(nvrtc has few host headers, not <vector> or <iostream>: put them under #ifndef __CUDACC_RTC__, or use --compiler nvcc)");
    if (c->kind == COMPILER_NVRTC && strstr(log, "identifier \"cuda") && strstr(log, "\" is undefined"))
        text_add(&t, "\n(nvrtc compiles no host code: put it between #ifndef __CUDACC_RTC__ and #endif, or use --compiler nvcc)");
    if (strstr(log, "identifier \"__half") || strstr(log, "identifier \"__nv_bfloat16"))
        text_add(&t, "\n(the 16-bit types are in <cuda_fp16.h> and <cuda_bf16.h>)");
    error_set(err, ERROR_USAGE, "%s does not compile for %s with %s:%s", r->label, r->arch, c->version,
              t.len ? text_get(&t) : "\n(the compiler printed nothing)");
    log_place(log, err);
    return false;
}
