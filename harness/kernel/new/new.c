/* `bench new`: a head from a kernel's own signature, every line explained. */
#include "kernel/head/head.h"
#include "kernel/new/new.h"
#include "kernel/new/shapes.h"
#include "base/text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct guess {
    const struct op *op;
    struct signature s;
    struct shapes shapes;
    const char *args[SIGNATURE_MAX];                            /* what each parameter is taken to be; NULL: not known */
    const struct signature_param *tensor_types[OP_MAX_TENSORS]; /* the parameters with the C types that the kernel uses */
};

static bool equal_lower(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return tolower((unsigned char)*a) == tolower((unsigned char)*b);
}

/* Common spellings; the first word of a row is the name used in a head. */
static const char *new_by_name(const char *name, const char *const rows[][10])
{
    for (int i = 0; rows[i][0]; i++)
        for (int j = 0; j < 10 && rows[i][j]; j++)
            if (equal_lower(name, rows[i][j]))
                return rows[i][0];
    return NULL;
}

static const char *tensor_of(const struct guess *g, const char *name)
{
    static const char *const rows[][10] = {{"input", "x", "in", "src", "image", "inp", NULL},
                                           {"filter", "f", "weight", "weights", "kernel", "filters", "wt", NULL},
                                           {"bias", "b", NULL},
                                           {"residual", "res", "skip", "add", NULL},
                                           {"output", "y", "out", "dst", "result", NULL},
                                           {"mask_in", "mask", NULL},
                                           {"mask_out", NULL},
                                           {NULL}};
    for (int i = 0; g->op->roles[i]; i++)
        if (equal_lower(name, g->op->roles[i]->name))
            return g->op->roles[i]->name;
    const char *t = new_by_name(name, rows);
    return t && op_role(g->op, t) ? t : NULL;
}

static bool is_symbol(const struct op *op, const char *name)
{
    const char *const *symbols = work_symbol_names(op);
    for (int i = 0; symbols[i]; i++)
        if (!strcmp(symbols[i], name))
            return true;
    return false;
}

static const char *symbol_of(const struct op *op, const char *name)
{
    static const char *const rows[][10] = {{"n", "batch", "images", NULL},
                                           {"c", "channels", "in_channels", "cin", "ic", NULL},
                                           {"h", "height", "in_h", "ih", NULL},
                                           {"w", "width", "in_w", "iw", NULL},
                                           {"k", "out_channels", "cout", "oc", NULL},
                                           {"r", "kh", "filter_h", "kernel_h", NULL},
                                           {"s", "kw", "filter_w", "kernel_w", NULL},
                                           {"p", "out_h", "oh", "out_height", NULL},
                                           {"q", "out_w", "ow", "out_width", NULL},
                                           {"stride", NULL},
                                           {"pad", "padding", NULL},
                                           {"dilation", "dil", NULL},
                                           {"groups", NULL},
                                           {"block", "block_size", "factor", "scale", NULL},
                                           {NULL}};
    const char *const *own = work_symbol_names(op);
    for (int i = 0; own[i]; i++)
        if (equal_lower(name, own[i]) || (!strncmp(name, "n_", 2) && equal_lower(name + 2, own[i])) ||
            (!strncmp(name, "num_", 4) && equal_lower(name + 4, own[i])))
            return own[i];
    const char *t = new_by_name(name, rows);
    return t && is_symbol(op, t) ? t : NULL;
}

static bool used(const struct guess *g, int count, const char *name)
{
    return ANY_OF(i, count, g->args[i] && !strcmp(g->args[i], name));
}

/* Names decide first; other pointers are assigned in the usual order: inputs, then outputs. */
static void guess_args(struct guess *g)
{
    for (int i = 0; i < g->s.count; i++) {
        const struct signature_param *p = &g->s.params[i];
        const char *name = p->pointer ? tensor_of(g, p->name) : p->map ? NULL : symbol_of(g->op, p->name);
        if (name && p->pointer && !p->constant && !strcmp(p->name, "b")) /* `const float *a, float *b` */
            name = NULL;
        if (name && !used(g, i, name))
            g->args[i] = name;
    }
    for (int i = 0; i < g->s.count; i++) {
        const struct signature_param *p = &g->s.params[i];
        if (g->args[i] || !p->pointer)
            continue;
        for (int j = 0; !g->args[i] && g->op->roles[j]; j++) {
            const struct tensor_role *role = g->op->roles[j];
            if (!tensor_role_is_mask(role) && !role->contents && role->output == !p->constant && !used(g, g->s.count, role->name))
                g->args[i] = role->name;
        }
    }
    for (int i = 0; i < g->s.count; i++)
        if (g->args[i] && g->s.params[i].pointer)
            g->tensor_types[op_role(g->op, g->args[i])->slot] = &g->s.params[i];
}

