/* emu/device/module: the modules of a device, and what was decoded of modules that a device has unloaded. */
#pragma once

#include "device/device.h"
#include "emu/exec.h"

struct device_module {
    struct ptx_module *ptx;
    struct device_function *functions;
    struct device_module *next; /* unloaded before it */
    char *label, *path, *text;
    size_t bytes; /* of the text */
};
struct device_function {
    struct program *program;
    struct param *params;
    int param_count;
    bool skips_sums; /* of tensor instructions */
    const char *isa;
    struct device_module *module;
    struct device_function *next;
};

/* NULL + err. A module whose code has no address of a variable is kept decoded when it is unloaded, for the next load of the same text. */
struct device_module *module_load(struct address_space *space, const struct device_image *image, struct error *err);
void module_unload(struct address_space *space, struct device_module *module);
struct device_function *module_function(struct device_module *module, const char *name, bool skips_sums, struct error *err);
