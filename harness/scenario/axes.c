/* Axes: lists, ranges by step and by factor, zipped fields, masks. */
#include "base/text.h"
#include "scenario/private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct node *make_scalar(struct parsed *p, const struct node *at, long long value)
{
    struct node *n = xcalloc(1, sizeof *n);
    *n = (struct node){.kind = NODE_SCALAR, .file = at->file, .line = at->line, .column = at->column, .text = text_format("%lld", value)};
    p->made = xrealloc(p->made, sizeof(struct node *) * (size_t)(p->made_count + 1));
    p->made[p->made_count++] = n;
    return n;
}

static struct axis_value *add_value(struct axis *axis)
{
    if ((axis->count & (axis->count - 1)) == 0)
        axis->values = xrealloc(axis->values, sizeof *axis->values * (size_t)(axis->count ? axis->count * 2 : 1));
    axis->values[axis->count] = (struct axis_value){0};
    return &axis->values[axis->count++];
}

/* {from: 3, to: 15, step: 2} or {from: 8, to: 32, factor: 2}, both ends included. */
static bool add_range(struct parsed *p, struct axis *axis, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"from", "to", "step", "factor", NULL};
    int64_t from, to, step = 0, factor = 0;
    char what[160];
    snprintf(what, sizeof what, "axis '%.100s'", axis->name);
    if (!node_check_keys(n, what, keys, err))
        return false;
    if (!node_get(n, "from") || !node_get(n, "to") || !node_get(n, "step") == !node_get(n, "factor"))
        return node_error(n, err, "%s: a range is {from: 3, to: 15, step: 2} or {from: 8, to: 32, factor: 2}", what);
    if (!node_int(node_get(n, "from"), "from", 1, 1 << 30, &from, err) || !node_int(node_get(n, "to"), "to", 1, 1 << 30, &to, err) ||
        (node_get(n, "step") && !node_int(node_get(n, "step"), "step", 1, 1 << 30, &step, err)) ||
        (node_get(n, "factor") && !node_int(node_get(n, "factor"), "factor", 2, 1 << 20, &factor, err)))
        return false;
    if (to < from)
        return node_error(n, err, "%s: the range from %lld to %lld is empty", what, (long long)from, (long long)to);
    for (int64_t v = from; v <= to; v = step ? v + step : v * factor) {
        if (axis->count >= SCENARIO_MAX_VALUES)
            return node_error(n, err, "%s: more than %d values", what, SCENARIO_MAX_VALUES);
        struct axis_value *value = add_value(axis);
        value->node = make_scalar(p, n, v);
        value->label = xstrdup(value->node->text);
    }
    return true;
}

static bool label_of(const struct node *n, char **label, struct error *err)
{
    if (n->kind == NODE_SCALAR) {
        *label = xstrdup(n->text);
        return true;
    }
    if (n->kind == NODE_LIST && n->count == 2 && n->items[0]->kind == NODE_SCALAR && n->items[1]->kind == NODE_SCALAR) { /* kernel: [3, 5] */
        *label = text_format("%sx%s", n->items[0]->text, n->items[1]->text);
        return true;
    }
    return node_error(n, err, "an axis value is a number or a word");
}

static bool add_list(struct parsed *p, struct axis *axis, const struct node *n, struct error *err)
{
    if (n->kind == NODE_MAP)
        return add_range(p, axis, n, err);
    if (n->kind != NODE_LIST)
        return node_error(n, err, "axis '%s': a list of values, or a range, is expected", axis->name);
    for (int i = 0; i < n->count; i++) {
        if (n->items[i]->kind == NODE_MAP) {
            if (!add_range(p, axis, n->items[i], err))
                return false;
            continue;
        }
        struct axis_value *value = add_value(axis);
        value->node = n->items[i];
        if (!label_of(value->node, &value->label, err))
            return false;
    }
    return true;
}

static bool add_zip(struct axis *axis, const struct node *zip, struct error *err)
{
    int length = -1;
    if (zip->kind != NODE_MAP || zip->count < 2)
        return node_error(zip, err, "axis '%s': zip needs at least two fields, like {zip: {h: [48, 96], w: [64, 128]}}", axis->name);
    axis->field_count = zip->count;
    axis->fields = xcalloc((size_t)zip->count, sizeof *axis->fields);
    for (int i = 0; i < zip->count; i++) {
        axis->fields[i] = zip->keys[i]->text;
        if (zip->items[i]->kind != NODE_LIST)
            return node_error(zip->items[i], err, "axis '%s': '%s' needs a list", axis->name, axis->fields[i]);
        if (length >= 0 && zip->items[i]->count != length)
            return node_error(zip->items[i], err, "axis '%s': '%s' has %d values, '%s' has %d", axis->name, axis->fields[i], zip->items[i]->count, axis->fields[0],
                              length);
        length = zip->items[i]->count;
    }
    for (int k = 0; k < length; k++) {
        struct axis_value *value = add_value(axis);
        const struct node **row = xcalloc((size_t)zip->count, sizeof *row);
        struct text t = {0};
        value->zipped = row;
        value->node = zip->items[0]->items[k];
        for (int i = 0; i < zip->count; i++) {
            char *label;
            row[i] = zip->items[i]->items[k];
            if (!label_of(row[i], &label, err)) {
                text_free(&t);
                return false;
            }
            text_addf(&t, "%s%s", i ? "x" : "", label);
            free(label);
        }
        value->label = text_take(&t);
    }
    return true;
}

