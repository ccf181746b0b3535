/* bench run: every variant of every case of a scenario. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/jobs.h"
#include <stdlib.h>
#include <string.h>

/* The revision of the user's variants, else of the scenario's folder. Shipped scenarios belong to bench, whose revision is known. */
static char *asked_revision(const struct plan_options *plan)
{
    const char *own = plan->variant_dirs && plan->variant_dirs[0] ? strchr(plan->variant_dirs[0], '=') : NULL;
    SCOPED char *dir = own && file_is_dir(own + 1) ? xstrdup(own + 1) : file_dir(plan->scenario_path);
    return cli_revision(dir, NULL);
}

/* "NAME=DIR" as a side: the variants and shared headers of the tree DIR. */
static bool take_sides(const struct option_list *list, struct side **sides, struct error *err)
{
    *sides = list->count ? xcalloc((size_t)list->count + 1, sizeof **sides) : NULL;
    for (int i = 0; i < list->count; i++) {
        const char *spec = list->items[i], *equals = strchr(spec, '=');
        char *dir = realpath(equals ? equals + 1 : spec, NULL), *variants = file_join(dir ? dir : ".", "kernels/variants");
        if (!equals || equals == spec || !dir || !file_is_dir(variants)) {
            error_set(err, ERROR_USAGE, "--side %s: %s", spec,
                      equals && equals != spec ? "has no kernels/variants" : "NAME=DIR or NAME=FILE.cu is expected");
            error_hint(err, "DIR is a source tree of bench, such as a worktree of another revision: --side base=../base");
            free(variants);
            free(dir);
            return false;
        }
        (*sides)[i] = (struct side){xstrndup(spec, (size_t)(equals - spec)), cli_revision(dir, "kernels/variants"), variants,
                                    file_join(dir, "kernels/include"),       file_join(dir, "kernels/ops"),         NULL};
        free(dir);
        for (int k = 0; k < i; k++)
            if (!strcmp((*sides)[k].name, (*sides)[i].name))
                return error_set(err, ERROR_USAGE, "two sides have the name %s", (*sides)[i].name);
    }
    return true;
}

/* "3/16" */
static bool take_shard(const char *text, struct session_options *o, struct error *err)
{
    SCOPED char *first = text ? xstrndup(text, strcspn(text, "/")) : NULL;
    long long shard = 0, shards = 0;
    if (!text || (text[strlen(first)] && text_to_int(first, &shard) && text_to_int(text + strlen(first) + 1, &shards) && shard >= 1 &&
                  shard <= shards && shards <= SHARDS_MAX)) {
        o->shard = (int)shard;
        o->shards = (int)shards;
        return true;
    }
    error_set(err, ERROR_USAGE, "--shard %.60s: I/N is expected, with I from 1 to N and N up to %d", text, SHARDS_MAX);
    return error_hint(err, "shards count from 1: with an index from 0, --shard $((INDEX + 1))/N");
}

static bool take_choose(const char *how, struct session_options *o, struct error *err)
{
    bool race = how && !strcmp(how, "race");
    o->decides = !how || race;
    o->predict = race ? cli_predict : NULL;
    return o->decides || !strcmp(how, "rule") || error_set(err, ERROR_USAGE, "--choose %.60s: race or rule is expected", how);
}

static void free_sides(struct side **sides)
{
    for (struct side *s = *sides; s && s->name; s++)
        FREE_ALL(s->name, s->revision, s->variants, s->include, s->ops);
    free(*sides);
}

static int run_elsewhere(struct run_on *on, const char *out_dir, struct option *options, struct plan_arguments *a, const char *scenario)
{
    on->out_dir = out_dir;
    on->options = options;
    on->arguments = a;
    return cli_run_on(on, scenario);
}

