/* gate/sequence: does one kernel take longer than another? Decided from paired times, by an interval that holds however often it is looked
 * at. Pure functions: whoever takes the times asks after every round and stops when there is a decision. */
#ifndef BENCH_GATE_SEQUENCE_H
#define BENCH_GATE_SEQUENCE_H

enum gate_decision { GATE_OPEN, GATE_WITHIN /* the margin, on both sides */, GATE_LONGER, GATE_SHORTER };
/* The natural logarithm of head's time over base's, round by round: its mean so far and half the width of its interval. */
struct gate_sequence {
    int rounds;
    double mean, squares; /* of the deviations from it */
};
void gate_sequence_add(struct gate_sequence *s, double base_ns, double head_ns);
/* Half of the interval that holds the true mean in all rounds together with probability 1 - alpha: a normal mixture (Robbins), asymptotic
 * in the spread as it is estimated. Infinite below GATE_ROUNDS_MIN rounds. */
#define GATE_ROUNDS_MIN 10
double gate_sequence_half(const struct gate_sequence *s, double alpha);
/* `margin` is a share: 0.01 allows a time to be 1 % longer. Longer and shorter mean beyond it. */
enum gate_decision gate_sequence_decide(const struct gate_sequence *s, double margin, double alpha);
/* The sequence up to its first decision, or to the end. */
struct gate_sequence gate_sequence_of(const double *base_ns, const double *head_ns, int rounds, double margin, double alpha);

#endif
