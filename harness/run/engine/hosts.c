/* The engines local, ssh and srun: this process starts the tasks itself, one for each free place (a GPU of a host), and the next when one
 * ends. If it dies, `bench jobs wait` goes on. */
#include "base/file.h"
#include "run/engine/engine.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOSTS_MAX 1024
#define SHIP_S 600
#define KEPT_DAYS 14   /* a job's folder on a host */
#define SSH_FAILED 255 /* exit status of ssh when it could not connect */
#define STRIKES 3      /* failed connections one after the other that end the use of a host */

struct place {
    char host[128]; /* "": this one */
    int gpu, of;    /* of the places of its host */
    pid_t pid;      /* 0: free */
    int shard, strikes;
};
struct hosts {
    int count;
    struct place place[HOSTS_MAX];
};

static bool is_remote(const struct job *job)
{
    return job->engine == &engine_ssh;
}

static bool by_srun(const struct job *job)
{
    return job->engine == &engine_srun;
}

bool job_is_here(const struct job *job)
{
    return job->engine == &engine_local || is_remote(job) || by_srun(job);
}

static bool add_host(struct hosts *all, const char *host, int places, struct error *err)
{
    for (int i = 0; i < places; i++) {
        if (all->count == HOSTS_MAX)
            return error_set(err, ERROR_USAGE, "more than %d GPUs in the file of hosts", HOSTS_MAX);
        struct place *p = &all->place[all->count++];
        *p = (struct place){.gpu = i, .of = places};
        snprintf(p->host, sizeof p->host, "%s", host);
    }
    return true;
}

/* "HOST [GPUS]" a line; # begins a comment. */
static bool read_hosts(const struct job *job, struct hosts *all, struct error *err)
{
    const char *path = job_text(job, "hosts");
    int gpus = job_count(job, "gpus", 1), line = 0;
    SCOPED char *text = path ? file_read(path, 1 << 20, NULL, err) : NULL;
    if (!text)
        return false;
    for (char *rest = text, *one; (one = strsep(&rest, "\n"));) {
        long long places = gpus;
        line++;
        one[strcspn(one, "#\r")] = 0;
        char *host = one + strspn(one, " \t"), *end = host + strcspn(host, " \t"), *count = end + strspn(end, " \t");
        bool more = *count;
        *end = 0;
        count[strcspn(count, " \t")] = 0;
        if (!*host)
            continue;
        if (*host == '-' || strlen(host) > 100 || (more && (!text_to_int(count, &places) || places < 1 || places > 64)))
            return error_set(err, ERROR_USAGE, "%s:%d: HOST [GPUS] is expected, with 1 to 64 GPUs", path, line);
        if (!add_host(all, host, (int)places, err))
            return false;
    }
    return all->count || error_set(err, ERROR_USAGE, "%s: names no host", path);
}

static struct hosts *places(struct job *job, struct error *err)
{
    if (job->own)
        return job->own;
    struct hosts *all = xcalloc(1, sizeof *all);
    int most = job->shards && job->shards < HOSTS_MAX ? job->shards : HOSTS_MAX;
    if (is_remote(job) ? !read_hosts(job, all, err)
                       : !add_host(all, by_srun(job) ? "srun" : "", by_srun(job) ? most : job_count(job, "gpus", 1), err)) {
        free(all);
        return NULL;
    }
    return job->own = all;
}

static bool hosts_check(struct job *job, struct error *err)
{
    const char *hosts = job_key(job, "hosts");
    if (by_srun(job)) /* the nodes see no folder of this host */
        return slurm_check(job, err) && !json_object_set_new(job->keys, "handover", json_string("output"));
    if (!is_remote(job))
        return true;
    if (!hosts)
        return error_set(err, ERROR_USAGE, "--on ssh:hosts=FILE is expected: one host a line, with the number of its GPUs");
    SCOPED char *real = realpath(hosts, NULL);
    if (!real)
        return error_set(err, ERROR_USAGE, "hosts=%s: %s", hosts, strerror(errno));
    json_object_set_new(job->facts, "hosts", json_string(real));
    if (!job_key(job, "handover"))
        json_object_set_new(job->keys, "handover", json_string("output"));
    return places(job, err) != NULL;
}

static bool by_output(const struct job *job)
{
    const char *handover = job_key(job, "handover");
    return handover && !strcmp(handover, "output");
}

