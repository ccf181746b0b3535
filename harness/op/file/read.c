/* Reads and checks an op's YAML; the result is a struct op_file. */
#include "op/file/private.h"
#include "base/file.h"
#include "base/text.h"
#include "op/file/values.h"
#include "op/shape.h"
#include "op/stage/stage.h"
#include <stdlib.h>
#include <string.h>

#define TOLERANCE_MOST 0.5 /* of a value: with 1, zeros pass */

/* {within: [h, w], sizes: [[34, 25], ...]}: width and height of rectangles, which take these sizes in turn */
static bool read_boxes(struct op_file *f, struct op_file_tensor *t, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"within", "sizes", NULL};
    const struct node *within = node_get(n, "within"), *sizes = node_get(n, "sizes");
    if (!within || within->kind != NODE_LIST || within->count != 2 || !sizes || sizes->kind != NODE_LIST || !sizes->count || t->rank != 2)
        return node_error(n, err, "boxes: a tensor of shape [count, 4] and {within: [h, w], sizes: [[34, 25]]} are expected");
    t->sizes = xcalloc((size_t)sizes->count, sizeof *t->sizes);
    for (int i = 0; i < sizes->count; i++) {
        const struct node *s = sizes->items[i];
        if (s->kind != NODE_LIST || s->count != 2)
            return node_error(s, err, "sizes: width and height are expected, like [34, 25]");
        if (!ALL_OF(k, 2, node_int(s->items[k], "sizes", 1, 1 << 20, &t->sizes[i][k], err)))
            return false;
        t->size_count++;
    }
    return node_check_keys(n, "boxes", keys, err) && (t->within[0] = op_file_expr(f, within->items[0], err)) &&
           (t->within[1] = op_file_expr(f, within->items[1], err));
}

static bool read_data(struct op_file *f, struct op_file_tensor *t, const struct node *n, struct error *err)
{
    static const char *const words[] = {"normal", "weight", "bias", "addend", "uniform", "bytes", "indices",
                                        "sorted", "boxes",  "npy",  "image",  "mask",    NULL};
    static const enum tensor_values values[] = {VALUES_OPERAND, VALUES_WEIGHT, VALUES_BIAS,  VALUES_ADDEND, VALUES_UNIFORM, VALUES_BYTES,
                                                VALUES_INDICES, VALUES_SORTED, VALUES_BOXES, VALUES_FILE,   VALUES_FILE,    VALUES_MASK};
    _Static_assert(sizeof words / sizeof *words == sizeof values / sizeof *values + 1, "a kind for each word");
    bool map = n && n->kind == NODE_MAP;
    int word = !n ? 0 : map && n->count != 1 ? -1 : node_word(map ? n->keys[0] : n, "data", words, err);
    const struct node *with = map && word >= 0 ? n->items[0] : NULL;
    t->role.values = word < 0 ? VALUES_OPERAND : f->tensor_count == 0 && values[word] == VALUES_OPERAND ? VALUES_INPUT : values[word];
    t->high = 1;
    if (map && n->count != 1)
        return node_error(n, err, "data: a word, or a map of one word, like {uniform: [0, 1]} or {indices: rows}");
    if (word < 0)
        return false;
    if (values[word] == VALUES_INDICES)
        return with ? (t->below = op_file_expr(f, with, err)) != NULL
                    : node_error(n, err, "data: indices need an upper limit, such as {indices: rows}");
    if (values[word] == VALUES_BOXES)
        return read_boxes(f, t, with ? with : n, err);
    if (values[word] == VALUES_FILE) {
        const char *name = with ? node_text(with, words[word], err) : NULL;
        t->values_file = name ? file_beside(f->path, name) : NULL;
        if (name && text_ends(name, ".npy") != !strcmp(words[word], "npy"))
            return node_error(with, err, "data: `npy:` is a .npy file, `image:` a picture (PNG, PPM, PGM)");
        return name || (!with && node_error(n, err, "data: a file is expected, such as {npy: input.npy} or {image: photo.png}"));
    }
    if (values[word] == VALUES_MASK)
        return with ? node_real(with, "mask", 0, 1, &t->high, err)
                    : node_error(n, err, "data: the share of ones is expected, such as {mask: 0.25}");
    if (values[word] == VALUES_UNIFORM && with)
        return (with->kind == NODE_LIST && with->count >= 2 && with->count <= 4) ||
                       node_error(with, err, "uniform: a list of two to four is expected, like [0, 1] or [0, 1, 100]")
                   ? node_real(with->items[0], "uniform", -1e30, 1e30, &t->low, err) &&
                         node_real(with->items[1], "uniform", t->low, 1e30, &t->high, err) &&
                         (with->count == 2 || node_real(with->items[2], "uniform", -1e30, 1e30, &t->step, err)) &&
                         (with->count < 4 || node_real(with->items[3], "uniform", -1e30, 1e30, &t->level, err))
                   : false;
    return !with || node_error(with, err, "data: %s takes no value", words[word]);
}

