/* Memory of bench's own on the device: the values that all rows of a case are fed. No row has a pointer to them, and yet a wild write may
 * meet them: then every row behind it would be wrong. */
#include "run/child/private.h"
#include "op/reference/data.h"

static bool is_sound(const struct op_data *data, bool *sound, struct error *err)
{
    *sound = true;
    return !data->card || card_untouched(data->card, sound, err);
}

bool worker_own_take(struct worker *w, int in_case, int set, int slot, struct op_data *data)
{
    struct error ignored = {0}; /* of a device that is lost: it is met again when they are made */
    bool sound;
    if (!worker_early_take(w, in_case, set, slot, data))
        return false;
    if (is_sound(data, &sound, &ignored) && sound)
        return true;
    card_data_free(data->card);
    op_data_free(data);
    return false;
}

bool worker_own_share(struct worker *w, int in_case, int set, int slot)
{
    struct error ignored = {0};
    bool sound;
    if (!worker_data_shared(w, w->data_case[set][slot], in_case, slot) || !is_sound(&w->data[set][slot], &sound, &ignored) || !sound)
        return false;
    w->data_case[set][slot] = in_case;
    return true;
}

/* They are brought anew for who comes next. */
static bool look_at_neighbour(struct op_data *data, bool *touched, struct error *err)
{
    bool sound;
    if (!is_sound(data, &sound, err))
        return false;
    if (!sound) {
        card_data_free(data->card);
        data->card = NULL;
    }
    *touched |= !sound;
    return true;
}

static void blame(struct row *row)
{
    row->status = ROW_UNSAFE;
    row_set(&row->reason, "wrote far from its buffers: to the values that all rows of the case are fed");
}

bool worker_own_look(struct worker *w, int index, struct row *row, struct error *err)
{
    bool touched = false;
    int in_case = w->plan.rows[index].case_index;
    for (int set = 0; set < ROOM_SETS; set++)
        for (int slot = 0; slot < WORKER_DATA; slot++) {
            bool sound = true;
            if (w->data_case[set][slot] == in_case && !is_sound(&w->data[set][slot], &sound, err))
                return false;
            if (!sound)
                worker_data_drop(w, set, slot); /* made anew for the next row */
            touched |= !sound;
        }
    for (int i = 0; i < w->neighbours.count; i++) /* of whichever neighbour: the row that is run on it next has not done it */
        if (!look_at_neighbour(&w->neighbours.items[i].data, &touched, err))
            return false;
    if (touched)
        blame(row);
    return true;
}

bool worker_own_look_there(struct op_data *data, struct row *row, struct error *err)
{
    bool touched = false;
    if (!look_at_neighbour(data, &touched, err))
        return false;
    if (touched)
        blame(row);
    return true;
}
