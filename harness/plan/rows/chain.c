/* The cases and rows of networks that are run whole, and their programs once the variants are chosen. */
#include "base/text.h"
#include "op/reference/bound.h"
#include "op/chain/compose.h"
#include "op/file/ops.h"
#include "plan/rows/private.h"
#include "kernel/head/load.h"
#include "kernel/bind/variant_bind.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* On emu, where a deep network takes seconds, single variants run whole only in short networks. */
#define EMU_SINGLES_MAX 16

/* The rows of one network, as they are added. */
struct network_rows {
    struct plan *plan;
    const struct plan_options *o;
    const struct scenario_network *network;
    bool stream, graph, overlap; /* how it is launched */
    bool copy, slices;           /* its concats */
    bool singles;                /* still to come: each single variant by itself */
    const struct side *side;
    int case_index; /* -1: no row yet */
    int row_index;  /* of the next row */
};

static void chain_add_row(struct network_rows *r, const struct chain_row *chain, const struct variant_config *config)
{
    struct plan *plan = r->plan;
    struct plan_row row = {.kind = PLAN_CHAIN,
                           .case_index = r->case_index,
                           .chain = xcalloc(1, sizeof *row.chain),
                           .side = chain->side,
                           .variant = config ? config->variant : NULL,
                           .config = config};
    *row.chain = *chain;
    const char *name = plan_row_variant(&row);
    if (r->row_index > 0 && (!plan_only(plan, name) || !scenario_network_takes(r->network, name))) {
        free(row.chain);
        return;
    }
    row.row_index = r->row_index++;
    struct program *p = row.program = xcalloc(1, sizeof *p);
    *p = (struct program){.work = *chain->work,
                          .feasible = true,
                          .checked = true,
                          .reads_inactive = true,
                          .graph = chain->graph,
                          .tile_weight_bytes = -1,
                          .predicted = {-1, -1, -1}};
    bool planned = chain->layout != LAYOUT_PLAN_GIVEN;
    for (int i = 0; config && i < config->count; i++) {
        char value[VALUE_TEXT_MAX];
        value_print(&config->values[i], value, sizeof value);
        program_add_param(p, config->names[i], value, value_number(&config->values[i]));
    }
    program_add_param(p, "launch", chain->overlap ? "overlap" : chain->graph ? "graph" : "stream", NAN);
    if (r->slices)
        program_add_param(p, "concat", chain->slices ? "slices" : "copy", NAN);
    if (planned)
        program_add_param(p, "layout", layout_plan_names[chain->layout], NAN);
    row.made_id = text_format("%s/%s[%s]", plan->cases[r->case_index].id, name, p->params);
    plan_facts(&row, p);
    plan_row_add(plan, &row);
}

static bool has_op(const struct chain *chain, const struct op *op)
{
    return ANY_OF(i, chain->count, chain->links[i].work.op == op && chain->links[i].layer >= 0);
}

/* Lists the scenario's variants, other than the library's, whose op some layer has; each once for all its parameters. */
static const char *single_of(const struct plan *plan, const struct variant_set *set, const struct chain *chain, int entry)
{
    const struct scenario *s = plan->scenario;
    for (int i = 0; i < chain->count; i++) {
        const struct op *op = chain->links[i].work.op;
        const struct variant *v = has_op(chain, op) ? plan_resolve(set, s->variants[entry].name, op) : NULL;
        if (!v || variant_is_library(v) || !strcmp(variant_own_name(v->name), "copy"))
            continue;
        if (ANY_OF(k, entry, plan_resolve(set, s->variants[k].name, op) == v))
            return NULL;
        return v->name;
    }
    return NULL;
}

/* Adds rows of kernels for a whole network that the scenario lists or `bench try` names, one for each configuration. */
static bool add_kernels(struct network_rows *r, const struct chain_row *like, struct error *err)
{
    struct plan *plan = r->plan;
    struct chain_row row = *like;
    row.pick = CHAIN_KERNEL;
    const char *const *names = r->o->variant_names;
    for (int i = 0; names ? names[i] != NULL : i < plan->scenario->variant_count; i++) {
        const struct scenario_variant *entry = names ? NULL : &plan->scenario->variants[i];
        const struct variant *v = plan_resolve(plan_set(plan, r->side), names ? names[i] : entry->name, like->work->op);
        struct variant_config *configs;
        if (!v)
            continue;
        int count = variant_configs(v, entry ? entry->params : NULL, &configs, err);
        if (count < 0)
            return false;
        plan_configs_keep(plan, configs, count);
        for (int k = 0; k < count; k++)
            chain_add_row(r, &row, &configs[k]);
    }
    return true;
}

