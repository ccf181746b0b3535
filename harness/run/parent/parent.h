/* run/parent/parent: what the parent of a run holds; private to run/parent. */
#ifndef BENCH_SESSION_PARENT_H
#define BENCH_SESSION_PARENT_H

#include "run/message/verb.h"
#include "run/message/wire.h"
#include "run/parent/child.h"
#include "run/parent/session.h"

struct session {
    const struct session_options *options;
    const struct session_sink *sink;
    struct session_device device;
    struct plan_options asked; /* options->plan, with what --tuned adds */
    struct plan plan;
    struct store *store;
    struct ceiling_list roofs; /* of this machine; count 0: not known */
    struct run run;
    struct row **rows;
    int **choices;                   /* by row: what a chain's links run, once chosen; else NULL */
    bool *kept;                      /* by row: taken over from the interrupted run */
    struct tuned_config *remembered; /* plan.tuned */
    struct child worker;
    struct child
        counter; /* the worker that counts: it is asked for nothing else, for a session of CUPTI disturbs what is timed in its process */
    struct child ceilings; /* measures the machine's ceilings while compilers work; gone when it has said them */
    int gpu_lock;          /* -1: on no GPU */
    bool early;            /* the worker was sent after data of this run's cases */
    bool follows;          /* worker and device are those of the run before, of the same command */
    struct row **former;   /* ... whose rows these are, until they are taken over */
    int former_count;
    bool counts; /* this run counts at all */
    bool count_checked;
    bool counter_again;                   /* the rows in hand have been tried in a second worker */
    int *uncounted_rows, uncounted_count; /* that are to be counted, in their order; the memory that they take */
    double uncounted_bytes;
    int counter_deaths;
    char uncounted[512]; /* why nothing more is counted; "" = it goes on */
    void *inside;        /* what serves in this process (--in-process), else NULL */
    json_t *inside_events;
    int stage_row; /* what the worker announced last */
    char stage[24];
    struct error late;  /* what is wrong when that does not end in time; none: the row */
    struct error fault; /* of the first case whose data or reference could not be made; the others go on */
    int lost_case;      /* the last of those, and 1; 0: none */
    double deadline_s;
    double start_s;
    struct phase_clock clock; /* of this run so far, a command's part in its worker's own words */
    enum phase stage_phase;   /* of what the worker announced last */
    double heard_s;           /* when it last said so */
    double first_round_s;     /* from the command's start to the first timed round; 0: none yet */
    int changed;              /* pairs of a gate that launch something else */
    int done;
    bool interrupted;
    /* What is owed while a worker is at the next command (session_settle): rows that are to be stored, and from the first that is not yet
     * shown to the end of those that can be, case by case; and what went wrong with it. */
    int put_first, put_last, show_first, show_last;
    int timed_last; /* the end of the last case that is done but for its counters */
    struct error put_error;
    bool put_failed;
    double settled_s, settling_s; /* when that was last done; how long, since a worker was last waited for */
    char seed[32];                /* of the further sets of inputs: drawn unless it was asked for */
};

