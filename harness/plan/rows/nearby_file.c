/* Draws nearby shapes for an op with tensors of its own: its sizes are the fields that appear in a tensor's shape. Words and other whole
 * numbers stay: they say what is computed. Reals change on the last two shapes. */
#include "op/op_file.h"
#include "op/reference/generate.h"
#include "plan/rows/private.h"
#include <math.h>
#include <stddef.h>

#define GRAINS 11       /* heads ask for multiples of 1 to 1024 */
#define BLOCK 256       /* usual threads of a block: code with one value for each thread stops there */
#define SMALL_REAL 0.01 /* of an epsilon, not a scale */
#define FEW 3           /* least number of sizes to draw from, if the grain is coarse */
/* Attempts, in order: every size differs and the code is the same; the same with sizes compiled in; only some sizes, or one, differ and the
 * code is the same; then the next kind; at last only the reals differ. */
enum { ATTEMPT_COMPILED = 16, ATTEMPT_SOME = 24, ATTEMPT_NEXT = 36, ATTEMPT_SAME = 60 };

bool plan_has_nearby(const struct op *op)
{
    const struct op_file *f = op->file;
    for (int i = 0; f && i < f->tensor_count; i++)
        if (f->tensors[i].values_file)
            return false;
    return !f || f->from != REFERENCE_NPY;
}

static bool is_size(const struct op_file *f, const struct op_field *field)
{
    for (int i = 0; i < f->tensor_count && field->kind == FIELD_INT; i++)
        if (ANY_OF(k, f->tensors[i].rank, op_file_uses(f, f->tensors[i].shape[k], field->name)))
            return true;
    return false;
}

/* A multiple of the grain other than its own size; its own if there is no other. lines: the least number of rows, 0: any. turned: odd if
 * its own is even, and even if that is odd. */
static int64_t size_near(const struct op_field *f, int64_t own, enum image image, bool along, int64_t lines, int64_t grain, bool turned,
                         int64_t longest, uint64_t random)
{
    bool far = image == IMAGE_GROWN && along, beyond = image == IMAGE_GROWN || (image == IMAGE_BEYOND && along);
    int64_t least = lines > f->min ? lines : f->min;
    int64_t first = far ? 2 * own + grain : beyond ? own + grain : (least + grain - 1) / grain * grain;
    int64_t most = image == IMAGE_SQUARE      ? longest
                   : far                      ? NEARBY_FARTHER
                   : beyond                   ? own / 4 + NEARBY_NARROW
                   : lines                    ? lines / 2
                   : !along                   ? NEARBY_NARROW / (image == IMAGE_LONG ? 1 : 2)
                   : longest >= NEARBY_NARROW ? longest * longest / NEARBY_NARROW
                                              : longest;
    most = most / grain > FEW ? most / grain : FEW;
    int64_t many = most - BLOCK / grain; /* ... every other draw is larger than a block's threads */
    if (image == IMAGE_LONG && along && many > FEW && random >> 63)
        first += BLOCK / grain * grain, most = many;
    int64_t size = first + (int64_t)(random % (uint64_t)most) * grain;
    if (grain == 1 && turned)
        size += (size - own) % 2 == 0;
    else
        size += size == own ? grain : 0;
    return size > f->max ? own : size;
}

/* The largest power of two that divides both; 0 counts as a multiple of the grain. */
static int64_t grain_of(int64_t own, int64_t grain)
{
    while (own % grain)
        grain /= 2;
    return grain;
}

/* Draws another value of a real field, within its range and on the same side of 0 and of 1. It is half or double the value; a small one,
 * such as an epsilon, becomes far larger. A kernel that uses a constant instead of the field is wrong there. far: the value lies half of
 * the way, in orders of magnitude, to the end of the range that the op's file gives. */
static double real_near(double own, double least, double most, bool up, bool far)
{
    double end = up ? most : least;
    if (far && own >= SMALL_REAL && end > 0 && end < FIELD_REAL_MOST)
        return sqrt(own * end);
    double size = fabs(own), near = size == 0           ? 0.5
                                    : size < SMALL_REAL ? pow(size, up ? 0.5 : 0.375)
                                    : size > 1          ? 1 + (size - 1) * (up ? 2 : 0.5)
                                    : !up               ? size * 0.5
                                    : size < 1          ? fmin(2 * size, (1 + size) / 2)
                                                        : 2;
    near = copysign(near, own);
    return near < least ? least : near > most ? most : near;
}

