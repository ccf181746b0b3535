/* bench jobs: the jobs of `bench run --on`: what they do, their logs, and the joining of what they have measured. */
#include "cli/jobs.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "report/form/terminal.h"
#include "run/engine/task.h"
#include "run/engine/turn.h"
#include "store/lock.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TURN_NS 300000000L
#define KILLED 128 /* an exit status above it: a signal ended the process */
#define JOIN_TRIES 3
#define JOIN_S 7200
#define LOG_LINES 12 /* of a lost shard */

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
    if (stopped && number != SIGTERM)
        _exit(130);
    stopped = 1;
}

static void catch_stop(void)
{
    struct sigaction action = {.sa_handler = on_stop};
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

/* ---- finding a job ---- */

/* The only job whose name begins with the word; NULL word: the newest. */
static char *find_job(const char *jobs, const char *word, struct error *err)
{
    SCOPED char **names = NULL;
    char *found = NULL;
    int matches = 0;
    long long newest = -1;
    if (word && strchr(word, '/'))
        return xstrdup(word);
    int count = file_list(jobs, "", &names, NULL);
    for (int i = 0; i < count; i++) {
        const char *name = names[i];
        SCOPED char *path = file_join(jobs, name);
        SCOPED_BY(job_free) struct job job = {0};
        if ((word && strncmp(name, word, strlen(word))) || !job_open(path, &job, &(struct error){0}))
            continue;
        matches++;
        long long created = job_number(&job, "created");
        if (word || created > newest) {
            newest = created;
            free(found);
            found = xstrdup(path);
        }
    }
    if (matches == 1 || (matches && !word))
        return found;
    free(found);
    error_set(err, ERROR_USAGE, matches ? "%s: %d jobs begin with '%s'" : "%s: no job%.0d%s%s", jobs, matches, word && !matches ? " " : "",
              word ? word : "");
    error_hint(err, "bench jobs lists them; bench run SCENARIO --on slurm makes one");
    return NULL;
}

static bool open_job(const char *out, const char *word, struct job *job, struct error *err)
{
    SCOPED char *jobs = file_join(out, "jobs"), *path = find_job(jobs, word, err);
    return path && job_open(path, job, err) && job_scan(job, err);
}

/* ---- joining ---- */

/* `bench import --join` of the parts that have landed since the last time. `all`: of unfinished shards, too. *run: the joined one. */
static bool join_parts(struct job *job, const char *out_dir, bool all, int64_t *run, int *code, struct error *err)
{
    SCOPED const char **argv = xcalloc((size_t)job->shards + 8, sizeof *argv);
    int n = 0, first;
    const char *const words[] = {file_self(), "import", "--join", "-o", out_dir};
    SCOPED_TEXT out = {0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        argv[n++] = words[i];
    first = n;
    for (int i = 0; i < job->shards; i++) {
        struct job_shard *s = &job->shard[i];
        if (s->joined || !s->part[0] || !(s->done || all))
            continue;
        argv[n++] = text_format("%s/parts/%s", job->folder, s->part);
    }
    *code = n > first ? engine_ask(argv, JOIN_S, &out, err) : 0;
    for (int i = 0; i < job->shards && *code < KILLED; i++)
        job->shard[i].joined = job->shard[i].done;
    for (int i = first; i < n; i++)
        free((void *)(uintptr_t)argv[i]);
    const char *line = text_get(&out);
    for (const char *next; (next = strstr(line, "\nrun ")) && !*run;)
        *run = atoll((line = next + 1) + strlen("run "));
    if (*code > 0)
        cli_say(stderr, "%s", text_get(&out));
    return *code >= 0;
}

/* ---- waiting ---- */

static void duration(double s, char *to, size_t bytes)
{
    snprintf(to, bytes, s >= 3600 ? "%d:%02d:%02d" : "%d:%02d", s >= 3600 ? (int)s / 3600 : (int)s / 60,
             s >= 3600 ? (int)s / 60 % 60 : (int)s % 60, (int)s % 60);
}

/* One line, rewritten on a terminal; on a pipe only when a shard is done. */
static void show(const struct job *job, const struct job_turn *t, double since_s, long long before, int done_before)
{
    char eta[32] = "", spent[32];
    long long rows = job_number(job, "rows"), fresh = t->rows - before;
    double seconds = clock_s() - since_s;
    bool live = isatty(STDERR_FILENO);
    if (!live && t->done == done_before && !t->again)
        return;
    duration(seconds, spent, sizeof spent);
    if (fresh > 0 && rows > t->rows)
        duration(seconds * (double)(rows - t->rows) / (double)fresh, eta, sizeof eta);
    const char *why = job->note[0] ? job->note : !t->running && t->why ? t->why : "";
    cli_say(stderr, "%s%d of %d shards done, %d running, %d pending%s; %lld of %lld rows in %s%s%s%s%s%s",
            live ? "\r\033[K" : "bench: ", t->done, job->shards, t->running, t->pending, t->lost ? ", some lost" : "", t->rows, rows, spent,
            *eta ? ", ETA " : "", eta, *why ? "; " : "", why, live ? "" : "\n");
}

/* The last lines of a log, each text once: every try of a shard says the same. */
static void say_tail(const struct text *log)
{
    const char *end = log->data + log->len, *tail = end;
    for (int lines = 0; tail > log->data && lines <= LOG_LINES; tail--)
        lines += tail[-1] == '\n';
    for (const char *line = tail, *next; line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((stop ? stop : end) - line);
        bool said = !n;
        next = stop ? stop + 1 : end;
        for (const char *at = tail; at < line && !said; at = (const char *)memchr(at, '\n', (size_t)(line - at)) + 1)
            said = !strncmp(at, line, n) && at[n] == '\n';
        if (!said)
            cli_say(stderr, "  %.*s\n", (int)n, line);
    }
}

static void say_lost(const struct job *job)
{
    int told = 0;
    for (int i = 0; i < job->shards; i++) {
        const struct job_shard *s = &job->shard[i];
        SCOPED_TEXT t = {0};
        if (s->done)
            continue;
        cli_say(stderr, "bench: shard %d of %d is missing: %s%s%s, %lld rows\n", i + 1, job->shards,
                s->state ? s->state : "its task left nothing", s->host[0] ? " on " : "", s->host, s->rows);
        if (told++ || !job->engine->logs(job, i + 1, &t, NULL) || !t.len)
            continue;
        say_tail(&t);
    }
    if (told)
        cli_say(stderr, "hint: bench jobs logs %s SHARD prints what its tasks said\n", job->id);
}

/* The rows that are stored now. */
static int finish(struct job *job, const char *out_dir, int64_t run, bool whole, int joined)
{
    SCOPED_BY(cli_run_close) struct stored_run r = {0};
    SCOPED char *database = cli_database(out_dir);
    SCOPED_TEXT t = {0};
    struct report_style style = cli_style();
    struct error err = {0};
    if (!run && (joined || !whole)) /* nothing was joined; errors and missing shards were told */
        return joined ? joined : 5;
    if (!cli_run_open(&r, database, run, &err))
        return cli_fail(&err);
    int code = session_exit_code(r.rows, r.count);
    if (cli_json()) {
        report_json(&t, &r.run, r.rows, r.count);
        cli_print_json(&t);
    } else {
        report_closing(&t, &r.run, r.rows, r.count, &style);
        cli_print(&t);
        cli_say(stdout, "%d of %lld rows of job %s in run %lld of %s%s\n", r.count, job_number(job, "rows"), job->id, (long long)r.run.id,
                database, whole ? "" : ": not complete");
        cli_say(stderr, "hint: bench report %s -o %s\n", r.run.scenario, out_dir);
    }
    return whole ? joined ? joined : code : 5;
}

static int wait_for(struct job *job, const char *out_dir)
{
    struct error err = {0};
    struct job_turn t = {0};
    int lock = -1, code = 0, worst = 0, done = -1, killed = 0;
    int64_t run = 0;
    SCOPED char *waiting = file_join(job->folder, "wait");
    if (!lock_take(waiting, &lock, &err)) {
        error_hint(&err, "another `bench jobs wait` of this job runs");
        return cli_fail(&err);
    }
    double since = clock_s();
    long long before = -1;
    catch_stop();
    for (bool ok = true; !stopped;) {
        if (!job_turn(job, &t, &err)) {
            lock_release(&lock);
            return cli_fail(&err);
        }
        before = before < 0 ? t.rows : before;
        show(job, &t, since, before, done);
        if (t.done > done || killed) { /* an error, such as a full disk, is told once; the parts stay */
            ok = join_parts(job, out_dir, false, &run, &code, &err);
            killed = code > KILLED && killed < JOIN_TRIES ? killed + 1 : 0; /* the same parts again */
            worst = code > worst && !killed ? code : worst;
        }
        done = t.done;
        if (!ok) {
            lock_release(&lock);
            return cli_fail(&err);
        }
        if (t.done + t.lost == job->shards && !t.again && !killed)
            break;
        clock_rest(TURN_NS);
    }
    if (isatty(STDERR_FILENO))
        cli_say(stderr, "\n");
    if (stopped)
        cli_say(stderr, "bench: stopped waiting; the job goes on%s\nhint: bench jobs wait %s -o %s\n",
                !strcmp(job->engine->name, "slurm") || !strcmp(job->engine->name, "k8s") ? "" : " while a command waits for it", job->id,
                out_dir);
    else if (t.lost)
        say_lost(job);
    if (worst == error_exit_code(ERROR_ENVIRONMENT) && !stopped)
        cli_say(stderr, "hint: bench jobs wait %s -o %s joins the parts again; no row is stored twice\n", job->id, out_dir);
    if (t.lost && !stopped)
        join_parts(job, out_dir, true, &run, &code, &err);
    int status = stopped ? 130 : finish(job, out_dir, run, !t.lost, worst);
    lock_release(&lock);
    return status;
}

int cli_job_started(struct job *job, const char *out_dir, bool wait)
{
    bool here = job_is_here(job); /* somebody must start the tasks */
    if (wait || here)
        return wait_for(job, out_dir);
    cli_say(stderr, "hint: bench jobs wait %s -o %s (joins what landed); bench jobs; bench jobs logs %s; bench jobs cancel %s\n", job->id,
            out_dir, job->id, job->id);
    return 0;
}

/* ---- lists ---- */

static int list_jobs(const char *out)
{
    SCOPED char *jobs = file_join(out, "jobs"), **names = NULL;
    int count = file_list(jobs, "", &names, NULL);
    struct table *t = table_new();
    table_columns(t, {"job", "job", ALIGN_LEFT}, {"engine", "engine", ALIGN_LEFT});
    static const char *const headings[] = {"shards", "done", "running", "pending", "rows", "of", "age"};
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        table_column(t, headings[i], headings[i], ALIGN_RIGHT);
    table_column(t, "why", "why", ALIGN_LEFT);
    for (int i = 0; i < count; i++) {
        const char *name = names[i];
        SCOPED char *path = file_join(jobs, name);
        SCOPED_BY(job_free) struct job job = {0};
        struct error err = {0};
        int done = 0, running = 0, pending = 0;
        long long rows = 0;
        char age[32];
        const char *why = "";
        if (!job_open(path, &job, &err) || !job_scan(&job, &err))
            continue;
        for (int k = 0; k < job.shards; k++)
            done += job.shard[k].done;
        bool here = job_is_here(&job) || done == job.shards, asked = !here && job.engine->poll(&job, &err);
        for (int k = 0; k < job.shards; k++) {
            const struct job_shard *s = &job.shard[k];
            rows += s->rows;
            running += !s->done && (asked ? s->task == ENGINE_RUNNING : s->state && !strcmp(s->state, "running"));
            pending += !s->done && s->task == ENGINE_PENDING;
            why = !s->done && s->task == ENGINE_PENDING && s->why[0] ? s->why : why;
        }
        duration(difftime(time(NULL), (time_t)job_number(&job, "created")), age, sizeof age);
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", job.id);
        table_cell(t, PAINT_NONE, "%s", job.engine->name);
        const long long numbers[] = {job.shards, done, running, pending, rows, job_number(&job, "rows")};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            table_cell(t, PAINT_NONE, "%lld", numbers[k]);
        table_cell(t, PAINT_NONE, "%s", age);
        SCOPED char *gone =
            asked && done + running + pending < job.shards
                ? text_format("%d without a task: bench jobs wait %s tries again", job.shards - done - running - pending, job.id)
                : NULL;
        table_cell(t, PAINT_NONE, "%.160s", !asked && !here ? err.text : gone ? gone : why);
    }
    if (count <= 0)
        cli_say(stderr, "bench: no job in %s\nhint: bench run SCENARIO --on slurm\n", jobs);
    cli_table(t);
    return 0;
}

static int show_job(struct job *job)
{
    struct error err = {0};
    bool here = job_is_here(job);
    if (!here && !job->engine->poll(job, &err))
        cli_say(stderr, "bench: %s\n", err.text);
    struct table *t = table_new();
    static const char *const headings[] = {"shard", "rows", "of", "seconds", "exit"};
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        table_column(t, headings[i], headings[i], ALIGN_RIGHT);
    table_columns(t, {"state", "state", ALIGN_LEFT}, {"where", "where", ALIGN_LEFT}, {"task", "task", ALIGN_LEFT},
                  {"why", "why", ALIGN_LEFT});
    for (int i = 0; i < job->shards; i++) {
        const struct job_shard *s = &job->shard[i];
        SCOPED_TEXT log = {0};
        const char *state = s->done                     ? "done"
                            : s->task == ENGINE_PENDING ? "pending"
                            : s->task == ENGINE_RUNNING ? "running"
                            : s->state && !here         ? strcmp(s->state, "running") ? s->state : "its task is gone"
                            : s->state                  ? s->state
                            : job->engine->logs(job, i + 1, &log, NULL) && log.len ? "its task left nothing"
                                                                                   : "not started";
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%d", i + 1);
        table_cell(t, PAINT_NONE, "%lld", s->rows);
        table_cell(t, PAINT_NONE, s->of < 0 ? " " : "%lld", s->of);
        table_cell(t, PAINT_NONE, s->state ? "%.1f" : " ", s->seconds);
        table_cell(t, PAINT_NONE, s->code < 0 ? " " : "%d", s->code);
        table_cell(t, PAINT_NONE, "%s", state);
        table_cell(t, PAINT_NONE, "%s", s->where[0] ? s->where : s->host);
        table_cell(t, PAINT_NONE, "%s", s->name);
        table_cell(t, PAINT_NONE, "%s", s->why);
    }
    cli_table(t);
    return 0;
}

static int show_logs(struct job *job, const char *word)
{
    struct error err = {0};
    SCOPED_TEXT t = {0};
    long long shard = 0;
    if (word && (!text_to_int(word, &shard) || shard < 1 || shard > job->shards)) {
        error_set(&err, ERROR_USAGE, "'%.40s': a shard from 1 to %d is expected", word, job->shards);
        return cli_fail(&err);
    }
    for (int i = 1; i <= job->shards; i++) {
        SCOPED_TEXT one = {0};
        if (word && i != shard)
            continue;
        if (!job->engine->logs(job, i, &one, &err))
            return cli_fail(&err);
        const char *part = strstr(text_get(&one), "\nbench-part {"); /* a database as text */
        text_addf(&t, "shard %d\n%.*s\n", i, part ? (int)(part - text_get(&one)) : (int)one.len, text_get(&one));
    }
    cli_page(&t);
    return 0;
}

static int task(const char *folder, const char *word)
{
    struct error err = {0};
    SCOPED_TEXT part = {0};
    long long shard;
    int code = 0;
    if (!word || !text_to_int(word, &shard) || shard < 1 || shard > 1000000) {
        error_set(&err, ERROR_USAGE, "bench jobs task FOLDER SHARD is expected");
        return cli_fail(&err);
    }
    catch_stop();
    bool ok = task_run(folder, (int)shard, &stopped, &part, &code, &err);
    cli_print(&part);
    return ok ? code : cli_fail(&err);
}

/* Ends the process that starts the tasks; they end with it. */
static bool stop_waiting(const struct job *job, struct error *err)
{
    char host[128] = "";
    long long pid;
    int lock = -1;
    SCOPED char *waiting = file_join(job->folder, "wait"), *path = text_format("%s.lock", waiting),
                *text = file_read(path, 4096, NULL, NULL), *rest = text;
    bool nobody = lock_take(waiting, &lock, NULL);
    lock_release(&lock);
    gethostname(host, sizeof host - 1);
    if (nobody || !text)
        return true;
    text[strcspn(text, "\n")] = 0;
    if (!text_to_int(strsep(&rest, " "), &pid) || !text_same(rest, host) || kill((pid_t)pid, SIGTERM))
        return error_set(err, ERROR_USAGE, "its tasks end with the `bench jobs wait` on %s: stop that", rest ? rest : "another host");
    return true;
}

int cli_jobs(const struct verb *verb, int argc, char **argv)
{
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *out = NULL;
    int count, code;
    const struct option options[] = {{"--out", 'o', OPTION_TEXT, "DIR", "folder of the database and its jobs; default ./.bench", &out},
                                     {0}};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    out = cli_out_dir(out);
    static const char *const words[] = {"list", "show", "wait", "logs", "cancel", "task", NULL};
    const char *what = count ? rest[0] : "list";
    if (!strcmp(what, "list"))
        return list_jobs(out);
    if (!strcmp(what, "task") && count == 3)
        return task(rest[1], rest[2]);
    struct error err = {0};
    SCOPED_BY(job_free) struct job job = {0};
    bool known = false;
    for (size_t i = 0; words[i]; i++)
        known = known || !strcmp(words[i], what);
    if (!known || count > 3) {
        const char *near = text_nearest_in(what, words);
        return cli_usage(verb, "'%.40s': %s%s is expected", what, near ? near : "list, show, wait, logs or cancel", "");
    }
    if (!open_job(out, count > 1 ? rest[1] : NULL, &job, &err))
        return cli_fail(&err);
    if (!strcmp(what, "show"))
        return show_job(&job);
    if (!strcmp(what, "logs"))
        return show_logs(&job, count > 2 ? rest[2] : NULL);
    if (!strcmp(what, "wait"))
        return wait_for(&job, out);
    if (!(job_is_here(&job) ? stop_waiting(&job, &err) : job.engine->cancel(&job, -1, &err)))
        return cli_fail(&err);
    cli_say(stdout, "job %s: cancelled; its tasks hand over what they have\n", job.id);
    return 0;
}
