/* Whole gates, simulated from times recorded on an H200 (data/gate-h200*.txt): how often a suite of equal builds has a row that is called
 * slower, and from which change on a slower row is called slower. Repetitions, tests and the family's alpha are those of
 * measure/time/pairs.c and gate/compare.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "noise.h"
#include "base/order.h"
#include "base/text.h"
#include "base/stats/decision.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS_MOST 16
#define ROUNDS_MOST 1521
#define MARGIN 0.01
#define ALPHA 0.001

static const int lengths[] = {7, 7, 7, 30, 30, 30, 120, 120, 120, 350, 350, 350};
#define SITTINGS ((int)(sizeof lengths / sizeof *lengths))

/* What was recorded of a layer: the means of its sittings, and how far each round is from its sitting's. */
struct layer {
    char name[16];
    double *mean, *away;
    int *first; /* by sitting, its first round in `away`; one more at the end */
    int sittings, rounds;
};
static struct layer layers[LAYERS_MOST];
static int layer_count;

static struct layer *layer_named(const char *name)
{
    int i = 0;
    while (i < layer_count && strcmp(layers[i].name, name) != 0)
        i++;
    assert_true(i < LAYERS_MOST);
    if (i == layer_count)
        snprintf(layers[layer_count++].name, sizeof layers[i].name, "%.15s", name);
    return &layers[i];
}

static void take_sitting(char *line)
{
    char *word = strtok(line, " \n");
    struct layer *l = layer_named(word);
    int first = l->rounds, count;
    double mean = 0;
    while ((word = strtok(NULL, " \n")))
        *APPEND(l->away, l->rounds) = atof(word) * 1e-5;
    count = l->rounds - first;
    for (int i = first; i < l->rounds; i++)
        mean += l->away[i] / count;
    for (int i = first; i < l->rounds; i++) /* as far as independent rounds are from their true mean */
        l->away[i] = (l->away[i] - mean) * sqrt(count / (count - 1.0));
    int sitting = l->sittings;
    *APPEND(l->mean, l->sittings) = mean;
    l->first = xrealloc(l->first, (size_t)(l->sittings + 1) * sizeof *l->first);
    l->first[sitting] = first;
    l->first[l->sittings] = l->rounds;
}

/* The mean of a recorded repetition contains its placement and the random error of its few rounds: only the spread that the rounds do not
 * explain stays.
 */
static void part_chance_from_place(struct layer *l)
{
    double mean = 0, square = 0, chance = 0;
    for (int s = 0; s < l->sittings; s++)
        mean += l->mean[s] / l->sittings;
    for (int s = 0; s < l->sittings; s++) {
        int count = l->first[s + 1] - l->first[s];
        double within = 0;
        for (int i = l->first[s]; i < l->first[s + 1]; i++)
            within += l->away[i] * l->away[i] / count;
        chance += within / count / l->sittings;
        square += pow(l->mean[s] - mean, 2) / (l->sittings - 1);
    }
    double kept = chance < square ? sqrt(1 - chance / square) : 0;
    for (int s = 0; s < l->sittings; s++)
        l->mean[s] *= kept;
}

static void read_recorded(const char *path)
{
    char line[4096];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (*line != '#')
            take_sitting(line);
    fclose(f);
    for (int i = 0; i < layer_count; i++)
        part_chance_from_place(&layers[i]);
}

static int drawn(int count)
{
    return (int)(noise_uniform() * count) % count;
}

/* A sitting lies where a recorded one lay; its rounds are stretches of recorded ones, so that what depends stays together. */
static void draw_sitting(const struct layer *l, double change, double *ratio, int rounds)
{
    double place = l->mean[drawn(l->sittings)];
    for (int i = 0; i < rounds;) {
        int s = drawn(l->sittings);
        for (int k = l->first[s]; k < l->first[s + 1] && i < rounds; k++)
            ratio[i++] = exp(log1p(change) + place + l->away[k]);
    }
}

static struct decision gate_row(const struct layer *l, double change, double alpha)
{
    static double base[ROUNDS_MOST], head[ROUNDS_MOST];
    static int sitting[ROUNDS_MOST];
    struct decision d = {.p_same = 1, .p_slower = 1, .p_faster = 1};
    int rounds = 0;
    for (int s = 0; s < SITTINGS; s++) {
        draw_sitting(l, change, head + rounds, lengths[s]);
        for (int i = 0; i < lengths[s]; i++) {
            base[rounds] = 1;
            sitting[rounds++] = s;
            bool look = s >= 2 && (rounds <= 40 || rounds % (rounds / 20) == 0 || i + 1 == lengths[s]);
            if (!look)
                continue;
            d = decision_make(base, head, sitting, rounds, MARGIN, alpha);
            if (d.verdict != VERDICT_UNDECIDED)
                return d;
        }
    }
    return d;
}

struct tally {
    int suites, suites_slower, rows, verdicts[4], rounds_20; /* decided within 20 rounds */
};

