#include "op/op.h"
#include "op/pattern.h"
#include "op/epilogue.h"
#include "op/shape.h"
#include <stdio.h>
#include <string.h>

extern const struct op op_conv2d, op_conv3d, op_conv_transpose2d, op_depth_to_space, op_space_to_depth, op_upsample, op_upsample_bilinear,
    op_upsample_conv2d, op_layout, op_pointwise, op_chain, op_pool_max, op_pool_average, op_pool_max_change, op_truncate, op_add, op_concat,
    op_densify;

#define OP_COUNT 18
const struct op *const op_table[OP_COUNT + 1] = {&op_conv2d,
                                                 &op_conv3d,
                                                 &op_conv_transpose2d,
                                                 &op_depth_to_space,
                                                 &op_space_to_depth,
                                                 &op_upsample,
                                                 &op_upsample_bilinear,
                                                 &op_upsample_conv2d,
                                                 &op_layout,
                                                 &op_pointwise,
                                                 &op_chain,
                                                 &op_pool_max,
                                                 &op_pool_average,
                                                 &op_pool_max_change,
                                                 &op_truncate,
                                                 &op_add,
                                                 &op_concat,
                                                 &op_densify,
                                                 NULL};

const struct op *op_find(const char *name)
{
    for (int i = 0; name && op_table[i]; i++)
        if (!strcmp(op_table[i]->name, name))
            return op_table[i];
    return NULL;
}

const struct op *op_of_changes(const struct op *op)
{
    return op == &op_pool_max ? &op_pool_max_change : op;
}

const char *const *op_names(void)
{
    static const char *names[OP_COUNT + 1];
    for (int i = 0; i < OP_COUNT; i++)
        names[i] = op_table[i]->name;
    return names;
}

/* Every tensor's element count fits in 31 bits, so that no kernel's int index and no product here overflows. */
bool shape_check(const char *what, const int64_t dim[4], struct error *err)
{
    int64_t count = 1;
    for (int i = 0; i < 4; i++) {
        if (dim[i] < 1)
            return error_set(err, ERROR_USAGE, "%s would have the shape %ld x %ld x %ld x %ld", what, (long)dim[0], (long)dim[1],
                             (long)dim[2], (long)dim[3]);
        if (dim[i] > SHAPE_MAX_ELEMENTS / count)
            return error_set(err, ERROR_USAGE, "%s of %ld x %ld x %ld x %ld elements is larger than %ld (2^31 - 1)", what, (long)dim[0],
                             (long)dim[1], (long)dim[2], (long)dim[3], (long)SHAPE_MAX_ELEMENTS);
        count *= dim[i];
    }
    return true;
}

struct tensor shape_activation(const struct work *w, enum tensor_role role, int64_t c, int64_t h, int64_t width, enum layout layout)
{
    enum dtype t = role == ROLE_INPUT ? w->dtype : work_result_dtype(w);
    return (struct tensor){.role = role, .dtype = t, .layout = layout, .dim = {w->n, c, h, width}, .written = role == ROLE_OUTPUT};
}

/* Input and output dimensions are checked before anything divides or multiplies them. */
static bool check_tensors(const struct work *work, struct error *err)
{
    struct tensor raw, list[OP_MAX_TENSORS];
    work->op->raw_output(work, &raw);
    if (!shape_check("the op's own output", raw.dim, err) || !epilogue_check(work, err))
        return false;
    int count = work->op->tensors(work, list);
    for (int i = 0; i < count; i++)
        if (!shape_check(tensor_role_name(list[i].role), list[i].dim, err))
            return false;
    return true;
}

