#include "kernel/bind/variant_bind.h"
#include "plan/rows/private.h"
#include "base/file.h"
#include "base/named.h"
#include "base/text.h"
#include "op/op_file.h"
#include "op/mask/mask.h"
#include "op/file/ops.h"
#include "kernel/head/load.h"
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX_BYTES (16u << 20)
#define CHOICE_BUDGET_S 0.08 /* of the race for one rule on one layer, which has at least 6 rounds (race.h) */
#define CHOICE_HALF_WIDTH 0.02

bool plan_pinned(const struct plan *plan, int index)
{
    const struct plan_row *row = &plan->rows[index];
    return row->row_index == 0 || (row->variant && variant_is_library(row->variant));
}

void plan_search_hash(const struct plan *plan, int row, char out[HASH_TEXT])
{
    const struct plan_row *p = &plan->rows[row];
    if (!variant_races(plan_set(plan, p->side), p->variant, out))
        memcpy(out, p->variant->hash, HASH_TEXT);
}

bool plan_chooses(const struct plan *plan, int row)
{
    return plan->rows[row].variant && variant_selects(plan->rows[row].variant);
}

bool plan_searches_rules(const struct plan *plan)
{
    return ALL_OF(i, plan->row_count, plan_pinned(plan, i) || plan_chooses(plan, i));
}

bool plan_undecided(const struct plan *plan)
{
    int raced = 0;
    for (int i = 0; i < plan->row_count && !raced; i++) {
        const struct plan_row *p = &plan->rows[i];
        struct variant_config *configs = NULL;
        struct error ignored = {0}; /* the plan to race says it */
        if (!plan_chooses(plan, i) || p->how)
            continue;
        raced = variant_race(plan_set(plan, p->side), p->config, &plan->cases[p->case_index].work, &plan->chip, &configs, &ignored);
        if (raced > 0)
            variant_configs_free(configs, raced);
    }
    return raced != 0;
}

/* The configuration that a search found for a variant on a layer; for a rule the best of all variants, else its measured choice, if that
 * was made from today's sources. NULL: none. */
static const struct tuned_config *remembered(const struct plan_options *o, const struct variant_set *set, const struct work *work,
                                             const struct variant *variant)
{
    char signature[HASH_TEXT], hash[HASH_TEXT];
    const struct tuned_config *own = NULL;
    bool races = variant_races(set, variant, hash);
    work_signature(work, signature);
    for (const struct tuned_config *t = o->tuned; t && t->signature; t++) {
        if (strcmp(t->signature, signature))
            continue;
        bool same = !strcmp(t->variant, variant->name);
        if (variant_selects(variant) ? *t->wins != 0 : same && !o->tuned_rules)
            return t;
        if (same && races && !strcmp(t->hash, hash))
            own = t;
    }
    return own;
}

/* The configuration that `t` names, of the variant itself or of the variant that a rule takes; *note says where it comes from, or why there
 * is none. */
static struct variant_config *tuned_config_of(struct plan *plan, const struct variant_set *set, const struct tuned_config *t,
                                              const struct op *op, char **note)
{
    struct variant_config *config = NULL;
    struct error gone = {0};
    const struct variant *v = plan_resolve(set, t->variant, op);
    if (v && (variant_selects(v) ? plan_choice_config(set, t->params, op, &config) : variant_at(v, t->params, &config, &gone))) {
        *note = xstrdup(t->note);
        return plan_configs_keep(plan, config, 1);
    }
    *note =
        text_format("the tuned configuration %s of %s no longer exists; its declared configurations run instead", t->params, t->variant);
    return NULL;
}

/* True if one of the first `count` rows is this one: a scenario may name a configuration twice (naive and {naive: {BLOCK: 16}}). */
static bool is_there(const struct plan *plan, int count, const struct plan_row *row)
{
    bool there = false;
    for (int i = count - 1; i >= 0 && plan->rows[i].case_index == row->case_index && !there; i--)
        there = plan->rows[i].side == row->side && !strcmp(plan->rows[i].config->variant->name, row->config->variant->name) &&
                !strcmp(plan->rows[i].config->label, row->config->label);
    return there;
}

