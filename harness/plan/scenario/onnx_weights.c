/* The weights of the layers, as bench's files have them: what follows a filter linearly is multiplied into it. */
#include "base/file.h"
#include "base/npy.h"
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void weights_affine(struct made_layer *l, double *scale, double *shift)
{
    struct made_weights *w = &l->weights;
    for (int64_t k = 0; k < l->k; k++) {
        if (w->shift)
            w->shift[k] = w->shift[k] * (scale ? scale[k] : 1) + (shift ? shift[k] : 0);
        if (w->scale && scale)
            w->scale[k] *= scale[k];
    }
    if (w->shift)
        free(shift);
    else
        w->shift = shift;
    if (w->scale)
        free(scale);
    else
        w->scale = scale;
}

double *weights_channels(const struct onnx_tensor *t, int64_t count, double times, double plus, bool *unknown)
{
    int64_t all = t ? onnx_elements(t) : 0;
    if (count < 1 || (all != 1 && all != count))
        return NULL;
    double *out = xcalloc((size_t)count, sizeof *out), v;
    for (int64_t k = 0; k < count; k++)
        if (onnx_number(t, all == 1 ? 0 : k, &v) && !isnan(v))
            out[k] = v * times + plus;
        else
            *unknown = true;
    return out;
}

void weights_free(struct made_weights *w)
{
    free(w->scale);
    free(w->shift);
}

static bool write_tensor(const char *folder, const struct made_layer *l, const char *tensor, const int64_t *dim, int rank,
                         const float *values, struct error *err)
{
    SCOPED char *name = text_format("%s.%s.npy", l->name, tensor);
    SCOPED char *path = file_join(folder, name);
    return npy_write(path, dim, rank, values, err);
}

/* Element (k, c, tap) of the layer's filter in the file's. A product: [c taps, k]; ConvTranspose: [c, k / groups, r, s]. */
static int64_t filter_at(const struct made_weights *w, int64_t outputs, int64_t channels, int64_t taps, int64_t k, int64_t c, int64_t tap)
{
    if (!w->turned)
        return w->last ? (k * taps + tap) * channels + c : (k * channels + c) * taps + tap;
    if (!w->groups)
        return (w->last ? tap * channels + c : c * taps + tap) * outputs + k;
    int64_t each = outputs / w->groups;
    return ((k / each * channels + c) * each + k % each) * taps + tap;
}

static bool write_filter(const char *folder, const struct made_layer *l, struct error *err)
{
    const struct made_weights *w = &l->weights;
    const struct onnx_tensor *t = w->filter;
    int64_t all = t ? onnx_elements(t) : l->k, channels = 1, dim[4] = {l->k, 1, 1, 1};
    if (t && t->rank > 2) {
        channels = w->turned ? t->dim[0] / (w->groups ? w->groups : 1) : t->dim[1];
        dim[1] = channels, dim[2] = t->rank == 3 ? 1 : t->dim[2], dim[3] = t->dim[t->rank - 1];
    } else if (t) { /* of a product: as large as the image */
        channels = l->in[1];
        dim[1] = channels, dim[2] = w->point ? 1 : l->in[2], dim[3] = w->point ? 1 : l->in[3];
    }
    int64_t taps = dim[2] * dim[3];
    if (l->k * channels * taps != all)
        return error_set(err, ERROR_INTERNAL, "layer '%s' has a filter of another size", l->name);
    SCOPED float *values = xmalloc((size_t)all * sizeof *values);
    for (int64_t k = 0, i = 0; k < l->k; k++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t tap = 0; tap < taps; tap++, i++) {
                double v = 1;
                if (t && !onnx_number(t, filter_at(w, l->k, channels, taps, k, c, tap), &v))
                    return error_set(err, ERROR_USAGE, "the filter of layer '%s' has no number at element %lld", l->name, (long long)i);
                values[i] = (float)(v * (w->scale ? w->scale[k] : 1));
            }
    return write_tensor(folder, l, "filter", dim, 4, values, err);
}

/* A constant for each place of an image, from one that may have fewer axes or values. */
static bool write_image(const char *folder, const struct made_layer *l, struct error *err)
{
    const struct onnx_tensor *t = l->weights.image;
    int64_t dim[3] = {l->in[1], l->in[2], l->in[3]}, count = dim[0] * dim[1] * dim[2];
    SCOPED float *values = xmalloc((size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, at = 0, step = 1;
        double v;
        for (int axis = 2; axis >= 0; rest /= dim[axis--]) {
            int own = axis + t->rank - 3;
            at += own >= 0 && t->dim[own] != 1 ? rest % dim[axis] * step : 0;
            step *= own >= 0 ? t->dim[own] : 1;
        }
        if (!onnx_number(t, at, &v) || isnan(v))
            return error_set(err, ERROR_USAGE, "the constant of layer '%s' has no number at element %lld", l->name, (long long)i);
        values[i] = (float)v;
    }
    return write_tensor(folder, l, "shift", dim, 3, values, err);
}

double *weights_even(int64_t count, double value)
{
    double *out = xcalloc((size_t)count + 1, sizeof *out);
    for (int64_t k = 0; k < count; k++)
        out[k] = value;
    return out;
}

static bool convolves(const struct made_layer *l)
{
    return !strncmp(l->op, "conv", 4);
}

static bool biased(const struct made_layer *l)
{
    return l->items && strstr(text_get(&l->epilogue), "bias");
}

bool weights_any(const struct graph *g)
{
    bool any = false;
    for (int i = 0; i < g->layer_count; i++)
        any |= convolves(&g->layers[i]) || biased(&g->layers[i]) || g->layers[i].weights.image || g->layers[i].weights.slopes;
    return any;
}

static bool write_layer(const char *folder, const struct made_layer *l, struct error *err)
{
    const struct made_weights *w = &l->weights;
    if (w->unknown)
        return error_set(err, ERROR_USAGE, "the weights of layer '%s' are not constants of the file", l->name);
    if (convolves(l) && !write_filter(folder, l, err))
        return false;
    if (w->image && !write_image(folder, l, err))
        return false;
    int64_t count = l->k;
    SCOPED float *values = xcalloc((size_t)count + 1, sizeof *values);
    for (int64_t k = 0; w->shift && k < count; k++)
        values[k] = (float)w->shift[k];
    if (biased(l) && !write_tensor(folder, l, "bias", &count, 1, values, err))
        return false;
    double v = 0;
    for (int64_t k = 0; w->slopes && k < count; k++) {
        if (!onnx_number(w->slopes, k, &v))
            return error_set(err, ERROR_USAGE, "the slopes of layer '%s' are not constants of the file", l->name);
        values[k] = (float)v;
    }
    return !w->slopes || write_tensor(folder, l, "slopes", &count, 1, values, err);
}

bool weights_write(const struct graph *g, const char *folder, struct error *err)
{
    if (!file_make_dirs(folder, err))
        return false;
    for (int i = 0; i < g->layer_count; i++)
        if (!write_layer(folder, &g->layers[i], err))
            return error_where(err, "%s", g->file);
    return true;
}
