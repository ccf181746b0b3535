#include "measure/trust/nearby.h"
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "measure/verify/device_check.h"
#include "measure/verify/reference.h"
#include "op/op_file.h"
#include "op/reference/bound.h"
#include "op/reference/generate.h"
#include "measure/trust/failure.h"
#include "measure/trust/code_check.h"
#include "measure/trust/input_guard.h"
#include "op/reference/data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS 3
#define NEIGHBOURS_FILE 6 /* if an op file has its own sizes: one has larger values, two are long along one axis */
#define NEIGHBOURS_EMU 2  /* fewer, because each costs a multiple of the time of an interpreted row */
#define INTERPRETED 3     /* the row's own shape, and two nearby ones */
#define LONGEST 48
#define LONGEST_EMU 14
#define FLOP 3e8 /* their reference is the CPU's: 10 ms of 16 cores */
#define FLOP_EMU 2e7
/* Elements of a sweep, its results included: of as many lines as a line has places, three times if possible. */
#define SWEPT 2e8        /* made on a GPU: 2.4 GB; lines of 8,000 */
#define SWEPT_CPU 8e6    /* made by the CPU: lines of 1,600 to 2,828 */
#define SWEPT_LITTLE 1e6 /* on emu, or made by Python: lines of 1,000 */
#define FEW_ELEMENTS 4e7 /* of the row's own shape with few values: 0.2 GB, made by the CPU */
#define SWEPT_BYTES 48   /* of an element on a GPU: value, packed value, result, reference and bound; twice, for what else is there */
#define VISIT_LIMIT_S 60.0

struct visit {
    struct nearby_shapes *n;
    const struct build *build;
    struct row *row;
    int index;
    struct work work;
    struct program program;
    struct build own;            /* the code for this shape, if sizes are compiled in */
    struct device_image *images; /* by unit of the program */
    struct rig *rig;
};

/* Names the nearby shape in the reason: without it, a reader relates the reason to the row's own shape. */
static void name_neighbour(struct visit *v)
{
    struct text work = {0};
    work_describe(&v->work, &work);
    if (v->work.specials)
        text_add(&work, " with infinities or NaN (specials)");
    if (v->work.few)
        text_add(&work, v->work.few == FEW_ONES ? " with values 1 and -1" : " with few values that are not 0");
    if (v->work.sweep.of)
        text_add(&work, " with one extreme a line, at every place in turn");
    if (v->work.larger != 0)
        text_addf(&work, " values %g times as large", v->work.larger);
    if (v->work.mask.pattern != MASK_NONE)
        text_addf(&work, " mask %s %.2g", mask_pattern_names[v->work.mask.pattern], v->work.mask.density);
    char *reason = text_format("%s%s: %s",
                               v->n->interpreted ? "right on the GPU, but not as emu runs its PTX on "
                                                 : "right on its own shape, but not on a nearby shape that its head accepts, ",
                               text_get(&work), v->row->reason ? v->row->reason : "");
    row_set(&v->row->reason, reason);
    free(reason);
    text_free(&work);
}

static bool judge_neighbour(struct visit *v, const struct op_data *data, struct error *err)
{
    struct verdict verdict;
    struct text unsafe = {0};
    bool ok = rig_check(v->rig, data, &verdict, &unsafe, NULL, err);
    if (ok && !verdict.ok) {
        v->row->status = ROW_WRONG;
        char *reason = text_format("%s%s", verdict.text, failure_hint(&v->program, data, &verdict));
        row_set(&v->row->reason, reason);
        free(reason);
    } else if (ok && unsafe.len) {
        v->row->status = ROW_UNSAFE;
        row_set(&v->row->reason, text_get(&unsafe));
    }
    text_free(&unsafe);
    return ok;
}

/* The row's own compiled unit, or the unit compiled for the nearby shape. */
static bool take_code(struct visit *v, struct error *err)
{
    const struct program *p = plan_program(&v->n->job->plan, v->index);
    v->images = xcalloc((size_t)v->program.unit_count, sizeof *v->images);
    for (int i = 0; i < v->program.unit_count; i++) {
        int at = plan_unit_of(p, &v->program.units[i]);
        if (at < 0)
            return build_make_values(v->n->job, &v->program, &v->own, err);
        v->images[i] = v->build->images[at];
    }
    return true;
}

