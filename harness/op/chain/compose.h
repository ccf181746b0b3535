/* op/chain/compose: joins the programs of a chain's links into one program, which is then set up, run, checked and timed like any row. */
#pragma once

#include "op/chain/slices.h"
#include "op/program.h"

/* parts and spans: by link. spans[i] = 1: parts[i] is bound to that link; more: to the chain of as many links from there (chain_part),
 * whose own parts and spans are ignored. Each part is bound to the link's work and feasible. `out` gets work (of chain_work), tensors
 * (input, output), the links' weights as constants, their scratch, units (equal ones once) and steps (all prepare steps first, each with
 * its link); the caller sets variant and params. Activations between links share as few buffers as the chain's shape allows. If the parts
 * of a masked work use the masks between the links, these are in scratch, too. The result is infeasible, with a reason, if a part needs an
 * activation in another layout than the chain has, if one part works on marked pixels and another on all, or if a part needs something of
 * the previous one that it does not leave. Everything is copied: the parts may be freed. slices: by link (op/chain/slices.h), or NULL;
 * parts are then bound with the pitches of their tensors, the part of a joined link is NULL, and copies[2 * link + part] is the copy of a
 * part of one. */
bool compose_chain(const struct work *work, const struct program *const *parts, const int *spans, const struct chain_slice *slices,
                   const struct program *copies, struct program *out, struct error *err);

/* A network that gets only the changes from frame to frame: its layers read changes and write changes (op_of_changes). Between them run
 * kernels of kernels/sequence/delta.cu, which keep each layer's sums and the part of them that was sent on. */
struct changes {
    const struct chain *layers; /* the network itself: its biases and activations */
    const char *kernels;        /* path of delta.cu */
    const char *include;        /* folder of the headers it shares, borrowed; NULL: this installation's */
    double threshold;           /* of the frame's pixels */
    enum truncate truncate;     /* norm of a pixel's change behind an activation, and the threshold above which it is sent on */
    double above;
};
/* Buffers of a link's masks: of its input, of its second tensor (may be none), of its output. */
struct changed_link {
    struct buffer_ref marks, second, left;
};
struct changed {
    struct changed_link *links;
    struct buffer_ref first; /* one word, set by the caller: 1 for frame 0, which is sent whole, then 0 */
    int64_t state_bytes;     /* kept from frame to frame */
};
/* work: the layers as ops of changes, in a chain whose `residual` is the second tensor of an add or concat; parts: by link, feasible, each
 * with a mask_out. The prepare steps restart a sequence, the others are one frame; the tensors are the frame and the last layer's sums
 * before its activation, both f32. The caller frees run->links. */
void compose_changes(const struct work *work, const struct program *const *parts, const struct changes *changes, struct changed *run,
                     struct program *out);
