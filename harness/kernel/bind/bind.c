/* Binds one configuration of a variant to a work on a chip; the other files of bind/ do the steps. */
#include "kernel/bind/bind.h"
#include "kernel/bind/variant_bind.h"
#include "base/file.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool match_where(struct bind *b, struct error *err)
{
    return bind_conditions(b, &b->h->where, b->config->label, err);
}

/* Predictions come before the conditions, so that a refused configuration has them too. */
static bool predict(struct bind *b, struct error *err)
{
    for (int i = 0; i < PREDICT_COUNT; i++) {
        if (!b->h->predict[i])
            continue;
        if (!expr_eval_int(b->h->predict[i], &b->env, &b->program->predicted[i], err))
            return false;
        if (b->program->predicted[i] < 0)
            return expr_fail(b->h->predict[i], err, "predict %s: %lld", predict_names[i], (long long)b->program->predicted[i]);
    }
    return true;
}

/* Makes the program's tensors, in the layouts that the variant's own part wants, and the place of its output. */
static bool make_tensors(struct bind *b, struct error *err)
{
    struct program *p = b->program;
    struct work whole = *b->work;
    if (!b->with_mask)
        whole.mask = (struct mask){0};
    struct tensor all[OP_MAX_TENSORS];
    int count = whole.op->tensors(&whole, all);
    p->tensors = xcalloc(OP_MAX_TENSORS, sizeof *p->tensors);
    for (int i = 0; i < count; i++) {
        const struct tensor *own = bind_tensor(b, all[i].role->slot);
        if (tensor_role_is_mask(all[i].role) && !own)
            continue;
        if (own && (!all[i].role->result || !b->completed))
            all[i].layout = own->layout;
        p->tensors[p->tensor_count++] = all[i];
    }
    for (int i = 0; i < p->tensor_count; i++) /* the contents lie as the tensor does */
        if (program_contents(p, i) >= 0)
            p->tensors[program_contents(p, i)].layout = p->tensors[i].layout;
    const struct tensor *output = bind_result(b);
    int final = program_result(p);
    if (!b->work->op->raw_output)
        return true;
    if (!output || final < 0)
        return error_set(err, ERROR_INTERNAL, "%s: the work has no output", b->config->variant->name);
    b->output = (struct buffer_ref){.kind = BUFFER_TENSOR, .index = final};
    if (b->completed)
        b->output = (struct buffer_ref){.kind = BUFFER_SCRATCH,
                                        .index = program_add_scratch(p, "between", output->dtype, (int64_t)tensor_elements(output))};
    return true;
}

/* "NAME=VALUE" as CUDA C reads it. A real is always a float constant: 0.1f, 2.0f. */
static char *define_text(const char *name, const struct value *v)
{
    char s[VALUE_TEXT_MAX];
    if (v->kind != VALUE_REAL) {
        value_print(v, s, sizeof s);
        return text_format("%s=%s", name, s);
    }
    for (int digits = 6; digits <= 9; digits++) { /* nine are enough for every float */
        snprintf(s, sizeof s, "%.*g", digits, v->d);
        if (strtof(s, NULL) == (float)v->d)
            break;
    }
    return text_format("%s=%s%sf", name, s, strpbrk(s, ".e") ? "" : ".0");
}

static void add_define(struct unit *u, const char *name, const struct value *v)
{
    *APPEND(u->defines, u->define_count) = define_text(name, v);
}

