/* op/mask/pattern: draws the pixels of a mask, one function for each pattern. Private to op/. */
#pragma once

#include "op/work.h"

/* One image of a mask, with its own stream of random numbers; all of `at` is 0 at the start. */
struct mask_plane {
    const struct mask *mask;
    float *at;
    int64_t d, h, w; /* d planes of h rows; an image is one */
    uint64_t stream, drawn;
};
/* The next number of the stream, in [0, 1), and below n. */
double mask_draw(struct mask_plane *p);
int64_t mask_draw_below(struct mask_plane *p, int64_t n);
/* How many pixels the density asks for. */
int64_t mask_wanted_pixels(const struct mask_plane *p);

/* The function of each pattern, `mask_pattern_NAME`: sets active pixels to 1. By enum value; NONE, EMPTY and FILE set none. */
extern void (*const mask_pattern_draw[])(struct mask_plane *p);
