/* op/mask/min_work: the least work that a result needs, by algorithm. Lower bounds: nothing here estimates what a kernel does.
 *
 * Products of the filter, as FLOP (2 a product), padding left out; with a mask, those of a marked input with an active output:
 * direct: every tap that lies inside the image. collapsed: taps of an output that fall on the same input pixel count once
 * (upsample_conv2d). winograd: m outputs from r taps by m + r - 1 products along each axis (S. Winograd, Arithmetic Complexity of
 * Computations, 1980; Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015: F(2x2, 3x3) 16 for 4 outputs in place of
 * 36, F(4x4, 3x3) 36 for 16 in place of 144), at the largest m that anybody uses, 6; a stride parts the taps into classes that are
 * transformed apart. fft: half of the points of a transform of real data are enough, with 3 real products each: 1.5 products per output
 * and class, for any size of filter and tiles. Transforms themselves, which cost more, count nothing. Strassen's method over the channels
 * is left out: no kernel here gains from it. */
#pragma once

#include "op/op.h"

struct min_work {
    double direct, collapsed, winograd, fft; /* FLOP */
    double read_bytes, write_bytes;          /* needed parts of the inputs once, each output once */
};
/* `in`, `active`: the work's masks (mask_both), NULL without a mask. */
void min_work_of(const struct work *work, const float *in, const float *active, struct min_work *out);
/* The least FLOP of this algorithm (`direct`, `winograd` ... of a head); the fewest of all algorithms for `library`, an unknown word, or
 * NULL. A kernel of any algorithm may compute parts directly. */
double min_work_flop(const struct min_work *least, const char *algorithm);
