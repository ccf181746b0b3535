/* Verbs that look and run nothing: list, plan. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "device/chip/floor.h"
#include "op/file.h"
#include "report/form/document.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list of things with a name and a sentence. */
static struct table *list_table(const char *name, const char *about)
{
    struct table *t = table_new();
    table_column(t, name, "", ALIGN_LEFT);
    table_column(t, about, "", ALIGN_LEFT);
    return t;
}

static void list_ops(void) /* the first sentence about each: a point inside a number ends none */
{
    struct table *t = list_table("op", "about");
    const struct op *op;
    for (int i = 0; (op = op_at(i)); i++) {
        const char *about = op->about, *end = strstr(about, ". ");
        size_t length = end ? (size_t)(end - about) : strlen(about);
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", op->name);
        table_cell(t, PAINT_NONE, "%.*s", (int)(length - (!end && length && about[length - 1] == '.')), about);
    }
    cli_table(t);
}

static void list_set(struct text *t, const char *title, unsigned bits, const char *const *names, int first)
{
    bool any = false;
    text_addf(t, "%-11s", title);
    for (int i = 0; names[i]; i++)
        if (bits & (1u << (i + first))) {
            text_addf(t, "%s%s", any ? ", " : "", names[i]);
            any = true;
        }
    text_add(t, any ? "\n" : "none\n");
}

/* "input      [rows, cols], read; the logits" */
static void list_tensor(struct text *t, const struct op_file_tensor *of)
{
    text_addf(t, "  %-10s [", of->role.name);
    for (int k = 0; k < of->rank; k++)
        text_addf(t, "%s%s", k ? ", " : "", expr_text(of->shape[k]));
    text_addf(t, "] %s%s, %s%s%s\n", of->role.dtype == DTYPE_NONE ? "of the case's dtype" : dtype_name(of->role.dtype),
              of->image ? ", an image in the case's layout" : "",
              of->role.output     ? "written"
              : of->role.constant ? "read, constant"
                                  : "read",
              of->what ? "; " : "", of->what ? of->what : "");
}

/* "cols  elements of a row (default 1024, 1 to 4096)" */
static void list_field(struct text *t, const struct op_field *f)
{
    const char *comma = "";
    struct text may = {0};
    bool number = f->kind == FIELD_INT || f->kind == FIELD_REAL, required = f->fallback == OP_REQUIRED;
    for (int i = 0; f->kind == FIELD_WORD && f->words[i]; i++, comma = ", ")
        text_addf(&may, "%s%s", comma, f->words[i]);
    if (required)
        text_addf(&may, "%srequired", *comma ? "; " : "");
    else if (f->kind == FIELD_WORD)
        text_addf(&may, "; default %s", f->words[f->fallback]);
    else if (number)
        text_addf(&may, "default %.9g", f->kind == FIELD_REAL ? f->real : (double)f->fallback);
    if (f->kind == FIELD_REAL && (f->least > -FIELD_REAL_MOST || f->most < FIELD_REAL_MOST))
        text_addf(&may, ", %.9g to %.9g", f->least, f->most);
    if (f->kind == FIELD_INT && f->max < INT32_MAX)
        text_addf(&may, ", %lld to %lld", (long long)f->min, (long long)f->max);
    text_addf(t, may.len ? "  %-10s %s (%s)\n" : "  %-10s %s\n", f->name, f->what, text_get(&may));
    text_free(&may);
}

static void list_op(struct text *t, const struct op *op)
{
    fields_op(op);
    text_addf(t, "%s: %s\n\nlayer keys\n", op->name, op->about);
    for (const struct op_field *f = op->fields; f->name; f++)
        list_field(t, f);
    text_add(t, "\nsymbols of a head's expressions\n");
    for (const struct op_symbol *s = op->symbols; s->name; s++)
        text_addf(t, "  %-10s %s\n", s->name, s->what);
    text_add(t, op->file ? "\ntensors\n" : "\ntensors (bias, residual, masks: where the layer has them)\n");
    for (int i = 0; op->file && i < op->file->tensor_count; i++)
        list_tensor(t, &op->file->tensors[i]);
    for (int i = 0; !op->file && op->roles[i]; i++)
        text_addf(t, "  %-11s %s\n", op->roles[i]->name, op->roles[i]->output ? "written" : "read");
    text_add(t, "\n");
    list_set(t, "epilogue", op->epilogues, epilogue_names, 0);
    list_set(t, "dtype", op->dtypes, dtype_names, 1);
    list_set(t, "layout", op->layouts, layout_names, 1);
    if (op->has_math)
        list_set(t, "math", ~0u, math_names, 1);
    for (int i = 0; op->image && i < IMAGE_AXES; i++)
        if (i < IMAGE_PLANES || op->volume)
            text_addf(t, "reads      %-7s %s\n", (const char *const[]){"rows", "columns", "planes"}[i], expr_text(op->image->reads[i]));
    if (op->image)
        text_addf(t, "output     %s\n", expr_text(op->image->output));
    if (op->file)
        text_addf(t, "reference  %s %s\n", op->file->source ? op->file->source : "files", op->file->function ? op->file->function : "");
    text_addf(t, "baseline   %s\nfirst rung %s\n", op->row0 ? op->row0 : "none", op->naive);
}

