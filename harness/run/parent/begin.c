/* The start of a run: the device, what the previous run kept, the rows of an interrupted run, and the provenance. */
#include "base/date.h"
#include "base/file.h"
#include "base/pool.h"
#include "base/spec.h"
#include "base/text.h"
#include "base/version.h"
#include "plan/rows/shard.h"
#include "store/lock.h"
#include "run/parent/fleet.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#define ROWS_TOGETHER 4096 /* that are made before the programs of others are freed */

static void describe_host(struct run *run)
{
    struct utsname u;
    char line[256];
    if (!uname(&u))
        run->host = text_format("%s %s %s", u.sysname, u.release, u.machine);
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
            line[strcspn(line, "\n")] = 0;
            run->cpu = text_format("%s x%d", strchr(line, ':') + 2, pool_threads());
            break;
        }
    if (f)
        fclose(f);
}

bool session_seed(struct session *s, struct error *err)
{
    const char *option = s->asked.seed, *common = getenv("BENCH_SEED"), *given = option ? option : common;
    uint64_t drawn;
    char *end = NULL;
    if (given && (option || *given)) {
        errno = 0;
        strtoull(given, &end, 0);
        s->asked.seed = given;
        if (*given >= '0' && *given <= '9' && !*end && !errno)
            return true;
        error_set(err, ERROR_USAGE, "%s%s is not an integer below 2^64", option ? "--seed " : "BENCH_SEED=", given);
        return error_hint(err, "bench export RUN --json shows the seed of a run under environment");
    }
    if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
        return error_set(err, ERROR_ENVIRONMENT, "this machine provides no random numbers: %s", strerror(errno));
    snprintf(s->seed, sizeof s->seed, "%llu", (unsigned long long)drawn);
    s->asked.seed = s->seed;
    return true;
}

/* 128 random bits: no other run of any host has the same. */
static char *draw_identity(void)
{
    uint64_t drawn[2] = {0};
    if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
        return NULL;
    return text_format("%016llx%016llx", (unsigned long long)drawn[0], (unsigned long long)drawn[1]);
}

/* With --on-every-gpu the cases name GPUs of this host by number, so a run of another host is not a part of the plan. */
static void identify_plan(const struct session *s, char hash[HASH_TEXT])
{
    char host[256] = "";
    plan_identity(&s->plan, spec_is_timed(s->device.spec), hash);
    gethostname(host, sizeof host - 1);
    SCOPED char *here = text_format("%s %s %s", hash, host, s->device.uuid);
    if (s->options->on_every_gpu)
        hash_bytes(here, strlen(here), hash);
}

