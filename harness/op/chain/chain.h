/* op/chain/chain: works that run one after another, each reading what earlier ones wrote: a network, run whole.
 *
 * A work of op `chain` has the shape of the whole (n, c, h, w in; k, p, q out) and points to its links, which are in order of execution;
 * each link names where its input and residual come from. Weights are seeded: each layer run has its own filter and bias, the same under
 * every layout plan. */
#pragma once

#include "op/op.h"

/* Rows that every network has besides those of single variants: the library on every layer, and the fastest variant of each layer. */
#define CHAIN_ROW_LIBRARY "chain/library"
#define CHAIN_ROW_BEST "chain/best"
/* A kernel of op chain gets, in addition to input and output:
 *
 *   filter  all filters one after another, each in logical order (k, c, r, s)
 *   bias    all biases, f32; zeros for a link without one
 *   links   f32, CHAIN_COLUMNS for each link: c, k, source of its input, source of its residual, slope for negative values (1: no
 *           activation), first element in filter, first element in bias, 0. A source is 0 for the chain's input, i + 1 for the output of
 *           link i, -1 for none.
 *
 * Beside n c h w k p q, its head may use these symbols:
 *
 *   runs      the number of links
 *   r s stride pad dilation groups   those of all links; 0 when links differ
 *   width     c and k of every link; 0 when they differ
 *   straight  1: each link reads the one before it
 *   back      how many links back a residual comes from at most; that of the chain's input does not count
 *   plain     1: no epilogue beyond bias and either an activation or a residual */
#define CHAIN_COLUMNS 8
/* Values of filter, bias or links for a run of links, malloc'd; `data` has the weights. */
float *chain_constant(const struct chain *chain, int first, int count, const struct op_data *data, const struct tensor_role *role,
                      size_t elements);
/* Links first .. first + count - 1 as a chain of their own. Requires that they read only each other and one outside tensor, and that no
 * link outside reads any but the last of them. Free with chain_free. */
bool chain_part(const struct chain *chain, int first, int count, struct chain *out);

/* The work of the whole chain, which it borrows. False: tensors of links do not fit (err names the link). The mask of the whole is that of
 * the first link's work: see below. */
bool chain_work(const struct chain *chain, struct work *out, struct error *err);

/* Data of the whole: the input; filter and bias of each layer run in data->links, by `layer`; reference and bound of the last
 * output.
 *
 * Values: the input is that of the first link's own precision data. Filters are N(0, 1) times sqrt(g / terms), g = 2 before relu, 2 / (1 +
 * a^2) before leaky relu, 1 else, so that activations keep their size from link to link (He et al. 2015); a link that adds a residual, or
 * whose output is added to what its branch began with, has a quarter of that, so that a row of residual blocks does not grow beyond f16.
 * The biases are a tenth of N(0, 1).
 *
 * Reference: the whole net in double, nothing rounded between links, weights as the dtype holds them.
 *
 * Bound: a link's own error is at most b = its bound (op/reference/bound.h) plus one rounding of what it stores, u |y|. The filter mixes
 * the errors of its input: independent errors add in squares, e_out^2 = sum over taps of w^2 e_in^2 + e_residual^2 + b^2. (A bound that
 * assumes the worst sign at every tap grows by sum |w|, about 19 times a layer at 64 channels, and would accept anything.) The allowed
 * error of the output is CHAIN_SPREAD times its e, times the algorithm's factor. If activations keep their size, it grows as the square
 * root of the number of links. */
#define CHAIN_SPREAD 4.0
/* Mean squares of errors, by channel: from sums (times the algorithm's factor), and from rounding stored values. */
struct chain_errors {
    double *sums, *roundings;
    int64_t channels;
};
struct chain_errors chain_errors_new(int64_t channels);
void chain_errors_free(struct chain_errors *errors);
/* Errors in a link's output that come from its input and residual (NULL: none). */
struct chain_errors chain_carried(const struct chain_link *link, const float *filter, const struct chain_errors *in,
                                  const struct chain_errors *residual);
/* Makes reference and bounds of a link whose op is a file, from its inputs (measure/verify/reference). */
struct chain_maker {
    bool (*make)(void *context, const struct work *work, struct op_data *data, struct error *err);
    void *context;
};
/* maker: NULL where no link needs one. */
bool chain_data_make(const struct work *work, enum data_part part, const struct chain_maker *maker, struct op_data *out, struct error *err);

/* Links whose op is a file (file.c): their tensors `input` and `output` are images, or [rows, cols], the pixels and channels of an image
 * stored NHWC. A maker computes the reference. To find how errors of the input propagate, the maker computes it again from an input with
 * such errors. */
/* True if the work can be a layer of a network. */
bool chain_takes(const struct work *work, struct error *err);
/* True if one layer's output can be another layer's input. */
bool chain_joins(const struct tensor *given, const struct tensor *wanted);
/* A link's output as an image; CHAIN_INPUT: the chain's input. */
bool chain_flow(const struct chain *chain, int link, struct tensor *out);
/* Sets the fields that the shape of `input` names, from the image. */
void chain_size(struct work *work, const struct tensor *flow);
struct chain_file {
    const struct chain *chain;
    int link;
    const struct op_data *constants; /* the link's own; NULL: none */
    const struct chain_maker *maker;
    uint64_t set_seed;
    int64_t images;
    size_t inputs, seconds;
    const double *second; /* values of the second tensor; NULL: the op has none */
    int probes;           /* 1 gives means by channel, CHAIN_PROBES values by element */
};
#define CHAIN_PROBES 8
bool chain_file_constants(const struct work *work, struct op_data *out, struct error *err);
/* Computes reference and bound in the image's order; what errors of its input (`in`) and second tensor become; and the mean square error of
 * each element, which for large values of a softmax exceeds the channel's. All malloc'd. */
bool chain_file_reference(struct chain_file *file, const double *input, const struct chain_errors *in, const struct chain_errors *second,
                          struct op_values *made, struct chain_errors *out, double **local, struct error *err);
/* True if the op only moves values. */
bool chain_file_moves(const struct work *work);

/* Masks: if the links' works have masks, the first one's marks the inputs that changed. A link's active outputs are the dilation of its
 * marks by the receptive field, and become the marks of the next link. (The patterns of the other links' masks do not matter here; their
 * own layers' cases use them.) A pixel that a link leaves inactive counts as 0 for the next one, whatever its buffer holds, because nothing
 * changed there. So the values are those of the links' sparse kernels run one after another. With a bias they differ from the dense net's,
 * which has act(bias) in inactive pixels. Dense rows are compared with the dense net: DATA_FULL gives the full input and a net without
 * masks between its links, and only its active outputs are compared.
 *
 * Marks pass only through a straight row of links that each read the one before, without residual, and whose outputs are where their marks
 * are. */
bool chain_passes_marks(const struct chain *chain, struct error *err);
/* Of each link, the last one that reads its output; 0: none does. malloc'd. */
int *chain_last_uses(const struct chain *chain);
