/* An op that bench does not ship: five axes in and one, three and six out, two outputs. Its kernels run on emu from a head like any other:
 * a right kernel passes, and a wrong element in either output is found and named. op_table is this file's own. */
#include "works.h"
#include "base/file.h"
#include "device/compile/compile.h"
#include "run/child/devices.h"
#include "measure/rig/rig.h"
#include "op/reference/bound.h"
#include "op/reference/data.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include "kernel/bind/variant_bind.h"
#include <stdio.h>
#include <unistd.h>

enum { TABLE, SHIFT, SUMS, MOVED };
#define LINEAR .layouts = 1u << LAYOUT_LINEAR
static const struct tensor_role table = {.name = "table", .slot = TABLE, LINEAR, .values = VALUES_INPUT};
static const struct tensor_role shift = {.name = "shift", .slot = SHIFT, LINEAR, .constant = true};
static const struct tensor_role sums = {.name = "sums", .slot = SUMS, LINEAR, .output = true};
static const struct tensor_role moved = {.name = "moved", .slot = MOVED, LINEAR, .output = true};
static const struct tensor_role *const roles[] = {&table, &shift, &sums, &moved, NULL};

static bool op_finish(struct work *w, struct error *err)
{
    return w->w % 2 == 0 || error_set(err, ERROR_USAGE, "an odd width");
}

/* table n,d,c,h,w; shift w; sums n*c,h,w: of table over d, and shift; moved n,c,h,w/2,2,d: table with other axes. */
static int op_tensors(const struct work *w, struct tensor out[OP_MAX_TENSORS])
{
    out[0] = (struct tensor){.role = &table, .rank = 5, .dim = {w->n, w->d, w->c, w->h, w->w}};
    out[1] = (struct tensor){.role = &shift, .rank = 1, .dim = {w->w}};
    out[2] = (struct tensor){.role = &sums, .rank = 3, .dim = {w->n * w->c, w->h, w->w}, .written = true};
    out[3] = (struct tensor){.role = &moved, .rank = 6, .dim = {w->n, w->c, w->h, w->w / 2, 2, w->d}, .written = true};
    for (int i = 0; i < 4; i++) {
        out[i].dtype = w->dtype;
        out[i].layout = LAYOUT_LINEAR;
    }
    return 4;
}

static bool op_reference(const struct work *w, struct op_data *data, struct error *err)
{
    struct op_values *s = &data->at[SUMS], *m = &data->at[MOVED];
    for (size_t i = 0; i < s->elements; i++) {
        int64_t x = (int64_t)i % w->w, y = (int64_t)i / w->w % w->h, c = (int64_t)i / w->w / w->h % w->c,
                n = (int64_t)i / w->w / w->h / w->c;
        double sum = data->at[SHIFT].value[x], all = fabs(sum);
        for (int64_t d = 0; d < w->d; d++) {
            float v = data->at[TABLE].value[(((n * w->d + d) * w->c + c) * w->h + y) * w->w + x];
            sum += v;
            all += fabsf(v);
            m->reference[i * (size_t)w->d + (size_t)d] = v;
        }
        s->reference[i] = sum;
        if (s->bound)
            s->bound[i] = (float)bound_sum(MATH_F32, (double)w->d + 1, (double)w->d + 1, sum, all);
    }
    for (size_t i = 0; m->bound && i < m->elements; i++)
        m->bound[i] = 0;
    return true;
}

static double op_flop(const struct work *w)
{
    return (double)(w->n * w->d * w->c * w->h * w->w);
}

#define SIZE(field) \
    { \
        .name = #field, .offset = offsetof(struct work, field), .fallback = OP_REQUIRED, .min = 1, .max = 1000, .what = #field \
    }
static const struct op_field fields[] = {SIZE(n), SIZE(d), SIZE(c), SIZE(h), SIZE(w), {.name = NULL}};
#define NAME(field) \
    { \
#field, offsetof(struct work, field), #field \
    }