/* `specials: [inf, -inf, nan]`, or one of them. */
static bool read_specials(struct op_file_tensor *t, const struct node *n, struct error *err)
{
    static const char *const words[] = {"inf", "-inf", "nan", NULL};
    enum tensor_values values = t->role.values;
    bool real = (!t->role.dtype || !dtype_is_whole(t->role.dtype)) && !t->role.output &&
                (values == VALUES_INPUT || values == VALUES_OPERAND || values == VALUES_WEIGHT || values == VALUES_BIAS ||
                 values == VALUES_ADDEND || values == VALUES_UNIFORM);
    if (n && !real)
        return node_error(n, err, "specials: only an input of random real values can have them");
    for (int i = 0; n && i < (n->kind == NODE_LIST ? n->count : 1); i++) {
        int word = node_word(n->kind == NODE_LIST ? n->items[i] : n, "specials", words, err);
        if (word < 0)
            return false;
        t->specials |= 1u << word;
    }
    return true;
}

/* Of a result; without one of its own, the op's. */
static bool read_tolerance(struct op_file *f, struct op_file_tensor *t, const struct node *own, struct error *err)
{
    const struct node *n = own ? own : t->role.output ? node_get(f->root, "tolerance") : NULL;
    if (n && !t->role.output)
        return node_error(n, err, "tensor '%s' is not written, so it cannot have a tolerance", t->role.name);
    if (n && !node_real(n, "tolerance", 1e-15, TOLERANCE_MOST, &t->tolerance, err))
        return false;
    f->tolerance = t->tolerance > f->tolerance ? t->tolerance : f->tolerance;
    return true;
}

static const char *const not_wide = "ops of images and of stages compute in f32";

static bool may_be_wide(const struct op_file *f)
{
    return !op_file_is_image(f) && !node_get(f->root, "stages");
}

/* Of a tensor that is changed in place: what was read is NAME_before, an input with its contents before each launch; the result follows. */
static bool add_result(struct op_file *f, const struct node *key, struct op_file_tensor *t, struct error *err)
{
    struct node before = *key;
    if (f->tensor_count + 1 == OP_MAX_TENSORS)
        return node_error(key, err, "tensor '%s' is changed in place, which makes %d tensors; at most %d", key->text, OP_MAX_TENSORS + 1,
                          OP_MAX_TENSORS);
    if (t->role.constant)
        return node_error(key, err, "tensor '%s' is changed in place, so it cannot be constant", key->text);
    before.text = t->name = text_format("%s_before", key->text);
    if (!op_file_new_name(f, &before, "tensor", err))
        return false;
    struct op_file_tensor *to = &f->tensors[f->tensor_count + 1];
    *to = (struct op_file_tensor){.role = t->role,
                                  .node = key,
                                  .what = t->what,
                                  .shape = t->shape,
                                  .when = t->when,
                                  .layout = t->layout,
                                  .rank = t->rank,
                                  .image = t->image};
    t->role.name = to->role.before = t->name;
    t->role.contents = to->role.output = true;
    to->role.values = VALUES_OPERAND;
    to->role.slot = ++f->tensor_count;
    return true;
}

