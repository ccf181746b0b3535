/* plan/scenario/private: what the files of plan/scenario share. */
#pragma once

#include "base/glob_list.h"
#include "plan/scenario/scenario.h"

/* Limits far above any use: a hostile file cannot take minutes. */
#define SCENARIO_MAX_CASES 100000
#define SCENARIO_MAX_VALUES 10000 /* of an axis */
#define SCENARIO_MAX_LAYERS 2000
#define SCENARIO_MAX_ITEMS 1000      /* variants, counters, answers */
#define SCENARIO_MAX_RUNS 1000000000 /* of one layer in a network */
#define WHAT_MAX 160

struct work *work_copy(const struct work *work);
/* One value of an axis: what it sets, and its text in ids. */
struct axis_value {
    char *label;
    double number;           /* NaN: it is none */
    const struct node *node; /* where it stands */
    const struct node **row; /* one value a field; NULL for a mask */
    struct mask mask;
};
struct axis {
    const char *name;
    const struct node *node;   /* its key */
    const struct node *layers; /* list of names, or NULL: every layer that has the fields */
    bool is_mask, sets_math;
    int field_count; /* 1, or the zipped fields; 0 for the mask */
    const char **fields;
    struct axis_value *values;
    int count;
};
/* scenario->parsed */
struct parsed {
    struct axis *axes; /* sorted by name */
    int axis_count;
    struct node **made; /* nodes that ranges brought into being */
    int made_count;
    const struct node *root, *on;
    char *folder; /* folder of the scenario's file, to which paths in it are relative */
};

/* Reads a word or a list of distinct words: sets the flag of each, clears the others. */
bool scenario_words(const struct node *n, const char *what, const char *const *words, bool *flags, struct error *err);
/* True if a layer or a network may have this name, which stands in ids and lists. */
bool scenario_name_ok(const struct node *key, const char *what, struct error *err);

/* layers.c: makes a finished work from a layer's map and the defaults. */
bool layer_parse(const struct scenario *s, const char *name, const struct node *map, const struct node *defaults, struct layer *out,
                 struct error *err);
/* Sets one of the op's fields in a work ("n", "kernel", "dtype", "epilogue" ...) from a node; `what` begins the error. */
bool field_set(struct work *work, const char *name, const char *what, const struct node *n, struct error *err);
/* sides.c: sets pad, stride, dilation or output_pad: one number, a list by axis or side, a word of `pad`. */
bool sides_field(const char *name);
bool sides_set(struct work *work, const struct op_field *f, const char *what, const struct node *n, struct error *err);
/* An epilogue as ids have it: "bias+leaky_relu:0.1", "none". */
bool epilogue_label(const struct node *n, struct text *t, struct error *err);
/* Checks the defaults: known keys, with values of the right type for every op that has the field. */
bool defaults_check(const struct node *root, const struct node *defaults, struct error *err);
/* Does this op have the field? */
bool field_known(const struct op *op, const char *name);
/* Names of the fields of the ops in C and of the files that the scenario names, NULL-terminated; static storage. */
const char *const *field_names(const struct node *root);

/* masks.c: reads one entry. {pattern: blobs, density: [..], seed: [..]} gives several masks, a word one. Calls add for each. */
struct mask_sink {
    void *context;
    bool (*add)(void *context, const struct node *n, const struct mask *mask, char *label, struct error *err); /* takes the label */
};
bool masks_parse(const struct scenario *s, const struct node *n, const struct mask *marks, const struct mask_sink *sink, struct error *err);
/* "blobs24:0.10:1": with its density and seed where an entry says them. Caller frees. */
char *mask_value_label(const struct mask *mask, bool density, bool seed);
/* Reads `marks:`; default input. */
bool marks_parse(const struct node *map, struct mask *out, struct error *err);
/* Does the layer's op take a mask? */
bool layer_takes_mask(const struct layer *layer);

/* axes.c */
bool axes_parse(struct scenario *s, const struct node *axes, struct error *err);
void axes_free(struct parsed *p);
bool axis_applies(const struct axis *axis, const struct layer *layer);
/* Sets the value's fields (or mask) in a work to which the axis applies. */
bool axis_apply(const struct axis *axis, const struct axis_value *value, struct work *work, struct error *err);

/* filter.c: --layer and --set; each part must select something. */
struct rule {
    char *name;
    struct glob_list values; /* a value is a glob, or a number in any spelling */
};
struct rules {
    struct rule *items;
    int count;
};
bool rules_parse(const struct scenario *s, const char *const *set, struct rules *out, struct error *err);
void rules_free(struct rules *r);
/* True if the case matches every rule. `uncropped`: its work before the crop. Records which values have matched. */
bool rules_match(struct rules *r, const struct scenario_case *c, const struct work *uncropped);
/* The same of a sequence, by its threshold and truncation. */
bool rules_match_sequence(struct rules *r, const struct scenario_sequence *q);
/* After all cases: checks that every value of every rule has matched one. */
bool rules_hit(const struct rules *r, const struct scenario *s, struct error *err);
/* Marks the layers that the comma list of globs selects (NULL: all), as scenario_match_layers; each glob must select something. */
bool layers_select(const struct scenario *s, const char *globs, bool *selected, struct error *err);

/* answers.c */
bool answers_parse(struct scenario *s, const struct node *list, struct error *err);

/* expand.c: cuts a work to the crop of a device kind (NULL: not). */
bool crop_work(struct work *work, const struct node *crop, bool *cropped, struct error *err);

/* cases.c */
/* Makes every variant run on the case. */
void case_want_all(struct scenario_case *c);
void scenario_case_free(struct scenario_case *c);
/* The id of a case, from its layer, crop and coordinates. Caller frees. */
char *case_name(const struct scenario *s, const struct node *crop, const struct scenario_case *c);

/* extra_cases.c: makes of each case one for each GPU. */
void gpu_cases_make(const struct scenario *s, const struct node *crop, struct scenario_case **cases, int *count, const char *const *gpus);
/* extra_cases.c: adds the cases of scenario_filter.extra, the first at `place`. */
bool extra_cases_add(const struct scenario *s, const struct node *crop, struct scenario_case **cases, int *count, int place,
                     const struct scenario_wish *wish, struct error *err);

/* sequences.c */
bool sequences_parse(struct scenario *s, struct error *err);
/* What `--set` can name of a sequence, NULL-terminated. */
extern const char *const sequence_settings[];
/* The value, as "0.02" or "rms:0.01"; NULL: a sequence has no such setting. Free it. */
char *sequence_setting(const struct scenario_sequence *q, const char *name);
void sequences_free(struct scenario *s);

/* network.c: `network:` or `networks:`; sets every layer's repeat. */
extern const struct layer network_input; /* where an item names `input`: what its group was given */
bool networks_parse(struct scenario *s, struct error *err);
void networks_free(struct scenario *s);
