/* run/parent/fleet: the queue of cases, and a fleet whose GPUs one process simulates: each case takes its given time and sends its rows.
 * FLEET_GPUS, FLEET_CASES and FLEET_SPEED (how many times faster than real time) make it large; then the test prints the time that the
 * parent needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "store_helpers.h"
#include "plan/rows/shard.h"
#include "plan/rows/choose.h"
#include "run/message/wire.h"
#include "run/parent/fleet.h"
#include <math.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the queue ---- */

static void the_most_expensive_is_first(void **state)
{
    struct case_queue q;
    const double seconds[] = {1, 5, 3, 5};
    queue_init(&q, seconds, 4);
    assert_int_equal(queue_take(&q, 0), 1);
    assert_int_equal(queue_take(&q, 1), 3);
    q.pin[2] = 1;
    assert_int_equal(queue_take(&q, 0), 0); /* 2 is for the other GPU */
    assert_int_equal(queue_take(&q, 0), -1);
    assert_int_equal(queue_take(&q, 1), 2);
    for (int i = 0; i < 4; i++)
        queue_done(&q, i);
    queue_done(&q, 3);
    assert_int_equal(q.left, 0);
    queue_free(&q);
}

static void a_network_waits_for_its_layers(void **state)
{
    struct case_queue q;
    const double seconds[] = {9, 1, 1};
    queue_init(&q, seconds, 3);
    q.needs[0] = xcalloc(4, sizeof(bool));
    q.needs[0][1] = q.needs[0][2] = true;
    assert_int_equal(queue_take(&q, 0), 1);
    assert_int_equal(queue_take(&q, 1), 2);
    assert_int_equal(queue_take(&q, 1), -1);
    queue_done(&q, 1);
    assert_int_equal(queue_take(&q, 1), -1);
    queue_done(&q, 2);
    assert_int_equal(queue_take(&q, 1), 0);
    queue_free(&q);
}

/* Layers of a network precede a case that takes longer than each of them, and so does the network, whether they are counted or not. */
static void layers_of_a_network_come_first(void **state)
{
    struct case_queue q;
    const double seconds[] = {5, 9, 1, 2};
    int *lost;
    queue_init(&q, seconds, 4);
    q.needs[1] = xcalloc(5, sizeof(bool));
    q.needs[1][2] = q.needs[1][3] = true;
    queue_order(&q, seconds);
    assert_int_equal(queue_take(&q, 0), 3);
    assert_int_equal(queue_take(&q, 1), 2);
    assert_int_equal(q.waiting, 2);
    queue_run(&q, 3);
    assert_true(queue_is_at(&q, 3, 0) && !queue_is_at(&q, 3, 1));
    assert_int_equal(queue_take(&q, 0), 0); /* it has nothing to do with the network */
    queue_run(&q, 2);
    assert_int_equal(queue_take(&q, 1), 1);
    assert_int_equal(queue_return(&q, 0, 2, &lost), 0); /* its process ends: what was not counted runs again */
    assert_int_equal(q.waiting, 2);
    assert_int_equal(queue_take(&q, 1), 3);
    assert_int_equal(queue_take(&q, 1), 0);
    for (int i = 0; i < 4; i++)
        queue_done(&q, i);
    assert_int_equal(q.left, 0);
    queue_free(&q);
}

/* Each GPU runs the case that it has prepared, unless the other GPU came by three times before. */
static void a_prepared_case_stays_with_its_gpu(void **state)
{
    struct case_queue q;
    const double seconds[] = {9, 8, 7, 6, 5, 4, 3, 2};
    int *lost;
    queue_init(&q, seconds, 8);
    q.needs[7] = xcalloc(9, sizeof(bool)); /* a network is not prepared */
    assert_int_equal(queue_take(&q, 0), 0);
    assert_int_equal(queue_ahead(&q, 0, -1), 1);
    assert_int_equal(queue_take(&q, 1), 2); /* passes 1 */
    assert_int_equal(queue_ahead(&q, 1, -1), 3);
    assert_int_equal(queue_take(&q, 1), 3); /* again */
    assert_int_equal(queue_ahead(&q, 1, 3), 4);
    assert_int_equal(queue_take(&q, 1), 1); /* GPU 0 takes too long */
    assert_int_equal(queue_ahead(&q, 1, 4), 4);
    assert_int_equal(queue_take(&q, 0), 5);
    assert_int_equal(queue_ahead(&q, 0, 1), 6);
    assert_int_equal(queue_return(&q, 1, 3, &lost), 0); /* the process of GPU 1 ends: its three cases and the prepared one are free */
    assert_int_equal(queue_take(&q, 0), 1);
    assert_int_equal(queue_ahead(&q, 0, 6), 2);
    for (int i = 0; i < 7; i++)
        queue_done(&q, i);
    assert_int_equal(queue_ahead(&q, 0, 2), -1);
    assert_int_equal(queue_take(&q, 0), 7);
    queue_free(&q);
}