static bool read_tensor(struct op_file *f, const struct node *key, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"shape", "dtype", "data",     "written",   "constant", "layout",
                                       "when",  "what",  "specials", "tolerance", NULL},
                             *const layouts[] = {"linear", "image", "NCHW", "NHWC", NULL};
    struct op_file_tensor *t = &f->tensors[f->tensor_count];
    const struct node *shape = node_get(n, "shape"), *dtype = node_get(n, "dtype"), *data = node_get(n, "data"),
                      *written = node_get(n, "written"), *constant = node_get(n, "constant"), *layout = node_get(n, "layout"),
                      *when = node_get(n, "when"), *what = node_get(n, "what");
    if (n->kind != NODE_MAP)
        return node_error(n, err, "tensor '%s': a map is expected, like {shape: [rows, cols]}", key->text);
    if (!node_check_keys(n, key->text, keys, err) || !op_file_new_name(f, key, "tensor", err))
        return false;
    if (!shape || shape->kind != NODE_LIST || shape->count < 1 || shape->count > TENSOR_MAX_RANK)
        return node_error(shape ? shape : key, err,
                          "tensor '%s': a `shape:` of 1 to %d sizes is expected, outermost first, such as [rows, cols]", key->text,
                          TENSOR_MAX_RANK);
    *t = (struct op_file_tensor){.role = {.name = key->text, .slot = f->tensor_count}, .node = key};
    bool in_place = written && written->kind == NODE_SCALAR && !strcmp(written->text, "in place");
    int word = dtype ? node_word(dtype, "dtype", dtype_names, err) : 0, place = layout ? node_word(layout, "layout", layouts, err) : 0;
    if (word < 0 || place < 0 ||
        (written && !in_place && !node_bool(written, "written", &t->role.output, err) && !error_hint(err, "or `written: in place`")) ||
        (constant && !node_bool(constant, "constant", &t->role.constant, err)) || (what && !(t->what = node_text(what, "what", err))) ||
        !op_file_exprs(f, shape, &t->shape, &t->rank, err) || (when && !(t->when = op_file_expr(f, when, err))))
        return false;
    t->image = place > 0;
    t->layout = place == 2 ? LAYOUT_NCHW : place == 3 ? LAYOUT_NHWC : LAYOUT_NONE;
    t->role.dtype = dtype ? dtype_parse(dtype_names[word]) : DTYPE_NONE;
    t->role.layouts = t->layout ? BIT(t->layout) : t->image ? LAYOUTS_ALL : BIT(LAYOUT_LINEAR);
    if (t->image && t->rank != 4)
        return node_error(shape, err, "tensor '%s': an image has four axes, [n, c, h, w]", key->text);
    if (t->role.dtype == DTYPE_F64 && !may_be_wide(f))
        return node_error(dtype, err, "tensor '%s': f64: %s", key->text, not_wide);
    if (t->role.output && data)
        return node_error(data, err, "tensor '%s' is written, so it cannot have data (`written: in place` can)", key->text);
    if (!read_data(f, t, data, err) || !read_specials(t, node_get(n, "specials"), err))
        return false;
    if (in_place && !add_result(f, key, t, err))
        return false;
    return read_tolerance(f, &f->tensors[f->tensor_count++], node_get(n, "tolerance"), err);
}

static bool read_tensors(struct op_file *f, const struct node *n, struct error *err)
{
    const struct tensor_role **roles = xcalloc(OP_MAX_TENSORS + 1, sizeof *roles);
    bool reads = false, writes = false;
    f->op.roles = roles;
    if (!n || n->kind != NODE_MAP)
        return node_error(n ? n : f->root, err, "an op needs `tensors:`, a map: {input: {shape: [n]}, output: {shape: [n], written: yes}}");
    if (n->count > OP_MAX_TENSORS)
        return node_error(n, err, "%d tensors; at most %d", n->count, OP_MAX_TENSORS);
    if (!ALL_OF(i, n->count, read_tensor(f, n->keys[i], n->items[i], err)))
        return false;
    for (int i = 0; i < f->tensor_count; i++) {
        roles[i] = &f->tensors[i].role;
        f->op.layouts |= f->tensors[i].layout ? 0 : f->tensors[i].role.layouts;
        reads |= !f->tensors[i].role.output;
        f->exact &= f->tensors[i].role.values != VALUES_FILE || node_get(f->root, "exact"); /* a file's values are what they are */
        writes |= f->tensors[i].role.output;
    }
    f->op.layouts = f->op.layouts & LAYOUTS_ALL ? LAYOUTS_ALL : BIT(LAYOUT_LINEAR);
    if (!reads || f->tensors[0].role.output)
        return node_error(n, err, "tensors: the first one must be an input (`same` in heads refers to it)");
    return writes || node_error(n, err, "tensors: at least one must be `written: yes`");
}

