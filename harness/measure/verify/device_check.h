/* measure/verify/device_check: verification where the outputs lie. Inputs are made on the device bit for bit as op/reference/generate.c
 * makes them, the reference in double by kernels of its own (kernels/reference/), outputs are compared there, and only counts come back.
 *
 * A case's device reference is trusted because the CPU's agrees with it on a sample in every case: rows of the output at the upper
 * and lower border of the first and the last image, at random places and some that follow one another, with all their channels; of long
 * rows the columns at both borders, random ones, and of each kind of masked pixel that the row has the first ones. So every border, corner
 * and kind of masked pixel is among them, and a crop whole; a small work is compared whole. Of further sets of inputs, which the same
 * kernel sums in the same shape, a border and one place are looked at. Ops without a kernel of their own have the CPU's reference, which is
 * uploaded once a case; those that are files have theirs from measure/reference. A chain's reference is that of its links, one after
 * another, each held to such a sample. Whatever the device finds wrong the CPU looks at again, with everything downloaded, and describes.
 */
#ifndef BENCH_MEASURE_VERIFY_DEVICE_CHECK_H
#define BENCH_MEASURE_VERIFY_DEVICE_CHECK_H

#include "device/device.h"
#include "measure/verify/verify.h"
#include "op/op.h"
#include "op/program.h"

struct card;
struct card_data;

/* The files that it compiles, for bundles; NULL-terminated. */
extern const char *const card_sources[];
/* Compiles one of them into the cache, so that opening a check is fast later. */
void card_compile(int source, const char *arch, const char *compiler);
/* compiler: as in compile_request. */
bool card_open(struct device *dev, const char *compiler, struct card **card, struct error *err);
void card_close(struct card *card);

/* Data and references of a part of a work on the device; `host` receives what the CPU needs: masks, filters, the inputs of the sample, room
 * for the references. host->card is the result. A device reference that does not agree with the CPU's is an ERROR_INTERNAL that names the
 * element. Of a chain one of whose links has no device reference, host->card is NULL and everything is the CPU's. */
bool card_data_make(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err);
/* What of it needs no device, made ahead, by any thread. False where there is nothing of that kind, or it cannot be made: nothing is owed
 * then. card_data_finish makes the rest, and takes *host: of a failure nothing is left. */
bool card_host_make(const struct work *work, enum data_part part, struct op_data *host);
bool card_data_finish(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err);
/* The data alone: what is fed to a row that was verified elsewhere. */
bool card_data_inputs(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err);
/* Takes what the CPU made, values and references, there; host->card is the result, and without it the CPU goes on alone. */
bool card_data_take(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err);
/* Are its references the device's own? Those of a file's kernel are made elsewhere. */
bool card_makes(const struct work *work);
/* The op_data that it belongs to lies at `host` now. NULL: there is none. */
void card_data_moved(struct card_data *data, struct op_data *host);
const struct card *card_data_card(const struct card_data *data);
void card_data_free(struct card_data *data);

/* The values of a tensor that a program reads, packed at `address` in its type and layout; where `hidden` is a slot of a mask (-1: none),
 * inactive pixels are NaN. */
bool card_feed(const struct card_data *data, const struct tensor *t, int hidden, uint64_t address, struct error *err);
/* A sum over the bits of a buffer: the same bits give the same sum. card_sum_add queues: what is at `sum` on the device grows by it. */
bool card_sum(const struct card *card, uint64_t address, size_t bytes, uint64_t *sum, struct error *err);
struct card_span {
    uint64_t address;
    size_t bytes;
};
/* The sums of many, for which is waited once; and the sum that a buffer of so many words has that all are the same. */
bool card_sums(const struct card *card, const struct card_span *spans, int count, uint64_t *sums, struct error *err);
uint64_t card_sum_of(uint64_t word, size_t words);
bool card_sum_add(const struct card *card, uint64_t address, size_t bytes, uint64_t sum, struct error *err);
/* Checks that bench's master copy of the inputs is unchanged. Kernels get no pointer to it, but a wild write may hit it. */
bool card_untouched(const struct card_data *data, bool *untouched, struct error *err);
/* The first byte in which a buffer differs from what card_feed would put there; `bytes` when it does not. */
bool card_first_change(const struct card_data *data, const struct tensor *t, int hidden, uint64_t address, size_t bytes, size_t *first,
                       struct error *err);
/* Compares an output where it lies, values or the bits of a mask. False in *right: the CPU must look (card_fetch, then verify_tensor);
 * true: *verdict is the whole answer. */
bool card_verify(const struct card_data *data, const struct program *program, int tensor, uint64_t address, bool *right,
                 struct verdict *verdict, struct error *err);
/* Downloads the references and bounds, once, into the op_data that they belong to. */
bool card_fetch(struct card_data *data, struct error *err);
/* The first `most` elements of each reference alone, or as card_fetch where that is SIZE_MAX. */
bool card_fetch_some(struct card_data *data, size_t most, struct error *err);

#endif
