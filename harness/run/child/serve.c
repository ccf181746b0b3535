#include "run/child/serve.h"
#include "base/crash.h"
#include "base/spec.h"
#include "base/text.h"
#include "plan/rows/choose.h"
#include "run/child/devices.h"
#include "measure/verify/prefetch_data.h"
#include "run/child/worker.h"
#include "run/message/options.h"
#include "run/message/wire.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void emit_row(struct worker *w, int row, const struct row *found, bool judged)
{
    w->emit(w->context, event_new(EVENT_ROW, &(struct message){.row = row, .packed = wire_row(found, judged)}));
}

static void tell_stage(void *context, int row, const char *stage, double limit_s)
{
    struct worker *w = context;
    progress_stage(&w->progress, row, stage, limit_s);
}

static void tell_row(void *context, int row, const struct row *found)
{
    emit_row(context, row, found, true);
}

static void tell_environment(void *context, const char *name, const char *value)
{
    struct worker *w = context;
    w->emit(w->context, event_new(EVENT_ENVIRONMENT, &(struct message){.name = name, .value = value}));
}

static const struct job_events events = {tell_stage, tell_row, tell_environment};

void worker_init(struct worker *w, void (*emit)(void *context, json_t *event), void *context)
{
    *w = (struct worker){.emit = emit, .context = context, .degenerate.in_case = -1};
    struct job *job = &w->job;
    *job = (struct job){.open = device_open, .events = &events, .context = w};
    progress_init(&w->progress, job, emit, context);
    data_open(&w->data, job);
    nearby_open(&w->neighbours, job, &w->data, &w->library);
    sequence_init(&w->sequence, job, &w->library);
    w->memory.job = job;
    w->prefetch =
        (struct prefetch){.job = job, .data = &w->data, .builds = &w->builds, .neighbours = &w->neighbours, .degenerate = &w->degenerate};
    w->verifier = (struct verifier){.job = job,
                                    .data = &w->data,
                                    .library = &w->library,
                                    .builds = &w->builds,
                                    .neighbours = &w->neighbours,
                                    .degenerate = &w->degenerate,
                                    .tried = &w->tried,
                                    .sequence = &w->sequence,
                                    .first = &w->first};
    w->timing = (struct timing_context){.job = job,
                                        .data = &w->data,
                                        .library = &w->library,
                                        .builds = &w->builds,
                                        .first = &w->first,
                                        .prefetch = &w->prefetch,
                                        .sequence = &w->sequence};
    w->counters = (struct counters){.job = job, .data = &w->data, .library = &w->library};
    w->ablation = (struct ablator){job, &w->data, &w->library};
}

void worker_ready(struct worker *w)
{
    phase_open(&w->job.clock, w->job.plan.scenario->name);
    if (w->job.dev)
        progress_watch(&w->progress);
}

/* Frees everything of the previous run except the device and what is open on it. */
static void forget_plan(struct worker *w)
{
    phase_unwind(&w->job.clock, 0);
    prefetch_end(&w->prefetch);
    verifier_close(&w->verifier);
    build_drop(&w->builds);
    nearby_drop(&w->neighbours); /* before the device check that owns their data */
    data_forget(&w->data);
    sequence_close(&w->sequence);
    first_launch_forget(&w->first);
    if (w->planned)
        plan_free(&w->job.plan);
    options_free(&w->job.options);
    free(w->tried.items);
    w->tried = (struct tried_list){0};
    json_decref(w->setup);
    w->setup = NULL;
    w->degenerate.in_case = -1;
    w->planned = false;
}

static bool setup(struct worker *w, const json_t *command, struct error *err)
{
    forget_plan(w);
    w->setup = json_deep_copy(command);
    message_read(w->setup, &w->asked);
    options_read(w->asked.options, &w->job.options);
    w->job.options.by_need = true;
    const struct plan_options *o = &w->job.options;
    const char *device = o->device;
    w->verifier.dump_dir = w->asked.dump;
    w->job.time_limit_s = w->asked.time_limit;
    struct chip chip;
    if (!device || !wire_chip_read(w->asked.chip, &chip))
        return error_set(err, ERROR_INTERNAL, "a worker was set up without a chip");
    if (o->bundle && !compile_bundle_use(o->bundle, err))
        return false;
    if (!plan_make(o, spec_kind(device), &chip, &w->job.plan, err))
        return false;
    w->planned = true;
    if (!w->asked.files || strcmp(w->asked.files, w->job.plan.files))
        return error_set(err, ERROR_USAGE, "the scenario or a variant file changed during the run; start it again");
    if (!w->asked.compile_only) {
        if (w->job.dev && strcmp(w->job.dev->spec, device)) /* an earlier PROBE opened another device */
            return error_set(err, ERROR_INTERNAL, "a worker that has %s was set up for %s", w->job.dev->spec, device);
        if (!w->job.dev && !device_open(device, &w->job.dev, err))
            return false;
        vendor_open(&w->library, w->job.dev);
    }
    worker_ready(w);
    return true;
}

