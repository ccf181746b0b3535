/* session/parent: what the parent of a run holds; private to session/. */
#ifndef BENCH_SESSION_PARENT_H
#define BENCH_SESSION_PARENT_H

#include "session/child.h"
#include "session/session.h"
#include "session/worker.h"

struct session {
    const struct session_options *options;
    const struct session_sink *sink;
    struct session_device device;
    struct plan_options asked; /* options->plan, with what --tuned adds */
    struct plan plan;
    struct store *store;
    struct run run;
    struct row **rows;
    bool *kept;           /* by row: taken over from the interrupted run */
    char compiler[96];
    char **remembered;    /* plan.tuned */
    struct child worker;
    struct worker *inside; /* --in-process */
    json_t *inside_events;
    int stage_row;         /* what the worker announced last */
    char stage[24];
    double deadline_s;
    double start_s;
    int done;
    bool interrupted;
};

/* A warning or a piece of news, with its remedy, to whoever prints. */
void session_note(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void session_progress(struct session *s, const char *what);
/* The first command of every worker. */
json_t *session_setup(const struct session *s, bool compile_only);
/* Opens device, plan, compiler and store (begin.c). */
bool session_open(struct session *s, struct error *err);
/* Makes the rows, takes over those of an interrupted run, writes the run's provenance. `kept`: how many were taken over. */
bool session_rows(struct session *s, int *kept, struct error *err);
/* Fills the compiler's cache with a few workers (precompile.c); what goes wrong there is told when the row's turn comes. */
void session_precompile(struct session *s);

/* wisdom.c. What was remembered for --tuned, as plan_options.tuned wants it, from the run's own database; *list is NULL when there is none. */
bool session_remembered(const char *database, const struct session_device *device, const char *compiler, char ***list, struct error *err);
void session_remembered_free(char **list);
/* After the plan and the store: says of each row that runs a remembered point when its source has changed since. */
bool session_judge_remembered(struct session *s, struct error *err);
/* Remembers the best point of each variant of a case that was searched. */
bool session_learn(struct session *s, int first, int last, struct error *err);

#endif
