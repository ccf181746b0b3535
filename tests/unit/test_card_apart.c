/* measure/verify/device_check with references in memory of their own: a launch can access its arguments and no reference, and after it no
 * reference is accessible. The device fills inputs as the CPU does, with NaN where a program promises not to read. */
#include "works.h"
#include "base/text.h"
#include "measure/verify/device_check.h"
#include "measure/rig/buffer_pool.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "run/child/devices.h"
#include <stdint.h>
#include <stdio.h>

static struct device *dev;
static struct card *card;
static char why_not[300];
static const struct device_ops *emu;
static struct device_ops ops;

/* Buffers that are kept apart. */
static struct apart {
    uint64_t address;
    size_t bytes;
    bool within, was_reached;
} apart[64];
static int apart_count, launches;
static bool no_reach;

static bool alloc_guarded(struct device *d, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    assert_true(apart_count < 64);
    bool ok = emu->alloc(d, label, bytes, address, err);
    apart[apart_count++] = (struct apart){*address, bytes, true, false}; /* begins within reach */
    return ok;
}
static void release(struct device *d, uint64_t address)
{
    for (int i = 0; i < apart_count; i++)
        if (apart[i].address == address)
            apart[i--] = apart[--apart_count];
    emu->release(d, address);
}
static bool reach(struct device *d, uint64_t address, bool within, struct error *err)
{
    bool known = address == 0;
    if (no_reach && within)
        return error_set(err, ERROR_ENVIRONMENT, "nothing can be reached");
    for (int i = 0; i < apart_count; i++)
        if (!address || apart[i].address == address) {
            known = true;
            apart[i].within = within;
            apart[i].was_reached |= within;
        }
    assert_true(known);
    return true;
}
static bool launch(struct device *d, struct device_function *f, const struct device_launch *l, struct error *err)
{
    launches++;
    for (size_t at = 0; at + 8 <= l->param_bytes; at += 8) {
        uint64_t given;
        memcpy(&given, (const char *)l->params + at, 8);
        for (int i = 0; i < apart_count; i++)
            if (given >= apart[i].address && given < apart[i].address + apart[i].bytes && !apart[i].within)
                fail_msg("a launch is given a buffer that is out of reach");
    }
    return emu->launch(d, f, l, err);
}
static size_t moved; /* between host and device */
static bool counted_read(struct device *d, uint64_t address, void *to, size_t bytes, struct error *err)
{
    moved += bytes;
    return emu->read(d, address, to, bytes, err);
}
static bool counted_write(struct device *d, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    moved += bytes;
    return emu->write(d, address, from, bytes, err);
}
static bool nothing_within(void)
{
    for (int i = 0; i < apart_count; i++)
        if (apart[i].within)
            return false;
    return apart_count > 0;
}

static void need_card(void)
{
    if (!card) {
        print_message("%s\n", why_not);
        skip();
    }
}

/* A layer with its data, and its right output on the device and (storage) on the host. */
struct layer {
    struct work w;
    struct program p;
    struct op_data host, want;
    const struct tensor *output;
    int at; /* of the output, among the tensors */
    unsigned char *storage;
    uint64_t right;
};

static void layer_begin(struct layer *l, struct work w, enum dtype dtype, enum data_part part)
{
    struct error err = {0};
    *l = (struct layer){.w = w};
    l->w.dtype = dtype;
    finish(&l->w);
    l->p = program_of(&l->w);
    l->at = program_tensor(&l->p, "output");
    l->output = &l->p.tensors[l->at];
    if (!card_data_make(card, &l->w, part, &l->host, &err) || !op_data_make(&l->w, part, &l->want, &err))
        fail_msg("%s", err.text);
    l->storage = calloc(1, tensor_bytes(l->output));
    for (size_t i = 0; i < l->want.at[SLOT_OUTPUT].elements; i++)
        dtype_set(dtype, l->storage, tensor_index(l->output, i), l->want.at[SLOT_OUTPUT].reference[i]);
    assert_true(emu->alloc(dev, "output", tensor_bytes(l->output), &l->right, &err) &&
                emu->write(dev, l->right, l->storage, tensor_bytes(l->output), &err));
}

static void layer_end(struct layer *l)
{
    emu->release(dev, l->right);
    free(l->storage);
    op_data_free(&l->want);
    card_data_free(l->host.card);
    op_data_free(&l->host);
    program_free(&l->p);
}

