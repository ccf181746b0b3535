#include "op/reference/generate.h"
#include "base/order.h"
#include "base/pool.h"
#include "op/convert.h"
#include "op/reference/image.h"
#include "op/op_file.h"
#include "op/weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many tensors of the op are drawn this way, for example weights, or biases of a file. */
static int plan_count(const struct work *w, enum tensor_values values)
{
    int count = 0;
    for (int i = 0; w->op->roles[i]; i++)
        count += w->op->roles[i]->values == values;
    return count;
}

struct exact_plan generate_plan(const struct work *w)
{
    double largest = fmin(dtype_exact_integer(work_result_dtype(w)), dtype_exact_integer(DTYPE_F32)); /* i8: what f32 holds of the sums */
    if (w->math == MATH_F16_ACC16)
        largest = fmin(largest, dtype_exact_integer(DTYPE_F16));
    largest /= op_grain(w); /* weights between 0 and 1 */
    int64_t limit = largest > 2 ? (int64_t)largest : 2, share = limit < 8 ? 1 : limit / 8 < 1000 ? limit / 8 : 1000;
    struct exact_plan plan = {.input = 1, .filter = 1, .unit = 1};
    int biases = w->op->file ? plan_count(w, VALUES_BIAS) : work_epilogue_find(w, EPILOGUE_BIAS) >= 0,
        addends = w->op->file ? plan_count(w, VALUES_ADDEND) : work_epilogue_find(w, EPILOGUE_RESIDUAL) >= 0;
    while (share > 1 && share * (biases + addends) > limit / 2)
        share /= 2;
    plan.bias = biases ? share : 0;
    plan.residual = addends ? share : 0;
    limit -= share * (biases + addends);
    if (w->op->file && !plan_count(w, VALUES_WEIGHT)) { /* sums of what is read, or of products of two such */
        int64_t terms = work_terms(w);
        plan.input = terms ? (int64_t)sqrt((double)limit / (double)terms) : 7; /* moved or compared: ties are common */
        plan.input = plan.input < 1 ? 1 : plan.input;
        plan.residual = plan.bias = share;
        return plan;
    }
    if (!w->op->file && !w->op->has_filter) { /* nothing is summed: use many different values */
        struct tensor list[OP_MAX_TENSORS];
        bool two = false;
        for (int i = 0, count = w->op->tensors(w, list); i < count; i++)
            two |= !list[i].written && !tensor_role_is_mask(list[i].role) && list[i].role->values == VALUES_OPERAND;
        plan.unit = op_means(w); /* a mean of whole numbers that is one too */
        if (plan.unit > 1)       /* f32 must hold the sum before it is divided */
            limit = (int64_t)fmin((double)limit, dtype_exact_integer(DTYPE_F32) / (double)plan.unit);
        plan.input = (two ? limit / 4 : limit - 1) / plan.unit;
        plan.input = op_largest(w, plan.input < 1 ? 1 : plan.input, (double)limit);
        return plan;
    }
    plan.terms = plan.nonzero = work_terms(w) > 0 ? work_terms(w) : 1;
    if (plan.terms > limit)
        plan.nonzero = limit;
    for (bool grown = true; grown;) {
        grown = false;
        if (plan.input < 15 && plan.nonzero * (plan.input + 1) * plan.filter <= limit)
            plan.input++, grown = true;
        if (plan.filter < 7 && plan.nonzero * plan.input * (plan.filter + 1) <= limit)
            plan.filter++, grown = true;
    }
    return plan;
}

struct job {
    struct generate_recipe recipe;
    float *to;
    size_t count;
};

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* For values that are only moved or compared. Of eight values two are small, down to the least of the type, and one is 0, except in lines
 * of one sign. Every second line (or value, if there are no lines) is larger, up to the largest of the type or, with SIZES_SQUARED, up to
 * the largest whose square is finite. */
