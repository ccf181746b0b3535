/* run/parent/parent: the state of the parent of a run; private to run/parent. */
#pragma once

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
    int **choices;                   /* by row: the rows that a chain's links run, once chosen; else NULL */
    json_t *interpreted;             /* by number of the row, as text: what emu found in a compile worker; NULL: nothing yet */
    bool *kept;                      /* by row: not to be run: taken over from an earlier run, or elsewhere */
    bool *elsewhere;                 /* by row: another shard or process runs it; NULL: none */
    bool *made;                      /* by row, in a GPU's process: made in advance, and not given yet; NULL: none */
    int owned;                       /* rows that are not elsewhere */
    struct tuned_config *remembered; /* plan.tuned */
    struct child worker;
    struct child counter;        /* the worker that counts; it does nothing else, because a CUPTI session disturbs times in its process */
    struct child ceilings;       /* measures the machine's ceilings while compilers work; ends afterwards */
    struct compilers *compilers; /* at work, before anything is timed; NULL: none */
    int gpu_lock;                /* -1: on no GPU */
    bool early;                  /* the worker was asked to make plans or data of this run's cases in advance */
    int early_asks;              /* how much of that the last time (session_early) */
    bool follows;                /* worker and device come from the previous run of the same command */
    struct fleet *fleet;         /* whose processes have opened their GPUs before there is a plan; NULL: none */
    struct row **former;         /* the rows of that run, until they are taken over */
    int former_count;
    bool counts; /* this run counts at all */
    bool count_checked;
    bool counter_again;                   /* a second worker is already counting these rows */
    int *uncounted_rows, uncounted_count; /* rows that wait to be counted, in order; the memory that they need */
    double uncounted_bytes;
    int ahead_first, ahead_last; /* a GPU of several: the rows of the case that may follow */
    int counter_deaths;
    char uncounted[512]; /* why nothing more is counted; "" = it goes on */
    void *inside;        /* the server in this process (--in-process), else NULL */
    json_t *inside_events;
    int stage_row; /* of the last stage that the worker announced */
    char stage[24];
    struct error late;  /* the error to report if the stage does not end in time; none: blame the row */
    struct error fault; /* of the first case whose data or reference bench could not make; the other cases go on */
    int lost_case;      /* the last of those cases plus 1; 0: none */
    double deadline_s;
    double start_s;
    struct phase_clock clock; /* of this run so far, including the workers' reported seconds */
    enum phase stage_phase;   /* of the last stage that the worker announced */
    double heard_s;           /* the time of that message */
    double first_round_s;     /* from the command's start to the first timed round; 0: none yet */
    int changed;              /* pairs of a gate with different launches */
    int done;
    bool interrupted;
    /* Ranges of rows that wait to be stored and to be shown. session_settle does both after it has sent a worker its next command, so that
     * the worker does not wait. */
    int put_first, put_last, show_first, show_last;
    int timed_last; /* the end of the last case that is finished except for its counters */
    struct error put_error;
    bool put_failed;
    double settled_s, settling_s; /* the time of the last session_settle; its duration since the parent last waited for a worker */
    char seed[32];                /* of input sets 1 and up: random, unless the user gave a seed */
};

#define SETUP_LIMIT_S 120.0 /* until a worker is set up, or says what it does */

/* Of a run that begins. */
#define SESSION_OF(its_options, its_sink) \
    { \
        .options = (its_options), .asked = (its_options)->plan, .sink = (its_sink), .worker = {.fd = -1, .errors = -1}, \
        .counter = {.fd = -1, .errors = -1}, .ceilings = {.fd = -1, .errors = -1}, .gpu_lock = -1, .start_s = clock_s() \
    }

