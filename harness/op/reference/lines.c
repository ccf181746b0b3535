/* Which elements of an input decide a result together, as far as the op's file says: from the sizes of its outputs, the number of its
 * terms, or the elements that a thread of its reference computes. */
#include "op/op_file.h"
#include "op/reference/generate.h"
#include "op/reference/image.h"
#include <string.h>

#define APART 88.7    /* the exponential of a larger difference overflows f32 */
#define FURTHER 8     /* terms at most that are no elements (`cols + 4`) */
#define PEAK 512      /* its square is finite in bf16 and f32, its exponential in double; */
#define PEAK_HALF 128 /* its square in f16 */
#define MOST 6        /* as of normal values */

static bool is_uniform(const struct tensor *t)
{
    return t->role->values == VALUES_UNIFORM || t->role->values == VALUES_BYTES;
}

static bool is_drawn(const struct tensor *t)
{
    bool any = t->role->values == VALUES_INPUT || t->role->values == VALUES_OPERAND || is_uniform(t);
    return any && !t->written && !t->role->constant && t->dtype != DTYPE_E8M0;
}

bool generate_is_alone(const struct work *work, const struct tensor *t)
{
    struct tensor list[OP_MAX_TENSORS];
    bool alone = true;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++)
        alone &= list[i].role == t->role || !is_drawn(&list[i]);
    return alone;
}

/* Does the size of an axis depend on a field that the other expression depends on, too? Sizes that depend on none are equal in words. */
static bool is_shared(const struct op_file *f, const struct expr *size, const struct expr *other)
{
    bool any = false;
    for (const struct op_field *field = f->op.fields; field->name; field++) {
        bool here = op_file_uses(f, size, field->name);
        any |= here;
        if (here && op_file_uses(f, other, field->name))
            return true;
    }
    return !any && !strcmp(expr_text(size), expr_text(other));
}

/* The axes of t that the smallest result does not have, if it is smaller. */
static unsigned axes_of_result(const struct work *work, const struct tensor *list, int count, const struct tensor *t)
{
    const struct op_file *f = work->op->file;
    const struct op_file_tensor *from = op_file_tensor(work->op, t->role), *to = NULL;
    size_t least = tensor_elements(t) / 2;
    unsigned axes = 0;
    for (int i = 0; i < count; i++)
        if (list[i].written && !tensor_role_is_mask(list[i].role) && tensor_elements(&list[i]) <= least) {
            least = tensor_elements(&list[i]);
            to = op_file_tensor(work->op, list[i].role);
        }
    for (int i = 0; to && i < from->rank; i++) {
        bool kept = false;
        for (int k = 0; k < to->rank; k++)
            kept |= is_shared(f, from->shape[i], to->shape[k]);
        axes |= (unsigned)!kept << i;
    }
    return axes;
}

/* The axes of t whose elements are the op's terms; else those that a thread of its reference runs over. */
static unsigned axes_of_terms(const struct work *work, const struct tensor *t)
{
    const struct op_file *f = work->op->file;
    const struct op_file_tensor *from = op_file_tensor(work->op, t->role);
    int64_t terms = work_terms(work), product = 1;
    unsigned summed = 0, by_thread = 0;
    for (int i = 0; i < from->rank; i++) {
        bool counts = f->terms && is_shared(f, from->shape[i], f->terms);
        product *= counts ? t->dim[i] : 1;
        summed |= (unsigned)counts << i;
        by_thread |= (unsigned)(f->threads && !is_shared(f, from->shape[i], f->threads)) << i;
    }
    return summed && product > 1 && product <= terms && product + FURTHER >= terms ? summed : f->threads ? by_thread : 0;
}