/* True if a concat of the network can be written into one tensor. */
static bool has_slices(const struct chain *chain)
{
    SCOPED struct chain_slice *slices = xcalloc((size_t)chain->count, sizeof *slices);
    bool any = false;
    chain_slices(chain, NULL, slices);
    for (int i = 0; i < chain->count; i++)
        any |= slices[i].placed;
    return any;
}

/* A network under one layout plan; part: of its input cut to emu's crop, which is verified; NULL: nothing is cut. */
struct ways {
    const struct way *whole, *part;
};

/* Adds the rows of one layout plan: library and best under each launch mode, with concats copied and in slices; each single variant once,
 * under the network's fastest launch mode. */
static bool add_way(struct network_rows *r, const struct ways *ways, enum layout_plan layout, struct error *err)
{
    const struct way *way = ways->whole;
    const struct work *part = ways->part ? &ways->part->work : NULL;
    struct plan *plan = r->plan;
    const struct {
        bool wanted, graph, overlap;
    } launches[] = {{r->graph, true, false}, {r->stream, false, false}, {r->overlap, true, true}}; /* first the library as a graph */
    const bool concats[] = {r->copy || !r->slices, r->slices};
    for (int l = 0; l < 3; l++) {
        struct chain_row row = {.side = r->side,
                                .graph = launches[l].graph,
                                .overlap = launches[l].overlap,
                                .layout = layout,
                                .work = &way->work,
                                .part = part};
        const enum chain_pick first = row.overlap ? CHAIN_BEST : CHAIN_LIBRARY; /* the library's kernels do not overlap */
        if (!launches[l].wanted)
            continue;
        for (int joined = 0; joined < 2; joined++)
            for (int pick = first; concats[joined] && pick <= CHAIN_BEST; pick++) {
                row.pick = (enum chain_pick)pick;
                row.slices = joined;
                chain_add_row(r, &row, NULL);
            }
        row.slices = false;
        if (!add_kernels(r, &row, err))
            return false;
    }
    for (int i = 0; r->singles && i < plan->scenario->variant_count; i++) {
        struct chain_row row = {.pick = CHAIN_SINGLE,
                                .side = r->side,
                                .single = single_of(plan, plan_set(plan, r->side), &way->chain, i),
                                .graph = r->graph,
                                .layout = layout,
                                .work = &way->work,
                                .part = part};
        if (row.single)
            chain_add_row(r, &row, NULL);
    }
    r->singles = false;
    return true;
}

/* True if every layer of the network has a row in this plan, with the network's mask and images. */
static bool is_whole(const struct plan *plan, int layer_cases, const struct chain *chain)
{
    for (int i = 0; i < chain->count; i++) {
        bool found = chain->links[i].layer < 0;
        for (int c = 0; c < layer_cases && !found; c++)
            found = !strcmp(plan->cases[c].layer->name, chain->links[i].name) && plan->cases[c].work.n == chain->links[i].work.n &&
                    mask_same(&plan->cases[c].work.mask, &chain->links[i].work.mask);
        if (!found)
            return false;
    }
    return true;
}

/* A mask under which the network runs, or a number of images: those of its layers' cases. */
struct marks {
    struct mask mask;
    int64_t n;                   /* images; 0: those of the layers */
    const struct coordinate *at; /* the coordinate in ids; NULL: no mask and no axis, or the layers' own */
};

