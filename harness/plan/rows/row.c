/* What is known of a row before it runs: identity, work, lower bound, mask and tiles; and its key. */
#include "base/pool.h"
#include "base/text.h"
#include "device/chip/floor.h"
#include "op/mask/mask.h"
#include "kernel/head/load.h"
#include "plan/rows/private.h"
#include "store/family.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lower bound counts the part of the work that must be done: with a mask, the active pixels. */
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

bool plan_min_work(const struct plan *plan, int case_index, struct min_work *out, struct error *err)
{
    struct kept *kept = plan->private_data;
    bool masked = plan->cases[case_index].work.mask.pattern != MASK_NONE;
    if (kept->min_works && kept->min_works[case_index].read_bytes >= 0) {
        *out = kept->min_works[case_index];
        return true;
    }
    if (!case_masks(kept, plan, case_index, err))
        return false;
    min_work_of(&plan->cases[case_index].work, masked ? kept->mask_in : NULL, masked ? kept->mask_out : NULL, out);
    if (kept->min_works)
        kept->min_works[case_index] = *out;
    return true;
}

struct floor plan_floor(const struct chip *chip, const struct work *work, const struct min_work *least, const char *algorithm, bool warm)
{
    enum math math = work->op->has_math ? work->math : MATH_NONE;
    bool any = !algorithm || !strcmp(algorithm, "library"), split = !any && math == MATH_F32 && !strcmp(algorithm, "split3");
    struct need need = {min_work_flop(least, algorithm) * (split ? 3 : 1), least->read_bytes, least->write_bytes};
    return any ? floor_least(chip, &need, (int)math, warm) : floor_of(chip, &need, split ? (int)MATH_F16_ACC32 : (int)math, warm);
}

static bool set_floors(const struct plan *plan, int case_index, struct row *row, struct error *err)
{
    const struct work *work = &plan->cases[case_index].work;
    struct min_work least;
    if (!plan_min_work(plan, case_index, &least, err))
        return false;
    struct floor f = plan_floor(&plan->chip, work, &least, row->algorithm, false);
    bool tensor = f.by == FLOOR_COMPUTE && work->math != MATH_F32;
    row->floor_ns = f.ns;
    /* figures of a file are what its op says it needs, perhaps of a crop that is read in a few places: no bound */
    row->least_ns = work->op->file ? NAN : plan_floor(&plan->chip, work, &least, NULL, false).ns;
    snprintf(row->floor_by, sizeof row->floor_by, "%s", tensor ? "tensor" : floor_by_name(f.by));
    return true;
}

bool plan_tiles(const struct plan *plan, int index, struct tile_stats *out, struct error *err)
{
    struct kept *kept = plan->private_data;
    const struct plan_row *p = &plan->rows[index];
    const struct tile *t = &plan_program(plan, index)->tile;
    if (!case_masks(kept, plan, p->case_index, err))
        return false;
    if (kept->tile.h != t->h || kept->tile.w != t->w || kept->tile.every != t->every || kept->tile.d != t->d)
        tile_stats(&plan->cases[p->case_index].work, kept->mask_in, kept->mask_out, t, &kept->tiles);
    kept->tile = *t;
    *out = kept->tiles;
    return true;
}

/* Scheduled FLOP of the links of a chain that run by themselves; NAN if one declares no tiles. */
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
    const struct program *program = plan_program(plan, index);
    const struct tile *t = &program->tile;
    struct tile_stats stats;
    struct kept *kept = plan->private_data;
    if (plan->cases[p->case_index].work.mask.pattern == MASK_NONE)
        return true;
    if (!case_masks(kept, plan, p->case_index, err))
        return false;
    if (!program->uses_mask)
        row->flop_scheduled = row->flop;
    if (program->uses_mask && program->link_tiles && t->h < 1) {
        double flop = scheduled_by_links(plan->cases[p->case_index].work.chain, program->link_tiles, kept->mask_in);
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
    row->tile_weight_bytes = program->tile_weight_bytes;
    return true;
}

