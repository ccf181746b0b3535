/* device/chip/dispatch: launches of unequal blocks worked out by hand, and drawn ones beside a simulation in small steps of time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "device/chip/dispatch.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void near(double got, double want, double share)
{
    if (!(fabs(got - want) <= share * want + 1e-9))
        fail_msg("%g, want %g", got, want);
}

static void by_hand(void **state)
{
    static const struct {
        uint32_t work[8];
        uint64_t blocks;
        int sms, places;
        double each, sm, place, place_blocks, busy;
    } table[] = {
        /* the second SM takes the short ones, one after the other */
        {{8, 2, 2, 2}, 4, 2, 1, 0, 8, 8, 1, 14.0 / 16},
        /* the long one comes last: both SMs have worked for 4 */
        {{2, 2, 2, 2, 8}, 5, 2, 1, 0, 12, 12, 3, 16.0 / 24},
        /* two places an SM: blocks 0 and 2, and blocks 1 and 3. The blocks of an SM share it, so its work is 10 and 4; a block that runs
         * alone takes 8
         */
        {{8, 2, 2, 2}, 4, 2, 2, 0, 10, 8, 1, 10.0 / 16},
        /* what each block costs besides counts in its place: 2 x (2 + 5) is more than 8 + 5 */
        {{8, 2, 2}, 3, 2, 1, 5, 8, 4, 2, 27.0 / 28},
        /* fewer blocks than SMs */
        {{3, 9}, 2, 4, 2, 0, 9, 9, 1, 12.0 / 36},
        /* SM 0 has 1 and 7, SM 1 has 1 and 3. At 2 both drop the short one: the next, 4, goes to SM 0, which has 6 + 4 left; */
        /* the last, 1, to SM 1 */
        {{1, 1, 7, 3, 4, 1}, 6, 2, 2, 0, 12, 7, 1, 10.0 / 14},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct dispatch d;
        assert_true(dispatch_blocks(table[i].work, table[i].blocks, table[i].sms, table[i].places, table[i].each, &d));
        near(d.sm_work, table[i].sm, 1e-6);
        near(d.place_work, table[i].place, 1e-6);
        near(d.place_blocks, table[i].place_blocks, 1e-6);
        near(d.busy, table[i].busy, 1e-6);
    }
}

static void equal_blocks_tell_nothing(void **state)
{
    const uint32_t work[] = {7, 7, 7, 7, 7}, two[] = {1, 2};
    struct dispatch d;
    assert_false(dispatch_blocks(work, 5, 2, 2, 10, &d));
    assert_false(dispatch_blocks(two, 2, 2, 0, 10, &d)); /* the places are not known */
    assert_false(dispatch_blocks(two, 0, 2, 1, 10, &d));
}

/* SMs whose blocks share them, in steps of `step`: a block that has ended leaves its place to the next one, on the SM with the fewest. */
static double in_steps(const uint32_t *work, int blocks, int sms, int places, double step)
{
    double left[64][8] = {{0}};
    int count[64] = {0}, next = 0, alive = 0;
    for (double now = 0;; now += step) {
        while (next < blocks) {
            int least = 0;
            for (int i = 1; i < sms; i++)
                least = count[i] < count[least] ? i : least;
            if (count[least] == places)
                break;
            left[least][count[least]++] = work[next++];
            alive++;
        }
        if (!alive)
            return now;
        for (int i = 0; i < sms; i++) {
            double each = count[i] ? step / count[i] : 0;
            for (int k = count[i] - 1; k >= 0; k--) {
                left[i][k] -= each;
                if (left[i][k] > 0)
                    continue;
                left[i][k] = left[i][--count[i]];
                alive--;
            }
        }
    }
}

static uint32_t drawn(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*seed >> 40);
}

static void as_in_small_steps(void **state)
{
    uint64_t seed = 39;
    for (int turn = 0; turn < 20; turn++) {
        uint32_t work[200];
        int blocks = 20 + (int)(drawn(&seed) % 180), sms = 2 + (int)(drawn(&seed) % 7), places = 1 + (int)(drawn(&seed) % 4);
        struct dispatch d;
        double sum = 0;
        for (int i = 0; i < blocks; i++)
            sum += work[i] = drawn(&seed) % 8 ? 100 + drawn(&seed) % 50 : 2000 + drawn(&seed) % 1000;
        assert_true(dispatch_blocks(work, (uint64_t)blocks, sms, places, 0, &d));
        near(d.sm_work, in_steps(work, blocks, sms, places, 0.5), 0.02);
        assert_true(d.sm_work >= sum / sms - 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(equal_blocks_tell_nothing),
        cmocka_unit_test(as_in_small_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