static const struct op_symbol symbols[] = {NAME(n), NAME(d), NAME(c), NAME(h), NAME(w), {NULL, 0, NULL}};
static const struct op spread = {.name = "spread",
                                 .about = "of this test",
                                 .fields = fields,
                                 .symbols = symbols,
                                 .roles = roles,
                                 .dtypes = 1u << DTYPE_F32,
                                 .layouts = 1u << LAYOUT_NCHW,
                                 .finish = op_finish,
                                 .tensors = op_tensors,
                                 .flop = op_flop,
                                 .reference = op_reference};
extern const struct op *const op_table[];
const struct op *const op_table[] = {&spread, NULL};

static struct work small(void)
{
    struct work w = {.op = &spread, .n = 2, .d = 3, .c = 5, .h = 4, .w = 14, .dtype = DTYPE_F32, .layout = LAYOUT_NCHW, .seed = 7};
    finish(&w);
    return w;
}

static void test_shapes(void **state)
{
    struct work w = small();
    struct tensor t;
    int64_t fold[4], at[TENSOR_MAX_RANK];
    assert_true(work_tensor(&w, "moved", &t) && t.rank == 6 && tensor_elements(&t) == 1680 && tensor_bytes(&t) == 6720);
    tensor_fold(&t, fold);
    assert_true(fold[0] == 1 && fold[1] == 1 && fold[2] == 560 && fold[3] == 3);
    tensor_coordinates(&t, 1679, at);
    assert_true(at[0] == 1 && at[1] == 4 && at[2] == 3 && at[3] == 6 && at[4] == 1 && at[5] == 2);
    assert_true(tensor_index(&t, 1234) == 1234);
    assert_true(work_tensor(&w, "shift", &t) && t.rank == 1 && tensor_elements(&t) == 14);
    assert_true(work_tensor(&w, "sums", &t) && t.rank == 3 && t.written);
    assert_false(work_tensor(&w, "input", &t));
    assert_true(work_bytes(&w) == 4 * (1680 + 14 + 560 + 1680));
    w.w = 13;
    refused(w, "an odd width");
    w.w = 0;
    refused(w, "w = 0 is not between");
    w.w = 14, w.mask.pattern = MASK_FULL;
    refused(w, "takes no mask");
}

/* The kernel that a head describes, with a fault: 0 none, 1 one wrong element of `moved`, 2 a plane of `moved` is not written, 3 one wrong
 * element of both, 4 past the end of `moved`, 5 `shift` is changed, 6 the second half of `sums` is zero. */
static const char source[] =
    "/* bench 1\n"
    "op: spread\n"
    "what: sums and a copy\n"
    "layout: {table: linear, sums: linear}\n"
    "dtype: {table: f32, sums: same, moved: same}\n"
    "params: {FAULT: {values: [0, 1, 2, 3, 4, 5, 6], default: 0}}\n"
    "steps:\n"
    "  - kernel: spread\n"
    "    grid: ceil(n * c * h * w, 64)\n"
    "    block: 64\n"
    "    args: table, shift, sums, moved, n, d, c, h, w\n"
    "*/\n"
    "extern \"C\" __global__ void spread(const float *table, float *shift, float *sums, float *moved, int n, int d, int c, int h, int w)\n"
    "{\n"
    "    int i = blockIdx.x * 64 + threadIdx.x, all = n * c * h * w;\n"
    "    if (i >= all) return;\n"
    "    int plane = c * h * w, from = i / plane * d * plane + i % plane;\n"
    "    float sum = shift[i % w];\n"
    "    for (int k = 0; k < d; k++) {\n"
    "        float v = table[from + k * plane];\n"
    "        sum += v;\n"
    "        if (FAULT == 2 && k == 1) continue;\n"
    "        moved[i * d + k] = (FAULT == 1 || FAULT == 3) && i == 300 && k == 2 ? v + 1 : v;\n"
    "    }\n"
    "    sums[i] = FAULT == 3 && i == 17 ? sum + 1 : FAULT == 6 && i >= all / 2 ? 0 : sum;\n"
    "    if (FAULT == 4 && i == 0) moved[all * d] = 0;\n"
    "    if (FAULT == 5 && i == all - 1) shift[w - 1] = 0;\n"
    "}\n";