static bool check_math(struct work *work, struct error *err)
{
    if (!work->op->has_math) {
        work->math = MATH_NONE; /* nothing is multiplied */
        return true;
    }
    if (work->math == MATH_NONE)
        work->math = math_default(work->dtype);
    enum dtype needs = work->math == MATH_F32 || work->math == MATH_TF32 ? DTYPE_F32
                       : work->math == MATH_BF16_ACC32                   ? DTYPE_BF16
                       : work->math == MATH_I8_ACC32                     ? DTYPE_I8
                                                                         : DTYPE_F16;
    if (needs == work->dtype)
        return true;
    error_set(err, ERROR_USAGE, "math %s works on %s, not on %s", math_name(work->math), dtype_name(needs), dtype_name(work->dtype));
    return error_hint(err, "math: %s", math_name(math_default(work->dtype)));
}

static bool check_fields(const struct work *work, struct error *err)
{
    for (const struct op_field *f = work->op->fields; f->name; f++) {
        double real;
        memcpy(&real, (const char *)work + f->offset, sizeof real);
        if (f->kind == FIELD_REAL && !(real >= (double)f->min && real <= (double)f->max))
            return error_set(err, ERROR_USAGE, "%s: %s = %g is not between %ld and %ld", work->op->name, f->name, real, (long)f->min,
                             (long)f->max);
        if (f->kind != FIELD_INT)
            continue;
        int64_t value;
        memcpy(&value, (const char *)work + f->offset, sizeof value);
        if (value < f->min || value > f->max)
            return error_set(err, ERROR_USAGE, "%s: %s = %ld is not between %ld and %ld", work->op->name, f->name, (long)value,
                             (long)f->min, (long)f->max);
    }
    return true;
}

static bool check_mask(const struct work *work, struct error *err)
{
    const struct mask *m = &work->mask;
    if (m->pattern == MASK_NONE)
        return true;
    if (!work->op->reads && !work->chain) /* of a chain chain_passes_marks has looked at the links */
        return error_set(err, ERROR_USAGE, "%s takes no mask", work->op->name);
    if (m->pattern < 0 || m->pattern >= MASK_PATTERN_COUNT)
        return error_set(err, ERROR_USAGE, "unknown mask pattern");
    if (!(m->density >= 0 && m->density <= 1))
        return error_set(err, ERROR_USAGE, "mask density %g is not between 0 and 1", m->density);
    if (mask_patterns[m->pattern]->radius && (m->radius < 1 || m->radius > 4096))
        return error_set(err, ERROR_USAGE, "mask %s: radius %ld is not between 1 and 4096 pixels", mask_pattern_names[m->pattern],
                         (long)m->radius);
    if (m->pattern == MASK_FILE && !m->path[0])
        return error_set(err, ERROR_USAGE, "mask file: no path");
    return true;
}

bool work_finish(struct work *work, struct error *err)
{
    const struct op *op = work->op;
    if (!op)
        return error_set(err, ERROR_INTERNAL, "a work without an op");
    if (work->dtype < 0 || work->dtype >= DTYPE_COUNT || !(op->dtypes >> work->dtype & 1))
        return error_set(err, ERROR_USAGE, "%s does not work on %s", op->name, dtype_name(work->dtype));
    if (work->layout < 0 || work->layout >= LAYOUT_COUNT || !(op->layouts >> work->layout & 1))
        return error_set(err, ERROR_USAGE, "%s does not take layout %s", op->name, layout_name(work->layout));
    return check_fields(work, err) && check_math(work, err) && op->finish(work, err) && check_tensors(work, err) && check_mask(work, err);
}

int shape_conv_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS])
{
    out[0] = shape_activation(work, ROLE_INPUT, work->c, work->h, work->w, work->layout);
    out[1] = (struct tensor){.role = ROLE_FILTER,
                             .dtype = work->dtype,
                             .layout = work->layout == LAYOUT_NHWC ? LAYOUT_KRSC : LAYOUT_KCRS,
                             .dim = {work->k, work->c / work->groups, work->r, work->s}};
    return shape_epilogue_tensors(work, out, 2);
}

