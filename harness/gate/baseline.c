#include "gate/baseline.h"
#include "base/file.h"
#include "base/node.h"
#include "base/order.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "# bench baseline:"
#define SUM "\nsum: "

/* What made the rows (device, compiler, ...), by key. */
static const struct {
    const char *key;
    size_t offset;
} made_by[] = {
    {"device", offsetof(struct gate_side, device)}, {"about", offsetof(struct gate_side, about)},
    {"chip", offsetof(struct gate_side, arch)},     {"compiler", offsetof(struct gate_side, compiler)},
    {"driver", offsetof(struct gate_side, driver)}, {"cudnn", offsetof(struct gate_side, library)},
    {"bench", offsetof(struct gate_side, bench)},
};
#define MADE_BY (sizeof made_by / sizeof *made_by)

static char **made_at(const struct gate_side *side, size_t i)
{
    return (char **)(void *)((char *)(uintptr_t)side + made_by[i].offset);
}

/* ---- writing ---- */

/* Writes a text as a YAML scalar, without quotes if no YAML reader can mistake it. */
static void add_scalar(struct text *t, const char *s)
{
    bool plain = *s && !strpbrk(s, "\"'\\#{}&*!|>%`\n\r\t") && strchr("-?[], ", *s) == NULL && !strstr(s, ": ") && !text_ends(s, ":") &&
                 !text_ends(s, " ");
    for (const char *p = s; *p; p++)
        plain = plain && (unsigned char)*p >= 32 && (unsigned char)*p < 127;
    if (plain) {
        text_add(t, s);
        return;
    }
    text_add(t, "'"); /* in single quotes, only the quote itself needs an escape */
    for (const char *p = s; *p; p++)
        text_add_bytes(t, *p == '\'' ? "''" : (unsigned char)*p < 32 ? " " : p, *p == '\'' ? 2 : 1);
    text_add(t, "'");
}

/* Orders by step, the whole row first; then by name. */
ORDER(baseline_by_place, struct gate_fact, strcmp(x->step, y->step) ?: strcmp(x->kind->what, y->kind->what))

static void write_facts(struct text *t, const struct gate_entry *e)
{
    SCOPED struct gate_fact *facts = xcalloc((size_t)e->fact_count + 1, sizeof *facts);
    const char *step = "";
    int count = 0;
    for (int i = 0; i < e->fact_count; i++)
        if (e->facts[i].kind->kept)
            facts[count++] = e->facts[i];
    if (count)
        qsort(facts, (size_t)count, sizeof *facts, baseline_by_place);
    for (int i = 0; i < count; i++) {
        const struct gate_fact *f = &facts[i];
        if (strcmp(f->step, step)) {
            text_add(t, *step ? "      " : "    steps:\n      ");
            add_scalar(t, step = f->step);
            text_add(t, ":\n");
        }
        text_addf(t, "%s%s: %.15g\n", *step ? "        " : "    ", f->kind->what, f->value);
    }
}

static void write_entry(struct text *t, const struct gate_entry *e)
{
    text_add(t, "  ");
    add_scalar(t, e->id);
    text_add(t, ":\n    scenario: ");
    add_scalar(t, e->scenario);
    text_add(t, "\n    layer: ");
    add_scalar(t, e->layer);
    text_add(t, "\n");
    if (e->status != ROW_OK)
        text_addf(t, "    status: %s\n", row_status_name(e->status));
    if (e->launch[0])
        text_addf(t, "    launch: %.*s\n", BASELINE_DIGITS, e->launch);
    write_facts(t, e);
}

void baseline_write(struct text *t, const struct gate_side *side)
{
    char sum[HASH_TEXT];
    size_t start = t->len;
    text_addf(t, FIRST_LINE " one fact per line. `bench baseline promote` writes it; changes by hand are refused.\nversion: %d\n",
              BASELINE_VERSION);
    for (size_t i = 0; i < MADE_BY; i++) {
        const char *text = *made_at(side, i);
        if (text && *text && !(i == 1 && !strcmp(text, side->device))) {
            text_addf(t, "%s: ", made_by[i].key);
            add_scalar(t, text);
            text_add(t, "\n");
        }
    }
    for (int i = 0; i < side->op_count; i++) {
        text_add(t, i ? "  " : "ops:\n  ");
        add_scalar(t, side->ops[i].path);
        text_addf(t, ": %.*s\n", BASELINE_DIGITS, side->ops[i].sum);
    }
    text_add(t, "rows:\n");
    for (int i = 0; i < side->count; i++)
        if (gate_entry_stands(&side->entries[i]))
            write_entry(t, &side->entries[i]);
    hash_bytes(t->data + start, t->len - start, sum);
    text_addf(t, "sum: %s\n", sum);
}

/* ---- reading ---- */

bool baseline_is(const char *path)
{
    return file_begins(path, FIRST_LINE);
}