static void a_dead_gpu_gives_its_cases_back(void **state)
{
    struct case_queue q;
    const double seconds[] = {3, 2, 1};
    int *lost;
    queue_init(&q, seconds, 3);
    for (int tries = 1; tries <= 3; tries++) {
        assert_int_equal(queue_take(&q, 0), 0);
        int count = queue_return(&q, 0, 3, &lost);
        assert_int_equal(count, tries == 3);
        free(lost);
    }
    assert_int_equal(q.left, 3);
    queue_free(&q);
}

/* ---- a simulated fleet ---- */

#define ROWS_A_CASE 10

static int number(const char *name, int otherwise)
{
    const char *given = getenv(name);
    return given ? atoi(given) : otherwise;
}

static double given_seconds(int index) /* as EDSR's cases on an H200 take: 4.6 s on average, from 1 to 20 s */
{
    return 1 + 3.6 * -log(1 - fmod(index * 0.6180339887498949, 1) * 0.995);
}

enum stage { VERIFIED, TIMED, COUNTED, STAGES };
#define COUNTS 40

/* Each row has counts of its own. */
static double count_of(int row, int counter)
{
    return 1e6 * counter + row + 0.25;
}

/* One row as an H200 gives it. */
static struct row *row_as(enum stage stage)
{
    const bool timed = stage >= TIMED;
    struct fixture f = {0};
    fixture_h200(&f);
    struct row *row = f.rows[0];
    for (int i = 0; i < row->time_count; i++)
        columns_free(COLUMN_TIME, &row->times[i]);
    row->time_count = 0;
    for (int i = 0; stage >= COUNTED && i < COUNTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "hw.counter_%d", i);
        row_add_metric(row, -1, 0, name, "", "cupti", count_of(0, i));
    }
    struct row_time *t = timed ? row_add_time(row) : NULL;
    for (int i = 0; timed && i < 60; i++) {
        t->samples_ns = t->samples_ns ? t->samples_ns : xcalloc(60, sizeof *t->samples_ns);
        t->samples_ns[i] = 150e3 + i * 0.7;
        t->rounds = 60;
    }
    f.rows[0] = row_new();
    fixture_free(&f);
    return row;
}

static void assert_same(enum column_group group, const void *a, const void *b)
{
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        struct column_value x = column_get(c, a), y = column_get(c, b);
        assert_true(x.absent == y.absent && text_same(x.text, y.text) && x.count == y.count && x.integer == y.integer);
        assert_memory_equal(&x.real, &y.real, sizeof x.real);
        if (x.reals)
            assert_memory_equal(x.reals, y.reals, (size_t)x.count * sizeof *x.reals);
    }
}

/* Every field of a row arrives; no part of the bytes alone is a row, nor is read beyond its end. */
static void rows_pass_as_bytes(void **state)
{
    struct row *sent = row_as(COUNTED), *got;
    SCOPED_TEXT t = {0};
    int index = -1;
    sent->mask_density = -0.0;
    row_set(&sent->reason, "\xff quoted \"\n");
    wire_rows_add(&t, 7, sent);
    size_t bytes = t.len;
    wire_rows_add(&t, 8, sent);
    const char *at = text_get(&t), *end = at + t.len;
    for (int k = 0; k < 2; k++) {
        got = wire_rows_next(&at, end, &index);
        assert_int_equal(index, 7 + k);
        assert_same(COLUMN_CASE, sent, got);
        assert_same(COLUMN_RESULT, sent, got);
        for (const struct row_list *l = row_lists; l->table; l++) {
            assert_int_equal(row_list_count(l, sent), row_list_count(l, got));
            for (int i = 0; i < row_list_count(l, got); i++)
                assert_same(l->group, row_list_at(l, sent, i), row_list_at(l, got, i));
        }
        row_free(got);
    }
    assert_true(at == end);
    assert_null(wire_rows_next(&at, end, &index));
    for (size_t n = 0; n < bytes; n++) {
        SCOPED char *exact = memcpy(xmalloc(n ? n : 1), text_get(&t), n); /* of its own: a sanitizer sees its end */
        at = exact;
        assert_null(wire_rows_next(&at, exact + n, &index));
    }
    row_free(sent);
}

