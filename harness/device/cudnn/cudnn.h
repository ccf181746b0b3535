/* device/cudnn/cudnn: convolution with fused bias and activation through cuDNN's backend API, loaded at run time; every plan its heuristics
 * offer. */
#pragma once

#include "base/dtype.h"
#include "device/device.h"

/* What a graph ends with; the values are part of stored choices. */
enum cudnn_activation {
    CUDNN_NOTHING,
    CUDNN_RELU,
    CUDNN_LEAKY_RELU,
    CUDNN_SILU,
    CUDNN_SIGMOID,
    CUDNN_TANH,
    CUDNN_GELU,
    CUDNN_GELU_TANH,
    CUDNN_CLIP
};
struct cudnn_conv { /* the graph: y = activation(scale * (conv(x, w) + bias) + residual) */
    int64_t n, c, h, w, k, r, s, p, q;
    int64_t d, t, o; /* input, filter and output depth; d 0: two dimensions. h and p are then rows of one plane */
    int64_t stride, pad, dilation, groups;
    int64_t more_stride[3], more_dilation[3], more_before[3], more_after[3]; /* of z, y, x: how much more than the number for all */
    int64_t pitch[3];   /* of x, y and residual, NHWC: channels of the tensor of which they are a slice; 0: they lie alone */
    enum dtype dtype;   /* x, w, y, residual; bias is f32. Of i8 x and w: sums are i32, y and residual f32 */
    enum layout layout; /* NHWC (filter KRSC) or NCHW (filter KCRS) */
    enum math math;     /* f32 drops TENSOR_CORE and DOWN_CONVERT engines; tf32 keeps TENSOR_CORE without DOWN_CONVERT on f32 data */
    bool bias, residual;
    enum cudnn_activation activation;
    double alpha, most; /* slope of leaky relu; limits of clip */
    double scale;       /* 0: 1 */
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
    bool compiled;   /* cuDNN compiles its kernel when the plan is made */
};
/* False: the plan transforms its operands (FFT, Winograd), so its sums of small integers need not be exact. */
bool cudnn_plan_sums(const struct cudnn_plan_facts *facts);
bool cudnn_open(struct device *dev, struct cudnn **handle, struct error *err);
void cudnn_close(struct cudnn *handle);
void cudnn_version(const struct cudnn *handle, char *out, size_t bytes);
/* The GPU of a handle in cuDNN's description, for cudnn_describe in another process; NULL if cuDNN gives none. malloc'd. */
char *cudnn_device(struct cudnn *handle);
/* A handle for a described GPU: it can make plans, but not run them. */
bool cudnn_describe(const char *device, struct cudnn **handle, struct error *err);
/* Compiles the plans that cudnn_plans would need compiled for that graph with `most` plans: those of number `part` of `parts`, so that
 * several processes can share the work. The results go through the compiler's cache. */
void cudnn_compile(struct cudnn *handle, const struct cudnn_conv *conv, int most, int part, int parts);
/* A plan as text for rows: "engine 62 TILE_SIZE=4, mode A rank 1,". malloc'd. */
char *cudnn_plan_text(const struct cudnn_plan_facts *facts);
/* From now on cudnn_plans returns only this plan: making one takes up to half a second if cuDNN compiles its kernel. NULL: all plans again.
 * Borrowed. */
void cudnn_only(struct cudnn *handle, const struct library_plan *which);
/* All plans of the heuristic modes A, B and FALLBACK that finalize and obey the math mode, without duplicates, at most `most`. 0 with err
 * if the graph is not supported. */
int cudnn_plans(struct cudnn *handle, const struct cudnn_conv *conv, int most, struct cudnn_plan ***plans, struct error *err);
/* Marks an engine as far too slow for a convolution, and so for others with the same types, layout, math mode and filter and at least as
 * many channels and outputs. The slowest engines, with one output a thread for example, take 1400 times the fastest's time: half a second.
 * Kept as long as the handle. */
void cudnn_mark_slow(struct cudnn *handle, const struct cudnn_conv *conv, int engine);
bool cudnn_is_slow(const struct cudnn *handle, const struct cudnn_conv *conv, int engine);
/* Makes the plans now; the next cudnn_plans with the same arguments returns them. If `compiles` is false, it does so only if no kernel must
 * be compiled, or no process can compile for another. */
void cudnn_prefetch(struct cudnn *handle, const struct cudnn_conv *conv, int most, bool compiles);
/* A plan with the same engine and knobs for an equal convolution at other addresses, with its own copy of what belongs to the addresses (a
 * 16-bit bias). Made once. NULL on error. */
struct cudnn_plan *cudnn_plan_again(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *like,
                                    struct error *err);
/* The plan that timing found fastest of `among` for a convolution. Kept as long as the handle, so that the layers of a chain need not
 * search again, and on disk (cudnn_open_choices) for later runs. cudnn_chosen: NULL if none is kept. */
struct cudnn_choice {
    struct cudnn_conv conv;
    struct cudnn_plan_facts facts; /* if read from disk: text, mode and notes only, which cudnn_plan_again needs */
    int among;
    char raced[16]; /* the day (UTC) of the earlier run that chose it; "": this run */
};
void cudnn_choose(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts, int among);
const struct cudnn_choice *cudnn_chosen(struct cudnn *handle, const struct cudnn_conv *conv);
/* Drops a choice, as when cuDNN no longer offers the plan; the next cudnn_choose replaces it. */
void cudnn_drop_choice(struct cudnn *handle, const struct cudnn_conv *conv);
/* Reads choices from disk and keeps them there from now on. `state` names everything that may make another plan the fastest: library
 * version, driver, GPU, its clocks and power limit. Choices made under another state are ignored. */
void cudnn_open_choices(struct cudnn *handle, const char *state);
bool cudnn_conv_same(const struct cudnn_conv *a, const struct cudnn_conv *b);
/* Keeps this plan of cudnn_plans as long as the handle, for cudnn_plan_again. */
void cudnn_keep(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan *plan);
void cudnn_plan_free(struct cudnn_plan *plan);
const struct cudnn_plan_facts *cudnn_plan_facts(const struct cudnn_plan *plan);
/* cuDNN's precompiled engines need the bias of 16-bit data in 16 bits (BIAS_NARROWED in notes), so the plan keeps a copy, rounded to
 * nearest. Call this after every write to the bias; otherwise each cudnn_execute converts it, inside the measured time. One call serves
 * all plans of a cudnn_plans. */
bool cudnn_prepare(struct cudnn *handle, const struct cudnn_plan *plan, uint64_t bias, struct error *err);
/* Queues it on the device's stream. Unused addresses are 0. */
bool cudnn_execute(struct cudnn *handle, const struct cudnn_plan *plan, uint64_t x, uint64_t w, uint64_t y, uint64_t bias,
                   uint64_t residual, uint64_t workspace, struct error *err);