/* Verifying reaches for the reference with its bounds, which is one thing to map; without it nothing is judged. */
static void references_are_out_of_reach(void **state)
{
    need_card();
    for (int part = DATA_PART_EXACT; part <= DATA_PART_PRECISION; part++) {
        struct error err = {0};
        struct layer l;
        struct verdict v;
        uint64_t sum;
        bool right;
        layer_begin(&l, conv_work(3, 8, 9, 11, 3), DTYPE_F32, (enum data_part)part);
        size_t each = sizeof(double) + (part == DATA_PART_EXACT ? 0 : sizeof(float)); /* exact data has no bounds */
        assert_true(nothing_within() && apart_count == 1 && apart[0].bytes == l.want.at[SLOT_OUTPUT].elements * each);
        for (int i = 0; i < apart_count; i++)
            apart[i].was_reached = false;
        assert_true(card_sum(card_data_card(l.host.card), l.right, tensor_bytes(l.output), &sum, &err));
        for (int i = 0; i < apart_count; i++)
            assert_false(apart[i].was_reached); /* a sum has nothing to do with it */
        assert_true(card_verify(l.host.card, &l.p, l.at, l.right, &right, &v, &err) && right && v.ok && nothing_within());
        for (int i = 0; i < apart_count; i++)
            assert_true(apart[i].was_reached);
        l.storage[41] ^= 0x40;
        assert_true(emu->write(dev, l.right, l.storage, tensor_bytes(l.output), &err));
        assert_true(card_verify(l.host.card, &l.p, l.at, l.right, &right, &v, &err) && !right && nothing_within());
        no_reach = true;
        assert_false(card_verify(l.host.card, &l.p, l.at, l.right, &right, &v, &err));
        assert_string_equal(err.text, "nothing can be reached");
        no_reach = false;
        layer_end(&l);
        assert_int_equal(apart_count, 0);
    }
}

/* For a right row, alone or timed, bench fills inputs and checks the output without a transfer of a tensor's size between host and device.
 * It fetches the output of a wrong row. */
static void nothing_of_its_size_crosses(void **state)
{
    need_card();
    struct error err = {0};
    struct layer l;
    layer_begin(&l, conv_work(8, 16, 24, 40, 3), DTYPE_F16, DATA_PART_PRECISION);
    size_t bytes = tensor_bytes(l.output);
    struct buffer_pool *room = buffer_pool_open(dev, card, 3, 2);
    for (int timed = 0; timed < 2; timed++)
        for (int wrong = 0; wrong < 2; wrong++) {
            struct rig *rig;
            struct verdict v;
            struct text unsafe = {0};
            enum rig_left left;
            assert_true(rig_open_in(timed ? room : NULL, 0, dev, NULL, &l.p, NULL, !timed, &rig, &err));
            uint64_t output = rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = l.at});
            moved = 0;
            assert_true(rig_feed(rig, &l.host, &err) && emu->copy(dev, output, l.right, bytes, &err));
            assert_true(!wrong || emu->write(dev, output + 41, &(unsigned char){l.storage[41] ^ 0x40}, 1, &err));
            assert_true(rig_check(rig, &l.host, &v, &unsafe, NULL, &err) && v.ok == !wrong && !unsafe.len);
            assert_true(!timed || (rig_checksum_accept(rig, &err) && rig_checksum(rig, &err) && rig_checksum_matches(rig, &left, &err) &&
                                   left == RIG_AS_ACCEPTED));
            assert_true(wrong ? moved > bytes : moved > 0 && moved < bytes / 60);
            text_free(&unsafe);
            rig_close(rig);
        }
    buffer_pool_close(room, false);
    layer_end(&l);
}

/* Bits that were right are compared again only on other data; whoever knows them can say so. */
static void known_bits_are_not_compared(void **state)
{
    need_card();
    struct error err = {0};
    struct layer l;
    uint64_t sum = 0;
    struct rig *rig;
    layer_begin(&l, conv_work(8, 16, 9, 11, 3), DTYPE_F16, DATA_PART_PRECISION);
    assert_true(rig_open(dev, NULL, &l.p, NULL, true, &rig, &err));
    uint64_t output = rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = l.at});
    for (int i = 0; i < 4; i++) { /* the first; the same bits; the same on data fed anew; and with the sum at hand */
        struct verdict v;
        struct text unsafe = {0};
        assert_true((i == 1 || rig_feed(rig, &l.host, &err)) && emu->copy(dev, output, l.right, tensor_bytes(l.output), &err));
        if (i == 3)
            rig_expect(rig, sum);
        assert_true(rig_check(rig, &l.host, &v, &unsafe, NULL, &err) && v.ok && (!i || rig_output_sum(rig) == sum));
        assert_true(i % 2 ? isnan(v.error_over_bound) : v.error_over_bound > 0);
        sum = rig_output_sum(rig);
        text_free(&unsafe);
    }
    rig_close(rig);
    layer_end(&l);
}

