#include "measure/trust/layer_values.h"
#include "base/text.h"
#include "measure/trust/producers.h"
#include "measure/verify/reference.h"
#include "measure/verify/verify.h"
#include "op/mask/mask.h"
#include "op/reference/data.h"
#include "op/reference/generate.h"
#include "op/shape.h"
#include "op/weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE_BYTES ((size_t)251 << 12) /* of copies of values: no power of two, by which an index may be wrong, is a multiple of it */
#define ROWS 6                         /* of the output that are compared at most, */
#define STRETCHES 3                    /* and of each some columns */
#define STRETCH 8                      /* side by side: what the reference computes at once */
#define PRODUCTS 2e7                   /* of the reference in all, */
#define PRODUCTS_MOST 1e7              /* and of one pixel */
#define BEFORE 2e6                     /* instructions of kernels that run again before the last one */
#define CLEARED 100000                 /* sectors of an input */
#define RUN_S 3.0

struct looking {
    const struct layer_look *is;
    const struct program *program;
    const struct work *work;
    struct device *dev;
    struct op_data data; /* borrows all but references */
    struct op_repeat repeat[OP_MAX_TENSORS];
    float *inputs[OP_MAX_TENSORS]; /* those of which few values are made */
    int output;                    /* its index among the program's tensors */
    const struct tensor *t;
    uint64_t address;
    const uint8_t *written, *read;
    int64_t fold[4], high, wide; /* of the output; lines and columns that a pixel before the epilogue becomes */
    struct verdict all;
    struct producers producers; /* where kernels before the last one take too long to run again */
    uint8_t *marks;             /* of a masked input: sectors that were read when blocks were counted; NULL: it is none */
};

/* All blocks of the launches ran, once, or are few enough to run again. */
static bool is_complete(const struct layer_look *look)
{
    return look->whole_before && look->last->ran == look->last->all && (!look->last->probed || look->before <= BEFORE);
}

/* Its blocks wait for each other, and are few enough to run again. */
static bool runs_whole(const struct layer_look *look)
{
    return !look->last->picked_count && look->last->ran == look->last->all && look->cost <= BEFORE;
}

/* The kernels before the last one take too long to run whole. */
static bool runs_partly(const struct layer_look *look)
{
    return look->before > 0 && (!look->whole_before || look->before > BEFORE);
}

/* Why what blocks of the last kernel write may not be complete; NULL: it is. */
static const char *depends(const struct layer_look *look, const struct program *p, int output)
{
    const int last = p->step_count - 1;
    const bool again = !p->work.op->file; /* the kernels run once more */
    if (p->steps[last].kind != STEP_KERNEL)
        return "its last step is no kernel";
    if (again ? runs_partly(look) && p->work.mask.pattern != MASK_NONE : look->before > 0 && !look->whole_before)
        return "its kernels use each other's results";
    for (int i = 0; i < last && (again || !is_complete(look)); i++)
        if (!p->steps[i].prepare && program_step_uses(p, &p->steps[i], (struct buffer_ref){.kind = BUFFER_TENSOR, .index = output}))
            return "several steps write its result";
    return !again || look->last->picked_count || runs_whole(look) ? NULL : "its blocks wait for each other, or take long";
}

static const char *refuses(const struct layer_look *look, const struct program *p)
{
    const struct work *w = &p->work;
    const char *why = NULL;
    if (w->chain)
        return "a network: see the rows of its layers";
    for (int i = 0; i < p->tensor_count && !why; i++) {
        const struct tensor *t = &p->tensors[i];
        why = t->role->contents                                                             ? "it changes a tensor in place"
              : t->written                                                                  ? depends(look, p, i)
              : !w->op->file && weights_tensor(t) && tensor_elements(t) > LAYER_VALUES_MOST ? "it has too many weights"
                                                                                            : NULL;
    }
    if (why || w->op->file)
        return why;
    if (w->op->on_card == REFERENCE_CPU || w->picture[0] || program_result(p) < 0)
        return "its reference needs all inputs";
    if (work_sliced(w))
        return "its tensors are slices";
    return (double)work_terms(w) * (double)w->k > PRODUCTS_MOST ? "its reference takes too long" : NULL;
}

static uint64_t address_of(struct rig *rig, int tensor)
{
    return rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = tensor});
}

/* Sectors of 32 bytes, which device_ops.touched marks. */
static size_t sector_count(const struct tensor *t)
{
    return (tensor_bytes(t) + 31) / 32;
}

