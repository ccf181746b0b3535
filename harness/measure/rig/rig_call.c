/* The steps of a program that call a function of a foreign library: op/foreign.h. */
#include "base/file.h"
#include "base/library.h"
#include "base/text.h"
#include "device/cuda/cuda.h"
#include "measure/rig/rig_private.h"
#include "op/foreign.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS_MAX 32
#define GUARD_BYTES 4096 /* behind each buffer in host memory */
#define GUARD_BYTE 0xA5

struct rig_call {
    void *library;
    bench_function *function, *finish;
    struct bench_call call;
    struct bench_tensor tensors[OP_MAX_TENSORS], workspaces[STEP_MAX_ARGS];
    const struct place *places[OP_MAX_TENSORS + STEP_MAX_ARGS]; /* the device addresses of their data */
    struct bench_shape shapes[OP_MAX_TENSORS];
    struct bench_symbol symbols[SYMBOLS_MAX];
    struct bench_real reals[SYMBOLS_MAX];
    char epilogue[128], message[512];
};

static struct bench_tensor rig_call_describe(const struct tensor *t, enum layout layout, const struct place *place)
{
    struct bench_tensor out = {.name = t->role->name,
                               .dtype = dtype_name(t->dtype),
                               .layout = layout == LAYOUT_LINEAR ? "linear" : layout_name(layout),
                               .data = (void *)(uintptr_t)place->address,
                               .bytes = place->bytes};
    int64_t dim[4];
    tensor_fold(t, dim);
    for (int i = 0; i < 4; i++)
        out.dim[i] = dim[i];
    return out;
}

static void describe_buffers(struct rig *rig, const struct step *step, struct rig_call *c)
{
    const struct work *w = program_step_work(rig->program, step);
    struct work own = *w; /* with the part of the epilogue that the call computes */
    struct tensor whole[OP_MAX_TENSORS];
    c->call.tensor_count = c->call.workspace_count = 0;
    if (step->cudnn_epilogue < own.epilogue_count)
        own.epilogue_count = step->cudnn_epilogue;
    for (int i = 0, count = w->op->tensors(w, whole); i < count; i++) {
        struct tensor *t = &whole[i];
        if (t->role->result && !work_tensor(&own, t->role->name, t))
            continue;
        const struct place *place = rig_place_of(rig, step->operand[t->role->slot]);
        if (!place)
            continue;
        struct bench_shape *shape = &c->shapes[c->call.tensor_count];
        shape->rank = t->rank;
        for (int d = 0; d < t->rank; d++)
            shape->dim[d] = t->dim[d];
        c->places[c->call.tensor_count] = place;
        c->tensors[c->call.tensor_count++] = rig_call_describe(t, step->operand_layout[t->role->slot], place);
    }
    for (int i = 0; i < step->arg_count; i++) {
        const struct scratch *s = &rig->program->scratch[step->args[i].buffer.index];
        const struct place *place = rig_place_of(rig, step->args[i].buffer);
        c->places[c->call.tensor_count + i] = place;
        c->workspaces[c->call.workspace_count++] = (struct bench_tensor){.name = step->args[i].name,
                                                                         .dtype = dtype_name(s->dtype),
                                                                         .layout = "linear",
                                                                         .dim = {1, 1, 1, s->elements},
                                                                         .data = (void *)(uintptr_t)place->address,
                                                                         .bytes = place->bytes};
    }
}

static void describe_work(const struct work *w, int fused, struct rig_call *c)
{
    SCOPED_TEXT t = {0};
    for (const struct op_symbol *s = w->op->symbols; s->name && c->call.symbol_count < SYMBOLS_MAX; s++) {
        struct value v;
        if (work_symbol(w, s->name, &v))
            c->symbols[c->call.symbol_count++] = (struct bench_symbol){s->name, v.i};
    }
    for (const struct op_field *f = w->op->fields; f->name && c->call.real_count < SYMBOLS_MAX; f++) {
        struct value v;
        if (f->kind == FIELD_REAL && work_symbol(w, f->name, &v))
            c->reals[c->call.real_count++] = (struct bench_real){f->name, v.d};
    }
    c->call.slope = 1;
    for (int i = 0; i < fused && i < w->epilogue_count; i++) {
        text_addf(&t, "%s%s", i ? "," : "", epilogue_name(w->epilogue[i].kind));
        if (w->epilogue[i].kind == EPILOGUE_RELU)
            c->call.slope = 0;
        if (w->epilogue[i].kind == EPILOGUE_LEAKY_RELU)
            c->call.slope = w->epilogue[i].alpha;
    }
    snprintf(c->epilogue, sizeof c->epilogue, "%s", text_get(&t));
}

static void *open_library(const char *soname)
{
    struct library found;
    return library_open(&found, (const char *const[]){soname, NULL}, NULL) ? found.handle : NULL;
}

static bool invoke(struct rig *rig, int i, bench_function *function, struct error *err)
{
    struct rig_call *c = rig->steps[i].call;
    c->message[0] = 0;
    int result = function(&c->call);
    c->message[sizeof c->message - 1] = 0;
    if (!result)
        return true;
    return error_set(err, result == BENCH_UNSUPPORTED ? ERROR_ENVIRONMENT : ERROR_WRONG, "%s %s%s%s", rig->program->steps[i].name,
                     result == BENCH_UNSUPPORTED ? "does not support this work" : "failed", c->message[0] ? ": " : "", c->message);
}

