/* op/op: an operation: its YAML keys, its tensors, its cost, its data, its reference.
 *
 * An op is a file in kernels/ops (op/op_file.h, docs/OP.md). An op that no file can describe is a `const struct op` in a .c, listed in
 * ops.c. */
#pragma once

#include "base/error.h"
#include "base/expr.h"
#include "op/tensor.h"
#include "op/work.h"

/* The axis along which an output reads. */
enum axis_of { AXIS_ROWS, AXIS_COLUMNS };
/* A key of a layer in a scenario, and a symbol in a head's expressions. */
enum field_kind { FIELD_INT, FIELD_REAL, FIELD_WORD, FIELD_DTYPE, FIELD_LAYOUT, FIELD_MATH, FIELD_D2S_MODE };
struct op_field {
    const char *name; /* YAML key; `kernel` sets r and s at once (an int, or [r, s]) */
    enum field_kind kind;
    size_t offset;            /* in struct work */
    int64_t fallback;         /* value when the scenario gives none; OP_REQUIRED: the scenario must give one */
    double real;              /* FIELD_REAL: the fallback, unless `fallback` is OP_REQUIRED */
    int64_t min, max;         /* FIELD_INT */
    double least, most;       /* FIELD_REAL: the same */
    const char *const *words; /* FIELD_WORD: the value is the index of one, an int64_t; NULL-terminated */
    const char *what;         /* one line, with the unit */
};
#define OP_REQUIRED INT64_MIN
#define FIELD_REAL_MOST 1e30 /* default limit of either sign: a float holds it */
/* For each output along an axis and each of its taps: the line or column of the input that it reads (-1: none), and the weight of that tap
 * (NULL: 1). */
struct op_reach {
    int64_t *at;
    double *weight;
    int64_t outputs, taps;
};
/* A name that expressions may use: derived or given. */
struct op_symbol {
    const char *name;
    size_t offset; /* of an int64_t in struct work */
    const char *what;
};

#define OP_MAX_TENSORS 16
/* One tensor's values in logical order. */
struct op_values {
    float *value;      /* an input's values, each representable in the tensor's dtype; else NULL */
    double *wide;      /* an input of f64: its values, which `value` has rounded to f32; else NULL */
    double *reference; /* an output's result in double, unrounded; else NULL */
    float *bound;      /* precision data: the largest |output - reference| of a correct kernel, per element, before the algorithm's factor
                        * and the rounding of the output itself (measure/verify); 0: the element must be exact. NULL for exact data, unless
                        * the slope of a leaky_relu makes some values inexact (op/reference/bound.h) */
    float *carried;    /* op chain: how much the roundings of all links but the last may add to an element's error; else NULL */
    size_t elements;   /* of reference, bound */
    bool guessed;      /* bounds of sums whose reference gives no magnitude */
    bool own_bound;    /* the reference gives the bound itself */
    double loose;      /* share of the elements (of those that are not 0) for which 0 would be within the bound */
};
/* Storage that holds the same values again and again. */
struct op_repeat {
    const float *values; /* NULL: this tensor's are not such */
    size_t count;
    struct tensor stored; /* in that layout */
};
/* The tensors' values by slot of their role, and the reference results. */
struct op_data {
    struct op_values at[OP_MAX_TENSORS];
    float *mask_out; /* with a mask: 1 where an output pixel is active, n,1,p,q; else NULL */
    bool exact;      /* values are small integers: every correct kernel gives `reference` bit for bit (-0 counts as 0) */
    const double *wide_input, *wide_residual; /* borrowed: activations inside a chain, in double, which replace the values of the input, and
                                               * those of the residual or the second tensor */
    const bool *columns;                      /* borrowed: the columns of a row, before the epilogue, to make references of; NULL: all */
    struct op_reach reach[2];                 /* by enum axis_of, while references are made */
    const struct op_repeat *repeat;           /* borrowed: by slot, values that op_data_fill_rows takes instead of drawn ones; NULL: none */
    struct op_data *links;                    /* op chain: filter and bias of each layer run */
    int link_count;
    struct card_data *card; /* borrowed: the same data on a device that checks results itself (measure/verify/device_check.h); the
                             * references here are then only samples */
    bool sampled;           /* the CPU has made its part of such samples (card_host_make) */
    bool elsewhere;         /* data of a nearby shape, not of the shape that was asked for */
};

