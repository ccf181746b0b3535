/* The mask patterns of a few lines; op/pattern_blobs.c has the longer one. */
#include "op/generate.h"
#include "op/pattern.h"
#include <math.h>
#include <string.h>

double mask_draw(struct mask_plane *p)
{
    return generate_uniform(p->mask->seed, p->stream, p->drawn++);
}

int64_t mask_draw_below(struct mask_plane *p, int64_t n)
{
    int64_t v = (int64_t)(mask_draw(p) * (double)n);
    return v < n ? v : n - 1;
}

int64_t mask_wanted_pixels(const struct mask_plane *p)
{
    return (int64_t)llround(p->mask->density * (double)(p->d * p->h * p->w));
}

static void iid_draw(struct mask_plane *p)
{
    for (int64_t i = 0; i < p->d * p->h * p->w; i++)
        p->at[i] = mask_draw(p) < p->mask->density;
}

static int64_t between(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* One rectangle of the image's own proportions, in a volume one cuboid. */
static void box_draw(struct mask_plane *p)
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
static void scanline_draw(struct mask_plane *p)
{
    int64_t all = p->d * p->h, rows = llround(p->mask->density * (double)all), phase = mask_draw_below(p, all);
    for (int64_t y = 0; y < all; y++) {
        bool active = (y + 1) * rows / all > y * rows / all;
        for (int64_t x = 0; active && x < p->w; x++)
            p->at[(y + phase) % all * p->w + x] = 1;
    }
}

static void full_draw(struct mask_plane *p)
{
    for (int64_t i = 0; i < p->d * p->h * p->w; i++)
        p->at[i] = 1;
}

static void pixel_draw(struct mask_plane *p)
{
    p->at[mask_draw_below(p, p->d * p->h * p->w)] = 1;
}

static void checkerboard_draw(struct mask_plane *p)
{
    for (int64_t i = 0; i < p->d * p->h * p->w; i++)
        p->at[i] = (float)(((uint64_t)(i / p->w / p->h + i / p->w % p->h + i % p->w) + p->mask->seed) & 1);
}

#define MASK_DECLARE(upper, lower) extern const struct mask_pattern_kind mask_pattern_##lower;
MASK_PATTERNS(MASK_DECLARE)
const struct mask_pattern_kind mask_pattern_none = {.name = "none"};
const struct mask_pattern_kind mask_pattern_full = {.name = "full", .draw = full_draw};
const struct mask_pattern_kind mask_pattern_empty = {.name = "empty"};
const struct mask_pattern_kind mask_pattern_iid = {.name = "iid", .density = true, .seed = true, .draw = iid_draw};
const struct mask_pattern_kind mask_pattern_box = {.name = "box", .density = true, .seed = true, .draw = box_draw};
const struct mask_pattern_kind mask_pattern_scanline = {.name = "scanline", .density = true, .seed = true, .draw = scanline_draw};
const struct mask_pattern_kind mask_pattern_pixel = {.name = "pixel", .seed = true, .draw = pixel_draw};
const struct mask_pattern_kind mask_pattern_checkerboard = {.name = "checkerboard", .seed = true, .draw = checkerboard_draw};
const struct mask_pattern_kind mask_pattern_file = {.name = "file", .path = true};

#define MASK_ENTRY(upper, lower) &mask_pattern_##lower,
const struct mask_pattern_kind *const mask_patterns[] = {MASK_PATTERNS(MASK_ENTRY)};
#define MASK_NAME(upper, lower) #lower,
const char *const mask_pattern_names[] = {MASK_PATTERNS(MASK_NAME) NULL};

bool mask_pattern_has_density(const char *name)
{
    for (int p = 0; p < MASK_PATTERN_COUNT; p++)
        if (strcmp(mask_pattern_names[p], name) == 0)
            return mask_patterns[p]->density || mask_patterns[p]->path;
    return false;
}

bool mask_pattern_is_end(const char *name)
{
    return strcmp(name, mask_pattern_names[MASK_FULL]) == 0 || strcmp(name, mask_pattern_names[MASK_EMPTY]) == 0;
}
