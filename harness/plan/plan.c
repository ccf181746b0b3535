#include "plan/private.h"
#include "base/file.h"
#include "base/text.h"
#include "model/floor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool plan_listed(const char *globs, const char *name)
{
    if (!globs)
        return true;
    char *copy = xstrdup(globs), *rest = copy;
    bool found = false;
    const char *base = strrchr(name, '/');
    for (char *one; !found && (one = strsep(&rest, ","));)
        found = text_glob(one, name) || (base && text_glob(one, base + 1));
    free(copy);
    return found;
}

const struct variant *plan_resolve(const struct variant_set *set, const char *name, const struct op *op)
{
    char *full = strchr(name, '/') ? xstrdup(name) : text_format("%s/%s", op->name, name);
    const struct variant *found = NULL;
    for (int i = 0; i < set->count && !found; i++)
        if (!strcmp(set->items[i]->name, full) && set->items[i]->op == op)
            found = set->items[i];
    free(full);
    return found;
}

bool plan_pinned(const struct plan *plan, int index)
{
    const struct plan_row *row = &plan->rows[index];
    return row->row_index == 0 || (row->variant && variant_is_library(row->variant));
}

/* The remembered point of a variant on a layer, and what is to be said about it. False: none; its own points run. */
static bool remembered(const struct plan_options *o, const struct work *work, const struct variant *variant, struct points *own,
                       char **note)
{
    char signature[HASH_TEXT];
    work_signature(work, signature);
    for (int i = 0; o->tuned && o->tuned[i]; i++) {
        char *copy = xstrdup(o->tuned[i]), *rest = copy;
        const char *of = strsep(&rest, "\t"), *name = strsep(&rest, "\t"), *label = strsep(&rest, "\t");
        struct error gone = {0};
        bool found = label && rest && !strcmp(of, signature) && !strcmp(name, variant->name);
        if (found && variant_at(variant, label, &own->points, &gone))
            own->count = 1;
        if (found)
            *note = own->count ? xstrdup(rest)
                               : text_format("the remembered point %s is none of its points any more; its declared ones run", label);
        free(copy);
        if (found)
            break;
    }
    return own->count > 0;
}

bool plan_add_rows(struct plan *plan, const struct plan_options *o, int case_index, int *row_index, const struct variant *variant,
                   const struct node *params, struct error *err)
{
    struct points own = {0};
    char *note = NULL;
    if (o->tune && !variant_is_library(variant))
        own.count = variant_space(variant, params, &own.points, err);
    else if (!remembered(o, &plan->cases[case_index].work, variant, &own, &note))
        own.count = variant_points(variant, params, &own.points, err);
    if (own.count < 0) {
        free(note);
        return false;
    }
    if (o->tune && own.count < 2 && *row_index > 0 && !variant_is_library(variant)) { /* nothing to search */
        variant_points_free(own.points, own.count);
        return true;
    }
    plan_points_keep(plan, own.points, own.count);
    const struct scenario_case *c = &plan->cases[case_index];
    for (int i = 0; i < own.count; i++) {
        struct plan_row row = {
            .kind = PLAN_LAYER, .case_index = case_index, .row_index = (*row_index)++, .variant = variant, .point = &own.points[i]};
        row.note = note ? xstrdup(note) : NULL;
        row.id = plan_row_id(c, row.point);
        struct error bind = {0};
        if (!variant_bind(&plan->variants, &own.points[i], &c->work, &plan->chip, &row.program, &bind))
            row.broken = xstrdup(bind.text);
        plan_row_add(plan, &row);
    }
    free(note);
    return true;
}

static bool same_folder(const char *a, const char *b)
{
    size_t n = strcspn(a, "/");
    return a[n] && !strncmp(a, b, n + 1);
}

/* A variant of --variants that the scenario does not list runs all the same when it was given as a file, or when the scenario lists nothing
 * of its folder: else the option would do nothing. */
static bool uninvited(const struct scenario *s, const struct variant *v)
{
    bool folder_listed = false;
    for (int i = 0; i < s->variant_count; i++) {
        if (!strcmp(s->variants[i].name, v->name))
            return false;
        folder_listed |= same_folder(v->name, s->variants[i].name);
    }
    return v->given == GIVEN_FILE || (v->given == GIVEN_FOLDER && !folder_listed);
}

