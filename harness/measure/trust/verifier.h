/* measure/trust/verifier: one row alone: compiled, run on exact and on full-precision data, its outputs, guard zones and inputs checked. */
#ifndef BENCH_MEASURE_TRUST_VERIFIER_H
#define BENCH_MEASURE_TRUST_VERIFIER_H

#include "op/mask/tiles.h"
#include "measure/trust/nearby.h"
#include "measure/trust/refuse.h"
#include "measure/trust/sequence.h"
#include "measure/trust/degenerate.h"

/* What the first launch of full precision left, as a sum over its bits, of rows whose second launch is made where they are timed. */
struct left_sum {
    bool known;
    uint64_t sum;
};
struct first_launches {
    struct left_sum *left; /* by row; NULL: of none */
};
/* A row whose verified launch is known: does this one leave the same bits? A row that was launched twice already has its answer. */
void first_launch_compare(const struct first_launches *first, int index, const struct rig *rig, struct row *row);
void first_launch_forget(struct first_launches *first);

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
    const struct tile_stats *tiles; /* the row's, where the parent has counted them; NULL */
    bool timed_next;                /* the row is timed afterwards, in this process */
};
/* Verifies a row, into `row`. False (err): a failure that is no row's. */
bool verifier_run(struct verifier *v, int index, struct row *row, struct error *err);
/* The row crashed and took the device's context with it: this process must end. */
bool verifier_lost(const struct verifier *v, const struct row *row);
/* Only compiles: row->launch_hash says what would be launched. */
bool verifier_identify(struct verifier *v, int index, struct row *row, struct error *err);

#endif
