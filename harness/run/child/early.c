/* Data of cases with their references, made while compilers work and the device has nothing to do: half of what a run spends on data.
 * Never while something is timed, the ceilings included. They wait in the device's memory, of which they take a part, and are taken where
 * they would else be made (worker_data_set); what went wrong is met there again. */
#include "op/chain/chain.h"
#include "op/reference/data.h"
#include "run/child/private.h"
#include <stdlib.h>

#define SHARE 3           /* one part of so many of the memory that is free */
#define OF_INPUT 4.0      /* bytes an element there: floats; */
#define OF_REFERENCE 12.0 /* doubles, and bounds beside them */

struct early_case {
    int row; /* the first that is due */
    double flop, bytes;
};

/* What one part of its data takes. */
static double part_bytes(const struct work *work)
{
    struct tensor list[OP_MAX_TENSORS];
    double bytes = 0;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++)
        bytes += (double)tensor_elements(&list[i]) * (list[i].written ? OF_REFERENCE : OF_INPUT);
    return bytes;
}

/* The next case comes first, then who has most to compute for the memory that it takes. */
static int by_worth(const void *a, const void *b)
{
    const struct early_case *x = a, *y = b;
    double left = x->flop * y->bytes, right = y->flop * x->bytes;
    return left != right ? (left < right ? 1 : -1) : x->row - y->row;
}

/* Or of another case that has the same. */
static bool is_of(const struct worker *w, const struct early *e, int in_case, int set, int slot)
{
    return e->set == set && e->slot == slot && (e->in_case == in_case || worker_data_shared(w, e->in_case, in_case, slot));
}

bool worker_early_has(const struct worker *w, int in_case, int set, int slot)
{
    bool has = false;
    for (int i = 0; i < w->early_count && !has; i++)
        has = is_of(w, &w->early[i], in_case, set, slot);
    return has;
}

/* False: no more of it. */
static bool make(struct worker *w, int row, enum data_part part, int set, double bytes)
{
    int in_case = w->plan.rows[row].case_index, slot = worker_slot(part);
    struct op_data data;
    struct error ignored = {0};
    if (worker_early_has(w, in_case, set, slot))
        return true;
    if (bytes > w->early_left || (w->waiting && w->waiting()) || !worker_data_make(w, in_case, part, set, &data, &ignored))
        return false;
    w->early_left -= bytes;
    struct early *made = APPEND(w->early, w->early_count);
    *made = (struct early){in_case, set, slot, data};
    return true;
}

/* As its rows will ask for them, one after another (run/child/verify.c, run/child/time.c). */
static void make_case(struct worker *w, const struct early_case *c)
{
    int in_case = w->plan.rows[c->row].case_index;
    bool more = make(w, c->row, DATA_PART_EXACT, 0, c->bytes) && make(w, c->row, DATA_PART_PRECISION, 0, c->bytes);
    for (int set = 0; more && set < ROOM_SETS; set++)
        for (int row = c->row; more && row < w->plan.row_count && w->plan.rows[row].case_index == in_case; row++)
            more = make(w, row, worker_timed_part(w, row), set, c->bytes);
}

void worker_early(struct worker *w, const json_t *rows)
{
    size_t i;
    const json_t *one;
    struct early_case *cases = NULL;
    int count = 0;
    if (!json_array_size(rows) || !w->dev->ops->spare || !worker_card(w))
        return;
    w->early_left = (double)w->dev->ops->spare(w->dev) / SHARE;
    json_array_foreach(rows, i, one)
    {
        int row = (int)json_integer_value(one);
        const struct work *work = &w->plan.cases[w->plan.rows[row].case_index].work;
        bool masked_net = work->chain && work->mask.pattern != MASK_NONE; /* what its rows are timed on is known when they are chosen */
        if (w->plan.rows[row].kind != PLAN_SEQUENCE && card_makes(work) && !masked_net)
            *APPEND(cases, count) = (struct early_case){row, work_flop(work), part_bytes(work)};
    }
    if (count > 1)
        qsort(cases + 1, (size_t)count - 1, sizeof *cases, by_worth);
    for (int k = 0; k < count && !(w->waiting && w->waiting()); k++)
        make_case(w, &cases[k]);
    free(cases);
}

static void give_back(struct worker *w, int i)
{
    card_data_free(w->early[i].data.card);
    op_data_free(&w->early[i].data);
}

bool worker_early_take(struct worker *w, int in_case, int set, int slot, struct op_data *data)
{
    bool found = false;
    for (int i = w->early_count - 1; i >= 0; i--) {
        struct early *e = &w->early[i];
        bool wanted = !found && is_of(w, e, in_case, set, slot);
        if (wanted) {
            *data = e->data;
            card_data_moved(data->card, data);
            found = true;
        } else if (e->in_case < in_case) { /* its turn is over, and nobody asked for it */
            give_back(w, i);
        }
        if (wanted || e->in_case < in_case)
            *e = w->early[--w->early_count];
    }
    return found;
}

void worker_early_drop(struct worker *w)
{
    for (int i = 0; i < w->early_count; i++)
        give_back(w, i);
    free(w->early);
    w->early = NULL;
    w->early_count = 0;
}
