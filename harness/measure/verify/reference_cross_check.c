/* An op's reference kernel runs on the GPU whose kernels it judges, so a fault of that GPU, its driver or its compiler could affect
 * both. Therefore emu also runs some of its blocks, from the same PTX and inputs. */
#include "base/clock.h"
#include "base/pool.h"
#include "base/text.h"
#include "measure/verify/reference_private.h"
#include "op/reference/generate.h"
#include <math.h>
#include <string.h>

#define WITNESS_BLOCKS 32 /* of 128 threads: 4096 outputs if a thread computes one */
#define WITNESS_S 0.1     /* after this time no more blocks are started */
#define STREAM 0x317ae55

static bool drawn(const uint64_t *only, int count, uint64_t block)
{
    return ANY_OF(i, count, only[i] == block);
}

/* Picks all blocks of a small grid; otherwise the first, the last and random others, each once, because running a block twice would be a
 * race on its own results. */
static int draw_blocks(const struct work *work, uint64_t blocks, uint64_t *only)
{
    int count = 0;
    for (; blocks <= WITNESS_BLOCKS && (uint64_t)count < blocks; count++)
        only[count] = (uint64_t)count;
    for (uint64_t draw = 0; count < WITNESS_BLOCKS && blocks > WITNESS_BLOCKS; draw++) {
        uint64_t block = draw == 0 ? 0 : draw == 1 ? blocks - 1 : random_bits(work->seed, STREAM, draw) % blocks;
        if (!drawn(only, count, block))
            only[count++] = block;
    }
    return count;
}

static bool run_blocks(struct reference_run *here, struct error *err)
{
    double began = clock_s();
    uint64_t blocks = reference_run_blocks(here, err), only[WITNESS_BLOCKS];
    int count = draw_blocks(here->work, blocks, only), threads = pool_threads();
    for (int i = 0; i < count && (!i || clock_s() - began < WITNESS_S); i += threads)
        if (!reference_run_launch(here, only + i, i + threads < count ? threads : count - i, err))
            return false;
    return count > 0;
}

#define HELD_AT_ONCE 65536
/* Elements of a result side by side: emu's value, the GPU's, and the GPU's magnitude that errors are relative to. */
struct held {
    double here[HELD_AT_ONCE], there[HELD_AT_ONCE], scale[HELD_AT_ONCE];
};

/* Compares elements; those that the blocks did not write are NaN. The GPU may fuse operations in double that emu does not: `scale` is
 * the magnitude of the summed terms, else the largest of the adjacent elements. */
static bool hold_some(const struct held *h, size_t count, bool scaled, const char *name, size_t first, size_t *compared, struct error *err)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fabs(h->there[i]) > most ? fabs(h->there[i]) : most;
    for (size_t i = 0; i < count; i++) {
        double here = h->here[i], there = h->there[i];
        if (isnan(here))
            continue;
        ++*compared;
        double slack = 0x1p-30 * fmax(fabs(here), scaled ? fabs(h->scale[i]) : most);
        if (here != there && !(fabs(here - there) <= slack))
            return error_set(err, ERROR_INTERNAL, "element %zu of %s is %.17g on the device, but %.17g when emu runs the same code",
                             first + i, name, there, here);
    }
    return true;
}

static bool any_written(const uint8_t *known, size_t count)
{
    uint64_t any = 0, eight;
    for (size_t i = 0; i + 8 <= count; i += 8) {
        memcpy(&eight, known + i, 8);
        any |= eight;
    }
    for (size_t i = count / 8 * 8; i < count; i++)
        any |= known[i];
    return any;
}

/* Keeps the elements that the blocks wrote and sets the rest to NaN. False: they wrote none. */
static bool take_written(const uint8_t *known, double *values, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        values[i] = !known || known[i] == 0xff ? values[i] : NAN;
        any |= !isnan(values[i]);
    }
    return any;
}

/* Compares a result, or its magnitudes: reads only the elements that the blocks wrote. */
static bool hold(const struct reference_run *here, uint64_t here_at, const struct reference_run *there, uint64_t there_at,
                 uint64_t scale_at, const struct tensor *t, struct held *h, size_t *compared, struct error *err)
{
    size_t elements = tensor_elements(t);
    const uint8_t *known = reference_run_known(here, here_at);
    for (size_t first = 0; first < elements; first += HELD_AT_ONCE) {
        size_t count = elements - first < HELD_AT_ONCE ? elements - first : HELD_AT_ONCE, bytes = count * sizeof *h->here,
               from = first * sizeof *h->here;
        if (known && !any_written(known + first, count))
            continue;
        if (!here->dev->ops->read(here->dev, here_at + from, h->here, bytes, err))
            return false;
        if (!take_written(known ? known + first : NULL, h->here, count))
            continue;
        if (!there->dev->ops->read(there->dev, there_at + from, h->there, bytes, err) ||
            (scale_at && !there->dev->ops->read(there->dev, scale_at + from, h->scale, bytes, err)) ||
            !hold_some(h, count, scale_at != 0, t->role->name, first, compared, err))
            return false;
    }
    return true;
}

bool reference_cross_check(const struct reference_run *there, const struct compiled *code, struct reference_run *here, struct error *err)
{
    *here = (struct reference_run){.dev = there->dev->witness,
                                   .work = there->work,
                                   .data = there->data,
                                   .file = there->file,
                                   .known = true,
                                   .like = there->lent ? there : NULL};
    return (reference_run_open(here, code, err) && run_blocks(here, err)) || error_where(err, "on emu");
}

bool reference_cross_compare(const struct reference_run *there, const struct reference_run *here, struct error *err)
{
    SCOPED struct held *h = xmalloc(sizeof *h);
    size_t compared = 0;
    bool ok = true;
    for (int i = 0; ok && i < here->count; i++) {
        const struct tensor *t = &here->tensors[i];
        int slot = t->role->slot;
        uint64_t sizes = there->extra[slot];
        ok = !t->written || (hold(here, here->at[slot], there, there->at[slot], here->bounds[slot] ? 0 : sizes, t, h, &compared, err) &&
                             (!here->extra[slot] || hold(here, here->extra[slot], there, sizes, sizes, t, h, &compared, err)));
    }
    if (ok && !compared)
        return error_set(err, ERROR_INTERNAL, "the blocks of the reference that emu ran wrote nothing");
    return ok || error_where(err, "compared with emu");
}
