/* Buffers, code, arguments; running. */
#include "base/clock.h"
#include "base/expr.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/rig/rig_private.h"
#include "measure/rig/buffer_pool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool pack_map(struct rig *rig, const struct tensor_map *map, void *out, struct error *err)
{
    struct device_tensor_map d = {.element_bytes = (int)dtype_bytes(map->dtype),
                                  .element_kind = (int)map->dtype,
                                  .rank = map->rank,
                                  .swizzle = map->swizzle,
                                  .interleave = map->interleave,
                                  .l2_promotion = map->l2_promotion,
                                  .oob_nan = map->oob_nan};
    d.address = rig_address(rig, map->buffer);
    memcpy(d.dim, map->dim, sizeof d.dim);
    memcpy(d.stride_bytes, map->stride_bytes, sizeof d.stride_bytes);
    memcpy(d.box, map->box, sizeof d.box);
    memcpy(d.element_stride, map->element_stride, sizeof d.element_stride);
    if (!rig->dev->ops->tensor_map)
        return error_set(err, ERROR_ENVIRONMENT, "this device has no tensor maps (TMA)");
    return rig->dev->ops->tensor_map(rig->dev, &d, out, err);
}

/* One argument for a whole structure. */
static bool is_by_value(const struct arg *arg)
{
    return arg->kind == ARG_TENSOR_MAP || arg->kind == ARG_STRUCT;
}

/* The cubin of a user gives only the size of a parameter, and so does PTX with .b32 (Mojo's): the argument decides the type. */
static struct param settled(const struct arg *arg, const struct param *param)
{
    struct param out = *param;
    if (param->kind == PARAM_ANY || (param->untyped && arg->kind == ARG_REAL))
        out.kind = is_by_value(arg) || param->bytes > 8 ? PARAM_BYTES : arg->kind == ARG_REAL ? PARAM_FLOAT : PARAM_INT;
    return out;
}

/* How many arguments make a parameter: a struct by value is one for each 8 bytes, unless one argument is all of it. */
static int pack_count(const struct arg *arg, const struct param *param)
{
    return param->kind == PARAM_BYTES && !is_by_value(arg) ? (int)((param->bytes + 7) / 8) : 1;
}

/* Part of a struct by value: a buffer's address, or a whole number. */
static bool pack_part(struct rig *rig, const struct arg *arg, size_t bytes, unsigned char *to, struct error *err)
{
    int64_t v = arg->kind == ARG_BUFFER ? (int64_t)rig_address(rig, arg->buffer) : arg->i;
    if (arg->kind == ARG_REAL || arg->kind == ARG_TENSOR_MAP || (arg->kind == ARG_BUFFER && bytes < 8))
        return error_set(err, ERROR_USAGE,
                         "argument %s: the parameter is a struct by value, whose arguments are a buffer or a whole number for each 8 bytes",
                         arg->name);
    memcpy(to, &v, bytes < 8 ? bytes : 8); /* little endian */
    return true;
}

static bool pack_structure(struct rig *rig, const struct arg *arg, const struct param *param, unsigned char *to, struct error *err)
{
    const struct arg_struct *s = &rig->program->structures[arg->structure];
    if ((s->bytes.len + param->align - 1) / param->align * param->align != param->bytes)
        return error_set(err, ERROR_USAGE, "the fields of argument %s take %zu bytes, the kernel's parameter has %u", arg->name,
                         s->bytes.len, param->bytes);
    memcpy(to, s->bytes.data, s->bytes.len);
    for (int i = 0; i < s->pointer_count; i++)
        memcpy(to + s->pointers[i].at, &(uint64_t){rig_address(rig, s->pointers[i].buffer)}, 8);
    return true;
}

