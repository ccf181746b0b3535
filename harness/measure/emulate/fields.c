/* measure/emulate/fields: the named numbers of a launch, `fields: {n: [1024, 4096], half: n / 2}`: lists are a sweep over all
 * combinations, everything else may be an expression of what stands before it. */
#include "base/expr.h"
#include "measure/emulate/parts.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define POINTS_MAX 256

static const struct node *fields_of(const struct node *launch, struct error *err, bool *ok)
{
    const struct node *n = node_get(launch, "fields");
    *ok = !n || n->kind == NODE_NULL || n->kind == NODE_MAP;
    if (!*ok)
        node_error(n, err, "'fields' must be a map of names and numbers, {n: 1024, m: [16, 32]}");
    else if (n && n->count > EMULATE_FIELDS_MAX) {
        *ok = false;
        node_error(n, err, "%d fields; a launch may have %d", n->count, EMULATE_FIELDS_MAX);
    }
    return *ok && n && n->kind == NODE_MAP ? n : NULL;
}

int emulate_points(const struct node *launch, struct error *err)
{
    bool ok;
    int points = 1;
    const struct node *n = fields_of(launch, err, &ok);
    if (!ok)
        return -1;
    for (int i = 0; n && i < n->count; i++) {
        const struct node *v = n->items[i];
        points *= v->kind == NODE_LIST ? v->count : 1;
        if (points < 1 || points > POINTS_MAX) {
            node_error(v, err, points ? "the lists give more than %d launches" : "an empty list", POINTS_MAX);
            return -1;
        }
    }
    return points;
}

static bool name(void *context, const char *name, struct value *out, struct error *err)
{
    const struct emulation *e = context;
    for (int i = 0; i < e->field_count; i++)
        if (!strcmp(e->fields[i].name, name)) {
            double v = value_number(&e->fields[i].value);
            *out = v == floor(v) && fabs(v) < 0x1p53 ? value_int((int64_t)v) : e->fields[i].value;
            return true;
        }
    return false;
}

static bool evaluate(const struct emulation *e, const struct node *n, struct value *out, struct error *err)
{
    const char *names[EMULATE_FIELDS_MAX + 1] = {NULL};
    for (int i = 0; i < e->field_count; i++)
        names[i] = e->fields[i].name;
    struct expr_env env = {.context = (void *)(uintptr_t)e, .name = name, .names = names};
    struct expr *x = expr_parse(n, err);
    bool ok = x && expr_eval(x, &env, out, err);
    if (ok && out->kind == VALUE_TEXT)
        ok = node_error(n, err, "a number is expected, not '%s'", out->text);
    expr_free(x);
    return ok;
}

/* True for a number; anything else is an expression of fields. The two have different errors. */
static bool plain(const struct emulation *e, const struct node *n)
{
    double v;
    return !e->field_count || n->kind != NODE_SCALAR || text_to_number(n->text, &v);
}

bool emulate_value(const struct emulation *e, const struct node *n, const char *what, struct value *out, struct error *err)
{
    long long whole;
    double v;
    if (n->kind == NODE_SCALAR && !n->quoted && text_to_int(n->text, &whole))
        *out = value_int(whole);
    else if (!plain(e, n))
        return evaluate(e, n, out, err);
    else if (emulate_real(e, n, what, &v, err))
        *out = value_real(v);
    else
        return false;
    return true;
}

bool emulate_int(const struct emulation *e, const struct node *n, const char *what, int64_t min, int64_t max, int64_t *out,
                 struct error *err)
{
    struct value of;
    if (plain(e, n))
        return node_int(n, what, min, max, out, err);
    if (!evaluate(e, n, &of, err))
        return false;
    double v = value_number(&of);
    if (!(v == floor(v) && v >= (double)min && v <= (double)max && v < 0x1p63))
        return node_error(n, err, "%s: %s is %.15g: an integer from %lld to %lld is expected", what, n->text, v, (long long)min,
                          (long long)max);
    *out = (int64_t)v;
    return true;
}

bool emulate_real(const struct emulation *e, const struct node *n, const char *what, double *out, struct error *err)
{
    if (n->kind == NODE_SCALAR && !n->quoted && text_to_number(n->text, out) && !isfinite(*out))
        return true;
    struct value of;
    if (plain(e, n))
        return node_real(n, what, -1.7e308, 1.7e308, out, err);
    if (!evaluate(e, n, &of, err))
        return false;
    *out = value_number(&of);
    return true;
}

/* The combination of the request: the last list goes through its values first. */
bool emulate_read_fields(struct emulation *e, struct error *err)
{
    bool ok;
    const struct node *n = fields_of(e->request->launch, err, &ok);
    SCOPED_TEXT t = {0};
    int rest = e->request->point, points = ok ? emulate_points(e->request->launch, err) : -1;
    for (int i = 0; points > 0 && ok && n && i < n->count; i++) {
        const struct node *v = n->items[i];
        if (v->kind == NODE_LIST) {
            points /= v->count;
            v = v->items[rest / points];
            rest %= points;
        }
        struct value value;
        ok = v->kind == NODE_SCALAR ? emulate_value(e, v, n->keys[i]->text, &value, err)
                                    : node_error(v, err, "field '%s': a number or an expression is expected", n->keys[i]->text);
        if (!ok)
            break;
        e->fields[e->field_count++] = (struct field_value){n->keys[i]->text, value};
        text_addf(&t, "%s%s=%.9g", t.len ? " " : "", n->keys[i]->text, value_number(&value));
    }
    snprintf(e->out->fields, sizeof e->out->fields, "%s", text_get(&t));
    return ok && points > 0;
}
