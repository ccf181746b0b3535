/* bench run --on: makes a job of a run, gives it to an engine, and waits for it on demand. */
#include "cli/jobs.h"
#include "base/file.h"
#include "base/file_system.h"
#include "base/spec.h"
#include "base/text.h"
#include "device/chip/chip.h"
#include "plan/rows/shard.h"
#include "run/engine/turn.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define SHARDS 16 /* if shards= does not say; fewer if fewer have work */
#define COMPILE_S 7200

/* Options of the command that the tasks do not get: they have their own, or mean the whole run. */
static const char *const not_passed[] = {"--on",    "--wait",   "--print", "--out",  "--bundle", "--no-report",
                                         "--quiet", "--resume", "--shard", "--json", NULL};
/* What a task cannot do: it has neither this database nor a place for dumps. */
static const char *const not_with[] = {"--tuned", "--dump", "--in-process", NULL};
/* Options that say what the plan is; `bench compile` gets them, too. */
static const char *const of_plan[] = {"--variants", "--ops", "--layer", "--only", "--set", "--compiler", NULL};

static bool is_among(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word))
        words++;
    return *words;
}

/* "--layer a,b" as words, where the value lies behind `o`. `local`: as given; else files of the value are taken into the job. */
static bool pass_value(json_t *args, const struct job *job, const struct option *o, const char *value, struct error *err)
{
    const char *equals = !strcmp(o->name, "--variants") || !strcmp(o->name, "--side") ? strchr(value, '=') : NULL;
    const char *path = equals ? equals + 1 : value;
    bool file =
        job && (equals || !strcmp(o->name, "--ops") || (!strcmp(o->name, "--group") && text_ends(value, ".yaml"))) && file_exists(path);
    json_array_append_new(args, json_string(o->name));
    if (!file) {
        json_array_append_new(args, json_string(value));
        return true;
    }
    bool tree = !strcmp(o->name, "--side") && file_is_dir(path);
    SCOPED char *kernels = file_join(path, "kernels"), *taken = job_take(job, tree ? kernels : path, err),
                *above = taken ? file_dir(taken) : NULL,
                *word = text_format("%.*s%s", equals ? (int)(equals + 1 - value) : 0, value, tree ? above : taken);
    json_array_append_new(args, json_string(word));
    return taken;
}

/* The command's options again as words. */
static bool add_options(json_t *args, const struct job *job, const struct option *options, const char *const *only, struct error *err)
{
    bool ok = true;
    for (const struct option *o = options; ok && o->name; o++) {
        char number[64] = "";
        if (!o->help || is_among(o->name, not_passed) || (only && !is_among(o->name, only)))
            continue;
        switch (o->kind) {
        case OPTION_FLAG:
            if (*(bool *)o->to)
                json_array_append_new(args, json_string(o->name));
            break;
        case OPTION_INT:
            if (*(int *)o->to)
                snprintf(number, sizeof number, "%d", *(int *)o->to);
            break;
        case OPTION_REAL:
            if (*(double *)o->to > 0)
                snprintf(number, sizeof number, "%.17g", *(double *)o->to);
            break;
        case OPTION_TEXT:
            if (*(const char **)o->to)
                ok = pass_value(args, job, o, *(const char **)o->to, err);
            break;
        case OPTION_LIST:
            ok = ok &&
                 ALL_OF(i, ((struct option_list *)o->to)->count, pass_value(args, job, o, ((struct option_list *)o->to)->items[i], err));
            break;
        }
        if (number[0])
            ok = pass_value(args, job, o, number, err);
    }
    return ok;
}

