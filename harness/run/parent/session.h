/* run/parent/session: turns a scenario into rows in the store, through workers that may die.
 *
 * The parent owns the plan, the watchdog and
 * the only database connection, and never loads a driver. Workers are this same executable started as `bench worker` with one socket (fd
 * 3) that carries JSON lines; run/message/verb.h defines them. */
#pragma once

#include "base/error.h"
#include "run/message/server.h"
#include "plan/rows/plan.h"
#include "plan/scenario/scenario.h"
#include "store/store.h"
#include <signal.h>

/* Callbacks for events of a run; all optional. The session owns the rows. */
struct session_sink {
    void *context;
    void (*begin)(void *context, const struct run *run, const struct plan *plan, int kept);
    void (*progress)(void *context, int done, int total, double seconds, double eta_s, const char *what);
    void (*case_done)(void *context, const struct run *run, struct row *const *rows, int count);
    void (*note)(void *context, const char *text); /* a warning, with its remedy */
};
/* A run that compares the two sides of its plan (cuda): skips rows that both sides launch identically, and times the others in pairs,
 * until each is decided or has had its rounds. */
struct session_gate {
    double alpha;                                     /* the error rate of the whole run */
    double (*margin)(void *context, const char *row); /* share of a time that may change */
    void *context;
};
enum feed_word { FEED_END = -1, FEED_COUNT = -2 }; /* no more cases; none yet: count the rows that wait for it */
/* With a case: rows of it or of its layers that exist (packed, wire_rows_next), until the next call; the case that may follow (-1:
 * unknown). */
struct session_given {
    const json_t *rows;
    int ahead;
};
/* How a process that has one GPU of several works for its parent, which stores what it says: it asks for one case after the other. */
struct session_feed {
    void *context;
    /* The next case, or one of enum feed_word. */
    int (*next)(void *context, struct session_given *given);
    /* Takes the reference. */
    void (*say)(void *context, json_t *message);
    const char *place;                /* what the column `where` says of it: "cuda:2", "emu#2" */
    const char *uuid;                 /* of the GPU; "" on emu */
    const struct plan *plan;          /* as the parent made it */
    struct session_kept **opened;     /* its GPU, if it was opened before there was a plan */
    const struct ceiling_list *roofs; /* of this GPU; count 0: not known yet */
    int changed;                      /* pairs of a gate with different launches, on all GPUs together */
    int ahead;                        /* the case that will probably be the first; -1: unknown */
    bool shares;                      /* the cores with others, which each run a part of one emulated run */
};
/* State that a run leaves for the next run of the same command and scenario: its worker, which has the device open, and the lock of the
 * GPU. */
struct session_kept;
void session_kept_free(struct session_kept *kept);
#define SHARDS_MAX 100000
struct session_options {
    struct plan_options plan;
    const struct session_gate *gate; /* NULL: times every row together with the library's */
    const char *database;            /* path; its folder is made */
    const char *out_dir;             /* dumps and reports */
    const char *argv;                /* for provenance */
    const char *tried;               /* bench try: the first variant under trial; NULL: another command */
    const char *verb;                /* the command and its output folder (NULL: none given), for the next run */
    const char *asked_out;
    const char *revision;            /* of the tree that the kernels come from; NULL: unknown */
    struct plan_lacks *lacks;        /* receives what the plan lacks (plan_options.may_lack); NULL: not wanted */
    const char *gpus;                /* "all", "0,2", "0-3": several GPUs of this host, a process each; NULL: one device */
    bool on_every_gpu;               /* each row on all of them: cases have an axis `gpu` */
    const struct session_feed *feed; /* of such a process; NULL: this process has the whole run */
    int shard, shards;               /* run only this shard of the plan, 1 .. shards; 0: all of it */
    bool resume;
    bool tuned;                          /* uses for each variant the configuration stored for the layer in `database`, if there is one */
    bool decides;                        /* a rule's choice for a layer is stored in `database`; one that is not is measured first */
    bool dump;                           /* write tensors and error map of wrong rows */
    const struct message_server *inside; /* the server in this process, for debuggers; NULL: worker processes */
    bool as_given;                       /* only the scenario's own densities: the interval of a break-even stays as wide as they leave
                                            it (cli/) */
    bool ablate;                         /* times each part that a head offers to leave out */
    bool no_time;                        /* verify only, also on cuda */
    struct session_kept **kept;          /* takes the state of the previous run from here and stores its own (NULL in it: none yet);
                                            NULL: ends with the run */
    const struct session_result *before; /* the previous run of the same command; NULL: none */
    /* On a device that keeps no time: the predicted times of a case's rows, NaN: none. A search of rules goes by them; NULL: no search, no
     * race. */
    void (*predict)(const struct run *run, struct row *const *rows, int count, double *ns);
    double time_limit_s;                /* for one run of a row's steps; 0 = 10 s on cuda, 60 s on emu */
    volatile sig_atomic_t *interrupted; /* set by a signal handler; may be NULL */
};
struct session_result {
    int64_t run_id;
    int rows, kept;
    double seconds; /* of this command, including its earlier runs */
    double spent_s[PHASE_COUNT];
    double first_round_s;      /* from the start of the command; 0: none was timed */
    double started_s, ended_s; /* of this command, as clock_s counts */
    bool interrupted;
};
/* Runs a scenario. False only for errors that stop everything; wrong rows are rows. */
bool session_run(const struct session_options *options, const struct session_sink *sink, struct session_result *result, struct error *err);
/* The exit code for these rows: 4 if one failed (row_status_failed), else 0. */
int session_exit_code(struct row *const *rows, int count);

/* The facts of a device, from a worker that opened it: fills chip, about, uuid, driver. `interrupted`: as in session_options. */
struct session_device {
    char spec[64], about[160], uuid[64], driver[64];
    struct chip chip;
    char library[128];                             /* cuDNN's version; "" = none */
    char library_device[2048], library_state[512]; /* the library's description of the GPU, and what its choices depend on; "": unknown */
    char compiler[96];                             /* its name and version, "bundle" if only a bundle is available; "" if not asked */
};
/* spec NULL: the best device present (cuda:0, else emu). emu_chip: emu with the scenario's chip (scenario_emu). compiler and bundle as in
 * plan_options, to find the compiler's version; `compiles` false: do not look for a compiler. */
struct session_probe {
    const char *spec, *emu_chip, *compiler, *bundle;
    bool compiles;
    struct child *keep; /* receives the worker that has the device open; NULL: the worker is stopped */
};
/* Waits until no other run of bench uses the GPU that `spec` names (NULL: the best one present), and locks it (store/lock.h). Does not
 * open the GPU while waiting, so that the other run measures undisturbed. *fd -1: no GPU. `keep`: as in session_probe, but not NULL. */
bool session_hold(const char *spec, const struct session_sink *sink, struct child *keep, volatile sig_atomic_t *interrupted, int *fd,
                  struct error *err);
/* The same if the UUID is known; "" or NULL: no GPU. */
bool session_lock(const char *uuid, const struct session_sink *sink, volatile sig_atomic_t *interrupted, int *fd, struct error *err);
bool session_device(const struct session_probe *ask, volatile sig_atomic_t *interrupted, struct session_device *out, struct error *err);

/* Measures the ceilings of a cuda device in a temporary worker, which takes some seconds. note: what it could not measure. */
bool session_roofs_measure(const char *spec, const char *compiler, const char *bundle, volatile sig_atomic_t *interrupted,
                           struct ceiling_list *out, char *note, size_t note_bytes, struct error *err);
