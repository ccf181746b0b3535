/* Axes: lists, ranges by step and by factor, zipped fields, masks. */
#include "base/order.h"
#include "base/text.h"
#include "plan/scenario/private.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The values of one field, from which an axis is built. */
struct column {
    const char *field, *what; /* what: begins the errors */
    const struct node **items;
    int count;
};

static struct node *make_scalar(struct parsed *p, const struct node *at, int64_t value)
{
    struct node *n = xcalloc(1, sizeof *n);
    *n = (struct node){
        .kind = NODE_SCALAR, .file = at->file, .line = at->line, .column = at->column, .text = text_format("%lld", (long long)value)};
    return *APPEND(p->made, p->made_count) = n;
}

static bool add_item(struct column *c, const struct node *n, struct error *err)
{
    if (c->count >= SCENARIO_MAX_VALUES)
        return node_error(n, err, "%s: more than %d values", c->what, SCENARIO_MAX_VALUES);
    *APPEND(c->items, c->count) = n;
    return true;
}

/* {from: 3, to: 15, step: 2} or {from: 8, to: 32, factor: 2}; the end is included when it is hit. */
static bool add_range(struct parsed *p, struct column *c, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"from", "to", "step", "factor", NULL};
    const struct node *by_step = node_get(n, "step"), *by_factor = node_get(n, "factor");
    int64_t from, to, step = 0, factor = 0;
    if (!node_check_keys(n, c->what, keys, err))
        return false;
    if (!node_get(n, "from") || !node_get(n, "to") || !by_step == !by_factor)
        return node_error(n, err, "%s: a range must be {from: 3, to: 15, step: 2} or {from: 8, to: 32, factor: 2}", c->what);
    if (!node_int(node_get(n, "from"), "from", by_factor ? 1 : 0, 1 << 30, &from, err) ||
        !node_int(node_get(n, "to"), "to", 0, 1 << 30, &to, err) || (by_step && !node_int(by_step, "step", 1, 1 << 30, &step, err)) ||
        (by_factor && !node_int(by_factor, "factor", 2, 1 << 20, &factor, err)))
        return false;
    if (to < from)
        return node_error(n, err, "%s: the range from %lld to %lld is empty", c->what, (long long)from, (long long)to);
    for (int64_t v = from; v <= to; v = by_step ? v + step : v * factor)
        if (!add_item(c, make_scalar(p, n, v), err))
            return false;
    return true;
}

/* A list of values and ranges, or one range. */
static bool column_parse(struct parsed *p, struct column *c, const struct node *n, struct error *err)
{
    if (n->kind == NODE_MAP)
        return add_range(p, c, n, err);
    if (n->kind != NODE_LIST)
        return node_error(n, err, "%s: a list of values is expected, or a range like {from: 3, to: 15, step: 2}", c->what);
    bool range = strcmp(c->field, "epilogue") != 0; /* whose values are lists */
    return ALL_OF(i, n->count,
                  range && n->items[i]->kind == NODE_MAP ? add_range(p, c, n->items[i], err) : add_item(c, n->items[i], err)) &&
           (c->count || node_error(n, err, "%s has no values", c->what));
}

/* Writes each value in one way, so that one work has one id: 03 is 3, [3, 3] is 3. */
static bool add_label(struct text *t, const struct column *c, const struct node *n, struct error *err)
{
    long long a, b;
    if (!strcmp(c->field, "epilogue"))
        return epilogue_label(n, t, err);
    bool sides = n->kind == NODE_LIST && n->count > 1 && (!strcmp(c->field, "kernel") || sides_field(c->field));
    int count = sides ? n->count : 1, half = count / 2;
    bool alike = true, ends = count != 4 && count != 6, numbers = true;
    for (int i = 0; i < count; i++) {
        const struct node *one = sides ? n->items[i] : n, *first = sides ? n->items[0] : n, *end = sides ? n->items[i % (half + !half)] : n;
        if (one->kind != NODE_SCALAR) {
            SCOPED char *found = node_describe(n);
            node_error(n, err, "%s: a value must be a number or a word, not %s", c->what, found);
            return false;
        }
        numbers &= text_to_int(one->text, &a);
        alike &= numbers && text_to_int(first->text, &b) && a == b;
        ends |= !(numbers && text_to_int(end->text, &b) && a == b);
    }
    if (!numbers)
        text_add(t, n->kind == NODE_SCALAR ? n->text : ""); /* a pair of words is refused by its field */
    for (int i = 0; numbers && i < (alike ? 1 : ends ? count : half); i++)
        if (text_to_int(sides ? n->items[i]->text : n->text, &a))
            text_addf(t, "%s%lld", i ? "x" : "", a);
    return true;
}