bool rig_call_make(struct rig *rig, int i, struct error *err)
{
    const struct step *step = &rig->program->steps[i];
    const struct unit *unit = &rig->program->units[step->unit];
    const struct work *w = program_step_work(rig->program, step);
    void *context = NULL;
    bool host = !rig->dev->ops->keeps_time;
    if (host && !unit->on_host)
        return error_set(err, ERROR_ENVIRONMENT,
                         "not on emu: %s is a GPU library (set `on: [cuda, emu]` if it can also compute in host memory)", unit->label);
    if (!file_exists(unit->path))
        return error_set(err, ERROR_ENVIRONMENT, "not built: %s is missing; `make` builds it from the .c file", unit->path);
    struct rig_call *c = rig->steps[i].call = xcalloc(1, sizeof *c);
    SCOPED char *python = file_share("kernels/python/host.so");
    const char *library = text_ends(unit->path, ".call") ? python : unit->path;
    c->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        return error_set(err, ERROR_USAGE, "%s", dlerror());
    c->function = (bench_function *)(uintptr_t)dlsym(c->library, step->name);
    if (!c->function)
        return error_set(err, ERROR_USAGE, "%s exports no function '%s'", library, step->name);
    c->call = (struct bench_call){.version = BENCH_FOREIGN_VERSION,
                                  .on_host = host,
                                  .op = w->op->name,
                                  .math = math_name(w->math),
                                  .tensors = c->tensors,
                                  .workspaces = c->workspaces,
                                  .symbols = c->symbols,
                                  .epilogue = c->epilogue,
                                  .message = c->message,
                                  .message_bytes = sizeof c->message,
                                  .shapes = c->shapes,
                                  .reals = c->reals,
                                  .open_library = open_library,
                                  .source = unit->path};
    describe_work(w, step->cudnn_epilogue, c);
    c->finish = (bench_function *)(uintptr_t)dlsym(c->library, "bench_finish");
    bench_function *open = (bench_function *)(uintptr_t)dlsym(c->library, "bench_open");
    return (host || cuda_native(rig->dev, &context, &c->call.stream, err)) && (!open || invoke(rig, i, open, err)) &&
           (host || !open || rig->dev->ops->sync(rig->dev, err)); /* what it has queued may fail later */
}

/* On emu the function works on host copies. All of them are copied back, including an input that the function changed by mistake. */
static bool run_on_host(struct rig *rig, int i, struct error *err)
{
    struct rig_call *c = rig->steps[i].call;
    int count = c->call.tensor_count + c->call.workspace_count;
    SCOPED unsigned char **copies = xcalloc((size_t)count + 1, sizeof *copies);
    bool ok = true;
    for (int k = 0; ok && k < count; k++) {
        struct bench_tensor *t = k < c->call.tensor_count ? &c->tensors[k] : &c->workspaces[k - c->call.tensor_count];
        copies[k] = xmalloc(c->places[k]->bytes + GUARD_BYTES);
        memset(copies[k] + c->places[k]->bytes, GUARD_BYTE, GUARD_BYTES);
        t->data = copies[k];
        ok = rig->dev->ops->read(rig->dev, c->places[k]->address, copies[k], c->places[k]->bytes, err);
    }
    ok = ok && invoke(rig, i, rig->steps[i].call->function, err);
    for (int k = 0; ok && k < count; k++) {
        const char *name = k < c->call.tensor_count ? c->tensors[k].name : c->workspaces[k - c->call.tensor_count].name;
        for (size_t b = 0; ok && b < GUARD_BYTES; b++)
            if (copies[k][c->places[k]->bytes + b] != GUARD_BYTE)
                ok = error_set(err, ERROR_WRONG, "%s wrote past the end of %s, first %zu bytes after it", rig->program->steps[i].name, name,
                               b);
        ok = ok && rig->dev->ops->write(rig->dev, c->places[k]->address, copies[k], c->places[k]->bytes, err);
    }
    for (int k = 0; k < count; k++)
        free(copies[k]);
    return ok;
}

bool rig_call_run(struct rig *rig, int i, struct error *err)
{
    describe_buffers(rig, &rig->program->steps[i], rig->steps[i].call); /* for the selected set and replica */
    rig->steps[i].call->call.defers = rig->defers && rig->steps[i].call->finish && i == rig->program->step_count - 1;
    return rig->steps[i].call->call.on_host ? run_on_host(rig, i, err) : invoke(rig, i, rig->steps[i].call->function, err);
}

bool rig_call_finish(struct rig *rig, int i, struct error *err)
{
    struct rig_call *c = rig->steps[i].call;
    bool kept = c && c->call.defers;
    if (kept)
        c->call.defers = 0;
    return !kept || invoke(rig, i, c->finish, err);
}

/* The library stays open: its registrations with the driver must outlive the rig. */
void rig_call_free(struct rig *rig, int i)
{
    free(rig->steps[i].call);
    rig->steps[i].call = NULL;
}
