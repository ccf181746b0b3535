#include "run/child/devices.h"
#include "base/spec.h"
#include "base/text.h"
#include "device/cuda/cuda.h"
#include "emu/device/emu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* To add a device, add its ops here and its name to the contract of device_open. */
const struct device_ops *const device_table[] = {&cuda_device, &emu_device, NULL};

/* Hooks that every device must have; only devices that keep time need the time hooks. A missing hook would crash in the middle of a run. */
static const char *missing_hook(const struct device_ops *o)
{
    if (!(o->open && o->close && o->alloc && o->release && o->write && o->read && o->fill && o->copy))
        return "a buffer hook";
    if (!(o->load && o->unload && o->function && o->signature && o->symbol && o->tensor_map && o->launch && o->sync))
        return "a code hook";
    if (o->keeps_time && !(o->event && o->event_free && o->record && o->elapsed && o->flush))
        return "a time hook";
    if (o->keeps_time && !(o->graph_begin && o->graph_end && o->graph_launch && o->graph_free))
        return "a graph hook";
    return NULL;
}

const char *device_choose(const char *device, const char *emu, char *why, size_t why_bytes)
{
    if (!device && device_cuda_present(why, why_bytes))
        return "cuda:0";
    return emu ? emu : device ? device : "emu";
}

bool device_open(const char *spec, struct device **dev, struct error *err)
{
    const char *names[8];
    size_t count = 0;
    const struct device_ops *ops = NULL;
    for (int i = 0; device_table[i]; i++) {
        names[count++] = device_table[i]->name;
        if (spec_is(spec, device_table[i]->name))
            ops = device_table[i];
    }
    if (!ops) {
        SCOPED char *kind = xstrndup(spec, strcspn(spec, ":"));
        const char *near = text_nearest(kind, names, count);
        error_set(err, ERROR_USAGE, "no such device: '%s'", spec);
        error_hint(err, "%s%s%scuda, cuda:1 (a GPU) or emu, emu:GH100 (the embedded interpreter)", near ? "did you mean " : "",
                   near ? near : "", near ? "? " : "");
        return false;
    }
    const char *hole = missing_hook(ops);
    if (ops->version != DEVICE_OPS_VERSION || hole)
        return error_set(err, ERROR_INTERNAL, "device %s was built for another version of bench: %s", ops->name, hole ? hole : "version");
    struct device *d = xcalloc(1, sizeof *d);
    d->ops = ops;
    if (!ops->open(d, spec_option(spec), err)) {
        free(d);
        return error_where(err, "device %s", spec);
    }
    if (!d->spec[0])
        snprintf(d->spec, sizeof d->spec, "%s", spec);
    *dev = d;
    return true;
}
