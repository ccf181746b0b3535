/* Starts workers that only fill the compiler's cache, one per core. An error here is not reported: it recurs when the row is verified.
 * Meanwhile the GPU is idle, so the worker that has it verifies the rows that are compiled already, and therefore cases are compiled one
 * after the other. */
#include "base/pool.h"
#include "base/order.h"
#include "base/spec.h"
#include "base/text.h"
#include "plan/rows/shard.h"
#include "run/parent/parent.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPILE_LIMIT_S 180.0
#define TOLD_AFTER_S 3.0
#define FIRST_MOST 8     /* compilers that begin at once: each makes a plan, and more of them read a full cache no sooner */
#define FIRST_CORES 4    /* for each of them */
#define ALONE_S 0.1      /* the first compilers answer that soon if all is cached */
#define ALONE_MOST_S 1.0 /* and work alone for so long */
#define CHECKS 6         /* source files of the device check: the parent must not include measure/verify/device_check.h */
#define PARTS 4          /* the library's compilations for a row are split: some rows have one plan to compile, some a dozen */
#define TASKS_MOST 8192  /* with plans and nearby shapes; what is left of a larger run is compiled when it is due */
#define AHEAD 2          /* rows given to a compiler at a time: the one it compiles and the next, so that it never waits for the parent */

enum task_kind { TASK_SETUP, TASK_CHECK, TASK_PLANS, TASK_ROW, TASK_NEIGHBOUR };
struct task {
    enum task_kind kind;
    int row, part; /* row: of a check, the source file */
};
/* Commands that a compiler has not answered yet, in order, including its setup. */
struct given {
    struct task tasks[AHEAD + 1];
    int count;
};
struct compilers {
    struct session *s;
    struct child *children;
    struct given *given; /* by child */
    int checks;          /* that are not compiled yet */
    int count, first_count, started;
    struct task *tasks;                                   /* of each case: the longest first */
    int task_count, own_count, row_count, next, compiled; /* own: excluding those for nearby shapes */
    double began_s;
    double ready_s, answered_s; /* the time when the first compiler had its plan, and that of its last answer; 0: none yet */
    bool told;                  /* the user was notified that compiling takes long */
    int *missing;               /* by row: tasks of its own that its verification needs; counted down. -1: it was verified */
    int *plans;                 /* by row: the first row that asks the library for the same plans */
    int *first;                 /* by row: the first row of its build */
    bool *building;             /* by such a row: its build is not compiled yet */
    int last_row;               /* the last that was verified meanwhile */
};

static void add_task(struct compilers *c, enum task_kind kind, int row, int part)
{
    *APPEND(c->tasks, c->task_count) = (struct task){kind, row, part};
}

ORDER(by_digest, uint64_t, (*x > *y) - (*x < *y))

/* The builds that rows of the previous run were compiled to, sorted. Malloc'd. */
static uint64_t *known_builds(const struct session *s, int *count)
{
    uint64_t *known = xcalloc((size_t)s->plan.row_count + 1, sizeof *known);
    *count = 0;
    for (int i = 0; s->follows && i < s->plan.row_count; i++)
        if (s->kept[i] && s->plan.rows[i].kind == PLAN_LAYER)
            known[(*count)++] = s->plan.rows[i].facts.build;
    qsort(known, (size_t)*count, sizeof *known, by_digest);
    return known;
}

/* The tasks of a case that begins with row `first`. builds: of all rows, in their order; *build: the first that is not a task yet. */
static void find_case_tasks(struct compilers *c, int first, const bool *wanted, const int *builds, int build_count, int *build)
{
    const struct session *s = c->s;
    int last = first, in_case = s->plan.rows[first].case_index, neighbours = 0;
    for (; last < s->plan.row_count && s->plan.rows[last].case_index == in_case; last++)
        for (int part = 0; wanted[last] && plan_asks_library(&s->plan.rows[last]) && c->plans[last] == last &&
                           s->device.library_device[0] && part < PARTS && c->task_count < TASKS_MOST;
             part++)
            add_task(c, TASK_PLANS, last, part);
    for (; *build < build_count && builds[*build] < last; ++*build) {
        const struct plan_row *p = &s->plan.rows[builds[*build]];
        bool compiles = p->kind == PLAN_LAYER ? p->facts.compiles : p->kind != PLAN_CHAIN || p->chain->pick == CHAIN_KERNEL;
        c->row_count += compiles;
        if (compiles)
            add_task(c, TASK_ROW, builds[*build], 0);
    }
    for (int i = first; i < last && c->task_count < TASKS_MOST; i++)
        if (wanted[i] && s->plan.rows[i].kind == PLAN_LAYER && ++neighbours)
            add_task(c, TASK_NEIGHBOUR, i, 0);
    c->own_count -= neighbours;
}

