/* The top level of a scenario file. */
#include "plan/scenario/scenario.h"
#include "device/chip/chip.h"
#include "base/file.h"
#include "base/image.h"
#include "base/text.h"
#include "op/op_file.h"
#include "op/weights.h"
#include "plan/scenario/private.h"
#include <stdio.h>
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
    if (!*text || text[0] == '.' || text[0] == '-' || strlen(text) > 80 ||
        text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")])
        return node_error(name, err, "scenario: a name may have letters, digits, _ - . (not first - or .) and at most 80 characters");
    s->name = xstrdup(text);
    if (about && !(text = node_text(about, "about", err)))
        return false;
    s->about = about ? xstrdup(text) : NULL;
    return true;
}

static bool parse_layers(struct scenario *s, struct error *err)
{
    const struct node *layers = node_get(s->root, "layers"), *defaults = node_get(s->root, "defaults");
    if (!layers || layers->kind != NODE_MAP || !layers->count)
        return node_error(layers ? layers : s->root, err,
                          "layers: a map of layer names is expected, like {body: {op: conv2d, c: 64, k: 64}}");
    if (layers->count > SCENARIO_MAX_LAYERS)
        return node_error(layers, err, "layers: %d; a scenario may have %d", layers->count, SCENARIO_MAX_LAYERS);
    if (!defaults_check(s->root, defaults, err))
        return false;
    s->layers = xcalloc((size_t)layers->count, sizeof *s->layers);
    for (int i = 0; i < layers->count; i++)
        if (!scenario_name_ok(layers->keys[i], "a layer's name", err) ||
            !layer_parse(s, layers->keys[i]->text, layers->items[i], defaults, &s->layers[s->layer_count++], err))
            return false;
    return true;
}

/* Sets the picture or video that ops of images read as their input. */
static bool take_picture(struct scenario *s, const struct node *n, struct error *err)
{
    const struct parsed *parsed = s->parsed;
    const char *folder = parsed->folder;
    SCOPED char *path = strcmp(folder, ".") && n->text[0] != '/' ? file_join(folder, n->text) : xstrdup(n->text);
    char hash[HASH_TEXT];
    size_t bytes;
    struct error why = {0};
    SCOPED char *content = file_read(path, IMAGE_MAX_BYTES, &bytes, &why);
    int taken = 0;
    if (content)
        hash_bytes(content, bytes, hash);
    else
        node_error(n, err, "data input: %s", why.text);
    for (int i = 0; content && i < s->layer_count; i++) {
        struct work *w = &s->layers[i].work;
        if (strlen(path) >= sizeof w->picture || !op_file_takes_picture(w->op))
            continue;
        snprintf(w->picture, sizeof w->picture, "%s", path);
        snprintf(w->picture_hash, sizeof w->picture_hash, "%.16s", hash);
        taken++;
    }
    if (content && !taken)
        node_error(n, err,
                   "data input: no layer reads a picture, which needs an op whose first tensor is an image of u8 or u16 (or the path is "
                   "longer than %zu)",
                   sizeof s->layers[0].work.picture - 1);
    return taken > 0;
}

/* Each layer's filter, bias and slopes are files of a folder beside the scenario. */
static bool take_weights(struct scenario *s, const struct node *n, struct error *err)
{
    const struct parsed *parsed = s->parsed;
    struct error why = {0};
    int taken = 0;
    if (n->kind != NODE_SCALAR)
        return node_error(n, err, "data weights: a folder is expected");
    SCOPED char *folder = strcmp(parsed->folder, ".") && n->text[0] != '/' ? file_join(parsed->folder, n->text) : xstrdup(n->text);
    for (int i = 0; i < s->layer_count; i++) {
        SCOPED char *prefix = file_join(folder, s->layers[i].name);
        if (!weights_take(&s->layers[i].work, prefix, &why))
            return node_error(n, err, "data weights: layer '%s': %s", s->layers[i].name, why.text);
        taken += s->layers[i].work.weights[0] != 0;
    }
    return taken || node_error(n, err, "data weights: no layer has a filter, a bias or slopes");
}

static bool parse_data(struct scenario *s, struct error *err)
{
    static const char *const keys[] = {"input", "seed", "weights", NULL};
    const struct node *data = node_get(s->root, "data");
    int64_t seed = 1;
    int kind = DATA_NORMAL;
    if (!data)
        return true;
    if (!node_check_keys(data, "data", keys, err) ||
        (node_get(data, "seed") && !node_int(node_get(data, "seed"), "seed", 0, INT64_MAX, &seed, err)))
        return false;
    const struct node *input = node_get(data, "input");
    bool file = input && input->kind == NODE_SCALAR && strchr(input->text, '.');
    if (input && !file && (kind = node_word(input, "data input", data_kind_names, err)) < 0)
        return false;
    for (int i = 0; i < s->layer_count; i++) {
        s->layers[i].work.seed = (uint64_t)seed;
        s->layers[i].work.data = (enum data_kind)kind;
    }
    return (!file || take_picture(s, input, err)) && (!node_get(data, "weights") || take_weights(s, node_get(data, "weights"), err));
}

