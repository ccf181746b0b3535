/* op/reference/generate: the values of inputs. A value depends on its seed, tensor and index alone, through integer arithmetic and
 * correctly rounded operations: it is the same on every machine, for every number of threads. */
#pragma once

#include "kernels/reference/draw.h"
#include "op/op.h"
#include "op/random.h"

/* Magnitudes of the exact data, such that every sum of any subset of products, plus bias, plus residual, is an integer that the dtype and
 * the accumulator hold. */
struct exact_plan {
    int64_t input, filter, bias, residual; /* magnitudes are 1 .. this (never 0: a dropped term shows) */
    int64_t unit;                          /* inputs are multiples of it: window of a mean */
    int64_t terms;                         /* of one output's reduction */
    int64_t nonzero;                       /* non-zero filter taps per output channel; < terms if the dtype holds no larger sum */
};
struct exact_plan generate_plan(const struct work *work);
/* How the values of a tensor are made; generate_tensor here and kernels/reference/data.cu on a device make the same bits from it. */
enum generate_draw { DRAW_NORMAL, DRAW_EXACT, DRAW_BITS, DRAW_UNIFORM, DRAW_ONES };
struct generate_recipe {
    uint64_t key;
    int turn; /* the kind of the first line; that of the other part is the one before */
    enum generate_draw draw;
    bool exact;              /* DRAW_EXACT */
    int bits;                /* DRAW_BITS: whole numbers of so many */
    double low, range, ones; /* DRAW_UNIFORM: reals from low on; DRAW_ONES: 1 with this probability, else 0 */
    double higher, level;    /* DRAW_UNIFORM: added to some values, or to all, of some lines of `length` (draw_higher) */
    int64_t length;
    struct draw_lines lines;      /* lines with extremes, ties or one sign (draw_compared); low 0: none */
    int64_t magnitude, unit;      /* exact: unit * 1 .. unit * magnitude, of either sign */
    int64_t terms, nonzero, step; /* exact, of a filter: which taps are not 0 (draw_exact); terms 0: all */
    double scale, mean;           /* else: normal values times scale, + mean (only for nearby shapes, made by the CPU), */
    bool rectify;                 /* negative ones 0, */
    enum dtype round_to;          /* rounded to what this type holds */
    enum sizes
        every_size; /* normal values of which some are far smaller or larger and some are 0; only for nearby shapes, made by the CPU */
    struct draw_sweep sweep; /* of work->sweep: some values decide; of 0: none */
};
/* The lines of a tensor whose values decide a result together, as far as the op's file says. False: there are none, or it does not. */
bool generate_lines(const struct work *work, const struct tensor *t, struct draw_lines *lines);
/* True if no other input is drawn: it is no mask that leaves out others. */
bool generate_is_alone(const struct work *work, const struct tensor *t);
/* Finds the input of an op in which one value of each line decides the result (with work->few: an input that is summed): its slot, and
 * the number and length of its lines. kind has SWEEP_TIES if results are positions, because then it matters which of two equal values
 * decides, and SWEEP_WHOLE if values are whole numbers, where 0 may decide. Returns false if the op's file declares no such input. */
struct generate_selection {
    int slot;
    int64_t count, length;
    int kind;
    struct draw_lines lines;
};
bool generate_selects(const struct work *work, struct generate_selection *out);
#define GENERATE_FEW 8 /* values of a line at most, if it has few: any order of adding 10 is within the bound of a long sum */
/* True if work->few asks for zeros in this tensor. Also gives its lines, and whether it is the input that generate_selects finds. */
bool generate_few(const struct work *work, const struct tensor *t, struct draw_lines *lines, bool *selected);
/* If work->sweep asks for it, makes r the recipe of lines in which one value decides. */
void generate_sweep(const struct work *work, const struct tensor *t, struct generate_recipe *r);
/* What draw_in_line takes. */
float generate_most(const struct generate_recipe *r);
enum draw_of generate_draws_of(const struct generate_recipe *r);
struct generate_recipe generate_recipe(const struct work *work, const struct tensor *t, enum data_part part);
/* True for values that a nearby shape may shift (work->mean) or enlarge (work->larger): an input's, drawn from N(0, 1). */
bool generate_is_normal(const struct tensor *t);
/* The values of a tensor of f64 from those of f32. Reals of full mantissa get 28 further bits, which depend on the value alone: equal ones
 * stay equal, and their order stays. A kernel that rounds an input to f32 then shows. */
void generate_wide(const struct work *work, const struct tensor *t, enum data_part part, const float *from, size_t count, double *to);
/* True if each value depends only on its index: not for values of f64, from files, sorted values, distinct indices, rectangles and few
 * values. */
bool generate_by_index(const struct work *work, const struct tensor *t);
/* Writes values first, first + 1, ... of the recipe to to[0], to[1], ... */
void generate_some(const struct generate_recipe *r, size_t first, size_t count, float *to);
/* Fills `to` with the values of a tensor, already representable in its dtype. */
void generate_tensor(const struct work *work, const struct tensor *t, enum data_part part, float *to);
