/* device/cudnn, between its files. */
#pragma once

#include "device/cudnn/cudnn.h"
#include "device/cudnn/api.h"
#include <jansson.h>
#include <sys/stat.h>

#define CUDNN_BUILDERS 16 /* at most so many threads make plans */

/* A plan shared by all rigs with that convolution, kept as long as the handle: finalizing one takes milliseconds, or half a second where
 * cuDNN compiles its kernel. */
struct cudnn_cached {
    struct cudnn_conv conv;
    struct cudnn_plan *plan;
    bool first; /* cuDNN's first */
};
struct cudnn_prefetched { /* plans made by cudnn_prefetch, for the next cudnn_plans */
    struct cudnn_conv conv;
    struct cudnn_plan **plans;
    int most, count;
};
struct cudnn {
    const struct cudnn_api *api;
    struct device *dev;                 /* NULL for a described device */
    void *handle;                       /* NULL for a described device */
    void *builders[CUDNN_BUILDERS - 1]; /* handles of the further threads that make plans; made when first needed */
    int builder_count;
    void *properties; /* a DEVICEPROP descriptor, or NULL */
    char *builder;    /* library, compiler and kind of GPU, part of the key of compiled plans (compiled.c); NULL: none are kept */
    char *place;      /* the GPU as cuDNN describes it */
    struct device_module *narrow_module;        /* the conversion of a bias, loaded when first needed */
    struct device_function *narrow_function[2]; /* to f16, to bf16 */
    const struct library_plan *only;            /* cudnn_only; or NULL */
    struct cudnn_choice *choices;
    int choice_count;
    struct cudnn_cached *cached;
    int cached_count;
    struct {
        struct cudnn_conv conv;
        int engine;
    } * slow; /* cudnn_mark_slow */
    int slow_count;
    struct cudnn_prefetched *prefetched;
    int prefetched_count;
    struct {
        struct cudnn_conv conv;
        int part;
    } * seen; /* cudnn_compile: done already */
    int seen_count;
    json_t *choice_file; /* the file on disk; NULL: not opened, or no cache */
    char *choices_path;
    struct stat choices_seen; /* the file when it was read last */
};
/* One handle for each of `wanted` threads, as cuDNN requires for concurrent calls; returns how many there are. 1 on a described device. */
int cudnn_handles(struct cudnn *handle, int wanted);
/* The handle of a thread, with the device's context current; NULL: not possible, or a described device. */
void *cudnn_handle_of(struct cudnn *handle, int thread);

/* compiled.c. `device`: as cudnn_device has it. */
void cudnn_set_builder(struct cudnn *handle, const char *device);
/* A kept compiled plan for the handle that executes it; NULL: none, or cuDNN refuses it. */
void *cudnn_compiled_find(const struct cudnn *handle, void *executes, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts);
bool cudnn_compiled_has(const struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts);
void cudnn_compiled_keep(const struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts, void *plan);
/* Text of everything that cudnn_conv_same compares. malloc'd. */
char *cudnn_conv_text(const struct cudnn_conv *conv);

/* Ids of the tensors in the graph. */
enum { UID_X = 1, UID_W, UID_Y, UID_BIAS, UID_RESIDUAL, UID_VIRTUAL };
#define GRAPH_DESCRIPTORS_MAX 48
/* The operations of one convolution; its descriptors live as long as a plan made of it. */
struct cudnn_graph {
    const struct cudnn_api *api;
    void *operations; /* the OPERATIONGRAPH */
    void *own[GRAPH_DESCRIPTORS_MAX];
    int count;
    int users;
    bool bias_is_narrow; /* the graph's bias has the data's 16-bit type: */
    struct device *dev;
    int64_t channels;
    enum dtype dtype;
    uint64_t narrow_bias;   /* ours, filled from the caller's f32 bias; 0 on a described device */
    uint64_t prepared_bias; /* the caller promised (cudnn_prepare) that narrow_bias holds this one; 0 = none */
    struct cudnn_graph *of; /* whose descriptors these are; NULL: its own */
};
struct cudnn_plan {
    const struct cudnn_api *api;
    struct cudnn_graph *graph;
    void *configuration, *plan;
    struct cudnn_plan_facts facts;
    unsigned tensors; /* bit set of the UIDs to pass */
    int users;
    struct cudnn_plan *of; /* whose plan and configuration these are; NULL: its own */
    /* the variant pack of the last execution, made anew when an address differs */
    void *pack;
    uint64_t addresses[6];
};
/* Keeps the plan as long as the handle; once for each convolution and plan. */
struct cudnn_cached *cudnn_cache_keep(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan *plan);
/* A kept plan with addresses of its own. `text` NULL: the plan used for checking. NULL without an error: none is kept. */
struct cudnn_plan *cudnn_cache_find(struct cudnn *handle, const struct cudnn_conv *conv, const char *text, struct error *err);
struct cudnn_prefetched *cudnn_prefetched_find(struct cudnn *handle, const struct cudnn_conv *conv, int most);
/* The same graph with a bias in 16 bits of its own. NULL on error. */
struct cudnn_graph *cudnn_graph_share(struct cudnn_graph *graph, struct error *err);
void cudnn_cache_free(struct cudnn *handle);
/* True if cudnn_only permits the plan. */
bool cudnn_allows(const struct cudnn *handle, const struct cudnn_plan_facts *facts);
/* True if the math mode permits an engine with these numerical notes (bits, by NOTE_...). */
bool cudnn_obeys(enum math math, unsigned notes);

/* NULL + err when the graph is not one that cuDNN takes. */
struct cudnn_graph *cudnn_graph_make(struct cudnn *handle, const struct cudnn_conv *conv, bool narrow_bias, struct error *err);
/* Queues the conversion of the f32 bias into graph->narrow_bias. */
bool cudnn_narrow(struct cudnn *handle, struct cudnn_graph *graph, uint64_t bias, struct error *err);
void cudnn_graph_release(struct cudnn_graph *graph);