static bool pack_arg(struct rig *rig, const struct arg *arg, const struct param *param, unsigned char *to, struct error *err)
{
    switch (arg->kind) {
    case ARG_BUFFER:
        if (param->kind != PARAM_INT || param->bytes != 8)
            return error_set(err, ERROR_USAGE, "argument %s is a buffer, but the kernel's parameter is not a pointer", arg->name);
        memcpy(to, &(uint64_t){rig_address(rig, arg->buffer)}, 8);
        return true;
    case ARG_TENSOR_MAP:
        if (param->kind != PARAM_BYTES || param->bytes != 128)
            return error_set(err, ERROR_USAGE, "argument %s is a tensor map, but the kernel's parameter is not a CUtensorMap by value",
                             arg->name);
        return arg->map == ARG_NO_MAP || pack_map(rig, &rig->program->tensor_maps[arg->map], to, err); /* `to` is zeros */
    case ARG_STRUCT: return pack_structure(rig, arg, param, to, err);
    case ARG_INT:
    case ARG_REAL: break;
    }
    struct value number = arg->kind == ARG_REAL ? value_real(arg->d) : value_int(arg->i);
    return device_pack_number(param, arg->name, &number, to, err);
}

static bool find_functions(struct rig *rig, const struct step *step, struct rig_step *out, struct error *err)
{
    SCOPED char *entry = compile_entry(rig->images[step->unit].log, step->name);
    out->functions = out->functions ? out->functions : xcalloc((size_t)rig_views(rig), sizeof *out->functions);
    for (int view = 0; view < rig_views(rig); view++) {
        struct device_module *module = rig_module(rig, view, step->unit);
        if (view && module == rig_module(rig, 0, step->unit))
            out->functions[view] = out->functions[0];
        else if (!rig->dev->ops->function(rig->dev, module, entry, &out->functions[view], err))
            return false;
    }
    return true;
}

bool rig_multiply(struct rig *rig, const struct device_image *images, struct error *err)
{
    bool ok = true;
    rig->images = images;
    rig->dev->ops->multiply(rig->dev, true);
    for (int i = 0; ok && i < rig->program->step_count; i++)
        if (rig->program->steps[i].kind == STEP_KERNEL)
            ok = find_functions(rig, &rig->program->steps[i], &rig->steps[i], err);
    rig->images = NULL;
    return ok;
}

/* Packs the arguments of one view. */
static bool pack_all(struct rig *rig, const struct step *step, const struct param *params, int count, struct rig_step *out,
                     struct error *err)
{
    for (int i = 0, at = 0; i < count; i++) {
        struct param param = settled(&step->args[at], &params[i]);
        unsigned char *to = rig_params(rig, out) + params[i].offset;
        bool whole = param.kind != PARAM_BYTES || is_by_value(&step->args[at]),
             ok = !whole || pack_arg(rig, &step->args[at], &param, to, err);
        for (size_t k = 0; ok && !whole && k < param.bytes; k += 8)
            ok = pack_part(rig, &step->args[at + (int)k / 8], param.bytes - k, to + k, err);
        if (!ok) {
            error_where(err, "kernel %s, parameter %d", step->name, i + 1);
            return program_where(rig->program, step, step->args[at].line, step->args[at].column, err);
        }
        at += pack_count(&step->args[at], &param);
    }
    return true;
}

/* The number of arguments that the parameters take; beyond those that are there, one each. */
static int wanted_arguments(const struct step *step, const struct param *params, int count)
{
    int at = 0;
    for (int i = 0; i < count; i++) {
        struct param param = at < step->arg_count ? settled(&step->args[at], &params[i]) : params[i];
        at += at < step->arg_count ? pack_count(&step->args[at], &param) : 1;
    }
    return at;
}

