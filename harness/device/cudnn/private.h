/* device/cudnn, between its files. */
#ifndef BENCH_DEVICE_CUDNN_PRIVATE_H
#define BENCH_DEVICE_CUDNN_PRIVATE_H

#include "device/cudnn/cudnn.h"
#include "device/cudnn/api.h"
#include <jansson.h>

#define CUDNN_BUILDERS 16 /* threads that make plans, at most */

/* A plan that serves every rig with that convolution, as long as the handle: to finalize one takes milliseconds, and half a second where
 * its kernel is compiled then. */
struct cudnn_cached {
    struct cudnn_conv conv;
    struct cudnn_plan *plan;
    bool first; /* cuDNN's first */
};
struct cudnn_prefetched { /* cudnn_prefetch: what cudnn_plans gives out next for it */
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
    void *properties;                           /* a DEVICEPROP descriptor, or NULL */
    char *builder;                              /* library, compiler and GPU of what is compiled (compiled.c); NULL: nothing is kept */
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
    } * seen; /* cudnn_compile: done here, and not to be looked at again */
    int seen_count;
    json_t *choice_file; /* {"state": .., "plans": {CONVOLUTION: {..}}}: what is on disk; NULL: nobody asked for it, or there is no cache */
    char *choices_path;
};
/* A handle for each of so many threads, cuDNN's rule for calls side by side; returns for how many there are any: 1 on a described device.
 */
int cudnn_handles(struct cudnn *handle, int wanted);
/* The handle of a thread, which is made to work on the device; NULL: it cannot, or the device is described. */
void *cudnn_handle_of(struct cudnn *handle, int thread);
/* remember.c: what the disk knows of a convolution, and telling it. */
bool cudnn_choice_read(struct cudnn *handle, const struct cudnn_conv *conv, struct cudnn_choice *out);
void cudnn_choice_write(struct cudnn *handle, const struct cudnn_choice *choice);
void cudnn_choice_delete(struct cudnn *handle, const struct cudnn_conv *conv);

/* compiled.c. `device`: as cudnn_device has it. */
void cudnn_set_builder(struct cudnn *handle, const char *device);
/* A compiled plan that is kept, for a handle that executes; NULL: none, or it is not taken. */
void *cudnn_compiled_find(const struct cudnn *handle, void *executes, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts);
bool cudnn_compiled_has(const struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts);
void cudnn_compiled_keep(const struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts, void *plan);
/* The graph, and with it the call: everything that cudnn_conv_same compares. malloc'd. */
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
/* It stays as long as the handle; the same of a convolution once. */
struct cudnn_cached *cudnn_cache_keep(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan *plan);
/* A plan that is kept, with addresses of its own. `text` NULL: the one that checks. NULL without an error: none is kept. */
struct cudnn_plan *cudnn_cache_find(struct cudnn *handle, const struct cudnn_conv *conv, const char *text, struct error *err);
struct cudnn_prefetched *cudnn_prefetched_find(struct cudnn *handle, const struct cudnn_conv *conv, int most);
/* The same graph with a bias in 16 bits of its own. NULL on error. */
struct cudnn_graph *cudnn_graph_share(struct cudnn_graph *graph, struct error *err);
void cudnn_cache_free(struct cudnn *handle);
/* Is it the plan that cudnn_only asks for, or did nobody ask for one? */
bool cudnn_allows(const struct cudnn *handle, const struct cudnn_plan_facts *facts);
/* Does an engine with these numerical notes (bits, by NOTE_...) keep to what the mode permits? */
bool cudnn_obeys(enum math math, unsigned notes);

/* NULL + err when the graph is not one that cuDNN takes. */
struct cudnn_graph *cudnn_graph_make(struct cudnn *handle, const struct cudnn_conv *conv, bool narrow_bias, struct error *err);
/* Queues the conversion of the f32 bias into graph->narrow_bias. */
bool cudnn_narrow(struct cudnn *handle, struct cudnn_graph *graph, uint64_t bias, struct error *err);
void cudnn_graph_release(struct cudnn_graph *graph);

#endif
