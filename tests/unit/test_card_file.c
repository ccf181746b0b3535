/* measure/verify/device_check_file: for an op from a file, the device's data and reference equal the CPU's for each way to draw values, and
 * the check finds a fault of the device in either. The device is emu. */
#include "works.h"
#include "base/file.h"
#include "device/compile/compile.h"
#include "measure/trust/degenerate.h"
#include "measure/verify/device_check_private.h"
#include "measure/verify/reference.h"
#include "run/child/devices.h"
#include "op/reference/data.h"
#include "op/file/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct device *dev, *witness;
static struct card *card;
static char folder[] = "/tmp/card-file-XXXXXX";

static void need_card(void)
{
    if (!card)
        skip();
}

static struct work of_values(const char *op, enum dtype dtype, const int64_t *values, int count)
{
    struct work w = {.op = op_find(op), .dtype = dtype, .layout = LAYOUT_LINEAR, .seed = 5};
    assert_non_null(w.op);
    w.layout = w.op->layouts >> LAYOUT_LINEAR & 1 ? LAYOUT_LINEAR : LAYOUT_NHWC;
    memcpy(w.value, values, (size_t)count * sizeof *values);
    finish(&w);
    return w;
}

static void same(const struct work *w, enum data_part part)
{
    struct error err = {0};
    struct op_data host = {0}, want = {0};
    struct tensor list[OP_MAX_TENSORS];
    struct text t = {0};
    work_describe(w, &t);
    if (!card_data_make(card, w, part, &host, &err) || !reference_data_make(dev, NULL, w, part, &want, &err))
        fail_msg("%s: %s", text_get(&t), err.text);
    assert_false(host.card->fetched);
    for (int i = 0, count = w->op->tensors(w, list); i < count; i++) {
        int slot = list[i].role->slot;
        size_t elements = tensor_elements(&list[i]);
        float *x = xmalloc(elements * sizeof *x);
        if (!list[i].written) { /* bit for bit */
            assert_true(dev->ops->read(dev, host.card->at[slot].value, x, elements * sizeof *x, &err));
            for (size_t k = 0; k < elements; k++)
                if (memcmp(&x[k], &want.at[slot].value[k], sizeof *x))
                    fail_msg("%s, part %d, %s[%zu]: %.9g, the CPU has %.9g", text_get(&t), (int)part, list[i].role->name, k, (double)x[k],
                             (double)want.at[slot].value[k]);
        }
        free(x);
    }
    if (!card_fetch_some(host.card, 3, &err)) /* a beginning, which is not all of it */
        fail_msg("%s", err.text);
    assert_false(host.card->fetched);
    for (int slot = 0; slot < OP_MAX_TENSORS; slot++)
        for (size_t k = 0; k < 3 && k < host.at[slot].elements; k++)
            assert_true(host.at[slot].reference[k] == want.at[slot].reference[k]);
    if (!card_fetch(host.card, &err))
        fail_msg("%s", err.text);
    for (int slot = 0; slot < OP_MAX_TENSORS; slot++) {
        const struct op_values *a = &host.at[slot], *b = &want.at[slot];
        assert_int_equal(a->elements, b->elements);
        assert_int_equal(a->guessed, b->guessed);
        assert_true(!a->bound == !b->bound);
        for (size_t k = 0; k < a->elements; k++)
            if (a->reference[k] != b->reference[k] || (a->bound && !(fabsf(a->bound[k] - b->bound[k]) <= 0x1p-20f * b->bound[k])))
                fail_msg("%s, part %d, element %zu: %.17g +-%.6g, the CPU has %.17g +-%.6g", text_get(&t), (int)part, k, a->reference[k],
                         a->bound ? (double)a->bound[k] : 0, b->reference[k], b->bound ? (double)b->bound[k] : 0);
    }
    text_free(&t);
    op_data_free(&want);
    card_data_free(host.card);
    op_data_free(&host);
}

