/* PTX on the interpreter: whatever loads is launched with 32 threads, zero parameters and a short time limit. */
#include "device/device.h"
#include "fuzz/common.h"
#include <string.h>

static void launch(struct device *dev, struct device_module *module, const char *name)
{
    struct error err = {0};
    struct device_function *function = NULL;
    if (!dev->ops->function(dev, module, name, &function, &err)) {
        must_explain(&err);
        return;
    }
    const struct param *params = NULL;
    size_t param_bytes = 0;
    if (dev->ops->signature(dev, function, &params, &param_bytes) < 0 || param_bytes > 1u << 16)
        return;
    void *zero = calloc(1, param_bytes + 1);
    struct device_launch l = {.grid = {1, 1, 1},
                              .block = {32, 1, 1},
                              .cluster = {1, 1, 1},
                              .carveout = -1,
                              .params = zero,
                              .param_bytes = param_bytes,
                              .time_limit_s = 0.5};
    if (!dev->ops->launch(dev, function, &l, &err) || !dev->ops->sync(dev, &err))
        must_explain(&err);
    const struct device_report *reports = NULL;
    dev->ops->reports(dev, &reports);
    dev->ops->clear(dev);
    free(zero);
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    struct device *dev = NULL;
    char *ptx = malloc(bytes + 1), **names = NULL;
    if (!ptx || !device_open("emu", &dev, &err))
        abort();
    memcpy(ptx, data, bytes);
    ptx[bytes] = '\0';
    int count = device_ptx_entries(ptx, &names);
    struct device_image image = {.label = "fuzz", .path = "fuzz.cu", .ptx = ptx, .ptx_bytes = strlen(ptx)};
    struct device_module *module = NULL;
    if (dev->ops->load(dev, &image, &module, &err)) {
        for (int i = 0; i < count && i < 4; i++)
            launch(dev, module, names[i]);
        dev->ops->unload(dev, module);
    } else {
        must_explain(&err);
    }
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    device_close(dev);
    free(ptx);
}
