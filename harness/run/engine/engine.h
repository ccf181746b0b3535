/* run/engine/engine: runs the shards of one plan on other machines, by what starts processes there: Slurm, Kubernetes, ssh, or this host.
 *
 * A job is a folder with everything that a task needs: bench itself, its data, the compiled bundle, the scenario, and job.json. A task runs
 * one shard (task.h) and hands its database over; bench adds no scheduler. Only the files that tasks hand over say what is done: engines
 * forget jobs, have no accounting, and run a task twice. */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include <jansson.h>
#include <stdbool.h>

/* What the engine knows of a shard's task. */
enum engine_state { ENGINE_UNKNOWN, ENGINE_NONE, ENGINE_PENDING, ENGINE_RUNNING };
struct job_shard {
    bool done, joined;
    const char *state;  /* of its last status: "running", "done", "stopped", "failed"; NULL: none landed yet */
    char part[160];     /* file in JOB/parts that has the most rows; "": none */
    char host[64];      /* where that was made */
    long long rows, of; /* rows of that part, and of the shard; of < 0: not known yet */
    double seconds;     /* that its run took */
    int code;           /* exit status of its run; -1: runs, or not known */
    int tries;          /* how often it was submitted by this process since its part grew last */
    long long tried;    /* rows of its part then */
    double missing_s;   /* when the engine was first seen without a task of it; 0: it has one */
    double ended_s;     /* when the engine was first seen with a task that has ended; 0: it runs */
    enum engine_state task;
    char where[64], name[64], why[200]; /* node, the engine's own name of the task, pending reason in words; "" */
};
struct engine;
struct job {
    char *folder, *id;
    const struct engine *engine;
    json_t *facts; /* job.json */
    json_t *keys;  /* in it: the words of --on and of the system file, name to text */
    int shards;
    struct job_shard *shard; /* [shards] */
    char **seen;             /* statuses of finished copies, by file name, which need not be read again */
    int seen_count;
    void *own;               /* the engine's state in this process; freed by engine_free */
    double began_s, asked_s; /* when the engine was asked first, and last */
    char note[256];          /* the last trouble with the engine (slurmctld does not answer); "" */
};

/* A back end: at most these seven functions. `wanted`: [job->shards]. */
struct engine {
    const char *name, *about;
    /* Before anything is written: tools, limits, keys. May set keys to their defaults. */
    bool (*check)(struct job *job, struct error *err);
    /* What it submits, as text for --print and JOB/NAME.SUFFIX. `first`: added to the engine's index to get the shard. */
    bool (*script)(struct job *job, int first, struct text *t, struct error *err);
    /* Starts those shards. */
    bool (*submit)(struct job *job, const bool *wanted, struct error *err);
    /* Sets task, where, name and why of every shard. An engine without a daemon also starts the next tasks here. */
    bool (*poll)(struct job *job, struct error *err);
    /* Takes what the task printed (key handover=output) into JOB/parts. NULL: its log is a file in JOB/logs. */
    bool (*fetch)(struct job *job, int shard, struct error *err);
    bool (*logs)(const struct job *job, int shard, struct text *t, struct error *err);
    /* shard -1: all. */
    bool (*cancel)(struct job *job, int shard, struct error *err);
};
extern const struct engine engine_local, engine_ssh, engine_srun, engine_slurm, engine_k8s;
const struct engine *engine_find(const char *name);

/* ---- keys ---- */

/* Reads "ENGINE[:KEY=VALUE,...]", "FILE.yaml[:KEY=VALUE,...]" or the name of a system file in ~/.config/bench. A comma without a key
 * continues the value: exclude=n1,n2. A new json object; the caller owns it. */
bool engine_keys(const char *on, const struct engine **engine, json_t **keys, struct error *err);
/* The value of a key, or NULL. */
const char *job_key(const struct job *job, const char *key);
/* A count, `otherwise` if the key is absent. engine_keys has checked that it is one. */
int job_count(const struct job *job, const char *key, int otherwise);
/* Of a task: the key `cpus`, else by the number of its GPUs. */
int job_cores(const struct job *job);

/* ---- the job's folder ---- */

/* A new job with these keys (taken over), whose folder will be DIR/ID, or below folder=. Writes nothing. */
bool job_make(struct job *job, const struct engine *engine, json_t *keys, const char *dir, const char *scenario, struct error *err);
void job_shards(struct job *job, int shards);
/* Makes the folder, and a link to it in DIR. */
bool job_dirs(struct job *job, const char *dir, struct error *err);
/* Copies bench and its data into the folder. */
bool job_pack(const struct job *job, struct error *err);
/* Copies a file or a folder as it is. */
bool job_copy(const char *from, const char *to, struct error *err);
/* Copies a file or folder that a task needs into JOB/input; a YAML file with the files that it names. Returns the task's path of it,
 * relative to JOB/input. NULL on error. Caller frees. */
char *job_take(const struct job *job, const char *path, struct error *err);
bool job_write(const struct job *job, struct error *err);
bool job_open(const char *folder, struct job *job, struct error *err);
void job_free(struct job *job);
/* Reads what landed in JOB/parts. */
bool job_scan(struct job *job, struct error *err);
/* Adds an id of the engine to job.json. */
bool job_add_id(struct job *job, const char *id, struct error *err);
const char *job_text(const struct job *job, const char *fact);
long long job_number(const struct job *job, const char *fact);
/* Appends the newest log of a shard in JOB/logs, whose name ends in .SHARD.log. */
bool job_logs(const struct job *job, int shard, struct text *t, struct error *err);
/* Takes the last whole part out of a text that a task printed. False without error: there is none. */
bool job_unwrap(const struct job *job, int shard, const char *text, struct error *err);
/* The words with which an engine starts the shard `index` (a shell word, from 1): "JOB/bin/bench jobs task JOB INDEX". */
void job_command(const struct job *job, const char *index, struct text *t);
/* The commands of the keys modules and setup, each followed by `end`. */
void job_setup(const struct job *job, const char *end, struct text *t);

/* Slurm's part of the keys: one task's options, each between two texts; and its check of them. */
void slurm_words(const struct job *job, const char *before, const char *after, struct text *t);
bool slurm_check(struct job *job, struct error *err);
/* No daemon starts the tasks, but the process that waits for them. */
bool job_is_here(const struct job *job);

/* ---- programs ---- */

/* Runs it, its output into *out (may be NULL). Its exit status; -1 and an error if it cannot be run or takes too long. */
int engine_ask(const char *const *argv, double seconds, struct text *out, struct error *err);
/* The same for a line of the shell. */
int engine_shell(const char *line, double seconds, struct text *out, struct error *err);
