/* The engine k8s: an Indexed Job, by kubectl. A pod's index may run twice while another pod of it terminates; the parts allow that. */
#include "base/file.h"
#include "base/spec.h"
#include "run/engine/engine.h"
#include <ctype.h>
#include <string.h>

#define ASK_S 60
#define RETRIES 3
#define GRACE_S 60 /* from SIGTERM to SIGKILL */

static bool k8s_check(struct job *job, struct error *err)
{
    const char *counters = job_key(job, "counters");
    if (!job_key(job, "image"))
        return error_set(err, ERROR_USAGE, "--on k8s:image=IMAGE,claim=CLAIM is expected: an image with glibc 2.34 or newer");
    if (!job_key(job, "claim"))
        return error_set(err, ERROR_USAGE, "--on k8s:claim=CLAIM is expected: the PersistentVolumeClaim that holds folder=");
    const char *mount = job_key(job, "mount");
    size_t n = mount ? strlen(mount) : 0;
    while (n > 1 && mount[n - 1] == '/')
        n--;
    if (mount && (*mount != '/' || strncmp(job->folder, mount, n) || (n > 1 && job->folder[n] != '/')))
        return error_set(err, ERROR_USAGE, "mount=%.80s: pods look for the job in %s, which is not below it: folder=", mount, job->folder);
    if (counters && strcmp(counters, "yes") && strcmp(counters, "no"))
        return error_set(err, ERROR_USAGE, "counters=%.60s: yes or no is expected", counters);
    return true;
}

/* A name of Kubernetes: lower case, digits and -, at most 63 characters, of which its pods need 12. */
static char *job_name(const struct job *job)
{
    char *name = text_format("bench-%s", job->id);
    size_t n = strlen(name), most = 50, digits = strlen(strrchr(name, '-'));
    if (n > most)
        memmove(name + most - digits, name + n - digits, digits + 1);
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
    return name;
}

/* As a YAML text in double quotes. */
static void quote(struct text *t, const char *s)
{
    json_auto_t *json = json_string(s);
    SCOPED char *quoted = json_dumps(json, JSON_ENCODE_ANY);
    text_add(t, quoted ? quoted : "\"\"");
}

static bool k8s_script(struct job *job, int first, struct text *t, struct error *err)
{
    SCOPED char *name = job_name(job), *above = file_dir(job->folder);
    const char *queue = job_key(job, "queue"), *counters = job_key(job, "counters"), *mount = job_key(job, "mount");
    SCOPED char *gpu = spec_is_timed(job_text(job, "device")) ? text_format("nvidia.com/gpu: \"%d\"", job_count(job, "gpus", 1)) : NULL;
    text_addf(t, "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: %s\n", name);
    if (queue) {
        text_add(t, "  labels:\n    kueue.x-k8s.io/queue-name: ");
        quote(t, queue);
        text_add(t, "\n");
    }
    text_addf(t, "spec:\n  completionMode: Indexed # a pod a shard: JOB_COMPLETION_INDEX + 1\n  completions: %d\n  parallelism: %d\n",
              job->shards, job_count(job, "parallel", job->shards));
    text_addf(t, "  backoffLimitPerIndex: %d # Kubernetes 1.29, GA in 1.33\n  maxFailedIndexes: %d\n", job_count(job, "retries", RETRIES),
              job->shards);
    if (queue)
        text_add(t, "  suspend: true # Kueue starts it\n");
    text_addf(t,
              "  template:\n    spec:\n      restartPolicy: Never\n      terminationGracePeriodSeconds: %d # SIGTERM: bench hands over "
              "what it has\n",
              GRACE_S);
    text_add(t, "      containers:\n        - name: bench\n          image: ");
    quote(t, job_key(job, "image"));
    SCOPED_TEXT task = {0};
    job_command(job, "$((JOB_COMPLETION_INDEX + 1))", &task);
    SCOPED char *line = text_format("exec %s", text_get(&task));
    text_add(t, "\n          command: [\"sh\", \"-c\", ");
    quote(t, line);
    text_add(t, "]\n          env:\n            - name: NODE_NAME\n              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}\n");
    text_addf(t, "          resources:\n            requests: {cpu: \"%d\"%s%s}\n", job_cores(job), gpu ? ", " : "", gpu ? gpu : "");
    if (gpu)
        text_addf(t, "            limits: {%s}\n", gpu);
    if (counters && !strcmp(counters, "yes"))
        text_add(t, "          # Counters need this capability, unless the nodes' driver has NVreg_RestrictProfilingToAdminUsers=0.\n"
                    "          securityContext: {capabilities: {add: [SYS_ADMIN]}}\n");
    else
        text_add(t,
                 "          # Hardware counters: --on k8s:counters=yes adds the capability SYS_ADMIN, which they need unless the nodes'\n"
                 "          # driver has NVreg_RestrictProfilingToAdminUsers=0. Without either, rows have times and no counters.\n");
    text_add(t, "          volumeMounts:\n            - name: job\n              mountPath: ");
    quote(t, mount ? mount : above);
    text_add(t, "\n      volumes:\n        - name: job\n          persistentVolumeClaim: {claimName: ");
    quote(t, job_key(job, "claim"));
    text_add(t, "}\n");
    return true;
}

static void add_kubectl(const struct job *job, struct text *t)
{
    text_add(t, "kubectl ");
    if (job_key(job, "namespace")) {
        text_add(t, "--namespace ");
        text_add_word(t, job_key(job, "namespace"));
        text_add(t, " ");
    }
}