static float of_any_size(const struct generate_recipe *r, size_t i, float v)
{
    bool half = r->round_to == DTYPE_F16;
    bool lines = r->lines.low > 0;
    size_t line = lines ? (size_t)draw_line_at(&r->lines, (int64_t)i).line : i;
    int kind = lines ? draw_compared(r->key, r->turn, (int64_t)line, draw_line_length(&r->lines)).kind : 0,
        most = r->every_size == SIZES_SQUARED ? (half ? 3 : 49)
               : half                         ? 11
                                              : 123;
    bool one_sign = kind == 5 || kind == 6;
    uint64_t place = (i + random_bits(r->key, 1, i / 8)) % 8, size = random_bits(r->key, 2, i), large = random_bits(r->key, 3, line);
    if (!one_sign && place == 0)
        v = 0;
    else if (!one_sign && place % 4 == 1)
        v = ldexpf(v, -(half ? 8 + (int)(size % 16) : 14 + (int)(size % 122)));
    if ((line + random_bits(r->key, 4, line / 2)) % 2)
        v = ldexpf(v, 2 + (int)(large % (uint64_t)most));
    convert_round(r->round_to, &v, 1);
    return v;
}

/* The largest magnitude that normal values have, for the lines of ops that compare them. */
float generate_most(const struct generate_recipe *r)
{
    return r->exact ? (float)r->magnitude : r->draw == DRAW_BITS ? ldexpf(1, r->bits) : (float)(6 * r->scale);
}

enum draw_of generate_draws_of(const struct generate_recipe *r)
{
    return r->exact ? DRAW_OF_WHOLE : r->draw == DRAW_BITS ? DRAW_OF_NATURAL : r->draw == DRAW_ONES ? DRAW_OF_ONES : DRAW_OF_REALS;
}

/* Values first to first + count - 1 are parts of lines. */
struct stretch {
    int64_t line, from, count; /* columns from .. from + count - 1 */
};
static struct stretch stretch_at(int64_t first, int64_t left, int64_t length)
{
    int64_t from = first % length;
    return (struct stretch){first / length, from, left < length - from ? left : length - from};
}

/* Lines of consecutive elements. */
static void make_rows(const struct generate_recipe *r, size_t first, size_t count, float *to)
{
    float most = generate_most(r);
    enum draw_of of = generate_draws_of(r);
    int64_t length = draw_line_length(&r->lines);
    for (size_t done = 0; done < count;) {
        struct stretch s = stretch_at((int64_t)(first + done), (int64_t)(count - done), length);
        struct draw_line l = draw_compared(r->key, r->turn, s.line, length);
        int64_t at[] = {l.place - s.from, l.other - s.from};
        if (l.kind == 5 || l.kind == 6 || of >= DRAW_OF_NATURAL) /* in the other kinds, all other columns keep their values */
            for (int64_t i = 0; i < s.count; i++)
                to[done + (size_t)i] = draw_in_line(&l, s.from + i, to[done + (size_t)i], most, of);
        else
            for (int i = 0; i < 1 + (l.other != l.place); i++)
                if (at[i] >= 0 && at[i] < s.count)
                    to[done + (size_t)at[i]] = draw_in_line(&l, s.from + at[i], to[done + (size_t)at[i]], most, of);
        done += (size_t)s.count;
    }
}

static void make_lines(const struct generate_recipe *r, size_t first, size_t count, float *to)
{
    float most = generate_most(r);
    enum draw_of of = generate_draws_of(r);
    bool rows = r->lines.inner == 1 && r->lines.high == 1;
    if (rows)
        make_rows(r, first, count, to);
    for (size_t i = 0; !rows && i < count; i++) {
        struct draw_at at = draw_line_at(&r->lines, (int64_t)(first + i));
        struct draw_line l = draw_compared(r->key, r->turn, at.line, draw_line_length(&r->lines));
        to[i] = draw_in_line(&l, at.place, to[i], most, of);
    }
    convert_round(r->round_to, to, count);
}

static void make_sweep(const struct generate_recipe *r, size_t first, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = draw_in_sweep(&r->sweep, r->key, (int64_t)(first + i), to[i]);
    convert_round(r->round_to, to, count);
}