static bool make_kernel(struct rig *rig, const struct step *step, struct rig_step *out, struct error *err)
{
    const struct device_ops *ops = rig->dev->ops;
    const struct param *params;
    if (!rig_module(rig, 0, step->unit))
        return error_set(err, ERROR_USAGE, "step %s: its variant has no kernel source", step->name);
    if (!find_functions(rig, step, out, err))
        return false;
    int count = ops->signature(rig->dev, out->functions[0], &params, &out->param_bytes);
    const struct arg *last = step->arg_count ? &step->args[step->arg_count - 1] : NULL;
    int wanted = wanted_arguments(step, params, count);
    if (wanted != step->arg_count) {
        error_set(err, ERROR_USAGE, "kernel %s takes %d parameter%s, `args:` lists %d", step->name, wanted, text_s(wanted),
                  step->arg_count);
        if (wanted != count)
            error_hint(err, "a struct by value is one argument for each 8 bytes");
        return program_where(rig->program, step, last ? last->line : step->line, last ? last->column : step->column, err);
    }
    out->params = xcalloc((size_t)rig_views(rig), out->param_bytes);
    for (int view = 0; view < rig_views(rig); view++) {
        rig_select(rig, view / rig->replicas, view % rig->replicas);
        if (!pack_all(rig, step, params, count, out, err))
            return false;
    }
    rig_select(rig, 0, 0);
    return true;
}

static bool make_step(struct rig *rig, int i, struct error *err)
{
    const struct step *step = &rig->program->steps[i];
    struct rig_step *out = &rig->steps[i];
    switch (step->kind) {
    case STEP_KERNEL: return make_kernel(rig, step, out, err);
    case STEP_CUDNN: {
        phase_push(rig->dev->clock, PHASE_PLANS);
        bool made = rig_library_make(rig, i, err);
        phase_pop(rig->dev->clock);
        return made;
    }
    case STEP_SYMBOL:
        if (!rig_module(rig, 0, step->unit))
            return error_set(err, ERROR_USAGE, "step %s: its variant has no source", step->name);
        if (!rig->dev->ops->symbol(rig->dev, rig_module(rig, 0, step->unit), step->symbol, &out->symbol, &out->symbol_bytes, err))
            return false;
        uint64_t bytes = step->bytes ? step->bytes : rig_place_of(rig, step->from)->bytes;
        if (bytes > out->symbol_bytes)
            return error_set(err, ERROR_USAGE, "symbol %s holds %zu bytes, the step uploads %llu", step->symbol, out->symbol_bytes,
                             (unsigned long long)bytes);
        return true;
    case STEP_CALL: return rig_call_make(rig, i, err);
    case STEP_FILL:
    case STEP_COPY: return true;
    }
    return true;
}

static void rig_arrays(struct rig *rig)
{
    const struct program *p = rig->program;
    size_t sets = (size_t)rig->sets, replicas = (size_t)rig->replicas, most = sets > replicas ? sets : replicas;
    rig->modules = xcalloc(sets * replicas * (size_t)p->unit_count, sizeof *rig->modules);
    rig->steps = xcalloc((size_t)p->step_count, sizeof *rig->steps);
    rig->tensors = xcalloc(most * (size_t)p->tensor_count, sizeof *rig->tensors);
    rig->fresh = xcalloc(most * (size_t)p->tensor_count, sizeof *rig->fresh);
    rig->scratch = xcalloc(replicas * (size_t)p->scratch_count + 1, sizeof *rig->scratch);
    rig->workspaces = xcalloc(replicas, sizeof *rig->workspaces);
    rig->inputs = xcalloc((size_t)p->tensor_count, sizeof *rig->inputs);
    rig->fed = xcalloc((size_t)p->tensor_count, sizeof *rig->fed);
    rig->weights = xcalloc((size_t)p->constant_count + 1, sizeof *rig->weights);
    rig->weight_sums = xcalloc((size_t)p->constant_count + 1, sizeof *rig->weight_sums);
    rig->graphs = xcalloc(sets * replicas, sizeof *rig->graphs);
    rig->right = xcalloc(sets, sizeof *rig->right);
    rig->trusted = xcalloc(sets, sizeof *rig->trusted);
    rig->expects = xcalloc(sets, sizeof *rig->expects);
}

