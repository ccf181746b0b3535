/* measure/rig/rig_private: what the files of the rig share. */
#ifndef BENCH_MEASURE_RIG_RIG_PRIVATE_H
#define BENCH_MEASURE_RIG_RIG_PRIVATE_H

#include "measure/verify/device_check.h"
#include "measure/rig/rig.h"

/* What lies in front of and behind each buffer on a device that does not check accesses itself; the buffers of a pool have pages of the
 * device's memory of their own, so that there is nothing beside them that belongs to nobody. */
#define RIG_GUARD_BYTES 4096
#define RIG_PAGE_BYTES ((size_t)2 << 20)
#define RIG_GUARD_PATTERN 0xA5C3F00Du

struct place {
    uint64_t base, address; /* address = base + the guard in front */
    size_t bytes, whole;    /* whole: from base on, guards with it */
};
struct rig_step {
    struct device_function **functions; /* for each set and replica: of the module that is theirs (rig_module) */
    unsigned char *params;              /* likewise (rig_params) */
    size_t param_bytes;
    uint64_t symbol;
    size_t symbol_bytes;
    /* STEP_CUDNN */
    struct cudnn_plan **plans;
    int plan_count, plan;  /* plan: the one that runs */
    char raced[16];        /* the day of the earlier run that chose, or "" */
    int among;             /* so many were timed when it was chosen, here or in an earlier rig of this process */
    struct rig_call *call; /* STEP_CALL */
    int leader;            /* an earlier step with the same call: it chooses, this one has a plan of its own like the chosen; -1: itself */
};
struct rig_variable {
    char *name;
    uint64_t address;
    size_t bytes;
    char before[HASH_TEXT]; /* of its bytes when they were last looked at; "" never */
};
struct rig_state {
    struct rig_variable *variables;
    int count;
    char (*prepared)[HASH_TEXT]; /* by scratch: of what was prepared, for one check; "" not looked at. NULL: nothing is */
    char *hidden;                /* a variable that the device does not show: nobody can say whether launches change it */
};
struct rig_fed {
    const struct card_data *card; /* where the values are from; NULL: the CPU fed it, or nobody asks whether it changed */
    int hidden;                   /* slot of the mask where NaN stands, or -1 */
    uint64_t sum;                 /* of what was fed */
};
/* Of the bits of all buffers of a launch (card_sum_add). */
struct rig_sums {
    uint64_t outputs, inputs, prepared;
};
/* All sets of inputs have the same, but exact data have their own. */
enum rig_weights { WEIGHTS_NONE, WEIGHTS_EXACT, WEIGHTS_PRECISION };
struct rig {
    struct device *dev;
    struct buffer_pool *pool;         /* NULL: one set and one replica, its own */
    int values;                       /* a number for what it is fed */
    int sets, replicas, set, replica; /* how many; and where it sits; */
    int code;                         /* whose module runs there: a view */
    struct cudnn *library;
    const struct program *program;
    const char *name;               /* of its row */
    struct device_module **modules; /* by set and replica, then unit (rig_module) */
    struct rig_state *state;        /* what their code may keep (rig_state.c); NULL: nothing is loaded */
    struct rig_step *steps;
    struct place *tensors, *scratch, *workspaces; /* by set or replica, then tensor; by replica, then scratch; by replica */
    bool *fresh;                                  /* as tensors: fed by this rig, and not by another of the pool */
    struct place sums;                            /* struct rig_sums by replica: of the last launch there; none without a card */
    struct rig_sums seen;                         /* by the last rig_checksum_matches */
    uint64_t around;                              /* the sum of all guard zones, as they are filled */
    struct rig_sums *trusted;                     /* by set: of a launch that was verified */
    bool *expects;                                /* by set: none was yet, and of `trusted` the inputs alone are known */
    unsigned char **inputs;                       /* host copies by tensor, NULL unless kept */
    struct rig_fed *fed;                          /* by tensor: what was fed where the check is on the device */
    unsigned char **weights;                      /* by constant, likewise */
    uint64_t *weight_sums;                        /* likewise, where the check is on the device */
    enum rig_weights weights_are;                 /* which constants lie there */
    bool keep_inputs;
    size_t guard;
    double time_limit_s;
    unsigned wipes;               /* each with another word */
    bool has_run;                 /* all steps once: what a library does at its first call must not fall into a capture */
    struct device_graph **graphs; /* by set and replica */
    uint64_t output_sum;          /* of the bits of what is written, at the last check */
};

/* A buffer of its own with guard zones around it (guard 0: none), the one behind it up to a multiple of `page` (0: none). */
bool place_make(struct device *dev, const char *label, size_t bytes, size_t guard, size_t page, struct place *place, struct error *err);
/* Where the rig sits now. */
int rig_views(const struct rig *rig);
int rig_view(const struct rig *rig);
unsigned char *rig_params(const struct rig *rig, const struct rig_step *step);
/* That of a view; the first one's where the unit is loaded once. */
struct device_module *rig_module(const struct rig *rig, int view, int unit);
struct place *rig_tensor(struct rig *rig, int tensor);
int rig_tensor_index(const struct rig *rig, int tensor);
struct place *rig_scratch(struct rig *rig, int scratch);
struct place *rig_place_of(struct rig *rig, struct buffer_ref ref);
/* rig_buffers.c */
/* Scratch that holds a constant of the network, the same in every launch. */
bool rig_is_constant(const struct program *program, int scratch);
/* NaN stands where the mask says that nothing is. */
bool rig_hides(const struct rig *rig, const struct tensor *t);
bool rig_make_buffers(struct rig *rig, struct error *err);
bool rig_make_workspaces(struct rig *rig, size_t bytes, struct error *err);
void rig_release_buffers(struct rig *rig);
/* What checks what it was fed, on the device; NULL: the CPU does. And where all of that lies, constants where `weights` says so. */
const struct card *rig_card(const struct rig *rig);
struct rig_given {
    uint64_t *sum; /* as it was fed */
    int which;     /* tensor, or tensor_count and on: constant */
};
int rig_fed_spans(struct rig *rig, bool weights, struct card_span *spans, struct rig_given *given);
/* Where sums are made: of all guard zones where the rig sits. Waits. */
bool rig_around(struct rig *rig, uint64_t *sum, struct error *err);
/* rig_state.c: loads a unit so that its variables can be looked at; in a pool once for each view, where that is cheap and changes nothing.
 */
bool rig_state_load(struct rig *rig, int unit, const struct device_image *image, struct error *err);
void rig_state_free(struct rig *rig);
/* rig_library.c */
bool rig_library_make(struct rig *rig, int step, struct error *err);
/* rig_call.c: a function of a foreign library (op/foreign.h) */
bool rig_call_make(struct rig *rig, int step, struct error *err);
bool rig_call_run(struct rig *rig, int step, struct error *err);
void rig_call_free(struct rig *rig, int step);
/* After all steps are made: one workspace for all of them, which run one after another. */
bool rig_library_workspace(struct rig *rig, struct error *err);
bool rig_library_prepare(struct rig *rig, struct error *err);
bool rig_library_run(struct rig *rig, int step, struct error *err);
void rig_library_free(struct rig *rig, int step);
/* Drops the captured graph: something in it changed. */
void rig_graph_drop(struct rig *rig);

#endif