static bool add_mask(struct axis *axis, const struct node *n, const char *density, const char *seed, bool marks_output, struct error *err)
{
    struct axis_value *value = add_value(axis);
    struct text t = {0};
    value->node = n;
    if (!mask_parse(n, density, seed, &value->mask, err))
        return false;
    struct mask *m = &value->mask;
    m->marks_output = marks_output;
    text_add(&t, mask_pattern_names[m->pattern]);
    if (m->pattern == MASK_BLOBS)
        text_addf(&t, "%lld", (long long)m->radius);
    if (m->pattern == MASK_FILE)
        text_addf(&t, ":%s", m->path);
    if (density)
        text_addf(&t, ":%s", density);
    if (seed)
        text_addf(&t, ":%s", seed);
    value->label = text_take(&t);
    return true;
}

/* {pattern: blobs, density: [0.01, 0.05], seed: [1, 2]} is four masks. */
static bool add_masks(struct axis *axis, const struct node *n, bool marks_output, struct error *err)
{
    const struct node *density = node_get(n, "density"), *seed = node_get(n, "seed");
    int densities = density && density->kind == NODE_LIST ? density->count : 1, seeds = seed && seed->kind == NODE_LIST ? seed->count : 1;
    if (!densities || !seeds)
        return node_error(densities ? seed : density, err, "mask: an empty list selects nothing");
    for (int d = 0; d < densities; d++)
        for (int s = 0; s < seeds; s++) {
            const struct node *one = density && density->kind == NODE_LIST ? density->items[d] : density, *other = seed && seed->kind == NODE_LIST ? seed->items[s] : seed;
            if ((one && one->kind != NODE_SCALAR) || (other && other->kind != NODE_SCALAR))
                return node_error(one && one->kind != NODE_SCALAR ? one : other, err, "mask: a number is expected");
            if (axis->count >= SCENARIO_MAX_VALUES)
                return node_error(n, err, "axis 'mask': more than %d values", SCENARIO_MAX_VALUES);
            if (!add_mask(axis, n, one ? one->text : NULL, other ? other->text : NULL, marks_output, err))
                return false;
        }
    return true;
}

static bool mask_values(struct axis *axis, const struct node *map, const struct node *values, struct error *err)
{
    static const char *const marks[] = {"input", "output", NULL};
    int mark = node_get(map, "marks") ? node_word(node_get(map, "marks"), "marks", marks, err) : 0;
    if (mark < 0)
        return false;
    if (!values || values->kind != NODE_LIST)
        return node_error(values ? values : map, err, "axis 'mask': a list of masks is expected");
    for (int i = 0; i < values->count; i++)
        if (!add_masks(axis, values->items[i], mark == 1, err))
            return false;
    return true;
}

static bool check_values(const struct axis *axis, struct error *err)
{
    if (!axis->count)
        return node_error(axis->node, err, "axis '%s' has no values", axis->name);
    for (int i = 0; i < axis->count; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(axis->values[i].label, axis->values[k].label))
                return node_error(axis->values[i].node, err, "axis '%s' has the value %s twice", axis->name, axis->values[i].label);
    return true;
}

static bool check_layers(const struct scenario *s, const struct axis *axis, struct error *err)
{
    const char **names = xcalloc((size_t)s->layer_count + 1, sizeof *names);
    bool ok = true, any = false;
    for (int i = 0; i < s->layer_count; i++) {
        names[i] = s->layers[i].name;
        any = any || axis_applies(axis, &s->layers[i]);
    }
    if (axis->layers && (axis->layers->kind != NODE_LIST || !axis->layers->count))
        ok = node_error(axis->layers, err, "axis '%s': layers is a list of layer names", axis->name);
    for (int i = 0; ok && axis->layers && i < axis->layers->count; i++) {
        int at = node_word(axis->layers->items[i], "layers", names, err);
        ok = at >= 0;
        for (int f = 0; ok && !axis->is_mask && f < axis->field_count; f++)
            if (!field_known(s->layers[at].work.op, axis->fields[f]))
                ok = node_error(axis->layers->items[i], err, "axis '%s': layer '%s' (%s) has no '%s'", axis->name, names[at], s->layers[at].work.op->name,
                                axis->fields[f]);
        if (ok && axis->is_mask && strcmp(s->layers[at].work.op->name, "conv2d"))
            ok = node_error(axis->layers->items[i], err, "axis 'mask': layer '%s' (%s) takes no mask", names[at], s->layers[at].work.op->name);
    }
    if (ok && !any)
        ok = node_error(axis->node, err, "axis '%s' fits no layer", axis->name);
    free(names);
    return ok;
}