/* Row 0 stands first, whether the scenario names it or not. */
static bool add_case(struct plan *plan, const struct plan_options *o, int case_index, bool *used, struct error *err)
{
    const struct scenario_case *c = &plan->cases[case_index];
    const struct op *op = c->work.op;
    int row_index = 0;
    const struct variant *first = op->row0 ? plan_resolve(&plan->variants, op->row0, op) : NULL;
    if (first && !plan_add_rows(plan, o, case_index, &row_index, first, NULL, err))
        return false;
    if (o->variant_names) {
        for (int i = 0; o->variant_names[i]; i++) {
            const struct variant *v = plan_resolve(&plan->variants, o->variant_names[i], op);
            if (v && v != first && !plan_add_rows(plan, o, case_index, &row_index, v, NULL, err))
                return false;
        }
        return true;
    }
    for (int i = 0; i < plan->scenario->variant_count; i++) {
        const struct scenario_variant *entry = &plan->scenario->variants[i];
        const struct variant *v = plan_resolve(&plan->variants, entry->name, op);
        if (!v)
            continue;
        used[i] = true;
        if (v != first && plan_listed(o->filter.only, v->name) && !plan_add_rows(plan, o, case_index, &row_index, v, entry->params, err))
            return false;
    }
    for (int i = 0; i < plan->variants.count; i++) {
        const struct variant *v = plan->variants.items[i];
        if (v->op == op && uninvited(plan->scenario, v) && plan_listed(o->filter.only, v->name) &&
            !plan_add_rows(plan, o, case_index, &row_index, v, NULL, err))
            return false;
    }
    return true;
}

bool plan_entries_exist(const struct scenario *s, const struct variant_set *set, const bool *used, struct error *err)
{
    for (int i = 0; i < s->variant_count; i++) {
        if (used && used[i])
            continue;
        bool exists = false; /* for a layer that a filter left out */
        for (int k = 0; k < s->layer_count && !exists; k++)
            exists = plan_resolve(set, s->variants[i].name, s->layers[k].work.op) != NULL;
        for (int k = 0; k < s->layer_count && s->sequence_count && !exists; k++)
            exists = plan_resolve(set, s->variants[i].name, op_of_changes(s->layers[k].work.op)) != NULL;
        if (s->network_count) /* a kernel for a network */
            exists |= plan_resolve(set, s->variants[i].name, op_find("chain")) != NULL;
        if (exists)
            continue;
        for (int k = 0; k < s->layer_count; k++)
            if (!variant_find(set, s->variants[i].name, s->layers[k].work.op, s->variants[i].node, err))
                return false;
        node_error(s->variants[i].node, err, "variant '%s' is for an op that no layer here has", s->variants[i].name);
        return false;
    }
    return true;
}

static void hash_files(struct plan *plan)
{
    struct hash *h = hash_begin();
    hash_add_text(h, plan->scenario->hash);
    for (int i = 0; i < plan->variants.count; i++) {
        hash_add_text(h, plan->variants.items[i]->name);
        hash_add_text(h, plan->variants.items[i]->hash);
    }
    hash_end(h, plan->files);
}

static bool something_to_search(const struct plan *plan)
{
    for (int i = 0; i < plan->row_count; i++)
        if (!plan_pinned(plan, i))
            return true;
    return false;
}

static bool fits(const struct plan *plan, const struct variant *v, const struct work *work)
{
    struct variant_point *points = NULL;
    struct program program = {0};
    struct error ignored = {0};
    int count = variant_points(v, NULL, &points, &ignored);
    bool ok = count > 0 && variant_bind(&plan->variants, &points[0], work, &plan->chip, &program, &ignored) && program.feasible;
    program_free(&program);
    if (count > 0)
        variant_points_free(points, count);
    return ok;
}

/* Times are held against the fastest of the library's rows: which of them --only leaves out is said. */
static void note_library_left_out(struct plan *plan, const char *only)
{
    struct text names = {0};
    for (int i = 0; only && i < plan->scenario->variant_count; i++)
        for (int k = 0; k < plan->case_count; k++) {
            const struct work *work = &plan->cases[k].work;
            const struct variant *v = plan_resolve(&plan->variants, plan->scenario->variants[i].name, work->op);
            const struct variant *first = v && work->op->row0 ? plan_resolve(&plan->variants, work->op->row0, work->op) : NULL;
            if (v && v != first && variant_is_library(v) && !plan_listed(only, v->name) && fits(plan, v, work)) {
                text_addf(&names, "%s%s", names.len ? ", " : "", v->name);
                break;
            }
        }
    if (names.len)
        text_addf(&plan->notes, "--only leaves out %s: where that is faster than row 0, every ratio is too good\n", text_get(&names));
    text_free(&names);
}

