#include "op/stage/stage.h"
#include "base/file.h"
#include "base/text.h"
#include "op/op_file.h"
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES (1u << 20)

/* ---- a stage's header ---- */

/* Parses an expression of a stage. Its names (parameters; n, c, h, w of the input image) are checked when it is evaluated. */
static bool stage_expr(const struct node *n, struct expr **out, struct error *err)
{
    return !n || (*out = expr_parse(n, err)) != NULL;
}

static bool read_param(struct stage_head *s, const struct node *key, const struct node *n, struct error *err)
{
    static const char *const types[] = {"whole", "real", "reals", "dtype", NULL}, *const keys[] = {"type", "default", NULL};
    struct stage_param *p = &s->params[s->param_count];
    bool map = n->kind == NODE_MAP;
    if ((map && !node_check_keys(n, key->text, keys, err)) || (map && !node_get(n, "type")))
        return map && !node_get(n, "type") ? node_error(n, err, "parameter '%s' has no `type:`", key->text) : false;
    int type = node_word(map ? node_get(n, "type") : n, "type", types, err);
    *p = (struct stage_param){key->text, (enum stage_type)type, map ? node_get(n, "default") : NULL};
    s->param_count += type >= 0;
    return type >= 0;
}

static bool read_dtype(struct stage_head *s, const struct node *n, struct error *err)
{
    const char *words[32];
    int count = 0;
    for (; dtype_names[count]; count++)
        words[count] = dtype_names[count];
    int types = count;
    for (int i = 0; i < s->param_count; i++)
        if (s->params[i].type == STAGE_DTYPE)
            words[count++] = s->params[i].name;
    words[count] = NULL;
    int word = n ? node_word(n, "dtype", words, err) : 0;
    s->dtype = !n ? 0 : word >= types ? -1 : word + 1; /* enums have NONE at 0 */
    return word >= 0;
}

static bool read_lets(struct stage_head *s, const struct node *n, struct error *err)
{
    if (n && (n->kind != NODE_MAP || n->count > STAGE_LETS))
        return node_error(n, err, "let: a map of at most %d expressions is expected", STAGE_LETS);
    for (int i = 0; n && i < n->count; i++) {
        s->lets[s->let_count].name = n->keys[i]->text;
        if (!stage_expr(n->items[i], &s->lets[s->let_count++].value, err))
            return false;
    }
    return true;
}

/* One rectangle, or a list of them. */
static bool read_reads(struct stage_head *s, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"rows", "columns", "channels", NULL};
    int count = !n ? 0 : n->kind == NODE_LIST ? n->count : 1;
    for (int i = 0; i < count; i++) {
        const struct node *part = n->kind == NODE_LIST ? n->items[i] : n, *channels = node_get(part, "channels");
        int64_t most = 0;
        if (part->kind != NODE_MAP || count > STAGE_READS)
            return node_error(n, err, "reads: {rows: y, columns: x} is expected, or a list of at most %d of them", STAGE_READS);
        if (!node_check_keys(part, "reads", keys, err) || (channels && !node_int(channels, "channels", 1, 4, &most, err)))
            return false;
        s->channels_read = channels ? (int)most : s->channels_read;
        for (int axis = 0; axis < 2; axis++) {
            const struct node *lines = node_get(part, keys[axis]);
            int each = !lines ? 0 : lines->kind == NODE_LIST ? lines->count : 1;
            if (each > STAGE_READS || (!each && s->kind != STAGE_POINT))
                return node_error(lines ? lines : part, err, "%s: one or %d expressions are expected", keys[axis], STAGE_READS);
            if (!ALL_OF(k, each, stage_expr(lines->kind == NODE_LIST ? lines->items[k] : lines, &s->reads[i].lines[axis][k], err)))
                return false;
        }
        s->read_count++;
    }
    return true;
}

