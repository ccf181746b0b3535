/* measure/trust/failure: what a row did wrong, as the device's reports, an error or a comparison say it. */
#ifndef BENCH_MEASURE_TRUST_FAILURE_H
#define BENCH_MEASURE_TRUST_FAILURE_H

#include "base/error.h"
#include "device/device.h"
#include "measure/verify/verify.h"
#include "op/program.h"
#include "store/row.h"

/* If the interpreter has safety reports, the worst of them decides the row's status and reason. */
void failure_take_reports(struct device *dev, struct row *row);
/* A failure while the row ran, into the row. `otherwise`: its status if neither a report nor the kind of error says more. */
void failure_blame(struct device *dev, struct row *row, const struct error *why, enum row_status otherwise);
/* A property of the op's file that may make a right kernel look wrong by little, as the end of a sentence; "": none. */
const char *failure_hint(const struct program *program, const struct op_data *data, const struct verdict *verdict);

#endif
