/* bench try: one variant file against the baseline and the simplest variant. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include "op/file/ops.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* The whole name of the op's first rung; NULL: an op of a Python file has none. Caller frees. */
static char *rung_of(const struct op *op, const char *python_ops)
{
    SCOPED char *name = text_format("%s.yaml", op->name), *own = python_ops ? file_join(python_ops, name) : NULL;
    if (own && file_exists(own))
        return NULL;
    return strchr(op->naive, '/') ? xstrdup(op->naive) : text_format("%s/%s", op->name, op->naive);
}

/* Writes a scenario with the op's standard layers, small enough for a laptop, next to the run's other files. */
static char *standard_scenario(const struct op *op, const char *rung, bool masked, const char *dir, struct error *err)
{
    SCOPED_TEXT t = {0};
    text_addf(&t, "scenario: try_%s\nabout: the standard layers of bench try\n%s", op->name, op->trial);
    if (masked && op->masks)
        text_addf(&t, "axes:\n  mask: {values: %s}\n", op->masks);
    text_addf(&t, "variants: [%s]\n", rung ? rung : "");
    if (op->crop || !op->file)
        text_addf(&t, "on:\n  emu: {crop: %s}\n", op->crop ? op->crop : "{d: 2, h: 24, w: 40}");
    char *path = text_format("%s/try_%s.yaml", dir, op->name);
    if (!file_make_dirs(dir, err) || !file_write(path, t.data, t.len, err)) {
        free(path);
        path = NULL;
    }
    return path;
}

struct tried {
    struct variant **items; /* all of one op */
    int count;
    char *set; /* as of --variants */
    char *ops; /* the folder of ops of a Python file; NULL: it has none */
};

static void tried_free(struct tried *t)
{
    for (int i = 0; i < t->count; i++)
        variant_free(t->items[i]);
    FREE_ALL(t->items, t->set, t->ops);
}

static bool tried_add(struct tried *t, const char *path, struct error *err)
{
    struct variant *v = variant_load(path, "try", err);
    if (!v)
        return false;
    *APPEND(t->items, t->count) = v;
    return v->op == t->items[0]->op || error_set(err, ERROR_USAGE, "%s and %s are kernels of two ops, %s and %s: name one, FILE.py:KERNEL",
                                                 t->items[0]->name, v->name, t->items[0]->op->name, v->op->name);
}

/* The kernels of a Python file. */
static bool tried_python(struct tried *t, const char *file, struct plan_arguments *a, struct error *err)
{
    SCOPED char *folder = cli_python_folder(file, err);
    if (!folder)
        return false;
    SCOPED const char **ops = xcalloc((size_t)a->ops.count + 2, sizeof *ops);
    for (int i = 0; i < a->ops.count; i++)
        ops[i] = a->ops.items[i];
    ops[a->ops.count] = t->ops = cli_python_ops(folder);
    t->set = text_format("try=%s", folder);
    SCOPED char **names = NULL;
    int count = op_load(ops, err) ? file_list(folder, ".yaml", &names, err) : -1;
    bool ok = count >= 0;
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(folder, names[i]);
        ok = ok && tried_add(t, path, err);
    }
    return ok;
}

static bool tried_load(struct tried *t, const char *file, struct plan_arguments *a, struct error *err)
{
    if (cli_is_python(file))
        return tried_python(t, file, a, err);
    SCOPED char *real = realpath(file, NULL);
    if (!real)
        return error_set(err, ERROR_USAGE, "%s: %s", file, strerror(errno));
    t->set = text_format("try=%s", real); /* without its neighbours, which may be broken */
    return op_load(a->ops.items, err) && tried_add(t, real, err);
}

static int try_once(const char *file, const char *device, const char *out, const char *line, double limit_s, struct plan_arguments *a)
{
    struct error err = {0};
    SCOPED_BY(tried_free) struct tried t = {0};
    if (!tried_load(&t, file, a, &err))
        return cli_fail(&err);
    const struct op *op = t.items[0]->op;
    bool masked = false;
    for (int i = 0; i < t.count; i++)
        masked |= variant_reads_mask(t.items[i]);
    SCOPED char *naive = rung_of(op, t.ops), *path = standard_scenario(op, naive, masked, out, &err), *database = cli_database(out);
    if (!path)
        return cli_fail(&err);
    SCOPED const char **names = xcalloc((size_t)t.count + 4, sizeof *names), **ops = xcalloc((size_t)a->ops.count + 2, sizeof *ops);
    const char *dirs[] = {t.set, NULL};
    int count = 0;
    if (naive)
        names[count++] = naive;
    for (int i = 0; i < t.count; i++)
        names[count++] = t.items[i]->name;
    names[count++] = op->company[0];
    names[count] = op->company[0] ? op->company[1] : NULL;
    for (int i = 0; i < a->ops.count; i++)
        ops[i] = a->ops.items[i];
    ops[a->ops.count] = t.ops;
    struct session_options o = {.plan = {.scenario_path = path,
                                         .device = device,
                                         .op_files = ops[0] ? ops : NULL,
                                         .variant_dirs = dirs,
                                         .variant_names = names,
                                         .filter = {.once = true},
                                         .compiler = a->plan.compiler,
                                         .counters = a->counters},
                                .database = database,
                                .out_dir = out,
                                .argv = line,
                                .verb = "try",
                                .tried = t.items[0]->name,
                                .asked_out = strcmp(out, cli_out_dir(NULL)) ? out : NULL,
                                .time_limit_s = limit_s,
                                .dump = true};
    return cli_session(&o, CLI_SHOW_BEGIN | CLI_SHOW_CASES | CLI_SHOW_UNTRIED);
}

int cli_try(const struct verb *verb, int argc, char **argv)
{
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *device = NULL, *out = NULL;
    bool loop = false;
    double limit_s = 0;
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
        {"--time-limit", 0, OPTION_REAL, "SECONDS", "as for bench run", &limit_s},
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
        code = try_once(rest[0], device, cli_out_dir(out), line, limit_s, &a);
        while (loop && !cli_interrupted() && (stat(rest[0], &now) || now.st_mtime == before.st_mtime))
            nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    } while (loop && !cli_interrupted());
    return code;
}
