#include "op/reference/sums.h"
#include "base/pool.h"
#include "op/op_file.h"
#include "op/shape.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

/* A block of K_BLOCK output channels x Q_BLOCK output columns stays in registers while the whole reduction runs over it. */
enum { K_BLOCK = 4, Q_BLOCK = 8 };
#define THREAD_PRODUCTS 500000 /* products per thread, if a row has several threads (op_data_reference_rows) */

/* Products are exact in double (24 + 24 bits), so a fused multiply-add gives the same bits as a multiplication and an addition: this file
 * may contract although the rest of bench is built with -ffp-contract=off. The clones name instruction-set levels, not processors,
 * because GCC selects a clone for a named processor on that vendor's machines only. */
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

/* The same for magnitudes, in float: the result only enters a bound, which is enlarged by the rounding of float. */
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

/* One group of channels, in one output row: the taps whose line is inside the image. */
struct group {
    const struct work *work;
    const struct op_data *data;
    int64_t image, channels, outputs; /* channels and output channels of a group */
    int64_t *row, *line;              /* for each such tap: the row of the filter and the line of the input */
    int64_t row_count;
    size_t terms;
    double *x, *w; /* w: of every block of output channels, or, where each is used once, of the one that a thread works on */
    float *x_magnitude, *w_magnitude;
    int threads;
    bool once; /* the row is one block of columns */
};

/* Packs the filters of output channels from k0 on, [terms][K_BLOCK]; 0 past the end of the group. */
static void pack_filter(const struct group *g, int64_t k0, int64_t k_end, double *to, float *magnitude)
{
    const float *filter = g->data->at[SLOT_FILTER].value;
    int64_t rows = g->data->reach[AXIS_ROWS].taps, columns = g->work->s;
    for (int64_t k = 0; k < K_BLOCK; k++) {
        size_t t = (size_t)k;
        for (int64_t i = 0; i < g->channels * g->row_count; i++) {
            const float *from = filter + (((k0 + k) * g->channels + i / g->row_count) * rows + g->row[i % g->row_count]) * columns;
            for (int64_t s = 0; s < columns; s++, t += K_BLOCK) {
                float v = k0 + k < k_end ? from[s] : 0;
                to[t] = v;
                magnitude[t] = fabsf(v);
            }
        }
    }
}

/* Packs the inputs that the taps read, from channel c0 on, for columns q0 .. q0 + Q_BLOCK, [terms][Q_BLOCK]; 0 outside the image. */
static void pack_input(const struct group *g, int64_t c0, int64_t q0)
{
    const struct work *w = g->work;
    const struct op_reach *across = &g->data->reach[AXIS_COLUMNS];
    int64_t x[OP_IMAGE_KERNEL * Q_BLOCK];
    double *to = g->x;
    float *magnitude = g->x_magnitude;
    for (int64_t i = 0; i < w->s * Q_BLOCK; i++)
        x[i] = q0 + i % Q_BLOCK < w->q ? across->at[(q0 + i % Q_BLOCK) * across->taps + i / Q_BLOCK] : -1;
    for (int64_t c = c0; c < c0 + g->channels; c++)
        for (int64_t r = 0; r < g->row_count; r++) {
            size_t row = (size_t)(((g->image * w->c + c) * w->h + g->line[r]) * w->w);
            for (int64_t i = 0; i < w->s * Q_BLOCK; i++) {
                double v = x[i] >= 0 ? op_data_input(g->data, row + (size_t)x[i]) : 0;
                *to++ = v;
                *magnitude++ = (float)fabs(v);
            }
        }
}

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

/* Computes some columns of a row, in one group of channels. */
struct columns {
    const struct group *g;
    int64_t k_begin, q0, count;
    bool packed; /* the group's filters are */
    double *y, *a;
};

static void block_row(void *context, int64_t b, int thread)
{
    const struct columns *c = context;
    const struct group *g = c->g;
    size_t at = (size_t)(g->once ? thread : b) * g->terms * K_BLOCK;
    double sums[K_BLOCK * Q_BLOCK], magnitudes[K_BLOCK * Q_BLOCK];
    if (!c->packed)
        pack_filter(g, c->k_begin + b * K_BLOCK, c->k_begin + g->outputs, g->w + at, g->w_magnitude + at);
    block_sum(g->x, g->w + at, g->terms, sums);
    if (c->a)
        block_magnitude(g->x_magnitude, g->w_magnitude + at, g->terms, magnitudes);
    for (int64_t k = 0; k < K_BLOCK && b * K_BLOCK + k < g->outputs; k++) {
        size_t to = (size_t)((c->k_begin + b * K_BLOCK + k) * g->work->q + c->q0);
        memcpy(c->y + to, sums + k * Q_BLOCK, (size_t)c->count * sizeof *sums);
        if (c->a)
            memcpy(c->a + to, magnitudes + k * Q_BLOCK, (size_t)c->count * sizeof *magnitudes);
    }
}

/* Computes a group's channels over a whole output row, except blocks of columns without a wanted output. Packs filters once per row, inputs
 * once per block of columns. */
static void group_row(const struct group *g, int64_t p, int64_t group, double *y, double *a)
{
    const struct work *w = g->work;
    struct columns c = {.g = g, .k_begin = group * g->outputs, .y = y, .a = a};
    for (; c.q0 < w->q; c.q0 += Q_BLOCK) {
        c.count = w->q - c.q0 < Q_BLOCK ? w->q - c.q0 : Q_BLOCK;
        if (!wanted(w, g->data, g->image, p, c.q0, c.count))
            continue;
        pack_input(g, group * g->channels, c.q0);
        pool_for((g->outputs + K_BLOCK - 1) / K_BLOCK, g->threads, block_row, &c);
        c.packed = !g->once;
    }
}

void reference_sums_row(const struct work *w, const struct op_data *data, int64_t n_i, int64_t p_i, double *y, double *a)
{
    const struct op_reach *down = &data->reach[AXIS_ROWS];
    struct group g = {.work = w, .data = data, .image = n_i, .channels = w->c / w->groups, .outputs = w->k / w->groups};
    if (data->mask_out) { /* what is left out is 0 */
        memset(y, 0, (size_t)(w->k * w->q) * sizeof *y);
        if (a)
            memset(a, 0, (size_t)(w->k * w->q) * sizeof *a);
        if (!wanted(w, data, n_i, p_i, 0, w->q))
            return;
    }
    g.row = xcalloc((size_t)down->taps * 2, sizeof *g.row);
    g.line = g.row + down->taps;
    for (int64_t r = 0; r < down->taps; r++)
        if (down->at[p_i * down->taps + r] >= 0) {
            g.row[g.row_count] = r;
            g.line[g.row_count++] = down->at[p_i * down->taps + r];
        }
    g.terms = (size_t)(g.channels * g.row_count * w->s);
    g.threads = pool_threads_for((int64_t)g.terms * g.outputs * Q_BLOCK, THREAD_PRODUCTS);
    g.once = w->q <= Q_BLOCK;
    size_t filters = g.terms * (size_t)(g.once ? g.threads * K_BLOCK : g.outputs + K_BLOCK) + 1;
    g.x = xmalloc((g.terms * Q_BLOCK + 1) * sizeof(double));
    g.w = xmalloc(filters * sizeof(double));
    g.x_magnitude = xmalloc((g.terms * Q_BLOCK + 1) * sizeof(float));
    g.w_magnitude = xmalloc(filters * sizeof(float));
    for (int64_t i = 0; i < w->groups; i++)
        group_row(&g, p_i, i, y, a);
    FREE_ALL(g.row, g.x, g.w, g.x_magnitude, g.w_magnitude);
}
