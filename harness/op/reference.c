#include "op/reference.h"
#include "op/shape.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A block of K_BLOCK output channels x Q_BLOCK output columns stays in registers while the whole reduction runs over it. */
enum { K_BLOCK = 4, Q_BLOCK = 8 };

/* Products are exact in double (24 + 24 bits), so a fused multiply-add gives the same bits as a multiplication and an addition: this file
 * may contract although the rest of bench is built with -ffp-contract=off. The clones are levels, not makers' names: GCC picks those
 * named by a maker's arch on that maker only. */
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3", "fp-contract=fast")))

typedef double four __attribute__((vector_size(32), aligned(8)));
typedef float eight __attribute__((vector_size(32), aligned(4)));

/* x: [terms][Q_BLOCK], w: [terms][K_BLOCK]; y and a: [K_BLOCK][Q_BLOCK]. Written out because compilers vectorise the loop over terms
 * instead. */
CLONES static void block_sum(const double *x, const double *w, size_t terms, double *y)
{
    four s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};
    for (size_t t = 0; t < terms; t++, x += Q_BLOCK, w += K_BLOCK) {
        four x0 = *(const four *)x, x1 = *(const four *)(x + 4);
        s00 += x0 * w[0], s01 += x1 * w[0];
        s10 += x0 * w[1], s11 += x1 * w[1];
        s20 += x0 * w[2], s21 += x1 * w[2];
        s30 += x0 * w[3], s31 += x1 * w[3];
    }
    four *to = (four *)y;
    to[0] = s00, to[1] = s01, to[2] = s10, to[3] = s11, to[4] = s20, to[5] = s21, to[6] = s30, to[7] = s31;
}

/* The same with magnitudes, in float: the result is an ingredient of a bound, and is enlarged by what float may have lost. */
CLONES static void block_magnitude(const float *x, const float *w, size_t terms, double *a)
{
    eight s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (size_t t = 0; t < terms; t++, x += Q_BLOCK, w += K_BLOCK) {
        eight v = *(const eight *)x;
        s0 += v * w[0], s1 += v * w[1], s2 += v * w[2], s3 += v * w[3];
    }
    double grow = 1 + (double)(terms + 2) * 0x1p-24;
    for (int q = 0; q < Q_BLOCK; q++) {
        a[q] = s0[q] * grow;
        a[Q_BLOCK + q] = s1[q] * grow;
        a[2 * Q_BLOCK + q] = s2[q] * grow;
        a[3 * Q_BLOCK + q] = s3[q] * grow;
    }
}

/* Filters of one block of channels, [terms][K_BLOCK]; channels past the end are 0. */
static void pack_filter(const struct work *w, const float *filter, int64_t k0, int64_t k_end, size_t terms, double *to, float *magnitude)
{
    for (int64_t k = 0; k < K_BLOCK; k++)
        for (size_t t = 0; t < terms; t++) {
            float v = k0 + k < k_end ? filter[(size_t)(k0 + k) * terms + t] : 0;
            to[t * K_BLOCK + (size_t)k] = v;
            magnitude[t * K_BLOCK + (size_t)k] = fabsf(v);
        }
}

#define COLUMN_TAPS_MOST 255
/* What the taps of one group see for columns q0 .. q0 + Q_BLOCK of output row p, [terms][Q_BLOCK]; zero outside the image. */
static void pack_input(const struct work *w, const struct op_data *data, size_t image, int64_t c0, int64_t c_count, int64_t p, int64_t q0,
                       double *to, float *magnitude)
{
    int64_t rows = op_taps(w, AXIS_ROWS), x[COLUMN_TAPS_MOST * Q_BLOCK];
    for (int64_t i = 0; i < w->s * Q_BLOCK; i++)
        x[i] = w->op->reads(w, AXIS_COLUMNS, q0 + i % Q_BLOCK, i / Q_BLOCK);
    for (int64_t c = c0; c < c0 + c_count; c++)
        for (int64_t r = 0; r < rows; r++) {
            int64_t y = w->op->reads(w, AXIS_ROWS, p, r);
            bool inside = y >= 0 && y < w->h;
            size_t row = inside ? image + (size_t)((c * w->h + y) * w->w) : 0;
            for (int64_t i = 0; i < w->s * Q_BLOCK; i++) {
                double v = inside && x[i] >= 0 && x[i] < w->w ? op_data_input(data, row + (size_t)x[i]) : 0;
                *to++ = v;
                *magnitude++ = (float)fabs(v);
            }
        }
}

struct scratch_space {
    double *x, *w;
    float *x_magnitude, *w_magnitude;
    double y[K_BLOCK * Q_BLOCK], a[K_BLOCK * Q_BLOCK];
};

/* Is any output of these columns asked for? */
static bool wanted(const struct work *w, const struct op_data *data, int64_t n_i, int64_t p_i, int64_t q0, int64_t columns)
{
    const float *mask = data->mask_out ? data->mask_out + (n_i * w->p + p_i) * w->q + q0 : NULL;
    const bool *asked = data->columns ? data->columns + q0 : NULL;
    for (int64_t q = 0; q < columns; q++)
        if ((!mask || mask[q] != 0) && (!asked || asked[q]))
            return true;
    return false;
}

