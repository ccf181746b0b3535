#include "measure/trust/sequence_source.h"
#include "base/file.h"
#include "base/pool.h"
#include "base/text.h"
#include "op/convert.h"
#include "op/reference/data.h"
#include "op/mask/mask.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_FLOP 5e9        /* per frame: above this the CPU reference takes seconds */
#define KEPT_MOST_BYTES (4e9) /* the frames that stay in memory for the next row */

static bool make_weights(struct sequence_source *s, struct error *err)
{
    s->data = xcalloc((size_t)s->layers->count, sizeof *s->data);
    for (int i = 0; i < s->layers->count; i++)
        if (!op_data_inputs(&s->layers->links[i].work, DATA_PART_PRECISION, &s->data[i], err))
            return error_where(err, "sequence %s, layer %s", s->q->name, s->layers->links[i].name);
    return true;
}

/* A video is read again for each row, so it must be a file. */
static bool is_again(const struct scenario_sequence *q, struct error *err)
{
    if (!q->video || (strcmp(q->video, "-") && !file_is_stream(q->video)))
        return true;
    return error_set(err, ERROR_USAGE, "sequence %s: video %s is a device or a pipe, not a file", q->name, q->video);
}

bool source_open(const struct sequence_row *row, struct sequence_source *out, struct error *err)
{
    const struct scenario_sequence *q = row->of;
    *out = (struct sequence_source){.q = q, .layers = row->layers};
    if (!is_again(q, err) || !make_weights(out, err)) {
        source_close(out);
        return false;
    }
    const struct work *first = &out->layers->links[0].work;
    out->frames = xcalloc((size_t)q->frames, sizeof *out->frames);
    out->stored = xcalloc((size_t)q->frames * 2, sizeof *out->stored);
    out->references = xcalloc((size_t)q->frames, sizeof *out->references);
    double flop = 0;
    for (int i = 0; i < out->layers->count; i++)
        flop += work_flop(&out->layers->links[i].work);
    out->large = flop > LARGE_FLOP;
    out->elements = (size_t)(first->n * first->c * first->h * first->w);
    out->base = xcalloc(out->elements, sizeof *out->base);
    out->keeps = (double)out->elements * 3 * sizeof(float) * q->frames <= KEPT_MOST_BYTES;
    out->own = out->keeps ? NULL : xcalloc(out->elements, sizeof *out->own);
    return true;
}

bool source_is_of(const struct sequence_source *s, const struct sequence_row *row)
{
    return s->q && s->q->node == row->of->node; /* one entry of the scenario: its axes are neither of the frames nor of the layers */
}

void source_close(struct sequence_source *s)
{
    for (int i = 0; s->data && i < s->layers->count; i++)
        op_data_free(&s->data[i]);
    free(s->data);
    for (int i = 0; s->frames && i < s->q->frames; i++)
        FREE_ALL(s->frames[i], s->stored[2 * i], s->stored[2 * i + 1], s->references[i]);
    FREE_ALL(s->frames, s->stored, s->references, s->base, s->own);
    frames_close(s->video);
    *s = (struct sequence_source){0};
}

/* Reads a frame of a video: samples divided by white, centred at 0, cropped to the layer's size. */
static bool video_frame(struct sequence_source *s, struct error *err)
{
    const struct work *w = &s->layers->links[0].work;
    struct image image;
    int got = frames_next(s->video, &image, err);
    if (got != 1)
        return got < 0 ? false
                       : error_set(err, ERROR_USAGE, "%s has %d frames, but sequence %s needs %d", s->q->video, s->frame, s->q->name,
                                   s->q->frames);
    bool fits = image.w >= w->w && image.h >= w->h && (image.channels == w->c || w->c == 1);
    if (!fits)
        error_set(err, ERROR_USAGE, "%s: frames of %lld x %lld pixels and %d channels, but sequence %s needs %lld x %lld and %lld",
                  s->q->video, (long long)image.w, (long long)image.h, image.channels, s->q->name, (long long)w->w, (long long)w->h,
                  (long long)w->c);
    for (int64_t n = 0; fits && n < w->n; n++)
        for (int64_t c = 0; c < w->c; c++)
            for (int64_t i = 0; i < w->h * w->w; i++)
                s->base[(size_t)((n * w->c + c) * w->h * w->w + i)] =
                    (float)image.at[(i / w->w * image.w + i % w->w) * image.channels + c] / (float)image.most - 0.5f;
    image_free(&image);
    return fits;
}

/* Values like those of frame 0, from another seed. NULL on error. */
static float *other_input(struct work w, uint64_t seed, struct error *err)
{
    struct op_data d;
    w.seed = seed;
    if (!op_data_inputs(&w, DATA_PART_PRECISION, &d, err))
        return NULL;
    struct op_values *of = op_data_of(w.op, &d, "input");
    float *input = of->value;
    of->value = NULL;
    op_data_free(&d);
    return input;
}

/* Draws new values for the pixels of this frame's mask. */
static bool changed_frame(struct sequence_source *s, struct error *err)
{
    struct work w = s->layers->links[0].work;
    float *mask = xmalloc((size_t)(w.n * w.h * w.w) * sizeof *mask);
    float *fresh = other_input(w, w.seed + UINT64_C(1000003) * (uint64_t)s->frame, err);
    w.mask = s->q->changes;
    w.mask.seed += (uint64_t)s->frame;
    bool ok = fresh && mask_make(&w, mask, err);
    for (int64_t n = 0; ok && n < w.n; n++)
        for (int64_t c = 0; c < w.c; c++)
            for (int64_t i = 0; i < w.h * w.w; i++)
                if (mask[n * w.h * w.w + i] != 0)
                    s->base[(n * w.c + c) * w.h * w.w + i] = fresh[(n * w.c + c) * w.h * w.w + i];
    free(mask);
    free(fresh);
    return ok;
}

