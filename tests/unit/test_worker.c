/* worker: what one holds before its first command. */
#include "op/shape.h"
#include "leaks.h"
#include "measure/count/source.h"
#include "measure/count/code.h"
#include "worker_world.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void drop(void *context, json_t *event)
{
    (void)context;
    json_decref(event);
}

/* A worker inside the parent's process begins without data, like one in its own process: it makes the data of the very first case, each
 * kind of them. (The input on which a dense row of a masked case is timed was once assumed to exist, and was NULL.) */
static void data_of_the_first_case_are_made(void **state)
{
    struct planned p;
    planned_begin(&p,
                  "scenario: t\n"
                  "layers: {a: {op: conv2d, n: 1, c: 2, h: 8, w: 40, k: 2, kernel: 3, pad: 1, dtype: f32, layout: NCHW}}\n"
                  "axes: {mask: [{pattern: checkerboard}]}\n"
                  "variants: [conv2d/naive]\n",
                  NULL);
    struct error err = {0};
    struct op_data *data;
    int row = row_of_variant(&p, "conv2d/naive"), zeros = 0;
    assert_int_equal(p.plan.rows[row].case_index, 0);
    struct worker *w = worker_inside.open(drop, NULL);
    tell_setup(w, &p);
    assert_true(job_timed_part(&w->job, row) & DATA_FULL);
    if (!data_get(&w->data, row, job_timed_part(&w->job, row), 0, &data, &err))
        fail_msg("%s", err.text);
    assert_non_null(data->at[SLOT_INPUT].value);
    for (int i = 0; i < 2 * 8 * 40; i++)
        zeros += data->at[SLOT_INPUT].value[i] == 0;
    assert_true(zeros < 8); /* full, though every other pixel is not marked */
    worker_inside.close(w);
    planned_end(&p);
}

static void keep_row(void *context, json_t *event)
{
    json_t **row = context;
    const char *name = json_string_value(json_object_get(event, "event"));
    if (name && !strcmp(name, "row")) {
        json_decref(*row);
        *row = json_incref(event);
    }
    json_decref(event);
}

/* What the worker says of the first row of a layer of `channels`. */
static json_t *verified_after_setup(void *w, json_t **row, int channels)
{
    SCOPED char *text =
        text_format("scenario: t\n"
                    "layers: {a: {op: depth_to_space, n: 1, c: %d, h: 4, w: 6, block: 2, mode: CRD, dtype: f16, layout: NHWC}}\n"
                    "variants: [depth_to_space/d2s_native]\n",
                    channels);
    struct planned p;
    planned_begin(&p, text, NULL);
    tell_setup(w, &p);
    tell_verify(w, row_of_variant(&p, "depth_to_space/d2s_native"), false);
    planned_end(&p);
    return json_object_get(*row, FRAME_PACKED);
}

/* One worker serves run after run: nothing of the plan before is left, least of all its data, which are kept by case. */
static void another_setup_is_another_plan(void **state)
{
    json_t *row = NULL;
    void *w = worker_inside.open(keep_row, &row);
    double instructions[3];
    for (int i = 0; i < 3; i++) {
        struct row *told = row_new();
        wire_row_merge(verified_after_setup(w, &row, i == 1 ? 64 : 16), told);
        assert_int_equal(told->status, ROW_OK);
        assert_string_equal(told->check, "exact");
        instructions[i] = row_metric(told, -1, "emu.warp_instructions")->value;
        row_free(told);
    }
    assert_true(instructions[0] > 0 && instructions[1] != instructions[0] && instructions[2] == instructions[0]);
    worker_inside.close(w);
    json_decref(row);
}

/* Nor is it forgotten that the device can check for itself: added densities, which the same worker runs, were checked by the CPU. */
static void the_device_checks_in_every_run(void **state)
{
    struct planned p;
    planned_begin(&p,
                  "scenario: t\n"
                  "layers: {a: {op: layout, n: 1, c: 8, h: 4, w: 6, dtype: f16, layout: NHWC, to: NCHW}}\n"
                  "variants: [layout/convert]\n",
                  NULL);
    struct worker *w = worker_inside.open(drop, NULL);
    struct device_ops timed;
    const struct device_ops *emu = NULL;
    for (int run = 0; run < 3; run++) {
        tell_setup(w, &p);
        emu = emu ? emu : w->job.dev->ops;
        timed = *emu;
        timed.keeps_time = run > 0; /* of the first run's device the CPU checks */
        w->job.dev->ops = &timed;
        assert_int_equal(data_card(&w->data) != NULL, run > 0);
    }
    w->job.dev->ops = emu;
    worker_inside.close(w);
    planned_end(&p);
}