/* On a host that does not see the job's folder, it lies below the home. */
static void add_task(const struct job *job, const struct place *p, const char *shard, struct text *t)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"), *container = job_key(job, "container");
    job_setup(job, " && ", t);
    if (by_srun(job)) {
        text_addf(t, "\"$d\"/bin/bench jobs task \"$d\" %s", shard);
        return;
    }
    text_add(t, "exec ");
    if (p->of > 1 && (is_remote(job) || !visible)) /* a list that is given is the user's choice */
        text_addf(t, "env CUDA_VISIBLE_DEVICES=%d ", p->gpu);
    if (container && !strncmp(container, "apptainer:", 10)) {
        text_add(t, "apptainer exec --nv ");
        text_add_word(t, container + 10);
        text_add(t, " ");
    }
    if (is_remote(job) && by_output(job))
        text_addf(t, "\"$HOME\"/.cache/bench/jobs/%s/bin/bench jobs task \"$HOME\"/.cache/bench/jobs/%s %s", job->id, job->id, shard);
    else
        job_command(job, shard, t);
}

static const char *ssh(const struct job *job)
{
    const char *command = job_key(job, "ssh");
    return command ? command : "ssh";
}

static void add_ssh(const struct job *job, const char *host, const char *command, struct text *t)
{
    text_addf(t, "%s -o BatchMode=yes -o ServerAliveInterval=15 -o ServerAliveCountMax=4 ", ssh(job));
    text_add_word(t, host);
    text_add(t, " ");
    text_add_word(t, command);
}

static void add_start(const struct job *job, const struct place *p, const char *shard, struct text *t)
{
    SCOPED_TEXT task = {0};
    add_task(job, p, shard, &task);
    if (by_srun(job)) { /* the job's folder goes to the task's input, and its part comes from the output: srun carries both */
        SCOPED char *line = text_format("d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && mkdir \"$d/parts\" && tar -C \"$d\" -xzf - && %s",
                                        text_get(&task)),
                    *packed = file_join(job->folder, "job.tgz");
        text_addf(t, "srun --job-name=bench-%s --input=all --quiet", job->id);
        slurm_words(job, " ", "", t);
        text_add(t, " sh -c ");
        text_add_word(t, line);
        text_add(t, " <");
        text_add_word(t, packed);
    } else if (is_remote(job))
        add_ssh(job, p->host, text_get(&task), t);
    else
        text_add(t, text_get(&task));
}

static bool hosts_script(struct job *job, int first, struct text *t, struct error *err)
{
    struct hosts *all = places(job, err);
    for (int i = 0; all && i < all->count; i++) {
        text_addf(t, "%s# place %d: the next shard that is due\n", i ? "" : "#!/bin/sh\n", i + 1);
        add_start(job, &all->place[i], "$1", t);
        text_add(t, "\n");
    }
    return all;
}

/* Puts the job's folder onto a host that does not see it. */
static bool ship(struct job *job, const char *host, struct error *err)
{
    SCOPED char *unpack =
        text_format("d=$HOME/.cache/bench/jobs; find \"$d\" -mindepth 1 -maxdepth 1 -mtime +%d -exec rm -rf {} + 2>/dev/null; d=$d/%s; "
                    "[ -e \"$d/.whole\" ] || { mkdir -p \"$d/parts\" \"$d/logs\" && tar -C \"$d\" -xzf - && : >\"$d/.whole\"; }",
                    KEPT_DAYS, job->id);
    SCOPED_TEXT line = {0}, out = {0};
    text_add(&line, "tar -C ");
    text_add_word(&line, job->folder);
    text_add(&line, " -czf - bin share input bundle job.json | ");
    add_ssh(job, host, unpack, &line);
    int code = engine_shell(text_get(&line), SHIP_S, &out, err);
    return !code || (code > 0 && error_set(err, ERROR_ENVIRONMENT, "%s: the job cannot be copied there: %.500s", host, text_get(&out)));
}

static bool pack_srun(const struct job *job, struct error *err)
{
    SCOPED char *packed = file_join(job->folder, "job.tgz");
    const char *const argv[] = {"tar", "-C", job->folder, "-czf", packed, "bin", "share", "input", "bundle", "job.json", NULL};
    SCOPED_TEXT out = {0};
    int code = file_exists(packed) ? 0 : engine_ask(argv, SHIP_S, &out, err);
    return !code || (code > 0 && error_set(err, ERROR_ENVIRONMENT, "%s: cannot be written: %.500s", packed, text_get(&out)));
}

static bool hosts_submit(struct job *job, const bool *wanted, struct error *err)
{
    struct hosts *all = places(job, err);
    int reached = 0;
    if (by_srun(job) && !pack_srun(job, err))
        return false;
    for (int i = 0; all && i < all->count; i++) {
        struct place *p = &all->place[i];
        if (is_remote(job) && by_output(job) && !p->gpu && !p->strikes) {
            struct error why = {0};
            bool there = ship(job, p->host, &why);
            for (int k = i; k < all->count && k < i + p->of; k++)
                all->place[k].strikes = there ? 0 : STRIKES;
            if (!there) {
                snprintf(job->note, sizeof job->note, "%.250s", why.text);
                *err = why;
            }
        }
        reached += p->strikes < STRIKES;
    }
    for (int i = 0; all && i < job->shards; i++)
        if (wanted[i])
            job->shard[i].task = ENGINE_PENDING;
    return reached;
}

