/* What lies ready for its turn: a verified row's code until it is timed, and a command that was sent ahead until its answer is wanted. */
#include "measure/verify/device_check_private.h"
#include "run/message/options.h"
#include "op/shape.h"
#include "run/message/verb.h"
#include "run/message/wire.h"
#include "run/parent/child.h"
#include "variant_folder.h"
#include "virtual_clock.h"
#include "run/child/serve.h"
#include "run/child/worker.h"
#include <sys/socket.h>
#include <unistd.h>

/* ---- code ---- */

#define ROWS_MOST 32
static struct {
    const struct device_ops *emu;
    struct device_ops ops;
    struct worker w;
    struct plan plan;
    char *path, *set;
    const char *dirs[2];
    json_t *setup;
    struct row *rows[ROWS_MOST];
    int ours[2]; /* the variant's row of each case */
} world;

static void take(void *context, json_t *event)
{
    const char *name = json_string_value(json_object_get(event, "event"));
    if (name && !strcmp(name, "row"))
        wire_row_merge(json_object_get(event, FRAME_PACKED), world.rows[json_integer_value(json_object_get(event, "row"))]);
    json_decref(event);
}

/* A wild write: it meets what all rows of the case are fed, or what they are fed as neighbours, once. */
static enum { TAME, WILD, WILD_NEAR } wild;
static bool spoil(struct error *err)
{
    const struct op_data *own = world.w.data.data_case[0][DATA_PART_EXACT] < 0 ? NULL : &world.w.data.data[0][DATA_PART_EXACT],
                         *near = world.w.neighbours.count ? &world.w.neighbours.items[0].data : NULL, *fed = wild == WILD ? own : near;
    unsigned char byte;
    if (wild == TAME || !fed || !fed->card)
        return true;
    wild = TAME;
    uint64_t at = fed->card->at[SLOT_FILTER].value + 6;
    bool ok = world.emu->read(world.w.job.dev, at, &byte, 1, err);
    byte ^= 0x40;
    return ok && world.emu->write(world.w.job.dev, at, &byte, 1, err);
}

static bool launch(struct device *dev, struct device_function *f, const struct device_launch *l, struct error *err)
{
    if (!spoil(err))
        return false;
    spend(1000);
    return world.emu->launch(dev, f, l, err);
}

static size_t largest; /* of what went between host and device at once */
static bool sized_read(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err)
{
    largest = bytes > largest ? bytes : largest;
    return world.emu->read(dev, address, to, bytes, err);
}
static bool sized_write(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    largest = bytes > largest ? bytes : largest;
    return world.emu->write(dev, address, from, bytes, err);
}

static const char *planted; /* in place of what the variant's kernel stores; NULL: nothing */

/* One variant on two small layers and a network of them, on emu with a clock. */
static void open_world(void)
{
    struct error err = {0};
    size_t bytes;
    struct text source = {0};
    char *naive = file_read("kernels/variants/conv2d/naive.cu", 1 << 20, &bytes, &err);
    assert_non_null(naive);
    char *stores = strstr(naive, "epilogue(sum, bias, k)");
    text_addf(&source, "%.*s%s%s", (int)(stores - naive), naive, planted ? planted : "",
              stores + (planted ? strlen("epilogue(sum, bias, k)") : 0));
    free(naive);
    assert_true(variant_put("ours", &source));
    world.path = text_file("scenario: t\n"
                           "defaults: {op: conv2d, n: 1, c: 2, h: 6, w: 8, k: 2, kernel: 3, pad: 1, dtype: f32, layout: NCHW}\n"
                           "layers: {a: {}, b: {c: 3}}\nvariants: [my/ours]\ntime: {rounds: [6, 6]}\n"
                           "networks: {net: {order: [{repeat: 2, of: [a]}]}}\n");
    world.set = text_format("my=%s", variant_folder);
    world.dirs[0] = world.set;
    const struct plan_options options = {.scenario_path = world.path, .device = "emu:GH100", .variant_dirs = world.dirs};
    if (!plan_make(&options, "emu", chip_find("GH100"), &world.plan, &err))
        fail_msg("%s", err.text);
    assert_true(world.plan.row_count <= ROWS_MOST);
    for (int i = 0, at = 0; i < world.plan.row_count && at < 2; i++)
        if (world.plan.rows[i].kind == PLAN_LAYER && !strcmp(plan_row_variant(&world.plan.rows[i]), "my/ours"))
            world.ours[at++] = i;
    worker_init(&world.w, take, NULL);
    world.setup = json_pack("{s:s,s:o,s:o,s:s,s:f}", "do", "setup", "options", options_write(&options), "chip",
                            wire_chip(chip_find("GH100")), "files", world.plan.files, "time_limit", 60.0);
    if (!worker_handle(&world.w, world.setup, &err))
        fail_msg("%s", err.text);
    world.emu = world.w.job.dev->ops;
    world.ops = *world.emu;
    clock_give(&world.ops, 1000);
    world.ops.launch = launch;
    world.ops.read = sized_read;
    world.ops.write = sized_write;
    world.w.job.dev->ops = &world.ops;
    for (int i = 0; i < ROWS_MOST; i++)
        world.rows[i] = row_new();
}

