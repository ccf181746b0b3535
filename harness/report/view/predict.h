/* report/view/predict: the predicted time of a row that was counted on emu, from its stored counts (device/chip/predict.h). */
#pragma once

#include "report/view/verdict.h"

/* Sets v->predicted of every row of the case. Nothing on a device that measures time. */
void case_predict(struct case_view *c, const struct judge *j);
/* emu ran a sample of the row's blocks, and their work differs much: what it counts of all blocks is a rough estimate. */
bool predict_blocks_differ(const struct view *v);
/* A value of a counter group, or a fact, as the model has it: how busy a unit is. NaN: the row has no prediction, or the name no value. */
double predicted_value(const struct case_view *c, const struct view *v, const char *name);
/* "412 us (350 to 520), DRAM": false, and nothing, without a prediction. */
bool predicted_text(const struct view *v, struct text *t);
/* The lines under a table of one or several cases: the origin of stored times and of the library's; the error of predicted times on
 * held-out rows; and how many stored times of these rows are outside their interval. */
struct predicted_sum {
    const struct stored_times *stored;
    const struct stored_time *library; /* of the last case that has one */
    const struct chip_model *model;
    const char *board;
    bool *runs; /* of stored: is one of its times shown? */
    bool any;   /* a row has a stored time */
    int cases, both, outside;
    struct text names; /* of rows outside */
};
void predicted_add(struct predicted_sum *s, const struct case_view *c);
/* Frees what the sum holds. False: no row has a stored or a predicted time. */
bool predicted_sum_text(struct predicted_sum *s, struct text *t);
/* A verified row of a device without times that has neither a stored nor a predicted time. */
bool predicted_not(const struct view *v);
/* The row that is fastest by stored times; where there are none, by predicted ones. NULL: no row has either, or one row alone has a
 * prediction, beside verified ones that have none. */
const struct view *predicted_winner(const struct case_view *c);
