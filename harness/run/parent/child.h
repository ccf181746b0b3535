/* run/parent/child: a worker process as the parent sees it: commands out, events in, a deadline, and its last words. */
#ifndef BENCH_SESSION_CHILD_H
#define BENCH_SESSION_CHILD_H

#include "base/clock.h"
#include "base/error.h"
#include "run/message/verb.h"
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
    pid_t pid;   /* 0: not running */
    int fd;      /* socket: JSON lines both ways */
    int errors;  /* a memory file that holds what it wrote to stderr */
    pid_t guard; /* ends the worker's process group when nobody holds the other end of its pipe, which is `guarded` */
    int guarded;
    char *buffer;
    size_t used, cap;
    bool launched, ready; /* its setup was sent; and answered */
    size_t memory_max;    /* bytes that it may hold (CHILD_GREEDY); 0: no limit */
    int ahead;            /* commands that were sent and nobody has waited for yet: behind the setup, or while others are asked */
};
enum child_event { CHILD_EVENT, CHILD_DIED, CHILD_LATE, CHILD_INTERRUPTED, CHILD_GREEDY };
/* What a compiler may take: 8 GiB, or half of the machine's memory where that is less. BENCH_COMPILE_MEMORY=MiB is another limit. */
size_t child_compile_memory(void);
/* From now on it may take that much more than it holds: what lies there of the data of other rows is no compiler's. */
void child_limit_memory(struct child *child, size_t more);

bool child_start(struct child *child, struct error *err);
/* Takes the reference to the command. False when the worker is gone. */
bool child_send(struct child *child, json_t *command);
/* Waits for the next event until `deadline_s` (CLOCK_MONOTONIC seconds; 0 = for ever). *event is a new reference on CHILD_EVENT. */
enum child_event child_next(struct child *child, double deadline_s, volatile sig_atomic_t *interrupted, json_t **event);
/* Waits for the first of `count` that has an event or is gone: its index; child_next tells which without waiting. Those with pid 0 are
 * passed over. -1: interrupted, too late (of a deadline that is past, nobody has said anything yet), or nobody is left. */
int child_any(const struct child *children, int count, double deadline_s, volatile sig_atomic_t *interrupted);
/* Kills (SIGKILL), reaps, frees. `how` (may be NULL) receives "killed by signal 11 (Segmentation fault)", "exited with 1", plus its last
 * line on stderr. True: it had been ended by the machine, not by what ran in it: killed from outside (an OOM killer), no memory, a limit of
 * the shell. */
bool child_stop(struct child *child, char *how, size_t how_bytes);
/* What a "failed" event says, as an error. False. */
bool child_failure(const json_t *event, struct error *err);
/* One command to a new worker: the event called `answer` (new reference), NULL + err otherwise. One that is killed from outside is asked
 * again. `who` begins the sentence of a worker that dies or does not answer in time. `keep`: the worker, when it has answered; one that
 * is there already is asked first, or only waited for, where it was sent the command ahead. NULL: it is thrown away. */
json_t *child_ask(const char *who, const json_t *command, enum event answer, double limit_s, struct child *keep,
                  volatile sig_atomic_t *interrupted, struct error *err);
/* How often a worker is started that dies before it takes up anything: killed from outside, short of memory. */
#define CHILD_TRIES 3

#endif
