/* plan/rows/private: what the files of plan/rows share. */
#pragma once

#include "base/glob_list.h"
#include "plan/rows/plan.h"
#include "op/mask/mask.h"

/* Configurations of a variant that a plan uses: its rows refer to them. */
struct configs {
    struct variant_config *configs;
    int count;
    const struct variant *variant; /* the cases share them ... */
    const struct node *params;     /* ... for the same entry of the scenario */
};
/* A network under one layout plan, or the layers of a sequence. */
struct way {
    struct chain chain;
    struct work work;
    struct layer layer; /* stands for the network where a case needs a layer */
};
struct kept {
    struct glob_list only; /* the words of --only */
    struct configs *items;
    int count;
    struct way **ways;
    int way_count;
    char *variants, *include; /* of plan_options.kernels */
    /* masks of the last case: rows come case by case */
    int mask_case;
    float *mask_in, *mask_out;
    struct useful useful;
    struct min_work *min_works; /* by case; NULL: not kept. read_bytes < 0: not known yet */
    struct tile tile;           /* h 0: none was counted */
    struct tile_stats tiles;
};

/* The variant that an entry means for an op: "conv2d/naive" in full, "naive" inside the op's folder. NULL: the entry is not for this op.
 */
const struct variant *plan_resolve(const struct variant_set *set, const char *name, const struct op *op);
/* The words of --only: parses them once; true if one selects the variant of that name (without --only all are selected); checks that each
 * word selected one. */
bool plan_only_parse(struct plan *plan, const struct plan_options *o, struct error *err);
bool plan_only(struct plan *plan, const char *name);
bool plan_only_check(struct plan *plan, const struct plan_options *o, struct error *err);
/* True for every case except those that the run added for some variants: there only if the variant (config not NULL: that configuration) is
 * one of them. */
bool plan_wants(const struct scenario_case *c, const struct variant *v, const struct variant_config *config);
/* The configuration of the variant that a rule took, from its parameters: "ROWS=8,is=mma_any". False: it no longer exists. */
bool plan_choice_config(const struct variant_set *set, const char *params, const struct op *op, struct variant_config **config);
/* The variants of a side; NULL: bench's own. */
const struct variant_set *plan_set(const struct plan *plan, const struct side *side);
/* Add a part to a plan, which then owns it. Configurations and ways keep their address; rows and cases are referred to by index. */
struct variant_config *plan_configs_keep(struct plan *plan, struct variant_config *configs, int count);
struct way *plan_way_keep(struct plan *plan, struct way *way);
/* Binds a variant at its defaults to a step of a network that no layer is. `what`: for the message that there is no such variant. */
bool plan_bind_default(const struct plan *plan, const struct side *side, const char *name, const char *what, const struct work *work,
                       struct program *out, struct error *err);
/* Binds the row of a layer that was chosen for a link (-1: a change of layout) to the link's work. */
bool plan_bind_link(const struct plan *plan, const struct side *side, const struct work *work, int choice, struct program *out,
                    struct error *err);
/* How that row runs the work as a link of such a chain. False: a broken head. */
struct link_fit {
    bool takes;    /* the tensors that are slices, as such */
    bool overlaps; /* its kernel begins before the layer before it ends */
};
bool plan_link_fit(const struct plan *plan, const struct chain_row *row, const struct work *work, int choice, struct link_fit *out,
                   struct error *err);
/* Where the outputs of a network's links are if its concats do not copy and these rows run: malloc'd, by link; NULL with err: a broken
 * head. */
struct chain_slice *plan_chain_slices(const struct plan *plan, const struct chain_row *row, const int *choice, struct error *err);
/* Binds the copies of the parts of a joined concat that are not written where they belong; the others stay 0. */
bool plan_bind_copies(const struct plan *plan, const struct chain_row *row, const struct chain_slice *slices, int link,
                      struct program copies[2], struct error *err);
/* Kinds of nearby shapes. They show code that fails from some size on, with little work. beyond: larger than the row's own along one axis;
 * grown: along every axis. */
enum image { IMAGE_SQUARE, IMAGE_LONG, IMAGE_BEYOND, IMAGES, IMAGE_GROWN = IMAGES };
#define NEARBY_NARROW 8    /* the short sides of one that is long */
#define NEARBY_FARTHER 256 /* one that is grown is up to so much longer than twice the row's own along an axis */
/* Draws sizes for an op with tensors of its own. Later attempts ask for more common divisors, for fewer other sizes, and at last for
 * another kind. lines: the least of the short sides of a long shape. True: its code may be compiled again. */
bool nearby_draw_file(const struct work *own, uint64_t seed, int number, int attempt, int64_t lines, int64_t longest, struct work *out);
/* The work with values of a nearby shape and about `lines` lines, as far as fields set their number: a multiple of the grain; 0: as many as
 * it has. */
void nearby_draw_swept(const struct work *own, uint64_t seed, int64_t lines, int64_t grain, struct work *out);
/* Makes the inputs of an op that sums larger than N(0, 1): by so much that its results are finite in their type. */
void nearby_enlarge(struct work *out);
/* Gives the real fields of an op, and the slopes of its epilogue, other values: larger ones (up), or smaller ones; far: as
 * far as half of the way to the end of a field's range. */
void nearby_vary_reals(const struct op *op, bool up, bool far, struct work *out);
/* Each note once; takes it. */
void plan_note(struct plan *plan, char *note);
/* Appends a case without axes; takes the id. Returns its index. */
int plan_case_add(struct plan *plan, const struct way *way, char *id);
int plan_row_add(struct plan *plan, const struct plan_row *row);
/* Binds a row of a rule to another work as it was bound to its own: to the same choice. False: it cannot be bound there. */
bool plan_bind_choice(const struct plan *plan, const struct plan_row *row, const struct program *own, const struct work *part,
                      struct program *out);
/* CASE/VARIANT[CONFIGURATION] */
/* Binds every row once, on all cores, so that its facts are known. */
void plan_bind_all(const struct plan *plan);
/* Frees the program of a row. */
void plan_unbind(struct plan_row *row);
void plan_facts(struct plan_row *row, const struct program *p);
struct bound_rows *bound_rows_new(void);
void bound_rows_free(struct bound_rows *b);
/* Why a head could not be bound, kept for its row. */
struct error *plan_broken(const struct error *why);
char *plan_row_id(const struct scenario_case *c, const struct variant_config *config);
/* Fills the parts of a stored row that only sequences have. */
void plan_sequence_describe(const struct plan_row *p, struct row *row);
/* Hashes its frames, its bound, and the kernels between its layers. */
void plan_sequence_hash(const struct plan_row *p, struct hash *h);
