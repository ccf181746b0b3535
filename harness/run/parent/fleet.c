/* A run on several GPUs of this host, or by several processes on emu. */
#include "run/parent/fleet.h"
#include "base/spec.h"
#include "base/text.h"
#include "plan/rows/shard.h"
#include "run/message/wire.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define JUDGE_S 60.0 /* a GPU that has not been checked by then is not judged */
#define POLL_MS 200
#define PART_S 5.0  /* the rest of a message that has begun */
#define STORE_S 0.5 /* between transactions, each of which waits for the disk: cases that end meanwhile share one */
#define REST_S 10.0 /* rows of cases that run are stored that often: most come again, timed and counted */
#define STORE_ROWS 5000
#define TELL_S 0.1 /* between progress lines */

/* ---- cases ---- */

/* Cases without a row to run: of other shards, and those that an earlier run has finished. */
static void skip_cases(struct fleet *f)
{
    for (int c = 0; c < f->queue.count; c++) {
        int first = f->first[c], end = fleet_case_end(f, c);
        bool due = false;
        for (int i = first; i < end; i++)
            due = due || (!f->s->kept[i] && !(f->s->rows[i] && f->s->rows[i]->status == ROW_SKIPPED)); /* skipped: a gate's, stored */
        if (first == end || !due)
            queue_done(&f->queue, c);
    }
}

/* Stores what is known of a GPU under `gpus` of the run's environment. Takes the reference. */
static void put_gpu(struct fleet *f, const struct gpu *g, json_t *facts)
{
    struct error why = {0};
    if (f->shared)
        json_decref(facts);
    else
        session_environment(f->s, json_pack("{s:{s:o}}", "gpus", g->where, facts), &why);
}

/* Names a GPU that is slow or unsound: its rows get a note, or it runs none. */
static void label(struct fleet *f, struct gpu *g, enum health health, const char *why)
{
    put_gpu(f, g, json_pack("{s:s,s:s*}", "health", health_name(health), "why", *why ? why : NULL));
    if (health < HEALTH_LABELLED || health < g->health)
        return;
    bool told = g->health == health && g->label[0]; /* before a race */
    g->health = health;
    snprintf(g->label, sizeof g->label, "measured on %s: %.200s", g->place, why);
    if (!told)
        session_note(f->s, "%s%s: %s", g->place, health == HEALTH_REFUSED ? " runs no rows" : ": its rows get a note", why);
}

/* When every GPU has been checked, or a minute is over: compares them. Until then no case is given. */
static bool judge_all(struct fleet *f)
{
    int waits = 0, refused = 0;
    for (int k = 0; k < f->count; k++)
        waits += f->gpus[k].child.pid > 0 && !f->gpus[k].ready;
    if (f->judged || !f->began_s || (waits && clock_s() - f->began_s < JUDGE_S))
        return f->judged || !f->began_s; /* nothing was due, so no process began */
    f->judged = true;
    f->judged_s = clock_s();
    phase_turn(&f->s->clock, PHASE_WAITING);
    SCOPED struct gpu_check *checks = xcalloc((size_t)f->count + 1, sizeof *checks);
    for (int k = 0; k < f->count; k++)
        checks[k] = f->gpus[k].check;
    for (int k = 0; k < f->count; k++) {
        SCOPED_TEXT why = {0};
        enum health h = health_judge(checks, f->count, k, &why);
        refused += h == HEALTH_REFUSED;
        bool must = refused == f->count || f->s->options->on_every_gpu; /* one stays; each is to be seen */
        label(f, &f->gpus[k], h == HEALTH_REFUSED && must ? HEALTH_LABELLED : h, text_get(&why));
    }
    return true;
}

/* ---- messages ---- */

static void note_once(struct fleet *f, const struct gpu *g, const char *text)
{
    for (int i = 0; i < f->said_count; i++)
        if (!strcmp(f->said[i], text))
            return;
    *APPEND(f->said, f->said_count) = xstrdup(text);
    session_note(f->s, "%s%s%s", f->shared ? "" : g->place, f->shared ? "" : ": ", text);
}

