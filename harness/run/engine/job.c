/* A job's folder: job.json, what a task needs, and what landed. */
#include "base/file.h"
#include "base/hash.h"
#include "base/version.h"
#include "run/engine/engine.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define JOB_FORMAT 1
#define JSON_MAX_BYTES ((size_t)16 << 20)
#define LOG_MAX_BYTES ((size_t)2 << 30) /* with a database in it */

const char *job_text(const struct job *job, const char *fact)
{
    return json_string_value(json_object_get(job->facts, fact));
}

long long job_number(const struct job *job, const char *fact)
{
    const json_t *n = json_object_get(job->facts, fact);
    return n ? json_integer_value(n) : -1;
}

void job_shards(struct job *job, int shards)
{
    job->shards = shards;
    job->shard = xcalloc((size_t)shards + 1, sizeof *job->shard);
    for (int i = 0; i < shards; i++)
        job->shard[i].of = job->shard[i].code = -1;
}

bool job_make(struct job *job, const struct engine *engine, json_t *keys, const char *dir, const char *scenario, struct error *err)
{
    unsigned drawn = 0;
    char host[64] = "";
    const char *base = job_key(&(struct job){.keys = keys}, "folder");
    if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
        drawn = (unsigned)time(NULL);
    gethostname(host, sizeof host - 1);
    *job = (struct job){.engine = engine, .keys = keys, .facts = json_object()};
    job->id = text_format("%s-%04x", scenario, drawn & 0xffff);
    for (char *c = job->id; *c; c++) /* a name for engines, paths and the shell */
        *c = isalnum((unsigned char)*c) || *c == '_' || *c == '.' ? *c : '-';
    SCOPED char *made = file_join(base ? base : dir, job->id), *here = realpath(".", NULL);
    if (!here)
        return error_set(err, ERROR_ENVIRONMENT, "the current folder is gone");
    job->folder = file_join(here, made);
    json_object_set_new(job->facts, "format", json_integer(JOB_FORMAT));
    json_object_set_new(job->facts, "id", json_string(job->id));
    json_object_set_new(job->facts, "engine", json_string(engine->name));
    json_object_set_new(job->facts, "keys", keys);
    json_object_set_new(job->facts, "scenario", json_string(scenario));
    json_object_set_new(job->facts, "host", json_string(host));
    json_object_set_new(job->facts, "commit", json_string(bench_version()));
    json_object_set_new(job->facts, "created", json_integer((json_int_t)time(NULL)));
    json_object_set_new(job->facts, "ids", json_array());
    return true;
}

bool job_dirs(struct job *job, const char *dir, struct error *err)
{
    SCOPED char *parts = file_join(job->folder, "parts"), *logs = file_join(job->folder, "logs");
    if (file_exists(job->folder))
        return error_set(err, ERROR_USAGE, "%s: is there already; try again", job->folder);
    if (!file_make_dirs(parts, err) || !file_make_dirs(logs, err))
        return false;
    SCOPED char *link = job_key(job, "folder") ? file_join(dir, job->id) : NULL; /* `bench jobs` finds it there */
    if (link && (!file_make_dirs(dir, err) || symlink(job->folder, link)))
        return error_set(err, ERROR_ENVIRONMENT, "%s: cannot be made", link);
    return true;
}

