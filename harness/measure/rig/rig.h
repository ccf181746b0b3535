/* measure/rig/rig: a program set up on a device: buffers with guard zones, loaded code, packed arguments; fed, run and checked.
 *
 * Order: rig_open, rig_feed, rig_prepare, rig_run (any number), rig_check, rig_close. A fault of the variant (its signature does not
 * match its head, a limit refused at launch) is an ERROR_USAGE; a fault of the device while it ran (trap, illegal address) is an
 * ERROR_WRONG; a library that is missing, or has no engine for the call, is an ERROR_ENVIRONMENT. */
#ifndef BENCH_MEASURE_RIG_RIG_H
#define BENCH_MEASURE_RIG_RIG_H

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
/* The same on the buffers of a pool (measure/rig/buffer_pool.h), which outlives the rig. values: rigs that share inputs give the same
 * number. */
bool rig_open_in(struct buffer_pool *pool, int values, struct device *dev, struct cudnn *library, const struct program *program,
                 const struct device_image *images, bool keep_inputs, struct rig **rig, struct error *err);
void rig_close(struct rig *rig);
/* Selects the input set and the output replica that later calls use. Default 0, 0; fixed at 0, 0 without a pool. */
void rig_select(struct rig *rig, int set, int replica);
/* In a pool, code is loaded once per set and replica, at different addresses, so that no row is fast because of where its code lies. Until
 * the next rig_select, the code of `view` runs (set * replicas + replica, modulo their number). A captured graph keeps its code. */
void rig_use_code(struct rig *rig, int view);
/* rig_poison_all, then rig_refeed. */
bool rig_feed(struct rig *rig, const struct op_data *data, struct error *err);
/* Packs the inputs of the set (unless another rig of the pool has done so) and a chain's weights. Outputs and scratch keep what the last
 * launch left. */
bool rig_refeed(struct rig *rig, const struct op_data *data, struct error *err);
/* Poisons what the program writes. */
bool rig_poison(struct rig *rig, struct error *err);
/* Poisons outputs, scratch and workspace of the replica, and what threads left on the SMs. Nothing of an earlier launch is left, nor what
 * rig_prepare made. */
bool rig_poison_all(struct rig *rig, struct error *err);
/* Queues checksums, on the device, of the outputs and inputs that the previous launch left. Needs a pool with a check on the device. */
bool rig_checksum(struct rig *rig, struct error *err);
/* The previous launch was verified: later launches of this set must leave the same bits. Waits. */
bool rig_checksum_accept(struct rig *rig, struct error *err);
/* The inputs of this set are final, and its first launch is still to be checked. Waits. Needs a check on the device. */
bool rig_checksum_await(struct rig *rig, struct error *err);
bool rig_checksum_awaits(const struct rig *rig);
/* The launch that rig_checksum_matches saw was checked and is right: later launches of this set must leave the same bits. */
void rig_checksum_accept_last(struct rig *rig);
/* Waits. *left: does the last checksum on this replica equal that of an accepted launch of this set? Without a check on the device: always.
 */
enum rig_left { RIG_AS_ACCEPTED, RIG_UNSEEN, RIG_OTHER_OUTPUT, RIG_OTHER_INPUT, RIG_OTHER_PREPARED };
bool rig_checksum_matches(struct rig *rig, enum rig_left *left, struct error *err);
/* Another set whose accepted launch left the outputs that rig_checksum_matches saw (the launch replayed a result); -1: none. */
int rig_checksum_matches_set(const struct rig *rig);
/* True if a launch could find something of an earlier launch: non-constant scratch, or local memory. Not for library rows. */
bool rig_has_state(const struct rig *rig);
/* Packs the inputs of the set again, even if another rig of the pool packed them first. */
bool rig_restore(struct rig *rig, const struct op_data *data, struct error *err);
/* Runs the prepare steps; *ns: wall time with a sync around them. ns NULL: they are only queued. */
bool rig_prepare(struct rig *rig, double *ns, struct error *err);
/* Queues all run steps; from the second call on as one graph if the program asks for it. rig_capture makes that graph for the selected set
 * and replica after a first run, so that no timed run has to. */
