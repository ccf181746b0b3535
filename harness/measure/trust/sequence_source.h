/* measure/trust/sequence_source: the frames of a sequence, generated from a seed or read from a video, and the dense result of each on the
 * CPU.
 */
#pragma once

#include "base/frames.h"
#include "op/chain/chain.h"
#include "op/op.h"
#include "plan/rows/plan.h"

#define SEQUENCE_HOST_LIMIT_S 600.0 /* to make the weights, a frame and its dense result in double */

/* The frames and their dense results in double: the same for every row of a sequence. */
struct sequence_source {
    const struct scenario_sequence *q;
    const struct chain *layers;
    struct op_data *data; /* by layer: filter and bias; the first layer's input is frame 0 */
    int frame;            /* of `now` */
    float *base, *now;    /* n,c,h,w: without and with noise; values that the dtype holds. `now` is the kept frame, or `own` */
    float *own;           /* where frames are not kept */
    size_t elements;
    bool keeps;
    struct frames *video;
    size_t outputs;
    bool large; /* too large to check many frames */
    /* Made once, for every row of the sequence; NULL: not yet. */
    float **frames;
    unsigned char *
        *stored; /* the frames in the formats that dense and sparse rows read; only the first two, of `now`, if frames are not kept */
    double **references; /* of the last layer */
};
bool source_open(const struct sequence_row *row, struct sequence_source *out, struct error *err);
void source_close(struct sequence_source *s);
/* True if the row has the frames and the layers of this open source; it may differ in threshold, truncation and bound. */
bool source_is_of(const struct sequence_source *s, const struct sequence_row *row);
/* Sets `now`: frame 0, or the next frame. An error is the sequence's fault, not a row's. */
bool source_take(struct sequence_source *s, int frame, struct error *err);
/* The frame in `now` as the rows' input tensor stores it; all dense rows of a sequence store it alike, and all sparse rows. */
const void *source_stored(struct sequence_source *s, const struct tensor *input, bool sparse);
/* Frames whose result and masks are checked: 0, powers of two, the last; for a large sequence 0, 1 and the last. */
bool source_judged(const struct sequence_source *s, int frame);

/* The largest and the root mean square error so far, relative to the root mean square of the frame's dense result; and the frame with
 * the largest error. */
struct sequence_error {
    double largest, rms;
    int frame;
    bool finite;
};
/* `got`: n,k,p,q of the frame in `now`; values below 0 count times `slope`. */
bool source_judge(struct sequence_source *s, const float *got, float slope, struct sequence_error *e, struct error *err);
