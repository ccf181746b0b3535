/* measure/rig/rig: a program set up on a device: buffers with guard zones, loaded code, packed arguments. It fills the inputs, runs the
 * program and checks the outputs.
 *
 * Order: rig_open, rig_feed, rig_prepare, rig_run (any number), rig_check, rig_close. A fault of the variant (its signature does not
 * match its head, a limit refused at launch) is an ERROR_USAGE; a fault of the device while it ran (trap, illegal address) is an
 * ERROR_WRONG; a library that is missing, or has no engine for the call, is an ERROR_ENVIRONMENT. */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "device/cudnn/cudnn.h"
#include "device/device.h"
#include "measure/verify/verify.h"
#include "op/op.h"
#include "op/program.h"

struct rig;
struct buffer_pool;

/* images: one per unit of the program (ptx NULL where the unit has no source). `library` is needed by programs with a cuDNN step, else
 * NULL. keep_inputs: keep host copies, so that rig_check can say whether an input was changed. */
bool rig_open(struct device *dev, struct cudnn *library, const struct program *program, const struct device_image *images, bool keep_inputs,
              struct rig **rig, struct error *err);
/* Like rig_open, but on the buffers of a pool (measure/rig/buffer_pool.h), which must outlive the rig. values: rigs that share inputs
 * pass the same number. */
bool rig_open_in(struct buffer_pool *pool, int values, struct device *dev, struct cudnn *library, const struct program *program,
                 const struct device_image *images, bool keep_inputs, struct rig **rig, struct error *err);
void rig_close(struct rig *rig);
/* Selects the input set and the output replica that later calls use. Default 0, 0; fixed at 0, 0 without a pool. */
void rig_select(struct rig *rig, int set, int replica);
/* A pool loads code once per set and replica, at different addresses, so no row is fast because of where its code lies. Until the next
 * rig_select, the code of `view` runs (set * replicas + replica, modulo their number). A captured graph keeps its code. */
void rig_use_code(struct rig *rig, int view);
/* rig_poison_all, then rig_refeed. */
bool rig_feed(struct rig *rig, const struct op_data *data, struct error *err);
/* Packs the inputs of the set (unless another rig of the pool has done so) and a chain's weights. Outputs and scratch keep the bytes of
 * the last launch. */
bool rig_refeed(struct rig *rig, const struct op_data *data, struct error *err);
/* Poisons the tensors that the program writes; those that it changes in place get their contents of before the launch. */
bool rig_poison(struct rig *rig, struct error *err);
/* Poisons outputs, scratch and workspace of the replica, and the registers and memories of the SMs. Nothing of an earlier launch
 * remains, nor any result of rig_prepare. */
bool rig_poison_all(struct rig *rig, struct error *err);
/* Queues checksums, on the device, of the outputs and inputs as the previous launch left them. Needs a pool with a device check. */
bool rig_checksum(struct rig *rig, struct error *err);
/* Call after a verified launch: later launches of this set must leave the same bits. Waits. */
bool rig_checksum_accept(struct rig *rig, struct error *err);
/* Call when the inputs of this set are final and no launch on it has been checked yet. Waits. Needs a device check. */
bool rig_checksum_await(struct rig *rig, struct error *err);
bool rig_checksum_awaits(const struct rig *rig);
/* Accepts the launch that rig_checksum_matches read: later launches of this set must leave the same bits. */
void rig_checksum_accept_last(struct rig *rig);
/* Waits. *left: true if the last checksum on this replica equals the checksum of an accepted launch of this set. Without a device check:
 * always true. */
enum rig_left { RIG_AS_ACCEPTED, RIG_UNSEEN, RIG_OTHER_OUTPUT, RIG_OTHER_INPUT, RIG_OTHER_PREPARED };
bool rig_checksum_matches(struct rig *rig, enum rig_left *left, struct error *err);
/* Returns another set whose accepted launch left the outputs that rig_checksum_matches read (the launch replayed a result); -1: none. */
int rig_checksum_matches_set(const struct rig *rig);
/* Records which elements of its inputs launches read from now on; off: stops. rig_seen: for each byte of the tensor's storage, 1 if it was
 * read; NULL: the device does not record it, or the tensor is written. */