static bool check_sum(const char *path, const char *text, size_t bytes, struct error *err)
{
    char sum[HASH_TEXT];
    if (strncmp(text, FIRST_LINE, strlen(FIRST_LINE)))
        return error_set(err, ERROR_USAGE, "%s: not a baseline written by `bench baseline`", path);
    const char *line = strstr(text, "\nversion: "), *at = NULL;
    int version = line ? atoi(line + strlen("\nversion: ")) : BASELINE_VERSION;
    if (version != BASELINE_VERSION) {
        bool newer = version > BASELINE_VERSION;
        error_set(err, ERROR_USAGE, "%s: written by %s bench (version %d; this bench reads up to %d)", path, newer ? "a newer" : "an older",
                  version, BASELINE_VERSION);
        return error_hint(err, newer ? "update bench" : "write it anew: bench baseline promote");
    }
    for (const char *p = text; (p = strstr(p, SUM)); p++)
        at = p + 1;
    if (!at || strlen(at) != strlen(SUM) - 1 + HASH_TEXT - 1 + 1 || text[bytes - 1] != '\n') {
        error_set(err, ERROR_USAGE, "%s: incomplete: the last line is not `sum: ...`", path);
        return error_hint(err, "restore it from version control, or write it again: bench baseline promote");
    }
    hash_bytes(text, (size_t)(at - text), sum);
    if (!strncmp(sum, at + strlen(SUM) - 1, HASH_TEXT - 1))
        return true;
    error_set(err, ERROR_USAGE, "%s: changed by hand or merged: its checksum does not match its lines", path);
    return error_hint(err, "undo the change, or write it again: bench baseline promote");
}

/* A fact that this build does not know is skipped. */
static bool read_fact(const char *step, const char *what, const struct node *value, struct gate_entry *e, struct error *err)
{
    const struct gate_kind *kind = gate_kind_find(what);
    double number;
    if (kind && !node_real(value, what, -1e300, 1e300, &number, err))
        return false;
    if (kind)
        gate_entry_add(e, step, kind, number);
    return true;
}

static bool read_steps(const struct node *steps, struct gate_entry *e, struct error *err)
{
    if (steps->kind != NODE_MAP)
        return node_error(steps, err, "steps: a map of steps is expected");
    for (int i = 0; i < steps->count; i++) {
        const struct node *step = steps->items[i];
        if (step->kind != NODE_MAP)
            return node_error(step, err, "a step must be a map of facts");
        if (!ALL_OF(k, step->count, read_fact(steps->keys[i]->text, step->keys[k]->text, step->items[k], e, err)))
            return false;
    }
    return true;
}

static bool read_entry(const struct node *key, const struct node *map, struct gate_side *side, struct error *err)
{
    struct gate_entry *e = gate_side_add(side, key->text);
    e->status = ROW_OK;
    if (map->kind != NODE_MAP)
        return node_error(map, err, "a row must be a map of facts");
    for (int i = 0; i < map->count; i++) {
        const struct node *item = map->items[i];
        const char *name = map->keys[i]->text, *text = item->kind == NODE_SCALAR ? item->text : "";
        if (!strcmp(name, "status")) {
            e->status = row_status_parse(text);
            if (!gate_entry_stands(e))
                return node_error(item, err, "status: `foil` is the only value allowed here");
        } else if (!strcmp(name, "launch")) {
            snprintf(e->launch, sizeof e->launch, "%s", text);
            if (strlen(text) != BASELINE_DIGITS)
                return node_error(item, err, "launch: 16 hexadecimal digits");
        } else if (!strcmp(name, "scenario") || !strcmp(name, "layer")) {
            char **to = *name == 's' ? &e->scenario : &e->layer;
            row_set(to, text);
        } else if (!strcmp(name, "steps")) {
            if (!read_steps(item, e, err))
                return false;
        } else if (!read_fact("", name, item, e, err)) {
            return false;
        }
    }
    return (e->scenario && e->layer) || node_error(map, err, "a row needs a scenario and a layer");
}

static bool read_root(const struct node *root, struct gate_side *side, struct error *err)
{
    int64_t version = 0;
    if (!node_int(node_get(root, "version"), "version", BASELINE_VERSION, BASELINE_VERSION, &version, err))
        return false;
    for (size_t i = 0; i < MADE_BY; i++) {
        const struct node *n = node_get(root, made_by[i].key);
        const char *text = n ? node_text(n, made_by[i].key, err) : NULL;
        if (n && !text)
            return false;
        *made_at(side, i) = text ? xstrdup(text) : NULL;
    }
    const struct node *ops = node_get(root, "ops");
    for (int i = 0; ops && ops->kind == NODE_MAP && i < ops->count; i++) {
        const char *sum = node_text(ops->items[i], "ops", err);
        if (!sum)
            return false;
        snprintf(gate_side_op(side, ops->keys[i]->text)->sum, HASH_TEXT, "%s", sum);
    }
    if (!side->about && side->device)
        side->about = xstrdup(side->device);
    const struct node *rows = node_get(root, "rows");
    if (!rows || rows->kind != NODE_MAP || !rows->count)
        return error_set(err, ERROR_USAGE, "%s: a baseline without rows", root->file);
    return ALL_OF(i, rows->count, read_entry(rows->keys[i], rows->items[i], side, err)) && gate_side_sort(side, err);
}

bool baseline_read(const char *path, struct gate_side *side, struct error *err)
{
    size_t bytes;
    struct node *root = NULL;
    *side = (struct gate_side){.name = xstrdup(path), .kept = true};
    SCOPED char *text = file_read(path, NODE_MAX_BYTES, &bytes, err);
    bool ok = text && check_sum(path, text, bytes, err) && (root = node_parse_text(path, text, bytes, 1, 1, err)) != NULL &&
              read_root(root, side, err);
    if (root)
        node_free(root);
    if (!ok)
        gate_side_free(side);
    return ok;
}
