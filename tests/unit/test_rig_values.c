/* measure/rig/rig on emu, without a kernel: the contents of filled buffers, what is saved of them, and what is reported of everything that
 * a row wrote. */
#include "verify_bench.h"
#include "base/file.h"
#include "base/npy.h"
#include "measure/rig/rig_private.h"
#include "op/chain/chain.h"
#include "op/reference/data.h"
#include "op/mask/tiles.h"
#include "run/child/devices.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct device *dev;

static struct rig *opened(const struct program *p, const struct op_data *data)
{
    struct error err = {0};
    struct rig *rig;
    if (!rig_open(dev, NULL, p, NULL, true, &rig, &err) || !rig_feed(rig, data, &err))
        fail_msg("%s", err.text);
    return rig;
}

static void *held(struct rig *rig, enum buffer_kind kind, int index, size_t bytes)
{
    struct error err = {0};
    void *storage = xmalloc(bytes);
    assert_true(dev->ops->read(dev, rig_address(rig, (struct buffer_ref){.kind = kind, .index = index}), storage, bytes, &err));
    return storage;
}

/* A kernel that runs two layers is given the filters of both, one behind the other; one that runs a layer, that layer's. */
static void weights_are_those_of_its_links(void **state)
{
    struct error err = {0};
    struct chain_link links[] = {{.work = conv_work(3, 4, 5, 7, 3), .name = "a", .input = CHAIN_INPUT, .residual = CHAIN_NONE},
                                 {.work = conv_work(4, 6, 5, 7, 3), .name = "b", .input = 0, .residual = CHAIN_NONE, .layer = 1}};
    const int64_t counts[] = {4 * 3 * 9, 6 * 4 * 9};
    finish(&links[0].work);
    finish(&links[1].work);
    struct chain chain = {links, 2};
    struct work w;
    if (!chain_work(&chain, &w, &err))
        fail_msg("%s", err.text);
    struct program p = program_of(&w);
    int both = program_tensor(&p, "filter"), kept = 0;
    struct scratch scratch[] = {{"all filters", DTYPE_F16, counts[0] + counts[1], SCRATCH_PREPARED},
                                {"filter of b", DTYPE_F16, counts[1], SCRATCH_PREPARED}};
    struct constant constants[] = {{.scratch = 0, .span = 2, .tensor = p.tensors[both]}, {.scratch = 1, .link = 1, .span = 1}};
    assert_true(both >= 0 && work_tensor(&links[1].work, "filter", &constants[1].tensor));
    constants[1].tensor.layout = LAYOUT_LINEAR;
    for (int i = 0; i < p.tensor_count; i++)
        if (!strcmp(p.tensors[i].role->name, "input") || p.tensors[i].role->result)
            p.tensors[kept++] = p.tensors[i];
    p.tensor_count = kept;
    p.scratch = scratch, p.scratch_count = 2, p.constants = constants, p.constant_count = 2;
    struct op_data data;
    make_data(&w, DATA_PART_PRECISION, &data);
    struct rig *rig = opened(&p, &data);
    uint16_t *all = held(rig, BUFFER_SCRATCH, 0, (size_t)(counts[0] + counts[1]) * 2),
             *own = held(rig, BUFFER_SCRATCH, 1, (size_t)counts[1] * 2);
    for (int link = 0, at = 0; link < 2; link++)
        for (int64_t i = 0; i < counts[link]; i++, at++) {
            double want = (double)data.links[link].at[SLOT_FILTER].value[i];
            assert_true(dtype_get(DTYPE_F16, all, at) == want && (!link || dtype_get(DTYPE_F16, own, i) == want));
        }
    free(all);
    free(own);
    rig_close(rig);
    p.scratch = NULL, p.constants = NULL, p.scratch_count = p.constant_count = 0;
    program_free(&p);
    op_data_free(&data);
}

