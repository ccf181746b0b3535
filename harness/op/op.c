#include "op/op.h"
#include "base/text.h"
#include "op/epilogue.h"
#include "op/op_file.h"
#include "op/shape.h"
#include "op/sides.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Input and output dimensions are checked before anything divides or multiplies them. */
static bool check_tensors(const struct work *work, struct error *err)
{
    struct tensor raw, list[OP_MAX_TENSORS];
    bool masked = work->mask.pattern != MASK_NONE; /* masks are made when a plan is */
    int64_t most = work->op->file || masked ? SHAPE_MAX_ELEMENTS : SHAPE_MAX_IMAGE;
    if (work->op->raw_output)
        work->op->raw_output(work, &raw);
    if ((work->op->raw_output && !shape_check("the op's own output", &raw, most, err)) || !epilogue_check(work, err))
        return false;
    int count = work->op->tensors(work, list);
    return ALL_OF(i, count, shape_check(list[i].role->name, &list[i], most, err));
}

static const struct op_field *field_at(const struct op *op, size_t offset)
{
    const struct op_field *f = op->fields;
    while (f->name && f->offset != offset)
        f++;
    return f->name ? f : NULL;
}

/* What the op has no field for cannot split keys; an output like the input, until op->finish says otherwise. */
static void clear_unused(struct work *w)
{
    int64_t *const sizes[] = {&w->r, &w->stride, &w->pad, &w->dilation, &w->groups, &w->output_pad, &w->block};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!field_at(w->op, (size_t)((char *)sizes[i] - (char *)w)))
            *sizes[i] = 0;
    for (int i = 0; i < SIDE_COUNT; i++)
        w->apart[i] = field_at(w->op, side_base((enum work_side)i)) ? w->apart[i] : 0;
    if (!w->r)
        w->s = 0;
    if (!field_at(w->op, offsetof(struct work, mode)))
        w->mode = D2S_NONE;
    if (!field_at(w->op, offsetof(struct work, to)))
        w->to = LAYOUT_NONE;
    if (!field_at(w->op, offsetof(struct work, k)))
        w->k = w->c;
    w->p = w->h;
    w->q = w->w;
}

/* The field `kernel` is r; s came with it. */
static bool check_width(const struct work *w, struct error *err)
{
    const struct op_field *f = field_at(w->op, offsetof(struct work, r));
    return !f || (w->s >= f->min && w->s <= f->max) ||
           error_set(err, ERROR_USAGE, "%s: %s width %ld is not between %ld and %ld", w->op->name, w->op->has_filter ? "filter" : "window",
                     (long)w->s, (long)f->min, (long)f->max);
}

/* An op without such fields has 0 of each, or says 1. */
static bool check_groups(const struct work *w, struct error *err)
{
    return w->groups < 1 || (w->c % w->groups == 0 && w->k % w->groups == 0) ||
           error_set(err, ERROR_USAGE, "%ld -> %ld channels cannot be divided into %ld groups", (long)w->c, (long)w->k, (long)w->groups);
}

static bool check_math(struct work *work, struct error *err)
{
    if (!work->op->has_math || work->math == MATH_NONE) /* none: nothing is multiplied, or whole numbers are */
        work->math = work->op->has_math ? math_default(work->dtype) : MATH_NONE;
    if (work->math == MATH_NONE)
        return true;
    enum dtype needs = work->math == MATH_F32 || work->math == MATH_TF32 ? DTYPE_F32
                       : work->math == MATH_BF16_ACC32                   ? DTYPE_BF16
                       : work->math == MATH_I8_ACC32                     ? DTYPE_I8
                                                                         : DTYPE_F16;
    if (needs == work->dtype)
        return true;
    error_set(err, ERROR_USAGE, "math %s works on %s, not on %s", math_name(work->math), dtype_name(needs), dtype_name(work->dtype));
    enum math own = math_default(work->dtype);
    return own == MATH_NONE ? error_hint(err, "leave `math:` out: %s has no modes", dtype_name(work->dtype))
                            : error_hint(err, "math: %s", math_name(own));
}

