/* measure/trust/verifier: verifies one row alone: compiles it, runs it on exact and on full-precision data, and checks its outputs,
 * guard zones and inputs. */
#pragma once

#include "op/mask/tiles.h"
#include "measure/trust/first_launch.h"
#include "measure/trust/interpreted.h"
#include "measure/trust/layer_counts.h"
#include "measure/trust/refuse.h"
#include "measure/trust/sequence.h"
#include "measure/trust/degenerate.h"

struct verifier {
    struct job *job;
    struct data_store *data;
    const struct vendor_library *library;
    struct build_cache *builds;
    struct nearby_shapes *neighbours;
    struct degenerate *degenerate;
    struct tried_list *tried;
    struct sequence *sequence;
    struct first_launches *first;
    const char *dump_dir;           /* for the tensors of wrong rows; NULL: none */
    const struct tile_stats *tiles; /* those of the row, if the parent has counted them; NULL: not counted */
    struct interpreted interpreted;
    struct device *counter; /* emu: counts whole layers; opened when needed, owned */
    struct counted_layers counted;
    bool timed_next; /* the row is timed afterwards, in this process */
};
/* Verifies a row and fills `row`. False (err): a failure that is not a row's. */
bool verifier_run(struct verifier *v, int index, struct row *row, struct error *err);
/* The row crashed and took the device's context with it: this process must end. */
bool verifier_lost(const struct verifier *v, const struct row *row);
void verifier_close(struct verifier *v);
/* Only compiles: row->launch_hash identifies what would be launched. */
bool verifier_identify(struct verifier *v, int index, struct row *row, struct error *err);