static struct axis_value *add_value(struct axis *axis)
{
    struct axis_value *v = APPEND(axis->values, axis->count);
    *v = (struct axis_value){.number = NAN};
    return v;
}

/* Zips columns of values into the axis' values. */
static bool axes_add_rows(struct axis *axis, const struct column *columns, int count, struct error *err)
{
    for (int k = 0; k < columns[0].count; k++) {
        struct axis_value *value = add_value(axis);
        struct text label = {0};
        bool ok = true;
        value->row = xcalloc((size_t)count, sizeof *value->row);
        value->node = columns[0].items[k];
        for (int i = 0; ok && i < count; i++) {
            value->row[i] = columns[i].items[k];
            text_add(&label, i ? "x" : "");
            ok = add_label(&label, &columns[i], value->row[i], err);
        }
        value->label = text_take(&label);
        SCOPED_TEXT first = {0}; /* of fields side by side, the first one's: plots are over it; [3, 3] is 3 */
        ok = ok && add_label(&first, &columns[0], value->row[0], err);
        if (!text_to_real(text_get(&first), &value->number))
            value->number = NAN;
        if (!ok)
            return false;
    }
    return true;
}

/* fields[i] takes nodes[i]; all of one length. */
static bool fields_parse(struct parsed *p, struct axis *axis, struct node *const *keys, struct node *const *nodes, int count,
                         struct error *err)
{
    SCOPED struct column *columns = xcalloc((size_t)count, sizeof *columns);
    char(*what)[WHAT_MAX] = xcalloc((size_t)count, sizeof *what);
    bool ok = true;
    axis->fields = xcalloc((size_t)count, sizeof *axis->fields);
    axis->field_count = count;
    for (int i = 0; ok && i < count; i++) {
        const char *field = axis->fields[i] = keys[i]->text;
        const char *const *all = field_names(p->root);
        size_t known = !strcmp(field, "epilogue"), words = 0;
        for (; all[words]; words++)
            known += !strcmp(all[words], field);
        if (!known) {
            const char *near = text_nearest(field, all, words);
            ok = node_error(keys[i], err, "axis '%.60s': no op has a field '%.60s'", axis->name, field);
            if (near)
                error_hint(err, "did you mean '%s'?", near);
            else
                error_hint(err, "to vary several fields together: %.60s: {zip: {h: [48, 96], w: [64, 128]}}", axis->name);
            break;
        }
        axis->sets_math = axis->sets_math || !strcmp(field, "math");
        snprintf(what[i], sizeof *what, count > 1 ? "axis '%.60s': %.60s" : "axis '%.60s'", axis->name, field);
        columns[i] = (struct column){.field = field, .what = what[i]};
        ok = column_parse(p, &columns[i], nodes[i], err);
        if (ok && columns[i].count != columns[0].count)
            ok = node_error(nodes[i], err, "axis '%.60s': '%.60s' has %d values, '%.60s' has %d", axis->name, field, columns[i].count,
                            axis->fields[0], columns[0].count);
    }
    ok = ok && axes_add_rows(axis, columns, count, err);
    for (int i = 0; i < count; i++)
        free(columns[i].items);
    free(what);
    return ok;
}

static bool take_mask(void *context, const struct node *n, const struct mask *mask, char *label, struct error *err)
{
    struct axis *axis = context;
    if (axis->count >= SCENARIO_MAX_VALUES) {
        free(label);
        return node_error(n, err, "axis 'mask': more than %d values", SCENARIO_MAX_VALUES);
    }
    struct axis_value *value = add_value(axis);
    *value = (struct axis_value){.label = label, .number = NAN, .node = n, .mask = *mask};
    return true;
}

static bool mask_values(const struct scenario *s, struct axis *axis, const struct node *map, const struct node *values, struct error *err)
{
    const struct mask_sink sink = {axis, take_mask};
    struct mask marks = {0};
    axis->is_mask = true;
    if (map && !marks_parse(map, &marks, err))
        return false;
    if (values->kind != NODE_LIST || !values->count)
        return node_error(values, err, "axis 'mask': a list of masks is expected, like [none, {pattern: iid, density: [0.01, 0.10]}]");
    return ALL_OF(i, values->count, masks_parse(s, values->items[i], &marks, &sink, err));
}