/* What the kernels are compiled for: chip=, the chip of emu, the type in gres=gpu:h100:1, else GH100. NULL and an error: no such chip. */
static const struct chip *target(const struct job *job, const char *device, struct error *err)
{
    const char *key = job_key(job, "chip"), *gres = job_key(job, "gres"), *type = gres ? strstr(gres, "gpu:") : NULL;
    const char *option = spec_is_timed(device) ? "" : spec_option(device);
    SCOPED char *emu = xstrndup(option, strcspn(option, ",")), *model = xstrndup(type ? type + 4 : "", type ? strcspn(type + 4, ":") : 0);
    for (char *c = model; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    if (key || (*emu && strcmp(emu, "no-check")))
        return cli_chip(key ? key : emu, "--on ...:chip=", err);
    return chip_find(spec_is_timed(device) && chip_find(model) ? model : "GH100");
}

static bool run_self(json_t *words, double seconds, struct text *out, int *code, struct error *err)
{
    size_t count = json_array_size(words);
    SCOPED const char **argv = xcalloc(count + 2, sizeof *argv);
    argv[0] = file_self();
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = json_string_value(json_array_get(words, i));
    *code = engine_ask(argv, seconds, out, err);
    return *code >= 0;
}

/* Compiles the plan here, so that no node needs a compiler. */
static bool compile_bundle(const struct job *job, const struct run_on *r, const char *scenario, const struct chip *chip, struct error *err)
{
    SCOPED char *bundle = file_join(job->folder, "bundle");
    SCOPED_TEXT out = {0};
    int code = 0;
    json_auto_t *words = json_pack("[s,s,s,s,s,s]", "compile", scenario, "--bundle", bundle, "--chip", chip->name);
    if (!spec_is_timed(job_text(job, "device")))
        json_array_append_new(words, json_string("--emu"));
    bool ok = add_options(words, NULL, r->options, of_plan, err) && run_self(words, COMPILE_S, &out, &code, err);
    if (ok && code == 4)
        cli_say(stderr,
                "bench: note: some kernels do not compile; a node without a compiler cannot say more of their rows (bench compile %s)\n",
                scenario);
    if (ok && code && code != 4)
        ok = error_set(err, ERROR_ENVIRONMENT, "the kernels cannot be compiled here: %.1500s", text_get(&out));
    return ok;
}

/* One seed for all shards. */
static void add_seed(json_t *args, const char *given)
{
    unsigned long long seed = 0;
    char text[32];
    if (given || getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return;
    snprintf(text, sizeof text, "%llu", seed);
    json_array_append_new(args, json_string("--seed"));
    json_array_append_new(args, json_string(text));
}

static bool take_all(struct job *job, const struct run_on *r, const char *scenario, json_t *args, struct error *err)
{
    SCOPED char *taken = job_take(job, scenario, err);
    if (!taken)
        return false;
    json_array_append_new(args, json_string(taken));
    if (!r->arguments->device) {
        json_array_append_new(args, json_string("--device"));
        json_array_append_new(args, json_string(job_text(job, "device")));
    }
    add_seed(args, r->arguments->seed);
    int gpus = job->engine != &engine_local && job->engine != &engine_ssh ? job_count(job, "gpus", 1) : 1; /* of a task */
    SCOPED char *list = spec_is_timed(job_text(job, "device")) ? xstrdup("all") : text_format("0-%d", gpus - 1);
    if (gpus > 1) {
        json_array_append_new(args, json_string("--gpus"));
        json_array_append_new(args, json_string(list));
    }
    if (r->arguments->counters.set) { /* --set full, which is not a filter */
        json_array_append_new(args, json_string("--set"));
        json_array_append_new(args, json_string(r->arguments->counters.set));
    }
    return add_options(args, job, r->options, NULL, err);
}

/* How many shards, and what --print and `bench jobs` say of the plan. */
static bool plan_job(struct job *job, const struct run_on *r, const struct chip *chip, struct error *err)
{
    SCOPED_BY(plan_free) struct plan plan = {0};
    const char *device = job_text(job, "device");
    if (!plan_make(&r->arguments->plan, spec_kind(device), chip, &plan, err) || !plan_masks_fit(&plan, err))
        return false;
    if (!plan.row_count)
        return error_set(err, ERROR_USAGE, "the plan has no row");
    SCOPED int *unit = xcalloc((size_t)plan.case_count + 1, sizeof *unit);
    int units = 0;
    plan_units(&plan, unit);
    for (int i = 0; i < plan.case_count; i++)
        units += unit[i] == i;
    int shards = job_count(job, "shards", units < SHARDS ? units : SHARDS);
    json_object_set_new(job->facts, "shards", json_integer(shards));
    json_object_set_new(job->facts, "rows", json_integer(plan.row_count));
    json_object_set_new(job->facts, "cases", json_integer(plan.case_count));
    job_shards(job, shards);
    return true;
}

static int print_script(struct job *job)
{
    struct error err = {0};
    SCOPED_TEXT t = {0};
    if (!job->engine->script(job, 0, &t, &err))
        return cli_fail(&err);
    cli_print(&t);
    return 0;
}

static int start_job(struct job *job, const struct run_on *r, const char *scenario, const struct chip *chip, struct error *err)
{
    SCOPED char *bundle = r->arguments->bundle ? file_join(job->folder, "bundle") : NULL;
    json_t *args = json_array();
    json_object_set_new(job->facts, "args", args);
    if (!job_dirs(job, r->jobs, err) || !job_pack(job, err) || !take_all(job, r, scenario, args, err) || !job_write(job, err) ||
        (bundle ? !job_copy(r->arguments->bundle, bundle, err) : !compile_bundle(job, r, scenario, chip, err)) || !job_submit(job, err))
        return cli_fail(err);
    bool nodes = job->engine == &engine_slurm && !job_key(job, "handover");
    if (job->note[0])
        cli_say(stderr, "bench: %s\n", job->note);
    if (nodes && !file_system_shared(job->folder))
        cli_say(stderr, "bench: note: %s is on a local disk; a node that does not see it fails (folder=DIR names a shared folder)\n",
                job->folder);
    cli_say(stderr, "bench: job %s: %d shard%s of %s on %s, %lld rows; %s\n", job->id, job->shards, text_s(job->shards),
            job_text(job, "scenario"), job->engine->name, job_number(job, "rows"), job->folder);
    return cli_job_started(job, r->out_dir, r->wait);
}

static bool allowed(const struct option *options, struct error *err)
{
    for (const struct option *o = options; o->name; o++) {
        bool given = o->kind == OPTION_FLAG ? *(bool *)o->to : o->kind == OPTION_TEXT && *(const char **)o->to;
        if (given && is_among(o->name, not_with))
            return error_set(err, ERROR_USAGE, "%s does not go with --on: tasks have neither this database nor a place for dumps", o->name);
        if (given && !strcmp(o->name, "--resume")) {
            error_set(err, ERROR_USAGE, "--resume does not go with --on: each job is a run of its own");
            return error_hint(err, "bench jobs wait goes on with a job; --resume without --on computes here what is missing");
        }
        if (given && !strcmp(o->name, "--shard"))
            return error_set(err, ERROR_USAGE, "--shard does not go with --on, which gives every shard a task: --on ...:shards=N");
    }
    return true;
}

int cli_run_on(const struct run_on *request, const char *scenario)
{
    struct run_on r = *request;
    struct error err = {0};
    const struct engine *engine;
    json_t *keys;
    SCOPED char *path = NULL, *jobs = file_join(r.out_dir, "jobs");
    SCOPED_BY(job_free) struct job job = {0};
    r.jobs = jobs;
    if (!allowed(r.options, &err) || !engine_keys(r.on, &engine, &keys, &err))
        return cli_fail(&err);
    const char *device = r.arguments->device ? r.arguments->device : "cuda:0"; /* a node without a GPU must not fall back to emu */
    SCOPED char *base = xstrdup(file_base(scenario));
    if (text_ends(base, ".yaml"))
        base[strlen(base) - strlen(".yaml")] = 0;
    if (!job_make(&job, engine, keys, jobs, base, &err))
        return cli_fail(&err);
    json_object_set_new(job.facts, "device", json_string(device));
    const struct chip *chip = engine->check(&job, &err) ? target(&job, device, &err) : NULL;
    if (!chip || !cli_plan_arguments(r.arguments, scenario, &path, &err) || !plan_job(&job, &r, chip, &err))
        return cli_fail(&err);
    return r.print ? print_script(&job) : start_job(&job, &r, path, chip, &err);
}