bool rig_capture(struct rig *rig, struct error *err);
bool rig_run(struct rig *rig, struct error *err);
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
/* Hash what was prepared and the variables of loaded modules that code refers to. rig_state_check compares them with the last hash (of what
 * was prepared once, with that of rig_state_keep); `changed` receives "" or a sentence that names what launches in between changed. Both
 * wait for the device. */
bool rig_state_keep(struct rig *rig, struct error *err);
bool rig_state_check(struct rig *rig, struct text *changed, struct error *err);
/* Does the result of the prepare steps depend on inputs, which they are not given? Runs them with the inputs in memory and again without.
 * The rig must be fed again before it runs. */
bool rig_prepare_depends(struct rig *rig, bool *depends, struct error *err);
/* The memory that an image's code refers to besides its buffers. NULL if it cannot be read (err). Free with rig_scan_free. */
struct device_memory *rig_scan_image(const struct device_image *image, struct error *err);
void rig_scan_free(struct device_memory *memory);
/* True if the code of an image calls malloc or reads something that differs between launches, which no comparison could detect. `how`
 * (empty before) says which. */
bool rig_may_remember(const struct device_image *images, int count, struct text *how);
/* A checksum over all written tensors as the last rig_check read them. Equal outputs give equal sums. */
uint64_t rig_output_sum(const struct rig *rig);
/* Reads an element of a scratch or tensor buffer (a variant's own column). */
bool rig_read(struct rig *rig, struct buffer_ref buffer, int64_t element, double *value, struct error *err);
/* The device address of a buffer, for callers that write other data between runs or read data between steps. */
uint64_t rig_address(struct rig *rig, struct buffer_ref buffer);
/* Clusters of a step that the device holds at once, by its driver; 0: the step has none, or the device does not say. */
int rig_clusters(struct rig *rig, int step);
/* Queues one step, prepare steps included. */
bool rig_run_step(struct rig *rig, int step, struct error *err);
/* cuDNN: steps that have plans to choose from, in order (in a chain each distinct call once); -1 behind the last. For each the plans that
 * were found, and which is used: chosen by the caller after timing them. */
int rig_library_step(const struct rig *rig, int nth);
/* That plan's engine is hopelessly slow for such convolutions (cudnn_is_slow); and is it? */
void rig_plan_is_hopeless(const struct rig *rig, int step, int plan);
bool rig_plan_hopeless(const struct rig *rig, int step, int plan);
/* Makes the plans that a rig of this program is going to ask the library for. */
void rig_library_ahead(struct cudnn *library, const struct program *program);
/* Compiles a part of what the library is going to want compiled for them (cudnn_compile); it may be one of a device that is described. */
void rig_library_compile(struct cudnn *library, const struct program *program, int part, int parts);
int rig_plan_count(const struct rig *rig, int step);
const struct cudnn_plan_facts *rig_plan_facts(const struct rig *rig, int step, int plan);
void rig_plan_use(struct rig *rig, int step, int plan);
int rig_plan_among(
    const struct rig *rig,
    int step); /* how many the choice was made among: more than rig_plan_count where an earlier rig of this process made it */
/* "2026-11-23", where an earlier run chose on that day (cudnn_open_choices); "". */
const char *rig_plan_raced(const struct rig *rig, int step);
int rig_plan_used(const struct rig *rig, int step);
/* The plan in use is the fastest of those timed: later rigs of this process take it for an equal call without a search. */
void rig_plan_keep(struct rig *rig, int step);
/* After the choice: equal calls elsewhere in a chain take a plan like the chosen one. */
bool rig_plan_settle(struct rig *rig, struct error *err);
const struct program *rig_program(const struct rig *rig);
/* What its runs are called in a profiler's ranges; the text is the caller's. NULL: not at all. */
void rig_set_name(struct rig *rig, const char *name);
const char *rig_name(const struct rig *rig);
void rig_time_limit(struct rig *rig, double seconds);

#endif
