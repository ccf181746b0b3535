/* run/parent/assign: how GPUs share the cases of a scenario, in simulated time, by what its cases took on an H200. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/text.h"
#include "plan/rows/shard.h"
#include "run/parent/fleet.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define H200_BYTES (size_t)150e9
/* Seconds on an H200, from the times of messages in runs of 2026-11-29 and 30: what a GPU's first case and first count take in addition; a
 * case until its rows wait to be counted; a count, and each of its rows; and the factor by which a count takes longer while another GPU
 * counts.
 */
struct measured {
    const char *scenario;
    double first_s, count_s, row_s, together;
    struct {
        const char *name;
        double seconds;
    } cases[32]; /* the first is of those that are not named */
};
static const struct measured edsr = {"edsr",
                                     0.5,
                                     0.58,
                                     0.059,
                                     1.4,
                                     {{"head", 1.2},
                                      {"body_1", 1.65},
                                      {"body_2", 2.36},
                                      {"up", 4.39},
                                      {"tail", 2.26},
                                      {"x4_body", 1.5},
                                      {"x4_up_1", 3.15},
                                      {"x4_up_2", 2.3},
                                      {"x4_tail", 1.5},
                                      {"shuffle_1", 0.7},
                                      {"shuffle_2", 1.1},
                                      {"to_nhwc", 0.4},
                                      {"to_nchw", 0.3},
                                      {"body_nchw", 1.5},
                                      {"body_f32", 1.4},
                                      {"body_delta[", 1.0},
                                      {"edsr_x2", 11.3},
                                      {"x4", 7.1}}};
static const struct measured sparsity = {"sparsity_small", 0.5, 0.55, 0.023, 1.5, {{"*", 1.09}, {"body", 0.3}, {"batch", 0.22}}};

enum sim_state { SIM_RUNS, SIM_COUNTS, SIM_ASKS, SIM_OVER };
struct sim {
    enum sim_state state;
    double left_s; /* without another GPU that counts */
    int runs, rows, fd;
    double bytes;         /* of the rows that wait to be counted */
    int cases[64], count; /* that wait to be counted, with their rows */
};

static double seconds_of(const struct measured *m, const char *id)
{
    const char *name = strchr(id, '/') + 1;
    for (int i = 0; m->cases[i].name; i++) {
        bool start = strchr(m->cases[i].name, '[');
        if (!strncmp(name, m->cases[i].name, start ? strlen(m->cases[i].name) : SIZE_MAX >> 1))
            return m->cases[i].seconds;
    }
    return m->cases[0].seconds;
}

/* Goes on with what the GPU was told, if anything. */
static void sim_obey(struct sim *g, const struct fleet *f, const struct measured *m)
{
    char line[256];
    ssize_t n = recv(g->fd, line, sizeof line - 1, MSG_DONTWAIT);
    if (n <= 0)
        return;
    line[n] = 0;
    g->runs = atoi(strstr(line, "\"case\":") + 7);
    g->state = g->runs >= 0 ? SIM_RUNS : g->runs == FEED_COUNT ? SIM_COUNTS : SIM_OVER;
    g->left_s = g->runs >= 0 ? seconds_of(m, f->s->plan.cases[g->runs].id) : g->rows ? m->count_s + m->row_s * g->rows : 0;
}

static double bytes_of(const struct fleet *f, int c)
{
    double bytes = 0;
    for (int i = f->first[c]; i < fleet_case_end(f, c); i++)
        if (f->s->plan.rows[i].kind == PLAN_LAYER && f->s->plan.rows[i].facts.feasible)
            bytes += (double)program_footprint_bytes(plan_program(&f->s->plan, i));
    return bytes;
}

static bool is_due(const struct fleet *f, const struct sim *g)
{
    const struct session s = {
        .options = f->s->options, .device.chip.dram_bytes = H200_BYTES, .uncounted_count = g->rows, .uncounted_bytes = g->bytes};
    return session_count_due(&s);
}

/* The GPU has run its case or counted. */
static void sim_end(struct sim *g, struct fleet *f, int k, const struct measured *m)
{
    if (g->state == SIM_RUNS) {
        g->rows += fleet_rows(f, g->runs);
        g->bytes += bytes_of(f, g->runs);
        g->cases[g->count++] = g->runs;
        g->state = g->rows && !is_due(f, g) ? SIM_ASKS : SIM_COUNTS;
        g->left_s = g->state == SIM_COUNTS && g->rows ? m->count_s + m->row_s * g->rows : 0;
        if (g->state == SIM_COUNTS)
            return;
    } else if (g->state == SIM_COUNTS) {
        for (int i = 0; i < g->count; i++)
            queue_done(&f->queue, g->cases[i]);
        f->gpus[k].running -= g->count;
        f->running -= g->count;
        f->gpus[k].rows = 0;
        g->count = g->rows = 0;
        g->bytes = 0;
    }
    if (g->runs >= 0)
        queue_run(&f->queue, g->runs);
    g->state = SIM_ASKS;
    f->gpus[k].asks = true;
}