int cli_run(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    struct session_options o = {0};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *out = NULL, *shard = NULL, *choose = NULL;
    struct run_on on = {0};
    bool quiet = false, no_report = false, in_process = false;
    SCOPED_BY(option_list_free) struct option_list side_list = {0};
    SCOPED_BY(free_sides) struct side *sides = NULL;
    struct option options[PLAN_OPTION_COUNT + COUNTER_OPTION_COUNT + 21] = {{0}};
    cli_plan_options(&a, options);
    cli_counter_options(&a, options + PLAN_OPTION_COUNT);
    const struct option own[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "database, dumps and reports; default ./.bench", &out},
        {"--resume", 0, OPTION_FLAG, NULL, "continue the last run of this scenario: keep the rows whose key is unchanged", &o.resume},
        {"--tuned", 0, OPTION_FLAG, NULL, "run each variant with the configuration that bench tune found for the layer (bench tune --list)",
         &o.tuned},
        {"--choose", 0, OPTION_TEXT, "race|rule",
         "what conv2d/auto does on a new layer: race a few variants (default on a GPU), or go by its rule", &choose},
        {"--as-given", 0, OPTION_FLAG, NULL, "do not add densities by bisection", &o.as_given},
        {"--ablate", 0, OPTION_FLAG, NULL, "also time verified rows without store, bias or math, if the head supports it", &o.ablate},
        {"--dump", 0, OPTION_FLAG, NULL, "write the tensors and an error map of every wrong row", &o.dump},
        {"--no-time", 0, OPTION_FLAG, NULL, "only verify, even on a GPU", &o.no_time},
        {"--time-limit", 0, OPTION_REAL, "SECONDS", "time limit for one run of a row; default 10 on cuda, 60 on emu", &o.time_limit_s},
        {"--in-process", 0, OPTION_FLAG, NULL, "use no worker processes, for debugging", &in_process},
        {"--no-report", 0, OPTION_FLAG, NULL, "write no Markdown and HTML page at the end", &no_report},
        {"--quiet", 'q', OPTION_FLAG, NULL, "print only the closing lines", &quiet},
        {"--gpus", 0, OPTION_TEXT, "LIST",
         "several GPUs of this host: all, 0,2 or 0-3; each takes the next case (on emu: 0-3 emulates four)", &o.gpus},
        {"--on-every-gpu", 0, OPTION_FLAG, NULL, "with --gpus: each row on each GPU, to see how they differ (no networks)",
         &o.on_every_gpu},
        {"--shard", 0, OPTION_TEXT, "I/N", "run only this share of the cases, I from 1 to N (bench import --join makes one run of all)",
         &shard},
        {"--on", 0, OPTION_TEXT, "ENGINE[:K=V,..]",
         "run the shards of the plan elsewhere: slurm, srun, ssh, k8s, local, or a system file (docs/FLEET.md); bench jobs shows them",
         &on.on},
        {"--wait", 0, OPTION_FLAG, NULL, "with --on: wait for the shards and join what they have measured", &on.wait},
        {"--print", 0, OPTION_FLAG, NULL, "with --on: print what would be submitted, and submit nothing", &on.print},
        {"--side", 0, OPTION_LIST, "NAME=DIR", "use the variants and headers of this tree, as one of several sides of the run", &side_list},
    };
    memcpy(options + PLAN_OPTION_COUNT + COUNTER_OPTION_COUNT, own, sizeof own);
    int count, code;
    SCOPED char *path = NULL, *database = NULL, *line = cli_line(argc, argv), *revision = NULL;
    struct error err = {0};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count != 1)
        return cli_usage(verb, count ? "only one scenario is expected" : "which scenario?");
    if (!take_choose(choose, &o, &err))
        return cli_fail(&err);
    if (on.on && !o.on_every_gpu)
        return run_elsewhere(&on, cli_out_dir(out), options, &a, rest[0]);
    if (on.on || on.wait || on.print || (o.on_every_gpu && !o.gpus))
        return cli_usage(verb, on.on ? "--on-every-gpu compares the GPUs of one host: start it on each, and import what they stored"
                               : on.wait || on.print ? "--wait and --print belong to --on"
                                                     : "--on-every-gpu is missing --gpus LIST");
    if (!take_shard(shard, &o, &err) || !cli_plan_arguments(&a, rest[0], &path, &err) || !take_sides(&side_list, &sides, &err))
        return cli_fail(&err);
    o.as_given = o.as_given || o.on_every_gpu;
    o.plan = a.plan;
    o.plan.sides = sides;
    o.inside = in_process ? &worker_inside : NULL;
    o.database = database = cli_database(o.out_dir = cli_out_dir(out));
    o.argv = line;
    o.verb = verb->name;
    o.asked_out = out;
    o.revision = revision = asked_revision(&a.plan);
    return cli_session(&o, (quiet ? 0 : CLI_SHOW_BEGIN | CLI_SHOW_CASES) | (no_report ? 0 : CLI_SHOW_PAGES) | CLI_RESUMES);
}
