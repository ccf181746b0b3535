/* op/mask/mask: the masks of a work, and how much work they leave. */
#pragma once

#include "op/op.h"

/* mask_make: mask of the work as floats 0/1, n*1*h*w, or n*1*p*q if it marks outputs. mask_dilate: the active outputs for an input mask
 * (n*1*h*w in, n*1*p*q out): an output pixel is active if any input pixel under its filter, inside the image, is. */
bool mask_make(const struct work *work, float *out, struct error *err);
void mask_dilate(const struct work *work, const float *in, float *out);
/* Both masks of a work: the marked inputs (if the mask marks outputs: the inputs that active outputs read) and the active outputs. All ones
 * without a mask. */
bool mask_both(const struct work *work, float *in, float *active, struct error *err);
/* The mask of `second`: the same pattern with another seed. n*1*h*w. */
bool mask_second(const struct work *work, float *out, struct error *err);
/* Sets the elements of inactive pixels to `with`. */
void mask_blank(const struct tensor *t, const float *mask, float with, float *values);
/* A changed pixel may keep its value. So in the exact data, unless values decide the mask (settle), some marked pixels hold only zeros and
 * others some zeros. True if this element is one of those; both indices count from the start of the batch. */
bool mask_holds_still(size_t pixel, size_t element);
bool mask_has_still(const struct work *work, enum data_part part);
/* Share of ones, 0..1. */
double mask_density(const float *mask, size_t count);
/* The part of a masked work that must be done: shares of active pixels; FLOP of the active outputs; compulsory bytes: active inputs,
 * outputs and residuals, whole masks, and the whole filter and bias if any output is active. Without a mask: all of it. */
struct useful {
    double input_share, output_share, flop, bytes;
};
bool work_useful(const struct work *work, struct useful *out, struct error *err);
/* The same from existing masks (mask_both). */
void work_useful_of(const struct work *work, const float *in, const float *active, struct useful *out);

/* Active outputs of a link (n*1*p*q of its work, malloc'd) for its input mask. */
float *chain_marks(const struct chain_link *link, const float *in);
/* FLOP of the active outputs of all links, for the mask of the chain's input. */
double chain_useful_flop(const struct chain *chain, const float *in);