static bool fails_to_sync(struct device *dev, struct error *err)
{
    return error_set(err, ERROR_WRONG, "waiting for the GPU: the context is lost");
}

/* A callable's kernel failed, and bench learns of it where it makes data: the row is to blame, and the worker ends. The run goes on. */
static void a_lost_context_is_of_its_row(void **state)
{
    struct planned p;
    planned_begin(&p,
                  "scenario: t\n"
                  "layers: {a: {op: layout, n: 1, c: 8, h: 4, w: 6, dtype: f16, layout: NHWC, to: NCHW}}\n"
                  "variants: [layout/convert]\n",
                  NULL);
    json_t *row = NULL;
    struct worker *w = worker_inside.open(keep_row, &row);
    tell_setup(w, &p);
    const struct device_ops *emu = w->job.dev->ops;
    struct device_ops lost = *emu;
    lost.keeps_time = true;
    lost.sync = fails_to_sync;
    w->job.dev->ops = &lost;
    leaks_are_looked_for(false);
    tell_verify(w, row_of_variant(&p, "layout/convert"), false);
    leaks_are_looked_for(true);
    struct row *told = row_new();
    wire_row_merge(json_object_get(row, FRAME_PACKED), told);
    assert_int_equal(told->status, ROW_CRASHED);
    assert_string_equal(told->reason, "data of t/a: waiting for the GPU: the context is lost");
    assert_true(w->lost);
    row_free(told);
    w->job.dev->ops = emu;
    worker_inside.close(w);
    json_decref(row);
    planned_end(&p);
}

/* Of a line those that take most, of equal ones those that move something; nothing of a cold line; in the order of the code. */
static void the_hottest_instructions_are_kept(void **state)
{
    struct row *row = row_new();
    struct row_code *all = calloc(400, sizeof *all);
    for (int i = 0; i < 400; i++)
        all[i] = (struct row_code){.step = 0,
                                   .address = 400 - i,
                                   .line = i < 100   ? 5
                                           : i < 399 ? 10 + i / 4
                                                     : 900,
                                   .text = strdup(i == 7 ? "ld" : "add"),
                                   .executed = i < 100   ? 50
                                               : i < 399 ? 100
                                                         : 1,
                                   .lanes = NAN,
                                   .sectors = i == 7 ? 4 : NAN,
                                   .sectors_ideal = NAN,
                                   .wavefronts = i == 90 ? 2 : NAN,
                                   .wavefronts_ideal = NAN,
                                   .samples = NAN};
    code_keep(row, all, 400);
    free(all);
    int of_five = 0, moving = 0;
    assert_int_equal(row->code_count, 192);
    for (int i = 0; i < row->code_count; i++) {
        const struct row_code *c = &row->code[i];
        of_five += c->line == 5;
        moving += c->sectors > 0 || c->wavefronts > 0;
        assert_true(c->line != 900 && c->text[0]);
        assert_true(!i || c->address > row->code[i - 1].address);
    }
    assert_true(of_five == 0 && moving == 0); /* others ran twice as often, and there is no room for more */
    row_free(row);
    row = row_new();
    all = calloc(100, sizeof *all);
    for (int i = 0; i < 100; i++)
        all[i] = (struct row_code){
            .address = i, .line = 5, .text = strdup("x"), .executed = 50, .samples = i == 60 ? 9 : 3, .sectors = i == 90 ? 1 : NAN};
    code_keep(row, all, 100);
    free(all);
    assert_int_equal(row->code_count, 12);
    assert_int_equal(row->code[9].address, 9); /* the first ten, the one that moves and the one where most stood */
    assert_true(row->code[10].address == 60 && row->code[11].address == 90);
    row_free(row);
}

