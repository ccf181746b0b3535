/* report/view/machine: what is known of the machine of a stored run without opening it: the chip by its product name, the ceilings it was
 * measured to have. */
#ifndef BENCH_REPORT_MACHINE_H
#define BENCH_REPORT_MACHINE_H

#include "device/chip/floor.h"
#include "store/store.h"
#include <stdbool.h>

struct machine {
    const struct chip *chip;  /* of the table; NULL: a product it does not have */
    struct ceilings ceilings; /* 0 each where not measured */
    bool measured;
    char library[32]; /* "cudnn 9.19.0"; "" where there was none */
};
/* `run` may be NULL: then the row's device alone tells. */
struct machine machine_of(const struct run *run, const struct row *row);
/* FLOP/s of the pipe of an enum math; bytes/s of DRAM (a copy); ns of an empty launch. Measured, else the data sheet's; 0 = not known.
 * *measured says which. */
double machine_flop_s(const struct machine *m, int math, bool *measured);
double machine_bytes_s(const struct machine *m, bool *measured);
double machine_launch_ns(const struct machine *m);

#endif