static bool parse_budget(const struct node *n, double *out, struct error *err)
{
    if (!n || n->kind != NODE_SCALAR)
        return node_error(n, err, "budget: a time like `20 s per layer` is expected");
    struct node one = *n; /* "20 s per layer" reads as 20 s */
    SCOPED char *text = xstrdup(n->text);
    char *tail = strstr(text, " per layer");
    if (tail && !tail[strlen(" per layer")])
        *tail = 0;
    one.text = text;
    bool ok = node_quantity(&one, "budget", "s", out, err);
    if (ok && !(*out > 0 && *out <= 86400))
        ok = node_error(n, err, "budget: between 0 and 86400 s");
    return ok;
}

static bool parse_time(struct scenario *s, struct error *err)
{
    static const char *const keys[] = {"cache", "load", "half_width", "budget", "rounds", NULL}, *const caches[] = {"cold", "warm", NULL},
                             *const loads[] = {"isolated", "sustained", NULL};
    const struct node *time = node_get(s->root, "time"), *rounds = node_get(time, "rounds");
    struct timing_plan *t = &s->time;
    int64_t least = 60, most = 1000;
    *t = (struct timing_plan){.cache = {true, false}, .load = {true, false}, .half_width = 0.005, .budget_s = 20};
    if (time && !node_check_keys(time, "time", keys, err))
        return false;
    const struct node *cache = node_get(time, "cache"), *load = node_get(time, "load");
    if ((cache && !scenario_words(cache, "cache", caches, t->cache, err)) || (load && !scenario_words(load, "load", loads, t->load, err)))
        return false;
    if (node_get(time, "half_width") && !node_quantity(node_get(time, "half_width"), "half_width", "%", &t->half_width, err))
        return false;
    if (!(t->half_width > 0 && t->half_width < 1))
        return node_error(node_get(time, "half_width"), err, "half_width: between 0 and 100 %%");
    if (node_get(time, "budget") && !parse_budget(node_get(time, "budget"), &t->budget_s, err))
        return false;
    if (rounds && (rounds->kind != NODE_LIST || rounds->count != 2))
        return node_error(rounds, err, "rounds: two integers are expected, [at least, at most], such as [10, 100]");
    if (rounds &&
        (!node_int(rounds->items[0], "rounds", 6, 100000, &least, err) || !node_int(rounds->items[1], "rounds", least, 100000, &most, err)))
        return false;
    t->rounds_min = (int)least;
    t->rounds_max = (int)most;
    return true;
}

static bool same_tree(const struct node *a, const struct node *b)
{
    if (!a || !b || a->kind != b->kind || a->count != b->count || (a->text && strcmp(a->text, b->text)))
        return a == b;
    return ALL_OF(i, a->count, same_tree(a->items[i], b->items[i]) && (!a->keys || same_tree(a->keys[i], b->keys[i])));
}

/* {TH: [8, 16], CC: 16}: only the form is checked here; the variant's head checks names and values later. */
static bool check_params(const char *name, const struct node *params, struct error *err)
{
    if (params->kind != NODE_MAP)
        return node_error(params, err, "variant '%.80s': its parameters must be a map, such as {TH: [8, 16]}", name);
    for (int i = 0; i < params->count; i++) {
        const struct node *v = params->items[i];
        bool ok = v->kind == NODE_SCALAR || (v->kind == NODE_LIST && v->count);
        ok = ok && ALL_OF(k, v->count, v->items[k]->kind == NODE_SCALAR);
        if (!ok)
            return node_error(v, err, "variant '%.80s': %.80s must be a value or a list of values", name, params->keys[i]->text);
    }
    return true;
}

static bool list_takes(const struct node *list, const char *name)
{
    bool named = false, any = false;
    for (int i = 0; list && i < list->count; i++) {
        const char *glob = list->items[i]->text;
        if (glob[0] == '!' && text_glob(glob + 1, name))
            return false;
        any |= glob[0] != '!';
        named |= glob[0] != '!' && text_glob(glob, name);
    }
    return named || !any;
}

bool scenario_layer_takes(const struct layer *layer, const struct scenario_variant *variant)
{
    return list_takes(node_get(layer->node, "variants"), variant->name);
}