ORDER_POINTERS(by_label, struct axis_value, strcmp(x->label, y->label) ?: (x > y) - (x < y))

static bool check_values(const struct axis *axis, struct error *err)
{
    SCOPED const struct axis_value **sorted = xcalloc((size_t)axis->count + 1, sizeof *sorted);
    const struct axis_value *twice = NULL;
    for (int i = 0; i < axis->count; i++)
        sorted[i] = &axis->values[i];
    qsort(sorted, (size_t)axis->count, sizeof *sorted, by_label);
    for (int i = 1; i < axis->count; i++)
        if (!strcmp(sorted[i]->label, sorted[i - 1]->label) && (!twice || sorted[i] < twice))
            twice = sorted[i];
    for (int i = 1; axis->is_mask && !twice && i < axis->count; i++) /* an explicit seed of 1 gives the same mask */
        for (int k = 0; !twice && k < i && axis->count <= 1000; k++)
            if (mask_same(&axis->values[i].mask, &axis->values[k].mask))
                twice = &axis->values[i];
    return !twice || node_error(twice->node, err, "axis '%.60s' has the value %s twice", axis->name, twice->label);
}

/* Why a layer cannot have the axis; NULL: it can. */
static const char *misfit(const struct axis *axis, const struct layer *layer)
{
    if (axis->is_mask)
        return layer_takes_mask(layer) ? NULL : "mask";
    for (int i = 0; i < axis->field_count; i++)
        if (!field_known(layer->work.op, axis->fields[i]))
            return axis->fields[i];
    return NULL;
}

static bool check_layers(const struct scenario *s, const struct axis *axis, struct error *err)
{
    bool ok = true, any = false;
    if (axis->layers && (axis->layers->kind != NODE_LIST || !axis->layers->count))
        return node_error(axis->layers, err, "axis '%.60s': layers must be a list of layer names", axis->name);
    const char **names = scenario_layer_names(s);
    for (int i = 0; ok && axis->layers && i < axis->layers->count; i++) {
        const struct node *n = axis->layers->items[i];
        char what[WHAT_MAX];
        snprintf(what, sizeof what, "axis '%.60s': layer", axis->name);
        int at = node_word(n, what, names, err);
        const char *field = at < 0 ? NULL : misfit(axis, &s->layers[at]);
        ok = at >= 0 && (!field || node_error(n, err, "axis '%.60s': layer '%s' (%s) has no '%s'", axis->name, names[at],
                                              s->layers[at].work.op->name, field));
        for (int k = 0; ok && k < i; k++)
            if (!strcmp(axis->layers->items[k]->text, n->text))
                ok = node_error(n, err, "axis '%.60s': layer '%s' is listed twice", axis->name, n->text);
    }
    free((void *)(size_t)names);
    for (int i = 0; ok && i < s->layer_count; i++)
        any = any || axis_applies(axis, &s->layers[i]);
    return ok && (any || node_error(axis->node, err, "axis '%.60s': no layer has all its fields", axis->name));
}

/* Checks that every value has the right type and range, for each op that the axis applies to. */
static bool check_types(const struct scenario *s, const struct axis *axis, struct error *err)
{
    for (int i = 0; i < s->layer_count; i++) {
        bool seen = !axis_applies(axis, &s->layers[i]);
        for (int k = 0; !seen && k < i; k++)
            seen = s->layers[k].work.op == s->layers[i].work.op && axis_applies(axis, &s->layers[k]);
        for (int v = 0; !seen && v < axis->count; v++) {
            struct work scratch = s->layers[i].work;
            if (!axis_apply(axis, &axis->values[v], &scratch, err))
                return false;
        }
    }
    return true;
}

static bool axis_name_ok(const struct node *key, struct error *err)
{
    const char *allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return (strlen(key->text) <= 60 && !key->text[strspn(key->text, allowed)]) ||
           node_error(key, err, "an axis' name has letters, digits, _ and at most 60 characters");
}