static void only_selects_nothing(const struct plan *plan, const char *only, struct error *err)
{
    int count = plan->scenario->variant_count;
    const char **names = xcalloc(2 * (size_t)count + 1, sizeof *names);
    struct text list = {0};
    for (int i = 0; i < count; i++) {
        const char *slash = strrchr(plan->scenario->variants[i].name, '/');
        names[2 * i] = plan->scenario->variants[i].name;
        names[2 * i + 1] = slash ? slash + 1 : names[2 * i];
        text_addf(&list, "%s%s", i ? ", " : "", names[2 * i + 1]);
    }
    const char *near = text_nearest(only, names, 2 * (size_t)count);
    error_set(err, ERROR_USAGE, "--only %s selects no variant of this scenario", only);
    error_hint(err, near ? "--only %s" : "variants: %s", near ? near : text_get(&list));
    text_free(&list);
    free(names);
}

bool plan_make(const struct plan_options *o, const char *device_kind, const struct chip *chip, struct plan *plan, struct error *err)
{
    bool ok = false, *used = NULL;
    *plan = (struct plan){.chip = *chip, .private_data = xcalloc(1, sizeof(struct kept))};
    ((struct kept *)plan->private_data)->mask_case = -1;
    plan->scenario = scenario_load(o->scenario_path, err);
    if (!plan->scenario || !variant_set_load(o->variant_dirs, &plan->variants, err))
        goto done;
    if (!counter_choose(&o->counters, node_get(plan->scenario->root, "counters"), &plan->counters, err))
        goto done;
    plan->case_count = scenario_expand(plan->scenario, device_kind, &o->filter, &plan->cases, err);
    if (plan->case_count < 0)
        goto done;
    plan->time = plan->scenario->time;
    plan->tune = o->tune;
    if (o->budget_s > 0)
        plan->time.budget_s = o->budget_s;
    hash_files(plan);
    used = xcalloc((size_t)plan->scenario->variant_count + 1, sizeof *used);
    for (int i = 0; i < plan->case_count; i++)
        if (!add_case(plan, o, i, used, err))
            goto done;
    if ((!o->tune && (!plan_chains_add(plan, o, device_kind, err) || !plan_sequences_add(plan, o, device_kind, err))) ||
        (!o->variant_names && !plan_entries_exist(plan->scenario, &plan->variants, used, err)))
        goto done;
    if (o->tune && !something_to_search(plan)) {
        error_set(err, ERROR_USAGE, "%s%s%s: none of these variants has parameters with more than one value", o->scenario_path,
                  o->filter.only ? " --only " : "", o->filter.only ? o->filter.only : "");
        error_hint(err, "bench list variant NAME shows a variant's parameters");
        goto done;
    }
    int own = 0; /* rows beside the row 0 that is always there */
    for (int i = 0; i < plan->row_count; i++)
        own += plan->rows[i].row_index > 0 || !o->filter.only || plan_listed(o->filter.only, plan_row_variant(&plan->rows[i]));
    if (o->filter.only && !own) {
        only_selects_nothing(plan, o->filter.only, err);
        goto done;
    }
    if (!strcmp(device_kind, "cuda") && !o->tune)
        note_library_left_out(plan, o->filter.only);
    if (!plan->row_count) {
        error_set(err, ERROR_USAGE, "%s: no variant fits any of its %d cases", o->scenario_path, plan->case_count);
        error_hint(err, "bench list variants");
        goto done;
    }
    ok = true;
done:
    free(used);
    if (!ok)
        plan_free(plan);
    return ok;
}