/* Lines along these axes, of which at most two groups are not adjacent. */
static bool lines_along(const struct tensor *t, unsigned axes, struct draw_lines *out)
{
    int64_t size[] = {1, 1, 1, 1, 1};
    unsigned group = 0;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dim[i] == 1)
            continue;
        group += (axes >> i & 1) != group % 2;
        if (group > 4)
            return false;
        size[group] *= t->dim[i];
    }
    if (group < 1)
        return false;
    *out = (struct draw_lines){size[0], size[1], size[2], size[3]};
    return true;
}

static bool lines_of(const struct work *work, const struct tensor *list, int count, const struct tensor *t, struct draw_lines *out,
                     bool *smaller)
{
    unsigned axes = is_drawn(t) ? axes_of_result(work, list, count, t) : 0;
    *smaller = axes != 0;
    return is_drawn(t) && lines_along(t, axes ? axes : axes_of_terms(work, t), out);
}

bool generate_lines(const struct work *work, const struct tensor *t, struct draw_lines *lines)
{
    struct tensor list[OP_MAX_TENSORS];
    bool smaller;
    return work->op->file && !work->op->file->stages && lines_of(work, list, work->op->tensors(work, list), t, lines, &smaller);
}

/* True if the op sums, but a value that is far above the others makes a difference to how: its exponential overflows. */
static bool may_overflow(const struct work *work, const struct tensor *t, int drawn)
{
    const struct op_file_tensor *from = op_file_tensor(work->op, t->role);
    return drawn == 1 && !work_is_exact(work) && !(work->op->file->tolerance > 0) && work->math != MATH_F16_ACC16 &&
           t->role->values != VALUES_BYTES && (!is_uniform(t) || from->step != 0 || from->high - from->low > APART);
}

/* An op of images that compares all pixels of a channel. */
static bool selects_pixel(const struct work *work, struct generate_selection *out)
{
    struct tensor t;
    if (!work->op->image || !op_compares(work) || work->p * work->q > 1 || work->mask.pattern != MASK_NONE ||
        !work_tensor(work, "input", &t))
        return false;
    *out = (struct generate_selection){.slot = t.role->slot, .count = t.dim[0] * t.dim[1], .lines = {1, 1, 1, 1}};
    out->length = out->lines.low = (int64_t)tensor_elements(&t) / out->count;
    return out->length > 1;
}

/* An op that makes one result of each line of an input, and counts each of its values as a term. */
static bool sums_lines(const struct work *work, const struct generate_selection *lines)
{
    struct tensor list[OP_MAX_TENSORS];
    int64_t terms = work_terms(work);
    bool one = !(work->op->file->tolerance > 0) && terms >= lines->length && terms <= lines->length + FURTHER;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++)
        one &= !list[i].written || (int64_t)tensor_elements(&list[i]) == lines->count;
    return one;
}

bool generate_selects(const struct work *work, struct generate_selection *out)
{
    const struct op_file *f = work->op->file;
    if (!f)
        return !work->few && selects_pixel(work, out);
    struct tensor list[OP_MAX_TENSORS];
    const struct tensor *from = NULL;
    struct draw_lines lines;
    bool smaller = false, here;
    int drawn = 0, count = !f->stages && work->mask.pattern == MASK_NONE ? work->op->tensors(work, list) : 0;
    for (int i = 0; i < count; i++) {
        if (!list[i].written && (list[i].role->values == VALUES_INDICES || list[i].role->values == VALUES_BOXES))
            return false;
        bool ones = list[i].dtype == DTYPE_BOOL;
        drawn += is_drawn(&list[i]) && !ones;
        if (from || (ones && !generate_is_alone(work, &list[i])) || !lines_of(work, list, count, &list[i], &lines, &here))
            continue;
        from = &list[i];
        smaller = here;
        *out = (struct generate_selection){.slot = from->role->slot, .length = draw_line_length(&lines), .lines = lines};
        out->count = (int64_t)tensor_elements(from) / out->length;
    }
    int64_t terms = work_terms(work);
    if (work->few)
        return from && smaller && generate_is_normal(from) && sums_lines(work, out);
    if (!from || (terms > 0 && !may_overflow(work, from, drawn) && !(work_is_exact(work) && smaller && terms < out->length)))
        return false;
    for (int i = 0; i < count; i++) /* the place of a value */
        if (terms == 0 && list[i].written && dtype_is_whole(list[i].dtype) && list[i].dtype != from->dtype)
            out->kind = SWEEP_TIES;
    if (from->dtype == DTYPE_BOOL)
        out->kind = SWEEP_ONES;
    else if (dtype_is_whole(from->dtype) && from->role->values != VALUES_UNIFORM && (terms == 0 || work_is_exact(work)))
        out->kind |= SWEEP_WHOLE;
    return true;
}