/* NULL: it cannot be run whole, which a note says once, or it is not measured whole */
static struct way *make_way(struct plan *plan, const struct scenario_network *network, const char *device_kind, int layer_cases,
                            enum layout_plan layout, const struct marks *marks, bool *cropped)
{
    struct way *way = xcalloc(1, sizeof *way);
    struct error why = {0};
    bool made = scenario_chain(plan->scenario, network, device_kind, layout, &marks->mask, marks->n, &way->chain, cropped, &why);
    if (made && is_whole(plan, layer_cases, &way->chain) && chain_work(&way->chain, &way->work, &why)) {
        way->layer = (struct layer){.name = network->name, .work = way->work, .repeat = 1, .node = network->root.node};
        return plan_way_keep(plan, way);
    }
    if (why.kind != ERROR_NONE)
        plan_note(plan,
                  text_format("network %s, layout %s: not run as a whole network: %s", network->name, layout_plan_names[layout], why.text));
    chain_free(&way->chain);
    free(way);
    return NULL;
}

/* emu runs a part to verify rows, and blocks of the whole to count. */
static struct ways make_ways(struct plan *plan, const struct scenario_network *network, const char *device_kind, int layer_cases,
                             enum layout_plan layout, const struct marks *marks, bool *cropped)
{
    struct ways w = {.whole = make_way(plan, network, device_kind, layer_cases, layout, marks, cropped)};
    if (w.whole && *cropped && !strcmp(device_kind, "emu")) {
        bool never;
        w.part = w.whole;
        w.whole = make_way(plan, network, NULL, layer_cases, layout, marks, &never);
        *cropped = false;
    }
    return w;
}

static int add_chain_case(struct plan *plan, const struct ways *ways, const struct marks *marks, bool cropped)
{
    const struct way *way = ways->whole;
    struct text id = {0};
    text_addf(&id, "%s/%s", plan->scenario->name, way->layer.name);
    if (marks->at)
        text_addf(&id, "[%s=%s]", marks->at->axis, marks->at->value);
    for (int i = 0; i < plan->case_count; i++)
        if (!strcmp(plan->cases[i].id, text_get(&id))) /* a layer has the network's name */
            text_add(&id, "[network]");
    int at = plan_case_add(plan, way, text_take(&id));
    struct scenario_case *c = &plan->cases[at];
    c->cropped = cropped;
    if (ways->part) {
        c->part = xmalloc(sizeof *c->part);
        *c->part = ways->part->work;
    }
    if (marks->at)
        c->axes[c->axis_count++] = (struct coordinate){xstrdup(marks->at->axis), xstrdup(marks->at->value), marks->at->number, false};
    return at;
}

static bool add_network(struct plan *plan, const struct plan_options *o, const struct scenario_network *network, const char *device_kind,
                        int layer_cases, const struct marks *marks, struct error *err)
{
    bool cuda = !strcmp(device_kind, "cuda"), cropped;
    /* emu has no graphs: the steps are the same ones */
    struct network_rows r = {.plan = plan,
                             .o = o,
                             .network = network,
                             .stream = network->stream || !cuda,
                             .graph = network->graph && cuda,
                             .overlap = network->overlap && plan->chip.cc >= 90,
                             .copy = network->copy,
                             .singles = true,
                             .case_index = -1};
    for (int layout = 0; layout < LAYOUT_PLAN_COUNT; layout++) {
        struct ways ways = {0};
        if (network->plans[layout])
            ways = make_ways(plan, network, device_kind, layer_cases, (enum layout_plan)layout, marks, &cropped);
        if (!ways.whole)
            continue;
        r.slices = network->slices && has_slices(&ways.whole->chain);
        if (r.case_index < 0)
            r.case_index = add_chain_case(plan, &ways, marks, cropped);
        bool singles = r.singles && (cuda || ways.whole->chain.count <= EMU_SINGLES_MAX);
        for (int side = 0; side < (plan->side_count ? plan->side_count : 1); side++) {
            r.side = plan->side_count ? &plan->sides[side] : NULL;
            r.singles = singles;
            if (!add_way(&r, &ways, (enum layout_plan)layout, err))
                return false;
        }
    }
    return true;
}