/* DATA_FULL may be or-ed to a part. Without it, if a work's mask marks inputs, the input has zeros in inactive pixels, and so the reference
 * does not depend on whether a sparse kernel reads those pixels; a dense kernel computes the same. With it, input and reference are full: a
 * dense row is timed on that. In both cases an inactive output of `reference` holds the epilogue of zero. */
enum data_part { DATA_PART_EXACT, DATA_PART_PRECISION, DATA_PART_COUNT, DATA_FULL = 4 };

/* How the device makes a reference: not at all; as sums over a filter or as the op's formula, by kernels/reference/conv.cu. */
enum op_reference { REFERENCE_CPU, REFERENCE_SUMS, REFERENCE_FORMULA };
/* What bench itself needs an op for: to run items of an epilogue as a further step behind another op; to run a network whole; to find the
 * variants that run a sequence. */
enum op_task { TASK_NONE, TASK_POINTWISE, TASK_DEPTH_TO_SPACE, TASK_LAYOUT, TASK_NETWORK, TASK_SEQUENCE };
struct op_file;
struct op {
    const char *name;
    const struct op_file *file;             /* an op with tensors and sizes of its own: its file (op/op_file.h); else NULL */
    const struct op_file *image;            /* an op of images, with their tensors and sizes: its file; else NULL */
    const char *about;                      /* one paragraph for `bench list op NAME` */
    const struct op_field *fields;          /* ends with name NULL; common keys (dtype, layout, math, epilogue, repeat) excluded */
    const struct op_symbol *symbols;        /* ends with name NULL */
    const struct tensor_role *const *roles; /* all tensors that its works can have, ends with NULL */
    const char *of_changes;                 /* the op that computes changes of its output from changes of its input; NULL: itself */
    const char *naive;                      /* the simplest variant: it reads like the formula */
    const char *trial;                      /* the layers of `bench try`, in a scenario's YAML: `layers:`, or keys beside it */
    const char *crop;                       /* a map: sizes to which `bench try` cuts these layers on emu; NULL: those of images */
    const char *elements;                   /* element count of the first written tensor, as an expression */
    const char *read;                       /* the same of the input with the most axes; NULL: none, or an op of images */
    const char *company[3];                 /* further variants that `bench try` runs: for a network, those of its layers */
    const char *masks;                      /* values of the axis `mask` for a variant that works on marked pixels; NULL: it takes none */
    bool passes_changes;                    /* can be a layer of a sequence: changes of its input determine changes of its output */
    const char *row0;                       /* the baseline variant: "cudnn" or "copy" */
    bool has_filter, has_math;              /* has_math false: the op only moves data; tolerance is zero, math is not printed */
    enum op_task task;
    enum op_reference on_card;
    bool volume;              /* images are volumes: their rows are those of all planes, one plane below the other */
    bool tap_sums;            /* no filter, but a window of r x s */
    unsigned apart;           /* bit set of enum work_side that its expressions use: only these may differ from the number for all */
    bool of_channels;         /* the second tensor has one value for each channel of an image: n, c, 1, 1 */
    bool whole_window;        /* its window is the image */
    bool spreads;             /* every input pixel adds to outputs that lie `stride` apart */
    int taps;                 /* along each axis, without filter and window; 0 counts as 1 */
    unsigned epilogues;       /* bit set of enum epilogue_kind that may follow */
    unsigned dtypes, layouts; /* bit sets of what is supported */
    /* Derives p, q and the like and checks the shape ("filter 5x5 is larger than the padded input 3x3"). */
    bool (*finish)(struct work *work, struct error *err);
    /* Lists the tensors of a work, in canonical layout; the result is the one after the whole epilogue. Returns how many. */
    int (*tensors)(const struct work *work, struct tensor out[OP_MAX_TENSORS]);
    /* The op's own result, before any epilogue: the output of a variant that fuses nothing. NULL: nothing can follow the op. */
    void (*raw_output)(const struct work *work, struct tensor *out);
    /* Direct-equivalent FLOP, 2 per multiply-add, padding taps included. The epilogue adds less than 0.2 % and is not counted. */
    double (*flop)(const struct work *work);
    /* Compulsory bytes, if not every tensor has to be moved whole; NULL: every tensor once. */
    double (*bytes)(const struct work *work);
    /* Makes input data, and input data with references, of an op that has its own way (chains); NULL: op/reference/data.c does. `reserve`:
     * allocates large inputs and leaves them unset. */
    bool (*data_inputs)(const struct work *work, bool reserve, struct op_data *out, struct error *err);
    bool (*data_make)(const struct work *work, enum data_part part, struct op_data *out, struct error *err);
    /* Reads the values of a tensor that come from a file, rounded to f32, and unless `wide` is NULL as they are. NULL: no tensor has such
     * values. */
    bool (*file_values)(const struct work *work, const struct tensor *t, float *to, double *wide, struct error *err);
    /* Fills reference, and bound if allocated, of every tensor that the work writes; `elements` long. */
    bool (*reference)(const struct work *work, struct op_data *data, struct error *err);
    /* Used instead of `reference` for images: fills y[] and, unless NULL, a[] (sum of |products|, for the bound) with one row of outputs
     * before the epilogue, of image n_i and row p_i: k*q values, [k][q]. data->reach is set. Several threads call it at once. */
    void (*reference_row)(const struct work *work, const struct op_data *data, int64_t n_i, int64_t p_i, double *y, double *a);
    /* For ops whose values decide which outputs are active: called once, after inputs and masks are made; clears values of
     * data->mask_out. May be NULL. */
    void (*settle)(const struct work *work, struct op_data *data);
};

