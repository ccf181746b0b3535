/* report/view/predict: the predicted time of a row that was counted on emu, from its stored counts (device/chip/predict.h). */
#ifndef BENCH_REPORT_PREDICT_H
#define BENCH_REPORT_PREDICT_H

#include "report/view/verdict.h"

/* Sets v->predicted of every row of the case. Nothing on a device that measures time. */
void case_predict(struct case_view *c, const struct judge *j);
/* A value of a counter group, or a fact, as the model has it: how busy a unit is. NaN: the row has no prediction, or the name no value. */
double predicted_value(const struct case_view *c, const struct view *v, const char *name);
/* "412 us (350 to 520), DRAM": false, and nothing, without a prediction. */
bool predicted_text(const struct view *v, struct text *t);
/* The row whose predicted time is least; NULL: none has one. */
const struct view *predicted_best(const struct case_view *c);
/* What a table with predicted times says under it: the error on rows that were held out. False: no row of the case has one. */
bool predicted_error(const struct case_view *c, struct text *t);

#endif
