/* Reads sequences: layers that run over the frames of a video, from a file or made up. */
#include "base/file.h"
#include "base/text.h"
#include "plan/scenario/private.h"
#include "op/file/ops.h"
#include <stdlib.h>
#include <string.h>

void sequences_free(struct scenario *s)
{
    for (int i = 0; i < s->sequence_count; i++) {
        FREE_ALL(s->sequences[i].name, s->sequences[i].layers, s->sequences[i].with, s->sequences[i].video);
        for (int k = 0; k < s->sequences[i].axis_count; k++) {
            free(s->sequences[i].axes[k].axis);
            free(s->sequences[i].axes[k].value);
        }
    }
    free(s->sequences);
}

/* True for layers through which changes can pass: convolutions with a bias and an activation, and ops that need neither. */
static bool layer_fits(const struct node *n, const struct layer *layer, struct error *err)
{
    const struct work *w = &layer->work;
    bool plain = w->op->passes_changes;
    for (int i = 0; i < w->epilogue_count; i++)
        plain &= w->epilogue[i].kind == EPILOGUE_BIAS || w->epilogue[i].kind == EPILOGUE_RELU || w->epilogue[i].kind == EPILOGUE_LEAKY_RELU;
    if (!plain)
        return node_error(n, err,
                          "sequence: layer '%s' must be a convolution with at most bias and activation after it, or upsample, "
                          "upsample_bilinear, pool_average, pool_max, add or concat",
                          layer->name);
    return w->mask.pattern == MASK_NONE ||
           node_error(n, err, "sequence: layer '%s' must have no mask; the frames make their masks", layer->name);
}

/* `add`, or `{layer: add, with: first}`: returns the layer's index in the scenario, -1 on error; *with: index in the sequence of the other
 * layer. */
static int parse_item(const struct node *n, const char *const *names, const struct scenario_sequence *q, int *with, struct error *err)
{
    static const char *const keys[] = {"layer", "with", NULL};
    *with = -1;
    if (n->kind != NODE_MAP)
        return node_word(n, "sequence: layer", names, err);
    const struct node *other = node_get(n, "with"), *layer = node_get(n, "layer");
    if (!node_check_keys(n, "a layer of a sequence", keys, err))
        return -1;
    if (!layer || !other) {
        node_error(n, err, "sequence: '%s' is missing, as in {layer: add, with: first}", layer ? "with" : "layer");
        return -1;
    }
    const char *name = node_text(other, "with", err);
    if (!name)
        return -1;
    for (int i = q->layer_count - 1; i >= 0 && *with < 0; i--) /* its last run */
        if (!strcmp(q->layers[i]->name, name))
            *with = i;
    if (*with < 0) {
        node_error(other, err, "sequence: no layer '%s' runs before this one", name);
        return -1;
    }
    return node_word(layer, "sequence: layer", names, err);
}

static bool fits_second(const struct node *n, const struct scenario_sequence *q, const struct layer *layer, int with, struct error *err)
{
    const struct work *w = &layer->work;
    struct tensor second;
    bool two = work_tensor(w, "second", &second);
    if (two != (with >= 0))
        return node_error(n, err,
                          with < 0 ? "sequence: layer '%s' (op %s) has two inputs: name the other with {layer: %s, with: NAME}"
                                   : "sequence: layer '%s' is %s, which takes no `with`",
                          layer->name, w->op->name, layer->name);
    if (with < 0)
        return true;
    int64_t wanted = second.dim[1];
    return q->layers[with]->work.k == wanted ||
           node_error(n, err, "sequence: layer '%s' takes %lld channels of '%s', which outputs %lld", layer->name, (long long)wanted,
                      q->layers[with]->name, (long long)q->layers[with]->work.k);
}