/* Where it is at par with the library, as its head says. */
static void list_claims(struct text *t, const struct variant *v)
{
    const struct node *n = node_get(v->head, "claims");
    for (int i = 0; n && i < (n->kind == NODE_LIST ? n->count : 1); i++)
        text_addf(t, "%s%s", i ? " and " : "", n->kind == NODE_LIST ? n->items[i]->text : n->text);
}

static void list_variant(struct table *t, const struct variant *v)
{
    SCOPED_TEXT claims = {0};
    list_claims(&claims, v);
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", v->name);
    table_cell(t, PAINT_NONE, "%s%s%s%s", v->what ? v->what : "", v->from ? " (from " : "", v->from ? v->from : "", v->from ? ")" : "");
    if (claims.len) { /* below it */
        table_row(t, LINE_PLAIN);
        table_absent(t, 1);
        table_cell(t, PAINT_NONE, "claims %s", text_get(&claims));
    }
}

static int list_variants(struct text *t, const struct option_list *dirs, const char *one, struct error *err)
{
    struct variant_set set = {0};
    if (!variant_set_load(dirs->items, &set, err))
        return cli_fail(err);
    struct table *all = list_table("variant", "what");
    int code = 0, found = 0;
    for (int i = 0; i < set.count; i++) {
        const struct variant *v = set.items[i];
        if (one && strcmp(one, v->name))
            continue;
        found++;
        if (!one) {
            list_variant(all, v);
            continue;
        }
        fields_variant(v);
        text_addf(t, "%-34s %s%s%s%s\n", v->name, v->what ? v->what : "", v->from ? " (from " : "", v->from ? v->from : "",
                  v->from ? ")" : "");
        text_addf(t, "%s\n\n", v->path);
        variant_show(v, t);
    }
    cli_table(all);
    for (int i = 0; i < set.note_count; i++)
        cli_say(stderr, "bench: note: %s\n", set.notes[i]);
    if (one && !found) {
        variant_find(&set, one, NULL, NULL, err);
        code = cli_fail(err);
    }
    variant_set_free(&set);
    return code;
}

static int list_scenarios(struct error *err)
{
    struct table *t = list_table("scenario", "about");
    SCOPED char *dir = file_share("scenarios"), **names = NULL;
    int count = file_list(dir, ".yaml", &names, err), code = 0;
    if (count < 0)
        code = cli_fail(err);
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(dir, names[i]);
        struct scenario *s = scenario_load(path, err);
        if (s) {
            table_row(t, LINE_PLAIN);
            table_cell(t, PAINT_NONE, "%.*s", (int)strcspn(names[i], "."), names[i]);
            table_cell(t, PAINT_NONE, "%s", s->about ? s->about : "");
        } else {
            code = cli_fail(err);
        }
        scenario_free(s);
        free(names[i]);
    }
    cli_table(t);
    return code;
}

static void list_chips(void)
{
    struct table *t = list_table("chip", "arch");
    table_column(t, "board", "", ALIGN_LEFT);
    table_column(t, "sms", "", ALIGN_RIGHT);
    int count;
    const struct chip *chips = chip_table(&count);
    for (int i = 0; i < count; i++) {
        char sms[24];
        snprintf(sms, sizeof sms, "%d SMs", chips[i].sm_count);
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", chips[i].name);
        table_cell(t, PAINT_NONE, "%s", chips[i].arch);
        table_cell(t, PAINT_NONE, "%s", chips[i].board);
        table_number(t, PAINT_NONE, chips[i].sm_count, sms);
    }
    cli_table(t);
}

static void list_device(struct table *t, const char *name, const char *format, const char *about)
{
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", name);
    SCOPED char *text = text_format(format, about);
    table_cell(t, PAINT_NONE, "%s", text);
}

static void list_columns(void)
{
    struct table *t = list_table("column", "unit");
    table_column(t, "what", "", ALIGN_LEFT);
    for (const struct column *c = columns; c->name; c++) {
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", c->name);
        table_cell(t, PAINT_NONE, "%s", c->unit);
        table_cell(t, PAINT_NONE, "%s", c->what);
    }
    cli_table(t);
}

