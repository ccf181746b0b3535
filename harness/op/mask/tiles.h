/* op/mask/tiles: for a variant that works in tiles and a mask: how many tiles it must compute, how much work that is, and how full they
 * are. */
#pragma once

#include "base/text.h"
#include "op/program.h"

/* Histogram of tiles by how many marked inputs their outputs read: bin 0 none, 1 one, 2 two, 3 3-4, 4 5-8 ...; the last bin is open. */
#define TILE_BINS 12
struct tile_stats {
    int64_t tiles, active; /* active: an output of it is */
    double flop; /* scheduled FLOP: all outputs of the active tiles that lie inside the image; for a chain also what each of them needs of
                    the links before the last */
    int64_t bins[TILE_BINS];
};
/* in, active: the two masks of the work (mask_both). */
void tile_stats(const struct work *work, const float *in, const float *active, const struct tile *tile, struct tile_stats *out);
/* Sets a byte for every output of an active tile; leaves the others. */
void tiles_mark(const struct work *work, const float *active, const struct tile *tile, unsigned char *marks);
/* "0:12298 1:20 2:8 3-4:74", bins that are not empty. */
void tile_bins_text(const struct tile_stats *stats, struct text *t);

/* The same, with the masks that it draws. */
bool tile_stats_draw(const struct work *w, const struct tile *tile, struct tile_stats *stats, struct error *err);