static void close_world(void)
{
    world.w.job.dev->ops = world.emu;
    worker_close(&world.w);
    plan_free(&world.plan);
    json_decref(world.setup);
    unlink(world.path);
    free(world.path);
    free(world.set);
    for (int i = 0; i < ROWS_MOST; i++)
        row_free(world.rows[i]);
}

static bool handle(json_t *command, struct error *err)
{
    bool ok = worker_handle(&world.w, command, err);
    json_decref(command);
    return ok;
}

static void verify(int row)
{
    struct error err = {0};
    if (!handle(json_pack("{s:s,s:i}", "do", "verify", "row", row), &err))
        fail_msg("%s", err.text);
    if (world.rows[row]->status != ROW_OK)
        fail_msg("row %d: %s", row, world.rows[row]->reason ? world.rows[row]->reason : "no reason");
}

/* Its file is gone, so nothing can be compiled: what is timed is what was verified. Once taken it is there no more. */
static void verified_code_is_what_is_timed(void **state)
{
    need_compiler();
    struct error err = {0};
    open_world();
    int row = world.ours[0];
    verify(row);
    assert_true(world.w.builds.kept && world.w.builds.kept[row].count == 1);
    char *path = file_join(variant_folder, "ours.cu");
    assert_int_equal(unlink(path), 0);
    if (!handle(json_pack("{s:s,s:[i]}", "do", "measure", "rows", row), &err))
        fail_msg("%s", err.text);
    const struct row *r = world.rows[row];
    assert_true(r->status == ROW_OK && r->time_count == 1 && r->times[0].median_ns == 1000);
    assert_true(!world.w.builds.kept[row].count);
    assert_false(handle(json_pack("{s:s,s:[i]}", "do", "measure", "rows", row), &err));
    assert_non_null(strstr(err.text, "ours.cu"));
    free(path);
    close_world();
}

/* Code of a case that is over is not kept. */
static void another_case_drops_it(void **state)
{
    need_compiler();
    open_world();
    verify(world.ours[0]);
    verify(world.ours[1]);
    assert_true(!world.w.builds.kept[world.ours[0]].count && world.w.builds.kept[world.ours[1]].count == 1);
    close_world();
}

/* A network is judged on data of full precision alone: of small whole numbers it has inputs and no reference. */
static void a_network_has_no_exact_reference(void **state)
{
    need_compiler();
    struct error err = {0};
    struct op_data *data[2];
    int row = 0;
    open_world();
    while (row < world.plan.row_count && world.plan.rows[row].kind != PLAN_CHAIN)
        row++;
    assert_true(row < world.plan.row_count && !plan_program(&world.plan, row)->exact);
    for (int part = DATA_PART_EXACT; part <= DATA_PART_PRECISION; part++)
        if (!data_get(&world.w.data, row, (enum data_part)part, 0, &data[part], &err))
            fail_msg("%s", err.text);
    assert_non_null(data[DATA_PART_EXACT]->at[SLOT_INPUT].value);
    assert_null(data[DATA_PART_EXACT]->at[SLOT_OUTPUT].reference);
    assert_non_null(data[DATA_PART_PRECISION]->at[SLOT_OUTPUT].reference);
    close_world();
}