static bool check_fields(const struct axis *axis, struct error *err)
{
    for (int i = 0; i < axis->field_count && !axis->is_mask; i++) {
        bool known = false;
        size_t count = 0;
        for (const char *const *w = field_names(); *w; w++, count++)
            known = known || !strcmp(*w, axis->fields[i]);
        if (known)
            continue;
        const char *near = text_nearest(axis->fields[i], field_names(), count);
        node_error(axis->node, err, "axis '%s': no op has a field '%s'", axis->name, axis->fields[i]);
        return error_hint(err, near ? "did you mean '%s'?" : "a zip may have a name of its own: {zip: {h: [..], w: [..]}}%s", near ? near : "");
    }
    return true;
}

static bool axis_parse(struct scenario *s, struct axis *axis, const struct node *key, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"layers", "values", "marks", "zip", NULL};
    struct parsed *p = s->parsed;
    bool is_range = n->kind == NODE_MAP && (node_get(n, "from") || node_get(n, "to"));
    char what[160];
    *axis = (struct axis){.name = key->text, .node = key, .is_mask = !strcmp(key->text, "mask"), .field_count = 1};
    snprintf(what, sizeof what, "axis '%.100s'", axis->name);
    const struct node *values = n, *zip = NULL;
    if (n->kind == NODE_MAP && !is_range) {
        if (!node_check_keys(n, what, keys, err))
            return false;
        axis->layers = node_get(n, "layers");
        values = node_get(n, "values");
        zip = node_get(n, "zip");
        if (!values == !zip)
            return node_error(n, err, "%s: one of 'values' and 'zip' is needed", what);
        if (node_get(n, "marks") && !axis->is_mask)
            return node_error(node_key(n, "marks"), err, "%s: only the axis 'mask' has 'marks'", what);
    }
    bool ok;
    if (zip) {
        ok = add_zip(axis, zip, err);
    } else {
        axis->fields = xcalloc(1, sizeof *axis->fields);
        axis->fields[0] = axis->name;
        ok = axis->is_mask ? mask_values(axis, n->kind == NODE_MAP ? n : NULL, values, err) : add_list(p, axis, values, err);
    }
    return ok && check_fields(axis, err) && check_values(axis, err) && check_layers(s, axis, err);
}

bool axis_applies(const struct axis *axis, const struct layer *layer)
{
    if (axis->layers) {
        for (int i = 0; i < axis->layers->count; i++)
            if (axis->layers->items[i]->text && !strcmp(axis->layers->items[i]->text, layer->name))
                return true;
        return false;
    }
    if (axis->is_mask)
        return !strcmp(layer->work.op->name, "conv2d");
    for (int i = 0; i < axis->field_count; i++)
        if (!field_known(layer->work.op, axis->fields[i]))
            return false;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct axis *)a)->name, ((const struct axis *)b)->name);
}

bool axes_parse(struct scenario *s, const struct node *axes, struct error *err)
{
    struct parsed *p = s->parsed;
    if (!axes)
        return true;
    if (axes->kind != NODE_MAP)
        return node_error(axes, err, "axes: a map of axis names is expected");
    p->axes = xcalloc((size_t)axes->count + 1, sizeof *p->axes);
    for (int i = 0; i < axes->count; i++)
        if (!axis_parse(s, &p->axes[p->axis_count++], axes->keys[i], axes->items[i], err))
            return false;
    for (int i = 0; i < p->axis_count; i++) /* one field, one axis */
        for (int k = 0; k < i; k++)
            for (int a = 0; a < p->axes[i].field_count; a++)
                for (int b = 0; b < p->axes[k].field_count; b++)
                    if (!strcmp(p->axes[i].fields[a], p->axes[k].fields[b]))
                        return node_error(p->axes[i].node, err, "'%s' is set by the axis '%s' already", p->axes[i].fields[a], p->axes[k].name);
    qsort(p->axes, (size_t)p->axis_count, sizeof *p->axes, by_name);
    return true;
}

void axes_free(struct parsed *p)
{
    for (int i = 0; i < p->axis_count; i++) {
        for (int k = 0; k < p->axes[i].count; k++) {
            free(p->axes[i].values[k].label);
            free((void *)(size_t)p->axes[i].values[k].zipped);
        }
        free(p->axes[i].values);
        free(p->axes[i].fields);
    }
    for (int i = 0; i < p->made_count; i++) {
        free(p->made[i]->text);
        free(p->made[i]);
    }
    free(p->made);
    free(p->axes);
}