/* None, every mask that a layer has here, and every number of images that an axis gives. */
static struct marks *list_marks(const struct plan *plan, int layer_cases, int *count)
{
    struct marks *list = xcalloc(2 * (size_t)layer_cases + 1, sizeof *list);
    *count = 1;
    for (int i = 0; i < layer_cases; i++) {
        const struct scenario_case *c = &plan->cases[i];
        struct marks mask = {.mask = c->work.mask}, images = {.n = c->work.n};
        bool masked = false, several = false;
        for (int a = 0; a < c->axis_count; a++) {
            if (!strcmp(c->axes[a].axis, "mask"))
                mask.at = &c->axes[a];
            if (!strcmp(c->axes[a].axis, "n") && c->work.n != c->layer->work.n)
                images.at = &c->axes[a];
        }
        for (int k = 0; k < *count; k++) {
            masked |= mask_same(&list[k].mask, &mask.mask);
            several |= list[k].n == images.n;
        }
        if (!masked)
            list[(*count)++] = mask;
        if (!several && images.at)
            list[(*count)++] = images;
    }
    return list;
}

bool plan_chains_add(struct plan *plan, const struct plan_options *o, const char *device_kind, struct error *err)
{
    int layer_cases = plan->case_count, count;
    bool ok = true, kernels = false;
    for (int i = 0; o->variant_names && o->variant_names[i]; i++)
        kernels |= plan_resolve(&plan->variants, o->variant_names[i], op_for(TASK_NETWORK)) != NULL;
    if ((o->variant_names && !kernels) || !scenario_filter_by_mask(&o->filter))
        return true; /* parts of a network */
    SCOPED struct marks *marks = list_marks(plan, layer_cases, &count);
    for (int i = 0; i < plan->scenario->network_count; i++)
        ok = ok && ALL_OF(k, count, add_network(plan, o, &plan->scenario->networks[i], device_kind, layer_cases, &marks[k], err));
    return ok;
}

void plan_chains_free(struct plan *plan)
{
    struct kept *kept = plan->private_data;
    for (int i = 0; kept && i < kept->way_count; i++) {
        chain_free(&kept->ways[i]->chain);
        free(kept->ways[i]);
    }
    if (kept)
        free(kept->ways);
}

/* ---- programs ---- */

bool plan_bind_default(const struct plan *plan, const struct side *side, const char *name, const char *what, const struct work *work,
                       struct program *out, struct error *err)
{
    const struct variant_set *set = plan_set(plan, side);
    const struct variant *v = plan_resolve(set, name, work->op);
    struct variant_config *configs = NULL;
    if (!v)
        return error_set(err, ERROR_USAGE, "there is no variant %s for the %s of a network", name, what);
    int count = variant_configs(v, NULL, &configs, err);
    bool ok = count > 0 && variant_bind(set, &configs[0], work, &plan->chip, out, err);
    variant_configs_free(configs, count < 0 ? 0 : count);
    return ok;
}

bool plan_bind_link(const struct plan *plan, const struct side *side, const struct work *work, int choice, struct program *out,
                    struct error *err)
{
    if (choice < 0)
        return plan_bind_default(plan, side, "layout/convert", "layout changes", work, out, err);
    const struct plan_row *row = &plan->rows[choice];
    if (variant_selects(row->variant) && (work_sliced(work) || plan_part(plan, choice)) &&
        plan_bind_choice(plan, row, plan_program(plan, choice), work, out))
        return true; /* what the rule chose for the layer, not for the cropped link, or for its slices */
    return variant_bind(plan_set(plan, row->side), row->config, work, &plan->chip, out, err);
}

/* Takes over what the planned row, without the chain's steps, says of itself. */
static void take_identity(struct program *to, struct program *from)
{
    to->graph = from->graph;
    to->params = from->params;
    to->param = from->param;
    to->param_count = from->param_count;
    to->what = from->what;
    from->params = from->what = NULL;
    from->param = NULL;
    from->param_count = 0;
}

static void take_algorithm(struct program *to, const struct program *parts, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        if (parts[i].algorithm && bound_factor(parts[i].algorithm, &parts[i].work) > most) {
            most = bound_factor(parts[i].algorithm, &parts[i].work);
            free(to->algorithm);
            to->algorithm = xstrdup(parts[i].algorithm);
        }
}

/* Binds the row's variant to links first ..; false if it does not take them. */
static bool bind_span(const struct plan *plan, const struct plan_row *row, const struct chain *whole, int first, int count,
                      struct program *out, struct error *err)
{
    struct chain part;
    struct work work;
    *out = (struct program){0};
    if (!chain_part(whole, first, count, &part))
        return false;
    bool ok = chain_work(&part, &work, NULL) && variant_bind(plan_set(plan, row->side), row->config, &work, &plan->chip, out, err) &&
              out->feasible;
    chain_free(&part);
    out->work.chain = NULL; /* it went with the part */
    if (!ok)
        program_free(out);
    return ok;
}

