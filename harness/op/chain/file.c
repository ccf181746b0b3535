/* Links of a chain whose op is a file: which of them fit into a network, and their references there. */
#include "base/text.h"
#include "op/chain/chain.h"
#include "op/op_file.h"
#include "op/reference/generate.h"
#include "op/weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes ---- */

/* True for [rows, cols]: an image stored NHWC with the rows as pixels and the columns as channels. */
static bool is_rows(const struct tensor *t)
{
    return t->layout == LAYOUT_LINEAR && t->rank == 2;
}

bool chain_joins(const struct tensor *given, const struct tensor *wanted)
{
    if (given->dtype != wanted->dtype)
        return false;
    if (is_rows(given) == is_rows(wanted))
        return tensor_same_shape(given, wanted) && given->layout == wanted->layout;
    const struct tensor *rows = is_rows(given) ? given : wanted, *image = is_rows(given) ? wanted : given;
    int64_t dim[4];
    tensor_fold(image, dim);
    return image->layout == LAYOUT_NHWC && rows->dim[0] == dim[0] * dim[2] * dim[3] && rows->dim[1] == dim[1];
}

bool chain_flow(const struct chain *chain, int link, struct tensor *out)
{
    struct tensor left;
    if (link < 0)
        return chain->count > 0 && work_tensor(&chain->links[0].work, "input", out);
    if (!work_tensor(&chain->links[link].work, "output", out))
        return false;
    left = *out;
    if (!is_rows(&left) || chain->links[link].input >= link || !chain_flow(chain, chain->links[link].input, out))
        return true;
    out->dtype = left.dtype; /* as many rows as the input has: same image size */
    return true;
}

bool chain_takes(const struct work *work, struct error *err)
{
    const char *op = work->op->name;
    struct tensor list[OP_MAX_TENSORS], in, out;
    int count = work->op->tensors(work, list);
    if (!work_tensor(work, "input", &in) || in.written || !work_tensor(work, "output", &out) || !out.written) {
        error_set(err, ERROR_USAGE, "%s has no tensors `input` and `output`, which the layers of a network pass on", op);
        return error_hint(err, "docs/OP.md, 'In a network'");
    }
    if (!work->op->file)
        return true;
    for (int i = 0; i < count; i++) {
        const struct tensor *t = &list[i];
        if (t->dtype == DTYPE_F64)
            return error_set(err, ERROR_USAGE, "%s has a tensor of f64, %s: layers of a network compute in f32 at most", op, t->role->name);
        bool flows = !strcmp(t->role->name, "second") && !t->written && t->rank >= 4 && t->dtype == work->dtype;
        if (strcmp(t->role->name, "input") && strcmp(t->role->name, "output") && !flows && (t->written || !t->role->constant)) {
            error_set(err, ERROR_USAGE,
                      "%s %s %s as well: a layer of a network may read only earlier outputs (`input`, `second`) and constants, and write "
                      "only `output`",
                      op, t->written ? "writes" : "reads", t->role->name);
            return error_hint(err, "mark a tensor that is the same in every launch with `constant: yes` (docs/OP.md)");
        }
        if (t->role->constant && t->role->values == VALUES_FILE)
            return error_set(err, ERROR_USAGE, "%s reads %s from a file, which is not supported in a network", op, t->role->name);
    }
    if (in.dtype != work->dtype || out.dtype != work->dtype)
        return error_set(err, ERROR_USAGE, "%s takes %s and outputs %s, but the layer is %s: a network has one data type", op,
                         dtype_name(in.dtype), dtype_name(out.dtype), dtype_name(work->dtype));
    bool images = in.rank >= 4 && out.rank >= 4;
    if (!images && !(is_rows(&in) && is_rows(&out) && tensor_same_shape(&in, &out)))
        return error_set(
            err, ERROR_USAGE,
            "%s fits into no network: it needs images (`layout: image`, NCHW or NHWC), or [rows, cols] with an output of the same shape",
            op);
    return work->op->file->from != REFERENCE_NPY ||
           error_set(err, ERROR_USAGE, "%s has its result in a file, for one input; in a network the input is different", op);
}