bool scenario_network_takes(const struct scenario_network *network, const char *row)
{
    return list_takes(node_get(network->root.node, "variants"), row);
}

/* Checks that each pattern of the `variants` of a layer or network selects something; `more`: further names beside the scenario's, or NULL.
 */
static bool list_check(const struct scenario *s, const char *what, const char *of, const struct node *n, const char *const *more,
                       struct error *err)
{
    const struct node *list = node_get(n, "variants");
    const char *names[SCENARIO_MAX_ITEMS + 8];
    int count = s->variant_count;
    for (int k = 0; k < s->variant_count; k++)
        names[k] = s->variants[k].name;
    for (int k = 0; more && more[k]; k++)
        names[count++] = more[k];
    if (list && (list->kind != NODE_LIST || !list->count))
        return node_error(list, err, "%s %s: variants: a list of the variants for this %s is expected, such as [cudnn, conv2d/sparse_*]",
                          what, of, what);
    for (int i = 0; list && i < list->count; i++) {
        const char *glob = node_text(list->items[i], "variants", err), *near;
        bool any = false;
        if (!glob)
            return false;
        glob += glob[0] == '!';
        for (int k = 0; k < count; k++)
            any |= text_glob(glob, names[k]);
        if (any)
            continue;
        near = text_nearest(glob, names, (size_t)count);
        node_error(list->items[i], err, "%s %s: variants: '%.80s' selects none of the scenario's variants", what, of, glob);
        return near ? error_hint(err, "did you mean %s?", near) : false;
    }
    return true;
}

static bool parse_variants(struct scenario *s, struct error *err)
{
    static const char *const whole[] = {"chain/library", "chain/best", NULL}; /* rows that every network has */
    const struct node *list = node_get(s->root, "variants");
    if (!list || list->kind != NODE_LIST)
        return node_error(list ? list : s->root, err,
                          "variants: a list is expected, like [cudnn, conv2d/naive, {my/halo_regs: {TH: [8, 16]}}]");
    if (list->count > SCENARIO_MAX_ITEMS)
        return node_error(list, err, "variants: %d; a scenario may have %d", list->count, SCENARIO_MAX_ITEMS);
    s->variants = xcalloc((size_t)list->count + 1, sizeof *s->variants);
    for (int i = 0; i < list->count; i++) {
        const struct node *n = list->items[i];
        bool map = n->kind == NODE_MAP;
        if (map && n->count != 1)
            return node_error(n, err, "variants: an item must be a name, or a map of one name with its parameters");
        const char *name = node_text(map ? n->keys[0] : n, "variants", err);
        if (!name || (map && !check_params(name, n->items[0], err)))
            return false;
        if (!*name)
            return node_error(n, err, "variants: a name is empty");
        struct scenario_variant *v = &s->variants[s->variant_count++];
        *v = (struct scenario_variant){.name = xstrdup(name), .params = map ? n->items[0] : NULL, .node = map ? n->keys[0] : n};
        for (int k = 0; k < i; k++)
            if (!strcmp(s->variants[k].name, name) && same_tree(v->params, s->variants[k].params))
                return node_error(v->node, err, "variant '%.80s' is listed twice%s", name, v->params ? " with the same parameters" : "");
    }
    return ALL_OF(i, s->layer_count, list_check(s, "layer", s->layers[i].name, s->layers[i].node, NULL, err)) &&
           ALL_OF(i, s->network_count, list_check(s, "network", s->networks[i].name, s->networks[i].root.node, whole, err));
}

static bool parse_counters(struct scenario *s, struct error *err)
{
    const struct node *list = node_get(s->root, "counters");
    if (!list)
        return true;
    if (list->kind != NODE_LIST || !list->count || list->count > SCENARIO_MAX_ITEMS)
        return node_error(list, err, "counters: a list of group names is expected, like [core, memory]");
    s->counters = xcalloc((size_t)list->count + 1, sizeof *s->counters);
    for (int i = 0; i < list->count; i++) {
        const char *name = node_text(list->items[i], "counters", err);
        if (!name)
            return false;
        for (int k = 0; k < i; k++)
            if (!strcmp(s->counters[k], name))
                return node_error(list->items[i], err, "counters: '%.80s' is listed twice", name);
        s->counters[s->counter_count++] = xstrdup(name);
    }
    return true;
}

/* Checks the keys of a crop: d, h, w of images, and the fields of ops that are files. */
static const char *const *crop_names(const struct scenario *s)
{
    static const char *names[1024];
    int count = 0;
    names[count++] = "d", names[count++] = "h", names[count++] = "w";
    for (int i = 0; i < s->layer_count; i++)
        for (const struct op_field *f = s->layers[i].work.op->fields; s->layers[i].work.op->file && f->name && count < 1023; f++)
            names[count++] = f->name;
    names[count] = NULL;
    return names;
}