static bool read_dtypes(struct op_file *f, const struct node *n, struct error *err)
{
    int total = !n ? 0 : n->kind == NODE_LIST ? n->count : 1;
    if (!n)
        f->op.dtypes = BIT(DTYPE_F32);
    for (int i = 0; i < total; i++) {
        int word = node_word(n->kind == NODE_LIST ? n->items[i] : n, "dtype", dtype_names, err);
        if (word < 0)
            return false;
        if (dtype_parse(dtype_names[word]) == DTYPE_F64 && !may_be_wide(f))
            return node_error(n->kind == NODE_LIST ? n->items[i] : n, err, "dtype: f64: %s", not_wide);
        f->op.dtypes |= BIT(dtype_parse(dtype_names[word]));
    }
    return f->op.dtypes || node_error(n, err, "dtype: an empty list");
}

/* A reference gives a result, and an array of its size: the magnitude that errors are relative to, or the bound of an error. */
static const char *const behind[] = {"", "_magnitude", "_bound"};
#define BEHIND (sizeof behind / sizeof *behind)

/* The names of what a reference may give for the written tensors. Returns how many; the caller frees each. */
static int result_names(const struct op_file *f, char *names[OP_MAX_TENSORS * BEHIND])
{
    int count = 0;
    for (int i = 0; i < f->tensor_count; i++)
        for (size_t k = 0; k < BEHIND && f->tensors[i].role.output; k++)
            names[count++] = text_format("%s%s", f->tensors[i].role.name, behind[k]);
    return count;
}

/* A result has a magnitude or a bound: both would be one array. */
static bool one_scale(const struct op_file *f, const char *word, const struct node *n, struct error *err)
{
    for (size_t k = 1; k < BEHIND; k++) {
        if (!text_ends(word, behind[k]))
            continue;
        SCOPED char *other = text_format("%.*s%s", (int)(strlen(word) - strlen(behind[k])), word, behind[3 - k]);
        if (ANY_OF(i, f->arg_count, !strcmp(f->args[i], other)))
            return node_error(n, err, "args: %s and %s: a result has one of them", other, word);
    }
    return true;
}

/* An argument of the reference kernel is a tensor, an array that belongs to a written one (NAME_magnitude, NAME_bound), a field or a let.
 */
static bool read_args(struct op_file *f, const struct node *n, struct error *err)
{
    const char *words[OP_MAX_TENSORS * BEHIND + WORK_VALUES * 2 + 6];
    char *made[OP_MAX_TENSORS * BEHIND];
    int count = 0, more = result_names(f, made);
    bool ok = n && n->kind == NODE_LIST && n->count;
    for (int i = 0; i < f->tensor_count; i++)
        if (!f->tensors[i].role.output)
            words[count++] = f->tensors[i].role.name;
    for (int i = 0; i < more; i++)
        words[count++] = made[i];
    for (int i = 0; f->symbol_names[i + 3]; i++)
        words[count++] = f->symbol_names[i];
    words[count++] = OP_FILE_ROUNDOFF;
    words[count++] = OP_FILE_SUM_ERROR;
    words[count] = NULL;
    if (!ok)
        node_error(n ? n : f->root, err,
                   "reference: `args:` is needed, a list of tensors and fields in the order of the kernel's parameters");
    f->args = xcalloc(ok ? (size_t)n->count + 1 : 1, sizeof *f->args);
    for (int i = 0; ok && i < n->count; i++) {
        int word = node_word(n->items[i], "args", words, err);
        ok = word >= 0 && one_scale(f, words[word], n->items[i], err);
        if (ok)
            f->args[f->arg_count++] = xstrdup(words[word]);
    }
    while (more)
        free(made[--more]);
    return ok;
}

static bool read_kernel(struct op_file *f, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"kernel", "source", "threads", "args", NULL};
    const struct node *source = node_get(n, "source"), *threads = node_get(n, "threads");
    const char *name = node_check_keys(n, "reference", keys, err) ? node_text(node_get(n, "kernel"), "kernel", err) : NULL;
    if (!name || (source && !node_text(source, "source", err)))
        return false;
    if (!threads)
        return node_error(n, err, "reference: `threads:` is needed, the number of threads of the launch, such as rows * cols");
    SCOPED char *usual = text_format("%s.cu", f->op.name);
    f->from = REFERENCE_KERNEL;
    f->function = xstrdup(name);
    f->source = file_beside(f->path, source ? source->text : usual);
    if (!file_exists(f->source))
        return node_error(source ? source : n, err, "reference: there is no %s", f->source);
    return (f->threads = op_file_expr(f, threads, err)) && read_args(f, node_get(n, "args"), err);
}

