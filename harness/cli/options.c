#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "op/file/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cli_out_dir(const char *given)
{
    const char *environment = getenv("BENCH_OUT");
    return given ? given : environment && *environment ? environment : ".bench";
}

char *cli_database(const char *out_dir)
{
    return file_join(out_dir, "bench.db");
}

bool cli_store(const char *database, const char *maker, struct store **store, struct error *err)
{
    if (file_exists(database))
        return store_open(database, true, store, err);
    error_set(err, ERROR_USAGE, "%s: there is no database", database);
    return error_hint(err, "%s creates one; -o DIR selects another folder", maker);
}

bool cli_run_open(struct stored_run *r, const char *database, int64_t id, struct error *err)
{
    *r = (struct stored_run){0};
    return store_open(database, true, &r->store, err) && store_run(r->store, id, &r->run, err) &&
           (r->count = store_rows(r->store, id, &r->rows, err)) >= 0;
}

void cli_run_close(struct stored_run *r)
{
    if (r->rows)
        rows_free(r->rows, r->count);
    run_clear(&r->run);
    store_close(r->store);
}

void cli_exit_codes(struct text *t)
{
    text_add(
        t,
        "exit codes:\n  0  done (also with skipped and infeasible rows)\n  1  an error in bench or CUDA\n  2  wrong arguments, scenario, "
        "head or database\n  3  bench gate: SLOWER, MISSING, or not promoted\n  4  a row is wrong, unsafe, stateful, impossible, crashed, "
        "hung or does not compile\n  5  the environment: no such device, a missing library, no access to counters\n  6  bench gate: "
        "UNDECIDED, and the rules ask for a decision\n130  interrupted; stored rows are kept (run, tune: --resume continues)\n");
}

static void help_options(struct text *t, const struct option *options)
{
    for (const struct option *o = options; o && o->name; o++) {
        char left[64];
        if (!o->help) /* a former name */
            continue;
        snprintf(left, sizeof left, "%s%c%s%s%s%s", o->letter ? "-" : "", o->letter ? o->letter : ' ', o->letter ? ", " : "   ", o->name,
                 o->argument ? " " : "", o->argument ? o->argument : "");
        text_addf(t, "  %-30s %s%s\n", left, o->help, o->kind == OPTION_LIST ? " (may be repeated)" : "");
    }
}

static void help(const struct verb *verb, const struct option *options)
{
    SCOPED_TEXT t = {0};
    text_addf(&t, "usage: bench %s %s%s\n\n%s\n", verb->name, verb->arguments, " [OPTIONS]", verb->about);
    if (verb->more)
        text_addf(&t, "%s\n", verb->more);
    text_add(&t, "\noptions:\n");
    help_options(&t, options);
    help_options(&t, cli_shared);
    text_addf(&t, "  %-30s %s\n\n", "-h, --help", "this text");
    cli_exit_codes(&t);
    cli_print(&t);
}

static bool set_option(const struct option *o, const char *value, char *why, size_t bytes)
{
    long long i;
    if (o->kind != OPTION_FLAG && !*value) {
        snprintf(why, bytes, "%s is empty: %s is expected", o->name, o->argument);
        return false;
    }
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)o->to = true; return true;
    case OPTION_TEXT: *(const char **)o->to = value; return true;
    case OPTION_INT:
        if (!text_to_int(value, &i) || i < 0 || i > 1000000000) {
            snprintf(why, bytes, "%s needs an integer, not '%.60s'", o->name, value);
            return false;
        }
        *(int *)o->to = (int)i;
        return true;
    case OPTION_REAL:
        if (!text_to_real(value, o->to) || *(double *)o->to < 0) {
            snprintf(why, bytes, "%s needs a number, not '%.60s'", o->name, value);
            return false;
        }
        return true;
    case OPTION_LIST: {
        struct option_list *list = o->to;
        list->items = xrealloc(list->items, sizeof *list->items * (size_t)(list->count + 2));
        list->items[list->count++] = value;
        list->items[list->count] = NULL;
        return true;
    }
    }
    return false;
}