/* Takes the row. */
static void take_row(struct fleet *f, struct gpu *g, int i, struct row *row)
{
    struct session *s = f->s;
    if (i < 0 || i >= s->plan.row_count) {
        row_free(row);
        return;
    }
    bool before = s->rows[i] && s->rows[i]->status != ROW_PLANNED, now = row->status != ROW_PLANNED;
    s->done += now && !before;
    if (g->label[0] && row->time_count)
        row_add_note(row, "%s", g->label);
    row_free(s->rows[i]);
    s->rows[i] = row;
    s->kept[i] = now;
    fleet_receive(f, i);
}

/* Shows a case whose rows are stored; nobody needs them here but a network. */
static void show_case(struct fleet *f, int c)
{
    struct session *s = f->s;
    int first = f->first[c], end = fleet_case_end(f, c);
    if (s->sink->case_done && end > first)
        s->sink->case_done(s->sink->context, &s->run, s->rows + first, end - first);
    for (int i = first; i < end && !f->wanted[c]; i++) {
        row_free(s->rows[i]);
        s->rows[i] = NULL;
    }
}

static int count_alive(const struct fleet *f)
{
    int alive = 0;
    for (int k = 0; k < f->count; k++)
        alive += f->gpus[k].child.pid > 0 && !f->gpus[k].rests;
    return alive;
}

/* Stores what has come, all at once, and shows the cases that are over. `all`: rows of cases that run, too. */
static bool store_received(struct fleet *f, bool all, struct error *err)
{
    struct session *s = f->s;
    SCOPED struct row **rows = xcalloc((size_t)f->received_count + 1, sizeof *rows);
    int count = 0, left = 0;
    for (int k = 0; k < f->received_count; k++) {
        int i = f->received[k];
        f->dirty[i] = !all && f->queue.state[s->plan.rows[i].case_index] != CASE_DONE;
        if (f->dirty[i])
            f->received[left++] = i;
        else
            rows[count++] = s->rows[i];
    }
    f->received_count = left;
    f->stored_s = clock_s();
    f->rest_s = all ? f->stored_s : f->rest_s;
    if (count && !store_put_all(s->store, s->run.id, rows, count, err))
        return false;
    for (int k = 0; k < f->over_count && !f->shared; k++)
        show_case(f, f->over[k]);
    f->over_count = 0;
    while (f->shared && f->shown < f->queue.count && (f->queue.state[f->shown] == CASE_DONE || !count_alive(f)))
        show_case(f, f->shown++);
    return true;
}

static void end_case(struct fleet *f, int c)
{
    queue_done(&f->queue, c);
    *APPEND(f->over, f->over_count) = c;
}

static void take_finished(struct fleet *f, struct gpu *g, const json_t *list)
{
    size_t k;
    json_t *one;
    json_array_foreach(list, k, one)
    {
        int c = (int)json_integer_value(one);
        if (c < 0 || c >= f->queue.count || f->queue.state[c] == CASE_DONE)
            continue;
        bool ran = queue_is_at(&f->queue, c, (int)(g - f->gpus));
        g->running -= ran;
        f->running -= ran;
        g->rows -= ran ? fleet_rows(f, c) : 0;
        g->deaths = 0;
        if (f->s->asked.tune && session_compares(f->s) && f->fault.kind == ERROR_NONE)
            session_learn(f->s, f->first[c], fleet_case_end(f, c), &f->fault);
        end_case(f, c);
    }
}

static void put_roofs(struct fleet *f, const struct gpu *g, struct error *err)
{
    if (store_ceilings_put(f->s->store, g->uuid, &g->roofs, err) && !f->s->roofs.count && g == f->gpus)
        session_environment(f->s, json_pack("{s:o}", "roofs", wire_roofs(&g->roofs)), err);
}

