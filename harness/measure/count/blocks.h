/* measure/count/blocks: the interpreter's counts of a whole launch from a few of its blocks.
 *
 * Blocks at alike positions in the grid (corners, borders, inside) and in the layer have equal counts: they are a class. Several blocks of
 * each class run, with the arguments of the true launch; if their counts are equal, one stands for its class and the counts are exact. If
 * not, more blocks of the class run, and the estimate has an interval. With a mask, a class also depends on the number of marks that a
 * block reads. A block runs alone, so this cannot count a kernel whose blocks take work from a common queue. */
#pragma once

#include "measure/count/unequal.h"
#include "measure/rig/rig.h"

#define BLOCKS_PICKED 16
struct blocks {
    double all, ran;                /* blocks of the launches so far, and those that ran */
    int classes;                    /* the most that a launch has */
    double sum[2], variance[2];     /* of the estimate: warp instructions and sectors, and their variances */
    double unsure[2];               /* how little is known of these: the sum of the classes' variance^2 / (blocks - 1) */
    uint64_t picked[BLOCKS_PICKED]; /* of the last launch: groups at its corners, and one of each kind, for a look at what they write */
    int picked_count;
    struct dispatch dispatch; /* of the last launch, if its blocks do unequal work: */
    bool unequal;
    bool probed;       /* it ran whole after some of its blocks had run alone, so that what blocks add to is wrong */
    bool sampled, few; /* some launch did not run whole; a few different blocks stand for one */
};
/* The marked pixels of a masked work, n x h x w: what a block sees of them decides what it does. */
struct marks {
    float *in;
    int64_t n, h, w;
};
struct blocks_how {
    const struct device *dev;  /* the rig's */
    const struct marks *marks; /* NULL: the work has no mask, or the program runs dense */
    bool multiplies;           /* the device computes what tensor instructions do (device_ops.multiply) */
    int places;                /* of blocks on an SM; < 1: unknown */
    bool last;                 /* no later step reads what it writes, so that a part of its blocks is enough */
};
/* Counts a kernel step of the rig's program on an emu device: leaves the counts of the whole launch in the device's counters. A grid whose
 * blocks wait for each other runs whole. False (err): counting is not possible. */
bool blocks_count(struct rig *rig, int step, const struct blocks_how *how, struct blocks *b, struct error *err);
/* What a group that ran costs, in instructions of a warp, in a launch that computes tensor instructions (multiplies) or does not. */
double blocks_cost_of(const struct device_group *g, bool multiplies);
/* Half the width of the 95 % interval of the instructions or of the sectors, as a share of them: the larger one. */
double blocks_error(const struct blocks *b);
