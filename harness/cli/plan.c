/* bench plan: the cases and rows of a scenario, and whether it is valid; runs nothing. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "cli/cli.h"
#include "device/chip/floor.h"
#include "op/file/values.h"
#include "op/mask/mask.h"
#include "report/form/document.h"
#include "report/view/number.h"
#include "store/store.h"
#include "plan/rows/shard.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool validate_one(const char *name, struct plan_arguments *a, struct text *t, struct error *err)
{
    static const char *const kinds[] = {"emu", "cuda"};
    SCOPED char *path = NULL;
    const struct chip *chip = chip_find("GH100");
    if (!cli_plan_arguments(a, name, &path, err))
        return false;
    for (int i = 0; i < 2; i++) {
        struct plan plan;
        if (!plan_make(&a->plan, kinds[i], chip, &plan, err))
            return false;
        bool broken = !plan_masks_fit(&plan, err);
        for (int k = 0; k < plan.case_count && !broken; k++)
            broken = !op_file_values_fit(&plan.cases[k].work, err) && !error_where(err, "%s", plan.cases[k].id);
        for (int k = 0; k < plan.row_count && !broken; k++) {
            broken = plan.rows[k].broken != NULL;
            if (broken)
                error_set(err, ERROR_USAGE, "%s: %s", plan_id(&plan, k), plan.rows[k].broken->text);
        }
        if (!broken)
            text_addf(t, i ? "; %s%d case%s, %d row%s on %s\n" : "%s is valid: %d case%s, %d row%s on %s", i ? "" : path, plan.case_count,
                      text_s(plan.case_count), plan.row_count, text_s(plan.row_count), kinds[i]);
        plan_free(&plan);
        if (broken)
            return false;
    }
    return true;
}

/* Checks every scenario; the first fault decides the exit code. */
static int validate(const char *const *names, int count, struct plan_arguments *a)
{
    int worst = 0;
    for (int i = 0; i < count; i++) {
        struct error err = {0};
        SCOPED_TEXT t = {0};
        if (validate_one(names[i], a, &t, &err)) {
            cli_print(&t);
        } else {
            int code = cli_fail(&err);
            worst = worst ? worst : code;
        }
    }
    return worst;
}

/* A row of a plan: why it cannot run, or which variant a rule takes and whether that claims the shape. */
static void plan_line(struct text *t, const struct plan *plan, int index, const char *name)
{
    const struct program *p = plan_program(plan, index);
    const struct error *broken = plan->rows[index].broken;
    const char *is = NULL;
    for (int i = 0; i < p->param_count; i++)
        is = !strcmp(p->param[i].name, "is") ? p->param[i].value : is;
    text_addf(t, "    %s", name);
    if (broken || !p->feasible)
        text_addf(t, "  -- %s", broken ? broken->text : p->reason);
    else
        text_addf(t, "%s%s%s", is ? "  is " : "", is ? is : "", p->claims ? "  claims" : "");
    text_add(t, "\n");
}

