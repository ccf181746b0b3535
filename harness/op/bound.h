/* op/bound: how far a correct kernel's sum may be from the exact one.
 *
 * For a sum of n products, y = sum x w, A = sum |x w|, unit roundoff u of the accumulator (f32 2^-24, f16 2^-11):
 *
 *     |error| <= g u / (1 - g u) A,    g = t min(n + 2, 6 sqrt(n + 2))
 *
 * n + 2 is the worst case for any order of summation (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1:
 * gamma_n), with one rounding to spare for a final scaling. 6 sqrt(n) is its probabilistic form (Higham and Mary, "A new approach to
 * probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019: gamma~_n(lambda) = lambda sqrt(n) u holds with probability 1
 * - 2 n exp(-lambda^2 / 2)), which is what makes the bound small enough to notice a kernel that computes in a lesser type. t = 2 for
 * tensor cores, which cut off instead of rounding (Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ
 * CS 7:e330, 2021), t = 1 otherwise.
 *
 * tf32 loses bits of the operands first: a relative 2^-10 each if they are cut off (2^-11 if rounded). Cut off, every product shrinks, on
 * average by 2^-10 of its value; the rest is random: 2^-10 (2 |y| + min(6 / sqrt(m), 2) A), where m is how many products are not zero. Of a
 * mask's outputs that may be the channels of one marked pixel; without a mask it is n.
 *
 * i8_acc32 sums whole numbers exactly; only the change to f32 rounds: 2^-23 |y|.
 *
 * Roundings of an epilogue that is not fused (each item reads and stores the tensor's type) are added by op/epilogue.c; the rounding of
 * the final store by measure/verify.c. The algorithm's own factor (Winograd ...) multiplies all of it, there too. */
#ifndef BENCH_OP_BOUND_H
#define BENCH_OP_BOUND_H

#include "op/work.h"

/* g u / (1 - g u): the share of the sum of magnitudes that the roundings of a sum of `terms` products may cost. */
double bound_share(enum math math, double terms);
/* How many times as far off is a sum whose filter was changed first and rounded once more, each value by at most u: 1 + min(6 / sqrt(n), 1)
 * u A over the bound above (without the part that stems from the operands' type). */
double bound_rounded_filter(enum math math, double terms, double u);
/* least: the fewest products that are not zero in a sum of `terms` of them. */
double bound_sum(enum math math, double terms, double least, double y, double magnitudes);
/* How many times as far off as a direct sum an algorithm may be: "direct" 1, "winograd" 16, others as docs/HEAD.md says; 1 for a word that
 * is not known. */
double bound_factor(const char *algorithm, const struct work *work);

#endif
