/* Draws nearby shapes for a row: the same op, types, layouts, filter and epilogue on images of other sizes, with other batch sizes and, if
 * its code stays the same, other channels. nearby_file.c does the same for ops with tensors of their own. */
#include "op/reference/generate.h"
#include "plan/rows/private.h"
#include "kernel/bind/variant_bind.h"
#include <math.h>
#include <string.h>

#define TRIES 64
#define TRIES_KIND 16 /* tries per kind of image before the next kind: first with drawn batch sizes, then with the row's own */
#define FLOP_SPARE 2  /* times the limit of operations, for the first tries: */
#define TRIES_CHEAP (TRIES_KIND / 2) /* code may accept only the row's own channels, */
#define FLOP_KEPT 8                  /* with which another kind of image may be cheaper; any number in the last tries */
#define NARROW NEARBY_NARROW         /* the short side of an image that is long, */
#define NARROWER (NARROW / 2)        /* ... or longer than the row's own */
#define WHOLE 65                     /* least width of nearly full masks: a row has a whole word of bits inside, */
#define WIDER 33                     /* ... and at most this many columns more */
#define DENSE 0.99                   /* densities of masks: all that such a word sees through a filter of 3 x 3 is often marked */
#define THIN 0.05
#define THIN_ROW 1.5      /* marks of a row of a wide image */
#define ELEMENTS 4000000  /* upper limit of all its elements, if possible: the CPU makes them */
#define TRIES_COMPILED 16 /* the last tries may need new code: sizes are compiled in */
#define SMALL 7           /* larger images are made smaller before numbers of channels are */
/* Limits for an op with tensors of its own, whose reference runs on the row's device: on emu it is interpreted too. */
#define FILE_FLOP 4
#define GROWN_SHARE 0.25      /* of the work of other nearby shapes, for one that is not smaller than the layer */
#define FILE_ELEMENT_FLOP 300 /* what a value costs where nothing is computed */
/* The least short side of long shapes. The rows have every kind of drawn line (kernels/reference/draw.h) at some positions each; on one
 * shape, if possible, so many that a kernel that overlooks one lane of each warp misses a special value. */
#define LINES_MANY 88
#define LINES 20
#define LINES_LESS 5

/* The fields that may be drawn, and how. */
enum drawn { DRAWN_COUNT, DRAWN_SIZE, DRAWN_CHANNELS };
static const struct {
    const char *name;
    enum drawn how;
} fields[] = {{"n", DRAWN_COUNT}, {"d", DRAWN_COUNT}, {"h", DRAWN_SIZE}, {"w", DRAWN_SIZE}, {"c", DRAWN_CHANNELS}, {"k", DRAWN_CHANNELS}};

static const int eighths[] = {2, 4, 6, 9, 10, 12, 16, 24};
enum { EIGHTHS = sizeof eighths / sizeof *eighths };
/* How c and k are drawn. Odd numbers reveal many mistakes, because few layers have them. Round numbers are multiples of the row's own, or
 * odd multiples of a power of two. The row's own numbers are for code that depends on them. If the head ties one of the two to the row's
 * own, that one is tried last and keeps its value, while the other may differ. */
enum { STYLES = 3 };
enum channels { ODD, ROUND, KEPT };
static const struct {
    enum channels c, k;
} turns[STYLES][TRIES_KIND / 2] = {
    {{ODD, ODD}, {ROUND, ODD}, {ODD, ROUND}, {ROUND, ROUND}, {KEPT, ODD}, {ODD, KEPT}, {KEPT, ROUND}, {KEPT, KEPT}},
    {{ROUND, ROUND}, {ODD, ROUND}, {ROUND, ODD}, {ODD, ODD}, {KEPT, ROUND}, {ROUND, KEPT}, {KEPT, ODD}, {KEPT, KEPT}},
    {{KEPT, KEPT}, {KEPT, ODD}, {ODD, KEPT}, {KEPT, ROUND}, {ROUND, KEPT}, {ODD, ODD}, {ROUND, ROUND}, {ODD, ROUND}},
};

/* kinds: how many eighths of the kinds are drawn, from the first on */
static int64_t channels_near(int64_t channels, int64_t kinds, enum channels how, uint64_t random)
{
    int64_t near = channels * eighths[random % (uint64_t)kinds] / 8, grain = 2 << random / 128 % 5;
    if (how == KEPT)
        return channels;
    if (how == ODD)
        return (near > 8 ? near / 8 * 8 : 8) - 1 - 2 * (int64_t)(random / 64 % 4);
    if (kinds == EIGHTHS && random / 64 % 2)
        return channels * (2 + (int64_t)(random / 128 % 2));
    while (grain > channels && grain > 1)
        grain /= 2;
    near = near > grain ? (near - grain) / (2 * grain) * 2 * grain + grain : grain;
    return near == channels ? 2 * channels : near;
}