static bool read_python(struct op_file *f, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"python", NULL};
    const struct node *where = node_get(n, "python");
    const char *text = node_check_keys(n, "reference", keys, err) ? node_text(where, "python", err) : NULL,
               *colon = text ? strrchr(text, ':') : NULL;
    if (!text)
        return false;
    if (!colon || colon == text || !colon[1])
        return node_error(where, err, "python: FILE:FUNCTION is expected, like softmax.py:softmax");
    SCOPED char *file = xstrndup(text, (size_t)(colon - text));
    f->from = REFERENCE_PYTHON;
    f->function = xstrdup(colon + 1);
    f->source = file_beside(f->path, file);
    return file_exists(f->source) || node_error(where, err, "reference: there is no %s", f->source);
}

/* The file of a result's magnitudes or bounds, if there is one. */
static bool read_sizes(const struct op_file *f, struct op_file_tensor *t, const struct node *files, struct error *err)
{
    for (size_t k = 1; k < BEHIND; k++) {
        SCOPED char *name = text_format("%s%s", t->role.name, behind[k]);
        bool tensor = ANY_OF(i, f->tensor_count, !strcmp(f->tensors[i].role.name, name));
        const struct node *file = tensor ? NULL : node_get(files, name);
        if (!file)
            continue;
        if (t->sizes_npy)
            return node_error(file, err, "npy: %s_magnitude and %s: a result has one of them", t->role.name, name);
        if (!node_text(file, "npy", err))
            return false;
        t->sizes_npy = file_beside(f->path, file->text);
        t->bounds = !strcmp(behind[k], "_bound");
    }
    return true;
}

static bool read_npy(struct op_file *f, const struct node *n, struct error *err)
{
    const struct node *files = node_get(n, "npy");
    f->from = REFERENCE_NPY;
    if (files->kind != NODE_MAP)
        return node_error(files, err, "npy: a map of the written tensors is expected, like {output: output.npy}");
    for (int i = 0; i < f->tensor_count; i++) {
        struct op_file_tensor *t = &f->tensors[i];
        const struct node *file = node_get(files, t->role.name);
        if (t->role.output && (!file || !node_text(file, "npy", err)))
            return node_error(files, err, "npy: no file for the written tensor %s", t->role.name);
        if (!t->role.output && t->role.values != VALUES_FILE)
            return node_error(t->node, err,
                              "reference npy: tensor %s needs `data: {npy: FILE}` too: the result in a file belongs to one input",
                              t->role.name);
        if (t->role.output)
            t->reference_npy = file_beside(f->path, file->text);
        if (t->role.output && !read_sizes(f, t, files, err))
            return false;
    }
    char *names[OP_MAX_TENSORS * BEHIND + 1];
    int count = result_names(f, names);
    names[count] = NULL;
    bool ok = node_check_keys(files, "npy", (const char *const *)names, err);
    while (count)
        free(names[--count]);
    return ok;
}

static bool read_reference(struct op_file *f, struct error *err)
{
    static const char *const keys[] = {"kernel", "source", "threads", "args", "python", "npy", NULL};
    const struct node *n = node_get(f->root, "reference");
    if (!n && f->stages)
        return stage_reference(f);
    if (!n)
        return node_error(f->root, err, "an op needs a `reference:`: a kernel in double, a Python function, or .npy files");
    if (!node_check_keys(n, "reference", keys, err))
        return false;
    if (node_get(n, "kernel"))
        return read_kernel(f, n, err);
    if (node_get(n, "python"))
        return read_python(f, n, err);
    return node_get(n, "npy") ? read_npy(f, n, err) : node_error(n, err, "reference: `kernel:`, `python:` or `npy:` is expected");
}

/* Checks the keys of a layer of `trial:`: the op's fields, and those that every layer may have. */
static bool check_layer(const struct op_file *f, const struct node *layer, const char *name, struct error *err)
{
    static const char *const common[] = {"dtype", "layout", "math", "epilogue", "mask", "marks", "repeat", "variants", NULL};
    SCOPED const char **names = xcalloc((size_t)f->field_count + sizeof common / sizeof *common, sizeof *names);
    SCOPED char *what = text_format("trial: layer '%.60s'", name);
    for (int i = 0; i < f->field_count; i++)
        names[i] = f->op.fields[i].name;
    memcpy(names + f->field_count, common, sizeof common);
    return node_check_keys(layer, what, names, err);
}

