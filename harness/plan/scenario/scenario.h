/* plan/scenario/scenario: YAML scenarios: layers, axes, masks, networks, variants, timing; and their expansion into cases.
 *
 * Grammar: docs/SCENARIO.md. Every error names FILE:LINE:COLUMN and the nearest valid key. A scenario that loads and expands has no errors
 * left, so none stops a run half-way. */
#pragma once

#include "base/error.h"
#include "base/glob_list.h"
#include "base/node.h"
#include "op/chain/chain.h"
#include "op/op.h"

struct layer {
    char *name;
    struct work work; /* before axes; finished */
    int64_t repeat;   /* its runs in all networks together; in none: the layer's own `repeat`, default 1 */
    const struct node *node;
};
/* One coordinate of a case: axis `mask`, printed `blobs24:0.10:1`. */
struct coordinate {
    char *axis, *value;
    double number; /* NaN: the value is a word */
    bool silent;   /* the layer has it already, so the id does not name it */
};
struct scenario_only { /* a variant, and a configuration as in a row's `params` ("EDGE=3,FEW=2"); NULL: all configurations */
    char *variant, *params;
};
struct scenario_case {
    char *id; /* SCENARIO/LAYER[@HxW][axis=value,...] */
    const struct layer *layer;
    struct work work;  /* axes applied, finished; cropped if `cropped` says so, which emu's cases of layers are not */
    struct work *part; /* emu: the crop, which emu runs whole to verify rows; NULL: the layer is not cropped */
    bool cropped;
    double layer_intensity;  /* of the whole layer, if this is a crop: FLOP per compulsory byte */
    struct coordinate *axes; /* sorted by name */
    int axis_count;
    int64_t repeat;
    int place;  /* index in the scenario's order, counting filtered cases */
    char *like; /* of a case that the run added: the id of the scenario's own case, which differs in the density of its mask; else NULL */
    char *same; /* with filter.once: the layers that were left out for it, "odd, wide"; else NULL */
    struct scenario_only *only; /* of an added case: the variants to run there; NULL: all */
    int only_count;
};
/* An entry of `variants:` */
struct scenario_variant {
    char *name;                /* as written: "cudnn", "conv2d/naive", "my/halo_regs" */
    const struct node *params; /* the map behind the name, or NULL */
    const struct node *node;
};
enum cache_mode { CACHE_COLD, CACHE_WARM };
enum load_mode { LOAD_ISOLATED, LOAD_SUSTAINED };
struct timing_plan {
    bool cache[2], load[2];     /* wanted modes; default cold + isolated */
    double half_width;          /* stops when the half width of the 95 % interval of every ratio is below this; default 0.005 */
    double budget_s;            /* per layer; default 20 */
    int rounds_min, rounds_max; /* default 60, 1000 */
};
/* One item of network.order, in a tree. */
struct network_item {
    const struct layer *layer; /* NULL: a repeated group */
    int64_t repeat;
    struct network_item *items;
    int count;
    const struct layer *residual; /* the layer whose last output is added; NULL: the group's first tensor of that shape */
    const struct layer *with;     /* of an op of two tensors: the layer whose last output is the second */
    const struct layer *from;     /* the layer whose last output is its input; NULL: that of the item before it */
    const struct node *node;
};
/* In which layouts a network's chain runs. */
enum layout_plan {
    LAYOUT_PLAN_GIVEN, /* as its layers say */
    LAYOUT_PLAN_NCHW,  /* everything */
    LAYOUT_PLAN_NHWC,
    LAYOUT_PLAN_PER_OP, /* NCHW between the layers; each layer runs in NHWC and converts its input and output */
    LAYOUT_PLAN_ENDS,   /* NCHW in and out; one conversion at each end, NHWC between */
    LAYOUT_PLAN_COUNT
};
extern const char *const layout_plan_names[]; /* "given", "NCHW", "NHWC", "per_op", "ends"; NULL-terminated */
struct scenario_network {
    char *name;                  /* its key under `networks:`; the scenario's name for the one of `network:` */
    bool stream, graph, overlap; /* how its chain is launched; overlap: as a graph in which kernels begin before the one before them ends */
    bool copy, slices;           /* its concats: copied, or written into one tensor */
    bool plans[LAYOUT_PLAN_COUNT];
    struct network_item root; /* repeat 1 */
};
/* One item of `sequences:`: layers that run over frames, each frame a change of the one before it. */
struct scenario_sequence {
    char *name;
    const struct layer **layers; /* convolutions with bias, activation or neither; upsampling, pooling, add, concat */
    int *with;                   /* by layer: the layer whose output is the second tensor of an add or concat; else -1 */
    int layer_count, frames;     /* frame 0 included */
    struct mask changes;         /* the pixels that get new values in each frame: seed + frame */
    char *video;                 /* or frames from here; NULL */
    double noise;                /* added to every pixel of every frame, N(0, noise) */
    double threshold;            /* threshold on a pixel's largest change in the input */
    enum truncate truncate;      /* norm of a pixel's change behind an activation */
    double truncate_above;
    double bound;              /* largest error allowed in any frame, relative to the root mean square of the dense result */
    struct coordinate axes[2]; /* `threshold` and `truncate` where they are lists: a sequence for each pair, all of one name */
    int axis_count;
    const struct node *node;
};
struct scenario {
    char *name, *about, *path;
    char hash[HASH_TEXT];      /* of the file */
    struct node *root, *below; /* below: NULL, or what the root's file lies on */
    struct layer *layers;
    int layer_count;
    struct scenario_variant *variants;
    int variant_count;
    struct timing_plan time;
    char **counters; /* group names, checked by the counter module */
    int counter_count;
    struct scenario_network *networks;
    int network_count;
    struct scenario_sequence *sequences;
    int sequence_count;
    void *parsed; /* private */
};

