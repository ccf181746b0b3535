/* measure/trust/unread: elements of inputs that no thread read.
 *
 * A kernel whose launch did not read an element gives the same result for every value of it. If the reference does not, the kernel is wrong
 * for one of the two. So bench replaces the unread elements by other values of their tensor and computes the reference again. Inputs that
 * need not be read (a stride larger than the filter, a gather, inactive pixels) leave it as it is. Only emu tells what was read. */
#pragma once

#include "measure/job.h"
#include "measure/rig/rig.h"

/* rig: of a row, after a correct launch on its precision data that was watched from its prepare steps on (rig_watch). Sets the row's status
 * and reason, or its metric verify.unread. A reference that cannot be made is not evidence. False: the row is wrong. */
bool unread_check(const struct job *job, int index, struct rig *rig, const struct op_data *data, struct row *row);