/* Reads `trial:` and `crop:`. The values of the layers are checked when bench try reads them as a scenario. */
static bool read_trial(struct op_file *f, struct error *err)
{
    const struct node *trial = node_get(f->root, "trial"), *crop = node_get(f->root, "crop");
    struct text t = {0};
    if (!trial || trial->kind != NODE_MAP || !trial->count)
        return node_error(trial ? trial : f->root, err, "an op needs `trial:`, the layers of bench try: {usual: {rows: 1024, cols: 1000}}");
    text_add(&t, "layers:\n");
    for (int i = 0; i < trial->count; i++) {
        if (trial->items[i]->kind != NODE_MAP) {
            text_free(&t);
            return node_error(trial->items[i], err, "trial: layer '%s' must be a map, such as {rows: 1024}", trial->keys[i]->text);
        }
        if (!check_layer(f, trial->items[i], trial->keys[i]->text, err)) {
            text_free(&t);
            return false;
        }
        text_addf(&t, "  %s: {op: %s%s", trial->keys[i]->text, f->op.name, trial->items[i]->count ? ", " : "");
        SCOPED_TEXT layer = {0};
        node_write(trial->items[i], &layer);
        text_addf(&t, "%s\n", text_get(&layer) + 1); /* its own brace closes ours */
    }
    f->op.trial = text_take(&t);
    if (!crop)
        return true;
    SCOPED const char **names = xcalloc((size_t)f->field_count + 1, sizeof *names);
    int64_t ignored;
    for (int i = 0; i < f->field_count; i++)
        names[i] = f->op.fields[i].name;
    bool ok = node_check_keys(crop, "crop", names, err);
    ok = ok && ALL_OF(i, crop->count, node_int(crop->items[i], crop->keys[i]->text, 1, SHAPE_MAX_ELEMENTS, &ignored, err));
    node_write(crop, &t);
    f->op.crop = text_take(&t);
    return ok;
}

static bool is_condition(const struct node *n)
{
    return n->text && strcmp(n->text, "yes") != 0 && strcmp(n->text, "no") != 0;
}

static bool read_words(struct op_file *f, struct error *err)
{
    static const char *const keys[] = {"about", "fields", "let",       "needs",     "tensors",   "dtype", "math",
                                       "flop",  "bytes",  "terms",     "exact",     "stages",    "naive", "row0",
                                       "trial", "crop",   "reference", "tolerance", "error_rms", NULL},
                             *const of_images[] = {"about",   "fields",    "let",     "needs",  "tensors", "dtype",  "flop",
                                                   "terms",   "naive",     "row0",    "trial",  "crop",    "output", "reads",
                                                   "weight",  "magnitude", "taps",    "window", "second",  "mask",   "epilogue",
                                                   "changes", "sent",      "spreads", "exact",  NULL},
                             *const maths[] = {"none", NULL};
    const struct node *about = node_get(f->root, "about"), *naive = node_get(f->root, "naive"), *row0 = node_get(f->root, "row0"),
                      *math = node_get(f->root, "math"), *exact = node_get(f->root, "exact"), *error_rms = node_get(f->root, "error_rms");
    if (!node_check_keys(f->root, f->op.name, op_file_is_image(f) ? of_images : keys, err))
        return false;
    if (!about)
        return node_error(f->root, err, "an op needs `about:`, a sentence that says what it computes");
    f->exact = !node_get(f->root, "stages");
    f->op.about = node_text(about, "about", err);
    f->op.naive = naive ? node_text(naive, "naive", err) : node_get(f->root, "stages") ? STAGE_FAMILY "/apart" : "naive";
    f->op.row0 = row0 ? node_text(row0, "row0", err) : NULL;
    f->op.has_math = !math;
    return f->op.about && f->op.naive && (!row0 || f->op.row0) && (!math || node_word(math, "math", maths, err) >= 0) &&
           (!exact || is_condition(exact) || node_bool(exact, "exact", &f->exact, err)) &&
           (!error_rms || node_real(error_rms, "error_rms", 1e-6, 0.25, &f->error_rms, err));
}

/* `exact:` is yes, no, or a condition. */
static bool read_exact(struct op_file *f, struct error *err)
{
    const struct node *n = node_get(f->root, "exact");
    return !n || !is_condition(n) || (f->exact_if = op_file_expr(f, n, err)) != NULL;
}

