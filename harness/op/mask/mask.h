/* op/mask/mask: the pixels that a masked work must compute: its masks, and how much work they leave. */
#ifndef BENCH_OP_MASK_H
#define BENCH_OP_MASK_H

#include "op/op.h"

/* Mask of the work, floats 0/1 (op/mask/mask.c): n*1*h*w, or n*1*p*q when it marks outputs; and the dilation of an input mask by the op's
 * receptive field: n*1*h*w in, n*1*p*q out; an output pixel is active when any input pixel under its filter, inside the image, is. */
bool mask_make(const struct work *work, float *out, struct error *err);
void mask_dilate(const struct work *work, const float *in, float *out);
/* Both masks of a work: the inputs that are marked (or, where outputs are marked, those that an active output reads) and the active
 * outputs. All ones without a mask. */
bool mask_both(const struct work *work, float *in, float *active, struct error *err);
/* The mask of `second`: the same pattern with another seed. n*1*h*w. */
bool mask_second(const struct work *work, float *out, struct error *err);
/* Elements of inactive pixels become `with`. */
void mask_blank(const struct tensor *t, const float *mask, float with, float *values);
/* A change may be of nothing: in the exact data of works whose mask is not made of values (settle) some marked pixels hold zeros alone, the
 * others some. Is this value, counted from the tensor's first as its pixel is from the first image's, one of them? */
bool mask_holds_still(size_t pixel, size_t element);
bool mask_has_still(const struct work *work, enum data_part part);
/* Share of ones, 0..1. */
double mask_density(const float *mask, size_t count);
/* The part of a masked work that must be done: shares of active pixels, FLOP of the active outputs, and the compulsory bytes: active
 * inputs and outputs (and residuals there), masks whole, filter and bias whole if any output is active. Without a mask: everything. */
struct useful {
    double input_share, output_share, flop, bytes;
};
bool work_useful(const struct work *work, struct useful *out, struct error *err);
/* The same of masks that are there already (mask_both). */
void work_useful_of(const struct work *work, const float *in, const float *active, struct useful *out);

/* Active outputs of a link from the marks that it is given: n*1*p*q of its work, malloc'd. */
float *chain_marks(const struct chain_link *link, const float *in);
/* FLOP of the active outputs of all links, from the marks of the chain's input. */
double chain_useful_flop(const struct chain *chain, const float *in);

#endif
