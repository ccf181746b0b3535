#include "measure/trust/layer_values.h"
#include "base/text.h"
#include "measure/verify/verify.h"
#include "op/op_file.h"
#include "op/reference/data.h"
#include "op/reference/generate.h"
#include "op/shape.h"
#include "op/weights.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILE_BYTES ((size_t)251 << 12) /* of copies of values: no power of two, by which an index may be wrong, is a multiple of it */
#define ROWS 8                         /* of the output that are compared at most, */
#define STRETCHES 3                    /* and of each some columns */
#define STRETCH 8                      /* side by side: what the reference computes at once */
#define PRODUCTS 2e7                   /* of the reference in all, */
#define PRODUCTS_MOST 1e7              /* and of one pixel */
#define BEFORE 2e6                     /* instructions of kernels that run again before the last one */
#define WEIGHTS_MOST ((size_t)1 << 22)
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
};

/* The step that writes the result; -1: earlier ones are too large to run again, or the result is not a kernel's alone. */
static int last_step(const struct layer_look *look, const struct program *p, int output, const char **why)
{
    int last = p->step_count - 1;
    const struct step *s = &p->steps[last];
    *why = s->kind != STEP_KERNEL ? "its last step is no kernel" : NULL;
    if (!*why && look->before > 0 && (!look->whole_before || look->before > BEFORE))
        *why = "its kernels use each other's results";
    for (int i = 0; i < last && !*why; i++)
        if (!p->steps[i].prepare && program_step_uses(p, &p->steps[i], (struct buffer_ref){.kind = BUFFER_TENSOR, .index = output}))
            *why = "several steps write its result";
    return *why ? -1 : last;
}

static const char *refuses(const struct program *p, int *output)
{
    const struct work *w = &p->work;
    *output = program_result(p);
    if (w->chain)
        return "a network";
    if (w->op->file || w->op->on_card == REFERENCE_CPU || w->picture[0] || *output < 0)
        return "its reference needs all inputs";
    if (w->mask.pattern != MASK_NONE && !w->mask.marks_output)
        return "a mask marks its inputs";
    if (work_sliced(w))
        return "its tensors are slices";
    if ((double)work_terms(w) * (double)w->k > PRODUCTS_MOST)
        return "its reference takes too long";
    return NULL;
}

/* Fills a tensor that is no weight with copies of some values. */
static bool lay_values(struct looking *k, int tensor, enum data_part part, struct error *err)
{
    const struct tensor *t = &k->program->tensors[tensor];
    struct op_repeat *to = &k->repeat[t->role->slot];
    const uint64_t address = rig_address(k->is->rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = tensor});
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
    return k->dev->ops->repeat(k->dev, address, storage, TILE_BYTES, err);
}

static bool lay(struct looking *k, enum data_part part, struct error *err)
{
    const struct program *p = k->program;
    SCOPED uint32_t *poison = xmalloc(TILE_BYTES);
    for (size_t i = 0; i < TILE_BYTES / sizeof *poison; i++)
        poison[i] = VERIFY_POISON;
    for (int i = 0; i < p->tensor_count; i++) {
        const struct tensor *t = &p->tensors[i];
        const uint64_t address = rig_address(k->is->rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = i});
        if (t->written ? !k->dev->ops->repeat(k->dev, address, poison, TILE_BYTES, err)
                       : !tensor_role_is_mask(t->role) && !weights_tensor(t) && !lay_values(k, i, part, err))
            return false;
    }
    return true;
}