static void what_stays_there_is_right(void **state)
{
    need_card();
    const struct {
        const char *op;
        enum dtype dtype;
        int64_t values[6];
    } works[] = {{"softmax", DTYPE_F16, {9, 300}},
                 {"rmsnorm", DTYPE_BF16, {5, 77, 0}},
                 {"reduce", DTYPE_F32, {1, 5000, 0}},
                 {"reduce", DTYPE_F16, {30, 70, 1}},
                 {"transpose", DTYPE_F16, {40, 33}},
                 {"gemm", DTYPE_F32, {20, 30, 40}},
                 {"thumbnails", DTYPE_F32, {2, 30, 40, 5, 13, 11}},
                 {"drawn", DTYPE_F32, {19, 45}},
                 {"scores", DTYPE_F32, {30, 40, 0}},
                 {"scores", DTYPE_F32, {30, 40, 1}},
                 {"scores", DTYPE_F32, {30, 40, 2}},
                 {"types", DTYPE_E4M3, {500}},
                 {"types", DTYPE_E5M2, {500}},
                 {"types", DTYPE_E2M1, {500}},
                 {"types", DTYPE_E8M0, {500}}};
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        for (int part = 0; part < 2; part++) {
            struct work w = of_values(works[i].op, works[i].dtype, works[i].values, 6);
            if (!strcmp(works[i].op, "rmsnorm")) {
                double eps = 1e-5;
                memcpy(&w.value[2], &eps, sizeof eps);
            }
            dev->witness = part ? witness : NULL;
            same(&w, (enum data_part)part);
            w.set_seed = 3;
            same(&w, (enum data_part)part);
        }
    dev->witness = NULL;
}

/* So are the values of a sweep, whichever way its lines run. */
static void a_sweep_is_made_there(void **state)
{
    need_card();
    static const struct {
        const char *op;
        enum dtype dtype;
        int64_t values[6];
    } works[] = {{"softmax", DTYPE_BF16, {30, 40}},  {"softmax_channels", DTYPE_F16, {2, 9, 3, 4, 0}},
                 {"reduce", DTYPE_F16, {30, 70, 1}}, {"places", DTYPE_F32, {3, 20, 7}},
                 {"places", DTYPE_I8, {3, 20, 7}},   {"places", DTYPE_E4M3, {3, 20, 7}},
                 {"bytes", DTYPE_U8, {20, 30}},      {"bytes", DTYPE_BOOL, {20, 30}}};
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        struct work w = of_values(works[i].op, works[i].dtype, works[i].values, 6);
        w.sweep.first = 120, w.sweep.of = 200, w.sweep.each = 64;
        same(&w, DATA_PART_PRECISION);
    }
}

/* The work has some blocks more than the cross-check takes. It takes no block twice: emu refuses that, and then ran it as a race, block by
 * block (10 s for the 64 blocks of a softmax). */
static void no_block_is_interpreted_twice(void **state)
{
    need_card();
    dev->witness = witness;
    for (int64_t rows = 31 * 128; rows <= 36 * 128; rows += 128) {
        const int64_t values[] = {rows, 2};
        struct work w = of_values("softmax", DTYPE_F16, values, 2);
        same(&w, DATA_PART_PRECISION);
    }
    dev->witness = NULL;
}

/* Inputs that the device draws are unset in the host's memory, where anything may stand. */
static void what_the_device_drew_does_not_cancel(void **state)
{
    struct error err = {0};
    struct op_data data = {0};
    struct tensor list[OP_MAX_TENSORS];
    const int64_t values[] = {64, 48};
    struct work w = of_values("softmax", DTYPE_F32, values, 2);
    need_card();
    if (!card_data_make(card, &w, DATA_PART_PRECISION, &data, &err))
        fail_msg("%s", err.text);
    for (int i = 0, count = w.op->tensors(&w, list); i < count; i++)
        for (size_t k = 0; k < tensor_elements(&list[i]) && !list[i].written; k++)
            data.at[list[i].role->slot].value[k] = 1e30f;
    assert_false(degenerate_cancels(&w, &data));
    card_data_free(data.card);
    op_data_free(&data);
}

static int fills;
static bool count_fill(struct device *d, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    fills++;
    return true;
}

