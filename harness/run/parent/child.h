/* run/parent/child: the parent's side of a worker process: sends commands, receives events, enforces deadlines, and reads its last line
 * of stderr. */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "run/message/verb.h"
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
    pid_t pid;   /* 0: not running */
    int fd;      /* socket: messages both ways (run/message/frame.h) */
    int errors;  /* a memory file that holds what it wrote to stderr */
    pid_t guard; /* kills the worker's process group when the other end of its pipe, `guarded`, is closed everywhere */
    int guarded;
    char *buffer; /* what is read lies from `taken` to `used` */
    size_t taken, used, cap;
    bool opens;           /* before its setup it was sent a command whose end the parent has not awaited yet */
    bool launched, ready; /* its setup was sent; and answered */
    size_t memory_max;    /* the limit of its memory in bytes (CHILD_GREEDY); 0: no limit */
    int ahead; /* commands that were sent and whose end the parent has not awaited yet: after the setup, or while other workers are
                  busy */
};
#define CHILD_NONE ((struct child){.fd = -1, .errors = -1, .guarded = -1}) /* no process */
enum child_event { CHILD_EVENT, CHILD_DIED, CHILD_LATE, CHILD_INTERRUPTED, CHILD_GREEDY };
/* The memory limit of a compiler: 8 GiB, or half of the machine's memory if that is less. BENCH_COMPILE_MEMORY=MiB replaces it. */
size_t child_compile_memory(void);
/* Limits its memory to the present use plus `more`: data of other rows that it already holds do not count against a compilation. */
void child_limit_memory(struct child *child, size_t more);

bool child_start(struct child *child, struct error *err);
/* Takes the reference to the command. False if the worker is gone. */
bool child_send(struct child *child, json_t *command);
/* Gives its buffer back if all of it was read: of many children few have a message at a time. */
void child_trim(struct child *child);
/* True if child_next has an event, or a part of one, without reading more. */
bool child_has_line(const struct child *child);
/* Waits for the next event until `deadline_s` (CLOCK_MONOTONIC seconds; 0 = for ever). *event is a new reference on CHILD_EVENT. */
enum child_event child_next(struct child *child, double deadline_s, volatile sig_atomic_t *interrupted, json_t **event);
/* The same. Until the child says something, calls `beside` again and again, until that returns false. */
enum child_event child_next_beside(struct child *child, double deadline_s, volatile sig_atomic_t *interrupted,
                                   bool (*beside)(void *context), void *context, json_t **event);
/* Waits for the first of `count` that has an event or is gone and returns its index; child_next then returns without waiting. Skips
 * those with pid 0. -1: interrupted, timed out (with a past deadline: no event yet), or none is left. */
int child_any(const struct child *children, int count, double deadline_s, volatile sig_atomic_t *interrupted);
/* Kills (SIGKILL), reaps, frees. `how` (may be NULL) receives "killed by signal 11 (Segmentation fault)", "exited with 1", plus its last
 * line on stderr. Returns true if the machine ended it and not its own code: an OOM killer, a lack of memory, a limit of the shell. */
bool child_stop(struct child *child, char *how, size_t how_bytes);
/* In a copy of the process: leaves the worker to the other. */
void child_leave(struct child *child);
/* Turns a "failed" event into an error. Returns false. */
bool child_failure(const json_t *event, struct error *err);
/* Sends one command to a new worker. Returns its event of kind `answer` (new reference), or NULL + err. If the worker is killed from
 * outside, a new one gets the command. If a worker dies or does not answer in time, the error begins with `who`. keep NULL: the worker is
 * stopped after its answer; else *keep keeps it. If *keep already holds a worker, that one is asked; if it was already sent the command,
 * the call only waits. */
json_t *child_ask(const char *who, const json_t *command, enum event answer, double limit_s, struct child *keep,
                  volatile sig_atomic_t *interrupted, struct error *err);
/* How many workers are started if they die before their first command: killed from outside, out of memory. */
#define CHILD_TRIES 3
