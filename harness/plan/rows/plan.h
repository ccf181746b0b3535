/* plan/rows/plan: every row of a run, before anything runs: cases x variants x configurations, bound to a chip. The parent and each worker
 * make the same plan from the same files, and talk about rows by number. */
#ifndef BENCH_PLAN_PLAN_H
#define BENCH_PLAN_PLAN_H

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

/* A configuration that a search found: it runs instead of the configurations that the scenario names, and the note goes to the row. Texts
 * alone, as in `struct side`: message/options sends them. */
struct tuned_config {
    const char *signature, *variant, *params, *note; /* work_signature of the layer; the signature NULL ends a list */
    const char
        *wins; /* "yes": of all that were tuned for this layer on this chip the fastest, and faster than the library; "": not known to be */
};
/* One of several builds that stand in one run: rows of one id, one of each side. NULL folders: those of bench itself. */
struct side {
    const char *name; /* "head"; "" is bench itself; NULL ends a list */
    const char *revision, *variants, *include, *ops;
    const char *dirs; /* its own variant_dirs, a line each, instead of the options'; NULL */
};
struct plan_options {
    const char *scenario_path;
    const char *device;               /* "emu", "emu:GH100", "cuda:0"; NULL = best present */
    const char *const *variant_dirs;  /* "NAME=DIR", "NAME=FILE.cu", NULL-terminated; may be NULL */
    const char *const *op_files;      /* ops that are files, or folders of them (--ops); NULL-terminated; may be NULL */
    const char *const *variant_names; /* instead of the scenario's list (bench try); NULL-terminated; may be NULL */
    struct scenario_filter filter;
    const char *compiler; /* as compile_request.compiler */
    const char *bundle;   /* a file of compiled units to take first; may be NULL */
    const char *kernels;  /* the folder of variants/ and include/ instead of bench's own: of another revision; may be NULL */
    bool remember;        /* emu: a row that an earlier run verified with the same code, launches and data is taken from memory */
    const char *seed;     /* of the further sets of inputs, and of the order of rounds; NULL until the session drew one */
    double budget_s;      /* instead of the scenario's; 0 = the scenario's */
    bool tune;            /* all configurations of every variant that has parameters, beside the baseline and the library's rows */
    const struct tuned_config *tuned; /* may be NULL */
    const struct side *sides;         /* NULL: one, bench itself */
    bool layers_only;                 /* no networks, no sequences */
    bool may_lack; /* a variant that the scenario lists, or a word of --only, may be of another tree: a comparison asks the other side */
    struct counter_wish counters; /* instead of the scenario's */
};
/* A network run whole. Which variant runs each link is chosen when the rows of its layers are known (plan/rows/choose.h). */
enum chain_pick {
    CHAIN_LIBRARY, /* the library's fastest row on each layer; on layers that it has no op for, the fastest verified */
    CHAIN_BEST,    /* the fastest verified row on each layer */
    CHAIN_KERNEL,  /* one kernel runs as many links as it takes (a variant of op chain); the fastest verified row on each other layer */
    CHAIN_SINGLE   /* one variant on the layers where it is verified, the library elsewhere */
};
struct chain_row {
    enum chain_pick pick;
    const struct side *side; /* it takes that side's rows and those that the sides share */
    const char *single;      /* name of that variant, as the rows of the layers have it */
    bool graph;
    enum layout_plan layout;
    const struct work *work; /* of the whole under that layout plan */
};
/* A network's layers run over frames: by sparse variants, which are sent only what changed and keep state from frame to frame, or by dense
 * ones. */
struct sequence_row {
    const struct scenario_sequence *of;
    const struct chain *layers; /* the network as the scenario has it, at the size that flows */
    bool sparse;
    struct changed changed; /* of a sparse row: its masks and state */
};
enum plan_kind { PLAN_LAYER, PLAN_CHAIN, PLAN_SEQUENCE };
struct plan_row {
    enum plan_kind kind;
    int case_index, row_index;
    struct chain_row *chain;       /* PLAN_CHAIN; variant and configuration are NULL then, but for CHAIN_KERNEL */
    struct sequence_row *sequence; /* PLAN_SEQUENCE; the program is one frame */
    const struct side *side;       /* NULL: bench itself, or shared by the sides: the baseline and the library's rows */
    const struct variant *variant;
    const struct variant_config *config;
    const struct variant_config
        *remembered; /* what a search had found for this layer: `config`, or what a rule takes instead of its own choice; or NULL */
    struct program program;
    char *id;             /* CASE/VARIANT[params] */
    struct error *broken; /* why the head could not be bound, or NULL */
    char *note; /* where the configuration comes from when it is not the scenario's; of a sequence the layers that other variants run; or
                   NULL */
};
/* With may_lack: a variant that the scenario lists, or a word of --only, that the tree lacks, and the error that it would be. */
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
    char **notes;                /* "network x2, layout NHWC: not run whole: ..."; each once */
    int note_count;
    struct plan_lacks lacks;
    char files[HASH_TEXT]; /* of the scenario, every variant file and the headers they share: parent and worker must agree */
    void *private_data;
};
/* Mask files are there, can be read, and have the size of their layers; else the error is at the scenario's line. */
bool plan_masks_fit(const struct plan *plan, struct error *err);
/* `device_kind` is "emu" or "cuda". */
bool plan_make(const struct plan_options *options, const char *device_kind, const struct chip *chip, struct plan *plan, struct error *err);
void plan_free(struct plan *plan);
/* Full name of a row's variant: "conv2d/naive", "chain/best". */
const char *plan_row_variant(const struct plan_row *row);
/* Makes the program of a chain's row of the rows chosen for its links: plan rows, -1 for the layout changes of a plan. An infeasible one
 * has its reason in the program. */
