/* `bench new --op`: the file of an op that does not exist yet, from a kernel's signature and subscripts. */
#include "kernel/new/new.h"
#include "kernel/new/shapes.h"
#include "base/dtype.h"
#include "base/text.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A name as an op may have it. */
static const char *lower_name(const char name[64], char out[64])
{
    size_t i = 0;
    for (; name[i]; i++)
        out[i] = (char)tolower((unsigned char)name[i]);
    out[i] = 0;
    return out;
}

/* The type of most tensors: that of the first one that is not of whole numbers. */
static const char *usual_element(const struct signature *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->params[i].pointer && type_element(&s->params[i]) && !dtype_is_whole(dtype_parse(type_element(&s->params[i]))))
            return type_element(&s->params[i]);
    for (int i = 0; i < s->count; i++)
        if (s->params[i].pointer && type_element(&s->params[i]))
            return type_element(&s->params[i]);
    return "f32";
}

/* The kernel reads the tensor and writes it. */
static bool in_place(const struct signature_param *p, const struct shape_guess *g)
{
    return !p->constant && g->read;
}

static void add_tensor(struct text *t, const struct signature_param *p, const char *shape, const struct shape_guess *g, const char *usual)
{
    char name[sizeof p->name];
    const char *element = type_element(p);
    text_addf(t, "  %s: {shape: [", lower_name(p->name, name));
    for (int i = 0; i < g->count; i++) {
        const char *axis = g->axes[i];
        bool whole = axis[0] == '(' && strchr(axis, ')') == axis + strlen(axis) - 1;
        text_addf(t, "%s%.*s", i ? ", " : "", (int)strlen(axis) - 2 * whole, axis + whole);
    }
    text_addf(t, "%s]", g->count ? "" : shape);
    if (element && strcmp(element, usual))
        text_addf(t, ", dtype: %s", element);
    if (g->selects[0])
        text_addf(t, ", data: {indices: %s}", g->selects);
    text_add(t, p->constant ? "}\n" : in_place(p, g) ? ", written: in place}\n" : ", written: yes}\n");
}

/* True if `a`, `b` are the sizes of the axes x and y, or y and z: nx, ny or size_x, size_y. x is the innermost axis in memory. */
static bool next_axis(const char *a, const char *b)
{
    const size_t n = strlen(a);
    return n > 1 && n == strlen(b) && !strncmp(a, b, n - 1) && (a[n - 1] == 'x' || a[n - 1] == 'y') && b[n - 1] == a[n - 1] + 1;
}

/* The whole numbers of a kernel as the shape of a tensor whose subscripts say nothing: in their order, except that nx, ny, nz become nz,
 * ny, nx. */
static void add_shape(struct text *t, const struct shapes *shapes)
{
    char names[SHAPE_NUMBERS][sizeof shapes->numbers->name];
    int count = 0;
    for (int i = 0; i < shapes->number_count; i++)
        if (!shapes->numbers[i].real)
            lower_name(shapes->numbers[i].name, names[count++]);
    for (int i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && next_axis(names[end - 1], names[end]);)
            end++;
        for (int k = end - 1; k >= i; k--)
            text_addf(t, "%s%s", t->len ? ", " : "", names[k]);
    }
}

/* The fields of the op: the kernel's numbers, then sizes that only its grid knows. */
static int fields_of(const struct shapes *shapes, struct shape_number out[SHAPE_NUMBERS + 3])
{
    int count = 0;
    for (int i = 0; i < shapes->number_count; i++)
        out[count++] = shapes->numbers[i];
    for (int i = 0; i < shapes->grid_count; i++) {
        out[count] = (struct shape_number){0};
        memcpy(out[count++].name, shapes->grid[i].name, sizeof out->name);
    }
    for (int i = 0; i < count; i++)
        lower_name(out[i].name, out[i].name);
    return count;
}

/* The elements of the first result. */
static char *results_of(const struct signature *s, const struct shapes *shapes, const char *all)
{
    SCOPED_TEXT t = {0};
    for (int i = 0; i < s->count && !t.len; i++)
        for (int k = 0; s->params[i].pointer && !s->params[i].constant && k < shapes->of[i].count; k++)
            text_addf(&t, "%s%s", k ? " * " : "", shapes->of[i].axes[k]);
    text_add(&t, t.len ? "" : all);
    return text_take(&t);
}

