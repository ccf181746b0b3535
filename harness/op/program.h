/* op/program: a variant bound to a work: every size, argument and launch as a number.
 *
 * kernel/bind makes programs, measure/ runs them, device/ gets only the numbers of their steps. */
#pragma once

#include "base/kernel_name.h"
#include "base/text.h"
#include "op/op.h"
#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_NAME 96
/* A tile of h x w outputs (before any epilogue) that lie `every` pixels apart in both directions. With dilation d a kernel may take every
 * d-th pixel, so that adjacent outputs of the tile share inputs. h 0: the variant declares no tiles. */
struct tile {
    int64_t h, w, every, d; /* d: planes of a volume that a tile spans (then `every` is 1); 0 in images */
};
/* Origin of a unit's code: compiled from CUDA C, or built elsewhere and only loaded. */
enum code { CODE_CUDA, CODE_PTX, CODE_CUBIN, CODE_LIBRARY };
/* One source file compiled with one set of -D. A completed variant has several. */
struct unit {
    char *path; /* absolute path of the .cu, or of foreign code (NULL: no kernel in it, as for cudnn and copy) */
    enum code code;
    bool on_host;        /* CODE_LIBRARY: it also computes in host memory, so that emu can run it */
    const char *include; /* folder of the shared headers, borrowed of its variant; NULL: kernels/include of this installation */
    char *label;         /* variant name, for messages: "conv2d/naive" */
    char **defines;      /* "NAME=VALUE", in the head's order */
    int define_count;
};
/* True if both compile to the same code: same file, same -D. */
bool unit_same(const struct unit *a, const struct unit *b);
/* Which steps write a scratch buffer, and therefore what it may hold when a launch begins.
 * Work: only the run steps; it holds nothing, so it is poisoned before each timed round. State: the prepare steps and the run steps; it is
 * poisoned and all prepare steps run again before each round. Prepared: only the prepare steps (or, for constants, the harness); it holds
 * the same bytes before and after every launch. */
enum scratch_kind { SCRATCH_WORK, SCRATCH_STATE, SCRATCH_PREPARED };
/* A scratch buffer. It has guard zones around it and is poisoned before the first run. */
struct scratch {
    char name[PROGRAM_NAME];
    enum dtype dtype;
    int64_t elements;
    enum scratch_kind kind; /* set by program_scratch_kinds; before that, SCRATCH_STATE if the head declares `state` */
};
/* A scratch buffer that is filled once, outside the timed part: filter or bias of a layer run of a chain. */
struct constant {
    int scratch, link;
    int span;             /* 1: data of that link; more: of all links that one kernel runs (chain_constant) */
    struct tensor tensor; /* role, and the layout that the variant wants */
};
/* A buffer: one of the program's tensors, or one of its scratch buffers. */
enum buffer_kind { BUFFER_NONE, BUFFER_TENSOR, BUFFER_SCRATCH };
struct buffer_ref {
    enum buffer_kind kind;
    int index;      /* into tensors or scratch */
    int64_t offset; /* bytes: where a slice of the buffer begins */
};
/* A TMA descriptor (cuTensorMapEncodeTiled), passed by value as __grid_constant__ const CUtensorMap. Sizes innermost first. */
struct tensor_map {
    char name[PROGRAM_NAME];
    struct buffer_ref buffer;
    enum dtype dtype;
    int rank;
    uint64_t dim[5];
    uint64_t stride_bytes[5]; /* [0] unused (dense) */
    uint32_t box[5];
    uint32_t element_stride[5];
    int swizzle;      /* 0, 32, 64, 128 */
    int interleave;   /* 0, 16, 32 */
    int l2_promotion; /* 0, 64, 128, 256 */
    bool oob_nan;     /* out-of-range elements: NaN instead of zero */
};
#define ARG_NO_MAP (-1) /* stands for a tensor that this work lacks: zeros, which no kernel may use */
enum arg_kind { ARG_BUFFER, ARG_INT, ARG_REAL, ARG_TENSOR_MAP, ARG_STRUCT };
/* A structure by value whose fields are listed: its bytes, and the buffers whose addresses are among them. */
struct arg_struct {
    struct text bytes;
    struct arg_pointer {
        size_t at;
        struct buffer_ref buffer;
    } * pointers;
    int pointer_count;
};
struct arg {
    enum arg_kind kind;
    char name[PROGRAM_NAME]; /* as in the head, for messages */
    struct buffer_ref buffer;
    int map;       /* ARG_TENSOR_MAP: index into tensor_maps, or ARG_NO_MAP */
    int structure; /* ARG_STRUCT: index into structures; heads have none, they list one argument for each 8 bytes */
    int64_t i;
    double d;
    int line, column; /* in the head; 0 = not written there */
};
enum step_kind { STEP_KERNEL, STEP_FILL, STEP_COPY, STEP_SYMBOL, STEP_CUDNN, STEP_CALL };
#define STEP_MAX_ARGS 48
struct step {
    enum step_kind kind;
    char name[KERNEL_NAME]; /* kernel name, or "fill count", "copy output", "symbol F_c", "cudnn" */
    int unit;
    bool prepare; /* run once before, timed apart */
    int stream;   /* STEP_KERNEL: 1 ... : beside the steps of other streams; 0: after all steps before it */
    /* STEP_KERNEL */
    const char *file;                       /* the node in the head, for messages; owned by the variant, which outlives the program */
    int line, column;                       /* of its name there */
    uint32_t grid[3], block[3], cluster[3]; /* cluster 0,0,0 = none */
    uint32_t smem;                          /* dynamic shared memory, bytes */
    bool cooperative, pdl;
    int carveout; /* preferred shared memory share in %, -1 = driver's choice */
    struct arg args[STEP_MAX_ARGS];
    int arg_count;
    /* STEP_FILL: `to` = 32-bit pattern; STEP_COPY: `to` = `from`, whole buffers of `bytes`; STEP_SYMBOL: module symbol `symbol` = `from` */
    struct buffer_ref to, from;
    uint32_t fill;
    uint64_t bytes; /* STEP_COPY, STEP_SYMBOL, STEP_FILL; 0 = the whole destination */
    char symbol[PROGRAM_NAME];
    /* STEP_CUDNN: which epilogue items the graph fuses, counted from the front; < 0: as many as cuDNN can */
    int cudnn_epilogue;
    /* STEP_CALL: `name` is the function of the unit's library; args are its scratch buffers; cudnn_epilogue counts what it fuses */
    struct buffer_ref operand[OP_MAX_TENSORS];  /* STEP_CUDNN, STEP_CALL: by slot */
    int64_t operand_pitch[OP_MAX_TENSORS];      /* STEP_CUDNN: work_pitch */
    enum layout operand_layout[OP_MAX_TENSORS]; /* STEP_CALL */
    int link;                                   /* op chain: its link; else 0 */
    bool own_work;                              /* STEP_CUDNN in a variant that is a step of another op's: it computes `work` */
    struct work work;
};

