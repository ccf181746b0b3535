/* bench list: ops, variants, scenarios, devices, chips, columns and runs. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "op/op_file.h"
#include "op/file/ops.h"
#include "report/form/document.h"
#include "kernel/head/load.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A table with a name and a sentence in each line. */
static struct table *list_table(const char *name, const char *about)
{
    struct table *t = table_new();
    table_columns(t, {name, "", ALIGN_LEFT}, {about, "", ALIGN_LEFT});
    return t;
}

static void list_ops(void) /* the first sentence of each; a point inside a number does not end it */
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
              of->role.before     ? "changed in place"
              : of->role.contents ? "read, what it holds before"
              : of->role.output   ? "written"
              : of->role.constant ? "read, constant"
                                  : "read",
              of->what ? "; " : "", of->what ? of->what : "");
}

/* "cols  elements of a row (default 1024, 1 to 4096)" */
static void list_field(struct text *t, const struct op_field *f)
{
    const char *comma = "";
    SCOPED_TEXT may = {0};
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
}

static void list_op(struct text *t, const struct op *op)
{
    fields_op(op);
    text_addf(t, "%s: %s\n\nlayer keys\n", op->name, op->about);
    for (const struct op_field *f = op->fields; f->name; f++)
        list_field(t, f);
    text_add(t, "\nsymbols for expressions in a head\n");
    for (const struct op_symbol *s = op->symbols; s->name; s++)
        text_addf(t, "  %-10s %s\n", s->name, s->what);
    text_add(t, op->file ? "\ntensors\n" : "\ntensors (bias, residual and masks only if the layer has them)\n");
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

/* The conditions under which the head claims to be at par with the library. */
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
    }
    cli_table(t);
    return code;
}

static void list_chips(void)
{
    struct table *t = list_table("chip", "arch");
    table_columns(t, {"board", "", ALIGN_LEFT}, {"sms", "", ALIGN_RIGHT});
    int count;
    const struct chip *chips = chip_table(&count);
    for (int i = 0; i < count; i++) {
        char sms[24];
        snprintf(sms, sizeof sms, "%d SMs", chips[i].sm_count);
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", chips[i].name);
        table_cell(t, PAINT_NONE, "%s", chips[i].arch);
        table_cell(t, PAINT_NONE, "%s", chips[i].board);
        table_number(t, PAINT_NONE, chips[i].sm_count > 0 ? chips[i].sm_count : NAN, chips[i].sm_count > 0 ? sms : "");
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

static bool list_run(struct table *t, struct store *store, const struct run *r, struct error *err)
{
    int64_t rows = store_row_count(store, r->id, err);
    char planned[32] = "", id[24], count[32];
    snprintf(id, sizeof id, "%lld", (long long)r->id);
    snprintf(count, sizeof count, "%lld row%s", (long long)rows, text_s(rows));
    if (rows < 0)
        return false;
    if (!r->ended[0] && r->planned > rows)
        snprintf(planned, sizeof planned, ", %d planned", r->planned);
    table_row(t, LINE_PLAIN);
    table_number(t, PAINT_NONE, (double)r->id, id);
    table_cell(t, PAINT_NONE, "%s", r->started);
    table_cell(t, PAINT_NONE, "%s", r->scenario ? r->scenario : "");
    table_cell(t, PAINT_NONE, "%s", r->device ? r->device : "");
    table_number(t, PAINT_NONE, (double)rows, count);
    table_cell(t, PAINT_NONE, "%s", r->commit ? r->commit : "");
    table_cell(t, PAINT_NONE, "%s%s", r->ended[0] ? "" : "interrupted", planned);
    return true;
}

static int list_runs(const char *out_dir)
{
    SCOPED_BY(store_leave) struct store *store = NULL;
    SCOPED_BY(runs_free) struct runs runs = {0};
    struct error err = {0};
    SCOPED char *database = cli_database(out_dir);
    bool ok = cli_store(database, "bench run SCENARIO", &store, &err) && store_runs(store, &runs, &err);
    static const char *const keys[] = {"run", "started", "scenario", "device", "rows", "commit", "state"};
    struct table *t = table_new();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        table_column(t, keys[i], "", i % 4 ? ALIGN_LEFT : ALIGN_RIGHT);
    ok = ok && ALL_OF(i, runs.count, list_run(t, store, &runs.items[i], &err));
    cli_table(t);
    return ok ? 0 : cli_fail(&err);
}

int cli_list(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    const char *out = NULL;
    const struct option options[] = {
        {"--variants", 'V', OPTION_LIST, "NAME=DIR", "a folder of your variants, or one .cu or .py file", &a.variants},
        {"--ops", 0, OPTION_LIST, "FILE", "your own op file, or a folder of them", &a.ops},
        {"--out", 'o', OPTION_TEXT, "DIR", "runs: folder of the database; default ./.bench", &out},
        {0},
    };
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    static const char *const whats[] = {"ops",   "op",      "variants", "variant", "scenarios", "devices",
                                        "chips", "columns", "runs",     "history", NULL};
    struct error err = {0};
    SCOPED_TEXT t = {0};
    int count, code;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    code = 0;
    const char *what = count ? rest[0] : "variants", *name = count > 1 ? rest[1] : NULL;
    if (!cli_python_variants(&a, &err) || !op_load(a.ops.items, &err))
        return cli_fail(&err);
    if (!strcmp(what, "ops")) {
        list_ops();
    } else if (!strcmp(what, "op")) {
        const struct op *op = name ? op_find(name) : NULL;
        if (op) {
            list_op(&t, op);
        } else {
            const char *near = name ? op_nearest(name) : NULL;
            error_set(&err, ERROR_USAGE, name ? "no op '%s'" : "which op?%s", name ? name : "");
            error_hint(&err, near ? "bench list op %s" : "bench list ops%s", near ? near : "");
            if (name && !a.ops.count)
                op_unknown(&err);
            code = cli_fail(&err);
        }
    } else if (!strcmp(what, "variants") || !strcmp(what, "variant")) {
        code = list_variants(&t, &a.variants, !strcmp(what, "variant") ? name ? name : "" : NULL, &err);
    } else if (!strcmp(what, "scenarios")) {
        code = list_scenarios(&err);
    } else if (!strcmp(what, "chips")) {
        list_chips();
    } else if (!strcmp(what, "runs")) {
        code = list_runs(cli_out_dir(out));
    } else if (!strcmp(what, "devices")) {
        code = list_devices();
    } else if (!strcmp(what, "columns")) {
        list_columns();
    } else {
        const char *near = text_nearest_in(what, whats);
        error_set(&err, ERROR_USAGE, "there is no list '%s'", what);
        error_hint(&err, "%s", near ? near : "ops, op NAME, variants, variant NAME, scenarios, devices, chips, columns, runs, history ROW");
        code = cli_fail(&err);
    }
    cli_page(&t);
    return code;
}
