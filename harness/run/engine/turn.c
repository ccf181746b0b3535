/* run/engine/turn: see turn.h. */
#include "run/engine/turn.h"
#include "base/clock.h"
#include <math.h>
#include <string.h>

#define ASK_FIRST_S 1.0 /* between two questions to the engine; more in a long job, because each costs the site's scheduler */
#define ASK_LAST_S 15.0
#define ASK_SHARE 20.0 /* of the time since the first */
#define GRACE_S 3.0    /* between the end of a task and its part: file systems show a new file late */
#define STUCK_S 300.0  /* a task that has handed over its last part ends; more than a container takes to start again */
#define RETRIES 3

static bool submit_shards(struct job *job, const bool *wanted, struct error *err)
{
    if (!job->engine->submit(job, wanted, err))
        return false;
    for (int i = 0; i < job->shards; i++)
        if (wanted[i]) {
            struct job_shard *s = &job->shard[i];
            s->tries = s->rows > s->tried ? 1 : s->tries + 1; /* a time limit may end it often: it goes on each time */
            s->tried = s->rows;
            s->missing_s = 0;
        }
    return true;
}

bool job_submit(struct job *job, struct error *err)
{
    SCOPED bool *wanted = xcalloc((size_t)job->shards + 1, sizeof *wanted);
    int count = 0;
    if (!job_scan(job, err))
        return false;
    for (int i = 0; i < job->shards; i++)
        count += wanted[i] = !job->shard[i].done;
    return !count || submit_shards(job, wanted, err);
}

/* Asks the engine. What it says at once after a task was submitted may be old. */
static bool ask_engine(struct job *job)
{
    struct error why = {0};
    job->note[0] = 0;
    if (job->engine->poll(job, &why))
        return true;
    snprintf(job->note, sizeof job->note, "%.250s", why.text);
    return false;
}

static bool is_lost(struct job_shard *s, double now)
{
    if (s->done || s->task != ENGINE_NONE) {
        s->missing_s = 0;
        return false;
    }
    s->missing_s = s->missing_s > 0 ? s->missing_s : now;
    return now - s->missing_s > GRACE_S;
}

/* Its process has ended, but the engine says that it runs: Slurm may not notice that its own slurmstepd was killed. */
static bool is_stuck(struct job_shard *s, double now)
{
    bool ended = !s->done && s->task == ENGINE_RUNNING && s->state && strcmp(s->state, "running");
    s->ended_s = !ended ? 0 : s->ended_s > 0 ? s->ended_s : now;
    return ended && now - s->ended_s > STUCK_S;
}

static bool by_output(const struct job *job)
{
    const char *handover = job_key(job, "handover");
    return handover && !strcmp(handover, "output");
}

/* A requeued task whose first copy went on to its end, or a shard that was submitted twice. */
static void drop_needless(struct job *job)
{
    for (int i = 0; i < job->shards; i++)
        if (job->shard[i].done && job->shard[i].task == ENGINE_PENDING && job->shard[i].name[0]) {
            job->engine->cancel(job, i + 1, NULL);
            job->shard[i].task = ENGINE_NONE;
        }
}

static void count(const struct job *job, struct job_turn *turn)
{
    for (int i = 0; i < job->shards; i++) {
        const struct job_shard *s = &job->shard[i];
        turn->done += s->done;
        turn->rows += s->rows;
        turn->running += !s->done && s->task == ENGINE_RUNNING;
        turn->pending += !s->done && s->task == ENGINE_PENDING;
        if (!s->done && s->task == ENGINE_PENDING && s->why[0])
            turn->why = s->why;
    }
}

bool job_turn(struct job *job, struct job_turn *turn, struct error *err)
{
    double now = clock_s();
    SCOPED bool *wanted = xcalloc((size_t)job->shards + 1, sizeof *wanted);
    job->began_s = job->began_s > 0 ? job->began_s : now;
    bool asked = now >= job->asked_s + fmin(fmax((now - job->began_s) / ASK_SHARE, ASK_FIRST_S), ASK_LAST_S);
    *turn = (struct job_turn){0};
    if (asked) {
        asked = ask_engine(job);
        job->asked_s = clock_s();
    }
    if (!job_scan(job, err))
        return false;
    for (int i = 0; asked && i < job->shards; i++) {
        struct job_shard *s = &job->shard[i];
        if (!s->done && s->task == ENGINE_NONE && by_output(job) && job->engine->fetch)
            job->engine->fetch(job, i + 1, NULL);
    }
    if (!job_scan(job, err))
        return false;
    for (int i = 0; asked && i < job->shards; i++) {
        if (is_stuck(&job->shard[i], now)) {
            job->engine->cancel(job, i + 1, NULL);
            job->shard[i].task = ENGINE_NONE;
        }
        if (!is_lost(&job->shard[i], now))
            continue;
        const struct job_shard *s = &job->shard[i];
        wanted[i] = s->tries <= job_count(job, "retries", RETRIES) || s->rows > s->tried;
        turn->again += wanted[i];
        turn->lost += !wanted[i];
    }
    if (asked)
        drop_needless(job);
    count(job, turn);
    struct error why = {0};
    if (turn->again && !submit_shards(job, wanted, &why)) { /* slurmctld may be gone for a while */
        snprintf(job->note, sizeof job->note, "%.250s", why.text);
        turn->again = 0;
    }
    return true;
}
