/* measure/verify/device_check_private: what the files of the check on the device share. */
#ifndef BENCH_MEASURE_VERIFY_DEVICE_CHECK_PRIVATE_H
#define BENCH_MEASURE_VERIFY_DEVICE_CHECK_PRIVATE_H

#include "measure/verify/device_check.h"
#include "op/reference/data.h"

#define CARD_THREADS 256
#define CARD_LINE 32   /* LINE and */
#define CARD_FILTERS 8 /* FILTERS of kernels/reference/conv.cu */
enum card_kernel {
    CARD_NORMAL,
    CARD_EXACT,
    CARD_DRAWN,
    CARD_LINES,
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
enum { CARD_COMPARED, CARD_WRONG, CARD_WORST, CARD_COUNTS };
#define CARD_SUMS 512 /* that card_sums has in hand at once; as many as there is room for counts */

struct card {
    struct device *dev;
    const char *compiler; /* borrowed */
    struct device_module *modules[5];
    struct device_function *functions[CARD_KERNELS];
    uint64_t counts;
};
struct card_values {
    uint64_t value, reference, bound; /* device addresses, logical order; 0: none */
    size_t bytes;                     /* of value */
    size_t elements;                  /* of reference, bound */
    bool joined;                      /* the bounds are in the reference's memory */
};
struct card_data {
    struct card *card;
    struct op_data *host;
    struct card_values at[OP_MAX_TENSORS];
    uint64_t mask_out;
    size_t mask_out_bytes;
    uint64_t carried_at; /* of a chain, by channel of its output: what earlier links' roundings may add to an error; 0: none */
    float *carried;      /* the same here */
    size_t channels, plane;
    enum data_part part;
    bool fetched;                      /* the host has the references whole */
    uint64_t sums[OP_MAX_TENSORS + 1]; /* of the bits that rows are fed, as they were made */
};

/* `struct layer` of kernels/reference/conv.cu, field by field; all are 8 bytes. What follows the numbers are addresses there. */
struct card_item {
    int64_t kind, block, crd;
    double alpha;
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
};

/* An argument of a kernel: pointers and whole numbers in `i`. */
union card_arg {
    int64_t i;
    double d;
    float f;
};
union card_arg card_int(int64_t v);
union card_arg card_real(double v);
/* Launches with as many threads as there is to do (`count`), or fewer that loop. */
bool card_launch(const struct card *card, enum card_kernel kernel, int64_t count, const union card_arg *args, int arg_count,
                 struct error *err);
/* Remembers the values as they are: nobody who makes references has written to them either, or all are told the same. */
bool card_seal(struct card_data *data, struct error *err);
/* References and bounds are out of every kernel's reach, but for the tensor's of that slot from here on, until all are left; both wait. */
bool card_reach(const struct card_data *data, int slot, struct error *err);
bool card_leave(const struct card *card, struct error *err);
/* A layer as kernels/reference/conv.cu takes it, there; to be released when it has run. */
bool card_layer_up(struct card_data *data, const struct work *work, const struct op_bounds *is, struct card_layer *layer, uint64_t *at,
                   struct error *err);
/* The filter of a layer as that file reads it, from `filter` there; 0 of a layer without one. To be released when the layer has run. */
bool card_filter(struct card_data *data, const struct card_layer *layer, uint64_t filter, uint64_t *wide, struct error *err);
/* Its input as that file's sums read it, from values there in logical order (CARD_INPUT: floats, CARD_INPUT_WIDE: doubles). To be released.
 */
bool card_lines_in(struct card_data *data, const struct card_layer *layer, enum card_kernel kernel, uint64_t from, uint64_t *lines,
                   struct error *err);
/* Memory of the check, and something in it; an error says whose. */
bool card_room(struct card_data *data, const char *label, size_t bytes, uint64_t *address, struct error *err);
/* For what a kernel under test must not find: references and their bounds. */
bool card_room_apart(struct card_data *data, const char *label, size_t bytes, uint64_t *address, struct error *err);
/* A tensor's reference and, behind it, its bounds: what is mapped and unmapped as one costs half as much. */
bool card_room_reference(struct card_data *data, size_t elements, bool bounds, struct card_values *at, struct error *err);
/* The references that the CPU has, up. */
bool card_references_up(struct card_data *data, const struct work *work, struct error *err);
bool card_upload(struct card_data *data, const char *label, const void *from, size_t bytes, uint64_t *address, struct error *err);
/* The references of an op that is a file and has a kernel, whose inputs are there; they stay there (device_check_file.c). Able: is that so?
 */
bool card_file_able(const struct work *work);
bool card_file(struct card_data *data, const struct work *work, enum data_part part, struct error *err);
/* The reference of a network whose inputs are there, link by link (device_check_chain.c). Able: every link is of an op that the device has
 * a reference for, or changes the layout. */
bool card_chain_able(const struct work *work);
bool card_chain(struct card_data *data, const struct work *work, enum data_part part, struct error *err);
/* Which rows a sample has, and those rows of a device's tensor (layer's output, `per` lines each), of each line the columns that are picked
 * or all (columns NULL, picked the width), to `to`. */
#define CARD_SAMPLE_MOST 1024
struct card_sample {
    int64_t rows[CARD_SAMPLE_MOST];
    int count;
    bool *columns; /* of each of them, before the epilogue; NULL: all */
};
/* mask_out: NULL, or of each output (before the epilogue) whether it is active. To be freed. */
void card_sample_draw(const struct work *work, const float *mask_out, struct card_sample *sample);
void card_sample_free(struct card_sample *sample);
/* Leaves a border and somewhere: of another set of inputs, or the same layer again, which the same kernel has summed in the same shape. */
void card_sample_again(struct card_sample *sample);
struct card_lines {
    int64_t channels, p, per, width;
    const int64_t *rows, *columns;
    int64_t count, picked;
};
bool card_fetch_rows(const struct card_data *data, enum card_kernel kernel, uint64_t from, size_t element, const struct card_lines *lines,
                     void *to, struct error *err);
/* The device's inputs are the CPU's, bit for bit, where it is looked. */
bool card_inputs_agree(const struct card_data *data, const struct work *work, struct error *err);
/* Are those rows, in data->host->columns, what the CPU has in data->host? */
bool card_rows_agree(const struct card_data *data, const struct card_layer *layer, const int64_t *rows, int count, struct error *err);
/* The CPU's part of that, inputs and reference of the sample; and the device's reference held against it (device_check_compare.c). */
bool card_sample_make(const struct work *work, enum data_part part, struct op_data *host, struct error *err);
bool card_sample_agrees(struct card_data *data, const struct work *work, const struct card_layer *g, struct error *err);
/* Storage of a tensor as four dimensions and the steps between their elements. */
void card_strides(const struct tensor *t, int64_t dim[4], int64_t stride[4]);

#endif