/* More than its own if the image is grown, but for what is kept. */
static int64_t channels_of(enum image image, int64_t channels, int64_t kinds, enum channels how, uint64_t random)
{
    return channels_near(channels, kinds, how, random) + (image == IMAGE_GROWN && how != KEPT ? channels : 0);
}

/* Limits of a draw: sides from the least that the filter allows, `count` of them. */
struct limits {
    int64_t least, count, longest, narrow, narrower, channels; /* channels: a kind of channels_near; count 0: keeps its own numbers */
    int64_t wide;                                              /* least width of a wide image, as nearly full masks ask for; 0: any */
};

/* After a draw with too much work, draws smaller ones as far as possible. */
static bool shrink(struct limits *l)
{
    struct limits was = *l;
    l->channels = l->longest > SMALL ? l->channels : l->channels > 1 ? (l->channels + 1) / 2 : 1;
    l->count = 2;
    l->longest = l->longest > 4 ? l->longest / 2 : 2;
    l->narrow = l->narrow > 4 ? l->narrow / 2 : 2;
    l->narrower = 2;
    if (!memcmp(&was, l, sizeof was))
        l->wide = 0;
    return memcmp(&was, l, sizeof was) != 0;
}

/* The smallest image that there are works of. */
static int64_t least_side(const struct work *own)
{
    struct work w = *own;
    for (w.h = w.w = 1; w.h < own->h; w.w = ++w.h) {
        struct error ignored = {0};
        struct work tried = w;
        if (work_finish(&tried, &ignored))
            break;
    }
    return w.h;
}

/* One more than the filter, or the row's own size if that is less. */
static int64_t window_side(const struct work *own, int64_t least)
{
    int64_t window = (own->r > own->s ? own->r : own->s) + 1, side = own->h < own->w ? own->h : own->w;
    window = window < side ? window : side;
    return window > least ? window : least;
}

/* A number from 1 to `most` other than its own: code that knows only its own number must meet another one. */
static int64_t other(int64_t own, int64_t most, uint64_t random)
{
    int64_t drawn = 1 + (int64_t)(random % (uint64_t)(most - 1));
    return drawn + (drawn >= own);
}

/* along: the axis that is long. */
static int64_t size_of(enum image image, bool along, int64_t own, const struct limits *l, uint64_t random)
{
    int64_t before = l->least - 1;
    if (image == IMAGE_GROWN && along && l->longest)
        return own + 1 + (int64_t)(random % (uint64_t)(own + l->longest));
    if (image == IMAGE_GROWN || (image == IMAGE_BEYOND && along))
        return own + 1 + (int64_t)(random % (uint64_t)(own / 4 + NARROW));
    return before + other(own - before,
                          image == IMAGE_SQUARE  ? l->longest
                          : !along               ? image == IMAGE_LONG ? l->narrow : l->narrower
                          : l->longest >= NARROW ? l->longest * l->longest / NARROW
                                                 : l->longest,
                          random);
}

/* Even if its own is odd, odd if its own is even, and with another remainder by the stride, so that the draw differs in kind: the last
 * output reads other columns. */
static bool is_turned(int64_t own, int64_t size, int64_t stride)
{
    return (size - own) % 2 != 0 && (stride < 2 || (size - own) % stride != 0);
}

static int64_t turned_from(int64_t own, int64_t size, int64_t least, int64_t stride)
{
    for (int64_t apart = 0;; apart++) {
        if (size - apart >= least && is_turned(own, size - apart, stride))
            return size - apart;
        if (is_turned(own, size + apart, stride))
            return size + apart;
    }
}