static bool set_sparse(const struct plan *plan, int index, struct row *row, struct error *err)
{
    const struct plan_row *p = &plan->rows[index];
    struct kept *kept = plan->private_data;
    if (p->kind == PLAN_SEQUENCE) /* what it must do is known when its frames are */
        return true;
    if (!set_floors(plan, p->case_index, row, err) || !case_masks(kept, plan, p->case_index, err))
        return false;
    struct useful useful = kept->useful;
    const struct mask *mask = &plan->cases[p->case_index].work.mask;
    if (mask->pattern == MASK_NONE)
        return true;
    row_set(&row->mask_pattern, mask_pattern_names[mask->pattern]);
    row->mask_radius = mask_pattern_keys[mask->pattern] & MASK_RADIUS ? mask->radius : -1;
    row->mask_seed = mask_pattern_keys[mask->pattern] & MASK_SEED ? (int64_t)mask->seed : -1;
    row->mask_density = mask_pattern_keys[mask->pattern] & MASK_DENSITY ? mask->density : -1;
    row->density_in = useful.input_share;
    row->density_out = useful.output_share;
    row->flop_useful = useful.flop;
    row->bytes_useful = useful.bytes;
    return p->kind == PLAN_CHAIN || plan_row_scheduled(plan, index, row, err); /* a chain's program is made later */
}

/* Adds the variants of the row and its parameters: those of the configuration if a head could not be bound. */
static void set_parts(struct row *row, const struct plan_row *p, const struct program *program)
{
    row_add_part(row, plan_row_variant(p), variant_own_name(plan_row_variant(p)));
    for (int i = 0; i < program->completed_count; i++)
        row_add_part(row, program->completed[i], variant_own_name(program->completed[i]));
    for (int i = 0; i < program->param_count; i++)
        row_add_param(row, program->param[i].name, program->param[i].value, program->param[i].number);
    for (int i = 0; !program->params && p->config && i < p->config->count; i++) {
        char value[VALUE_TEXT_MAX];
        value_print(&p->config->values[i], value, sizeof value);
        row_add_param(row, p->config->names[i], value, value_number(&p->config->values[i]));
    }
}

static void set_work(struct row *row, const struct work *work)
{
    SCOPED_TEXT t = {0};
    work_describe(work, &t);
    row->work = text_take(&t);
    if (!work->epilogue_count)
        return;
    struct work bare = *work;
    bare.epilogue_count = 0;
    work_describe(&bare, &t);
    row->bare_work = text_take(&t);
    work_describe_epilogue(work, &t);
    row_set(&row->epilogue, text_get(&t) + strlen(" +"));
}

/* Notes: origin of the configuration, unmeasured rules, outputs that no check covers. */
static void add_notes(struct row *row, const struct plan_row *p, const struct program *program)
{
    bool library = ANY_OF(i, program->unit_count, program->units[i].code == CODE_LIBRARY);
    if (p->note)
        row_add_note(row, "%s", p->note);
    if (p->variant && variant_selects(p->variant))
        snprintf(row->chosen_by, sizeof row->chosen_by, "%s",
                 p->how              ? p->how
                 : *p->config->label ? ""
                 : p->remembered     ? "stored"
                                     : "rule"); /* a label: one of those raced */
    if (program->guess)
        row_add_note(row,
                     "its rules were measured on other chips, so its choice may not be the best here: bench tune, then bench run --tuned");
    if (library)
        row_add_note(row, "trusted code: a library function runs on the host, where bench cannot check it");
}

static void set_memory(struct row *row, const struct plan_row *p, const struct program *program)
{
    row->scratch_bytes = p->broken ? -1 : (int64_t)program_scratch_bytes(program);
    if (!p->broken && program->feasible && p->kind == PLAN_LAYER)
        row->footprint_bytes = (int64_t)program_footprint_bytes(program);
}