/* What emu says of a user's row of a GPU, which is verified later. */
static void interpret(struct worker *w, int row)
{
    struct build build;
    struct error ignored = {0}; /* the same error recurs and is reported when the row is verified */
    if (!interpreted_due(&w->job, row) || !build_make(&w->job, plan_program(&w->job.plan, row), &build, &ignored))
        return;
    SCOPED_BY(row_leave) struct row *found = interpreted_run(&w->verifier.interpreted, &w->job, row, &build);
    w->emit(w->context, event_new(EVENT_INTERPRETED, &(struct message){.row = row, .packed = wire_row(found, true)}));
    build_free(&build);
}

static void compile_row(struct worker *w, int row)
{
    struct build build;
    struct error ignored = {0}; /* the same error recurs and is reported when the row is verified */
    progress_enter(&w->progress, row, PHASE_COMPILING, "ahead");
    if (!memory_has(&w->memory, row) && (w->job.plan.rows[row].kind != PLAN_CHAIN || choose_unseen(&w->job.plan, row, &ignored)) &&
        build_make(&w->job, plan_program(&w->job.plan, row), &build, &ignored)) {
        const struct program *verified = plan_part(&w->job.plan, row);
        build_free(&build);
        if (verified && verified->feasible && build_make_values(&w->job, verified, &build, &ignored)) /* most are in the cache already */
            build_free(&build);
    }
    w->emit(w->context, event_new(EVENT_COMPILED, &(struct message){.row = row}));
}

static void compile_rows(struct worker *w, const struct message *m)
{
    for (int i = 0; i < m->checks.count; i++) {
        progress_enter(&w->progress, -1, PHASE_COMPILING, "checks");
        card_compile(m->checks.at[i], w->job.plan.chip.arch, w->job.options.compiler);
    }
    for (int i = 0; i < m->plans.count; i++) {
        progress_enter(&w->progress, m->plans.at[i], PHASE_COMPILING, "plans");
        struct cudnn *library = vendor_described(&w->library, w->asked.library_device, w->asked.library_state);
        if (m->parts > 0 && library)
            rig_library_compile(library, plan_program(&w->job.plan, m->plans.at[i]), m->part, m->parts);
    }
    for (int i = 0; i < m->rows.count; i++)
        compile_row(w, m->rows.at[i]);
    for (int i = 0; i < m->neighbours.count; i++) {
        int row = m->neighbours.at[i];
        progress_enter(&w->progress, row, PHASE_COMPILING, "neighbours");
        if (!memory_has(&w->memory, row))
            nearby_compile(&w->job, row);
        interpret(w, row);
    }
}

/* Makes the library's plans of upcoming rows: of the next case, and of later cases until another command arrives; then data. This costs
 * no time, because the parent waits for other processes meanwhile. */
static void make_ahead(struct worker *w, const struct message *m)
{
    int first = -1;
    for (int i = 0; i < m->rows.count; i++) {
        int row = m->rows.at[i], in_case = w->job.plan.rows[row].case_index;
        if (i && in_case != first && job_is_interrupted(&w->job))
            break;
        first = i ? first : in_case;
        progress_enter(&w->progress, row, PHASE_PLANS, "ahead");
        if (w->library.cudnn)
            rig_library_ahead(w->library.cudnn, plan_program(&w->job.plan, row), m->compiles);
    }
    progress_enter(&w->progress, -1, PHASE_DATA, "ahead");
    prefetch_data(&w->data, m->data.at, m->data.count);
    json_decref(wire_spent(&w->job.clock));
}