static bool add_noise(struct sequence_source *s, struct error *err)
{
    struct work w = s->layers->links[0].work;
    memcpy(s->now, s->base, s->elements * sizeof *s->now);
    if (s->q->noise > 0) {
        w.data = DATA_NORMAL;
        float *noise = other_input(w, w.seed + 77 + UINT64_C(7000003) * (uint64_t)s->frame, err);
        if (!noise)
            return false;
        for (size_t i = 0; i < s->elements; i++)
            s->now[i] += (float)s->q->noise * noise[i];
        free(noise);
    }
    convert_round(w.dtype, s->now, s->elements);
    return true;
}

static bool make_frame(struct sequence_source *s, struct error *err)
{
    if (s->frame == 0) {
        frames_close(s->video);
        s->video = NULL;
        if (s->q->video && !(s->video = frames_open(s->q->video, NULL, err)))
            return false;
        if (!s->q->video)
            memcpy(s->base, op_data_of(s->layers->links[0].work.op, &s->data[0], "input")->value, s->elements * sizeof *s->base);
    }
    if (s->video ? !video_frame(s, err) : s->frame > 0 && !changed_frame(s, err))
        return false;
    return add_noise(s, err);
}

/* Frames depend on the frames before them, so either all are kept or none. */
bool source_take(struct sequence_source *s, int frame, struct error *err)
{
    bool made = s->keeps && s->frames[frame];
    s->frame = frame;
    s->now = made ? s->frames[frame] : s->keeps ? xmalloc(s->elements * sizeof *s->now) : s->own;
    bool ok = made || make_frame(s, err);
    if (s->keeps && ok)
        s->frames[frame] = s->now;
    else if (s->keeps)
        free(s->now);
    return ok;
}

const void *source_stored(struct sequence_source *s, const struct tensor *input, bool sparse)
{
    unsigned char **at = &s->stored[(s->keeps ? 2 * s->frame : 0) + sparse];
    if (*at && s->keeps)
        return *at;
    if (!*at)
        *at = xmalloc(tensor_bytes(input));
    tensor_pack(input, s->now, *at);
    return *at;
}

bool source_judged(const struct sequence_source *s, int frame)
{
    return frame < 2 || (!s->large && (frame & (frame - 1)) == 0) || frame == s->q->frames - 1;
}

/* Computes the dense result of frame `now` in double, with each layer's values rounded to f32. */
static bool make_reference(struct sequence_source *s, struct error *err)
{
    int count = s->layers->count;
    float **values = xcalloc((size_t)count, sizeof *values); /* by layer */
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        const struct chain_link *l = &s->layers->links[i];
        int with = l->residual;
        struct op_data d = {.exact = true};       /* no bounds are wanted */
        memcpy(d.at, s->data[i].at, sizeof d.at); /* the weights */
        op_data_of(l->work.op, &d, "input")->value = i ? values[i - 1] : s->now;
        if (with >= 0)
            op_data_of(l->work.op, &d, "second")->value = values[with];
        ok = op_data_reference(&l->work, &d, err);
        struct op_values *made = op_data_of(l->work.op, &d, "output");
        free(made->bound);
        s->outputs = made->elements;
        if (ok && i + 1 < count) {
            values[i] = xmalloc(made->elements * sizeof *values[i]);
            for (size_t k = 0; k < made->elements; k++)
                values[i][k] = (float)made->reference[k];
            free(made->reference);
        } else if (ok) {
            s->references[s->frame] = made->reference;
        }
    }
    pointers_free(values, count);
    return ok;
}

/* The errors of a stretch of the result. */
#define STRETCH 65536
struct judged {
    double squares, errors, largest;
    bool finite;
};
struct judging {
    const float *got;
    const double *want;
    size_t count;
    float slope;
    struct judged *of; /* by stretch */
};

static void judge_stretch(void *context, int64_t index, int thread)
{
    const struct judging *j = context;
    size_t from = (size_t)index * STRETCH, to = from + STRETCH < j->count ? from + STRETCH : j->count;
    struct judged sum = {.finite = true};
    for (size_t i = from; i < to; i++) {
        double d = fabs(j->got[i] * (j->got[i] < 0 ? j->slope : 1) - j->want[i]);
        sum.finite &= isfinite(d);
        sum.squares += j->want[i] * j->want[i];
        sum.errors += d * d;
        sum.largest = d > sum.largest ? d : sum.largest;
    }
    j->of[index] = sum;
}

bool source_judge(struct sequence_source *s, const float *got, float slope, struct sequence_error *e, struct error *err)
{
    if (!s->references[s->frame] && !make_reference(s, err))
        return false;
    size_t stretches = (s->outputs + STRETCH - 1) / STRETCH;
    struct judging j = {got, s->references[s->frame], s->outputs, slope, xcalloc(stretches, sizeof *j.of)};
    struct judged all = {.finite = true};
    pool_for((int64_t)stretches, 0, judge_stretch, &j);
    for (size_t i = 0; i < stretches; i++) {
        all.finite &= j.of[i].finite;
        all.squares += j.of[i].squares;
        all.errors += j.of[i].errors;
        all.largest = j.of[i].largest > all.largest ? j.of[i].largest : all.largest;
    }
    free(j.of);
    double rms = sqrt(all.squares / (double)s->outputs);
    e->finite = (s->frame == 0 || e->finite) && all.finite && rms > 0;
    if (e->finite && (s->frame == 0 || all.largest / rms > e->largest)) {
        e->largest = all.largest / rms;
        e->frame = s->frame;
    }
    e->rms = sqrt(all.errors / (double)s->outputs) / rms;
    return true;
}
