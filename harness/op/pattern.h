/* op/pattern: how the pixels of a mask are drawn, a pattern at a time. Private to op/, but for what a pattern is asked for by. */
#ifndef BENCH_OP_PATTERN_H
#define BENCH_OP_PATTERN_H

#include "op/work.h"

/* One image of a mask, with its own stream of random numbers; all of `at` is 0 to begin with. */
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

struct mask_pattern_kind {
    const char *name;
    bool density, radius, seed, path;   /* the keys that a scenario gives; others are refused (path: and frame) */
    void (*draw)(struct mask_plane *p); /* sets active pixels to 1; NULL: there are none, or a file says */
};
extern const struct mask_pattern_kind *const mask_patterns[]; /* by enum value */
/* Has the pattern of that name masks of many densities? full and empty are the ends of every one that has. */
bool mask_pattern_has_density(const char *name);
bool mask_pattern_is_end(const char *name);

#endif
