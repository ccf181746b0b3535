/* measure/verify/device_check: what the CPU prepares early of a case's data gives the same result on the device as what it prepares in
 * time. Also masks of bits, which are compared in place. */
#include "card_world.h"
#include "base/text.h"
#include "measure/rig/rig_private.h"
#include "works.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/file/ops.h"
#include <pthread.h>

static struct work layer(void)
{
    struct error err = {0};
    struct work w = conv_work(8, 8, 40, 24, 3);
    w.seed = 7;
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.2, .seed = 3};
    assert_true(work_finish(&w, &err));
    return w;
}

struct making {
    struct work work;
    enum data_part part;
    struct op_data host;
    bool made;
};
static void *make(void *context)
{
    struct making *m = context;
    m->made = card_host_make(&m->work, m->part, &m->host);
    return NULL;
}

/* In threads of their own, several at once; finished as if it had been made here. */
static void made_in_other_threads(void **state)
{
    need_card();
    enum { COUNT = 4 };
    static const int parts[COUNT] = {DATA_PART_EXACT, DATA_PART_PRECISION, DATA_PART_PRECISION, DATA_PART_PRECISION | DATA_FULL};
    struct making m[COUNT];
    pthread_t threads[COUNT];
    struct error err = {0};
    for (int i = 0; i < COUNT; i++) {
        m[i] = (struct making){.work = layer(), .part = (enum data_part)parts[i]};
        m[i].work.set_seed = i == 2 ? 99 : 0;
        assert_int_equal(pthread_create(&threads[i], NULL, make, &m[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        struct op_data here;
        pthread_join(threads[i], NULL);
        assert_true(m[i].made && m[i].host.sampled && !m[i].host.card);
        if (!card_data_finish(card, &m[i].work, m[i].part, &m[i].host, &err) || !card_data_make(card, &m[i].work, m[i].part, &here, &err))
            fail_msg("%s", err.text);
        assert_true(m[i].host.card && !here.sampled);
        assert_memory_equal(m[i].host.mask_out, here.mask_out, (size_t)(layer().p * layer().q) * sizeof(float));
        assert_true(card_fetch(m[i].host.card, &err) && card_fetch(here.card, &err));
        size_t bytes = here.at[SLOT_OUTPUT].elements * sizeof(double);
        assert_memory_equal(m[i].host.at[SLOT_OUTPUT].reference, here.at[SLOT_OUTPUT].reference, bytes);
        card_data_free(m[i].host.card);
        card_data_free(here.card);
        op_data_free(&m[i].host);
        op_data_free(&here);
    }
}

/* What was made of another work, by mistake, is found out. */
static void of_another_work(void **state)
{
    need_card();
    struct work w = layer(), other = w, set = w;
    const struct work *const wrong[] = {&other, &set};
    other.seed++;
    set.set_seed = 5;
    for (int i = 0; i < 2; i++) {
        struct op_data host;
        struct error err = {0};
        assert_true(card_host_make(wrong[i], DATA_PART_PRECISION, &host));
        assert_false(card_data_finish(card, &w, DATA_PART_PRECISION, &host, &err));
        assert_non_null(strstr(err.text, "the device"));
    }
}

/* A network, and what only the CPU has a reference of, have no such part. */
static void nothing_of_the_kind(void **state)
{
    struct work sorted = {.op = op_find("softmax"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = 1};
    struct op_data host;
    assert_non_null(sorted.op);
    assert_false(card_host_make(&sorted, DATA_PART_PRECISION, &host));
}

/* One bit of the first, a middle and the last column and row, one behind the last column, which must be 0, and two of the second image. */
static void one_bit_is_seen(void **state)
{
    need_card();
    struct error err = {0};
    struct work w = layer();
    w.n = 2;
    assert_true(work_finish(&w, &err));
    struct op_data host;
    struct tensor t;
    struct verdict v;
    bool right;
    uint64_t address;
    assert_true(card_data_make(card, &w, DATA_PART_PRECISION, &host, &err) && work_tensor(&w, "mask_out", &t));
    t.layout = LAYOUT_BITS;
    t.dtype = DTYPE_U32;
    size_t bytes = tensor_bytes(&t);
    uint32_t *words = xcalloc(bytes, 1);
    struct program p = {.work = w, .checked = true, .uses_mask = true, .tensors = &t, .tensor_count = 1};
    tensor_pack(&t, host.mask_out, words);
    assert_true(dev->ops->alloc(dev, "bits", bytes, &address, &err));
    const int64_t at[][2] = {{0, 0}, {17, 11}, {w.p - 1, w.q - 1}, {3, w.q}, {w.p - 1, 31}, {w.p, 0}, {2 * w.p - 1, 5}};
    for (size_t i = 0; i <= sizeof at / sizeof *at; i++) {
        bool spoilt = i > 0;
        uint32_t *word = spoilt ? &words[at[i - 1][0] * ((w.q + 31) / 32) + at[i - 1][1] / 32] : words;
        *word ^= spoilt ? 1u << at[i - 1][1] % 32 : 0;
        assert_true(dev->ops->write(dev, address, words, bytes, &err) && card_verify(host.card, &p, 0, address, &right, &v, &err));
        assert_int_equal(right, !spoilt);
        assert_true(spoilt || (v.ok && v.elements == 2 * w.p * w.q && !v.wrong));
        *word ^= spoilt ? 1u << at[i - 1][1] % 32 : 0;
    }
    dev->ops->release(dev, address);
    free(words);
    card_data_free(host.card);
    op_data_free(&host);
}

/* Rows of a sample are rows of the work, however few an image has: a fully connected layer as a convolution has one. */
static void rows_that_there_are(void **state)
{
    for (int64_t n = 1; n <= 40; n += 3)
        for (int64_t p = 1; p <= 12; p++) {
            struct error err = {0};
            struct card_sample s;
            struct work w = conv_work(3, 4096, p, 1, 1);
            w.n = n;
            w.seed = (uint64_t)(n * p);
            assert_true(work_finish(&w, &err));
            card_sample_draw(&w, NULL, &s);
            assert_true(s.count > 0 && s.count <= CARD_SAMPLE_MOST);
            for (int i = 0; i < s.count; i++)
                if (s.rows[i] < 0 || s.rows[i] >= n * p)
                    fail_msg("row %lld of %lld images of %lld", (long long)s.rows[i], (long long)n, (long long)p);
            card_sample_free(&s);
        }
}

/* The numbers of channels, rows and columns of an output are multiples of nothing. The whole output is right; a change of any one element
 * is found.
 */
static void each_element_is_seen(void **state)
{
    need_card();
    for (int i = 0; i < 8; i++) {
        struct error err = {0};
        struct op_data host;
        struct tensor list[OP_MAX_TENSORS];
        bool half = i > 5; /* whose channels are looked at by words of four */
        struct work w = conv_work(3, half ? 8 : i < 2 ? 6 : 5, 2, i < 4 || half ? 35 : 7, 3);
        w.dtype = half ? DTYPE_F16 : DTYPE_F32, w.math = math_default(w.dtype), w.layout = i % 2 ? LAYOUT_NCHW : LAYOUT_NHWC;
        w.mask = (struct mask){.pattern = i < 2 || half ? MASK_NONE : MASK_IID, .density = 0.05, .seed = 3};
        if (!work_finish(&w, &err) || !card_data_make(card, &w, DATA_PART_PRECISION, &host, &err) || !card_fetch(host.card, &err))
            fail_msg("%s", err.text);
        struct program p = {
            .work = w, .algorithm = "direct", .checked = true, .uses_mask = i >= 2, .inactive = INACTIVE_UNTOUCHED, .tensors = list};
        p.tensor_count = w.op->tensors(&w, list);
        int output = program_tensor(&p, "output");
        const struct tensor *t = &list[output];
        size_t count = tensor_elements(t), bytes = dtype_bytes(w.dtype);
        unsigned char *values = xcalloc(count, bytes), changed[4];
        for (size_t e = 0; e < count; e++) {
            bool active = !host.mask_out || host.mask_out[e % (size_t)(w.p * w.q)] != 0;
            dtype_set(w.dtype, values, tensor_index(t, e), host.at[SLOT_OUTPUT].reference[e]);
            if (!active)
                memcpy(values + tensor_index(t, e) * bytes, (const uint32_t[]){VERIFY_POISON}, bytes);
        }
        struct verdict v;
        uint64_t at;
        bool right;
        dtype_set(w.dtype, changed, 0, 6e4);
        assert_true(dev->ops->alloc(dev, "output", count * bytes, &at, &err) && dev->ops->write(dev, at, values, count * bytes, &err));
        assert_true(card_verify(host.card, &p, output, at, &right, &v, &err) && right && v.elements == (int64_t)count);
        for (size_t e = 0; e < count; e++) {
            assert_true(dev->ops->write(dev, at + e * bytes, changed, bytes, &err));
            assert_true(card_verify(host.card, &p, output, at, &right, &v, &err) && !right);
            assert_int_equal(v.wrong, 1);
            assert_true(dev->ops->write(dev, at + e * bytes, values + e * bytes, bytes, &err));
        }
        dev->ops->release(dev, at);
        card_data_free(host.card);
        op_data_free(&host);
        free(values);
    }
}

static const struct device_ops *of_emu;
static int reads;
static bool counted_read(struct device *d, uint64_t address, void *to, size_t bytes, struct error *err)
{
    reads++;
    return of_emu->read(d, address, to, bytes, err);
}

static void harm_is(struct rig *rig, const char *want)
{
    struct error err = {0};
    struct text unsafe = {0};
    if (!rig_check_memory(rig, &unsafe, &err))
        fail_msg("%s", err.text);
    assert_string_equal(text_get(&unsafe), want);
    text_free(&unsafe);
}

/* The device filled a rig. One wait suffices to check all guard zones and inputs, except the bytes that share a word with the end of an odd
 * buffer. Each changed byte of a guard zone is reported as if everything had been read. */
static void what_lies_around_is_known(void **state)
{
    need_card();
    struct error err = {0};
    struct op_data host;
    struct tensor list[OP_MAX_TENSORS];
    struct work w = conv_work(3, 8, 3, 35, 3);
    struct rig *rig;
    add_item(&w, EPILOGUE_BIAS);
    if (!work_finish(&w, &err) || !card_data_make(card, &w, DATA_PART_PRECISION, &host, &err))
        fail_msg("%s", err.text);
    struct program p = {.work = w, .algorithm = "direct", .checked = true, .tensors = list};
    p.tensor_count = w.op->tensors(&w, list);
    struct device_ops plain = *(of_emu = dev->ops);
    plain.forget = NULL; /* then buffers have guard zones */
    plain.read = counted_read;
    dev->ops = &plain;
    if (!rig_open(dev, NULL, &p, NULL, true, &rig, &err) || !rig_feed(rig, &host, &err))
        fail_msg("%s", err.text);
    int odd = 0;
    for (int i = 0; i < p.tensor_count; i++)
        odd += tensor_bytes(&list[i]) / 4 * 4 < (tensor_bytes(&list[i]) + 7) / 8 * 8 && tensor_bytes(&list[i]) % 8;
    assert_true(odd > 0 && odd < p.tensor_count);
    reads = 0;
    harm_is(rig, "");
    assert_int_equal(reads, 1 + odd);
    for (int i = 0; i < p.tensor_count; i++) {
        const struct place *at = rig_tensor(rig, i);
        const int64_t behind = (int64_t)(at->base + at->whole - at->address - at->bytes),
                      places[] = {0, 1, 2, 3, 5, 6, 7, 8, 4095, behind - 1};
        for (size_t k = 0; k < sizeof places / sizeof *places; k++)
            for (int front = 0; front < (places[k] < 4096 ? 2 : 1); front++) {
                char *want = front
                                 ? text_format("wrote before the start of %s, %ld bytes before it", list[i].role->name, (long)places[k] + 1)
                                 : text_format("wrote past the end of %s, first %ld bytes after it", list[i].role->name, (long)places[k]);
                uint64_t to = front ? at->address - (uint64_t)places[k] - 1 : at->address + at->bytes + (uint64_t)places[k];
                assert_true(dev->ops->write(dev, to, "x", 1, &err));
                harm_is(rig, want);
                harm_is(rig, "");
                free(want);
            }
    }
    rig_close(rig);
    dev->ops = of_emu;
    card_data_free(host.card);
    op_data_free(&host);
}

/* Sums of equal words are known without a buffer; of others each bit counts, also past the last whole word, and each word's place. */
static void sums_see_each_bit(void **state)
{
    need_card();
    static const size_t words[] = {1, 1000, 1700000}; /* the last: several for each thread */
    const uint64_t word = UINT64_C(0x7fc07fc07fc07fc0);
    struct error err = {0};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t bytes = words[k] * sizeof word + 3;
        uint64_t address, sums[4], swapped[] = {1, word};
        unsigned char last = 1;
        assert_true(dev->ops->alloc(dev, "words", bytes, &address, &err) && dev->ops->fill(dev, address, (uint32_t)word, bytes, &err));
        assert_true(card_sum(card, address, words[k] * sizeof word, &sums[0], &err));
        assert_true(sums[0] == card_sum_of(word, words[k]));
        for (int i = 0; i < 2; i++) {
            size_t at = i ? bytes - 1 : words[k] / 2 * sizeof word;
            assert_true(card_sum(card, address, bytes, &sums[0], &err) && dev->ops->write(dev, address + at, &last, 1, &err) &&
                        card_sum(card, address, bytes, &sums[1], &err));
            assert_true(sums[0] != sums[1]);
        }
        for (int i = 0; i < 2 && k; i++) { /* two words, then the same in the other order */
            assert_true(dev->ops->write(dev, address, swapped, sizeof swapped, &err) && card_sum(card, address, bytes, &sums[2 + i], &err));
            swapped[0] = word, swapped[1] = 1;
        }
        assert_true(!k || sums[2] != sums[3]);
        dev->ops->release(dev, address);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(made_in_other_threads),     cmocka_unit_test(of_another_work),
                                       cmocka_unit_test(one_bit_is_seen),           cmocka_unit_test(nothing_of_the_kind),
                                       cmocka_unit_test(rows_that_there_are),       cmocka_unit_test(each_element_is_seen),
                                       cmocka_unit_test(what_lies_around_is_known), cmocka_unit_test(sums_see_each_bit)};
    return cmocka_run_group_tests(tests, card_set_up, card_tear_down);
}