static bool parse_layers(struct scenario *s, const struct node *of, struct scenario_sequence *q, struct error *err)
{
    const char **names = scenario_layer_names(s);
    bool ok = of && of->kind == NODE_LIST && of->count > 0 && of->count <= 64;
    if (!ok)
        node_error(of ? of : q->node, err, "sequence: 'of' must be a list of 1 to 64 layers, in the order in which they run");
    q->layers = xcalloc(ok ? (size_t)of->count : 1, sizeof *q->layers);
    q->with = xcalloc(ok ? (size_t)of->count : 1, sizeof *q->with);
    int with, convolutions = 0;
    for (int i = 0; ok && i < of->count; i++) {
        int at = parse_item(of->items[i], names, q, &with, err);
        ok = at >= 0 && layer_fits(of->items[i], &s->layers[at], err) && fits_second(of->items[i], q, &s->layers[at], with, err);
        if (!ok)
            break;
        q->with[q->layer_count] = with;
        convolutions += s->layers[at].work.op == op_for(TASK_SEQUENCE);
        const struct layer *layer = q->layers[q->layer_count++] = &s->layers[at];
        const struct work *w = &layer->work, *before = i ? &q->layers[i - 1]->work : NULL;
        if (before && (w->c != before->k || w->n != before->n || w->dtype != before->dtype || w->layout != before->layout))
            ok = node_error(of->items[i], err, "sequence: layer '%s' takes %lld channels, %s %s, but '%s' before it outputs %lld, %s %s",
                            layer->name, (long long)w->c, dtype_name(w->dtype), layout_name(w->layout), q->layers[i - 1]->name,
                            (long long)before->k, dtype_name(before->dtype), layout_name(before->layout));
    }
    free((void *)(uintptr_t)names);
    if (ok && !convolutions)
        return node_error(of, err, "sequence: none of its layers is a conv2d, which the variants of its rows need");
    return ok;
}

static bool take_mask(void *context, const struct node *n, const struct mask *mask, char *label, struct error *err)
{
    struct mask *to = context;
    free(label);
    if (mask->pattern == MASK_NONE || mask->pattern == MASK_FILE)
        return node_error(n, err, "sequence: changes must be a pattern of pixels, such as {pattern: box, density: 0.05}");
    if (to->pattern != MASK_NONE)
        return node_error(n, err, "sequence: changes must be one pattern without a seed: the seed is the frame number");
    *to = *mask;
    return true;
}

static bool parse_frames(struct scenario *s, const struct node *map, struct scenario_sequence *q, struct error *err)
{
    const struct node *frames = node_get(map, "frames"), *changes = node_get(map, "changes"), *video = node_get(map, "video"),
                      *noise = node_get(map, "noise");
    const struct parsed *p = s->parsed;
    int64_t count = 0;
    if (!frames || !node_int(frames, "frames", 2, 10000, &count, err))
        return frames ? false : node_error(map, err, "sequence: 'frames' is missing: the number of frames with the first");
    q->frames = (int)count;
    if (!changes == !video)
        return node_error(video ? video : map, err, "sequence: either 'changes' (a pattern) or 'video' (a file) is needed");
    if (noise && !node_real(noise, "noise", 0, 1, &q->noise, err))
        return false;
    if (changes)
        return masks_parse(s, changes, &(struct mask){0}, &(struct mask_sink){&q->changes, take_mask}, err);
    const char *text = node_text(video, "video", err);
    if (!text)
        return false;
    q->video = strcmp(p->folder, ".") ? file_join(p->folder, text) : xstrdup(text);
    int64_t c = q->layers[0]->work.c;
    return c == 1 || c == 3 ||
           node_error(video, err, "sequence: a video has 1 or 3 channels, but layer '%s' takes %lld", q->layers[0]->name, (long long)c);
}

/* `truncate: {max: 0.01}` */
static bool parse_truncate(const struct node *n, struct scenario_sequence *q, struct error *err)
{
    if (!n)
        return true;
    if (n->kind != NODE_MAP || n->count != 1)
        return node_error(n, err, "truncate: {max: 0.01}, {l2: 0.01} or {rms: 0.01} is expected");
    int kind = node_word(n->keys[0], "truncate", truncate_names, err);
    q->truncate = (enum truncate)kind;
    return kind >= 0 && node_real(n->items[0], "truncate", 0, 1e6, &q->truncate_above, err);
}

/* Item i of a list, or the one value. */
static const struct node *one_of(const struct node *n, int i)
{
    return n && n->kind == NODE_LIST ? n->items[i] : n;
}

static int list_length(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);
    return n && n->kind == NODE_LIST ? n->count : 1;
}