/* The program of a chain consists of the rows that the parent chose for its links. */
static bool take_choice(struct worker *w, int row, const struct member_rows *links, struct error *err)
{
    const struct chain_row *chain = row >= 0 && row < w->job.plan.row_count ? w->job.plan.rows[row].chain : NULL;
    if (!chain || !links->count)
        return true;
    if (links->count != chain->work->chain->count)
        return error_set(err, ERROR_INTERNAL, "a chain of %d links was chosen %d rows", chain->work->chain->count, links->count);
    for (int i = 0; i < links->count; i++)
        if (links->at[i] >= w->job.plan.row_count)
            return error_set(err, ERROR_INTERNAL, "a chain was chosen row %d of %d", links->at[i], w->job.plan.row_count);
    return plan_chain_bind(&w->job.plan, row, links->at, err);
}

static bool take_choices(struct worker *w, const json_t *choices, struct error *err)
{
    size_t i;
    const json_t *one;
    json_array_foreach(choices, i, one)
    {
        SCOPED_BY(member_rows_free) struct member_rows links = member_rows_read(json_array_get(one, 1));
        if (!take_choice(w, (int)json_integer_value(json_array_get(one, 0)), &links, err))
            return false;
    }
    return true;
}

/* ---- results of rows ---- */

static bool verify(struct worker *w, const struct message *m, struct error *err)
{
    struct tile_stats stats = {.tiles = json_integer_value(json_array_get(m->tiles, 0)),
                               .active = json_integer_value(json_array_get(m->tiles, 1))};
    SCOPED_BY(row_leave) struct row *found = row_new(), *by_emu = row_new();
    if (memory_recall(&w->memory, m->row, found)) {
        emit_row(w, m->row, found, true);
        return true;
    }
    wire_row_merge(m->packed, by_emu);
    w->verifier.interpreted.ahead = m->packed ? by_emu : NULL;
    w->verifier.timed_next = m->timed;
    w->data.keeps = m->ahead;
    w->verifier.tiles = m->tiles ? &stats : NULL;
    const bool counted = memory_counts(&w->memory, m->row, &w->verifier.counted);
    bool ok = verifier_run(&w->verifier, m->row, found, err);
    if (ok) {
        memory_keep(&w->memory, m->row, found);
        if (!counted)
            memory_keep_counts(&w->memory, m->row, &w->verifier.counted, found);
        emit_row(w, m->row, found, true);
        w->lost = verifier_lost(&w->verifier, found);
    }
    w->verifier.tiles = NULL;
    w->verifier.interpreted.ahead = NULL;
    return ok;
}

static bool identify(struct worker *w, int row, struct error *err)
{
    SCOPED_BY(row_leave) struct row *found = row_new(), *told = row_new();
    bool ok = verifier_identify(&w->verifier, row, found, err);
    snprintf(told->launch_hash, sizeof told->launch_hash, "%s", found->launch_hash);
    if (ok && found->status == ROW_PLANNED) /* otherwise its verification reports the error */
        emit_row(w, row, told, false);
    return ok;
}

static bool ablate(struct worker *w, int row, struct error *err)
{
    SCOPED_BY(row_leave) struct row *found = row_new();
    bool ok = ablation_run(&w->ablation, row, found, err);
    if (ok)
        emit_row(w, row, found, false); /* it was judged elsewhere */
    return ok;
}

static bool measure(struct worker *w, const struct message *m, int *blame, struct error *err)
{
    struct pair_request pairs = {.library = m->library_row, .alpha = m->alpha, .budget_s = m->budget};
    struct timing_request request = {.rows = m->rows.at,
                                     .count = m->rows.count,
                                     .next = m->next.at,
                                     .next_count = m->next.count,
                                     .pairs = m->pairs ? &pairs : NULL,
                                     .due = m->due};
    for (size_t i = 0; i < json_array_size(m->pairs); i++) {
        const json_t *one = json_array_get(m->pairs, i);
        *APPEND(pairs.pairs, pairs.count) =
            (struct pair_of_rows){(int)json_integer_value(json_array_get(one, 0)), (int)json_integer_value(json_array_get(one, 1)),
                                  json_number_value(json_array_get(one, 2))};
    }
    w->data.keeps = false;
    bool ok = timing_run(&w->timing, &request, blame, err);
    free(pairs.pairs);
    return ok;
}

/* ---- counting ---- */

