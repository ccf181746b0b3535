/* measure/rig/vendor: the vendor's library in one process: open, described by another process, or missing with a reason. */
#pragma once

#include "device/cudnn/cudnn.h"
#include "measure/rig/rig.h"

struct vendor_library {
    struct cudnn *cudnn; /* NULL: it is not open */
    char error[512];     /* the reason; "": not tried yet */
    char *state;         /* identifies everything that stored choices depend on; NULL: the library is not open */
};
/* A stored choice stays valid until something changes that may make another plan the fastest. GPUs of one kind have the same state, so they
 * share their choices. malloc'd. */
char *vendor_state(const char *version, const struct device *dev, double power_limit_w);
/* Opens it once, on a device that keeps time. */
void vendor_open(struct vendor_library *l, struct device *dev);
/* The library as described by the process that owns the GPU, for a process that only compiles. NULL: no description. */
struct cudnn *vendor_described(struct vendor_library *l, const char *device, const char *state);
void vendor_close(struct vendor_library *l);
/* Like rig_open; `which`: the only plan that the library may use; NULL: any plan. */
bool vendor_open_rig(const struct vendor_library *l, struct device *dev, const struct program *program, const struct device_image *images,
                     bool keep_inputs, const struct library_plan *which, struct rig **rig, struct error *err);