int shape_epilogue_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS], int count)
{
    int bias = work_epilogue_find(work, EPILOGUE_BIAS), residual = work_epilogue_find(work, EPILOGUE_RESIDUAL);
    if (bias >= 0)
        out[count++] =
            (struct tensor){.role = ROLE_BIAS, .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .dim = {1, 1, 1, epilogue_stage(work, bias).c}};
    if (residual >= 0) {
        struct stage s = epilogue_stage(work, residual);
        out[count++] = shape_activation(work, ROLE_RESIDUAL, s.c, s.h, s.w, s.layout);
    }
    if (work->mask.pattern != MASK_NONE && !work->mask.marks_output)
        out[count++] =
            (struct tensor){.role = ROLE_MASK_IN, .dtype = DTYPE_U32, .layout = LAYOUT_BITS, .dim = {work->n, 1, work->h, work->w}};
    if (work->mask.pattern != MASK_NONE) /* given when the mask marks outputs, else computed by the kernel */
        out[count++] = (struct tensor){.role = ROLE_MASK_OUT,
                                       .dtype = DTYPE_U32,
                                       .layout = LAYOUT_BITS,
                                       .dim = {work->n, 1, work->p, work->q},
                                       .written = !work->mask.marks_output};
    struct stage s = epilogue_stage(work, work->epilogue_count);
    out[count++] = shape_activation(work, ROLE_OUTPUT, s.c, s.h, s.w, s.layout);
    return count;
}

bool work_tensor(const struct work *work, enum tensor_role role, struct tensor *out)
{
    struct tensor list[OP_MAX_TENSORS];
    int count = work->op->tensors(work, list);
    for (int i = 0; i < count; i++)
        if (list[i].role == role) {
            *out = list[i];
            return true;
        }
    return false;
}

double work_flop(const struct work *work)
{
    return work->op->flop(work);
}

double work_bytes(const struct work *work)
{
    struct tensor list[OP_MAX_TENSORS];
    int count = work->op->tensors(work, list);
    double bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += (double)tensor_bytes(&list[i]);
    return bytes;
}

bool work_symbol(const struct work *work, const char *name, struct value *out)
{
    const char *text = NULL;
    *out = (struct value){.kind = VALUE_INT};
    for (const struct op_symbol *s = work->op->symbols; s->name; s++)
        if (!strcmp(s->name, name)) {
            memcpy(&out->i, (const char *)work + s->offset, sizeof out->i);
            return true;
        }
    for (const struct op_field *f = work->op->fields; f->name; f++)
        if (f->kind == FIELD_REAL && !strcmp(f->name, name)) {
            out->kind = VALUE_REAL;
            memcpy(&out->d, (const char *)work + f->offset, sizeof out->d);
            return true;
        }
    if (!strcmp(name, "layout"))
        text = layout_name(work->layout);
    else if (!strcmp(name, "dtype"))
        text = dtype_name(work->dtype);
    else if (!strcmp(name, "math"))
        text = math_name(work->math);
    else if (!strcmp(name, "mode"))
        text = d2s_mode_name(work->mode);
    else if (!strcmp(name, "to"))
        text = layout_name(work->to);
    if (!text)
        return false;
    out->kind = VALUE_TEXT;
    snprintf(out->text, sizeof out->text, "%s", text);
    return true;
}

#define MAX_SYMBOLS 32
const char *const *work_symbol_names(const struct op *op)
{
    static const char *names[OP_COUNT][MAX_SYMBOLS];
    int slot = 0, count = 0;
    while (slot < OP_COUNT - 1 && op_table[slot] != op)
        slot++;
    for (const struct op_symbol *s = op->symbols; s->name && count < MAX_SYMBOLS - 6; s++)
        names[slot][count++] = s->name;
    for (const struct op_field *f = op->fields; f->name && count < MAX_SYMBOLS - 6; f++)
        if (f->kind == FIELD_REAL)
            names[slot][count++] = f->name;
    static const char *const texts[] = {"layout", "dtype", "math", "mode", "to"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        names[slot][count++] = texts[i];
    names[slot][count] = NULL;
    return names[slot];
}