/* Every tensor but masks has a file of its own, whose values are in logical order whatever the layout. */
static void tensors_are_saved(void **state)
{
    struct error err = {0};
    char folder[] = "/tmp/test_rig_values.XXXXXX", name[96];
    struct work w = small(DTYPE_F16, LAYOUT_NHWC);
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.5, .seed = 1};
    struct bench *b = start(w, DATA_PART_EXACT);
    struct rig *rig = opened(&b->p, &b->d);
    int output = program_tensor(&b->p, "output");
    assert_non_null(mkdtemp(folder));
    assert_true(dev->ops->write(dev, rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = output}), b->storage,
                                tensor_bytes(&b->o), &err));
    if (!rig_save(rig, folder, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < b->p.tensor_count; i++) {
        const struct tensor *t = &b->p.tensors[i];
        struct npy saved;
        snprintf(name, sizeof name, "%s/%s.npy", folder, t->role->name);
        if (t->layout == LAYOUT_BITS) {
            assert_int_not_equal(access(name, F_OK), 0);
            continue;
        }
        if (!npy_read_shape(name, t->dim, t->rank, &saved, &err))
            fail_msg("%s", err.text);
        for (size_t k = 0; k < saved.count; k++)
            assert_true(saved.value[k] == (t->written ? b->d.at[SLOT_OUTPUT].reference[k] : (double)b->d.at[t->role->slot].value[k]));
        npy_free(&saved);
        assert_false(unlink(name));
    }
    assert_false(rmdir(folder));
    assert_false(rig_save(rig, "/dev/null/no_folder", &err));
    rig_close(rig);
    stop(b);
}

/* Of a mask that a row wrote into it is said which word is another: 32 pixels. */
static void a_mask_is_an_input(void **state)
{
    struct error err = {0};
    struct verdict v;
    struct text unsafe = {0};
    struct work w = small(DTYPE_F16, LAYOUT_NHWC);
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.5, .seed = 1};
    struct bench *b = start(w, DATA_PART_EXACT);
    struct rig *rig = opened(&b->p, &b->d);
    uint64_t mask = rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&b->p, "mask_in")});
    assert_true(dev->ops->write(dev, mask + 4 * 9 + 3, &(char){0x55}, 1, &err));
    if (!rig_check(rig, &b->d, &v, &unsafe, NULL, &err))
        fail_msg("%s", err.text);
    assert_string_equal(text_get(&unsafe), "changed its input: mask_in, first at element 9 of its storage");
    text_free(&unsafe);
    rig_close(rig);
    stop(b);
}

/* A row that leaves more alone than it must, in both tensors that it writes: both are said, and of one wrong tensor no more than of two. */
static void both_outputs_are_spoken_of(void **state)
{
    const char *tiles = "inactive outputs are skipped by tiles of 4x4, not one by one",
               *padding = "bytes of mask_out after the last column are not written";
    char *two = text_format("%s; %s", tiles, padding);
    struct work w = small(DTYPE_F16, LAYOUT_NHWC);
    w.mask = (struct mask){.pattern = MASK_BLOBS, .density = 0.05, .radius = 4, .seed = 3};
    struct bench *b = start(w, DATA_PART_EXACT);
    int output = program_tensor(&b->p, "output"), mask = program_tensor(&b->p, "mask_out");
    const struct tensor *m = &b->p.tensors[mask];
    b->p.uses_mask = b->p.finds_tile = b->p.finds_padding = true;
    unsigned char *marks = xcalloc(2 * 24 * 40, 1);
    uint32_t *bits = xmalloc(tensor_bytes(m));
    struct rig *rig = opened(&b->p, &b->d);
    for (int left = 0; left < 4; left++) { /* tiles; bytes of padding */
        const struct tile tile = {left & 1 ? 4 : 1, left & 1 ? 4 : 1, 1, 0};
        struct error err = {0};
        struct text unsafe = {0};
        struct verdict v;
        memset(marks, 0, 2 * 24 * 40);
        tiles_mark(&b->w, b->d.mask_out, &tile, marks);
        for (int64_t i = 0; i < 2 * 24 * 40; i++)
            for (int64_t c = 0; c < 16 && !marks[i]; c++)
                poison(b, i / 960, c, i / 40 % 24, i % 40);
        for (int64_t i = 0; i < 2 * 24 * 40; i++)
            for (int64_t c = 0; c < 16 && marks[i]; c++)
                put(b, i / 960, c, i / 40 % 24, i % 40,
                    b->d.at[SLOT_OUTPUT].reference[((i / 960 * 16 + c) * 24 + i / 40 % 24) * 40 + i % 40]);
        tensor_pack(m, b->d.mask_out, bits);
        for (size_t i = 1; left & 2 && i < tensor_bytes(m) / 4; i += 2) /* 40 columns: of the second word one byte counts */
            bits[i] = (bits[i] & 0xff) | (VERIFY_POISON & 0xffffff00);
        for (int wrong = 0; wrong < 2; wrong++) {
            bits[0] ^= wrong ? 1 : 0;
            assert_true(dev->ops->write(dev, rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = output}), b->storage,
                                        tensor_bytes(&b->o), &err));
            assert_true(dev->ops->write(dev, rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = mask}), bits,
                                        tensor_bytes(m), &err));
            if (!rig_check(rig, &b->d, &v, &unsafe, NULL, &err))
                fail_msg("%s", err.text);
            assert_true(v.ok != wrong && !unsafe.len);
            assert_string_equal(v.note, left == 3 ? two : left == 2 ? padding : left ? tiles : "");
            assert_true(wrong ? strstr(v.text, "mask_out(0,0,0) = ") == v.text : !strcmp(v.text, "exact"));
        }
    }
    rig_close(rig);
    free(marks);
    free(bits);
    free(two);
    stop(b);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Two launches leave the same bits when their outputs' sums agree: whichever byte is another, the sum is, and is none of the others'. */
