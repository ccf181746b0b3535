/* The mask pattern blobs: changed pixels as a moving object leaves them. */
#include "base/order.h"
#include "base/text.h"
#include "op/mask/pattern.h"
#include <stdlib.h>

struct disc_pixel {
    int64_t distance2, index;
};
ORDER(by_distance, struct disc_pixel, x->distance2 != y->distance2 ? (x->distance2 < y->distance2 ? -1 : 1) : ORDER_UP(index))

/* Adds a disc (in a volume a ball), or only its middle if fewer pixels are still wanted. Returns how many pixels it added. */
static int64_t add_disc(struct mask_plane *p, int64_t centre, int64_t radius, int64_t wanted, struct disc_pixel *space)
{
    int64_t cz = centre / p->w / p->h, cy = centre / p->w % p->h, cx = centre % p->w;
    int64_t z0 = cz > radius ? cz - radius : 0, z1 = cz + radius < p->d ? cz + radius : p->d - 1;
    int64_t y0 = cy > radius ? cy - radius : 0, y1 = cy + radius < p->h ? cy + radius : p->h - 1;
    int64_t x0 = cx > radius ? cx - radius : 0, x1 = cx + radius < p->w ? cx + radius : p->w - 1, count = 0;
    for (int64_t i = z0 * p->h; i < (z1 + 1) * p->h; i++) /* rows of all planes */
        for (int64_t x = x0; x <= x1 && i % p->h >= y0 && i % p->h <= y1; x++) {
            int64_t z = i / p->h - cz, y = i % p->h - cy, d = z * z + y * y + (x - cx) * (x - cx);
            if (d <= radius * radius && p->at[i * p->w + x] == 0)
                space[count++] = (struct disc_pixel){d, i * p->w + x};
        }
    if (count > wanted) {
        qsort(space, (size_t)count, sizeof *space, by_distance);
        count = wanted;
    }
    for (int64_t i = 0; i < count; i++)
        p->at[space[i].index] = 1;
    return count;
}

/* Union of discs of one radius at random centres, until exactly the wanted share is covered (the last disc is smaller). */
void mask_pattern_blobs(struct mask_plane *p);
void mask_pattern_blobs(struct mask_plane *p)
{
    int64_t wanted = mask_wanted_pixels(p), radius = p->mask->radius, across_h = 2 * radius + 1 < p->h ? 2 * radius + 1 : p->h;
    int64_t across_w = 2 * radius + 1 < p->w ? 2 * radius + 1 : p->w, across_d = 2 * radius + 1 < p->d ? 2 * radius + 1 : p->d,
            pixels = p->d * p->h * p->w;
    SCOPED struct disc_pixel *space = xmalloc((size_t)(across_d * across_h * across_w) * sizeof *space);
    while (wanted > 0) {
        int64_t centre = mask_draw_below(p, pixels), tries = 0;
        while (p->at[centre] != 0 && tries++ < 64) /* nearly full images: look for a hole, then take the next one */
            centre = mask_draw_below(p, pixels);
        while (tries >= 64 && p->at[centre] != 0)
            centre = (centre + 1) % pixels;
        wanted -= add_disc(p, centre, radius, wanted, space);
    }
}
