/* Programs of rows: bound when they are asked for. Of a plan with thousands of rows only some are here at a time. */
#include "base/pool.h"
#include "base/text.h"
#include "plan/rows/private.h"
#include "op/random.h"
#include "kernel/bind/variant_bind.h"
#include "kernel/head/load.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BOUND_MOST 1024 /* a program takes about 20 KB */

struct bound_rows {
    pthread_mutex_t lock;
    int *rows, count;
    int *named, named_count; /* the rows whose ids are here */
};

struct span {
    const struct plan *plan;
    int first;
};

struct bound_rows *bound_rows_new(void)
{
    struct bound_rows *b = xcalloc(1, sizeof *b);
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void bound_rows_free(struct bound_rows *b)
{
    if (b)
        free(b->rows), free(b->named);
    free(b);
}

static void drop(struct program *p)
{
    if (p)
        program_free(p);
    free(p);
}

void plan_unbind(struct plan_row *row)
{
    drop(row->program);
    drop(row->part);
    row->program = NULL;
    row->part = NULL;
}

void plan_tidy(const struct plan *plan, int keep)
{
    struct bound_rows *b = plan->bound;
    int left = 0, kept = 0;
    for (int i = 0; b->named_count >= BOUND_MOST && i < b->named_count; i++)
        if (plan->rows[b->named[i]].case_index == keep) {
            b->named[kept++] = b->named[i];
        } else {
            free(plan->rows[b->named[i]].made_id);
            plan->rows[b->named[i]].made_id = NULL;
        }
    b->named_count = b->named_count >= BOUND_MOST ? kept : b->named_count;
    if (b->count < BOUND_MOST)
        return;
    for (int i = 0; i < b->count; i++)
        if (plan->rows[b->rows[i]].case_index == keep)
            b->rows[left++] = b->rows[i];
        else
            plan_unbind(&plan->rows[b->rows[i]]);
    b->count = left;
}

/* Binds a row. A rule takes the best configuration found for its layer if that can do the work. */
static bool bind_row(const struct plan *plan, const struct plan_row *row, struct program *out, struct error *err)
{
    const struct variant_set *set = plan_set(plan, row->side);
    const struct work *work = &plan->cases[row->case_index].work;
    if (row->remembered && row->remembered->variant != row->variant) {
        if (!variant_bind_choice(set, row->config, row->remembered, work, &plan->chip, out, err))
            return false;
        if (out->feasible || plan->tune)
            return true;
        program_free(out);
    }
    return variant_bind(set, row->config, work, &plan->chip, out, err);
}

bool plan_choice_config(const struct variant_set *set, const char *params, const struct op *op, struct variant_config **config)
{
    const struct variant *chosen = NULL;
    struct error gone = {0};
    SCOPED char *copy = xstrdup(params);
    SCOPED_TEXT own = {0};
    char *rest = copy, *word;
    while ((word = strsep(&rest, ",")))
        if (!strncmp(word, "is=", 3))
            chosen = plan_resolve(set, word + 3, op);
        else
            text_addf(&own, "%s%s", own.len ? "," : "", word);
    return chosen && variant_at(chosen, text_get(&own), config, &gone);
}

bool plan_bind_choice(const struct plan *plan, const struct plan_row *row, const struct program *own, const struct work *part,
                      struct program *out)
{
    const struct variant_set *set = plan_set(plan, row->side);
    struct variant_config *config = NULL;
    struct error gone = {0};
    bool bound = plan_choice_config(set, own->params, part->op, &config) &&
                 variant_bind_choice(set, row->config, config, part, &plan->chip, out, &gone);
    variant_configs_free(config, config ? 1 : 0);
    return bound;
}

/* Binds the row to the part of its layer that is verified; NULL: the whole layer is. */
static struct program *bind_part(const struct plan *plan, const struct plan_row *row, const struct program *own)
{
    const struct scenario_case *c = &plan->cases[row->case_index];
    struct error why = {0};
    if (!c->part || row->broken || !own->feasible)
        return NULL;
    struct program *part = xcalloc(1, sizeof *part);
    bool bound = variant_selects(row->variant) ? plan_bind_choice(plan, row, own, c->part, part)
                                               : variant_bind(plan_set(plan, row->side), row->config, c->part, &plan->chip, part, &why);
    if (!bound)
        *part = (struct program){.reason = xstrdup(why.text[0] ? why.text : "its choice cannot be bound there")};
    return part;
}

/* A digest of what a step asks the library, after `before`. */
static uint64_t step_plans(uint64_t before, const struct program *p, const struct step *s)
{
    struct work work = *program_step_work(p, s);
    char key[HASH_TEXT];
    if (s->cudnn_epilogue >= 0 && s->cudnn_epilogue < work.epilogue_count)
        work.epilogue_count = s->cudnn_epilogue;
    work.mask = (struct mask){0};
    work_signature(&work, key);
    return hash_sum(hash_sum(before, key, strlen(key)), s->operand_pitch, sizeof s->operand_pitch);
}

void plan_facts(struct plan_row *row, const struct program *p)
{
    struct row_facts f = {.known = true,
                          .feasible = p->feasible,
                          .checked = p->checked,
                          .uses_mask = p->uses_mask,
                          .claims = p->feasible && p->claims,
                          .build = (uint64_t)p->unit_count};
    for (int i = 0; i < p->unit_count; i++) {
        f.build = random_bits(f.build, unit_digest(&p->units[i]), 0);
        f.own |= p->units[i].path || p->units[i].code;
        f.compiles |= p->units[i].path && p->units[i].code == CODE_CUDA;
    }
    for (int i = 0; i < p->step_count; i++) {
        if (p->steps[i].kind == STEP_CUDNN)
            f.plans = step_plans(f.plans + 1, p, &p->steps[i]);
        f.launches += p->steps[i].kind == STEP_KERNEL;
    }
    row->facts = f;
}

struct program *plan_program(const struct plan *plan, int index)
{
    struct plan_row *row = &plan->rows[index];
    struct program *there = row->program;
    struct error why = {0};
    if (there)
        return there;
    struct program *own = xcalloc(1, sizeof *own);
    bool bound = bind_row(plan, row, own, &why);
    struct program *part = bound ? bind_part(plan, row, own) : NULL;
    pthread_mutex_lock(&plan->bound->lock);
    there = row->program;
    if (!there) {
        if (!bound && !row->broken)
            row->broken = plan_broken(&why);
        if (!row->facts.known)
            plan_facts(row, own);
        row->part = part;
        *APPEND(plan->bound->rows, plan->bound->count) = index;
        row->program = own; /* last: others read it without the lock */
    }
    pthread_mutex_unlock(&plan->bound->lock);
    if (!there)
        return own;
    drop(own);
    drop(part);
    return there;
}

const char *plan_id(const struct plan *plan, int index)
{
    struct plan_row *row = &plan->rows[index];
    struct bound_rows *b = plan->bound;
    if (row->kind != PLAN_LAYER)
        return row->made_id;
    pthread_mutex_lock(&b->lock);
    if (!row->made_id) {
        row->made_id = plan_row_id(&plan->cases[row->case_index], row->config);
        *APPEND(b->named, b->named_count) = index;
    }
    pthread_mutex_unlock(&b->lock);
    return row->made_id;
}

const struct row_facts *plan_row_facts(const struct plan *plan, int index)
{
    if (!plan->rows[index].facts.known)
        plan_program(plan, index);
    return &plan->rows[index].facts;
}

static void bind_one(void *context, int64_t index, int thread)
{
    const struct span *s = context;
    plan_program(s->plan, s->first + (int)index);
}

void plan_bind_all(const struct plan *plan)
{
    for (struct span s = {plan, 0}; s.first < plan->row_count; s.first += BOUND_MOST) {
        plan_tidy(plan, -1);
        pool_for(plan->row_count - s.first < BOUND_MOST ? plan->row_count - s.first : BOUND_MOST, 0, bind_one, &s);
    }
}

struct program *plan_part(const struct plan *plan, int index)
{
    plan_program(plan, index);
    return plan->rows[index].part;
}

struct program *plan_verified_program(const struct plan *plan, int index)
{
    struct program *own = plan_program(plan, index), *part = plan->rows[index].part;
    return part ? part : own;
}

const struct work *plan_verified_work(const struct plan *plan, int case_index)
{
    const struct scenario_case *c = &plan->cases[case_index];
    return c->part ? c->part : &c->work;
}