static void set_side(struct row *row, const struct side *side)
{
    row_set(&row->side, side->name);
    row_set(&row->side_revision, side->revision);
    row_set(&row->side_variants, side->variants);
    row_set(&row->side_include, side->include);
    row_set(&row->side_ops, side->ops);
}

/* facts: fill in what masks have to be drawn for. */
static struct row *row_make(const struct plan *plan, int index, const char *device, bool facts)
{
    const struct plan_row *p = &plan->rows[index];
    const struct scenario_case *c = &plan->cases[p->case_index];
    const struct program *program = plan_program(plan, index);
    struct row *row = row_new();
    row_set(&row->id, plan_id(plan, index));
    row_set(&row->case_id, c->id);
    row_set(&row->case_name, c->id + strlen(plan->scenario->name) + 1); /* every case is called SCENARIO/its name */
    row_set(&row->like_case, c->like);
    row_set(&row->scenario, plan->scenario->name);
    row_set(&row->layer, c->layer->name);
    for (int i = 0; i < c->axis_count; i++)
        row_add_axis(row, c->axes[i].axis, c->axes[i].value, c->axes[i].number);
    row->cropped = c->cropped;
    if (c->cropped && isfinite(c->layer_intensity)) /* 0 of what only moves bytes */
        row_add_member(row, FAMILY_MODEL, -1, 0, "layer_intensity", "FLOP/B", "model", c->layer_intensity);
    row_set(&row->variant, program->variant ? program->variant : plan_row_variant(p));
    row->library = p->variant && variant_is_library(p->variant);
    set_parts(row, p, program);
    row_set(&row->device, device);
    if (p->side)
        set_side(row, p->side);
    row->case_index = plan->cases[p->case_index].place;
    row->row_index = p->row_index;
    row->repeat = c->repeat;
    for (int i = 0; i < plan->scenario->network_count; i++)
        if (scenario_layer_count(plan->scenario, i, c->layer))
            row_add_network(row, plan->scenario->networks[i].name, scenario_layer_count(plan->scenario, i, c->layer));
    set_work(row, &c->work);
    row_set(&row->op, c->work.op->name);
    row_set(&row->dtype, dtype_name(c->work.dtype));
    row_set(&row->math, c->work.op->has_math ? math_name(c->work.math) : "");
    row_set(&row->layout, layout_name(c->work.layout));
    row_set(&row->what, p->variant ? p->variant->what : program->what);
    if (p->variant) {
        row_set(&row->from, p->variant->from);
        row_set(&row->algorithm, p->variant->algorithm);
        memcpy(row->source_hash, p->variant->hash, sizeof row->source_hash);
    }
    row->flop = work_flop(&c->work);
    row->bytes = work_bytes(&c->work);
    if (c->work.op->has_math && !c->work.chain && row->op && p->kind != PLAN_SEQUENCE)
        row_add_member(row, FAMILY_MODEL, -1, 0, "products", "", "model", work_multiplies(&c->work));
    row->claims = p->broken || !program->feasible ? -1 : program->claims;
    set_memory(row, p, program);
    if (p->kind == PLAN_SEQUENCE)
        plan_sequence_describe(p, row);
    row_set(&row->arch, plan->chip.arch);
    add_notes(row, p, program);
    static const char *const metrics[] = {"threads", "smem_bytes", "registers"}, *const units[] = {"threads", "B", "registers"};
    for (int i = 0; i < PREDICT_COUNT; i++)
        if (!p->broken && program->predicted[i] >= 0)
            row_add_member(row, FAMILY_MODEL, -1, 0, metrics[i], units[i], "model", (double)program->predicted[i]);
    struct error mask = {0};
    if (facts && !set_sparse(plan, index, row, &mask)) {
        row->status = ROW_BROKEN;
        row_set_reason(row, &mask);
    } else if (p->broken) {
        row->status = ROW_BROKEN;
        row_set_reason(row, p->broken);
    } else if (!program->feasible) {
        row->status = ROW_INFEASIBLE;
        row_set(&row->reason, program->reason);
        row_set(&row->clause, program->clause);
    }
    return row;
}

