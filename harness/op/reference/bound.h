/* op/reference/bound: how far a correct kernel's sum may be from the exact one.
 *
 * For a sum of n products, y = sum x w, A = sum |x w|, unit roundoff u of the accumulator (f32 2^-24, f16 2^-11):
 *
 *     |error| <= g u / (1 - g u) A
 *
 * g = min(n + 2, 12) where every addition rounds to nearest (f32, f16_acc16). n + 2 is the worst case for any order of summation (Higham,
 * Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1: gamma_n), with one rounding to spare for a final scaling. Products
 * of random signs do not add up to A on the way: partial sums grow like its share 1 / sqrt(n), their roundings are as random, and the error
 * is 0.47 u A in the root mean square whatever n is (simulated for n = 9 to 9216 in tests/unit/test_bound.c). 12 is 26 times that, and 1.6
 * times the largest that honest kernels showed in any output on an H200. TF32 operands cost 10000 u A at n = 9 and 350 at n = 9216; two
 * bf16 parts 340 and 10; fp8 in f16_acc16 170 and 5.
 *
 * g = 2 min(n + 2, 6 sqrt(n + 2)) on tensor cores, which truncate instead of rounding (Fasi, Higham, Mikaitis and Pranesh, "Numerical
 * behavior of NVIDIA tensor cores", PeerJ CS 7:e330, 2021), so that errors have one sign; 6 sqrt(n) is the probabilistic form of the worst
 * case (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019). split3 adds 2 sqrt(n + 2) to the g of f32 for that: three times what its sums
 * lose if each step of 16 is truncated, and below the 980 (n = 576) and 240 (n = 9216) that a dropped part costs; and 48 min(6 / sqrt(n),
 * 1), because two truncated parts of 11 bits lose 2^-20 of each operand, and the omitted product of the small parts is as large.
 *
 * tf32 loses bits of the operands first: a relative 2^-10 each if they are truncated (2^-11 if rounded). Truncation makes every product
 * smaller, on average by 2^-10 of its value; the rest is random: 2^-10 (2 |y| + min(6 / sqrt(m), 2) A), where m is the number of nonzero
 * products. Behind a mask that may be the channels of one marked pixel; without a mask it is n.
 *
 * i8_acc32 sums whole numbers exactly; only the change to f32 rounds: 2^-23 |y|.
 *
 * Winograd in f16_acc32 and bf16_acc32 rounds transformed inputs and filters to the operands' type (unit roundoff v): 4 times the bound of
 * the direct sum, and 4 min(6 / sqrt(n), 1) v A. F(2x2, 3x3) needs at most 2.1 of the latter 4 (tests/unit/test_bound.c simulates it);
 * operands of 8 bits in place of 11 exceed the bound.
 *
 * Roundings of an epilogue that is not fused (each item reads and stores the tensor's type) are added by op/epilogue.c; the rounding of
 * the final store by measure/verify/verify.c. The algorithm's own factor (Winograd ...) multiplies all of it, there too. */
#pragma once

#include "op/work.h"

/* g u / (1 - g u): the error that rounding a sum of `terms` products may cause, relative to the sum of magnitudes. */
double bound_share(enum math math, double terms);
/* Factor on the bound for a sum of terms of one sign (squares), and for ops with roots and quotients: partial sums grow to A, and so do
 * their roundings. g is 6 sqrt(n + 2) or the worst case, whichever is less. */
double bound_one_sign(enum math math, double terms);
/* For a reference that computes its own bounds (NAME_bound): the unit roundoff of the sums of a math mode; and the relative error of a sum
 * of `terms` terms of one sign, in any order. */
double bound_roundoff(enum math math);
/* Sums of f64 results round that much finer than those of f32: 2^-29; other types: 1. */
double bound_finer(enum dtype result);
double bound_sum_error(enum math math, double terms);
/* A sum may start with a bias or a residual v. Its partial sums then have v's size from the start, and each of the n additions has a random
 * rounding error of at most half a unit in v's last place: min(n + 2, 3 sqrt(n + 2)) u |v| more. Returns the factor of |v|; 0 for truncated
 * sums, whose bound covers it. */
double bound_begun(enum math math, double terms);
/* Factor on the bound if the filter was transformed first and rounded once more, each value by at most u: 1 + min(6 / sqrt(n), 1) u A over
 * the bound above (without the part from the operands' type). */
double bound_rounded_filter(enum math math, double terms, double u);
/* The bound of one sum. least: the fewest non-zero products in a sum of `terms`. */
double bound_sum(enum math math, double terms, double least, double y, double magnitudes);
/* Factor of an algorithm over a direct sum: "direct" 1, "winograd" 16 or as above, "split3" as above, others as docs/HEAD.md says; 1 for an
 * unknown word. */
double bound_factor(const char *algorithm, const struct work *work);
/* The same for a row whose code has no truncating sums: in f16_acc32 and bf16_acc32 its plain sums round as those of f32 do, and g is
 * theirs. Not with an epilogue, whose roundings are part of the same bound. */
double bound_factor_rounded(const char *algorithm, const struct work *work);
/* How often a result may have been rounded to the tensor's type: once, when it is stored; by a library twice (cuDNN's softmax in f16 and
 * bf16 stores its powers in that type before it divides). */
double bound_roundings(const char *algorithm);

/* Tensor-core operand types (enum factor_type, bits) that are accurate enough for a math mode under an algorithm. Tolerances alone would
 * accept a lesser type in long sums. */
unsigned bound_factors(enum math math, const char *algorithm);