/* False (err): the code could not run, which is the row's fault. */
static bool visit_run(struct visit *v, struct op_data *data, struct error *err)
{
    struct device *dev = v->n->job->dev;
    if (dev->ops->clear)
        dev->ops->clear(dev);
    if (!take_code(v, err) ||
        !rig_open(dev, v->n->library->cudnn, &v->program, v->own.count ? v->own.images : v->images, true, &v->rig, err))
        return false;
    rig_time_limit(v->rig, v->n->job->time_limit_s);
    v->program.rounds = code_sums_round(&v->program, v->own.count ? v->own.images : v->images);
    if (!rig_feed(v->rig, data, err) || !rig_prepare(v->rig, NULL, err) || !rig_run(v->rig, err) || !dev->ops->sync(dev, err))
        return false;
    v->row->status = ROW_PLANNED; /* so that emu's reports concern only this run */
    failure_take_reports(dev, v->row);
    if (v->row->status != ROW_PLANNED)
        return true;
    v->row->status = ROW_OK;
    return judge_neighbour(v, data, err);
}

/* ---- data and references of nearby shapes: rows of a case that use the same shape share them ---- */

void nearby_open(struct nearby_shapes *n, struct job *job, struct data_store *data, const struct vendor_library *library)
{
    *n = (struct nearby_shapes){.job = job, .data = data, .library = library, .case_index = -1};
}

void nearby_drop(struct nearby_shapes *n)
{
    while (n->count > 0) {
        card_data_free(n->items[--n->count].data.card);
        op_data_free(&n->items[n->count].data);
    }
    while (n->drawn_count > 0)
        if (n->drawn[--n->drawn_count].any)
            program_free(&n->drawn[n->drawn_count].program);
    free(n->items);
    free(n->drawn);
    bool interpreted = n->interpreted;
    nearby_open(n, n->job, n->data, n->library);
    n->interpreted = interpreted;
}

bool nearby_guard(struct nearby_shapes *n, bool *touched, struct error *err)
{
    return ALL_OF(i, n->count, guard_data(&n->items[i].data, touched, err));
}

/* Values of which an exponential may overflow, and so may the reference (NEARBY_LARGER). */
static bool is_overflowing(const struct work *work)
{
    return work->larger != 0 && !work_is_exact(work);
}

#define NO_DIFFERENCE 0x1p-40 /* of sums in double; a variance of up to 40 million values differs by more */

/* True if each result, or its square, is the sum of the results for every second of the few values and for the others: then a value of 0
 * adds nothing, and no rounding error. */
static bool adds(const struct job *job, const struct work *work, const struct op_data *all, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    struct op_data even = {0}, odd = {0}, *part[] = {&even, &odd};
    bool ok = true, plain = true, square = true;
    for (int i = 0; ok && i < 2; i++) {
        struct work some = *work;
        some.few = FEW_EVEN + (enum few)i;
        ok = reference_data_make(job->dev, job->options.compiler, &some, DATA_PART_PRECISION, part[i], err);
    }
    for (int i = 0, count = work->op->tensors(work, list); ok && i < count; i++) {
        int slot = list[i].role->slot;
        for (size_t k = 0; list[i].written && k < all->at[slot].elements; k++) {
            double y = all->at[slot].reference[k], a = even.at[slot].reference[k], b = odd.at[slot].reference[k];
            plain &= fabs(y - a - b) <= NO_DIFFERENCE * (fabs(a) + fabs(b));
            square &= fabs(y * y - a * a - b * b) <= NO_DIFFERENCE * (a * a + b * b);
        }
    }
    op_data_free(&even);
    op_data_free(&odd);
    return ok && (plain || square || error_set(err, ERROR_USAGE, "it is no sum"));
}

/* True if each result, or its square, is a whole number, or one divided by that of the terms: then the sums are exact in any order. */
static bool sums_whole(const struct work *work, const struct op_data *data)
{
    struct tensor list[OP_MAX_TENSORS];
    const double terms = (double)work_terms(work), factor[] = {1, terms};
    bool whole[4] = {true, true, true, true};
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        const struct op_values *v = &data->at[list[i].role->slot];
        for (size_t k = 0; list[i].written && k < v->elements; k++)
            for (int how = 0; how < 4; how++) {
                double y = (how / 2 ? v->reference[k] * v->reference[k] : v->reference[k]) * factor[how % 2];
                whole[how] &= fabs(y - rint(y)) <= NO_DIFFERENCE * terms;
            }
    }
    return whole[0] || whole[1] || whole[2] || whole[3];
}