enum { THRESHOLD, TRUNCATE };
const char *const sequence_settings[] = {[THRESHOLD] = "threshold", [TRUNCATE] = "truncate", NULL};

char *sequence_setting(const struct scenario_sequence *q, const char *name)
{
    if (!strcmp(name, sequence_settings[THRESHOLD]))
        return text_format("%g", q->threshold);
    if (!strcmp(name, sequence_settings[TRUNCATE]))
        return text_format("%s:%g", truncate_names[q->truncate], q->truncate_above);
    return NULL;
}

/* The coordinates of lists: "threshold=0.02", "truncate=rms:0.01". */
static void add_axis(struct scenario_sequence *q, const char *name, double number)
{
    q->axes[q->axis_count++] = (struct coordinate){xstrdup(name), sequence_setting(q, name), number, false};
}

static void add_axes(struct scenario_sequence *q, bool threshold, bool truncate)
{
    if (threshold)
        add_axis(q, sequence_settings[THRESHOLD], q->threshold);
    if (truncate)
        add_axis(q, sequence_settings[TRUNCATE], q->truncate_above);
}

/* The sequence with one of its thresholds and one of its truncations. */
static bool parse_sequence(struct scenario *s, const struct node *key, const struct node *map, const int at[2], struct error *err)
{
    static const char *const keys[] = {"of", "frames", "changes", "video", "noise", "threshold", "truncate", "bound", NULL};
    struct scenario_sequence *q = &s->sequences[s->sequence_count++];
    *q = (struct scenario_sequence){.node = map};
    if (!scenario_name_ok(key, "a sequence's name", err) || !node_check_keys(map, "a sequence", keys, err))
        return false;
    q->name = xstrdup(key->text);
    for (int i = 0; i < s->layer_count; i++)
        if (!strcmp(s->layers[i].name, q->name))
            return node_error(key, err, "sequence '%s' has the name of a layer", q->name);
    const struct node *thresholds = node_get(map, "threshold"), *truncates = node_get(map, "truncate"), *bound = node_get(map, "bound"),
                      *threshold = one_of(thresholds, at[0]);
    if (!bound)
        return node_error(map, err,
                          "sequence: 'bound' is missing: the largest error allowed, over the root mean square of the dense result");
    return parse_layers(s, node_get(map, "of"), q, err) && parse_frames(s, map, q, err) &&
           (!threshold || node_real(threshold, "threshold", 0, 1e6, &q->threshold, err)) &&
           parse_truncate(one_of(truncates, at[1]), q, err) && node_real(bound, "bound", 0, 1e6, &q->bound, err) &&
           (add_axes(q, thresholds != threshold, truncates != one_of(truncates, at[1])), true);
}

bool sequences_parse(struct scenario *s, struct error *err)
{
    const struct node *map = node_get(s->root, "sequences");
    if (!map)
        return true;
    if (map->kind != NODE_MAP || !map->count || map->count > SCENARIO_MAX_ITEMS)
        return node_error(
            map, err,
            "sequences: a map of names, like {street: {of: [body], frames: 8, changes: {pattern: box, density: 0.05}, bound: 0.05}}");
    for (int i = 0, room = 0; i < map->count; i++) {
        int counts[2] = {list_length(map->items[i], "threshold"), list_length(map->items[i], "truncate")};
        if (counts[0] > SCENARIO_MAX_ITEMS || counts[1] > SCENARIO_MAX_ITEMS || counts[0] * counts[1] > SCENARIO_MAX_ITEMS)
            return node_error(map->items[i], err, "sequence: more than %d pairs of a threshold and a truncation", SCENARIO_MAX_ITEMS);
        if (!counts[0] || !counts[1])
            return node_error(map->items[i], err, "sequence: an empty list of thresholds or truncations");
        room += counts[0] * counts[1];
        s->sequences = xrealloc(s->sequences, (size_t)room * sizeof *s->sequences);
        for (int k = 0; k < counts[0] * counts[1]; k++)
            if (!parse_sequence(s, map->keys[i], map->items[i], (int[]){k / counts[1], k % counts[1]}, err))
                return false;
    }
    return true;
}
