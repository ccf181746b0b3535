/* measure/reference_witness: a file's reference kernel is held to some of its blocks, interpreted. The device that runs it is emu too here,
 * with a fault planted in what is read back from it. */
#include "works.h"
#include "device/compile/compile.h"
#include "measure/reference.h"
#include "worker/devices.h"

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

static struct work wide(const char *op, int64_t first, int64_t second)
{
    struct work w = {.op = op_find(op), .dtype = DTYPE_F16, .layout = LAYOUT_LINEAR, .seed = 5};
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
    struct work few = wide("softmax", 300, 40), many = wide("transpose", 70, 130); /* three blocks of rows; more than are interpreted */
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
        assert_non_null(strstr(err.text, "held to emu"));
        assert_non_null(strstr(err.text, "on the device, and"));
    }
    struct work again = few; /* further sets of a case are trusted for the first one */
    again.set_seed = 3;
    if (!reference_of(&again, &err))
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    struct error err = {0};
    if (!op_load(NULL, &err) || !device_open("emu:GH100", &dev, &err) || !device_open("emu:GH100", &witness, &err))
        return -1;
    faulty = *dev->ops;
    honest_read = faulty.read;
    faulty.read = read_faulty;
    dev->ops = &faulty;
    dev->witness = witness;
    return 0;
}

static int tear_down(void **state)
{
    device_close(dev);
    device_close(witness);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_are_held)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