/* The bound of an op that is never exact grows with the length of a line. Here only few values of a line are summed, so it shrinks to
 * theirs. */
static void tighten(const struct work *work, struct op_data *data)
{
    struct tensor list[OP_MAX_TENSORS];
    double share = bound_sum_error(work->math, 2 * GENERATE_FEW) / bound_sum_error(work->math, (double)work_terms(work));
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        struct op_values *v = &data->at[list[i].role->slot];
        for (size_t k = 0; v->bound && !v->guessed && !v->own_bound && k < v->elements; k++)
            v->bound[k] *= (float)share;
    }
}

static bool make_few(struct nearby_shapes *n, const struct work *work, struct op_data *data, struct error *err)
{
    if (!reference_data_make(n->job->dev, n->job->options.compiler, work, DATA_PART_PRECISION, data, err))
        return false;
    bool ok = work->few == FEW_ONES ? sums_whole(work, data) || error_set(err, ERROR_USAGE, "it is no sum") : adds(n->job, work, data, err);
    if (ok && !work_is_exact(work))
        tighten(work, data);
    if (!ok)
        op_data_free(data);
    return ok;
}

static bool make_data(struct nearby_shapes *n, const struct work *work, struct op_data *data, struct error *err)
{
    const struct job *job = n->job;
    struct card *card = data_card(n->data);
    struct work level = *work;
    struct error none = {0};
    if (!work->op->file && !work->op->data_make) {
        if (!op_data_inputs(work, DATA_PART_PRECISION, data, err))
            return false;
        if (op_data_near_zero(work, data, err) && op_data_reference(work, data, err))
            return true;
        op_data_free(data);
        return false;
    }
    if (work->few)
        return make_few(n, work, data, err);
    if (is_overflowing(work))
        return reference_conditioned(job->dev, job->options.compiler, work, DATA_PART_PRECISION, data, err);
    if (work->sweep.of && card && reference_source(work->op)) /* the host has no part in it */
        return card_data_make(card, work, DATA_PART_PRECISION, data, err);
    level.mean = 0; /* if there is no reference with one */
    return (work->mean != 0 && reference_conditioned(job->dev, job->options.compiler, work, DATA_PART_PRECISION, data, &none)) ||
           reference_data_make(job->dev, job->options.compiler, &level, DATA_PART_PRECISION, data, err);
}

/* NULL (err): bench cannot make it. */
static struct op_data *data_of(struct nearby_shapes *n, const struct work *work, struct error *err)
{
    struct op_data data;
    char key[HASH_TEXT];
    work_key(work, key);
    for (int i = 0; i < n->count; i++)
        if (!strcmp(n->items[i].key, key)) {
            *err = n->items[i].why;
            return err->kind ? NULL : &n->items[i].data;
        }
    bool ok = make_data(n, work, &data, err);
    if (!ok) {
        SCOPED_TEXT shape = {0};
        work_describe(work, &shape);
        error_where(err, "%s", text_get(&shape));
        if (err->kind != ERROR_USAGE)
            return NULL;
    }
    struct nearby_data *made = APPEND(n->items, n->count);
    memset(made, 0, sizeof *made);
    memcpy(made->key, key, sizeof key);
    if (!ok) {
        made->why = *err;
        return NULL;
    }
    made->data = data;
    made->data.elsewhere = true;
    return &made->data;
}

/* Moves the data to the device, which feeds and checks rows as on their own shape; if it cannot, the CPU does. */
static void data_there(struct data_store *d, const struct work *work, struct op_data *data)
{
    struct error ignored = {0};
    struct card *card = data_card(d);
    if (!data->card && card)
        card_data_take(card, work, DATA_PART_PRECISION, data, &ignored);
    card_data_moved(data->card, data);
}

/* Handles a missing reference. The op's file decides which shapes exist, so a reference that fails on one is not a row's fault. Neither is
 * a missing compiler or Python if the reference of the row's own shape came from a bundle or the cache. */
