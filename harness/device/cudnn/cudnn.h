/* device/cudnn/cudnn: convolution with fused bias and activation through cuDNN's backend API, loaded at run time; every plan its heuristics
 * offer. */
#ifndef BENCH_DEVICE_CUDNN_CUDNN_H
#define BENCH_DEVICE_CUDNN_CUDNN_H

#include "base/dtype.h"
#include "device/device.h"

struct cudnn_conv { /* what the graph computes: y = activation(conv(x, w) + bias + residual) */
    int64_t n, c, h, w, k, r, s, p, q;
    int64_t d, t, o; /* input, filter and output depth; d 0: two dimensions. h and p are then rows of one plane */
    int64_t stride, pad, dilation, groups;
    enum dtype dtype;   /* x, w, y, residual; bias is f32. Of i8 x and w: sums are i32, y and residual f32 */
    enum layout layout; /* NHWC (filter KRSC) or NCHW (filter KCRS) */
    enum math math;     /* f32 drops TENSOR_CORE and DOWN_CONVERT engines; tf32 keeps TENSOR_CORE without DOWN_CONVERT on f32 data */
    bool bias, residual;
    int activation; /* 0 none, 1 relu, 2 leaky relu */
    double alpha;   /* leaky relu */
};
struct cudnn; /* a handle on a device */
struct cudnn_plan;
struct cudnn_plan_facts {
    char text[256]; /* "engine 62 TILE_SIZE=4 CGA_M=8" */
    int engine;
    char mode; /* 'A', 'B' or 'F': the heuristic mode that offered it */
    int rank;  /* in that mode, 0 first */
    uint64_t workspace_bytes;
    char notes[128]; /* "TENSOR_CORE" ... */
    bool compiled;   /* its kernel is compiled when the plan is made */
};
bool cudnn_open(struct device *dev, struct cudnn **handle, struct error *err);
void cudnn_close(struct cudnn *handle);
void cudnn_version(const struct cudnn *handle, char *out, size_t bytes);
/* The GPU of a handle as cuDNN describes it, for cudnn_describe in another process; NULL where it does not. malloc'd. */
char *cudnn_device(struct cudnn *handle);
/* A handle for a GPU that is only described: plans can be made, not run. */
bool cudnn_describe(const char *device, struct cudnn **handle, struct error *err);
/* Compiles what cudnn_plans for that graph, of `most` plans, is going to want compiled: of these the ones of number `part` of `parts`, that
 * several processes can share. What is made finds its way through the compiler's cache. */
void cudnn_compile(struct cudnn *handle, const struct cudnn_conv *conv, int most, int part, int parts);
/* A plan as rows tell it: "engine 62 TILE_SIZE=4, mode A rank 1,". malloc'd. */
char *cudnn_plan_text(const struct cudnn_plan_facts *facts);
/* From here on cudnn_plans makes no plan but this: making one takes up to half a second, where its kernel is compiled then. NULL: all
 * again. Borrowed. */
void cudnn_only(struct cudnn *handle, const struct library_plan *which);
/* All plans of modes A, B and FALLBACK that finalize and obey the math mode, duplicates dropped, at most `most`. 0 with err when the graph
 * is not supported. */
int cudnn_plans(struct cudnn *handle, const struct cudnn_conv *conv, int most, struct cudnn_plan ***plans, struct error *err);
/* An engine that was hopelessly slow for a convolution is so for others of the same types, layout, math mode and filter that have no fewer
 * channels and outputs: the slowest, one output a thread say, take 1400 times the fastest's time, half a second. Kept as long as the
 * handle. */
void cudnn_mark_slow(struct cudnn *handle, const struct cudnn_conv *conv, int engine);
bool cudnn_is_slow(const struct cudnn *handle, const struct cudnn_conv *conv, int engine);
/* Makes them now for the next who asks for as many. */
void cudnn_prefetch(struct cudnn *handle, const struct cudnn_conv *conv, int most);
/* The same engine and knobs for an equal convolution with other addresses: a plan keeps what belongs to its own (a bias in 16 bits). Made
 * once. NULL on error. */
struct cudnn_plan *cudnn_plan_again(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *like,
                                    struct error *err);
/* Which plan timing found the fastest of `among` for a convolution, kept as long as the handle, so that the layers of a chain and its other
 * chains need not search again, and on disk (cudnn_open_choices), so that the next run need not. cudnn_chosen: NULL when none was kept. */
struct cudnn_choice {
    struct cudnn_conv conv;
    struct cudnn_plan_facts facts; /* of one from the disk: text, mode and notes, which are what cudnn_plan_again asks for */
    int among;
    char raced[16]; /* "2026-11-23": by an earlier run, on that day (UTC); "": by this one */
};
void cudnn_choose(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts, int among);
const struct cudnn_choice *cudnn_chosen(struct cudnn *handle, const struct cudnn_conv *conv);
/* The choice no longer holds, as when cuDNN does not offer the plan any more: the next cudnn_choose replaces it. */
void cudnn_drop_choice(struct cudnn *handle, const struct cudnn_conv *conv);
/* From here on choices are taken from disk and kept there. `state` is all that may make another plan the fastest: the library's version,
 * driver, GPU, its clocks and power limit; choices made under another state are not found. */
void cudnn_open_choices(struct cudnn *handle, const char *state);
bool cudnn_conv_same(const struct cudnn_conv *a, const struct cudnn_conv *b);
/* cudnn_plan_again is going to ask for this plan of cudnn_plans: it stays as long as the handle. */
void cudnn_keep(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan *plan);
void cudnn_plan_free(struct cudnn_plan *plan);
const struct cudnn_plan_facts *cudnn_plan_facts(const struct cudnn_plan *plan);
/* cuDNN's precompiled engines want the bias of 16-bit data in 16 bits (BIAS_NARROWED in notes): a copy is kept, rounded to nearest. Without
 * this call cudnn_execute converts anew every time, inside the time. To be called after every write to the bias; serves all plans of one
 * cudnn_plans. */
bool cudnn_prepare(struct cudnn *handle, const struct cudnn_plan *plan, uint64_t bias, struct error *err);
/* Queues it on the device's stream. Unused addresses are 0. */
bool cudnn_execute(struct cudnn *handle, const struct cudnn_plan *plan, uint64_t x, uint64_t w, uint64_t y, uint64_t bias,
                   uint64_t residual, uint64_t workspace, struct error *err);

#endif
