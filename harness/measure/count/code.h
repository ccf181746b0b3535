/* measure/count/code: the instructions of a row's kernels that are stored beside its counts: the hottest ones of the hottest source lines.
 * The others are in the sums of the lines and steps. */
#ifndef BENCH_MEASURE_COUNT_CODE_H
#define BENCH_MEASURE_COUNT_CODE_H

#include "device/device.h"
#include "measure/count/source.h"
#include "store/row.h"

/* What the interpreter counted for each instruction of a step, into the row; the caller clears the counts. */
void code_of_emu(struct device *dev, const struct device_image *image, struct row *row, int step);
/* Adds those of `all` (a step's) that are kept. Takes their texts. */
void code_keep(struct row *row, struct row_code *all, int count);
/* What a GPU sampled and counted for each machine instruction of a row. */
struct code_list {
    struct row_code *items;
    int count;
};
void code_of_gpu(struct code_list *list, const struct source_values *values);
/* code_keep for what was gathered of all steps; empties the list. */
void code_keep_list(struct row *row, struct code_list *list);
/* The PTX instructions that warps executed since the last clear, on the interpreter. */
double code_instructions(struct device *dev);

#endif
