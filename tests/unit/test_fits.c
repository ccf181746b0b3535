/* measure/trust/code_check: what is said of a row by its code alone, before it runs. */
#include "works.h"
#include "base/dtype.h"
#include "measure/trust/code_check.h"
#include <stdio.h>

#define ENTRY(name, body) ".visible .entry " name "(.param .u64 p)\n{\n" body "\nret;\n}\n"
#define F16 "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};"
#define TF32 "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f2};"

static struct step steps[3];
static struct program program;
static struct row row;

static enum dtype dtype = DTYPE_F32;

/* The row of these steps, all of one file, under a math mode and an algorithm; what its reason is, "" none. */
static const char *said(int count, const char *ptx, enum math math, const char *algorithm,
                        void (*ask)(const struct program *, const struct build *, struct row *))
{
    static struct tensor_role result = {.result = true}, input;
    static struct tensor tensors[2] = {{.role = &input}, {.role = &result}};
    static struct tensor_map map = {.buffer = {.kind = BUFFER_TENSOR, .index = 1}};
    struct device_image image = {.ptx = ptx};
    struct build build = {.images = &image, .count = 1};
    program.work = conv_work(64, 64, 20, 20, 3);
    program.work.dtype = dtype;
    program.work.math = math;
    program.algorithm = (char *)(uintptr_t)algorithm;
    program.steps = steps;
    program.step_count = count;
    program.tensors = tensors;
    program.tensor_count = 2;
    program.tensor_maps = &map;
    program.tensor_map_count = 1;
    free(row.reason);
    row = (struct row){.status = ROW_PLANNED};
    ask(&program, &build, &row);
    return row.reason ? row.reason : "";
}

static struct step kernel(const char *name, enum buffer_kind kind, int index)
{
    struct step s = {.kind = STEP_KERNEL, .arg_count = 1, .args = {{.kind = ARG_BUFFER, .buffer = {kind, index}, .name = "sums"}}};
    snprintf(s.name, sizeof s.name, "%s", name);
    return s;
}

static void lesser_types(void **state)
{
    const char *ptx = ENTRY("a", F16) ENTRY("b", TF32) ENTRY("c", "");
    steps[0] = kernel("c", BUFFER_SCRATCH, 0), steps[1] = kernel("a", BUFFER_SCRATCH, 0), steps[2] = kernel("b", BUFFER_SCRATCH, 0);
    assert_string_equal(said(1, ptx, MATH_F32, "direct", code_check_factors), "");
    assert_int_equal(row.status, ROW_PLANNED);
    assert_string_equal(said(3, ptx, MATH_F32, "direct", code_check_factors), /* the first that is not allowed */
                        "tensor cores multiply f16 in a, which is not allowed for f32 with algorithm `direct`");
    assert_int_equal(row.status, ROW_WRONG);
    steps[0] = steps[2]; /* were it the first */
    assert_non_null(strstr(said(1, ptx, MATH_F32, "direct", code_check_factors), "tf32 in b"));
    steps[0] = kernel("c", BUFFER_SCRATCH, 0);
    steps[1] = steps[2];
    assert_string_equal(said(2, ptx, MATH_F32, "winograd", code_check_factors),
                        "tensor cores multiply tf32 in b, which is not allowed for f32 with algorithm `winograd`");
    assert_string_equal(said(2, ptx, MATH_TF32, "direct", code_check_factors), "");
    assert_string_equal(said(2, ptx, MATH_F32, "split3", code_check_factors), "");
    dtype = DTYPE_E4M3; /* whose values these types hold; what is added up in is another question */
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_factors), "");
    steps[1] = kernel("a", BUFFER_SCRATCH, 0);
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_factors), "");
    dtype = DTYPE_F32;
    steps[1] = kernel("b", BUFFER_SCRATCH, 0);
    steps[1].kind = STEP_FILL; /* launches nothing */
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_factors), "");
    steps[0].kind = STEP_FILL, steps[1].kind = STEP_KERNEL; /* and what comes behind it is looked at */
    assert_non_null(strstr(said(2, ptx, MATH_F32, "direct", code_check_factors), "tf32 in b"));
}

static void overlapping_steps(void **state)
{
    const char *ptx = ENTRY("a", "griddepcontrol.launch_dependents;") ENTRY("b", "") ENTRY("waits", "griddepcontrol.wait;");
    const char *early =
        "b may start before a ends (pdl) and never waits for it (griddepcontrol.wait), so the content of `sums` is undefined";
    steps[0] = kernel("a", BUFFER_SCRATCH, 0), steps[1] = kernel("b", BUFFER_SCRATCH, 0);
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_waits), ""); /* one after the other */
    steps[1].pdl = true;
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_waits), early);
    assert_int_equal(row.status, ROW_UNSAFE);
    steps[1].args[0].buffer.index = 1; /* another buffer */
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_waits), "");
    steps[0].args[0].buffer = steps[1].args[0].buffer = (struct buffer_ref){.kind = BUFFER_TENSOR}; /* both read the input */
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_waits), "");
    steps[0].args[0].buffer = steps[1].args[0].buffer = (struct buffer_ref){.kind = BUFFER_TENSOR, .index = 1}; /* both write the output */
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_waits), early);
    steps[1].args[0].kind = ARG_TENSOR_MAP; /* through a map */
    steps[1].args[0].buffer = (struct buffer_ref){.kind = BUFFER_NONE};
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_waits), early);
    steps[0].args[0] = steps[1].args[0]; /* both */
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_waits), early);
    steps[0].args[0].kind = ARG_BUFFER;
    steps[0].args[0].buffer = (struct buffer_ref){.kind = BUFFER_TENSOR, .index = 1};
    steps[1].args[0].map = ARG_NO_MAP;
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_waits), "");
    steps[1] = kernel("waits", BUFFER_TENSOR, 1);
    steps[1].pdl = true;
    assert_string_equal(said(2, ptx, MATH_F32, "direct", code_check_waits), "");
    steps[2] = kernel("b", BUFFER_TENSOR, 1);
    steps[2].pdl = true;
    assert_non_null(strstr(said(3, ptx, MATH_F32, "direct", code_check_waits), "b may start before waits ends"));
    steps[1].kind = STEP_FILL; /* what is no kernel is done before the next begins */
    assert_string_equal(said(3, ptx, MATH_F32, "direct", code_check_waits), "");
    steps[1] = steps[0];
    steps[1].prepare = true; /* nor does a timed step begin while another run is prepared */
    assert_string_equal(said(3, ptx, MATH_F32, "direct", code_check_waits), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lesser_types), cmocka_unit_test(overlapping_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
