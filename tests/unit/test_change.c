/* base/stats/change: Otava's published series to the point, Student's tables, steps that are there and steps that are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "noise.h"
#include "base/stats/change.h"
#include "base/stats/quantile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 512

static double series[MOST];

static int read_series(const char *path)
{
    FILE *f = fopen(path, "r");
    int count = 0;
    assert_non_null(f);
    assert_true(fscanf(f, "#%*[^\n]") == 0);
    while (count < MOST && fscanf(f, "%lf", &series[count]) == 1)
        count++;
    fclose(f);
    return count;
}

static void expect(int count, struct change_search search, const char *want)
{
    struct change_point *points;
    char got[1024] = "", *end = got;
    int found = change_find(series, count, &search, &points);
    for (int i = 0; i < found; i++)
        end += sprintf(end, "%s%d", i ? " " : "", points[i].index);
    free(points);
    if (strcmp(got, want) != 0)
        fail_msg("level %g, magnitude %g:\n%s\nwant\n%s", search.level, search.magnitude, got, want);
}

/* tests/tigerbeetle_test.py and tests/analysis_test.py of apache/otava 1ceb153: ten settings on one series, one on another. */
static void otavas_series_are_met(void **state)
{
    int count = read_series("tests/unit/data/tigerbeetle.txt");
    assert_int_equal(count, 365);
    expect(count, (struct change_search){30, 0.01, 0.05, true}, "15 71");
    expect(count, (struct change_search){30, 0.05, 0.05, true}, "15 71");
    expect(count, (struct change_search){30, 0.1, 0.05, true}, "10 11 15 71 363");
    expect(count, (struct change_search){30, 0.2, 0.05, true}, "10 11 15 71");
    expect(
        count, (struct change_search){30, 0.2, 0, true},
        "3 6 7 10 11 13 15 16 28 29 35 37 39 41 44 48 49 56 58 61 65 66 69 71 74 76 82 95 108 117 125 126 129 131 136 137 142 148 165 169 "
        "187 190 192 197 200 212 220 241 243 246 247 249 250 260 265 266 268 278 282 288 305 306 325 330 337 338 340 347 349 363");
    expect(count, (struct change_search){30, 0.1, 0, true},
           "3 6 10 11 15 16 28 29 35 37 39 41 44 48 49 61 71 95 117 131 142 148 165 169 192 206 212 260 265 268 278 282 288 305 363");
    expect(count, (struct change_search){30, 0.01, 0, true}, "15 26 61 71 95 117 131 142 148 165 169 192 212 260");
    expect(count, (struct change_search){30, 0.001, 0, true}, "15 61 71 95 117 131 142 148 192 212 260");
    expect(count, (struct change_search){30, 0.0001, 0, true}, "71 95 117 131 142 148 192 212");
    expect(count, (struct change_search){30, 0.00001, 0, true}, "71 95 131 192 212");
    const double step[] = {1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96,
                           0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49};
    memcpy(series, step, sizeof step);
    expect(20, (struct change_search){10, 0.0001, 0, true}, "10");
    expect(20, (struct change_search){10, 0.0001, 0, false}, "10");
}

/* A series is as it is in whichever unit it is told. */
static void units_change_nothing(void **state)
{
    for (int power = -40; power <= 40; power += 20) {
        int count = read_series("tests/unit/data/tigerbeetle.txt");
        for (int i = 0; i < count; i++)
            series[i] = ldexp(series[i], power);
        expect(count, (struct change_search){30, 0.01, 0, true}, "15 26 61 71 95 117 131 142 148 165 169 192 212 260");
        expect(count, (struct change_search){30, 0.1, 0.05, true}, "10 11 15 71 363");
    }
}

