#include "op/chain/slices.h"
#include <string.h>

#define SLICE_GRAIN 16 /* bytes: for TMA, for vectors that threads load, and for the addresses that cuDNN gets */

/* In NCHW the channels of several images do not lie together. */
static bool is_concat(const struct work *w)
{
    return !strcmp(w->op->name, "concat") && w->mask.pattern == MASK_NONE &&
           (w->layout == LAYOUT_NHWC || (w->layout == LAYOUT_NCHW && w->n == 1));
}

static int part_link(const struct chain_link *l, int part)
{
    return part ? l->residual : l->input;
}

/* The first element of a part in the root, where the concat's own output begins at `first`. */
static int64_t part_first(const struct chain_link *l, int64_t first, int part)
{
    return first + (part ? chain_part_begin(l) : 0);
}

int64_t chain_part_begin(const struct chain_link *l)
{
    return l->work.c * (l->work.layout == LAYOUT_NHWC ? 1 : l->work.h * l->work.w);
}

void chain_slices(const struct chain *chain, const bool *alone, struct chain_slice *out)
{
    for (int i = 0; i < chain->count; i++)
        out[i] = (struct chain_slice){.root = i};
    for (int i = chain->count - 2; i >= 0; i--) { /* a concat of a concat first: both have one root */
        const struct chain_link *l = &chain->links[i];
        int64_t pitch = l->work.layout != LAYOUT_NHWC ? 0 : out[i].pitch ? out[i].pitch : l->work.k;
        int64_t size = (int64_t)dtype_bytes(l->work.dtype);
        for (int part = 0; is_concat(&l->work) && part < 2; part++) {
            int from = part_link(l, part);
            int64_t first = part_first(l, out[i].first, part);
            if (from >= 0 && !(alone && alone[from]) && !out[from].placed && first * size % SLICE_GRAIN == 0 &&
                pitch * size % SLICE_GRAIN == 0)
                out[from] = (struct chain_slice){.placed = true, .root = out[i].root, .first = first, .pitch = pitch};
        }
    }
}

bool chain_part_apart(const struct chain *chain, const struct chain_slice *slices, int link, int part)
{
    const struct chain_link *l = &chain->links[link];
    int from = part_link(l, part);
    return from < 0 || !slices[from].placed || slices[from].root != slices[link].root ||
           slices[from].first != part_first(l, slices[link].first, part);
}

bool chain_joined(const struct chain *chain, const struct chain_slice *slices, int link)
{
    return is_concat(&chain->links[link].work) &&
           (slices[link].placed || !chain_part_apart(chain, slices, link, 0) || !chain_part_apart(chain, slices, link, 1));
}

static int64_t pitch_of(const struct chain_slice *slices, int link)
{
    return link >= 0 ? slices[link].pitch : 0;
}

bool chain_part_copy(const struct chain *chain, const struct chain_slice *slices, int link, int part, struct work *out, struct error *err)
{
    const struct chain_link *l = &chain->links[link];
    struct tensor from;
    if (!work_tensor(&l->work, part ? "second" : "input", &from))
        return error_set(err, ERROR_INTERNAL, "chain: link %d has no part %d", link, part);
    *out = (struct work){.op = out->op, .data = l->work.data, .seed = l->work.seed};
    work_reads(out, &from);
    out->epilogue[out->epilogue_count++] = (struct epilogue){.kind = EPILOGUE_LEAKY_RELU, .alpha = 1}; /* as it is */
    out->pitch.input = pitch_of(slices, part_link(l, part));
    out->pitch.output = slices[link].pitch || from.layout != LAYOUT_NHWC ? slices[link].pitch : l->work.k;
    return work_finish(out, err);
}

struct pitches chain_slice_pitches(const struct chain *chain, const struct chain_slice *slices, int link)
{
    const struct chain_link *l = &chain->links[link];
    return (struct pitches){pitch_of(slices, l->input), pitch_of(slices, l->residual), slices[link].pitch};
}

struct work chain_slice_work(const struct chain *chain, const struct chain_slice *slices, int link)
{
    struct work w = chain->links[link].work;
    w.pitch = chain_slice_pitches(chain, slices, link);
    return w;
}