/* How many links from each on the row's variant of op chain runs at once: 1 for a link by itself, 0 inside a longer span. Malloc'd; NULL on
 * error. */
int *plan_chain_spans(const struct plan *plan, int row, struct error *err);
bool plan_chain_bind(struct plan *plan, int row, const int *choice, struct error *err);
/* A work like a layer's own, drawn from the seed such that the row's head accepts it and its code does it as it is compiled (without what
 * completes the row); else, where sizes are compiled in, with code of its own. Numbers 0, 1, 2 stand for images of at most `longest` along
 * an axis; of up to longest^2/8 along one axis and short along the other; and larger than the layer's own along one and shorter still along
 * the other (a filter without padding needs its own size more). Number 0 has odd numbers of channels, other numbers of images, and
 * sides of the other parity; 1 has round numbers of channels and as many images as the layer; 2 has its channels. 3 and on are the same
 * with the next kind of image; of an op that is a file with tensors of its own 3 and 4 are 1 and 2 along another axis. A draw of more than
 * `flop` operations is followed by smaller ones as long as there are any. Fills work and program (the caller's to free). False: none was
 * found, as of a head that accepts one shape only. */
bool plan_nearby(const struct plan *plan, int row, int number, uint64_t seed, int64_t longest, double flop, struct work *work,
                 struct program *program);
/* Is there a reference for works of other sizes, and are there values? Not where these are files. */
bool plan_has_nearby(const struct op *op);
/* Index of the unit of a program that is compiled alike; -1: none. */
int plan_unit_of(const struct program *program, const struct unit *unit);
/* Private to plan*.c. */
bool plan_chains_add(struct plan *plan, const struct plan_options *options, const char *device_kind, struct error *err);
bool plan_sequences_add(struct plan *plan, const struct plan_options *options, const char *device_kind, struct error *err);
void plan_chains_free(struct plan *plan);
/* Is it a row of the library's, which a search compares with and has nothing to search in? */
bool plan_pinned(const struct plan *plan, int index);
/* The least that the work of a case needs, with its mask. False with err when the mask cannot be made. */
bool plan_min_work(const struct plan *plan, int case_index, struct min_work *out, struct error *err);
/* The floor of an algorithm (a head's word) for a work; NULL: the lowest of all known ones, on any pipe that gives the accuracy. */
struct floor plan_floor(const struct chip *chip, const struct work *work, const struct min_work *least, const char *algorithm, bool warm);
/* The pipe that a row's roof is counted on, and how often its FLOP go through it: split3 makes each f32 product of three f16 ones on
 * tensor cores, collapsed makes fewer products (work_collapsed_share). */
double plan_arithmetic(const struct row *row, const struct work *work, enum math *math);
/* A store row with everything that is known before it runs (identity, work, cost, floor, infeasible or broken reason). */
struct row *plan_row_new(const struct plan *plan, int index, const char *device);
/* The same of all, case by case on all cores: a mask of 720p with what it leaves takes 30 ms of one. known (may be NULL): of these rows
 * nothing is wanted that a mask is drawn for. */
void plan_rows_new(const struct plan *plan, const char *device, const bool *known, struct row **rows);
/* Key of a row: work, sources, parameters, compiler, device, timing. */
void plan_row_key(const struct plan *plan, int index, const char *device, const char *compiler, char out[HASH_TEXT]);
/* The tiles of a row whose variant declares them, counted on the CPU. False with err when the mask cannot be made. */
bool plan_tiles(const struct plan *plan, int index, struct tile_stats *out, struct error *err);
/* What the row's program schedules of a masked case, and its tiles: of a chain's row when its program is made (plan_chain_bind). False with
 * err when the mask cannot be made. */
bool plan_row_scheduled(const struct plan *plan, int index, struct row *row, struct error *err);
/* Index of a row by id, or by a shortened form that matches exactly one ("body_1 my/tile_list"); -1 + error with near ids. */
int plan_find(const struct plan *plan, const char *id, struct error *err);

#endif