static bool run(struct looking *k, int last, struct error *err)
{
    struct rig *rig = k->is->rig;
    struct device_sample sample = {0};
    const struct device_report *reports;
    bool ok = rig_multiply(rig, k->is->images, err) && rig_prepare(rig, NULL, err);
    for (int i = 0; ok && i < last; i++)
        ok = k->program->steps[i].prepare || rig_run_step(rig, i, err);
    k->dev->ops->clear(k->dev);
    for (int i = 0; i < k->is->last->picked_count; i++)
        *APPEND(sample.groups, sample.count) = (struct device_group){.number = k->is->last->picked[i]};
    rig_time_limit(rig, RUN_S);
    ok = ok && rig_run_sample(rig, last, &sample, err);
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

/* For each row before the epilogue the logical index, + 1, of an element that was written there; 0: none was. False: elements that were
 * written were read, too, so that they may not be complete. */
static bool find_rows(const struct looking *k, size_t *found)
{
    const size_t width = (size_t)k->fold[3], plane = (size_t)k->fold[2] * width, image = (size_t)k->fold[1] * plane,
                 bytes = dtype_bytes(k->t->dtype), sectors = (tensor_bytes(k->t) + 31) / 32, elements = tensor_elements(k->t);
    uint64_t marks;
    double ignored;
    for (size_t s = 0; s < sectors; s++) {
        for (; s + 8 < sectors && !(memcpy(&marks, k->written + s, 8), marks); s += 8)
            ;
        if (!k->written[s])
            continue;
        if (k->read[s])
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

/* Marks stretches of columns of a row: the first and the last that are written where `logical` lies, and one between them. */
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

static void drop_references(struct op_data *data)
{
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        free(data->at[i].reference);
        free(data->at[i].bound);
        data->at[i].reference = NULL;
        data->at[i].bound = NULL;
    }
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
    drop_references(&k->data);
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
    double each = fmax(1, (double)work_terms(w)) * (double)w->k * STRETCHES * STRETCH;
    int64_t count = 0, most = each * ROWS > PRODUCTS ? (int64_t)(PRODUCTS / each) : ROWS;
    if (!find_rows(k, found))
        return error_set(err, ERROR_USAGE, "its blocks add to each other's results");
    for (int64_t i = 0; i < rows; i++)
        if (found[i])
            found[count] = found[i], count++;
    most = most < 2 ? 2 : most;
    k->all.ok = true;
    for (int64_t i = 0; i < most && i < count && k->all.ok; i++) {
        size_t logical = found[count <= most ? i : i * (count - 1) / (most - 1)] - 1;
        size_t width = (size_t)k->fold[3], plane = (size_t)k->fold[2] * width, image = (size_t)k->fold[1] * plane;
        int64_t row = (int64_t)(logical / image) * w->p + (int64_t)(logical % plane / width) / k->high;
        if (!compare_row(k, row, logical, part, err))
            return false;
    }
    return true;
}

static bool look_at(struct looking *k, int last, struct error *err)
{
    struct op_data precise = {0};
    const enum data_part part = k->program->exact ? DATA_PART_EXACT : DATA_PART_PRECISION;
    bool ok = part == DATA_PART_EXACT ||
              (op_data_reserve(k->work, part, &precise, err) && rig_feed_small(k->is->rig, &precise, WEIGHTS_MOST, err));
    k->data = part == DATA_PART_EXACT ? *k->is->exact : precise;
    k->data.repeat = k->repeat;
    ok = ok && lay(k, part, err) && run(k, last, err) && compare_rows(k, part, err);
    op_data_free(&precise);
    return ok;
}

void layer_values(const struct layer_look *look, struct row *row)
{
    struct looking k = {.is = look, .program = rig_program(look->rig), .dev = look->dev};
    struct error err = {0};
    const char *why = refuses(k.program, &k.output);
    int last = why ? -1 : last_step(look, k.program, k.output, &why);
    why = why || look->last->picked_count ? why : "its blocks wait for each other, or take long";
    if (!k.program->checked)
        return;
    if (!why) {
        k.work = &k.program->work;
        k.t = &k.program->tensors[k.output];
        k.address = rig_address(look->rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = k.output});
        k.written = k.dev->ops->touched(k.dev, k.address, true);
        k.read = k.dev->ops->touched(k.dev, k.address, false);
        tensor_fold(k.t, k.fold);
        k.high = k.fold[2] / k.work->p, k.wide = k.fold[3] / k.work->q;
        why = look_at(&k, last, &err) ? NULL : err.text;
    }
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        free((void *)(uintptr_t)k.repeat[i].values);
        free(k.inputs[i]);
    }
    row_set(&row->uncompared, why);
    row->compared = why ? -1 : (int)k.all.elements;
    if (why || k.all.ok)
        return;
    SCOPED char *reason = text_format("at full size, in the blocks that ran: %s", k.all.text);
    row->status = ROW_WRONG;
    row_set(&row->reason, reason);
}
