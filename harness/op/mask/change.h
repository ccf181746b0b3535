/* op/mask/change: where did a video change? A mask a frame, by the difference of each pixel from what was last passed on. */
#ifndef BENCH_OP_CHANGE_H
#define BENCH_OP_CHANGE_H

#include "base/image.h"

/* A pixel is active when any channel differs by more than `threshold` (share of white, 0..1) from what it was when it was last active, so
 * that slow changes add up and none is lost; then the mask is dilated by `dilate` pixels to every side, and every active pixel is
 * remembered as it is now. */
struct change {
    double threshold;
    int64_t dilate;
    /* private: zero before the first frame */
    struct image last;
};
/* mask: h * w values 0 or 1. The first frame is active everywhere. All frames have the size and channels of the first. */
bool change_step(struct change *change, const struct image *frame, float *mask, struct error *err);
void change_end(struct change *change);
/* A mask of another size: a pixel is active when any that it covers is. */
void change_fit(const float *from, int64_t from_h, int64_t from_w, float *to, int64_t to_h, int64_t to_w);

#endif
