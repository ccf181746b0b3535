#include "op/reference/epilogue_row.h"
#include "op/reference/bound.h"
#include "op/shape.h"
#include <math.h>
#include <string.h>

/* True if a value of this type can hold v exactly. */
static bool holds(enum dtype t, double v)
{
    switch (t) {
    case DTYPE_F32: return (double)(float)v == v;
    case DTYPE_F16: {
        float f = (float)v;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        if ((double)f == v && fabsf(f) >= 0x1p-14f && fabsf(f) <= 65504) /* the usual case: a normal number with the low bits clear */
            return (bits & 0x1fff) == 0;
        return (double)f16_to_f32(f16_from_f64(v)) == v;
    }
    case DTYPE_BF16: return (double)bf16_to_f32(bf16_from_f32((float)v)) == v;
    default: return true;
    }
}

/* Error of a result that one kernel stores as `t` and the next one reads: |round(v') - v'| <= u (|v| + e) when |v' - v| <= e. An exact,
 * representable value has none. */
static double stored(enum dtype t, double v, double e)
{
    if (e == 0 && holds(t, v))
        return 0;
    return e + dtype_unit_roundoff(t) * (fabs(v) + e) + dtype_underflow(t);
}

/* Error of a sum in the accumulator's type (f32, or f16 if the math mode says so). */
static double summed(const struct work *work, double v, double e)
{
    return stored(work->math == MATH_F16_ACC16 ? DTYPE_F16 : DTYPE_F32, v, e);
}

static void scale_one(const struct work *work, double scale, size_t i, struct epilogue_row *row)
{
    if (row->e) { /* the factor is a float, and the product is rounded */
        double e = fabs(scale) * stored(work_result_dtype(work), row->y[i], row->e[i]);
        row->e[i] = stored(work_result_dtype(work), row->y[i] * scale, e + 2.01 * 0x1p-24 * fabs(row->y[i] * scale));
        if (work->math == MATH_F16_ACC16)
            row->e[i] += 2.01 * 0x1p-11 * fabs(row->y[i] * scale);
    }
    row->y[i] *= scale;
}

/* plane_step 0: one value per channel (a bias); wide: used instead of values. asked: wanted columns before the epilogue; NULL: all. begun:
 * relative error of a sum that starts with the value. */
static void add_array(const struct work *work, const struct epilogue_shape *s, const float *values, const double *wide, size_t plane_step,
                      size_t row_at, double scale, const bool *asked, double begun, struct epilogue_row *row, int64_t rows)
{
    size_t line = (size_t)s->w, each = line / (size_t)work->q;
    for (size_t k = 0; k < (size_t)(s->c * rows); k++)
        for (size_t x = 0; x < line; x++) {
            if (asked && !asked[x / each])
                continue;
            size_t at = k * line + x, c = k / (size_t)rows;
            if (scale != 1)
                scale_one(work, scale, at, row);
            double before = row->y[at];
            size_t from = plane_step ? c * plane_step + row_at + k % (size_t)rows * line + x : c;
            double value = wide ? wide[from] : (double)values[from];
            row->y[at] = before + value;
            if (row->e)
                row->e[at] = summed(work, row->y[at], stored(work_result_dtype(work), before, row->e[at])) +
                             (row->e[at] > 0 ? begun * fabs(value) : 0);
        }
}

static void slope_one(const struct work *work, double alpha, double slope, size_t i, struct epilogue_row *row)
{
    double v = row->y[i];
    if (v < 0)
        row->y[i] = alpha == 0 ? 0 : v * alpha; /* never -0 */
    if (!row->e)
        return;
    double e = row->e[i];
    if (alpha != 0 && (v < 0 || e > 0)) { /* the slope itself is a float, and the product is rounded: two roundings of f32 */
        double scaled = fabs(v * alpha) + slope * e;
        bool exact = e == 0 && (double)(float)alpha == alpha && holds(work_result_dtype(work), v) && holds(DTYPE_F32, v * alpha);
        e = slope * stored(work_result_dtype(work), v, e) + (exact ? 0 : 2.01 * 0x1p-24 * scaled);
        if (work->math == MATH_F16_ACC16 && !exact)
            e += 2.01 * 0x1p-11 * scaled;
    }
    row->e[i] = e;
}

static double activation_value(const struct epilogue *item, double x)
{
    const double root = 0.7978845608028654; /* sqrt(2 / pi) */
    switch (item->kind) {
    case EPILOGUE_SILU: return x / (1 + exp(-x));
    case EPILOGUE_SIGMOID: return 1 / (1 + exp(-x));
    case EPILOGUE_TANH: return tanh(x);
    case EPILOGUE_GELU: return 0.5 * x * erfc(-x * M_SQRT1_2);
    case EPILOGUE_GELU_TANH: return 0.5 * x * (1 + tanh(root * (x + 0.044715 * x * x * x)));
    case EPILOGUE_HARD_SWISH: return x * fmin(fmax(x + 3, 0), 6) / 6;
    case EPILOGUE_ELU: return x < 0 ? expm1(x) : x;
    case EPILOGUE_CLIP: return fmin(fmax(x, item->alpha), item->most);
    default: return x;
    }
}