static bool without_reference(struct visit *v, const struct error *why, int *seen, struct error *err)
{
    const struct op_file *f = v->work.op->file;
    bool shape = why->kind == ERROR_USAGE;
    if (!f || (!shape && why->kind != ERROR_ENVIRONMENT)) {
        *err = *why;
        return false;
    }
    --*seen;
    if (!is_overflowing(&v->work) && !v->work.sweep.of && !v->work.few)
        row_add_note(v->row, "not run on a nearby shape, %s%s", why->text, shape ? "; `needs:` in the op's file limits the shapes" : "");
    return true;
}

/* True if the row's op is a file with its own tensors. Then a missing kind of nearby shape does not rule out the next kind, and the
 * device or another program makes the data. */
static bool is_of_file(const struct job *job, int index)
{
    return plan_program(&job->plan, index)->work.op->file != NULL;
}

bool nearby_has_code(const struct job *job, int index)
{
    const struct program *p = plan_program(&job->plan, index);
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_CUDNN || p->steps[i].kind == STEP_CALL) /* a library searches again for every shape */
            return false;
    return job->plan.rows[index].kind == PLAN_LAYER && p->checked;
}

/* The number of its nearby shapes, the last of which is larger than its own along every axis (NEARBY_GROWN). */
static int wanted(const struct job *job, int index)
{
    const struct plan_row *row = &job->plan.rows[index];
    bool added = job->plan.cases[row->case_index].like; /* another density of a case whose rows, in the same configurations, were checked
                                                           already */
    if (added || job->options.choose || !nearby_has_code(job, index) || !plan_has_nearby(job->plan.cases[row->case_index].work.op))
        return 0;
    return 1 + (is_of_file(job, index) ? NEIGHBOURS_FILE : spec_is_timed(job->options.device) ? NEIGHBOURS : NEIGHBOURS_EMU);
}

/* Draws a shape that no kernel can predict. */
static bool draw_neighbour(const struct job *job, int index, int number, struct work *work, struct program *program)
{
    uint64_t seed = random_bits(job_seed(job), 3, (uint64_t)number);
    bool timed = spec_is_timed(job->options.device), file = is_of_file(job, index), last = number + 1 == wanted(job, index),
         masked = plan_program(&job->plan, index)->work.mask.pattern != MASK_NONE; /* one is nearly full, one nearly empty */
    if (last || (file && !number))                                                 /* larger values first: the row's own code meets them */
        number = last ? NEARBY_GROWN : NEARBY_LARGER;
    else if (file)
        number--;
    else if (!timed) /* only two: an unrelated shape, and one that shares a property of any kind with the row's shape */
        number = (!number ? 0 : masked ? 2 : 1 + (int)(seed / NEIGHBOURS % 2)) + NEIGHBOURS * (int)(seed % NEIGHBOURS);
    bool far = timed || (file ? number < NEARBY_GROWN && number % 2 : number % NEIGHBOURS > 0); /* a long shape is cheap there */
    double flop = timed ? FLOP : far && !file ? FLOP_EMU / 2 : FLOP_EMU;
    return plan_nearby(&job->plan, index, number, seed, far ? LONGEST : LONGEST_EMU, flop, work, program);
}

/* Returns the shape that was drawn ahead, or draws it now: each attempt to bind a head to other sizes takes half a millisecond. False:
 * there is none. */
static bool take_neighbour(struct nearby_shapes *n, int index, int number, struct work *work, struct program *program)
{
    if (n->interpreted && !number)
        return plan_nearby(&n->job->plan, index, NEARBY_OWN, 0, LONGEST_EMU, FLOP_EMU, work, program);
    number -= n->interpreted && !is_of_file(n->job, index); /* an op of a file begins with larger values */
    for (int i = 0; i < n->drawn_count; i++) {
        struct nearby_shape drawn = n->drawn[i];
        if (drawn.row != index || drawn.number != number)
            continue;
        n->drawn[i] = n->drawn[--n->drawn_count];
        *work = drawn.work;
        *program = drawn.program;
        return drawn.any;
    }
    return draw_neighbour(n->job, index, number, work, program);
}

/* Checks whether the row wrote to the values of the nearby shape. */
static bool look_at_values(struct op_data *data, struct row *row, struct error *err)
{
    bool touched = false;
    if (!guard_data(data, &touched, err))
        return false;
    if (touched)
        guard_blame(row);
    return true;
}

/* On v's work and program, which it frees. Counts the shape in *seen. *more: another shape is worth its cost; it is not if it needs a
 * compilation. */