static void each_byte_is_in_the_sum(void **state)
{
    enum { BYTES = 2 * 3 * 5 * 5 }; /* a word of 8 does not divide it */
    struct error err = {0};
    struct work w = conv_work(2, 3, 5, 5, 3);
    w.dtype = DTYPE_F16;
    finish(&w);
    struct bench *b = start(w, DATA_PART_EXACT);
    struct rig *rig = opened(&b->p, &b->d);
    uint64_t output = rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&b->p, "output")}),
             sums[BYTES + 1];
    unsigned char *storage = (unsigned char *)b->storage;
    assert_true(tensor_bytes(&b->o) == BYTES && BYTES % 8);
    for (int i = 0; i <= BYTES; i++) {
        struct text unsafe = {0};
        struct verdict v;
        storage[i % BYTES] ^= i < BYTES ? 1 : 0;
        if (!dev->ops->write(dev, output, storage, BYTES, &err) || !rig_check(rig, &b->d, &v, &unsafe, NULL, &err))
            fail_msg("%s", err.text);
        storage[i % BYTES] ^= i < BYTES ? 1 : 0;
        sums[i] = rig_output_sum(rig);
    }
    qsort(sums, BYTES + 1, sizeof *sums, by_value);
    for (int i = 0; i < BYTES; i++)
        assert_true(sums[i] != sums[i + 1]);
    rig_close(rig);
    stop(b);
}

static int set_up(void **state)
{
    struct error err = {0};
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    return !device_open("emu", &dev, &err);
}
static int tear_down(void **state)
{
    device_close(dev);
    return 0;
}

/* What a call needs for itself is allocated for it: outputs and scratch memory, neither inputs nor weights. */
static void time_of_allocation(void **state)
{
    struct work w = conv_work(3, 4, 5, 7, 3);
    struct error err = {0};
    struct rig *rig;
    double want = 0;
    finish(&w);
    struct program p = program_of(&w);
    p.scratch = calloc(2, sizeof *p.scratch);
    p.constants = calloc(1, sizeof *p.constants);
    p.scratch[0] = (struct scratch){"filter of a", DTYPE_F16, 4 * 27, SCRATCH_PREPARED};
    p.scratch[1] = (struct scratch){"tiles", DTYPE_I32, 16, SCRATCH_WORK};
    p.constants[0] = (struct constant){.scratch = 0, .span = 1};
    p.scratch_count = 2, p.constant_count = 1;
    if (!rig_open(dev, NULL, &p, NULL, true, &rig, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < p.tensor_count; i++) {
        assert_true(rig->tensors[i].alloc_ns >= 0);
        rig->tensors[i].alloc_ns = 1 << i;
        want += p.tensors[i].written ? 1 << i : 0;
    }
    rig->scratch[0].alloc_ns = 1 << 20;
    rig->scratch[1].alloc_ns = 1 << 21;
    rig->workspaces[0].alloc_ns = 1 << 22;
    assert_true(want > 0 && rig_alloc_ns(rig) == want + (1 << 21) + (1 << 22));
    rig_close(rig);
    program_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_those_of_its_links), cmocka_unit_test(tensors_are_saved),       cmocka_unit_test(a_mask_is_an_input),
        cmocka_unit_test(both_outputs_are_spoken_of),     cmocka_unit_test(each_byte_is_in_the_sum), cmocka_unit_test(time_of_allocation)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