static void start(struct job *job, struct place *p, int shard)
{
    SCOPED_TEXT line = {0};
    SCOPED char *number = text_format("%d", shard),
                *log = text_format("%s/logs/%s.%d.log", job->folder, *p->host ? p->host : "local", shard);
    add_start(job, p, number, &line);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* the task hands over what it has */
        int null = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
        if (getppid() != parent || null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
            _exit(127);
        execl("/bin/sh", "sh", "-c", text_get(&line), (char *)NULL);
        _exit(127);
    }
    if (pid < 0)
        return;
    p->pid = pid;
    p->shard = shard;
    struct job_shard *s = &job->shard[shard - 1];
    s->task = ENGINE_RUNNING;
    s->missing_s = 0;
    snprintf(s->where, sizeof s->where, "%.50s:%d", *p->host ? p->host : "here", p->gpu);
    snprintf(s->name, sizeof s->name, "%ld", (long)pid);
}

static void end(struct job *job, struct place *p, int status)
{
    struct job_shard *s = &job->shard[p->shard - 1];
    bool unreached = is_remote(job) && WIFEXITED(status) && WEXITSTATUS(status) == SSH_FAILED;
    p->pid = 0;
    p->strikes = unreached ? p->strikes + 1 : 0;
    s->task = unreached ? ENGINE_PENDING : ENGINE_NONE; /* not the shard's fault */
    s->where[0] = 0;
    if (p->strikes == STRIKES)
        snprintf(job->note, sizeof job->note, "%s: no connection %d times; it gets no more tasks", p->host, STRIKES);
}

static bool hosts_poll(struct job *job, struct error *err)
{
    struct hosts *all = places(job, err);
    int busy = 0, usable = 0, most = job_count(job, "parallel", HOSTS_MAX);
    for (int i = 0; all && i < all->count; i++) {
        int status;
        struct place *p = &all->place[i];
        if (p->pid && waitpid(p->pid, &status, WNOHANG) == p->pid)
            end(job, p, status);
        busy += p->pid != 0;
        usable += p->pid || p->strikes < STRIKES;
    }
    for (int i = 0; i < job->shards; i++) /* a process that goes on with a job of another, whose tasks ended with it */
        if (job->shard[i].task == ENGINE_UNKNOWN)
            job->shard[i].task = ENGINE_PENDING;
    if (all && !usable)
        return error_set(err, ERROR_ENVIRONMENT, "no host can be reached any more");
    for (int i = 0, next = 0; all && i < all->count && busy < most; i++) {
        struct place *p = &all->place[i];
        if (p->pid || p->strikes >= STRIKES)
            continue;
        while (next < job->shards && (job->shard[next].done || job->shard[next].task != ENGINE_PENDING))
            next++;
        if (next == job->shards)
            break;
        start(job, p, ++next);
        busy++;
    }
    return all;
}

static bool hosts_fetch(struct job *job, int shard, struct error *err)
{
    SCOPED_TEXT t = {0};
    return job_logs(job, shard, &t, err) && job_unwrap(job, shard, text_get(&t), err);
}

/* A task that another `bench jobs wait` started ends with it. */
static bool hosts_cancel(struct job *job, int shard, struct error *err)
{
    struct hosts *all = places(job, err);
    for (int i = 0; all && i < all->count; i++)
        if (all->place[i].pid && (shard < 0 || all->place[i].shard == shard))
            kill(-all->place[i].pid, SIGTERM);
    for (int i = 0; i < job->shards; i++)
        if (job->shard[i].task == ENGINE_PENDING && (shard < 0 || shard == i + 1))
            job->shard[i].task = ENGINE_NONE;
    return all;
}

const struct engine engine_local = {
    "local", "the GPUs of this host", hosts_check, hosts_script, hosts_submit, hosts_poll, hosts_fetch, job_logs, hosts_cancel};
const struct engine engine_ssh = {"ssh",      "hosts of a file", hosts_check, hosts_script, hosts_submit,
                                  hosts_poll, hosts_fetch,       job_logs,    hosts_cancel};
const struct engine engine_srun = {"srun",       "Slurm, where nodes see no folder of this host",
                                   hosts_check,  hosts_script,
                                   hosts_submit, hosts_poll,
                                   hosts_fetch,  job_logs,
                                   hosts_cancel};
