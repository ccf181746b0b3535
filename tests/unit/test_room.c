/* measure/rig/buffer_pool on a device that does not check accesses, as a GPU is; what sums up its buffers runs on emu. */
#include "card_world.h"
#include "works.h"
#include "measure/rig/rig_private.h"
#include "measure/rig/buffer_pool.h"
#include "op/shape.h"
#include "op/reference/data.h"

/* What a launch wrote around a buffer, to the end of its page, is this launch's, and not that of the next row on the same buffers. */
static void who_wrote_is_told(void **state)
{
    static const struct {
        int64_t at; /* of the output's place; where it is negative, in front of the input */
        enum rig_left left;
        const char *said;
    } harms[] = {{RIG_PAGE_BYTES - 1, RIG_OTHER_OUTPUT, "wrote past the end of output, first 2091471 bytes after it; "},
                 {-1, RIG_OTHER_INPUT, "wrote before the start of input, 1 bytes before it; "}};
    need_card();
    struct error err = {0};
    struct rig *rigs[2];
    struct tensor list[OP_MAX_TENSORS];
    struct op_data data;
    struct work w = conv_work(3, 8, 9, 11, 3);
    finish(&w);
    const struct device_ops *own = dev->ops;
    struct device_ops plain = *own;
    plain.forget = NULL; /* then buffers have guard zones */
    dev->ops = &plain;
    struct program p = {.work = w, .algorithm = "direct", .checked = true, .tensors = list};
    p.tensor_count = w.op->tensors(&w, list);
    struct buffer_pool *room = buffer_pool_open(dev, card, 1, 1);
    bool ok = card_data_inputs(card, &w, DATA_PART_PRECISION, &data, &err);
    for (int i = 0; i < 2 && ok; i++)
        ok = rig_open_in(room, 0, dev, NULL, &p, NULL, false, &rigs[i], &err) && rig_feed(rigs[i], &data, &err) &&
             rig_checksum_accept(rigs[i], &err);
    if (!ok)
        fail_msg("%s", err.text);
    uint64_t output = rig_address(rigs[0], (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&p, "output")}),
             input = rig_address(rigs[0], (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&p, "input")});
    assert_int_equal(rig_address(rigs[1], (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&p, "output")}), output);
    for (int i = 0; i < 4; i++) {
        uint64_t at = (harms[i / 2].at < 0 ? input : output - RIG_GUARD_BYTES) + (uint64_t)harms[i / 2].at;
        struct rig *rig = rigs[i & 1];
        struct text said = {0};
        enum rig_left left;
        if ((!(i & 1) && !dev->ops->write(dev, at, "x", 1, &err)) || !rig_checksum(rig, &err) || !rig_checksum_matches(rig, &left, &err) ||
            !rig_check_guards(rig, &said, &err))
            fail_msg("%s", err.text);
        assert_int_equal(left, i & 1 ? RIG_AS_ACCEPTED : harms[i / 2].left);
        assert_string_equal(text_get(&said), i & 1 ? "" : harms[i / 2].said);
        text_free(&said);
    }
    for (int i = 0; i < 2; i++)
        rig_close(rigs[i]);
    buffer_pool_close(room, false);
    card_data_free(data.card);
    op_data_free(&data);
    dev->ops = own;
}