static void put_check(struct fleet *f, const struct gpu *g, const char *when, const struct gpu_check *check)
{
    json_t *values = json_object();
    for (int i = 0; i < check->rates.count; i++) {
        const struct ceiling *one = &check->rates.items[i];
        bool aa = !strcmp(one->name, "aa");
        f->aa_checks += aa;
        f->aa_alarms += aa && one->value > HEALTH_NOISY;
        json_object_set_new(values, one->name, json_real(one->value));
    }
    put_gpu(f, g, json_pack("{s:o}", when, values));
}

/* The first check is compared with the other GPUs', later ones with it. */
static void take_check(struct fleet *f, struct gpu *g, const json_t *event)
{
    struct gpu_check now = {.others = ""};
    const char *others = json_string_value(json_object_get(event, "others"));
    wire_roofs_read(json_object_get(event, "check"), &now.rates);
    snprintf(now.others, sizeof now.others, "%s", others ? others : "");
    bool first = !g->check.rates.count;
    put_check(f, g, first ? "before" : "after", &now);
    if (first) {
        g->check = now;
        return;
    }
    SCOPED_TEXT why = {0};
    enum health h = health_drift(&g->check, &now, &why);
    if (h >= HEALTH_LABELLED)
        label(f, g, h, text_get(&why));
}

static void take_gpu_spent(struct fleet *f, struct gpu *g, const json_t *spent)
{
    wire_parts_take(json_object_get(spent, "parts"), &f->s->clock);
    put_gpu(f, g,
            json_pack("{s:o,s:{s:f,s:f,s:f}}", "spent_s", gpu_spent(g, spent), "waited_s", "start", g->idle_s[IDLE_START], "layers",
                      g->idle_s[IDLE_LAYERS], "end", g->idle_s[IDLE_END]));
}

static void take_message(struct fleet *f, struct gpu *g, const json_t *event)
{
    struct row *row;
    struct error why = {0};
    const json_t *packed = json_object_get(event, FRAME_PACKED);
    const char *at = json_string_value(packed), *end = at + json_string_length(packed);
    for (int i; (row = wire_rows_next(&at, end, &i));)
        take_row(f, g, i, row);
    const char *note = json_string_value(json_object_get(event, "note")), *doing = json_string_value(json_object_get(event, "doing"));
    if (note)
        note_once(f, g, note);
    if (doing)
        snprintf(g->doing, sizeof g->doing, "%s", doing);
    if (json_object_get(event, "next")) {
        if (g->last >= 0)
            queue_run(&f->queue, g->last);
        g->asks = true;
        g->asked_s = clock_s();
    }
    g->ready = g->ready || json_object_get(event, "ready");
    g->rests = json_is_true(json_object_get(event, "over"));
    if (json_object_get(event, "facts"))
        put_gpu(f, g, json_incref(json_object_get(event, "facts")));
    json_array_extend(f->choices, json_object_get(event, "choices"));
    if (json_object_get(event, "check"))
        take_check(f, g, event);
    if (json_object_get(event, "environment"))
        session_environment(f->s, json_incref(json_object_get(event, "environment")), &why);
    if (json_object_get(event, "roofs")) {
        wire_roofs_read(json_object_get(event, "roofs"), &g->roofs);
        put_roofs(f, g, &why);
    }
    if (json_object_get(event, "spent"))
        take_gpu_spent(f, g, json_object_get(event, "spent"));
    if (json_object_get(event, "failed")) {
        child_failure(json_object_get(event, "failed"), &f->fault);
        g->given_up = !g->ended;
        if (g->given_up)
            session_note(f->s, "%s is given up: %s", g->place, f->fault.text);
    }
    take_finished(f, g, json_object_get(event, "finished"));
}

/* ---- processes ---- */