static bool load_modules(struct rig *rig, struct error *err)
{
    bool ok = true;
    phase_part(rig->dev->clock, "modules");
    for (int i = 0; ok && i < rig->program->unit_count; i++) {
        const struct device_image *image = &rig->images[i];
        if (image->cubin && !image->ptx && !rig->dev->ops->keeps_time)
            ok = error_set(err, ERROR_ENVIRONMENT, "not on emu: %s is a cubin, and emu runs only PTX", image->label);
        else if (image->ptx || image->cubin)
            ok = rig_state_load(rig, i, image, err);
    }
    phase_pop(rig->dev->clock);
    return ok;
}

static bool make_buffers(struct rig *rig, struct error *err)
{
    phase_part(rig->dev->clock, "buffers");
    bool ok = rig_make_buffers(rig, err) && (!rig->sums.base || rig_around(rig, &rig->around, err));
    phase_pop(rig->dev->clock);
    return ok;
}

bool rig_open_in(struct buffer_pool *pool, int values, struct device *dev, struct cudnn *library, const struct program *program,
                 const struct device_image *images, bool keep_inputs, struct rig **out, struct error *err)
{
    struct rig *rig = xcalloc(1, sizeof *rig);
    bool ok = false;
    *rig = (struct rig){
        .dev = dev, .pool = pool, .values = values, .library = library, .program = program, .images = images, .keep_inputs = keep_inputs};
    rig->sets = pool ? buffer_pool_sets(pool) : 1;
    rig->replicas = pool ? buffer_pool_replicas(pool) : 1;
    rig->guard = dev->ops->forget ? 0 : RIG_GUARD_BYTES; /* emu checks every access itself, exactly */
    rig_arrays(rig);
    if (!load_modules(rig, err) || !make_buffers(rig, err))
        goto done;
    phase_part(dev->clock, "steps");
    ok = true;
    ok = ok && ALL_OF(i, program->step_count, make_step(rig, i, err));
    phase_pop(dev->clock);
    ok = ok && rig_library_workspace(rig, err);
    rig->images = NULL;
done:
    if (!ok) {
        rig_close(rig);
        rig = NULL;
    }
    *out = rig;
    return ok;
}

bool rig_open(struct device *dev, struct cudnn *library, const struct program *program, const struct device_image *images, bool keep_inputs,
              struct rig **out, struct error *err)
{
    return rig_open_in(NULL, 0, dev, library, program, images, keep_inputs, out, err);
}

void rig_close(struct rig *rig)
{
    if (!rig)
        return;
    struct device *dev = rig->dev;
    const struct program *p = rig->program;
    phase_part(dev->clock, "give back");
    rig_graph_drop(rig);
    for (int i = 0; i < p->step_count; i++) {
        free(rig->steps[i].params);
        free(rig->steps[i].functions);
        rig_library_free(rig, i);
        rig_call_free(rig, i);
    }
    for (int i = 0; i < rig_views(rig) * p->unit_count; i++)
        if (rig->modules[i])
            dev->ops->unload(dev, rig->modules[i]);
    rig_release_buffers(rig);
    phase_pop(dev->clock);
    pointers_free(rig->inputs, p->tensor_count);
    pointers_free(rig->watched, p->tensor_count);
    pointers_free(rig->weights, p->constant_count);
    rig_state_free(rig);
    FREE_ALL(rig->weight_sums, rig->modules, rig->steps, rig->tensors, rig->fresh, rig->scratch, rig->workspaces, rig->fed, rig->graphs,
             rig->right, rig->trusted, rig->expects, rig);
}

static struct device_launch launch_of(const struct rig *rig, int i)
{
    const struct step *step = &rig->program->steps[i];
    struct device_launch launch = {.smem = step->smem,
                                   .cooperative = step->cooperative,
                                   .pdl = step->pdl,
                                   .carveout = step->carveout,
                                   .params = rig_params(rig, &rig->steps[i]),
                                   .param_bytes = rig->steps[i].param_bytes,
                                   .time_limit_s = rig->time_limit_s};
    memcpy(launch.grid, step->grid, sizeof launch.grid);
    memcpy(launch.block, step->block, sizeof launch.block);
    memcpy(launch.cluster, step->cluster, sizeof launch.cluster);
    return launch;
}