static void read_facts(const json_t *facts, struct count_facts *out)
{
    const char *name;
    json_t *value;
    *out = (struct count_facts){0};
    json_object_foreach((json_t *)(uintptr_t)facts, name, value) if (json_is_number(value)) * APPEND(out->items, out->count) =
        (struct count_fact){name, json_number_value(value)};
}

static void read_count(const json_t *one, struct count_request *out)
{
    const json_t *plan = json_object_get(one, "plan"), *facts = json_object_get(one, "facts"), *steps = json_object_get(one, "steps"),
                 *time = json_object_get(facts, "time_ns");
    const char *mode = json_string_value(json_array_get(plan, 1));
    *out = (struct count_request){.row = (int)json_integer_value(json_object_get(one, "row")),
                                  .slow = json_is_true(json_object_get(one, "slow")),
                                  .has_plan = plan != NULL,
                                  .plan = {.engine = (int)json_integer_value(json_array_get(plan, 0)),
                                           .heuristic = mode ? mode[0] : 0,
                                           .rank = (int)json_integer_value(json_array_get(plan, 2))},
                                  .time_ns = json_is_number(time) ? json_number_value(time) : NAN,
                                  .step_count = (int)json_array_size(steps)};
    read_facts(facts, &out->facts);
    out->steps = xcalloc((size_t)out->step_count + 1, sizeof *out->steps);
    for (int i = 0; i < out->step_count; i++)
        read_facts(json_array_get(steps, (size_t)i), &out->steps[i]);
}

static bool count_rows(struct worker *w, const struct message *m, int *blame, struct error *err)
{
    int count = (int)json_array_size(m->requests);
    SCOPED struct count_request *asked = xcalloc((size_t)count + 1, sizeof *asked);
    for (int i = 0; i < count; i++)
        read_count(json_array_get(m->requests, (size_t)i), &asked[i]);
    bool ok = counters_run(&w->counters, asked, count, m->warm, blame, err);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < asked[i].step_count; k++)
            free(asked[i].steps[k].items);
        free(asked[i].steps);
        free(asked[i].facts.items);
    }
    return ok;
}

static bool obey(struct worker *w, const json_t *command, struct error *err)
{
    SCOPED_BY(message_free) struct message m;
    message_read(command, &m);
    enum command what = command_of(command);
    int row = m.row, blame = -1;
    bool ok = true, of_row = what == COMMAND_ABLATE || what == COMMAND_VERIFY || what == COMMAND_IDENTIFY;
    if (what == COMMAND_UNKNOWN)
        return error_set(err, ERROR_INTERNAL, "unknown command");
    if (what > COMMAND_ROOFS && !w->planned)
        return error_set(err, ERROR_INTERNAL, "'%s' before setup", command_word(what));
    if (of_row && (row < 0 || row >= w->job.plan.row_count))
        return error_set(err, ERROR_INTERNAL, "'%s' of no row", command_word(what));
    if (what != COMMAND_ENOUGH && what != COMMAND_AHEAD)
        prefetch_end(&w->prefetch);
    if (what == COMMAND_COMPILE || what == COMMAND_COUNT || (of_row && w->job.plan.rows[row].case_index != w->case_index))
        plan_tidy(&w->job.plan, of_row ? w->job.plan.rows[row].case_index : -1); /* the next case was begun; what a row was verified with
                                                                                    is needed until its case has been measured */
    w->case_index = of_row ? w->job.plan.rows[row].case_index : w->case_index;
    if (what > COMMAND_AHEAD && (!take_choice(w, row, &m.choice, err) || !take_choices(w, m.choices, err)))
        return false;
    switch (what) {
    case COMMAND_UUID:
    case COMMAND_GPUS:
    case COMMAND_PROBE:
    case COMMAND_ROOFS:
    case COMMAND_CHECK: return worker_machine(w, what, &m, err);
    case COMMAND_SETUP: return setup(w, command, err);
    case COMMAND_COMPILE: compile_rows(w, &m); break;
    case COMMAND_ENOUGH: break; /* AHEAD has seen this command waiting and ended */
    case COMMAND_AHEAD: make_ahead(w, &m); break;
    case COMMAND_ABLATE: return ablate(w, row, err);
    case COMMAND_VERIFY: return verify(w, &m, err);
    case COMMAND_IDENTIFY: return identify(w, row, err);
    case COMMAND_COUNT_CHECK: return counters_check(&w->counters, !m.waits, err);
    case COMMAND_MEASURE: ok = measure(w, &m, &blame, err); break;
    case COMMAND_RACE: ok = timing_race(&w->timing, m.rows.at, m.rows.count, &blame, err); break;
    case COMMAND_COUNT: ok = count_rows(w, &m, &blame, err); break;
    case COMMAND_UNKNOWN: break;
    }
    if (!ok)
        w->emit(w->context, event_new(EVENT_BLAME, &(struct message){.row = blame}));
    return ok;
}