/* One group's channels over a whole output row, blocks of columns of which no output is wanted left out. Filters are packed once per row,
 * inputs once per block of columns. */
static void group_row(const struct work *w, const struct op_data *data, int64_t n_i, int64_t p_i, int64_t group, struct scratch_space *m,
                      double *y, double *a)
{
    int64_t c_count = w->c / w->groups, k_count = w->k / w->groups, k_begin = group * k_count, blocks = (k_count + K_BLOCK - 1) / K_BLOCK;
    size_t terms = (size_t)(c_count * work_filter_taps(w));
    for (int64_t b = 0; b < blocks; b++)
        pack_filter(w, data->at[SLOT_FILTER].value, k_begin + b * K_BLOCK, k_begin + k_count, terms, m->w + (size_t)b * terms * K_BLOCK,
                    m->w_magnitude + (size_t)b * terms * K_BLOCK);
    for (int64_t q0 = 0; q0 < w->q; q0 += Q_BLOCK) {
        int64_t columns = w->q - q0 < Q_BLOCK ? w->q - q0 : Q_BLOCK;
        if (!wanted(w, data, n_i, p_i, q0, columns))
            continue;
        pack_input(w, data, (size_t)(n_i * w->c * w->h * w->w), group * c_count, c_count, p_i, q0, m->x, m->x_magnitude);
        for (int64_t b = 0; b < blocks; b++) {
            block_sum(m->x, m->w + (size_t)b * terms * K_BLOCK, terms, m->y);
            if (a)
                block_magnitude(m->x_magnitude, m->w_magnitude + (size_t)b * terms * K_BLOCK, terms, m->a);
            for (int64_t k = 0; k < K_BLOCK && b * K_BLOCK + k < k_count; k++) {
                size_t to = (size_t)((k_begin + b * K_BLOCK + k) * w->q + q0);
                memcpy(y + to, m->y + k * Q_BLOCK, (size_t)columns * sizeof *y);
                if (a)
                    memcpy(a + to, m->a + k * Q_BLOCK, (size_t)columns * sizeof *a);
            }
        }
    }
}

void reference_conv2d_row(const struct work *w, const struct op_data *data, int64_t n_i, int64_t p_i, double *y, double *a)
{
    if (data->mask_out) { /* what is left out is 0 */
        memset(y, 0, (size_t)(w->k * w->q) * sizeof *y);
        if (a)
            memset(a, 0, (size_t)(w->k * w->q) * sizeof *a);
        if (!wanted(w, data, n_i, p_i, 0, w->q))
            return;
    }
    size_t terms = (size_t)(w->c / w->groups * work_filter_taps(w)), k_padded = (size_t)(w->k / w->groups + K_BLOCK);
    struct scratch_space m = {.x = xmalloc(terms * Q_BLOCK * sizeof(double)),
                              .w = xmalloc(terms * k_padded * sizeof(double)),
                              .x_magnitude = xmalloc(terms * Q_BLOCK * sizeof(float)),
                              .w_magnitude = xmalloc(terms * k_padded * sizeof(float))};
    for (int64_t g = 0; g < w->groups; g++)
        group_row(w, data, n_i, p_i, g, &m, y, a);
    free(m.x);
    free(m.w);
    free(m.x_magnitude);
    free(m.w_magnitude);
}

void reference_conv_transpose2d_row(const struct work *w, const struct op_data *data, int64_t n_i, int64_t p_i, double *y, double *a)
{
    int64_t c_count = w->c / w->groups, k_count = w->k / w->groups, taps = w->r * w->s;
    size_t image = (size_t)(n_i * w->c * w->h * w->w);
    memset(y, 0, (size_t)(w->k * w->q) * sizeof *y);
    if (a)
        memset(a, 0, (size_t)(w->k * w->q) * sizeof *a);
    for (int64_t k = 0; k < w->k; k++)
        for (int64_t c = 0; c < c_count; c++)
            for (int64_t tap = 0; tap < taps; tap++) {
                int64_t i = w->op->reads(w, AXIS_ROWS, p_i, tap / w->s);
                if (i < 0 || i >= w->h)
                    continue;
                size_t row = image + (size_t)(((k / k_count * c_count + c) * w->h + i) * w->w);
                double f = data->at[SLOT_FILTER].value[(k * c_count + c) * taps + tap];
                for (int64_t q = 0; q < w->q; q++) {
                    if (data->columns && !data->columns[q])
                        continue;
                    int64_t j = w->op->reads(w, AXIS_COLUMNS, q, tap % w->s);
                    if (j < 0 || j >= w->w)
                        continue;
                    double product = op_data_input(data, row + (size_t)j) * f;
                    y[k * w->q + q] += product;
                    if (a)
                        a[k * w->q + q] += fabs(product);
                }
            }
}
