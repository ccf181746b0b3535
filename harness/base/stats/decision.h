/* base/stats/decision: is one build slower than another? The verdict may be asked for after every round.
 *
 * It uses the logarithms of paired ratios. An interval of fixed level that is examined again and again finds a difference between equal
 * kernels in a fifth of cases; here the error rate holds for all looks together. The evidence against "at most the margin slower" is a
 * mixture of likelihood ratios over a half-normal prior, which exceeds 1/alpha at any time with probability at most alpha (Robbins, Annals
 * of Mathematical Statistics 41, 1970; Howard, Ramdas, McAuliffe and Sekhon, Annals of Statistics 49, 2021; with estimated variance:
 * Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2021). Outlying ratios are winsorised, and the variance allows for dependent rounds
 * (base/stats/dependence). tests/unit/test_decision.c simulates error rates and the number of rounds that a verdict takes. */
#pragma once

enum decision_verdict {
    VERDICT_UNDECIDED, /* more rounds may tell */
    VERDICT_SAME,      /* within the margin, either way */
    VERDICT_SLOWER,    /* by more than the margin */
    VERDICT_FASTER
};
struct decision {
    enum decision_verdict verdict;
    double change;    /* estimate of head over base, less 1: 0.02 is 2 % slower */
    double low, high; /* of change; it holds at all looks together with probability 1 - alpha */
    int rounds;
    double spread; /* standard deviation of a round's log ratio if rounds were independent and equally certain; NAN */
    /* Upper limits of the probability, over all looks so far, of such evidence if the claim is false; 1: no evidence. */
    double p_same, p_slower, p_faster;
};
#define DECISION_ROUNDS_LEAST 10
/* base, head: times of the same rounds. placement: which placement of the buffers each round had (NULL: one); with fewer than
 * PLACEMENTS_DRAWN of them (base/stats/estimate.h) a verdict must hold by the mean of each, with more their spread is part of the variance.
 * margin: 0.01 is 1 %. alpha: how often the verdict may be wrong. */
struct decision decision_make(const double *base, const double *head, const int *placement, int rounds, double margin, double alpha);
/* The slow-down that is found in nine of ten decisions of so many rounds of that spread, at margin 0. */
double decision_smallest(double spread, double rounds, double alpha);
/* Decides again for a family, such as all rows of a run: at most a share alpha of runs has any row that is falsely called slower; the
 * same holds for faster and for equal (Holm, Scandinavian Journal of Statistics 6, 1979). The intervals stay. */
void decision_family(struct decision *decisions, int count, double alpha);
