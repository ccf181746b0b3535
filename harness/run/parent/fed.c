/* The process of one GPU of several: takes cases from its parent and says what it found. */
#include "base/text.h"
#include "run/message/wire.h"
#include "run/parent/parent.h"
#include <stdlib.h>
#include <string.h>

/* Makes the rows of a case, as session_rows makes those of a whole plan. */
static void make_rows(struct session *s, int first, int last)
{
    for (int i = first; i < last; i++) {
        row_free(s->rows[i]);
        s->rows[i] = plan_row_new(&s->plan, i, s->device.spec);
        session_row_key(s, i, s->device.uuid, s->rows[i]->key);
        session_place(s, s->rows[i]);
        if (s->plan.rows[i].kind != PLAN_SEQUENCE)
            session_row_roof(s, i);
        s->kept[i] = s->elsewhere[i] = false;
    }
}

/* Rows of the case that are done, and those of its network's layers, which other GPUs may have run. */
static void take_rows(struct session *s, const json_t *rows)
{
    size_t k;
    json_t *one;
    json_array_foreach(rows, k, one)
    {
        int i = (int)json_integer_value(json_array_get(one, 0));
        row_free(s->rows[i]);
        s->rows[i] = wire_row_read(json_array_get(one, 1));
        s->kept[i] = true;
    }
}

int session_take_case(struct session *s, int *first, int *last, struct error *err)
{
    json_t *rows = NULL;
    int index = s->options->feed->next(s->options->feed->context, &rows);
    if (index < 0)
        return index;
    for (*first = 0; *first < s->plan.row_count && s->plan.rows[*first].case_index != index; (*first)++)
        continue;
    for (*last = *first; *last < s->plan.row_count && s->plan.rows[*last].case_index == index; (*last)++)
        continue;
    make_rows(s, *first, *last);
    take_rows(s, rows);
    json_decref(rows);
    for (int i = *first; i < *last; i++) /* infeasible or broken: known without a run */
        if (!s->kept[i] && s->rows[i]->status != ROW_PLANNED && !session_put(s, i, i + 1, err))
            return FEED_END;
    return index;
}