/* Predictions of a head for the kernel of its last own step; reports print the compiler's figures beside them. */
enum predict { PREDICT_THREADS, PREDICT_SMEM, PREDICT_REGISTERS, PREDICT_COUNT };
extern const char *const predict_names[]; /* "threads", "smem", "registers", NULL */

/* Parts that a variant can leave out to show their cost: -DABLATE_STORE ... The result is then wrong on purpose, and such a run never
 * becomes a row. */
enum ablation { ABLATE_STORE, ABLATE_BIAS, ABLATE_MATHS, ABLATE_COUNT };
extern const char *const ablation_names[]; /* "store", "bias", "maths", NULL */

struct program_param {
    char *name, *value;
    double number; /* NaN: the value is a word */
};

enum inactive { INACTIVE_UNTOUCHED, INACTIVE_ZERO, INACTIVE_BIAS };
struct program_column { /* a variant's own number, read after the verified run */
    char name[PROGRAM_NAME];
    struct buffer_ref buffer;
    int64_t element;
};

struct program {
    struct work work;
    char *variant; /* "conv2d/naive" or, completed, "conv2d/naive + pointwise/epilogue" */
    char *params;  /* "BPS=2,CC=16", sorted; "" when none: the text of the list below */
    struct program_param *param;
    int param_count;
    char **completed; /* the variants that complete its own, in order */
    int completed_count;
    char *what;      /* one line from the head */
    char *algorithm; /* "direct", "winograd", "split3" ... */
    bool feasible;
    char *reason;      /* why not: the clause and both values */
    char *clause;      /* the clause of that reason alone; NULL: the reason has no values */
    char *derivation;  /* of a head that predicts: how the names of the clause are computed, a line each, "smem = 4 * floats = 32"; NULL */
    bool exact;        /* results on exact data must be bit-exact (`exact: no` = false) */
    bool claims;       /* the head claims: at most a tenth slower than the library on this work */
    bool guess;        /* chosen by a rule on a chip where the rule was not measured (`measured:`) */
    bool graph;        /* its run steps are captured once and launched as one CUDA graph */
    bool rounds;       /* known after compilation: no tensor-core sum truncates in its code (op/reference/bound.h) */
    bool rounds_known; /* in this process, since the program was bound */
    bool checked;      /* false: only moves the compulsory bytes and does not compute the op (the baseline `copy`) */
    bool uses_mask;    /* false for a masked work: runs dense, and only active outputs are compared */
    bool reads_inactive; /* true: may read inactive inputs, which then hold data instead of NaN */
    enum inactive inactive;
    struct tile spared;             /* it may write inactive outputs of such tiles if the tile has an active output; h 0: it may not */
    bool finds_tile, finds_padding; /* the head does not say: verification finds out what the kernel leaves alone, and reports it unless
                                       that is everything */
    bool any_padding;               /* padding bits of a mask that it writes have no meaning */
    struct tile tile;               /* tiles of a sparse variant; h 0: none, or it runs dense */
    struct tile *link_tiles;        /* op chain: by link, the tiles of the variant that runs it; NULL in other programs */
    int64_t tile_weight_bytes;      /* filter bytes that a tile reads, from the head; -1: not given */
    struct tensor *tensors;         /* in the layouts that this program wants */
    int tensor_count;
    struct scratch *scratch;
    int scratch_count;
    struct constant *constants;
    int constant_count;
    struct tensor_map *tensor_maps;
    int tensor_map_count;
    struct arg_struct *structures;
    int structure_count;
    struct unit *units;
    int unit_count;
    struct step *steps; /* prepare steps first */
    int step_count;
    struct program_column *columns;
    int column_count;
    bool ablations[ABLATE_COUNT];     /* that its head offers */
    int64_t predicted[PREDICT_COUNT]; /* for a block: threads, bytes of shared memory; for a thread: registers. -1: not given */
};
/* Appends a parameter to the list and the text; appends a completing variant to the list and the name. */
void program_add_param(struct program *p, const char *name, const char *value, double number);
void program_add_completed(struct program *p, const char *variant);
void program_free(struct program *program);
/* True if the steps have the same kinds and names. emu may verify a part of a layer for which `auto` takes another variant than for the
 * layer: then the counts of that part do not belong to the row. */
