/* bench doctor: what works on this machine, what does not, and what to do about it. */
#include "base/file.h"
#include "base/library.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/cli.h"
#include "emu/device/emu.h"
#include "report/form/document.h"
#include "device/compile/compile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct checkup {
    struct text text;
    bool color;
    int missing;         /* things that a run on this machine needs */
    struct table *table; /* for --json */
};

enum sign { GOOD, ABSENT, BAD };

static void line(struct checkup *c, enum sign sign, const char *what, const char *detail, const char *cure)
{
    static const char *const marks[] = {"ok ", " - ", "NO "}, *const colors[] = {"\033[32m", "", "\033[31m"};
    text_addf(&c->text, "%s%s%s %-12s %s\n", c->color ? colors[sign] : "", marks[sign], c->color && *colors[sign] ? "\033[0m" : "", what,
              detail);
    if (cure && *cure)
        text_addf(&c->text, "                 -> %s\n", cure);
    c->missing += sign == BAD;
    static const char *const states[] = {"ok", "absent", "missing"};
    const char *const cells[] = {what, states[sign], detail, cure};
    table_row(c->table, LINE_PLAIN);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        table_cell(c->table, PAINT_NONE, "%s", cells[i] ? cells[i] : "");
}

static void check_compiler(struct checkup *c)
{
    char version[128];
    struct error err = {0};
    if (compile_version(NULL, version, sizeof version, &err))
        line(c, GOOD, "compiler", version, NULL);
    else
        line(c, BAD, "compiler", err.text, err.hint);
    SCOPED char *source = file_share("kernels/variants/conv2d/naive.cu");
    line(c, file_exists(source) ? GOOD : BAD, "kernels", source,
         file_exists(source) ? NULL : "set BENCH_HOME to the folder that holds kernels/variants");
}

static void check_emu(struct checkup *c)
{
    struct session_device d;
    struct error err = {0};
    if (session_device(&(struct session_probe){.spec = "emu"}, NULL, &d, &err)) {
        SCOPED char *detail =
            text_format("%s, %d threads (%s): verifies and counts, measures no time", d.about, pool_threads(), emu_isa_name());
        line(c, GOOD, "emu", detail, NULL);
    } else {
        line(c, BAD, "emu", err.text, err.hint);
    }
}

