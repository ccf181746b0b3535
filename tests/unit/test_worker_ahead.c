/* worker/ahead on emu with the check on the device: a case is judged the same, however far the thread has come that began with it. */
#include "op/shape.h"
#include "op/reference/data.h"
#include "measure/verify/device_check_private.h"
#include "worker_world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct text said;

/* Of a verified row what does not tell the time. */
static void take(void *context, json_t *event)
{
    const char *name = json_string_value(json_object_get(event, "event"));
    struct row *row = row_new();
    wire_row_merge(json_object_get(event, FRAME_PACKED), row);
    if (name && !strcmp(name, "row"))
        text_addf(&said, "%s %s; ", row_status_name(row->status), row->check ? row->check : "");
    row_free(row);
    json_decref(event);
}

/* That judges by the device, as one on cuda does. */
static struct worker *worker_with_card(const struct planned *p)
{
    struct error err = {0};
    struct worker *w = worker_inside.open(take, NULL);
    tell_setup(w, p);
    if (!card_open(w->job.dev, NULL, &w->data.card, &err)) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    w->data.card_tried = true;
    return w;
}

static void verified(struct worker *w, int first, int last)
{
    for (int i = first; i < last; i++)
        tell_verify(w, i, false);
}

static void judged_the_same(void **state)
{
    struct planned p;
    planned_begin(&p,
                  "scenario: t\n"
                  "defaults: {op: conv2d, n: 1, c: 16, k: 16, kernel: 3, pad: 1, dtype: f16, layout: NHWC, epilogue: [bias, relu]}\n"
                  "layers: {a: {h: 12, w: 20}, b: {h: 9, w: 33}}\n"
                  "axes: {mask: {layers: [b], values: [{pattern: iid, density: 0.2}]}}\n"
                  "variants: [conv2d/naive, conv2d/mma_sync, conv2d/sparse_tile]\n",
                  NULL);
    const long pauses_ns[] = {0, 0, 1000000, 30000000, 400000000, -1};
    int first, last;
    char *want = NULL;
    for (first = 0; p.plan.rows[first].case_index == 0;)
        first++;
    last = p.plan.row_count;
    int *rows = xcalloc((size_t)last, sizeof *rows), count = 0;
    for (int i = first; i < last; i++)
        rows[count++] = i;
    for (size_t round = 0; round < sizeof pauses_ns / sizeof *pauses_ns; round++) { /* in the first nothing is made ahead */
        struct worker *w = worker_with_card(&p);
        verified(w, 0, first);
        text_free(&said);
        bool drawn = pauses_ns[round] < 0; /* the neighbours alone, all of them */
        for (int i = first; drawn && i < last; i++)
            nearby_draw(&w->neighbours, i, &(atomic_bool){false});
        assert_int_equal(w->neighbours.drawn_count, drawn ? 9 : 0); /* of each row of ours */
        w->neighbours.case_index = drawn ? p.plan.rows[first].case_index : w->neighbours.case_index;
        if (round && !drawn)
            prefetch_begin(&w->prefetch, rows, count, count);
        assert_int_equal(w->prefetch.thread != NULL, round > 0 && !drawn);
        if (!drawn)
            nanosleep(&(struct timespec){.tv_nsec = pauses_ns[round]}, NULL);
        verified(w, first, last);
        assert_null(w->prefetch.thread);
        assert_true(w->neighbours.drawn_count <= 3); /* of right rows each was visited: emu says what sums of outputs nobody wrote read */
        if (!round)
            want = xstrdup(text_get(&said));
        assert_non_null(strstr(want, "ok exact"));
        assert_string_equal(text_get(&said), want);
        prefetch_begin(&w->prefetch, rows, count, count); /* and is given back when nobody comes for it */
        worker_inside.close(w);
    }
    free(want);
    text_free(&said);
    free(rows);
    planned_end(&p);
}

static struct op_data *full_of(struct worker *w, const struct plan *plan, int in_case, int set)
{
    struct error err = {0};
    struct op_data *data;
    int row = 0;
    while (plan->rows[row].case_index != in_case || !(job_timed_part(&w->job, row) & DATA_FULL))
        row++;
    if (!data_get(&w->data, row, job_timed_part(&w->job, row), set, &data, &err))
        fail_msg("%s", err.text);
    return data;
}

static const struct device_ops *of_emu;
static int allocated;
static bool counted_alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    allocated++;
    return of_emu->alloc(dev, label, bytes, address, err);
}

