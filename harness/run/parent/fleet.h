/* run/parent/fleet: several GPUs of one host, or several processes on emu: each takes one case after the other from the parent; the
 * parent alone stores. Private to run/parent. */
#pragma once

#include "run/parent/health.h"
#include "run/parent/parent.h"

/* Which case a GPU takes next: of those that are ready the one with the most work from its start to the end of the run, with that of a
 * network that needs it. */
enum case_state { CASE_WAITING, CASE_RUNNING, CASE_RUN, CASE_DONE }; /* RUN: but its rows wait to be counted */
struct case_queue {
    int count, *order;      /* with the most work first */
    enum case_state *state; /* by case */
    int *gpu;               /* by case: that runs it or has run it; -1: none */
    int *tries;             /* by case: GPU processes that died with it */
    int *pin;               /* by case: the only GPU that may run it; -1: any */
    int *ahead, *passed;    /* by case: the GPU that prepares it; -1: none. How often others have left it to that GPU */
    bool **needs;           /* by case: the cases that must have run before; NULL: none */
    int head, left;         /* position of the first case in the order that may be free; how many cases are not done */
    int waiting;            /* how many are free */
};
void queue_init(struct case_queue *q, const double *seconds, int count);
/* Orders them anew, when the needs are known. */
void queue_order(struct case_queue *q, const double *seconds);
void queue_free(struct case_queue *q);
/* The next case for a GPU, which then runs there; -1: none is ready. */
int queue_take(struct case_queue *q, int gpu);
/* The case that a GPU may prepare while it runs another; others prefer cases that no GPU prepares. -1: none. `former`: what this returned
 * last; it is no longer prepared. */
int queue_ahead(struct case_queue *q, int gpu, int former);
/* The GPU has run it: networks need no more. */
void queue_run(struct case_queue *q, int index);
/* True if the GPU is not done with it. */
bool queue_is_at(const struct case_queue *q, int index, int gpu);
void queue_done(struct case_queue *q, int index);
/* The GPU's process is gone: its cases wait again. Those that have had `most` processes are returned in *lost (malloc'd) instead. */
int queue_return(struct case_queue *q, int gpu, int most, int **lost);

/* Why a GPU had no case to run: others were being checked; a network waited for its layers; no case was left. */
enum idle { IDLE_START, IDLE_LAYERS, IDLE_END, IDLE_COUNT };
struct gpu {
    char spec[64], place[64], uuid[64], pci[32], number[16], where[330];
    int place_in_list; /* its number */
    struct child child;
    bool asks, ended, given_up;
    bool rests; /* its run is over; its process ends, or waits for the plan of the next run */
    double asked_s, idle_s[IDLE_COUNT];
    int deaths;        /* since it last finished a case */
    int last;          /* the case that it runs or has run */
    int running, rows; /* cases that it has and is not done with, because it runs them or has not counted them */
    int ahead;         /* the case that it prepares; -1: none */
    char doing[160];
    int threads; /* of its process; 0: one for each core */
    struct ceiling_list roofs;
    double spent_s[PHASE_COUNT], run_s[PHASE_COUNT]; /* of the command, and of this run of it */
    bool had_turn;                                   /* it has counted while others measured */
    bool early;                                      /* its process opens it before there is a plan */
    bool ready;                                      /* its first check is over, or it needs none */
    struct gpu_check check;                          /* the first; no rates: none */
    enum health health;
    char label[320]; /* a note of its rows; "": none */
};
/* A run on several GPUs. */
struct fleet {
    struct session *s;
    struct gpu *gpus;
    int count;
    struct case_queue queue;
    int *first;      /* by case: its first row; [case_count] is behind the last */
    double work;     /* of all cases, in counts of a row */
    bool *wanted;    /* by case: its rows are needed until the end, because it is a network or a layer of one */
    json_t *choices; /* of the networks' rows that ran: [[row, links], ...] */
    bool *dirty;     /* by row: received, not stored yet */
    int running;     /* cases that GPUs have */
    int *received, received_count;
    int *over, over_count;           /* cases that are finished, and shown when they are stored */
    double stored_s, rest_s, told_s; /* the last transaction, the last of all rows, the last progress line */
    int poll;                        /* epoll: of the sockets of all processes */
    struct error fault;              /* of a GPU that has ended its cases, or of the last one that was given up */
    char **said;                     /* notes, each once */
    int said_count;
    bool shared;    /* processes that share one emulated chip: what they say is as if one had said it, and cases are shown in order */
    int shown;      /* cases, of those */
    bool passed_on; /* the interruption */
    bool judged;    /* the GPUs were compared */
    double judged_s;
    double began_s; /* when they were first listened to; 0: nothing was due */
    int aa_checks, aa_alarms;
    const char **numbers; /* of the GPUs, for plan_options */
};

/* Makes the queue and the index of cases, from the plan and the cases' costs. */
void fleet_index(struct fleet *f, const double *seconds);
/* Behind the last row of a case. */
int fleet_case_end(const struct fleet *f, int c);
/* How many of its rows run and are counted. */
int fleet_rows(const struct fleet *f, int c);
/* Gives cases to the GPUs that ask for one. If none is ready, or the others can run what is left meanwhile, a GPU counts the rows that wait
 * for it, which ends its cases. Then it waits for others, whose cases a network may need, and which may lose them. */
void fleet_assign(struct fleet *f);
/* A network may have run before its layers were counted: adds what follows from their counts. */
void fleet_complete(struct fleet *f);
/* The row is to be stored. */
void fleet_receive(struct fleet *f, int row);
/* Serves the processes until all have ended. */
bool fleet_serve(struct fleet *f, struct error *err);
/* Runs what is due, on f->gpus. */
bool fleet_run(struct fleet *f, struct error *err);
/* Starts the process of the first GPU, which lists them all and then opens its own. Leaves f->gpus NULL where it cannot. False: there are
 * no GPUs as the option says. */
bool fleet_list(struct fleet *f, struct error *err);
/* All processes open their GPUs at once; what the first one finds is the device of the run. False: none is known, and no process runs. */
bool fleet_open(struct fleet *f);
/* Ends all processes; those of the next plan are new. */
void fleet_stop(struct fleet *f);
/* Lends the processes, which wait for a plan, to another run, and takes them back: NULL, none is left. */
struct session_kept *fleet_lend(struct fleet *f);
void fleet_take_back(struct fleet *f, struct session_kept *kept);
/* Ends what still runs, and frees everything but the session. */
void fleet_close(struct fleet *f);

/* The GPUs that the option names. False: the option, or no such GPU. `keep` receives the worker that listed them. */
bool gpu_list(const char *option, const char *device, struct child *keep, volatile sig_atomic_t *interrupted, struct gpu **gpus, int *count,
              struct error *err);
/* Adds the seconds by phase that the process of a GPU said; returns their sums. */
json_t *gpu_spent(struct gpu *g, const json_t *spent);
/* Divides the parent's waiting time into the phases of the GPUs that it waited for, in proportion. */
void gpu_share_time(struct phase_clock *clock, const struct gpu *gpus, int count);
/* Starts the process of a GPU: a copy of this one, on the CPU cores beside the GPU. */
bool gpu_start(struct session *s, struct gpu *gpus, int count, int index, struct error *err);

/* Gives the next plan, and the case that will probably be its first (-1: unknown), to a process that waits for it. False: it is gone. */
bool gpu_again(const struct session *s, struct gpu *g, int ahead);