/* The configurations of a variant for an entry of the scenario, which all cases share. NULL with err. */
static const struct configs *configs_of(struct plan *plan, const struct plan_options *o, const struct variant *variant,
                                        const struct node *params, struct error *err)
{
    struct kept *kept = plan->private_data;
    struct configs own = {.variant = variant, .params = params};
    for (int i = 0; i < kept->count; i++)
        if (kept->items[i].variant == variant && kept->items[i].params == params)
            return &kept->items[i];
    own.count = o->tune && !variant_is_library(variant) ? variant_space(variant, params, &own.configs, err)
                                                        : variant_configs(variant, params, &own.configs, err);
    return own.count < 0 ? NULL : (*APPEND(kept->items, kept->count) = own, &kept->items[kept->count - 1]);
}

static int count_wanted(const struct scenario_case *c, const struct configs *list)
{
    int wanted = 0;
    for (int i = 0; i < list->count; i++)
        wanted += plan_wants(c, list->variant, &list->configs[i]);
    return wanted;
}

/* Adds a row, unless the case has it already. */
static void add_row(struct plan *plan, int before, const struct plan_row *like, int *row_index, const char *note)
{
    struct plan_row row = *like;
    if (is_there(plan, before, &row))
        return;
    row.row_index = (*row_index)++;
    row.note = note ? xstrdup(note) : NULL;
    plan_row_add(plan, &row);
}

