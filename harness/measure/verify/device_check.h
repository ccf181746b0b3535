/* measure/verify/device_check: verification on the device that holds the outputs.
 *
 * Kernels make the inputs on the device, bit for bit as op/reference/generate.c makes them, compute the reference in double
 * (kernels/reference/) and compare the outputs; only counts come back. In every case the device reference must agree with the CPU's on a
 * sample: rows of the output at the upper and lower border of the first and the last image, at random places and some adjacent ones,
 * with all their channels; of long rows the columns at both borders, random ones, and the first columns of each kind of masked pixel in
 * the row. So the sample contains every border, corner and kind of masked pixel, and a whole crop; a small work is compared whole.
 *
 * For further input sets, which the same kernel sums in the same shape, the sample is one border and one place. Ops without a reference
 * kernel use the CPU's reference, uploaded once per case; ops that are files use measure/reference. A chain's reference is computed link
 * by link, and each link is compared with such a sample. If the device finds a fault, bench downloads everything, and the CPU checks
 * again and describes the fault. */
#pragma once

#include "device/device.h"
#include "measure/verify/verify.h"
#include "op/op.h"
#include "op/program.h"

struct card;
struct card_data;

/* The source files that the check compiles, for bundles; NULL-terminated. */
extern const char *const card_sources[];
/* Compiles one of them into the cache, so that opening a check is fast later. */
void card_compile(int source, const char *arch, const char *compiler);
/* compiler: as in compile_request. */
bool card_open(struct device *dev, const char *compiler, struct card **card, struct error *err);
void card_close(struct card *card);

/* Makes data and references of a part of a work on the device; `host` receives what the CPU needs: masks, filters, the inputs of the
 * sample, room for the references. host->card is the result. A device reference that does not agree with the CPU's is an ERROR_INTERNAL
 * that names the element. If a chain has a link without a device reference, host->card is NULL and the CPU does everything. */
bool card_data_make(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err);
/* Makes in advance the parts that need no device; any thread may call it. False: this work has no such part, or making it failed; the
 * caller owes nothing then. card_data_finish makes the rest and takes *host, which it frees on failure. */
bool card_host_make(const struct work *work, enum data_part part, struct op_data *host);
bool card_data_finish(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err);
/* Makes only the data: inputs for a row that was verified elsewhere. */
bool card_data_inputs(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err);
/* Uploads values and references that the CPU made; host->card is the result. Without it (as for works with f64) the CPU
 * checks alone. */
bool card_data_take(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err);
/* True if the check's own kernels made the references. A file's kernel makes its references elsewhere. */
bool card_makes(const struct work *work);
/* Call when the op_data that it belongs to has moved to `host`. NULL: there is none. */
void card_data_moved(struct card_data *data, struct op_data *host);
const struct card *card_data_card(const struct card_data *data);
void card_data_free(struct card_data *data);

/* Packs the values of a tensor that a program reads at `address`, in its type and layout; if `hidden` is the slot of a mask (-1: none),
 * inactive pixels become NaN. */
bool card_feed(const struct card_data *data, const struct tensor *t, int hidden, uint64_t address, struct error *err);
/* A checksum of the bits of a buffer: equal bits have equal sums. card_sum_add only queues: it adds to the sum at the device address
 * `sum`. */
bool card_sum(const struct card *card, uint64_t address, size_t bytes, uint64_t *sum, struct error *err);
struct card_span {
    uint64_t address;
    size_t bytes;
};
/* card_sums: the sums of several buffers, with a single wait. card_sum_of: the sum of a buffer of that many equal words. */
bool card_sums(const struct card *card, const struct card_span *spans, int count, uint64_t *sums, struct error *err);
uint64_t card_sum_of(uint64_t word, size_t words);
bool card_sum_add(const struct card *card, uint64_t address, size_t bytes, uint64_t sum, struct error *err);
/* Checks that bench's master copy of the inputs is unchanged. Kernels get no pointer to it, but a stray write may hit it. */
bool card_untouched(const struct card_data *data, bool *untouched, struct error *err);
/* The first byte in which a buffer differs from what card_feed would write; `bytes` if none differs. */
bool card_first_change(const struct card_data *data, const struct tensor *t, int hidden, uint64_t address, size_t bytes, size_t *first,
                       struct error *err);
/* Compares an output on the device, values or the bits of a mask. *right false: the CPU must check (card_fetch, then verify_tensor);
 * true: *verdict is final. */
bool card_verify(const struct card_data *data, const struct program *program, int tensor, uint64_t address, bool *right,
                 struct verdict *verdict, struct error *err);
/* Downloads the references and bounds, once, into their op_data. */
bool card_fetch(struct card_data *data, struct error *err);
/* Downloads only the first `most` elements of each reference; SIZE_MAX: same as card_fetch. */
bool card_fetch_some(struct card_data *data, size_t most, struct error *err);