/* Element count of the first tensor that is written, or of the one with the most axes that is only read. NULL: there is none. */
static char *elements_of(const struct op_file *f, bool written)
{
    struct text t = {0};
    int i = -1;
    for (int k = 0; k < f->tensor_count; k++)
        if (f->tensors[k].role.output == written && !f->tensors[k].role.contents &&
            (i < 0 || (!written && f->tensors[k].rank > f->tensors[i].rank)))
            i = k;
    for (int k = 0; i >= 0 && k < f->tensors[i].rank; k++) {
        const char *size = expr_text(f->tensors[i].shape[k]);
        bool plain = !strpbrk(size, " +-/%");
        text_addf(&t, "%s%s%s%s", k ? " * " : "", plain ? "" : "(", size, plain ? "" : ")");
    }
    return i < 0 ? NULL : text_take(&t);
}

static void free_exprs(struct expr **list, int count)
{
    for (int i = 0; list && i < count; i++)
        expr_free(list[i]);
    free(list);
}

static void free_tensor(struct op_file_tensor *t)
{
    FREE_ALL(t->reference_npy, t->sizes_npy);
    if (t->role.before) /* the contents have all of it */
        return;
    free_exprs(t->shape, t->rank);
    expr_free(t->when);
    expr_free(t->below);
    expr_free(t->within[0]);
    expr_free(t->within[1]);
    FREE_ALL(t->name, t->sizes, t->values_file);
}

/* Frees a file that was refused. */
static void op_file_free(struct op_file *f)
{
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        free_tensor(&f->tensors[i]);
    for (const struct op_field *field = f->op.fields; field && field->name; field++)
        free((void *)(uintptr_t)field->words);
    pointers_free(f->args, f->arg_count);
    FREE_ALL(f->op.name, f->op.fields, f->op.symbols, f->op.roles, f->op.trial, f->op.crop, f->op.elements, f->op.read, f->let_names,
             f->let_offsets, f->need_says, f->source, f->function, f->symbol_names, f->path, f->hash);
    free_exprs(f->lets, f->let_count + 1);
    free_exprs(f->needs, f->need_count);
    expr_free(f->flop);
    expr_free(f->bytes);
    expr_free(f->terms);
    expr_free(f->exact_if);
    expr_free(f->threads);
    op_image_free(f);
    stage_free_all(f);
    node_free(f->root);
    free(f);
}

struct op_file *op_file_read(const char *path, struct error *err)
{
    struct op_file *f = xcalloc(1, sizeof *f);
    size_t bytes;
    SCOPED char *text = file_read(path, NODE_MAX_BYTES, &bytes, err);
    char *real = realpath(path, NULL);
    f->path = real ? real : xstrdup(path);
    f->op = (struct op){.name = xstrndup(file_base(path), strlen(file_base(path)) - strlen(".yaml")),
                        .file = f,
                        .finish = op_file_finish,
                        .tensors = op_file_tensors,
                        .flop = op_file_flop,
                        .file_values = op_file_values};
    f->root = text ? node_parse_text(path, text, bytes, 1, 1, err) : NULL;
    bool ok =
        f->root &&
        (op_file_name_ok(f->op.name) || node_error(f->root, err, "the file name is the name of the op: lower case letters, digits, _")) &&
        read_words(f, err) && op_file_read_fields(f, node_get(f->root, "fields"), err) &&
        op_file_read_lets(f, node_get(f->root, "let"), err) && op_file_read_needs(f, node_get(f->root, "needs"), err) &&
        (op_file_is_image(f) || read_tensors(f, node_get(f->root, "tensors"), err)) && read_dtypes(f, node_get(f->root, "dtype"), err) &&
        op_file_optional(f, f->root, "flop", &f->flop, err) && op_file_optional(f, f->root, "bytes", &f->bytes, err) &&
        op_file_optional(f, f->root, "terms", &f->terms, err) && read_exact(f, err) &&
        (op_file_is_image(f) ? op_image_read(f, err) : stage_read(f, node_get(f->root, "stages"), err) && read_reference(f, err)) &&
        read_trial(f, err);
    if (ok) {
        f->hash = xcalloc(HASH_TEXT, 1);
        f->op.elements = op_file_is_image(f) ? NULL : elements_of(f, true);
        f->op.read = op_file_is_image(f) ? NULL : elements_of(f, false);
        return f;
    }
    op_file_free(f);
    return NULL;
}
