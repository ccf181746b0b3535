/* run/engine/task: see task.h. */
#include "run/engine/task.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "run/engine/engine.h"
#include "store/lock.h"
#include "store/store.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#define TRIES 3 /* of a run that something outside killed, or that left rows unjudged */
#define EVERY_S 30
#define STALE_S (14.0 * 24 * 3600)
#define TURN_NS 50000000L
#define PART_MAX_BYTES ((size_t)4 << 30)

struct task {
    struct job job;
    int shard, lock;
    char *dir;      /* on the node's own disk */
    char name[128]; /* of the part: SHARD.HOST.PID-TIME */
    char host[64];
    bool output;
    double began_s;
    struct stat handed; /* of the database when it was copied last */
    struct store_counts counts;
};

static void task_close(struct task *t)
{
    lock_release(&t->lock);
    job_free(&t->job);
    free(t->dir);
}

/* A name that is plain in a file name. Slurm's name of the node: several may be on one host. */
static void host_name(char *host, size_t bytes)
{
    const char *node = getenv("SLURMD_NODENAME"), *pod = getenv("NODE_NAME");
    char own[64] = "host";
    gethostname(own, sizeof own - 1);
    snprintf(host, bytes, "%s", node && *node ? node : pod && *pod ? pod : own);
    for (char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
            *c = '-';
}

/* The first of: the key disk, SLURM_TMPDIR, TMPDIR, /tmp. The key may name variables. */
static char *disk(const struct job *job, struct error *err)
{
    const char *key = job_key(job, "disk"), *slurm = getenv("SLURM_TMPDIR"), *tmp = getenv("TMPDIR");
    wordexp_t words;
    if (!key)
        return xstrdup(slurm && file_is_dir(slurm) ? slurm : tmp && file_is_dir(tmp) ? tmp : "/tmp");
    if (wordexp(key, &words, WRDE_NOCMD | WRDE_UNDEF)) {
        error_set(err, ERROR_USAGE, "disk=%.80s: not a folder, or a variable in it is unset", key);
        return NULL;
    }
    char *dir = words.we_wordc == 1 ? xstrdup(words.we_wordv[0]) : NULL;
    wordfree(&words);
    return dir || error_set(err, ERROR_USAGE, "disk=%.80s: not one folder", key) ? dir : NULL;
}

static bool own_dir(const char *path)
{
    struct stat st;
    return (!mkdir(path, 0700) || errno == EEXIST) && !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == getuid();
}

/* What killed tasks of other jobs left here long ago. */
static void sweep(const char *mine)
{
    SCOPED char **names = NULL;
    int count = file_list(mine, "", &names, NULL);
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(mine, names[i]);
        struct stat st;
        if (!lstat(path, &st) && S_ISDIR(st.st_mode) && difftime(time(NULL), st.st_mtime) > STALE_S)
            file_remove_flat(path);
    }
}

/* The same folder for each task of the shard on this host, so that a task continues where a killed one ended; a folder of its own while
 * another copy of the task still runs here. */
static bool take_dir(struct task *t, struct error *err)
{
    SCOPED char *root = disk(&t->job, err), *mine = root ? text_format("%s/bench-%u", root, (unsigned)getuid()) : NULL;
    if (!root || !file_make_dirs(root, err))
        return false;
    t->dir = text_format("%s/%s.%d", mine, t->job.id, t->shard);
    SCOPED char *lock = file_join(t->dir, "task");
    if (own_dir(mine) && own_dir(t->dir) && lock_take(lock, &t->lock, NULL)) {
        sweep(mine);
        return true;
    }
    free(t->dir);
    t->dir = text_format("%s/bench-%s.%d.XXXXXX", root, t->job.id, t->shard);
    return mkdtemp(t->dir) || error_set(err, ERROR_ENVIRONMENT, "%s: cannot be made: %s", t->dir, strerror(errno));
}

static bool copy_file(const char *from, const char *to, struct error *err)
{
    size_t bytes;
    SCOPED char *data = file_read(from, PART_MAX_BYTES, &bytes, err);
    return data && file_write(to, data, bytes, err);
}