static const struct option *find_option(const struct option *options, const char *word, size_t length)
{
    for (const struct option *o = options; o && o->name; o++)
        if ((strlen(o->name) == length && !strncmp(o->name, word, length)) ||
            (length == 2 && o->letter && word[0] == '-' && word[1] == o->letter))
            return o;
    return NULL;
}

static int unknown_option(const struct verb *verb, const struct option *options, const char *word)
{
    const char *names[64];
    size_t count = 0;
    for (const struct option *o = options; o && o->name && count < 60; o++)
        names[count++] = o->name;
    for (const struct option *o = cli_shared; o->name; o++)
        names[count++] = o->name;
    const char *near = text_nearest(word, names, count);
    cli_say(stderr, "bench %s: no option '%.80s'\n", verb->name, word);
    if (near)
        cli_say(stderr, "hint: %s\n", near);
    else
        cli_say(stderr, "hint: bench %s --help\n", verb->name);
    return 2;
}

bool cli_options(const struct verb *verb, const struct option *options, int argc, char **argv, const char **rest, int *rest_count,
                 int *tail, int *exit_code)
{
    char why[160];
    *rest_count = 0;
    *exit_code = 2;
    if (tail)
        *tail = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
            help(verb, options);
            *exit_code = 0;
            return false;
        }
        if (!strcmp(word, "--") && tail) {
            *tail = i + 1;
            return true;
        }
        if (word[0] != '-' || !word[1]) {
            rest[(*rest_count)++] = word;
            continue;
        }
        size_t length = word[1] == '-' ? strcspn(word, "=") : strlen(word);
        const struct option *o = find_option(options, word, length);
        o = o ? o : find_option(cli_shared, word, length);
        if (!o) {
            *exit_code = unknown_option(verb, options, word);
            return false;
        }
        const char *value = word[length] == '=' ? word + length + 1 : NULL;
        if (o->kind == OPTION_FLAG && value) {
            *exit_code = cli_usage(verb, "%s takes no value", o->name);
            return false;
        }
        if (o->kind != OPTION_FLAG && !value) {
            if (i + 1 >= argc) {
                *exit_code = cli_usage(verb, "%s needs %s", o->name, o->argument);
                return false;
            }
            value = argv[++i];
        }
        if (!set_option(o, value, why, sizeof why)) {
            *exit_code = cli_usage(verb, "%s", why);
            return false;
        }
    }
    return true;
}

void cli_plan_options(struct plan_arguments *a, struct option *options)
{
    const struct option all[PLAN_OPTION_COUNT] = {
        {"--device", 'd', OPTION_TEXT, "DEVICE", "cuda:0, emu, emu:GH100, emu:sm_86, emu:no-check ...; default: the best present",
         &a->device},
        {"--variants", 'V', OPTION_LIST, "NAME=DIR", "a folder of your .cu variants, or one .cu or .py file; the rows are named NAME/FILE",
         &a->variants},
        {"--ops", 0, OPTION_LIST, "FILE", "your own op file, or a folder of them (docs/OP.md)", &a->ops},
        {"--layer", 'l', OPTION_TEXT, "GLOBS", "only these layers, or those of a network (comma list, * and ?)", &a->layers},
        {"--only", 0, OPTION_TEXT, "GLOBS", "only these variants (comma list); timed runs keep the library's rows", &a->only},
        {"--set", 0, OPTION_LIST, "AXIS=VALUE",
         "only cases with this value: n=1, mask.density=0.10; or `basic` or `full`: a set of counters", &a->set},
        {"--budget", 0, OPTION_REAL, "SECONDS", "time to spend on one layer, instead of the scenario's", &a->budget_s},
        {"--seed", 0, OPTION_TEXT, "NUMBER",
         "repeat the random inputs and the order of rounds of an earlier run (bench show RUN prints its seed)", &a->seed},
        {"--compiler", 0, OPTION_TEXT, "WHICH", "nvrtc (pinned, default), nvrtc:13.5 (ci/setup --nvrtc), nvrtc:FILE, nvcc, nvcc:FILE",
         &a->compiler},
        {"--bundle", 0, OPTION_TEXT, "FILE", "use the compiled kernels of a bundle (bench compile --bundle)", &a->bundle},
    };
    memcpy(options, all, sizeof all);
}