static bool check_fields(const struct work *work, struct error *err)
{
    for (const struct op_field *f = work->op->fields; f->name; f++) {
        double real;
        memcpy(&real, (const char *)work + f->offset, sizeof real);
        if (f->kind == FIELD_REAL && !(real >= f->least && real <= f->most))
            return error_set(err, ERROR_USAGE, "%s: %s = %g is not between %g and %g", work->op->name, f->name, real, f->least, f->most);
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
    if (!work->op->masks && !work->chain) /* of a chain chain_passes_marks has looked at the links */
        return error_set(err, ERROR_USAGE, "%s takes no mask", work->op->name);
    if (m->pattern < 0 || m->pattern >= MASK_PATTERN_COUNT)
        return error_set(err, ERROR_USAGE, "unknown mask pattern");
    if (!(m->density >= 0 && m->density <= 1))
        return error_set(err, ERROR_USAGE, "mask density %g is not between 0 and 1", m->density);
    if ((mask_pattern_keys[m->pattern] & MASK_RADIUS) && (m->radius < 1 || m->radius > 4096))
        return error_set(err, ERROR_USAGE, "mask %s: radius %ld is not between 1 and 4096 pixels", mask_pattern_names[m->pattern],
                         (long)m->radius);
    if (m->marks_both && (work->p != work->h || work->q != work->w))
        return error_set(err, ERROR_USAGE,
                         "marks: both needs as many outputs as inputs, such as stride 1 and pad: same_upper (%ldx%ld of %ldx%ld)",
                         (long)work->p, (long)work->q, (long)work->h, (long)work->w);
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
    if (!work->chain)
        clear_unused(work);
    return check_fields(work, err) && check_math(work, err) && check_width(work, err) && check_groups(work, err) && op->finish(work, err) &&
           check_tensors(work, err) && check_mask(work, err);
}

bool work_tensor(const struct work *work, const char *name, struct tensor *out)
{
    struct tensor list[OP_MAX_TENSORS];
    int count = work->op->tensors(work, list);
    for (int i = 0; i < count; i++)
        if (!strcmp(list[i].role->name, name)) {
            *out = list[i];
            return true;
        }
    return false;
}

const struct tensor_role *op_role(const struct op *op, const char *name)
{
    for (int i = 0; op->roles[i]; i++)
        if (!strcmp(op->roles[i]->name, name))
            return op->roles[i];
    return NULL;
}

bool op_follows(const struct op *op, const char *name)
{
    const struct tensor_role *role = op_role(op, name);
    return role && role->dtype == DTYPE_NONE;
}

const char *const *op_tensor_names(void)
{
    static const char *names[SLOT_COUNT + 1];
    for (int i = 0; i < SLOT_COUNT; i++)
        names[i] = shape_roles[i].name;
    return names;
}

bool op_is_tensor(const char *name)
{
    return ANY_OF(i, SLOT_COUNT, !strcmp(shape_roles[i].name, name));
}

struct op_values *op_data_of(const struct op *op, struct op_data *data, const char *name)
{
    const struct tensor_role *role = op_role(op, name);
    return role ? &data->at[role->slot] : NULL;
}

void work_reads(struct work *work, const struct tensor *input)
{
    int64_t dim[4];
    tensor_fold(input, dim);
    work->n = dim[0];
    work->c = dim[1];
    work->h = dim[2];
    work->w = dim[3];
    work->layout = input->layout;
    work->dtype = input->dtype;
}

double work_flop(const struct work *work)
{
    return work->op->flop(work);
}

#define VALUE_BYTES 4.0      /* of an input: a float */
#define WIDE_BYTES 12.0      /* of f64: a double, too */
#define REFERENCE_BYTES 12.0 /* of an output: a double and its bound */
struct work_memory work_memory(const struct work *work)
{
    struct tensor list[OP_MAX_TENSORS];
    struct work_memory m = {0};
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        double elements = (double)tensor_elements(&list[i]);
        m.part += elements * (list[i].written ? REFERENCE_BYTES : list[i].dtype == DTYPE_F64 ? WIDE_BYTES : VALUE_BYTES);
        m.buffers += (double)tensor_bytes(&list[i]) * (list[i].written ? 2 : 1);
        m.making += work->op->has_filter && list[i].role->slot == SLOT_INPUT ? elements * sizeof(double) : 0; /* sums read doubles */
    }
    return m;
}

