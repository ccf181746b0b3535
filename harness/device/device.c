#include "device/device.h"
#include <stdlib.h>

void device_close(struct device *dev)
{
    if (!dev)
        return;
    dev->ops->close(dev);
    free(dev);
}

void device_sample_free(struct device_sample *sample)
{
    for (int i = 0; i < sample->count; i++) {
        free(sample->groups[i].counts);
        free(sample->groups[i].path);
    }
    free(sample->groups);
    *sample = (struct device_sample){0};
}