/* Each build once: of rows that are due. */
static void find_tasks(struct compilers *c)
{
    const struct session *s = c->s;
    int known_count, build = 0;
    SCOPED uint64_t *known = known_builds(s, &known_count);
    SCOPED bool *wanted = xcalloc((size_t)s->plan.row_count + 1, sizeof *wanted);
    SCOPED int *builds = xcalloc((size_t)s->plan.row_count + 1, sizeof *builds);
    static const int checks[CHECKS] = {1, 5, 2, 0, 4, 3}; /* the longest first: no row is verified before all are there */
    for (int i = 0; i < CHECKS && spec_is_timed(s->device.spec) && !s->options->before; i++)
        add_task(c, TASK_CHECK, checks[i], 0);
    for (int i = 0; i < s->plan.row_count; i++) {
        const struct plan_row *p = &s->plan.rows[i];
        wanted[i] =
            session_due(s, i) && p->facts.feasible && !bsearch(&p->facts.build, known, (size_t)known_count, sizeof *known, by_digest);
        c->first[i] = c->plans[i] = i;
    }
    plan_asked_alike(&s->plan, wanted, c->plans);
    int build_count = plan_builds(&s->plan, wanted, builds, c->first);
    for (int i = 0; i < s->plan.row_count; i++)
        if (!i || s->plan.rows[i].case_index != s->plan.rows[i - 1].case_index)
            find_case_tasks(c, i, wanted, builds, build_count, &build);
    c->own_count += c->task_count;
}

static void give(struct given *g, struct task task)
{
    g->tasks[g->count++] = task;
}

/* Adds to what the rows that need the task wait for. A build serves all rows of its digest. */
static void count_missing(struct compilers *c, const struct task *task, int more)
{
    if (task->kind == TASK_ROW)
        c->building[task->row] = more > 0;
    else if (task->kind == TASK_PLANS || task->kind == TASK_NEIGHBOUR)
        c->missing[task->row] += more;
}

/* Removes the first command, which the compiler has answered. */
static void answered(struct compilers *c, struct given *g)
{
    struct task task = g->tasks[0];
    memmove(g->tasks, g->tasks + 1, (size_t)--g->count * sizeof *g->tasks);
    c->checks -= task.kind == TASK_CHECK;
    count_missing(c, &task, -1);
}

static json_t *command_for(const struct task *t)
{
    struct message m = {.part = t->part, .parts = PARTS};
    int row = t->row;
    *(t->kind == TASK_CHECK       ? &m.checks
      : t->kind == TASK_PLANS     ? &m.plans
      : t->kind == TASK_NEIGHBOUR ? &m.neighbours
                                  : &m.rows) = (struct member_rows){&row, 1};
    return command_new(COMMAND_COMPILE, &m);
}

/* Gives tasks to compiler k until it has enough, none behind a check, which takes seconds; ends it if none are left. */
static void feed(struct compilers *c, int k)
{
    struct given *g = &c->given[k];
    while (g->count < AHEAD && c->next < c->task_count && !(g->count && g->tasks[g->count - 1].kind == TASK_CHECK)) {
        const struct task *t = &c->tasks[c->next++];
        child_send(&c->children[k], command_for(t));
        give(g, *t);
    }
    if (!g->count &&
        c->children[k].pid > 0) /* hear_one finds it gone: to wait for the memory of each to be freed takes 0.1 s, and all end at once */
        kill(c->children[k].pid, SIGKILL);
}