void plan_free(struct plan *plan)
{
    struct kept *kept = plan->private_data;
    for (int i = 0; i < plan->row_count; i++) {
        program_free(&plan->rows[i].program);
        free(plan->rows[i].id);
        free(plan->rows[i].broken);
        free(plan->rows[i].chain);
        if (plan->rows[i].sequence)
            free(plan->rows[i].sequence->changed.links);
        free(plan->rows[i].sequence);
        free(plan->rows[i].note);
    }
    free(plan->rows);
    for (int i = 0; kept && i < kept->count; i++)
        variant_points_free(kept->items[i].points, kept->items[i].count);
    if (kept) {
        free(kept->items);
        free(kept->mask_in);
        free(kept->mask_out);
    }
    plan_chains_free(plan);
    free(kept);
    if (plan->case_count > 0)
        scenario_cases_free(plan->cases, plan->case_count);
    variant_set_free(&plan->variants);
    counter_choice_free(&plan->counters);
    if (plan->scenario)
        scenario_free(plan->scenario);
    *plan = (struct plan){0};
}

/* Nothing can be faster than the part of the work that must be done: with a mask, the active pixels. */
double plan_arithmetic(const struct row *row, const struct work *work, enum math *math)
{
    *math = work->op->has_math ? work->math : MATH_NONE;
    if (row->algorithm && !strcmp(row->algorithm, "collapsed"))
        return work_collapsed_share(work);
    if (*math != MATH_F32 || !row->algorithm || strcmp(row->algorithm, "split3"))
        return 1;
    *math = MATH_F16_ACC32;
    return 3;
}

static void set_floor(struct row *row, const struct chip *chip, const struct work *work, const struct useful *useful)
{
    bool warm = false;
    enum math math;
    double times = plan_arithmetic(row, work, &math);
    struct floor f = floor_of(chip, times * useful->flop, useful->bytes, (int)math, warm);
    row->floor_ns = f.ns;
    bool tensor = f.by == FLOOR_COMPUTE && math != MATH_F32;
    strncpy(row->floor_by, tensor ? "tensor" : floor_by_name(f.by), sizeof row->floor_by - 1);
}

static bool case_masks(struct kept *kept, const struct plan *plan, int index, struct error *err)
{
    const struct work *w = &plan->cases[index].work;
    if (kept->mask_case == index)
        return true;
    free(kept->mask_in);
    free(kept->mask_out);
    kept->mask_in = kept->mask_out = NULL;
    kept->mask_case = -1;
    kept->tile.h = 0;
    if (w->mask.pattern == MASK_NONE)
        return work_useful(w, &kept->useful, err);
    kept->mask_in = xmalloc((size_t)(w->n * w->h * w->w) * sizeof *kept->mask_in);
    kept->mask_out = xmalloc((size_t)(w->n * w->p * w->q) * sizeof *kept->mask_out);
    if (!mask_both(w, kept->mask_in, kept->mask_out, err))
        return false;
    work_useful_of(w, kept->mask_in, kept->mask_out, &kept->useful);
    kept->mask_case = index;
    return true;
}

bool plan_tiles(const struct plan *plan, int index, struct tile_stats *out, struct error *err)
{
    struct kept *kept = plan->private_data;
    const struct plan_row *p = &plan->rows[index];
    const struct tile *t = &p->program.tile;
    if (!case_masks(kept, plan, p->case_index, err))
        return false;
    if (kept->tile.h != t->h || kept->tile.w != t->w || kept->tile.every != t->every || kept->tile.d != t->d)
        tile_stats(&plan->cases[p->case_index].work, kept->mask_in, kept->mask_out, t, &kept->tiles);
    kept->tile = *t;
    *out = kept->tiles;
    return true;
}

/* Of the links of a chain that each run by themselves; NAN when one declares no tiles. */
static double scheduled_by_links(const struct chain *chain, const struct tile *tiles, const float *mask_in)
{
    struct tile_stats stats;
    float *marks = NULL;
    double flop = 0;
    for (int i = 0; i < chain->count; i++) {
        const struct chain_link *l = &chain->links[i];
        const float *in = marks;
        float *next = chain_marks(l, in ? in : mask_in);
        if (tiles[i].h > 0)
            tile_stats(&l->work, in ? in : mask_in, next, &tiles[i], &stats);
        flop += tiles[i].h > 0 ? stats.flop : NAN;
        free(marks);
        marks = next;
    }
    free(marks);
    return flop;
}

