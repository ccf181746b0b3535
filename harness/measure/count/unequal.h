/* measure/count/unequal: how much longer a launch takes because its blocks do unequal work (device/chip/dispatch). Adds emu.unequal_sm,
 * emu.unequal_place and emu.unequal_blocks to a step of a row, unless all blocks do the same work. */
#pragma once

#include "device/chip/dispatch.h"
#include "measure/rig/rig.h"
#include "store/row.h"

/* Of a launch that ran whole: the device's last. places: of blocks on an SM; < 1: unknown. False: nothing was found. */
bool unequal_launch(const struct device *dev, const struct step *s, int places, struct dispatch *out);
/* Of the work of each block. */
bool unequal_work(const struct device *dev, const struct step *s, int places, const uint32_t *work, uint64_t blocks, struct dispatch *out);
void unequal_add(struct row *row, int step, const struct dispatch *d);
/* Adds what unequal_launch finds of a kernel step, if it finds something. */
void unequal_count(const struct device *dev, const struct step *s, struct row *row, int step);
