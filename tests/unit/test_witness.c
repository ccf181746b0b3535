/* measure/verify/reference_cross_check: some blocks of a file's reference kernel are interpreted and compared. The device that runs it is
 * emu here, too, with a fault planted in what is read back from it. */
#include "works.h"
#include "base/file.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/verify/reference.h"
#include "run/child/devices.h"
#include "op/reference/data.h"
#include "op/file/ops.h"

static struct device *dev, *witness;
static struct device_ops faulty;
static bool (*honest_read)(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err);
static size_t fault_bytes, fault_at; /* reading so many bytes, that double comes back as another one */

static bool read_faulty(struct device *d, uint64_t address, void *to, size_t bytes, struct error *err)
{
    bool ok = honest_read(d, address, to, bytes, err);
    if (ok && d == dev && bytes == fault_bytes)
        ((double *)to)[fault_at] *= 1 + 0x1p-20; /* less than a float holds */
    return ok;
}

static struct work wide(const char *op, enum dtype dtype, int64_t first, int64_t second)
{
    struct work w = {.op = op_find(op), .dtype = dtype, .layout = LAYOUT_LINEAR, .seed = 5};
    w.value[0] = first;
    w.value[1] = second;
    finish(&w);
    return w;
}

static bool reference_of(const struct work *w, struct error *err)
{
    struct op_data data;
    bool ok = reference_data_make(dev, NULL, w, DATA_PART_PRECISION, &data, err);
    if (ok)
        op_data_free(&data);
    return ok;
}

static void need_compiler(void)
{
    char version[96];
    if (!compile_version(NULL, version, sizeof version, NULL))
        skip();
}

static void blocks_are_held(void **state)
{
    need_compiler();
    struct work few = wide("softmax", DTYPE_F16, 300, 40),
                many = wide("transpose", DTYPE_F16, 70, 130); /* three blocks of rows; more than are interpreted */
    struct error err = {0};
    fault_bytes = 0;
    if (!reference_of(&few, &err) || !reference_of(&many, &err))
        fail_msg("%s", err.text);
    const struct {
        const struct work *work;
        size_t elements, at;
    } faults[] = {
        {&few, 300 * 40, 0}, {&few, 300 * 40, 300 * 40 - 1}, {&few, 300 * 40, 5000}, {&many, 70 * 130, 0}, {&many, 70 * 130, 70 * 130 - 1}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        fault_bytes = faults[i].elements * sizeof(double);
        fault_at = faults[i].at;
        error_clear(&err);
        assert_false(reference_of(faults[i].work, &err));
        assert_non_null(strstr(err.text, "compared with emu"));
        assert_non_null(strstr(err.text, "on the device, but"));
    }
    struct work again = few; /* further sets of a case are trusted for the first one */
    again.set_seed = 3;
    if (!reference_of(&again, &err))
        fail_msg("%s", err.text);
}

/* A reference that never ends: it is told at its line before it is launched there, where nothing could end it. */
static int launches;
static bool (*honest_launch)(struct device *dev, struct device_function *function, const struct device_launch *launch, struct error *err);
static bool launch_counted(struct device *d, struct device_function *function, const struct device_launch *launch, struct error *err)
{
    launches += d == dev;
    return honest_launch(d, function, launch, err);
}

static double told_s;
static char *told;
static void take_told(void *context, double limit_s, const struct error *late)
{
    told_s = late ? limit_s : told_s;
    char *more = text_format("%s%s", told ? told : "", late ? late->text : "; over");
    free(told);
    told = more;
}

static void an_endless_one_is_never_launched(void **state)
{
    need_compiler();
    struct work ends = wide("spins", DTYPE_F32, 33, 0), spins = wide("spins", DTYPE_F32, 32, 0);
    struct error err = {0};
    fault_bytes = 0;
    launches = 0;
    dev->endless = take_told;
    if (!reference_of(&ends, &err))
        fail_msg("%s", err.text);
    assert_int_equal(launches, 1);
    assert_true(told_s > 0);
    assert_non_null(strstr(told, "/spins.yaml:6: kernel spins of spins.cu did not end within "));
    assert_non_null(strstr(told, "; over"));
    free(told);
    told = NULL;
    assert_false(reference_of(&spins, &err));
    assert_int_equal(launches, 1);
    assert_null(told);
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.text, "the reference of spins: on emu: time_limit: "));
    assert_non_null(strstr(err.text, "spins.cu:4"));
    dev->endless = NULL;
}

static char dir[] = "/tmp/bench_unit_XXXXXX";
static const char op_text[] = "about: a copy\nfields: {cols: {what: columns}}\ntensors:\n  input: {shape: [cols]}\n"
                              "  output: {shape: [cols], written: yes}\n"
                              "reference: {kernel: spins, threads: cols, args: [input, output, cols]}\ntrial: {usual: {cols: 32}}\n",
                  code_text[] = "extern \"C\" __global__ void spins(const float *input, double *output, int cols)\n{\n"
                                "    int i = blockIdx.x * 128 + threadIdx.x, stay = cols % 32 == 0;\n"
                                "    while (stay) asm volatile(\"\");\n    if (i < cols) output[i] = input[i];\n}\n";

static int set_up(void **state)
{
    struct error err = {0};
    if (!mkdtemp(dir))
        return -1;
    SCOPED char *op = text_format("%s/spins.yaml", dir), *code = text_format("%s/spins.cu", dir);
    const char *const extra[] = {dir, NULL};
    if (!file_write(op, op_text, strlen(op_text), &err) || !file_write(code, code_text, strlen(code_text), &err) || !op_load(extra, &err) ||
        !device_open("emu:GH100", &dev, &err) || !device_open("emu:GH100", &witness, &err)) {
        print_message("%s\n", err.text);
        return -1;
    }
    faulty = *dev->ops;
    honest_read = faulty.read;
    faulty.read = read_faulty;
    honest_launch = faulty.launch;
    faulty.launch = launch_counted;
    dev->ops = &faulty;
    dev->witness = witness;
    return 0;
}

static int tear_down(void **state)
{
    device_close(dev);
    device_close(witness);
    SCOPED char *command = text_format("rm -rf '%s'", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_are_held), cmocka_unit_test(an_endless_one_is_never_launched)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
