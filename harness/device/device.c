#include "device/device.h"
#include <stdlib.h>

void device_close(struct device *dev)
{
    if (!dev)
        return;
    dev->ops->close(dev);
    free(dev);
}