void rig_watch(struct rig *rig, bool on);
const uint8_t *rig_seen(const struct rig *rig, int tensor);
/* True if a launch could find data of an earlier launch: non-constant scratch, local memory, or a tensor that is changed in place. False
 * for other library rows. */
bool rig_has_state(const struct rig *rig);
/* Packs the inputs of the set again, even if another rig of the pool packed them first. */
bool rig_restore(struct rig *rig, const struct op_data *data, struct error *err);
/* Host time in which the device allocated the rig's first set of outputs, scratch memory and workspaces, with their guards. */
double rig_alloc_ns(const struct rig *rig);
/* Queues copies of the contents that the program's launch expects in tensors that it changes in place. */
bool rig_give_contents(struct rig *rig, struct error *err);
/* rig_give_contents, then runs the prepare steps; *ns: wall time of the steps with a sync
 * around them. ns NULL: only queues them. */
bool rig_prepare(struct rig *rig, double *ns, struct error *err);
/* Queues all run steps; from the second call on as one graph if the program asks for it. rig_capture makes that graph for the selected set
 * and replica after a first run, so that no timed run has to. */
bool rig_capture(struct rig *rig, struct error *err);
bool rig_run(struct rig *rig, struct error *err);
/* rig_run without the copy of a result that a library keeps elsewhere; rig_finish queues it. */
bool rig_run_timed(struct rig *rig, struct error *err);
bool rig_finish(struct rig *rig, struct error *err);
/* Queues run steps one by one, calling `between` after each (step index of the program): counters per step, events per step. */
bool rig_run_stepwise(struct rig *rig, bool (*between)(void *context, int step, struct error *err), void *context, struct error *err);
/* Waits, then reads and compares every tensor that the program writes, and checks guard zones and inputs. `unsafe` receives "" or a
 * sentence that says what was overwritten. */
bool rig_check(struct rig *rig, const struct op_data *data, struct verdict *verdict, struct text *unsafe, const char *dump_dir,
               struct error *err);
/* Every tensor as it lies on the device, masks left out: DIR/NAME.npy, in logical order. Waits. */
bool rig_save(struct rig *rig, const char *dir, struct error *err);
/* Checks only the guard zones, and refills those that were written to. */
bool rig_check_guards(struct rig *rig, struct text *unsafe, struct error *err);
/* Checks only guard zones and the inputs of which copies were kept. */
bool rig_check_memory(struct rig *rig, struct text *unsafe, struct error *err);
/* rig_state_keep hashes the prepared data and the variables of loaded modules that code refers to. rig_state_check compares them with
 * the last hash (for data prepared once, with the hash of rig_state_keep); `changed` receives "" or a sentence that names what launches
 * in between changed. Both wait for the device. */
bool rig_state_keep(struct rig *rig, struct error *err);
bool rig_state_check(struct rig *rig, struct text *changed, struct error *err);
/* True if the result of the prepare steps depends on inputs, which they must not use. Runs them with the inputs in memory and again
 * without. Feed the rig again before the next run. */
bool rig_prepare_depends(struct rig *rig, bool *depends, struct error *err);
/* Finds the memory that an image's code refers to besides its buffers. NULL (err): it cannot be read. Free with rig_scan_free. */
struct device_memory *rig_scan_image(const struct device_image *image, struct error *err);
void rig_scan_free(struct device_memory *memory);
/* True if the code of an image calls malloc or reads something that differs between launches: no comparison could detect stored results.
 * `how` (empty before) names the cause. */
bool rig_may_remember(const struct device_image *images, int count, struct text *how);
/* A checksum of all written tensors as the last rig_check read them. Equal outputs have equal checksums. */
uint64_t rig_output_sum(const struct rig *rig);
/* Says that an output with that checksum was right on the inputs that the rig now has: rig_check then does not compare the elements of such
 * an output again. rig_check records the checksums of outputs that it finds right by itself. */