static char dir[] = "/tmp/bench_spread_XXXXXX";
static struct variant *variant;
static struct device *device;
static uint64_t sum_of_run;

static int set_up(void **state)
{
    struct error err = {0};
    char *path = mkdtemp(dir) ? file_join(dir, "mine.cu") : NULL;
    if (!path || !file_write(path, source, strlen(source), &err) || !(variant = variant_load(path, "my", &err)) ||
        !device_open("emu", &device, &err))
        printf("%s\n", err.text);
    free(path);
    return variant && device ? 0 : -1;
}

static int tear_down(void **state)
{
    char *path = file_join(dir, "mine.cu");
    variant_free(variant);
    device_close(device);
    unlink(path);
    rmdir(dir);
    free(path);
    return 0;
}

#define SAID 4096
/* What a run with this fault is said to have done wrong: "" nothing. */
static void says(int fault, enum data_part part, const char *dump, char out[SAID])
{
    struct error err = {0};
    struct work w = small();
    struct variant_config *configs;
    struct variant_set none = {0};
    struct program p;
    struct compiled code;
    struct op_data data;
    struct verdict v = {0};
    struct text unsafe = {0};
    struct rig *rig = NULL;
    char params[32], version[64];
    snprintf(params, sizeof params, "{FAULT: %d}", fault);
    if (!compile_version(NULL, version, sizeof version, &err)) {
        printf("no compiler: %s\n", err.text);
        skip();
    }
    struct node *only = node_parse_text("params", params, strlen(params), 1, 1, &err);
    assert_int_equal(variant_configs(variant, only, &configs, &err), 1);
    if (!variant_bind(&none, &configs[0], &w, &device->chip, &p, &err) || !p.feasible)
        fail_msg("%s%s", err.text, p.reason ? p.reason : "");
    struct compile_request request = {.path = p.units[0].path,
                                      .label = p.units[0].label,
                                      .defines = (const char *const *)p.units[0].defines,
                                      .define_count = p.units[0].define_count,
                                      .arch = device->chip.arch,
                                      .ptx_only = true};
    if (!compile(&request, &code, &err))
        fail_msg("%s", err.text);
    struct device_image image = {.label = request.label, .path = request.path, .ptx = code.ptx, .ptx_bytes = code.ptx_bytes};
    make_data(&w, part, &data);
    bool ran = rig_open(device, NULL, &p, &image, true, &rig, &err) && rig_feed(rig, &data, &err) && rig_run(rig, &err) &&
               rig_check(rig, &data, &v, &unsafe, dump, &err);
    snprintf(out, SAID, "%s%s%s", ran ? v.text : err.text, unsafe.len ? "; " : "", text_get(&unsafe));
    const struct device_report *reports;
    if (ran && device->ops->reports(device, &reports))
        snprintf(out + strlen(out), SAID - strlen(out), "; %s", reports[0].text);
    device->ops->clear(device);
    assert_true(!ran || v.ok == (fault == 0 || fault == 4 || fault == 5));
    sum_of_run = rig ? rig_output_sum(rig) : 0;
    text_free(&unsafe);
    rig_close(rig);
    op_data_free(&data);
    compiled_free(&code);
    program_free(&p);
    variant_configs_free(configs, 1);
    node_free(only);
}

static void expect(int fault, enum data_part part, const char *want)
{
    char got[SAID];
    says(fault, part, NULL, got);
    if (strstr(got, want) != got)
        fail_msg("fault %d: said '%s', not '%s'", fault, got, want);
}

