#include "gate/side.h"
#include "base/order.h"
#include "base/spec.h"
#include "base/text.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One fact a line, in the order in which reports list them. */
#define INSTRUCTIONS_ALLOWED 0.005
const struct gate_kind gate_kinds[] = {
    {"registers", GATE_NEUTRAL, 0, true, true, "regs", NULL, false},
    {"spill_store_bytes", GATE_MORE_IS_WORSE, 0, true, true, "spill", "static.spill_stores", false},
    {"spill_load_bytes", GATE_MORE_IS_WORSE, 0, false, true, "fill", "static.spill_loads", false},
    {"stack_bytes", GATE_MORE_IS_WORSE, 0, false, true, "stack", NULL, false},
    {"static_smem", GATE_NEUTRAL, 0, false, true, "static smem", NULL, false},
    {"dynamic_smem", GATE_NEUTRAL, 0, false, true, "dynamic smem", NULL, false},
    {"occupancy", GATE_LESS_IS_WORSE, 0, true, true, "occupancy", NULL, false},
    {"static.sass_total", GATE_NEUTRAL, 0, false, true, "machine code", NULL, false},
    {"static.sass_ffma", GATE_NEUTRAL, 0, false, false, "ffma", NULL, false},
    {"static.sass_hfma2", GATE_NEUTRAL, 0, false, false, "hfma2", NULL, false},
    {"static.sass_mma", GATE_NEUTRAL, 0, false, false, "mma", NULL, false},
    {"static.sass_gmma", GATE_NEUTRAL, 0, false, false, "gmma", NULL, false},
    {"static.sass_ldg", GATE_NEUTRAL, 0, false, false, "ldg", NULL, false},
    {"static.sass_stg", GATE_NEUTRAL, 0, false, false, "stg", NULL, false},
    {"static.sass_lds", GATE_NEUTRAL, 0, false, false, "lds", NULL, false},
    {"static.sass_sts", GATE_NEUTRAL, 0, false, false, "sts", NULL, false},
    {"static.sass_ldl", GATE_NEUTRAL, 0, false, false, "ldl", NULL, false},
    {"static.sass_stl", GATE_NEUTRAL, 0, false, false, "stl", NULL, false},
    {"static.sass_ldsm", GATE_NEUTRAL, 0, false, false, "ldsm", NULL, false},
    {"static.sass_ldgsts", GATE_NEUTRAL, 0, false, false, "ldgsts", NULL, false},
    {"static.sass_bar", GATE_NEUTRAL, 0, false, false, "bar", NULL, false},
    {"emu.warp_instructions", GATE_MORE_IS_WORSE, INSTRUCTIONS_ALLOWED, true, true, "instructions", NULL, true},
    {"emu.warp_fma", GATE_NEUTRAL, 0, false, false, "fma", NULL, true},
    {"emu.tensor_ops", GATE_NEUTRAL, 0, false, false, "tensor", NULL, true},
    {"emu.global_sectors_ld", GATE_MORE_IS_WORSE, 0, true, true, "ld sectors", NULL, true},
    {"emu.global_sectors_st", GATE_MORE_IS_WORSE, 0, true, true, "st sectors", NULL, true},
    {"emu.global_sectors_atomic", GATE_MORE_IS_WORSE, 0, false, true, "atomic sectors", NULL, true},
    {"emu.async_sectors", GATE_MORE_IS_WORSE, 0, false, true, "async sectors", NULL, true},
    {"emu.local_sectors", GATE_MORE_IS_WORSE, 0, false, true, "local sectors", NULL, true},
    {"emu.shared_wavefronts_ld", GATE_MORE_IS_WORSE, 0, false, true, "ld wavefronts", NULL, true},
    {"emu.shared_wavefronts_st", GATE_MORE_IS_WORSE, 0, false, true, "st wavefronts", NULL, true},
    {"emu.shared_bank_conflicts", GATE_MORE_IS_WORSE, 0, true, true, "conflicts", NULL, true},
    {"emu.atomic_contention", GATE_MORE_IS_WORSE, 0, false, true, "contention", NULL, true},
    {"emu.barriers", GATE_NEUTRAL, 0, false, false, "barriers", NULL, true},
    {"emu.divergent_branches", GATE_NEUTRAL, 0, false, false, "divergent", NULL, true},
    {NULL, GATE_NEUTRAL, 0, false, false, NULL, NULL, false},
};

