/* measure/time/gpu_monitor: what is told of the board that rows were timed on, and of who else computed on it. */
#include "timing_world.h"
#include "device/cuda/nvml.h"

/* ---- a board in place of NVML's ---- */

static struct {
    double power_w;   /* at the first reading, a watt more at each; negative: it does not say */
    int64_t throttle; /* as power_w, but always the same */
    int read, looked; /* how often */
    int stranger;     /* computes there at that look alone; 0: never */
    bool slow;        /* it tells its memory's clock */
} board;

bool nvml_open(struct error *err)
{
    return true;
}
void nvml_close(void) {}
bool nvml_driver(char *out, int bytes)
{
    return false;
}
bool nvml_read(const char *uuid, struct nvml_sample *out)
{
    *out = (struct nvml_sample){
        1.98e9, board.slow ? 3.2e9 : -1, board.power_w < 0 ? -1 : board.power_w + board.read, -1, 41, board.throttle, -1};
    board.read++;
    return true;
}
int nvml_processes(const char *uuid, long *pids, int room)
{
    bool there = ++board.looked == board.stranger;
    pids[0] = getpid();
    pids[1] = 99999999; /* which cannot be seen from here */
    return 1 + there;
}

/* What is told of a case goes to its rows: the run's environment is one text, which each case would write anew and each page parse. */
static void look_on(void *context, json_t *event)
{
    assert_string_not_equal(json_string_value(json_object_get(event, "event")), "environment");
    take(context, event);
}
static void opened(struct worker *w)
{
    w->emit = look_on;
}

static void begin_board(double power_w, int64_t throttle, int stranger)
{
    begin();
    timing.opened = opened;
    memset(&board, 0, sizeof board);
    board.power_w = power_w;
    board.throttle = throttle;
    board.stranger = stranger;
}

/* ---- tests ---- */

/* Each round has the power and the reasons that the board told last; what it does not tell is absent, and 0 is told. */
static void each_round_has_its_state(void **state)
{
    for (int silent = 0; silent < 2; silent++) {
        begin_board(silent ? -1 : 500, silent ? 0 : 4, 0);
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [40, 40]}");
        const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated");
        assert_true((t->power_w == NULL) == silent && t->throttle);
        for (int i = 0; i < 40; i++) {
            assert_true(t->throttle[i] == (silent ? 0 : 4));
            assert_true(silent || (t->power_w[i] >= 500 && t->power_w[i] < 500 + board.read && (!i || t->power_w[i] >= t->power_w[i - 1])));
        }
        let_go(&r);
    }
    begin_board(500, -1, 0);
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
    assert_true(time_of(&r, "my/ours", "cold", "isolated")->power_w && !time_of(&r, "my/ours", "cold", "isolated")->throttle);
    let_go(&r);
}

/* Rows of a case, a race of their configurations, and two builds of them: in each, every row knows the board's state after it. A value that
 * the board does not return is absent, and a row without a time knows no state. */
static void rows_know_their_board(void **state)
{
    for (int way = 0; way < 6; way++) {
        begin_board(500, 0x24, 0);
        board.slow = way >= 3;
        timing.tune = way % 3 == 1;
        timing.versus[0][0] = way % 3 == 2 ? "my/cudnn_slow" : NULL;
        timing.versus[0][1] = "my/ours";
        struct result r = timed("[my/cudnn_slow, my/ours]", "{rounds: [12, 12], half_width: 5 %}");
        for (int i = 0; i < 2; i++) {
            const struct row *row = row_of(&r, i ? "my/ours" : "my/cudnn_slow");
            assert_true(row->temperature_c == 41 && (board.slow ? row->memory_clock_mhz == 3200 : isnan(row->memory_clock_mhz)));
        }
        let_go(&r);
    }
    begin_board(500, 0, 0);
    timing.idle = "conv_ours";
    timing.idle_from = 1;
    struct result r = timed("[my/cudnn_slow, my/ours]", "{rounds: [12, 12]}");
    assert_true(row_of(&r, "my/ours")->status == ROW_WRONG && isnan(row_of(&r, "my/ours")->temperature_c) &&
                !row_of(&r, "my/ours")->others);
    let_go(&r);
}

/* Who computes beside the rows is told, whenever he is met: before the first, in the first round, in any sitting, behind the last. */
static void others_are_met(void **state)
{
    for (int pairs = 0; pairs < 2; pairs++) {
        int looks = 0;
        for (int at = 0; at <= (pairs ? 5 : 3); at++) {
            bool last = at == (pairs ? 5 : 3);
            begin_board(500, 0, last ? looks : at);
            timing.versus[0][0] = pairs ? "my/cudnn_slow" : NULL;
            timing.versus[0][1] = "my/ours";
            timing.noise = 0.01;
            struct result r = timed("[my/cudnn_slow, my/ours]", "{rounds: [12, 12]}");
            const char *others = row_of(&r, "my/ours")->others;
            looks = board.looked;
            if (!at != !others || (others && strcmp(others, "pid 99999999")))
                fail_msg("%s, at look %d of %d: %s", pairs ? "pairs" : "rows", at, board.looked, others ? others : "nobody");
            let_go(&r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_round_has_its_state), cmocka_unit_test(rows_know_their_board),
                                       cmocka_unit_test(others_are_met)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