static int list_devices(void)
{
    struct table *t = list_table("device", "about");
    struct session_device d;
    struct error err = {0};
    if (session_device(&(struct session_probe){.spec = "cuda:0"}, NULL, &d, &err))
        list_device(t, "cuda:0", "%s", d.about);
    else
        list_device(t, "cuda:0", "not here: %s", err.text);
    if (session_device(&(struct session_probe){.spec = "emu"}, NULL, &d, &err))
        list_device(t, "emu", "%s; emu:CHIP for each of bench list chips", d.about);
    cli_table(t);
    return 0;
}

int cli_list(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(option_list_free) struct option_list dirs = {0};
    SCOPED_BY(option_list_free) struct option_list ops = {0};
    const char *out = NULL;
    const struct option options[] = {
        {"--variants", 'V', OPTION_LIST, "NAME=DIR", "a folder of your own variants, or one .cu", &dirs},
        {"--ops", 0, OPTION_LIST, "FILE", "an op of your own, or a folder of them", &ops},
        {"--out", 'o', OPTION_TEXT, "DIR", "runs: where the database is; default ./.bench", &out},
        {0},
    };
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    static const char *const whats[] = {"ops",   "op",      "variants", "variant", "scenarios", "devices",
                                        "chips", "columns", "runs",     "history", NULL};
    struct error err = {0};
    SCOPED_TEXT t = {0};
    int count, code;
    const struct verb *own = argc > 1 && !strcmp(argv[1], "history") ? cli_verb(argv[1]) : NULL; /* it has options of its own */
    if (own)
        return own->run(own, argc - 1, argv + 1);
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    code = 0;
    const char *what = count ? rest[0] : "variants", *name = count > 1 ? rest[1] : NULL;
    if (!op_load(ops.items, &err))
        return cli_fail(&err);
    if (!strcmp(what, "ops")) {
        list_ops();
    } else if (!strcmp(what, "op")) {
        const struct op *op = name ? op_find(name) : NULL;
        if (op) {
            list_op(&t, op);
        } else {
            const char *near = name ? text_nearest_in(name, op_names()) : NULL;
            error_set(&err, ERROR_USAGE, name ? "no op '%s'" : "which op?%s", name ? name : "");
            error_hint(&err, near ? "bench list op %s" : "bench list ops%s", near ? near : "");
            if (name && !ops.count)
                op_unknown(&err);
            code = cli_fail(&err);
        }
    } else if (!strcmp(what, "variants") || !strcmp(what, "variant")) {
        code = list_variants(&t, &dirs, !strcmp(what, "variant") ? name ? name : "" : NULL, &err);
    } else if (!strcmp(what, "scenarios")) {
        code = list_scenarios(&err);
    } else if (!strcmp(what, "chips")) {
        list_chips();
    } else if (!strcmp(what, "runs")) {
        code = cli_list_runs(cli_out_dir(out));
    } else if (!strcmp(what, "devices")) {
        code = list_devices();
    } else if (!strcmp(what, "columns")) {
        list_columns();
    } else {
        const char *near = text_nearest_in(what, whats);
        error_set(&err, ERROR_USAGE, "nothing called '%s' to list", what);
        error_hint(&err, "%s", near ? near : "ops, op NAME, variants, variant NAME, scenarios, devices, chips, columns, runs, history ROW");
        code = cli_fail(&err);
    }
    cli_page(&t);
    return code;
}

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
                error_set(err, ERROR_USAGE, "%s: %s", plan.rows[k].id, plan.rows[k].broken->text);
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

/* Every scenario is looked at; the first fault decides the exit code. */
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
static void plan_line(struct text *t, const struct plan_row *r, const char *name)
{
    const char *is = NULL;
    for (int i = 0; i < r->program.param_count; i++)
        is = !strcmp(r->program.param[i].name, "is") ? r->program.param[i].value : is;
    text_addf(t, "    %s", name);
    if (r->broken || !r->program.feasible)
        text_addf(t, "  -- %s", r->broken ? r->broken->text : r->program.reason);
    else
        text_addf(t, "%s%s%s", is ? "  is " : "", is ? is : "", r->program.claims ? "  claims" : "");
    text_add(t, "\n");
}

