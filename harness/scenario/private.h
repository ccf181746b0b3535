/* scenario/private: what the files of scenario/ share. */
#ifndef BENCH_SCENARIO_PRIVATE_H
#define BENCH_SCENARIO_PRIVATE_H

#include "scenario/scenario.h"

#define SCENARIO_MAX_CASES 100000
#define SCENARIO_MAX_VALUES 10000

/* One value of an axis: what it sets, and how it is written in an id. */
struct axis_value {
    char *label;
    const struct node *node;         /* a field's value, or one zipped row's place */
    const struct node *const *zipped; /* a zip: one value a field */
    struct mask mask;                /* the axis `mask` */
};
struct axis {
    const char *name;
    const struct node *node;
    const struct node *layers;  /* list of names, or NULL: every layer that has the field */
    bool is_mask;
    int field_count;            /* 1, or the zipped fields */
    const char **fields;
    struct axis_value *values;
    int count;
};
/* scenario->parsed */
struct parsed {
    struct axis *axes;
    int axis_count;
    struct node **made; /* nodes that ranges brought into being */
    int made_count;
    const struct node *on;
    const struct node *order;
};

/* layers.c: a layer's map over the defaults -> a finished work. */
bool layer_parse(struct scenario *s, const char *name, const struct node *map, const struct node *defaults, struct layer *out, struct error *err);
/* Sets one field of a work ("n", "kernel", "dtype" ...) from a node; `known` false when this op has no such field. */
bool field_set(struct work *work, const char *name, const struct node *n, bool *known, struct error *err);
bool defaults_check(const struct node *defaults, struct error *err);
/* Does this op have the field? */
bool field_known(const struct op *op, const char *name);
/* Names of all fields of all ops, NULL-terminated; static storage. */
const char *const *field_names(void);
bool mask_parse(const struct node *n, const char *density, const char *seed, struct mask *out, struct error *err);

/* axes.c */
bool axes_parse(struct scenario *s, const struct node *axes, struct error *err);
void axes_free(struct parsed *p);
bool axis_applies(const struct axis *axis, const struct layer *layer);

/* network.c */
bool network_parse(struct scenario *s, const struct node *network, struct error *err);
void network_item_free(struct network_item *item);

#endif
