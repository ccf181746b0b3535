#include "op/mask/tiles.h"
#include "base/order.h"
#include "base/text.h"
#include "op/mask/mask.h"
#include "op/reach.h"
#include <stdlib.h>

/* One axis cut into tiles: the outputs of each, and the distinct inputs that these read. `made`: for a chain, how many outputs of each link
 * the tile computes (for the last link its own, for the others those that the next link reads). */
struct span {
    int64_t *outputs, count;
    int64_t *inputs;
    int64_t input_count;
    int64_t *made;
};
struct axis {
    struct span *spans;
    int64_t count;
    struct op_reach *reach; /* by link */
};

ORDER(ascending, int64_t, (*x > *y) - (*x < *y))

/* The distinct inputs that these outputs read through one op; malloc'd. */
static int64_t *read_by(const struct op_reach *reach, const int64_t *outputs, int64_t count, int64_t *read)
{
    int64_t taps = reach->taps, found = 0, kept = 0;
    int64_t *inputs = xcalloc((size_t)(count * taps), sizeof *inputs);
    for (int64_t i = 0; i < count * taps; i++) {
        int64_t at = reach->at[outputs[i / taps] * taps + i % taps];
        if (at >= 0)
            inputs[found++] = at;
    }
    qsort(inputs, (size_t)found, sizeof *inputs, ascending);
    for (int64_t i = 0; i < found; i++)
        if (!kept || inputs[i] != inputs[kept - 1])
            inputs[kept++] = inputs[i];
    *read = kept;
    return inputs;
}

static int links_of(const struct work *w)
{
    return w->chain ? w->chain->count : 1;
}
static const struct work *link_of(const struct work *w, int i)
{
    return w->chain ? &w->chain->links[i].work : w;
}

static struct axis new_axis(const struct work *w, enum axis_of along)
{
    struct axis a = {.reach = xcalloc((size_t)links_of(w), sizeof *a.reach)};
    for (int i = 0; i < links_of(w); i++)
        a.reach[i] = op_reach(link_of(w, i), along);
    return a;
}

static void gather_inputs(const struct work *w, const struct op_reach *reach, struct span *s)
{
    const int64_t *outputs = s->outputs;
    int64_t count = s->count;
    s->made = xcalloc((size_t)links_of(w), sizeof *s->made);
    for (int i = links_of(w) - 1; i >= 0; i--) {
        SCOPED int64_t *before = s->inputs;
        s->made[i] = count;
        s->inputs = read_by(&reach[i], outputs, count, &s->input_count);
        outputs = s->inputs;
        count = s->input_count;
    }
}

static struct span *add_span(struct axis *a, int64_t outputs)
{
    struct span *s = APPEND(a->spans, a->count);
    *s = (struct span){.outputs = xcalloc((size_t)outputs, sizeof *s->outputs)};
    return s;
}

/* Cuts an image, or `planes` planes together from `plane` on, into tiles of `tile` outputs that lie `every` apart. */
static void cut_planes(const struct work *w, int64_t outputs, int64_t tile, int64_t every, int64_t plane, int64_t planes, struct axis *a)
{
    for (int64_t phase = 0; phase < every && phase < outputs; phase++) {
        int64_t here = (outputs - phase + every - 1) / every;
        for (int64_t i = 0; i < here; i += tile) {
            int64_t count = here - i < tile ? here - i : tile;
            struct span *s = add_span(a, planes * count);
            for (; s->count < planes * count; s->count++)
                s->outputs[s->count] = (plane + s->count / count) * outputs + phase + (i + s->count % count) * every;
            gather_inputs(w, a->reach, s);
        }
    }
}

static struct axis cut_rows(const struct work *w, const struct tile *tile)
{
    struct axis a = new_axis(w, AXIS_ROWS);
    if (!w->op->volume)
        cut_planes(w, w->p, tile->h, tile->every, 0, 1, &a);
    for (int64_t o = 0; w->op->volume && o < w->o; o += tile->d)
        cut_planes(w, w->plane_out, tile->h, 1, o, w->o - o < tile->d ? w->o - o : tile->d, &a);
    return a;
}

