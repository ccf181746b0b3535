/* counter/combine: the metrics of two launches against those of one launch that did the work of both, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "counter/combine.h"
#include <math.h>

static const double times[] = {100, 300}, actives[] = {50, 250};

static double of(const char *metric, double a, double b)
{
    const double v[] = {a, b};
    return counter_combine(metric, v, times, actives, 1, 2);
}

static void test_rules(void **state)
{
    assert_true(of("smsp__inst_executed.sum", 7, 5) == 12);
    assert_true(of("sm__cycles_active.avg", 50, 250) == 300);
    assert_true(of("sm__cycles_elapsed.max", 110, 310) == 420);
    /* 40 % of 100 ns and 80 % of 300 ns are 280 of 400 */
    assert_true(of("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 40, 80) == 70);
    assert_true(of("dram__bytes.sum.per_second", 4, 8) == 7);
    /* 6 warps over 50 cycles and 12 over 250 are 3300 warp cycles of 300 */
    assert_true(of("sm__warps_active.avg.per_cycle_active", 6, 12) == 11);
    assert_true(of("smsp__issue_active.avg.pct_of_peak_sustained_active", 6, 12) == 11);
    assert_true(isnan(of("smsp__average_warp_latency_per_inst_issued.ratio", 1, 1)));
    assert_true(isnan(of("l1tex__t_sector_hit_rate.pct", 50, 50)));
    assert_true(isnan(of("smsp__inst_executed.sum", 7, NAN)));
    assert_true(isnan(of("smsp__inst_executed.sum.peak_sustained", 7, 7)));
}

static void test_edges(void **state)
{
    const double one[] = {50}, absent[] = {NAN, NAN}, idle[] = {0, 0}, table[] = {1, 100, 40, 2, 300, 80};
    assert_true(counter_combine("l1tex__t_sector_hit_rate.pct", one, absent, absent, 1, 1) == 50);
    assert_true(isnan(counter_combine("a__b.sum", one, times, actives, 1, 0)));
    assert_true(isnan(counter_combine("a__b.avg.per_cycle_active", times, times, absent, 1, 2)));
    assert_true(isnan(counter_combine("a__b.avg.per_cycle_active", times, times, idle, 1, 2)));
    assert_true(counter_combine("a__b.sum", table, table + 1, table + 1, 3, 2) == 3);
    assert_true(counter_combine("a__b.avg.per_cycle_elapsed", table + 2, table + 1, table, 3, 2) == 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
