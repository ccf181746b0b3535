/* measure/rig/rig_private: declarations shared by the files of the rig. */
#pragma once

#include "measure/verify/device_check.h"
#include "measure/rig/rig.h"

/* Size of the guard zones on a device that does not check accesses itself. The buffers of a pool have memory pages of their own, so
 * nothing but guard zones lies next to a buffer. */
#define RIG_GUARD_BYTES 4096
#define RIG_PAGE_BYTES ((size_t)2 << 20)
#define RIG_GUARD_PATTERN 0xA5C3F00Du

struct place {
    uint64_t base, address; /* address = base + the guard in front */
    size_t bytes, whole;    /* whole: from base on, including guards */
    double alloc_ns;        /* host time of the allocation */
};
struct rig_step {
    struct device_function **functions; /* by set and replica: the function of that module copy (rig_module) */
    unsigned char *params;              /* likewise (rig_params) */
    size_t param_bytes;
    uint64_t symbol;
    size_t symbol_bytes;
    /* STEP_CUDNN */
    struct cudnn_plan **plans;
    int plan_count, plan;  /* plan: the one that runs */
    char raced[16];        /* "YYYY-MM-DD" of the earlier run that chose, or "" */
    int among;             /* how many plans were compared for the choice, by this rig or an earlier one of this process */
    struct rig_call *call; /* STEP_CALL */
    int leader;            /* an earlier step with the same call, whose choice this step follows with a plan of its own; -1: this step
                              chooses */
};
struct rig_variable {
    char *name;
    uint64_t address;
    size_t bytes;
    char before[HASH_TEXT]; /* hash of its bytes at the last check; "": none yet */
};
struct rig_state {
    struct rig_variable *variables;
    int count;
    char (*prepared)[HASH_TEXT]; /* by scratch: hash of the prepared data, for one check; "": not hashed. NULL: no prepared data */
    char *hidden;                /* a variable that the device does not show, so bench cannot check whether launches change it */
};
struct rig_fed {
    const struct card_data *card; /* the source of the values; NULL: the CPU supplied them, or nothing checks whether they changed */
    int hidden;                   /* slot of the mask whose inactive elements hold NaN, or -1 */
    uint64_t sum;                 /* of the input values */
};
/* Sums over the bits of all buffers of a launch (card_sum_add). */
struct rig_sums {
    uint64_t outputs, inputs, prepared;
};
/* All input sets share one set of weights, but exact data have their own. */
enum rig_weights { WEIGHTS_NONE, WEIGHTS_EXACT, WEIGHTS_PRECISION };
struct rig {
    struct device *dev;
    struct buffer_pool *pool;         /* NULL: one set and one replica, its own */
    int values;                       /* rigs with equal numbers share inputs */
    int sets, replicas, set, replica; /* how many there are; the selected ones */
    int code;                         /* the view whose module runs */
    struct cudnn *library;
    const struct program *program;
    const struct device_image *images; /* by unit; while it is opened */
    const char *name;                  /* of its row */
    struct device_module **modules;    /* by set and replica, then unit (rig_module) */
    struct rig_state *state;           /* the variables that their code may keep (rig_state.c); NULL: no code is loaded */
    struct rig_step *steps;
    struct place *tensors, *scratch, *workspaces; /* [set or replica][tensor]; [replica][scratch]; [replica] */
    bool *fresh;                                  /* indexed as tensors: this rig feeds the buffer, not another rig of the pool */
    struct place sums;                            /* struct rig_sums by replica, of the last launch there; none without a device check */
    struct rig_sums seen;                         /* by the last rig_checksum_matches */
    uint64_t around;                              /* the sum of all guard zones, as they are filled */
    struct rig_sums *trusted;                     /* by set: of a launch that was verified */
    uint64_t *right;                              /* by set: rig_output_sum of an output that was right on the data it is fed; 0: none */
    bool *expects;                                /* by set: no launch was accepted yet, and `trusted` holds only the sum of the inputs */
    unsigned char **inputs;                       /* host copies by tensor, NULL unless kept */
    struct rig_fed *fed;                          /* by tensor: the values, if the device checks them */
    uint8_t **watched;                            /* by tensor (rig_watch); NULL: nobody asked */
    unsigned char **weights;                      /* by constant, likewise */
    uint64_t *weight_sums;                        /* likewise, where the check is on the device */
    enum rig_weights weights_are;                 /* the constants that are in memory now */
    bool keep_inputs;
    size_t guard;
    double time_limit_s;
    unsigned wipes;               /* how often it was poisoned; each time uses another word */
    bool defers;                  /* the run is timed: the last step may leave a copy of its result for rig_finish */
    bool has_run;                 /* all steps have run once: work of a library at its first call must not be captured in a graph */
    struct device_graph **graphs; /* by set and replica */
    uint64_t output_sum;          /* of the bits of all written tensors, at the last check */
};