void chain_size(struct work *work, const struct tensor *flow)
{
    const struct op_file *f = work->op->file;
    int64_t dim[4];
    tensor_fold(flow, dim);
    for (int i = 0; i < f->tensor_count; i++) {
        const struct op_file_tensor *t = &f->tensors[i];
        if (strcmp(t->role.name, "input"))
            continue;
        const int64_t rows[2] = {dim[0] * dim[2] * dim[3], dim[1]};
        for (int k = 0; k < t->rank; k++)
            for (int at = 0; at < f->field_count; at++)
                if (f->op.fields[at].kind == FIELD_INT && !strcmp(expr_text(t->shape[k]), f->op.fields[at].name))
                    work->value[at] = t->rank == 2 ? rows[k] : t->rank == flow->rank ? flow->dim[k] : work->value[at];
    }
}

/* ---- values ---- */

bool chain_file_constants(const struct work *work, struct op_data *out, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        float **to = &out->at[list[i].role->slot].value;
        if (!list[i].role->constant)
            continue;
        *to = malloc(tensor_elements(&list[i]) * sizeof **to);
        if (!*to)
            return error_set(err, ERROR_ENVIRONMENT, "not enough memory for the data of a chain");
        bool read;
        if (!weights_read(work, &list[i], list[i].dtype, *to, &read, err))
            return false;
        if (!read)
            generate_tensor(work, &list[i], DATA_PART_PRECISION, *to);
    }
    return true;
}

/* Index in the op's own tensor of element i of the image. */
static size_t own_index(const struct tensor *own, const struct tensor *image, size_t i)
{
    return is_rows(own) ? tensor_index(image, i) : i;
}

static float *rounded(const double *values, size_t count)
{
    float *out = xmalloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (float)values[i];
    return out;
}

/* Runs the op's maker on images whose values are rounded to float, as any reference input. `second`: NULL: the op has none. */
static bool file_make(const struct chain_file *f, const double *input, const double *second, bool probe, struct op_values *out,
                      struct error *err)
{
    const struct chain_link *l = &f->chain->links[f->link];
    struct tensor in, other, made, from, to;
    struct op_data data = f->constants ? *f->constants : (struct op_data){0};
    struct work work = l->work;
    work.set_seed = probe ? f->set_seed | 1 : f->set_seed; /* a probe is neither cross-checked on emu nor cached */
    if (!work_tensor(&work, "input", &in) || !work_tensor(&work, "output", &made) || !chain_flow(f->chain, l->input, &from) ||
        !chain_flow(f->chain, f->link, &to) || !f->maker)
        return error_set(err, ERROR_INTERNAL, "network: layer %d (%s) has no reference", f->link, l->name);
    size_t inputs = tensor_elements(&in), outputs = tensor_elements(&made);
    SCOPED float *value = xmalloc(inputs * sizeof *value);
    from.layout = to.layout = LAYOUT_NHWC; /* rows are always NHWC; for images this is the op's own order */
    for (size_t i = 0; i < inputs; i++)
        value[own_index(&in, &from, i)] = (float)input[i];
    data.at[in.role->slot].value = value;
    SCOPED float *second_value = second && work_tensor(&work, "second", &other) ? rounded(second, tensor_elements(&other)) : NULL;
    if (second_value)
        data.at[other.role->slot].value = second_value;
    struct op_values *v = &data.at[made.role->slot];
    bool ok = f->maker->make(f->maker->context, &work, &data, err);
    *out = (struct op_values){.elements = outputs};
    if (ok) {
        out->reference = xmalloc(outputs * sizeof *out->reference);
        out->bound = xcalloc(outputs, sizeof *out->bound);
    }
    for (size_t i = 0; ok && i < outputs; i++) {
        size_t at = own_index(&made, &to, i);
        out->reference[i] = v->reference[at];
        out->bound[i] = v->bound ? v->bound[at] : 0;
    }
    free(v->reference);
    free(v->bound);
    return ok || error_where(err, "layer '%s'", l->name);
}

/* ---- errors ---- */

/* Smallest change of an input in a probe, relative to the inputs' size: large enough for floats, small enough that the op is still linear.
 */
#define MOVED_LEAST 0x1p-10

/* +1 or -1, at random. Over eight probes the signs of eight adjacent channels are orthogonal, so that no error hides another. */
static double sign_of(uint64_t seed, int probe, size_t i, size_t channel)
{
    uint64_t bits = random_bits(seed, 1001, i);
    return (int)(bits >> 60 & 1) ^ __builtin_parityll((uint64_t)probe & channel) ? 1 : -1;
}