/* Samples and counts of one instruction come at different times and are one instruction; two steps are apart. */
static void samples_and_counts_meet(void **state)
{
    double counts[7] = {400, 12800, 1600, 400, 0, 0, 0};
    struct source_code sampled[] = {{.step = 0, .offset = 16, .line = 5, .words = {0x7981, 0xea4}, .samples = 90, .wait_count = 2},
                                    {.step = 1, .offset = 16, .line = 9, .words = {0x7947, 0xfc0}, .samples = 30, .wait_count = 1}},
                       ran[] = {{.step = 0, .offset = 0, .line = 5, .counts = counts},
                                {.step = 0, .offset = 16, .line = 5, .counts = counts}};
    sampled[0].waits[0] = (struct source_wait){"wait", 20};
    sampled[0].waits[1] = (struct source_wait){"long_scoreboard", 70};
    sampled[1].waits[0] = (struct source_wait){"barrier", 30};
    struct code_list list = {0};
    struct row *row = row_new();
    code_of_gpu(&list, &(struct source_values){.code = sampled, .code_count = 2});
    code_of_gpu(&list, &(struct source_values){.code = ran, .code_count = 2});
    code_keep_list(row, &list);
    assert_int_equal(row->code_count, 3);
    const struct row_code *c = row->code;
    assert_true(c[0].step == 0 && c[0].address == 0 && c[0].samples == 0 && c[0].executed == 400 && !c[0].wait[0]);
    assert_true(c[1].address == 16 && c[1].samples == 90 && c[1].lanes == 12800 && c[1].sectors == 1600 && isnan(c[1].wavefronts));
    assert_string_equal(c[1].wait, "long_scoreboard");
    assert_string_equal(c[1].text, "0x0000000000000ea40000000000007981");
    assert_true(c[2].step == 1 && c[2].samples == 30 && isnan(c[2].executed) && !strcmp(c[2].wait, "barrier"));
    row_free(row);
}

/* Neither this process nor its parent's other children count as others; a child of ours does, which the parent did not start. */
static void others_are_told(void **state)
{
    struct others o = {0};
    int pipe_to[2];
    assert_int_equal(pipe(pipe_to), 0);
    pid_t child = fork();
    if (!child) {
        char c;
        close(pipe_to[1]);
        _exit(read(pipe_to[0], &c, 1) != 0);
    }
    const long pids[] = {getpid(), getppid(), child}, strangers[] = {child, 999999999}, gone[] = {getpid(), 999999999, 99999999};
    others_add(pids, 3, &o);
    char *want = text_format("pid %ld test_worker", (long)child);
    assert_string_equal(text_get(&o.said), want);
    others_add(pids, 3, &o); /* told once */
    assert_string_equal(text_get(&o.said), want);
    others_free(&o);
    others_add(strangers, 2, &o); /* NVML does not list this process: it counts otherwise, and nobody is accused */
    assert_int_equal(o.count, 0);
    others_add(gone, 3, &o); /* of another container; a pid that begins another one is told as well */
    assert_string_equal(text_get(&o.said), "pid 999999999, pid 99999999");
    others_free(&o);
    free(want);
    close(pipe_to[1]);
    waitpid(child, NULL, 0);
    close(pipe_to[0]);
}

/* In a run on several GPUs the command is two levels above a worker. It and its compilers are no others; a shell is. */
static void a_grandparent_is_no_other(void **state)
{
    int wait_for[2], status;
    assert_int_equal(pipe(wait_for), 0);
    pid_t command = getpid(), compiler = fork();
    if (!compiler) {
        char c;
        close(wait_for[1]);
        _exit(read(wait_for[0], &c, 1) != 0);
    }
    pid_t gpu = fork();
    if (!gpu) {
        pid_t worker = fork();
        if (worker)
            _exit(waitpid(worker, &status, 0) != worker || status);
        struct others o = {0};
        const long own[] = {getpid(), getppid(), command, compiler}, shell[] = {getpid(), 1};
        others_add(own, 4, &o);
        int told = o.count;
        others_add(shell, 2, &o);
        _exit(told != 0 || o.count != 1);
    }
    assert_int_equal(waitpid(gpu, &status, 0), gpu);
    close(wait_for[1]);
    waitpid(compiler, NULL, 0);
    close(wait_for[0]);
    assert_int_equal(status, 0);
}

#define PACKED_BYTES 300000 /* several reads */

/* A command with bytes is taken with all of them, newlines among them, and the next one behind it is another command. */
static void bytes_belong_to_their_command(void **state)
{
    int ends[2], status, done = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t worker = fork();
    if (!worker) {
        dup2(ends[1], 3);
        for (int fd = 4; fd <= ends[0] || fd <= ends[1]; fd++)
            close(fd);
        _exit(worker_main());
    }
    close(ends[1]);
    char *bytes = memset(xmalloc(PACKED_BYTES), '\n', PACKED_BYTES);
    SCOPED_TEXT all = {0};
    for (int i = 0; i < 2; i++)
        assert_true(frame_write(
            &all, json_pack("{s:s,s:s,s:o}", "do", "uuid", "device", "emu", FRAME_PACKED, json_stringn_nocheck(bytes, PACKED_BYTES))));
    for (size_t sent = 0; sent < all.len;) {
        ssize_t n = send(ends[0], text_get(&all) + sent, all.len - sent, MSG_NOSIGNAL);
        assert_true(n > 0);
        sent += (size_t)n;
    }
    shutdown(ends[0], SHUT_WR);
    FILE *events = fdopen(ends[0], "r");
    char line[4096];
    while (fgets(line, sizeof line, events)) {
        json_auto_t *event = json_loads(line, 0, NULL);
        assert_true(event_of(event) != EVENT_FAILED && event_of(event) != EVENT_UNKNOWN);
        done += event_of(event) == EVENT_DONE;
    }
    assert_int_equal(done, 2);
    assert_int_equal(waitpid(worker, &status, 0), worker);
    assert_int_equal(status, 0);
    fclose(events);
    free(bytes);
}