int rig_clusters(struct rig *rig, int step)
{
    const struct device_ops *ops = rig->dev->ops;
    int count = 0;
    if (!ops->clusters || rig->program->steps[step].kind != STEP_KERNEL)
        return 0;
    struct device_launch launch = launch_of(rig, step);
    return ops->clusters(rig->dev, rig->steps[step].functions[0], &launch, &count, NULL) ? count : 0;
}

bool rig_run_step(struct rig *rig, int i, struct error *err)
{
    const struct step *step = &rig->program->steps[i];
    const struct rig_step *own = &rig->steps[i];
    const struct device_ops *ops = rig->dev->ops;
    switch (step->kind) {
    case STEP_KERNEL: {
        struct device_launch launch = launch_of(rig, i);
        return ops->launch(rig->dev, own->functions[rig->code], &launch, err) || error_where(err, "kernel %s", step->name);
    }
    case STEP_FILL: {
        const struct place *to = rig_place_of(rig, step->to);
        return ops->fill(rig->dev, to->address, step->fill, step->bytes ? step->bytes : to->bytes, err);
    }
    case STEP_COPY: {
        const struct place *to = rig_place_of(rig, step->to), *from = rig_place_of(rig, step->from);
        size_t bytes = step->bytes ? step->bytes : to->bytes;
        if (bytes > to->bytes || bytes > from->bytes)
            return error_set(err, ERROR_USAGE, "step %s copies %zu bytes, from %zu to %zu", step->name, bytes, from->bytes, to->bytes);
        return ops->copy(rig->dev, to->address, from->address, bytes, err);
    }
    case STEP_SYMBOL: {
        const struct place *from = rig_place_of(rig, step->from);
        return ops->copy(rig->dev, own->symbol, from->address, step->bytes ? step->bytes : from->bytes, err);
    }
    case STEP_CUDNN: return rig_library_run(rig, i, err);
    case STEP_CALL: return rig_call_run(rig, i, err);
    }
    return error_set(err, ERROR_INTERNAL, "unknown step kind %d", step->kind);
}

bool rig_run_sample(struct rig *rig, int i, struct device_sample *sample, struct error *err)
{
    struct device_launch launch = launch_of(rig, i);
    launch.sample = sample;
    return rig->dev->ops->launch(rig->dev, rig->steps[i].functions[rig->code], &launch, err) ||
           error_where(err, "kernel %s", rig->program->steps[i].name);
}

bool rig_swap_state(struct rig *rig, int i, size_t most, bool keeps, struct text *state, struct error *err)
{
    const struct step *step = &rig->program->steps[i];
    size_t at = 0;
    for (int a = 0; a < step->arg_count; a++) {
        const struct arg *arg = &step->args[a];
        if (arg->kind != ARG_BUFFER || arg->buffer.kind != BUFFER_SCRATCH || rig_place_of(rig, arg->buffer)->bytes > most)
            continue;
        const struct place *of = rig_place_of(rig, arg->buffer);
        SCOPED char *bytes = keeps ? xmalloc(of->bytes) : NULL;
        if (!(keeps ? rig->dev->ops->read(rig->dev, of->address, bytes, of->bytes, err)
                    : rig->dev->ops->write(rig->dev, of->address, state->data + at, of->bytes, err)))
            return false;
        if (keeps)
            text_add_bytes(state, bytes, of->bytes);
        at += of->bytes;
    }
    return true;
}

bool rig_symbol(struct rig *rig, const char *name, uint64_t *address, size_t *bytes, struct error *err)
{
    return rig->dev->ops->symbol(rig->dev, rig_module(rig, 0, 0), name, address, bytes, err);
}

void rig_weigh(struct rig *rig, int i, const struct device_sample *sample)
{
    rig->dev->ops->weigh(rig->dev, rig->steps[i].functions[rig->code], sample);
}