static void test_right(void **state)
{
    expect(0, DATA_PART_EXACT, "exact");
    uint64_t first = sum_of_run;
    expect(0, DATA_PART_EXACT, "exact");
    assert_true(sum_of_run == first);
    char got[SAID];
    says(0, DATA_PART_PRECISION, NULL, got);
    assert_true(strstr(got, "of the tolerance") || !strcmp(got, "exact"));
}

static void test_outputs(void **state)
{
    expect(0, DATA_PART_EXACT, "exact");
    uint64_t right = sum_of_run;
    expect(1, DATA_PART_EXACT, "moved(1,0,1,3,0,2) = ");
    assert_true(sum_of_run != right); /* every output is part of the sum */
    expect(1, DATA_PART_PRECISION, "moved(1,0,1,3,0,2) = ");
    char got[SAID];
    says(2, DATA_PART_EXACT, NULL, got);
    assert_non_null(strstr(got, "moved(0,0,0,0,0,1) was not written"));
    assert_non_null(strstr(got, "560 of 1,680 elements, all in axis 5 place 1: never written"));
    says(3, DATA_PART_EXACT, NULL, got);
    assert_true(strstr(got, "sums(0,1,3) = ") == got && strstr(got, "; moved(1,0,1,3,0,2) = ") && strstr(got, "1 of 560 elements"));
    says(6, DATA_PART_EXACT, NULL, got);
    assert_non_null(strstr(got, "280 of 560 elements, all in axis 0 places 5 to 9: zero"));
}

static void test_safety(void **state)
{
    char got[SAID];
    says(4, DATA_PART_EXACT, NULL, got);
    if (!strstr(got, "global write of 4 bytes") || !strstr(got, "of `moved`, which has"))
        fail_msg("said '%s'", got);
    expect(5, DATA_PART_EXACT, "exact; changed its input: shift, first at element 13 of its storage");
}

/* The files of a wrong second output bear its name. */
static void test_dump(void **state)
{
    char got[SAID], out[] = "/tmp/bench_spread_dump_XXXXXX";
    static const char *const names[] = {"moved.npy", "moved_reference.npy", "moved_error.pgm"};
    assert_non_null(mkdtemp(out));
    says(1, DATA_PART_EXACT, out, got);
    for (int i = 0; i < 3; i++) {
        struct error err = {0};
        size_t bytes;
        char *path = file_join(out, names[i]), *text = file_read(path, 1 << 20, &bytes, &err);
        if (!text)
            fail_msg("%s", err.text);
        assert_true(i == 2 || strstr(text + 10, "'shape': (2, 5, 4, 7, 2, 3)"));
        free(text);
        unlink(path);
        free(path);
    }
    assert_int_equal(rmdir(out), 0); /* nothing of the right one */
}

/* A head speaks of this op's tensors, and of no others. */
static void head_says(const char *line, const char *want)
{
    struct error err = {0};
    char *path = file_join(dir, "other.cu"), *text = text_format("/* bench 1\nop: spread\nwhat: x\n%s"
                                                                 "steps:\n  - kernel: k\n    grid: 1\n    block: 1\n*/\n",
                                                                 line);
    assert_true(file_write(path, text, strlen(text), &err));
    struct variant *v = variant_load(path, "my", &err);
    if (v)
        fail_msg("accepted: %s", line);
    if (!strstr(err.text, want))
        fail_msg("said '%s', not '%s'", err.text, want);
    unlink(path);
    free(path);
    free(text);
}

static void test_heads(void **state)
{
    head_says("layout: {tabel: linear}\n", "tabel");
    head_says("layout: {table: NHWC}\n", "NHWC");
    head_says("dtype: {table: same}\n", "same");
    head_says("params: {moved: {values: [1], default: 1}}\n", "that name is already a tensor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_right), cmocka_unit_test(test_outputs),
                                       cmocka_unit_test(test_safety), cmocka_unit_test(test_dump),  cmocka_unit_test(test_heads)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
