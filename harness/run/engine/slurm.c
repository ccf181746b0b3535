/* The engine slurm: one array of tasks, a shard each. Knows of Slurm 22.05 to 25: MaxArraySize bounds the index, not the count; squeue and
 * scontrol forget a job MinJobAge (300 s) after its end; sacct needs slurmdbd; a job's exit status is the highest of its tasks. So here
 * the queue only shows what waits and runs; the parts that tasks handed over show what is done. */
#include "base/file.h"
#include "base/spec.h"
#include "run/engine/engine.h"
#include <stdlib.h>
#include <string.h>

#define ASK_S 60        /* for one program of Slurm: a loaded slurmctld answers late */
#define LIMIT_LEAD_S 60 /* SIGTERM so long before the time limit */

/* The largest index of an array; 0 and an error. */
static int index_max(struct error *err)
{
    SCOPED_TEXT out = {0};
    const char *const argv[] = {"scontrol", "show", "config", NULL};
    int code = engine_ask(argv, ASK_S, &out, err);
    const char *at = strstr(text_get(&out), "\nMaxArraySize");
    if (!code && at && (at = strchr(at, '=')) && atoi(at + 1) > 1)
        return atoi(at + 1) - 1;
    if (code >= 0) {
        error_set(err, ERROR_ENVIRONMENT, "Slurm does not answer: scontrol show config: %.500s", text_get(&out));
        error_hint(err, "sinfo must work here; SLURM_CONF names the configuration");
    } else if (err) {
        error_hint(err, "install Slurm's client programs, or use another engine: --on ssh:hosts=FILE");
    }
    return 0;
}

bool slurm_check(struct job *job, struct error *err)
{
    const char *container = job_key(job, "container");
    if (container && strncmp(container, "apptainer:", 10) && strncmp(container, "pyxis:", 6))
        return error_set(err, ERROR_USAGE, "container=%.60s: apptainer:IMAGE or pyxis:IMAGE is expected", container);
    SCOPED char *gres = text_format("gpu:%d", job_count(job, "gpus", 1));
    if (!job_key(job, "gres") && spec_is_timed(job_text(job, "device")))
        json_object_set_new(job->keys, "gres", json_string(gres));
    return true;
}

void slurm_words(const struct job *job, const char *before, const char *after, struct text *t)
{
    static const char *const passed[] = {"partition", "gres", "time", "exclude", "nodelist", "constraint", "account", "qos", "mem"};
    const char *options = job_key(job, "options");
    text_addf(t, "%s--ntasks=1%s%s--cpus-per-task=%d%s", before, after, before, job_cores(job), after);
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (job_key(job, passed[i])) {
            SCOPED char *word = text_format("--%s=%s", passed[i], job_key(job, passed[i]));
            text_add(t, before);
            text_add_word(t, word);
            text_add(t, after);
        }
    for (const char *at = options ? options : ""; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        text_addf(t, "%s%.*s%s", before, (int)n, at, after);
        at += n;
    }
}

static char *job_name(const struct job *job)
{
    return text_format("bench-%s", job->id);
}

static bool slurm_script(struct job *job, int first, struct text *t, struct error *err)
{
    const char *modules = job_key(job, "modules"), *container = job_key(job, "container");
    text_addf(t, "#!/bin/%s\n", modules ? "bash -l" : "sh");
    SCOPED char *name = job_name(job);
    text_addf(t, "#SBATCH --job-name=%s\n", name);
    text_addf(t, "#SBATCH --array=1-%d\n", job->shards - first); /* of all shards; submit_array names those that are wanted */
    text_add(t, "#SBATCH --output=\"");
    for (const char *c = job->folder; *c; c++) {
        text_add_bytes(t, c, 1);
        if (*c == '%') /* else Slurm replaces %j and the like */
            text_add(t, "%");
    }
    text_add(t, "/logs/slurm-%A_%a.out\"\n");
    text_add(t, "#SBATCH --open-mode=append\n"); /* a requeued task would empty it */
    text_add(t, "#SBATCH --requeue\n");
    text_addf(t, "#SBATCH --signal=B:TERM@%d\n", LIMIT_LEAD_S);
    slurm_words(job, "#SBATCH ", "\n", t);
    job_setup(job, "\n", t);
    text_add(t, "exec ");
    if (container && !strncmp(container, "apptainer:", 10)) {
        text_add(t, "apptainer exec --nv --bind ");
        text_add_word(t, job->folder);
        text_add(t, " ");
        text_add_word(t, container + 10);
        text_add(t, " ");
    } else if (container) {
        SCOPED char *mounts = text_format("%s:%s", job->folder, job->folder);
        text_add(t, "srun --container-image=");
        text_add_word(t, container + 6);
        text_add(t, " --container-mounts=");
        text_add_word(t, mounts);
        text_add(t, " ");
    }
    SCOPED char *index = first ? text_format("$((SLURM_ARRAY_TASK_ID + %d))", first) : xstrdup("$SLURM_ARRAY_TASK_ID");
    job_command(job, index, t);
    text_add(t, "\n");
    return true;
}