/* Every element as the CPU packs it; NaN at inactive inputs where they are to be hidden, of each image and channel. */
static void what_is_fed_is_the_cpus(void **state)
{
    need_card();
    for (int kind = 0; kind < 8; kind++) {
        struct error err = {0};
        struct op_data host = {0}, want;
        struct work w = conv_work(5, 8, 9, 11, 3);
        w.n = 2;
        w.dtype = kind & 1 ? DTYPE_F32 : DTYPE_F16;
        w.layout = kind & 2 ? LAYOUT_NCHW : LAYOUT_NHWC;
        w.mask = (struct mask){.pattern = MASK_IID, .density = 0.4, .seed = 7};
        finish(&w);
        struct program p = program_of(&w);
        const struct tensor *t = &p.tensors[program_tensor(&p, "input")];
        const struct tensor_role *marks = op_role(w.op, t->role->marked_by);
        size_t bytes = tensor_bytes(t), first;
        uint64_t address;
        bool hidden = kind & 4;
        if (!card_data_make(card, &w, DATA_PART_PRECISION, &host, &err))
            fail_msg("%s", err.text);
        assert_true(op_data_make(&w, DATA_PART_PRECISION, &want, &err) && emu->alloc(dev, "input", bytes, &address, &err));
        assert_true(card_feed(host.card, t, hidden ? marks->slot : -1, address, &err));
        unsigned char *there = xmalloc(bytes), *here = xmalloc(bytes);
        tensor_pack(t, want.at[t->role->slot].value, here);
        assert_true(emu->read(dev, address, there, bytes, &err));
        const float *mask = want.at[marks->slot].value;
        size_t plane = (size_t)(w.h * w.w), inactive = 0;
        for (size_t i = 0; i < tensor_elements(t); i++) {
            size_t at = tensor_index(t, i);
            bool off = mask[i / plane / (size_t)w.c * plane + i % plane] == 0;
            inactive += off;
            if (hidden && off)
                assert_true(isnan(dtype_get(t->dtype, there, at)));
            else
                assert_true(dtype_get(t->dtype, there, at) == dtype_get(t->dtype, here, at));
        }
        assert_true(inactive > tensor_elements(t) / 3);
        assert_true(card_first_change(host.card, t, hidden ? marks->slot : -1, address, bytes, &first, &err) && first == bytes);
        size_t changed = bytes / 2 + 1;
        there[changed] ^= 1;
        assert_true(emu->write(dev, address, there, bytes, &err));
        assert_true(card_first_change(host.card, t, hidden ? marks->slot : -1, address, bytes, &first, &err) && first == changed);
        emu->release(dev, address);
        free(there);
        free(here);
        op_data_free(&want);
        card_data_free(host.card);
        op_data_free(&host);
        program_free(&p);
    }
}

static int set_up(void **state)
{
    struct error err = {0};
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    if (!device_open("emu:GH100", &dev, &err) || !card_open(dev, NULL, &card, &err)) {
        snprintf(why_not, sizeof why_not, "skipped: %.280s", err.text);
        return dev == NULL || err.kind != ERROR_ENVIRONMENT;
    }
    emu = dev->ops;
    ops = *emu;
    ops.alloc_guarded = alloc_guarded;
    ops.release = release;
    ops.reach = reach;
    ops.launch = launch;
    ops.read = counted_read;
    ops.write = counted_write;
    dev->ops = &ops;
    return 0;
}

static int tear_down(void **state)
{
    if (emu)
        dev->ops = emu;
    card_close(card);
    device_close(dev);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(references_are_out_of_reach), cmocka_unit_test(nothing_of_its_size_crosses),
                                       cmocka_unit_test(known_bits_are_not_compared), cmocka_unit_test(what_is_fed_is_the_cpus)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