/* "cudnn 9.14.0" against "9.19.0". */
static bool older(const char *library, const char *pinned)
{
    int a[3], b[3];
    if (sscanf(library, "cudnn %d.%d.%d", &a[0], &a[1], &a[2]) != 3 || sscanf(pinned, "%d.%d.%d", &b[0], &b[1], &b[2]) != 3)
        return false;
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

static void check_gpu(struct checkup *c)
{
    struct session_device d;
    struct error err = {0};
    if (!session_device(&(struct session_probe){.spec = "cuda:0"}, NULL, &d, &err)) {
        line(c, ABSENT, "GPU", err.text,
             err.hint[0] ? err.hint
                         : "without a GPU bench runs on emu: it verifies, checks memory safety and counts exactly, but measures no time");
        return;
    }
    line(c, GOOD, "GPU", d.about, NULL);
    if (d.library[0] && older(d.library, BENCH_CUDNN_PINNED))
        line(c, ABSENT, "cuDNN", d.library,
             "older than " BENCH_CUDNN_PINNED
             ", the pinned version: the baseline is weaker without it; sh ci/setup fetches it, or set BENCH_LIBRARY_PATH=FOLDER");
    else if (d.library[0])
        line(c, GOOD, "cuDNN", d.library, NULL);
    else
        line(c, BAD, "cuDNN", "not found: convolution layers have no baseline",
             "sh ci/setup fetches it if a driver is installed; or set BENCH_LIBRARY_PATH=FOLDER");
    if (file_exists("/.dockerenv") || file_exists("/run/.containerenv"))
        line(c, ABSENT, "others", "this is a container: bench cannot see or wait for runs in another container on the same GPU",
             "start all containers with -v /tmp:/tmp, where bench keeps the lock file of a GPU");
    char text[4096] = "";
    FILE *f = fopen("/proc/driver/nvidia/params", "r");
    if (f) {
        size_t n = fread(text, 1, sizeof text - 1, f);
        text[n] = 0;
        fclose(f);
    }
    bool restricted = strstr(text, "RmProfilingAdminOnly: 1") != NULL;
    if (restricted && geteuid())
        line(c, ABSENT, "counters", "only root can read them here (RmProfilingAdminOnly = 1)",
             "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root or with CAP_SYS_ADMIN");
    else
        line(c, GOOD, "counters", restricted ? "root can read them" : "not restricted", NULL);
}

static void check_library(struct checkup *c, const char *what, const char *soname, const char *use, const char *hint)
{
    const char *const names[] = {soname, NULL};
    struct library lib;
    struct error err = {0};
    if (library_open(&lib, names, &err)) {
        line(c, GOOD, what, lib.path, NULL);
        library_close(&lib);
    } else {
        SCOPED char *detail = text_format("%s not found: %s", soname, use);
        line(c, ABSENT, what, detail, hint);
    }
}

static void check_gnuplot(struct checkup *c)
{
    const char *path = getenv("PATH");
    SCOPED char *copy = xstrdup(path ? path : "");
    char *rest = copy, *found = NULL;
    for (char *dir; !found && (dir = strsep(&rest, ":"));) {
        char *file = file_join(dir, "gnuplot");
        if (*dir && !access(file, X_OK))
            found = file;
        else
            free(file);
    }
    line(c, found ? GOOD : ABSENT, "gnuplot", found ? found : "not on PATH: reports have tables but no plots",
         found ? NULL : "apt-get install gnuplot-nox");
    free(found);
}

static void check_folders(struct checkup *c, const char *out_dir)
{
    struct error err = {0};
    SCOPED char *probe = file_join(out_dir, ".doctor");
    bool was = file_is_dir(out_dir);
    if (file_make_dirs(out_dir, &err) && file_write(probe, "ok", 2, &err)) {
        unlink(probe);
        if (!was)
            file_unmake_dir(out_dir);
        line(c, GOOD, "output", out_dir, NULL);
    } else {
        line(c, BAD, "output", err.text, "-o DIR or BENCH_OUT=DIR selects a writable folder");
    }
    char why[512], *cache = compile_cache_folder(why, sizeof why);
    line(c, cache ? GOOD : ABSENT, "cache", cache ? cache : why,
         cache ? NULL : "every run compiles again; BENCH_CACHE=DIR selects another folder");
    free(cache);
}

int cli_doctor(const struct verb *verb, int argc, char **argv)
{
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *out = NULL;
    struct ceilings_arguments ceilings = {0};
    bool show_ceilings = false, noise = false;
    SCOPED char *argv_text = cli_line(argc, argv);
    const struct option options[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "the folder to check; default ./.bench", &out},
        {"--ceilings", 0, OPTION_FLAG, NULL, "print the measured ceilings of this machine", &show_ceilings},
        {"--roofs", 0, OPTION_FLAG, NULL, NULL, &show_ceilings},
        {"--measure", 0, OPTION_FLAG, NULL, "measure the ceilings now, even if they were measured before", &ceilings.measure},
        {"--noise", 0, OPTION_FLAG, NULL,
         "time one kernel against itself for some seconds: the smallest change that this machine can detect", &noise},
        {"--device", 'd', OPTION_TEXT, "DEVICE", "device for the ceilings and the noise; default cuda:0", &ceilings.device},
        {"--compiler", 0, OPTION_TEXT, "NAME", "as in bench run", &ceilings.compiler},
        {"--bundle", 0, OPTION_TEXT, "FILE", "kernels from a bundle that bench compile --bundle wrote", &ceilings.bundle},
        {0},
    };
    int count, code;
    struct checkup c = {.color = cli_style().color};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count)
        return cli_usage(verb, "too many arguments");
    if (show_ceilings || ceilings.measure)
        return cli_ceilings(&ceilings, cli_out_dir(out));
    if (noise)
        return cli_noise(&ceilings, cli_out_dir(out), argv_text);
    c.table = table_new();
    table_columns(c.table, {"what", "", ALIGN_LEFT}, {"state", "", ALIGN_LEFT}, {"detail", "", ALIGN_LEFT}, {"cure", "", ALIGN_LEFT});
    text_addf(&c.text, "bench %s (%s)  %s\n", BENCH_NUMBER, bench_version(), file_self());
    check_compiler(&c);
    check_emu(&c);
    check_gpu(&c);
    check_library(&c, "CUPTI", "libcupti.so.13", "no hardware counters", "sh ci/setup");
    check_library(&c, "cublasLt", "libcublasLt.so.13", "the ceilings of matrix products come from bench's own kernels",
                  "sh ci/setup fetches it where a driver is found");
    check_gnuplot(&c);
    check_folders(&c, cli_out_dir(out));
    text_add(&c.text, c.missing ? "\nbench needs the parts marked NO above\n" : "\nready: bench run smoke\n");
    if (!cli_json()) {
        cli_page(&c.text);
        table_free(c.table);
    } else {
        cli_table(c.table);
    }
    code = c.missing ? 5 : 0;
    text_free(&c.text);
    return code;
}
