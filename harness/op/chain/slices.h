/* op/chain/slices: a concat that is no copy. What it joins is written into one tensor, each part to its channels. */
#pragma once

#include "op/chain/chain.h"

/* Where a link's output lies. */
struct chain_slice {
    bool placed;   /* it is a part of a concat's output; else it lies alone */
    int root;      /* that concat; the link itself */
    int64_t first; /* the element of the root's output where it begins */
    int64_t pitch; /* NHWC: channels of the root's output, the elements from one pixel to the next; 0: it lies together */
};
/* Places every link's output; out: by link. alone[i]: link i's output must be a tensor of its own, because its kernel or a reader's cannot
 * use a slice; NULL: none must. The root of a series of concats is the last one. The chain's input and last output are always tensors of
 * their own. */
void chain_slices(const struct chain *chain, const bool *alone, struct chain_slice *out);
/* True if the link is a concat whose parts lie in its output: no step runs but a copy of each part that was not written there. */
bool chain_joined(const struct chain *chain, const struct chain_slice *slices, int link);
/* The elements before its second part. */
int64_t chain_part_begin(const struct chain_link *link);
/* True if part 0 (input) or 1 (second) of a joined link must be copied. */
bool chain_part_apart(const struct chain *chain, const struct chain_slice *slices, int link, int part);
/* The work of that copy, of an op that has nothing to do but an epilogue. */
bool chain_part_copy(const struct chain *chain, const struct chain_slice *slices, int link, int part, struct work *out, struct error *err);
/* The pitches of a link's tensors; its work with them. */
struct pitches chain_slice_pitches(const struct chain *chain, const struct chain_slice *slices, int link);
struct work chain_slice_work(const struct chain *chain, const struct chain_slice *slices, int link);