static bool kubectl(const struct job *job, const char *words, struct text *out, struct error *err)
{
    SCOPED_TEXT line = {0};
    add_kubectl(job, &line);
    text_add(&line, words);
    int code = engine_shell(text_get(&line), ASK_S, out, err);
    return !code || (code > 0 && error_set(err, ERROR_ENVIRONMENT, "%s: %.500s", text_get(&line), text_get(out)));
}

/* A Job whose indexes have failed is made anew under the same name; indexes that are done find their parts and end at once. */
static bool k8s_submit(struct job *job, const bool *wanted, struct error *err)
{
    SCOPED_TEXT t = {0}, out = {0}, words = {0};
    SCOPED char *path = file_join(job->folder, "k8s.yaml"), *name = job_name(job);
    for (int i = 0; i < job->shards; i++)
        if (job->shard[i].task == ENGINE_PENDING || job->shard[i].task == ENGINE_RUNNING)
            return error_set(err, ERROR_ENVIRONMENT,
                             "shards without a pod wait until the others of the Job end: Kubernetes retries an index itself");
    if (!k8s_script(job, 0, &t, err) || !file_write(path, t.data, t.len, err))
        return false;
    if (json_array_size(json_object_get(job->facts, "ids")))
        text_addf(&words, "delete job %s --ignore-not-found --wait=true && ", name), add_kubectl(job, &words);
    text_add(&words, "create -f ");
    text_add_word(&words, path);
    return kubectl(job, text_get(&words), &out, err) && job_add_id(job, name, err);
}

static const char *text_at(const json_t *o, const char *a, const char *b, const char *c)
{
    const json_t *at = json_object_get(o, a);
    at = b ? json_object_get(at, b) : at;
    return json_string_value(c ? json_object_get(at, c) : at);
}

/* The scheduler's message, or why the container does not start. */
static const char *why_pending(const json_t *pod)
{
    const json_t *status = json_object_get(pod, "status"), *one;
    size_t i;
    json_array_foreach(json_object_get(status, "containerStatuses"), i, one)
    {
        const char *message = json_string_value(json_object_get(json_object_get(json_object_get(one, "state"), "waiting"), "message")),
                   *reason = json_string_value(json_object_get(json_object_get(json_object_get(one, "state"), "waiting"), "reason"));
        if (message || reason)
            return message ? message : reason;
    }
    json_array_foreach(json_object_get(status, "conditions"), i, one)
    {
        const char *message = json_string_value(json_object_get(one, "message")),
                   *value = json_string_value(json_object_get(one, "status"));
        if (message && value && !strcmp(value, "False"))
            return message;
    }
    return "";
}

static bool k8s_poll(struct job *job, struct error *err)
{
    SCOPED_TEXT out = {0};
    SCOPED char *name = job_name(job), *words = text_format("get pods -l batch.kubernetes.io/job-name=%s -o json", name);
    if (!kubectl(job, words, &out, err))
        return false;
    json_t *all = json_loads(text_get(&out), 0, NULL), *pod;
    size_t i;
    for (int k = 0; k < job->shards; k++)
        job->shard[k].task = ENGINE_NONE;
    json_array_foreach(json_object_get(all, "items"), i, pod)
    {
        const char *index = text_at(pod, "metadata", "annotations", "batch.kubernetes.io/job-completion-index"),
                   *phase = text_at(pod, "status", "phase", NULL), *node = text_at(pod, "spec", "nodeName", NULL);
        long long shard;
        if (!index || !phase || !text_to_int(index, &shard) || shard < 0 || shard >= job->shards)
            continue;
        struct job_shard *s = &job->shard[shard];
        bool waits = !strcmp(phase, "Pending"), runs = !strcmp(phase, "Running");
        if (runs || (waits && s->task == ENGINE_NONE))
            s->task = runs ? ENGINE_RUNNING : ENGINE_PENDING;
        snprintf(s->why, sizeof s->why, "%s", waits ? why_pending(pod) : "");
        snprintf(s->where, sizeof s->where, "%s", node ? node : "");
        snprintf(s->name, sizeof s->name, "%s", text_at(pod, "metadata", "name", NULL));
    }
    json_decref(all);
    return true;
}

static bool k8s_logs(const struct job *job, int shard, struct text *t, struct error *err)
{
    SCOPED char *name = job_name(job),
                *words = text_format("logs -l batch.kubernetes.io/job-name=%s,batch.kubernetes.io/job-completion-index=%d --tail=-1", name,
                                     shard - 1);
    SCOPED_TEXT out = {0};
    bool there = kubectl(job, words, &out, NULL); /* its pods may be gone */
    text_add(t, there ? text_get(&out) : "");
    return job_logs(job, shard, t, err);
}

static bool k8s_fetch(struct job *job, int shard, struct error *err)
{
    SCOPED_TEXT t = {0};
    return k8s_logs(job, shard, &t, err) && job_unwrap(job, shard, text_get(&t), err);
}

static bool k8s_cancel(struct job *job, int shard, struct error *err)
{
    SCOPED_TEXT out = {0};
    SCOPED char *name = job_name(job), *words = shard < 0 ? text_format("delete job %s --ignore-not-found", name)
                                                          : text_format("delete pod %s --ignore-not-found", job->shard[shard - 1].name);
    return kubectl(job, words, &out, err);
}

const struct engine engine_k8s = {"k8s",     "a Kubernetes Indexed Job", k8s_check, k8s_script, k8s_submit, k8s_poll, k8s_fetch, k8s_logs,
                                  k8s_cancel};
