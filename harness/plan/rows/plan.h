/* plan/rows/plan: every row of a run, before anything runs: cases x variants x configurations, bound to a chip.
 *
 * The parent and each child make the same plan from the same files, and refer to rows by index. */
#pragma once

#include "device/chip/chip.h"
#include "base/source.h"
#include "counter/choice.h"
#include "device/chip/floor.h"
#include "op/chain/compose.h"
#include "op/mask/min_work.h"
#include "op/mask/tiles.h"
#include "plan/scenario/scenario.h"
#include "store/row.h"
#include "kernel/variant.h"

/* A configuration that a search found. It runs instead of the configurations that the scenario names, and the row gets the note. Members
 * are texts, as in `struct side`, for run/message/options. */
struct tuned_config {
    const char *signature, *variant, *params, *note; /* work_signature of the layer; NULL ends a list */
    const char
        *wins; /* "yes": the fastest of all variants tuned for this layer on this chip, and faster than the library; "": not known to be */
    const char *hash; /* of the sources, as stored; "": found on another chip or with another compiler */
    const char *how;  /* of a rule's choice: "measured" at the beginning of this run, "stored" by an earlier one, or "predicted" on emu */
};
/* One of several builds that are compared in one run: each has a row of every id. NULL folders: bench's own. */
struct side {
    const char *name; /* "head"; "" is bench itself; NULL ends a list */
    const char *revision, *variants, *include, *ops;
    const char *dirs; /* its own variant_dirs, one a line, used instead of the options'; NULL: those */
};
struct plan_options {
    const char *scenario_path;
    const char *device;               /* "emu", "emu:GH100", "cuda:0"; NULL = best present */
    const char *const *variant_dirs;  /* "NAME=DIR", "NAME=FILE.cu", NULL-terminated; may be NULL */
    const char *const *op_files;      /* ops that are files, or folders of them (--ops); NULL-terminated; may be NULL */
    const char *const *variant_names; /* used instead of the scenario's list (bench try); NULL-terminated; may be NULL */
    struct scenario_filter filter;
    const char *compiler; /* as compile_request.compiler */
    const char *bundle;   /* a file of compiled units to use first; may be NULL */
    const char *kernels;  /* a folder with variants/ and include/ of another revision, instead of bench's own; may be NULL */
    bool remember;        /* emu: reuse the result of an earlier run that verified the same code, launches and data */
    const char *seed;     /* seed of further input sets and of the order of rounds; NULL until the run has drawn one */
    double budget_s;      /* instead of the scenario's; 0 = the scenario's */
    bool tune;            /* a search: all configurations of every variant with parameters, besides the baseline and the library's rows */
    bool choose;          /* with tune: only the choices of rules that are not known yet (`race:`), and the baseline */
    bool tuned_rules;     /* takes only the choices of rules from `tuned` */
    const struct tuned_config *tuned; /* may be NULL */
    const struct side *sides;         /* NULL: one, bench itself */
    bool layers_only;                 /* no networks, no sequences */
    bool by_need;                     /* binds rows when they are asked for, not all of them first: a worker runs some of a plan */
    bool may_lack;                    /* a listed variant or a word of --only may be missing here: a comparison asks the other side */
    struct counter_wish counters;     /* instead of the scenario's */
    bool no_ptxas;                    /* emu: kernels are compiled to PTX alone, so that rows have no registers, spills or occupancy */
};
/* A network run whole. The variant of each link is chosen when the rows of its layers have results (plan/rows/choose.h). */
enum chain_pick {
    CHAIN_LIBRARY, /* the library's fastest row on each layer; the fastest verified one on layers whose op it lacks */
    CHAIN_BEST,    /* the fastest verified row on each layer */
    CHAIN_KERNEL,  /* one kernel (a variant of op chain) runs as many links as it takes; other layers take the fastest verified row */
    CHAIN_SINGLE   /* one variant on the layers where it is verified; the library on the others */
};
struct chain_row {
    enum chain_pick pick;
    const struct side *side; /* takes that side's rows and the shared ones */
    const char *single;      /* name of that variant, as in the rows of the layers */
    bool graph;
    bool slices;  /* its concats are no copies */
    bool overlap; /* its kernels may begin before the one before them ends */
    enum layout_plan layout;
    const struct work *work; /* of the whole under that layout plan */
    const struct work *part; /* emu: the same for the part of its input that is verified; NULL: the whole is */
};
/* A network's layers run over frames: by sparse variants, which get only changes and keep state from frame to frame, or by dense ones. */
struct sequence_row {
    const struct scenario_sequence *of;
    const struct chain *layers; /* the network as in the scenario, at the size that flows */
    bool sparse;
    struct changed changed; /* of a sparse row: its masks and state */
};
/* What is kept of a program that is not bound now. */
struct row_facts {
    bool known, feasible, checked, uses_mask, claims;
    bool own;      /* it has code to compile or a source */
    bool compiles; /* a unit is CUDA source */
    uint16_t launches;
    uint64_t build; /* a digest of its units: equal builds have equal ones */
    uint64_t plans; /* the same of what it asks the library; 0: nothing */
};
enum plan_kind { PLAN_LAYER, PLAN_CHAIN, PLAN_SEQUENCE };
struct plan_row {
    enum plan_kind kind;
    int case_index, row_index;
    struct chain_row *chain;       /* PLAN_CHAIN; variant and configuration are NULL then, but for CHAIN_KERNEL */
    struct sequence_row *sequence; /* PLAN_SEQUENCE; the program is one frame */
    const struct side *side;       /* NULL: bench itself, or shared by the sides (the baseline and the library's rows) */
    const struct variant *variant;
    const struct variant_config *config;
    const struct variant_config
        *remembered;                   /* the configuration from a search: `config` itself, or the choice that a rule takes; or NULL */
    const char *how;                   /* of that choice: tuned_config.how; NULL: not a rule with one of its own */
    _Atomic(struct program *) program; /* use plan_program; of a layer it is bound when needed. Chain, sequence: always here */
    struct program *part;              /* emu: the same for the part of the layer that is verified; NULL: the whole layer is */
    struct row_facts facts;            /* use plan_row_facts */
    char *made_id;                     /* use plan_id; of a layer it is made when needed */
    struct error *broken;              /* why the head could not be bound, or NULL */
    char *note; /* where a configuration comes from that the scenario does not give, or which layers of a sequence other variants run; or
                   NULL */
};
/* With may_lack: a listed variant, or a word of --only, that is missing here, and the error it would be otherwise. */
struct plan_lack {
    char *variant;
    struct error why;
};
struct plan_lacks {
    struct plan_lack *items;
    int count;
};
void plan_lacks_free(struct plan_lacks *lacks);
struct plan {
    struct scenario *scenario;
    struct scenario_case *cases;
    int case_count;
    struct variant_set variants;
    const struct side *sides;      /* of the options */
    struct variant_set *side_sets; /* of each side */
    int side_count;
    struct plan_row *rows; /* by case, the baseline first */
    int row_count;
    struct chip chip;
    struct timing_plan time;
    bool tune; /* its times are those of a race: another key */
    struct counter_choice counters;
    struct source_memo *sources; /* what the keys of rows have read */
    struct bound_rows *bound;    /* the rows of layers whose programs are here */
    char **notes;                /* "network x2, layout NHWC: not run whole: ..."; each once */
    int note_count;
    struct plan_lacks lacks;
    char files[HASH_TEXT]; /* hash of the scenario, all variant files and their shared headers: parent and child must agree */
    void *private_data;
};
/* Checks that mask files can be read and have the size of their layers; the error names the scenario's line. */
bool plan_masks_fit(const struct plan *plan, struct error *err);
/* "CASE/VARIANT[params]", until plan_tidy. */
const char *plan_id(const struct plan *plan, int row);
/* The program of a row and, on emu, of the part of its layer that is verified (NULL: the whole layer is). They stay until plan_tidy; any
 * thread may ask. */
