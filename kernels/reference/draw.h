/* How inputs are drawn: the only source of the CPU's values (harness/op/reference/generate.c) and of the device's (data.cu). Both make the
 * same bits: they mix integers, and round each operation on doubles separately. */
#ifndef BENCH_REFERENCE_DRAW_H
#define BENCH_REFERENCE_DRAW_H

#ifdef __CUDACC__
#define DRAW static __device__ inline
#define DRAW_ADD(a, b) __dadd_rn(a, b)
#define DRAW_MUL(a, b) __dmul_rn(a, b)
#else
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#define DRAW static inline
#define DRAW_ADD(a, b) ((a) + (b))
#define DRAW_MUL(a, b) ((a) * (b))
#endif
#define DRAW_STEP 0x9e3779b97f4a7c15ull

/* The finaliser of SplitMix64 (harness/op/random.c). */
DRAW uint64_t draw_mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

DRAW uint64_t draw_bits(uint64_t key, uint64_t index)
{
    return draw_mix(key + index * DRAW_STEP);
}

/* The sum of four numbers of 16 bits. */
DRAW int64_t draw_four(uint64_t b)
{
    return (int64_t)((b & 0xffff) + (b >> 16 & 0xffff) + (b >> 32 & 0xffff) + (b >> 48));
}

/* Normal with mean 0 and variance 1: the sum of twelve 16-bit uniforms (support +-6) plus 32 bits below them, so that the mantissa is full. */
DRAW double draw_normal(uint64_t key, uint64_t index)
{
    uint64_t i = index * 4;
    int64_t sum = draw_four(draw_bits(key, i)) + draw_four(draw_bits(key, i + 1)) + draw_four(draw_bits(key, i + 2));
    double low = DRAW_MUL(DRAW_ADD((double)(int64_t)(draw_bits(key, i + 3) >> 32), 0.5), 0x1p-32);
    return DRAW_MUL(DRAW_ADD(DRAW_ADD((double)sum, -393209.5), low), 0x1p-16); /* 12 x 65535 / 2 = 393,210, less a half for `low` */
}

/* One of the numbers below: `rest` is (bits >> 33) modulo the magnitude. */
DRAW float draw_whole(uint64_t bits, int64_t rest, int64_t unit)
{
    float m = (float)(unit * (1 + rest));
    return bits & 1 ? -m : m;
}

/* Small whole numbers, unit * 1 .. unit * magnitude of either sign. If outputs have `terms` taps, only `nonzero` of a filter's are not 0: a
 * window over a permutation of the taps (`step`), which advances by its own length from channel to channel, so that together the channels
 * use every tap. terms 0: all are not 0. */
DRAW float draw_exact(uint64_t key, int64_t i, int64_t magnitude, int64_t unit, int64_t terms, int64_t nonzero, int64_t step)
{
    if (terms && (i % terms * step + i / terms % terms * nonzero) % terms >= nonzero)
        return 0;
    uint64_t b = draw_bits(key, (uint64_t)i);
    return draw_whole(b, (int64_t)((b >> 33) % (uint64_t)magnitude), unit);
}

/* ---- lines: what is special about one, and where ---- */

/* Lines run along one or two groups of a tensor's axes: the layout is [high][between][low][inner], where low and high are the line's own
 * axes. */
struct draw_lines {
    int64_t inner, low, between, high;
};
struct draw_at {
    int64_t line, place;
};
DRAW int64_t draw_line_length(const struct draw_lines *l)
{
    return l->low * l->high;
}

DRAW struct draw_at draw_line_at(const struct draw_lines *l, int64_t i)
{
    int64_t outer = i / l->inner / l->low;
    struct draw_at at = {(outer / (l->between * l->high) * l->between + outer % l->between) * l->inner + i % l->inner,
                         outer / l->between % l->high * l->low + i / l->inner % l->low};
    return at;
}

DRAW int64_t draw_line_element(const struct draw_lines *l, struct draw_at at)
{
    int64_t outer = at.line / l->inner;
    return (((outer / l->between * l->high + at.place / l->low) * l->between + outer % l->between) * l->low + at.place % l->low) * l->inner +
           at.line % l->inner;
}

/* A position in a line: an end or one of its first 32, in its tail (the columns behind the last whole 32, or the last 32), in the middle half, an odd column,
 * or any. A kernel that skips columns skips one of these, or many. */