/* Reals that only the late columns of some lines take from the whole range (draw_real). */
static void make_late(const struct generate_recipe *r, size_t first, size_t count, float *to)
{
    for (size_t done = 0; done < count;) {
        struct stretch s = stretch_at((int64_t)(first + done), (int64_t)(count - done), r->length);
        int64_t late = draw_late(r->key, r->turn, s.line, r->length) - s.from;
        for (int64_t i = 0; i < s.count && i < late; i++)
            to[done + (size_t)i] = (float)draw_low(r->key, (int64_t)(first + done) + i, r->low, DRAW_MUL(r->range, 0.5));
        done += (size_t)s.count;
    }
}

/* Reals of which some are higher (draw_real). */
static void make_higher(const struct generate_recipe *r, size_t first, size_t count, float *to)
{
    for (size_t done = 0; done < count;) {
        struct stretch s = stretch_at((int64_t)(first + done), (int64_t)(count - done), r->length);
        struct draw_line l = draw_higher_line(r->key, r->turn, s.line, r->length);
        for (int64_t i = 0; i < s.count; i++, done++)
            to[done] = (float)DRAW_ADD(draw_low(r->key, (int64_t)(first + done), r->low, r->range),
                                       draw_higher(&l, s.from + i, r->higher, r->level));
    }
}

/* Sets to 0 the taps that draw_exact leaves out. From one tap to the next, the place in the permutation moves on by `step`. */
static void drop_taps(const struct generate_recipe *r, size_t first, size_t count, float *to)
{
    int64_t step = r->step % r->terms;
    for (size_t done = 0; done < count;) {
        struct stretch s = stretch_at((int64_t)(first + done), (int64_t)(count - done), r->terms);
        int64_t place = (s.from * r->step + s.line % r->terms * r->nonzero) % r->terms;
        for (int64_t i = 0; i < s.count; i++, done++) {
            to[done] = place < r->nonzero ? to[done] : 0;
            place += step;
            place -= place >= r->terms ? r->terms : 0;
        }
    }
}

/* bits >> 33 modulo `below`, by a product with 1 / below, which is off by at most one. */
static inline int64_t rest_of(uint64_t bits, int64_t below, double inverse)
{
    int64_t x = (int64_t)(bits >> 33), rest = x - (int64_t)((double)x * inverse) * below;
    rest += rest < 0 ? below : 0;
    return rest - (rest >= below ? below : 0);
}

/* For the vector registers that the machine has: layers have tens of millions of values. */
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
static CLONES void draw_many(const struct generate_recipe *r, uint64_t first, size_t count, float *to)
{
    const uint64_t key = r->key;
    const double scale = r->scale, mean = r->mean, low = r->low, range = r->range, ones = r->ones, inverse = 1 / (double)r->magnitude;
    const int64_t magnitude = r->magnitude, unit = r->unit;
    switch (r->draw) {
    case DRAW_EXACT:
        for (size_t i = 0; i < count; i++) {
            uint64_t bits = draw_bits(key, first + i);
            to[i] = draw_whole(bits, rest_of(bits, magnitude, inverse), unit);
        }
        break;
    case DRAW_NORMAL:
        for (size_t i = 0; i < count; i++)
            to[i] = (float)(draw_normal(key, first + i) * scale + mean);
        for (size_t i = 0; r->rectify && i < count; i++)
            to[i] = draw_normal(key, first + i) < 0 ? 0 : to[i];
        break;
    case DRAW_BITS:
        for (size_t i = 0, shift = 64 - (size_t)r->bits; i < count; i++)
            to[i] = (float)(int64_t)(draw_bits(key, first + i) >> shift);
        break;
    case DRAW_UNIFORM:
        for (size_t i = 0; i < count; i++)
            to[i] = (float)draw_low(key, (int64_t)(first + i), low, range);
        break;
    case DRAW_ONES:
        for (size_t i = 0; i < count; i++)
            to[i] = draw_one(key, (int64_t)(first + i), ones);
        break;
    }
}

