/* The cases and rows of sequences: a network's layers run over frames. Frame 0 is computed whole. From then on a sparse row sends only
 * changes through the layers: a pixel that changed by more than the threshold is sent on, each layer adds what arrives to its sums, and
 * behind each activation a pixel's change is sent on when its norm is above the truncation. What is held back stays in the difference
 * between the sum and what was sent (kernels/sequence/delta.cu). */
#include "base/file.h"
#include "base/text.h"
#include "plan/rows/private.h"
#include "op/file/ops.h"
#include "kernel/head/load.h"
#include "kernel/bind/variant_bind.h"
#include <stdlib.h>
#include <string.h>

#define KERNELS "kernels/sequence/delta.cu"

/* The rows of one sequence, as they are added. */
struct sequence_rows {
    struct plan *plan;
    const struct scenario_sequence *of;
    struct way *dense, *sparse;
    int case_index; /* -1: no row yet */
    int row_index;  /* of the next row */
    bool library;   /* cuDNN may run on this kind of device */
    const struct side *side;
};

/* The programs of a row by layer, and which of them belong to another variant. */
struct parts {
    const struct program **list;
    struct program *programs;
    int *spans, own;
    struct text others; /* "conv2d/sparse_naive on head" */
    char *first;        /* why the row's own variant cannot do the first layer that it cannot do */
};

/* The layers at the size that flows. */
static bool make_works(const struct scenario *s, const struct scenario_sequence *q, const char *device_kind, struct chain_link *links,
                       struct error *err)
{
    for (int i = 0; i < q->layer_count; i++) {
        bool cropped;
        struct chain_link *l = &links[i];
        *l = (struct chain_link){.work = q->layers[i]->work,
                                 .name = q->layers[i]->name,
                                 .input = i - 1,
                                 .residual = q->with[i] >= 0 ? q->with[i] : CHAIN_NONE,
                                 .layer = i};
        l->work.seed += (uint64_t)i * 7919; /* weights of its own */
        if (i) {
            l->work.h = links[i - 1].work.p;
            l->work.w = links[i - 1].work.q;
        }
        const struct work *with = q->with[i] >= 0 ? &links[q->with[i]].work : NULL;
        if (with && (l->work.h != with->p || l->work.w != with->q)) {
            error_set(err, ERROR_USAGE, "images of %lld x %lld and of %lld x %lld pixels", (long long)l->work.w, (long long)l->work.h,
                      (long long)with->q, (long long)with->p);
            return error_where(err, "sequence %s, layer %s with %s", q->name, l->name, links[q->with[i]].name);
        }
        if (!(i ? work_finish(&l->work, err) : scenario_crop(s, device_kind, &l->work, &cropped, err)))
            return error_where(err, "sequence %s, layer %s", q->name, l->name);
    }
    return true;
}

/* Each layer without its epilogue, as the op of changes. The device makes their masks; rules that choose a variant see how much of the
 * first input changes (for a video, of some frames). */
static bool take_changes(const struct scenario_sequence *q, const struct chain *layers, struct chain_link *links, struct error *err)
{
    const struct mask changes = q->video ? (struct mask){.pattern = MASK_BLOBS, .density = 0.1, .radius = 24} : q->changes;
    for (int i = 0; i < layers->count; i++) {
        links[i] = layers->links[i];
        struct work *w = &links[i].work;
        w->epilogue_count = 0;
        w->mask = changes;
        w->op = op_of_changes(w->op);
        if (!work_finish(w, err))
            return error_where(err, "layer %s", links[i].name);
    }
    return true;
}

static struct way *new_way(int count)
{
    struct way *way = xcalloc(1, sizeof *way);
    way->chain = (struct chain){.links = xcalloc((size_t)count, sizeof *way->chain.links), .count = count};
    return way;
}

static bool make_ways(struct sequence_rows *r, const char *device_kind, struct error *err)
{
    const struct scenario_sequence *q = r->of;
    r->dense = plan_way_keep(r->plan, new_way(q->layer_count));
    r->sparse = plan_way_keep(r->plan, new_way(q->layer_count));
    if (!make_works(r->plan->scenario, q, device_kind, r->dense->chain.links, err) || !chain_work(&r->dense->chain, &r->dense->work, err) ||
        !take_changes(q, &r->dense->chain, r->sparse->chain.links, err))
        return false;
    r->sparse->work = r->dense->work;
    r->sparse->work.chain = &r->sparse->chain;
    r->dense->layer = (struct layer){.name = q->name, .work = r->dense->work, .repeat = 1, .node = q->node};
    return true;
}

/* Why a bound program cannot be part of the sequence; NULL: it can. */
static char *unfit(const struct sequence_rows *r, const struct program *p, const struct work *work, bool sparse, bool own)
{
    if (!p->feasible)
        return xstrdup(p->reason);
    for (int i = 0; i < p->step_count && !own && !r->library; i++)
        if (p->steps[i].kind == STEP_CUDNN)
            return xstrdup("it is cuDNN's");
    if (sparse && program_tensor(p, "mask_out") < 0)
        return xstrdup("it writes no mask_out, which the next layer needs");
    if (p->tensors[program_tensor(p, "input")].layout != work->layout || p->tensors[program_tensor(p, "output")].layout != work->layout)
        return xstrdup("its layout differs from the layout of the sequence");
    return NULL;
}

