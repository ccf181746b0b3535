/* op/mask/change: masks from a video: one for each frame, by the difference of each pixel from its value when it was last active. */
#pragma once

#include "base/image.h"

/* A pixel is active if any channel differs by more than `threshold` (share of white, 0..1) from its value when the pixel was last active.
 * Slow changes therefore add up, and none is lost. The mask is then dilated by `dilate` pixels to every side, and the values of all active
 * pixels are stored. */
struct change {
    double threshold;
    int64_t dilate;
    /* private: zero before the first frame */
    struct image last;
};
/* mask: h * w values 0 or 1. The first frame is active everywhere. All frames have the size and channels of the first. */
bool change_step(struct change *change, const struct image *frame, float *mask, struct error *err);
void change_end(struct change *change);
/* Scales a mask: a pixel is active if any pixel that it covers is. */
void change_fit(const float *from, int64_t from_h, int64_t from_w, float *to, int64_t to_h, int64_t to_w);