/* Checks epilogue and combination rules, calls op->finish. The error has no place: the caller adds it. */
bool work_finish(struct work *work, struct error *err);
/* The work's tensor of this name; false: it has none. */
bool work_tensor(const struct work *work, const char *name, struct tensor *out);
/* The role of the op's tensor of this name; NULL: it has none. */
const struct tensor_role *op_role(const struct op *op, const char *name);
/* True if the op has a tensor of this name whose type is the work's, not one of its own. */
bool op_follows(const struct op *op, const char *name);
/* The names of the tensors of ops of images, NULL-terminated; static storage. */
const char *const *op_tensor_names(void);
bool op_is_tensor(const char *name);
/* The values of the op's tensor of this name; NULL: it has none. */
struct op_values *op_data_of(const struct op *op, struct op_data *data, const char *name);
/* Sets shape, layout and type of a work that reads this tensor as its input. */
void work_reads(struct work *work, const struct tensor *input);
/* True if variants of `of` can compute a work of `op`: `of` is the op itself, or the family `stages` and the op is made of stages. */
bool op_has_variants_of(const struct op *op, const struct op *of);
/* Channels of the tensor that `t` of this work is a slice of; 0: it lies alone. */
int64_t work_pitch(const struct work *work, const struct tensor *t);
/* True if any of its tensors is a slice. */
bool work_sliced(const struct work *work);
bool pitches_same(const struct pitches *a, const struct pitches *b);
/* True if every correct kernel gives the same bits on small whole numbers: false for ops with roots or powers. */
bool work_is_exact(const struct work *work);
/* Terms of the sum that makes an output; 0: the op moves values. */
int64_t work_terms(const struct work *work);
/* True if its results are long sums of products of two tensors, which tensor cores can compute: convolutions and matrix products. Of an op
 * file as its `flop` and `terms` have it. */
bool work_multiplies(const struct work *work);
/* FLOP of the dense work. */
double work_flop(const struct work *work);
/* Compulsory bytes: each input read once, each output written once (masks and bias included). */
double work_bytes(const struct work *work);
/* The device memory that a work needs: values and references of one part of its data, temporary memory to make them, and the buffers of a
 * row: inputs once, outputs twice. */
struct work_memory {
    double part, making, buffers;
};
struct work_memory work_memory(const struct work *work);
/* The exact and the precision data at once, with all that goes with them. */
double work_memory_total(const struct work_memory *m);
/* upsample_conv2d: share of the products that remain when taps on the same input pixel are added first: 4 / 9 for 3x3 and a block of 2.
 * Other ops: 1. */
double work_collapsed_share(const struct work *work);
/* The names that expressions over the op's symbols have, with their values for this work. */
struct expr_env work_env(const struct work *work);
/* Evaluates such an expression. */
bool work_value(const struct work *work, const struct expr *e, struct value *out, struct error *err);
bool work_int(const struct work *work, const struct expr *e, int64_t *out, struct error *err);
/* Value of a symbol (n, c, h, w, k, p, q, r, s, stride ..., `layout`, `dtype`, `math`, `mode` as text); false: unknown. */
bool work_symbol(const struct work *work, const char *name, struct value *out);
/* Names of all symbols of the op, NULL-terminated; static storage. */
const char *const *work_symbol_names(const struct op *op);