/* Adds the rows of a rule that are raced: its own choice, and each variant that its head names beside it. */
static bool add_raced(struct plan *plan, const struct plan_options *o, const struct plan_row *like, int *row_index, struct error *err)
{
    struct variant_config *raced, *names;
    const struct configs *list = configs_of(plan, o, like->variant, NULL, err);
    struct plan_row row = *like;
    int before = plan->row_count;
    int count =
        list ? variant_race(plan_set(plan, like->side), &list->configs[0], &plan->cases[like->case_index].work, &plan->chip, &raced, err)
             : -1;
    if (count <= 0)
        return !count;
    row.config = &list->configs[0];
    row.remembered = NULL;
    names = xcalloc((size_t)count, sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = (struct variant_config){
            .variant = like->variant,
            .label = text_format("%s%sis=%s", raced[i].label, *raced[i].label ? "," : "", variant_own_name(raced[i].variant->name))};
    plan_configs_keep(plan, raced, count);
    plan_configs_keep(plan, names, count);
    add_row(plan, before, &row, row_index, NULL);
    for (int i = 0; i < count; i++) {
        row.config = &names[i];
        row.remembered = &raced[i];
        add_row(plan, before, &row, row_index, NULL);
    }
    return true;
}

/* The work whose stored configuration a row takes: for a rule in a case that the run added, the scenario's own case, so that no added
 * density is raced. */
static const struct work *work_asked(const struct plan *plan, const struct scenario_case *c, const struct variant *variant)
{
    const struct work *work = &c->work;
    for (int i = 0; c->like && variant_selects(variant) && i < plan->case_count; i++)
        if (!strcmp(plan->cases[i].id, c->like))
            work = &plan->cases[i].work;
    return work;
}

/* Adds the rows of a variant's configurations; `side` NULL: shared by all sides. */
static bool add_configs(struct plan *plan, const struct plan_options *o, int case_index, int *row_index, const struct variant *variant,
                        const struct side *side, const struct node *params, struct error *err)
{
    SCOPED char *note = NULL;
    const struct scenario_case *c = &plan->cases[case_index];
    const struct variant_set *set = plan_set(plan, side);
    const struct tuned_config *t = o->tune && !o->choose ? NULL : remembered(o, set, work_asked(plan, c, variant), variant);
    struct variant_config *tuned = t ? tuned_config_of(plan, set, t, c->work.op, &note) : NULL;
    struct plan_row row = {.kind = PLAN_LAYER, .case_index = case_index, .variant = variant, .side = side, .remembered = tuned};
    int before = plan->row_count;
    if (o->tune && variant_selects(variant) && *row_index)
        return (o->choose && tuned) || add_raced(plan, o, &row, row_index, err);
    if (tuned && variant_selects(variant) && !strcmp(t->variant, variant->name))
        row.how = t->how;
    if (tuned && tuned->variant == variant) {
        row.config = tuned;
        add_row(plan, before, &row, row_index, note);
        return true;
    }
    const struct configs *list = configs_of(plan, o, variant, params, err);
    if (!list)
        return false;
    if (o->tune && list->count < 2 && *row_index > 0 && !variant_is_library(variant)) /* nothing to search */
        return true;
    const struct configs own = *list;
    bool all = !count_wanted(c, &own);
    for (int i = 0; i < own.count; i++) {
        row.config = &own.configs[i];
        if (all || plan_wants(c, variant, row.config))
            add_row(plan, before, &row, row_index, note);
    }
    return true;
}

static bool plan_add_rows(struct plan *plan, const struct plan_options *o, int case_index, int *row_index, const struct variant *variant,
                          const struct node *params, struct error *err)
{
    if (!plan->side_count || !*row_index || variant_is_library(variant))
        return add_configs(plan, o, case_index, row_index, variant, NULL, params, err);
    for (int i = 0; i < plan->side_count; i++) { /* a side without the variant has no row there */
        const struct variant *own = plan_resolve(&plan->side_sets[i], variant->name, variant->op);
        if (own && !add_configs(plan, o, case_index, row_index, own, &plan->sides[i], params, err))
            return false;
    }
    return true;
}

/* Hashes every file in a folder of shared headers and in those below it. */
static bool hash_headers(const char *folder, struct hash *h, struct error *err)
{
    SCOPED char **names = NULL;
    int count = folder ? file_list(folder, "", &names, err) : 0;
    bool ok = count >= 0;
    for (int i = 0; i < count; i++) {
        size_t bytes;
        SCOPED char *path = file_join(folder, names[i]);
        SCOPED char *text = NULL;
        hash_add_text(h, names[i]);
        if (ok && file_is_dir(path))
            ok = hash_headers(path, h, err);
        else if (ok)
            ok = (text = file_read(path, HEADER_MAX_BYTES, &bytes, err)) != NULL;
        if (text)
            hash_add(h, text, bytes);
    }
    return ok;
}

static bool load_side(const struct side *side, const struct plan_options *o, struct variant_set *set, struct error *err)
{
    SCOPED char *lines = side->dirs ? xstrdup(side->dirs) : NULL;
    char *rest = lines, *line;
    SCOPED const char **dirs = xcalloc(1, sizeof *dirs);
    int count = 0;
    while ((line = strsep(&rest, "\n"))) {
        *APPEND(dirs, count) = line;
        dirs = xrealloc(dirs, ((size_t)count + 1) * sizeof *dirs);
        dirs[count] = NULL;
    }
    return variant_set_load_from(side->variants, side->include, lines ? dirs : o->variant_dirs, set, err);
}

static bool load_sides(struct plan *plan, const struct plan_options *o, struct error *err)
{
    plan->sides = o->sides;
    while (o->sides && o->sides[plan->side_count].name) {
        const struct side *side = &o->sides[plan->side_count];
        plan->side_sets = xrealloc(plan->side_sets, sizeof *plan->side_sets * (size_t)(plan->side_count + 1));
        if (!load_side(side, o, &plan->side_sets[plan->side_count], err))
            return error_where(err, "side %s", side->name);
        plan->side_count++;
    }
    return true;
}

/* True for a variant of --variants that runs although the scenario does not list it: it was given as a file, or the scenario lists nothing
 * of its folder. Otherwise the option would have no effect. */
static bool uninvited(const struct variant_set *set, const struct scenario *s, const struct variant *v)
{
    bool folder_listed = false;
    for (int i = 0; v->given != GIVEN_INSTALLED && i < s->variant_count; i++) {
        const struct variant *listed = variant_exact(set, s->variants[i].name);
        if (listed == v)
            return false;
        folder_listed |= listed && !strcmp(listed->folder, v->folder);
    }
    return v->given == GIVEN_FILE || (v->given == GIVEN_FOLDER && !folder_listed);
}

/* Of --only, and of a case that the run added. */
static bool is_wanted(struct plan *plan, const struct scenario_case *c, const struct variant *v)
{
    return plan_only(plan, v->name) && plan_wants(c, v, NULL);
}

/* If times are compared, the library's rows always stay: the fastest of them is the denominator. */
static bool let_in(struct plan *plan, const struct scenario_case *c, const char *device_kind, const struct variant *v)
{
    return is_wanted(plan, c, v) || (variant_is_library(v) && !strcmp(device_kind, "cuda"));
}

/* With `choose`, only rules have rows beside the baseline. */
static bool asks_choice(const struct plan_options *o, const struct variant *v)
{
    return !o->choose || variant_selects(v);
}

/* The scenario's configurations of the baseline; NULL: its default. */
static const struct node *baseline_params(const struct plan *plan, const struct scenario_case *c, const struct variant *first)
{
    for (int i = 0; i < plan->scenario->variant_count; i++) {
        const struct scenario_variant *entry = &plan->scenario->variants[i];
        if (plan_resolve(&plan->variants, entry->name, c->work.op) == first && scenario_layer_takes(c->layer, entry))
            return entry->params;
    }
    return NULL;
}

/* Adds the baseline first, whether the scenario names it or not. */
static bool plan_add_case(struct plan *plan, const struct plan_options *o, const char *device_kind, int case_index, bool *used,
                          struct error *err)
{
    const struct scenario_case *c = &plan->cases[case_index];
    const struct op *op = c->work.op;
    int row_index = 0;
    const struct variant *first = op->row0 ? plan_resolve(&plan->variants, op->row0, op) : NULL;
    const struct node *params = first && !o->variant_names ? baseline_params(plan, c, first) : NULL;
    if (first && !plan_add_rows(plan, o, case_index, &row_index, first, params, err))
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
        if (scenario_layer_takes(c->layer, entry) && v != first && let_in(plan, c, device_kind, v) && asks_choice(o, v) &&
            !plan_add_rows(plan, o, case_index, &row_index, v, entry->params, err))
            return false;
    }
    for (int i = 0; i < plan->variants.count; i++) {
        const struct variant *v = plan->variants.items[i];
        if (v->op == op && uninvited(&plan->variants, plan->scenario, v) && is_wanted(plan, c, v) && asks_choice(o, v) &&
            !plan_add_rows(plan, o, case_index, &row_index, v, NULL, err))
            return false;
    }
    return true;
}