static bool visit_shape(struct visit v, int *seen, bool *more, struct error *err)
{
    struct nearby_shapes *n = v.n;
    struct job *job = n->job;
    struct row *row = v.row;
    int index = v.index;
    struct error why = {0};
    ++*seen;
    job_stage(job, index, "neighbour", VISIT_LIMIT_S + job->time_limit_s);
    int in_case = job->plan.rows[index].case_index;
    if (n->case_index != in_case)
        nearby_drop(n);
    n->case_index = in_case;
    data_cross_check(n->data, v.work.op);
    struct op_data *data = data_of(n, &v.work, &why);
    if (data)
        data_there(n->data, &v.work, data);
    if (data && !visit_run(&v, data, &why)) {
        if (why.kind == ERROR_ENVIRONMENT) /* a shape that a library does not support is not the row's fault */
            --*seen;
        else
            failure_blame(job->dev, row, &why, n->interpreted ? ROW_SKIPPED : ROW_CRASHED);
    }
    bool lost = row->status == ROW_CRASHED && job->dev->ops->keeps_time;
    bool ok = data ? lost || look_at_values(data, row, err) : without_reference(&v, &why, seen, err);
    if (ok && row->status != ROW_OK && (!n->interpreted || row->status == ROW_UNSAFE || row->status == ROW_WRONG))
        name_neighbour(&v);
    if (!lost)
        rig_close(v.rig);
    *more = data && row->status == ROW_OK && !v.own.count;
    build_free(&v.own);
    free(v.images);
    program_free(&v.program);
    return ok;
}

static bool visit(struct nearby_shapes *n, int index, int number, const struct build *build, struct row *row, int *seen, bool *more,
                  struct error *err)
{
    struct visit v = {.n = n, .build = build, .row = row, .index = index};
    *more = take_neighbour(n, index, number, &v.work, &v.program);
    if (*more)
        return visit_shape(v, seen, more, err);
    *more = is_of_file(n->job, index);
    return true;
}

static double swept_elements(struct nearby_shapes *n, const struct op *op)
{
    struct device *dev = n->job->dev;
    double spare = dev->ops->spare ? (double)dev->ops->spare(dev) / SWEPT_BYTES : SWEPT;
    return !spec_is_timed(n->job->options.device) || (op->file && op->file->from == REFERENCE_PYTHON) ? SWEPT_LITTLE
           : !data_card(n->data) || !reference_source(op)                                             ? SWEPT_CPU
                                                                                                      : fmin(SWEPT, spare);
}

/* At how many places of a line the first `end` lines of a turn of `each`, of a sweep of all `of`, decide. */
static int64_t places_reached(const struct generate_selection *l, int64_t end, int64_t each, int64_t of)
{
    bool apart = each >= l->length && each < draw_sweep_turn(l->length); /* one turn over all places, not one line a place */
    int64_t places = apart ? (end - 1) * l->length / each + 1 : end < l->length ? end : l->length;
    return draw_sweep_halves(l->kind, of, each) ? places / 2 : places; /* of each kind of line */
}

/* Runs the row of an op that selects on lines of its own length, so that each place of a line decides a result once. */
static bool sweep(struct nearby_shapes *n, int index, const struct build *build, struct row *row, int *seen, struct error *err)
{
    const struct plan_row *p = &n->job->plan.rows[index];
    const struct work *own = &n->job->plan.cases[p->case_index].work;
    struct generate_selection lines;
    int64_t reached = 0;
    bool more = generate_selects(own, &lines), selects = more;
    double elements = more ? swept_elements(n, own->op) : 0;
    for (int part = 0; more && row->status == ROW_OK; part++) {
        struct visit v = {.n = n, .build = build, .row = row, .index = index};
        int before = *seen;
        if (!plan_nearby(&n->job->plan, index, NEARBY_SWEPT + part, random_bits(job_seed(n->job), 3, NEARBY_SWEPT), 0, elements, &v.work,
                         &v.program))
            break;
        generate_selects(&v.work, &lines);
        int64_t end = v.work.sweep.first + lines.count, each = v.work.sweep.each;
        if (!visit_shape(v, seen, &more, err))
            return false;
        more &= end < v.work.sweep.of;
        if (*seen > before)
            reached = places_reached(&lines, end < each ? end : each, each, v.work.sweep.of);
    }
    if (selects && row->status == ROW_OK && reached < lines.length && !p->part)
        row_add_note(
            row, "a sweep put the value that decides a line's result at %lld of its %lld places; a kernel that ignores another may pass",
            (long long)reached, (long long)lines.length);
    return true;
}

