/* Linked into a unit program by ci/mutate: runs the tests of a group by the CPU time that each took before, the shortest first, and stops
 * at the first that fails. MUTATE_ORDER names the file of times: where there is none each test is run and its time written there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

int __real__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction up,
                                   CMFixtureFunction down);
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction up,
                                   CMFixtureFunction down);

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

/* Of this process and of those that it waited for. */
static double cpu_s(void)
{
    double sum = 0;
    for (int who = 0; who < 2; who++) {
        struct rusage used;
        getrusage(who ? RUSAGE_CHILDREN : RUSAGE_SELF, &used);
        sum += seconds(&used.ru_utime) + seconds(&used.ru_stime);
    }
    return sum;
}

static struct watched {
    const struct CMUnitTest *tests; /* as they stand */
    size_t at;                      /* that runs now */
    double start_s;
    FILE *out;
} watched;

static int before(void **state)
{
    const struct CMUnitTest *test = &watched.tests[watched.at];
    watched.start_s = cpu_s();
    return test->setup_func ? test->setup_func(state) : 0;
}

static int after(void **state)
{
    const struct CMUnitTest *test = &watched.tests[watched.at++];
    fprintf(watched.out, "%.4f %s\n", cpu_s() - watched.start_s, test->name);
    return test->teardown_func ? test->teardown_func(state) : 0;
}

static double time_of(FILE *times, const char *test)
{
    char name[256];
    double s = 0;
    rewind(times);
    while (fscanf(times, "%lf %255s", &s, name) == 2)
        if (!strcmp(name, test))
            return s;
    return 0;
}

static void sort(FILE *times, const struct CMUnitTest *tests, size_t count, struct CMUnitTest *sorted)
{
    double *s = calloc(count, sizeof *s);
    for (size_t i = 0; s && i < count; i++) {
        double own = time_of(times, tests[i].name);
        size_t to = i;
        for (; to > 0 && s[to - 1] > own; to--) {
            s[to] = s[to - 1];
            sorted[to] = sorted[to - 1];
        }
        s[to] = own;
        sorted[to] = tests[i];
    }
    free(s);
}

int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction up,
                                   CMFixtureFunction down)
{
    const char *path = getenv("MUTATE_ORDER");
    FILE *times = path ? fopen(path, "r") : NULL;
    struct CMUnitTest *sorted = calloc(count, sizeof *sorted);
    if (!path || !sorted || !(times || (watched.out = fopen(path, "w"))))
        return 1;
    watched.tests = tests;
    for (size_t i = 0; !times && i < count; i++)
        sorted[i] = (struct CMUnitTest){tests[i].name, tests[i].test_func, before, after, tests[i].initial_state};
    if (times) {
        sort(times, tests, count, sorted);
        fclose(times);
    }
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    int failed = __real__cmocka_run_group_tests(group, sorted, count, up, down);
    if (watched.out)
        fclose(watched.out);
    free(sorted);
    return failed;
}
