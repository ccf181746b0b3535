/* cli/emulate_device: a launch of bench emulate as an op, a head and a scenario. */
#pragma once

#include "base/text.h"
#include "measure/emulate/emulate.h"

struct emulate_launch_of {
    const char *source, *launch, *name; /* absolute path of the .cu or .ptx; that of the YAML; the kernel's plain name */
    const char *const *defines;
    int define_count;
    const char *compiler;
    const char *dir; /* where its files are written */
    int points, point;
    struct text layers, variants; /* of the scenario; the caller frees them */
};
/* One launch of the sweep, as emu ran it with `keep`. */
bool emulate_device_add(struct emulate_launch_of *of, const struct emulate_result *r, struct error *err);
/* Runs them all on `device`; the exit code. */
int emulate_device_run(struct emulate_launch_of *of, const char *device, const char *out, const char *line);
