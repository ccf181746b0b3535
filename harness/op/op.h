/* op/op: what an operation is: its YAML keys, its tensors, its cost, its data, its reference.
 *
 * An op is a file in kernels/ops (op/file.h, docs/OP.md); what no file can say is a .c that defines a `const struct op`, and its name in
 * table.c. */
#ifndef BENCH_OP_OP_H
#define BENCH_OP_OP_H

#include "base/error.h"
#include "base/expr.h"
#include "op/tensor.h"
#include "op/work.h"

/* A key of a layer in a scenario, and a symbol in a head's expressions. */
/* Along which axis an output reads. */
enum axis_of { AXIS_ROWS, AXIS_COLUMNS };
enum field_kind { FIELD_INT, FIELD_REAL, FIELD_WORD, FIELD_DTYPE, FIELD_LAYOUT, FIELD_MATH, FIELD_D2S_MODE };
struct op_field {
    const char *name; /* YAML key; `kernel` sets r and s at once (an int, or [r, s]) */
    enum field_kind kind;
    size_t offset;            /* in struct work */
    int64_t fallback;         /* when the scenario says nothing; OP_REQUIRED = an error then */
    double real;              /* FIELD_REAL: in place of fallback, where that is not OP_REQUIRED */
    int64_t min, max;         /* FIELD_INT */
    double least, most;       /* FIELD_REAL */
    const char *const *words; /* FIELD_WORD: the value is the index of one, an int64_t; NULL-terminated */
    const char *what;         /* one line, with the unit */
};
#define OP_REQUIRED INT64_MIN
#define FIELD_REAL_MOST 1e30 /* either way, where the op says nothing: what a float holds */
/* What the outputs along an axis read: by output, then by tap, a line or column of the input (-1: none), and what that counts for (NULL:
 * 1). */
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
    float *value;      /* of what is read: every one is representable in the tensor's dtype; else NULL */
    double *reference; /* of what is written: the result in double, unrounded; else NULL */
    float *bound;      /* of what is written, precision data: the largest |output - reference| that a correct kernel may show, per element,
                        * before the algorithm's factor and the rounding of the output itself (verify); 0 = that element must be exact. NULL
                        * for exact data, unless a leaky_relu's slope makes some values inexact: those have a bound then (op/bound.h) */
    float *carried;    /* op chain: what the roundings of all links but the last may add to an element's error; else NULL */
    size_t elements;   /* of reference, bound */
    bool guessed;      /* bounds of sums whose reference gives no magnitude */
};
/* The tensors' values by slot of their role, and the reference results. */
struct op_data {
    struct op_values at[OP_MAX_TENSORS];
    float *mask_out; /* with a mask: 1 where an output pixel is active, n,1,p,q; else NULL */
    bool exact;      /* values are small integers: every correct kernel gives `reference` bit for bit (-0 counts as 0) */
    const double *wide_input, *wide_residual; /* not owned: activations inside a chain, in double, in place of values */
    const bool *columns;                      /* not owned: those of a row, before the epilogue, whose reference is wanted; NULL: all */
    struct op_reach reach[2];                 /* by enum axis_of, while references are made */
    struct op_data *links;                    /* op chain: filter and bias of each layer run */
    int link_count;
    struct card_data
        *card;      /* the same on the device, where it checks there (measure/card.h); references are then only samples. Not owned */
    bool sampled;   /* what the CPU does for such a sample is done (card_host_make) */
    bool elsewhere; /* of a neighbour, not of the shape that was asked for */
};

/* What bench itself uses an op for: items of an epilogue as a further step behind another op (decision 3); a network, run whole; the op
 * whose variants are the rows of a sequence. */