/* Adds the squared effect of input errors, by element, divided by `probes`: compares the op's result with that of an input (or, with
 * `of_second`, a second tensor) that is off by the errors. */
static bool probe_once(const struct chain_file *f, const double *input, bool of_second, const struct op_values *made, const double *off,
                       size_t plane, int64_t channels, double grow, int probe, double *local, struct error *err)
{
    struct op_values moved;
    const double *values = of_second ? f->second : input;
    size_t inputs = plane * (size_t)(channels * f->images);
    SCOPED double *x = xmalloc(inputs * sizeof *x);
    for (size_t i = 0; i < inputs; i++) {
        size_t c = i / plane % (size_t)channels;
        x[i] = values[i] + grow * off[c] * sign_of(f->chain->links[f->link].work.seed, probe, i, c);
    }
    bool ok = file_make(f, of_second ? input : x, of_second ? x : f->second, true, &moved, err);
    for (size_t i = 0; ok && i < made->elements; i++) {
        double d = (moved.reference[i] - made->reference[i]) / grow;
        local[i] += d * d / (double)f->probes;
    }
    if (ok) {
        free(moved.reference);
        free(moved.bound);
    }
    return ok;
}

/* Errors that errors of the input become, and the mean square error of each element. */
static bool file_carried(const struct chain_file *f, const double *input, bool of_second, const struct op_values *made,
                         const struct chain_errors *in, struct chain_errors *out, double *local, struct error *err)
{
    double size = 0, most = 0, sums = 0, roundings = 0;
    const double *values = of_second ? f->second : input;
    size_t inputs = of_second ? f->seconds : f->inputs, plane = inputs / (size_t)(f->images * in->channels),
           plane_out = made->elements / (size_t)(f->images * out->channels);
    SCOPED double *off = xcalloc((size_t)in->channels, sizeof *off);
    SCOPED double *own = xcalloc(made->elements, sizeof *own);
    for (size_t i = 0; i < inputs; i++)
        size += values[i] * values[i] / (double)inputs;
    for (int64_t c = 0; c < in->channels; c++) {
        off[c] = sqrt(in->sums[c] + in->roundings[c]);
        most = fmax(most, off[c]);
        sums += in->sums[c];
        roundings += in->roundings[c];
    }
    bool ok = true;
    for (int i = 0; ok && most > 0 && i < f->probes; i++)
        ok = probe_once(f, input, of_second, made, off, plane, in->channels, fmax(1, MOVED_LEAST * sqrt(size) / most), i, own, err);
    for (size_t i = 0; ok && most > 0 && i < made->elements; i++) {
        size_t c = i / plane_out % (size_t)out->channels;
        local[i] += own[i];
        double mean = own[i] / (double)(plane_out * (size_t)f->images) / (sums + roundings);
        out->sums[c] += mean * sums;
        out->roundings[c] += mean * roundings;
    }
    return ok;
}

bool chain_file_reference(struct chain_file *f, const double *input, const struct chain_errors *in, const struct chain_errors *second,
                          struct op_values *made, struct chain_errors *out, double **local, struct error *err)
{
    struct tensor from, to;
    int64_t dim[4];
    *local = NULL;
    if (!chain_flow(f->chain, f->chain->links[f->link].input, &from) || !chain_flow(f->chain, f->link, &to))
        return error_set(err, ERROR_INTERNAL, "chain: no output");
    f->inputs = tensor_elements(&from);
    tensor_fold(&to, dim);
    if (!file_make(f, input, f->second, false, made, err))
        return false;
    struct tensor other;
    f->seconds = f->second && work_tensor(&f->chain->links[f->link].work, "second", &other) ? tensor_elements(&other) : 0;
    *out = chain_errors_new(dim[1]);
    *local = xcalloc(made->elements, sizeof **local);
    if (file_carried(f, input, false, made, in, out, *local, err) &&
        (!f->second || file_carried(f, input, true, made, second, out, *local, err)))
        return true;
    chain_errors_free(out);
    FREE_ALL(*local, made->reference, made->bound);
    *local = NULL;
    return false;
}

bool chain_file_moves(const struct work *work)
{
    const struct op_file *f = work->op->file;
    return work_terms(work) == 0 && !(f->tolerance > 0) && !f->stages;
}
