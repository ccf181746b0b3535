/* measure/trust/sequence: a row of a sequence, a program for one frame, run over all frames and checked. */
#pragma once

#include "measure/rig/build.h"
#include "measure/trust/sequence_source.h"
#include "measure/rig/vendor.h"

/* Frames and references are the same for every row of a sequence, also at another threshold, so they are kept from row to row. */
struct sequence {
    struct job *job;
    const struct vendor_library *library;
    struct sequence_source source;
};
void sequence_init(struct sequence *q, struct job *job, const struct vendor_library *library);
void sequence_close(struct sequence *q);
/* Runs a row over its frames. False (err): bench cannot get the frames, which is not the row's fault. The caller closes the rig. */
bool sequence_verify(struct sequence *q, int index, const struct build *build, struct row *row, struct rig **rig, struct error *err);

/* The state of running one row over the frames. */
struct frames_run {
    struct sequence *q;
    int index;
    const struct plan_row *p;
    struct sequence_source *source;
    struct rig *rig;
    struct row *row;
    bool nobodys;   /* no frame could be had */
    double *shares; /* by layer: of marked inputs, summed over the frames after the first */
    struct sequence_error error;
    uint64_t outputs; /* a sum of the last layer's bits in the frames that are checked */
};
bool sequence_begin(struct frames_run *r, struct sequence *q, int index, struct row *row, struct error *err);
/* Opens and feeds r->rig. */
bool sequence_open_rig(struct frames_run *r, const struct device_image *images, struct error *err);
/* ns: the device's time between two events, for everything that the frame needs; NULL: not timed. */
bool sequence_run_frame(struct frames_run *r, int frame, double *ns, struct error *err);
