/* The words of --on and of a system file. */
#include "base/file.h"
#include "base/node.h"
#include "base/spec.h"
#include "run/engine/engine.h"
#include <stdlib.h>
#include <string.h>

enum key_kind { KEY_TEXT, KEY_COUNT };
#define EVERY "local ssh srun slurm k8s"
#define CORES_A_GPU 2 /* a run keeps 1.0 to 1.2 cores busy for each H200 */
static const struct key {
    const char *name;
    enum key_kind kind;
    const char *engines; /* that take it */
} known[] = {
    {"shards", KEY_COUNT, EVERY},              /* parts of the plan */
    {"parallel", KEY_COUNT, EVERY},            /* at most so many tasks at once */
    {"retries", KEY_COUNT, EVERY},             /* of a shard whose task ended without its part */
    {"every", KEY_COUNT, EVERY},               /* seconds between two copies of a part that grows */
    {"folder", KEY_TEXT, EVERY},               /* where the job's folder is made: on a file system that the nodes see */
    {"disk", KEY_TEXT, EVERY},                 /* the node's own disk */
    {"handover", KEY_TEXT, "local ssh k8s"},   /* folder, output */
    {"chip", KEY_TEXT, EVERY},                 /* to compile for */
    {"setup", KEY_TEXT, "ssh srun slurm"},     /* a line of shell before the task */
    {"modules", KEY_TEXT, "ssh srun slurm"},   /* to load */
    {"container", KEY_TEXT, "ssh srun slurm"}, /* apptainer:IMAGE, pyxis:IMAGE */
    {"gpus", KEY_COUNT, EVERY},                /* local, ssh: of a host, a task each; slurm, k8s: of a task */
    {"hosts", KEY_TEXT, "ssh"},                /* file: a host and its GPUs a line */
    {"ssh", KEY_TEXT, "ssh"},                  /* the command; default: ssh */
    {"partition", KEY_TEXT, "srun slurm"},
    {"gres", KEY_TEXT, "srun slurm"},
    {"time", KEY_TEXT, "srun slurm"},
    {"exclude", KEY_TEXT, "srun slurm"},
    {"nodelist", KEY_TEXT, "srun slurm"},
    {"constraint", KEY_TEXT, "srun slurm"},
    {"account", KEY_TEXT, "srun slurm"},
    {"qos", KEY_TEXT, "srun slurm"},
    {"mem", KEY_TEXT, "srun slurm"},
    {"cpus", KEY_COUNT, "srun slurm k8s"},
    {"options", KEY_TEXT, "srun slurm"}, /* further options of sbatch, one word each, blanks between them */
    {"image", KEY_TEXT, "k8s"},
    {"claim", KEY_TEXT, "k8s"}, /* PersistentVolumeClaim with the job's folder */
    {"mount", KEY_TEXT, "k8s"}, /* where the pod has it */
    {"namespace", KEY_TEXT, "k8s"},
    {"queue", KEY_TEXT, "k8s"},    /* of Kueue */
    {"counters", KEY_TEXT, "k8s"}, /* yes: capability SYS_ADMIN */
};
#define KNOWN (sizeof known / sizeof *known)

static const struct engine *const engines[] = {&engine_local, &engine_ssh, &engine_srun, &engine_slurm, &engine_k8s};

const struct engine *engine_find(const char *name)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (!strcmp(engines[i]->name, name))
            return engines[i];
    return NULL;
}

static const struct key *find_key(const char *name, size_t length)
{
    return FIRST_IN(known, i, KNOWN, strlen(known[i].name) == length && !strncmp(known[i].name, name, length));
}

static bool set_key(json_t *keys, const struct key *k, const char *value, struct error *err)
{
    long long n;
    if (!*value)
        return error_set(err, ERROR_USAGE, "the key '%s' has no value", k->name);
    if (strpbrk(value, "\n\r"))
        return error_set(err, ERROR_USAGE, "the value of '%s' has more than one line", k->name);
    if (k->kind == KEY_COUNT && (!text_to_int(value, &n) || n < 1 || n > 1000000))
        return error_set(err, ERROR_USAGE, "%s=%.60s: a number from 1 on is expected", k->name, value);
    json_object_set_new(keys, k->name, json_string(value));
    return true;
}

static bool unknown(const char *word, size_t length, const struct engine *engine, struct error *err)
{
    const char *names[KNOWN];
    size_t count = 0;
    SCOPED char *name = xstrndup(word, length);
    for (size_t i = 0; i < KNOWN; i++)
        if (!engine || strstr(known[i].engines, engine->name))
            names[count++] = known[i].name;
    const char *near = text_nearest(name, names, count);
    error_set(err, ERROR_USAGE, "no key '%.60s'%s%s", name, engine ? " of the engine " : "", engine ? engine->name : "");
    SCOPED_TEXT all = {0};
    text_add_list(&all, names, count);
    return error_hint(err, "%s%s%s", near ? near : "keys: ", near ? "? keys: " : "", text_get(&all));
}