/* A case that several GPU processes died with: nobody judges its rows. */
static void lose_cases(struct fleet *f, const int *lost, int count, const char *how)
{
    for (int k = 0; k < count; k++) {
        for (int i = f->first[lost[k]]; i < fleet_case_end(f, lost[k]); i++) {
            if (!session_due(f->s, i))
                continue;
            if (!f->s->rows[i])
                session_make_rows(f->s, i, i + 1);
            struct row *row = f->s->rows[i];
            SCOPED char *reason = text_format("not judged: %d processes of GPUs ended while they ran its case: %s", CHILD_TRIES, how);
            row_set(&row->reason, reason);
            fleet_receive(f, i);
        }
        end_case(f, lost[k]);
    }
}

static void listen_to(const struct fleet *f, int index)
{
    struct epoll_event to = {.events = EPOLLIN, .data.u32 = (uint32_t)index};
    epoll_ctl(f->poll, EPOLL_CTL_ADD, f->gpus[index].child.fd, &to);
}

static bool take_death(struct fleet *f, int index, struct error *err)
{
    char how[512];
    struct gpu *g = &f->gpus[index];
    bool over = g->ended || g->given_up || f->s->interrupted;
    SCOPED int *lost = NULL;
    epoll_ctl(f->poll, EPOLL_CTL_DEL, g->child.fd, NULL);
    child_stop(&g->child, how, sizeof how);
    g->asks = false;
    g->ready = true; /* nobody waits for it */
    f->running -= g->running;
    g->running = g->rows = 0;
    int count = queue_return(&f->queue, index, CHILD_TRIES, &lost);
    lose_cases(f, lost, f->s->interrupted ? 0 : count, how);
    if (over)
        return true;
    if (++g->deaths >= CHILD_TRIES) {
        g->given_up = true;
        error_set(&f->fault, ERROR_ENVIRONMENT, "%d processes of %s ended one after the other: %s", g->deaths, g->place, how);
        session_note(f->s, "%s is given up: %s", g->place, f->fault.text);
        return true;
    }
    session_note(f->s, "the process of %s ended (%s); its case runs again", g->place, how);
    if (!gpu_start(f->s, f->gpus, f->count, index, err))
        return false;
    listen_to(f, index);
    return true;
}

/* Reads what a GPU's process has said. False: it is gone. */
static bool hear(struct fleet *f, struct gpu *g)
{
    double until = clock_s() + PART_S;
    do {
        json_auto_t *event = NULL;
        enum child_event what = child_next(&g->child, until, NULL, &event);
        if (what == CHILD_LATE)
            return true;
        if (what != CHILD_EVENT)
            return false;
        take_message(f, g, event);
    } while (child_has_line(&g->child));
    child_trim(&g->child);
    return true;
}

static void progress(struct fleet *f)
{
    SCOPED_TEXT t = {0};
    int alive = count_alive(f);
    if (!f->shared)
        text_addf(&t, "%d GPU%s", alive, text_s(alive));
    for (int k = 0; k < f->count && k < 8; k++)
        if (f->gpus[k].child.pid > 0 && f->gpus[k].doing[0])
            text_addf(&t, "%s%s%s%.40s", t.len ? " | " : "", f->shared ? "" : f->gpus[k].place, f->shared ? "" : " ", f->gpus[k].doing);
    f->told_s = clock_s();
    session_progress(f->s, text_get(&t));
}

static void pass_on(struct fleet *f)
{
    volatile sig_atomic_t *interrupted = f->s->options->interrupted;
    if (f->passed_on || !interrupted || !*interrupted)
        return;
    f->s->interrupted = f->passed_on = true;
    for (int k = 0; k < f->count; k++)
        if (f->gpus[k].child.pid > 0)
            kill(f->gpus[k].child.pid, SIGINT);
}

static void give_cases(struct fleet *f)
{
    if (judge_all(f) || f->s->interrupted)
        fleet_assign(f);
}

