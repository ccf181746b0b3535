/* bench try: one variant file against the baseline and the simplest variant. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include "op/file/ops.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static void variant_release(struct variant **v)
{
    variant_free(*v);
}

/* The whole name of the op's first rung. Caller frees. */
static char *rung_of(const struct op *op)
{
    return strchr(op->naive, '/') ? xstrdup(op->naive) : text_format("%s/%s", op->name, op->naive);
}

/* Writes a scenario with the op's standard layers, small enough for a laptop, next to the run's other files. */
static char *standard_scenario(const struct op *op, bool masked, const char *dir, struct error *err)
{
    SCOPED_TEXT t = {0};
    SCOPED char *rung = rung_of(op);
    text_addf(&t, "scenario: try_%s\nabout: the standard layers of bench try\n%s", op->name, op->trial);
    if (masked && op->masks)
        text_addf(&t, "axes:\n  mask: {values: %s}\n", op->masks);
    text_addf(&t, "variants: [%s]\n", rung);
    if (op->crop || !op->file)
        text_addf(&t, "on:\n  emu: {crop: %s}\n", op->crop ? op->crop : "{d: 2, h: 24, w: 40}");
    char *path = text_format("%s/try_%s.yaml", dir, op->name);
    if (!file_make_dirs(dir, err) || !file_write(path, t.data, t.len, err)) {
        free(path);
        path = NULL;
    }
    return path;
}

static int try_once(const char *file, const char *device, const char *out, const char *line, const struct plan_arguments *a)
{
    struct error err = {0};
    SCOPED char *real = realpath(file, NULL);
    SCOPED_BY(variant_release) struct variant *v = real && op_load(a->ops.items, &err) ? variant_load(real, "try", &err) : NULL;
    if (!real)
        error_set(&err, ERROR_USAGE, "%s: %s", file, strerror(errno));
    if (!v)
        return cli_fail(&err);
    SCOPED char *set = text_format("try=%s", real); /* without its neighbours, which may be broken */
    SCOPED char *naive = rung_of(v->op), *path = standard_scenario(v->op, variant_reads_mask(v), out, &err), *database = cli_database(out);
    if (!path)
        return cli_fail(&err);
    const char *dirs[] = {set, NULL}, *names[] = {naive, v->name, v->op->company[0], v->op->company[1], NULL};
    struct session_options o = {.plan = {.scenario_path = path,
                                         .device = device,
                                         .op_files = a->ops.items,
                                         .variant_dirs = dirs,
                                         .variant_names = names,
                                         .compiler = a->plan.compiler,
                                         .counters = a->counters},
                                .database = database,
                                .out_dir = out,
                                .argv = line,
                                .verb = "try",
                                .asked_out = strcmp(out, cli_out_dir(NULL)) ? out : NULL,
                                .dump = true};
    return cli_session(&o, CLI_SHOW_BEGIN | CLI_SHOW_CASES | CLI_SHOW_UNTRIED);
}

int cli_try(const struct verb *verb, int argc, char **argv)
{
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *device = NULL, *out = NULL;
    bool loop = false;
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    struct option counters[COUNTER_OPTION_COUNT];
    cli_counter_options(&a, counters);
    const struct option options[] = {
        {"--device", 'd', OPTION_TEXT, "DEVICE", "as for bench run; default: the best present", &device},
        {"--out", 'o', OPTION_TEXT, "DIR", "default ./.bench", &out},
        {"--loop", 0, OPTION_FLAG, NULL, "run again each time the file is saved, until Ctrl-C", &loop},
        {"--ops", 0, OPTION_LIST, "FILE", "as for bench run", &a.ops},
        {"--set", 0, OPTION_TEXT, "SET", "counters: basic, full", &a.counters.set},
        {"--compiler", 0, OPTION_TEXT, "WHICH", "as for bench run", &a.plan.compiler},
        counters[0],
        counters[1],
        counters[2],
        counters[3],
        counters[4],
        {0},
    };
    int count, code;
    SCOPED char *line = cli_line(argc, argv);
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count != 1)
        return cli_usage(verb, "which file?");
    struct stat before, now;
    a.counters.groups = a.groups.items;
    a.counters.metrics = a.metrics.items;
    do {
        stat(rest[0], &before);
        code = try_once(rest[0], device, cli_out_dir(out), line, &a);
        while (loop && !cli_interrupted() && (stat(rest[0], &now) || now.st_mtime == before.st_mtime))
            nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    } while (loop && !cli_interrupted());
    return code;
}