void rig_expect(struct rig *rig, uint64_t sum);
/* Reads an element of a scratch or tensor buffer (a variant's own column). */
bool rig_read(struct rig *rig, struct buffer_ref buffer, int64_t element, double *value, struct error *err);
/* The device address of a buffer, for callers that write other data between runs or read data between steps. */
uint64_t rig_address(struct rig *rig, struct buffer_ref buffer);
/* Where a variable of the first unit's code lies, and its size. */
bool rig_symbol(struct rig *rig, const char *name, uint64_t *address, size_t *bytes, struct error *err);
/* How many clusters of a step the device can hold at once, according to its driver; 0: the step has none, or the device does not say. */
int rig_clusters(struct rig *rig, int step);
/* Queues one step; it may be a prepare step. */
bool rig_run_step(struct rig *rig, int step, struct error *err);
/* emu: runs groups of a kernel step that have not run yet (device_launch.sample); adds their counts, each as often as its weight says. */
bool rig_run_sample(struct rig *rig, int step, struct device_sample *sample, struct error *err);
void rig_weigh(struct rig *rig, int step, const struct device_sample *sample);
/* emu: computes tensor instructions in later launches, of a rig that was opened on a device that did not (device_ops.multiply). */
bool rig_multiply(struct rig *rig, const struct device_image *images, struct error *err);
/* Keeps what lies in the scratch buffers of at most `most` bytes that a kernel step gets, or puts it back there. */
bool rig_swap_state(struct rig *rig, int step, size_t most, bool keeps, struct text *state, struct error *err);
/* Packs masks, and the inputs that have at most so many elements; the others are zeros, and outputs and scratch stay as they are. */
bool rig_feed_small(struct rig *rig, const struct op_data *data, size_t most, struct error *err);
/* cuDNN: the steps that have several plans, in order (in a chain each distinct call once); ends with -1. For each step: its plans and
 * the plan in use. The caller times the plans and chooses. */
int rig_library_step(const struct rig *rig, int nth);
/* True if the engine of the plan is known to be hopelessly slow for such convolutions (cudnn_is_slow). */
void rig_plan_is_hopeless(const struct rig *rig, int step, int plan);
bool rig_plan_hopeless(const struct rig *rig, int step, int plan);
/* Makes the plans that a rig of this program will ask the library for; unless it compiles, only where no kernel must be compiled. */
void rig_library_ahead(struct cudnn *library, const struct program *program, bool compiles);
/* Compiles some of the kernels that the library will need at run time (cudnn_compile); the device may be a described one. */
void rig_library_compile(struct cudnn *library, const struct program *program, int part, int parts);
int rig_plan_count(const struct rig *rig, int step);
const struct cudnn_plan_facts *rig_plan_facts(const struct rig *rig, int step, int plan);
void rig_plan_use(struct rig *rig, int step, int plan);
int rig_plan_among(
    const struct rig *rig,
    int step); /* the number of plans that were compared: larger than rig_plan_count if an earlier rig of this process compared them */
/* "2026-11-23": the day of the earlier run that chose the plan (cudnn_open_choices); "" if this run chose. */
const char *rig_plan_raced(const struct rig *rig, int step);
int rig_plan_used(const struct rig *rig, int step);
/* The plan in use is the fastest of those timed: later rigs of this process use it for an equal call without a search. */
void rig_plan_keep(struct rig *rig, int step);
/* Call after a choice: equal calls elsewhere in a chain get a plan like the chosen plan. */
bool rig_plan_settle(struct rig *rig, struct error *err);
const struct program *rig_program(const struct rig *rig);
/* The name of the rig's runs in a profiler's ranges; the caller owns the text. NULL: no ranges. */
void rig_set_name(struct rig *rig, const char *name);
const char *rig_name(const struct rig *rig);
void rig_time_limit(struct rig *rig, double seconds);