/* What --json says of a case. */
static struct table *plan_table(void)
{
    struct table *t = list_table("case", "work");
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

static void plan_case(struct text *t, struct table *record, const struct plan *plan, int index, bool all_rows)
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
    for (int i = 0; i < plan->row_count; i++)
        if (plan->rows[i].case_index == index) {
            claimed += !plan->rows[i].broken && plan->rows[i].program.feasible && plan->rows[i].program.claims;
            if (plan->rows[i].broken)
                broken++;
            else if (plan->rows[i].program.feasible)
                ready++;
            else
                infeasible++;
        }
    work_describe(&c->work, &line);
    text_addf(t, "%s\n  %s%s\n", c->id, text_get(&line), c->cropped ? "  (cropped)" : "");
    text_addf(t, "  %.4g GFLOP  %.4g MB", flop / 1e9, bytes / 1e6);
    if (sparse && made)
        text_addf(t, "  %.3g %% of inputs change, %.3g %% of outputs: %.4g GFLOP, %.4g MB", useful.input_share * 100,
                  useful.output_share * 100, useful.flop / 1e9, useful.bytes / 1e6);
    else if (sparse)
        text_addf(t, "  %s", mask.text);
    text_addf(t, "  floor %.3g us (%s)", f.ns / 1e3, floor_by_name(f.by));
    plan_record(record, c->id, text_get(&line), (double[]){flop, bytes, f.ns, (double)c->repeat, ready, infeasible, broken, claimed}, 8);
    text_free(&line);
    scenario_layer_networks(plan->scenario, c->layer, &line);
    if (line.len)
        text_addf(t, "  in %s", text_get(&line));
    else if (c->repeat > 1)
        text_addf(t, "  x%lld", (long long)c->repeat);
    text_addf(t, "  %d row%s ready, %d infeasible", ready, text_s(ready), infeasible);
    if (claimed)
        text_addf(t, ", %d claim%s to be at par with the library", claimed, claimed == 1 ? "s" : "");
    text_addf(t, broken ? ", %d broken\n" : "\n", broken);
    for (int i = 0; all_rows && i < plan->row_count; i++) {
        const struct plan_row *r = &plan->rows[i];
        if (r->case_index == index)
            plan_line(t, r, r->id + strlen(c->id) + 1);
    }
    text_free(&line);
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

int cli_plan(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    bool all_rows = false, check = false;
    struct option options[PLAN_OPTION_COUNT + 3] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    struct error err = {0};
    SCOPED_TEXT t = {0};
    SCOPED_BY(plan_free) struct plan plan = {0};
    SCOPED char *path = NULL;
    int count, code;
    cli_plan_options(&a, options);
    options[PLAN_OPTION_COUNT] =
        (struct option){"--rows", 0, OPTION_FLAG, NULL, "every row, with the reason of those that cannot run", &all_rows};
    options[PLAN_OPTION_COUNT + 1] = (struct option){
        "--check", 0, OPTION_FLAG, NULL, "only say whether scenarios, heads and mask files are valid; exit 2 when one is not", &check};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count < 1 || (count > 1 && !check))
        return cli_usage(verb, count ? "one scenario at a time, but for --check" : "which scenario?");
    if (check)
        return validate(rest, count, &a);
    bool cuda;
    const struct chip *chip = device_chip(a.device, &cuda, &err);
    if (!chip || !cli_plan_arguments(&a, rest[0], &path, &err) || !plan_make(&a.plan, cuda ? "cuda" : "emu", chip, &plan, &err) ||
        !plan_masks_fit(&plan, &err))
        return cli_fail(&err);
    double total_flop = 0, seconds = 0;
    struct table *record = plan_table();
    for (int i = 0; i < plan.case_count; i++) {
        plan_case(&t, record, &plan, i, all_rows);
        total_flop += work_flop(&plan.cases[i].work) * (double)plan.cases[i].repeat;
        int rows = 0, runs = 0;
        for (int k = 0; k < plan.row_count; k++)
            if (plan.rows[k].case_index == i && plan.rows[k].program.feasible) {
                rows++;
                runs += plan.rows[k].kind == PLAN_SEQUENCE ? plan.rows[k].sequence->of->frames : 3;
            }
        /* emu: some 10^9 multiply-adds a second; cuda: reference, transfers, then the layer's budget at most */
        seconds += cuda ? 2 + work_flop(&plan.cases[i].work) / 20e9 + fmin(plan.time.budget_s, rows * 1.0)
                        : rows * 0.05 + runs * work_flop(&plan.cases[i].work) / 2e9;
    }
    scenario_network_explain(plan.scenario, &t);
    for (int i = 0; i < plan.note_count; i++)
        text_addf(&t, "%s\n", plan.notes[i]);
    text_addf(&t, "%d case%s, %d row%s; %.4g GFLOP with repeats; about %.0f s on %s\n", plan.case_count, text_s(plan.case_count),
              plan.row_count, text_s(plan.row_count), total_flop / 1e9, ceil(seconds), cuda ? "an H200" : "emu with 2 cores");
    if (cli_json())
        cli_table(record);
    else
        table_free(record);
    cli_page(&t);
    return 0;
}
