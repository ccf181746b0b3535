/* report/view/machine: the machine of a stored run, without opening it: its chip by product name, and its measured ceilings. */
#pragma once

#include "device/chip/floor.h"
#include "store/store.h"
#include <stdbool.h>

struct machine {
    const struct chip *chip;  /* of the table; NULL: a product it does not have */
    struct ceilings ceilings; /* 0 each where not measured */
    bool measured;
    char library[32]; /* "cudnn 9.19.0"; "": none */
};
/* `run` may be NULL: then only the row's device is used. */
struct machine machine_of(const struct run *run, const struct row *row);
/* FLOP/s of an enum math's pipe; bytes/s of DRAM (copy); ns of an empty launch. Measured, else from the data sheet (*measured says
 * which); 0: not known. */
double machine_flop_s(const struct machine *m, int math, bool *measured);
/* Of the pipe that the row's math names; 0: none. */
double machine_row_flop_s(const struct machine *m, const struct row *row);
/* The operations that a row's rate counts: the useful ones, where they are known. */
double useful_flop(const struct row *row);
double machine_bytes_s(const struct machine *m, bool *measured);
double machine_launch_ns(const struct machine *m);