static struct tally run_suites(int suites, double change)
{
    struct tally t = {.suites = suites};
    struct decision all[LAYERS_MOST];
    for (int i = 0; i < suites; i++) {
        bool slower = false;
        for (int k = 0; k < layer_count; k++) {
            all[k] = gate_row(&layers[k], change, ALPHA / layer_count);
            t.rounds_20 += all[k].rounds <= 20;
        }
        decision_family(all, layer_count, ALPHA);
        for (int k = 0; k < layer_count; k++) {
            t.verdicts[all[k].verdict]++;
            t.rows++;
            slower |= all[k].verdict == VERDICT_SLOWER;
        }
        t.suites_slower += slower;
    }
    return t;
}

static void recorded(void)
{
    if (!layer_count)
        read_recorded("tests/unit/data/gate-h200.txt");
    noise_state = 41;
}

/* Of a thousand suites of builds that do the same at most three have a row that is called slower, at a family's alpha of 0.1 %. */
static void equal_builds_pass(void **state)
{
    recorded();
    struct tally t = run_suites(1000, 0);
    if (t.suites_slower > 3 || t.verdicts[VERDICT_FASTER] > 3)
        fail_msg("%d of %d suites slower, %d rows faster", t.suites_slower, t.suites, t.verdicts[VERDICT_FASTER]);
    assert_true(t.verdicts[VERDICT_SAME] >= 0.99 * t.rows);
}

/* At a margin of 1 %: nine of ten rows from 1.5 % on, 99 of 100 from 2 %, 5 % within twenty rounds; half the margin is no regression. */
static void changes_are_found(void **state)
{
    recorded();
    struct tally half = run_suites(40, 0.005), small = run_suites(200, 0.015), two = run_suites(200, 0.02), five = run_suites(200, 0.05);
    if (half.verdicts[VERDICT_SLOWER] || small.verdicts[VERDICT_SLOWER] < 0.9 * small.rows ||
        two.verdicts[VERDICT_SLOWER] < 0.99 * two.rows || five.rounds_20 < 0.99 * five.rows ||
        five.verdicts[VERDICT_SLOWER] < 0.99 * five.rows)
        fail_msg("of %d, %d rows: 0.5 %% %d, 1.5 %% %d, 2 %% %d, 5 %% %d of which %d in 20 rounds", half.rows, small.rows,
                 half.verdicts[VERDICT_SLOWER], small.verdicts[VERDICT_SLOWER], two.verdicts[VERDICT_SLOWER], five.verdicts[VERDICT_SLOWER],
                 five.rounds_20);
}

/* Memory and temperature make rounds of some kernels differ by 2.5 %: a kernel that is 2 % slower is still found, and an equal one is not
 * called slower. */
static void noisy_kernels_are_decided(void **state)
{
    struct layer noisy = {.sittings = 1};
    double none = 0;
    int first[2] = {0, 2800}, slower = 0, same = 0, wrong = 0;
    noise_state = 42;
    noisy.mean = &none;
    noisy.first = first;
    for (int i = 0; i < 4000; i++)
        *APPEND(noisy.away, noisy.rounds) = 0.025 * noise_normal();
    for (int i = 0; i < 60; i++) {
        noisy.away += 20 * i; /* another stretch: draw_sitting begins at the first */
        slower += gate_row(&noisy, 0.02, ALPHA / 8).verdict == VERDICT_SLOWER;
        enum decision_verdict equal = gate_row(&noisy, 0, ALPHA / 8).verdict;
        same += equal == VERDICT_SAME;
        wrong += equal == VERDICT_SLOWER || equal == VERDICT_FASTER;
        noisy.away -= 20 * i;
    }
    free(noisy.away);
    if (slower < 54 || same < 54 || wrong) /* what few long sittings cost: 56 and 57 of 60 */
        fail_msg("of 60: 2 %% slower %d; equal: same %d, wrong %d", slower, same, wrong);
}

/* A table for whoever wants one: test_suites SUITES. */
static int table(int suites)
{
    static const double changes[] = {0, 0.005, 0.01, 0.0125, 0.015, 0.02, 0.03, 0.05};
    recorded();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct tally t = run_suites(suites, changes[i]);
        printf("%5.2f %%: rows %d: SLOWER %5.1f %%, SAME %5.1f %%, UNDECIDED %4.1f %%; within 20 rounds %5.1f %%; suites with a SLOWER %d "
               "of %d\n",
               100 * changes[i], t.rows, 100.0 * t.verdicts[VERDICT_SLOWER] / t.rows, 100.0 * t.verdicts[VERDICT_SAME] / t.rows,
               100.0 * t.verdicts[VERDICT_UNDECIDED] / t.rows, 100.0 * t.rounds_20 / t.rows, t.suites_slower, t.suites);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_builds_pass), cmocka_unit_test(changes_are_found),
                                       cmocka_unit_test(noisy_kernels_are_decided)};
    if (argc > 1)
        return table(atoi(argv[1]));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
