/* Layers x axes -> cases with ids. */
#include "base/text.h"
#include "scenario/private.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expansion {
    const struct scenario *s;
    const struct parsed *p;
    const struct scenario_filter *filter;
    const struct node *crop;
    struct scenario_case *cases;
    int count, cap;
    struct error *err;
};

static bool listed(const char *globs, const char *name)
{
    if (!globs)
        return true;
    char *copy = xstrdup(globs), *rest = copy;
    bool found = false;
    for (char *one; !found && (one = strsep(&rest, ","));)
        found = text_glob(one, name);
    free(copy);
    return found;
}

static bool crop_work(struct work *work, const struct node *crop, bool *cropped, struct error *err)
{
    static const struct {
        const char *name;
        size_t offset;
    } sizes[] = {{"n", offsetof(struct work, n)}, {"h", offsetof(struct work, h)}, {"w", offsetof(struct work, w)}};
    *cropped = false;
    for (int i = 0; crop && i < 3; i++) {
        int64_t *field = (int64_t *)(void *)((char *)work + sizes[i].offset), limit;
        const struct node *n = node_get(crop, sizes[i].name);
        if (n && node_int(n, "crop", 1, 1 << 20, &limit, err) && *field > limit) {
            *field = limit;
            *cropped = true;
        }
    }
    return !*cropped || work_finish(work, err);
}

static bool apply(const struct axis *axis, const struct axis_value *value, struct work *work, struct error *err)
{
    bool known;
    if (axis->is_mask) {
        work->mask = value->mask;
        return true;
    }
    enum dtype before = work->dtype;
    for (int i = 0; i < axis->field_count; i++)
        if (!field_set(work, axis->fields[i], value->zipped ? value->zipped[i] : value->node, &known, err))
            return false;
    if (work->dtype != before && work->op->has_math) /* an axis over dtype takes each type's own math mode; an axis over math comes after it */
        work->math = math_default(work->dtype);
    return true;
}

/* Same work without and with the value: the axis is at its old default there, and the id does not name it (decision 7). */
static bool at_default(const struct axis *axis, const struct axis_value *value, const struct work *plain)
{
    struct work with = *plain;
    struct error ignored = {0};
    char a[HASH_TEXT], b[HASH_TEXT];
    if (!apply(axis, value, &with, &ignored) || !work_finish(&with, &ignored))
        return false;
    work_key(plain, a);
    work_key(&with, b);
    return !strcmp(a, b);
}

static bool same_value(const char *a, const char *b)
{
    double x, y;
    return !strcmp(a, b) || (text_to_real(a, &x) && text_to_real(b, &y) && x == y);
}

/* --set n=4, mask=none, mask.density=0.10 */
static bool set_matches(const struct scenario_case *c, const char *name, const char *value)
{
    const struct mask *m = &c->work.mask;
    char text[64] = "";
    struct value symbol;
    for (int i = 0; i < c->axis_count; i++)
        if (!strcmp(c->axes[i].axis, name))
            return same_value(c->axes[i].value, value);
    if (!strcmp(name, "mask.density"))
        snprintf(text, sizeof text, "%.17g", m->density);
    else if (!strcmp(name, "mask.seed"))
        snprintf(text, sizeof text, "%llu", (unsigned long long)m->seed);
    else if (!strcmp(name, "mask.radius"))
        snprintf(text, sizeof text, "%lld", (long long)m->radius);
    if (!strncmp(name, "mask", 4) && m->pattern == MASK_NONE)
        return !strcmp(name, "mask") && !strcmp(value, "none");
    if (!strcmp(name, "mask.pattern") || !strcmp(name, "mask"))
        return !strcmp(mask_pattern_names[m->pattern], value);
    if (!*text && work_symbol(&c->work, strcmp(name, "kernel") ? name : "r", &symbol))
        value_print(&symbol, text, sizeof text);
    return *text && same_value(text, value);
}

static bool kept(const struct expansion *x, const struct scenario_case *c)
{
    for (int i = 0; x->filter && x->filter->set && x->filter->set[i]; i++) {
        char *name = xstrdup(x->filter->set[i]), *equals = strchr(name, '=');
        *equals = 0; /* checked before */
        bool ok = set_matches(c, name, equals + 1);
        free(name);
        if (!ok)
            return false;
    }
    return true;
}

static void case_free(struct scenario_case *c)
{
    for (int i = 0; i < c->axis_count; i++) {
        free(c->axes[i].axis);
        free(c->axes[i].value);
    }
    free(c->axes);
    free(c->id);
}

static void name_case(const struct expansion *x, struct scenario_case *c, const bool *silent)
{
    struct text t = {0};
    bool open = false;
    text_addf(&t, "%s/%s", x->s->name, c->layer->name);
    if (c->cropped)
        text_addf(&t, "@%lldx%lld", (long long)c->work.h, (long long)c->work.w);
    for (int i = 0; i < c->axis_count; i++)
        if (!silent[i]) {
            text_addf(&t, "%s%s=%s", open ? "," : "[", c->axes[i].axis, c->axes[i].value);
            open = true;
        }
    text_add(&t, open ? "]" : "");
    c->id = text_take(&t);
}