/* The data for timing dense rows are made once for all masks of a layer: those of the layer without a mask, with all outputs. They are made
 * again for another layer, and after a kernel has written to them. */
static void masks_share_what_is_full(void **state)
{
    struct planned p;
    planned_begin(&p,
                  "scenario: t\n"
                  "defaults: {op: conv2d, n: 1, c: 4, k: 8, kernel: 3, pad: 1, dtype: f16, layout: NHWC, epilogue: [bias]}\n"
                  "layers: {a: {h: 12, w: 20}, b: {h: 9, w: 33}}\n"
                  "axes: {mask: [{pattern: iid, density: 0.2}, {pattern: box, density: 0.1}]}\n"
                  "variants: [conv2d/naive]\n",
                  NULL);
    struct error err = {0};
    assert_int_equal(p.plan.case_count, 4);
    struct worker *w = worker_with_card(&p);
    struct card_data *made[DATA_SETS];
    struct device_ops counting = *(of_emu = w->job.dev->ops);
    counting.alloc = counted_alloc;
    w->job.dev->ops = &counting;
    for (int set = 0; set < DATA_SETS; set++) {
        struct op_data *data = full_of(w, &p.plan, 0, set), want;
        struct work bare = p.plan.cases[0].work;
        made[set] = data->card;
        bare.mask = (struct mask){0};
        bare.set_seed = set ? job_seed(&w->job) + (uint64_t)set : 0;
        assert_true(card_fetch(data->card, &err) && op_data_make(&bare, DATA_PART_PRECISION, &want, &err));
        assert_null(data->mask_out);
        for (size_t i = 0; i < want.at[SLOT_OUTPUT].elements; i++)
            assert_true(fabs(data->at[SLOT_OUTPUT].reference[i] - want.at[SLOT_OUTPUT].reference[i]) <=
                        0x1p-18 * (double)want.at[SLOT_OUTPUT].bound[i]);
        op_data_free(&want);
    }
    allocated = 0;
    for (int set = 0; set < DATA_SETS; set++)
        assert_ptr_equal(full_of(w, &p.plan, 1, set)->card, made[set]);
    assert_int_equal(allocated, 0);
    uint64_t filter = made[1]->at[SLOT_FILTER].value;
    assert_true(w->job.dev->ops->write(w->job.dev, filter, &(float){77}, sizeof(float), &err));
    struct op_data *again = full_of(w, &p.plan, 0, 1);
    float first;
    assert_true(w->job.dev->ops->read(w->job.dev, again->card->at[SLOT_FILTER].value, &first, sizeof first, &err) && first < 70);
    int elements = (int)again->at[SLOT_OUTPUT].elements;
    assert_int_not_equal(full_of(w, &p.plan, 2, 1)->at[SLOT_OUTPUT].elements, elements);
    w->job.dev->ops = of_emu;
    worker_inside.close(w);
    planned_end(&p);
}

/* Of each op that takes a mask: what its dense rows are fed without one is, in all sets, what they were fed with it, where nothing is 0. */
static void full_is_the_layer_without_a_mask(void **state)
{
    char *path = text_file(
        "scenario: t\n"
        "defaults: {n: 2, c: 4, h: 8, w: 9, dtype: f16, layout: NHWC}\n"
        "layers: {a: {op: add}, b: {op: concat, k: 7}, c: {op: conv2d, k: 8, kernel: 3, pad: 1, epilogue: [bias, residual]},\n"
        "  d: {op: conv3d, d: 3, k: 4, kernel: 3, pad: 1}, e: {op: conv_transpose2d, k: 4, kernel: 3, stride: 2},\n"
        "  f: {op: densify}, g: {op: depth_to_space, block: 2, mode: DCR}, h: {op: pointwise, epilogue: [residual]},\n"
        "  i: {op: pool_average, kernel: 3}, j: {op: pool_max_change, kernel: 3}, k: {op: truncate, above: 1.5},\n"
        "  l: {op: upsample, block: 2}, m: {op: upsample_bilinear, block: 2}, o: {op: upsample_conv2d, block: 2, k: 4, kernel: 3}}\n"
        "axes: {mask: [{pattern: iid, density: 0.2}]}\n"
        "variants: [copy]\n");
    const struct plan_options options = {.scenario_path = path, .device = "emu:GH100", .seed = "7"};
    struct error err = {0};
    struct worker w = {.job.options = {.seed = "7"}};
    if (!plan_make(&options, "emu", chip_find("GH100"), &w.job.plan, &err))
        fail_msg("%s", err.text);
    assert_int_equal(w.job.plan.case_count, 14);
    for (int k = 0; k < w.job.plan.case_count * DATA_SETS; k++) {
        int set = k % DATA_SETS, in_case = k / DATA_SETS;
        enum data_part full = (enum data_part)(DATA_PART_PRECISION | DATA_FULL), part = full;
        struct work bare = data_work(&w.job, in_case, &part, set), masked = w.job.plan.cases[in_case].work;
        struct op_data one, other;
        struct tensor list[OP_MAX_TENSORS];
        masked.set_seed = bare.set_seed;
        assert_int_equal(part, DATA_PART_PRECISION);
        assert_true(op_data_inputs(&bare, part, &one, &err) && op_data_inputs(&masked, full, &other, &err));
        for (int i = 0, count = bare.op->tensors(&bare, list); i < count; i++) {
            int slot = list[i].role->slot;
            assert_true(!one.at[slot].value == !other.at[slot].value);
            if (one.at[slot].value)
                assert_memory_equal(one.at[slot].value, other.at[slot].value, tensor_elements(&list[i]) * sizeof(float));
        }
        op_data_free(&one);
        op_data_free(&other);
    }
    plan_free(&w.job.plan);
    unlink(path);
    free(path);
}