/* The wanted shards from `first` + 1 on, as indexes: "1-3,7". "": none. */
static void add_indexes(const struct job *job, const bool *wanted, int first, int most, struct text *t)
{
    for (int i = first; i < job->shards && i < first + most; i++) {
        int last = i;
        if (!wanted[i])
            continue;
        while (last + 1 < job->shards && last + 1 < first + most && wanted[last + 1])
            last++;
        text_addf(t, last > i ? "%s%d-%d" : "%s%d", t->len ? "," : "", i + 1 - first, last + 1 - first);
        i = last;
    }
}

static bool submit_array(struct job *job, int first, const char *indexes, struct error *err)
{
    SCOPED_TEXT t = {0}, out = {0}, array = {0};
    SCOPED char *path = first ? text_format("%s/slurm-%d.sh", job->folder, first) : text_format("%s/slurm.sh", job->folder);
    text_addf(&array, "--array=%s", indexes);
    if (job_key(job, "parallel"))
        text_addf(&array, "%%%s", job_key(job, "parallel"));
    const char *const argv[] = {"sbatch", "--parsable", text_get(&array), path, NULL};
    if (!slurm_script(job, first, &t, err) || !file_write(path, t.data, t.len, err))
        return false;
    int code = engine_ask(argv, ASK_S, &out, err);
    if (code < 0)
        return false;
    const char *id = text_get(&out), *line; /* warnings may precede it */
    while ((line = strchr(id, '\n')) && line[1])
        id = line + 1;
    long long number;
    SCOPED char *word = xstrndup(id, strcspn(id, ";\n"));
    if (code || !text_to_int(word, &number)) {
        error_set(err, ERROR_ENVIRONMENT, "sbatch refuses the job: %.1000s", text_get(&out));
        return error_hint(err, "%s is what was submitted, with %s", path, text_get(&array));
    }
    SCOPED char *stored = text_format("%s+%d", word, first);
    return job_add_id(job, stored, err);
}

static void add_ids(const struct job *job, struct text *t)
{
    const json_t *ids = json_object_get(job->facts, "ids");
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *id = json_string_value(json_array_get(ids, i));
        text_addf(t, "%s%.*s", t->len ? "," : "", (int)strcspn(id, "+"), id);
    }
}

static bool slurm_cancel(struct job *job, int shard, struct error *err)
{
    SCOPED_TEXT ids = {0}, out = {0};
    if (shard < 0)
        add_ids(job, &ids);
    else
        text_add(&ids, job->shard[shard - 1].name);
    if (!ids.len)
        return true;
    for (char *c = ids.data; *c; c++)
        *c = *c == ',' ? ' ' : *c;
    SCOPED char *name = job_name(job), *line = text_format("scancel --name=%s %s", name, text_get(&ids));
    int code = engine_shell(line, ASK_S, &out, err);
    return !code || (code > 0 && error_set(err, ERROR_ENVIRONMENT, "scancel: %.500s", text_get(&out)));
}

static bool slurm_submit(struct job *job, const bool *wanted, struct error *err)
{
    int most = index_max(err);
    if (!most)
        return false;
    for (int i = 0; i < job->shards; i++)
        if (wanted[i] && job->shard[i].name[0]) /* Slurm holds its task */
            slurm_cancel(job, i + 1, NULL);
    for (int first = 0; first < job->shards; first += most) {
        SCOPED_TEXT indexes = {0};
        add_indexes(job, wanted, first, most, &indexes);
        if (indexes.len && !submit_array(job, first, text_get(&indexes), err))
            return false;
    }
    return true;
}

#define HELD_AFTER_FAILURE "launch_failed_requeued_held"

/* Slurm 22.05 writes some reasons with blanks, later ones with underscores. */
static bool is_reason(const char *reason, const char *known)
{
    while (*known && (*reason == *known || (*reason == ' ' && *known == '_')))
        reason++, known++;
    return !*known;
}