struct program *plan_program(const struct plan *plan, int row);
struct program *plan_part(const struct plan *plan, int row);
const struct row_facts *plan_row_facts(const struct plan *plan, int row);
/* If there are thousands of programs of layers, frees them, except those of the case `keep` (-1: none): a plan has up to millions of rows.
 * The caller holds no pointer to one of them. */
void plan_tidy(const struct plan *plan, int keep);
/* The work that a case's rows are verified on, and the program of a row for it: the layer's, or a part's (emu). */
const struct work *plan_verified_work(const struct plan *plan, int case_index);
struct program *plan_verified_program(const struct plan *plan, int row);
/* `device_kind` is "emu" or "cuda". */
bool plan_make(const struct plan_options *options, const char *device_kind, const struct chip *chip, struct plan *plan, struct error *err);
void plan_free(struct plan *plan);
/* Full name of a row's variant: "conv2d/naive", "chain/best". */
const char *plan_row_variant(const struct plan_row *row);
/* Makes the program of a chain's row from the rows chosen for its links (-1: a layout change). An infeasible program has its reason. */
/* For each link: how many links from there the row's variant of op chain runs at once; 1: the link by itself, 0: inside a longer span.
 * Malloc'd; NULL on error. */
int *plan_chain_spans(const struct plan *plan, int row, struct error *err);
bool plan_chain_bind(struct plan *plan, int row, const int *choice, struct error *err);
/* Kinds of nearby shapes for some rows only. GROWN: larger than the layer along every axis, if that is not too much work. LARGER: for an op
 * of a file, inputs so large that an exponential of them overflows. OWN: the layer itself, if that is little work. SWEPT: for an op that
 * selects, with lines of its own length, the first and further parts of a sweep (work.sweep); `flop` limits all their elements. FEW, ONES:
 * for an op that sums long lines, its own lines with few values, and with 1 and -1 (work.few), with the same limit. */
