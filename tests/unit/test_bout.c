/* measure/time/time: what rounds become in a row, where one of the two left the measurement early. */
#include "measure/time/group.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define ROUNDS 40
#define TEN 10

/* A baseline that is over ten times slower takes part in ten rounds: the others' ratios are those of these ten, not absent. */
static void ratios_are_of_common_rounds(void **state)
{
    double slow[ROUNDS], fast[ROUNDS];
    int places[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        slow[i] = i < TEN ? 1000 : NAN;
        fast[i] = i < TEN ? 50 : 40; /* in the rounds of its own it is faster */
        places[i] = i;
    }
    const struct sample_result result = {.rounds = ROUNDS, .places = places};
    const struct sample_candidate e = {.samples_ns = fast}, base = {.samples_ns = slow};
    struct row *row = row_new();
    struct estimate_rounds r = estimate_rounds_of(&e, &base, &result, 1);
    struct row_time *t = estimates_add(row, -1, MODE_COLD, &r);
    assert_int_equal(t->rounds, ROUNDS);
    assert_true(t->median_ns == 40 && t->ratio == 20);
    r = estimate_rounds_of(&base, &base, &result, 1); /* the baseline itself */
    t = estimates_add(row, -1, MODE_WARM, &r);
    assert_true(t->rounds == TEN && t->median_ns == 1000 && t->ratio == 1);
    r = estimate_rounds_of(&base, &e, &result, 1); /* and what is slower than a baseline that stayed */
    t = estimates_add(row, -1, MODE_SUSTAINED, &r);
    assert_true(t->rounds == TEN && t->ratio == 0.05);
    r = estimate_rounds_of(&e, NULL, &result, 1);
    t = estimates_add(row, 0, MODE_COLD, &r);
    assert_true(t->rounds == ROUNDS && isnan(t->ratio));
    row_free(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ratios_are_of_common_rounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