static int references;
static size_t spare_bytes;
static bool references_alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    references += !strcmp(label, "layer of the reference");
    return of_emu->alloc(dev, label, bytes, address, err);
}
static size_t some_spare(struct device *dev)
{
    return spare_bytes;
}

/* Rows of two cases are verified alternately while compilers work: the data of each case are made once, if they fit into memory, and the
 * verdicts equal those of the cases one after the other. */
static void data_of_cases_in_turn_are_kept(void **state)
{
    struct planned p;
    planned_begin(&p,
                  "scenario: t\n"
                  "defaults: {op: conv2d, n: 1, c: 16, k: 16, kernel: 3, pad: 1, dtype: f16, layout: NHWC, epilogue: [bias, relu]}\n"
                  "layers: {a: {h: 12, w: 20}, b: {h: 9, w: 33}}\n"
                  "variants: [conv2d/naive, conv2d/mma_sync]\n",
                  NULL);
    struct error err = {0};
    int half = p.plan.row_count / 2;
    assert_true(half >= 2 && p.plan.rows[half - 1].case_index == 0 && p.plan.rows[half].case_index == 1);
    for (int round = 0; round < 3; round++) {
        struct worker *w = worker_with_card(&p);
        struct device_ops counting = *(of_emu = w->job.dev->ops);
        counting.alloc = references_alloc;
        counting.spare = some_spare;
        w->job.dev->ops = &counting;
        spare_bytes = round == 1 ? 1 << 30 : 0;
        references = 0;
        text_free(&said);
        for (int i = 0; i < half; i++) {
            tell_verify(w, i, round > 0);
            tell_verify(w, half + i, round > 0);
        }
        if (round == 1)
            assert_int_equal(references, 4); /* exact and full precision, of two cases */
        else
            assert_true(references > 4);
        assert_int_equal(w->data.early_count, round == 1 ? 2 : 0);
        assert_string_equal(text_get(&said), "skipped ; skipped ; ok exact + 0.85 tol (f16 rounding); ok exact + 0.82 tol (f16 rounding); "
                                             "ok exact + 0.85 tol (f16 rounding); ok exact + 0.82 tol (f16 rounding); ");
        struct op_data *timed; /* the first case is over */
        tell_verify(w, half + 1, false);
        assert_true(data_get(&w->data, half, DATA_PART_PRECISION, 1, &timed, &err));
        assert_int_equal(w->data.early_count, 0);
        w->job.dev->ops = of_emu;
        worker_inside.close(w);
    }
    text_free(&said);
    planned_end(&p);
}

/* Rows of no layer, and rows that there are none of, begin nothing. */
static void nothing_to_begin(void **state)
{
    struct worker *w = worker_inside.open(take, NULL);
    const int rows[] = {-1, 3};
    prefetch_begin(&w->prefetch, NULL, 0, 0);
    assert_null(w->prefetch.thread);
    prefetch_begin(&w->prefetch, rows, 2, 2);
    assert_null(w->prefetch.thread);
    prefetch_end(&w->prefetch);
    worker_inside.close(w);
}

int main(void)
{
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(judged_the_same), cmocka_unit_test(masks_share_what_is_full),
                                       cmocka_unit_test(full_is_the_layer_without_a_mask), cmocka_unit_test(data_of_cases_in_turn_are_kept),
                                       cmocka_unit_test(nothing_to_begin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