/* What is left holds between its own neighbours, which is what Otava does not look at. */
static void what_is_found_holds(void **state)
{
    const struct change_search search = {.window = 30, .level = 0.01};
    struct change_point *points;
    int count = read_series("tests/unit/data/tigerbeetle.txt"), found = change_find(series, count, &search, &points);
    assert_true(found > 5);
    for (int i = 0; i < found; i++) {
        int first = i ? points[i - 1].index : 0, end = i + 1 < found ? points[i + 1].index : count, middle = points[i].index;
        double a = 0, b = 0, squares = 0;
        for (int k = first; k < end; k++)
            *(k < middle ? &a : &b) += series[k] / (k < middle ? middle - first : end - middle);
        for (int k = first; k < end; k++)
            squares += pow(series[k] - (k < middle ? a : b), 2);
        double t = fabs(a - b) / sqrt(squares / (end - first - 2) * (1.0 / (middle - first) + 1.0 / (end - middle)));
        assert_true(fabs(points[i].before - a) < 1e-6 && fabs(points[i].after - b) < 1e-6);
        assert_true(t > quantile_student(0.01, end - first - 2) && points[i].p < 0.01);
    }
    free(points);
}

/* Abramowitz and Stegun, table 26.10. */
static void students_tables(void **state)
{
    const struct {
        double t;
        int freedom;
        double p;
    } known[] = {{12.706, 1, 0.05}, {2.228, 10, 0.05}, {3.169, 10, 0.01}, {2.750, 30, 0.01}, {4.587, 10, 0.001}, {1.96, 5000, 0.05}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(fabs(quantile_student_outside(known[i].t, known[i].freedom) / known[i].p - 1) < 2e-3);
}

static void draw(int count, int at, double step)
{
    for (int i = 0; i < count; i++)
        series[i] = 100 * (1 + 0.01 * noise_normal() + (i >= at ? step : 0));
}

/* At 0.1 % a point, 1 % of noise: no step is seen in nearly all series without one; one of 3 % is seen in nearly all, where it is. */
static void steps_are_seen(void **state)
{
    const struct change_search search = {.window = 50, .level = 0.001};
    struct change_point *points;
    int false_alarms = 0, missed = 0;
    noise_state = 21;
    for (int i = 0; i < 100; i++) {
        draw(60, 60, 0);
        false_alarms += change_find(series, 60, &search, &points) > 0;
        free(points);
        draw(60, 40, 0.03);
        int found = change_find(series, 60, &search, &points), near = 0;
        for (int k = 0; k < found; k++)
            near += abs(points[k].index - 40) <= 2 && points[k].after > points[k].before;
        missed += near != 1;
        free(points);
    }
    if (false_alarms > 8 || missed > 2) /* the best of sixty places is tested as if it were the only one */
        fail_msg("%d false alarms, %d missed", false_alarms, missed);
}

static void odd_series(void **state)
{
    const struct change_search search = {.window = 50, .level = 0.001};
    struct change_point *points;
    for (int count = 0; count < 3; count++) {
        draw(3, 1, 0.5);
        assert_int_equal(change_find(series, count, &search, &points), 0);
        free(points);
    }
    for (int i = 0; i < 40; i++) /* counts have no noise: one more instruction is a change */
        series[i] = i < 25 ? 11120 : 11121;
    expect(40, search, "25");
    expect(25, search, "");
    for (int i = 0; i < 20; i++) /* the first value alone, of values below 1 */
        series[i] = i ? 0.5 + 0.01 * (i % 3) : 1;
    expect(20, search, "1");
    for (int i = 0; i < 20; i++) /* and the last */
        series[i] = i < 19 ? 0.5 + 0.01 * (i % 3) : 1;
    expect(20, search, "19");
    series[3] = 0; /* magnitude of nothing is no number */
    change_find(series, 40, &search, &points);
    free(points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(otavas_series_are_met), cmocka_unit_test(units_change_nothing),
                                       cmocka_unit_test(what_is_found_holds),   cmocka_unit_test(students_tables),
                                       cmocka_unit_test(steps_are_seen),        cmocka_unit_test(odd_series)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
