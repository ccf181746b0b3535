/* Reads masks: a pattern, its density, and its seed. */
#include "base/file.h"
#include "base/frames.h"
#include "base/text.h"
#include "plan/scenario/private.h"
#include <ctype.h>
#include <string.h>

bool marks_parse(const struct node *map, struct mask *out, struct error *err)
{
    static const char *const marks[] = {"input", "output", "both", NULL};
    const struct node *n = node_get(map, "marks");
    int mark = n ? node_word(n, "marks", marks, err) : 0;
    out->marks_output = mark == 1;
    out->marks_both = mark == 2;
    return mark >= 0;
}

bool layer_takes_mask(const struct layer *layer)
{
    struct work work = layer->work;
    work.mask = (struct mask){.pattern = MASK_FULL, .density = 1};
    return work_finish(&work, NULL);
}

/* A mask file is relative to the scenario's folder. The id has its name as written, in letters that an id may have. `frame` replaces the
 * name's %d; < 0: none is given, and the reader takes the first. */
static bool parse_path(const struct scenario *s, const struct node *n, int frame, struct mask *mask, struct text *label, struct error *err)
{
    const struct parsed *p = s->parsed;
    const char *text = node_text(n, "path", err);
    struct mask numbered = {.pattern = MASK_FILE};
    char name[sizeof numbered.path + 128];
    if (!text)
        return false;
    if (!*text)
        return node_error(n, err, "path: it is empty");
    if (strlen(text) >= sizeof numbered.path)
        return node_error(n, err, "path: longer than %zu characters", sizeof mask->path - 1);
    strcpy(numbered.path, text);
    if (frame >= 0) {
        mask_frame_path(&numbered, frame, name, sizeof name);
        text = name;
    }
    SCOPED char *path = strcmp(p->folder, ".") ? file_join(p->folder, text) : xstrdup(text);
    bool fits = strlen(path) < sizeof mask->path;
    mask->line = n->line;
    mask->column = n->column;
    if (fits)
        strcpy(mask->path, path);
    else
        node_error(n, err, "path: longer than %zu characters", sizeof mask->path - 1);
    text_add(label, ":");
    for (; *text; text++)
        text_addf(label, "%c", isalnum((unsigned char)*text) || strchr("_-.", *text) ? *text : '_');
    return fits;
}

static bool check_wants(const struct node *n, enum mask_pattern p, struct error *err)
{
    const struct {
        const char *key;
        bool wanted, needed;
    } keys[] = {{"frame", mask_pattern_keys[p] & MASK_PATH, false},
                {"density", mask_pattern_keys[p] & MASK_DENSITY, true},
                {"radius", mask_pattern_keys[p] & MASK_RADIUS, false},
                {"seed", mask_pattern_keys[p] & MASK_SEED, false},
                {"path", mask_pattern_keys[p] & MASK_PATH, true}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct node *value = node_get(n, keys[i].key);
        if (value && !keys[i].wanted)
            return node_error(node_key(n, keys[i].key), err, "mask: pattern %s has no %s", mask_pattern_names[p], keys[i].key);
        if (!value && keys[i].wanted && keys[i].needed)
            return node_error(n, err, "mask: pattern %s needs a %s", mask_pattern_names[p], keys[i].key);
    }
    return true;
}

/* Item i of a list, or the single value; NULL if absent. */
static int values_of(const struct node *n)
{
    return n && n->kind == NODE_LIST ? n->count : 1;
}
static const struct node *value_of(const struct node *n, int i)
{
    return n && n->kind == NODE_LIST ? n->items[i] : n;
}

char *mask_value_label(const struct mask *mask, bool density, bool seed)
{
    struct text label = {0};
    char text[32];
    text_add(&label, mask_pattern_names[mask->pattern]);
    if (mask_pattern_keys[mask->pattern] & MASK_RADIUS)
        text_addf(&label, "%lld", (long long)mask->radius);
    if (density) {
        mask_density_text(mask->density, text, sizeof text);
        text_addf(&label, ":%s", text);
    }
    if (seed)
        text_addf(&label, ":%lld", (long long)mask->seed);
    return text_take(&label);
}

static bool add_one(const struct scenario *s, const struct node *n, struct mask mask, const struct node *density, const struct node *seed,
                    int frame, const struct mask_sink *sink, struct error *err)
{
    int64_t value = 1;
    if (density && !node_real(density, "density", 0, 1, &mask.density, err))
        return false;
    if (seed && !node_int(seed, "seed", 0, INT64_MAX, &value, err))
        return false;
    mask.seed = mask_pattern_keys[mask.pattern] & MASK_SEED ? (uint64_t)value : 0;
    SCOPED char *said = mask_value_label(&mask, density != NULL, seed != NULL);
    SCOPED_TEXT label = {0};
    text_add(&label, said);
    if ((mask_pattern_keys[mask.pattern] & MASK_PATH) && !parse_path(s, node_get(n, "path"), frame, &mask, &label, err))
        return false;
    return sink->add(sink->context, n, &mask, text_take(&label), err);
}

