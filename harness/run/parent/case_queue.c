/* The queue of cases of a run on several GPUs. */
#include "run/parent/fleet.h"
#include "base/order.h"
#include <math.h>
#include <stdlib.h>

#define PASSES 2 /* other GPUs leave a case that often to the GPU that prepares it */

struct cost {
    int index;
    double seconds; /* from its start to the end of the run at the earliest */
};

ORDER(dearest_first, struct cost, x->seconds > y->seconds ? -1 : x->seconds < y->seconds ? 1 : x->index - y->index)

void queue_init(struct case_queue *q, const double *seconds, int count)
{
    size_t n = (size_t)count + 1;
    *q = (struct case_queue){.count = count,
                             .left = count,
                             .waiting = count,
                             .order = xcalloc(n, sizeof *q->order),
                             .state = xcalloc(n, sizeof *q->state),
                             .gpu = xcalloc(n, sizeof *q->gpu),
                             .tries = xcalloc(n, sizeof *q->tries),
                             .pin = xcalloc(n, sizeof *q->pin),
                             .ahead = xcalloc(n, sizeof *q->ahead),
                             .passed = xcalloc(n, sizeof *q->passed),
                             .needs = xcalloc(n, sizeof *q->needs)};
    for (int i = 0; i < count; i++)
        q->gpu[i] = q->pin[i] = q->ahead[i] = -1;
    queue_order(q, seconds);
}

void queue_order(struct case_queue *q, const double *seconds)
{
    SCOPED struct cost *costs = xcalloc((size_t)q->count + 1, sizeof *costs);
    for (int i = 0; i < q->count; i++)
        costs[i] = (struct cost){i, seconds[i]};
    for (int c = 0; c < q->count; c++) /* no network needs a network */
        for (int i = 0; q->needs[c] && i < q->count; i++)
            if (q->needs[c][i] && i != c)
                costs[i].seconds = fmax(costs[i].seconds, seconds[i] + seconds[c]);
    qsort(costs, (size_t)q->count, sizeof *costs, dearest_first);
    for (int i = 0; i < q->count; i++)
        q->order[i] = costs[i].index;
}

void queue_free(struct case_queue *q)
{
    pointers_free(q->needs, q->count);
    FREE_ALL(q->order, q->state, q->gpu, q->tries, q->pin, q->ahead, q->passed);
    *q = (struct case_queue){0};
}

static bool is_ready(const struct case_queue *q, int index, int gpu)
{
    if (q->state[index] != CASE_WAITING || (q->pin[index] >= 0 && q->pin[index] != gpu))
        return false;
    for (int i = 0; q->needs[index] && i < q->count; i++)
        if (q->needs[index][i] && i != index && q->state[i] < CASE_RUN)
            return false;
    return true;
}

/* Position of the first case that is ready for a GPU, from that position on; count: none. */
static int next_ready(const struct case_queue *q, int at, int gpu)
{
    while (at < q->count && !is_ready(q, q->order[at], gpu))
        at++;
    return at;
}

static int first_ready(struct case_queue *q, int gpu)
{
    while (q->head < q->count && q->state[q->order[q->head]] != CASE_WAITING)
        q->head++;
    return next_ready(q, q->head, gpu);
}

int queue_take(struct case_queue *q, int gpu)
{
    int first = first_ready(q, gpu), at = first;
    for (; at < q->count; at = next_ready(q, at + 1, gpu)) {
        int by = q->ahead[q->order[at]];
        if (by < 0 || by == gpu || q->passed[q->order[at]]++ >= PASSES)
            break;
    }
    at = at < q->count ? at : first;
    if (at == q->count)
        return -1;
    int index = q->order[at];
    q->state[index] = CASE_RUNNING;
    q->gpu[index] = gpu;
    q->waiting--;
    return index;
}

int queue_ahead(struct case_queue *q, int gpu, int former)
{
    if (former >= 0 && q->ahead[former] == gpu)
        q->ahead[former] = -1;
    for (int at = first_ready(q, gpu); at < q->count; at = next_ready(q, at + 1, gpu)) {
        int index = q->order[at];
        if (q->ahead[index] >= 0 || q->needs[index])
            continue;
        q->ahead[index] = gpu;
        q->passed[index] = 0;
        return index;
    }
    return -1;
}

void queue_run(struct case_queue *q, int index)
{
    if (q->state[index] == CASE_RUNNING)
        q->state[index] = CASE_RUN;
}

bool queue_is_at(const struct case_queue *q, int index, int gpu)
{
    return (q->state[index] == CASE_RUNNING || q->state[index] == CASE_RUN) && q->gpu[index] == gpu;
}

void queue_done(struct case_queue *q, int index)
{
    q->left -= q->state[index] != CASE_DONE;
    q->waiting -= q->state[index] == CASE_WAITING;
    q->state[index] = CASE_DONE;
}

int queue_return(struct case_queue *q, int gpu, int most, int **lost)
{
    int count = 0;
    *lost = NULL;
    for (int i = 0; i < q->count; i++) {
        q->ahead[i] = q->ahead[i] == gpu ? -1 : q->ahead[i];
        if (!queue_is_at(q, i, gpu))
            continue;
        q->state[i] = CASE_WAITING;
        q->waiting++;
        if (++q->tries[i] >= most)
            *APPEND(*lost, count) = i;
    }
    q->head = 0;
    return count;
}