/* ---- commands ---- */

static bool is_wanted;
static bool waiting(void)
{
    return is_wanted;
}

static int reached[2]; /* rows of the first case, and of later ones */
static void see_range(const char *name)
{
    for (int i = 0; i < world.plan.row_count; i++)
        if (!strcmp(plan_id(&world.plan, i), name))
            reached[world.plan.rows[i].case_index != 0]++;
}
static void see_end(void) {}

/* Plans of the next case are made; of those behind it as long as no other command waits. */
static void what_is_made_ahead_ends(void **state)
{
    need_compiler();
    struct error err = {0};
    open_world();
    world.w.job.waiting = waiting;
    world.w.job.clock.draw_open = see_range;
    world.w.job.clock.draw_close = see_end;
    for (int i = 0; i < 2; i++) {
        json_t *rows = json_array();
        for (int row = 0; row < world.plan.row_count; row++)
            if (world.plan.rows[row].kind == PLAN_LAYER)
                json_array_append_new(rows, json_integer(row));
        is_wanted = i == 1;
        reached[0] = reached[1] = 0;
        if (!handle(json_pack("{s:s,s:o}", "do", "ahead", "rows", rows), &err))
            fail_msg("%s", err.text);
        assert_int_equal(reached[0], 2);
        assert_int_equal(reached[1], is_wanted ? 0 : 2);
    }
    assert_true(handle(json_pack("{s:s}", "do", "enough"), &err));
    close_world();
}

static size_t spare_bytes;
static size_t spare(struct device *dev)
{
    return spare_bytes;
}

static void make_early(void)
{
    struct error err = {0};
    json_t *rows = json_array();
    for (int row = 0, in_case = -1; row < world.plan.row_count; row++)
        if (world.plan.rows[row].case_index != in_case) {
            in_case = world.plan.rows[row].case_index;
            json_array_append_new(rows, json_integer(row));
        }
    if (!handle(json_pack("{s:s,s:o}", "do", "ahead", "data", rows), &err))
        fail_msg("%s", err.text);
}

static struct card_data *early(int in_case, int set, enum data_part part)
{
    for (int i = 0; i < world.w.data.early_count; i++)
        if (world.w.data.early[i].in_case == in_case && world.w.data.early[i].set == set && world.w.data.early[i].slot == data_slot(part))
            return world.w.data.early[i].data.card;
    return NULL;
}

/* Data of all cases are made early and used once. Data that no case uses are freed with their case, the rest with the plan. Rows on early
 * data are verified and timed. */