static bool serve(struct fleet *f, struct error *err)
{
    struct epoll_event events[64];
    for (;;) {
        pass_on(f);
        give_cases(f);
        if (!count_alive(f))
            return true;
        int ready = epoll_wait(f->poll, events, sizeof events / sizeof *events, POLL_MS);
        for (int k = 0; k < ready; k++) {
            int index = (int)events[k].data.u32;
            if (!hear(f, &f->gpus[index]) && !take_death(f, index, err))
                return false;
            if (f->gpus[index].rests)
                epoll_ctl(f->poll, EPOLL_CTL_DEL, f->gpus[index].child.fd, NULL);
        }
        give_cases(f); /* before rows are stored: no GPU waits for the disk */
        bool all = f->received_count >= STORE_ROWS || clock_s() - f->rest_s >= REST_S;
        if ((all || clock_s() - f->stored_s >= STORE_S) && !store_received(f, all, err))
            return false;
        if (clock_s() - f->told_s >= TELL_S)
            progress(f);
    }
}

bool fleet_serve(struct fleet *f, struct error *err)
{
    f->poll = epoll_create1(EPOLL_CLOEXEC);
    if (f->poll < 0)
        return error_set(err, ERROR_ENVIRONMENT, "no epoll: %s", strerror(errno));
    for (int k = 0; k < f->count; k++)
        if (f->gpus[k].child.pid > 0)
            listen_to(f, k);
    bool ok = serve(f, err);
    close(f->poll);
    fleet_complete(f);
    return store_received(f, true, ok ? err : &(struct error){0}) && ok;
}

static bool start_all(struct fleet *f, struct error *err)
{
    for (int k = 0; k < f->count; k++) {
        struct gpu *g = &f->gpus[k];
        struct error ignored = {0};
        struct ceiling_list stored;
        if (g->uuid[0] && store_ceilings(f->s->store, g->uuid, &stored, &ignored))
            g->roofs = stored;
        else if (g->roofs.count) /* measured in a race before */
            put_roofs(f, g, &ignored);
        if (!f->judged && g->check.rates.count)
            put_check(f, g, "before", &g->check);
        int ahead = f->judged ? -1 : queue_ahead(&f->queue, k, -1);
        if (gpu_again(f->s, g, ahead))
            continue;
        g->ahead = ahead;
        if (!gpu_start(f->s, f->gpus, f->count, k, err))
            return false;
    }
    return true;
}

void fleet_close(struct fleet *f)
{
    fleet_stop(f);
    pointers_free(f->said, f->said_count);
    FREE_ALL(f->received, f->over, f->gpus, f->numbers);
    json_decref(f->choices);
    FREE_ALL(f->first, f->wanted, f->dirty);
    if (f->queue.order)
        queue_free(&f->queue);
}

static bool identify_pairs(struct fleet *f, struct error *err)
{
    bool ok = session_gate_identify(f->s, err);
    child_stop(&f->s->worker, NULL, 0);
    session_settle(f->s);
    return ok;
}

/* The same burst, timed in turns as A and as B, over all checks: a comparison of equal code on these GPUs. */
static void tell_aa(struct fleet *f)
{
    if (!f->aa_checks)
        return;
    session_environment(f->s, json_pack("{s:{s:i,s:i}}", "aa", "checks", f->aa_checks, "alarms", f->aa_alarms), &(struct error){0});
    if (f->s->options->gate)
        session_note(f->s, "A/A on these GPUs: equal code differed by more than 1 %% in %d of %d checks", f->aa_alarms, f->aa_checks);
}

