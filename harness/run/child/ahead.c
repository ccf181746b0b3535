/* What of the next case needs no device: the images of its rows, whether it is a task, the data of its rows' neighbours, the CPU's part of
 * its own. It is made by a thread of the lowest priority while this case is timed and counted. The thread asks the driver for nothing and
 * holds no lock that a timed launch wants; whoever wants something else of this process ends it first. */
#include "run/child/private.h"
#include "op/reference/data.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct ahead {
    struct worker *w; /* of which the thread reads setup and plan only */
    pthread_t thread;
    atomic_bool enough;
    int case_index, *rows, row_count;
    struct build *builds; /* by place in rows */
    struct neighbours neighbours;
    bool task_known;
    const char *no_task;
    struct op_data data[ROOM_SETS][WORKER_DATA];
    bool made[ROOM_SETS][WORKER_DATA], early[ROOM_SETS][WORKER_DATA]; /* early: as a whole, before, or by the case in hand */
};

static void make_data(struct ahead *a, int row, enum data_part part, int set)
{
    int slot = worker_slot(part);
    struct work work = worker_data_work(a->w, a->case_index, &part, set);
    if (!a->made[set][slot] && !a->early[set][slot] && !atomic_load(&a->enough) && a->w->card)
        a->made[set][slot] = card_host_make(&work, part, &a->data[set][slot]);
}

static void make_row(struct ahead *a, int k)
{
    const struct program *p = &a->w->plan.rows[a->rows[k]].program;
    struct error ignored = {0}; /* it comes again, and is told, when the row's turn comes */
    if (build_make(a->w, p, &a->builds[k], &ignored))
        build_look(&a->builds[k]);
    worker_neighbours_data(a->w, a->rows[k], &a->neighbours, &a->enough);
}

static void *make_ahead(void *context)
{
    struct ahead *a = context;
    struct error ignored = {0};
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}); /* and of the threads that it starts */
    const struct work *work = &a->w->plan.cases[a->case_index].work;
    a->task_known = !work->op->file && op_degenerate(work, &a->no_task, &ignored);
    make_data(a, a->rows[0], DATA_PART_EXACT, 0);
    make_data(a, a->rows[0], DATA_PART_PRECISION, 0);
    for (int k = 0; k < a->row_count && !atomic_load(&a->enough); k++)
        make_row(a, k);
    for (int set = 0; set < ROOM_SETS; set++)
        for (int k = 0; k < a->row_count; k++)
            make_data(a, a->rows[k], worker_timed_part(a->w, a->rows[k]), set);
    return NULL;
}

void worker_ahead_begin(struct worker *w, const json_t *rows)
{
    size_t i;
    const json_t *one;
    worker_ahead_end(w);
    struct ahead *a = xcalloc(1, sizeof *a);
    a->w = w;
    a->case_index = -1;
    json_array_foreach(rows, i, one)
    {
        int row = (int)json_integer_value(one);
        if (row < 0 || row >= w->plan.row_count || w->plan.rows[row].kind != PLAN_LAYER)
            continue;
        a->case_index = w->plan.rows[row].case_index;
        *APPEND(a->rows, a->row_count) = row;
    }
    for (int k = 0; k < ROOM_SETS * WORKER_DATA; k++) {
        int set = k / WORKER_DATA, slot = k % WORKER_DATA;
        a->early[set][slot] =
            worker_early_has(w, a->case_index, set, slot) || worker_data_shared(w, w->data_case[set][slot], a->case_index, slot);
    }
    a->builds = xcalloc((size_t)a->row_count + 1, sizeof *a->builds);
    if (a->row_count && !pthread_create(&a->thread, NULL, make_ahead, a)) {
        w->ahead = a;
        return;
    }
    free(a->builds);
    free(a->rows);
    free(a);
}

/* What was made is where whoever needs it looks first. */
static void take_over(struct worker *w, struct ahead *a)
{
    for (int k = 0; k < a->row_count; k++)
        if (a->builds[k].count)
            build_keep(w, a->rows[k], &a->builds[k]);
    if (a->task_known) {
        w->task_case = a->case_index;
        w->no_task = a->no_task;
    }
    worker_neighbours_drop(w);
    w->neighbours = a->neighbours;
    w->neighbours.case_index = a->case_index;
    a->neighbours = (struct neighbours){0};
    for (int i = 0; i < ROOM_SETS * WORKER_DATA; i++) {
        int set = i / WORKER_DATA, slot = i % WORKER_DATA;
        if (w->host_case[set][slot] >= 0)
            op_data_free(&w->host[set][slot]);
        w->host_case[set][slot] = a->made[set][slot] ? a->case_index : -1;
        w->host[set][slot] = a->data[set][slot];
    }
}

void worker_ahead_end(struct worker *w)
{
    struct ahead *a = w->ahead;
    if (!a)
        return;
    atomic_store(&a->enough, true);
    pthread_join(a->thread, NULL);
    w->ahead = NULL;
    take_over(w, a);
    for (int k = 0; k < a->row_count; k++)
        build_free(&a->builds[k]);
    free(a->builds);
    free(a->rows);
    free(a);
}

bool worker_ahead_host(struct worker *w, int in_case, int set, int slot, struct op_data *host)
{
    if (w->host_case[set][slot] < 0)
        return false;
    bool wanted = w->host_case[set][slot] == in_case;
    w->host_case[set][slot] = -1;
    if (wanted)
        *host = w->host[set][slot];
    else
        op_data_free(&w->host[set][slot]);
    return wanted;
}

void worker_ahead_drop(struct worker *w)
{
    struct op_data host;
    worker_ahead_end(w);
    for (int i = 0; i < ROOM_SETS * WORKER_DATA; i++)
        if (worker_ahead_host(w, w->host_case[i / WORKER_DATA][i % WORKER_DATA], i / WORKER_DATA, i % WORKER_DATA, &host))
            op_data_free(&host);
}