/* The types that the op takes, as a head lists them. */
static char *op_types(const struct op *op)
{
    SCOPED_TEXT t = {0};
    int count = 0;
    for (int i = 0; dtype_names[i]; i++)
        if (op->dtypes >> dtype_parse(dtype_names[i]) & 1 && count++ < 2)
            text_addf(&t, "%s%s", count > 1 ? ", " : "", dtype_names[i]);
    return count == 1 ? xstrdup(text_get(&t)) : text_format("[%s]", text_get(&t));
}

static void add_types(const struct guess *g, struct text *t)
{
    const struct signature_param *input = g->tensor_types[g->op->roles[0]->slot];
    const char *known = input ? type_element(input) : NULL;
    SCOPED char *all = op_types(g->op);
    bool epilogue = g->op->epilogues != 0; /* else a bias is a tensor like any other */
    const char *first = g->op->roles[0]->name;
    known = !op_follows(g->op, first)                          ? dtype_name(g->op->roles[0]->dtype)
            : known && g->op->dtypes >> dtype_parse(known) & 1 ? known
                                                               : NULL;
    bool planes = known && !strcmp(known, "f32"); /* as the layers of bench try are: 16 bits in NHWC, f32 in NCHW */
    if (g->op->layouts & (1u << LAYOUT_NHWC))
        text_addf(t, "layout: {%s: %s, %soutput: same}   # the layouts that my kernel uses; a list if it supports several\n", first,
                  planes ? "NCHW" : "NHWC",
                  !g->op->has_filter ? ""
                  : planes           ? "filter: KCRS, "
                                     : "filter: RSCK, ");
    text_addf(t, "dtype: {%s: %s%s%s}   # the types of my kernel's inputs, outputs and sums\n", first, known ? known : all,
              op_follows(g->op, "output") ? ", output: same" : "",
              !g->op->has_math || (known && math_default(dtype_parse(known)) == MATH_NONE) ? ""
              : epilogue && op_role(g->op, "bias")                                         ? ", bias: f32, accumulate: f32"
                                                                                           : ", accumulate: f32");
    if (epilogue && (used(g, g->s.count, "bias") || used(g, g->s.count, "residual")))
        text_addf(t, "epilogue: [%s%s%s]   # what my kernel does after the op, in this order; add relu or leaky_relu if it applies them\n",
                  used(g, g->s.count, "bias") ? "bias" : "", used(g, g->s.count, "bias") && used(g, g->s.count, "residual") ? ", " : "",
                  used(g, g->s.count, "residual") ? "residual" : "");
    if (used(g, g->s.count, "mask_in") || used(g, g->s.count, "mask_out"))
        text_addf(
            t, "mask: {needs: input, writes: %s, inactive: untouched}   # what the kernel reads, writes, and leaves in inactive outputs\n",
            used(g, g->s.count, "mask_out") ? "output" : "none");
}

/* The parameter of the template with this name, or NULL. */
static const struct signature_choice *choice_of(const struct guess *g, const char *name)
{
    return FIRST_IN(g->s.choices, i, g->s.choice_count, !strcmp(g->s.choices[i].name, name));
}

/* The macro for the element type of a tensor that a template takes: INPUT_T. */
static char *type_macro(const struct tensor_role *role)
{
    SCOPED char *upper = head_upper(role->name);
    return text_format("%s_T", upper);
}

/* The first tensor whose elements have this type of the template, or NULL. */
static const struct tensor_role *tensor_with(const struct guess *g, const char *type)
{
    for (int i = 0; g->op->roles[i]; i++) {
        const struct signature_param *p = g->tensor_types[g->op->roles[i]->slot];
        if (p && !strcmp(p->type, type))
            return g->op->roles[i];
    }
    return NULL;
}