static void send_all(int fd, const char *text, size_t left)
{
    while (left) {
        ssize_t n = send(fd, text, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(0);
        text += n;
        left -= (size_t)n;
    }
}

/* The rows of a case, in one message. */
static void add_rows(struct text *t, struct row *row, int c, enum stage stage)
{
    SCOPED_TEXT rows = {0};
    const int counts = row->metric_count - COUNTS;
    SCOPED char *of = text_format("t/c%d", c);
    row_set(&row->case_id, of);
    for (int k = 0; k < ROWS_A_CASE; k++) {
        SCOPED char *id = text_format("%s/v%d", of, k);
        row_set(&row->id, id);
        for (int i = 0; stage == COUNTED && i < COUNTS; i++)
            row->metrics[counts + i].value = count_of(c * ROWS_A_CASE + k, i);
        wire_rows_add(&rows, c * ROWS_A_CASE + k, row);
    }
    text_addf(t, "{\"packed\":%zu}\n", rows.len);
    text_add_bytes(t, text_get(&rows), rows.len);
}

/* The cases of a GPU whose rows are timed and wait to be counted. */
struct waiting {
    int *cases, count;
};

/* As run/parent/run.c, run_fed: the rows again, with their counts; then their cases are finished. */
static void send_counts(int fd, struct row *row, struct waiting *w)
{
    SCOPED_TEXT t = {0}, finished = {0};
    for (int i = 0; i < w->count; i++) {
        add_rows(&t, row, w->cases[i], COUNTED);
        text_addf(&finished, "%s%d", i ? "," : "", w->cases[i]);
    }
    text_addf(&t, "{\"finished\":[%s]}\n", text_get(&finished));
    send_all(fd, text_get(&t), t.len);
    w->count = 0;
}

/* All GPUs in one process. A case's rows come in three messages: verified, timed, and counted, for which up to `late` cases wait. */
static void simulate(int *fds, int count, double speed, int late)
{
    struct waiting *waiting = xcalloc((size_t)count, sizeof *waiting);
    struct pollfd *p = xcalloc((size_t)count, sizeof *p);
    double *due = xcalloc((size_t)count, sizeof *due);
    int *now = xcalloc((size_t)count, sizeof *now), alive = count;
    struct row *rows[STAGES] = {row_as(VERIFIED), row_as(TIMED), row_as(COUNTED)};
    for (int i = 0; i < count; i++) {
        p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
        now[i] = -1;
        send_all(fds[i], "{\"ready\":true}\n{\"next\":true}\n", 29);
    }
    while (alive) {
        double next = INFINITY;
        for (int i = 0; i < count; i++) {
            if (now[i] < 0)
                continue;
            if (due[i] <= clock_s()) {
                struct text t = {0};
                for (int stage = VERIFIED; stage < COUNTED; stage++)
                    add_rows(&t, rows[stage], now[i], stage);
                send_all(fds[i], text_get(&t), t.len);
                text_free(&t);
                *APPEND(waiting[i].cases, waiting[i].count) = now[i];
                if (waiting[i].count >= late)
                    send_counts(fds[i], rows[COUNTED], &waiting[i]);
                text_addf(&t, "{\"doing\":\"time %d\"}\n{\"next\":true}\n", now[i]);
                send_all(fds[i], text_get(&t), t.len);
                text_free(&t);
                now[i] = -1;
            } else {
                next = fmin(next, due[i]);
            }
        }
        poll(p, (nfds_t)count, isfinite(next) ? (int)fmax(0, fmin(50, (next - clock_s()) * 1000)) : 50);
        for (int i = 0; i < count; i++) {
            char line[256];
            if (!p[i].revents)
                continue;
            ssize_t n = recv(fds[i], line, sizeof line - 1, 0);
            line[n > 0 ? n : 0] = 0;
            const char *at = strstr(line, "\"case\":");
            int c = at ? atoi(at + 7) : FEED_END;
            if (c < 0)
                send_counts(fds[i], rows[COUNTED], &waiting[i]);
            if (c == FEED_COUNT) {
                send_all(fds[i], "{\"next\":true}\n", 14);
            } else if (c < 0) {
                close(fds[i]);
                p[i].fd = -1;
                alive--;
            } else {
                now[i] = c;
                due[i] = clock_s() + given_seconds(c) / speed;
            }
        }
    }
    _exit(0);
}

static void take_note(void *context, const char *text)
{
    fail_msg("%s", text);
}

/* The parent's CPU seconds and its largest memory in MB. */
static double used(double *megabytes)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    *megabytes = (double)r.ru_maxrss / 1024;
    return (double)r.ru_utime.tv_sec + (double)r.ru_stime.tv_sec + 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* A plan of so many cases, with ten rows each. */
static void plan_cases(struct plan *plan, int cases)
{
    static const char *const variants[ROWS_A_CASE] = {"cudnn",    "naive",    "tiled_nohalo", "tiled_halo", "reg_tiled",
                                                      "mma_sync", "wgmma_rs", "wgmma_wide",   "auto",       "winograd"};
    SCOPED_TEXT t = {0};
    SCOPED char *file = text_format("%s/fleet.yaml", folder);
    struct error err = {0};
    int images = cases < 1000 ? 10 : 100;
    const struct plan_options options = {.scenario_path = file};
    text_add(&t, "scenario: fleet\ndefaults: {op: conv2d, kernel: 3, pad: 1, dtype: f16, layout: NHWC, math: f16_acc32}\nlayers:\n");
    for (int i = 0; i < cases / images; i++)
        text_addf(&t, "  l%d: {c: 16, k: 16, h: %d, w: 40, epilogue: [bias, relu]}\n", i, 20 + i);
    for (int i = 1; i <= images; i++)
        text_addf(&t, i > 1 ? ", %d" : "axes: {n: [%d", i);
    text_add(&t, "]}\nvariants:\n");
    for (int i = 0; i < ROWS_A_CASE; i++)
        text_addf(&t, "  - %s%s\n", i ? "conv2d/" : "", variants[i]);
    write_file(file, text_get(&t), t.len);
    if (!plan_make(&options, "cuda", chip_find("H200"), plan, &err))
        fail_msg("%s", err.text);
}

/* Of a large plan few programs and ids are there at a time; one that is made again is the same. */
static void a_plan_keeps_few_programs(void **state)
{
    struct plan plan;
    char before[ROWS_A_CASE][HASH_TEXT], after[HASH_TEXT], ids[ROWS_A_CASE][128];
    const char *none[8] = {NULL};
    int bound = 0, named = 0;
    plan_cases(&plan, 300);
    for (int i = 0; i < ROWS_A_CASE; i++) {
        program_hash(plan_program(&plan, i), &plan.cases[0].work, none, before[i]);
        snprintf(ids[i], sizeof ids[i], "%s", plan_id(&plan, i));
    }
    for (int i = ROWS_A_CASE; i < plan.row_count; i++, plan_tidy(&plan, -1))
        plan_program(&plan, i), plan_id(&plan, i);
    for (int i = 0; i < plan.row_count; i++) {
        bound += plan.rows[i].program != NULL;
        named += plan.rows[i].made_id != NULL;
    }
    assert_true(bound <= 1024 && named <= 1024);
    assert_true(plan.row_count == 3000 && bound > 0 && named > 0);
    for (int i = 0; i < ROWS_A_CASE; i++) {
        program_hash(plan_program(&plan, i), &plan.cases[0].work, none, after);
        assert_string_equal(before[i], after);
        assert_string_equal(plan_id(&plan, i), ids[i]);
    }
    plan_free(&plan);
}

static void stored_begin(struct session *s)
{
    struct error err = {0};
    assert_true(store_open(path, false, &s->store, &err));
    fixture_run(&s->run, "t", "cuda:0", "NVIDIA H200");
    s->run.id = 0;
    assert_true(store_run_begin(s->store, &s->run, &err));
}

static void stored_end(struct session *s, struct fleet *f)
{
    fleet_close(f);
    for (int i = 0; i < s->plan.row_count; i++)
        row_free(s->rows[i]);
    plan_free(&s->plan);
    free(s->rows);
    free(s->kept);
    store_close(s->store);
    run_clear(&s->run);
}

/* Every row of the run is stored as it came last: with its own counts and its time. */
static void assert_counts_stored(const struct session *s)
{
    struct error err = {0};
    struct row **rows;
    int count = store_rows(s->store, s->run.id, &rows, &err);
    for (int i = 0; i < count; i++) {
        int of, k;
        assert_int_equal(sscanf(rows[i]->id, "t/c%d/v%d", &of, &k), 2);
        assert_int_equal(rows[i]->time_count, 1);
        for (int m = 0; m < COUNTS; m++) {
            SCOPED char *name = text_format("hw.counter_%d", m);
            if (row_value(rows[i], -1, name) != count_of(of * ROWS_A_CASE + k, m))
                fail_msg("%s of %s: %g is stored", name, rows[i]->id, row_value(rows[i], -1, name));
        }
    }
    rows_free(rows, count);
}

static void a_simulated_fleet_is_served(void **state)
{
    int count = number("FLEET_GPUS", 12), cases = number("FLEET_CASES", 60), rows = cases * ROWS_A_CASE, fds[1024];
    double speed = number("FLEET_SPEED", 400), megabytes, began_mb, all = 0;
    const struct session_sink sink = {.note = take_note};
    const struct session_options options = {.gpus = "all"};
    struct session s = SESSION_OF(&options, &sink);
    struct fleet f = {.s = &s, .count = count, .gpus = xcalloc((size_t)count, sizeof *f.gpus), .judged = true};
    struct error err = {0};
    double *seconds = xcalloc((size_t)cases, sizeof *seconds);
    phase_begin(&s.clock, PHASE_WAITING);
    for (int i = 0; i < cases; i++)
        all += seconds[i] = given_seconds(i);
    for (int i = 0; i < count; i++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        f.gpus[i].child = (struct child){.fd = ends[0], .errors = -1, .guarded = -1, .pid = 1 << 30}; /* of no process */
        snprintf(f.gpus[i].place, sizeof f.gpus[i].place, "sim#%d", i);
        fds[i] = ends[1];
    }
    pid_t simulator = fork();
    if (!simulator) {
        for (int i = 0; i < count; i++)
            close(f.gpus[i].child.fd);
        simulate(fds, count, speed, number("FLEET_LATE", 4));
    }
    for (int i = 0; i < count; i++)
        close(fds[i]);
    plan_cases(&s.plan, cases);
    used(&began_mb);
    s.owned = rows;
    assert_int_equal(s.plan.case_count, cases);
    assert_int_equal(s.plan.row_count, rows);
    s.rows = xcalloc((size_t)rows, sizeof *s.rows);
    s.kept = xcalloc((size_t)rows, sizeof *s.kept);
    stored_begin(&s);
    fleet_index(&f, seconds);
    double cpu = used(&megabytes), began = clock_s();
    if (!fleet_serve(&f, &err))
        fail_msg("%s", err.text);
    double wall = clock_s() - began;
    cpu = used(&megabytes) - cpu;
    assert_int_equal(f.queue.left, 0);
    assert_int_equal(s.done, rows);
    assert_int_equal(store_row_count(s.store, s.run.id, &err), rows);
    if (rows <= 10000)
        assert_counts_stored(&s);
    print_message(
        "%d GPUs, %d cases of %.1f s, %.0f times faster: %.1f s, the parent %.2f s of CPU = %.1f %% of a core at the given times, "
        "%.0f MB, %.0f MB of it for the plan\n",
        count, cases, all / cases, speed, wall, cpu, 100 * cpu / (all / count), megabytes, began_mb);
    if (cases >= 1000) /* a program, an id or a stored row that stayed would take several times as much */
        assert_true(began_mb < 60 + 4.5e-3 * cases && megabytes < began_mb + 250);
    if (count <= 12)
        assert_true(wall >= all / count / speed * 0.9);
    waitpid(simulator, NULL, 0);
    stored_end(&s, &f);
    free(seconds);
}

/* A network that ran before its layers were counted gets its time of layout changes at the end, if all its layers are traced then. */
static void a_network_is_completed_at_the_end(void **state)
{
    for (int k = 0; k < 3; k++) {
        bool traced = k > 0;
        char why[512];
        struct error err = {0};
        const struct session_sink sink = {0};
        const struct session_options options = {.gpus = "all"};
        const struct plan_options asked = {.scenario_path = "scenarios/edsr.yaml"};
        struct session s = SESSION_OF(&options, &sink);
        struct fleet f = {.s = &s};
        int chain = 0;
        if (!plan_make(&asked, "cuda", chip_find("H200"), &s.plan, &err))
            fail_msg("%s", err.text);
        s.rows = xcalloc((size_t)s.plan.row_count, sizeof *s.rows);
        s.kept = xcalloc((size_t)s.plan.row_count, sizeof *s.kept);
        for (int i = 0; i < s.plan.row_count; i++) {
            s.rows[i] = row_new();
            s.rows[i]->status = s.plan.rows[i].facts.feasible ? ROW_OK : ROW_INFEASIBLE;
            s.rows[i]->launched = 0;
        }
        while (s.plan.rows[chain].kind != PLAN_CHAIN)
            chain++;
        SCOPED double *seconds = xcalloc((size_t)s.plan.case_count + 1, sizeof *seconds);
        SCOPED int *choice = choose_links(&s.plan, chain, s.rows, why, sizeof why);
        assert_non_null(choice);
        s.rows[choice[0]]->launched = traced ? 0 : -1;
        fleet_index(&f, seconds);
        json_t *links = json_array();
        for (int i = 0; i < s.plan.rows[chain].chain->work->chain->count; i++)
            json_array_append_new(links, json_integer(choice[i]));
        json_array_append_new(f.choices, json_pack("[i,o]", chain, links));
        stored_begin(&s);
        row_free(s.rows[chain]);
        s.rows[chain] = plan_row_new(&s.plan, chain, "cuda:0");
        s.rows[chain]->status = k == 2 ? ROW_SKIPPED : ROW_OK; /* too slow to run as a whole: also on one GPU */
        if (!fleet_serve(&f, &err))
            fail_msg("%s", err.text);
        assert_true(isfinite(row_value(s.rows[chain], -1, "chain.library_layout_ns")) == traced);
        assert_int_equal(store_row_count(s.store, s.run.id, &err), traced);
        stored_end(&s, &f);
    }
}

/* A resumed run without anything to do keeps what its GPUs were found to be. */
static void nothing_due_judges_nothing(void **state)
{
    const struct session_sink sink = {0};
    const struct session_options options = {.gpus = "0"};
    struct session s = SESSION_OF(&options, &sink); /* without a database: storing a verdict would crash */
    struct gpu gpu = {.child = {.fd = -1, .errors = -1, .guarded = -1}};
    struct fleet f = {.s = &s, .count = 1, .gpus = &gpu};
    struct error err = {0};
    phase_begin(&s.clock, PHASE_WAITING);
    assert_true(fleet_serve(&f, &err));
    assert_false(f.judged);
}

/* A process of emu that still frees its worker's memory ends by itself; only then does its worker's CPU time count as the command's. */
static void a_process_of_emu_ends_by_itself(void **state)
{
    int ends[2], said[2];
    char byte = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(pipe(said), 0);
    struct gpu gpu = {.child = {.fd = ends[0], .errors = -1, .guarded = -1, .pid = fork()}, .rests = true};
    if (gpu.child.pid == 0) {
        close(ends[0]);
        while (read(ends[1], &byte, 1) > 0)
            ;
        nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
        _exit(write(said[1], "e", 1) != 1);
    }
    close(ends[1]);
    close(said[1]);
    struct fleet f = {.count = 1, .gpus = &gpu, .shared = true};
    fleet_stop(&f);
    assert_int_equal(read(said[0], &byte, 1), 1); /* 0: it was killed before */
    assert_int_equal(gpu.child.pid, CHILD_NONE.pid);
    close(said[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_most_expensive_is_first),
                                       cmocka_unit_test(a_network_waits_for_its_layers),
                                       cmocka_unit_test(layers_of_a_network_come_first),
                                       cmocka_unit_test(a_prepared_case_stays_with_its_gpu),
                                       cmocka_unit_test(a_dead_gpu_gives_its_cases_back),
                                       cmocka_unit_test(nothing_due_judges_nothing),
                                       cmocka_unit_test(a_process_of_emu_ends_by_itself),
                                       cmocka_unit_test(rows_pass_as_bytes),
                                       cmocka_unit_test_setup_teardown(a_plan_keeps_few_programs, make_folder, remove_folder),
                                       cmocka_unit_test_setup_teardown(a_network_is_completed_at_the_end, make_folder, remove_folder),
                                       cmocka_unit_test_setup_teardown(a_simulated_fleet_is_served, make_folder, remove_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