/* A warning or a note, with its remedy, for the user. */
void session_note(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void session_progress(struct session *s, const char *what);
/* The first command of every worker. */
json_t *session_setup(const struct session *s, bool compile_only);
/* One command to a worker; events arrive at `handle` (NULL: at nobody) until it is done. */
enum outcome { OUTCOME_DONE, OUTCOME_LOST, OUTCOME_FAILED, OUTCOME_DIED, OUTCOME_LATE, OUTCOME_GREEDY, OUTCOME_INTERRUPTED };
typedef void event_handler(struct session *s, const json_t *event);
enum outcome session_command(struct session *s, struct child *child, json_t *command, double limit_s, event_handler *handle,
                             struct error *err);
/* The handler that takes stages, rows and environment. */
void session_event(struct session *s, const json_t *event);
/* Waits for what a command that was sent before comes to. */
enum outcome session_answer(struct session *s, struct child *child, double limit_s, event_handler *handle, struct error *err);
/* Starts a worker, unless it runs, and sends its setup without waiting for it: several come up at once, and while compilers work. */
bool session_launch(const struct session *s, struct child *child, struct error *err);
/* The worker that rows run in is set up, or the one inside this process. */
bool session_ready(struct session *s, struct error *err);
/* A worker that is set up: launched now, if it was not. */
bool session_start(struct session *s, struct child *child, struct error *err);
/* *counts: does this run count at all? An error if counters are required but unavailable (count.c). */
bool session_counts(const struct session *s, bool *counts, struct error *err);
/* Asks the machine once, before anything is timed: what it refuses, and metrics that nobody has, are told early. False: they are needed.
 * session_count_launch asks, and the counting worker comes up meanwhile; session_count_check waits for the answer, the first time. */
void session_count_launch(struct session *s);
bool session_count_check(struct session *s, struct error *err);
/* The user named counters: whether they can be had is said before the first row. */
bool session_count_asked(const struct session *s);
/* ahead.c. Sends the worker after the library's plans of the case that begins with that row, and `further` ones; session_start of the
 * worker ends that. */
void session_ahead(struct session *s, int first, bool further);
/* The rows of the next case, from that row on, that are to run; NULL: there is none. New reference. */
json_t *session_next(const struct session *s, int first);
/* Is every verified row timed with the others of its case? */
bool session_times(const struct session *s);
/* And after data of the cases that are due, once, as soon as the ceilings are measured, and the counters are opened; asked again and again
 * while others compile. */
void session_early(struct session *s);
bool session_ahead_settle(struct session *s, struct error *err);
/* Hardware counters of verified rows, into s->rows: those that are timed wait until there are enough of them (due), or no more come. What
 * goes wrong is told and stays with the counters, unless they are required. */
void session_count_later(struct session *s, int first, int last);
bool session_count_due(const struct session *s);
bool session_count(struct session *s, struct error *err);
/* Opens device, plan, compiler and store (begin.c). */
/* The seed of the run, into `asked`. */
bool session_seed(struct session *s, struct error *err);
bool session_open(struct session *s, struct error *err);
/* Leaves the worker to the next run, where one may follow. */
void session_keep(struct session *s);
/* Makes the rows, takes over those of an interrupted run, writes the run's provenance. `kept`: how many were taken over. */
bool session_rows(struct session *s, int *kept, struct error *err);
/* What the rows will need comes up together: the worker, the ceilings, on all cores what is to be compiled, then the worker that counts.
 * Nothing is timed before all of it is there. False: the store. */
bool session_prepare(struct session *s, struct error *err);
/* The machine's ceilings (roofs.c): from the database; or measured now, in a process of their own that session_roofs_settle waits for,
 * kept, and given to the rows. What is missing is told. */
void session_roofs(struct session *s);
void session_roofs_launch(struct session *s);
bool session_roofs_settle(struct session *s, struct error *err);
/* The roof of a row, as metrics. */
void session_row_roof(const struct session *s, int index);
/* A verified row whose time is below the lowest floor of its work is `impossible`. False with err when the mask cannot be made. */
bool session_row_judge(struct session *s, int index, struct error *err);
/* Fills the compiler's cache on all cores, for all rows, before anything is timed (compile.c); what goes wrong there is told when the row's
 * turn comes. */
void session_precompile(struct session *s);

/* Stores rows, all at once, as soon as a worker has its next command: nobody waits for the disk. False: what was owed before failed. */
bool session_put(struct session *s, int first, int last, struct error *err);
/* Stores and shows what is owed; what goes wrong is met by the next session_put. */
void session_settle(struct session *s);
/* The same while a worker is waited for, now and then. */
void session_settle_beside(struct session *s);
/* What was stored beside a worker is nobody's wait, but for what the worker did not fill: asked before it is waited for, told after. */
double session_waited(struct session *s);
void session_settled(struct session *s, double waited_s);
/* At the end: stores the rest, and where the time went. */
bool session_spent(struct session *s, struct error *err);
/* gate.c. Compiles what two sides have and leaves out what both launch alike. False: everybody's error. */
bool session_gate_identify(struct session *s, struct error *err);
/* The verified rows of a case that make pairs, with the library's first one; *gate: what else is said to the worker. New references. */
json_t *session_gate_rows(struct session *s, int first, int last, json_t **gate);

/* ablate.c: asks for the parts of each verified row of a case that offers them; what fails is a note of the row and nothing more. */
bool session_ablate(struct session *s, int first, int last, struct error *err);

/* remember.c. What was remembered for --tuned, as plan_options.tuned wants it, from the run's own database; *list is NULL when there is
 * none.
 */
bool session_remembered(const char *database, const struct session_device *device, const char *compiler, struct tuned_config **list,
                        struct error *err);
void session_remembered_free(struct tuned_config *list);
/* After the plan and the store: says of each row that runs a remembered configuration when its source has changed since. */
bool session_judge_remembered(struct session *s, struct error *err);
/* Remembers the best configuration of each variant of a case that was searched. */
bool session_learn(struct session *s, int first, int last, struct error *err);

#endif
