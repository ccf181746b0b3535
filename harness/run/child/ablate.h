/* run/child/ablate: measures how much time a row's parts take. */
#pragma once

#include "measure/rig/build.h"
#include "measure/verify/data.h"
#include "measure/rig/vendor.h"

struct ablator {
    struct job *job;
    struct data_store *data;
    const struct vendor_library *library;
};
/* Adds the costs as metrics to `out`; its status does not change. */
bool ablation_run(const struct ablator *of, int index, struct row *out, struct error *err);