/* Fills a tensor that is no weight with copies of some values. */
static bool lay_values(struct looking *k, int tensor, enum data_part part, struct error *err)
{
    const struct tensor *t = &k->program->tensors[tensor];
    struct op_repeat *to = &k->repeat[t->role->slot];
    struct tensor flat = {.role = t->role, .dtype = t->dtype, .layout = LAYOUT_LINEAR, .rank = 1};
    *to = (struct op_repeat){NULL, TILE_BYTES / dtype_bytes(t->dtype), *t};
    flat.dim[0] = (int64_t)to->count;
    if (tensor_bytes(&flat) != TILE_BYTES)
        return error_set(err, ERROR_USAGE, "several of its elements share a byte");
    struct generate_recipe recipe = generate_recipe(k->work, t, part);
    SCOPED void *storage = xmalloc(TILE_BYTES);
    float *values = xmalloc(to->count * sizeof *values);
    to->values = values;
    /* in small pages: few are used */
    k->data.at[t->role->slot].value = k->inputs[t->role->slot] = malloc(tensor_elements(t) * sizeof *values);
    if (!k->inputs[t->role->slot])
        return error_set(err, ERROR_ENVIRONMENT, "not enough memory for %s", t->role->name);
    generate_some(&recipe, 0, to->count, values);
    tensor_pack(&flat, values, storage);
    return k->dev->ops->repeat(k->dev, address_of(k->is->rig, tensor), storage, TILE_BYTES, err);
}

bool layer_values_poison(struct device *dev, struct rig *rig, struct error *err)
{
    const struct program *p = rig_program(rig);
    SCOPED uint32_t *poison = xmalloc(TILE_BYTES);
    bool ok = true;
    for (size_t i = 0; i < TILE_BYTES / sizeof *poison; i++)
        poison[i] = VERIFY_POISON;
    return ok && ALL_OF(i, p->tensor_count, !p->tensors[i].written || dev->ops->repeat(dev, address_of(rig, i), poison, TILE_BYTES, err));
}

/* The groups of the last kernel that are looked at; count 0: all of them. */
static struct device_sample picked(const struct looking *k)
{
    struct device_sample sample = {0};
    const int count = runs_partly(k->is) ? k->producers.picked : k->is->last->picked_count;
    for (int i = 0; i < count; i++)
        *APPEND(sample.groups, sample.count) = (struct device_group){.number = k->is->last->picked[i]};
    return sample;
}

/* Pixels that an input mask leaves out are 0 where the checked blocks read. Before the input is written: records where that is. */
static bool keep_read(struct looking *k, struct error *err)
{
    const int input = program_tensor(k->program, "input");
    struct device_sample sample = picked(k);
    bool ok = true;
    if (k->work->mask.pattern == MASK_NONE || k->work->mask.marks_output || input < 0) {
        device_sample_free(&sample);
        return true;
    }
    if (sample.count && !runs_whole(k->is)) { /* else it is known where, as all blocks were counted */
        k->dev->ops->clear(k->dev);
        ok = rig_run_sample(k->is->rig, k->program->step_count - 1, &sample, err);
    }
    device_sample_free(&sample);
    const size_t sectors = sector_count(&k->program->tensors[input]);
    k->marks = memcpy(xmalloc(sectors), k->dev->ops->touched(k->dev, address_of(k->is->rig, input), false), sectors);
    return ok;
}

