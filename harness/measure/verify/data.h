/* measure/verify/data: inputs and references of the current case, made once and kept until another case is requested. */
#pragma once

#include "measure/verify/device_check.h"
#include "op/op.h"
#include "measure/job.h"

#define DATA_SETS 3                      /* input sets: their values differ in all tensors except weights and masks */
#define DATA_SLOTS (DATA_PART_COUNT + 1) /* enum data_part, then the precision data without zeros (DATA_FULL) */

/* Data of a case that is not current: made by prefetch_data, or kept while rows of several cases are verified in turn. Nothing points to
 * them until data_get takes them. */
struct early_data {
    int in_case, set, slot;
    struct op_data data;
};
struct data_store {
    struct job *job;
    struct card *card; /* the device check; NULL: the CPU checks */
    bool card_tried;
    struct device *witness; /* an emu device that cross-checks references; opened by the first op whose reference is a kernel of its file */
    struct op_data data[DATA_SETS][DATA_SLOTS];
    int data_case[DATA_SETS][DATA_SLOTS];       /* -1 = none */
    struct op_data host[DATA_SETS][DATA_SLOTS]; /* the CPU's part of data, made in advance (prefetch) */
    int host_case[DATA_SETS][DATA_SLOTS];
    struct early_data *early;
    int early_count;
    double least_spare; /* of the device's memory: what data of other cases leave free; 0: not known yet */
    bool keeps;         /* data of other cases, because they will be requested again */
};

void data_open(struct data_store *d, struct job *job);
/* Frees everything that belongs to the plan, including the device check. */
void data_forget(struct data_store *d);
/* The device check; NULL if the CPU checks. Reports the reason once. */
struct card *data_card(struct data_store *d);
/* Enables the cross-check: compares a file's reference kernel on the GPU with emu of the same chip, or of a chip with the same code. */
void data_cross_check(struct data_store *d, const struct op *op);
/* Returns the data of a row's case in one input set. Set 0 is the same in every run; the run's seed decides the values of the others. */
bool data_get(struct data_store *d, int row, enum data_part part, int set, struct op_data **data, struct error *err);
/* How many input sets a row is timed with: DATA_SETS, or one if the device's memory does not hold that many, or if the reference of a large
 * network is made on the CPU. */
int data_sets(struct data_store *d, int row);
/* True if the data of the row's case fit into memory after those of other cases are dropped. Otherwise the error states the needed size,
 * before anything is allocated.
 */
bool data_fits(struct data_store *d, int row, struct error *err);
void data_drop(struct data_store *d, int set, int slot);
/* The slot of a part. */
int data_slot(enum data_part part);
bool data_make(struct data_store *d, int in_case, enum data_part part, int set, struct op_data *data, struct error *err);
/* The work and the part that the data are made from. A layer's data without zeros (DATA_FULL) are those of the layer without a mask, so
 * cases that differ only in their masks share them. data_is_shared: true if that holds for a slot of two cases. */
struct work data_work(const struct job *job, int in_case, enum data_part *part, int set);
bool data_is_shared(const struct job *job, int one, int other, int slot);
/* *sound: the device's copy still has its original contents (card_untouched). */
bool data_is_sound(const struct op_data *data, bool *sound, struct error *err);

/* Data made in advance. Both put functions take ownership of the contents of `data`. */
void data_put_early(struct data_store *d, int in_case, int set, int slot, const struct op_data *data);
bool data_has_early(const struct data_store *d, int in_case, int set, int slot);
void data_put_host(struct data_store *d, int in_case, int set, int slot, const struct op_data *host);
/* How many more bytes of the device's memory data of other cases may occupy. */
double data_room_ahead(struct data_store *d);