/* A launch that left the output of other inputs replays it; one that left anything else, or what those inputs give as well, does not. */
static void replays_are_of_other_inputs(void **state)
{
    static const struct {
        const char *writes;
        int of, sits;
    } tries[] = {{"b", 1, 0}, {"c", -1, 0}, {"a", -1, 0}, {"d", 2, 0}, {"a", 0, 1}, {"d", 2, 1}};
    need_card();
    struct error err = {0};
    struct rig *rig;
    struct tensor list[OP_MAX_TENSORS];
    struct op_data data;
    struct work w = conv_work(3, 8, 9, 11, 3);
    finish(&w);
    struct program p = {.work = w, .algorithm = "direct", .checked = true, .tensors = list};
    p.tensor_count = w.op->tensors(&w, list);
    const struct buffer_ref output = {.kind = BUFFER_TENSOR, .index = program_tensor(&p, "output")};
    struct buffer_pool *room = buffer_pool_open(dev, card, 3, 1);
    bool ok = card_data_inputs(card, &w, DATA_PART_PRECISION, &data, &err) && rig_open_in(room, 0, dev, NULL, &p, NULL, false, &rig, &err);
    for (int set = 0; set < 3 && ok; set++) {
        rig_select(rig, set, 0);
        ok = rig_feed(rig, &data, &err) && dev->ops->write(dev, rig_address(rig, output), "a\0b\0d" + 2 * set, 1, &err) &&
             rig_checksum_accept(rig, &err);
    }
    if (!ok)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        enum rig_left left;
        rig_select(rig, tries[i].sits, 0);
        if (!dev->ops->write(dev, rig_address(rig, output), tries[i].writes, 1, &err) || !rig_checksum(rig, &err) ||
            !rig_checksum_matches(rig, &left, &err))
            fail_msg("%s", err.text);
        assert_true((left == RIG_AS_ACCEPTED) == (tries[i].of < 0 && tries[i].writes[0] == 'a'));
        assert_int_equal(rig_checksum_matches_set(rig), tries[i].of);
    }
    rig_close(rig);
    buffer_pool_close(room, false);
    card_data_free(data.card);
    op_data_free(&data);
}

/* Scratch: what was prepared is looked at whole, of what a launch may fill only what lies around it; each buffer of them. */
static void scratch_is_looked_at_by_its_kind(void **state)
{
    static const struct {
        int scratch, at;
        enum rig_left left;
    } harms[] = {{0, 0, RIG_OTHER_PREPARED}, {1, 0, RIG_AS_ACCEPTED},      {2, 0, RIG_AS_ACCEPTED},
                 {1, 128, RIG_OTHER_OUTPUT}, {0, 128, RIG_OTHER_PREPARED}, {2, 128, RIG_OTHER_OUTPUT}};
    need_card();
    struct error err = {0};
    struct rig *rig;
    struct tensor list[OP_MAX_TENSORS];
    struct op_data data;
    struct scratch scratch[] = {
        {"seen", DTYPE_F32, 32, SCRATCH_PREPARED}, {"work", DTYPE_F32, 32, SCRATCH_WORK}, {"state", DTYPE_F32, 32, SCRATCH_STATE}};
    struct work w = conv_work(3, 8, 9, 11, 3);
    finish(&w);
    const struct device_ops *own = dev->ops;
    struct device_ops plain = *own;
    plain.forget = NULL; /* then buffers have guard zones */
    dev->ops = &plain;
    struct program p = {.work = w, .algorithm = "direct", .checked = true, .tensors = list, .scratch = scratch, .scratch_count = 3};
    p.tensor_count = w.op->tensors(&w, list);
    struct buffer_pool *room = buffer_pool_open(dev, card, 1, 1);
    if (!card_data_inputs(card, &w, DATA_PART_PRECISION, &data, &err) || !rig_open_in(room, 0, dev, NULL, &p, NULL, false, &rig, &err) ||
        !rig_feed(rig, &data, &err) || !rig_checksum_accept(rig, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        uint64_t at = rig_address(rig, (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = harms[i].scratch}) + (uint64_t)harms[i].at;
        unsigned char before, after;
        enum rig_left left;
        if (!dev->ops->read(dev, at, &before, 1, &err))
            fail_msg("%s", err.text);
        after = (unsigned char)~before;
        if (!dev->ops->write(dev, at, &after, 1, &err) || !rig_checksum(rig, &err) || !rig_checksum_matches(rig, &left, &err) ||
            !dev->ops->write(dev, at, &before, 1, &err))
            fail_msg("%s", err.text);
        if (left != harms[i].left)
            fail_msg("scratch %d at %d: %d", harms[i].scratch, harms[i].at, left);
    }
    rig_close(rig);
    buffer_pool_close(room, false);
    card_data_free(data.card);
    op_data_free(&data);
    dev->ops = own;
}

/* What is written is bytes, whatever their order: rows of two layouts share it, and no input. */
static void rows_of_other_layouts(void **state)
{
    need_card();
    struct error err = {0};
    struct rig *rigs[2];
    struct tensor lists[2][OP_MAX_TENSORS];
    struct program p[2];
    struct buffer_pool *room = buffer_pool_open(dev, NULL, 1, 1);
    uint64_t input[2], output[2];
    for (int i = 0; i < 2; i++) {
        struct work w = conv_work(3, 8, 9, 11, 3);
        w.layout = i ? LAYOUT_NHWC : LAYOUT_NCHW;
        finish(&w);
        p[i] = (struct program){.work = w, .algorithm = "direct", .checked = true, .tensors = lists[i]};
        p[i].tensor_count = w.op->tensors(&w, lists[i]);
        if (!rig_open_in(room, 0, dev, NULL, &p[i], NULL, false, &rigs[i], &err))
            fail_msg("%s", err.text);
        input[i] = rig_address(rigs[i], (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&p[i], "input")});
        output[i] = rig_address(rigs[i], (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&p[i], "output")});
    }
    assert_true(output[0] == output[1] && input[0] != input[1]);
    for (int i = 0; i < 2; i++)
        rig_close(rigs[i]);
    buffer_pool_close(room, false);
}