void generate_some(const struct generate_recipe *r, size_t first, size_t count, float *to)
{
    if (r->draw == DRAW_UNIFORM && r->higher != 0)
        make_higher(r, first, count, to);
    else
        draw_many(r, first, count, to);
    if (r->draw == DRAW_UNIFORM && r->higher == 0 && r->length)
        make_late(r, first, count, to);
    if (r->draw == DRAW_EXACT && r->terms)
        drop_taps(r, first, count, to);
    if (r->draw == DRAW_NORMAL || r->draw == DRAW_UNIFORM || r->draw == DRAW_ONES)
        convert_round(r->round_to, to, count);
    if (r->sweep.of)
        make_sweep(r, first, count, to);
    else if (r->lines.low)
        make_lines(r, first, count, to);
    for (size_t i = 0; r->every_size && i < count; i++)
        to[i] = of_any_size(r, first + i, to[i]);
}

#define CHUNK 8192
static void fill_chunk(void *context, int64_t chunk, int thread)
{
    struct job *job = context;
    size_t from = (size_t)chunk * CHUNK, left = job->count - from;
    generate_some(&job->recipe, from, left < CHUNK ? left : CHUNK, job->to + from);
}

/* Recipes that only ops in files use (docs/OP.md). */
static void recipe_of_file(const struct work *work, const struct tensor *t, bool first, struct generate_recipe *r)
{
    const struct op_file_tensor *from = op_file_tensor(work->op, t->role);
    enum tensor_values values = t->role->values;
    bool whole = values == VALUES_OPERAND || values == VALUES_INPUT, bytes = t->dtype == DTYPE_U8 || t->dtype == DTYPE_U16;
    r->low = from->low;
    r->range = from->high - from->low;
    r->ones = from->high;
    r->higher = from->step;
    r->level = from->level;
    r->length = t->rank > 1 || r->higher != 0 ? t->dim[t->rank - 1] : 0;
    r->bits = t->dtype == DTYPE_U16 && values != VALUES_BYTES ? 16 : 8;
    if (values == VALUES_BYTES || (whole && bytes))
        r->draw = DRAW_BITS;
    else if (whole && t->dtype == DTYPE_BOOL)
        r->draw = DRAW_ONES, r->ones = 0.5;
    else if (values == VALUES_MASK)
        r->draw = DRAW_ONES;
    else if (values == VALUES_UNIFORM && !(first && work_is_exact(work))) /* in an op that is exact small whole numbers */
        r->draw = DRAW_UNIFORM;
    else if (whole && work_terms(work) == 0 && !generate_lines(work, t, &r->lines) && t->rank > 1)
        r->lines = (struct draw_lines){1, t->dim[t->rank - 1], 1, 1};
    if (r->draw == DRAW_EXACT && r->magnitude > (int64_t)dtype_exact_integer(t->dtype))
        r->magnitude = (int64_t)dtype_exact_integer(t->dtype);
    if (r->draw == DRAW_EXACT && (bytes || t->dtype == DTYPE_U32 || t->dtype == DTYPE_U64)) { /* no sign: from 0 on */
        r->draw = DRAW_BITS;
        for (r->bits = 1; (int64_t)2 << r->bits <= r->magnitude + 1;)
            r->bits++;
        r->lines.low = 0;
    }
    if (((r->draw == DRAW_BITS && r->bits > 1) || (whole && r->draw == DRAW_ONES)) && generate_is_alone(work, t) && work_terms(work) == 0)
        generate_lines(work, t, &r->lines);
    r->exact = r->draw == DRAW_EXACT;
}