/* Notes once that compiling takes most of the time of a first run. */
static void tell(struct compilers *c)
{
    if (c->told || clock_s() - c->began_s < TOLD_AFTER_S || c->compiled == c->row_count)
        return;
    c->told = true;
    session_note(c->s, "compiling %d kernel%s on %d core%s takes most of a first run; later runs use the cache", c->row_count,
                 text_s(c->row_count), c->count, text_s(c->count));
}

static void take(struct compilers *c, int k, const json_t *event)
{
    enum event what = event_of(event);
    if (what == EVENT_COMPILED) {
        SCOPED char *said = text_format("compile %d of %d", ++c->compiled, c->row_count);
        session_progress(c->s, said);
        tell(c);
    } else if (what == EVENT_INTERPRETED) {
        char number[24];
        SCOPED_BY(message_free) struct message m;
        message_read(event, &m);
        snprintf(number, sizeof number, "%d", m.row);
        c->s->interpreted = c->s->interpreted ? c->s->interpreted : json_object();
        json_object_set(c->s->interpreted, number, m.packed);
    } else if (what == EVENT_FAILED) {
        child_stop(&c->children[k], NULL, 0);
    } else if (what == EVENT_DONE) {
        c->answered_s = clock_s();
        c->ready_s = c->ready_s > 0 ? c->ready_s : c->answered_s;
        answered(c, &c->given[k]);
        feed(c, k);
    }
}

static void start(struct compilers *c)
{
    int k = c->started++;
    struct error ignored = {0};
    if (child_start(&c->children[k], &ignored)) {
        child_limit_memory(&c->children[k], child_compile_memory());
        child_send(&c->children[k], session_setup(c->s, true));
        give(&c->given[k], (struct task){TASK_SETUP, 0, 0});
        feed(c, k);
    }
}

static bool any_lives(const struct compilers *c)
{
    return ANY_OF(k, c->started, c->children[k].pid > 0);
}

/* Returns the next compiler with an event; -1: all are gone, or none answers. The first compilers run alone until an answer takes longer
 * than that of a cache hit: each compiler must make a plan, and a run whose kernels are all cached needs few. */
static int hear(struct compilers *c)
{
    volatile sig_atomic_t *interrupted = c->s->options->interrupted;
    bool alone = c->started == c->first_count && c->count > c->first_count && any_lives(c);
    double now = clock_s(), until = now + COMPILE_LIMIT_S;
    if (alone && c->ready_s > 0)
        until = fmin(c->answered_s + ALONE_S, c->ready_s + ALONE_MOST_S);
    int k = now < until ? child_any(c->children, c->started, until, interrupted) : -1;
    if (k >= 0 || c->started != c->first_count || (interrupted && *interrupted))
        return k;
    for (int left = c->task_count - c->next; left > 0 && c->started < c->count; left--)
        start(c);
    return child_any(c->children, c->started, clock_s() + COMPILE_LIMIT_S, interrupted);
}

/* The first kind of task that a compiler still works on: what the run waits for. */
static const char *awaited(const struct compilers *c)
{
    static const char *const names[] = {"setup", "checks", "plans", "rows", "neighbours"};
    enum task_kind first = TASK_NEIGHBOUR;
    for (int k = 0; k < c->started; k++)
        if (c->given[k].count && c->given[k].tasks[0].kind < first)
            first = c->given[k].tasks[0].kind;
    return names[first];
}

/* Takes one event of compiler k. */
static void hear_one(struct compilers *c, int k)
{
    json_auto_t *event = NULL;
    if (child_next(&c->children[k], clock_s() + COMPILE_LIMIT_S, c->s->options->interrupted, &event) == CHILD_EVENT)
        take(c, k, event);
    else
        child_stop(&c->children[k], NULL, 0);
}

bool session_compile_hear(struct session *s)
{
    struct compilers *c = s->compilers;
    int k;
    while (c && (k = child_any(c->children, c->started, clock_s(), NULL)) >= 0)
        hear_one(c, k);
    return c && any_lives(c);
}

