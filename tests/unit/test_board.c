/* worker/board: what rows are told of the board that they were timed on, by a stand-in for NVML. */
#include "timing_world.h"
#include <unistd.h>

static char folder[] = "/tmp/fakenvmlXXXXXX";
static bool ready;

static int build_fake(void **state)
{
    const char *cc = getenv("CC");
    if (!mkdtemp(folder))
        return -1;
    SCOPED char *command = text_format("%s -shared -fPIC -o %s/libnvidia-ml.so.1 tests/fake/nvml.c", cc && *cc ? cc : "cc", folder);
    ready = system(command) == 0;
    setenv("BENCH_LIBRARY_PATH", folder, 1); /* looked in first */
    return set_up(state);
}

static int remove_fake(void **state)
{
    SCOPED char *file = text_format("%s/libnvidia-ml.so.1", folder);
    unlink(file);
    rmdir(folder);
    return tear_down(state);
}

static void is_known(struct worker *w)
{
    snprintf(w->dev->uuid, sizeof w->dev->uuid, "GPU-stand-in");
}

static void need_fake(void)
{
    if (!ready) {
        print_message("no C compiler to build the stand-in with\n");
        skip();
    }
    begin();
    timing.opened = is_known;
}

static void is_told(const struct row *row)
{
    assert_true(row->memory_clock_mhz == 3201 && row->temperature_c == 45);
    assert_non_null(row->others);
    assert_int_equal(strncmp(row->others, "pid 1", 5), 0); /* and not this process */
    assert_null(strchr(row->others, ','));
}

/* In every way in which rows are timed; power and what holds the clock down stand with each round. */
static void timed_rows_know_their_board(void **state)
{
    need_fake();
    struct result r = timed("[my/cudnn_slow, my/ours]", "{rounds: [6, 6]}");
    const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated");
    is_told(row_of(&r, "my/ours"));
    is_told(row_of(&r, "my/cudnn_slow"));
    for (int i = 0; i < t->rounds; i++)
        assert_true(t->power_w[i] == 310 && t->throttle[i] == 4);
    let_go(&r);
}

static void sides_of_a_gate_know_it(void **state)
{
    need_fake();
    timing.versus[0][0] = "my/cudnn_slow";
    timing.versus[0][1] = "my/ours";
    struct result r = timed("[my/cudnn_slow, my/cudnn_fast, my/ours]", "{rounds: [6, 6]}");
    is_told(row_of(&r, "my/ours"));
    let_go(&r);
}

static void points_of_a_search_know_it(void **state)
{
    need_fake();
    timing.tune = true;
    struct result r = timed("[my/cudnn_slow, my/ours]", "{rounds: [6, 6]}");
    is_told(row_of(&r, "my/ours"));
    let_go(&r);
}

/* Nobody was timed there. */
static void a_wrong_row_is_told_nothing(void **state)
{
    need_fake();
    timing.idle = "conv_ours";
    timing.idle_from = 1;
    struct result r = timed("[my/cudnn_slow, my/ours]", "{rounds: [6, 6]}");
    const struct row *wrong = row_of(&r, "my/ours");
    assert_true(wrong->status == ROW_WRONG && isnan(wrong->temperature_c) && isnan(wrong->memory_clock_mhz) && !wrong->others);
    let_go(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(timed_rows_know_their_board), cmocka_unit_test(sides_of_a_gate_know_it),
                                       cmocka_unit_test(points_of_a_search_know_it), cmocka_unit_test(a_wrong_row_is_told_nothing)};
    return cmocka_run_group_tests(tests, build_fake, remove_fake);
}
