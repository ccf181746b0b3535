/* measure/verify/device_check_private: declarations shared by the files of the device check. */
#pragma once

#include "measure/verify/device_check.h"
#include "op/reference/data.h"

#define CARD_THREADS 256
#define CARD_LINE 32    /* LINE and */
#define CARD_FILTERS 16 /* FILTERS of kernels/reference/conv.cu */
enum card_kernel {
    CARD_NORMAL,
    CARD_EXACT,
    CARD_DRAWN,
    CARD_LINES,
    CARD_SWEPT,
    CARD_BLANK,
    CARD_PACK,
    CARD_SUM,
    CARD_DIFFER,
    CARD_ROWS_F64,
    CARD_ROWS_F32,
    CARD_CONV,
    CARD_CONV_WIDE,
    CARD_FORMULA,
    CARD_FILTER,
    CARD_INPUT,
    CARD_INPUT_WIDE,
    CARD_WIDEN,
    CARD_FORGET,
    CARD_OWN,
    CARD_SPREAD,
    CARD_COMPARE,
    CARD_COMPARE_BITS,
    CARD_SETTLE,
    CARD_KERNELS
};
/* counts[] of compare_output. */
enum { CARD_COMPARED, CARD_WRONG, CARD_WORST, CARD_SUSPECTS, CARD_COUNTS };
#define CARD_SUMS 512 /* sums per call of card_sums; equal to the number of counts that fit */

struct card {
    struct device *dev;
    const char *compiler; /* borrowed */
    struct device_module *modules[6];
    struct device_function *functions[CARD_KERNELS];
    uint64_t counts;
};
struct card_values {
    uint64_t value, reference, bound; /* device addresses, logical order; 0: none */
    size_t bytes;                     /* of value */
    size_t elements;                  /* of reference, bound */
    bool joined;                      /* the bounds and the reference share one allocation */
};
struct card_data {
    struct card *card;
    struct op_data *host;
    struct card_values at[OP_MAX_TENSORS];
    uint64_t mask_out;
    size_t mask_out_bytes;
    uint64_t carried_at; /* of a chain, by channel of its output: the error that roundings of earlier links may add; 0: none */
    float *carried;      /* the same on the host */
    size_t channels, plane;
    enum data_part part;
    bool fetched;                      /* the host has the references whole */
    uint64_t sums[OP_MAX_TENSORS + 1]; /* of the bits of the original inputs */
};

/* `struct layer` of kernels/reference/conv.cu, field by field; all fields have 8 bytes. The fields after the numbers are device
 * addresses. */
struct card_item {
    int64_t kind, block, crd;
    double alpha, most, scale;
    int64_t c, h, w;
};
struct card_layer {
    int64_t n, c, h, w, k, groups, p, q, row_taps, column_taps;
    uint64_t rows, columns, row_weight, column_weight, steps, size_steps;
    int64_t step_count, size_count;
    int64_t result_type, sum_type, tf32, whole, bounds, sums;
    double share, terms, least, begun;
    int64_t items;
    struct card_item item[WORK_MAX_EPILOGUE];
    int64_t out_c, out_h, out_w;
    uint64_t slopes;
};

/* An argument of a kernel: pointers and integers in `i`; `p`: the address of a structure of more than 8 bytes. */
union card_arg {
    int64_t i;
    double d;
    float f;
    const void *p;
};
union card_arg card_int(int64_t v);
union card_arg card_real(double v);
/* Launches one thread per work item (`count`), or fewer threads that loop. */
bool card_launch(const struct card *card, enum card_kernel kernel, int64_t count, const union card_arg *args, int arg_count,
                 struct error *err);
/* Records a checksum of the values once the references are made. If making them changed the values, all rows see the same change. */
bool card_seal(struct card_data *data, struct error *err);
/* Maps the reference and bounds of that slot until card_leave unmaps all. Otherwise they are unmapped, so that no kernel can reach them.
 * Both functions wait for the device. */
bool card_reach(const struct card_data *data, int slot, struct error *err);
bool card_leave(const struct card *card, struct error *err);
/* Uploads a layer as kernels/reference/conv.cu takes it. The caller releases it after the run. */
bool card_layer_up(struct card_data *data, const struct work *work, const struct op_bounds *is, struct card_layer *layer, uint64_t *at,
                   struct error *err);