static void note_provenance(struct session *s)
{
    struct run *r = &s->run;
    const struct scenario *sc = s->plan.scenario;
    size_t bytes;
    struct run former = *r; /* of a run that is resumed, else empty */
    *r = (struct run){.planned = s->owned, .wall_s = former.wall_s, .shard = 1, .shards = 1};
    memcpy(r->spent_s, former.spent_s, sizeof r->spent_s);
    if (s->options->shards) {
        r->shard = s->options->shard;
        r->shards = s->options->shards;
    }
    r->plan_rows = s->plan.row_count;
    r->identity = draw_identity();
    identify_plan(s, r->plan_hash);
    date_now(r->started);
    r->scenario = xstrdup(sc->name);
    r->scenario_path = xstrdup(sc->path);
    r->scenario_hash = xstrdup(sc->hash);
    r->scenario_text = file_read(sc->path, NODE_MAX_BYTES, &bytes, NULL);
    r->argv = xstrdup(s->options->argv);
    r->verb = xstrdup(s->options->verb);
    SCOPED_TEXT t = {0};
    for (int i = 0; s->asked.op_files && s->asked.op_files[i]; i++) {
        text_add(&t, t.len ? " --ops " : "--ops ");
        text_add_word(&t, s->asked.op_files[i]);
    }
    for (int i = 0; s->asked.variant_dirs && s->asked.variant_dirs[i]; i++) {
        text_add(&t, t.len ? " -V " : "-V ");
        text_add_word(&t, s->asked.variant_dirs[i]);
    }
    row_set(&r->asked_variants, t.len ? text_get(&t) : NULL);
    row_set(&r->asked_device, s->options->plan.device);
    row_set(&r->asked_out, s->options->asked_out);
    r->commit = xstrdup(bench_version());
    row_set(&r->revision, s->options->revision);
    r->device = xstrdup(s->device.spec);
    r->product = xstrdup(s->device.chip.name);
    r->device_about = xstrdup(s->device.about);
    r->uuid = xstrdup(s->device.uuid);
    r->driver = xstrdup(s->device.driver);
    r->compiler = xstrdup(s->device.compiler);
    r->seed = sc->layer_count ? sc->layers[0].work.seed : 0;
    json_auto_t *environment = json_pack("{s:s,s:s,s:i,s:s}", "cudnn", s->device.library, "arch", s->device.chip.arch, "bench_threads",
                                         pool_threads(), "seed", s->asked.seed);
    if (s->roofs.count)
        json_object_set_new(environment, "roofs", wire_roofs(&s->roofs));
    r->environment = json_dumps(environment, JSON_COMPACT);
    describe_host(r);
}

/* The place of a row: "HOST/cuda:2". */
static void session_place(const struct session *s, struct row *row)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    SCOPED char *where = text_format("%s/%s", host, s->options->feed ? s->options->feed->place : s->device.spec);
    row_set(&row->where, where);
    row_set(&row->gpu_uuid, s->device.uuid);
}

static void complete_row(struct session *s, int i)
{
    session_row_key(s, i, s->device.uuid, s->rows[i]->key);
    session_place(s, s->rows[i]);
    if (s->plan.rows[i].kind != PLAN_SEQUENCE) /* the work of a sequence depends on its frames */
        session_row_roof(s, i);
}

void session_make_rows(struct session *s, int first, int last)
{
    for (int i = first; i < last; i++) {
        row_free(s->rows[i]);
        s->rows[i] = plan_row_new(&s->plan, i, s->device.spec);
        complete_row(s, i);
    }
}

void session_make_all_rows(struct session *s)
{
    plan_rows_new(&s->plan, s->device.spec, 0, s->plan.row_count, NULL, s->rows);
    for (int i = 0; i < s->plan.row_count; i++)
        complete_row(s, i);
}

/* Makes the rows of whole cases. */
static void make_cases(struct session *s, int first, int last)
{
    SCOPED char(*keys)[HASH_TEXT] = xcalloc((size_t)(last - first) + 1, sizeof *keys);
    for (int i = first; i < last; i++)
        if (session_owns(s, i))
            session_row_key(s, i, s->device.uuid, keys[i - first]);
    SCOPED bool *given = session_known(s, first, last, keys);
    plan_rows_new(&s->plan, s->device.spec, first, last, given, s->rows);
    for (int i = first; i < last; i++) {
        session_place(s, s->rows[i]);
        memcpy(s->rows[i]->key, keys[i - first], sizeof keys[0]);
        if (!(given && given[i - first]) && s->plan.rows[i].kind != PLAN_SEQUENCE)
            session_row_roof(s, i);
    }
    plan_tidy(&s->plan, -1);
}

/* Processes that have a GPU each make the rows of the cases that they get, so that a fleet's parent and the others need none. */
static bool makes_none(const struct session *s)
{
    return s->options->feed || (s->options->gpus && !s->options->resume && !s->options->gate);
}

