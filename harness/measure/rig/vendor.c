#include "measure/rig/vendor.h"
#include "base/text.h"
#include "device/cuda/nvml.h"
#include <stdio.h>
#include <stdlib.h>

char *vendor_state(const char *version, const struct device *dev, double power_limit_w)
{
    return text_format("%s, driver %s, %s, SM at %.0f MHz at most, power limit %.0f W", version, dev->driver, dev->about,
                       dev->chip.clock_max_hz / 1e6, power_limit_w);
}

static void remember_plans(struct vendor_library *l, struct device *dev)
{
    char version[128];
    struct nvml_sample s = {.power_limit_w = -1};
    struct error ignored = {0};
    cudnn_version(l->cudnn, version, sizeof version);
    if (nvml_open(&ignored))
        nvml_read(dev->uuid, &s);
    free(l->state);
    l->state = vendor_state(version, dev, s.power_limit_w);
    cudnn_open_choices(l->cudnn, l->state);
}

void vendor_open(struct vendor_library *l, struct device *dev)
{
    struct error err = {0};
    if (l->cudnn || l->error[0] || !dev->ops->keeps_time)
        return;
    if (!cudnn_open(dev, &l->cudnn, &err))
        snprintf(l->error, sizeof l->error, "%.500s", err.text);
    else
        remember_plans(l, dev);
}

struct cudnn *vendor_described(struct vendor_library *l, const char *device, const char *state)
{
    struct error ignored = {0};
    if (l->cudnn || l->error[0] || !device || !*device || !state || !*state)
        return l->cudnn;
    if (cudnn_describe(device, &l->cudnn, &ignored))
        cudnn_open_choices(l->cudnn, state);
    else
        snprintf(l->error, sizeof l->error, "%.500s", ignored.text);
    return l->cudnn;
}

void vendor_close(struct vendor_library *l)
{
    if (l->cudnn)
        cudnn_close(l->cudnn);
    free(l->state);
    *l = (struct vendor_library){0};
}

bool vendor_open_rig(const struct vendor_library *l, struct device *dev, const struct program *program, const struct device_image *images,
                     bool keep_inputs, const struct library_plan *which, struct rig **rig, struct error *err)
{
    if (l->cudnn)
        cudnn_only(l->cudnn, which);
    bool ok = rig_open(dev, l->cudnn, program, images, keep_inputs, rig, err);
    if (l->cudnn)
        cudnn_only(l->cudnn, NULL);
    return ok;
}