void nearby_vary_reals(const struct op *op, bool up, bool far, struct work *out)
{
    for (const struct op_field *f = op->fields; f->name; f++) {
        double *value = (double *)(void *)((char *)out + f->offset);
        if (f->kind == FIELD_REAL && f->offset >= offsetof(struct work, value))
            *value = real_near(*value, f->least, f->most, up, far);
    }
    for (int i = 0; i < out->epilogue_count; i++) {
        struct epilogue *item = &out->epilogue[i];
        double *reals[] = {&item->alpha, &item->most, &item->scale};
        for (int k = 0; k < 3; k++) /* 0: it has none, or a clip begins there, as relu6 does; a scale of 1 is none */
            if (*reals[k] != 0 && (k < 2 || *reals[k] != 1))
                *reals[k] = real_near(*reals[k], -FIELD_REAL_MOST, FIELD_REAL_MOST, up, false);
    }
}

/* The tensors that are read, not constant, and drawn from N(0, 1); weights: or are weights. */
static int drawn_inputs(const struct op *op, bool weights)
{
    int drawn = 0;
    for (int i = 0; op->roles[i]; i++) {
        enum tensor_values v = op->roles[i]->values;
        bool normal = !op->roles[i]->constant && (v == VALUES_INPUT || v == VALUES_OPERAND);
        drawn += !op->roles[i]->output && (normal || (weights && v == VALUES_WEIGHT));
    }
    return drawn;
}

void nearby_enlarge(struct work *out)
{
    const struct op_file *f = out->op->file;
    enum dtype t = work_result_dtype(out);
    bool sum = f && drawn_inputs(out->op, true) == 1; /* and no product, whose factors a kernel may split into parts of 16 bits */
    if (work_terms(out) > 0 && !out->op->settle && (!f || (work_is_exact(out) && f->tolerance == 0 && t != DTYPE_F16)))
        out->larger = t == DTYPE_F16 ? 16 : sum ? 0x1p30 : 256;
}

/* A magnitude at which the exponential of an input, or of a product of two, overflows. 0 if a correct kernel may overflow at a smaller one:
 * in f16, or with roundings between its steps (`tolerance:`). */
static double larger_near(const struct work *own)
{
    const struct op_file *f = own->op->file;
    int drawn = drawn_inputs(own->op, false);
    if (!drawn || work_is_exact(own) || work_terms(own) < 1 || f->tolerance > 0 || f->stages || own->math == MATH_F16_ACC16)
        return 0;
    return drawn > 1 ? 16 : work_result_dtype(own) == DTYPE_F16 ? 32 : 256;
}

#define FEW_DEVIATE 2.5 /* standard deviations: one value of 160 is larger */

/* The distance of numbers from 4096 on in the type of the normal input, and the type's range. */
static double step_of_input(const struct work *own, double *above, double *below)
{
    struct tensor list[OP_MAX_TENSORS];
    double step = 0;
    for (int i = 0, count = own->op->tensors(own, list); i < count; i++)
        if (!list[i].written && generate_is_normal(&list[i])) {
            step = 4096 * 2 * dtype_unit_roundoff(list[i].dtype);
            dtype_range(list[i].dtype, below, above);
        }
    return step;
}

/* Gives the values of an op with one drawn input a mean far from 0. A kernel that subtracts large numbers (a variance in one pass) is
 * wrong there. A type of few bits would round all values to one number. Then the mean is slightly below the middle of two numbers, so
 * that a few values become the larger one. Products of two such inputs and ops with roundings between their steps (`tolerance:`) get no
 * such mean, because correct kernels would have large errors. */
static double mean_near(const struct work *own, uint64_t random)
{
    const struct op_file *f = own->op->file;
    if (f->exact || f->tolerance > 0 || f->stages || drawn_inputs(own->op, false) != 1 || work_terms(own) < 1)
        return 0;
    double mean = 4096 + (double)(random % 4096), above = 0, below, step = step_of_input(own, &above, &below);
    while (mean > above / 2)
        mean /= 2, step /= 2;
    if (step / 2 > FEW_DEVIATE)
        mean = (floor(mean / step) + 0.5) * step - FEW_DEVIATE;
    return random >> 63 ? mean : -mean;
}

static bool has_specials(const struct op_file *f)
{
    unsigned any = 0;
    for (int i = 0; i < f->tensor_count; i++)
        any |= f->tensors[i].specials;
    return any != 0;
}

