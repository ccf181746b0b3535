#include "base/spec.h"
#include "run/child/private.h"
#include "plan/rows/choose.h"
#include "base/crash.h"
#include "base/text.h"
#include "device/cuda/nvml.h"
#include "device/nvtx.h"
#include "op/chain/chain.h"
#include "run/message/options.h"
#include "run/message/wire.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void worker_init(struct worker *w, void (*emit)(void *context, json_t *event), void *context)
{
    *w = (struct worker){.emit = emit, .context = context};
    for (int i = 0; i < ROOM_SETS * WORKER_DATA; i++)
        w->data_case[i / WORKER_DATA][i % WORKER_DATA] = w->host_case[i / WORKER_DATA][i % WORKER_DATA] = -1;
    w->range_case = w->range_row = w->task_case = w->neighbours.case_index = -1;
    phase_begin(&w->clock, PHASE_WAITING);
    w->clock.draw_open = nvtx_open;
    w->clock.draw_close = nvtx_close;
}

static enum phase phase_of(const char *stage)
{
    static const struct {
        const char *stage;
        enum phase phase;
    } phases[] = {{"compile", PHASE_COMPILING}, {"data", PHASE_DATA},
                  {"weights", PHASE_DATA},      {"pixels", PHASE_DATA},
                  {"load", PHASE_LOADING},      {"plans", PHASE_PLANS},
                  {"time", PHASE_MEASURING},    {"race", PHASE_MEASURING},
                  {"ablate", PHASE_MEASURING},  {WORKER_STAGE_COUNTERS, PHASE_COUNTING},
                  {"trace", PHASE_COUNTING},    {"count", PHASE_COUNTING},
                  {"sample", PHASE_COUNTING},   {"count lines", PHASE_COUNTING}};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (!strcmp(phases[i].stage, stage))
            return phases[i].phase;
    return PHASE_VERIFYING; /* a row runs, or what it wrote is looked at */
}

/* Ends the ranges of what is over; those of the case and the row stay while they are in hand. Of phases that have several, the stage is a
 * range of its own. */
static void enter_phase(struct worker *w, int row, enum phase phase, const char *stage)
{
    if (w->stage_depth && phase_depth(&w->clock) > w->stage_depth) { /* in the midst of a timed round, which goes on afterwards */
        if (!w->inside || phase_depth(&w->clock) < w->inside)
            w->inside = phase_depth(&w->clock);
        phase_unwind(&w->clock, w->inside);
        if (phase != w->stage_phase)
            phase_push(&w->clock, phase);
        return;
    }
    int in_case = row >= 0 ? w->plan.rows[row].case_index : w->range_case;
    bool same_case = in_case == w->range_case, same_row = same_case && row == w->range_row;
    phase_unwind(&w->clock, 1 + (same_case && in_case >= 0) + (same_row && row >= 0));
    if (!same_case)
        phase_open(&w->clock, w->plan.cases[in_case].id);
    if (!same_row && row >= 0)
        phase_open(&w->clock, w->plan.rows[row].id);
    phase_push(&w->clock, phase);
    if (phase == PHASE_VERIFYING || phase == PHASE_COUNTING)
        phase_part(&w->clock, stage);
    w->stage_phase = phase;
    w->stage_depth = phase_depth(&w->clock);
    w->inside = 0;
    w->range_case = in_case;
    w->range_row = row;
}

/* emu ends a kernel by the time of its own threads: the watch is there for what does not even do that, on a machine with much else to do.
 */
#define EMU_PATIENCE 5

static void tell_stage(struct worker *w, double limit_s, const struct error *late)
{
    if (w->dev && spec_is(w->dev->spec, SPEC_COUNTS))
        limit_s *= EMU_PATIENCE;
    w->emit(w->context, event_new(EVENT_STAGE, "{s:i,s:s,s:s,s:f,s:s*,s:s*,s:o}", "row", w->stage_row, "stage", w->stage, "phase",
                                  phase_name(phase_of(w->stage)), "limit", limit_s, "late", late ? late->text : NULL, "hint",
                                  late ? late->hint : NULL, "spent", wire_spent(&w->clock)));
}