/* "partition=gpu,exclude=n1,n2" */
static bool take_words(json_t *keys, const char *words, struct error *err)
{
    for (const char *at = words; *at;) {
        size_t name = strcspn(at, "=,"), end = name + strcspn(at + name, ",");
        const struct key *k = at[name] == '=' ? find_key(at, name) : NULL;
        if (!k)
            return unknown(at, at[name] == '=' ? name : end, NULL, err);
        for (;;) { /* a word that is no KEY= belongs to the value */
            const char *next = at + end + (at[end] == ',');
            size_t n = strcspn(next, "=,");
            if (!at[end] || (next[n] == '=' && find_key(next, n)))
                break;
            end = (size_t)(next - at) + strcspn(next, ",");
        }
        SCOPED char *value = xstrndup(at + name + 1, end - name - 1);
        if (!set_key(keys, k, value, err))
            return false;
        at += end + (at[end] == ',');
    }
    return true;
}

/* A list is a value with commas, a map of one key is KEY:VALUE: container: {apptainer: bench.sif}. */
static bool node_value(const struct node *n, const char *what, struct text *t, struct error *err)
{
    if (n->kind == NODE_MAP && n->count == 1) {
        text_addf(t, "%s:", n->keys[0]->text);
        return node_value(n->items[0], what, t, err);
    }
    for (int i = 0; n->kind == NODE_LIST && i < n->count; i++) {
        const char *one = node_text(n->items[i], what, err);
        if (!one)
            return false;
        text_addf(t, "%s%s", i ? "," : "", one);
    }
    const char *one = n->kind == NODE_LIST ? "" : node_text(n, what, err);
    if (one)
        text_add(t, one);
    return one;
}

static bool take_file(const char *path, const struct engine **engine, json_t *keys, struct error *err)
{
    SCOPED_BY(node_leave) struct node *root = node_parse_file(path, err);
    if (!root)
        return false;
    if (root->kind != NODE_MAP)
        return node_error(root, err, "a system file is a map: engine, partition, ...");
    for (int i = 0; i < root->count; i++) {
        const char *name = root->keys[i]->text;
        SCOPED_TEXT value = {0};
        if (!node_value(root->items[i], name, &value, err))
            return false;
        const struct key *k = find_key(name, strlen(name));
        if (!strcmp(name, "engine")) {
            if (!(*engine = engine_find(text_get(&value))))
                return node_error(root->items[i], err, "no engine '%.60s': local, ssh, srun, slurm, k8s", text_get(&value));
        } else if (!k || !set_key(keys, k, text_get(&value), err)) {
            if (!k)
                unknown(name, strlen(name), NULL, err);
            SCOPED char *why = xstrdup(err->text), *hint = xstrdup(err->hint);
            node_error(root->keys[i], err, "%s", why);
            return *hint ? error_hint(err, "%s", hint) : false;
        }
    }
    return *engine || node_error(root, err, "the system file names no engine: local, ssh, srun, slurm, k8s");
}

/* ~/.config/bench/NAME.yaml, or the file itself; NULL: neither. */
static char *system_file(const char *word)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    if (text_ends(word, ".yaml"))
        return xstrdup(word);
    SCOPED char *own = text_format("%s%s/bench/%s.yaml",
                                   config && *config ? config
                                   : home            ? home
                                                     : "",
                                   config && *config ? "" : "/.config", word);
    return file_exists(own) ? xstrdup(own) : NULL;
}

bool engine_keys(const char *on, const struct engine **engine, json_t **keys, struct error *err)
{
    const char *colon = strchr(on, ':');
    SCOPED char *word = xstrndup(on, colon ? (size_t)(colon - on) : strlen(on)), *file = NULL;
    json_t *own = json_object();
    *engine = engine_find(word);
    *keys = NULL;
    if (!*engine)
        file = system_file(word);
    bool ok = *engine || file;
    if (!ok) {
        error_set(err, ERROR_USAGE, "--on %.80s: neither an engine nor a system file", word);
        error_hint(err, "local, ssh, srun, slurm, k8s, FILE.yaml, or NAME for ~/.config/bench/NAME.yaml (docs/FLEET.md)");
    }
    ok = ok && (!file || take_file(file, engine, own, err)) && take_words(own, colon ? colon + 1 : "", err);
    const char *name;
    json_t *value;
    if (ok)
        json_object_foreach(own, name, value) if (ok && !strstr(find_key(name, strlen(name))->engines, (*engine)->name)) ok =
            unknown(name, strlen(name), *engine, err);
    const char *handover = json_string_value(json_object_get(own, "handover"));
    if (ok && handover && strcmp(handover, "folder") && strcmp(handover, "output"))
        ok = error_set(err, ERROR_USAGE, "handover=%.60s: folder or output is expected", handover);
    if (ok)
        *keys = own;
    else
        json_decref(own);
    return ok;
}

const char *job_key(const struct job *job, const char *key)
{
    return json_string_value(json_object_get(job->keys, key));
}

int job_count(const struct job *job, const char *key, int otherwise)
{
    long long n;
    const char *text = job_key(job, key);
    return text && text_to_int(text, &n) ? (int)n : otherwise;
}

int job_cores(const struct job *job)
{
    bool timed = spec_is_timed(job_text(job, "device"));
    return job_count(job, "cpus", timed ? CORES_A_GPU * job_count(job, "gpus", 1) : 1);
}