/* Checks that every name of the list `variants` is a variant of an op that a layer has, or of a chain. used[i] (may be NULL): entry i is
 * known to be one. */
static bool plan_entries_exist(struct plan *plan, const bool *used, bool may_lack, struct error *err)
{
    const struct scenario *s = plan->scenario;
    const struct variant_set *set = &plan->variants;
    bool brought = s->variant_count > 0;
    for (int i = 0; i < set->count && !brought; i++)
        brought = set->items[i]->given != GIVEN_INSTALLED;
    if (!brought) {
        node_error(node_get(s->root, "variants"), err, "variants: the list is empty, and --variants adds none");
        error_hint(err, "see bench list variants; for your own: --variants NAME=FILE.cu or NAME=DIR");
        return false;
    }
    for (int i = 0; i < s->variant_count; i++) {
        if (used && used[i])
            continue;
        bool exists = false; /* for a layer that a filter left out */
        for (int k = 0; k < s->layer_count && !exists; k++)
            exists = plan_resolve(set, s->variants[i].name, s->layers[k].work.op) != NULL;
        for (int k = 0; k < s->layer_count && s->sequence_count && !exists; k++)
            exists = plan_resolve(set, s->variants[i].name, op_of_changes(s->layers[k].work.op)) != NULL;
        if (s->network_count) /* a kernel for a network */
            exists |= plan_resolve(set, s->variants[i].name, op_for(TASK_NETWORK)) != NULL;
        if (exists)
            continue;
        struct error why = {0};
        bool found = ALL_OF(k, s->layer_count, variant_find(set, s->variants[i].name, s->layers[k].work.op, s->variants[i].node, &why));
        if (!found && may_lack) {
            *APPEND(plan->lacks.items, plan->lacks.count) = (struct plan_lack){xstrdup(s->variants[i].name), why};
            continue;
        }
        if (!found) {
            if (err)
                *err = why;
            return false;
        }
        node_error(s->variants[i].node, err, "variant '%s' is for an op that no layer of this scenario has", s->variants[i].name);
        return false;
    }
    return true;
}

