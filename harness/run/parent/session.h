/* run/parent/session: from a scenario to rows in the store, through workers that may die.
 *
 * The parent owns the plan, the watchdog and the only database connection, and never loads a driver. Workers are this same executable
 * started as `bench worker` with one socket (fd 3) that carries JSON lines; run/message/verb.h says which. */
#ifndef BENCH_SESSION_SESSION_H
#define BENCH_SESSION_SESSION_H

#include "base/error.h"
#include "run/message/server.h"
#include "plan/rows/plan.h"
#include "plan/scenario/scenario.h"
#include "store/store.h"
#include <signal.h>

/* Called as things happen; all optional. Rows stay the session's. */
struct session_sink {
    void *context;
    void (*begin)(void *context, const struct run *run, const struct plan *plan, int kept);
    void (*progress)(void *context, int done, int total, double seconds, double eta_s, const char *what);
    void (*case_done)(void *context, const struct run *run, struct row *const *rows, int count);
    void (*note)(void *context, const char *text); /* a warning, with its remedy */
};
/* A run that compares the two sides of its plan (cuda): rows that both launch alike are not run; the others are timed in pairs, until each
 * is decided or has had its rounds. */
struct session_gate {
    double alpha;                                     /* of the whole run */
    double (*margin)(void *context, const char *row); /* share of a time that may change */
    void *context;
};
/* What a run leaves for the next of the same command and scenario: its worker, which has the device open, and the lock of the GPU. */
struct session_kept;
void session_kept_free(struct session_kept *kept);
struct session_options {
    struct plan_options plan;
    const struct session_gate *gate; /* NULL: every row is timed beside the library's */
    const char *database;            /* path; its folder is made */
    const char *out_dir;             /* dumps and reports */
    const char *argv;                /* for provenance */
    const char *verb;                /* the command, and where it was asked to write (NULL: nowhere in particular), for the next one */
    const char *asked_out;
    const char *revision;     /* of the tree that the kernels are from; NULL: not known */
    struct plan_lacks *lacks; /* takes over what the plan lacks (plan_options.may_lack); NULL: nobody asks */
    bool resume;
    bool tuned; /* each variant at the configuration that was remembered for the layer in `database`, where there is one */
    bool dump;  /* write tensors and error map of wrong rows */
    const struct message_server *inside; /* serves in this process, for debuggers; NULL: workers do */
    bool as_given;                       /* no densities beside the scenario's own: a break-even stays as wide as they leave it (cli/) */
    bool ablate;                         /* what each part costs that a head offers to leave out */
    bool no_time;                        /* verify only, also on cuda */
    struct session_kept **kept;          /* taken from there, and left there (NULL in it: nothing yet); NULL: ends with the run */
    const struct session_result *before; /* what the same command did before in the same run; NULL: nothing */
    double time_limit_s;                 /* for one run of a row's steps; 0 = 10 s on cuda, 60 s on emu */
    volatile sig_atomic_t *interrupted;  /* set by a signal handler; may be NULL */
};
struct session_result {
    int64_t run_id;
    int rows, kept;
    double seconds; /* of this command, with what it did before */
    double spent_s[PHASE_COUNT];
    double first_round_s;      /* from the start of the command; 0: none was timed */
    double started_s, ended_s; /* of this command, as clock_s counts */
    bool interrupted;
};
/* Runs a scenario. False only for errors that stop everything; wrong rows are rows. */
bool session_run(const struct session_options *options, const struct session_sink *sink, struct session_result *result, struct error *err);
/* Exit code that the rows deserve: 4 when one failed (row_status_failed), else 0. */
int session_exit_code(struct row *const *rows, int count);

/* What a device would be opened as, asked in a worker: fills chip, about, uuid, driver. `interrupted`: as in session_options. */
struct session_device {
    char spec[64], about[160], uuid[64], driver[64];
    struct chip chip;
    char library[128];                             /* cuDNN's version; "" = none */
    char library_device[2048], library_state[512]; /* the GPU as it describes it, and what its choices depend on; "": not known */
    char compiler[96]; /* its name and version, "bundle" where only a bundle is to be had; "" when none was asked for */
};
/* spec NULL: the best present (cuda:0, else emu with the scenario's chip). compiler and bundle as in plan_options, for the version of what
 * will compile; with `compiles` false no compiler is looked for. */
struct session_probe {
    const char *spec, *emu_chip, *compiler, *bundle;
    bool compiles;
    struct child *keep; /* the worker that has the device open now; NULL: it is thrown away */
};
/* Waits until no other run of bench has the GPU that `spec` names (NULL: the best present), and has it until the lock is released:
 * store/lock.h. Not opened meanwhile, so that whoever measures on it is alone. *fd -1: no GPU. `keep`: as in session_probe, but not NULL.
 */
bool session_hold(const char *spec, const struct session_sink *sink, struct child *keep, volatile sig_atomic_t *interrupted, int *fd,
                  struct error *err);
bool session_device(const struct session_probe *ask, volatile sig_atomic_t *interrupted, struct session_device *out, struct error *err);

/* Measures the ceilings of a cuda device in a throw-away worker, some seconds. note: what could not be measured. */
bool session_roofs_measure(const char *spec, const char *compiler, const char *bundle, volatile sig_atomic_t *interrupted,
                           struct ceiling_list *out, char *note, size_t note_bytes, struct error *err);

#endif
