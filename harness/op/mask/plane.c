#include "op/mask/pattern.h"
#include "op/random.h"
#include <math.h>

double mask_draw(struct mask_plane *p)
{
    return random_uniform(p->mask->seed, p->stream, p->drawn++);
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
