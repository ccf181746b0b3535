#include "base/pool.h"
#include "base/text.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

int pool_threads(void)
{
    const char *wanted = getenv("BENCH_THREADS");
    long long n;
    if (wanted && text_to_int(wanted, &n) && n >= 1 && n <= POOL_THREADS_MOST)
        return (int)n;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    return 1;
}

int pool_threads_for(int64_t items, int64_t each)
{
    int64_t most = pool_threads(), wanted = items / each;
    return wanted < 1 ? 1 : wanted < most ? (int)wanted : (int)most;
}

struct loop {
    atomic_llong next;
    int64_t count, block;
    void (*body)(void *context, int64_t index, int thread);
    void *context;
};
struct worker {
    struct loop *loop;
    int thread;
    pthread_t id;
};

static _Thread_local bool busy; /* with a loop's body: a loop in it has this thread alone */

static void *work(void *argument)
{
    struct worker *w = argument;
    struct loop *loop = w->loop;
    bool before = busy;
    busy = true;
    for (;;) {
        int64_t from = atomic_fetch_add(&loop->next, loop->block);
        if (from >= loop->count)
            break;
        int64_t to = from + loop->block < loop->count ? from + loop->block : loop->count;
        for (int64_t i = from; i < to; i++)
            loop->body(loop->context, i, w->thread);
    }
    busy = before;
    return NULL;
}

void pool_for(int64_t count, int threads, void (*body)(void *context, int64_t index, int thread), void *context)
{
    if (threads <= 0)
        threads = pool_threads();
    if (busy)
        threads = 1;
    if (threads > count)
        threads = count > 0 ? (int)count : 1;
    struct loop loop = {.count = count, .body = body, .context = context};
    atomic_init(&loop.next, 0);
    loop.block = count / (threads * 8LL);
    if (loop.block < 1)
        loop.block = 1;
    SCOPED struct worker *workers = xcalloc((size_t)threads, sizeof *workers);
    int started = 0;
    for (int i = 1; i < threads; i++) {
        workers[i] = (struct worker){.loop = &loop, .thread = i};
        if (pthread_create(&workers[i].id, NULL, work, &workers[i]))
            break; /* fewer threads: the loop is still done */
        started = i;
    }
    workers[0] = (struct worker){.loop = &loop, .thread = 0};
    work(&workers[0]);
    for (int i = 1; i <= started; i++)
        pthread_join(workers[i].id, NULL);
}