bool rig_prepare(struct rig *rig, double *ns, struct error *err)
{
    bool any = false;
    if (!rig_give_contents(rig, err))
        return false;
    double start = clock_s();
    for (int i = 0; i < rig->program->step_count; i++)
        if (rig->program->steps[i].prepare) {
            any = true;
            if (!rig_run_step(rig, i, err))
                return false;
        }
    if (any && !rig_library_prepare(rig, err)) /* converts a bias that was written just now */
        return false;
    if (!ns)
        return true;
    if (any && !rig->dev->ops->sync(rig->dev, err))
        return false;
    *ns = any ? (clock_s() - start) * 1e9 : NAN;
    return true;
}

bool rig_run_stepwise(struct rig *rig, bool (*between)(void *context, int step, struct error *err), void *context, struct error *err)
{
    const struct device_ops *ops = rig->dev->ops;
    bool ok = true;
    int now = 0;
    for (int i = 0; ok && i < rig->program->step_count; i++) {
        const struct step *step = &rig->program->steps[i];
        int stream = ops->stream && !between ? step->stream : 0; /* what looks between steps needs their order */
        if (step->prepare)
            continue;
        ok = (stream == now || ops->stream(rig->dev, stream, err)) && rig_run_step(rig, i, err) && (!between || between(context, i, err));
        now = stream;
    }
    return (!now || ops->stream(rig->dev, 0, ok ? err : NULL)) && ok;
}

static bool capture(struct rig *rig, struct error *err)
{
    const struct device_ops *ops = rig->dev->ops;
    struct error end = {0};
    if (!ops->graph_begin)
        return error_set(err, ERROR_ENVIRONMENT, "this device has no graphs");
    if (!ops->graph_begin(rig->dev, err))
        return false;
    bool ok = rig_run_stepwise(rig, NULL, NULL, err);
    if (ops->graph_end(rig->dev, &rig->graphs[rig_view(rig)], &end))
        return ok;
    if (ok && err)
        *err = end;
    return false;
}

static bool runs_as_graph(const struct rig *rig)
{
    return rig->program->graph && rig->dev->ops->graph_begin && rig->has_run; /* emu has no graphs: the steps are the same */
}

bool rig_capture(struct rig *rig, struct error *err)
{
    return !runs_as_graph(rig) || rig->graphs[rig_view(rig)] || capture(rig, err);
}

bool rig_run(struct rig *rig, struct error *err)
{
    bool graph = runs_as_graph(rig);
    rig->has_run = true;
    if (!graph)
        return rig_run_stepwise(rig, NULL, NULL, err);
    return rig_capture(rig, err) && rig->dev->ops->graph_launch(rig->dev, rig->graphs[rig_view(rig)], err);
}

bool rig_run_timed(struct rig *rig, struct error *err)
{
    rig->defers = true;
    bool ok = rig_run(rig, err);
    rig->defers = false;
    return ok;
}

bool rig_finish(struct rig *rig, struct error *err)
{
    int last = rig->program->step_count - 1;
    return rig->program->steps[last].kind != STEP_CALL || rig_call_finish(rig, last, err);
}

bool rig_read(struct rig *rig, struct buffer_ref ref, int64_t element, double *value, struct error *err)
{
    const struct place *place = rig_place_of(rig, ref);
    enum dtype type = program_dtype(rig->program, ref);
    unsigned char raw[8];
    size_t bytes = dtype_bytes(type);
    if (element < 0 || dtype_size(type, (size_t)element + 1) > place->bytes)
        return error_set(err, ERROR_USAGE, "the column reads element %lld, past the end of its buffer", (long long)element);
    if (!rig->dev->ops->read(rig->dev, place->address + dtype_offset(type, (size_t)element), raw, bytes, err))
        return false;
    *value = dtype_get(type, raw, dtype_inside(type, (size_t)element));
    return true;
}

void rig_set_name(struct rig *rig, const char *name)
{
    rig->name = name;
}

const char *rig_name(const struct rig *rig)
{
    return rig->name;
}

const struct program *rig_program(const struct rig *rig)
{
    return rig->program;
}
void rig_time_limit(struct rig *rig, double seconds)
{
    rig->time_limit_s = seconds;
}