/* Its results are as large as the layer's and hardly written: nobody fills them, and what no block wrote is not compared. */
static void the_witness_touches_what_it_writes(void **state)
{
    need_card();
    const int64_t values[] = {40 * 128, 3};
    struct work w = of_values("softmax", DTYPE_F16, values, 2);
    const struct device_ops *honest = witness->ops;
    struct device_ops counting = *honest;
    counting.fill = count_fill;
    dev->witness = witness;
    witness->ops = &counting;
    same(&w, DATA_PART_PRECISION);
    witness->ops = honest;
    dev->witness = NULL;
    assert_int_equal(fills, 0);
}

static struct device_ops faulty;
static bool (*honest_launch)(struct device *, struct device_function *, const struct device_launch *, struct error *);
static int fault_at, launches; /* of these, which make something, one does nothing */

static bool launch_faulty(struct device *d, struct device_function *f, const struct device_launch *launch, struct error *err)
{
    return (d == dev && f != card->functions[CARD_SUM] && launches++ == fault_at) || honest_launch(d, f, launch, err);
}

/* Whatever a kernel of the check leaves undone, making inputs, the reference, its bounds: an error says so. */
static void faults_are_seen(void **state)
{
    need_card();
    const int64_t values[] = {9, 300};
    struct work w = of_values("softmax", DTYPE_F16, values, 2);
    dev->witness = witness;
    for (fault_at = 0; fault_at < 3; fault_at++) {
        struct error err = {0};
        struct op_data host = {0};
        faulty = *dev->ops;
        honest_launch = faulty.launch;
        faulty.launch = launch_faulty;
        const struct device_ops *honest = dev->ops;
        dev->ops = &faulty;
        launches = 0;
        bool made = card_data_make(card, &w, DATA_PART_PRECISION, &host, &err);
        dev->ops = honest;
        assert_true(launches > fault_at);
        assert_false(made);
        assert_non_null(strstr(err.text, "the reference of softmax"));
    }
    dev->witness = NULL;
}

/* If a type does not hold a result, the op is wrong, on the device and on the CPU. Otherwise a kernel that wraps would pass, and one that
 * saturates would fail.
 */
