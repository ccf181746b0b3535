/* measure/verify/data: inputs and references of the case in hand, made once and kept until another case is asked for. */
#ifndef BENCH_MEASURE_VERIFY_DATA_H
#define BENCH_MEASURE_VERIFY_DATA_H

#include "measure/verify/device_check.h"
#include "op/op.h"
#include "measure/job.h"

#define DATA_SETS 3                      /* input sets: other values in all that is no weight and no mask */
#define DATA_SLOTS (DATA_PART_COUNT + 1) /* enum data_part, then the precision data without zeros (DATA_FULL) */

/* Data made before their case is in hand (prefetch_data). Nothing points to them until they are taken. */
struct early_data {
    int in_case, set, slot;
    struct op_data data;
};
struct data_store {
    struct job *job;
    struct card *card; /* the check on the device; NULL: the CPU checks */
    bool card_tried;
    struct device *witness; /* the interpreter, opened by the first op whose reference is a kernel of its file */
    struct op_data data[DATA_SETS][DATA_SLOTS];
    int data_case[DATA_SETS][DATA_SLOTS];       /* -1 = none */
    struct op_data host[DATA_SETS][DATA_SLOTS]; /* the CPU's part of data, made ahead (prefetch) */
    int host_case[DATA_SETS][DATA_SLOTS];
    struct early_data *early;
    int early_count;
};

void data_open(struct data_store *d, struct job *job);
/* Frees what belongs to the plan, the check on the device included. */
void data_forget(struct data_store *d);
/* The check on the device; NULL where the CPU checks. The reason is reported once. */
struct card *data_card(struct data_store *d);
/* A reference kernel of a file that runs on a GPU is compared with the interpreter of the same chip, or of one with the same code. */
void data_cross_check(struct data_store *d, const struct op *op);
/* Data of a row's case in one input set. Set 0 is the same in every run; the run's seed decides the values of the others. */
bool data_get(struct data_store *d, int row, enum data_part part, int set, struct op_data **data, struct error *err);
void data_drop(struct data_store *d, int set, int slot);
/* The slot of a part. */
int data_slot(enum data_part part);
bool data_make(struct data_store *d, int in_case, enum data_part part, int set, struct op_data *data, struct error *err);
/* The work that they are made of, and the part of it. A layer's data without zeros (DATA_FULL) are those of the layer without a mask, so
 * cases that differ in their masks alone share them. data_is_shared: true if that holds for a slot of two cases. */
struct work data_work(const struct job *job, int in_case, enum data_part *part, int set);
bool data_is_shared(const struct job *job, int one, int other, int slot);
/* *sound: the device's copy still holds what was put there (card_untouched). */
bool data_is_sound(const struct op_data *data, bool *sound, struct error *err);

/* Data made ahead. Both functions that put take what `data` holds. */
void data_put_early(struct data_store *d, int in_case, int set, int slot, const struct op_data *data);
bool data_has_early(const struct data_store *d, int in_case, int set, int slot);
void data_put_host(struct data_store *d, int in_case, int set, int slot, const struct op_data *host);
void data_drop_ahead(struct data_store *d);

#endif
