/* measure/trust/unread: elements of inputs that no thread read.
 *
 * If a launch did not read an element, its result is the same for every value of it. If the reference's is not, the kernel is wrong for
 * some value. So bench replaces the unread elements by other values of their tensor and computes the reference again. For inputs that need
 * not be read (a stride larger than the filter, a gather, inactive pixels) the reference stays the same. Only emu records reads. */
#pragma once

#include "measure/job.h"
#include "measure/rig/rig.h"

/* rig: a row's, after a correct launch on its precision data that was watched from its prepare steps on (rig_watch). Sets the row's status
 * and reason, or its metric verify.unread. If the reference cannot be made, that is no evidence. False: the row is wrong. */
bool unread_check(const struct job *job, int index, struct rig *rig, const struct op_data *data, struct row *row);
