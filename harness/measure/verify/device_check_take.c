/* Uploads data and references that the CPU made to the device of the outputs: small works on which many rows are judged. */
#include "measure/verify/device_check_private.h"
#include "op/shape.h"

static bool values_up(struct card_data *d, const struct work *work, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    size_t outputs = (size_t)(work->n * work->p * work->q);
    bool ok = true;
    for (int i = 0, count = work->op->tensors(work, list); ok && i < count; i++) {
        const float *value = d->host->at[list[i].role->slot].value;
        struct card_values *to = &d->at[list[i].role->slot];
        size_t bytes = tensor_elements(&list[i]) * sizeof *value;
        ok = !value || card_upload(d, list[i].role->name, value, bytes, &to->value, err);
        to->bytes = to->value ? bytes : 0;
    }
    ok = ok && (!d->host->mask_out || card_upload(d, "mask of outputs", d->host->mask_out, outputs * sizeof(float), &d->mask_out, err));
    d->mask_out_bytes = d->mask_out ? outputs * sizeof(float) : 0;
    return ok;
}

bool card_data_take(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err)
{
    if (card_is_wide(work))
        return true;
    struct card_data *d = xcalloc(1, sizeof *d);
    *d = (struct card_data){.card = card, .host = host, .part = part};
    if (values_up(d, work, err) && card_references_up(d, work, err) && card_seal(d, err) && card_leave(card, err)) {
        host->card = d;
        return true;
    }
    card_data_free(d);
    return false;
}
