/* measure/count/blocks_private: what the ways of choosing blocks share. */
#pragma once

#include "measure/count/blocks.h"

/* Work in units of a warp's instruction, some 25 ns: not in seconds, so that a launch is counted from the same blocks in every run. */
#define WHOLE 3e6    /* a launch of less work than that runs whole */
#define EARLIER 4e7  /* the same if later steps need its results */
#define BUDGET 6e6   /* for the blocks of one launch */
#define NARROW 0.004 /* an interval that is narrow enough */

struct class
{
    uint64_t groups;
    int ran;
    bool alike;
    double mean[2], variance[2]; /* of a group's instructions and sectors */
};
struct counting {
    struct rig *rig;
    int step;
    const struct work *work;
    const struct marks *marks;
    const struct tile *tile;             /* that the kernel says it skips or computes; h 0: none */
    uint64_t grid[3], groups, blocks_of; /* in groups; blocks of one */
    bool multiplies;                     /* tensor instructions cost time */
    bool together;                       /* its blocks wait for each other */
    double whole;                        /* a launch of less work runs whole */
    struct device_sample sample;
    uint32_t *each;    /* instructions of each group, if there are not too many; NULL: not estimated */
    struct text state; /* of the scratch, before the first group ran */
};
typedef bool blocks_is(const void *context, uint64_t number);

/* Wants a group, once; runs those that have not run. */
void blocks_want(struct counting *c, uint64_t number);
bool blocks_run(struct counting *c, struct error *err);
/* NULL: it has not run. */
const struct device_group *blocks_at(const struct counting *c, uint64_t number);
/* Of all groups that ran. */
double blocks_cost(const struct counting *c);
/* The groups that ran and for which `is` says so, of a class of so many. */
struct class blocks_judge(const struct counting *c, uint64_t groups, blocks_is *is, const void *context);
/* Adds the estimate of a class to that of the launch. */
void blocks_add(const struct class *k, struct blocks *b);
/* Gives each group for which `is` says so its share of the class. */
void blocks_weigh(struct counting *c, const struct class *k, blocks_is *is, const void *context);
/* Estimates the work of each group: that of one of its class that ran. class_of: of a group, below `classes`. */
typedef int blocks_class(const void *context, uint64_t number);
void blocks_lay(struct counting *c, int classes, blocks_class *class_of, const void *context);
/* Sees the grid as stretches of equal blocks (stretches.c). *found: false if there are too many. */
bool blocks_stretches(struct counting *c, struct blocks *b, bool *found, struct error *err);
/* Chooses the blocks of a masked launch. *whole: the launch is so small that it is to run whole. */
bool blocks_marked(struct counting *c, struct blocks *b, bool *whole, struct error *err);
/* Sets b->picked (pick.c). */
void blocks_pick(const struct counting *c, struct blocks *b);
