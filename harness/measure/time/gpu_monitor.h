/* measure/time/gpu_monitor: watches the GPU while rows are timed: its power, throttle reasons, clock and temperature, and other
 * processes that compute on it. Other processes make a time invalid for the kernel alone. */
#pragma once

#include "base/text.h"
#include "device/device.h"
#include "store/row.h"

struct others {       /* other processes on the GPU */
    struct text said; /* "pid 12 python3, pid 13" */
    long *pids;
    int count;
};
struct board {
    const struct device *dev;
    struct others others; /* since board_begin */
    double sensed_s;      /* the last reading, and its time */
    double power_w, throttle;
    double looked_s; /* the time of the last scan for other processes */
};
/* Clears the list of other processes and scans for the first time. */
void board_begin(struct board *board, const struct device *dev);
/* Adds other processes that are on the GPU now. Takes some microseconds. */
void board_look(struct board *board);
/* Makes the next board_sense read the board again. */
void board_restart(struct board *board);
/* Power and throttle reasons, for one round; NaN where unknown. Looks for other processes now and then. */
void board_sense(struct board *board, double *power_w, double *throttle);
/* Stores the current memory clock and temperature in the rows that have a time. */
void board_report(const struct board *board, struct row *const *rows, int count);
/* Adds the processes in `pids`, except this process, its parent, the bench processes that started that one, and other children of these. */
void others_add(const long *pids, int count, struct others *others);
void others_free(struct others *others);