double work_memory_total(const struct work_memory *m)
{
    return 2 * m->part + m->making + m->buffers;
}

bool op_has_variants_of(const struct op *op, const struct op *of)
{
    return of == op || (op->file && op->file->stages && !strcmp(of->name, STAGE_FAMILY));
}

bool work_is_exact(const struct work *work)
{
    const struct op_file *f = work->op->file ? work->op->file : work->op->image;
    struct value v = {.kind = VALUE_INT};
    return !f || (f->exact && (!f->exact_if || (work_value(work, f->exact_if, &v, NULL) && v.kind == VALUE_INT && v.i)));
}

int64_t work_pitch(const struct work *work, const struct tensor *t)
{
    const char *name = t->role->name;
    return t->role->result                                        ? work->pitch.output
           : !strcmp(name, "input")                               ? work->pitch.input
           : !strcmp(name, "residual") || !strcmp(name, "second") ? work->pitch.other
                                                                  : 0;
}

bool pitches_same(const struct pitches *a, const struct pitches *b)
{
    return a->input == b->input && a->other == b->other && a->output == b->output;
}

bool work_sliced(const struct work *work)
{
    return !pitches_same(&work->pitch, &(struct pitches){0});
}

int64_t work_terms(const struct work *work)
{
    const struct op *op = work->op;
    int64_t terms = 0;
    if (op->file)
        return op->file->terms && work_int(work, op->file->terms, &terms, NULL) ? terms : 0;
    if (op->image && op->image->terms)
        return work_int(work, op->image->terms, &terms, NULL) ? terms : 0;
    return op->has_filter ? work->c / work->groups * work_filter_taps(work) : 0;
}

#define PRODUCT_TERMS 8 /* the least depth of a tensor instruction */

bool work_multiplies(const struct work *work)
{
    struct tensor list[OP_MAX_TENSORS];
    double results = 0;
    int read = 0;
    if (work->op->has_filter)
        return true;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++)
        if (list[i].written)
            results = fmax(results, (double)tensor_elements(&list[i]));
        else
            read += list[i].role->values != VALUES_INDICES && !tensor_role_is_mask(list[i].role);
    return read >= 2 && work_terms(work) >= PRODUCT_TERMS && work_flop(work) >= 2 * (double)work_terms(work) * results;
}

double work_bytes(const struct work *work)
{
    struct value v;
    if (work->op->file && work->op->file->bytes && work_value(work, work->op->file->bytes, &v, NULL))
        return v.kind == VALUE_INT ? (double)v.i : v.d;
    if (work->op->bytes)
        return work->op->bytes(work);
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
        } else if (f->kind == FIELD_WORD && !strcmp(f->name, name)) {
            memcpy(&out->i, (const char *)work + f->offset, sizeof out->i);
            text = f->words[out->i];
        }
    if (text)
        ;
    else if (!strcmp(name, "layout"))
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
    static const char *names[MAX_SYMBOLS];
    int count = 0;
    if (op->file || op->image)
        return (op->file ? op->file : op->image)->symbol_names;
    for (const struct op_symbol *s = op->symbols; s->name && count < MAX_SYMBOLS - 6; s++)
        names[count++] = s->name;
    for (const struct op_field *f = op->fields; f->name && count < MAX_SYMBOLS - 6; f++)
        if (f->kind == FIELD_REAL)
            names[count++] = f->name;
    static const char *const texts[] = {"layout", "dtype", "math", "mode", "to"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        names[count++] = texts[i];
    names[count] = NULL;
    return names;
}

static bool symbol_of(void *context, const char *name, struct value *out, struct error *err)
{
    return work_symbol(context, name, out);
}

struct expr_env work_env(const struct work *work)
{
    return (struct expr_env){(void *)(uintptr_t)work, symbol_of, NULL, work_symbol_names(work->op)};
}

bool work_value(const struct work *work, const struct expr *e, struct value *out, struct error *err)
{
    const struct expr_env env = work_env(work);
    return expr_eval(e, &env, out, err);
}

bool work_int(const struct work *work, const struct expr *e, int64_t *out, struct error *err)
{
    const struct expr_env env = work_env(work);
    return expr_eval_int(e, &env, out, err);
}