bool session_rows(struct session *s, int *kept, struct error *err)
{
    s->rows = xcalloc((size_t)s->plan.row_count, sizeof *s->rows);
    s->kept = xcalloc((size_t)s->plan.row_count, sizeof *s->kept);
    s->choices = xcalloc((size_t)s->plan.row_count, sizeof *s->choices);
    bool same_run = false, ok = false, *stale = xcalloc((size_t)s->plan.row_count + 1, sizeof *stale);
    struct row **due = NULL; /* to be stored now */
    int due_count = 0;
    for (int i = 0; i < s->plan.row_count; i++)
        s->kept[i] = !session_owns(s, i);
    for (int first = 0, last; first < s->plan.row_count && !makes_none(s); first = last) {
        last = plan_rows_end(&s->plan, first, ROWS_TOGETHER);
        make_cases(s, first, last);
    }
    if (s->options->interrupted && *s->options->interrupted) { /* a kernel that Python had no time to make is not broken */
        error_set(err, ERROR_INTERRUPTED, "interrupted");
        goto done;
    }
    if (s->options->feed) { /* the parent stores */
        *kept = 0;
        ok = true;
        goto done;
    }
    *kept = s->options->resume ? session_resume(s, &same_run, stale, err) : 0;
    if (*kept < 0)
        goto done;
    int64_t id = s->run.id;
    note_provenance(s);
    s->run.id = same_run ? id : 0;
    if (!store_run_begin(s->store, &s->run, err))
        goto done;
    if (store_shared(s->store) && !s->options->before)
        session_note(s,
                     "%s is on %s, which several hosts may see: rollback journal instead of WAL, so a report waits while a row is stored",
                     s->options->database, store_shared(s->store));
    for (int i = 0; i < s->plan.row_count; i++) {
        bool known = !s->kept[i] && !session_due(s, i); /* infeasible or broken head: the status is known without a run */
        known = known && !s->options->gpus;             /* a GPU's process says it, with the rest of the case */
        s->done += session_owns(s, i) && (s->kept[i] || known);
        if (stale[i] || known)
            *APPEND(due, due_count) = s->rows[i];
    }
    ok = store_put_all(s->store, s->run.id, due, due_count, err);
done:
    free(due);
    free(stale);
    return ok;
}

/* ---- the state that one run leaves to the next ---- */

struct session_kept {
    struct session_device device;
    struct child worker, ceilings;
    int gpu_lock;
    char files[HASH_TEXT]; /* of its plan */
    struct row **rows;     /* as they are stored */
    int row_count;
    struct gpu *gpus; /* of a run on several: their processes wait for its next plan. Each has a worker of its own */
    int gpu_count;
};

bool session_take_kept(struct session *s)
{
    const struct session_feed *feed = s->options->feed;
    struct session_kept **from = feed && *feed->opened ? feed->opened : s->options->kept, *k = from ? *from : NULL;
    if (!k)
        return false;
    s->device = k->device;
    s->worker = k->worker;
    s->ceilings = k->ceilings;
    s->gpu_lock = k->gpu_lock;
    memcpy(s->plan.files, k->files, sizeof k->files);
    s->former = k->rows;
    s->former_count = k->row_count;
    free(k);
    *from = NULL;
    s->follows = from == s->options->kept;
    return true;
}

struct session_kept *session_lend(struct session *s)
{
    struct session_kept *k = xcalloc(1, sizeof *k);
    *k = (struct session_kept){.device = s->device,
                               .worker = s->worker,
                               .ceilings = s->ceilings,
                               .gpu_lock = s->gpu_lock,
                               .rows = s->rows,
                               .row_count = s->rows ? s->plan.row_count : 0};
    memcpy(k->files, s->plan.files, sizeof k->files);
    k->worker.ahead = 0;
    k->worker.launched = k->worker.ready = false; /* it needs a new setup */
    s->worker = s->ceilings = CHILD_NONE;
    s->gpu_lock = -1;
    s->rows = NULL;
    return k;
}

bool session_take_back(struct session *s, struct session_kept *kept)
{
    if (!kept)
        return false;
    s->device = kept->device;
    s->worker = kept->worker;
    s->ceilings = kept->ceilings;
    s->gpu_lock = kept->gpu_lock;
    rows_free(kept->rows, kept->row_count);
    free(kept);
    return true;
}

