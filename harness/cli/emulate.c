/* The verb emulate: a kernel that is in no scenario, on the embedded interpreter. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/emulate_device.h"
#include "device/compile/compile.h"
#include "device/compile/cubin.h"
#include "measure/emulate/emulate.h"
#include "device/chip/occupancy.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct emulate_arguments {
    const char *kernel, *chip, *arch, *compiler, *device, *out;
    struct option_list defines;
    bool no_check;
    int threads, seed;
    double time_limit_s; /* 0: the launch's */
};
struct emulate_source {
    char *path, *text; /* of the .cu or .ptx */
    struct compiled compiled;
    const char *ptx;
    size_t ptx_bytes;
};

static void free_source(struct emulate_source *s)
{
    compiled_free(&s->compiled);
    free(s->path);
    free(s->text);
}

static const char *kernel_of(const struct emulate_arguments *a, const struct node *launch)
{
    const struct node *named = node_get(launch, "kernel");
    return a->kernel ? a->kernel : named && named->kind == NODE_SCALAR ? named->text : NULL;
}

/* Defines of the command line and those that a template needs; the caller frees `instance`. */
static int all_defines(const struct emulate_arguments *a, const char *kernel, const char **defines, char **instance)
{
    int count = a->defines.count;
    for (int i = 0; i < count; i++)
        defines[i] = a->defines.items[i];
    *instance = kernel && strchr(kernel, '<') ? text_format(KERNEL_INSTANCE "=%s", kernel) : NULL;
    if (*instance)
        defines[count++] = *instance;
    return count;
}