static bool hash_files(struct plan *plan, struct error *err)
{
    const struct kept *kept = plan->private_data;
    struct hash *h = hash_begin();
    SCOPED char *shared = kept->include ? xstrdup(kept->include) : file_share("kernels/include");
    bool read = hash_headers(shared, h, err);
    hash_add_text(h, plan->scenario->hash);
    for (int i = 0; i < plan->case_count; i++)
        if (plan->cases[i].work.op->file)
            hash_add_text(h, op_file_hash(plan->cases[i].work.op->file));
    for (int s = -1; s < plan->side_count; s++) {
        const struct variant_set *set = s < 0 ? &plan->variants : &plan->side_sets[s];
        if (read && s >= 0)
            read = hash_headers(plan->sides[s].include, h, err);
        for (int i = 0; i < set->count; i++) {
            hash_add_text(h, set->items[i]->name);
            hash_add_text(h, set->items[i]->hash);
        }
    }
    hash_end(h, plan->files);
    return read;
}

static bool something_to_search(const struct plan *plan)
{
    return ANY_OF(i, plan->row_count, !plan_pinned(plan, i));
}

/* Loads bench's own variants, or those of the tree that the options name. */
static bool load_variants(struct plan *plan, const struct plan_options *o, struct error *err)
{
    struct kept *kept = plan->private_data;
    if (!o->kernels)
        return variant_set_load(o->variant_dirs, &plan->variants, err);
    kept->variants = file_join(o->kernels, "variants");
    kept->include = file_join(o->kernels, "include");
    return variant_set_load_from(kept->variants, kept->include, o->variant_dirs, &plan->variants, err);
}

bool plan_masks_fit(const struct plan *plan, struct error *err)
{
    for (int i = 0; i < plan->case_count; i++) {
        const struct work *w = &plan->cases[i].work;
        if (w->mask.pattern != MASK_FILE)
            continue;
        SCOPED float *mask = xmalloc((size_t)w->n * (size_t)(w->mask.marks_output ? w->p * w->q : w->h * w->w) * sizeof *mask);
        bool ok = mask_make(w, mask, err) || (error_where(err, "%s", plan->cases[i].id),
                                              error_where(err, "%s:%d:%d", plan->scenario->path, w->mask.line, w->mask.column));
        if (!ok)
            return false;
    }
    return true;
}

static bool options_fit(const struct plan_options *o, const char *device_kind, struct error *err)
{
    return !o->no_ptxas || !strcmp(device_kind, "emu") ||
           error_set(err, ERROR_USAGE, "--no-ptxas is only for emu: a GPU runs machine code");
}

