/* measure/trust/layer_counts: emu's counts of a whole layer, of which only a part is verified. */
#pragma once

#include "measure/count/blocks.h"
#include "measure/rig/build.h"
#include "measure/job.h"

/* A launch that was counted: its counts are those of step 0 of a row; buffers are named by the argument that they are. */
struct counted_step {
    char key[HASH_TEXT];
    struct row *row;
    struct blocks blocks;
    uint64_t last; /* counted_layers.asked when a row took these counts last */
};
/* Rows that were counted, for later rows with equal launches (an `auto`, and the variant that it takes; a layer that is there twice). */
struct counted_layers {
    struct row **rows;
    int count;
    struct counted_step *steps; /* of a network's rows, which launch them again and again */
    int step_count, steps_case;
    uint64_t asked;            /* rows so far */
    struct op_data inputs;     /* of the layer that was counted last */
    char inputs_of[HASH_TEXT]; /* its work_key; "": none */
    char *wrong;               /* what the row that was counted last does wrong at full size (layer_values); NULL: nothing */
};
void layer_counts_free(struct counted_layers *known);
/* The values that launches are counted on. */
enum data_part layer_counts_part(const struct work *work);
/* NULL: no row with these launches was counted. */
const struct row *layer_counts_known(const struct counted_layers *known, const char *launch_hash);

/* Runs blocks of the row's true launches on `counter`, an emu device that only checks bounds (opened here on the first call), and stores
 * the counts of the layer. *counted: false if a part of the blocks does not suffice; the row then has no counts, and its note says why. An
 * access out of bounds decides the row's status. */
bool layer_counts(const struct job *job, struct device **counter, struct counted_layers *known, int index, const struct build *build,
                  struct row *row, bool *counted, double *executed, struct error *err);
/* A row that is right on its part, whose faults say more, becomes wrong if it is wrong at full size. */
void layer_counts_blame(const struct counted_layers *known, struct row *row);
/* Called after each launch that verifies a row whose layer was counted on zeros: if the number of instructions differs from that of the
 * last launch, which had other values, the counts are removed. row NULL: does nothing. *executed: 0 before the first. */
void layer_counts_compare(struct device *dev, struct row *row, double *executed);