/* True if the op only moves t's values, so that they come out bit for bit. */
static bool only_moved(const struct work *w, const struct tensor *t)
{
    const struct op_file *f = w->op->file ? w->op->file : w->op->image;
    struct tensor list[OP_MAX_TENSORS];
    bool other = t->role->values != VALUES_INPUT && t->role->values != VALUES_OPERAND;
    if (other || !f || !f->exact || f->stages || f->tolerance > 0 || f->sent_above || work_terms(w) > 0 || op_means(w) > 1)
        return false;
    if (ANY_OF(i, w->epilogue_count, w->epilogue[i].kind != EPILOGUE_DEPTH_TO_SPACE && w->epilogue[i].kind != EPILOGUE_LAYOUT))
        return false;
    for (int i = 0, count = w->op->tensors(w, list); i < count; i++)
        if (list[i].written && !tensor_role_is_mask(list[i].role) && list[i].dtype != t->dtype)
            return false;
    return t->dtype == DTYPE_F32 || t->dtype == DTYPE_F16 || t->dtype == DTYPE_BF16;
}

bool generate_by_index(const struct work *work, const struct tensor *t)
{
    enum tensor_values values = t->role->values;
    return t->dtype != DTYPE_F64 && values != VALUES_SORTED && values != VALUES_INDICES && values != VALUES_BOXES &&
           values != VALUES_FILE && !(work->specials && op_file_tensor(work->op, t->role) && op_file_tensor(work->op, t->role)->specials) &&
           !work->few && !(values == VALUES_INPUT && work->picture[0]) && !(work->weights[0] && weights_tensor(t));
}

void generate_wide(const struct work *work, const struct tensor *t, enum data_part part, const float *from, size_t count, double *to)
{
    enum tensor_values values = t->role->values;
    bool whole = values == VALUES_BYTES || values == VALUES_INDICES || values == VALUES_BOXES || values == VALUES_MASK,
         digits = !whole && !work->few && !generate_recipe(work, t, part).exact;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        uint64_t wide;
        to[i] = from[i];
        if (!digits || from[i] == 0 || !isfinite(from[i]))
            continue;
        memcpy(&bits, &from[i], sizeof bits);
        memcpy(&wide, &to[i], sizeof wide);
        wide |= bits * UINT64_C(0x9e3779b97f4a7c15) >> 36; /* below half a unit of f32's last place */
        memcpy(&to[i], &wide, sizeof wide);
    }
}

bool generate_is_normal(const struct tensor *t)
{
    bool normal = t->role->values == VALUES_INPUT || t->role->values == VALUES_OPERAND;
    return normal && !t->role->constant && !dtype_is_whole(t->dtype);
}

struct generate_recipe generate_recipe(const struct work *work, const struct tensor *t, enum data_part part)
{
    struct exact_plan plan = generate_plan(work);
    bool first =
        part ==
        DATA_PART_EXACT; /* an op that is never exact gets more varied values: few values would round alike, and their errors add up */
    struct generate_recipe r = {.exact = first && work_is_exact(work), .scale = 1};
    r.key = random_bits(work->seed, (uint64_t)t->role->slot * 2 + (uint64_t)first, t->role->constant ? 0 : work->set_seed);
    r.turn = (int)((random_bits(work->seed, (uint64_t)t->role->slot, t->role->constant ? 1 : work->set_seed + 1) + first) % 8);
    /* a bias is also representable in the work's type: libraries read the bias of 16-bit data as 16 bits */
    bool own = work->op->file && (dtype_is_whole(t->dtype) || dtype_unit_roundoff(t->dtype) > dtype_unit_roundoff(work_result_dtype(work)));
    r.round_to = t->role->values == VALUES_BIAS && !own ? work_result_dtype(work) : t->dtype;
    r.rectify = t->role->values == VALUES_INPUT && work->data == DATA_RELU;
    r.unit = t->role->values == VALUES_INPUT ? plan.unit : 1;
    const int64_t magnitudes[] = {
        [VALUES_FILE] = 0,           [VALUES_SORTED] = plan.input,  [VALUES_UNIFORM] = plan.input, [VALUES_OPERAND] = plan.input,
        [VALUES_INPUT] = plan.input, [VALUES_WEIGHT] = plan.filter, [VALUES_BIAS] = plan.bias,     [VALUES_ADDEND] = plan.residual,
        [VALUES_SLOPES] = 1};
    r.magnitude = magnitudes[t->role->values];
    if (t->role->values == VALUES_WEIGHT) { /* outputs of variance 1 */
        r.scale = 1 / sqrt((double)plan.terms);
        for (r.step = (int64_t)(0.618 * (double)plan.terms) | 1; gcd(r.step, plan.terms) != 1;)
            r.step++;
        r.terms = plan.nonzero < plan.terms ? plan.terms : 0;
        r.nonzero = plan.nonzero;
    }
    if (t->dtype == DTYPE_I8) /* whole numbers over most of -127 .. 127 */
        r.scale = 32;
    if (t->dtype == DTYPE_E2M1) /* most of its values; weights would be 0 */
        r.scale = 2;
    r.draw = r.exact ? DRAW_EXACT : DRAW_NORMAL;
    if (t->role->values == VALUES_SLOPES)
        r.draw = DRAW_UNIFORM, r.low = -0.125, r.range = 0.5;
    if (work->op->file)
        recipe_of_file(work, t, first, &r);
    if (t->role->values == VALUES_INPUT && !r.rectify && op_compares(work)) {
        /* an image's channel: windows of one sign are rare otherwise, and code that begins with 0 is right in all others */
        r.lines = (struct draw_lines){1, 1, 1, 1};
        for (int i = 2; i < t->rank; i++)
            r.lines.low *= t->dim[i];
    }
    r.mean = generate_is_normal(t) ? work->mean : 0;
    if (work->larger != 0 && generate_is_normal(t))
        r.scale *= work->larger;
    generate_sweep(work, t, &r);
    r.every_size = r.draw == DRAW_NORMAL && only_moved(work, t) ? work->every_size : SIZES_USUAL;
    return r;
}

