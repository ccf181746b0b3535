/* The reference kernel of a file's op runs on the GPU whose kernels it judges: a fault of that GPU, its driver or its compiler could be in
 * both. Some of its blocks are interpreted too, from the same PTX and inputs. */
#include "base/clock.h"
#include "base/pool.h"
#include "base/text.h"
#include "measure/reference_private.h"
#include "op/generate.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define WITNESS_BLOCKS 32 /* of 128 threads: 4096 outputs where a thread makes one */
#define WITNESS_S 0.5     /* after which no more are begun */
#define STREAM 0x317ae55

/* The first one, the last one, and others anywhere. */
static uint64_t block_of(const struct work *work, uint64_t blocks, int i)
{
    return i == 0 ? 0 : i == 1 ? blocks - 1 : generate_bits(work->seed, STREAM, (uint64_t)i) % blocks;
}

static bool run_blocks(struct reference_run *here, struct error *err)
{
    double began = clock_s();
    uint64_t blocks = reference_run_blocks(here, err), only[WITNESS_BLOCKS];
    int count = blocks < WITNESS_BLOCKS ? (int)blocks : WITNESS_BLOCKS, threads = pool_threads();
    for (int i = 0; i < count; i++)
        only[i] = count < WITNESS_BLOCKS ? (uint64_t)i : block_of(here->work, blocks, i);
    for (int i = 0; i < count && (!i || clock_s() - began < WITNESS_S); i += threads)
        if (!reference_run_launch(here, only + i, i + threads < count ? threads : count - i, err))
            return false;
    return count > 0;
}

static double largest(const double *values, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fabs(values[i]) > most ? fabs(values[i]) : most;
    return most;
}

#define HELD_AT_ONCE 65536
struct holding {
    size_t count;
    const double *here, *there, *scale;
    double most;
    atomic_size_t compared, wrong; /* wrong: the first element that is; count: none */
};

/* What the blocks did not write is NaN. Double arithmetic may be fused here and not there: `scale` is of what is added up. */
static void hold_some(void *context, int64_t chunk, int thread)
{
    struct holding *h = context;
    size_t first = (size_t)chunk * HELD_AT_ONCE, past = first + HELD_AT_ONCE < h->count ? first + HELD_AT_ONCE : h->count, compared = 0;
    (void)thread;
    for (size_t i = first; i < past; i++) {
        double here = h->here[i], there = h->there[i];
        if (isnan(here))
            continue;
        compared++;
        double slack = 0x1p-30 * fmax(fabs(here), h->scale ? fabs(h->scale[i]) : h->most);
        if (here == there || fabs(here - there) <= slack)
            continue;
        for (size_t was = atomic_load(&h->wrong); i < was && !atomic_compare_exchange_weak(&h->wrong, &was, i);)
            continue;
        break;
    }
    atomic_fetch_add(&h->compared, compared);
}

static bool hold(const struct tensor *t, const double *here, const double *there, const double *scale, size_t *compared, struct error *err)
{
    size_t count = tensor_elements(t);
    struct holding h = {
        .count = count, .here = here, .there = there, .scale = scale, .most = scale ? 0 : largest(there, count), .wrong = count};
    pool_for((int64_t)((count + HELD_AT_ONCE - 1) / HELD_AT_ONCE), pool_threads(), hold_some, &h);
    *compared += atomic_load(&h.compared);
    size_t i = atomic_load(&h.wrong);
    return i == count ||
           error_set(err, ERROR_INTERNAL, "element %zu of %s is %.17g on the device, and %.17g where emu interprets the same code", i,
                     t->role->name, there[i], here[i]);
}

bool reference_witness(const struct reference_run *there, const struct compiled *code, double *const magnitudes[OP_MAX_TENSORS],
                       struct error *err)
{
    struct reference_run here = {.dev = there->dev->witness, .work = there->work, .data = there->data, .file = there->file};
    size_t compared = 0;
    bool ok = reference_run_open(&here, code, err) && run_blocks(&here, err);
    for (int i = 0; ok && i < here.count; i++) {
        const struct tensor *t = &here.tensors[i];
        int slot = t->role->slot;
        if (!t->written)
            continue;
        size_t bytes = tensor_elements(t) * sizeof(double);
        double *own = xmalloc(bytes);
        ok = here.dev->ops->read(here.dev, here.at[slot], own, bytes, err) &&
             hold(t, own, there->data->at[slot].reference, here.bounds ? NULL : magnitudes[slot], &compared, err) &&
             (!here.extra[slot] || (here.dev->ops->read(here.dev, here.extra[slot], own, bytes, err) &&
                                    hold(t, own, magnitudes[slot], magnitudes[slot], &compared, err)));
        free(own);
    }
    reference_run_close(&here);
    if (ok && !compared)
        return error_set(err, ERROR_INTERNAL, "the blocks of the reference that emu interpreted wrote nothing");
    return ok || error_where(err, "held to emu");
}
