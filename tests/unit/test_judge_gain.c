/* The judge (harness/report/view/verdict): which gains limit a row, and what uncoalesced loads may cost. */
#include "measured_rows.h"
#include "report/view/verdict.h"
#include "store/family.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "judged_rows.h"

/* Conflicts that cost 6 % of the time do not limit a row whose warps wait for the rest of it; those that cost 11 % do. */
static void a_small_gain_limits_nothing(void **state)
{
    for (int pipe = 50; pipe <= 55; pipe += 5) {
        struct fixture f = {0};
        struct judge j;
        measured_run(&f);
        struct row *r = row_of(&f, "conv2d/conflicts", 400, 1);
        hw(r, "shared_conflict_share", pipe == 50 ? 12 : 20);
        hw(r, "shared_pipe", pipe);
        hw(r, "issue_active", 40);
        hw(r, "dram_throughput", 5);
        hw(r, "tensor_active", 5);
        struct case_view c = judged(&f, &j);
        const struct view *v = &c.views[0];
        assert_string_equal(verdict_word(v), pipe == 50 ? "latency" : "conflicts");
        assert_true(fabs(verdict_of(v, "bank conflicts")->gain - (pipe == 50 ? 6 : 11)) < 1e-9);
        judged_free(&c, &j, &f);
    }
}

/* What shared memory keeps busy in L1 is no cost of uncoalesced loads; and a request that touches one sector cannot touch fewer. */
static void shared_memory_is_not_uncoalesced(void **state)
{
    static const struct {
        double shared, per_request, gain;
    } of[] = {{20, 6, 24}, {48, 6, 2.4}, {20, 1.25, 8}};
    for (int i = 0; i < 3; i++) {
        struct fixture f = {0};
        struct judge j;
        measured_run(&f);
        struct row *r = row_of(&f, "conv2d/scattered", 400, 1);
        hw(r, "useful_ld", 40);
        hw(r, "l1_hit_rate_ld", 30);
        hw(r, "global_sectors_ld", 1e9);
        hw(r, "sectors_per_request_ld", of[i].per_request);
        hw(r, "l1_busy", i == 1 ? 52 : 60 - 1e-3);
        hw(r, "shared_pipe", of[i].shared);
        hw(r, "l2_busy", 1);
        hw(r, "dram_throughput", 1);
        struct case_view c = judged(&f, &j);
        assert_true(fabs(verdict_of(&c.views[0], "of what they fetch")->gain - of[i].gain) < 1e-3);
        judged_free(&c, &j, &f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_gain_limits_nothing),
        cmocka_unit_test(shared_memory_is_not_uncoalesced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