/* Converts the filter of a layer, from `filter` on the device, to the form that kernels/reference/conv.cu reads; 0 for a layer without a
 * filter. The caller releases it after the run. */
bool card_filter(struct card_data *data, const struct card_layer *layer, uint64_t filter, uint64_t *wide, struct error *err);
/* Converts a layer's input, from device values in logical order, to the form that sums of kernels/reference/conv.cu read (CARD_INPUT:
 * floats, CARD_INPUT_WIDE: doubles). card_lines_bytes: its size. */
size_t card_lines_bytes(const struct card_layer *layer);
bool card_lines_in(struct card_data *data, const struct card_layer *layer, enum card_kernel kernel, uint64_t from, uint64_t lines,
                   struct error *err);
/* Allocates memory of the check, or uploads to it; an error names the check as the owner. */
bool card_room(struct card_data *data, const char *label, size_t bytes, uint64_t *address, struct error *err);
/* Memory that a kernel under test must not reach: references and their bounds. */
bool card_room_apart(struct card_data *data, const char *label, size_t bytes, uint64_t *address, struct error *err);
/* A tensor's reference, followed by its bounds in one mapping: mapping both as one costs half as much. */
bool card_room_reference(struct card_data *data, size_t elements, bool bounds, struct card_values *at, struct error *err);
/* True if a tensor is of f64: the device compares values of f32 at most, so the CPU checks such works. */
bool card_is_wide(const struct work *work);
/* Uploads the references of the CPU. */
bool card_references_up(struct card_data *data, const struct work *work, struct error *err);
bool card_upload(struct card_data *data, const char *label, const void *from, size_t bytes, uint64_t *address, struct error *err);
/* Makes the references of an op that is a file with a kernel, whose inputs are on the device; they stay there (device_check_file.c).
 * Able: the op is one. */
bool card_file_able(const struct work *work);
bool card_file(struct card_data *data, const struct work *work, enum data_part part, struct error *err);
/* Makes the reference of a network whose inputs are on the device, link by link (device_check_chain.c). Able: the device has a reference
 * for every link's op, or the link changes the layout. */
bool card_chain_able(const struct work *work);
bool card_chain(struct card_data *data, const struct work *work, enum data_part part, struct error *err);
/* The rows of a sample. card_lines copies those rows of a device tensor (the layer's output, `per` lines each), with the picked columns
 * of each line or all (columns NULL, picked the width), to `to`. */
#define CARD_SAMPLE_MOST 1024
struct card_sample {
    int64_t rows[CARD_SAMPLE_MOST];
    int count;
    bool *columns; /* of each of them, before the epilogue; NULL: all */
};
/* mask_out: for each output (before the epilogue) whether it is active, or NULL. The caller frees the sample. */
void card_sample_draw(const struct work *work, const float *mask_out, struct card_sample *sample);
void card_sample_free(struct card_sample *sample);
/* Reduces the sample to a border and one place: for a further input set or an equal layer, which the same kernel sums in the same shape. */
void card_sample_again(struct card_sample *sample);
struct card_lines {
    int64_t channels, p, per, width;
    const int64_t *rows, *columns;
    int64_t count, picked;
};
bool card_fetch_rows(const struct card_data *data, enum card_kernel kernel, uint64_t from, size_t element, const struct card_lines *lines,
                     void *to, struct error *err);
/* Checks at sampled places that the device's inputs equal the CPU's bit for bit. */
bool card_inputs_agree(const struct card_data *data, const struct work *work, struct error *err);
/* Checks that those rows, with data->host->columns, equal the CPU's in data->host. */
bool card_rows_agree(const struct card_data *data, const struct card_layer *layer, const int64_t *rows, int count, struct error *err);
/* Makes the CPU's part, inputs and reference of the sample; then compares the device's reference with it (device_check_compare.c). */
bool card_sample_make(const struct work *work, enum data_part part, struct op_data *host, struct error *err);
bool card_sample_agrees(struct card_data *data, const struct work *work, const struct card_layer *g, struct error *err);
/* The storage of a tensor as four dimensions and the strides between their elements. */
void card_strides(const struct tensor *t, int64_t dim[4], int64_t stride[4]);
