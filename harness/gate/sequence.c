#include "gate/sequence.h"
#include <math.h>

#define TUNED_AT 60.0      /* rounds at which the interval is the narrowest that it can be */
#define VARIANCE_MIN 1e-12 /* times come in steps: equal ones have a spread all the same */

void gate_sequence_add(struct gate_sequence *s, double base_ns, double head_ns)
{
    double x = log(head_ns / base_ns), old = s->mean;
    s->rounds++;
    s->mean += (x - old) / s->rounds;
    s->squares += (x - old) * (x - s->mean);
}

double gate_sequence_half(const struct gate_sequence *s, double alpha)
{
    if (s->rounds < GATE_ROUNDS_MIN)
        return INFINITY;
    double n = s->rounds, two = -2 * log(alpha), rho = (two + log(two + 1)) / TUNED_AT;
    double variance = fmax(s->squares / (n - 1), VARIANCE_MIN);
    return sqrt(variance * 2 * (n * rho + 1) / (n * n * rho) * log(sqrt(n * rho + 1) / alpha));
}

enum gate_decision gate_sequence_decide(const struct gate_sequence *s, double margin, double alpha)
{
    double half = gate_sequence_half(s, alpha), limit = log1p(margin);
    if (s->mean - half > limit)
        return GATE_LONGER;
    if (s->mean + half < -limit)
        return GATE_SHORTER;
    return s->mean + half < limit && s->mean - half > -limit ? GATE_WITHIN : GATE_OPEN;
}

struct gate_sequence gate_sequence_of(const double *base_ns, const double *head_ns, int rounds, double margin, double alpha)
{
    struct gate_sequence s = {0};
    for (int i = 0; i < rounds; i++) {
        if (!(base_ns[i] > 0) || !(head_ns[i] > 0)) /* a round that one of them has no time of */
            continue;
        gate_sequence_add(&s, base_ns[i], head_ns[i]);
        if (gate_sequence_decide(&s, margin, alpha) != GATE_OPEN)
            break;
    }
    return s;
}