enum { NEARBY_GROWN = 100, NEARBY_LARGER, NEARBY_OWN, NEARBY_FEW, NEARBY_ONES, NEARBY_SWEPT };
/* Draws a nearby shape: a work like the layer's own, from the seed, which the row's head accepts and its compiled code can run (without
 * what completes the row); if sizes are compiled in, with new code. `number` selects the kind: 0: an image of at most `longest` along each
 * axis, with odd channel counts, another batch size and sides of the other parity. 1: up to longest^2/8 along one axis and short along the
 * other, with round channel counts and the layer's batch size. 2: larger than the layer's own along one axis and shorter still along the
 * other (a filter without padding needs its own size more), with the layer's channels. 3 and on: the same with the next kind of image; for
 * an op with tensors of its own, 3 and 4 are 1 and 2 along another axis. After a draw of more than `flop` operations it draws smaller ones,
 * if there are any. Fills work and program (the caller frees them). False: found none, for example if the head accepts only one shape. */
bool plan_nearby(const struct plan *plan, int row, int number, uint64_t seed, int64_t longest, double flop, struct work *work,
                 struct program *program);
/* True if works of other sizes have references and values: not if these come from files. */
bool plan_has_nearby(const struct op *op);
/* Index of the program's unit that compiles to the same code; -1: none. */
int plan_unit_of(const struct program *program, const struct unit *unit);
/* Private to plan*.c. */
bool plan_chains_add(struct plan *plan, const struct plan_options *options, const char *device_kind, struct error *err);
bool plan_sequences_add(struct plan *plan, const struct plan_options *options, const char *device_kind, struct error *err);
void plan_chains_free(struct plan *plan);
/* The hash of the sources that a stored configuration or choice of the row's variant depends on. */
void plan_search_hash(const struct plan *plan, int row, char out[HASH_TEXT]);
/* True if a row is a rule's that has variants to race (`race:`) and no choice stored for its layer. */
bool plan_undecided(const struct plan *plan);
/* True if nothing but rules is searched. */
bool plan_searches_rules(const struct plan *plan);
/* True for a row of a rule: another variant, by its choice. */
bool plan_chooses(const struct plan *plan, int row);
/* True for a row of the library, which a search only compares with. */
bool plan_pinned(const struct plan *plan, int index);
/* The minimum work of a case, with its mask. False with err when the mask cannot be made. */
bool plan_min_work(const struct plan *plan, int case_index, struct min_work *out, struct error *err);
/* The lower bound on the time of an algorithm (a head's word) for a work; NULL: the lowest bound of all algorithms, on any pipe with the
 * needed accuracy. */
struct floor plan_floor(const struct chip *chip, const struct work *work, const struct min_work *least, const char *algorithm, bool warm);
/* The pipe that a row's FLOP are compared with, and how often they pass through it: split3 makes each f32 product of three f16 ones on
 * tensor cores, collapsed makes fewer products (work_collapsed_share). */
double plan_arithmetic(const struct row *row, const struct work *work, enum math *math);
/* Fills a store row with everything that is known before it runs (identity, work, cost, lower bound, infeasible or broken reason). */
struct row *plan_row_new(const struct plan *plan, int index, const char *device);
/* The same for the rows of whole cases, first to last-1, case by case on all cores: a 720p mask takes 30 ms of one. known (may be NULL):
 * known[0] is that of `first`; these rows need no masks. Fills rows[first] .. rows[last-1]. */
void plan_rows_new(const struct plan *plan, const char *device, int first, int last, const bool *known, struct row **rows);
/* The end of the cases that begin at row `first` and have together at most `most` rows, but at least one case. */
int plan_rows_end(const struct plan *plan, int first, int most);
/* Key of a row: work, sources, parameters, compiler, device, timing. */
void plan_row_key(const struct plan *plan, int index, const char *device, const char *compiler, char out[HASH_TEXT]);
/* Counts the tiles of a row whose variant declares them, on the CPU. False with err when the mask cannot be made. */
bool plan_tiles(const struct plan *plan, int index, struct tile_stats *out, struct error *err);
/* The scheduled FLOP of a masked row and its tiles; for a chain's row after plan_chain_bind. False with err when the mask cannot be made.
 */
bool plan_row_scheduled(const struct plan *plan, int index, struct row *row, struct error *err);
/* Index of a row by id, or by a shortened form that matches exactly one ("body_1 my/tile_list"); -1 + error with near ids. */
int plan_find(const struct plan *plan, const char *id, struct error *err);