bool plan_row_scheduled(const struct plan *plan, int index, struct row *row, struct error *err)
{
    const struct plan_row *p = &plan->rows[index];
    const struct tile *t = &p->program.tile;
    struct tile_stats stats;
    struct kept *kept = plan->private_data;
    if (plan->cases[p->case_index].work.mask.pattern == MASK_NONE)
        return true;
    if (!case_masks(kept, plan, p->case_index, err))
        return false;
    if (!p->program.uses_mask)
        row->flop_scheduled = row->flop;
    if (p->program.uses_mask && p->program.link_tiles && t->h < 1) {
        double flop = scheduled_by_links(plan->cases[p->case_index].work.chain, p->program.link_tiles, kept->mask_in);
        row->flop_scheduled = isnan(flop) ? row->flop_scheduled : flop;
    }
    if (t->h < 1)
        return true;
    if (!plan_tiles(plan, index, &stats, err))
        return false;
    struct text text = {0};
    tile_bins_text(&stats, &text);
    free(row->tile_fill);
    free(row->tile);
    row->tile_fill = text_take(&text);
    row->tile = t->d > 0       ? text_format("%ldx%ldx%ld", (long)t->d, (long)t->h, (long)t->w)
                : t->every > 1 ? text_format("%ldx%ld/%ld", (long)t->h, (long)t->w, (long)t->every)
                               : text_format("%ldx%ld", (long)t->h, (long)t->w);
    row->tiles = stats.tiles;
    row->tiles_active = stats.active;
    row->flop_scheduled = stats.flop;
    row->tile_weight_bytes = p->program.tile_weight_bytes;
    return true;
}

static bool set_sparse(const struct plan *plan, int index, struct row *row, struct error *err)
{
    const struct plan_row *p = &plan->rows[index];
    struct kept *kept = plan->private_data;
    if (p->kind == PLAN_SEQUENCE) /* what it must do is known when its frames are */
        return true;
    if (!case_masks(kept, plan, p->case_index, err))
        return false;
    struct useful useful = kept->useful;
    set_floor(row, &plan->chip, &plan->cases[p->case_index].work, &useful);
    if (plan->cases[p->case_index].work.mask.pattern == MASK_NONE)
        return true;
    row->density_in = useful.input_share;
    row->density_out = useful.output_share;
    row->flop_useful = useful.flop;
    row->bytes_useful = useful.bytes;
    return p->kind == PLAN_CHAIN || plan_row_scheduled(plan, index, row, err); /* a chain's program is made later */
}

struct row *plan_row_new(const struct plan *plan, int index, const char *device)
{
    const struct plan_row *p = &plan->rows[index];
    const struct scenario_case *c = &plan->cases[p->case_index];
    struct row *row = row_new();
    struct text t = {0};
    row_set(&row->id, p->id);
    row_set(&row->case_id, c->id);
    row_set(&row->scenario, plan->scenario->name);
    row_set(&row->layer, c->layer->name);
    for (int i = 0; i < c->axis_count; i++)
        text_addf(&t, "%s%s=%s", i ? "," : "", c->axes[i].axis, c->axes[i].value);
    row->axes = text_take(&t);
    row_set(&row->variant, p->program.variant ? p->program.variant : plan_row_variant(p));
    row_set(&row->params, p->program.params ? p->program.params : p->point ? p->point->label : "");
    row_set(&row->device, device);
    row->case_index = plan->cases[p->case_index].place;
    row->row_index = p->row_index;
    row->repeat = c->repeat;
    scenario_layer_networks(plan->scenario, c->layer, &t);
    row->networks = t.len ? text_take(&t) : NULL;
    work_describe(&c->work, &t);
    row->work = text_take(&t);
    row_set(&row->op, c->work.op->name);
    row_set(&row->dtype, dtype_name(c->work.dtype));
    row_set(&row->math, c->work.op->has_math ? math_name(c->work.math) : "");
    row_set(&row->layout, layout_name(c->work.layout));
    row_set(&row->what, p->variant ? p->variant->what : p->program.what);
    if (p->variant) {
        row_set(&row->from, p->variant->from);
        row_set(&row->algorithm, p->variant->algorithm);
        memcpy(row->source_hash, p->variant->hash, sizeof row->source_hash);
    }
    row->flop = work_flop(&c->work);
    row->bytes = work_bytes(&c->work);
    row->claims = p->broken || !p->program.feasible ? -1 : p->program.claims;
    row->scratch_bytes = p->broken ? -1 : (int64_t)program_scratch_bytes(&p->program);
    if (p->kind == PLAN_SEQUENCE)
        plan_sequence_describe(p, row);
    row_set(&row->arch, plan->chip.arch);
    row_set(&row->note, p->note);
    static const char *const metrics[] = {"model.threads", "model.smem_bytes", "model.registers"}, *const units[] = {"threads", "B",
                                                                                                                     "registers"};
    for (int i = 0; i < PREDICT_COUNT; i++)
        if (!p->broken && p->program.predicted[i] >= 0)
            row_add_metric(row, -1, 0, metrics[i], units[i], "model", (double)p->program.predicted[i]);
    struct error mask = {0};
    if (!set_sparse(plan, index, row, &mask)) {
        row->status = ROW_BROKEN;
        row_set(&row->reason, mask.text);
    } else if (p->broken) {
        row->status = ROW_BROKEN;
        row_set(&row->reason, p->broken);
    } else if (!p->program.feasible) {
        row->status = ROW_INFEASIBLE;
        row_set(&row->reason, p->program.reason);
    }
    return row;
}

