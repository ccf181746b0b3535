/* Finds the outputs that a sparse variant skips, if its head does not say: every inactive output, or the outputs of whole tiles. */
#include "base/text.h"
#include "measure/verify/verify_private.h"
#include "op/mask/tiles.h"
#include <stdlib.h>
#include <string.h>

#define TILE_SIDES 6     /* 1, 2, 4 ... 32 */
#define TILE_SIDE_BARE 8 /* if no tile can be skipped, tile sizes are indistinguishable, so at most 8 x 8 is accepted */

/* By output of the mask: whether any of its elements differs from the canary. */
static unsigned char *written_pixels(const struct verify_look *look)
{
    const int64_t *dim = look->fold, b = look->block, across = dim[3] / b, down = dim[2] / b;
    unsigned char *written = xcalloc((size_t)(dim[0] * down * across), 1);
    SCOPED char *row = xmalloc((size_t)dim[3] * dtype_bytes(look->t.dtype));
    for (int64_t i = 0; i < dim[0] * dim[1] * dim[2]; i++) {
        int64_t n = i / dim[2] / dim[1], h = i % dim[2];
        tensor_row(&look->t, look->storage, n, i / dim[2] % dim[1], h, row);
        for (int64_t w = 0; w < dim[3]; w++)
            written[(n * down + h / b) * across + w / b] |= !verify_is_poison(look->t.dtype, row, w);
    }
    return written;
}

/* True if the kernel wrote all outputs of tiles with an active output, and no others. */
static bool is_tile(const struct verify_look *look, const unsigned char *written, const struct tile *tile, unsigned char *marks,
                    bool *skipped)
{
    const struct work *w = &look->program->work;
    int64_t count = w->n * w->p * w->q;
    memset(marks, 0, (size_t)count);
    tiles_mark(w, look->mask, tile, marks);
    *skipped = memchr(marks, 0, (size_t)count) != NULL;
    for (int64_t i = 0; i < count; i++)
        if (look->mask[i] == 0 && written[i] != marks[i])
            return false;
    return *skipped || (tile->h <= TILE_SIDE_BARE && tile->w <= TILE_SIDE_BARE);
}

unsigned char *verify_find_tile(const struct verify_look *look, struct tile *tile, bool *skipped)
{
    const struct work *w = &look->program->work;
    if (look->fold[2] != w->p * look->block || look->fold[3] != w->q * look->block || w->op->volume)
        return NULL;
    unsigned char *written = written_pixels(look), *marks = xmalloc((size_t)(w->n * w->p * w->q));
    bool found = false;
    for (int area = 1; area <= 2 * (TILE_SIDES - 1) && !found; area++)
        for (int i = 0; i < TILE_SIDES && !found; i++) {
            int k = area - i; /* sides of 2^i and 2^k: the smallest tiles first */
            if (k < 0 || k >= TILE_SIDES)
                continue;
            *tile = (struct tile){INT64_C(1) << i, INT64_C(1) << k, 1, 0};
            found = is_tile(look, written, tile, marks, skipped);
        }
    free(written);
    if (found)
        return marks;
    free(marks);
    return NULL;
}