static bool is_compiled(const struct compilers *c, int row)
{
    return c->missing[row] <= 0 && c->missing[c->plans[row]] <= 0 && !c->building[c->first[row]];
}

bool session_compiled(const struct session *s, int row)
{
    return !s->compilers || is_compiled(s->compilers, row);
}

/* A row that can be verified now; -1: none. Rows of one case follow each other if possible, because they share data. */
static int ready_row(const struct compilers *c)
{
    const struct session *s = c->s;
    int found = -1, in_case = c->last_row < 0 ? -1 : s->plan.rows[c->last_row].case_index;
    /* Compilers are started by hear; checks that are not there the worker would compile, too. */
    bool all_started = (c->started == c->count || c->next == c->task_count) && !c->checks;
    for (int i = 0; s->early && all_started && i < s->plan.row_count; i++) {
        const struct row *row = s->rows[i];
        bool ready = row && !s->kept[i] && row->status == ROW_PLANNED && !row->reason && s->plan.rows[i].kind == PLAN_LAYER &&
                     !c->missing[i] && is_compiled(c, i) && session_owns(s, i);
        if (ready && s->plan.rows[i].case_index == in_case)
            return i;
        if (ready && found < 0)
            found = i;
    }
    return found;
}

/* Verifies one row while compilers work. *none: no row is ready. */
static bool verify_meanwhile(struct compilers *c, bool *none, struct error *err)
{
    int row = ready_row(c);
    *none = row < 0;
    if (row < 0)
        return true;
    c->last_row = row;
    c->missing[row] = -1; /* not again, however it ends */
    phase_part(&c->s->clock, "verifying meanwhile");
    bool ok = session_verify(c->s, row, err);
    phase_pop(&c->s->clock);
    return ok;
}

static bool work(struct compilers *c, struct error *err)
{
    for (;;) {
        bool none = true;
        if (session_compile_hear(c->s) && !verify_meanwhile(c, &none, err))
            return false;
        if (c->s->interrupted)
            return true;
        if (!none)
            continue;
        session_early(c->s, !c->checks);
        phase_part(&c->s->clock, awaited(c));
        int k = hear(c);
        phase_pop(&c->s->clock);
        if (k < 0)
            return true;
        hear_one(c, k);
    }
}

static int first_compilers(int count)
{
    int most = pool_threads() / FIRST_CORES < FIRST_MOST ? pool_threads() / FIRST_CORES : FIRST_MOST;
    return most < 1 ? (count > 0) : most < count ? most : count;
}

bool session_precompile(struct session *s, struct error *err)
{
    size_t rows = (size_t)s->plan.row_count + 1;
    struct compilers c = {.s = s,
                          .began_s = clock_s(),
                          .last_row = -1,
                          .missing = xcalloc(rows, sizeof *c.missing),
                          .plans = xcalloc(rows, sizeof *c.plans),
                          .first = xcalloc(rows, sizeof *c.first),
                          .building = xcalloc(rows, sizeof *c.building)};
    int k;
    find_tasks(&c);
    for (k = 0; k < c.task_count; k++) {
        c.checks += c.tasks[k].kind == TASK_CHECK;
        count_missing(&c, &c.tasks[k], 1);
    }
    c.count = pool_threads() < c.own_count ? pool_threads() : c.own_count; /* any free compiler takes those of nearby shapes */
    if (c.own_count < 2) /* the one worker would only wait for the one compiler, which reads the same files as the worker */
        c.count = 0;
    c.children = xcalloc((size_t)c.count + 1, sizeof *c.children);
    c.given = xcalloc((size_t)c.count + 1, sizeof *c.given);
    for (k = 0; k < c.count; k++)
        c.children[k].fd = c.children[k].errors = -1;
    s->compilers = &c;
    c.first_count = first_compilers(c.count);
    while (c.started < c.first_count)
        start(&c);
    bool ok = work(&c, err);
    s->compilers = NULL;
    for (k = 0; k < c.count; k++)
        child_stop(&c.children[k], NULL, 0);
    FREE_ALL(c.children, c.given, c.tasks, c.missing, c.plans, c.first, c.building);
    return ok;
}
