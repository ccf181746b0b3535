/* The verb emulate: a kernel that is in no scenario, on the embedded interpreter. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "device/compile/compile.h"
#include "emu/emulate.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emulate_arguments {
    const char *kernel, *chip, *arch, *compiler;
    struct option_list defines;
    bool no_check;
    int threads, seed;
};
struct emulate_source {
    char *path, *text; /* of the .cu or .ptx */
    struct compiled compiled;
    const char *ptx;
    size_t ptx_bytes;
};

static bool compile_source(const struct emulate_arguments *a, const struct chip *chip, const char *file, struct emulate_source *s,
                           struct error *err)
{
    struct compile_request request = {.path = s->path,
                                      .label = file_base(file),
                                      .defines = a->defines.items,
                                      .define_count = a->defines.count,
                                      .arch = a->arch ? a->arch : chip->arch,
                                      .compiler = a->compiler};
    if (!compile(&request, &s->compiled, err)) {
        bool nvcc = a->compiler && !strncmp(a->compiler, "nvcc", 4);
        if (err->kind == ERROR_USAGE && !nvcc && (strstr(s->text, "<<<") || strstr(s->text, " main(")))
            error_hint(err, "the file has host code, which NVRTC does not compile: --compiler nvcc");
        return false;
    }
    s->ptx = s->compiled.ptx;
    s->ptx_bytes = s->compiled.ptx_bytes;
    return true;
}

/* The PTX of KERNEL.cu or KERNEL.ptx. */
static bool read_source(const struct emulate_arguments *a, const char *file, struct emulate_source *s, struct error *err)
{
    size_t bytes;
    const struct chip *chip = cli_chip(a->chip, "--chip ", err);
    if (!chip)
        return false;
    if (!text_ends(file, ".cu") && !text_ends(file, ".ptx")) {
        error_set(err, ERROR_USAGE, "%.200s: a .cu or a .ptx, please", file);
        return error_hint(err, "bench emulate KERNEL.cu prints a launch to begin with");
    }
    s->text = file_read(file, 64u << 20, &bytes, err);
    s->path = s->text ? realpath(file, NULL) : NULL;
    if (!s->text)
        return false;
    if (!s->path)
        return error_set(err, ERROR_USAGE, "%s: %s", file, strerror(errno));
    if (text_ends(file, ".cu"))
        return compile_source(a, chip, file, s, err);
    s->ptx = s->text;
    s->ptx_bytes = bytes;
    return true;
}

static int emulate_launch(const struct emulate_arguments *a, const char *file, const char *yaml, struct emulate_source *s)
{
    struct error err = {0};
    struct emulate_result result = {0};
    struct text t = {0};
    struct node *launch = node_parse_file(yaml, &err);
    /* a .ptx that names its source file is listed in the lines of that file */
    bool own_lines = text_ends(file, ".cu") || !strstr(s->ptx, "\n\t.file\t");
    struct emulate_request request = {.label = file_base(file),
                                      .ptx = s->ptx,
                                      .ptx_bytes = s->ptx_bytes,
                                      .source = own_lines ? s->path : NULL,
                                      .launch = launch,
                                      .kernel = a->kernel,
                                      .chip = a->chip,
                                      .no_check = a->no_check,
                                      .threads = a->threads,
                                      .seed = a->seed};
    int code;
    if (!launch || !emulate(&request, &result, &err)) {
        code = cli_fail(&err);
    } else {
        if (cli_json()) {
            emulate_json(&result, &t);
            cli_print_json(&t);
        } else {
            emulate_text(&result, &t);
            cli_page(&t);
        }
        code = result.report_count || !result.finished ? 4 : 0;
    }
    emulate_free(&result);
    node_free(launch);
    text_free(&t);
    return code;
}

int cli_emulate(const struct verb *verb, int argc, char **argv)
{
    struct emulate_arguments a = {0};
    const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const struct option options[] = {
        {"--kernel", 'k', OPTION_TEXT, "NAME", "this __global__ function; default: the launch's, or the only one", &a.kernel},
        {"--chip", 0, OPTION_TEXT, "CHIP", "limits and architecture: GH100 (default), sm_86, H200 ...", &a.chip},
        {"--arch", 0, OPTION_TEXT, "ARCH", "compile for this one instead of the chip's: sm_75 ... sm_121", &a.arch},
        {"--define", 'D', OPTION_LIST, "NAME=VALUE", "for the compiler", &a.defines},
        {"--compiler", 0, OPTION_TEXT, "WHICH", "nvrtc (pinned, default), nvrtc:FILE, nvcc, nvcc:FILE", &a.compiler},
        {"--no-check", 0, OPTION_FLAG, NULL, "only bounds and alignment: twice as fast", &a.no_check},
        {"--threads", 0, OPTION_INT, "N", "host threads; default: all cores. The result is the same", &a.threads},
        {"--seed", 0, OPTION_INT, "N", "the blocks in another order, a second opinion on races; default 0: as they are numbered", &a.seed},
        {0},
    };
    struct emulate_source s = {0};
    struct error err = {0};
    struct text t = {0};
    int count, code;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        goto done;
    if (count < 1 || count > 2) {
        code = cli_usage(verb, count ? "a kernel and a launch, no more" : "which kernel? a .cu or .ptx");
        goto done;
    }
    if (!read_source(&a, rest[0], &s, &err)) {
        code = cli_fail(&err);
    } else if (count == 2) {
        code = emulate_launch(&a, rest[0], rest[1], &s);
    } else if (emulate_start(file_base(rest[0]), s.ptx, s.ptx_bytes, text_ends(rest[0], ".cu") ? s.text : NULL, a.kernel, &t, &err)) {
        cli_print(&t);
        code = 0;
    } else {
        code = cli_fail(&err);
    }
done:
    compiled_free(&s.compiled);
    free(s.path);
    free(s.text);
    free(a.defines.items);
    free(rest);
    text_free(&t);
    return code;
}