void worker_stage(struct worker *w, int row, const char *stage, double limit_s)
{
    enter_phase(w, row, phase_of(stage), stage);
    w->stage_row = row;
    w->stage_limit_s = limit_s;
    snprintf(w->stage, sizeof w->stage, "%s", stage);
    tell_stage(w, limit_s, NULL);
}

/* A reference kernel begins, in the midst of a stage, or has ended. */
static void watch_endless(void *context, double limit_s, const struct error *late)
{
    struct worker *w = context;
    if (w->stage[0])
        tell_stage(w, late ? limit_s : w->stage_limit_s, late);
}

void worker_ready(struct worker *w)
{
    phase_open(&w->clock, w->plan.scenario->name);
    if (w->dev) {
        w->dev->clock = &w->clock;
        w->dev->endless = watch_endless;
        w->dev->endless_context = w;
    }
}

static const char *text_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

/* The library's choices of earlier runs hold as long as nothing changes that may make another plan the fastest. */
static void remember_plans(struct worker *w)
{
    char version[128];
    struct nvml_sample s = {.power_limit_w = -1};
    struct error ignored = {0};
    cudnn_version(w->library, version, sizeof version);
    if (nvml_open(&ignored))
        nvml_read(w->dev->uuid, &s);
    free(w->library_state);
    w->library_state = text_format("%s, driver %s, %s, SM at %.0f MHz at most, power limit %.0f W", version, w->dev->driver, w->dev->uuid,
                                   w->dev->chip.clock_max_hz / 1e6, s.power_limit_w);
    cudnn_remember(w->library, w->library_state);
}

static void open_library(struct worker *w)
{
    struct error err = {0};
    if (w->library || w->library_error[0] || !w->dev->ops->keeps_time)
        return;
    if (!cudnn_open(w->dev, &w->library, &err))
        snprintf(w->library_error, sizeof w->library_error, "%.500s", err.text);
    else
        remember_plans(w);
}

/* What will compile: "bundle" where nothing can but a bundle is to be had; "" when nobody asked. */
static bool probe_compiler(const json_t *command, char *out, size_t bytes, struct error *err)
{
    const char *bundle = text_of(command, "bundle");
    out[0] = 0;
    if (!json_is_true(json_object_get(command, "compiles")))
        return true;
    if (bundle && !compile_bundle_use(bundle, err))
        return false;
    if (compile_version(text_of(command, "compiler"), out, bytes, err))
        return true;
    snprintf(out, bytes, "bundle");
    if (bundle)
        error_clear(err);
    return bundle;
}

static bool probe(struct worker *w, const json_t *command, struct error *err)
{
    char compiler[96];
    const char *spec = text_of(command, "device"), *emu = text_of(command, "emu");
    char why[512] = "", version[128] = "";
    if (!spec)
        spec = device_cuda_present(why, sizeof why) ? "cuda:0" : emu ? emu : "emu";
    if (!device_open(spec, &w->dev, err) || !probe_compiler(command, compiler, sizeof compiler, err))
        return false;
    open_library(w);
    char *described = w->library ? cudnn_device(w->library) : NULL;
    if (w->library)
        cudnn_version(w->library, version, sizeof version);
    w->emit(w->context, event_new(EVENT_DEVICE, "{s:s,s:s,s:s,s:s,s:s,s:s?,s:s?,s:s,s:s,s:o}", "spec", w->dev->spec, "about", w->dev->about,
                                  "uuid", w->dev->uuid, "driver", w->dev->driver, "library", version, "library_device", described,
                                  "library_state", w->library_state, "compiler", compiler, "why", why, "chip", wire_chip(&w->dev->chip)));
    free(described);
    return true;
}

/* Which GPU a run would open, before it does: a run that must wait for it is not on it meanwhile. */
static bool tell_uuid(struct worker *w, const json_t *command, struct error *err)
{
    char uuid[64] = "", why[8];
    const char *spec = text_of(command, "device");
    bool here = spec ? spec_is_timed(spec) : device_cuda_present(why, sizeof why);
    if (here && !device_cuda_uuid(spec_option(spec), uuid, sizeof uuid, err))
        return false;
    w->emit(w->context, event_new(EVENT_UUID, "{s:s}", "uuid", uuid));
    return true;
}