/* Of the row's work, or of the part in its place. */
static int *find_spans(const struct plan *plan, const struct plan_row *row, const struct chain *chain, struct error *err)
{
    struct error own = {0};
    int *spans = xcalloc((size_t)chain->count, sizeof *spans);
    for (int i = 0, step; i < chain->count; i += step) {
        struct program found;
        step = 1;
        for (int count = chain->count - i; row->chain->pick == CHAIN_KERNEL && count > 1 && step == 1; count--)
            if (bind_span(plan, row, chain, i, count, &found, &own)) {
                step = count;
                program_free(&found);
            } else if (own.kind != ERROR_NONE) { /* a broken head */
                if (err)
                    *err = own;
                free(spans);
                return NULL;
            }
        spans[i] = step;
    }
    return spans;
}

int *plan_chain_spans(const struct plan *plan, int index, struct error *err)
{
    return find_spans(plan, &plan->rows[index], plan->rows[index].chain->work->chain, err);
}

/* Binds a work in the place of the row's: its own, or the part that emu verifies. */
static bool bind_chain(const struct plan *plan, const struct plan_row *row, const struct work *of, const int *choice, struct program *out,
                       struct error *err)
{
    struct chain_row as = *row->chain;
    as.work = of;
    const struct chain *chain = of->chain;
    SCOPED struct program *parts = xcalloc((size_t)chain->count, sizeof *parts);
    struct program whole = {0};
    SCOPED const struct program **list = xcalloc((size_t)chain->count, sizeof *list);
    SCOPED int *spans = find_spans(plan, row, chain, err);
    SCOPED struct program *copies = xcalloc(2 * (size_t)chain->count, sizeof *copies);
    SCOPED struct chain_slice *slices = as.slices ? plan_chain_slices(plan, &as, choice, err) : NULL;
    int joined = 0;
    bool ok = spans && (slices || !as.slices);
    for (int i = 0; ok && i < chain->count; i += spans[i]) {
        joined += spans[i] > 1;
        if (slices && chain_joined(chain, slices, i)) {
            ok = plan_bind_copies(plan, &as, slices, i, &copies[2 * i], err);
            continue;
        }
        struct work work = slices ? chain_slice_work(chain, slices, i) : chain->links[i].work;
        work.follows = as.overlap && i > 0;
        ok = spans[i] > 1 ? bind_span(plan, row, chain, i, spans[i], &parts[i], err)
                          : plan_bind_link(plan, row->side, &work, choice[i], &parts[i], err);
        list[i] = &parts[i];
        if (ok && !parts[i].feasible && !whole.reason)
            whole.reason = text_format("layer '%s': %s", chain->links[i].name, parts[i].reason);
    }
    if (ok && !whole.reason && as.pick == CHAIN_KERNEL && !joined)
        whole.reason = xstrdup("it fuses no two layers of this network");
    if (ok && !whole.reason)
        ok = compose_chain(of, list, spans, slices, copies, &whole, err);
    if (ok) {
        take_algorithm(&whole, parts, chain->count);
        whole.graph = as.graph;
        *out = whole;
    } else {
        program_free(&whole);
    }
    for (int i = 0; i < chain->count; i++) {
        program_free(&parts[i]);
        program_free(&copies[2 * i]);
        program_free(&copies[2 * i + 1]);
    }
    return ok;
}

bool plan_chain_bind(struct plan *plan, int index, const int *choice, struct error *err)
{
    struct plan_row *row = &plan->rows[index];
    struct program whole = {0}, part = {0};
    if (!bind_chain(plan, row, row->chain->work, choice, &whole, err))
        return false;
    if (row->chain->part) {
        if (!bind_chain(plan, row, row->chain->part, choice, &part, err)) {
            program_free(&whole);
            return false;
        }
        row->part = row->part ? row->part : xcalloc(1, sizeof *row->part);
        program_free(row->part);
        *row->part = part;
    }
    take_identity(&whole, row->program);
    program_free(row->program);
    *row->program = whole;
    return true;
}