void session_keep(struct session *s)
{
    if (s->options->kept && !s->interrupted && s->worker.ready && !s->worker.ahead)
        *s->options->kept = session_lend(s);
}

void session_keep_gpus(const struct session *s, struct gpu *gpus, int count)
{
    struct session_kept *k = *s->options->kept = xcalloc(1, sizeof *k);
    *k = (struct session_kept){
        .device = s->device, .worker = CHILD_NONE, .ceilings = CHILD_NONE, .gpu_lock = -1, .gpus = gpus, .gpu_count = count};
    memcpy(k->files, s->plan.files, sizeof k->files);
}

void session_kept_add(struct session_kept *k, struct gpu *gpus, int count)
{
    k->gpus = gpus;
    k->gpu_count = count;
}

struct gpu *session_kept_gpus(struct session_kept *k, int *count)
{
    struct gpu *gpus = k ? k->gpus : NULL;
    if (!gpus)
        return NULL;
    *count = k->gpu_count;
    k->gpus = NULL;
    k->gpu_count = 0;
    return gpus;
}

void session_kept_free(struct session_kept *kept)
{
    if (!kept)
        return;
    for (int i = 0; i < kept->gpu_count; i++)
        child_stop(&kept->gpus[i].child, NULL, 0);
    free(kept->gpus);
    child_stop(&kept->worker, NULL, 0);
    child_stop(&kept->ceilings, NULL, 0);
    lock_release(&kept->gpu_lock);
    rows_free(kept->rows, kept->row_count);
    free(kept);
}

/* In the process of a GPU: locks it. */
static bool hold_known(struct session *s, const char *spec, struct error *err)
{
    const struct session_feed *feed = s->options->feed;
    if (!session_lock(feed->uuid, s->sink, s->options->interrupted, &s->gpu_lock, err))
        return false;
    snprintf(s->device.spec, sizeof s->device.spec, "%s", spec);
    snprintf(s->device.uuid, sizeof s->device.uuid, "%s", feed->uuid);
    s->roofs = *feed->roofs;
    return true;
}

bool session_find(struct session *s, struct error *err)
{
    const struct session_options *o = s->options;
    struct scenario *sc = scenario_load(o->plan.scenario_path, err); /* only for its chip: making the plan requires the device */
    if (!sc)
        return false;
    SCOPED char *emu = scenario_emu(sc, o->plan.device);
    scenario_free(sc);
    struct session_probe ask = {o->plan.device, emu, o->plan.compiler, o->plan.bundle, .compiles = true, o->inside ? NULL : &s->worker};
    bool ok = o->gpus   ? true /* each GPU has a process, which locks it and opens it */
              : o->feed ? hold_known(s, ask.spec, err)
                        : session_hold(ask.spec, s->sink, &s->worker, o->interrupted, &s->gpu_lock, err);
    /* Processes that open GPUs at the same time wait for each other in the driver: on two H200, four processes take 1.0 s, one alone 0.3
     * s. So the process that measures a GPU's ceilings opens it first, and the worker opens it afterwards. Before a plan exists, an
     * existing database may have the ceilings. */
    bool measures = ok && o->feed && (!s->fleet || !store_exists(o->database)) && session_roofs_lacks(s);
    if (measures) {
        s->ceilings = s->worker; /* if there is one, it has listed the GPUs */
        s->worker = CHILD_NONE;
        ask.keep = &s->ceilings;
    }
    if (ok && o->inside) /* a debugger's process opens the device itself */
        child_stop(&s->worker, NULL, 0);
    ok = ok && session_device(&ask, o->interrupted, &s->device, err);
    if (ok && measures) {
        session_roofs_launch(s);
        session_probe_launch(&ask, &s->worker);
    }
    if (o->gpus)
        child_stop(&s->worker, NULL, 0);
    return ok;
}