/* Draws the fields: channels as turns[][] say, as multiples of the groups (a depthwise layer stays depthwise, with other channels). */
static void draw(const struct work *own, uint64_t seed, enum image image, const struct limits *limits, enum channels c, enum channels k,
                 bool turned, struct work *out)
{
    int64_t groups = own->groups > 1 ? own->groups : 1, inputs = groups;
    bool grown = image == IMAGE_GROWN;
    bool deep = groups > 1 && groups == own->c; /* depthwise */
    char along = limits->wide ? 'w' : "hw"[random_bits(seed, 0, 2) % 2];
    *out = *own;
    out->seed = random_bits(seed, 0, 0);
    out->mask.seed = random_bits(seed, 0, 1);
    out->every_size = seed % 2 ? SIZES_ALL : SIZES_SQUARED;
    out->weights[0] = 0;
    out->same = SAME_NONE; /* the pads of the row: code may depend on them */
    for (const struct op_field *f = own->op->fields; f->name; f++)
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            int64_t *value = (int64_t *)((char *)out + f->offset);
            uint64_t random = random_bits(seed, 1, i);
            if (f->kind != FIELD_INT || strcmp(f->name, fields[i].name))
                continue;
            if (fields[i].how == DRAWN_COUNT && grown)
                *value += limits->count ? 1 + (int64_t)(random % (uint64_t)(*value + 2)) : 0;
            else if (fields[i].how == DRAWN_COUNT)
                *value = limits->count ? other(*value, limits->count, random) : *value;
            else if (fields[i].how == DRAWN_SIZE) {
                int64_t size = limits->wide && *f->name == 'w' ? limits->wide + (int64_t)(random % WIDER)
                                                               : size_of(image, *f->name == along, *value, limits, random);
                int64_t stride = own->side[*f->name == 'h' ? SIDE_stride_y : SIDE_stride_x];
                *value = turned ? turned_from(*value, size, limits->least, stride) : size;
            } else if (*f->name == 'c')
                *value = inputs = channels_of(image, deep ? *value : *value / groups, limits->channels, c, random) * (deep ? 1 : groups);
            else
                *value = channels_of(image, *value / groups, limits->channels, k, random) * groups;
            if (limits->wide && *value < 5 * groups && own->k >= 5 * groups &&
                *f->name == 'k') /* code may be right in the first ones alone */
                *value += 4 * groups;
            if (*value < f->min)
                *value = f->min;
        }
    if (deep && inputs != own->c) {
        out->groups = inputs;
        out->k = out->k / groups * inputs;
    }
}

int plan_unit_of(const struct program *p, const struct unit *unit)
{
    return FIRST_OF(i, p->unit_count, unit_same(&p->units[i], unit));
}

/* Is all its code among the other's? */
static bool is_part_of(const struct program *part, const struct program *whole)
{
    return ALL_OF(i, part->unit_count, plan_unit_of(whole, &part->units[i]) >= 0);
}

static bool is_own_shape(const struct work *a, const struct work *b)
{
    return a->n == b->n && a->c == b->c && a->d == b->d && a->h == b->h && a->w == b->w && a->k == b->k &&
           !memcmp(a->value, b->value, sizeof a->value);
}

static int64_t all_elements(const struct work *w)
{
    struct tensor list[OP_MAX_TENSORS];
    int64_t elements = 0;
    for (int i = 0, count = w->op->tensors(w, list); i < count; i++)
        elements += (int64_t)tensor_elements(&list[i]);
    return elements;
}

static bool is_much(const struct work *w, double elements, double flop)
{
    return (double)all_elements(w) > elements || work_flop(w) > flop;
}

/* True if the row's code accepts the work as it is, or, if allowed, after compiling it again. */
static bool is_done(const struct plan *plan, const struct plan_row *p, bool compiled, const struct work *work, struct program *program)
{
    struct error ignored = {0};
    const struct variant_set *set = plan_set(plan, p->side);
    const struct program *own = plan_program(plan, (int)(p - plan->rows));
    if (!variant_bind(set, p->config, work, &plan->chip, program, &ignored))
        return false;
    if (program->feasible && (is_part_of(program, own) || (compiled && !own->completed_count)))
        return true;
    program_free(program);
    return false;
}

static bool nearby_of_file(const struct plan *plan, const struct plan_row *p, int number, uint64_t seed, int64_t longest, double flop,
                           struct work *work, struct program *program)
{
    const struct work *own = &plan->cases[p->case_index].work;
    static const int64_t lines[] = {LINES_MANY, LINES, LINES_LESS};
    for (int i = 0; i < TRIES; i++)
        for (int k = number != IMAGE_LONG; k < (int)(sizeof lines / sizeof *lines); k++) { /* fewer if those are too much work */
            struct error ignored = {0};
            bool compiled = nearby_draw_file(own, random_bits(seed, 2, (uint64_t)i), number, i, lines[k], longest, work);
            bool is_work = work_finish(work, &ignored) && (number == NEARBY_LARGER ? work->larger != 0 : !is_own_shape(work, own));
            if (is_work && is_much(work, flop / FILE_ELEMENT_FLOP, flop / FILE_FLOP))
                continue;
            if (is_work && is_done(plan, p, compiled, work, program))
                return true;
            break;
        }
    return false;
}

