#include "base/image.h"
#include "base/text.h"
#include "op/chain.h"
#include "op/generate.h"
#include "op/op.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One image of a mask, with its own stream of random numbers. */
struct plane {
    const struct mask *mask;
    float *at;
    int64_t d, h, w; /* d planes of h rows; an image is one */
    uint64_t stream, drawn;
};

static double draw(struct plane *p)
{
    return generate_uniform(p->mask->seed, p->stream, p->drawn++);
}
static int64_t draw_below(struct plane *p, int64_t n)
{
    int64_t v = (int64_t)(draw(p) * (double)n);
    return v < n ? v : n - 1;
}
static int64_t wanted_pixels(const struct plane *p)
{
    return (int64_t)llround(p->mask->density * (double)(p->d * p->h * p->w));
}

static void make_iid(struct plane *p)
{
    for (int64_t i = 0; i < p->d * p->h * p->w; i++)
        p->at[i] = draw(p) < p->mask->density;
}

static int64_t between(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* One rectangle of the image's own proportions, in a volume one cuboid. */
static void make_box(struct plane *p)
{
    int64_t wanted = wanted_pixels(p);
    if (wanted < 1)
        return;
    int64_t bd = p->d > 1 ? between(llround(cbrt(p->mask->density) * (double)p->d), 1, p->d) : 1;
    double in_plane = p->d > 1 ? cbrt(p->mask->density) : sqrt(p->mask->density);
    int64_t bh = between(llround(in_plane * (double)p->h), 1, p->h), bw = between((wanted + bd * bh / 2) / (bd * bh), 1, p->w);
    int64_t z0 = p->d > 1 ? draw_below(p, p->d - bd + 1) : 0, y0 = draw_below(p, p->h - bh + 1), x0 = draw_below(p, p->w - bw + 1);
    for (int64_t z = z0; z < z0 + bd; z++)
        for (int64_t y = y0; y < y0 + bh; y++)
            for (int64_t x = x0; x < x0 + bw; x++)
                p->at[(z * p->h + y) * p->w + x] = 1;
}

/* Whole rows, evenly spread. */
static void make_scanline(struct plane *p)
{
    int64_t all = p->d * p->h, rows = llround(p->mask->density * (double)all), phase = draw_below(p, all);
    for (int64_t y = 0; y < all; y++) {
        bool active = (y + 1) * rows / all > y * rows / all;
        for (int64_t x = 0; active && x < p->w; x++)
            p->at[(y + phase) % all * p->w + x] = 1;
    }
}

struct disc_pixel {
    int64_t distance2, index;
};
static int by_distance(const void *a, const void *b)
{
    const struct disc_pixel *x = a, *y = b;
    return x->distance2 != y->distance2 ? (x->distance2 < y->distance2 ? -1 : 1) : (x->index > y->index) - (x->index < y->index);
}

/* Adds a disc (in a volume a ball), or as much of its middle as is still wanted. Returns how many pixels it added. */
static int64_t add_disc(struct plane *p, int64_t centre, int64_t radius, int64_t wanted, struct disc_pixel *space)
{
    int64_t cz = centre / p->w / p->h, cy = centre / p->w % p->h, cx = centre % p->w;
    int64_t z0 = cz > radius ? cz - radius : 0, z1 = cz + radius < p->d ? cz + radius : p->d - 1;
    int64_t y0 = cy > radius ? cy - radius : 0, y1 = cy + radius < p->h ? cy + radius : p->h - 1;
    int64_t x0 = cx > radius ? cx - radius : 0, x1 = cx + radius < p->w ? cx + radius : p->w - 1, count = 0;
    for (int64_t i = z0 * p->h; i < (z1 + 1) * p->h; i++) /* rows of all planes */
        for (int64_t x = x0; x <= x1 && i % p->h >= y0 && i % p->h <= y1; x++) {
            int64_t z = i / p->h - cz, y = i % p->h - cy, d = z * z + y * y + (x - cx) * (x - cx);
            if (d <= radius * radius && p->at[i * p->w + x] == 0)
                space[count++] = (struct disc_pixel){d, i * p->w + x};
        }
    if (count > wanted) {
        qsort(space, (size_t)count, sizeof *space, by_distance);
        count = wanted;
    }
    for (int64_t i = 0; i < count; i++)
        p->at[space[i].index] = 1;
    return count;
}

/* Union of discs of one radius at random centres, until exactly the wanted share is covered (the last disc is smaller). */
static void make_blobs(struct plane *p)
{
    int64_t wanted = wanted_pixels(p), radius = p->mask->radius, across_h = 2 * radius + 1 < p->h ? 2 * radius + 1 : p->h;
    int64_t across_w = 2 * radius + 1 < p->w ? 2 * radius + 1 : p->w, across_d = 2 * radius + 1 < p->d ? 2 * radius + 1 : p->d,
            pixels = p->d * p->h * p->w;
    struct disc_pixel *space = xmalloc((size_t)(across_d * across_h * across_w) * sizeof *space);
    while (wanted > 0) {
        int64_t centre = draw_below(p, pixels), tries = 0;
        while (p->at[centre] != 0 && tries++ < 64) /* nearly full images: look for a hole, then take the next one */
            centre = draw_below(p, pixels);
        while (tries >= 64 && p->at[centre] != 0)
            centre = (centre + 1) % pixels;
        wanted -= add_disc(p, centre, radius, wanted, space);
    }
    free(space);
}

static void make_plane(struct plane *p)
{
    int64_t pixels = p->d * p->h * p->w;
    memset(p->at, 0, (size_t)pixels * sizeof *p->at);
    switch (p->mask->pattern) {
    case MASK_FULL:
        for (int64_t i = 0; i < pixels; i++)
            p->at[i] = 1;
        break;
    case MASK_IID: make_iid(p); break;
    case MASK_BLOBS: make_blobs(p); break;
    case MASK_BOX: make_box(p); break;
    case MASK_SCANLINE: make_scanline(p); break;
    case MASK_PIXEL: p->at[draw_below(p, pixels)] = 1; break;
    case MASK_CHECKERBOARD:
        for (int64_t i = 0; i < pixels; i++)
            p->at[i] = (float)(((uint64_t)(i / p->w / p->h + i / p->w % p->h + i % p->w) + p->mask->seed) & 1);
        break;
    case MASK_EMPTY:
    case MASK_NONE:
    case MASK_FILE:
    case MASK_PATTERN_COUNT: break;
    }
}

void mask_frame_path(const struct mask *mask, int frame, char *out, size_t bytes)
{
    const char *percent = strchr(mask->path, '%');
    const char *end = percent ? percent + 1 : NULL;
    while (end && isdigit((unsigned char)*end))
        end++;
    if (!end || *end != 'd' || end - percent > 3) { /* no frame number in it */
        snprintf(out, bytes, "%s", mask->path);
        return;
    }
    bool zeros = percent[1] == '0';
    int width = atoi(percent + 1);
    char number[128];
    snprintf(number, sizeof number, zeros ? "%0*d" : "%*d", width, frame);
    snprintf(out, bytes, "%.*s%s%s", (int)(percent - mask->path), mask->path, number, end + 1);
}

/* Brighter than half of the largest value is active; of colours, any channel. */
static bool make_file(const struct work *work, int64_t h, int64_t w, float *out, struct error *err)
{
    char path[sizeof work->mask.path + 128];
    struct image image;
    size_t pixels = (size_t)h * (size_t)w;
    int64_t whole_h = work->mask.whole_h ? work->mask.whole_h : h, whole_w = work->mask.whole_w ? work->mask.whole_w : w;
    mask_frame_path(&work->mask, 0, path, sizeof path);
    if (!image_read(path, &image, err))
        return error_where(err, "mask");
    bool fits = image.w == whole_w && image.h == whole_h;
    if (!fits) {
        error_set(err, ERROR_USAGE, "mask %s is %lld x %lld pixels (width x height), the layer needs %lld x %lld", path, (long long)image.w,
                  (long long)image.h, (long long)whole_w, (long long)whole_h);
        error_hint(err, "bench mask VIDEO -o NAME --size %lldx%lld makes masks of that size", (long long)whole_w, (long long)whole_h);
    }
    for (size_t i = 0; fits && i < pixels; i++) {
        size_t from = (i / (size_t)w * (size_t)whole_w + i % (size_t)w) * (size_t)image.channels;
        out[i] = 0;
        for (int c = 0; c < image.channels; c++)
            if (2 * image.at[from + (size_t)c] > image.most)
                out[i] = 1;
    }
    image_free(&image);
    for (int64_t i = 1; fits && i < work->n; i++) /* every image of the batch has the same mask */
        memcpy(out + (size_t)i * pixels, out, pixels * sizeof *out);
    return fits;
}

bool mask_make(const struct work *work, float *out, struct error *err)
{
    int64_t h = work->mask.marks_output ? work->p : work->h, w = work->mask.marks_output ? work->q : work->w;
    if (work->mask.pattern == MASK_NONE)
        return error_set(err, ERROR_INTERNAL, "a mask of a work without one");
    if (work->mask.pattern == MASK_FILE)
        return make_file(work, h, w, out, err);
    int64_t planes = !work->op->volume ? 1 : work->mask.marks_output ? work->o : work->d;
    for (int64_t i = 0; i < work->n; i++) {
        struct plane p = {.mask = &work->mask, .at = out + i * h * w, .d = planes, .h = h / planes, .w = w, .stream = (uint64_t)(1000 + i)};
        make_plane(&p);
    }
    return true;
}

int64_t op_taps(const struct work *w, enum axis_of axis)
{
    int64_t taps = axis == AXIS_COLUMNS ? w->s : w->op->volume ? w->t * w->r : w->r;
    return taps > 0 ? taps : w->op->taps > 0 ? w->op->taps : 1;
}

/* The input that an output reads through a tap, one axis; -1 when it is outside the image. */
static int64_t input_of(const struct work *w, enum axis_of axis, int64_t output, int64_t tap)
{
    int64_t i = w->op->reads(w, axis, output, tap);
    return i >= 0 && i < (axis == AXIS_ROWS ? w->h : w->w) ? i : -1;
}

/* Through all links of a chain. */
static void dilate_chain(const struct work *work, const float *in, float *out)
{
    float *marks = NULL;
    for (int i = 0; i < work->chain->count; i++) {
        float *next = chain_marks(&work->chain->links[i], marks ? marks : in);
        free(marks);
        marks = next;
    }
    memcpy(out, marks, (size_t)(work->n * work->p * work->q) * sizeof *out);
    free(marks);
}

void mask_dilate(const struct work *work, const float *in, float *out)
{
    if (work->chain) {
        dilate_chain(work, in, out);
        return;
    }
    const struct work *w = work;
    int64_t taps = op_taps(w, AXIS_COLUMNS);
    float *rows = xmalloc((size_t)(w->h * w->q) * sizeof *rows); /* dilated along x */
    int64_t *from = xmalloc((size_t)(taps * w->q) * sizeof *from);
    for (int64_t i = 0; i < taps * w->q; i++)
        from[i] = input_of(w, AXIS_COLUMNS, i % w->q, i / w->q);
    for (int64_t n = 0; n < w->n; n++, in += w->h * w->w, out += w->p * w->q) {
        memset(rows, 0, (size_t)(w->h * w->q) * sizeof *rows);
        memset(out, 0, (size_t)(w->p * w->q) * sizeof *out);
        for (int64_t y = 0; y < w->h; y++)
            for (int64_t i = 0; i < taps * w->q; i++)
                if (from[i] >= 0 && in[y * w->w + from[i]] != 0)
                    rows[y * w->q + i % w->q] = 1;
        for (int64_t p = 0; p < w->p; p++)
            for (int64_t r = 0; r < op_taps(w, AXIS_ROWS); r++) {
                int64_t y = input_of(w, AXIS_ROWS, p, r);
                for (int64_t q = 0; y >= 0 && q < w->q; q++)
                    if (rows[y * w->q + q] != 0)
                        out[p * w->q + q] = 1;
            }
    }
    free(from);
    free(rows);
}

/* The inputs that any active output reads. */
static void mask_needed(const struct work *w, const float *out, float *in)
{
    int64_t across = op_taps(w, AXIS_COLUMNS), taps = op_taps(w, AXIS_ROWS) * across;
    memset(in, 0, (size_t)(w->n * w->h * w->w) * sizeof *in);
    for (int64_t n = 0; n < w->n; n++, in += w->h * w->w, out += w->p * w->q)
        for (int64_t p = 0; p < w->p; p++)
            for (int64_t q = 0; q < w->q; q++)
                for (int64_t tap = 0; out[p * w->q + q] != 0 && tap < taps; tap++) {
                    int64_t y = input_of(w, AXIS_ROWS, p, tap / across), x = input_of(w, AXIS_COLUMNS, q, tap % across);
                    if (y >= 0 && x >= 0)
                        in[y * w->w + x] = 1;
                }
}

double mask_density(const float *mask, size_t count)
{
    size_t active = 0;
    for (size_t i = 0; i < count; i++)
        active += mask[i] != 0;
    return count ? (double)active / (double)count : 0;
}

bool mask_second(const struct work *w, float *out, struct error *err)
{
    struct work other = *w;
    other.mask.seed += 1000003;
    return mask_make(&other, out, err);
}

static bool add_second(const struct work *w, float *active, struct error *err)
{
    size_t pixels = (size_t)(w->n * w->h * w->w);
    float *second = xmalloc(pixels * sizeof *second);
    bool ok = mask_second(w, second, err);
    for (size_t i = 0; ok && i < pixels; i++)
        active[i] = active[i] != 0 || second[i] != 0;
    free(second);
    return ok;
}

bool mask_both(const struct work *w, float *in, float *active, struct error *err)
{
    size_t inputs = (size_t)(w->n * w->h * w->w), outputs = (size_t)(w->n * w->p * w->q);
    if (w->mask.pattern == MASK_NONE) {
        for (size_t i = 0; i < inputs; i++)
            in[i] = 1;
        for (size_t i = 0; i < outputs; i++)
            active[i] = 1;
        return true;
    }
    if (!mask_make(w, w->mask.marks_output ? active : in, err))
        return false;
    if (w->mask.marks_output) {
        mask_needed(w, active, in);
        return true;
    }
    mask_dilate(w, in, active);
    struct tensor t;
    return !work_tensor(w, ROLE_MASK_SECOND, &t) || add_second(w, active, err);
}

void work_useful_of(const struct work *w, const float *in, const float *active, struct useful *out)
{
    size_t inputs = (size_t)(w->n * w->h * w->w), outputs = (size_t)(w->n * w->p * w->q);
    struct tensor t;
    static const enum tensor_role shrinking[] = {ROLE_INPUT, ROLE_STORED, ROLE_SECOND, ROLE_RESIDUAL, ROLE_OUTPUT};
    *out = (struct useful){mask_density(in, inputs), mask_density(active, outputs), work_flop(w), work_bytes(w)};
    out->flop = w->chain && w->mask.pattern != MASK_NONE ? chain_useful_flop(w->chain, in) : out->flop * out->output_share;
    for (int role = ROLE_FILTER; out->output_share == 0 && role <= ROLE_BIAS; role++)
        if (work_tensor(w, (enum tensor_role)role, &t))
            out->bytes -= (double)tensor_bytes(&t);
    for (size_t i = 0; i < sizeof shrinking / sizeof shrinking[0]; i++)
        if (work_tensor(w, shrinking[i], &t))
            out->bytes -= (double)tensor_bytes(&t) * (1 - (i < 3 ? out->input_share : out->output_share));
}

bool work_useful(const struct work *w, struct useful *out, struct error *err)
{
    *out = (struct useful){1, 1, work_flop(w), work_bytes(w)};
    if (w->mask.pattern == MASK_NONE)
        return true;
    float *in = xmalloc((size_t)(w->n * w->h * w->w) * sizeof *in), *active = xmalloc((size_t)(w->n * w->p * w->q) * sizeof *active);
    bool ok = mask_both(w, in, active, err);
    if (ok)
        work_useful_of(w, in, active, out);
    free(in);
    free(active);
    return ok;
}