const struct gate_kind *gate_kind_find(const char *what)
{
    const struct gate_kind *k = gate_kinds;
    while (k->what && strcmp(k->what, what) != 0)
        k++;
    return k->what ? k : NULL;
}

bool gate_entry_stands(const struct gate_entry *e)
{
    return e && (e->status == ROW_OK || e->status == ROW_FOIL);
}

double gate_entry_fact(const struct gate_entry *e, const char *step, const char *what)
{
    for (int i = 0; e && i < e->fact_count; i++)
        if (!strcmp(e->facts[i].step, step) && !strcmp(e->facts[i].kind->what, what))
            return e->facts[i].value;
    return NAN;
}

void gate_entry_add(struct gate_entry *e, const char *step, const struct gate_kind *kind, double value)
{
    *APPEND(e->facts, e->fact_count) = (struct gate_fact){xstrdup(step), kind, value};
}

struct gate_entry *gate_side_add(struct gate_side *side, const char *id)
{
    struct gate_entry *e = APPEND(side->entries, side->count);
    *e = (struct gate_entry){.id = xstrdup(id)};
    return e;
}

char *gate_step_name(const struct row *row, int index)
{
    int same = 1;
    for (int i = 0; i < index; i++)
        same += !strcmp(row->steps[i].name, row->steps[index].name);
    return same > 1 ? text_format("%s#%d", row->steps[index].name, same) : xstrdup(row->steps[index].name);
}

static void take_step(struct gate_entry *e, const struct row *row, int index)
{
    SCOPED char *step = gate_step_name(row, index);
    for (const struct gate_kind *k = gate_kinds; k->what; k++) {
        const struct column *c = column_find(COLUMN_STEP, k->what);
        const struct row_metric *m = c || k->whole ? NULL : row_metric(row, index, k->what);
        struct column_value v = {.absent = true};
        if (c)
            v = column_get(c, &row->steps[index]);
        if (!v.absent || m)
            gate_entry_add(e, step, k, m ? m->value : v.is_real ? v.real : (double)v.integer);
    }
}

static void take_row(struct gate_side *side, const struct run *run, const struct row *row)
{
    struct gate_entry *e = gate_side_add(side, row->id ? row->id : "");
    e->scenario = xstrdup(row->scenario ? row->scenario : "");
    e->layer = xstrdup(row->layer ? row->layer : "");
    e->status = row->status;
    e->reason = row->reason ? xstrdup(row->reason) : NULL;
    e->row = row;
    e->run = run;
    memcpy(e->launch, row->launch_hash, sizeof e->launch);
    if (!gate_entry_stands(e))
        return;
    for (int i = 0; i < row->step_count; i++)
        take_step(e, row, i);
    for (const struct gate_kind *k = gate_kinds; k->what; k++) {
        const struct row_metric *m = !k->whole ? NULL : row_metric(row, -1, k->what);
        if (m)
            gate_entry_add(e, "", k, m->value);
    }
}

/* ---- what made it ---- */

static char *environment_text(const struct run *run, const char *key)
{
    json_auto_t *all = run->environment ? json_loads(run->environment, 0, NULL) : NULL;
    const char *text = json_string_value(json_object_get(all, key));
    return text && *text ? xstrdup(text) : NULL;
}

struct maker {
    const char *name;
    size_t offset;
};
static const struct maker makers[] = {
    {"device", offsetof(struct gate_side, about)},      {"chip", offsetof(struct gate_side, arch)},
    {"compiler", offsetof(struct gate_side, compiler)}, {"driver", offsetof(struct gate_side, driver)},
    {"cuDNN", offsetof(struct gate_side, library)},
};
#define MAKERS (sizeof makers / sizeof *makers)

static char **maker_at(const struct gate_side *side, size_t i)
{
    return (char **)(void *)((char *)(uintptr_t)side + makers[i].offset);
}

void gate_side_differences(const struct gate_side *base, const struct gate_side *head, struct text *t)
{
    for (size_t i = 0; i < MAKERS; i++) {
        const char *a = *maker_at(base, i), *b = *maker_at(head, i);
        if (a && b && *a && *b && strcmp(a, b) != 0)
            text_addf(t, "%s%s %s, not %s", t->len ? "; " : "", makers[i].name, b, a);
    }
}

