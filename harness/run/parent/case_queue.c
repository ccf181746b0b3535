/* The queue of cases of a run on several GPUs. */
#include "run/parent/fleet.h"
#include <stdlib.h>
#include <string.h>

struct cost {
    int index;
    double seconds;
};

static int dearest_first(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    return x->seconds > y->seconds ? -1 : x->seconds < y->seconds ? 1 : x->index - y->index;
}

void queue_init(struct case_queue *q, const double *seconds, int count)
{
    size_t n = (size_t)count + 1;
    SCOPED struct cost *costs = xcalloc(n, sizeof *costs);
    *q = (struct case_queue){.count = count,
                             .left = count,
                             .order = xcalloc(n, sizeof *q->order),
                             .state = xcalloc(n, sizeof *q->state),
                             .gpu = xcalloc(n, sizeof *q->gpu),
                             .tries = xcalloc(n, sizeof *q->tries),
                             .pin = xcalloc(n, sizeof *q->pin),
                             .needs = xcalloc(n, sizeof *q->needs)};
    for (int i = 0; i < count; i++) {
        costs[i] = (struct cost){i, seconds[i]};
        q->gpu[i] = q->pin[i] = -1;
    }
    qsort(costs, (size_t)count, sizeof *costs, dearest_first);
    for (int i = 0; i < count; i++)
        q->order[i] = costs[i].index;
}

void queue_free(struct case_queue *q)
{
    for (int i = 0; i < q->count; i++)
        free(q->needs[i]);
    free(q->order);
    free(q->state);
    free(q->gpu);
    free(q->tries);
    free(q->pin);
    free(q->needs);
    *q = (struct case_queue){0};
}

static bool is_ready(const struct case_queue *q, int index, int gpu)
{
    if (q->state[index] != CASE_WAITING || (q->pin[index] >= 0 && q->pin[index] != gpu))
        return false;
    for (int i = 0; q->needs[index] && i < q->count; i++)
        if (q->needs[index][i] && i != index && q->state[i] != CASE_DONE)
            return false;
    return true;
}

int queue_take(struct case_queue *q, int gpu)
{
    while (q->head < q->count && q->state[q->order[q->head]] != CASE_WAITING)
        q->head++;
    for (int i = q->head; i < q->count; i++) {
        int index = q->order[i];
        if (!is_ready(q, index, gpu))
            continue;
        q->state[index] = CASE_RUNNING;
        q->gpu[index] = gpu;
        return index;
    }
    return -1;
}

void queue_done(struct case_queue *q, int index)
{
    q->left -= q->state[index] != CASE_DONE;
    q->state[index] = CASE_DONE;
}

int queue_return(struct case_queue *q, int gpu, int most, int **lost)
{
    int count = 0;
    *lost = NULL;
    for (int i = 0; i < q->count; i++) {
        if (q->state[i] != CASE_RUNNING || q->gpu[i] != gpu)
            continue;
        q->state[i] = CASE_WAITING;
        if (++q->tries[i] >= most)
            *APPEND(*lost, count) = i;
    }
    q->head = 0;
    return count;
}