/* Runs the row of an op that sums long lines on its own shape, with so few values that the tolerance is that of a short sum; then, if zeros
 * add nothing, with whole numbers. */
static bool run_few(struct nearby_shapes *n, int index, const struct build *build, struct row *row, int *seen, struct error *err)
{
    bool more = true;
    for (int number = NEARBY_FEW; number <= NEARBY_ONES && more && row->status == ROW_OK; number++) {
        struct visit v = {.n = n, .build = build, .row = row, .index = index};
        more =
            plan_nearby(&n->job->plan, index, number, random_bits(job_seed(n->job), 3, NEARBY_FEW), 0, FEW_ELEMENTS, &v.work, &v.program);
        if (more && !visit_shape(v, seen, &more, err))
            return false;
    }
    return true;
}

void nearby_draw(struct nearby_shapes *n, int index, const atomic_bool *enough)
{
    const struct job *job = n->job;
    for (int i = 0, count = is_of_file(job, index) ? 0 : wanted(job, index); i < count && !atomic_load(enough); i++) {
        struct nearby_shape *drawn = APPEND(n->drawn, n->drawn_count);
        struct error ignored = {0}; /* reported when the row is verified */
        drawn->row = index;
        drawn->number = i;
        drawn->any = draw_neighbour(job, index, i, &drawn->work, &drawn->program);
        if (!drawn->any)
            return;
        bool own = false;
        for (int k = 0; k < drawn->program.unit_count; k++)
            own |= plan_unit_of(plan_program(&job->plan, index), &drawn->program.units[k]) < 0;
        data_of(n, &drawn->work, &ignored);
        if (own) /* it is the only one */
            return;
    }
}

void nearby_compile(const struct job *job, int index)
{
    for (int i = 0, count = wanted(job, index); i < count; i++) {
        struct build build = {0};
        struct work work;
        struct program program;
        struct error ignored = {0}; /* reported when the row is verified */
        bool own = false;
        if (!draw_neighbour(job, index, i, &work, &program)) {
            if (is_of_file(job, index))
                continue;
            return;
        }
        for (int k = 0; k < program.unit_count; k++)
            own |= plan_unit_of(plan_program(&job->plan, index), &program.units[k]) < 0;
        if (own && build_make_values(job, &program, &build, &ignored))
            build_free(&build);
        reference_compile(&work, job->plan.chip.arch, job->options.compiler, job_interprets(job));
        program_free(&program);
        if (own)
            return;
    }
}

bool nearby_interpret(struct nearby_shapes *n, int index, const struct build *build, struct row *row, struct error *err)
{
    int seen = 0;
    bool more = true;
    if (!plan_has_nearby(plan_program(&n->job->plan, index)->work.op))
        return error_set(err, ERROR_ENVIRONMENT, "the op has values from files");
    n->interpreted = true;
    for (int number = 0; number < INTERPRETED && row->status == ROW_OK && (number == 1 || more); number++)
        if (!visit(n, index, number, build, row, &seen, &more, err))
            return false;
    if (!seen)
        return error_set(err, ERROR_ENVIRONMENT, "the layer is too large, and its head accepts no smaller one");
    if (row->status == ROW_OK)
        row_add_metric(row, -1, 0, "verify.interpreted", "", "verify", seen);
    return true;
}

bool nearby_run(struct nearby_shapes *n, int index, const struct build *build, struct row *row, struct error *err)
{
    int count = wanted(n->job, index), seen = 0;
    bool more = count > 0;
    const struct op *op = n->job->plan.cases[n->job->plan.rows[index].case_index].work.op;
    if (nearby_has_code(n->job, index) && !plan_has_nearby(op))
        row_add_note(row, "not run on a nearby shape: %s has values from files, which have one shape", file_base(op_path(op)));
    if (!more)
        return true;
    for (int i = 0; i < count && more; i++)
        if (!visit(n, index, i, build, row, &seen, &more, err))
            return false;
    if (!run_few(n, index, build, row, &seen, err) || !sweep(n, index, build, row, &seen, err))
        return false;
    row_add_metric(row, -1, 0, "verify.neighbours", "", "verify", seen);
    return true;
}