bool generate_few(const struct work *work, const struct tensor *t, struct draw_lines *lines, bool *selected)
{
    struct generate_selection of;
    if (!work->few || !generate_is_normal(t) || !generate_selects(work, &of))
        return false;
    *selected = of.slot == t->role->slot;
    return generate_lines(work, t, lines) && draw_line_length(lines) == of.length && (int64_t)tensor_elements(t) == of.length * of.count;
}

/* Values from low on become values from `to` on: at[0] + at[1] v. */
static void map(double low, double range, double to, double to_range, double at[2])
{
    at[1] = to_range / range;
    at[0] = to - at[1] * low;
}

void generate_sweep(const struct work *work, const struct tensor *t, struct generate_recipe *r)
{
    const struct op_file_tensor *from = op_file_tensor(work->op, t->role);
    struct generate_selection of;
    struct draw_sweep *s = &r->sweep;
    double below, above;
    if (!work->sweep.of || !generate_selects(work, &of) || of.slot != t->role->slot)
        return;
    dtype_range(t->dtype, &below, &above);
    double most = fmin(MOST * r->scale, above / 3), half = most / 2, peak = work_result_dtype(work) == DTYPE_F16 ? PEAK_HALF : PEAK;
    bool sums = work_terms(work) > 0 && !work_is_exact(work), bytes = t->role->values == VALUES_BYTES;
    double low = bytes || !from ? 0 : from->low, range = bytes || !from ? 255 : from->high - from->low;
    *s =
        (struct draw_sweep){.lines = of.lines, .first = work->sweep.first, .of = work->sweep.of, .each = work->sweep.each, .kind = of.kind};
    s->begin = (int64_t)(random_bits(r->key, 5, 0) % (uint64_t)of.length);
    r->draw = DRAW_UNIFORM; /* many, and cheaper than normal ones */
    r->exact = false;
    r->lines.low = r->length = 0;
    r->higher = 0;
    if (t->dtype == DTYPE_BOOL) {
        r->low = s->peak[0] = 1;
        r->range = 0;
    } else if (is_uniform(t) && from->step != 0) {
        r->low = low, r->range = range;
        map(low, range, low + from->step, range, s->peak);
        map(low, range, low, range, s->dip);
    } else if (is_uniform(t)) {
        r->low = low + range / 4, r->range = range / 4;
        map(r->low, r->range, low + range * 0.75, range / 4, s->peak);
        map(r->low, r->range, low, range / 8, s->dip);
    } else if (sums) {
        r->low = -3, r->range = 6;
        map(r->low, r->range, peak, peak / 4, s->peak);
        map(r->low, r->range, peak * -0.9, peak * 0.15, s->dip);
    } else if (below >= -1 || r->rectify || of.kind >= SWEEP_WHOLE) { /* -1: of whole numbers without a sign */
        r->low = half, r->range = half;
        map(half, half, 2 * most, most, s->peak);
        map(half, half, 0, half / 2, s->dip);
    } else {
        r->low = -most, r->range = 2 * most;
        map(r->low, r->range, 2 * most, most, s->peak);
        map(r->low, r->range, -1.75 * most, most / 4, s->dip);
    }
    s->middle = r->low + r->range / 2;
    if (of.kind >= SWEEP_WHOLE)
        s->dip[0] = s->dip[1] = 0;
}