static bool add_case(struct expansion *x, const struct layer *layer, const struct axis *const *axes, const int *at, int axis_count)
{
    struct scenario_case c = {.layer = layer, .work = layer->work, .repeat = layer->repeat};
    struct error why = {0};
    bool *silent = xcalloc((size_t)axis_count + 1, sizeof *silent), ok = false;
    const struct node *place = layer->node;
    c.axes = xcalloc((size_t)axis_count + 1, sizeof *c.axes);
    for (int i = 0; i < axis_count; i++) {
        const struct axis_value *value = &axes[i]->values[at[i]];
        silent[i] = at_default(axes[i], value, &layer->work);
        c.axes[c.axis_count++] = (struct coordinate){xstrdup(axes[i]->name), xstrdup(value->label)};
        place = value->node;
        if (!apply(axes[i], value, &c.work, x->err))
            goto done;
    }
    if (!work_finish(&c.work, &why) || !crop_work(&c.work, x->crop, &c.cropped, &why)) {
        node_error(place, x->err, "layer '%s'%s: %s", layer->name, c.cropped ? " (cropped)" : "", why.text);
        goto done;
    }
    ok = true;
    if (!kept(x, &c))
        goto done;
    name_case(x, &c, silent);
    if (x->count == x->cap)
        x->cases = xrealloc(x->cases, sizeof *x->cases * (size_t)(x->cap = x->cap ? 2 * x->cap : 64));
    x->cases[x->count++] = c;
    c = (struct scenario_case){0};
done:
    free(silent);
    case_free(&c);
    return ok;
}

static bool expand_layer(struct expansion *x, const struct layer *layer)
{
    const struct parsed *p = x->p;
    const struct axis **axes = xcalloc((size_t)p->axis_count + 1, sizeof *axes);
    int *at = xcalloc((size_t)p->axis_count + 1, sizeof *at), count = 0;
    double product = 1;
    bool ok = true;
    for (int i = 0; i < p->axis_count; i++)
        if (axis_applies(&p->axes[i], layer)) {
            axes[count++] = &p->axes[i];
            product *= p->axes[i].count;
        }
    if (x->count + product > SCENARIO_MAX_CASES)
        ok = node_error(layer->node, x->err, "layer '%s' has %.0f combinations of axis values; a scenario may have %d cases", layer->name, product, SCENARIO_MAX_CASES);
    while (ok) {
        ok = add_case(x, layer, axes, at, count);
        int k = count - 1; /* odometer, last axis fastest */
        while (k >= 0 && ++at[k] == axes[k]->count)
            at[k--] = 0;
        if (k < 0)
            break;
    }
    free(axes);
    free(at);
    return ok;
}

static bool check_set(const struct expansion *x)
{
    const char *extra[] = {"mask", "mask.density", "mask.seed", "mask.radius", "mask.pattern"};
    for (int i = 0; x->filter && x->filter->set && x->filter->set[i]; i++) {
        const char *one = x->filter->set[i], *equals = strchr(one, '='), *names[128];
        size_t count = 0;
        if (!equals || equals == one || !equals[1])
            return error_set(x->err, ERROR_USAGE, "--set %s: AXIS=VALUE is expected", one);
        for (const char *const *w = field_names(); *w && count < 64; w++)
            names[count++] = *w;
        for (int k = 0; k < x->p->axis_count && count < 120; k++)
            names[count++] = x->p->axes[k].name;
        for (int k = 0; k < 5; k++)
            names[count++] = extra[k];
        char *name = xstrndup(one, (size_t)(equals - one));
        bool known = false;
        for (size_t k = 0; k < count; k++)
            known = known || !strcmp(names[k], name);
        if (!known) {
            const char *near = text_nearest(name, names, count);
            error_set(x->err, ERROR_USAGE, "--set %s: there is no axis or field '%s'", one, name);
            error_hint(x->err, near ? "did you mean %s?" : "bench plan shows the cases%s", near ? near : "");
        }
        free(name);
        if (!known)
            return false;
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(const struct scenario_case *const *)a)->id, (*(const struct scenario_case *const *)b)->id);
}

static bool ids_differ(const struct expansion *x)
{
    const struct scenario_case **sorted = xcalloc((size_t)x->count + 1, sizeof *sorted);
    bool ok = true;
    for (int i = 0; i < x->count; i++)
        sorted[i] = &x->cases[i];
    qsort(sorted, (size_t)x->count, sizeof *sorted, by_id);
    for (int i = 1; ok && i < x->count; i++)
        if (!strcmp(sorted[i]->id, sorted[i - 1]->id))
            ok = node_error(sorted[i]->layer->node, x->err, "two cases have the id %s", sorted[i]->id);
    free(sorted);
    return ok;
}

static bool found_any(const struct expansion *x, int layers)
{
    if (!layers)
        return error_set(x->err, ERROR_USAGE, "--layer %s selects no layer of %s", x->filter->layers, x->s->path);
    if (x->count)
        return true;
    struct text t = {0};
    for (int i = 0; x->filter && x->filter->set && x->filter->set[i]; i++)
        text_addf(&t, " --set %s", x->filter->set[i]);
    error_set(x->err, ERROR_USAGE, "%s selects no case of %s", text_get(&t) + (t.len > 0), x->s->path);
    error_hint(x->err, "bench plan %s lists the cases", x->s->path);
    text_free(&t);
    return false;
}

int scenario_expand(const struct scenario *s, const char *device_kind, const struct scenario_filter *filter, struct scenario_case **cases, struct error *err)
{
    const struct parsed *p = s->parsed;
    struct expansion x = {.s = s, .p = p, .filter = filter, .err = err, .crop = node_get(node_get(p->on, device_kind), "crop")};
    int layers = 0;
    bool ok = check_set(&x);
    for (int i = 0; ok && i < s->layer_count; i++)
        if (listed(filter ? filter->layers : NULL, s->layers[i].name)) {
            layers++;
            ok = expand_layer(&x, &s->layers[i]);
        }
    if (ok && found_any(&x, layers) && ids_differ(&x)) {
        *cases = x.cases;
        return x.count;
    }
    scenario_cases_free(x.cases, x.count);
    *cases = NULL;
    return -1;
}

void scenario_cases_free(struct scenario_case *cases, int count)
{
    for (int i = 0; i < count; i++)
        case_free(&cases[i]);
    free(cases);
}