struct row *plan_row_new(const struct plan *plan, int index, const char *device)
{
    return row_make(plan, index, device, true);
}

struct all_rows {
    const struct plan *plan;
    const char *device;
    int first, last; /* rows */
    const bool *known;
    struct row **rows;
};

/* Fills the rows of one case, with masks of its own; keeps the minimum work for the checks of times. */
static void case_rows(void *context, int64_t index, int thread)
{
    const struct all_rows *all = context;
    struct plan plan = *all->plan;
    struct kept kept = {.mask_case = -1, .min_works = ((struct kept *)plan.private_data)->min_works};
    plan.private_data = &kept;
    index += plan.rows[all->first].case_index;
    int from = all->first, to = all->last;
    while (from < to) { /* the case's first row: rows stand by case */
        int middle = from + (to - from) / 2;
        bool before = plan.rows[middle].case_index < index;
        from = before ? middle + 1 : from;
        to = before ? to : middle;
    }
    for (int i = from; i < all->last && plan.rows[i].case_index == index; i++)
        all->rows[i] = row_make(&plan, i, all->device, !all->known || !all->known[i - all->first]);
    free(kept.mask_in);
    free(kept.mask_out);
}

int plan_rows_end(const struct plan *plan, int first, int most)
{
    for (int end = first, last = first;; end = last) {
        while (last < plan->row_count && plan->rows[last].case_index == plan->rows[end].case_index)
            last++;
        if (end > first && last - first > most)
            return end;
        if (last == plan->row_count)
            return last;
    }
}

void plan_rows_new(const struct plan *plan, const char *device, int first, int last, const bool *known, struct row **rows)
{
    struct kept *kept = plan->private_data;
    int from = plan->rows[first].case_index;
    if (!kept->min_works)
        kept->min_works = xcalloc((size_t)plan->case_count + 1, sizeof *kept->min_works);
    for (int i = 0; i < plan->case_count && !first; i++)
        kept->min_works[i].read_bytes = -1;
    struct all_rows all = {plan, device, first, last, known, rows};
    pool_for(plan->rows[last - 1].case_index + 1 - from, 0, case_rows, &all);
}

void plan_row_key(const struct plan *plan, int index, const char *device, const char *compiler, char out[HASH_TEXT])
{
    const struct plan_row *p = &plan->rows[index];
    const struct variant_set *set = plan_set(plan, p->side);
    const struct program *program = plan_program(plan, index);
    char work[HASH_TEXT];
    work_key(&plan->cases[p->case_index].work, work);
    struct hash *h = hash_begin();
    hash_add_text(h, "row 1");
    hash_add_text(h, work);
    hash_add_text(h, plan_row_variant(p));
    for (int i = 0; i < program->unit_count; i++) { /* the variant's own file and those that complete it */
        const struct unit *u = &program->units[i];
        hash_add_text(h, u->label);
        if (u->path && u->code == CODE_CUDA)
            hash_add_text(h, source_hash(plan->sources, u->path, u->include, (const char *const *)u->defines, u->define_count));
        for (int k = 0; k < set->count; k++)
            if (!strcmp(set->items[k]->name, u->label))
                hash_add_text(h, set->items[k]->hash);
    }
    if (p->variant) {
        hash_add_text(h, p->variant->hash);
        hash_add_text(h, p->config->label);
    }
    if (p->kind == PLAN_CHAIN) { /* its parts depend on every row of its layers */
        hash_add_text(h, program->params);
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
    if (p->side)
        hash_add_text(h, p->side->name);
    hash_end(h, out);
}