void gate_side_describe(const struct gate_side *side, struct text *t)
{
    const char *gap = "";
    for (size_t i = 0; i < MAKERS; i++) {
        const char *text = *maker_at(side, i);
        if (text && *text) {
            text_addf(t, "%s%s%s%s", gap, i > 2 ? makers[i].name : "", i > 2 ? " " : "", text);
            gap = " \302\267 ";
        }
    }
}

static void side_describe_run(struct gate_side *side, const struct run *run, struct row *const *rows, int count)
{
    bool timed = spec_is_timed(run->device);
    side->device = xstrdup(run->device ? run->device : "");
    const char *about = timed ? run->product : side->device; /* emu is the same wherever it runs */
    side->about = about ? xstrdup(about) : NULL;
    side->compiler = run->compiler ? xstrdup(run->compiler) : NULL;
    side->driver = timed && run->driver ? xstrdup(run->driver) : NULL;
    side->library = timed ? environment_text(run, "cudnn") : NULL;
    side->bench = run->commit ? xstrdup(run->commit) : NULL;
    for (int i = 0; i < count && !side->arch; i++)
        side->arch = rows[i]->arch ? xstrdup(rows[i]->arch) : NULL;
}

bool gate_side_take(struct gate_side *side, struct run *run, struct row **rows, int count, const char *only, struct error *err)
{
    struct gate_part *part = xcalloc(1, sizeof *part);
    SCOPED_BY(gate_side_free) struct gate_side one = {0};
    SCOPED_TEXT differences = {0};
    *part = (struct gate_part){*run, rows, count};
    *run = (struct run){0};
    *APPEND(side->parts, side->part_count) = part;
    if (side->part_count == 1) {
        side_describe_run(side, &part->run, rows, count);
    } else {
        side_describe_run(&one, &part->run, rows, count);
        gate_side_differences(side, &one, &differences);
    }
    bool ok = !differences.len ||
              error_set(err, ERROR_ENVIRONMENT, "%s: its runs were made on different systems: %s", side->name, text_get(&differences));
    for (int i = 0; ok && i < count; i++)
        if (!only ? !rows[i]->side || !*rows[i]->side : rows[i]->side && !strcmp(rows[i]->side, only))
            take_row(side, &part->run, rows[i]);
    return ok;
}

ORDER(side_by_id, struct gate_entry, strcmp(x->id, y->id))

bool gate_side_sort(struct gate_side *side, struct error *err)
{
    if (side->count)
        qsort(side->entries, (size_t)side->count, sizeof *side->entries, side_by_id);
    for (int i = 1; i < side->count; i++)
        if (!strcmp(side->entries[i - 1].id, side->entries[i].id))
            return error_set(err, ERROR_USAGE, "%s: two rows have the name %s", side->name, side->entries[i].id);
    return true;
}

struct gate_op *gate_side_op(struct gate_side *side, const char *path)
{
    struct gate_op *op = APPEND(side->ops, side->op_count);
    *op = (struct gate_op){.path = xstrdup(path)};
    return op;
}

const struct gate_entry *gate_side_find(const struct gate_side *side, const char *id)
{
    struct gate_entry key = {.id = (char *)(uintptr_t)id};
    return side->count ? bsearch(&key, side->entries, (size_t)side->count, sizeof key, side_by_id) : NULL;
}

void gate_side_free(struct gate_side *side)
{
    for (int i = 0; i < side->count; i++) {
        struct gate_entry *e = &side->entries[i];
        for (int k = 0; k < e->fact_count; k++)
            free(e->facts[k].step);
        free(e->facts);
        FREE_ALL(e->id, e->scenario, e->layer, e->reason);
    }
    free(side->entries);
    for (int i = 0; i < side->part_count; i++) {
        rows_free(side->parts[i]->rows, side->parts[i]->count);
        run_clear(&side->parts[i]->run);
        free(side->parts[i]);
    }
    free(side->parts);
    for (int i = 0; i < side->lack_count; i++)
        free(side->lacks[i].name);
    free(side->lacks);
    for (int i = 0; i < side->op_count; i++)
        free(side->ops[i].path);
    free(side->ops);
    for (size_t i = 0; i < MAKERS; i++)
        free(*maker_at(side, i));
    FREE_ALL(side->device, side->name, side->folder, side->bench);
    *side = (struct gate_side){0};
}
