/* What the files of worker/sequence share. */
#ifndef BENCH_WORKER_SEQUENCE_PRIVATE_H
#define BENCH_WORKER_SEQUENCE_PRIVATE_H

#include "base/frames.h"
#include "base/hash.h"
#include "device/compile/compile.h"
#include "plan/sequence.h"
#include "worker/private.h"

/* One layer of a sequence: the work as it stands in the scenario at the size that flows, and its weights. */
struct sequence_layer {
    struct work work;
    struct op_data data; /* filter and bias; the input of the first layer is frame 0 */
    double slope;        /* of its activation for negative values; 1 without one */
};
/* The frames, and what the dense network makes of each in double. */
struct sequence_source {
    const struct scenario_sequence *q;
    struct sequence_layer *layers;
    int count, frame;  /* frame: of `now` */
    float *base, *now; /* n,c,h,w: without and with noise; values that the dtype holds */
    size_t elements;
    struct frames *video;
    bool failed; /* no frame could be had: nobody's row, but the sequence's fault */
    size_t outputs;
    bool large; /* fewer frames are looked at */
    /* Made once, for every row of the sequence; NULL: not yet. */
    float **frames;
    double **references; /* of the last layer */
};
bool source_open(const struct scenario *s, const struct scenario_sequence *q, const char *device_kind, struct sequence_source *out,
                 struct error *err);
void source_close(struct sequence_source *s);
/* Back to frame 0, or to the next one: fills `now`. */
bool source_first(struct sequence_source *s, struct error *err);
bool source_next(struct sequence_source *s, struct error *err);
/* Frames whose result and masks are looked at: 0, powers of two, the last; of a large sequence 0, 1 and the last. */
bool source_judged(const struct sequence_source *s, int frame);

/* The largest and the root mean square error so far, over the root mean square of the dense result of the frame; and of which frame the
 * largest is. */
struct sequence_error {
    double largest, rms;
    int frame;
    bool finite;
};
/* `got`: n,k,p,q of the frame in `now`. */
bool source_judge(struct sequence_source *s, const float *got, struct sequence_error *e, struct error *err);

struct stage {
    struct work work; /* sparse: the convolution alone, every pixel maybe marked; dense: the layer */
    struct program program;
    struct build build;
    struct rig *rig;
    uint64_t input, output, mask_in, mask_out, sum, sent;
    uint64_t second, mask_second, stored; /* of an add or concat; of a maximum: the values so far */
    double share;                         /* of marked inputs, summed over the frames after the first */
};
/* One variant on one sequence. */
struct runner {
    struct worker *w; /* NULL: it is only bound */
    const struct plan *plan;
    bool library; /* there is cuDNN */
    int row;      /* what stages are announced for */
    struct sequence_source *source;
    const struct variant_point *point;
    bool sparse, zero;
    bool unavailable; /* a variant cannot run on this device */
    struct stage *stages;
    int count;
    struct compiled code;
    struct device_module *module;
    struct device_function *sparsify, *truncate, *hand_over, *accumulate;
    uint64_t frame, sent; /* device: the frame in f32, and what of it was sent */
    int64_t state_bytes;
    double *frame_ns; /* by frame */
    struct sequence_error error;
    struct hash *outputs;        /* the last layer's bits in the frames that are looked at; NULL: not begun, or ended */
    struct text others;          /* "conv2d/sparse_naive on head": layers that the row's variant cannot do */
    struct variant_point **kept; /* theirs */
    int kept_count;
};

/* sequence_run.c */
/* False on an error; *why set (caller frees): the variant can do no layer, or one has nobody. */
bool runner_bind(struct runner *r, char **why, struct error *err);
bool runner_open(struct runner *r, struct error *err);
/* All frames from the first: times, marked shares and errors into the runner. ERROR_WRONG: an out-mask is not the dilation of the in-mask.
 */
bool runner_frames(struct runner *r, struct error *err);
void runner_close(struct runner *r);
/* What a runner that is bound compiles, one after another. */
bool runner_compiles(const struct runner *r, sequence_compile take, void *context, struct error *err);
void runner_unbind(struct runner *r);

#endif