/* Finds another variant of the same kind for a layer that the row's own cannot do: the first of the scenario that can. */
static bool bind_other(const struct sequence_rows *r, const struct plan_row *row, int link, struct parts *parts, bool *found,
                       struct error *err)
{
    const struct scenario *sc = r->plan->scenario;
    const struct chain_link *l = &row->program->work.chain->links[link];
    struct program *p = &parts->programs[link];
    for (int i = 0; i < sc->variant_count && !*found; i++) {
        const struct variant *v = plan_resolve(plan_set(r->plan, r->side), sc->variants[i].name, l->work.op);
        struct variant_config *configs;
        if (!v || v == row->variant || variant_reads_mask(v) != row->sequence->sparse)
            continue;
        program_free(p);
        int count = variant_configs(v, NULL, &configs, err);
        if (count < 1 ||
            !variant_bind(plan_set(r->plan, r->side), plan_configs_keep(r->plan, configs, count), &l->work, &r->plan->chip, p, err))
            return false;
        SCOPED char *why = unfit(r, p, &l->work, row->sequence->sparse, false);
        *found = !why;
        if (*found)
            text_addf(&parts->others, "%s%s on %s", parts->others.len ? ", " : "", v->name, l->name);
    }
    return true;
}

/* Binds a layer. False on an error; if no variant can do it, the row's program has the reason. */
static bool bind_layer(const struct sequence_rows *r, struct plan_row *row, int link, struct parts *parts, struct error *err)
{
    const struct chain_link *l = &row->program->work.chain->links[link];
    bool sparse = row->sequence->sparse, mine = l->work.op == row->variant->op;
    struct program *p = &parts->programs[link];
    if (mine && !variant_bind(plan_set(r->plan, r->side), row->config, &l->work, &r->plan->chip, p, err))
        return false;
    SCOPED char *reason = mine ? unfit(r, p, &l->work, sparse, true)
                               : text_format("no listed %s variant of op %s can do it", sparse ? "sparse" : "dense", l->work.op->name);
    bool found = !reason;
    parts->own += found;
    bool ok = found || bind_other(r, row, link, parts, &found, err);
    if (ok && !found)
        row->program->reason = text_format("%s: %s", l->name, reason);
    else if (ok && mine && reason && !parts->first)
        parts->first = text_format("%s: %s", l->name, reason);
    return ok;
}

/* Path of the file with the kernels between the layers: bench's own, or the side's. */
static char *sequence_kernels(const struct side *side)
{
    return side ? text_format("%s/../../" KERNELS, side->variants) : file_share(KERNELS);
}

static bool compose(const struct sequence_rows *r, struct plan_row *row, const struct parts *parts, struct error *err)
{
    struct work work = row->program->work;
    if (!row->sequence->sparse)
        return compose_chain(&work, parts->list, parts->spans, NULL, NULL, row->program, err);
    SCOPED char *kernels = sequence_kernels(r->side);
    const struct changes changes = {.layers = &r->dense->chain,
                                    .kernels = kernels,
                                    .include = r->side ? r->side->include : NULL,
                                    .threshold = r->of->threshold,
                                    .truncate = r->of->truncate,
                                    .above = r->of->truncate_above};
    compose_changes(&work, parts->list, &changes, &row->sequence->changed, row->program);
    return true;
}

static bool bind_row(const struct sequence_rows *r, struct plan_row *row, struct error *err)
{
    int count = r->of->layer_count;
    struct parts parts = {.list = xcalloc((size_t)count, sizeof *parts.list),
                          .programs = xcalloc((size_t)count, sizeof *parts.programs),
                          .spans = xcalloc((size_t)count, sizeof *parts.spans)};
    bool ok = true;
    for (int i = 0; ok && i < count && !row->program->reason; i++) {
        parts.list[i] = &parts.programs[i];
        parts.spans[i] = 1;
        ok = bind_layer(r, row, i, &parts, err);
    }
    if (ok && !row->program->reason && !parts.own && parts.first) {
        row->program->reason = parts.first;
        parts.first = NULL;
    }
    if (ok && !row->program->reason)
        ok = compose(r, row, &parts, err);
    row->note = parts.others.len ? text_take(&parts.others) : NULL;
    for (int i = 0; i < count; i++)
        program_free(&parts.programs[i]);
    FREE_ALL(parts.list, parts.programs, parts.spans, parts.first);
    return ok;
}

static int add_sequence_case(struct sequence_rows *r)
{
    struct text id = {0};
    text_addf(&id, "%s/%s", r->plan->scenario->name, r->of->name);
    for (int i = 0; i < r->of->axis_count; i++)
        text_addf(&id, "%s%s=%s%s", i ? "," : "[", r->of->axes[i].axis, r->of->axes[i].value, i + 1 == r->of->axis_count ? "]" : "");
    int at = plan_case_add(r->plan, r->dense, text_take(&id));
    struct scenario_case *c = &r->plan->cases[at];
    for (int i = 0; i < r->of->axis_count; i++)
        *APPEND(c->axes, c->axis_count) =
            (struct coordinate){xstrdup(r->of->axes[i].axis), xstrdup(r->of->axes[i].value), r->of->axes[i].number, false};
    return at;
}