/* Which kernel of kernels/reference/conv.cu makes the reference: none, sums over a filter, the op's formula. */
enum op_reference { REFERENCE_CPU, REFERENCE_SUMS, REFERENCE_FORMULA };
enum op_task { TASK_NONE, TASK_POINTWISE, TASK_DEPTH_TO_SPACE, TASK_LAYOUT, TASK_NETWORK, TASK_SEQUENCE };
struct op_file;
struct op {
    const char *name;
    const struct op_file *file;             /* the file that it is, with sizes and tensors of its own (op/file.h); else NULL */
    const struct op_file *image;            /* the file that it is, an op of images with their sizes and tensors; else NULL */
    const char *about;                      /* one paragraph for `bench list op NAME` */
    const struct op_field *fields;          /* ends with name NULL; common keys (dtype, layout, math, epilogue, repeat) excluded */
    const struct op_symbol *symbols;        /* ends with name NULL */
    const struct tensor_role *const *roles; /* all tensors that its works can have, ends with NULL */
    const char *of_changes;                 /* the op that makes of changes of its input the changes of its output; NULL: itself */
    const char *naive;                      /* the first rung: the variant that reads like the formula */
    const char *trial;                      /* what `bench try` runs, as a scenario has it: layers, or what stands above them */
    const char *crop;                       /* a map: what `bench try` cuts these layers to on emu; NULL: images */
    const char *elements;                   /* how many there are of the first tensor that is written, as an expression */
    const char *company[3];                 /* variants that `bench try` runs besides: of a network, those of its layers */
    const char *masks;                      /* values of the axis `mask` for a variant that works on marked pixels; NULL: it takes none */
    bool passes_changes;                    /* a layer of a sequence can be one: changes of its input make changes of its output */
    const char *row0;                       /* "cudnn" or "copy": the variant that the baseline is */
    bool has_filter, has_math;              /* has_math false: moves data only; tolerance is zero and math is not printed */
    enum op_task task;
    enum op_reference on_card; /* which kernel of kernels/reference/conv.cu makes its result */
    bool volume;               /* images are volumes: their rows are those of all planes, one plane under the other */
    bool tap_sums;             /* no filter, but a window of r x s */
    bool spreads;              /* every input pixel adds to outputs that lie `stride` apart */
    int taps;                  /* along each axis, where there is neither filter nor window; 0 counts as 1 */
    unsigned epilogues;        /* bit set of enum epilogue_kind that may follow */
    unsigned dtypes, layouts;  /* bit sets of what is supported */
    /* Derives p, q and the like and checks the shape ("filter 5x5 is larger than the padded input 3x3"). */
    bool (*finish)(struct work *work, struct error *err);
    /* Those of the roles that the work has, in canonical layout, of the layer with its whole epilogue: the result is the final one. Returns
     * how many. */
    int (*tensors)(const struct work *work, struct tensor out[OP_MAX_TENSORS]);
    /* The op's own result, before any epilogue (what a variant that fuses nothing writes). NULL: nothing can follow the op. */
    void (*raw_output)(const struct work *work, struct tensor *out);
    /* Direct-equivalent FLOP, 2 per multiply-add, padding taps included; what an epilogue adds is under 0.2 % and is not counted. */
    double (*flop)(const struct work *work);
    /* Fills reference and, where it wants one, bound of every tensor that the work writes; both are there, `elements` long. */
    bool (*reference)(const struct work *work, struct op_data *data, struct error *err);
    /* In its place, for images: one output pixel row at a time, called from several threads: fills y[] and, when not NULL, a[] (sum of
     * |products|, for the bound) for logical output (before the epilogue) image n_i, row p_i: k*q values, [k][q]. data->reach is there. */
    void (*reference_row)(const struct work *work, const struct op_data *data, int64_t n_i, int64_t p_i, double *y, double *a);
    /* Whether an output is active depends on values too: called once with inputs and masks made, clears bits of data->mask_out. May be
     * NULL. */
    void (*settle)(const struct work *work, struct op_data *data);
};

/* Reads every op of this installation, and those of `extra` (files, or folders of them; NULL-terminated; may be NULL). An op that was read
 * before is not read again. One bad file is an error at FILE:LINE:COLUMN. */
bool op_load(const char *const *extra, struct error *err);
/* The ops in C, NULL-terminated; all ops, those behind these being files: NULL behind the last; and look-up by name (NULL when unknown). */
extern const struct op *const op_table[];
const struct op *op_at(int i);
const struct op *op_find(const char *name);
const char *const *op_names(void);
/* A word that is no op's name: the hint that is there also says how one of the user's own is found. False. */
bool op_unknown(struct error *err);
const struct op *op_for(enum op_task task);
/* Is the op of this name (NULL: none) the one for it? */
bool op_is_for(const char *name, enum op_task task);
/* The op of a variant by its name, "layout/convert"; NULL: the folder is no op's. */
const struct op *op_of_variant(const char *name);
/* The op that makes of changes of its input the changes of its output. */
const struct op *op_of_changes(const struct op *op);