/* A scenario on `count` GPUs whose processes are sockets: g[k].fd is the other end. */
static void shared(const char *scenario, int count, struct session *s, struct fleet *f, struct sim *g)
{
    static const struct session_sink sink;
    static const struct session_options options = {.gpus = "all"};
    struct error err = {0};
    SCOPED char *file = text_format("scenarios/%s.yaml", scenario);
    const struct plan_options asked = {.scenario_path = file};
    *s = (struct session)SESSION_OF(&options, &sink);
    *f = (struct fleet){.s = s, .count = count, .gpus = xcalloc((size_t)count, sizeof *f->gpus)};
    if (!plan_make(&asked, "cuda", chip_find("H200"), &s->plan, &err))
        fail_msg("%s", err.text);
    s->rows = xcalloc((size_t)s->plan.row_count, sizeof *s->rows);
    s->kept = xcalloc((size_t)s->plan.row_count, sizeof *s->kept);
    SCOPED double *seconds = xcalloc((size_t)s->plan.case_count + 1, sizeof *seconds);
    plan_costs(&s->plan, true, seconds);
    fleet_index(f, seconds);
    for (int k = 0; k < count; k++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        f->gpus[k].child = (struct child){.fd = ends[0], .errors = -1, .guarded = -1, .pid = 1 << 30}; /* of no process */
        g[k].fd = ends[1];
    }
}

static void shared_close(struct session *s, struct fleet *f, const struct sim *g)
{
    for (int k = 0; k < f->count; k++)
        close(g[k].fd);
    fleet_close(f);
    plan_free(&s->plan);
    free(s->rows);
    free(s->kept);
}

/* Lets time pass until the next of them is ready. -1: none works. */
static int sim_wait(struct sim *g, int count, const struct measured *m, double *now)
{
    int next = -1, counting = 0;
    double pace[8], least = INFINITY;
    for (int k = 0; k < count; k++)
        counting += g[k].state == SIM_COUNTS && g[k].rows;
    for (int k = 0; k < count; k++) {
        pace[k] = g[k].state == SIM_COUNTS && g[k].rows && counting > 1 ? m->together : 1;
        if (g[k].state < SIM_ASKS && g[k].left_s * pace[k] < least) {
            next = k;
            least = g[k].left_s * pace[k];
        }
    }
    for (int k = 0; next >= 0 && k < count; k++)
        g[k].left_s -= least / pace[k];
    *now += next < 0 ? 0 : least;
    return next;
}

/* Seconds of a run on `count` GPUs. */
static double makespan(const struct measured *m, int count)
{
    struct session s;
    struct fleet f;
    struct sim g[8] = {{0}};
    double now = 0;
    shared(m->scenario, count, &s, &f, g);
    for (int k = 0; k < count; k++)
        g[k] = (struct sim){.state = SIM_COUNTS, .runs = -1, .left_s = m->first_s, .fd = g[k].fd};
    s.counts = true;
    for (int next; (next = sim_wait(g, count, m, &now)) >= 0;) {
        sim_end(&g[next], &f, next, m);
        fleet_assign(&f);
        for (int k = 0; k < count; k++)
            if (g[k].state == SIM_ASKS)
                sim_obey(&g[k], &f, m);
    }
    assert_int_equal(f.queue.left, 0);
    for (int k = 0; k < count; k++)
        assert_int_equal(g[k].state, SIM_OVER);
    shared_close(&s, &f, g);
    return now;
}

static void gpus_share_the_work(void **state)
{
    const struct measured *all[] = {&edsr, &sparsity};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double alone = makespan(all[i], 1), two = makespan(all[i], 2), four = makespan(all[i], 4), eight = makespan(all[i], 8);
        print_message("%s: %.1f s on one GPU, %.1f s on two: %.2f x, on four: %.2f x, on eight: %.2f x\n", all[i]->scenario, alone, two,
                      alone / two, alone / four, alone / eight);
        assert_true(alone / two >= 1.82 && alone / four >= 3.2);
    }
}

/* What one of two GPUs is told while so many rows of each wait to be counted, and so many cases. */
static int told_with(int k, const int rows[2], int waiting, bool other_counts)
{
    struct session s;
    struct fleet f;
    struct sim g[2] = {{0}};
    char line[256] = "";
    shared("edsr", 2, &s, &f, g);
    s.counts = true;
    while (f.queue.waiting > waiting)
        assert_true(queue_take(&f.queue, 1 - k) >= 0);
    f.gpus[0].rows = rows[0];
    f.gpus[1].rows = rows[1];
    f.gpus[1 - k].last = other_counts ? FEED_COUNT : 0;
    f.gpus[k].running = f.running = 1;
    f.gpus[k].asks = true;
    fleet_assign(&f);
    assert_true(recv(g[k].fd, line, sizeof line - 1, MSG_DONTWAIT) > 0);
    shared_close(&s, &f, g);
    return atoi(strstr(line, "\"case\":") + 7);
}

static void a_gpu_that_is_behind_counts_first(void **state)
{
    assert_int_equal(told_with(0, (int[]){200, 0}, 3, false), FEED_COUNT);
    assert_true(told_with(0, (int[]){0, 0}, 3, false) >= 0);
    assert_true(told_with(0, (int[]){200, 0}, 3, true) >= 0);
}

static void either_gpu_has_the_first_turn(void **state)
{
    for (int k = 0; k < 2; k++) {
        assert_int_equal(told_with(k, (int[]){60, 60}, 8, false), FEED_COUNT);
        assert_true(told_with(k, (int[]){60, 60}, 8, true) >= 0);
        assert_true(told_with(k, (int[]){60, 60}, 18, false) >= 0); /* the most of the work is left */
        assert_true(told_with(k, (int[]){20, 20}, 8, false) >= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gpus_share_the_work), cmocka_unit_test(a_gpu_that_is_behind_counts_first),
                                       cmocka_unit_test(either_gpu_has_the_first_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