static json_t *status(const struct task *t, const char *state, int code)
{
    const char *array = getenv("SLURM_ARRAY_JOB_ID"), *index = getenv("SLURM_ARRAY_TASK_ID"), *restart = getenv("SLURM_RESTART_COUNT");
    SCOPED char *part = text_format("%s.db", t->name), *name = array && index ? text_format("%s_%s", array, index) : NULL;
    return json_pack("{s:i,s:s,s:i,s:I,s:I,s:s,s:i,s:s?,s:i,s:f,s:s?}", "shard", t->shard, "state", state, "exit", code, "rows",
                     (json_int_t)t->counts.rows, "of", (json_int_t)t->counts.planned, "host", t->host, "pid", (int)getpid(), "task", name,
                     "restart", restart ? atoi(restart) : 0, "seconds", clock_s() - t->began_s, "part", t->handed.st_size ? part : NULL);
}

/* Appends the part as text: a line of JSON, the file in base64, an end. */
static bool wrap(struct task *t, const char *part, json_t *told, struct text *text, struct error *err)
{
    char hash[HASH_TEXT];
    size_t bytes;
    SCOPED char *data = file_read(part, PART_MAX_BYTES, &bytes, err);
    const char *const argv[] = {"base64", part, NULL};
    if (!data)
        return false;
    hash_bytes(data, bytes, hash);
    json_object_set_new(told, "sha256", json_string(hash));
    SCOPED char *line = json_dumps(told, JSON_COMPACT);
    text_addf(text, "\nbench-part %s\n", line);
    bool ok = !engine_ask(argv, 600, text, err);
    text_add(text, "\nbench-part-end\n");
    return ok;
}

/* Copies the database if it has changed, then reports the state. A reader sees whole files only, because each is written under another name
 * and renamed. */
static bool hand_over(struct task *t, const char *state, int code, struct text *text, struct error *err)
{
    SCOPED char *database = file_join(t->dir, "bench.db"), *log = text_format("%s-wal", database), *part = file_join(t->dir, "part.db"),
                *parts = file_join(t->job.folder, "parts"), *to = text_format("%s/%s", parts, t->name), *to_part = text_format("%s.db", to),
                *to_status = text_format("%s.json", to);
    struct stat now = {0}, wal = {0};
    bool there = !stat(database, &now), final = strcmp(state, "running");
    if (!stat(log, &wal))
        now.st_size += wal.st_size, now.st_mtim = wal.st_mtim;
    bool changed = there && (now.st_size != t->handed.st_size || now.st_mtim.tv_sec != t->handed.st_mtim.tv_sec ||
                             now.st_mtim.tv_nsec != t->handed.st_mtim.tv_nsec);
    bool ok = !changed || (store_snapshot(database, part, &t->counts, err) && (t->output || copy_file(part, to_part, err)));
    if (ok && changed)
        t->handed = now;
    json_auto_t *told = ok ? status(t, state, code) : NULL;
    if (ok && t->output && final && there)
        ok = wrap(t, part, told, text, err);
    SCOPED char *line = ok && !t->output ? json_dumps(told, JSON_COMPACT) : NULL;
    ok = ok && (t->output || file_write(to_status, line, strlen(line), err));
    return ok;
}