/* The reference's parameters, in C, and its arguments. */
static void add_reference(const struct signature *s, const struct shapes *shapes, const struct shape_number *fields, int field_count,
                          struct text *params, struct text *args)
{
    char name[sizeof s->params->name];
    for (int i = 0; i < s->count; i++) {
        const struct signature_param *p = &s->params[i];
        const char *n = lower_name(p->name, name), *type = strcmp(p->type, "double") ? "float" : "double";
        if (!p->pointer)
            continue;
        if (p->constant || in_place(p, &shapes->of[i]))
            text_addf(params, "%sconst %s *%s%s", params->len ? ", " : "", type, n, p->constant ? "" : "_before"),
                text_addf(args, "%s%s%s", args->len ? ", " : "", n, p->constant ? "" : "_before");
        if (!p->constant)
            text_addf(params, "%sdouble *%s, double *%s_magnitude", params->len ? ", " : "", n, n),
                text_addf(args, "%s%s, %s_magnitude", args->len ? ", " : "", n, n);
    }
    for (int i = 0; i < field_count; i++) {
        text_addf(params, "%s%s%s", params->len ? ", " : "", fields[i].real ? "double " : "long long ", fields[i].name);
        text_addf(args, "%s%s", args->len ? ", " : "", fields[i].name);
    }
}

char *variant_new_op(const char *op, const char *source_text, const char *kernel_name, struct error *err)
{
    struct signature s, next;
    struct shapes shapes;
    struct shape_number fields[SHAPE_NUMBERS + 3];
    struct error ignored = {0};
    SCOPED_TEXT sizes = {0};
    SCOPED_TEXT args = {0};
    SCOPED_TEXT params = {0};
    struct text t = {0};
    if (!signature_read(source_text, kernel_name, &s, err))
        return NULL;
    shapes_read(source_text, &s, &shapes);
    int field_count = fields_of(&shapes, fields);
    add_shape(&sizes, &shapes);
    add_reference(&s, &shapes, fields, field_count, &params, &args);
    SCOPED_TEXT all = {0};
    for (const char *p = text_get(&sizes); *p; p++)
        text_addf(&all, *p == ',' ? " *" : "%c", *p);
    SCOPED char *results = results_of(&s, &shapes, text_get(&all));
    text_addf(&t,
              "# %s.yaml - an op file (docs/OP.md; an op of images may be a formula). %s.cu next to it has the reference, in double:\n#   "
              "extern \"C\" __global__ void %s_reference(%s)\nabout: \"What %s computes, in one sentence.\"\n",
              op, op, op, text_get(&params), s.name);
    if (!kernel_name && signature_read(source_text + s.at + strlen("__global__"), NULL, &next, &ignored))
        text_addf(&t, "# the file has another kernel, %s (--kernel %s)\n", next.name, next.name);
    text_add(&t, "fields:\n");
    for (int i = 0; i < field_count; i++) {
        text_addf(&t, "  %s: {%swhat: \"?\"}", fields[i].name, fields[i].real ? "type: real, " : "");
        const char *axis = i < shapes.number_count ? "" : shapes.grid[i - shapes.number_count].axis;
        if (fields[i].of[0])
            text_addf(&t, "   # a member of %s", fields[i].of);
        else if (*axis)
            text_addf(&t, "   # my kernel takes it from its grid, gridDim.%c", axis[9]);
        else if (i >= shapes.number_count)
            text_add(&t, "   # of the tensor that the indices select from");
        text_add(&t, "\n");
    }
    text_add(&t, "tensors:   # each shape is a guess from the subscripts: 1 to 8 sizes, outermost first\n");
    for (int i = 0; i < s.count; i++)
        if (s.params[i].pointer)
            add_tensor(&t, &s.params[i], sizes.len ? text_get(&sizes) : "1", &shapes.of[i], usual_element(&s));
    const char *product = *results ? results : "1", *terms = shapes.terms[0]                                         ? shapes.terms
                                                             : sizes.len && ANY_OF(i, s.count, s.params[i].added_to) ? text_get(&all)
                                                                                                                     : "1";
    text_addf(&t, "dtype: %s   # or a list: [f32, f16, bf16]\nflop: %s%s%s   # total operations\n", usual_element(&s),
              shapes.terms[0] ? shapes.terms : "", shapes.terms[0] ? " * " : "", product);
    text_addf(
        &t,
        "terms: %s   # number of summed terms of a result; 0: the op only moves values\nexact: %s   # yes: with small integers every "
        "right kernel gives the same bits\nreference: {kernel: %s_reference, threads: %s, args: [%s]}\ntrial:   # the layers of bench "
        "try\n  usual: {}   # a value for each field\n",
        terms, dtype_is_whole(dtype_parse(usual_element(&s))) ? "yes" : "no", op, product, text_get(&args));
    return text_take(&t);
}
