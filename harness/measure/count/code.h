/* measure/count/code: the instructions of a row's kernels that bench stores beside its counts: the hottest instructions of the hottest
 * source lines. The others count only in the sums of lines and steps. */
#pragma once

#include "device/device.h"
#include "measure/count/source.h"
#include "store/row.h"

/* Stores the interpreter's counts for each instruction of a step in the row; the caller clears the counts. */
void code_of_emu(struct device *dev, const struct device_image *image, struct row *row, int step);
/* Adds the instructions of `all` (of one step) that are worth keeping. Takes ownership of their texts. */
void code_keep(struct row *row, struct row_code *all, int count);
/* Samples and counts of a GPU for each machine instruction of a row. */
struct code_list {
    struct row_code *items;
    int count;
};
void code_of_gpu(struct code_list *list, const struct source_values *values);
/* code_keep for the collected instructions of all steps; empties the list. */
void code_keep_list(struct row *row, struct code_list *list);
/* The number of PTX instructions that warps executed since the last clear, on the interpreter. */
double code_instructions(struct device *dev);