static int files_in(const char *folder)
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

static void obey(void *w, const char *verb, const char *key, json_t *value)
{
    tell(w, json_pack("{s:s,s:o}", "do", verb, key, value));
}

/* A row that is compiled for its shape is also compiled for its nearby shapes, by the compilers that work ahead of the rows: verification,
 * which runs alone, finds everything in the cache. */
static void neighbours_are_compiled_ahead(void **state)
{
    struct planned p;
    planned_begin(&p,
                  "scenario: t\n"
                  "layers: {a: {op: depth_to_space, n: 1, c: 64, h: 10, w: 16, block: 2, mode: CRD, dtype: f16, layout: NHWC}}\n"
                  "variants: [depth_to_space/d2s_native]\n",
                  "7");
    char folder[] = "/tmp/bench-ahead-XXXXXX";
    assert_true(mkdtemp(folder) && !setenv("BENCH_CACHE", folder, 1));
    int row = row_of_variant(&p, "depth_to_space/d2s_native");
    struct worker *w = worker_inside.open(drop, NULL);
    tell_setup(w, &p);
    obey(w, "compile", "rows", json_pack("[i]", row));
    int own = files_in(folder);
    obey(w, "compile", "neighbours", json_pack("[i]", row));
    int all = files_in(folder);
    obey(w, "verify", "row", json_integer(row));
    int verified = files_in(folder);
    worker_inside.close(w);
    planned_end(&p);
    char *remove = text_format("rm -rf %s", folder);
    assert_int_equal(system(remove), 0);
    free(remove);
    if (!own) {
        print_message("no compiler here\n");
        skip();
    }
    assert_true(all > own);
    assert_int_equal(verified, all);
}

static char drawn[512];
static void draw_open(const char *name)
{
    strcat(strcat(drawn, name), "(");
}
static void draw_close(void)
{
    strcat(drawn, ")");
}

/* A look at a doubtful sample in the midst of a timed round is a phase inside of the round, which goes on behind it as it was. */
static void a_look_leaves_the_round_open(void **state)
{
    struct plan_row rows[2] = {{.kind = PLAN_CHAIN, .made_id = "s/a/one"}, {.kind = PLAN_CHAIN, .made_id = "s/a/two"}};
    struct scenario_case one = {.id = "s/a"};
    struct worker w;
    worker_init(&w, drop, NULL);
    w.job.plan = (struct plan){.rows = rows, .row_count = 2, .cases = &one, .case_count = 1};
    w.job.clock.draw_open = draw_open;
    w.job.clock.draw_close = draw_close;
    phase_open(&w.job.clock, "s");
    job_stage(&w.job, 0, "time", 1);
    job_stage(&w.job, -1, "time", 1);
    for (int round = 0; round < 2; round++) {
        phase_open(&w.job.clock, "round");
        int depth = phase_depth(&w.job.clock);
        phase_open(&w.job.clock, "s/a/two");
        job_stage(&w.job, -1, "data", 1);
        job_stage(&w.job, 1, "verify", 1);
        if (!round) /* the second look ends without a word */
            job_stage(&w.job, -1, "time", 1);
        phase_unwind(&w.job.clock, depth);
        phase_pop(&w.job.clock);
    }
    job_stage(&w.job, 1, "run", 1);
    assert_string_equal(drawn, "s(s/a(s/a/one(measuring())measuring("
                               "round(s/a/two(data()verifying(timed launches())))round(s/a/two(data()verifying(timed launches()))))"
                               "s/a/two(verifying(run(");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_setup_is_another_plan),
        cmocka_unit_test(the_device_checks_in_every_run),
        cmocka_unit_test(a_lost_context_is_of_its_row),
        cmocka_unit_test(a_look_leaves_the_round_open),
        cmocka_unit_test(others_are_told),
        cmocka_unit_test(bytes_belong_to_their_command),
        cmocka_unit_test(a_grandparent_is_no_other),
        cmocka_unit_test(samples_and_counts_meet),
        cmocka_unit_test(the_hottest_instructions_are_kept),
        cmocka_unit_test(data_of_the_first_case_are_made),
        cmocka_unit_test(neighbours_are_compiled_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