enum draw_where { DRAW_AT_END, DRAW_IN_TAIL, DRAW_IN_MIDDLE, DRAW_AT_ODD, DRAW_ANYWHERE };
DRAW int64_t draw_place(enum draw_where where, uint64_t bits, int64_t length)
{
    int64_t tail = length % 32 ? length % 32 : length < 32 ? length : 32, at = (int64_t)(bits >> 1 & 0x7fffffff);
    switch (where) {
    case DRAW_AT_END: return at % 4 < 2 ? length - 1 : at % 4 == 2 ? 0 : at / 4 % (length < 32 ? length : 32);
    case DRAW_IN_TAIL: return length - 1 - at % tail;
    case DRAW_IN_MIDDLE: at = length / 4 + at % ((length + 1) / 2); return at % 2 || at + 1 >= length ? at : at + (int64_t)(bits & 1); /* mostly odd */
    case DRAW_AT_ODD: return length > 1 ? 1 + at % (length / 2) * 2 : 0;
    case DRAW_ANYWHERE: break;
    }
    return (int64_t)((bits >> 32) * (uint64_t)length >> 32);
}

/* Behind the first 32 columns: 32 places that follow each other (`number`) are in the 32 columns of a warp, each in another. */
DRAW int64_t draw_swept(uint64_t key, uint64_t number, uint64_t bits, int64_t length)
{
    int64_t warp = 32 * (1 + (int64_t)((bits >> 32) % (uint64_t)(length / 32 - 1)));
    return warp + (int64_t)((number * 13 + key) % 32);
}

#define DRAW_SWEPT 24 /* the first line with such places; the lines before have one of every class of place */

/* Of eight lines that follow each other each kind occurs once; `turn` is the first one's. order: by kind, of such places. */
struct draw_line {
    int kind;
    int64_t place, other;
};
DRAW struct draw_line draw_line_of(uint64_t key, int turn, int64_t line, int64_t length, const unsigned char places[8], const unsigned char others[8],
                                   const unsigned char order[8])
{
    struct draw_line l;
    /* anywhere: multiples of the golden ratio, so that the places of a few lines leave no large gap */
    uint64_t own = draw_mix(key ^ 0x6c696e6573ull), bits = (draw_bits(own, (uint64_t)line) & 0xffffffff) | ((own + (uint64_t)line * DRAW_STEP) & ~0xffffffffull);
    l.kind = (int)((line + turn) % 8);
    l.place = line >= DRAW_SWEPT && length >= 64 ? draw_swept(own, (uint64_t)line / 8 * 4 + order[l.kind], bits, length)
                                                 : draw_place((enum draw_where)places[l.kind], bits, length);
    l.other = draw_place((enum draw_where)others[l.kind], draw_mix(bits), length);
    return l;
}

/* For ops that compare values: kinds 0 to 3 have their maximum at one position and their minimum at another; 4 has none; in 5 and 6 all values
 * have one sign, and the one nearest to 0 is at one position; 7 has its maximum twice. One of them detects a kernel that skips columns, starts
 * with 0 or a number near it, or takes the wrong one of two equal values. */
DRAW struct draw_line draw_compared(uint64_t key, int turn, int64_t line, int64_t length)
{
    const unsigned char places[8] = {DRAW_IN_TAIL,  DRAW_IN_MIDDLE, DRAW_AT_ODD,  DRAW_ANYWHERE,
                                     DRAW_ANYWHERE, DRAW_AT_END,    DRAW_IN_TAIL, DRAW_AT_END};
    const unsigned char others[8] = {DRAW_ANYWHERE, DRAW_AT_END,   DRAW_IN_TAIL,  DRAW_IN_MIDDLE,
                                     DRAW_ANYWHERE, DRAW_ANYWHERE, DRAW_ANYWHERE, DRAW_ANYWHERE};
    const unsigned char order[8] = {0, 1, 2, 3, 0, 1, 2, 3};
    return draw_line_of(key, turn, line, length, places, others, order);
}

/* The value of column `at`, which was v: for normal values below `most`, for whole numbers of either sign up to `most`, from 0 to most - 1, or
 * 0 and 1. In long lines of the latter two the maximum would always be the type's largest and the minimum 0. So values from 0 on keep to their
 * middle half or to one half; in kind 3 all but one or all are 0. For 0 and 1: in kinds 0 and 1 one position is 1, in 3, 5 and 6 one is 0, in
 * 2 and 7 none. */
