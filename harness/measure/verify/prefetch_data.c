/* Makes the data and references of cases while compilers work and the device is idle, which takes half of a run's data time off the
 * critical path. It never runs while anything is timed, ceilings included. The data occupy part of the device's memory until data_get
 * takes them. An error here recurs there. */
#include "measure/verify/prefetch_data.h"
#include <stdlib.h>

struct early_case {
    int row; /* the first that is due */
    double flop, bytes;
};

/* Orders cases: the next case first, then by computation per byte of memory, largest first. */
static int by_worth(const void *a, const void *b)
{
    const struct early_case *x = a, *y = b;
    double left = x->flop * y->bytes, right = y->flop * x->bytes;
    return left != right ? (left < right ? 1 : -1) : x->row - y->row;
}

struct prefetch_budget {
    struct data_store *d;
    double left; /* bytes of the device's memory */
};

/* Makes one part of the data. False: stop. */
static bool make(struct prefetch_budget *b, int row, enum data_part part, int set, double bytes)
{
    struct data_store *d = b->d;
    int in_case = d->job->plan.rows[row].case_index, slot = data_slot(part);
    struct op_data data;
    struct error ignored = {0};
    if (data_has_early(d, in_case, set, slot) || d->data_case[set][slot] == in_case)
        return true;
    if (bytes > b->left || job_is_interrupted(d->job) || !data_make(d, in_case, part, set, &data, &ignored))
        return false;
    b->left -= bytes;
    data_put_early(d, in_case, set, slot, &data);
    return true;
}

/* The order in which the rows will need them: verification first, then timing. */
static void make_case(struct prefetch_budget *b, const struct early_case *c)
{
    const struct job *job = b->d->job;
    int in_case = job->plan.rows[c->row].case_index;
    bool more = make(b, c->row, DATA_PART_EXACT, 0, c->bytes) && make(b, c->row, DATA_PART_PRECISION, 0, c->bytes);
    for (int set = 0, sets = data_sets(b->d, c->row); more && set < sets; set++)
        for (int row = c->row; more && row < job->plan.row_count && job->plan.rows[row].case_index == in_case; row++)
            more = make(b, row, job_timed_part(job, row), set, c->bytes);
}

void prefetch_data(struct data_store *d, const int *rows, int row_count)
{
    const struct job *job = d->job;
    struct early_case *cases = NULL;
    int count = 0;
    if (!row_count || !job->dev->ops->spare || !data_card(d))
        return;
    struct prefetch_budget budget = {d, data_room_ahead(d)};
    d->keeps = true;
    for (int i = 0; i < row_count; i++) {
        int row = rows[i];
        const struct work *work = &job->plan.cases[job->plan.rows[row].case_index].work;
        bool masked_net = work->chain && work->mask.pattern != MASK_NONE; /* the data that its rows are timed on depend on the choice of
                                                                             rows, made later */
        if (job->plan.rows[row].kind != PLAN_SEQUENCE && card_makes(work) && !masked_net)
            *APPEND(cases, count) = (struct early_case){row, work_flop(work), work_memory(work).part};
    }
    if (count > 1)
        qsort(cases + 1, (size_t)count - 1, sizeof *cases, by_worth);
    for (int k = 0; k < count && !job_is_interrupted(job); k++)
        make_case(&budget, &cases[k]);
    free(cases);
}