static bool parse_device(const struct scenario *s, const char *device, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"crop", "chip", NULL};
    char what[WHAT_MAX];
    int64_t ignored;
    snprintf(what, sizeof what, "on %s", device);
    if (!node_check_keys(n, what, keys, err))
        return false;
    const struct node *crop = node_get(n, "crop"), *chip = node_get(n, "chip");
    snprintf(what, sizeof what, "on %s: crop", device);
    if (crop && !node_check_keys(crop, what, crop_names(s), err))
        return false;
    if (crop && !crop->count)
        return node_error(crop, err, "%s: neither d, h or w, nor a field of an op file", what);
    for (int k = 0; crop && k < crop->count; k++)
        if (!node_int(crop->items[k], what, 1, 1 << 20, &ignored, err))
            return false;
    const char *name = chip ? node_text(chip, "chip", err) : NULL;
    if (!name)
        return !chip;
    if (chip_find(name))
        return true;
    const char *const *names = chip_names();
    size_t count = 0;
    while (names[count])
        count++;
    const char *near = text_nearest_in(name, names);
    SCOPED_TEXT all = {0};
    text_add_list(&all, names, count);
    node_error(chip, err, "on %s: there is no chip '%.60s'", device, name);
    error_hint(err, near ? "did you mean %s? Chips: %.700s, or sm_75 to sm_121" : "%schips: %.700s, or sm_75 to sm_121", near ? near : "",
               text_get(&all));
    return false;
}

static bool parse_on(struct scenario *s, struct error *err)
{
    static const char *const devices[] = {"emu", "cuda", NULL};
    struct parsed *p = s->parsed;
    p->on = node_get(s->root, "on");
    if (p->on && !node_check_keys(p->on, "on", devices, err))
        return false;
    for (int i = 0; p->on && i < p->on->count; i++)
        if (!parse_device(s, p->on->keys[i]->text, p->on->items[i], err))
            return false;
    return true;
}

static bool scenario_parse(struct scenario *s, struct error *err)
{
    static const char *const keys[] = {"scenario", "about",    "defaults", "data",     "layers", "network", "networks", "sequences",
                                       "axes",     "variants", "time",     "counters", "on",     "answers", NULL};
    ((struct parsed *)s->parsed)->root = s->root;
    return node_check_keys(s->root, "a scenario", keys, err) && parse_name(s, err) && parse_layers(s, err) && parse_data(s, err) &&
           axes_parse(s, node_get(s->root, "axes"), err) && networks_parse(s, err) && sequences_parse(s, err) && parse_variants(s, err) &&
           parse_time(s, err) && parse_counters(s, err) && parse_on(s, err) && answers_parse(s, node_get(s->root, "answers"), err);
}

struct scenario *scenario_load(const char *path, struct error *err)
{
    return scenario_load_over(path, NULL, err);
}

struct scenario *scenario_load_over(const char *path, const char *below, struct error *err)
{
    struct scenario *s = xcalloc(1, sizeof *s);
    size_t bytes;
    bool ok = false;
    SCOPED char *text = file_read(path, NODE_MAX_BYTES, &bytes, err);
    if (!text)
        goto done;
    hash_bytes(text, bytes, s->hash);
    s->path = xstrdup(path);
    struct parsed *p = s->parsed = xcalloc(1, sizeof *p);
    p->folder = file_dir(path);
    s->root = node_parse_text(path, text, bytes, 1, 1, err);
    if (s->root && s->root->kind == NODE_MAP && below && !node_get(s->root, "layers")) {
        s->below = node_parse_text("the run's scenario", below, strlen(below), 1, 1, err);
        if (!s->below || !node_inherit(s->root, s->below, err))
            goto done;
    }
    if (!s->root || !scenario_parse(s, err))
        goto done;
    ok = true;
done:
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
    SCOPED struct parsed *p = s->parsed;
    if (p) {
        axes_free(p);
        free(p->folder);
    }
    networks_free(s);
    sequences_free(s);
    FREE_ALL(s->layers, s->variants, s->counters, s->name, s->about, s->path);
    node_free(s->root);
    node_free(s->below);
    free(s);
}

char *scenario_emu(const struct scenario *s, const char *device)
{
    const struct parsed *p = s->parsed;
    const struct node *chip = node_get(node_get(p->on, "emu"), "chip");
    bool bare = !device || !strcmp(device, "emu"), unchecked = device && !strcmp(device, "emu:no-check");
    return chip && (bare || unchecked) ? text_format("emu:%s%s", chip->text, unchecked ? ",no-check" : "") : NULL;
}
