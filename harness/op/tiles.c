#include "op/tiles.h"
#include "op/op.h"
#include <stdlib.h>
#include <string.h>

/* One axis cut into tiles: the outputs of each and the inputs that these read, each input once. */
struct span {
    int64_t first, count; /* outputs first, first + every ... */
    int64_t *inputs;
    int64_t input_count;
};
struct axis {
    struct span *spans;
    int64_t count;
};

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void gather_inputs(const struct work *w, struct span *s, int64_t every, int64_t taps, int64_t size)
{
    s->inputs = xcalloc((size_t)(s->count * taps), sizeof *s->inputs);
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t t = 0; t < taps; t++) {
            int64_t at = w->op->reads(w, s->first + i * every, t);
            if (at >= 0 && at < size)
                s->inputs[s->input_count++] = at;
        }
    qsort(s->inputs, (size_t)s->input_count, sizeof *s->inputs, ascending);
    int64_t kept = 0;
    for (int64_t i = 0; i < s->input_count; i++)
        if (!kept || s->inputs[i] != s->inputs[kept - 1])
            s->inputs[kept++] = s->inputs[i];
    s->input_count = kept;
}

static struct axis cut_axis(const struct work *w, int64_t outputs, int64_t size, int64_t tile, int64_t every, int64_t taps)
{
    struct axis a = {0};
    a.spans = xcalloc((size_t)(every * (outputs / every / tile + 2)), sizeof *a.spans);
    for (int64_t phase = 0; phase < every && phase < outputs; phase++) {
        int64_t here = (outputs - phase + every - 1) / every;
        for (int64_t i = 0; i < here; i += tile) {
            struct span *s = &a.spans[a.count++];
            *s = (struct span){.first = phase + i * every, .count = here - i < tile ? here - i : tile};
            gather_inputs(w, s, every, taps > 0 ? taps : 1, size);
        }
    }
    return a;
}

static void free_axis(struct axis *a)
{
    for (int64_t i = 0; i < a->count; i++)
        free(a->spans[i].inputs);
    free(a->spans);
}

static int bin_of(int64_t marked)
{
    int bin = marked > 0;
    for (int64_t top = 1; top < marked && bin < TILE_BINS - 1; top *= 2)
        bin++;
    return bin;
}

static int64_t marked_inputs(const float *in, int64_t width, const struct span *rows, const struct span *columns)
{
    int64_t marked = 0;
    for (int64_t y = 0; y < rows->input_count; y++)
        for (int64_t x = 0; x < columns->input_count; x++)
            marked += in[rows->inputs[y] * width + columns->inputs[x]] != 0;
    return marked;
}

static bool any_active(const float *active, int64_t width, const struct span *rows, const struct span *columns, int64_t every)
{
    for (int64_t p = 0; p < rows->count; p++)
        for (int64_t q = 0; q < columns->count; q++)
            if (active[(rows->first + p * every) * width + columns->first + q * every] != 0)
                return true;
    return false;
}

static void count_image(const struct work *w, const float *in, const float *active, const struct axis *down, const struct axis *across,
                        int64_t every, struct tile_stats *out)
{
    double per_output = work_flop(w) / (double)(w->n * w->p * w->q);
    for (int64_t i = 0; i < down->count; i++)
        for (int64_t k = 0; k < across->count; k++) {
            const struct span *rows = &down->spans[i], *columns = &across->spans[k];
            out->tiles++;
            if (any_active(active, w->q, rows, columns, every)) {
                out->active++;
                out->flop += per_output * (double)(rows->count * columns->count);
            }
            out->bins[bin_of(marked_inputs(in, w->w, rows, columns))]++;
        }
}

void tile_stats(const struct work *w, const float *in, const float *active, const struct tile *tile, struct tile_stats *out)
{
    *out = (struct tile_stats){0};
    struct axis down = cut_axis(w, w->p, w->h, tile->h, tile->every, w->r), across = cut_axis(w, w->q, w->w, tile->w, tile->every, w->s);
    for (int64_t n = 0; n < w->n; n++)
        count_image(w, in + n * w->h * w->w, active + n * w->p * w->q, &down, &across, tile->every, out);
    free_axis(&down);
    free_axis(&across);
}

void tile_bins_text(const struct tile_stats *stats, struct text *t)
{
    const char *gap = "";
    for (int i = 0; i < TILE_BINS; i++) {
        if (!stats->bins[i])
            continue;
        int64_t top = i ? INT64_C(1) << (i - 1) : 0, bottom = i > 2 ? top / 2 + 1 : top;
        text_addf(t, "%s%lld", gap, (long long)bottom);
        if (i == TILE_BINS - 1)
            text_add(t, "+");
        else if (bottom != top)
            text_addf(t, "-%lld", (long long)top);
        text_addf(t, ":%lld", (long long)stats->bins[i]);
        gap = " ";
    }
}