/* What a worker has of the run before: all but its device and what is open on it. */
static void forget_plan(struct worker *w)
{
    phase_unwind(&w->clock, 0);
    worker_ahead_drop(w);
    worker_early_drop(w);
    for (int i = 0; i < ROOM_SETS * WORKER_DATA; i++)
        worker_data_drop(w, i / WORKER_DATA, i % WORKER_DATA);
    build_drop(w);
    worker_neighbours_drop(w);
    card_close(w->card); /* it has borrowed the compiler's name */
    worker_sequence_close(w);
    if (w->planned)
        plan_free(&w->plan);
    options_free(&w->options);
    free(w->tried);
    json_decref(w->setup);
    w->setup = NULL;
    w->card = NULL;
    w->card_tried = false;
    w->tried = NULL;
    w->tried_count = 0;
    free(w->left);
    w->left = NULL;
    w->task_case = -1;
    w->planned = false;
}

static bool setup(struct worker *w, const json_t *command, struct error *err)
{
    forget_plan(w);
    w->setup = json_deep_copy(command);
    options_read(json_object_get(w->setup, "options"), &w->options);
    const struct plan_options *o = &w->options;
    const char *device = o->device;
    w->dump_dir = text_of(w->setup, "dump");
    w->time_limit_s = json_number_value(json_object_get(w->setup, "time_limit"));
    struct chip chip;
    if (!device || !wire_chip_read(json_object_get(w->setup, "chip"), &chip))
        return error_set(err, ERROR_INTERNAL, "a worker was set up without a chip");
    if (o->bundle && !compile_bundle_use(o->bundle, err))
        return false;
    if (!plan_make(o, spec_kind(device), &chip, &w->plan, err))
        return false;
    w->planned = true;
    const char *files = text_of(w->setup, "files");
    if (!files || strcmp(files, w->plan.files))
        return error_set(err, ERROR_USAGE, "the scenario or a variant file changed while the run went on; start it again");
    if (!json_is_true(json_object_get(w->setup, "compile_only"))) {
        if (w->dev && strcmp(w->dev->spec, device)) /* it was asked what another device is */
            return error_set(err, ERROR_INTERNAL, "a worker that has %s was set up for %s", w->dev->spec, device);
        if (!w->dev && !device_open(device, &w->dev, err))
            return false;
        open_library(w);
    }
    worker_ready(w);
    return true;
}

/* The library as it is described to a process that only compiles; NULL where it is not. */
static struct cudnn *described_library(struct worker *w)
{
    const char *device = text_of(w->setup, "library_device"), *state = text_of(w->setup, "library_state");
    struct error ignored = {0};
    if (w->library || w->library_error[0] || !device || !*device || !state || !*state)
        return w->library;
    if (cudnn_describe(device, &w->library, &ignored))
        cudnn_remember(w->library, state);
    else
        snprintf(w->library_error, sizeof w->library_error, "%.500s", ignored.text);
    return w->library;
}

static void compile_rows(struct worker *w, const json_t *command)
{
    const json_t *one;
    size_t i;
    int part = (int)json_integer_value(json_object_get(command, "part")),
        parts = (int)json_integer_value(json_object_get(command, "parts"));
    json_array_foreach(json_object_get(command, "checks"), i, one)
    {
        enter_phase(w, -1, PHASE_COMPILING, "checks");
        card_compile((int)json_integer_value(one), w->plan.chip.arch, w->options.compiler);
    }
    json_array_foreach(json_object_get(command, "plans"), i, one)
    {
        int row = (int)json_integer_value(one);
        enter_phase(w, row, PHASE_COMPILING, "plans");
        if (parts > 0 && described_library(w))
            rig_library_compile(w->library, &w->plan.rows[row].program, part, parts);
    }
    json_array_foreach(json_object_get(command, "rows"), i, one)
    {
        int row = (int)json_integer_value(one);
        struct build build;
        struct error ignored = {0}; /* it comes again, and is told, when the row's turn comes */
        enter_phase(w, row, PHASE_COMPILING, "ahead");
        if (!worker_remembers(w, row) && (w->plan.rows[row].kind != PLAN_CHAIN || choose_unseen(&w->plan, row, &ignored)) &&
            build_make(w, &w->plan.rows[row].program, &build, &ignored))
            build_free(&build);
        w->emit(w->context, event_new(EVENT_COMPILED, "{s:i}", "row", row));
    }
    json_array_foreach(json_object_get(command, "neighbours"), i, one)
    {
        int row = (int)json_integer_value(one);
        enter_phase(w, row, PHASE_COMPILING, "neighbours");
        if (!worker_remembers(w, row))
            worker_neighbours_compile(w, row);
    }
}