double activation_stretch(enum epilogue_kind kind)
{
    return kind == EPILOGUE_SIGMOID                                                 ? 0.25
           : kind == EPILOGUE_HARD_SWISH                                            ? 1.5
           : kind == EPILOGUE_CLIP || kind == EPILOGUE_TANH || kind == EPILOGUE_ELU ? 1
                                                                                    : 1.13;
}

/* A kernel computes such a function in f32, with an exponential and a division of a few units in the last place, or in its 16-bit type. */
static void curve_one(const struct work *work, const struct epilogue *item, size_t i, struct epilogue_row *row)
{
    double x = row->y[i], y = activation_value(item, x);
    row->y[i] = y;
    if (!row->e)
        return;
    bool exact = row->e[i] == 0 && holds(work_result_dtype(work), x);
    double e = activation_stretch(item->kind) * stored(work_result_dtype(work), x, row->e[i]);
    if (item->kind == EPILOGUE_CLIP)
        row->e[i] = (exact && (double)(float)y == y) ? 0 : e + 0x1p-24 * fabs(y);
    else
        row->e[i] = e + 0x1p-20 * fabs(y) + 0x1p-22 * (fabs(x) + 1) +
                    (work_result_dtype(work) == DTYPE_F32 ? 0 : dtype_unit_roundoff(work_result_dtype(work)) * fabs(y));
}

/* The activation of every value; of prelu each channel has a slope. */
static void apply_activation(const struct work *work, const struct epilogue *item, const float *slopes, int64_t rows, size_t lines,
                             size_t line, const bool *asked, struct epilogue_row *row)
{
    for (size_t i = 0; i < lines * line; i++) {
        double alpha = item->kind == EPILOGUE_RELU ? 0 : slopes ? (double)slopes[i / line / (size_t)rows] : item->alpha;
        if (asked && !asked[i % line * (size_t)work->q / line])
            continue;
        if (item->kind == EPILOGUE_RELU || item->kind == EPILOGUE_LEAKY_RELU || item->kind == EPILOGUE_PRELU)
            slope_one(work, alpha, fabs(alpha) > 1 ? fabs(alpha) : 1, i, row); /* how much the function can stretch an error */
        else
            curve_one(work, item, i, row);
    }
}

static void rearrange(const struct epilogue_shape *s, const struct epilogue *item, int64_t rows, struct epilogue_row *row)
{
    int64_t b = item->block, channels = s->c / (b * b), out_w = s->w * b;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t y = 0; y < rows * b; y++)
            for (int64_t x = 0; x < out_w; x++) {
                int64_t phase = (y % b) * b + x % b;
                int64_t source = item->mode == D2S_DCR ? phase * channels + c : c * b * b + phase;
                size_t from = (size_t)((source * rows + y / b) * s->w + x / b), to = (size_t)((c * rows * b + y) * out_w + x);
                row->y2[to] = row->y[from];
                if (row->e)
                    row->e2[to] = row->e[from];
            }
    double *swap = row->y;
    row->y = row->y2;
    row->y2 = swap;
    swap = row->e;
    row->e = row->e2;
    row->e2 = swap;
}

void epilogue_apply(const struct work *work, const struct op_data *data, int64_t n_i, int64_t p_i, struct epilogue_row *row)
{
    int64_t rows = 1; /* rows of this stage that raw row p_i has become */
    double begun = work_terms(work) > 0 ? bound_begun(work->math, (double)work_terms(work)) : 0;
    for (int i = 0; i < work->epilogue_count; i++) {
        const struct epilogue *item = &work->epilogue[i];
        struct epilogue_shape s = epilogue_shape_at(work, i);
        size_t plane = (size_t)s.h * (size_t)s.w;
        switch (item->kind) {
        case EPILOGUE_BIAS: add_array(work, &s, data->at[SLOT_BIAS].value, NULL, 0, 0, 1, data->columns, begun, row, rows); break;
        case EPILOGUE_RESIDUAL:
            add_array(work, &s, data->at[SLOT_RESIDUAL].value, data->wide_residual, plane,
                      (size_t)n_i * (size_t)s.c * plane + (size_t)(p_i * rows) * (size_t)s.w, item->scale != 0 ? item->scale : 1,
                      data->columns, begun, row, rows);
            break;
        case EPILOGUE_DEPTH_TO_SPACE:
            rearrange(&s, item, rows, row);
            rows *= item->block;
            break;
        case EPILOGUE_LAYOUT:
        case EPILOGUE_COUNT: break;
        default:
            begun = 0; /* a value that is added after an activation does not start the sum */
            apply_activation(work, item, item->kind == EPILOGUE_PRELU ? data->at[SLOT_SLOPES].value : NULL, rows, (size_t)(s.c * rows),
                             (size_t)s.w, data->columns, row);
        }
    }
}