/* What --json says of a case. */
static struct table *plan_table(void)
{
    struct table *t = table_new();
    table_columns(t, {"case", "", ALIGN_LEFT}, {"work", "", ALIGN_LEFT});
    static const char *const keys[] = {"flop", "bytes", "floor_ns", "repeat", "ready", "infeasible", "broken", "claims"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        table_column(t, keys[i], "", ALIGN_RIGHT);
    return t;
}

static void plan_record(struct table *t, const char *id, const char *work, const double *values, int count)
{
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", id);
    table_cell(t, PAINT_NONE, "%s", work);
    for (int i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.15g", values[i]);
        table_number(t, PAINT_NONE, values[i], text);
    }
}

/* Its rows are first .. last-1. */
static void plan_case(struct text *t, struct table *record, const struct plan *plan, int index, int first, int last, bool all_rows)
{
    const struct scenario_case *c = &plan->cases[index];
    struct text line = {0};
    int ready = 0, infeasible = 0, broken = 0, claimed = 0;
    double flop = work_flop(&c->work), bytes = work_bytes(&c->work);
    struct useful useful = {1, 1, flop, bytes};
    struct error mask = {0};
    bool made = work_useful(&c->work, &useful, &mask), sparse = c->work.mask.pattern != MASK_NONE;
    struct min_work least = {0};
    if (made)
        made = plan_min_work(plan, index, &least, &mask);
    struct floor f = plan_floor(&plan->chip, &c->work, &least, NULL, false);
    for (int i = first; i < last; i++) {
        const struct row_facts *row = &plan->rows[i].facts;
        claimed += row->claims;
        broken += plan->rows[i].broken != NULL;
        ready += row->feasible;
    }
    infeasible = last - first - broken - ready;
    work_describe(&c->work, &line);
    text_addf(t, "%s\n  %s%s\n", c->id, text_get(&line), c->cropped ? "  (cropped)" : c->part ? "  (verified on a part)" : "");
    text_addf(t, "  %.4g GFLOP  %.4g MB", flop / 1e9, bytes / 1e6);
    if (sparse && made)
        text_addf(t, "  %.3g %% of the inputs change, %.3g %% of the outputs: %.4g GFLOP, %.4g MB", useful.input_share * 100,
                  useful.output_share * 100, useful.flop / 1e9, useful.bytes / 1e6);
    else if (sparse)
        text_addf(t, "  %s", mask.text);
    struct work_memory memory = work_memory(&c->work);
    if (!c->work.chain && work_memory_total(&memory) >= 1e9)
        text_addf(t, "  memory %.3g GB", work_memory_total(&memory) / 1e9);
    text_addf(t, "  speed of light %.3g us (data sheet, %s)", f.ns / 1e3, floor_by_name(f.by));
    plan_record(record, c->id, text_get(&line), (double[]){flop, bytes, f.ns, (double)c->repeat, ready, infeasible, broken, claimed}, 8);
    text_free(&line);
    scenario_layer_networks(plan->scenario, c->layer, &line);
    if (line.len)
        text_addf(t, "  in %s", text_get(&line));
    else if (c->repeat > 1)
        text_addf(t, "  x%lld", (long long)c->repeat);
    text_addf(t, "  %d row%s ready, %d infeasible", ready, text_s(ready), infeasible);
    if (claimed)
        text_addf(t, ", %d claim%s to be as fast as the library", claimed, claimed == 1 ? "s" : "");
    text_addf(t, broken ? ", %d broken\n" : "\n", broken);
    for (int i = first; all_rows && i < last; i++)
        plan_line(t, plan, i, plan_id(plan, i) + strlen(c->id) + 1);
    plan_tidy(plan, -1);
    text_free(&line);
}

/* The partition of `run --shard`, as lines and for --json. */
static struct table *plan_shares(struct text *t, const struct plan *plan, bool timed, const double *seconds, int count)
{
    SCOPED int *shard = xcalloc((size_t)plan->case_count + 1, sizeof *shard);
    struct table *record = table_new();
    table_column(record, "shard", "", ALIGN_LEFT);
    static const char *const keys[] = {"cases", "rows", "seconds"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        table_column(record, keys[i], "", ALIGN_RIGHT);
    plan_shards(plan, timed, count, shard);
    for (int k = 0; k < count; k++) {
        double cases = 0, rows = 0, cost = 0;
        for (int i = 0; i < plan->case_count; i++) {
            cases += shard[i] == k;
            cost += shard[i] == k ? seconds[i] : 0;
        }
        for (int i = 0; i < plan->row_count; i++)
            rows += shard[plan->rows[i].case_index] == k;
        text_addf(t, "shard %d/%d: %.0f case%s, %.0f row%s; about %.0f s\n", k + 1, count, cases, text_s((int)cases), rows,
                  text_s((int)rows), ceil(cost));
        char name[32];
        snprintf(name, sizeof name, "%d/%d", k + 1, count);
        table_row(record, LINE_PLAIN);
        table_cell(record, PAINT_NONE, "%s", name);
        const double values[] = {cases, rows, cost};
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "%.15g", values[i]);
            table_number(record, PAINT_NONE, values[i], name);
        }
    }
    return record;
}

/* Planning opens no device: cuda means the full shapes, on an H200's limits. */
static const struct chip *device_chip(const char *device, bool *cuda, struct error *err)
{
    char name[64] = "GH100";
    *cuda = spec_is_timed(device);
    if (device && !*cuda && !spec_is(device, SPEC_COUNTS)) {
        error_set(err, ERROR_USAGE, "there is no device '%.60s'", device);
        error_hint(err, "cuda:0, emu, emu:CHIP");
        return NULL;
    }
    const char *option = spec_option(device);
    if (device && !*cuda && strcmp(option, "no-check") && *option)
        snprintf(name, sizeof name, "%.*s", (int)strcspn(option, ","), option);
    return cli_chip(name, "emu:", err);
}