bool program_same_steps(const struct program *a, const struct program *b);
/* Adds a step, or a scratch buffer, which gets another name if one has its name already: two steps of a program may bring the same. Returns
 * its index. */
struct step *program_add_step(struct program *p, enum step_kind kind, bool prepare);
int program_add_scratch(struct program *p, const char *name, enum dtype dtype, int64_t elements);
/* Index of the tensor with this name, or -1. */
int program_tensor(const struct program *program, const char *name);
/* Index of the tensor with the contents that this one has before each launch, or -1: it is not changed in place. */
int program_contents(const struct program *program, int tensor);
/* Index of the tensor that an epilogue goes on with, or -1. */
int program_result(const struct program *program);
/* The type of a buffer of the program. */
enum dtype program_dtype(const struct program *program, struct buffer_ref ref);
/* The work that a step belongs to: the program's, or a link's. */
const struct work *program_step_work(const struct program *program, const struct step *step);
/* Puts "FILE:LINE:COLUMN: " before an error of a kernel step; nothing when it does not stand in a head. Returns false. */
bool program_where(const struct program *program, const struct step *step, int line, int column, struct error *err);
/* Maps a program into another: its tensors (by index), scratch and units. */
struct program_move {
    struct buffer_ref tensors[OP_MAX_TENSORS];
    int *units, *scratch;
};
struct buffer_ref program_moved(const struct program_move *move, struct buffer_ref ref);
/* Equal units (unit_same) have equal digests. */
uint64_t unit_digest(const struct unit *unit);
/* Adds a copy of the unit, or finds an equal one unless it must be separate. Returns its index. */
int program_unit(struct program *program, const struct unit *unit, bool own);
/* Appends the tensor maps and steps of `from`, for this link. */
void program_take(struct program *program, const struct program *from, const struct program_move *move, int link);
/* Moves prepare steps to the front; keeps the order otherwise. */
void program_sort_steps(struct program *program);
/* Sets the kind of every scratch buffer from the steps. Work: no prepare step touches it. State: it was declared so; or a run step fills it
 * or copies to it; or prepare only fills it and a run step gets it as an argument. Prepared: all others. So a head must declare `state`
 * only if a prepare kernel initialises what run kernels change. */
void program_scratch_kinds(struct program *program);
/* True if the step uses the buffer: as argument, in a tensor map, or as operand, for reading or writing. */
bool program_step_uses(const struct program *program, const struct step *step, struct buffer_ref ref);
/* Hash of `work` and of everything that a device launches for it: steps, arguments, buffers, tensor maps; without source names and paths.
 * codes[i]: hash of the code of step i (NULL: none). Equal hashes mean equal runs. */
void program_hash(const struct program *program, const struct work *work, const char *const *codes, char out[HASH_TEXT]);
size_t scratch_bytes(const struct scratch *scratch);
/* Bytes of all scratch. */
uint64_t program_scratch_bytes(const struct program *program);
/* Bytes of all tensors, with filters, masks and outputs, and of all scratch. */
uint64_t program_footprint_bytes(const struct program *program);