static void data_made_early_are_taken(void **state)
{
    need_compiler();
    struct error err = {0};
    open_world();
    world.w.job.waiting = waiting;
    world.ops.spare = spare;
    const int first = world.ours[0], second = world.ours[1];
    is_wanted = true; /* somebody waits already */
    spare_bytes = 1 << 20;
    make_early();
    assert_int_equal(world.w.data.early_count, 0);
    is_wanted = false;
    spare_bytes = 100; /* and there is no room */
    make_early();
    assert_int_equal(world.w.data.early_count, 0);
    spare_bytes = 1 << 20;
    make_early();
    int all = world.w.data.early_count, cases = world.plan.case_count;
    assert_int_equal(cases, 3);
    assert_int_equal(all, cases * (1 + DATA_SETS)); /* exact, and in all sets of full precision */
    make_early();                                   /* they are there */
    assert_int_equal(world.w.data.early_count, all);
    struct card_data *made = early(0, 0, DATA_PART_PRECISION), *unused = early(0, 0, DATA_PART_EXACT);
    assert_true(made && unused && early(0, 2, DATA_PART_PRECISION) && early(2, 1, DATA_PART_PRECISION));
    struct op_data *data;
    assert_true(data_get(&world.w.data, first, DATA_PART_PRECISION, 0, &data, &err));
    assert_ptr_equal(data->card, made);
    assert_null(early(0, 0, DATA_PART_PRECISION));
    verify(first);
    if (!handle(json_pack("{s:s,s:[i]}", "do", "measure", "rows", first), &err))
        fail_msg("%s", err.text);
    assert_true(world.rows[first]->status == ROW_OK && world.rows[first]->time_count == 1);
    assert_int_equal(world.w.data.early_count, all - 1 - DATA_SETS);
    made = early(1, 0, DATA_PART_PRECISION);
    assert_true(data_get(&world.w.data, first + 0, DATA_PART_PRECISION, 0, &data, &err)); /* it stays until another case has its place */
    assert_true(data_get(&world.w.data, second, DATA_PART_PRECISION, 0, &data, &err));
    assert_ptr_equal(data->card, made);
    verify(second);
    assert_true(data_get(&world.w.data, world.plan.row_count - 1, DATA_PART_PRECISION, 0, &data, &err));
    for (int i = 0; i < world.w.data.early_count; i++)
        assert_int_equal(world.w.data.early[i].in_case, 2);
    close_world();
}

/* Who writes far from its buffers is told so, whatever came of it, and the next row is fed what was made. */
static void a_wild_write_costs_its_own_row(void **state)
{
    need_compiler();
    struct error err = {0};
    open_world();
    int row = world.ours[0];
    wild = WILD;
    if (!handle(json_pack("{s:s,s:i}", "do", "verify", "row", row), &err))
        fail_msg("%s", err.text);
    assert_int_equal(wild, TAME);
    assert_int_equal(world.rows[row]->status, ROW_UNSAFE);
    assert_string_equal(world.rows[row]->reason, "wrote outside its buffers, into the inputs of all rows of the case");
    verify(row);
    close_world();
}

/* The same where it meets what rows are fed on a neighbour, and the row that writes is not run there: the next one that is, is right. */
static void a_wild_write_is_not_the_next_rows(void **state)
{
    need_compiler();
    struct error err = {0};
    open_world();
    int row = world.ours[0];
    verify(row); /* its neighbours are there now */
    assert_true(world.w.neighbours.count > 0);
    wild = WILD_NEAR;
    char **like = &world.w.job.plan.cases[world.w.job.plan.rows[row].case_index].like;
    *like = xstrdup("a row without neighbours");
    if (!handle(json_pack("{s:s,s:i}", "do", "verify", "row", row), &err))
        fail_msg("%s", err.text);
    free(*like);
    *like = NULL;
    assert_int_equal(wild, TAME);
    assert_int_equal(world.rows[row]->status, ROW_UNSAFE);
    assert_string_equal(world.rows[row]->reason, "wrote outside its buffers, into the inputs of all rows of the case");
    verify(row);
    close_world();
}

/* On nearby shapes, too, a row is judged in GPU memory: nothing large is copied. A wrong result is reported with its shape, and so is a
 * write to the inputs of others. */
static void neighbours_are_judged_there(void **state)
{
    need_compiler();
    struct error err = {0};
    open_world();
    int row = world.ours[0];
    verify(row);
    largest = 0;
    verify(row);
    assert_true(largest > 0 && largest <= 32);
    wild = WILD_NEAR;
    assert_true(handle(json_pack("{s:s,s:i}", "do", "verify", "row", row), &err));
    assert_int_equal(wild, TAME);
    assert_int_equal(world.rows[row]->status, ROW_UNSAFE);
    assert_non_null(strstr(world.rows[row]->reason, "right on its own shape, but not on a nearby shape that its head accepts, conv2d"));
    assert_non_null(strstr(world.rows[row]->reason, "wrote outside its buffers"));
    verify(row);
    close_world();
    planted = "(H == 6 ? epilogue(sum, bias, k) : 0.0f)";
    open_world();
    assert_true(handle(json_pack("{s:s,s:i}", "do", "verify", "row", row), &err));
    assert_int_equal(world.rows[row]->status, ROW_WRONG);
    assert_non_null(strstr(world.rows[row]->reason, "right on its own shape, but not on a nearby shape that its head accepts, conv2d"));
    assert_non_null(strstr(world.rows[row]->reason, "zero"));
    char **like =
        &world.w.job.plan.cases[world.w.job.plan.rows[row].case_index].like; /* a density that bisection added has none of its own */
    *like = xstrdup("the case that asked for it");
    assert_true(handle(json_pack("{s:s,s:i}", "do", "verify", "row", row), &err));
    assert_int_equal(world.rows[row]->status, ROW_OK);
    close_world();
    planted = NULL;
}