/* Slurm's reasons, from its manual of squeue (JOB REASON CODES). */
static void say_reason(const char *reason, char *to, size_t bytes)
{
    static const struct {
        const char *reason, *words;
    } known[] = {
        {"Priority", "jobs of higher priority are before it"},
        {"Resources", "no node is free that has what it asks for"},
        {"BeginTime", "waits before it starts again after its node failed or was given to another job"},
        {"Dependency", "another job must end first"},
        {"JobArrayTaskLimit", "as many of its tasks run as parallel= allows"},
        {"JobHeldUser", "held by its user: scontrol release"},
        {"JobHeldAdmin", "held by an administrator"},
        {HELD_AFTER_FAILURE, "its start failed, so Slurm holds it: see slurmd's log"},
        {"PartitionDown", "the partition is down"},
        {"PartitionInactive", "the partition is inactive"},
        {"PartitionTimeLimit", "time= is longer than the partition allows"},
        {"PartitionNodeLimit", "more nodes than the partition allows"},
        {"ReqNodeNotAvail", "a node that it asks for is down, drained or reserved"},
        {"Nodes_required_for_job_are_DOWN", "the nodes that it could use are down, drained or reserved"},
        {"BadConstraints", "no node satisfies constraint="},
        {"InvalidAccount", "the account is not valid: account="},
        {"InvalidQOS", "the QOS is not valid: qos="},
        {"Reservation", "waits for its reservation"},
        {"Licenses", "waits for a license"},
        {"NonZeroExitCode", "its task failed"},
        {"NodeDown", "its node is down"},
        {"SystemFailure", "Slurm, the network or a file system failed"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_reason(reason, known[i].reason)) {
            snprintf(to, bytes, "%s (%s)", known[i].words, reason);
            return;
        }
    if (!strcmp(reason, "None"))
        reason = "";
    bool limit = !strncmp(reason, "QOS", 3) || !strncmp(reason, "Assoc", 5) || strstr(reason, "Limit") || strstr(reason, "Max");
    snprintf(to, bytes, limit ? "a limit of the account, QOS or partition is reached (%s)" : "%s", reason);
}

/* "17_3" of array 17 whose first shard is `first` + 1. A job of another name has got the id of one that Slurm has forgotten. */
static void take_line(struct job *job, char *line)
{
    char *rest = line, *array = strsep(&rest, "|"), *index = strsep(&rest, "|"), *state = strsep(&rest, "|"), *node = strsep(&rest, "|"),
         *name = strsep(&rest, "|");
    const json_t *ids = json_object_get(job->facts, "ids");
    SCOPED char *own = job_name(job);
    if (!rest || strcmp(name, own))
        return;
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *id = json_string_value(json_array_get(ids, i)), *plus = strchr(id, '+');
        if (!plus || strlen(array) != (size_t)(plus - id) || strncmp(array, id, strlen(array)))
            continue;
        int shard = atoi(plus + 1) + atoi(index);
        if (shard < 1 || shard > job->shards)
            return;
        struct job_shard *s = &job->shard[shard - 1];
        if (s->task == ENGINE_RUNNING) /* another task of the shard, which was submitted twice */
            return;
        bool waits = !strcmp(state, "PENDING") || !strcmp(state, "REQUEUED") || !strcmp(state, "REQUEUE_HOLD") ||
                     !strcmp(state, "SPECIAL_EXIT") || !strcmp(state, "REQUEUE_FED");
        if (waits && is_reason(rest, HELD_AFTER_FAILURE)) { /* it would never start: slurm_submit replaces it */
            if (s->task == ENGINE_NONE)
                snprintf(s->name, sizeof s->name, "%s_%s", array, index);
            return;
        }
        s->task = waits ? ENGINE_PENDING : ENGINE_RUNNING;
        snprintf(s->where, sizeof s->where, "%s", node);
        snprintf(s->name, sizeof s->name, "%s_%s", array, index);
        s->why[0] = 0;
        if (waits)
            say_reason(rest, s->why, sizeof s->why);
        return;
    }
}

static bool slurm_poll(struct job *job, struct error *err)
{
    SCOPED_TEXT ids = {0}, out = {0};
    add_ids(job, &ids);
    if (!ids.len)
        return true;
    const char *const argv[] = {"squeue", "-h", "-r", "-j", text_get(&ids), "-o", "%F|%K|%T|%N|%j|%r", NULL};
    int code = engine_ask(argv, ASK_S, &out, err);
    bool forgotten = code > 0 && strstr(text_get(&out), "Invalid job id");
    if (code < 0 || (code && !forgotten)) /* of nothing that is not known may be said that it is gone */
        return code >= 0 ? error_set(err, ERROR_ENVIRONMENT, "squeue: %.200s", text_get(&out)) : false;
    for (int i = 0; i < job->shards; i++) {
        job->shard[i].task = ENGINE_NONE;
        job->shard[i].why[0] = job->shard[i].name[0] = 0;
    }
    if (forgotten)
        return true;
    char *rest = out.data;
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (*line)
            take_line(job, line);
    return true;
}

static bool slurm_logs(const struct job *job, int shard, struct text *t, struct error *err)
{
    const json_t *ids = json_object_get(job->facts, "ids");
    for (size_t i = 0; i < json_array_size(ids); i++) { /* what was said before the task began: module load, Slurm itself */
        const char *id = json_string_value(json_array_get(ids, i)), *plus = strchr(id, '+');
        SCOPED char *path =
            text_format("%s/logs/slurm-%.*s_%d.out", job->folder, (int)strcspn(id, "+"), id, plus ? shard - atoi(plus + 1) : shard);
        SCOPED char *text = file_exists(path) ? file_read(path, (size_t)1 << 31, NULL, err) : NULL;
        text_add(t, text ? text : "");
    }
    return job_logs(job, shard, t, err);
}

/* What is in Slurm's file of the task: a whole part, if the job hands over by output. */
static bool slurm_fetch(struct job *job, int shard, struct error *err)
{
    SCOPED_TEXT t = {0};
    return slurm_logs(job, shard, &t, err) && job_unwrap(job, shard, text_get(&t), err);
}

const struct engine engine_slurm = {"slurm",    "an array of jobs", slurm_check, slurm_script, slurm_submit,
                                    slurm_poll, slurm_fetch,        slurm_logs,  slurm_cancel};