static bool read_header(struct stage_head *s, struct error *err)
{
    static const char *const keys[] = {"what", "kind", "params", "channels", "size", "batch", "dtype", "flop", "let", "reads", NULL};
    static const char *const kinds[] = {"point", "sample", "boxes", NULL};
    const struct node *what = node_get(s->root, "what"), *kind = node_get(s->root, "kind"), *params = node_get(s->root, "params"),
                      *size = node_get(s->root, "size");
    if (!node_check_keys(s->root, "the stage", keys, err))
        return false;
    if (!what || !kind)
        return node_error(s->root, err, "a stage has `%s:`", what ? "kind" : "what");
    int word = node_word(kind, "kind", kinds, err);
    s->kind = (enum stage_kind)word;
    s->what = node_text(what, "what", err);
    if (word < 0 || !s->what || (params && params->kind != NODE_MAP) || (params && params->count > STAGE_PARAMS))
        return word < 0 || !s->what ? false
                                    : node_error(params, err, "params: a map of at most %d is expected, like {by: real}", STAGE_PARAMS);
    for (int i = 0; params && i < params->count; i++)
        if (!read_param(s, params->keys[i], params->items[i], err))
            return false;
    if (size && (size->kind != NODE_LIST || size->count != 2))
        return node_error(size, err, "size: height and width are expected, like [h / 2, w / 2]");
    if (s->kind != STAGE_POINT && !size)
        return node_error(s->root, err, "a stage of this kind needs `size:`, the height and width of its output");
    return read_dtype(s, node_get(s->root, "dtype"), err) && stage_expr(node_get(s->root, "channels"), &s->channels, err) &&
           stage_expr(node_get(s->root, "batch"), &s->batch, err) && stage_expr(node_get(s->root, "flop"), &s->flop, err) &&
           (!size || (stage_expr(size->items[0], &s->size[0], err) && stage_expr(size->items[1], &s->size[1], err))) &&
           read_lets(s, node_get(s->root, "let"), err) && read_reads(s, node_get(s->root, "reads"), err);
}

/* The YAML between "stage 1" and the end of the first comment. */
static struct node *parse_header(const char *path, const char *text, struct error *err)
{
    static const char start[] = "/* stage 1\n";
    const char *at = strstr(text, start), *end = at ? strstr(at, "*/") : NULL;
    int line = 2;
    for (const char *c = text; at && c < at; c++)
        line += *c == '\n';
    if (end)
        return node_parse_text(path, at + strlen(start), (size_t)(end - at) - strlen(start), line, 1, err);
    error_set(err, ERROR_USAGE, "%s: a stage must begin with a comment `%.10s`", path, start);
    return NULL;
}

static void free_stage(struct stage_head *s)
{
    struct expr *const all[] = {s->channels, s->batch, s->size[0], s->size[1], s->flop};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expr_free(all[i]);
    for (int i = 0; i < STAGE_LETS; i++)
        expr_free(s->lets[i].value);
    for (int i = 0; i < STAGE_READS * 2 * STAGE_READS; i++)
        expr_free(s->reads[i / (2 * STAGE_READS)].lines[i / STAGE_READS % 2][i % STAGE_READS]);
    node_free(s->root);
    FREE_ALL(s->name, s->include, s);
}

/* Loads a stage. It is kept, since ops, which live as long as the process, point to it. */
static struct stage_head *load_stage(const struct op_file *f, const char *name, const struct node *at, struct error *err)
{
    SCOPED char *dir = file_dir(f->path), *file = text_format("%s.cuh", name), *own = file_join(dir, file),
                *relative = text_format("kernels/include/stage/%s", file), *shared = file_share(relative);
    bool mine = file_exists(own);
    struct stage_head *s = xcalloc(1, sizeof *s);
    size_t bytes;
    SCOPED char *text = mine || file_exists(shared) ? file_read(mine ? own : shared, HEADER_BYTES, &bytes, err) : NULL;
    if (!text && !mine && !file_exists(shared)) {
        SCOPED char *folder = file_share("kernels/include/stage"), **names = NULL;
        int count = file_list(folder, ".cuh", &names, NULL);
        for (int i = 0; i < count; i++)
            names[i][strlen(names[i]) - strlen(".cuh")] = 0;
        const char *near = count > 0 ? text_nearest(name, (const char *const *)names, (size_t)count) : NULL;
        node_error(at, err, "no stage '%.60s': neither %s nor %s", name, own, shared);
        error_hint(err, near ? "did you mean '%s'?" : "a stage must be a header with a `stage 1` head (docs/OP.md)%s", near ? near : "");
    }
    s->name = xstrdup(name);
    s->include = mine ? xstrdup(own) : text_format("stage/%s", file);
    s->root = text ? parse_header(mine ? own : shared, text, err) : NULL;
    bool ok = s->root && read_header(s, err);
    if (!ok) {
        free_stage(s);
        s = NULL;
    }
    return s;
}

