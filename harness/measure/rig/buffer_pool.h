/* measure/rig/buffer_pool: where the rows of a case stand while they are timed together.
 *
 * All rows have the same buffers, so that none is fast by where it lies, and each buffer is there several times over: inputs in *sets*,
 * whose values differ but for weights and masks; outputs, scratch and workspaces in *seats*. A launch gets one set and one seat, which
 * nothing in it can foresee (measure/time/sample). A room also has what sums up buffers on the device, so that what a timed launch wrote
 * can be held against what a verified one wrote. */
#ifndef BENCH_MEASURE_RIG_BUFFER_POOL_H
#define BENCH_MEASURE_RIG_BUFFER_POOL_H

#include "measure/verify/device_check.h"
#include "measure/rig/rig_private.h"

struct room;

#define ROOM_SEATS 2

/* card: not owned, outlives the room; NULL: nothing is summed up. */
struct room *room_open(struct device *dev, struct card *card, int sets, int seats);
/* After its rigs. lost: the device may not answer any more, so what lies on it is left there. */
void room_close(struct room *room, bool lost);
int room_sets(const struct room *room);
int room_seats(const struct room *room);
struct card *room_card(const struct room *room);
/* The buffer of this name and size, number `index` of it; the first who asks for it makes it, with `guard` bytes around it, and is told so
 * in *fresh. */
bool room_place(struct room *room, const char *name, int index, size_t bytes, size_t guard, struct place *out, bool *fresh,
                struct error *err);

#endif