/* The values of a nearby shape. last: its other sizes are those of the row. */
static void draw_values(uint64_t seed, int number, int attempt, bool last, struct work *out)
{
    const struct op_file *f = out->op->file;
    out->every_size = number % 2 ? SIZES_ALL : SIZES_SQUARED;
    if (number == NEARBY_LARGER)
        out->larger = larger_near(out);
    if (number >= NEARBY_GROWN)
        return;
    if (number == 1 || number == IMAGES) /* those that are long along one axis and along another */
        out->mean = mean_near(out, random_bits(seed, 0, 3));
    out->specials = number > 0 && number % 2 == 0 && has_specials(f); /* the others have a mean */
    if (number == IMAGE_BEYOND)
        nearby_enlarge(out);
    if (number >= IMAGES && (attempt < ATTEMPT_COMPILED || last)) /* compiled in, a field is used */
        nearby_vary_reals(out->op, number > IMAGES, attempt % 2 == 0, out);
}

/* Values of a nearby shape, on the row's own. */
static void draw_own(const struct work *own, uint64_t seed, struct work *out)
{
    *out = *own;
    out->seed = random_bits(seed, 0, 0);
    if (own->op->file && own->op->file->from == REFERENCE_PYTHON) /* what it returns is of this run alone */
        out->set_seed = out->seed | 1;
    out->picture[0] = out->picture_hash[0] = 0;
    out->any_boxes = true;
}

void nearby_draw_swept(const struct work *own, uint64_t seed, int64_t lines, int64_t grain, struct work *out)
{
    struct generate_selection now, twice;
    struct error ignored = {0};
    draw_own(own, seed, out);
    for (const struct op_field *f = own->op->fields; f->name && grain; f++) {
        const struct work before = *out;
        int64_t *value = (int64_t *)(void *)((char *)out + f->offset);
        if (f->kind != FIELD_INT || (own->op->file && !is_size(own->op->file, f)) || !generate_selects(out, &now) ||
            (now.count >= lines && now.count < 2 * lines))
            continue;
        *value *= 2;
        bool says =
            work_finish(out, &ignored) && generate_selects(out, &twice) && twice.length == now.length && twice.count == 2 * now.count;
        *out = before;
        if (!says)
            continue;
        *value = (int64_t)ceil((double)*value * (double)lines / (double)now.count);
        *value = (*value + grain - 1) / grain * grain;
        if (*value < f->min || *value < 1)
            *value = f->min > 1 ? f->min : 1;
        if (!work_finish(out, &ignored))
            *out = before;
    }
}

bool nearby_draw_file(const struct work *own, uint64_t seed, int number, int attempt, int64_t lines, int64_t longest, struct work *out)
{
    const struct op_file *f = own->op->file;
    const struct op_field *sizes[WORK_VALUES];
    bool compiled = attempt >= ATTEMPT_COMPILED && attempt < ATTEMPT_SOME, all = attempt < ATTEMPT_SOME;
    int count = 0, power = compiled ? attempt - ATTEMPT_COMPILED : all ? attempt : (attempt - ATTEMPT_SOME) / 2;
    for (const struct op_field *field = f->op.fields; field->name && count < WORK_VALUES; field++)
        if (is_size(f, field))
            sizes[count++] = field;
    draw_own(own, seed, out);
    bool again = number >= IMAGES && number < NEARBY_GROWN; /* the long kinds once more, along another axis */
    bool same = again && attempt >= ATTEMPT_SAME;
    if (number == NEARBY_LARGER)
        same = attempt >= ATTEMPT_COMPILED, compiled = false;
    draw_values(seed, number, attempt, same, out);
    uint64_t bits = random_bits(seed, 0, 1);
    uint64_t axis = random_bits(count > 2 ? seed : own->seed, 0, 2) + (uint64_t)(again ? number - 2 : number - 1); /* of two both */
    int along = count ? (int)(axis % (uint64_t)count) : 0;
    bool far = number == NEARBY_GROWN && attempt % 3 == 0; /* along every axis; then along one, often that of lines; then along none */
    if (number == NEARBY_GROWN)
        along = attempt % 3 == 2 ? -1 : bits % 4 ? count - 1 : along;
    int64_t grain = (int64_t)1 << (power + (number == IMAGE_LONG ? 3 : 0)) % GRAINS;
    enum image image = number == NEARBY_GROWN    ? IMAGE_GROWN
                       : number == NEARBY_LARGER ? IMAGE_SQUARE
                                                 : (enum image)((number + again + (attempt >= ATTEMPT_NEXT)) % IMAGES);
    for (int i = 0; i < count && !same; i++) {
        int64_t *value = (int64_t *)(void *)((char *)out + sizes[i]->offset);
        if (all || (attempt % 2 ? bits >> i & 1 : i == along))
            *value = size_near(sizes[i], *value, image, far || i == along,
                               number == NEARBY_LARGER || (i != along && image != IMAGE_SQUARE && image != IMAGE_GROWN) ? lines : 0,
                               grain_of(*value, grain), number != IMAGE_LONG, longest, random_bits(seed, 1, (uint64_t)i));
    }
    return compiled;
}
