#include "op/mask/change.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

/* Along one axis: `count` lines of `size` pixels, `step` apart. */
static void spread(const float *from, float *to, int64_t count, int64_t pitch, int64_t size, int64_t step, int64_t reach)
{
    for (int64_t line = 0; line < count; line++) {
        const float *in = from + line * pitch;
        float *out = to + line * pitch;
        int64_t until = -1; /* everything up to here is active */
        for (int64_t i = 0; i < size + reach; i++) {
            if (i < size && in[i * step] != 0)
                until = i + reach;
            if (i >= reach) { /* pixel i - reach sees in[i - 2 reach .. i] */
                int64_t at = i - reach;
                out[at * step] = until >= at;
            }
        }
    }
}

static void dilate(float *mask, int64_t h, int64_t w, int64_t reach)
{
    SCOPED float *rows = xmalloc((size_t)(h * w) * sizeof *rows);
    spread(mask, rows, h, w, w, 1, reach);
    spread(rows, mask, w, 1, h, w, reach);
}

static bool differs(const struct change *c, const struct image *frame, int64_t pixel)
{
    const uint16_t *now = frame->at + pixel * frame->channels, *last = c->last.at + pixel * frame->channels;
    return ANY_OF(k, frame->channels, fabs((double)now[k] - (double)last[k]) > c->threshold * frame->most);
}

bool change_step(struct change *c, const struct image *frame, float *mask, struct error *err)
{
    int64_t pixels = frame->w * frame->h;
    size_t samples = (size_t)(pixels * frame->channels);
    if (!c->last.at) {
        c->last = *frame;
        c->last.at = xmalloc(samples * sizeof *frame->at);
        memcpy(c->last.at, frame->at, samples * sizeof *frame->at);
        for (int64_t i = 0; i < pixels; i++)
            mask[i] = 1;
        return true;
    }
    if (frame->w != c->last.w || frame->h != c->last.h || frame->channels != c->last.channels || frame->most != c->last.most)
        return error_set(err, ERROR_USAGE, "a frame of %lld x %lld pixels, %d channels up to %d follows one of %lld x %lld, %d, %d",
                         (long long)frame->w, (long long)frame->h, frame->channels, frame->most, (long long)c->last.w, (long long)c->last.h,
                         c->last.channels, c->last.most);
    for (int64_t i = 0; i < pixels; i++)
        mask[i] = differs(c, frame, i);
    if (c->dilate > 0)
        dilate(mask, frame->h, frame->w, c->dilate);
    for (int64_t i = 0; i < pixels; i++)
        if (mask[i] != 0)
            memcpy(c->last.at + i * frame->channels, frame->at + i * frame->channels, (size_t)frame->channels * sizeof *frame->at);
    return true;
}

void change_end(struct change *c)
{
    image_free(&c->last);
}

void change_fit(const float *from, int64_t from_h, int64_t from_w, float *to, int64_t to_h, int64_t to_w)
{
    for (int64_t y = 0; y < to_h; y++)
        for (int64_t x = 0; x < to_w; x++) {
            int64_t y0 = y * from_h / to_h, y1 = ((y + 1) * from_h + to_h - 1) / to_h, x0 = x * from_w / to_w,
                    x1 = ((x + 1) * from_w + to_w - 1) / to_w;
            bool any = false;
            for (int64_t i = y0; i < y1 && !any; i++)
                for (int64_t k = x0; k < x1 && !any; k++)
                    any = from[i * from_w + k] != 0;
            to[y * to_w + x] = any;
        }
}
