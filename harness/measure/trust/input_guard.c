#include "measure/trust/input_guard.h"

bool guard_case(struct data_store *d, int in_case, bool *touched, struct error *err)
{
    for (int set = 0; set < DATA_SETS; set++)
        for (int slot = 0; slot < DATA_SLOTS; slot++) {
            bool sound = true;
            if (d->data_case[set][slot] == in_case && !data_is_sound(&d->data[set][slot], &sound, err))
                return false;
            if (!sound)
                data_drop(d, set, slot);
            *touched |= !sound;
        }
    return true;
}

bool guard_data(struct op_data *data, bool *touched, struct error *err)
{
    bool sound;
    if (!data_is_sound(data, &sound, err))
        return false;
    if (!sound) {
        card_data_free(data->card);
        data->card = NULL;
    }
    *touched |= !sound;
    return true;
}

void guard_blame(struct row *row)
{
    row->status = ROW_UNSAFE;
    row_set(&row->reason, "wrote outside its buffers, into the inputs of all rows of the case");
}