struct scenario *scenario_load(const char *path, struct error *err);
/* A file without layers has only what differs from a scenario's text: other questions for a stored run. */
struct scenario *scenario_load_over(const char *path, const char *below, struct error *err);
void scenario_free(struct scenario *s);
/* The names of its layers, NULL-terminated; the caller frees the array. */
const char **scenario_layer_names(const struct scenario *s);

/* Marks the layers that a list of --layer selects: by their names, or by the name of a network, which selects all of its layers. A sequence
 * is selected by its name, too; plan/rows makes its rows. */
void scenario_match_layers(const struct scenario *s, const struct glob_list *list, bool *selected);
/* After it: an error names the first word that selects nothing. */
bool scenario_check_layers(const struct scenario *s, const struct glob_list *list, struct error *err);

/* A request for a case at another density of its mask, and for a variant to run there (NULL: all), in the configuration of a row's `params`
 * (NULL: all of the scenario). */
struct scenario_wish {
    const char *case_id;
    double density;
    const char *variant, *params;
};
/* What the command line narrows or sets (each may be NULL / 0). */
struct scenario_filter {
    const char *layers;     /* comma list of globs over names of layers, networks and sequences; each must select one */
    const char *only;       /* comma list of globs over variant names; used by plan/rows */
    const char *const *set; /* "axis=value", "mask.density=0.10,0.25", "mask=blobs*", NULL-terminated: keeps the cases that match all;
                             * each value must match one */
    /* Requests for extra cases, which are appended after the others: one entry per case and variant; ends with case_id NULL. Requests that
     * match no case are ignored. */
    const struct scenario_wish *extra;
    /* NULL-terminated numbers: each case once for each of these GPUs, which its axis `gpu` names; NULL: no such axis. */
    const char *const *gpus;
    bool once; /* leaves out a case whose verified work equals an earlier case's; that one names it in `same` */
};
/* True if the filter distinguishes cases only by their masks and images, or not at all. */
bool scenario_filter_by_mask(const struct scenario_filter *filter);
/* Does the filter select this sequence: by its name, like a layer, and by its threshold and truncation? */
bool scenario_has_sequence(const struct scenario *s, const struct scenario_filter *filter, const struct scenario_sequence *q);
/* Expands a scenario into cases for a device kind ("emu", "cuda": uses `on: {emu: {crop: ..., chip: ...}}`). A filter that selects nothing
 * is an error that names it. Returns the count; -1 on error. */
int scenario_expand(const struct scenario *s, const char *device_kind, const struct scenario_filter *filter, struct scenario_case **cases,
                    struct error *err);
void scenario_cases_free(struct scenario_case *cases, int count);
/* True if the entry of `variants:` runs on the layer: the layer's own `variants` selects it, or is absent. */
bool scenario_layer_takes(const struct layer *layer, const struct scenario_variant *variant);
/* The same of a network's rows: "chain/best", "conv2d/naive" ... */
bool scenario_network_takes(const struct scenario_network *network, const char *row);
/* "emu:CHIP" for a device that is emu without a chip, or NULL (the best present), with the chip of on.emu.chip; else NULL. */
char *scenario_emu(const struct scenario *s, const char *device);

/* Cuts a work as `on.<device_kind>.crop` says, and finishes it. */
bool scenario_crop(const struct scenario *s, const char *device_kind, struct work *work, bool *cropped, struct error *err);

/* Describes each network: its runs, FLOP and compulsory bytes, then one line per item with the shapes that flow. Writes nothing without
 * networks. */
void scenario_network_explain(const struct scenario *s, struct text *t);
/* Makes the links of a network under a layout plan, with its input cut to the device kind's crop; free with chain_free. `mask`: of the
 * network's input, which also selects the layers' cases; NULL: none. device_kind NULL: nothing is cut. `n`: images; 0: those of the layers.
 * False with the reason when it cannot be run whole: more than CHAIN_MAX_LINKS runs, a residual that nothing fits, layouts that the network
 * changes itself. */
bool scenario_chain(const struct scenario *s, const struct scenario_network *network, const char *device_kind, enum layout_plan plan,
                    const struct mask *mask, int64_t n, struct chain *out, bool *cropped, struct error *err);
/* How often a layer runs in a network; 0: it is not in it. */
int64_t scenario_layer_count(const struct scenario *s, int network_index, const struct layer *layer);
/* Appends "edsr_x2:16, x4:1", the layer's runs in each network; nothing if it is in none. */
void scenario_layer_networks(const struct scenario *s, const struct layer *layer, struct text *t);