/* Checks epilogue and combination rules, calls op->finish. The error has no place: the caller adds it. */
bool work_finish(struct work *work, struct error *err);
/* Tensor of this name in the canonical list; false when the work has none. */
bool work_tensor(const struct work *work, const char *name, struct tensor *out);
/* What the op says of its tensor of this name; NULL: it has none. */
const struct tensor_role *op_role(const struct op *op, const char *name);
/* Has it a tensor of this name, of the case's type and not of one of its own? */
bool op_follows(const struct op *op, const char *name);
/* The names of the tensors of ops of images, NULL-terminated; static storage. */
const char *const *op_tensor_names(void);
bool op_is_tensor(const char *name);
/* The values of the op's tensor of this name; NULL: it has none. */
struct op_values *op_data_of(const struct op *op, struct op_data *data, const char *name);
/* The shape, layout and type of a work that reads this as its input. */
void work_reads(struct work *work, const struct tensor *input);
/* May a work of the op be done by variants of `of`? Its own, and the family's of an op that is made of stages. */
bool op_has_variants_of(const struct op *op, const struct op *of);
/* On small whole numbers, does every right kernel give the same bits? Not where it takes a root or a power. */
bool op_is_exact(const struct op *op);
/* Terms of the sum that makes an output; 0: values are moved. */
int64_t work_terms(const struct work *work);
/* Of an op of images without a filter: what whole numbers must be multiples of to have whole means, and how many parts of 1 its results
 * may lie between them; 1 where there is neither. */
int64_t op_means(const struct work *work);
/* And how much larger errors of its inputs may become in an output: the sum of its terms' magnitudes where all inputs are 1. */
double op_gain(const struct work *work);
/* Whole numbers of an op of images without a filter: `most`, halved until an output of inputs so large has magnitudes up to `limit`, in the
 * parts of 1 that the formula's own numbers leave. */
int64_t op_largest(const struct work *work, int64_t most, double limit);
double op_grain(const struct work *work);
/* FLOP of the dense work; compulsory bytes: each input read once, each output written once (masks and bias included). */
double work_flop(const struct work *work);
double work_bytes(const struct work *work);
/* upsample_conv2d: share of the products that are left when taps on the same input pixel are added first: 4 / 9 for 3x3 and a block of 2.
 * Others: 1. */
double work_collapsed_share(const struct work *work);
/* Value of a symbol (n, c, h, w, k, p, q, r, s, stride ..., `layout`, `dtype`, `math`, `mode` as text). False when unknown. */
bool work_symbol(const struct work *work, const char *name, struct value *out);
/* Names of all symbols of the op, NULL-terminated; static storage. */
const char *const *work_symbol_names(const struct op *op);

/* DATA_FULL may be or-ed to a part. Without it, a work whose mask marks inputs has zeros in the input's inactive pixels, and the
 * reference is the convolution of that: what a sparse kernel computes, whether it reads them or not, and a dense one too. With it, the
 * input is full of data and so is the reference: what a dense row is timed on. Either way inactive outputs of `reference` hold the
 * epilogue of zero. */
enum data_part { DATA_PART_EXACT, DATA_PART_PRECISION, DATA_PART_COUNT, DATA_FULL = 4 };
/* Makes inputs and the reference of one part of the verification (decision 10); seeded by work->seed, same on every machine and thread
 * count. Exact: small integers scaled so that every partial sum in any order, and every intermediate rounding of an unfused epilogue, is
 * representable in the work's dtype and accumulator. Precision: work->data distribution, full mantissa, filters scaled by
 * 1/sqrt(reduction). False when out of memory (err). Free with op_data_free. */
bool op_data_make(const struct work *work, enum data_part part, struct op_data *out, struct error *err);
void op_data_free(struct op_data *data);
/* Does the work let kernels pass that do not do it? `why` becomes the sentence: its outputs are all the same, or do not depend on its
 * inputs (METR found 45 such tasks among the 270 of KernelBench, 2025); else NULL. Made small, so that it costs milliseconds. False: err.
 */
bool op_degenerate(const struct work *work, const char **why, struct error *err);
/* References and bounds from inputs that are there. */
bool op_data_reference(const struct work *work, struct op_data *data, struct error *err);
/* Room for the references, and where `bounds` says so the bounds, of all that the work writes. */
bool op_data_room(const struct work *work, struct op_data *data, bool bounds, struct error *err);
/* The same of a few rows (n * p + p_i, before the epilogue; data->columns of them) of an op that has reference_row; the rest of reference
 * and bound is undefined. */