/* Allocates a buffer with guard zones around it (guard 0: none); the zone behind it extends to a multiple of `page` (0: it does not). */
bool place_make(struct device *dev, const char *label, size_t bytes, size_t guard, size_t page, struct place *place, struct error *err);
/* The selected set and replica. */
int rig_views(const struct rig *rig);
int rig_view(const struct rig *rig);
unsigned char *rig_params(const struct rig *rig, const struct rig_step *step);
/* The module of a view; the first view's module if the unit is loaded once. */
struct device_module *rig_module(const struct rig *rig, int view, int unit);
struct place *rig_tensor(struct rig *rig, int tensor);
int rig_tensor_index(const struct rig *rig, int tensor);
struct place *rig_scratch(struct rig *rig, int scratch);
struct place *rig_place_of(struct rig *rig, struct buffer_ref ref);
/* rig_buffers.c */
/* True if the scratch holds a constant of the network, which is the same in every launch. */
bool rig_is_constant(const struct program *program, int scratch);
/* True if inactive elements of the tensor hold NaN. */
bool rig_hides(const struct rig *rig, const struct tensor *t);
bool rig_make_buffers(struct rig *rig, struct error *err);
bool rig_make_workspaces(struct rig *rig, size_t bytes, struct error *err);
void rig_release_buffers(struct rig *rig);
/* The device check of the rig's inputs; NULL: the CPU checks them. rig_fed_spans lists the inputs' addresses, and with `weights` those
 * of constants. */
const struct card *rig_card(const struct rig *rig);
struct rig_given {
    uint64_t *sum; /* of the original input */
    int which;     /* tensor, or tensor_count and on: constant */
};
int rig_fed_spans(struct rig *rig, bool weights, struct card_span *spans, struct rig_given *given);
/* Sums all guard zones of the selected set and replica. Waits. */
bool rig_around(struct rig *rig, uint64_t *sum, struct error *err);
/* rig_state.c: loads a unit so that its variables can be read. A pool loads it once per view if that is cheap and changes nothing. */
bool rig_state_load(struct rig *rig, int unit, const struct device_image *image, struct error *err);
void rig_state_free(struct rig *rig);
/* rig_library.c */
bool rig_library_make(struct rig *rig, int step, struct error *err);
/* rig_call.c: a function of a foreign library (op/foreign.h) */
bool rig_call_make(struct rig *rig, int step, struct error *err);
bool rig_call_run(struct rig *rig, int step, struct error *err);
bool rig_call_finish(struct rig *rig, int step, struct error *err); /* the copy that the last run deferred, if it did */
void rig_call_free(struct rig *rig, int step);
/* Call after all steps are made: allocates one workspace for all of them, since they run one after another. */
bool rig_library_workspace(struct rig *rig, struct error *err);
bool rig_library_prepare(struct rig *rig, struct error *err);
bool rig_library_run(struct rig *rig, int step, struct error *err);
void rig_library_free(struct rig *rig, int step);
/* Drops the captured graph because something in it changed. */
void rig_graph_drop(struct rig *rig);