/* The library's plans of rows whose turn comes: of the next case, and of later ones as long as nobody wants something else; then data. It
 * is nobody's time: others are waited for meanwhile. */
static void make_ahead(struct worker *w, const json_t *command)
{
    const json_t *one;
    size_t i;
    int first = -1;
    json_array_foreach(json_object_get(command, "rows"), i, one)
    {
        int row = (int)json_integer_value(one), in_case = w->plan.rows[row].case_index;
        if (i && in_case != first && w->waiting && w->waiting())
            break;
        first = i ? first : in_case;
        enter_phase(w, row, PHASE_PLANS, "ahead");
        if (w->library)
            rig_library_ahead(w->library, &w->plan.rows[row].program);
    }
    enter_phase(w, -1, PHASE_DATA, "ahead");
    worker_early(w, json_object_get(command, "data"));
    json_decref(wire_spent(&w->clock));
}

/* A chain's program is made of the rows that the parent chose for its links. */
static bool take_choice(struct worker *w, int row, const json_t *choice, struct error *err)
{
    const struct chain_row *chain = row >= 0 && row < w->plan.row_count ? w->plan.rows[row].chain : NULL;
    if (!chain || !json_array_size(choice))
        return true;
    int count = chain->work->chain->count;
    int *links = xcalloc((size_t)count, sizeof *links);
    bool ok = json_array_size(choice) == (size_t)count ||
              error_set(err, ERROR_INTERNAL, "a chain of %d links was chosen %zu rows", count, json_array_size(choice));
    for (int i = 0; ok && i < count; i++) {
        links[i] = (int)json_integer_value(json_array_get(choice, (size_t)i));
        ok = links[i] < w->plan.row_count || error_set(err, ERROR_INTERNAL, "a chain was chosen row %d of %d", links[i], w->plan.row_count);
    }
    ok = ok && plan_chain_bind(&w->plan, row, links, err);
    free(links);
    return ok;
}

static bool take_choices(struct worker *w, const json_t *choices, struct error *err)
{
    size_t i;
    const json_t *one;
    json_array_foreach(choices, i, one)
    {
        if (!take_choice(w, (int)json_integer_value(json_array_get(one, 0)), json_array_get(one, 1), err))
            return false;
    }
    return true;
}