/* `frame: 3`, `frame: [1, 5]` or `frame: {from: 1, to: 30, step: 2}`; 0 if not given. */
static bool add_frames(const struct scenario *s, const struct node *n, struct mask mask, const struct mask_sink *sink, struct error *err)
{
    static const char *const keys[] = {"from", "to", "step", NULL};
    const struct node *frame = node_get(n, "frame"), *path = node_get(n, "path");
    int64_t value = 0, from = 0, to = 0, step = 1;
    if (frame && path->kind == NODE_SCALAR && !frames_numbered(path->text))
        return node_error(frame, err, "frame: the path needs %%d for the frame number");
    if (frame && frame->kind == NODE_MAP) {
        const struct node *f = node_get(frame, "from"), *t = node_get(frame, "to"), *by = node_get(frame, "step");
        if (!node_check_keys(frame, "frame", keys, err))
            return false;
        if (!f || !t)
            return node_error(frame, err, "frame: a range must be {from: 1, to: 30}, with a step if it is not 1");
        if (!node_int(f, "from", 0, 1000000, &from, err) || !node_int(t, "to", from, 1000000, &to, err) ||
            (by && !node_int(by, "step", 1, 1000000, &step, err)))
            return false;
        if ((to - from) / step >= SCENARIO_MAX_VALUES)
            return node_error(frame, err, "mask: more than %d masks in one entry", SCENARIO_MAX_VALUES);
        for (value = from; value <= to; value += step)
            if (!add_one(s, n, mask, NULL, NULL, (int)value, sink, err))
                return false;
        return true;
    }
    if (!values_of(frame))
        return node_error(frame, err, "mask: the list is empty");
    for (int i = 0; i < values_of(frame); i++) {
        const struct node *one = value_of(frame, i);
        if (one && !node_int(one, "frame", 0, 1000000, &value, err))
            return false;
        if (!add_one(s, n, mask, NULL, NULL, one ? (int)value : -1, sink, err))
            return false;
    }
    return true;
}

bool masks_parse(const struct scenario *s, const struct node *n, const struct mask *marks, const struct mask_sink *sink, struct error *err)
{
    static const char *const keys[] = {"pattern", "density", "radius", "seed", "path", "frame", NULL};
    struct mask mask = {.pattern = MASK_NONE};
    const struct node *pattern = n, *density = node_get(n, "density"), *seed = node_get(n, "seed");
    if (n->kind == NODE_MAP) {
        if (!node_check_keys(n, "mask", keys, err))
            return false;
        pattern = node_get(n, "pattern");
        if (!pattern)
            return node_error(n, err, "mask: 'pattern' is missing");
    }
    int p = node_word(pattern, "mask", mask_pattern_names, err);
    if (p < 0)
        return false;
    mask.pattern = (enum mask_pattern)p;
    if (!check_wants(n, mask.pattern, err)) {
        if (n->kind != NODE_MAP)
            error_hint(err,
                       mask_pattern_keys[p] & MASK_DENSITY ? "{pattern: %s, density: 0.1}" : "{pattern: %s, path: masks/frame_%%03d.pgm}",
                       mask_pattern_names[p]);
        return false;
    }
    mask.marks_output = p != MASK_NONE && marks->marks_output;
    mask.marks_both = p != MASK_NONE && marks->marks_both;
    if (mask_pattern_keys[p] & MASK_RADIUS)
        mask.radius = 24;
    if (node_get(n, "radius") && !node_int(node_get(n, "radius"), "radius", 1, 4096, &mask.radius, err))
        return false;
    if (!values_of(density) || !values_of(seed))
        return node_error(values_of(density) ? seed : density, err, "mask: the list is empty");
    if ((int64_t)values_of(density) * values_of(seed) > SCENARIO_MAX_VALUES)
        return node_error(n, err, "mask: more than %d masks in one entry", SCENARIO_MAX_VALUES);
    if (mask_pattern_keys[p] & MASK_PATH)
        return add_frames(s, n, mask, sink, err);
    for (int d = 0; d < values_of(density); d++)
        if (!ALL_OF(i, values_of(seed), add_one(s, n, mask, value_of(density, d), value_of(seed, i), 0, sink, err)))
            return false;
    return true;
}