/* Distinct numbers below `below`; each row is the start of another permutation: i goes to a + b i, b coprime to `below`. */
static void fill_indices(uint64_t key, int64_t below, size_t rows, size_t length, float *to)
{
    for (size_t row = 0; row < rows; row++) {
        int64_t start = (int64_t)(random_bits(key, row, 0) % (uint64_t)below), step = (int64_t)(random_bits(key, row, 1) % (uint64_t)below);
        step = step < 1 ? 1 : step;
        while (gcd(step, below) != 1)
            step++;
        for (size_t i = 0; i < length; i++)
            to[row * length + i] = (float)((start + (int64_t)i % below * step) % below);
    }
}

/* x, y, width, height of rectangles inside an image: sizes in turn, random positions. */
static void fill_boxes(const struct work *work, const struct op_file_tensor *from, uint64_t key, size_t boxes, float *to)
{
    for (size_t i = 0; i < boxes; i++) {
        int64_t size[2]; /* width, height */
        op_file_box(work, from, i, size);
        for (int k = 0; k < 2; k++) {
            int64_t within = size[k];
            work_int(work, from->within[1 - k], &within, NULL);
            to[i * 4 + (size_t)k + 2] = (float)size[k];
            to[i * 4 + (size_t)k] = (float)(random_bits(key, i, (uint64_t)k) % (uint64_t)(within - size[k] + 1));
        }
    }
}

#define SPECIAL_LINE 64 /* values of a tensor of one axis that count as a line */
#define LINES_OF_EACH 4 /* with fewer, no line is sure to be infinite */

/* Plants an infinity or NaN in three of four lines, at a position of one of the classes of draw.h. One of eight lines is infinite in all
 * elements, and so is one line for each sign, unless there are very few lines. */
static void plant_specials(const struct tensor *t, unsigned specials, uint64_t key, float *to)
{
    static const float values[] = {INFINITY, -INFINITY, NAN};
    int64_t count = (int64_t)tensor_elements(t), length = t->rank == 1 && count > SPECIAL_LINE ? SPECIAL_LINE : t->dim[t->rank - 1];
    int64_t lines = (count + length - 1) / length, least = (int64_t)(random_bits(key, 0x6c656173, 0) % (uint64_t)lines);
    for (int64_t line = 0; line < lines; line++) {
        uint64_t bits = random_bits(key, 0x73706563, (uint64_t)line), which = random_bits(key, 0x77686963, (uint64_t)line);
        int64_t left = count - line * length, place = draw_place((enum draw_where)(which % 5), bits, length < left ? length : left);
        int kind = (int)(which / 5 % 3);
        while (!(specials >> kind & 1))
            kind = (kind + 1) % 3;
        bool one = lines >= LINES_OF_EACH && (line == least || line == (least + 1) % lines);
        bool whole = (one || (which >> 32) % 8 == 0) && (specials & 3);
        if (whole)
            kind = specials & 1 && (!(specials & 2) || (one ? line != least : which >> 40 & 1)) ? 0 : 1;
        for (int64_t i = 0; whole && i < length && i < left; i++)
            to[line * length + i] = values[kind];
        if ((which >> 32) % 4)
            to[line * length + place] = values[kind];
    }
}