/* Draws a mask without the structure of the row's own, so that no kernel is right only because of it; nearly full, or nearly empty. */
static void scatter(struct work *work, bool dense)
{
    struct mask *m = &work->mask;
    if (m->pattern == MASK_NONE || m->pattern == MASK_FULL || m->pattern == MASK_EMPTY)
        return;
    m->density = dense ? DENSE : fmin(THIN, THIN_ROW / (double)work->w);
    m->pattern = MASK_IID;
}

/* Draws a shape larger than the row's own along every axis, with its own kind of mask and values: a head promises every size that it does
 * not exclude. First far larger along one axis; later tries keep more of the row's own: batch size, channels, multiples of 8. False: none,
 * or too much work. */
static bool nearby_grown(const struct plan *plan, const struct plan_row *p, uint64_t seed, double flop, struct work *work,
                         struct program *program)
{
    const struct work *own = &plan->cases[p->case_index].work;
    for (int i = 0; i < TRIES; i++) {
        struct error ignored = {0};
        int turn = i % 4 + i / (TRIES / 2) * 4, group = i / 4 % 8; /* the turns that keep no channels first */
        struct limits limits = {
            .count = group < 2 || group > 5 ? 3 : 0, .longest = group % 2 ? 0 : NEARBY_FARTHER, .channels = EIGHTHS - 4 * (group % 2)};
        draw(own, random_bits(seed, 2, (uint64_t)i), IMAGE_GROWN, &limits, turns[0][turn].c, turns[0][turn].k, false, work);
        if (group == 4 || group == 5)
            work->h = (work->h + 7) / 8 * 8, work->w = (work->w + 7) / 8 * 8;
        work->epilogue_count -= plan_program(plan, (int)(p - plan->rows))->completed_count ? i % (own->epilogue_count + 1) : 0;
        if (work_finish(work, &ignored) && !is_much(work, ELEMENTS, flop * GROWN_SHARE) &&
            is_done(plan, p, i >= TRIES - TRIES_COMPILED, work, program))
            return true;
    }
    return false;
}

#define SWEPT_LEAST 3  /* turns over all places, if possible: a kernel may overlook one in every second line; two values may be equal */
#define SWEPT_TIMES 64 /* launches at most, if a head takes no other number of lines */

/* Turns over all places in so many lines: up to one for each lane of a warp, if a third of the lines is enough. 0: there is none. */
static int64_t turns_of(int64_t lines, int64_t length)
{
    int64_t whole = lines / draw_sweep_turn(length), cheap = whole / 3 < DRAW_WARP ? whole / 3 : DRAW_WARP;
    return whole < SWEPT_LEAST ? whole : cheap > SWEPT_LEAST ? cheap : SWEPT_LEAST;
}

/* Part `part` of a sweep: with as many lines as a line has positions, or as the limit allows; heads may require multiples. The last part
 * ends at sweep.of. */
static bool nearby_swept(const struct plan *plan, const struct plan_row *p, int part, uint64_t seed, double elements, struct work *work,
                         struct program *program)
{
    const struct work *own = &plan->cases[p->case_index].work;
    static const int64_t grains[] = {DRAW_WARP, 64, 256, 1, 0};
    struct generate_selection l;
    if (!generate_selects(own, &l))
        return false;
    int64_t most = (int64_t)elements / (all_elements(own) / l.count), whole = draw_sweep_turn(l.length);
    int64_t wanted = turns_of(most, l.length) ? whole * turns_of(most, l.length) : l.length, lines = wanted < most ? wanted : most;
    if (most < 1)
        return false;
    for (size_t i = 0; i < sizeof grains / sizeof *grains; i++) {
        struct error ignored = {0};
        nearby_draw_swept(own, seed, lines, grains[i], work);
        if (!work_finish(work, &ignored) || !generate_selects(work, &l) || l.count > 2 * most)
            continue;
        int64_t times = (wanted + l.count - 1) / l.count, may = most / l.count > 1 ? most / l.count : 1;
        times = times < may ? times : may;
        times = times < SWEPT_TIMES ? times : SWEPT_TIMES;
        work->sweep.first = part * l.count;
        work->sweep.of = times * l.count;
        work->sweep.each = work->sweep.of < whole ? work->sweep.of : whole;
        if (is_done(plan, p, false, work, program))
            return true;
    }
    return false;
}

