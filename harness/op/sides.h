/* op/sides: pad, stride, dilation and output_pad apart by side or axis. */
#pragma once

#include "op/op.h"

/* Name, place in struct work and meaning of a side. */
struct op_symbol side_symbol(enum work_side side);
/* The place of the number that the side is of: offsetof(struct work, pad) ... */
size_t side_base(enum work_side side);
/* Forgets what was apart for the number at this place: it holds for every side. */
void sides_alike(struct work *work, size_t base);
/* Sets one side; the number at its place has been set. */
void side_set(struct work *work, enum work_side side, int64_t value);
/* True if the layer sets the number that `side` is of apart anywhere; SIDE_COUNT: any number. */
bool sides_differ(const struct work *work, enum work_side side);
/* Derives work->side, and the pads of `same`. Checks that each side is in its field's range. */
bool sides_finish(struct work *work, struct error *err);
/* " p1" for one number (if `wanted`), " p0x3" for one an axis, " p0x1x0x2" for top, left, bottom, right. */
void sides_describe(const struct work *work, size_t base, const char *prefix, bool wanted, struct text *t);
/* Appends `pad_left=3;` for each side that is apart. */
void sides_key(const struct work *work, struct text *t);
