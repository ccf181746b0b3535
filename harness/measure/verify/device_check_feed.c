/* Feeds rows from the device's values, and sums the bits of buffers. */
#include "measure/verify/device_check_private.h"
#include "op/reference/generate.h"

void card_strides(const struct tensor *t, int64_t dim[4], int64_t stride[4])
{
    tensor_fold(t, dim);
    int64_t step = 1;
    for (int i = 3; i >= 0; i--) { /* finds the position of the next element along each axis */
        stride[i] = dim[i] > 1 ? (int64_t)tensor_index(t, (size_t)step) : 0;
        step *= dim[i];
    }
}

bool card_feed(const struct card_data *d, const struct tensor *t, int hidden, uint64_t address, struct error *err)
{
    uint64_t from = d->at[t->role->slot].value;
    int64_t dim[4], stride[4];
    card_strides(t, dim, stride);
    union card_arg args[] = {card_int((int64_t)from), card_int((int64_t)address), card_int(t->dtype),
                             card_int(dim[0]),        card_int(dim[1]),           card_int(dim[2]),
                             card_int(dim[3]),        card_int(stride[0]),        card_int(stride[1]),
                             card_int(stride[2]),     card_int(stride[3]),        card_int(hidden >= 0 ? (int64_t)d->at[hidden].value : 0)};
    return (from || error_set(err, ERROR_INTERNAL, "no data for tensor %s", t->role->name)) &&
           card_launch(d->card, CARD_PACK, dim[0] * dim[1] * dim[2] * dim[3], args, 12, err);
}

bool card_sum_add(const struct card *card, uint64_t address, size_t bytes, uint64_t sum, struct error *err)
{
    union card_arg args[3] = {card_int((int64_t)address), card_int((int64_t)bytes), card_int((int64_t)sum)};
    return card_launch(card, CARD_SUM, (int64_t)bytes / 8, args, 3, err);
}

bool card_sums(const struct card *card, const struct card_span *spans, int count, uint64_t *sums, struct error *err)
{
    const struct device_ops *ops = card->dev->ops;
    bool ok = true;
    for (int first = 0; ok && first < count; first += CARD_SUMS) {
        int some = count - first < CARD_SUMS ? count - first : CARD_SUMS;
        ok = ops->fill(card->dev, card->counts, 0, (size_t)some * sizeof *sums, err);
        ok = ok &&
             ALL_OF(i, some,
                    card_sum_add(card, spans[first + i].address, spans[first + i].bytes, card->counts + (uint64_t)i * sizeof *sums, err));
        ok = ok && ops->read(card->dev, card->counts, sums + first, (size_t)some * sizeof *sums, err);
    }
    return ok;
}

bool card_sum(const struct card *card, uint64_t address, size_t bytes, uint64_t *sum, struct error *err)
{
    return card_sums(card, &(struct card_span){address, bytes}, 1, sum, err);
}

uint64_t card_sum_of(uint64_t word, size_t words)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i++)
        sum += random_mix(word + i * UINT64_C(0x9e3779b97f4a7c15)); /* draw_bits of kernels/reference/draw.h */
    return sum;
}

bool card_first_change(const struct card_data *d, const struct tensor *t, int hidden, uint64_t address, size_t bytes, size_t *first,
                       struct error *err)
{
    struct device *dev = d->card->dev;
    uint64_t fed = 0, found = bytes, at = d->card->counts;
    bool ok = dev->ops->alloc(dev, "values as they were fed", bytes, &fed, err) && card_feed(d, t, hidden, fed, err) &&
              dev->ops->write(dev, at, &found, sizeof found, err);
    union card_arg args[] = {card_int((int64_t)fed), card_int((int64_t)address), card_int((int64_t)bytes), card_int((int64_t)at)};
    ok = ok && card_launch(d->card, CARD_DIFFER, (int64_t)bytes / 8, args, 4, err) && dev->ops->read(dev, at, &found, sizeof found, err);
    if (fed)
        dev->ops->release(dev, fed);
    *first = (size_t)found;
    return ok;
}