/* Clears the elements of a sector of the input that a mask leaves out. */
static bool clear_sector(const struct looking *k, const struct tensor *t, uint64_t address, size_t sector, bool still, struct error *err)
{
    const float *mask = k->data.at[SLOT_MASK_IN].value;
    const size_t bytes = dtype_bytes(t->dtype), first = sector * 32 / bytes, elements = tensor_elements(t);
    int64_t dim[4];
    unsigned char raw[32];
    size_t count = elements - first < 32 / bytes ? elements - first : 32 / bytes;
    tensor_fold(t, dim);
    const size_t plane = (size_t)(dim[2] * dim[3]), image = (size_t)dim[1] * plane;
    if (!k->dev->ops->read(k->dev, address + sector * 32, raw, count * bytes, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t logical = tensor_logical(t, first + i), pixel = logical / image * plane + logical % plane;
        if (mask[pixel] == 0 || (still && mask_holds_still(pixel, logical)))
            memset(raw + i * bytes, 0, bytes);
    }
    return k->dev->ops->write(k->dev, address + sector * 32, raw, count * bytes, err);
}

/* After it is laid: clears them. */
static bool clear_unmarked(const struct looking *k, enum data_part part, struct error *err)
{
    const int input = program_tensor(k->program, "input");
    const bool still = mask_has_still(k->work, part);
    size_t cleared = 0;
    if (!k->marks)
        return true;
    const struct tensor *t = &k->program->tensors[input];
    const size_t sectors = sector_count(t);
    for (size_t s = 0; s < sectors; s++)
        if (k->marks[s] && (++cleared > CLEARED || !clear_sector(k, t, address_of(k->is->rig, input), s, still, err)))
            return error_set(err, ERROR_USAGE, "its blocks read too much");
    return true;
}

/* Blocks have read nothing that was not cleared. */
static bool reads_marked(const struct looking *k)
{
    const int input = program_tensor(k->program, "input");
    if (!k->marks)
        return true;
    const uint8_t *now = k->dev->ops->touched(k->dev, address_of(k->is->rig, input), false);
    const size_t sectors = sector_count(&k->program->tensors[input]);
    return ALL_OF(s, sectors, !now[s] || k->marks[s]);
}

static bool lay(struct looking *k, enum data_part part, struct error *err)
{
    const struct program *p = k->program;
    return ALL_OF(i, p->tensor_count,
                  p->tensors[i].written || tensor_role_is_mask(p->tensors[i].role) || weights_tensor(&p->tensors[i]) ||
                      lay_values(k, i, part, err)) &&
           clear_unmarked(k, part, err) && layer_values_poison(k->dev, k->is->rig, err);
}

static bool run(struct looking *k, struct error *err)
{
    struct rig *rig = k->is->rig;
    const int last = k->program->step_count - 1;
    struct device_sample sample = picked(k);
    const struct device_report *reports;
    bool ok = rig_multiply(rig, k->is->images, err) && rig_prepare(rig, NULL, err);
    if (runs_partly(k->is))
        ok = ok && producers_run(k->dev, rig, &k->producers, err);
    for (int i = 0; ok && i < last && !runs_partly(k->is); i++)
        ok = k->program->steps[i].prepare || rig_run_step(rig, i, err);
    k->dev->ops->clear(k->dev);
    rig_time_limit(rig, RUN_S);
    ok = ok && (runs_whole(k->is) ? rig_run_step(rig, last, err) : rig_run_sample(rig, last, &sample, err));
    ok = ok && ((reads_marked(k) && producers_sufficed(k->dev, rig, &k->producers)) ||
                error_set(err, ERROR_USAGE, "values decide what its blocks read"));
    device_sample_free(&sample);
    return ok && (!k->dev->ops->reports(k->dev, &reports) || error_set(err, ERROR_WRONG, "%s", reports->kind));
}

/* The value of an element that some block wrote; false: none did. */
static bool read_result(const struct looking *k, size_t logical, double *value)
{
    static const uint32_t poison[2] = {VERIFY_POISON, VERIFY_POISON};
    const size_t stored = tensor_index(k->t, logical), at = dtype_offset(k->t->dtype, stored), bytes = dtype_bytes(k->t->dtype);
    unsigned char raw[8];
    if (!k->written[at / 32] || !k->dev->ops->read(k->dev, k->address + at, raw, bytes, NULL) ||
        !memcmp(raw, (const unsigned char *)poison + at % 4, bytes))
        return false;
    *value = dtype_get(k->t->dtype, raw, 0);
    return true;
}

/* For each row before the epilogue, the logical index + 1 of an element that was written there; 0: none. False: some written elements were
 * also read, so they may be partial sums. */
static bool find_rows(const struct looking *k, size_t *found)
{
    const size_t width = (size_t)k->fold[3], plane = (size_t)k->fold[2] * width, image = (size_t)k->fold[1] * plane,
                 bytes = dtype_bytes(k->t->dtype), sectors = sector_count(k->t), elements = tensor_elements(k->t);
    uint64_t marks;
    double ignored;
    for (size_t s = 0; s < sectors; s++) {
        for (; s + 8 < sectors && !(memcpy(&marks, k->written + s, 8), marks); s += 8)
            ;
        if (!k->written[s])
            continue;
        if (k->read[s] && !runs_whole(k->is))
            return false;
        for (size_t e = s * 32 / bytes; e < (s + 1) * 32 / bytes && e < elements; e++) {
            size_t logical = tensor_logical(k->t, e), row = logical % plane / width / (size_t)k->high;
            size_t *at = &found[logical / image * (size_t)k->work->p + row];
            if (*at)
                break;
            *at = read_result(k, logical, &ignored) ? logical + 1 : 0;
        }
    }
    return true;
}

/* Marks up to three stretches of the columns of one row, the row of `logical`: the first and the last that are written, and one between. */
static void ask_columns(const struct looking *k, size_t logical, bool *asked)
{
    const int64_t stretches = (k->work->q + STRETCH - 1) / STRETCH;
    SCOPED int64_t *at = xmalloc((size_t)stretches * sizeof *at);
    int64_t count = 0;
    size_t line = logical / (size_t)k->fold[3] * (size_t)k->fold[3];
    double ignored;
    for (int64_t x = 0; x < k->fold[3]; x++) {
        int64_t stretch = x / k->wide / STRETCH;
        if ((!count || at[count - 1] != stretch) && read_result(k, line + (size_t)x, &ignored))
            at[count++] = stretch;
    }
    memset(asked, 0, (size_t)k->work->q * sizeof *asked);
    for (int i = 0; i < STRETCHES && count; i++)
        for (int64_t q = 0, first = at[i * (count - 1) / (STRETCHES - 1)] * STRETCH; q < STRETCH && first + q < k->work->q; q++)
            asked[first + q] = true;
}

static size_t gather(const struct looking *k, int64_t row, const bool *asked, struct verify_place *places)
{
    const int64_t *f = k->fold, image = row / k->work->p, first = row % k->work->p * k->high;
    size_t count = 0;
    for (int64_t c = 0; c < f[1]; c++)
        for (int64_t y = first; y < first + k->high; y++)
            for (int64_t x = 0; x < f[3]; x++) {
                size_t logical = (size_t)(((image * f[1] + c) * f[2] + y) * f[3] + x);
                if (asked[x / k->wide] && read_result(k, logical, &places[count].got))
                    places[count++].logical = logical;
            }
    return count;
}

static bool compare_row(struct looking *k, int64_t row, size_t logical, enum data_part part, struct error *err)
{
    SCOPED bool *asked = xmalloc((size_t)k->work->q * sizeof *asked);
    const size_t most = (size_t)(k->fold[1] * k->high * k->wide * STRETCHES * STRETCH);
    SCOPED struct verify_place *places = xmalloc(most * sizeof *places);
    struct verdict v;
    ask_columns(k, logical, asked);
    k->data.columns = asked;
    op_data_fill_rows(k->work, part, &k->data, &row, 1);
    bool ok = op_data_reference_rows(k->work, &k->data, &row, 1, err);
    if (ok)
        verify_places(k->program, k->output, &k->data, places, gather(k, row, asked, places), &v);
    op_data_drop_references(&k->data);
    k->data.columns = NULL;
    if (!ok)
        return false;
    v.elements += k->all.elements;
    k->all = v;
    return true;
}

static bool compare_rows(struct looking *k, enum data_part part, struct error *err)
{
    const struct work *w = k->work;
    const int64_t rows = w->n * w->p;
    SCOPED size_t *found = xcalloc((size_t)rows, sizeof *found);
    SCOPED int64_t *at = xmalloc((size_t)rows * sizeof *at);
    double each = fmax(1, (double)work_terms(w)) * (double)w->k * STRETCHES * STRETCH;
    int64_t count = 0, most = each * ROWS > PRODUCTS ? (int64_t)(PRODUCTS / each) : ROWS;
    if (!find_rows(k, found))
        return error_set(err, ERROR_USAGE, "its blocks add to each other's results");
    for (int64_t i = 0; i < rows; i++)
        if (found[i])
            at[count++] = i;
    most = most < 2 ? 2 : most;
    k->all.ok = true;
    for (int64_t i = 0; i < most && i < count && k->all.ok; i++) {
        int64_t row = at[count <= most ? i : i * (count - 1) / (most - 1)];
        if (!compare_row(k, row, found[row] - 1, part, err))
            return false;
    }
    return true;
}

static void turn_to(struct looking *k, int output)
{
    k->output = output;
    k->t = &k->program->tensors[output];
    k->address = address_of(k->is->rig, output);
    k->written = k->dev->ops->touched(k->dev, k->address, true);
    k->read = k->dev->ops->touched(k->dev, k->address, false);
}

static bool look_at(struct looking *k, struct error *err)
{
    struct op_data precise = {0};
    const enum data_part part = k->program->exact ? DATA_PART_EXACT : DATA_PART_PRECISION;
    bool ok = part == DATA_PART_EXACT ||
              (op_data_reserve(k->work, part, &precise, err) && rig_feed_small(k->is->rig, &precise, LAYER_VALUES_MOST, err));
    k->data = part == DATA_PART_EXACT ? *k->is->exact : precise;
    k->data.repeat = k->repeat;
    const char *why = ok && runs_partly(k->is) ? producers_find(k->dev, k->is->rig, k->is->last, &k->producers) : NULL;
    ok = ok && (!why || error_set(err, ERROR_USAGE, "%s", why)) && keep_read(k, err) && lay(k, part, err) && run(k, err) &&
         compare_rows(k, part, err);
    op_data_free(&precise);
    return ok;
}

/* Elements that were written: the first, the last and some between them. False: some were read, too. */
static bool want_some(const struct looking *k, size_t wanted[REFERENCE_WANTED])
{
    const size_t bytes = dtype_bytes(k->t->dtype), sectors = sector_count(k->t), elements = tensor_elements(k->t);
    size_t all = 0, seen = 0;
    for (size_t s = 0; s < sectors; s++) {
        all += k->written[s] != 0;
        if (k->written[s] && k->read[s] && !is_complete(k->is))
            return false;
    }
    for (int i = 0; i < REFERENCE_WANTED; i++)
        wanted[i] = SIZE_MAX;
    for (size_t s = 0; s < sectors; s++) {
        size_t e = s * 32 / bytes;
        if (!k->written[s])
            continue;
        for (size_t i = 0; i < REFERENCE_WANTED; i++)
            if (i * (all - 1) / (REFERENCE_WANTED - 1) == seen)
                wanted[i] = tensor_logical(k->t, e < elements ? e : elements - 1);
        seen++;
    }
    return true;
}

static bool run_whole(struct looking *k, struct error *err)
{
    k->dev->ops->clear(k->dev);
    return layer_values_poison(k->dev, k->is->rig, err) && rig_prepare(k->is->rig, NULL, err) && rig_run(k->is->rig, err);
}

/* Of an op from a file: what its reference makes around some elements that were written. */
static bool compare_found(struct looking *k, struct error *err)
{
    const struct program *p = k->program;
    size_t wanted[OP_MAX_TENSORS][REFERENCE_WANTED];
    struct reference_found found[OP_MAX_TENSORS] = {{0}};
    bool ok = true;
    memset(wanted, 0xff, sizeof wanted);
    k->data = *k->is->exact;
    k->all.ok = true;
    for (int i = 0; ok && i < p->tensor_count; i++) {
        if (!p->tensors[i].written || p->tensors[i].layout == LAYOUT_BITS)
            continue;
        turn_to(k, i);
        ok = want_some(k, wanted[k->t->role->slot]) || error_set(err, ERROR_USAGE, "its blocks add to each other's results");
    }
    ok = ok && (!is_complete(k->is) || !k->is->last->probed || run_whole(k, err)) &&
         reference_some(k->is->checked, k->is->compiler, k->work, &k->data, wanted, found, err);
    for (int i = 0; ok && i < p->tensor_count && k->all.ok; i++) {
        const struct reference_found *f = &found[p->tensors[i].role->slot];
        SCOPED struct verify_place *places = xcalloc(f->count + 1, sizeof *places);
        size_t count = 0;
        int64_t before = k->all.elements;
        if (!p->tensors[i].written || p->tensors[i].layout == LAYOUT_BITS)
            continue;
        turn_to(k, i);
        for (size_t n = 0; n < f->count; n++)
            if (read_result(k, f->at[n], &places[count].got))
                places[count++].logical = f->at[n];
        verify_places(p, i, &k->data, places, count, &k->all);
        k->all.elements += before;
    }
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        free(found[i].at);
    op_data_drop_references(&k->data);
    return ok;
}

char *layer_values(const struct layer_look *look, struct row *row)
{
    struct looking k = {.is = look, .program = rig_program(look->rig), .dev = look->dev};
    struct error err = {0};
    const char *why = refuses(look, k.program);
    if (!k.program->checked)
        return NULL;
    k.work = &k.program->work;
    if (!why && k.work->op->file) {
        why = compare_found(&k, &err) ? NULL : err.text;
    } else if (!why) {
        turn_to(&k, program_result(k.program));
        tensor_fold(k.t, k.fold);
        k.high = k.fold[2] / k.work->p, k.wide = k.fold[3] / k.work->q;
        why = look_at(&k, &err) ? NULL : err.text;
    }
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        free((void *)(uintptr_t)k.repeat[i].values);
        free(k.inputs[i]);
    }
    producers_free(&k.producers);
    free(k.marks);
    why = why || k.all.elements ? why : "no block that ran wrote a result that counts";
    row_set(&row->uncompared, why);
    row->compared = why ? -1 : (int)k.all.elements;
    return why || k.all.ok ? NULL : text_format("at full size, in the blocks that ran: %s", k.all.text);
}
