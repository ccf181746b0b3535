/* The top level of a scenario file. */
#include "scenario/scenario.h"
#include "base/chip.h"
#include "base/file.h"
#include "base/text.h"
#include "scenario/private.h"
#include <stdlib.h>
#include <string.h>

static bool parse_name(struct scenario *s, struct error *err)
{
    const struct node *name = node_get(s->root, "scenario"), *about = node_get(s->root, "about");
    if (!name)
        return node_error(s->root, err, "'scenario' (its name) is missing");
    const char *text = node_text(name, "scenario", err);
    if (!text)
        return false;
    if (!*text || strlen(text) > 80 || text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")])
        return node_error(name, err, "scenario: a name has letters, digits, _ - . and at most 80 characters");
    s->name = xstrdup(text);
    if (about && !(text = node_text(about, "about", err)))
        return false;
    s->about = about ? xstrdup(text) : NULL;
    return true;
}

static bool layer_name_ok(const struct node *key, struct error *err)
{
    const char *text = key->text;
    if (*text && strlen(text) <= 80 && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")])
        return true;
    return node_error(key, err, "a layer's name has letters, digits, _ - . and at most 80 characters");
}

static bool parse_layers(struct scenario *s, struct error *err)
{
    const struct node *layers = node_get(s->root, "layers"), *defaults = node_get(s->root, "defaults");
    if (!layers || layers->kind != NODE_MAP || !layers->count)
        return node_error(layers ? layers : s->root, err, "layers: a map of layer names is expected, like {body: {op: conv2d, c: 64, k: 64}}");
    if (!defaults_check(defaults, err))
        return false;
    s->layers = xcalloc((size_t)layers->count, sizeof *s->layers);
    for (int i = 0; i < layers->count; i++)
        if (!layer_name_ok(layers->keys[i], err) || !layer_parse(s, layers->keys[i]->text, layers->items[i], defaults, &s->layers[s->layer_count++], err))
            return false;
    return true;
}

static bool parse_data(struct scenario *s, struct error *err)
{
    static const char *const keys[] = {"input", "seed", NULL};
    const struct node *data = node_get(s->root, "data");
    int64_t seed = 1;
    int kind = DATA_NORMAL;
    if (!data)
        return true;
    if (!node_check_keys(data, "data", keys, err) || (node_get(data, "seed") && !node_int(node_get(data, "seed"), "seed", 0, INT64_MAX, &seed, err)))
        return false;
    if (node_get(data, "input") && (kind = node_word(node_get(data, "input"), "data input", data_kind_names, err)) < 0)
        return false;
    for (int i = 0; i < s->layer_count; i++) {
        s->layers[i].work.seed = (uint64_t)seed;
        s->layers[i].work.data = (enum data_kind)kind;
    }
    return true;
}

/* A word or a list of words -> flags. */
static bool parse_modes(const struct node *n, const char *what, const char *const *words, bool *flags, struct error *err)
{
    if (!n)
        return true;
    flags[0] = flags[1] = false;
    int count = n->kind == NODE_LIST ? n->count : 1;
    for (int i = 0; i < count; i++) {
        int word = node_word(n->kind == NODE_LIST ? n->items[i] : n, what, words, err);
        if (word < 0)
            return false;
        flags[word] = true;
    }
    return count > 0 || node_error(n, err, "%s: an empty list selects nothing", what);
}

static bool parse_budget(const struct node *n, double *out, struct error *err)
{
    if (!n || n->kind != NODE_SCALAR)
        return node_error(n, err, "budget: a time like `20 s per layer` is expected");
    struct node one = *n; /* "20 s per layer" reads as 20 s */
    char *text = xstrdup(n->text), *tail = strstr(text, " per layer");
    if (tail && !tail[strlen(" per layer")])
        *tail = 0;
    one.text = text;
    bool ok = node_quantity(&one, "budget", "s", out, err);
    if (ok && !(*out > 0 && *out <= 86400))
        ok = node_error(n, err, "budget: between 0 and 86400 s");
    free(text);
    return ok;
}

static bool parse_time(struct scenario *s, struct error *err)
{
    static const char *const keys[] = {"cache", "load", "half_width", "budget", "rounds", NULL}, *const caches[] = {"cold", "warm", NULL},
                             *const loads[] = {"isolated", "sustained", NULL};
    const struct node *time = node_get(s->root, "time"), *rounds = node_get(time, "rounds");
    struct timing_plan *t = &s->time;
    int64_t least = 30, most = 1000;
    *t = (struct timing_plan){.cache = {true, false}, .load = {true, false}, .half_width = 0.005, .budget_s = 20};
    if (time && !node_check_keys(time, "time", keys, err))
        return false;
    if (!parse_modes(node_get(time, "cache"), "cache", caches, t->cache, err) || !parse_modes(node_get(time, "load"), "load", loads, t->load, err))
        return false;
    if (node_get(time, "half_width") && !node_quantity(node_get(time, "half_width"), "half_width", "%", &t->half_width, err))
        return false;
    if (!(t->half_width > 0 && t->half_width < 1))
        return node_error(node_get(time, "half_width"), err, "half_width: between 0 and 100 %%");
    if (node_get(time, "budget") && !parse_budget(node_get(time, "budget"), &t->budget_s, err))
        return false;
    if (rounds && (rounds->kind != NODE_LIST || rounds->count != 2))
        return node_error(rounds, err, "rounds: [at least, at most]");
    if (rounds && (!node_int(rounds->items[0], "rounds", 6, 100000, &least, err) || !node_int(rounds->items[1], "rounds", least, 100000, &most, err)))
        return false;
    t->rounds_min = (int)least;
    t->rounds_max = (int)most;
    return true;
}

static bool parse_variants(struct scenario *s, struct error *err)
{
    const struct node *list = node_get(s->root, "variants");
    if (!list || list->kind != NODE_LIST || !list->count)
        return node_error(list ? list : s->root, err, "variants: a list is expected, like [cudnn, conv2d/naive, {my/halo_regs: {TH: [8, 16]}}]");
    s->variants = xcalloc((size_t)list->count, sizeof *s->variants);
    for (int i = 0; i < list->count; i++) {
        const struct node *n = list->items[i];
        struct scenario_variant *v = &s->variants[s->variant_count++];
        bool map = n->kind == NODE_MAP;
        if (map && n->count != 1)
            return node_error(n, err, "variants: an item is a name, or a map of one name with its parameters");
        const char *name = node_text(map ? n->keys[0] : n, "variants", err);
        if (!name)
            return false;
        *v = (struct scenario_variant){.name = xstrdup(name), .params = map ? n->items[0] : NULL, .node = map ? n->keys[0] : n};
        if (v->params && v->params->kind != NODE_MAP)
            return node_error(v->params, err, "variant '%s': its parameters are a map, like {TH: [8, 16]}", name);
        for (int k = 0; k < i; k++)
            if (!strcmp(s->variants[k].name, name) && !v->params && !s->variants[k].params)
                return node_error(v->node, err, "variant '%s' stands twice", name);
    }
    return true;
}

static bool parse_counters(struct scenario *s, struct error *err)
{
    const struct node *list = node_get(s->root, "counters");
    if (!list)
        return true;
    if (list->kind != NODE_LIST)
        return node_error(list, err, "counters: a list of group names is expected");
    s->counters = xcalloc((size_t)list->count + 1, sizeof *s->counters);
    for (int i = 0; i < list->count; i++) {
        const char *name = node_text(list->items[i], "counters", err);
        if (!name)
            return false;
        s->counters[s->counter_count++] = xstrdup(name);
    }
    return true;
}

static bool parse_on(struct scenario *s, struct error *err)
{
    static const char *const devices[] = {"emu", "cuda", NULL}, *const keys[] = {"crop", "chip", NULL}, *const crop_keys[] = {"h", "w", "n", NULL};
    struct parsed *p = s->parsed;
    p->on = node_get(s->root, "on");
    if (!p->on)
        return true;
    if (!node_check_keys(p->on, "on", devices, err))
        return false;
    for (int i = 0; i < p->on->count; i++) {
        const struct node *crop = node_get(p->on->items[i], "crop"), *chip = node_get(p->on->items[i], "chip");
        int64_t ignored;
        if (!node_check_keys(p->on->items[i], "on", keys, err) || (crop && !node_check_keys(crop, "crop", crop_keys, err)))
            return false;
        for (int k = 0; crop && k < crop->count; k++)
            if (!node_int(crop->items[k], "crop", 1, 1 << 20, &ignored, err))
                return false;
        const char *name = chip ? node_text(chip, "chip", err) : NULL;
        if (chip && !name)
            return false;
        if (name && !chip_find(name)) {
            const char *near = text_nearest_in(name, chip_names());
            node_error(chip, err, "no chip '%s'", name);
            return error_hint(err, near ? "did you mean %s?" : "bench list chips%s", near ? near : "");
        }
    }
    return true;
}

static bool parse_answers(struct scenario *s, struct error *err)
{
    static const char *const kinds[] = {"break_even", "best_per_layer", NULL}, *const keys[] = {"over", "by", "against", NULL};
    const struct node *list = s->answers = node_get(s->root, "answers");
    if (!list)
        return true;
    if (list->kind != NODE_LIST)
        return node_error(list, err, "answers: a list is expected");
    for (int i = 0; i < list->count; i++) {
        const struct node *n = list->items[i];
        if (n->kind != NODE_MAP || n->count != 1)
            return node_error(n, err, "answers: an item is a map of one key, like {best_per_layer: {against: cudnn}}");
        if (node_word(n->keys[0], "answers", kinds, err) < 0 || !node_check_keys(n->items[0], n->keys[0]->text, keys, err))
            return false;
    }
    return true;
}

static bool parse(struct scenario *s, struct error *err)
{
    static const char *const keys[] = {"scenario", "about", "defaults", "data", "layers", "network", "axes", "variants", "time", "counters", "on", "answers", NULL};
    return node_check_keys(s->root, "a scenario", keys, err) && parse_name(s, err) && parse_layers(s, err) && parse_data(s, err) &&
           axes_parse(s, node_get(s->root, "axes"), err) && network_parse(s, node_get(s->root, "network"), err) && parse_variants(s, err) &&
           parse_time(s, err) && parse_counters(s, err) && parse_on(s, err) && parse_answers(s, err);
}

struct scenario *scenario_load(const char *path, struct error *err)
{
    struct scenario *s = xcalloc(1, sizeof *s);
    size_t bytes;
    bool ok = false;
    char *text = file_read(path, NODE_MAX_BYTES, &bytes, err);
    if (!text)
        goto done;
    hash_bytes(text, bytes, s->hash);
    s->path = xstrdup(path);
    s->parsed = xcalloc(1, sizeof(struct parsed));
    s->root = node_parse_text(path, text, bytes, 1, 1, err);
    if (!s->root || !parse(s, err))
        goto done;
    for (int i = 0; i < s->layer_count; i++)
        s->layers[i].repeat = scenario_layer_count(s, &s->layers[i]);
    ok = true;
done:
    free(text);
    if (ok)
        return s;
    scenario_free(s);
    return NULL;
}

void scenario_free(struct scenario *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->layer_count; i++)
        free(s->layers[i].name);
    for (int i = 0; i < s->variant_count; i++)
        free(s->variants[i].name);
    for (int i = 0; i < s->counter_count; i++)
        free(s->counters[i]);
    if (s->parsed)
        axes_free(s->parsed);
    network_item_free(&s->network);
    free(s->parsed);
    free(s->layers);
    free(s->variants);
    free(s->counters);
    free(s->name);
    free(s->about);
    free(s->path);
    node_free(s->root);
    free(s);
}

const char *scenario_chip(const struct scenario *s, const char *device_kind)
{
    const struct parsed *p = s->parsed;
    const struct node *chip = node_get(node_get(p->on, device_kind), "chip");
    return chip ? chip->text : NULL;
}
