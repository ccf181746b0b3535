/* measure/trust/failure: what a row did wrong, according to the device's reports, an error or a comparison. */
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "measure/verify/verify.h"
#include "op/program.h"
#include "store/row.h"

/* If the interpreter has safety reports, the worst of them decides the row's status and reason. */
void failure_take_reports(struct device *dev, struct row *row);
/* Stores a failure of the running row in the row. `otherwise`: its status if neither a report nor the kind of error decides it. */
void failure_blame(struct device *dev, struct row *row, const struct error *why, enum row_status otherwise);
/* A property of the op's file that may make a correct kernel appear slightly wrong, as the end of a sentence; "": none. */
const char *failure_hint(const struct program *program, const struct op_data *data, const struct verdict *verdict);