/* The device, lost at one of the calls that a rig makes; 0: at none. */
static const struct device_ops *sound;
static int called, lost_at;
static bool there(struct error *err)
{
    return ++called != lost_at || error_set(err, ERROR_WRONG, "the device is lost");
}
static bool lost_alloc(struct device *d, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    return there(err) && sound->alloc(d, label, bytes, address, err);
}
static bool lost_read(struct device *d, uint64_t address, void *to, size_t bytes, struct error *err)
{
    return there(err) && sound->read(d, address, to, bytes, err);
}
static bool lost_write(struct device *d, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    return there(err) && sound->write(d, address, from, bytes, err);
}
static bool lost_fill(struct device *d, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    return there(err) && sound->fill(d, address, pattern, bytes, err);
}
static bool lost_launch(struct device *d, struct device_function *f, const struct device_launch *l, struct error *err)
{
    return there(err) && sound->launch(d, f, l, err);
}
static bool lost_sync(struct device *d, struct error *err)
{
    return there(err) && sound->sync(d, err);
}

/* The device fails during a comparison on it: no row is right and no row's inputs are unchanged, because half of the comparison found
 * nothing. Here nothing was written, and one input was changed. */
static void a_lost_device_is_noticed(void **state)
{
    need_card();
    struct error err = {0};
    struct tensor list[OP_MAX_TENSORS];
    struct op_data data;
    struct work w = conv_work(3, 8, 9, 11, 3);
    finish(&w);
    struct program p = {.work = w, .algorithm = "direct", .checked = true, .tensors = list};
    p.tensor_count = w.op->tensors(&w, list);
    const struct buffer_ref input = {.kind = BUFFER_TENSOR, .index = program_tensor(&p, "input")};
    struct device_ops losing = *(sound = dev->ops);
    losing.alloc = lost_alloc, losing.read = lost_read, losing.write = lost_write, losing.fill = lost_fill;
    losing.launch = lost_launch, losing.sync = lost_sync;
    int all = lost_at = 0;
    for (; lost_at <= all; lost_at++) {
        struct rig *rig = NULL;
        struct verdict v;
        struct text unsafe = {0};
        if (!card_data_make(card, &w, DATA_PART_PRECISION, &data, &err)) /* anew: what was fetched of it stays */
            fail_msg("%s", err.text);
        called = 0;
        dev->ops = &losing;
        bool ok = rig_open(dev, NULL, &p, NULL, true, &rig, &err) && rig_feed(rig, &data, &err) &&
                  dev->ops->write(dev, rig_address(rig, input) + 10, "another", 8, &err) && rig_check(rig, &data, &v, &unsafe, NULL, &err);
        all = lost_at ? all : called;
        if (ok != !lost_at)
            fail_msg("lost at call %d of %d and not noticed", lost_at, all);
        assert_true(lost_at || (!v.ok && !strcmp(text_get(&unsafe), "changed its input: input, first at element 5 of its storage")));
        text_free(&unsafe);
        if (rig)
            rig_close(rig);
        dev->ops = sound;
        card_data_free(data.card);
        op_data_free(&data);
    }
    assert_true(all > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_other_layouts), cmocka_unit_test(who_wrote_is_told),
                                       cmocka_unit_test(replays_are_of_other_inputs), cmocka_unit_test(scratch_is_looked_at_by_its_kind),
                                       cmocka_unit_test(a_lost_device_is_noticed)};
    return cmocka_run_group_tests(tests, card_set_up, card_tear_down);
}