/* Is the row still to be run? One that is not made yet is. */
static inline bool session_due(const struct session *s, int row)
{
    return !s->kept[row] && (!s->rows[row] || s->rows[row]->status == ROW_PLANNED);
}
/* Does this process run the row? */
static inline bool session_owns(const struct session *s, int row)
{
    return !s->elsewhere || !s->elsewhere[row];
}
/* Shows the user a warning or a note, with its remedy. */
void session_note(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void session_progress(struct session *s, const char *what);
/* The first command of every worker. */
json_t *session_setup(const struct session *s, bool compile_only);
/* Sends one command to a worker and passes events to `handle` (NULL: ignores them) until it is done. */
enum outcome { OUTCOME_DONE, OUTCOME_LOST, OUTCOME_FAILED, OUTCOME_DIED, OUTCOME_LATE, OUTCOME_GREEDY, OUTCOME_INTERRUPTED };
typedef void event_handler(struct session *s, const json_t *event);
enum outcome session_command(struct session *s, struct child *child, json_t *command, double limit_s, event_handler *handle,
                             struct error *err);
/* The event handler for stages, rows and environment. */
void session_event(struct session *s, const json_t *event);
/* Waits for the end of a command that was sent earlier. */
enum outcome session_answer(struct session *s, struct child *child, double limit_s, event_handler *handle, struct error *err);
/* Starts a worker, unless it runs, and sends its setup without waiting for it: several workers start up in parallel, and while compilers
 * work. */
bool session_launch(const struct session *s, struct child *child, struct error *err);
/* Sets up the worker that rows run in, or the server inside this process. */
bool session_ready(struct session *s, struct error *err);
/* Waits until a worker is set up; launches it if necessary. */
bool session_start(struct session *s, struct child *child, struct error *err);
/* *counts: true if this run counts. An error if counters are required but unavailable (count.c). */
bool session_counts(const struct session *s, bool *counts, struct error *err);
/* Asks the machine once, before any timing, so that refused counters and unknown metrics are reported early (on several GPUs, those that
 * the user named). False: they are required. session_count_launch sends the question, and the counting worker starts meanwhile;
 * session_count_check waits for the answer, the first time. */
void session_count_launch(struct session *s);
bool session_count_check(struct session *s, struct error *err);
/* True if the user named counters: the run then reports before the first row whether they are available. */
bool session_count_asked(const struct session *s);
/* ahead.c. Asks the worker to make the library's plans of the case that begins with that row, and with `further` those of later cases;
 * session_start of the worker ends that. */
void session_ahead(struct session *s, int first, bool further);
/* The rows of the next case, from that row on, that will run or be timed, first those that are not verified yet: *due of them. Caller frees
 * `at`. */
struct member_rows session_next(const struct session *s, int first, int *due);
/* True if every verified row is timed together with the others of its case. */
bool session_times(const struct session *s);
/* Asks the worker, which waits for compilers, to make library plans and `data` of upcoming cases; also opens the counters, once. Called
 * repeatedly while compilers work. */
void session_early(struct session *s, bool data);
bool session_ahead_settle(struct session *s, struct error *err);
/* Counts hardware counters of verified rows, into s->rows. Timed rows wait until there are enough of them (due) or no more come. Errors
 * are reported and affect only counters, unless they are required. */
void session_count_later(struct session *s, int first, int last);
bool session_count_due(const struct session *s);
bool session_count(struct session *s, struct error *err);
/* Puts the seed of the run into `asked`. */
bool session_seed(struct session *s, struct error *err);
/* Opens device, plan, compiler and store (open.c). */
bool session_open(struct session *s, struct error *err);
/* Takes device and worker of the previous run of the same command. False: there is none. */
bool session_take_kept(struct session *s);
/* Leaves the worker to the next run, if there can be one. */
void session_keep(struct session *s);
/* The same with the processes of several GPUs, which wait. Takes the array. */
struct gpu;
void session_keep_gpus(const struct session *s, struct gpu *gpus, int count);
void session_kept_add(struct session_kept *kept, struct gpu *gpus, int count);
/* Takes them out, malloc'd; NULL: none. */
struct gpu *session_kept_gpus(struct session_kept *kept, int *count);
/* Makes rows first .. last-1 anew. */
void session_make_rows(struct session *s, int first, int last);
/* All rows of the plan, on all cores; there are none yet. */
void session_make_all_rows(struct session *s);
/* Makes the rows (with several GPUs their processes do), takes over those of an interrupted run, writes the run's provenance. `kept`: how
 * many were taken over. */
bool session_rows(struct session *s, int *kept, struct error *err);
/* resume.c. The key of a row on the GPU with that UUID, which is of the run's kind. */
void session_row_key(const struct session *s, int row, const char *uuid, char out[HASH_TEXT]);
/* Marks the rows first .. last-1 that need no masks: those that another process runs, and those that the previous run hands over, by their
 * keys. [0] is `first`. NULL: none. */
bool *session_known(const struct session *s, int first, int last, char (*keys)[HASH_TEXT]);
/* Takes over rows with an unchanged key from the last run of this shard, which then continues (*same_run), and from every other run of
 * the database. A case stays on one GPU. Returns the number of rows, or -1 on error, and notes why the others run again. `stale`, by row:
 * taken over, but to be stored again. */
int session_resume(struct session *s, bool *same_run, bool *stale, struct error *err);
/* Starts in parallel what the rows will need: the worker, the ceilings, compilers on all cores, then the counting worker. Nothing is
 * timed before all are ready. False: the store failed. */
bool session_prepare(struct session *s, struct error *err);
/* The machine's ceilings (roofs.c): reads them from the database, or measures them now in a process of their own, for which
 * session_roofs_settle waits, stores them and sets the rows' roofs. Notes missing ceilings. */
void session_roofs(struct session *s);
/* True if they are to be measured, and nothing was asked for yet. */
bool session_roofs_lacks(const struct session *s);
void session_roofs_launch(struct session *s);
bool session_roofs_settle(struct session *s, struct error *err);
/* Adds the roof of a row as metrics. */
void session_row_roof(const struct session *s, int index);
/* A verified row whose time is below the highest lower bound of its work becomes `impossible`. False with err if bench cannot make the
 * mask. */
bool session_row_judge(struct session *s, int index, struct error *err);
/* Fills the compiler's cache on all cores, for all rows, before any timing (compile.c). Compiler errors are reported later, when the row
 * is verified. Verifies rows meanwhile, if their cases will be timed as a whole. */
bool session_precompile(struct session *s, struct error *err);
/* Takes what the compilers said. True: some are still at work. */
bool session_compile_hear(struct session *s);
/* True if no compiler works for that row. */
bool session_compiled(const struct session *s, int row);
/* verify.c. Verifies one row alone. False: the run ends. */
bool session_verify(struct session *s, int row, struct error *err);
/* The row's status, with its reason. */
void session_condemn(struct session *s, int row, enum row_status status, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* If bench cannot make data or a reference, no row is at fault: the case's rows stay unjudged, the other cases run, and the error is
 * reported at the end. */
void session_lose_case(struct session *s, int row, const struct error *why);
/* Does the worker make data or a reference? */
bool session_at_data(const struct session *s);
/* Attributes a death, a hang or a failure to the row. False, with *why in *err: no row is at fault. */
bool session_end_row(struct session *s, int row, enum outcome outcome, const struct error *why, struct error *err);
/* The rows that a chain's links run, for a command. */
struct member_rows session_choice(const struct session *s, int row);
/* Chooses a chain's rows among the verified rows of its layers, which precede it. False: there are none; the row's reason says so. */
bool session_choose(struct session *s, int row);

/* Stores rows now, or says them to the parent of a GPU's process; without those that are elsewhere. */
bool session_store(struct session *s, int first, int last, struct error *err);
/* Adds to the run's environment. Takes the reference. */
bool session_environment(struct session *s, json_t *environment, struct error *err);
/* To the parent of a GPU's process. Takes the reference. */
void session_say(struct session *s, json_t *message);
/* Ends its workers and frees everything. */
void session_close(struct session *s);
/* fed.c. Checks the GPU with short kernels and says what they gave; nothing on emu. */
void session_check(struct session *s);
/* Makes data of the case that will probably be the first, while the parent compiles; the next command ends that. */
void session_prepare_first(struct session *s);
/* Makes the rows of all cases while the parent compiles, so that its GPU does not wait for those of a mask or a network. */
void session_make_ahead(struct session *s);
/* Takes the next case of a GPU's process, and makes its rows. Returns its index or a feed_word; FEED_END also on an
 * error. */
int session_take_case(struct session *s, int *first, int *last, struct error *err);
/* split.c. How many processes are to run the cases, on emu; 1: this run does it by itself. */
int session_parts(const struct session *s);
/* Runs what is due in so many processes. The rows are those of one process, in the same order. */
bool session_split(struct session *s, int count, struct error *err);
/* fleet.c. A run on several GPUs of this host: as session_run. */
bool session_fleet(const struct session_options *options, const struct session_sink *sink, struct session_result *result,
                   struct error *err);
/* Stores rows, all at once, as soon as a worker has its next command, so that no worker waits for the disk. False: an earlier store
 * failed. */
bool session_put(struct session *s, int first, int last, struct error *err);
/* Stores and shows postponed rows; the next session_put returns an error that occurs here. */
void session_settle(struct session *s);
/* The same from time to time while the parent waits for a worker. */
void session_settle_beside(struct session *s);
/* Counts as storing only the time that the parent would otherwise have spent waiting for the worker. Call session_waited before the
 * wait and session_settled after it. */
double session_waited(struct session *s);
void session_settled(struct session *s, double waited_s);
/* At the end: stores the rest, and the time spent in each phase. */
bool session_spent(struct session *s, struct error *err);
/* What the caller learns of a run that ended, with the time of the run before it (NULL: none). */
void session_sum(struct session *s, const struct session_result *before, struct session_result *result);
/* gate.c. Compiles the rows of both sides and skips those that both sides launch identically. False: an error that is not a row's. */
bool session_gate_identify(struct session *s, struct error *err);
/* Sets the verified rows of a case that form pairs, with the library's first one, in a command. Caller frees `rows` and `pairs`. */
void session_gate_rows(struct session *s, int first, int last, struct message *m);

/* decide.c: times the variants that rules of the plan name (`race:`), for layers without a stored choice, and stores the fastest. Leaves
 * the device and its worker, or the processes of its GPUs, as they were; *decided: the plan must be made again. */
bool session_decide(struct session *s, bool *decided, struct error *err);
/* begin.c: finds, locks and opens the device of the options. */
bool session_find(struct session *s, struct error *err);
/* probe.c: a device as JSON. */
bool session_device_read(const json_t *event, struct session_device *out, struct error *err);
json_t *session_device_write(const struct session_device *device);
/* Starts a worker that opens the device, and does not wait for it. */
void session_probe_launch(const struct session_probe *ask, struct child *child);
/* Hands the device and its worker to another session, and takes them back. */
struct session_kept *session_lend(struct session *s);
bool session_take_back(struct session *s, struct session_kept *kept);
/* ablate.c: times the parts of each verified row of a case that offers them; a failure only becomes a note of the row. */
bool session_ablate(struct session *s, int first, int last, struct error *err);

/* remember.c. Reads the stored configurations, as plan_options.tuned wants them, from the run's own database; *list is NULL if there are
 * none. wins: marks the one that a rule takes. since: choices of rules of that time (date_now) or later are measured, not stored. */
bool session_remembered(const char *database, const struct session_device *device, bool wins, const char *since, struct tuned_config **list,
                        struct error *err);
void session_remembered_free(struct tuned_config *list);
/* Drops those of layers that the plan does not have: a database may have thousands, and each worker is sent the list. */
void session_forget_others(struct tuned_config *list, const struct plan *plan);
/* After the plan and the store: notes each row that runs a stored configuration whose source has changed since. */
bool session_judge_remembered(struct session *s, struct error *err);
/* The rows of a case are compared: by their times or, on a device that keeps none, by predicted ones. */
bool session_compares(const struct session *s);
/* Stores the best configuration of each variant of a case that was searched. */
bool session_learn(struct session *s, int first, int last, struct error *err);
