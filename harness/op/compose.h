/* op/compose: one program made of the programs of a chain's links, so that a network is set up, run, checked and timed like any row. */
#ifndef BENCH_OP_COMPOSE_H
#define BENCH_OP_COMPOSE_H

#include "op/chain.h"
#include "op/program.h"

/* parts and spans: by link. spans[i] = 1: parts[i] is bound to that link; more: to the chain of as many links from there (chain_part),
 * whose parts and spans are not looked at. parts: each bound to the link's work and feasible. `out` gets work (of chain_work), tensors
 * (input, output), the links' weights as constants, their scratch, units (equal ones once) and steps (all prepare steps first, each with
 * its link); variant, params and what are the caller's. What flows between links lies in as few buffers as the chain's shape allows. Of a
 * masked work the masks between the links lie in scratch, too, when the parts use them. Infeasible, with a reason, when a part wants an
 * activation in another layout than the chain has, when one part works on marked pixels and another on all, or when a part needs of the one
 * before it what that does not leave. Everything is copied: the parts may go. */
bool compose_chain(const struct work *work, const struct program *const *parts, const int *spans, struct program *out, struct error *err);

#endif