static struct axis cut_columns(const struct work *w, const struct tile *tile)
{
    struct axis a = new_axis(w, AXIS_COLUMNS);
    cut_planes(w, w->q, tile->w, tile->every, 0, 1, &a);
    return a;
}

static void free_axis(const struct work *w, struct axis *a)
{
    for (int i = 0; i < links_of(w); i++)
        op_reach_free(&a->reach[i]);
    free(a->reach);
    for (int64_t i = 0; i < a->count; i++)
        free(a->spans[i].inputs), free(a->spans[i].outputs), free(a->spans[i].made);
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

static bool any_active(const float *active, int64_t width, const struct span *rows, const struct span *columns)
{
    for (int64_t p = 0; p < rows->count; p++)
        for (int64_t q = 0; q < columns->count; q++)
            if (active[rows->outputs[p] * width + columns->outputs[q]] != 0)
                return true;
    return false;
}

static void count_image(const struct work *w, const float *in, const float *active, const struct axis *down, const struct axis *across,
                        struct tile_stats *out)
{
    double per_output[CHAIN_MAX_LINKS];
    for (int i = 0; i < links_of(w); i++) {
        const struct work *l = link_of(w, i);
        per_output[i] = work_flop(l) / (double)(l->n * l->p * l->q);
    }
    for (int64_t i = 0; i < down->count; i++)
        for (int64_t k = 0; k < across->count; k++) {
            const struct span *rows = &down->spans[i], *columns = &across->spans[k];
            out->tiles++;
            if (any_active(active, w->q, rows, columns)) {
                out->active++;
                for (int l = 0; l < links_of(w); l++)
                    out->flop += per_output[l] * (double)(rows->made[l] * columns->made[l]);
            }
            out->bins[bin_of(marked_inputs(in, w->w, rows, columns))]++;
        }
}

void tile_stats(const struct work *w, const float *in, const float *active, const struct tile *tile, struct tile_stats *out)
{
    *out = (struct tile_stats){0};
    struct axis down = cut_rows(w, tile), across = cut_columns(w, tile);
    for (int64_t n = 0; n < w->n; n++)
        count_image(w, in + n * w->h * w->w, active + n * w->p * w->q, &down, &across, out);
    free_axis(w, &down);
    free_axis(w, &across);
}

void tiles_mark(const struct work *w, const float *active, const struct tile *tile, unsigned char *marks)
{
    struct axis down = cut_rows(w, tile), across = cut_columns(w, tile);
    int64_t tiles = down.count * across.count;
    for (int64_t i = 0; i < w->n * tiles; i++) {
        const struct span *rows = &down.spans[i % tiles / across.count], *columns = &across.spans[i % across.count];
        int64_t image = i / tiles * w->p * w->q;
        bool near = any_active(active + image, w->q, rows, columns);
        for (int64_t k = 0; near && k < rows->count * columns->count; k++)
            marks[image + rows->outputs[k / columns->count] * w->q + columns->outputs[k % columns->count]] = 1;
    }
    free_axis(w, &down);
    free_axis(w, &across);
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

bool tile_stats_draw(const struct work *w, const struct tile *tile, struct tile_stats *stats, struct error *err)
{
    SCOPED float *in = xmalloc((size_t)(w->n * w->h * w->w) * sizeof *in), *out = xmalloc((size_t)(w->n * w->p * w->q) * sizeof *out);
    bool made = w->mask.pattern == MASK_NONE || mask_both(w, in, out, err);
    if (made)
        tile_stats(w, w->mask.pattern == MASK_NONE ? NULL : in, w->mask.pattern == MASK_NONE ? NULL : out, tile, stats);
    return made;
}