/* ---- an op's list ---- */

static const struct stage_head join_head = {.name = "branch", .kind = STAGE_JOIN};

static bool take_values(struct op_file *f, struct stage_use *u, int param, const struct node *n, struct error *err)
{
    const struct stage_param *p = &u->stage->params[param];
    if (p->type == STAGE_DTYPE) {
        int word = node_word(n, p->name, dtype_names, err);
        u->dtype = (enum dtype)(word + 1);
        return word >= 0;
    }
    bool list = n->kind == NODE_LIST;
    int count = list ? n->count : 1;
    if (list && (p->type != STAGE_REALS || count < 1 || count > 4))
        return node_error(n, err, "%s of %s: %s is expected", p->name, u->stage->name,
                          p->type == STAGE_REALS ? "a number, or a list of one to four" : "one number");
    for (int i = 0; i < count; i++)
        if (!(u->values[param][i] = op_file_expr(f, list ? n->items[i] : n, err)))
            return false;
    u->counts[param] = count;
    return true;
}

static bool take_params(struct op_file *f, struct stage_use *u, const struct node *value, struct error *err)
{
    const struct stage_head *s = u->stage;
    const char *names[STAGE_PARAMS + 1] = {0};
    for (int i = 0; i < s->param_count; i++)
        names[i] = s->params[i].name;
    bool map = value && value->kind == NODE_MAP;
    if (map && !node_check_keys(value, s->name, names, err))
        return false;
    for (int i = 0; i < s->param_count; i++) {
        const struct node *n = map ? node_get(value, names[i]) : i == 0 && value && value->kind != NODE_NULL ? value : NULL;
        if (!n && !s->params[i].fallback)
            return node_error(u->node, err, "stage %s: no `%s:`", s->name, names[i]);
        if (!take_values(f, u, i, n ? n : s->params[i].fallback, err))
            return false;
    }
    return s->param_count || !value || value->kind == NODE_NULL || node_error(value, err, "stage %s takes no parameter", s->name);
}

static bool take_use(struct op_file *f, const struct node *n, struct stage_use *u, struct error *err)
{
    bool map = n->kind == NODE_MAP;
    const struct node *times = node_get(n, "times");
    int own = map && n->count == 2 && times ? !strcmp(n->keys[0]->text, "times") : 0;
    if ((map && n->count != 1 + (times != NULL)) || n->kind == NODE_LIST || n->kind == NODE_NULL)
        return node_error(n, err, "stages: an item must be a stage, or a map of one: `grey`, `mul: 1.4`, `resize: {to_h: 60, to_w: 60}`");
    const struct node *key = map ? n->keys[own] : n;
    u->node = key;
    for (int i = 0; i < f->stage_count && !u->stage; i++) /* read once in an op */
        if (f->stages[i].stage && f->stages[i].stage != &join_head && !strcmp(f->stages[i].stage->name, key->text))
            u->stage = f->stages[i].stage;
    if (!u->stage && f->stage_kinds++ == STAGE_FILES)
        return node_error(key, err, "stages: more than %d different ones", STAGE_FILES);
    if (!u->stage)
        u->stage = load_stage(f, key->text, key, err);
    return u->stage && take_params(f, u, map ? n->items[own] : NULL, err) && (!times || (u->times = op_file_expr(f, times, err)));
}

/* Reads the items of a list, for all images or for those of one branch. */
static bool take_list(struct op_file *f, const struct node *list, int branch, int branches, struct error *err)
{
    if (list->kind != NODE_LIST || !list->count)
        return node_error(list, err, "stages: a list is expected, like [{mul: 1.4}, {sub: 0.5}]");
    for (int i = 0; i < list->count; i++) {
        const struct node *n = list->items[i], *parts = node_get(n, "branch");
        if (parts && (branches > 1 || n->count != 1 || parts->kind != NODE_LIST || parts->count < 2 || parts->count > STAGE_BRANCHES))
            return node_error(n, err,
                              "branch: a list of 2 to %d lists of stages is expected, with no branch inside: [[{mul: 2}], [grey, spread]]",
                              STAGE_BRANCHES);
        for (int k = 0; parts && k < parts->count; k++)
            if (!take_list(f, parts->items[k], k, parts->count, err))
                return false;
        struct stage_use *u = APPEND(f->stages, f->stage_count);
        *u = (struct stage_use){.branch = branch, .branches = branches};
        if (parts)
            *u = (struct stage_use){.stage = &join_head, .node = n->keys[0], .branches = parts->count};
        else if (!take_use(f, n, u, err)) /* what it has is freed with the op */
            return false;
    }
    return true;
}

