/* Commands to a worker and its answers: stages, rows, deadlines, the seconds that it spent. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "run/message/options.h"
#include "run/message/wire.h"
#include "run/parent/parent.h"
#include <stdio.h>
#include <string.h>

#define AHEAD_LIMIT_S 180.0

json_t *session_setup(const struct session *s, bool compile_only)
{
    struct plan_options options = s->asked;
    SCOPED char *dump = s->options->dump ? file_join(s->options->out_dir, "dump") : NULL;
    double limit = s->options->time_limit_s > 0 ? s->options->time_limit_s : spec_is_timed(s->device.spec) ? 10 : 60;
    options.device = s->device.spec;
    return command_new(COMMAND_SETUP, &(struct message){.options = options_write(&options),
                                                        .chip = wire_chip(&s->device.chip),
                                                        .files = s->plan.files,
                                                        .dump = dump,
                                                        .time_limit = limit,
                                                        .compile_only = compile_only,
                                                        .library_device = s->device.library_device,
                                                        .library_state = s->device.library_state});
}

static void collect(void *context, json_t *event)
{
    json_array_append_new(context, event);
}

static enum outcome command_inside(struct session *s, json_t *command, event_handler *handle, struct error *err)
{
    size_t i;
    json_t *event;
    enum phase former = phase_turn(&s->clock, PHASE_STORING);
    session_settle(s);
    phase_turn(&s->clock, former);
    bool ok = s->options->inside->handle(s->inside, command, err);
    json_decref(command);
    json_array_foreach(s->inside_events, i, event)
    {
        wire_spent_take(json_object_get(event, "spent"), &s->clock);
        if (handle)
            handle(s, event);
    }
    json_array_clear(s->inside_events);
    return ok ? OUTCOME_DONE : OUTCOME_FAILED;
}

static void take_spent(struct session *s, const struct message *m)
{
    enum phase phase = phase_find(m->phase);
    if (!session_compile_hear(s)) /* otherwise the run waits for compilers anyway */
        wire_spent_take(m->spent, &s->clock);
    if (m->spent)
        s->heard_s = clock_s();
    if (phase != PHASE_COUNT)
        s->stage_phase = phase;
    if (phase == PHASE_MEASURING && !(s->first_round_s > 0))
        s->first_round_s = clock_s() - (s->options->before ? s->options->before->started_s : s->start_s);
}

/* Counts the time since the last message of a worker that broke off as time of its last stage. */
static enum outcome broke_off(struct session *s, enum outcome how)
{
    if (!s->compilers)
        phase_move(&s->clock, s->stage_phase, clock_s() - s->heard_s);
    return how;
}

enum outcome session_command(struct session *s, struct child *child, json_t *message, double limit_s, event_handler *handle,
                             struct error *err)
{
    if (s->inside)
        return command_inside(s, message, handle, err);
    return child_send(child, message) ? session_answer(s, child, limit_s, handle, err) : OUTCOME_DIED;
}

/* Compilers get their next tasks while the worker is busy, which may take seconds. */
static bool hear_compilers(void *session)
{
    return session_compile_hear(session);
}

enum outcome session_answer(struct session *s, struct child *child, double limit_s, event_handler *handle, struct error *err)
{
    static const enum outcome ends[] = {[CHILD_DIED] = OUTCOME_DIED,
                                        [CHILD_LATE] = OUTCOME_LATE,
                                        [CHILD_GREEDY] = OUTCOME_GREEDY,
                                        [CHILD_INTERRUPTED] = OUTCOME_INTERRUPTED};
    s->heard_s = clock_s();
    s->deadline_s = s->heard_s + limit_s;
    s->stage_phase = PHASE_WAITING;
    double waited_s = session_waited(s);
    for (;;) {
        session_settle_beside(s);
        json_t *event = NULL;
        enum child_event what = child_next_beside(child, s->deadline_s, s->options->interrupted, hear_compilers, s, &event);
        if (what != CHILD_EVENT)
            return broke_off(s, ends[what]);
        SCOPED_BY(message_free) struct message m;
        message_read(event, &m);
        take_spent(s, &m);
        enum event said = event_of(event);
        enum outcome end = OUTCOME_DONE;
        bool over = true;
        if (said == EVENT_DONE) {
            end = m.lost ? OUTCOME_LOST : OUTCOME_DONE;
        } else if (said == EVENT_FAILED) {
            child_failure(event, err);
            end = OUTCOME_FAILED;
        } else {
            over = false;
            if (handle)
                handle(s, event);
        }
        json_decref(event);
        if (!over)
            continue;
        session_settled(s, waited_s);
        return end;
    }
}

static bool start_inside(struct session *s, struct error *err)
{
    s->inside_events = json_array();
    s->inside = s->options->inside->open(collect, s->inside_events);
    enum phase former = phase_turn(&s->clock, PHASE_START_UP);
    bool ok = command_inside(s, session_setup(s, false), NULL, err) == OUTCOME_DONE;
    phase_turn(&s->clock, former);
    return ok;
}