void plan_row_key(const struct plan *plan, int index, const char *device, const char *compiler, char out[HASH_TEXT])
{
    const struct plan_row *p = &plan->rows[index];
    char work[HASH_TEXT];
    work_key(&plan->cases[p->case_index].work, work);
    struct hash *h = hash_begin();
    hash_add_text(h, "row 1");
    hash_add_text(h, work);
    hash_add_text(h, plan_row_variant(p));
    for (int i = 0; i < p->program.unit_count; i++) { /* the variant's own file and those that complete it */
        hash_add_text(h, p->program.units[i].label);
        for (int k = 0; k < plan->variants.count; k++)
            if (!strcmp(plan->variants.items[k]->name, p->program.units[i].label))
                hash_add_text(h, plan->variants.items[k]->hash);
    }
    if (p->variant) {
        hash_add_text(h, p->variant->hash);
        hash_add_text(h, p->point->label);
    }
    if (p->kind == PLAN_CHAIN) { /* what it is made of depends on every row of its layers */
        hash_add_text(h, p->program.params);
        hash_add_text(h, plan->files);
    }
    if (p->kind == PLAN_SEQUENCE)
        plan_sequence_hash(p, h);
    hash_add_text(h, compiler);
    hash_add_text(h, plan->chip.arch);
    hash_add_text(h, device);
    hash_add(h, &plan->time.cache, sizeof plan->time.cache);
    hash_add(h, &plan->time.load, sizeof plan->time.load);
    hash_add(h, &plan->time.half_width, sizeof plan->time.half_width);
    if (plan->tune)
        hash_add_text(h, "race");
    hash_end(h, out);
}

/* Is the row's variant called like the last of the words, with or without its folder? */
static bool called(const struct plan_row *row, const char *words)
{
    const char *last = strrchr(words, ' '), *name = row->variant ? row->variant->name : "", *slash = strrchr(name, '/');
    last = last ? last + 1 : words;
    return !strcmp(name, last) || (slash && !strcmp(slash + 1, last));
}

int plan_find(const struct plan *plan, const char *id, struct error *err)
{
    int found = -1, count = 0, own = -1, owns = 0, whole = -1, wholes = 0;
    struct text near = {0};
    for (int i = 0; i < plan->row_count; i++)
        if (!strcmp(plan->rows[i].id, id)) {
            text_free(&near);
            return i;
        }
    for (int i = 0; i < plan->row_count; i++)
        if (text_words_match(id, plan->rows[i].id)) {
            found = i;
            if (called(&plan->rows[i], id)) {
                own = i;
                owns++;
            }
            if (text_words_whole(id, plan->rows[i].id)) {
                whole = i;
                wholes++;
            }
            if (count++ < 5)
                text_addf(&near, "%s%s", count > 1 ? "  " : "", plan->rows[i].id);
        }
    if (count > 1 && (owns == 1 || wholes == 1)) { /* "body mma_sync" means mma_sync, though mma_sync_d2s has the words too */
        count = 1;
        found = owns == 1 ? own : whole;
    }
    if (count != 1) {
        text_add(&near, count > 5 ? "  ..." : "");
        error_set(err, ERROR_USAGE, count ? "'%s' means %d rows" : "no row '%s'", id, count);
        error_hint(err, count ? "say more of the id: %s" : "bench plan SCENARIO lists the rows%s", text_get(&near));
        found = -1;
    }
    text_free(&near);
    return found;
}