bool stage_reference(struct op_file *f)
{
    static const char *const args[] = {"input", "boxes", "output", "output_bound"};
    f->from = REFERENCE_KERNEL;
    f->function = xstrdup("stages_reference");
    f->source = file_share("kernels/ops/stages.cu");
    f->args = xcalloc(4, sizeof *f->args);
    for (; f->arg_count < 4; f->arg_count++)
        f->args[f->arg_count] = xstrdup(args[f->arg_count]);
    return true;
}

bool stage_read(struct op_file *f, const struct node *n, struct error *err)
{
    const struct tensor_role *input = op_role(&f->op, "input"), *output = op_role(&f->op, "output"), *boxes = op_role(&f->op, "boxes");
    if (!n)
        return true;
    if (!input || !output || !f->tensors[input->slot].image || !f->tensors[output->slot].image || !output->output)
        return node_error(n, err, "stages: the op needs the tensors `input` and `output`, both images, and `boxes` if a stage takes them");
    if (boxes && (boxes->dtype != DTYPE_I32 || f->tensors[boxes->slot].rank != 2))
        return node_error(f->tensors[boxes->slot].node, err, "stages: `boxes` must be i32 of shape [count, 4]");
    f->op.bytes = stage_bytes;
    f->op.row0 = f->op.row0 ? f->op.row0 : STAGE_FAMILY "/apart";
    return take_list(f, n, 0, 1, err);
}

void stage_free_all(struct op_file *f)
{
    for (int i = 0; i < f->stage_count; i++) {
        struct stage_use *u = &f->stages[i];
        bool shared = false;
        for (int k = i + 1; k < f->stage_count; k++)
            shared |= f->stages[k].stage == u->stage;
        for (int p = 0; p < STAGE_PARAMS; p++)
            for (int k = 0; k < 4; k++)
                expr_free(u->values[p][k]);
        expr_free(u->times);
        if (u->stage && !shared && u->stage != &join_head)
            free_stage((struct stage_head *)(uintptr_t)u->stage);
    }
    free(f->stages);
}

/* ---- a work ---- */

/* The stage after which images have sizes of their own, if no later stage up to image i makes them equal; NULL: none. */
static const struct stage_use *ragged_at(const struct stage_image *all, int i)
{
    enum stage_kind kind = i ? all[i].use->stage->kind : STAGE_SAMPLE;
    const struct stage_use *ragged = kind == STAGE_BOXES ? all[i].use : NULL;
    for (int k = 0; kind == STAGE_JOIN && !ragged && k < all[i].use->branches; k++)
        ragged = ragged_at(all, all[i].ends[k]);
    return kind == STAGE_POINT ? ragged_at(all, all[i].before) : ragged;
}

bool stage_fits(const struct work *work, struct error *err)
{
    SCOPED struct stage_image *all = xcalloc(STAGE_MOST + 1, sizeof *all);
    struct tensor t;
    int count = stage_images(work, all, err);
    struct stage_image last = count > 0 ? all[count - 1] : (struct stage_image){0};
    const struct stage_use *ragged = count > 0 ? ragged_at(all, count - 1) : NULL;
    if (count < 0 || !work_tensor(work, "output", &t))
        return false;
    if (ragged)
        return node_error(ragged->node, err, "after %s the images have different sizes; a stage that samples must follow",
                          ragged->stage->name);
    bool same = t.dim[0] == last.n && t.dim[1] == last.c && t.dim[2] == last.h && t.dim[3] == last.w && t.dtype == last.dtype;
    return same ? stage_source(work, err) >= 0
                : error_set(err, ERROR_USAGE,
                            "the stages end in %lld x %lld x %lld x %lld of %s, `output` is %lld x %lld x %lld x %lld of %s",
                            (long long)last.n, (long long)last.c, (long long)last.h, (long long)last.w, dtype_name(last.dtype),
                            (long long)t.dim[0], (long long)t.dim[1], (long long)t.dim[2], (long long)t.dim[3], dtype_name(t.dtype));
}