static bool compile_source(const struct emulate_arguments *a, const struct chip *chip, const char *file, const char *kernel,
                           struct emulate_source *s, struct error *err)
{
    SCOPED const char **defines = xcalloc((size_t)a->defines.count + 1, sizeof *defines);
    SCOPED char *instance = NULL;
    int count = all_defines(a, kernel, defines, &instance);
    struct compile_request request = {.path = s->path,
                                      .label = file_base(file),
                                      .defines = defines,
                                      .define_count = count,
                                      .arch = a->arch ? a->arch : chip->arch,
                                      .compiler = a->compiler};
    bool ok = compile(&request, &s->compiled, err);
    if (!ok) {
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
static bool read_source(const struct emulate_arguments *a, const char *file, const char *kernel, struct emulate_source *s,
                        struct error *err)
{
    size_t bytes;
    const struct chip *chip = cli_chip(a->chip, "--chip ", err);
    if (!chip)
        return false;
    if (!text_ends(file, ".cu") && !text_ends(file, ".ptx")) {
        error_set(err, ERROR_USAGE, "%.200s: a .cu or .ptx file is expected", file);
        return error_hint(err, "bench emulate KERNEL.cu prints a launch file to start from");
    }
    s->text = file_text(file, 64u << 20, &bytes, err);
    s->path = s->text ? realpath(file, NULL) : NULL;
    if (!s->text)
        return false;
    if (!s->path)
        return error_set(err, ERROR_USAGE, "%s: %s", file, strerror(errno));
    if (text_ends(file, ".cu"))
        return compile_source(a, chip, file, kernel, s, err);
    s->ptx = s->text;
    s->ptx_bytes = bytes;
    return true;
}

/* The source of a launch's reference, when it is another file than the kernel's; `out` stays empty without one. */
static bool read_reference(const struct emulate_arguments *a, const struct node *launch, struct emulate_source *out, struct error *err)
{
    const struct node *reference = node_get(launch, "reference"), *source = node_get(reference, "source");
    const struct node *kernel = node_get(reference, "kernel");
    const char *name = source ? node_text(source, "source", err) : NULL;
    if (!source)
        return true;
    if (!name)
        return false;
    SCOPED char *path = file_beside(launch->file, name);
    bool ok = read_source(a, path, kernel && kernel->kind == NODE_SCALAR ? kernel->text : NULL, out, err) ||
              node_error(source, err, "%s", err->text);
    return ok;
}

/* The kernel's resources after ptxas, and how many blocks fit on an SM. */
static void add_facts(const struct emulate_source *s, const struct chip *chip, struct emulate_result *r)
{
    SCOPED struct kernel_facts *facts = NULL;
    struct error err = {0};
    int count = s->compiled.cubin ? cubin_read(s->compiled.cubin, s->compiled.cubin_bytes, &facts, &err) : 0;
    if (count > 0 && !cubin_add_log(s->compiled.log, facts, count, &err))
        count = 0;
    for (int i = 0; i < count; i++) {
        const struct kernel_facts *f = &facts[i];
        if (strcmp(f->name, r->kernel))
            continue;
        const uint32_t *b = r->launch.block;
        struct occupancy_query query = {(int)(b[0] * b[1] * b[2]), f->registers, (size_t)f->static_smem, r->launch.smem, -1};
        struct occupancy o = occupancy_of(chip, &query);
        r->facts =
            (struct emulate_facts){true, f->registers, f->spill_store_bytes + f->spill_load_bytes, f->static_smem, f->code_bytes, ""};
        const uint32_t *g = r->launch.grid;
        if (o.possible)
            snprintf(r->facts.occupancy, sizeof r->facts.occupancy,
                     "%.0f %%, %d of %d warps per SM of %s, limited by %s%s%s; %.3g waves of blocks", 100 * o.share, o.warps_per_sm,
                     (int)(o.warps_per_sm / o.share + 0.5), chip->name, occupancy_limit_name(o.limit), o.lift[0] ? ": " : "", o.lift,
                     occupancy_waves(chip, &o, (double)g[0] * g[1] * g[2]));
        else
            snprintf(r->facts.occupancy, sizeof r->facts.occupancy, "no block fits on an SM of %s, limited by %s", chip->name,
                     occupancy_limit_name(o.limit));
    }
}

static struct emulate_request request_of(const struct emulate_arguments *a, const char *file, const struct node *launch,
                                         const struct emulate_source *s, const char *reference_ptx, int point)
{
    /* a .ptx that names its source file is listed in the lines of that file */
    bool own_lines = text_ends(file, ".cu") || !strstr(s->ptx, "\n\t.file\t");
    return (struct emulate_request){.label = file_base(file),
                                    .ptx = s->ptx,
                                    .ptx_bytes = s->ptx_bytes,
                                    .reference_ptx = reference_ptx,
                                    .source = own_lines ? s->path : NULL,
                                    .launch = launch,
                                    .point = point,
                                    .kernel = a->kernel,
                                    .chip = a->chip,
                                    .no_check = a->no_check,
                                    .threads = a->threads,
                                    .seed = a->seed,
                                    .time_limit_s = a->time_limit_s};
}

/* The same launches on a device. emu runs them first: it finds unsafe accesses and computes outputs that the launch file expects nothing
 * of. */
static int emulate_on_device(const struct emulate_arguments *a, const char *file, const struct node *launch, struct emulate_source *s,
                             const char *reference_ptx, int points, const char *line)
{
    struct error err = {0};
    SCOPED_TEXT t = {0};
    const char *out = cli_out_dir(a->out);
    SCOPED char *name = NULL, *dir = NULL, *instance = NULL;
    struct emulate_launch_of of = {.source = s->path, .launch = launch->file, .compiler = a->compiler, .points = points};
    SCOPED const char **defines = xcalloc((size_t)a->defines.count + 1, sizeof *defines);
    int code = 0;
    for (int i = 0; i < points && code == 0; i++) {
        SCOPED_BY(emulate_free) struct emulate_result r = {0};
        struct emulate_request request = request_of(a, file, launch, s, reference_ptx, i);
        request.keep = true;
        bool ok = emulate(&request, &r, &err);
        if (ok && !name) {
            name = emulate_plain_name(r.kernel);
            dir = text_format("%s/emulate/%s", out, name);
            of.name = name;
            of.dir = dir;
            of.defines = defines;
            of.define_count = all_defines(a, kernel_of(a, launch), defines, &instance);
            ok = file_make_dirs(dir, &err);
        }
        of.point = i;
        if (ok && !emulate_right(&r)) { /* an error on emu is an error on the device */
            emulate_text(&r, &t);
            cli_print(&t);
            cli_say(stderr, "bench: not run on %s, because emu found errors\n", a->device);
            code = 4;
        } else if (!ok || !emulate_device_add(&of, &r, &err)) {
            code = cli_fail(&err);
        }
    }
    if (code == 0)
        code = emulate_device_run(&of, a->device, out, line);
    text_free(&of.layers);
    text_free(&of.variants);
    return code;
}

/* With --json, stdout has the document only; what the kernel prints goes to stderr. */
static bool emulated(const struct emulate_request *request, struct emulate_result *result, struct error *err)
{
    int kept = cli_json() && !fflush(stdout) ? dup(STDOUT_FILENO) : -1;
    if (kept >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    bool ok = emulate(request, result, err);
    if (kept >= 0) {
        dup2(kept, STDOUT_FILENO);
        close(kept);
    }
    return ok;
}

static int emulate_launch(const struct emulate_arguments *a, const char *file, const struct node *launch, struct emulate_source *s,
                          const char *line)
{
    struct error err = {0};
    SCOPED_TEXT t = {0};
    struct emulate_source reference = {0};
    int code = 0, points = read_reference(a, launch, &reference, &err) ? emulate_points(launch, &err) : -1;
    bool on_device = a->device && points > 0, failed = points<0, sweep = points> 1;
    const struct chip *chip = cli_chip(a->chip, "--chip ", &err);
    if (on_device)
        code = emulate_on_device(a, file, launch, s, reference.ptx, points, line);
    else if (sweep)
        cli_json() ? text_add(&t, "[\n") : emulate_text_row(NULL, &t);
    for (int i = 0; i < points && !on_device && !failed; i++) {
        struct emulate_result result = {0};
        struct emulate_request request = request_of(a, file, launch, s, reference.ptx, i);
        failed = !emulated(&request, &result, &err);
        if (failed)
            break;
        add_facts(s, chip, &result);
        if (cli_json())
            emulate_json(&result, &t);
        else
            (sweep ? emulate_text_row : emulate_text)(&result, &t);
        if (sweep && cli_json())
            text_add(&t, i + 1 < points ? "," : "]\n");
        code = emulate_right(&result) ? code : 4;
        emulate_free(&result);
    }
    if (t.len && !(failed && cli_json()))
        cli_json() ? cli_print_json(&t) : cli_page(&t);
    if (failed)
        code = cli_fail(&err);
    free_source(&reference);
    return code;
}

/* An error at the line that instantiates a template belongs to the word that names the kernel: --kernel, or `kernel:` of the launch. */
static void name_instance(const struct emulate_arguments *a, const struct node *launch, const char *file, struct error *err)
{
    const char *kernel = kernel_of(a, launch), *said = strstr(err->text, "error: "), *line = said ? strchr(said, '\n') : NULL;
    if (!kernel || !line || strncmp(line + 1 + strspn(line + 1, " "), "#pragma nv_mangled_name", 23))
        return;
    SCOPED char *why = xstrndup(said + 7, (size_t)(line - said - 7));
    if (a->kernel)
        error_set(err, ERROR_USAGE, "--kernel: %s has no kernel '%.80s': %s", file_base(file), kernel, why);
    else
        node_error(node_get(launch, "kernel"), err, "%s has no kernel '%.80s': %s", file_base(file), kernel, why);
    error_hint(err, "name a __global__ template with its arguments: 'scale<32, float>'");
}

int cli_emulate(const struct verb *verb, int argc, char **argv)
{
    struct emulate_arguments a = {0};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const struct option options[] = {
        {"--kernel", 'k', OPTION_TEXT, "NAME", "run this __global__ function; default: the one in the launch file, or the only one",
         &a.kernel},
        {"--chip", 0, OPTION_TEXT, "CHIP", "chip to emulate: sm_86, H200 ...; default that of --arch, or GH100", &a.chip},
        {"--arch", 0, OPTION_TEXT, "ARCH", "compile for this architecture instead of the chip's: sm_75 ... sm_121", &a.arch},
        {"--define", 'D', OPTION_LIST, "NAME=VALUE", "for the compiler", &a.defines},
        {"--compiler", 0, OPTION_TEXT, "WHICH", "nvrtc (pinned, default), nvrtc:13.5 (ci/setup --nvrtc), nvrtc:FILE, nvcc, nvcc:FILE",
         &a.compiler},
        {"--device", 'd', OPTION_TEXT, "DEVICE", "also run the launch on this device, cuda:0: timed, counted and stored like bench run",
         &a.device},
        {"--out", 'o', OPTION_TEXT, "DIR", "with --device: default ./.bench", &a.out},
        {"--no-check", 0, OPTION_FLAG, NULL, "check only bounds and alignment, which is twice as fast", &a.no_check},
        {"--threads", 0, OPTION_INT, "N", "host threads; default: all cores. The result does not depend on it", &a.threads},
        {"--seed", 0, OPTION_INT, "N", "run the blocks in another order to find more races; default 0: in the order of their numbers",
         &a.seed},
        {"--time-limit", 0, OPTION_REAL, "SECONDS", "instead of the launch's `time limit:`; default 60", &a.time_limit_s},
        {0},
    };
    struct emulate_source s = {0};
    struct error err = {0};
    SCOPED_TEXT t = {0};
    SCOPED_BY(node_leave) struct node *launch = NULL;
    int count, code;
    SCOPED char *line = cli_line(argc, argv);
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        goto done;
    if (count < 1 || count > 2) {
        code = cli_usage(verb, count ? "a kernel and a launch file are expected, nothing more" : "which kernel? a .cu or .ptx");
        goto done;
    }
    if (!a.chip && a.arch && chip_find(a.arch)) /* what it is compiled for is what runs it */
        a.chip = a.arch;
    launch = count == 2 ? node_parse_file(rest[1], &err) : NULL;
    if ((count == 2 && !launch) || !read_source(&a, rest[0], kernel_of(&a, launch), &s, &err)) {
        name_instance(&a, launch, rest[0], &err);
        code = cli_fail(&err);
    } else if (count == 2) {
        code = emulate_launch(&a, rest[0], launch, &s, line);
    } else if (emulate_start(file_base(rest[0]), s.ptx, s.ptx_bytes, text_ends(rest[0], ".cu") ? s.text : NULL, a.kernel, &t, &err)) {
        cli_print(&t);
        code = 0;
    } else {
        code = cli_fail(&err);
    }
done:
    free_source(&s);
    free(a.defines.items);
    return code;
}