/* A type that the source does not declare must be a -D name; so is one that a template takes. */
static void add_defines(const struct guess *g, const char *code, struct text *t)
{
    const char *done[OP_MAX_TENSORS] = {0};
    int count = 0;
    for (int i = 0; g->op->roles[i]; i++) {
        const struct tensor_role *role = g->op->roles[i];
        const struct signature_param *p = g->tensor_types[role->slot];
        const struct signature_choice *choice = p ? choice_of(g, p->type) : NULL;
        bool twice = !p || (choice ? !choice->type : !type_is_macro(p, code));
        for (int j = 0; j < count && !twice; j++)
            twice = !strcmp(done[j], p->type);
        if (twice)
            continue;
        SCOPED char *macro = choice ? type_macro(role) : xstrdup(p->type);
        text_addf(t, "%s  %s: type(%s)%s\n", count ? "" : "define:   # macros (-D) that my source uses\n", macro, role->name,
                  macro[1] ? "" : "   # this name is also in the compiler's headers: use a longer name, here and below");
        done[count++] = p->type;
    }
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* Tuning parameters: those of the template that are numbers. */
static void add_params(const struct guess *g, struct text *t)
{
    int count = 0;
    for (int i = 0; i < g->s.choice_count; i++) {
        const struct signature_choice *c = &g->s.choices[i];
        if (c->type || (*c->value && !is_number(c->value)))
            continue;
        text_addf(t, "%s  PARAM_%s: {values: [%s], default: %s}   # `%s` of the template%s\n",
                  count++ ? "" : "params:   # tuning parameters, compiled in under their names\n", c->name, *c->value ? c->value : "16",
                  *c->value ? c->value : "16", c->name, *c->value ? "" : "; the value is a guess");
    }
    if (!count)
        text_add(
            t,
            "# params:                      # tuning parameters, compiled in under their names\n#   TILE: {values: [8, 16], default: 8}\n");
}

/* The kernel's name in the head: an instance of a template. */
static void add_kernel_name(const struct guess *g, struct text *t)
{
    text_addf(t, "%s%s", g->s.template ? g->s.scope : "", g->s.name); /* without a template it becomes extern "C" */
    for (int i = 0; i < g->s.choice_count; i++) {
        const struct signature_choice *c = &g->s.choices[i];
        const struct tensor_role *role = c->type ? tensor_with(g, c->name) : NULL;
        SCOPED char *macro = role ? type_macro(role) : NULL;
        text_add(t, i ? ", " : "<");
        if (!c->type && (!*c->value || is_number(c->value)))
            text_addf(t, "PARAM_%s", c->name);
        else
            text_add(t, macro ? macro : *c->value ? c->value : "float");
    }
    text_add(t, g->s.choice_count ? ">" : "");
}

/* "A symbol (rows, cols, ...), ...": what a number may be. */
static void add_symbols(const struct guess *g, struct text *t)
{
    const char *const *symbols = work_symbol_names(g->op);
    text_add(t, "A symbol (");
    for (int i = 0; symbols[i]; i++)
        text_addf(t, "%s%s", i ? ", " : "", symbols[i]);
    text_add(t, "), a parameter, or an expression under `let:`");
}

const char *variant_new_threads(const struct op *op, bool adds)
{
    const bool own_outputs = is_symbol(op, "p") && is_symbol(op, "k");
    if (adds && (op->read || !op->elements))
        return op->read ? op->read : "n * c * h * w";
    return op->elements ? op->elements : own_outputs ? "n * k * p * q" : "n * c * h * w";
}

/* The expression with the op's names in place of the kernel's; false: the op does not know one of them. */
static bool add_sizes(const struct guess *g, const char *sizes, struct text *t)
{
    bool known = true;
    for (const char *p = sizes; *p && known;) {
        size_t n =
            isalpha((unsigned char)*p) || *p == '_' ? strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") : 0;
        SCOPED char *word = xstrndup(p, n ? n : 1);
        const char *symbol = n ? symbol_of(g->op, word) : word;
        known = symbol != NULL;
        text_add(t, known ? symbol : "");
        p += n ? n : 1;
    }
    return known;
}

/* How many threads a block has along an axis: the name of a value under `let:`, a parameter or a number. */
static void threads_along(const struct guess *g, int axis, char out[SHAPE_TEXT])
{
    const char *each = g->shapes.launch[axis].each, *step = g->shapes.threads;
    const bool template = choice_of(g, step) && !choice_of(g, step)->type;
    if (isdigit((unsigned char)*each))
        snprintf(out, SHAPE_TEXT, "%s", each);
    else if (!axis && (template || is_number(step)))
        snprintf(out, SHAPE_TEXT, "%s%s", template ? "PARAM_" : "", step);
    else if (g->s.axes == 1 || !axis)
        snprintf(out, SHAPE_TEXT, "threads");
    else
        snprintf(out, SHAPE_TEXT, "%s", *each ? axis == 1 ? "threads_y" : "threads_z" : "1");
}

/* The grid and the block that the body's own indices need; false: they do not say. */
static bool new_add_launch(const struct guess *g, struct text *t)
{
    SCOPED_TEXT grid = {0};
    SCOPED_TEXT block = {0};
    bool known = true;
    for (int i = 0; i < g->s.axes && known; i++) {
        const char *each = g->shapes.launch[i].each, *share = strchr(each, '/');
        char threads[SHAPE_TEXT];
        threads_along(g, i, threads);
        text_add(&grid, i ? ", " : "");
        text_add(&grid, *each ? "ceil(" : "");
        known = g->shapes.launch[i].size[0] && add_sizes(g, g->shapes.launch[i].size, &grid);
        if (*each)
            text_addf(&grid, ", %s%s%s)", threads, share ? " " : "", share ? share : "");
        text_addf(&block, "%s%s", i ? ", " : "", threads);
    }
    if (known)
        text_addf(t, "\n    grid: %s   # a guess from the kernel's indices\n    block: %s\n", text_get(&grid), text_get(&block));
    return known;
}

/* The values under `let:` that the block has. */
static void add_threads(const struct guess *g, struct text *t)
{
    bool numeric = g->s.bounds[0] && strspn(g->s.bounds, "0123456789 ") == strlen(g->s.bounds);
    bool planes = ANY_OF(i, g->s.axes - 1, !strncmp(g->shapes.launch[i + 1].each, SHAPE_THREADS, 8));
    text_addf(t, "let:\n  threads: %s   # of a block%s\n",
              numeric  ? g->s.bounds
              : planes ? "32"
                       : "256",
              numeric  ? ", from __launch_bounds__"
              : planes ? " along x; change it to the block size of my kernel"
                       : "; change it to the block size of my kernel");
    for (int i = 1; i < g->s.axes; i++)
        if (!strncmp(g->shapes.launch[i].each, SHAPE_THREADS, 8))
            text_addf(t, "  threads_%c: 8\n", 'x' + i);
}

/* A member's value as an integer of its bytes; NULL: the op has no such number. */
static char *member_value(const struct guess *g, const struct shape_number *n)
{
    const char *name = symbol_of(g->op, n->name);
    if (!name || !n->bytes)
        return NULL;
    return !n->real ? xstrdup(name) : text_format(n->bytes == 8 ? "bits64(%s)" : "bits(%s)", name);
}

/* A struct by value as its arguments, one for each 8 bytes; false: a member is not known, and nothing is added. */
static bool add_struct(const struct guess *g, const struct signature_param *p, struct text *t)
{
    SCOPED_TEXT all = {0};
    SCOPED char *low = NULL;
    bool known = !g->shapes.opaque[p - g->s.params];
    for (int i = 0; i < g->shapes.number_count && known; i++) {
        const struct shape_number *n = &g->shapes.numbers[i];
        if (strcmp(n->of, p->name))
            continue;
        char *value = member_value(g, n);
        known = value != NULL;
        if (known && n->bytes == 4 && !low) {
            low = value;
            continue;
        }
        const char *comma = all.len ? ", " : "";
        if (low && n->bytes == 4)
            text_addf(&all, "%spair(%s, %s)", comma, low, value);
        else
            text_addf(&all, "%s%s%s%s", comma, low ? low : "", low ? ", " : "", known ? value : ""); /* 4 bytes of padding */
        free(value);
        free(low);
        low = NULL;
    }
    if (low)
        text_addf(&all, "%s%s", all.len ? ", " : "", low);
    if (known && all.len)
        text_add(t, text_get(&all));
    return known && all.len;
}

static void new_add_step(const struct guess *g, struct text *t)
{
    const bool adds = ANY_OF(i, g->s.count, g->s.params[i].added_to && g->args[i]);
    const char *elements = variant_new_threads(g->op, adds);
    add_threads(g, t);
    text_add(t, "steps:\n");
    for (int i = 0; i < g->s.count; i++)
        if (g->s.params[i].added_to && g->args[i])
            text_addf(t, "  - fill: %s = 0   # my kernel adds into it with atomics\n", g->args[i]);
    text_add(t, "  - kernel: ");
    add_kernel_name(g, t);
    bool launch = new_add_launch(g, t);
    if (!launch)
        text_addf(t, "\n    grid: ceil(%s, threads)   # one thread per %s; change it to the grid of my kernel\n    block: threads\n",
                  elements, adds ? "input, since it adds with atomics" : "output");
    if (!launch && g->s.axes > 1)
        text_addf(t, "    # my kernel uses %s axes of its grid or block: write both as lists, %s\n", g->s.axes == 2 ? "two" : "three",
                  g->s.axes == 2 ? "`block: [32, 8]`" : "`block: [32, 4, 2]`");
    if (g->shapes.shared[0])
        text_addf(t, "    smem: threads * %zu   # bytes of `%s`: a guess, one element a thread\n", g->shapes.shared_bytes,
                  g->shapes.shared);
    if (!g->s.count)
        return;
    bool structs[SIGNATURE_MAX];
    text_add(t, "    args: ");
    for (int i = 0; i < g->s.count; i++) {
        text_add(t, i ? ", " : "");
        structs[i] = !g->args[i] && add_struct(g, &g->s.params[i], t);
        text_add(t, structs[i] ? "" : g->args[i] ? g->args[i] : g->s.params[i].name);
    }
    text_add(t, "   # by name, in the order of my signature\n");
    for (int i = 0; i < g->s.count; i++) {
        const struct signature_param *p = &g->s.params[i];
        if (structs[i])
            text_addf(t, "    # `%s` is a struct: an argument for each 8 bytes\n", p->name);
        if (g->args[i] || structs[i])
            continue;
        text_addf(t, "    # `%s`: not known. ", p->name);
        bool members = ANY_OF(k, g->shapes.number_count, !strcmp(g->shapes.numbers[k].of, p->name));
        if (members)
            text_add(t, "A struct by value: an argument for each 8 bytes of it, in their order");
        else if (p->map || p->pointer)
            text_add(t, p->map ? "Declare it under `tensor_maps:`" : "A tensor by its name, or a buffer under `scratch:`");
        else
            add_symbols(g, t);
        text_add(t, "\n");
    }
}

char *variant_new(const struct op *op, const char *source_text, const char *kernel_name, struct error *err)
{
    struct guess g = {.op = op};
    struct head_place place;
    struct error ignored = {0};
    enum head_found found = head_find("the file", source_text, strlen(source_text), &place, &ignored);
    if (found != HEAD_ABSENT || place.later) {
        error_set(err, ERROR_USAGE, "the file has a head already, at line %d",
                  found == HEAD_ABSENT ? place.later
                  : place.line > 1     ? place.line - 1
                                       : 1);
        return NULL;
    }
    if (!signature_read(source_text, kernel_name, &g.s, err))
        return NULL;
    guess_args(&g);
    shapes_read(source_text, &g.s, &g.shapes);
    struct text t = {0}, needs = {0};
    text_addf(&needs, "%s %% 4 == 0", op->fields[0].name);
    text_addf(&t, "/* bench 1\nop: %s\nwhat: %s   # one line: what is special about this variant\n", op->name, g.s.name);
    text_add(&t, "# from: naive                  # the variant that it is based on; reports show the difference\n");
    text_addf(&t, "# needs: %s   # shapes that my kernel supports; other shapes become rows with this reason\n",
              op->file             ? text_get(&needs)
              : is_symbol(op, "r") ? "r == 3 and s == 3 and stride == 1"
                                   : "c % 4 == 0");
    text_free(&needs);
    add_types(&g, &t);
    add_params(&g, &t);
    add_defines(&g, source_text, &t);
    new_add_step(&g, &t);
    struct signature next;
    if (!kernel_name && signature_read(source_text + g.s.at + strlen("__global__"), NULL, &next, &ignored))
        text_addf(&t, "    # the file has another kernel, %s: add it as a step, or use only it (--kernel %s)\n", next.name, next.name);
    text_add(&t, "*/\n");
    bool c_name = g.s.external_c || g.s.template;
    text_add_bytes(&t, source_text, g.s.at);
    text_addf(&t, "%s%s", c_name ? "" : "extern \"C\" ", source_text + g.s.at); /* its name as bench finds it */
    return text_take(&t);
}
