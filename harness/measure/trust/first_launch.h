/* measure/trust/first_launch: what connects a row's verification with its first launch where it is timed: the bits of the output. */
#pragma once

#include "measure/rig/rig.h"
#include "store/row.h"

/* Checksums of the first full-precision launch, for rows whose second launch happens where they are timed. */
struct left_sum {
    bool known;
    uint64_t sum;
};
struct first_launches {
    struct left_sum *left; /* by row; NULL: of none */
};
/* Compares this launch with the row's recorded first launch, bit for bit. Does nothing for a row that the verifier launched twice. */
void first_launch_compare(const struct first_launches *first, int index, const struct rig *rig, struct row *row);
/* The rig, just fed with the first set, may give what its verification gave. */
void first_launch_expect(const struct first_launches *first, int index, struct rig *rig);
void first_launch_forget(struct first_launches *first);
