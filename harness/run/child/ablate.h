/* run/child/ablate: what a row costs without its parts. */
#ifndef BENCH_RUN_CHILD_ABLATE_H
#define BENCH_RUN_CHILD_ABLATE_H

#include "measure/rig/build.h"
#include "measure/verify/data.h"
#include "measure/rig/vendor.h"

struct ablator {
    struct job *job;
    struct data_store *data;
    const struct vendor_library *library;
};
/* The costs, as metrics of `out`; its status stays as it is. */
bool ablation_run(const struct ablator *of, int index, struct row *out, struct error *err);

#endif