#define FEW_LENGTH 1000 /* of one result: a kernel that keeps 15 bits of each value is within the tolerance there */

#define ONES_LENGTH 1000000 /* all sums of so many 1, or squares of 3, are exact in f32 */

/* The row's own shape, because code may choose a path by the length of lines. An op that is never exact gets whole numbers, too. */
static bool nearby_few(const struct plan *plan, const struct plan_row *p, bool ones, uint64_t seed, double elements, struct work *work,
                       struct program *program)
{
    struct generate_selection l;
    nearby_draw_swept(&plan->cases[p->case_index].work, seed, 0, 0, work);
    work->few = ones ? FEW_ONES : FEW_ALL;
    if (ones && (work_is_exact(work) || work->math == MATH_F16_ACC16))
        return false;
    return generate_selects(work, &l) && (!ones || l.length <= ONES_LENGTH) && l.length >= FEW_LENGTH &&
           (double)all_elements(work) <= elements && is_done(plan, p, false, work, program);
}

bool plan_nearby(const struct plan *plan, int index, int number, uint64_t seed, int64_t longest, double flop, struct work *work,
                 struct program *program)
{
    const struct plan_row *p = &plan->rows[index];
    const struct work *own = &plan->cases[p->case_index].work;
    if (p->kind != PLAN_LAYER || !p->config || own->mask.pattern == MASK_FILE || !plan_has_nearby(own->op))
        return false;
    if (number == NEARBY_OWN) {
        *work = *own;
        return !is_much(own, flop / FILE_ELEMENT_FLOP, flop * GROWN_SHARE) && is_done(plan, p, false, work, program);
    }
    if (number == NEARBY_FEW || number == NEARBY_ONES)
        return nearby_few(plan, p, number == NEARBY_ONES, seed, flop, work, program);
    if (number >= NEARBY_SWEPT)
        return nearby_swept(plan, p, number - NEARBY_SWEPT, seed, flop, work, program);
    if (own->op->file)
        return nearby_of_file(plan, p, number, seed, longest, flop, work, program);
    if (number == NEARBY_GROWN)
        return nearby_grown(plan, p, seed, flop, work, program);
    int items = own->epilogue_count, smaller = 0;
    struct limits limits = {least_side(own), 3, longest, NARROW, NARROWER, EIGHTHS, 0};
    if (own->mask.pattern != MASK_NONE) /* a window has room in a nearly full mask */
        limits.least = window_side(own, limits.least), limits.wide = WHOLE;
    for (int i = 0; i < TRIES; i++) {
        struct error ignored = {0};
        int kind = i / TRIES_KIND, turn = i % (TRIES_KIND / 2), style = number % STYLES;
        bool later = i / (TRIES_KIND / 2) % 2, compiled = i >= TRIES - TRIES_COMPILED;
        struct limits now = limits;
        now.wide = limits.wide * (style == 0);
        if (later == (style != 1)) /* code may depend on the batch size; a head that takes one image is run on others of them */
            now.count = 0;
        draw(own, random_bits(seed, 2, (uint64_t)(i + smaller * TRIES)),
             now.wide ? IMAGE_LONG : (enum image)((number + number / STYLES + kind) % IMAGES), &now, turns[style][turn].c,
             turns[style][turn].k, style == 0 && kind == 0, work); /* if the head refuses other parities: a later try */
        if (style != 1)
            scatter(work, style == 0);
        if (style != 0)
            nearby_enlarge(work);
        if (style != 0 && kind == 0) /* if the head compiles them in: a later try */
            nearby_vary_reals(own->op, random_bits(seed, 2, 1) % 2, false, work);
        if (plan_program(plan, index)->completed_count &&
            i >= TRIES / 4) /* the completing steps belong to other variants, whose rows have nearby shapes of their own */
            work->epilogue_count = items - i % (items + 1);
        if (!work_finish(work, &ignored) || is_own_shape(work, own))
            continue;
        bool much = is_much(work, ELEMENTS, flop);
        if (much && shrink(&limits)) {
            smaller++;
            i--; /* the same once more */
        } else if ((!much || compiled || !is_much(work, ELEMENTS, (i < TRIES_CHEAP ? FLOP_SPARE : FLOP_KEPT) * flop)) &&
                   is_done(plan, p, compiled, work, program)) {
            return true;
        }
    }
    return false;
}
