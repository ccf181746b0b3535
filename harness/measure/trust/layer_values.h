/* measure/trust/layer_values: what some blocks of a whole layer's launch write, compared with the reference.
 *
 * emu verifies a row on a part of its layer. A kernel that is right there may be wrong at the true size: an overflow of an index, a wrong
 * stride or tail block shows only there. Therefore blocks at the corners of the true grid, and one of each kind of block, run with values
 * in all their inputs, and bench compares a few lines of what they wrote. Lines that no such block wrote are not compared. */
#pragma once

#include "measure/count/blocks.h"
#include "measure/job.h"

#define LAYER_VALUES_MOST ((size_t)1 << 22) /* elements of a tensor that is fed with values of its own; larger ones are images */

struct layer_look {
    struct device *dev, *checked; /* the rig's; one that tracks what is written, for references of ops from files */
    const char *compiler;
    struct rig *rig; /* whose launches were counted */
    const struct device_image *images;
    const struct op_data *exact; /* what it was fed with */
    const struct blocks *last;   /* of the last kernel */
    double cost, before;         /* its instructions, and those of the kernels before it */
    bool whole_before;           /* all of their blocks ran */
};
/* Fills the tensors that the program writes with a pattern, so that written values can be recognised. Called before blocks of an op from a
 * file are counted: these have values in all inputs and are compared directly. */
bool layer_values_poison(struct device *dev, struct rig *rig, struct error *err);
/* Sets row->compared or row->uncompared. Returns what is wrong, a text to free, or NULL. The rig is not used after this. */
char *layer_values(const struct layer_look *look, struct row *row);