bool worker_handle(struct worker *w, const json_t *command, struct error *err)
{
    bool ok = obey(w, command, err);
    progress_end(&w->progress);
    w->emit(w->context, event_new(EVENT_SPENT, &(struct message){.spent = wire_spent(&w->job.clock)}));
    return ok;
}

void worker_close(struct worker *w)
{
    forget_plan(w);
    counters_close(&w->counters);
    struct device *witness = w->data.witness;
    vendor_close(&w->library);
    if (witness)
        device_close(witness);
    if (w->job.dev)
        device_close(w->job.dev);
    others_free(&w->timing.board.others);
    compile_bundle_close();
}

static void emit_line(void *context, json_t *event)
{
    FILE *out = context;
    SCOPED_TEXT frame = {0};
    if (!frame_write(&frame, event))
        frame_write(&frame, event_new(EVENT_FAILED, &(struct message){.kind = ERROR_INTERNAL, .text = "a message that is not UTF-8"}));
    fwrite(text_get(&frame), 1, frame.len, out);
    fflush(out);
}

static void *inside_open(void (*emit)(void *context, json_t *event), void *context)
{
    struct worker *w = xcalloc(1, sizeof *w);
    worker_init(w, emit, context);
    return w;
}

static bool inside_handle(void *server, const json_t *command, struct error *err)
{
    return worker_handle(server, command, err);
}

static void inside_close(void *server)
{
    worker_close(server);
    free(server);
}

const struct message_server worker_inside = {inside_open, inside_handle, inside_close};

static bool command_waits(void)
{
    struct pollfd in = {.fd = 3, .events = POLLIN};
    return poll(&in, 1, 0) > 0;
}

/* Takes a command and no byte behind it: one that waits must stay where command_waits sees it. False: the parent is gone. */
static bool read_command(json_t **command)
{
    SCOPED_TEXT line = {0};
    char part[65536];
    const char *end = NULL;
    size_t packed;
    ssize_t n;
    while (!end && ((n = recv(3, part, sizeof part, MSG_PEEK)) > 0 || (n < 0 && errno == EINTR))) {
        if (n < 0)
            continue;
        end = memchr(part, '\n', (size_t)n);
        n = recv(3, part, end ? (size_t)(end + 1 - part) : (size_t)n, 0); /* they are there: no interruption */
        text_add_bytes(&line, part, (size_t)n);
    }
    size_t length = line.len;
    *command = end ? frame_read(line.data, length - 1, 0, &packed) : NULL;
    if (!*command || !packed)
        return end;
    for (size_t rest = packed; rest; rest -= n > 0 ? (size_t)n : 0) {
        n = recv(3, part, rest < sizeof part ? rest : sizeof part, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        text_add_bytes(&line, part, n > 0 ? (size_t)n : 0);
    }
    json_decref(*command);
    *command = frame_read(line.data, length - 1, packed, &packed);
    return true;
}

int worker_main(void)
{
    FILE *out = fdopen(dup(3), "w");
    if (!out)
        return 2;
    crash_report();
    prctl(PR_SET_TIMERSLACK, 1); /* so that a rest before a sample does not last 50 us longer than requested */
    struct worker w;
    worker_init(&w, emit_line, out);
    w.job.waiting = command_waits;
    json_t *message;
    int code = 0;
    while (code == 0 && read_command(&message)) {
        struct error err = {0};
        json_auto_t *command = message;
        bool ok = command && worker_handle(&w, command, &err);
        if (ok) {
            emit_line(out, event_new(EVENT_DONE, &(struct message){.lost = w.lost}));
            if (w.lost)
                break;
        } else {
            emit_line(out, event_new(EVENT_FAILED, &(struct message){.kind = (int)err.kind, .text = err.text, .hint = err.hint}));
            code = 1;
        }
    }
    if (code == 0 && !w.lost)
        worker_close(&w);
    fflush(NULL);
    _exit(code); /* a lost context must not hang its own tear-down */
}
