/* The short mask patterns; blobs.c has the longer one. */
#include "op/mask/pattern.h"
#include <math.h>

#define MASK_DECLARE(upper, lower, keys) void mask_pattern_##lower(struct mask_plane *p);
MASK_PATTERNS(MASK_DECLARE)
#define MASK_ENTRY(upper, lower, keys) mask_pattern_##lower,
void (*const mask_pattern_draw[])(struct mask_plane *p) = {MASK_PATTERNS(MASK_ENTRY)};

void mask_pattern_iid(struct mask_plane *p)
{
    for (int64_t i = 0; i < p->d * p->h * p->w; i++)
        p->at[i] = mask_draw(p) < p->mask->density;
}

static int64_t between(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* One rectangle with the proportions of the image; in a volume one cuboid. */
void mask_pattern_box(struct mask_plane *p)
{
    int64_t wanted = mask_wanted_pixels(p);
    if (wanted < 1)
        return;
    int64_t bd = p->d > 1 ? between(llround(cbrt(p->mask->density) * (double)p->d), 1, p->d) : 1;
    double in_plane = p->d > 1 ? cbrt(p->mask->density) : sqrt(p->mask->density);
    int64_t bh = between(llround(in_plane * (double)p->h), 1, p->h), bw = between((wanted + bd * bh / 2) / (bd * bh), 1, p->w);
    int64_t z0 = p->d > 1 ? mask_draw_below(p, p->d - bd + 1) : 0, y0 = mask_draw_below(p, p->h - bh + 1),
            x0 = mask_draw_below(p, p->w - bw + 1);
    for (int64_t z = z0; z < z0 + bd; z++)
        for (int64_t y = y0; y < y0 + bh; y++)
            for (int64_t x = x0; x < x0 + bw; x++)
                p->at[(z * p->h + y) * p->w + x] = 1;
}

/* Whole rows, evenly spread. */
void mask_pattern_scanline(struct mask_plane *p)
{
    int64_t all = p->d * p->h, rows = llround(p->mask->density * (double)all), phase = mask_draw_below(p, all);
    for (int64_t y = 0; y < all; y++) {
        bool active = (y + 1) * rows / all > y * rows / all;
        for (int64_t x = 0; active && x < p->w; x++)
            p->at[(y + phase) % all * p->w + x] = 1;
    }
}

void mask_pattern_full(struct mask_plane *p)
{
    for (int64_t i = 0; i < p->d * p->h * p->w; i++)
        p->at[i] = 1;
}

void mask_pattern_pixel(struct mask_plane *p)
{
    p->at[mask_draw_below(p, p->d * p->h * p->w)] = 1;
}

void mask_pattern_checkerboard(struct mask_plane *p)
{
    for (int64_t i = 0; i < p->d * p->h * p->w; i++)
        p->at[i] = (float)(((uint64_t)(i / p->w / p->h + i / p->w % p->h + i % p->w) + p->mask->seed) & 1);
}

#define DRAWS_NOTHING(name) \
    void mask_pattern_##name(struct mask_plane *p) \
    { \
        (void)p; \
    }
DRAWS_NOTHING(none)
DRAWS_NOTHING(empty)
DRAWS_NOTHING(file)