/* The launch over nothing of a row that is timed next is made there, and tells whether it gives the same bits. */
static void the_launch_over_nothing_is_made_once(void **state)
{
    need_compiler();
    struct error err = {0};
    for (int timed = 0; timed < 2; timed++) {
        open_world();
        int row = world.ours[0];
        if (!handle(json_pack("{s:s,s:i,s:b}", "do", "verify", "row", row, "timed", timed), &err))
            fail_msg("%s", err.text);
        assert_int_equal(world.rows[row]->status, ROW_OK);
        assert_int_equal(row_metric(world.rows[row], -1, "verify.same_bits") == NULL, timed);
        if (!handle(json_pack("{s:s,s:[i]}", "do", "measure", "rows", row), &err))
            fail_msg("%s", err.text);
        const struct row_metric *same = row_metric(world.rows[row], -1, "verify.same_bits");
        assert_true(world.rows[row]->status == ROW_OK && world.rows[row]->time_count == 1 && same && same->value == 1);
        close_world();
    }
}

/* Answers each line with the number in it. */
static void answer(int fd)
{
    FILE *in = fdopen(fd, "r");
    char line[256];
    while (fgets(line, sizeof line, in)) {
        char *at = strpbrk(line, "0123456789");
        char *said = text_format("{\"event\":\"uuid\",\"n\":%d}\n{\"event\":\"done\"}\n", at ? atoi(at) : -1);
        if (write(fd, said, strlen(said)) < 0)
            break;
        free(said);
    }
    _exit(0);
}

static int64_t ask(struct child *child, int number)
{
    struct error err = {0};
    json_t *command = json_pack("{s:i}", "n", number), *event = child_ask("the test", command, EVENT_UUID, 20, child, NULL, &err);
    if (!event)
        fail_msg("%s", err.text);
    int64_t n = json_integer_value(json_object_get(event, "n"));
    json_decref(event);
    json_decref(command);
    return n;
}

/* What was sent ahead is not sent again: else the answer after next would be the one before. */
static void a_command_sent_ahead_is_waited_for(void **state)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct child child = {.fd = ends[0], .errors = -1, .pid = fork()};
    if (!child.pid) {
        close(ends[0]);
        answer(ends[1]);
    }
    close(ends[1]);
    child.ahead = child_send(&child, json_pack("{s:i}", "n", 1));
    assert_int_equal(ask(&child, 1), 1);
    assert_int_equal(ask(&child, 2), 2);
    assert_int_equal(ask(&child, 3), 3);
    child_stop(&child, NULL, 0);
}

static int set_up(void **state)
{
    return !variant_folder_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verified_code_is_what_is_timed),       cmocka_unit_test(a_wild_write_costs_its_own_row),
        cmocka_unit_test(a_wild_write_is_not_the_next_rows),    cmocka_unit_test(another_case_drops_it),
        cmocka_unit_test(a_network_has_no_exact_reference),     cmocka_unit_test(what_is_made_ahead_ends),
        cmocka_unit_test(a_command_sent_ahead_is_waited_for),   cmocka_unit_test(data_made_early_are_taken),
        cmocka_unit_test(the_launch_over_nothing_is_made_once), cmocka_unit_test(neighbours_are_judged_there),
    };
    return cmocka_run_group_tests(tests, set_up, variant_folder_remove);
}