bool job_write(const struct job *job, struct error *err)
{
    SCOPED char *path = file_join(job->folder, "job.json"), *text = json_dumps(job->facts, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    return file_write(path, text, strlen(text), err);
}

bool job_open(const char *folder, struct job *job, struct error *err)
{
    SCOPED char *path = file_join(folder, "job.json"), *text = file_read(path, JSON_MAX_BYTES, NULL, err);
    *job = (struct job){.folder = realpath(folder, NULL)};
    if (!text)
        return false;
    job->facts = json_loads(text, 0, NULL);
    job->keys = json_object_get(job->facts, "keys");
    const char *engine = job_text(job, "engine"), *id = job_text(job, "id");
    long long shards = job_number(job, "shards");
    job->engine = engine ? engine_find(engine) : NULL;
    if (!job->engine || !id || !json_is_object(job->keys) || job_number(job, "format") != JOB_FORMAT || shards < 1 || shards > 1000000)
        return error_set(err, ERROR_USAGE, "%s: not a job of this bench", path);
    job->id = xstrdup(id);
    job_shards(job, (int)shards);
    return true;
}

void job_free(struct job *job)
{
    json_decref(job->facts);
    pointers_free(job->seen, job->seen_count);
    FREE_ALL(job->shard, job->folder, job->id, job->own);
    *job = (struct job){0};
}

bool job_add_id(struct job *job, const char *id, struct error *err)
{
    json_array_append_new(json_object_get(job->facts, "ids"), json_string(id));
    return job_write(job, err);
}

void job_command(const struct job *job, const char *index, struct text *t)
{
    SCOPED char *self = file_join(job->folder, "bin/bench");
    text_add_word(t, self);
    text_add(t, " jobs task ");
    text_add_word(t, job->folder);
    text_addf(t, " %s", index);
}

void job_setup(const struct job *job, const char *end, struct text *t)
{
    const char *modules = job_key(job, "modules"), *setup = job_key(job, "setup");
    for (const char *at = modules ? modules : ""; *at; at += strspn(at, ",")) {
        SCOPED char *one = xstrndup(at, strcspn(at, ","));
        text_add(t, "module load ");
        text_add_word(t, one);
        text_add(t, end);
        at += strlen(one);
    }
    if (setup)
        text_addf(t, "%s%s", setup, end);
}

/* ---- what landed ---- */

static const char *state_word(const char *state)
{
    static const char *const words[] = {"running", "done", "stopped", "failed"};
    for (size_t i = 0; state && i < sizeof words / sizeof *words; i++)
        if (!strcmp(state, words[i]))
            return words[i];
    return NULL;
}

/* One copy's status. A shard that is done stays done; else the copy with the most rows counts, and the newest word. */
static void take_status(struct job *job, const json_t *s)
{
    long long shard = json_integer_value(json_object_get(s, "shard")), rows = json_integer_value(json_object_get(s, "rows"));
    const char *part = json_string_value(json_object_get(s, "part")), *host = json_string_value(json_object_get(s, "host"));
    const char *state = state_word(json_string_value(json_object_get(s, "state")));
    if (shard < 1 || shard > job->shards || !state || !host)
        return;
    struct job_shard *one = &job->shard[shard - 1];
    if (one->done)
        return;
    one->done = !strcmp(state, "done");
    one->state = state;
    one->code = (int)json_integer_value(json_object_get(s, "exit"));
    one->seconds = json_number_value(json_object_get(s, "seconds"));
    snprintf(one->host, sizeof one->host, "%s", host);
    if (part && !strchr(part, '/') && (one->done || rows >= one->rows)) {
        snprintf(one->part, sizeof one->part, "%s", part);
        one->rows = rows;
        one->of = json_integer_value(json_object_get(s, "of"));
    }
}

static bool was_seen(const struct job *job, const char *name)
{
    return ANY_OF(i, job->seen_count, !strcmp(job->seen[i], name));
}

bool job_scan(struct job *job, struct error *err)
{
    SCOPED char *parts = file_join(job->folder, "parts"), **names = NULL;
    int count = file_list(parts, ".json", &names, err);
    for (int i = 0; i < count; i++) {
        const char *name = names[i];
        SCOPED char *path = file_join(parts, name);
        long long shard = atoll(name);
        if (was_seen(job, name) || shard < 1 || shard > job->shards || job->shard[shard - 1].done)
            continue;
        SCOPED char *text = file_read(path, JSON_MAX_BYTES, NULL, NULL);
        json_t *s = text ? json_loads(text, 0, NULL) : NULL;
        if (!json_is_object(s)) {
            json_decref(s);
            continue;
        }
        take_status(job, s);
        const char *state = json_string_value(json_object_get(s, "state"));
        if (state && strcmp(state, "running"))
            *APPEND(job->seen, job->seen_count) = xstrdup(name);
        json_decref(s);
    }
    return count >= 0;
}

/* ---- parts that a task printed ---- */

#define WRAP_BEGIN "\nbench-part {"

bool job_unwrap(const struct job *job, int shard, const char *text, struct error *err)
{
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, WRAP_BEGIN)); at++)
        last = at;
    const char *line = last ? last + strlen(WRAP_BEGIN) - 1 : NULL, *body = line ? strchr(line, '\n') : NULL;
    const char *end = body ? strstr(body, "\nbench-part-end") : NULL;
    if (!end) /* none, or cut off */
        return false;
    json_auto_t *s = json_loadb(line, (size_t)(body - line), 0, NULL);
    const char *part = json_string_value(json_object_get(s, "part")), *hash = json_string_value(json_object_get(s, "sha256"));
    bool ok = s && part && hash && !strchr(part, '/') && json_integer_value(json_object_get(s, "shard")) == shard;
    if (ok) {
        SCOPED char *parts = file_join(job->folder, "parts"), *path = file_join(parts, part), *coded = text_format("%s.b64", path),
                    *status = text_format("%.*s.json", (int)(strlen(path) - strlen(".db")), path);
        SCOPED_TEXT shell = {0};
        char found[HASH_TEXT] = "";
        size_t bytes;
        text_add(&shell, "base64 -d <");
        text_add_word(&shell, coded);
        text_add(&shell, " >");
        text_add_word(&shell, coded);
        text_add(&shell, ".db");
        SCOPED char *decoded = text_format("%s.db", coded);
        ok = file_write(coded, body + 1, (size_t)(end - body), err) && !engine_shell(text_get(&shell), 600, NULL, err);
        SCOPED char *data = ok ? file_read(decoded, LOG_MAX_BYTES, &bytes, err) : NULL;
        if (data)
            hash_bytes(data, bytes, found);
        ok = data && !strcmp(found, hash);
        if (data && !ok)
            error_set(err, ERROR_USAGE, "shard %d: the part in its output is damaged", shard);
        SCOPED char *told = json_dumps(s, JSON_COMPACT);
        ok = ok && !rename(decoded, path) && file_write(status, told, strlen(told), err);
        unlink(coded);
        unlink(decoded);
    }
    return ok;
}

bool job_logs(const struct job *job, int shard, struct text *t, struct error *err)
{
    SCOPED char *logs = file_join(job->folder, "logs"), **names = NULL, *suffix = text_format(".%d.log", shard);
    int count = file_list(logs, suffix, &names, err);
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(logs, names[i]), *text = file_read(path, LOG_MAX_BYTES, NULL, err);
        if (text)
            text_add(t, text);
    }
    return count >= 0;
}