static bool make_unit(struct bind *b, struct error *err)
{
    struct program *p = b->program;
    const struct variant *v = b->config->variant;
    bool has_code = ANY_OF(i, b->h->step_count,
                           b->h->steps[i].kind == HEAD_KERNEL || b->h->steps[i].kind == HEAD_SYMBOL || b->h->steps[i].kind == HEAD_CALL ||
                               b->h->steps[i].kind == HEAD_STAGES);
    p->units = xcalloc(1, sizeof *p->units);
    p->unit_count = 1;
    struct unit *u = &p->units[0];
    u->label = xstrdup(v->name);
    u->include = v->include;
    u->path = has_code ? xstrdup(v->code) : NULL;
    u->code = b->h->code;
    u->on_host = b->h->on_host;
    if (has_code && u->code != CODE_CUDA) { /* made elsewhere, beside the sidecar */
        free(u->path);
        u->path = file_beside(v->path, b->h->source);
        return true;
    }
    if (!has_code)
        return true;
    struct value value;
    for (int i = 0; i < b->h->param_count; i++) {
        if (!b->env.name(b, b->h->params[i].name, &value, err))
            return node_error(b->h->params[i].node, err, "parameter '%s' has no value", b->h->params[i].name);
        add_define(u, b->h->params[i].name, &value);
    }
    for (int i = 0; i < b->h->define_count; i++) {
        if (!expr_eval(b->h->defines[i].expr, &b->env, &value, err))
            return false;
        if (value.kind == VALUE_REAL && !isfinite((float)value.d))
            return expr_fail(b->h->defines[i].expr, err, "%g is not a float", value.d);
        add_define(u, b->h->defines[i].name, &value);
    }
    for (int i = 0; i < b->h->specialise_count; i++) {
        if (!bind_symbol(b, b->h->specialise[i], &value, err))
            return !b->program->reason && error_set(err, ERROR_INTERNAL, "%s: no symbol '%s'", v->name, b->h->specialise[i]);
        SCOPED char *upper = head_upper(b->h->specialise[i]);
        add_define(u, upper, &value);
    }
    for (int i = 0, count = 0; i < b->h->step_count; i++)
        if (b->h->steps[i].kind == HEAD_KERNEL && head_is_instance(b->h->steps[i].name))
            *APPEND(u->defines, u->define_count) = text_format(KERNEL_INSTANCE "_%d=%s", ++count, b->h->steps[i].name);
    return true;
}

/* The tiles that a sparse variant declares; a variant that runs dense here has none. */
static bool bind_tile(struct bind *b, struct error *err)
{
    const struct head_mask *m = &b->h->mask;
    int64_t size[3] = {0, 0, 1}, weights = -1;
    for (int i = 0; b->with_mask && i < m->tile.count; i++) {
        if (!expr_eval_int(m->tile.items[i], &b->env, &size[i], err))
            return false;
        if (size[i] < 1 || size[i] > 65535)
            return expr_fail(m->tile.items[i], err, "tile of mask: %lld is not between 1 and 65535", (long long)size[i]);
    }
    if (b->with_mask && m->weights && !expr_eval_int(m->weights, &b->env, &weights, err))
        return false;
    bool volume = b->work->op->volume && m->tile.count == 3;
    b->program->tile = volume ? (struct tile){size[1], size[2], 1, size[0]} : (struct tile){size[0], size[1], size[2], b->work->op->volume};
    b->program->tile_weight_bytes = weights;
    if (b->with_mask && m->by_tile)
        b->program->spared = b->program->tile;
    b->program->any_padding = b->with_mask && m->any_padding;
    b->program->finds_tile = b->with_mask && m->by_found;
    b->program->finds_padding = b->with_mask && m->padding_found;
    return true;
}

/* The error factor of `library` applies only to steps that call a library: without one, the bound is that of a direct sum. */
static void bind_library(struct program *p)
{
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_CUDNN || p->steps[i].kind == STEP_CALL)
            return;
    if (!strcmp(p->algorithm, "library")) {
        free(p->algorithm);
        p->algorithm = xstrdup("direct");
    }
}

static void begin_program(struct bind *b)
{
    const struct variant *v = b->config->variant;
    struct program *p = b->program;
    *p = (struct program){.tile_weight_bytes = -1,
                          .work = *b->work,
                          .exact = b->h->exact,
                          .checked = b->h->checked,
                          .graph = b->h->graph,
                          .predicted = {-1, -1, -1}};
    memcpy(p->ablations, b->h->ablations, sizeof p->ablations);
    p->variant = xstrdup(v->name);
    p->params = xstrdup("");
    for (int i = 0; i < b->config->count; i++) {
        char value[VALUE_TEXT_MAX];
        value_print(&b->config->values[i], value, sizeof value);
        program_add_param(p, b->config->names[i], value, value_number(&b->config->values[i]));
    }
    p->what = xstrdup(v->what);
    p->algorithm = xstrdup(v->algorithm);
}