static bool obey(struct worker *w, const json_t *command, struct error *err)
{
    enum command what = command_of(command);
    int row = (int)json_integer_value(json_object_get(command, "row")), blame = -1;
    const json_t *rows = json_object_get(command, "rows");
    bool ok = true, of_row = what == COMMAND_ABLATE || what == COMMAND_VERIFY || what == COMMAND_IDENTIFY;
    if (what == COMMAND_UNKNOWN)
        return error_set(err, ERROR_INTERNAL, "unknown command");
    if (what > COMMAND_ROOFS && !w->planned)
        return error_set(err, ERROR_INTERNAL, "'%s' before setup", command_word(what));
    if (of_row && (row < 0 || row >= w->plan.row_count))
        return error_set(err, ERROR_INTERNAL, "'%s' of no row", command_word(what));
    if (what != COMMAND_ENOUGH && what != COMMAND_AHEAD)
        worker_ahead_end(w);
    if (what > COMMAND_AHEAD &&
        (!take_choice(w, row, json_object_get(command, "choice"), err) || !take_choices(w, json_object_get(command, "choices"), err)))
        return false;
    w->tiles = json_object_get(command, "tiles");
    switch (what) {
    case COMMAND_UUID: return tell_uuid(w, command, err);
    case COMMAND_PROBE: return probe(w, command, err);
    case COMMAND_SETUP: return setup(w, command, err);
    case COMMAND_ROOFS: return worker_roofs(w, command, err);
    case COMMAND_COMPILE: compile_rows(w, command); break;
    case COMMAND_ENOUGH: break; /* whoever made something ahead has seen it wait */
    case COMMAND_AHEAD: make_ahead(w, command); break;
    case COMMAND_ABLATE: return worker_ablate(w, row, err);
    case COMMAND_VERIFY: w->timed_next = json_is_true(json_object_get(command, "timed")); return worker_verify(w, row, err);
    case COMMAND_IDENTIFY: return worker_identify(w, row, err);
    case COMMAND_COUNT_CHECK: return worker_count_check(w, err);
    case COMMAND_MEASURE:
        w->next = json_object_get(command, "next");
        ok = worker_measure(w, rows, json_object_get(command, "gate"), &blame, err);
        w->next = NULL;
        break;
    case COMMAND_RACE: ok = worker_race(w, rows, &blame, err); break;
    case COMMAND_COUNT: ok = worker_count(w, command, &blame, err); break;
    case COMMAND_UNKNOWN: break;
    }
    if (!ok)
        w->emit(w->context, event_new(EVENT_BLAME, "{s:i}", "row", blame));
    return ok;
}

bool worker_handle(struct worker *w, const json_t *command, struct error *err)
{
    bool ok = obey(w, command, err);
    phase_unwind(&w->clock, 1); /* whatever an error left open */
    w->stage_depth = w->inside = 0;
    w->range_case = w->range_row = -1;
    w->emit(w->context, event_new(EVENT_SPENT, "{s:o}", "spent", wire_spent(&w->clock)));
    return ok;
}

void worker_close(struct worker *w)
{
    forget_plan(w);
    counter_set_free(&w->set);
    cupti_sass_close(w->sass);
    cupti_session_close(w->cupti);
    if (w->library)
        cudnn_close(w->library);
    if (w->witness)
        device_close(w->witness);
    if (w->dev)
        device_close(w->dev);
    worker_others_free(&w->others);
    free(w->library_state);
    compile_bundle_close();
}

static void emit_line(void *context, json_t *event)
{
    FILE *out = context;
    char *line = json_dumps(event, JSON_COMPACT);
    json_decref(event);
    fprintf(out, "%s\n", line ? line : "{\"event\":\"failed\",\"kind\":1,\"text\":\"a message that is not UTF-8\",\"hint\":\"\"}");
    fflush(out);
    free(line);
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

int worker_main(void)
{
    FILE *in = fdopen(3, "r"), *out = fdopen(dup(3), "w");
    if (!in || !out)
        return 2;
    crash_report();
    prctl(PR_SET_TIMERSLACK, 1); /* a rest before a sample is as long as it says, not 50 us longer */
    struct worker w;
    worker_init(&w, emit_line, out);
    w.waiting = command_waits;
    char *line = NULL;
    size_t cap = 0;
    int code = 0;
    while (code == 0 && getline(&line, &cap, in) > 0) {
        struct error err = {0};
        json_t *command = json_loads(line, 0, NULL);
        bool ok = command && worker_handle(&w, command, &err);
        json_decref(command);
        if (ok) {
            emit_line(out, event_new(EVENT_DONE, "{s:b}", "lost", (int)w.lost));
            if (w.lost)
                break;
        } else {
            emit_line(out, event_new(EVENT_FAILED, "{s:i,s:s,s:s}", "kind", (int)err.kind, "text", err.text, "hint", err.hint));
            code = 1;
        }
    }
    free(line);
    if (code == 0 && !w.lost)
        worker_close(&w);
    fflush(NULL);
    _exit(code); /* a lost context must not hang its own tear-down */
}
