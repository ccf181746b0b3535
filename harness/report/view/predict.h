/* report/view/predict: the predicted time of a row that was counted on emu, from its stored counts (device/chip/predict.h). */
#ifndef BENCH_REPORT_PREDICT_H
#define BENCH_REPORT_PREDICT_H

#include "report/view/verdict.h"

/* Sets v->predicted of every row of the case. Nothing on a device that measures time. */
void case_predict(struct case_view *c, const struct judge *j);
/* emu ran a sample of the row's blocks, and their work differs much: what it counts of all blocks is a rough estimate. */
bool predict_blocks_differ(const struct view *v);
/* A value of a counter group, or a fact, as the model has it: how busy a unit is. NaN: the row has no prediction, or the name no value. */
double predicted_value(const struct case_view *c, const struct view *v, const char *name);
/* "412 us (350 to 520), DRAM": false, and nothing, without a prediction. */
bool predicted_text(const struct view *v, struct text *t);
/* What a table says under it: where stored times come from, with the library's, and the error of predicted times on rows that were held
 * out. False: no row of the case has either. */
bool predicted_sources(const struct case_view *c, struct text *t);
/* The row that is fastest by stored times; where there are none, by predicted ones. NULL: no row has either. */
const struct view *predicted_winner(const struct case_view *c);

#endif
