/* session/sequence: the sequences of a scenario: layers run over frames, by sparse variants with state kept from frame to frame, and by
 * dense ones.
 *
 * Frame 0 is computed whole. From then on a frame's changes go through the layers: a pixel that changed by more than the threshold is sent
 * on, each layer adds what arrives to its sums, and behind each activation a pixel's change is sent on when its norm is above the
 * truncation. What is held back stays in the difference between the sum and what was sent (kernels/sequence/delta.cu). Each row runs in a
 * worker, which may die with it. */
#ifndef BENCH_SESSION_SEQUENCE_H
#define BENCH_SESSION_SEQUENCE_H

#include "session/session.h"

/* Rows go into options->database; sink->case_done gets those of a whole sequence, sink->begin no plan. Of the plan's options scenario,
 * device, variant folders, compiler, bundle and `only` count. An error when the scenario has no sequence. */
bool session_sequences(const struct session_options *options, const struct session_sink *sink, struct session_result *result,
                       struct error *err);

#endif
