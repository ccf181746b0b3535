/* `select:`, a rule in place of steps: the first variant whose condition holds and that can do the whole work. */
#include "kernel/bind/bind.h"
#include "kernel/head/load.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool bind_one_config(const struct head_step *s, const char *what, const struct variant *v, struct variant_config **config,
                     struct error *err)
{
    int count = variant_configs(v, s->params, config, err);
    if (count < 0 || count == 1)
        return count == 1;
    variant_configs_free(*config, count);
    *config = NULL;
    return node_error(s->params, err, "a %s is one configuration of %s, not %d", what, v->name, count);
}

/* Binds one candidate to the whole work; its program may be infeasible. */
static bool bind_candidate(struct bind *b, const struct head_step *s, const struct variant *v, struct program *inner, struct error *err)
{
    struct variant_config *config = NULL;
    if (b->depth >= BIND_MAX_DEPTH || v == b->config->variant)
        return node_error(s->node, err,
                          v == b->config->variant ? "a variant cannot select itself" : "variants select variants more than %d deep",
                          BIND_MAX_DEPTH);
    bool done = bind_one_config(s, "choice", v, &config, err) && b->bind(b->set, config, b->work, b->chip, b->depth + 1, inner, err);
    variant_configs_free(config, config ? 1 : 0);
    return done;
}

/* Gives the rule the candidate's program, under the rule's name: `conv2d/auto[is=wgmma_rs]`, followed by the variants that complete it. If
 * a rule chooses another rule, it takes that rule's choice. */
void bind_adopt(struct bind *b, const struct variant *v, struct program *inner)
{
    bool named = ANY_OF(i, inner->param_count, !strcmp(inner->param[i].name, "is"));
    const char *own = b->config->variant->name, *rest = strlen(inner->variant) > strlen(v->name) ? inner->variant + strlen(v->name) : "";
    char *name = text_format("%s%s", own, rest);
    free(inner->variant);
    inner->variant = name;
    if (!named)
        program_add_param(inner, "is", strcmp(v->folder, b->h->op->name) ? v->name : variant_own_name(v->name), NAN);
    program_free(b->program);
    *b->program = *inner;
}

/* True if the rule was measured on such a chip and work. */
static bool was_measured(const struct bind *b, bool *measured, struct error *err)
{
    char clause[400];
    *measured = true;
    for (int i = 0; i < b->h->measured.count && *measured; i++)
        if (!expr_test(b->h->measured.items[i], &b->env, measured, clause, sizeof clause, err))
            return false;
    return true;
}

/* Did a condition ask for one number of sides that differ? Then its item is for other layers, and the next one may be for this. */
static bool asks_one_side(struct bind *b, struct error *err)
{
    struct program *p = b->program;
    if (!p->reason)
        return false;
    free(p->reason);
    free(p->clause);
    p->reason = p->clause = NULL;
    error_clear(err);
    return true;
}

/* *holds: the item's `when:` is absent or true. */
static bool item_holds(struct bind *b, const struct head_step *s, bool *holds, struct error *err)
{
    char clause[400];
    *holds = true;
    if (!s->when || expr_test(s->when, &b->env, holds, clause, sizeof clause, err))
        return true;
    *holds = false;
    return asks_one_side(b, err);
}

bool bind_race(struct bind *b, struct variant_config **configs, int *count, struct error *err)
{
    const struct head *h = b->h;
    for (int i = h->step_count - h->race_count; i < h->step_count; i++) {
        const struct head_step *s = &h->steps[i];
        struct variant_config *one = NULL;
        bool holds;
        if (!item_holds(b, s, &holds, err))
            return false;
        const struct variant *v = holds ? variant_find(b->set, s->name, h->op, s->node, err) : NULL;
        if (holds && (!v || !bind_one_config(s, "choice", v, &one, err)))
            return false;
        if (holds)
            *APPEND(*configs, *count) = *one;
        free(one);
    }
    return true;
}

bool bind_select(struct bind *b, struct error *err)
{
    SCOPED_TEXT why = {0};
    bool done = false, broken = false;
    for (int i = 0; i < b->h->step_count - b->h->race_count && !done && !broken; i++) {
        const struct head_step *s = &b->h->steps[i];
        struct program inner;
        bool holds;
        if ((broken = !item_holds(b, s, &holds, err)) || !holds)
            continue;
        const struct variant *v = variant_find(b->set, s->name, b->h->op, s->node, err);
        if (!v || !bind_candidate(b, s, v, &inner, err)) {
            broken = true;
        } else if (inner.feasible && (inner.claims || !s->claimed)) {
            bool measured;
            bind_adopt(b, v, &inner);
            /* a rule without claims takes over its choice's */
            done = (b->h->claims.count == 0 || bind_claim(b, err)) && was_measured(b, &measured, err);
            b->program->guess = done && !measured;
            broken = !done;
        } else {
            text_addf(&why, "%s%s: %s", why.len ? "; " : "", v->name, inner.feasible ? "it does not claim this shape" : inner.reason);
            program_free(&inner);
        }
    }
    if (!done && !broken)
        bind_infeasible(b, "select: %s", why.len ? text_get(&why) : "every `when:` is false");
    return done;
}