static void sequence_add_row(struct sequence_rows *r, const struct variant_config *config, bool sparse)
{
    const struct way *way = sparse ? r->sparse : r->dense;
    if (r->case_index < 0)
        r->case_index = add_sequence_case(r);
    struct plan_row row = {.kind = PLAN_SEQUENCE,
                           .case_index = r->case_index,
                           .row_index = r->row_index++,
                           .variant = config->variant,
                           .config = config,
                           .side = r->side,
                           .sequence = xcalloc(1, sizeof *row.sequence),
                           .program = xcalloc(1, sizeof(struct program))};
    struct error own = {0};
    *row.program = (struct program){.work = way->work, .tile_weight_bytes = -1, .predicted = {-1, -1, -1}};
    *row.sequence = (struct sequence_row){.of = r->of, .layers = &r->dense->chain, .sparse = sparse};
    row.made_id = plan_row_id(&r->plan->cases[r->case_index], config);
    if (!bind_row(r, &row, &own))
        row.broken = plan_broken(&own);
    plan_facts(&row, row.program);
    plan_row_add(r->plan, &row);
}

/* Dense variants of conv2d first, so that the baseline is one of them. */
static bool sequence_add_rows(struct sequence_rows *r, struct error *err)
{
    const struct scenario *sc = r->plan->scenario;
    for (int sparse = 0; sparse < 2; sparse++)
        for (int i = 0; i < sc->variant_count; i++) {
            const struct variant *v = plan_resolve(plan_set(r->plan, r->side), sc->variants[i].name, op_for(TASK_SEQUENCE));
            struct variant_config *configs;
            bool shared = r->plan->side_count && !r->side; /* shared by the sides: the library's rows */
            if (!v || variant_reads_mask(v) != sparse || !plan_only(r->plan, v->name) ||
                (r->plan->side_count && variant_is_library(v) != shared))
                continue;
            int count = variant_configs(v, sc->variants[i].params, &configs, err);
            if (count < 0)
                return false;
            plan_configs_keep(r->plan, configs, count);
            for (int k = 0; k < count; k++)
                sequence_add_row(r, &configs[k], sparse);
        }
    return true;
}

bool plan_sequences_add(struct plan *plan, const struct plan_options *o, const char *device_kind, struct error *err)
{
    const struct scenario *sc = plan->scenario;
    if (o->variant_names)
        return true; /* sequences are parts of a scenario */
    for (int i = 0; i < sc->sequence_count; i++) {
        struct sequence_rows r = {.plan = plan, .of = &sc->sequences[i], .case_index = -1, .library = !strcmp(device_kind, "cuda")};
        if (!scenario_has_sequence(sc, &o->filter, r.of))
            continue;
        bool ok = make_ways(&r, device_kind, err);
        for (int side = -1; ok && side < plan->side_count; side++) {
            r.side = side < 0 ? NULL : &plan->sides[side];
            ok = sequence_add_rows(&r, err);
        }
        if (!ok)
            return false;
        if (r.case_index < 0 && !o->filter.only)
            plan_note(plan, text_format("sequence %s: none of the variants is of op conv2d", r.of->name));
    }
    return true;
}

void plan_sequence_hash(const struct plan_row *p, struct hash *h)
{
    const struct scenario_sequence *q = p->sequence->of;
    struct work changes = p->sequence->layers->links[0].work;
    char key[HASH_TEXT];
    size_t bytes;
    SCOPED char *path = sequence_kernels(p->side), *kernels = file_read(path, NODE_MAX_BYTES, &bytes, NULL);
    SCOPED char *text =
        text_format("sparse=%d;frames=%d;video=%s;noise=%.17g;threshold=%.17g;truncate=%d:%.17g;bound=%.17g;", p->sequence->sparse,
                    q->frames, q->video ? q->video : "", q->noise, q->threshold, (int)q->truncate, q->truncate_above, q->bound);
    changes.mask = q->changes;
    work_key(&changes, key);
    hash_add_text(h, key);
    hash_add_text(h, text);
    hash_add_text(h, kernels ? kernels : "");
}

void plan_sequence_describe(const struct plan_row *p, struct row *row)
{
    const struct scenario_sequence *q = p->sequence->of;
    const struct chain *layers = p->sequence->layers;
    struct text t = {0};
    text_addf(&t, "%d layers, %d frames, truncate %s %g, threshold %g; first ", q->layer_count, q->frames, truncate_names[q->truncate],
              q->truncate_above, q->threshold);
    work_describe(&layers->links[0].work, &t);
    free(row->work);
    row->work = text_take(&t);
    row_set(&row->bare_work, NULL);
    row_set(&row->epilogue, NULL);
    row_set(&row->op, ROW_SEQUENCE);
    row->bytes = 0;
    for (int i = 0; i < layers->count; i++)
        row->bytes += work_bytes(&layers->links[i].work);
    row->claims = -1;
}