bool session_launch(const struct session *s, struct child *child, struct error *err)
{
    if (child->pid <= 0 && !child_start(child, err))
        return false;
    if (!child->launched)
        child_send(child, session_setup(s, false)); /* if the worker is gone, session_answer reports it */
    child->launched = true;
    return true;
}

/* Takes the density of a sequence's first layer from the worker: the frames determine it, not a mask of the scenario. */
static void take_density(const struct plan_row *p, struct row *row)
{
    const struct row_metric *m = p->kind == PLAN_SEQUENCE ? row_metric(row, -1, "sequence.density_layer1") : NULL;
    if (m)
        row->density_in = m->value;
}

void session_event(struct session *s, const json_t *event)
{
    enum event said = event_of(event);
    SCOPED_BY(message_free) struct message m;
    message_read(event, &m);
    int row = m.row;
    if (row >= s->plan.row_count)
        return;
    if (said == EVENT_STAGE) {
        s->stage_row = row; /* the row to blame from now on, and the deadline */
        snprintf(s->stage, sizeof s->stage, "%.20s", m.stage);
        s->deadline_s = clock_s() + m.limit;
        error_clear(&s->late);
        if (m.late) {
            error_set(&s->late, ERROR_USAGE, "%s", m.late);
            error_hint(&s->late, "%s", m.hint ? m.hint : "");
        }
        child_limit_memory(&s->worker, strcmp(s->stage, "compile") ? 0 : child_compile_memory());
        SCOPED char *what = text_format("%s %s", s->stage, row >= 0 ? plan_id(&s->plan, row) : "");
        session_progress(s, what);
    } else if (said == EVENT_ROW && row >= 0) {
        wire_row_merge(m.packed, s->rows[row]);
        take_density(&s->plan.rows[row], s->rows[row]);
    } else if (said == EVENT_BLAME) {
        s->stage_row = row;
    } else if (said == EVENT_ENVIRONMENT) {
        struct error err = {0};
        json_auto_t *one = json_pack("{s:s}", m.name, m.value);
        if (one && !session_environment(s, json_incref(one), &err))
            session_note(s, "%s", err.text);
    }
}

static bool start(struct session *s, struct child *child, struct error *err)
{
    char how[512];
    for (int tries = 1; !child->ready; tries++) {
        if (!session_launch(s, child, err))
            return false;
        enum outcome outcome = child->opens ? session_answer(s, child, SETUP_LIMIT_S, NULL, err) : OUTCOME_DONE;
        child->opens = false;
        if (outcome == OUTCOME_DONE)
            outcome = session_answer(s, child, SETUP_LIMIT_S, NULL, err);
        if (outcome == OUTCOME_DONE) {
            child->ready = true;
            return true;
        }
        bool outside = child_stop(child, how, sizeof how);
        s->interrupted = s->interrupted || outcome == OUTCOME_INTERRUPTED;
        if (outcome == OUTCOME_LATE)
            error_set(err, ERROR_ENVIRONMENT, "a worker did not start within %.0f s (the device may be busy or blocked)", SETUP_LIMIT_S);
        if (outcome != OUTCOME_DIED)
            return false;
        if (tries == CHILD_TRIES)
            return error_set(err, outside ? ERROR_ENVIRONMENT : ERROR_INTERNAL, "%d workers died during their start: %s", tries, how);
        session_note(s, "a worker died during its start: %s; started again", how);
    }
    return true;
}

bool session_start(struct session *s, struct child *child, struct error *err)
{
    enum phase former = phase_turn(&s->clock, s->compilers ? PHASE_COMPILING : PHASE_START_UP);
    bool ok = start(s, child, err);
    phase_turn(&s->clock, former);
    return ok && (child != &s->worker || session_ahead_settle(s, err));
}

bool session_ahead_settle(struct session *s, struct error *err)
{
    struct error why = {0};
    if (!s->worker.ahead)
        return true;
    enum phase former = phase_turn(&s->clock, s->compilers ? PHASE_COMPILING : s->early ? PHASE_DATA : PHASE_PLANS);
    enum outcome outcome = OUTCOME_DONE;
    phase_part(&s->clock, "ahead");
    s->worker.ahead += child_send(&s->worker, command_new(COMMAND_ENOUGH, NULL));
    for (; s->worker.ahead > 0 && outcome == OUTCOME_DONE; s->worker.ahead--)
        outcome = session_answer(s, &s->worker, AHEAD_LIMIT_S, session_event, &why);
    s->worker.ahead = 0;
    phase_pop(&s->clock);
    phase_turn(&s->clock, former);
    if (outcome == OUTCOME_DONE)
        return true;
    child_stop(&s->worker, NULL, 0);
    s->interrupted = s->interrupted || outcome == OUTCOME_INTERRUPTED;
    return !s->interrupted && session_start(s, &s->worker, err); /* a failure recurs when the row is verified */
}

/* Sets up the worker that rows run in, or the server inside this process. */
bool session_ready(struct session *s, struct error *err)
{
    if (s->options->inside)
        return s->inside || start_inside(s, err);
    return session_start(s, &s->worker, err);
}