enum draw_of { DRAW_OF_REALS, DRAW_OF_WHOLE, DRAW_OF_NATURAL, DRAW_OF_ONES };
DRAW float draw_in_line(const struct draw_line *l, int64_t at, float v, float most, enum draw_of of)
{
    bool exact = of == DRAW_OF_WHOLE, here = at == l->place, upper = l->kind == 3 || l->kind > 4;
    float beyond = exact ? most + 1 : most + fabsf(v), quarter = floorf(v * 0.25f), half = floorf(v * 0.5f);
    if (of == DRAW_OF_ONES && l->kind != 4)
        return (here && l->kind != 2 && l->kind != 7) != upper ? 1.0f : 0.0f;
    if (of == DRAW_OF_NATURAL && l->kind != 4) {
        if (l->kind == 3)
            return here && l->other % 2 ? half + 1 : 0;
        if (l->kind == 5 || l->kind == 6)
            return half + (here == (l->kind == 6) ? most * 0.5f : 0);
        if (here || (l->kind == 7 && at == l->other))
            return l->kind == 7 ? most - 1 : quarter + most * 0.75f;
        return at == l->other ? quarter : half + most * 0.25f;
    }
    switch (l->kind) {
    case 4: return v;
    case 5:
    case 6: v = here ? (exact ? 1.0f : 5.5f) : (exact ? 1 : 6) + fabsf(v); return l->kind == 5 ? -v : v;
    case 7: return here || at == l->other ? (exact ? most + 1 : 2 * most) : v;
    default: return here ? beyond : at == l->other ? -beyond : v;
    }
}

/* For reals of which some are `higher`: in odd kinds of lines one position alone is higher, in 2 and 6 all but one; in 4 all are at another
 * `level`; in 0 one position is higher by an eighth of that, so that a result of that size hides no error in the others (not in line 0,
 * which may be the only one: its sum must have many terms). */
DRAW struct draw_line draw_higher_line(uint64_t key, int turn, int64_t line, int64_t length)
{
    const unsigned char places[8] = {DRAW_ANYWHERE, DRAW_IN_TAIL, DRAW_AT_END,   DRAW_IN_MIDDLE,
                                     DRAW_ANYWHERE, DRAW_ANYWHERE, DRAW_ANYWHERE, DRAW_AT_END};
    const unsigned char order[8] = {0, 0, 1, 1, 2, 2, 3, 3};
    struct draw_line l = draw_line_of(key, turn, line, length, places, places, order);
    l.place = line || l.kind ? l.place : -1;
    return l;
}

/* What is added in column `at` of such a line. */
DRAW double draw_higher(const struct draw_line *l, int64_t at, double higher, double level)
{
    if (l->kind == 4)
        return level;
    return (at == l->place) == (l->kind % 2 == 1 || !l->kind) ? DRAW_MUL(higher, l->kind ? 1 : 0.125) : 0;
}

/* A real from `low` on. */
DRAW double draw_low(uint64_t key, int64_t i, double low, double range)
{
    return DRAW_ADD(low, DRAW_MUL(range, DRAW_MUL((double)(draw_bits(key, (uint64_t)i) >> 11), 0x1p-53)));
}

/* The first column at which a line of such reals uses the whole range: two of eight lines stay in its lower half until late, so that a running
 * maximum rises there. This detects a kernel that does not rescale its partial sum, even if the result has 16 bits. */
DRAW int64_t draw_late(uint64_t key, int turn, int64_t line, int64_t length)
{
    int kind = (int)((line + turn) % 8);
    return kind % 4 != 1 || length < 2 ? 0 : draw_place(kind == 1 ? DRAW_IN_MIDDLE : DRAW_IN_TAIL, draw_bits(draw_mix(key ^ 0x6c617465ull), (uint64_t)line), length);
}

/* The same, in some lines `higher` or at another `level` (0: in none; then some rise late, if there are lines). */
DRAW double draw_real(uint64_t key, int turn, int64_t i, double low, double range, double higher, double level, int64_t length)
{
    if (higher == 0)
        return draw_low(key, i, low, length && i % length < draw_late(key, turn, i / length, length) ? DRAW_MUL(range, 0.5) : range);
    double real = draw_low(key, i, low, range);
    struct draw_line l = draw_higher_line(key, turn, i / length, length);
    return DRAW_ADD(real, draw_higher(&l, i % length, higher, level));
}

