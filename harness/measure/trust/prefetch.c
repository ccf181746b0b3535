#include "measure/trust/prefetch.h"
#include "op/reference/data.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct prefetch_thread {
    const struct prefetch *of; /* the thread reads the plan and the options only */
    pthread_t thread;
    atomic_bool enough;
    int case_index, *rows, row_count, due; /* due: of the rows, first */
    struct build *builds;                  /* by place in rows */
    struct nearby_shapes neighbours;
    struct degenerate degenerate;
    struct op_data data[DATA_SETS][DATA_SLOTS];
    bool made[DATA_SETS][DATA_SLOTS], early[DATA_SETS][DATA_SLOTS]; /* early: made before the case as a whole, or by the current case */
};

static void make_data(struct prefetch_thread *a, int row, enum data_part part, int set)
{
    int slot = data_slot(part);
    struct work work = data_work(a->of->job, a->case_index, &part, set);
    if (!a->made[set][slot] && !a->early[set][slot] && !atomic_load(&a->enough) && a->of->data->card)
        a->made[set][slot] = card_host_make(&work, part, &a->data[set][slot]);
}

static void make_row(struct prefetch_thread *a, int k)
{
    const struct program *p = plan_program(&a->of->job->plan, a->rows[k]);
    struct error ignored = {0}; /* the same error recurs and is reported when the row itself is prepared */
    if (build_make(a->of->job, p, &a->builds[k], &ignored))
        build_scan(&a->builds[k]);
    if (k < a->due)
        nearby_draw(&a->neighbours, a->rows[k], &a->enough);
}

static void *make_ahead(void *context)
{
    struct prefetch_thread *a = context;
    struct error ignored = {0};
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}); /* also for the threads that it starts */
    const struct work *work = plan_verified_work(&a->of->job->plan, a->case_index);
    a->degenerate.is_known = a->due && !work->op->file && op_degenerate(work, &a->degenerate.why, &ignored);
    if (a->due) {
        make_data(a, a->rows[0], DATA_PART_EXACT, 0);
        make_data(a, a->rows[0], DATA_PART_PRECISION, 0);
    }
    for (int k = 0; k < a->row_count && !atomic_load(&a->enough); k++)
        make_row(a, k);
    for (int set = 0; set < DATA_SETS; set++)
        for (int k = 0; k < a->row_count; k++)
            make_data(a, a->rows[k], job_timed_part(a->of->job, a->rows[k]), set);
    return NULL;
}

void prefetch_begin(struct prefetch *p, const int *rows, int count, int due)
{
    const struct job *job = p->job;
    prefetch_end(p);
    struct prefetch_thread *a = xcalloc(1, sizeof *a);
    a->of = p;
    a->case_index = -1;
    nearby_open(&a->neighbours, p->job, p->data, p->neighbours->library);
    for (int i = 0; i < count; i++) {
        int row = rows[i];
        if (row < 0 || row >= job->plan.row_count || job->plan.rows[row].kind != PLAN_LAYER)
            continue;
        a->case_index = job->plan.rows[row].case_index;
        *APPEND(a->rows, a->row_count) = row;
        a->due += i < due;
    }
    for (int k = 0; k < DATA_SETS * DATA_SLOTS; k++) {
        int set = k / DATA_SLOTS, slot = k % DATA_SLOTS;
        a->early[set][slot] =
            data_has_early(p->data, a->case_index, set, slot) || data_is_shared(job, p->data->data_case[set][slot], a->case_index, slot);
    }
    a->builds = xcalloc((size_t)a->row_count + 1, sizeof *a->builds);
    if (a->row_count && !pthread_create(&a->thread, NULL, make_ahead, a)) {
        p->thread = a;
        return;
    }
    FREE_ALL(a->builds, a->rows, a);
}

/* Moves the results to where their users look first. */
static void take_over(struct prefetch *p, struct prefetch_thread *a)
{
    for (int k = 0; k < a->row_count; k++)
        if (a->builds[k].count)
            build_keep(p->builds, p->job, a->rows[k], &a->builds[k]);
    if (a->degenerate.is_known) {
        *p->degenerate = a->degenerate;
        p->degenerate->in_case = a->case_index;
    }
    nearby_drop(p->neighbours);
    *p->neighbours = a->neighbours;
    p->neighbours->case_index = a->case_index;
    for (int i = 0; i < DATA_SETS * DATA_SLOTS; i++) {
        int set = i / DATA_SLOTS, slot = i % DATA_SLOTS;
        data_put_host(p->data, a->made[set][slot] ? a->case_index : -1, set, slot, &a->data[set][slot]);
    }
}

void prefetch_enough(struct prefetch *p)
{
    if (p && p->thread)
        atomic_store(&p->thread->enough, true);
}

void prefetch_end(struct prefetch *p)
{
    struct prefetch_thread *a = p->thread;
    if (!a)
        return;
    atomic_store(&a->enough, true);
    pthread_join(a->thread, NULL);
    p->thread = NULL;
    take_over(p, a);
    for (int k = 0; k < a->row_count; k++)
        build_free(&a->builds[k]);
    FREE_ALL(a->builds, a->rows, a);
}