/* Plants only 5 to GENERATE_FEW values in each line, one in each of as many parts of the line, at the same places in all such inputs. The
 * values of the first input have the same sign and exponent, and 0101... in their last 16 bits. So if a kernel drops some of these bits,
 * with or without rounding, all values change in the same direction, by a third of a unit or more. */
static void plant_few(const struct generate_recipe *r, const struct draw_lines *lines, const struct work *work, bool first, size_t count,
                      float *to)
{
    int64_t length = draw_line_length(lines), part = length / GENERATE_FEW;
    memset(to, 0, count * sizeof *to);
    for (size_t i = 0; work->few == FEW_ONES && i < count; i++)
        to[i] = (first ? 1.0f : 2.0f) * (draw_bits(r->key, i) & 1 && !r->rectify ? -1 : 1);
    for (int64_t line = 0; work->few != FEW_ONES && line < (int64_t)count / length; line++) {
        uint64_t bits = random_bits(work->seed, 0x66657773, (uint64_t)line);
        for (int64_t k = 0, most = 5 + (int64_t)(bits % (GENERATE_FEW - 4)); k < most; k++) {
            uint64_t drawn = random_bits(bits, 0x706c6163, (uint64_t)k);
            struct draw_at place = {line,
                                    (k * 3 + (int64_t)(bits >> 8 & 7)) % GENERATE_FEW * part + (int64_t)((drawn >> 32) % (uint64_t)part)};
            size_t at = (size_t)draw_line_element(lines, place);
            if (work->few != FEW_ALL && (k % 2 == 0) != (work->few == FEW_EVEN))
                continue;
            if (first)
                to[at] = (float)((1 + (double)(drawn % 128) / 128 + 0x5555p-23) * r->scale * (bits >> 32 & !r->rectify ? -1 : 1));
            else
                generate_some(r, at, 1, &to[at]);
            convert_round(r->round_to, &to[at], 1);
        }
    }
}

ORDER(ascending, float, (*x > *y) - (*x < *y))

void generate_tensor(const struct work *work, const struct tensor *t, enum data_part part, float *to)
{
    struct job job = {.recipe = generate_recipe(work, t, part), .to = to, .count = tensor_elements(t)};
    const struct op_file_tensor *from = op_file_tensor(work->op, t->role);
    size_t length = (size_t)t->dim[t->rank - 1];
    int64_t below = 1;
    struct draw_lines lines;
    bool selected;
    if (generate_few(work, t, &lines, &selected))
        plant_few(&job.recipe, &lines, work, selected, job.count, to);
    else if (t->role->values == VALUES_INDICES)
        fill_indices(job.recipe.key, work_int(work, from->below, &below, NULL) && below > 0 ? below : 1, job.count / length, length, to);
    else if (t->role->values == VALUES_BOXES)
        fill_boxes(work, from, job.recipe.key, job.count / 4, to);
    else
        pool_for((int64_t)((job.count + CHUNK - 1) / CHUNK), pool_threads_for((int64_t)job.count, 2 * CHUNK), fill_chunk, &job);
    if (work->specials && from && from->specials)
        plant_specials(t, from->specials, job.recipe.key, to);
    for (size_t i = 0; t->role->values == VALUES_SORTED && i < job.count; i += length)
        qsort(to + i, length, sizeof *to, ascending);
}