/* axes: {n: [1, 4]}, {n: {values: [1, 4], layers: [a]}}, {size: {zip: {h: [..], w: [..]}}}, {kernel: {from: 3, to: 15, step: 2}} */
static bool axis_parse(struct scenario *s, struct axis *axis, struct node *key, struct node *n, struct error *err)
{
    static const char *const keys[] = {"layers", "values", "zip", NULL}, *const mask_keys[] = {"layers", "values", "marks", NULL};
    char what[WHAT_MAX];
    *axis = (struct axis){.name = key->text, .node = key};
    if (!axis_name_ok(key, err))
        return false;
    bool mask = !strcmp(axis->name, "mask"), range = n->kind == NODE_MAP && (node_get(n, "from") || node_get(n, "to"));
    struct node *map = n->kind == NODE_MAP && !range ? n : NULL;
    struct node *values = map ? (struct node *)(size_t)node_get(map, "values") : n, *zip = (struct node *)(size_t)node_get(map, "zip");
    snprintf(what, sizeof what, "axis '%.60s'", axis->name);
    if (map && !node_check_keys(map, what, mask ? mask_keys : keys, err))
        return false;
    if (!values == !zip)
        return node_error(map, err, "%s: %s", what, mask ? "'values' is missing" : "either 'values' or 'zip' is needed");
    axis->layers = node_get(map, "layers");
    if (zip && (zip->kind != NODE_MAP || zip->count < 2))
        return node_error(zip, err, "%s: zip needs at least two fields, like {zip: {h: [48, 96], w: [64, 128]}}", what);
    bool ok = mask  ? mask_values(s, axis, map, values, err)
              : zip ? fields_parse(s->parsed, axis, zip->keys, zip->items, zip->count, err)
                    : fields_parse(s->parsed, axis, &key, &values, 1, err);
    return ok && check_values(axis, err) && check_layers(s, axis, err) && check_types(s, axis, err);
}

bool axis_applies(const struct axis *axis, const struct layer *layer)
{
    if (!axis->layers)
        return !misfit(axis, layer);
    return ANY_OF(i, axis->layers->count, axis->layers->items[i]->text && !strcmp(axis->layers->items[i]->text, layer->name));
}

bool axis_apply(const struct axis *axis, const struct axis_value *value, struct work *work, struct error *err)
{
    char what[WHAT_MAX];
    if (axis->is_mask)
        work->mask = value->mask;
    for (int i = 0; i < axis->field_count; i++) {
        snprintf(what, sizeof what, axis->field_count > 1 ? "axis '%.60s': %.60s" : "axis '%.60s'", axis->name, axis->fields[i]);
        if (!field_set(work, axis->fields[i], what, value->row[i], err))
            return false;
    }
    return true;
}

ORDER(axes_by_name, struct axis, strcmp(x->name, y->name))

/* Finds a field that two axes set, and where. */
static bool check_apart(const struct parsed *p, struct error *err)
{
    for (int i = 0; i < p->axis_count; i++)
        for (int k = 0; k < i; k++)
            for (int a = 0; a < p->axes[i].field_count; a++)
                for (int b = 0; b < p->axes[k].field_count; b++)
                    if (!strcmp(p->axes[i].fields[a], p->axes[k].fields[b]))
                        return node_error(p->axes[i].node, err, "axis '%.60s': the axis '%.60s' already sets '%.60s'", p->axes[i].name,
                                          p->axes[i].fields[a], p->axes[k].name);
    return true;
}

bool axes_parse(struct scenario *s, const struct node *axes, struct error *err)
{
    struct parsed *p = s->parsed;
    if (!axes)
        return true;
    if (axes->kind != NODE_MAP || !axes->count)
        return node_error(axes, err, "axes: a map of axes is expected, like {n: [1, 4]}");
    p->axes = xcalloc((size_t)axes->count, sizeof *p->axes);
    for (int i = 0; i < axes->count; i++) /* checked at each axis, which limits their number to that of the fields */
        if (!axis_parse(s, &p->axes[p->axis_count++], axes->keys[i], axes->items[i], err) || !check_apart(p, err))
            return false;
    qsort(p->axes, (size_t)p->axis_count, sizeof *p->axes, axes_by_name);
    return true;
}

void axes_free(struct parsed *p)
{
    for (int i = 0; i < p->axis_count; i++) {
        for (int k = 0; k < p->axes[i].count; k++) {
            free(p->axes[i].values[k].label);
            free(p->axes[i].values[k].row);
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