/* "; run 3 took 48 s here": the last run of this plan in the default database. */
static void add_history(struct text *t, const struct plan *plan, const char *device)
{
    SCOPED char *database = cli_database(cli_out_dir(NULL));
    SCOPED_BY(run_clear) struct run run = {0};
    struct store *store = NULL;
    char hash[HASH_TEXT], took[NUMBER_TEXT];
    plan_identity(plan, spec_is_timed(device), hash);
    if (file_exists(database) && store_open(database, true, &store, NULL) &&
        store_last_run(store, NULL, plan->scenario->name, device ? device : "emu", &run, NULL) && *run.ended &&
        !strcmp(run.plan_hash, hash))
        text_addf(t, "; run %lld took %s here", (long long)run.id, number_duration(run.wall_s, took));
    store_close(store);
}

int cli_plan(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    bool all_rows = false, check = false;
    struct option options[PLAN_OPTION_COUNT + 4] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    struct error err = {0};
    SCOPED_TEXT t = {0};
    SCOPED_BY(plan_free) struct plan plan = {0};
    SCOPED char *path = NULL;
    int count, code, shards = 0;
    cli_plan_options(&a, options);
    options[PLAN_OPTION_COUNT] =
        (struct option){"--rows", 0, OPTION_FLAG, NULL, "list every row, with the reason if it cannot run", &all_rows};
    options[PLAN_OPTION_COUNT + 1] = (struct option){
        "--check", 0, OPTION_FLAG, NULL, "only check whether scenarios, heads and mask files are valid; exit 2 if one is not", &check};
    options[PLAN_OPTION_COUNT + 2] =
        (struct option){"--shards", 0, OPTION_INT, "N", "show the N shares of the plan that bench run --shard I/N runs", &shards};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (shards < 0 || shards > SHARDS_MAX)
        return cli_usage(verb, "--shards %d: a number from 1 to %d is expected", shards, SHARDS_MAX);
    if (count < 1 || (count > 1 && !check))
        return cli_usage(verb, count ? "only one scenario is expected, except with --check" : "which scenario?");
    if (check)
        return validate(rest, count, &a);
    bool cuda;
    const struct chip *chip = device_chip(a.device, &cuda, &err);
    if (!chip || !cli_plan_arguments(&a, rest[0], &path, &err) || !plan_make(&a.plan, cuda ? "cuda" : "emu", chip, &plan, &err) ||
        !plan_masks_fit(&plan, &err))
        return cli_fail(&err);
    double total_flop = 0, total = 0;
    SCOPED double *seconds = xcalloc((size_t)plan.case_count + 1, sizeof *seconds);
    struct table *record = plan_table();
    plan_costs(&plan, cuda, seconds);
    for (int i = 0, first = 0, last = 0; i < plan.case_count; i++, first = last) {
        while (last < plan.row_count && plan.rows[last].case_index == i)
            last++;
        plan_case(&t, record, &plan, i, first, last, all_rows);
        total_flop += work_flop(&plan.cases[i].work) * (double)plan.cases[i].repeat;
        total += seconds[i];
    }
    scenario_network_explain(plan.scenario, &t);
    for (int i = 0; i < plan.note_count; i++)
        text_addf(&t, "%s\n", plan.notes[i]);
    int kernels;
    double compiling = plan_compile_cost(&plan, &kernels);
    text_addf(&t, "%d case%s, %d row%s; %.4g GFLOP with repeats; about %.0f s on %s", plan.case_count, text_s(plan.case_count),
              plan.row_count, text_s(plan.row_count), total_flop / 1e9, ceil(total), cuda ? "an H200" : "emu (CPU time)");
    if (kernels && !cuda)
        text_addf(&t, ", a first run compiles %d kernel%s for about %.0f s more", kernels, text_s(kernels), ceil(compiling));
    add_history(&t, &plan, a.device);
    text_add(&t, "\n");
    struct table *shares = shards ? plan_shares(&t, &plan, cuda, seconds, shards) : NULL;
    if (cli_json())
        cli_table(record);
    else
        table_free(record);
    if (cli_json() && shares)
        cli_table(shares);
    else if (shares)
        table_free(shares);
    cli_page(&t);
    return 0;
}
