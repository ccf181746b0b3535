/* Conditions of a head, and the reason why a configuration cannot run. */
#include "kernel/bind/bind.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

bool bind_refused(struct bind *b, const char *clause, const char *format, ...)
{
    struct text t = {0};
    char *kept = clause ? xstrdup(clause) : NULL;
    TEXT_ADD_ARGUMENTS(&t, format);
    free(b->program->reason);
    free(b->program->clause);
    b->program->reason = text_take(&t);
    b->program->clause = kept;
    return false;
}

/* The names of the head's `let:` that an expression needs. */
struct needed {
    const struct head *h;
    bool *lets;
};

static void need_name(void *context, const char *name)
{
    const struct needed *n = context;
    for (int i = 0; i < n->h->let_count; i++)
        n->lets[i] |= !strcmp(n->h->lets[i].name, name);
}

/* How the refusing condition's names come from the work and the configuration: each needed formula with its value, in the head's order. */
static char *derivation(const struct bind *b, const struct expr *condition)
{
    SCOPED bool *lets = xcalloc((size_t)b->h->let_count + 1, sizeof *lets);
    struct needed needed = {b->h, lets};
    struct text t = {0};
    expr_names(condition, need_name, &needed);
    for (int i = b->h->let_count - 1; i >= 0; i--) /* a formula uses earlier names */
        if (lets[i])
            expr_names(b->h->lets[i].expr, need_name, &needed);
    for (int i = 0; i < b->h->let_count; i++) {
        struct value value;
        char number[VALUE_TEXT_MAX];
        if (!lets[i] || !b->env.name(b->env.context, b->h->lets[i].name, &value, NULL))
            continue;
        value_print(&value, number, sizeof number);
        text_addf(&t, "%s = %s = %s\n", b->h->lets[i].name, expr_text(b->h->lets[i].expr), number);
    }
    return t.len ? text_take(&t) : NULL;
}

static bool predicts(const struct head *h)
{
    return ANY_OF(i, PREDICT_COUNT, h->predict[i] != NULL);
}

bool bind_conditions(struct bind *b, const struct expr_list *all, const char *config, struct error *err)
{
    for (int i = 0; i < all->count; i++) {
        bool truth;
        char why[400];
        if (!expr_test(all->items[i], &b->env, &truth, why, sizeof why, err))
            return false;
        if (truth)
            continue;
        SCOPED char *failing = expr_failing(all->items[i], &b->env), *clause = text_format("needs %s", failing);
        free(b->program->derivation);
        b->program->derivation = predicts(b->h) ? derivation(b, all->items[i]) : NULL;
        return bind_refused(b, clause, "needs %s%s%s", why, config[0] ? ", with " : "", config);
    }
    return true;
}

/* A head's claims are about its own kernels at the default configuration: a completed row claims nothing. */
bool bind_claim(struct bind *b, struct error *err)
{
    bool claims = b->h->claims.count > 0 && !b->completed;
    claims = claims && ALL_OF(i, b->config->count,
                              value_equal(&b->config->values[i], &b->h->params[head_param_find(b->h, b->config->names[i])].fallback));
    for (int i = 0; i < b->h->claims.count && claims; i++) {
        char why[400];
        if (!expr_test(b->h->claims.items[i], &b->env, &claims, why, sizeof why, err))
            return false;
    }
    b->program->claims = claims;
    return true;
}
