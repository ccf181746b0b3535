/* Tensors beyond 2^31 elements, without their memory: every index and size is computed with 64 bits. */
#include "works.h"
#include "measure/verify/verify_private.h"
#include "op/reference/generate.h"
#include "op/shape.h"

/* 3 x 16 x 4096 x 16384: 3.2 * 10^9 elements. */
static struct work large(enum layout layout)
{
    struct work w = simple_work("add", 16, 4096, 16384);
    w.n = 3, w.layout = layout;
    finish(&w);
    return w;
}

static void elements_are_found(void **state)
{
    (void)state;
    static const int64_t places[][4] = {{0, 0, 0, 0}, {1, 15, 4095, 16383}, {2, 0, 0, 1}, {2, 7, 2049, 16382}, {2, 15, 4095, 16383}};
    for (int layout = 0; layout < 2; layout++) {
        struct work w = large(layout ? LAYOUT_NHWC : LAYOUT_NCHW);
        struct tensor t;
        assert_true(work_tensor(&w, "output", &t));
        assert_true(tensor_elements(&t) == UINT64_C(3221225472));
        assert_true(tensor_bytes(&t) == UINT64_C(6442450944));
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            const int64_t *p = places[i];
            uint64_t logical = (((uint64_t)p[0] * 16 + (uint64_t)p[1]) * 4096 + (uint64_t)p[2]) * 16384 + (uint64_t)p[3],
                     stored = layout ? (((uint64_t)p[0] * 4096 + (uint64_t)p[2]) * 16384 + (uint64_t)p[3]) * 16 + (uint64_t)p[1] : logical;
            int64_t found[TENSOR_MAX_RANK];
            assert_true(tensor_index(&t, logical) == stored);
            tensor_coordinates(&t, logical, found);
            assert_memory_equal(found, p, 4 * sizeof *found);
        }
    }
}

/* A value depends on all bits of its index: 2^32 further on there is another one. */
static void values_are_drawn(void **state)
{
    (void)state;
    struct work w = large(LAYOUT_NCHW);
    struct tensor t;
    assert_true(work_tensor(&w, "input", &t));
    for (int part = 0; part < DATA_PART_COUNT; part++) {
        struct generate_recipe r = generate_recipe(&w, &t, (enum data_part)part);
        float at[64], one_before[65], wrapped[64];
        int equal = 0;
        generate_some(&r, UINT64_C(3221225400), 64, at);
        generate_some(&r, UINT64_C(3221225399), 65, one_before);
        assert_memory_equal(at, one_before + 1, sizeof at);
        generate_some(&r, UINT64_C(3221225400) + (UINT64_C(1) << 32), 64, wrapped);
        for (int i = 0; i < 64; i++)
            equal += at[i] == wrapped[i];
        assert_true(equal < 48); /* of exact data some are equal by chance */
    }
}

static void sizes_are_checked(void **state)
{
    (void)state;
    struct work w = conv_work(16, 16, 4096, 16384, 3);
    w.n = 70000, w.h = w.w = 8, w.epilogue_count = 0;
    finish(&w);
    w.n = 3, w.h = 4096, w.w = 16384;
    finish(&w);
    struct work_memory m = work_memory(&w);
    double elements = 3.0 * 16 * 4096 * 16384, weights = 16 * 16 * 9;
    assert_true(m.part == 16 * elements + 4 * weights);
    assert_true(m.making == 8 * elements);
    assert_true(m.buffers == 3 * 2 * elements + 2 * weights);
    assert_true(work_memory_total(&m) == 2 * m.part + m.making + m.buffers);
    assert_true(work_flop(&w) == 2 * elements * 16 * 9);
    w.n = 1 << 20, w.c = w.k = 1 << 10;
    refused(w, "(2^40)");
    struct work own = {.op = op_find("transpose"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = 1};
    for (const struct op_field *f = own.op->fields; f->name; f++)
        *(int64_t *)(void *)((char *)&own + f->offset) = 50000;
    refused(own, "(2^31 - 1)"); /* its reference kernel may index with int */
}

static void overflows_are_named(void **state)
{
    (void)state;
    size_t many = UINT64_C(6000000000);
    assert_string_equal(verify_overflow(UINT64_C(1) << 31, 2, many), "2^31 elements");
    assert_string_equal(verify_overflow((UINT64_C(1) << 32) + 100, 2, many), "2^32 elements");
    assert_string_equal(verify_overflow(UINT64_C(1) << 30, 2, many), "2^31 bytes");
    assert_string_equal(verify_overflow(UINT64_C(1) << 30, 4, many), "2^32 bytes");
    assert_null(verify_overflow((UINT64_C(1) << 31) - 1, 2, many));
    assert_null(verify_overflow(UINT64_C(1) << 31, 2, UINT64_C(1) << 31)); /* there is no such element */
    assert_null(verify_overflow(0, 2, many));
    assert_null(verify_overflow(SIZE_MAX, 2, many));
    assert_null(verify_overflow(UINT64_C(3000000000), 2, many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(elements_are_found), cmocka_unit_test(values_are_drawn),
                                       cmocka_unit_test(sizes_are_checked), cmocka_unit_test(overflows_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