bool plan_make(const struct plan_options *o, const char *device_kind, const struct chip *chip, struct plan *plan, struct error *err)
{
    bool ok = false, *used = NULL;
    *plan = (struct plan){
        .chip = *chip, .sources = source_memo_new(), .bound = bound_rows_new(), .private_data = xcalloc(1, sizeof(struct kept))};
    ((struct kept *)plan->private_data)->mask_case = -1;
    plan->scenario = op_load(o->op_files, err) ? scenario_load(o->scenario_path, err) : NULL;
    if (!plan->scenario || !load_variants(plan, o, err) || !load_sides(plan, o, err) || !plan_only_parse(plan, o, err))
        goto done;
    if (!options_fit(o, device_kind, err) ||
        !counter_choose(&o->counters, node_get(plan->scenario->root, "counters"), &plan->counters, err))
        goto done;
    plan->case_count = scenario_expand(plan->scenario, device_kind, &o->filter, &plan->cases, err);
    if (plan->case_count < 0)
        goto done;
    plan->time = plan->scenario->time;
    plan->tune = o->tune;
    if (o->choose) {
        plan->time.budget_s = CHOICE_BUDGET_S;
        plan->time.half_width = CHOICE_HALF_WIDTH;
    }
    if (o->budget_s > 0)
        plan->time.budget_s = o->budget_s;
    if (!hash_files(plan, err))
        goto done;
    used = xcalloc((size_t)plan->scenario->variant_count + 1, sizeof *used);
    for (int i = 0, before = 0; i < plan->case_count; i++, before = plan->row_count) {
        if (!plan_add_case(plan, o, device_kind, i, used, err))
            goto done;
        if (o->choose && plan->row_count > before && !variant_selects(plan->rows[plan->row_count - 1].variant))
            plan->row_count = before; /* nothing to choose from */
    }
    if (!o->by_need)
        plan_bind_all(plan);
    if ((!o->tune && !o->layers_only && (!plan_chains_add(plan, o, device_kind, err) || !plan_sequences_add(plan, o, device_kind, err))) ||
        (!o->variant_names && !o->choose && !plan_entries_exist(plan, used, o->may_lack, err)))
        goto done;
    if (o->choose) {
        ok = true;
        goto done;
    }
    if (o->tune && !something_to_search(plan)) {
        error_set(err, ERROR_USAGE, "%s%s%s: none of these variants has parameters with more than one value", o->scenario_path,
                  o->filter.only ? " --only " : "", o->filter.only ? o->filter.only : "");
        error_hint(err, "bench list variant NAME shows a variant's parameters");
        goto done;
    }
    if (!plan_only_check(plan, o, err))
        goto done;
    if (!plan->row_count) {
        error_set(err, ERROR_USAGE, "%s: no variant fits any of its %d cases", o->scenario_path, plan->case_count);
        error_hint(err, "see bench list variants; for your own: --variants NAME=FILE.cu or NAME=DIR");
        goto done;
    }
    ok = true;
done:
    free(used);
    if (!ok)
        plan_free(plan);
    return ok;
}

void plan_lacks_free(struct plan_lacks *lacks)
{
    for (int i = 0; i < lacks->count; i++)
        free(lacks->items[i].variant);
    free(lacks->items);
    *lacks = (struct plan_lacks){0};
}

void plan_free(struct plan *plan)
{
    plan_lacks_free(&plan->lacks);
    pointers_free(plan->notes, plan->note_count);
    SCOPED struct kept *kept = plan->private_data;
    for (int i = 0; i < plan->row_count; i++) {
        plan_unbind(&plan->rows[i]);
        FREE_ALL(plan->rows[i].made_id, plan->rows[i].broken, plan->rows[i].chain);
        if (plan->rows[i].sequence)
            free(plan->rows[i].sequence->changed.links);
        free(plan->rows[i].sequence);
        free(plan->rows[i].note);
    }
    free(plan->rows);
    for (int i = 0; kept && i < kept->count; i++)
        variant_configs_free(kept->items[i].configs, kept->items[i].count);
    if (kept) {
        free(kept->items);
        glob_list_free(&kept->only);
        FREE_ALL(kept->min_works, kept->mask_in, kept->mask_out, kept->variants, kept->include);
    }
    plan_chains_free(plan);
    if (plan->case_count > 0)
        scenario_cases_free(plan->cases, plan->case_count);
    variant_set_free(&plan->variants);
    for (int i = 0; i < plan->side_count; i++)
        variant_set_free(&plan->side_sets[i]);
    free(plan->side_sets);
    source_memo_free(plan->sources);
    bound_rows_free(plan->bound);
    counter_choice_free(&plan->counters);
    if (plan->scenario)
        scenario_free(plan->scenario);
    *plan = (struct plan){0};
}

int plan_find(const struct plan *plan, const char *id, struct error *err)
{
    SCOPED struct named *rows = xcalloc((size_t)plan->row_count, sizeof *rows);
    for (int i = 0; i < plan->row_count; i++)
        rows[i] = (struct named){plan_id(plan, i), plan->rows[i].variant ? plan->rows[i].variant->name : NULL};
    return named_find(rows, plan->row_count, id, "bench plan SCENARIO", err);
}