static bool bind_at_depth(const struct variant_set *set, const struct variant_config *config, const struct work *work,
                          const struct chip *chip, int depth, struct program *program, struct error *err)
{
    struct bind b = {.set = set,
                     .config = config,
                     .h = config->variant->parsed,
                     .work = work,
                     .chip = chip,
                     .depth = depth,
                     .program = program,
                     .bind = bind_at_depth};
    bind_env_init(&b);
    begin_program(&b);
    if (depth > BIND_MAX_DEPTH) {
        bind_infeasible(&b, "variants are nested more than %d deep", BIND_MAX_DEPTH);
    } else if (b.h->selects) {
        if (bind_match(&b, err) && match_where(&b, err) && bind_select(&b, err))
            return true;
    } else if (b.h->steps[0].kind == HEAD_PYTHON) {
        if (bind_match(&b, err) && match_where(&b, err) && bind_python(&b, err))
            return true;
    } else if (bind_match(&b, err) && bind_slices(&b, err) && predict(&b, err) && match_where(&b, err) && make_tensors(&b, err) &&
               make_unit(&b, err) && bind_scratch(&b, err) && bind_maps(&b, err) && bind_steps(&b, err) && bind_columns(&b, err) &&
               bind_tile(&b, err) && bind_claim(&b, err) && bind_sides(&b) && bind_complete(&b, err)) {
        program->uses_mask = b.with_mask;
        program->reads_inactive = !b.with_mask || !b.h->mask.reads_active;
        program->inactive = b.h->mask.inactive;
        bind_library(program);
        program_sort_steps(program);
        program_scratch_kinds(program);
        program->feasible = true;
        return true;
    }
    if (program->reason) {
        error_clear(err); /* the error is that no row of a table fits, met inside an expression: it is the reason */
        return true;
    }
    program_free(program);
    *program = (struct program){0};
    return false;
}

bool variant_bind(const struct variant_set *set, const struct variant_config *config, const struct work *work, const struct chip *chip,
                  struct program *program, struct error *err)
{
    return bind_at_depth(set, config, work, chip, 0, program, err);
}

bool variant_bind_choice(const struct variant_set *set, const struct variant_config *rule, const struct variant_config *choice,
                         const struct work *work, const struct chip *chip, struct program *program, struct error *err)
{
    struct bind b = {.set = set, .config = rule, .h = rule->variant->parsed, .work = work, .chip = chip, .program = program};
    struct program inner;
    if (!bind_at_depth(set, choice, work, chip, 1, &inner, err))
        return false;
    *program = (struct program){0};
    if (inner.feasible)
        bind_adopt(&b, choice->variant, &inner);
    else
        *program = inner;
    return true;
}

/* The configurations of `race:` whose conditions hold for this work. */
static bool race_items(const struct variant_set *set, const struct variant_config *rule, const struct work *work, const struct chip *chip,
                       struct variant_config **configs, int *count, struct error *err)
{
    SCOPED_BY(program_free) struct program own = {0};
    struct bind b = {
        .set = set, .config = rule, .h = rule->variant->parsed, .work = work, .chip = chip, .program = &own, .bind = bind_at_depth};
    bind_env_init(&b);
    begin_program(&b);
    bool ok = (bind_match(&b, err) && match_where(&b, err) && bind_race(&b, configs, count, err)) || own.reason;
    if (own.reason)
        error_clear(err);
    return ok;
}

int variant_race(const struct variant_set *set, const struct variant_config *rule, const struct work *work, const struct chip *chip,
                 struct variant_config **configs, struct error *err)
{
    struct variant_config *all = NULL;
    SCOPED_BY(program_free) struct program own = {0};
    int count = 0, left = 0;
    bool ok = race_items(set, rule, work, chip, &all, &count, err) && (!count || variant_bind(set, rule, work, chip, &own, err));
    SCOPED char **taken = xcalloc((size_t)count + 1, sizeof *taken);
    taken[0] = ok && own.params ? xstrdup(own.params) : NULL;
    for (int i = 0; i < count; i++) {
        SCOPED_BY(program_free) struct program p = {0};
        bool known = false;
        ok = ok && variant_bind_choice(set, rule, &all[i], work, chip, &p, err);
        for (int k = 0; ok && p.feasible && k <= left; k++)
            known |= taken[k] && !strcmp(taken[k], p.params);
        if (ok && p.feasible && !known) {
            taken[left + 1] = xstrdup(p.params);
            all[left++] = all[i];
        } else {
            variant_config_clear(&all[i]);
        }
    }
    for (int i = 0; i <= left; i++)
        free(taken[i]);
    if (ok && left) {
        *configs = all;
        return left;
    }
    variant_configs_free(all, left);
    return ok ? 0 : -1;
}