/* The command of the run, in JOB/input. Frees nothing: exec or _exit follows. */
static void become_run(const struct task *t)
{
    SCOPED_TEXT shard = {0};
    const json_t *args = json_object_get(t->job.facts, "args");
    size_t count = json_array_size(args);
    const char **argv = xcalloc(count + 12, sizeof *argv);
    int n = 0;
    char *self = file_join(t->job.folder, "bin/bench"), *share = file_join(t->job.folder, "share"),
         *input = file_join(t->job.folder, "input"), *bundle = file_join(t->job.folder, "bundle");
    text_addf(&shard, "%d/%d", t->shard, t->job.shards);
    argv[n++] = self;
    argv[n++] = "run";
    for (size_t i = 0; i < count; i++)
        argv[n++] = json_string_value(json_array_get(args, i));
    const char *const own[] = {"--shard", text_get(&shard), "-o", t->dir, "--resume", "--no-report", "--quiet"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        argv[n++] = own[i];
    if (file_exists(bundle))
        argv[n++] = "--bundle", argv[n++] = bundle;
    setenv("BENCH_HOME", share, 1);
    if (!chdir(input))
        execv(self, (char *const *)argv);
    _exit(127);
}

/* Runs it once. Its exit status, 128 + the signal that ended it; -1 and an error. */
static int run_try(struct task *t, volatile sig_atomic_t *stop, struct error *err)
{
    pid_t parent = getpid(), above = getppid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody takes its rows */
        if (getppid() != parent)
            _exit(127);
        become_run(t);
    }
    if (pid < 0) {
        error_set(err, ERROR_MACHINE, "no process: %s", strerror(errno));
        return -1;
    }
    double every = job_count(&t->job, "every", EVERY_S), next = clock_s() + 1;
    bool told = false;
    for (int ended;;) {
        pid_t done = waitpid(pid, &ended, WNOHANG);
        if (done == pid)
            return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
        if (getppid() != above) /* slurmstepd or sshd is gone: nobody counts on this copy */
            *stop = 1;
        if (*stop && !told)
            told = !kill(pid, SIGTERM);
        if (clock_s() >= next && !t->output) { /* what fails here is tried again at the end */
            hand_over(t, "running", -1, NULL, NULL);
            next = clock_s() + every;
        }
        nanosleep(&(struct timespec){0, TURN_NS}, NULL);
    }
}

/* Continues with the rows that an earlier task of the shard handed over. */
static bool continue_part(struct task *t, struct error *err)
{
    const struct job_shard *s = &t->job.shard[t->shard - 1];
    SCOPED char *parts = file_join(t->job.folder, "parts"), *part = file_join(parts, s->part), *database = file_join(t->dir, "bench.db");
    return !s->part[0] || store_exists(database) || copy_file(part, database, err);
}

static bool run_shard(struct task *t, volatile sig_atomic_t *stop, struct text *text, int *code, struct error *err)
{
    bool complete = false;
    for (int tries = 0; tries < TRIES && !complete && !*stop; tries++) {
        if ((*code = run_try(t, stop, err)) < 0)
            return false;
        bool killed = *code > 128 && *code != 130;
        if (!killed && !hand_over(t, "running", *code, NULL, err))
            return false;
        complete = !killed && t->counts.ended && !t->counts.open; /* 4: with wrong rows */
        if (!killed && !t->counts.ended)
            break;
    }
    bool ok = hand_over(t, complete ? "done" : *stop || *code == 130 ? "stopped" : "failed", *code, text, err);
    if (complete)
        *code = 0;
    return ok;
}

bool task_run(const char *folder, int shard, volatile sig_atomic_t *stop, struct text *text, int *code, struct error *err)
{
    SCOPED_BY(task_close) struct task t = {.shard = shard, .lock = -1, .began_s = clock_s()};
    *code = 0;
    if (!job_open(folder, &t.job, err))
        return false;
    if (shard < 1 || shard > t.job.shards)
        return error_set(err, ERROR_USAGE, "%s has shards 1 to %d, not %d", folder, t.job.shards, shard);
    const char *handover = job_key(&t.job, "handover");
    t.output = handover && !strcmp(handover, "output");
    host_name(t.host, sizeof t.host);
    snprintf(t.name, sizeof t.name, "%04d.%s.%ld-%llx", shard, t.host, (long)getpid(), (unsigned long long)time(NULL));
    if (!job_scan(&t.job, err) || t.job.shard[shard - 1].done) /* a requeued copy of a task whose first copy went on to its end */
        return err->kind == ERROR_NONE;
    if (!take_dir(&t, err) || !continue_part(&t, err) || !run_shard(&t, stop, text, code, err))
        return false;
    if (!*code || !t.output) /* all that it has was handed over; what is printed may be lost */
        file_remove_flat(t.dir);
    return true;
}