bool op_data_reference_rows(const struct work *work, struct op_data *data, const int64_t *rows, int count, struct error *err);
/* How a reference is bounded: shared by the CPU's and the device's. `bounds`: there are any; `sums`: of the op's own sum too; terms, least:
 * products of an output, and how many of them are not zero at least. */
struct op_bounds {
    bool bounds, sums;
    int64_t terms, least;
};
struct op_bounds op_data_bounds(const struct work *work, const struct op_data *data);
/* Inputs alone (no reference): what a timed run is fed when verification already happened in another process. */
bool op_data_inputs(const struct work *work, enum data_part part, struct op_data *out, struct error *err);

/* The same for whoever has the values elsewhere and looks at some of them here: the input and the residual are room only, in which
 * op_data_fill_rows makes what the reference of some rows (data->columns of them) reads, and op_data_fill `count` values of a tensor from
 * `first` on. Of works whose reference a device makes (on_card), and of chains, where the input alone is room and has the first link's
 * values. */
bool op_data_reserve(const struct work *work, enum data_part part, struct op_data *out, struct error *err);
void op_data_fill(const struct work *work, enum data_part part, struct op_data *data, const struct tensor *t, size_t first, size_t count);
/* Zeros in `count` values of the input from `first` on: where its mask says that nothing changed, and mask_holds_still. */
void op_data_blank(const struct work *work, enum data_part part, const struct op_data *data, const struct tensor *t, size_t first,
                   size_t count);
void op_data_fill_rows(const struct work *work, enum data_part part, struct op_data *data, const int64_t *rows, int count);

/* Those lines of the input (image * h + line; room for n * h) that any tap of the rows reads. Returns how many. */
int64_t op_lines_read(const struct work *work, const int64_t *rows, int count, int64_t *lines);
/* Those columns of the input (`read`), or of what is added to what these have become, of lines that are `width` long, that the columns
 * asked for need (op_data.columns; NULL: all). Room for `width`. */
int64_t op_columns_read(const struct work *work, const bool *asked, bool read, int64_t width, int64_t *columns);

/* How many taps an output has along an axis: r (of volumes t * r) along h, s along w; `taps` where there is neither filter nor window. */
int64_t op_taps(const struct work *work, enum axis_of axis);
/* What outputs (before any epilogue) read along an axis, of an op of images. Free with op_reach_free. */
struct op_reach op_reach(const struct work *work, enum axis_of axis);
void op_reach_free(struct op_reach *reach);
/* Mask of the work, floats 0/1 (op/mask.c): n*1*h*w, or n*1*p*q when it marks outputs; and the dilation of an input mask by the op's
 * receptive field: n*1*h*w in, n*1*p*q out; an output pixel is active when any input pixel under its filter, inside the image, is. */
bool mask_make(const struct work *work, float *out, struct error *err);
void mask_dilate(const struct work *work, const float *in, float *out);
/* Both masks of a work: the inputs that are marked (or, where outputs are marked, those that an active output reads) and the active
 * outputs. All ones without a mask. */
bool mask_both(const struct work *work, float *in, float *active, struct error *err);
/* The mask of `second`: the same pattern with another seed. n*1*h*w. */
bool mask_second(const struct work *work, float *out, struct error *err);
/* Elements of inactive pixels become `with`. */
void mask_blank(const struct tensor *t, const float *mask, float with, float *values);
/* A change may be of nothing: in the exact data of works whose mask is not made of values (settle) some marked pixels hold zeros alone, the
 * others some. Is this value, counted from the tensor's first as its pixel is from the first image's, one of them? */
bool mask_holds_still(size_t pixel, size_t element);
bool mask_has_still(const struct work *work, enum data_part part);
/* Share of ones, 0..1. */
double mask_density(const float *mask, size_t count);
/* The part of a masked work that must be done: shares of active pixels, FLOP of the active outputs, and the compulsory bytes: active
 * inputs and outputs (and residuals there), masks whole, filter and bias whole if any output is active. Without a mask: everything. */
struct useful {
    double input_share, output_share, flop, bytes;
};
bool work_useful(const struct work *work, struct useful *out, struct error *err);
/* The same of masks that are there already (mask_both). */
void work_useful_of(const struct work *work, const float *in, const float *active, struct useful *out);
/* The file of frame `frame`: the first %d or %0Nd in mask->path becomes the number. */
void mask_frame_path(const struct mask *mask, int frame, char *out, size_t bytes);

#endif