bool fleet_run(struct fleet *f, struct error *err)
{
    struct session *s = f->s;
    SCOPED double *seconds = xcalloc((size_t)s->plan.case_count + 1, sizeof *seconds);
    plan_costs(&s->plan, spec_is_timed(s->device.spec), seconds);
    fleet_index(f, seconds);
    if (!s->options->gate)
        skip_cases(f);
    if (!f->queue.left && s->fleet)
        fleet_stop(f);
    if (f->queue.left && !s->options->gate && !start_all(f, err)) /* they open their GPUs while kernels are compiled */
        return false;
    phase_turn(&s->clock, PHASE_COMPILING);
    if (f->queue.left && !session_precompile(s, err))
        return false;
    phase_turn(&s->clock, f->judged ? PHASE_WAITING : PHASE_START_UP); /* until the GPUs are compared */
    if (s->options->gate) { /* its pairs are identified once for all GPUs: the error rate is that of all pairs together */
        if (!identify_pairs(f, err))
            return false;
        skip_cases(f);
        if (f->queue.left && !start_all(f, err))
            return false;
    }
    f->began_s = f->queue.left ? clock_s() : 0;
    if (!fleet_serve(f, err))
        return false;
    gpu_share_time(&s->clock, f->gpus, f->count);
    tell_aa(f);
    if (!s->interrupted && (f->queue.left || f->fault.kind != ERROR_NONE)) {
        if (f->fault.kind == ERROR_NONE)
            error_set(&f->fault, ERROR_INTERNAL, "%d cases were not run", f->queue.left);
        *err = f->fault;
        return false;
    }
    return true;
}

/* The device of the run is the first GPU. */
static bool open_fleet(struct fleet *f, struct session_options *own, struct error *err)
{
    struct session *s = f->s;
    const struct session_options *o = s->options;
    if (o->inside)
        return error_set(err, ERROR_USAGE, "--gpus: not with --in-process");
    if (!session_seed(s, err))
        return false;
    f->gpus = session_kept_gpus(o->kept ? *o->kept : NULL, &f->count);
    f->judged = f->gpus && f->gpus[0].ready;        /* else they wait for their first plan */
    s->asked.tuned_rules = o->decides && !o->tuned; /* as it will be, so that plans made before are those of now */
    bool early = !f->gpus && !o->gate && !o->resume;
    if (early && !o->on_every_gpu && !fleet_list(f, err))
        return false;
    if (!f->gpus && !gpu_list(o->gpus, o->plan.device, &s->worker, o->interrupted, &f->gpus, &f->count, err))
        return false;
    own->plan.device = f->gpus[0].spec;
    if (o->on_every_gpu) {
        f->numbers = xcalloc((size_t)f->count + 1, sizeof *f->numbers);
        for (int k = 0; k < f->count; k++)
            f->numbers[k] = f->gpus[k].number;
        s->asked.filter.gpus = f->numbers;
        s->asked.layers_only = true; /* a network chooses among the rows of all GPUs */
    }
    if (early)
        fleet_open(f); /* if it fails, the parent opens the device and says why */
    return session_open(s, err) && session_counts(s, &s->counts, err);
}

bool session_fleet(const struct session_options *options, const struct session_sink *sink, struct session_result *result, struct error *err)
{
    struct session_options own = *options;
    struct session s = SESSION_OF(&own, sink);
    struct fleet f = {.s = &s};
    const struct session_result *before = options->before;
    bool ok = false;
    *result = (struct session_result){.started_s = before ? before->started_s : s.start_s};
    phase_begin(&s.clock, PHASE_START_UP);
    if (before) {
        s.clock.since_s = before->ended_s;
        s.first_round_s = before->first_round_s;
    }
    if (!open_fleet(&f, &own, err))
        goto done;
    for (int k = 0; k < f.count && !spec_is_timed(s.device.spec); k++) /* with the chip that the scenario names */
        snprintf(f.gpus[k].spec, sizeof f.gpus[k].spec, "%s", s.device.spec);
    if (!session_rows(&s, &result->kept, err))
        goto done;
    result->run_id = s.run.id;
    if (sink->begin)
        sink->begin(sink->context, &s.run, &s.plan, result->kept);
    ok = fleet_run(&f, err);
    ok = session_spent(&s, ok ? err : NULL) && ok && (s.interrupted || store_run_end(s.store, s.run.id, NULL, err));
done:
    session_sum(&s, before, result);
    if (ok && options->kept && !s.interrupted && count_alive(&f) == 0) {
        session_keep_gpus(&s, f.gpus, f.count);
        f.gpus = NULL;
        f.count = 0;
    }
    fleet_close(&f);
    session_close(&s);
    return ok;
}