static void what_a_type_holds(void **state)
{
    need_card();
    static const struct {
        int64_t value;
        bool held;
    } at[] = {{-1, false}, {0, true}, {200, true}, {255, true}, {256, false}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        for (int there = 0; there < 2; there++) {
            struct error err = {0};
            struct op_data host = {0};
            const int64_t values[] = {3, at[i].value};
            struct work w = of_values("byte", DTYPE_F32, values, 2);
            bool made = there ? card_data_make(card, &w, DATA_PART_PRECISION, &host, &err)
                              : reference_data_make(dev, NULL, &w, DATA_PART_PRECISION, &host, &err);
            if (made != at[i].held || (!made && !strstr(err.text, "beyond the range of u8")))
                fail_msg("%ld: %s", (long)at[i].value, made ? "taken" : err.text);
            if (made) {
                card_data_free(host.card);
                op_data_free(&host);
            }
        }
}

/* A parameter of the reference that cannot hold a field: 300 would be 44 in its eight bits. */
static void what_a_parameter_holds(void **state)
{
    static const int64_t at[] = {255, 300};
    for (int i = 0; i < 2; i++) {
        struct error err = {0};
        struct op_data data = {0};
        struct work w = of_values("narrow", DTYPE_F32, (const int64_t[]){3, at[i]}, 2);
        bool made = reference_data_make(dev, NULL, &w, DATA_PART_PRECISION, &data, &err);
        if (made != (at[i] == 255) || (!made && !strstr(err.text, "argument at = 300 does not fit the kernel's 1-byte parameter")))
            fail_msg("%ld: %s", (long)at[i], made ? "taken" : err.text);
        if (made)
            op_data_free(&data);
    }
}

/* The nearest whole number is right there, too, and the one below it is not (test_verify_tolerance is of the CPU's comparison). */
static void whole_numbers_may_be_rounded(void **state)
{
    need_card();
    struct error err = {0};
    struct op_data host = {0};
    const int64_t values[] = {300};
    struct work w = of_values("whole", DTYPE_F32, values, 1);
    struct tensor list[OP_MAX_TENSORS];
    struct program p = program_of(&w);
    struct verdict verdict;
    bool right;
    if (!card_data_make(card, &w, DATA_PART_PRECISION, &host, &err) || !card_fetch(host.card, &err))
        fail_msg("%s", err.text);
    for (int k = 0, count = w.op->tensors(&w, list); k < count; k++) {
        uint64_t address;
        size_t bytes = tensor_bytes(&list[k]), elements = tensor_elements(&list[k]);
        if (!list[k].written)
            continue;
        assert_true(dev->ops->alloc(dev, "storage", bytes, &address, &err));
        for (int nearest = 1; nearest >= 0; nearest--) {
            unsigned char *stored = xcalloc(bytes, 1);
            for (size_t i = 0; i < elements; i++) {
                double want = host.at[list[k].role->slot].reference[i];
                dtype_set(list[k].dtype, stored, tensor_index(&list[k], i), nearest ? rint(want) : floor(want));
            }
            assert_true(dev->ops->write(dev, address, stored, bytes, &err));
            assert_true(card_verify(host.card, &p, k, address, &right, &verdict, &err));
            assert_int_equal(right, nearest);
            free(stored);
        }
        dev->ops->release(dev, address);
    }
    program_free(&p);
    card_data_free(host.card);
    op_data_free(&host);
}

static void put(const char *name, const char *text)
{
    struct error err = {0};
    SCOPED char *path = file_join(folder, name);
    assert_true(file_write(path, text, strlen(text), &err));
}

/* Uniform ones in an op that is exact, a mask, whole numbers of 8 and 16 bits, sorted ones, indices. */
static void write_op(void)
{
    put("drawn.yaml",
        "about: \"sums\"\nfields: {rows: {what: rows}, cols: {what: columns}}\ntensors:\n"
        "  a: {shape: [rows, cols], data: {uniform: [-1, 3]}}\n  b: {shape: [rows, cols], data: {mask: 0.25}}\n"
        "  c: {shape: [rows, cols], dtype: u8}\n  d: {shape: [rows, cols], dtype: u16}\n  e: {shape: [rows, cols], data: sorted}\n"
        "  f: {shape: [rows, cols], data: {indices: cols}, dtype: i32}\n  y: {shape: [rows], written: yes}\n"
        "dtype: f32\nterms: 6 * cols\nreference: {kernel: sums, threads: rows, args: [a, b, c, d, e, f, y, rows, cols]}\n"
        "trial: {usual: {rows: 3, cols: 4}}\n");
    put("drawn.cu",
        "extern \"C\" __global__ void sums(const float *a, const float *b, const float *c, const float *d, const float *e, const float *f, "
        "double *y, long long rows, long long cols)\n{\n    long long r = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    double s = 0;\n    for (long long i = r * cols; r < rows && i < (r + 1) * cols; i++)\n"
        "        s += (double)a[i] + b[i] + c[i] + d[i] + e[i] + f[i];\n    if (r < rows)\n        y[r] = s;\n}\n");
    put("scores.yaml",
        "about: masked scores\nfields: {rows: {what: rows}, cols: {what: columns}, kind: {min: 0, max: 2}}\n"
        "tensors: {x: {shape: [rows, cols]}, y: {shape: [rows, cols], written: yes}}\ndtype: f32\nterms: 1\nexact: no\n"
        "reference: {kernel: scores, threads: rows * cols, args: [x, y, rows, cols, kind]}\ntrial: {usual: {rows: 3, cols: 4, kind: 0}}\n");
    put("scores.cu", "extern \"C\" __global__ void scores(const float *x, double *y, int rows, int cols, int kind)\n{\n"
                     "    int i = blockIdx.x * blockDim.x + threadIdx.x, r = i / cols, c = i % cols;\n"
                     "    double large[3] = {-1e9, 3e38, -__longlong_as_double(0x7ff0000000000000LL)};\n"
                     "    if (i < rows * cols)\n        y[i] = c > r ? large[c % 2 ? kind : 0] : x[i];\n}\n");
    put("whole.yaml",
        "about: whole numbers\nfields: {rows: {what: rows}}\ntensors:\n  x: {shape: [rows], data: {uniform: [-30, 30]}}\n"
        "  a: {shape: [rows], dtype: i8, written: yes}\n  b: {shape: [rows], dtype: i32, written: yes}\n"
        "dtype: f32\nterms: 1\nexact: no\nreference: {kernel: times, threads: rows, args: [x, a, b, rows]}\ntrial: {usual: {rows: 9}}\n");
    put("whole.cu",
        "extern \"C\" __global__ void times(const float *x, double *a, double *b, int rows)\n"
        "{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < rows)\n        a[i] = 3.7 * x[i], b[i] = 1e3 * x[i];\n}\n");
    put("types.yaml",
        "about: other types\nfields: {n: {what: n}}\n"
        "tensors: {x: {shape: [n]}, i: {shape: [n], dtype: i64}, u: {shape: [n], dtype: u64}, s: {shape: [n], dtype: i32}, m: "
        "{shape: [n], dtype: bool}, y: {shape: [n], dtype: f32, written: yes}}\n"
        "dtype: [e4m3, e5m2, e2m1, e8m0]\nterms: 4\nexact: no\nreference: {kernel: mixed, threads: n, args: [x, i, u, s, m, y, n]}\n"
        "trial: {usual: {n: 3}}\n");
    put("types.cu",
        "extern \"C\" __global__ void mixed(const float *x, const float *i, const float *u, const float *s, const float *m, double "
        "*y, int n)\n{\n    int k = blockIdx.x * blockDim.x + threadIdx.x;\n    if (k < n)\n        y[k] = m[k] * (x[k] + i[k] "
        "+ u[k] + s[k]);\n}\n");
    put("byte.yaml", "about: a number\nfields: {rows: {what: rows}, at: {min: -999, max: 999, what: the number}}\n"
                     "tensors: {x: {shape: [rows]}, y: {shape: [rows], dtype: u8, written: yes}}\n"
                     "reference: {kernel: number, threads: rows, args: [x, y, rows, at]}\ntrial: {usual: {rows: 3, at: 4}}\n");
    put("narrow.yaml", "about: a number\nfields: {rows: {what: rows}, at: {min: -999, max: 999, what: the number}}\n"
                       "tensors: {x: {shape: [rows]}, y: {shape: [rows], written: yes}}\n"
                       "reference: {kernel: narrow, threads: rows, args: [x, y, rows, at]}\ntrial: {usual: {rows: 3, at: 4}}\n");
    put("narrow.cu", "extern \"C\" __global__ void narrow(const float *x, double *y, int rows, unsigned char at)\n"
                     "{\n    if (threadIdx.x < rows)\n        y[threadIdx.x] = at;\n}\n");
    put("byte.cu", "extern \"C\" __global__ void number(const float *x, double *y, int rows, int at)\n"
                   "{\n    if (threadIdx.x < rows)\n        y[threadIdx.x] = at;\n}\n");
}

static int set_up(void **state)
{
    struct error err = {0};
    if (!mkdtemp(folder))
        return -1;
    write_op();
    const char *const extra[] = {folder, "tests/cli/every-place/ops", NULL};
    if (!op_load(extra, &err) || !device_open("emu:GH100", &dev, &err) || !device_open("emu:GH100", &witness, &err))
        return -1;
    if (!card_open(dev, NULL, &card, &err))
        printf("skipped: %s\n", err.text);
    return 0;
}

static int tear_down(void **state)
{
    char *command = text_format("rm -rf %s", folder);
    int left = system(command);
    free(command);
    card_close(card);
    device_close(dev);
    device_close(witness);
    return left;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_stays_there_is_right),
                                       cmocka_unit_test(a_sweep_is_made_there),
                                       cmocka_unit_test(no_block_is_interpreted_twice),
                                       cmocka_unit_test(what_the_device_drew_does_not_cancel),
                                       cmocka_unit_test(the_witness_touches_what_it_writes),
                                       cmocka_unit_test(faults_are_seen),
                                       cmocka_unit_test(what_a_parameter_holds),
                                       cmocka_unit_test(what_a_type_holds),
                                       cmocka_unit_test(whole_numbers_may_be_rounded)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