void cli_counter_options(struct plan_arguments *a, struct option *options)
{
    const struct option all[COUNTER_OPTION_COUNT] = {
        {"--group", 'g', OPTION_LIST, "A,B", "count these groups (bench counters) or FILE.yaml, instead of the scenario's", &a->groups},
        {"--metrics", 'm', OPTION_LIST, "A,B", "count these metrics, with ncu's names", &a->metrics},
        {"--source", 0, OPTION_FLAG, NULL, "by source line: stall reasons (PC sampling) and executed instructions (SASS metrics)",
         &a->counters.source},
        {"--no-counters", 0, OPTION_FLAG, NULL, "no hardware counters; on emu, nothing runs at full size", &a->counters.off},
        {"--no-ptxas", 0, OPTION_FLAG, NULL, "emu: make no machine code, which takes 40 % of compiling: no registers, spills, occupancy",
         &a->no_ptxas},
        {"--require-counters", 0, OPTION_FLAG, NULL, "exit 5 if a row cannot be counted", &a->counters.required},
    };
    memcpy(options, all, sizeof all);
}

/* `--set` picks cases, and as for ncu it names a set of counters: `--set full`. An axis always has a =. */
static bool take_set(struct plan_arguments *a, struct error *err)
{
    int kept = 0;
    for (int i = 0; i < a->set.count; i++) {
        const char *item = a->set.items[i];
        if (strcmp(item, "full") && strcmp(item, "basic")) {
            a->set.items[kept++] = item;
            continue;
        }
        if (a->counters.set && strcmp(a->counters.set, item))
            return error_set(err, ERROR_USAGE, "--set basic and --set full exclude each other");
        a->counters.set = item;
    }
    a->set.count = kept;
    if (a->set.items)
        a->set.items[kept] = NULL;
    a->counters.groups = a->groups.items;
    a->counters.metrics = a->metrics.items;
    return true;
}

bool cli_plan_arguments(struct plan_arguments *a, const char *scenario, char **path, struct error *err)
{
    *path = NULL;
    if (!cli_python_variants(a, err) || !op_load(a->ops.items, err) || !take_set(a, err))
        return false;
    if (scenario) {
        *path = xstrdup(scenario);
        if ((!file_exists(scenario) || file_is_dir(scenario)) && !strchr(scenario, '/')) { /* most likely the folder of -o */
            SCOPED char *relative = text_format("scenarios/%s%s", scenario, strstr(scenario, ".yaml") ? "" : ".yaml");
            char *shipped = file_share(relative);
            if (file_exists(shipped)) {
                free(*path);
                *path = shipped;
            } else {
                free(shipped);
            }
        }
        if (!file_exists(*path)) {
            const char *why = file_unreachable(*path);
            error_set(err, ERROR_USAGE, "%s: %s", scenario, why ? why : "neither a file nor a shipped scenario");
            error_hint(err, why ? "ls -l %s" : "bench list scenarios", scenario);
            free(*path);
            *path = NULL;
            return false;
        }
    }
    a->plan = (struct plan_options){.scenario_path = *path,
                                    .device = a->device,
                                    .op_files = a->ops.items,
                                    .variant_dirs = a->variants.items,
                                    .compiler = a->compiler,
                                    .bundle = a->bundle,
                                    .seed = a->seed,
                                    .budget_s = a->budget_s,
                                    .counters = a->counters,
                                    .no_ptxas = a->no_ptxas,
                                    .filter = {.layers = a->layers, .only = a->only, .set = a->set.items}};
    return true;
}

const struct chip *cli_chip(const char *name, const char *option, struct error *err)
{
    const struct chip *chip = chip_find(name ? name : "GH100");
    if (chip)
        return chip;
    const char *near = text_nearest_in(name, chip_names());
    error_set(err, ERROR_USAGE, "no chip '%.60s'", name);
    if (near)
        error_hint(err, "%s%s", option, near);
    else
        error_hint(err, "bench list chips");
    return NULL;
}

void option_list_free(struct option_list *list)
{
    free(list->items);
}

void cli_plan_free(struct plan_arguments *a)
{
    struct option_list *const lists[] = {&a->ops, &a->variants, &a->set, &a->groups, &a->metrics};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        option_list_free(lists[i]);
    pointers_free(a->made, a->made_count);
}