/* Lines of a turn in which each of `length` places decides: whole warps, and room for turns that begin up to 31 lines apart. */
#define DRAW_WARP 32
DRAW int64_t draw_sweep_turn(int64_t length)
{
    return (length + 2 * DRAW_WARP - 2) / DRAW_WARP * DRAW_WARP;
}

/* Lines in which one value decides: lines `first` and following of all `of`; half a line behind it is the minimum. In a turn of `each`
 * lines, line m decides at position m behind `begin`, in the next turn one position before that: so in each turn a position decides in a
 * line with another remainder by 2, 4, ... 32. If `each` is less than draw_sweep_turn, there is one turn, over all positions or as many as
 * it has lines: both ends of a line, and others at equal distances. A value v becomes at[0] + at[1] v. SWEEP_TIES: in every third turn the
 * maximum is also at another position, that of `middle`. SWEEP_WHOLE: the minimum is the only 0 of its line, but in every second turn (with
 * ties, in the second of three) all values except the maximum are 0. SWEEP_ONES: the same for 0 and 1; if there is one turn, in every
 * second line. */
enum draw_sweeps { SWEEP_LARGEST = 0, SWEEP_TIES = 1, SWEEP_WHOLE = 2, SWEEP_ONES = 4 };
struct draw_sweep {
    struct draw_lines lines;
    int64_t begin, first, of, each, kind; /* kind: of enum draw_sweeps */
    double peak[2], dip[2], middle;
};
/* True if so few lines of a sweep cannot have both kinds of lines at every place. */
DRAW bool draw_sweep_halves(int64_t kind, int64_t of, int64_t each)
{
    return kind == SWEEP_ONES && of < 2 * each;
}
DRAW int64_t draw_sweep_place(const struct draw_sweep *s, int64_t m, int64_t shift)
{
    int64_t length = draw_line_length(&s->lines), end = m < 2 ? 0 : length - 1;
    if (s->each >= length)
        return (s->begin + (s->each < draw_sweep_turn(length) ? m * length / s->each : m + DRAW_WARP * length - shift)) % length;
    if (s->each > 4 && m < 4) /* the least value is at an end, then the largest */
        return m % 2 ? end : (end + length - length / 2) % length;
    return (s->begin + (s->each > 4 ? (m - 4) * length / (s->each - 4) : m * length / s->each)) % length;
}
DRAW float draw_in_sweep(const struct draw_sweep *s, uint64_t key, int64_t i, float v)
{
    struct draw_at at = draw_line_at(&s->lines, i);
    bool ties = s->kind & SWEEP_TIES, whole = s->kind >= SWEEP_WHOLE, halves = draw_sweep_halves(s->kind, s->of, s->each);
    int64_t length = draw_line_length(&s->lines), number = s->first + at.line, turn = number / s->each, m = number % s->each;
    int64_t cycle = ties ? turn / 3 : whole ? turn / 2 : turn, period = ties ? 3 : whole ? 2 : 1;
    int64_t part = halves ? (turn + m) % 2 : turn - cycle * period;
    bool tie = part == 2, zeros = whole && part == 1;
    int64_t shift = halves ? 0 : whole ? cycle + (part > 0) : tie ? cycle : turn - (ties ? cycle : 0);
    int64_t peak = draw_sweep_place(s, m, shift % DRAW_WARP);
    int64_t second = !tie ? peak : (int64_t)((draw_bits(key ^ 0x74696573ull, (uint64_t)number) >> 32) * (uint64_t)length >> 32);
    if (tie && (at.place == peak || at.place == second))
        return (float)DRAW_ADD(s->peak[0], DRAW_MUL(s->peak[1], s->middle));
    if (zeros && at.place != peak)
        return 0;
    const double *to = at.place == peak ? s->peak : s->dip;
    return at.place == peak || at.place == (peak + length / 2) % length ? (float)DRAW_ADD(to[0], DRAW_MUL(to[1], (double)v)) : v;
}

/* 1 with this probability, else 0. */
DRAW float draw_one(uint64_t key, int64_t i, double probability)
{
    return DRAW_MUL((double)(draw_bits(key, (uint64_t)i) >> 11), 0x1p-53) < probability ? 1.0f : 0.0f;
}

#endif
