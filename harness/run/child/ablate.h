/* run/child/ablate: what a row costs without its parts. */
#ifndef BENCH_WORKER_ABLATE_H
#define BENCH_WORKER_ABLATE_H

#include "run/child/build.h"
#include "run/child/data.h"
#include "run/child/vendor.h"

struct ablator {
    struct job *job;
    struct data_store *data;
    const struct vendor_library *library;
};
/* The costs, as metrics of `out`; its status stays as it is. */
bool ablation_run(const struct ablator *of, int index, struct row *out, struct error *err);

#endif
