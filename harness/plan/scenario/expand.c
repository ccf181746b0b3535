/* Layers x axes -> cases with ids. */
#include "base/text.h"
#include "base/order.h"
#include "plan/scenario/private.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct expansion {
    const struct scenario *s;
    const struct parsed *p;
    const struct node *crop;
    bool parts; /* a crop is the part that is verified; the case is the whole layer */
    struct rules rules;
    struct scenario_case *cases;
    int count, cap;
    int place; /* of the next case */
    struct error *err;
};

/* An axis as one layer has it. */
struct turn {
    const struct axis *axis;
    bool *silent; /* by value: the layer has it already, so the id does not name it */
    int at;
};

bool scenario_crop(const struct scenario *s, const char *device_kind, struct work *work, bool *cropped, struct error *err)
{
    const struct parsed *p = s->parsed;
    return crop_work(work, node_get(node_get(p->on, device_kind), "crop"), cropped, err);
}

bool crop_work(struct work *work, const struct node *crop, bool *cropped, struct error *err)
{
    const struct {
        const char *key;
        int64_t *size;
    } sizes[] = {{"d", &work->d}, {"h", work->op->volume ? &work->plane : &work->h}, {"w", &work->w}};
    int64_t most;
    const struct work whole = *work;
    *cropped = false;
    for (const struct op_field *f = work->op->fields; work->op->file && f->name; f++) {
        int64_t *size = (int64_t *)(void *)((char *)work + f->offset);
        const struct node *n = f->kind == FIELD_INT ? node_get(crop, f->name) : NULL;
        if (n && node_int(n, f->name, 1, 1 << 20, &most, err) && *size > most) {
            *size = most;
            *cropped = true;
        }
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (node_get(crop, sizes[i].key) && node_int(node_get(crop, sizes[i].key), sizes[i].key, 1, 1 << 20, &most, err) &&
            !work->op->file && *sizes[i].size > most) {
            *sizes[i].size = most;
            *cropped = true;
        }
    if (*cropped && work->mask.pattern == MASK_FILE) {
        work->mask.whole_h = work->mask.marks_output ? whole.p : whole.h;
        work->mask.whole_w = work->mask.marks_output ? whole.q : whole.w;
    }
    return !*cropped || work_finish(work, err);
}

/* A new dtype implies its default math mode, unless an axis sets the mode. */
static void settle_math(struct work *work, const struct work *before, bool math_set)
{
    if (work->dtype != before->dtype && !math_set)
        work->math = MATH_NONE;
}

/* True if the work is the same without the value: an axis that is added at its old default renames nothing. */
static bool at_default(const struct axis *axis, const struct axis_value *value, const struct work *plain)
{
    struct work with = *plain;
    char a[HASH_TEXT], b[HASH_TEXT];
    if (!axis_apply(axis, value, &with, NULL))
        return false;
    settle_math(&with, plain, axis->sets_math);
    if (!work_finish(&with, NULL))
        return false;
    work_key(plain, a);
    work_key(&with, b);
    return !strcmp(a, b);
}

/* Reports a case that cannot exist: at the value of its last axis, naming all values. */
static bool impossible(const struct expansion *x, const struct scenario_case *c, const struct node *place, const char *when,
                       const struct error *why)
{
    SCOPED_TEXT t = {0};
    for (int i = 0; i < c->axis_count; i++)
        text_addf(&t, "%s%s=%s", i ? ", " : " with ", c->axes[i].axis, c->axes[i].value);
    node_error(place, x->err, "layer '%s'%s%s: %s", c->layer->name, text_get(&t), when, why->text);
    return why->hint[0] ? error_hint(x->err, "%s", why->hint) : false;
}

static bool expand_add_case(struct expansion *x, const struct layer *layer, const struct turn *turns, int count)
{
    SCOPED_BY(scenario_case_free)
    struct scenario_case c = {.layer = layer, .work = layer->work, .repeat = layer->repeat, .place = x->place++};
    struct error why = {0};
    bool math_set = false, ok = false;
    const struct node *place = layer->node;
    c.axes = xcalloc((size_t)count + 1, sizeof *c.axes);
    for (int i = 0; i < count; i++) {
        const struct axis_value *value = &turns[i].axis->values[turns[i].at];
        c.axes[c.axis_count++] =
            (struct coordinate){xstrdup(turns[i].axis->name), xstrdup(value->label), value->number, turns[i].silent[turns[i].at]};
        math_set = math_set || turns[i].axis->sets_math;
        place = value->node;
        if (!axis_apply(turns[i].axis, value, &c.work, x->err))
            return ok;
    }
    settle_math(&c.work, &layer->work, math_set);
    if (!work_finish(&c.work, &why)) {
        impossible(x, &c, place, "", &why);
        return ok;
    }
    struct work uncropped = c.work;
    if (!crop_work(&c.work, x->crop, &c.cropped, &why)) {
        impossible(x, &c, x->crop, ", cropped", &why);
        return ok;
    }
    ok = true;
    if (c.cropped && x->parts) {
        c.part = work_copy(&c.work);
        c.work = uncropped;
        c.cropped = false;
    } else if (c.cropped) {
        c.layer_intensity = work_flop(&uncropped) / work_bytes(&uncropped);
    }
    if (!rules_match(&x->rules, &c, &uncropped))
        return ok;
    c.id = case_name(x->s, x->crop, &c);
    if (x->count == x->cap)
        x->cases = xrealloc(x->cases, sizeof *x->cases * (size_t)(x->cap = x->cap ? 2 * x->cap : 64));
    x->cases[x->count++] = c;
    c = (struct scenario_case){0};
    return ok;
}

static bool turn_all(struct expansion *x, const struct layer *layer, struct turn *turns, int count)
{
    for (;;) {
        if (!expand_add_case(x, layer, turns, count))
            return false;
        int k = count - 1; /* odometer, last axis fastest */
        while (k >= 0 && ++turns[k].at == turns[k].axis->count)
            turns[k--].at = 0;
        if (k < 0)
            return true;
    }
}

static double combinations(const struct expansion *x, const struct layer *layer)
{
    double product = 1;
    for (int i = 0; i < x->p->axis_count; i++)
        product *= axis_applies(&x->p->axes[i], layer) ? x->p->axes[i].count : 1;
    return product;
}

static bool expand_layer(struct expansion *x, const struct layer *layer, double *total)
{
    SCOPED struct turn *turns = xcalloc((size_t)x->p->axis_count + 1, sizeof *turns);
    double product = combinations(x, layer);
    int count = 0;
    bool ok = false;
    for (int i = 0; i < x->p->axis_count; i++)
        if (axis_applies(&x->p->axes[i], layer))
            turns[count++] = (struct turn){.axis = &x->p->axes[i]};
    *total += product;
    if (!(*total <= SCENARIO_MAX_CASES)) {
        node_error(layer->node, x->err,
                   "layer '%s' has %.0f combinations of axis values, %.0f with the layers before it; a scenario may have %d cases",
                   layer->name, product, *total, SCENARIO_MAX_CASES);
        goto done;
    }
    for (int i = 0; i < count; i++) {
        turns[i].silent = xcalloc((size_t)turns[i].axis->count, sizeof *turns[i].silent);
        for (int k = 0; k < turns[i].axis->count; k++)
            turns[i].silent[k] = at_default(turns[i].axis, &turns[i].axis->values[k], &layer->work);
    }
    ok = turn_all(x, layer, turns, count);
done:
    for (int i = 0; i < count; i++)
        free(turns[i].silent);
    return ok;
}

/* Of cases whose verified works are equal only the first stays. */
static void keep_once(struct expansion *x)
{
    SCOPED char(*keys)[HASH_TEXT] = xcalloc((size_t)x->count + 1, sizeof *keys);
    int kept = 0;
    for (int i = 0; i < x->count; i++) {
        struct scenario_case *c = &x->cases[i];
        int k = 0;
        work_key(c->part ? c->part : &c->work, keys[kept]);
        while (strcmp(keys[k], keys[kept]) != 0)
            k++;
        if (k == kept) {
            x->cases[kept++] = *c;
            continue;
        }
        char **same = &x->cases[k].same, *longer = text_format("%s%s%s", *same ? *same : "", *same ? ", " : "", c->layer->name);
        free(*same);
        *same = longer;
        scenario_case_free(c);
    }
    x->count = kept;
}

ORDER_POINTERS(by_id, struct scenario_case, strcmp(x->id, y->id))

static bool ids_differ(const struct expansion *x)
{
    SCOPED const struct scenario_case **sorted = xcalloc((size_t)x->count + 1, sizeof *sorted);
    bool ok = true;
    for (int i = 0; i < x->count; i++)
        sorted[i] = &x->cases[i];
    qsort(sorted, (size_t)x->count, sizeof *sorted, by_id);
    for (int i = 1; ok && i < x->count; i++)
        if (!strcmp(sorted[i]->id, sorted[i - 1]->id))
            ok = node_error(sorted[i]->layer->node, x->err, "two cases have the id %s", sorted[i]->id);
    return ok;
}

/* Marks what the rules select of the sequences, which plan/rows makes. False: none. */
static bool found_sequence(struct expansion *x, const struct scenario_filter *filter)
{
    bool any = false;
    for (int i = 0; i < x->s->sequence_count; i++) {
        struct scenario_filter layers = {.layers = filter->layers};
        const struct scenario_sequence *q = &x->s->sequences[i];
        any |= scenario_has_sequence(x->s, &layers, q) && rules_match_sequence(&x->rules, q);
    }
    return any;
}

static bool found_any(const struct expansion *x, const char *const *set, bool sequence)
{
    if (x->count || sequence || !set || !*set) /* without rules there are no cases only if just sequences are selected */
        return true;
    SCOPED_TEXT t = {0};
    for (int i = 0; set && set[i]; i++)
        text_addf(&t, "%s--set %s", i ? " " : "", set[i]);
    error_set(x->err, ERROR_USAGE, "%s: no case of %s matches all of it", text_get(&t), x->s->path);
    error_hint(x->err, "bench plan %s lists the cases", x->s->path);
    return false;
}

int scenario_expand(const struct scenario *s, const char *device_kind, const struct scenario_filter *filter, struct scenario_case **cases,
                    struct error *err)
{
    static const struct scenario_filter everything = {0};
    const struct parsed *p = s->parsed;
    struct expansion x = {.s = s, .p = p, .err = err, .crop = node_get(node_get(p->on, device_kind), "crop")};
    x.parts = !strcmp(device_kind, "emu");
    bool *selected = xcalloc((size_t)s->layer_count + 1, sizeof *selected), ok = false;
    double total = 0;
    if (!filter)
        filter = &everything;
    if (!layers_select(s, filter->layers, selected, err) || !rules_parse(s, filter->set, &x.rules, err))
        goto done;
    for (int i = 0; i < s->layer_count; i++)
        if (!selected[i])
            x.place += (int)fmin(combinations(&x, &s->layers[i]), SCENARIO_MAX_CASES);
        else if (!expand_layer(&x, &s->layers[i], &total))
            goto done;
    if (filter->once)
        keep_once(&x);
    bool sequence = found_sequence(&x, filter);
    ok = rules_hit(&x.rules, s, err) && found_any(&x, filter->set, sequence) && ids_differ(&x) &&
         extra_cases_add(s, x.crop, &x.cases, &x.count, x.place, filter->extra, err);
done:
    rules_free(&x.rules);
    free(selected);
    if (ok && filter->gpus)
        gpu_cases_make(s, x.crop, &x.cases, &x.count, filter->gpus);
    *cases = ok ? x.cases : NULL;
    if (ok)
        return x.count;
    scenario_cases_free(x.cases, x.count);
    return -1;
}
