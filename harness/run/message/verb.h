/* run/message/verb: the messages between a run and its workers: commands to a worker and events from it (frame.h), one table each.
 *
 * A command is {"do":WORD, ...}. The worker answers with events {"event":WORD, ...} and at the end "spent" and "done", or "failed" if
 * the command fails as a whole. Before an operation that may take long or never end, "stage" names it, its row and its time limit.
 * "stage" and, at the end of a command, "spent" also report the seconds in each phase since the last report: "spent":{"data":0.2, ...}. */
#pragma once

#include <jansson.h>

/* X(NAME, word). Commands up to ROOFS need no plan; the others require SETUP first. */
#define COMMANDS(X) \
    X(UUID, "uuid")   /* {"device"}: EVENT_UUID of the GPU that a run would open */ \
    X(GPUS, "gpus")   /* {}: EVENT_GPUS, the GPUs that this process may use */ \
    X(PROBE, "probe") /* {"device","emu","compiler","bundle","compiles"}: EVENT_DEVICE */ \
    X(SETUP, "setup") /* makes the plan, opens the device; again: makes another plan, keeps the device */ \
    X(ROOFS, "roofs") /* {"device","compiler","bundle","waits"}: EVENT_ROOFS, the ceilings of the machine; waits: measures after ENOUGH */ \
    X(CHECK, "check") /* after SETUP: EVENT_ROOFS, a short check of the GPU */ \
    X(COMPILE, "compile")   /* {"rows":[i]}: EVENT_COMPILED per row; {"neighbours":[i]}: code of their nearby shapes; \
                             * {"plans":[i],"part","parts"}: one part of the library's kernels for these rows; \
                             * {"checks":[i]}: source i of the device check (measure/verify/device_check.h) */ \
    X(ENOUGH, "enough")     /* ends AHEAD */ \
    X(AHEAD, "ahead")       /* {"rows":[i],"compiles"}: makes the library's plans of these rows, for cases after the first until ENOUGH; \
                             * compiles: also where that compiles kernels; \
                             * {"data":[i]}: then, until ENOUGH, data of the cases that begin with these rows */ \
    X(ABLATE, "ablate")     /* {"row"}: EVENT_STAGE, EVENT_ROW with the metrics */ \
    X(VERIFY, "verify")     /* {"row","timed","ahead","packed" of EVENT_INTERPRETED}: EVENT_STAGE ... EVENT_ROW; timed: a \
                               MEASURE that includes the row follows; ahead: rows of other cases come before it */ \
    X(IDENTIFY, "identify") /* {"row"}: EVENT_ROW, the compiler's facts and launch_hash */ \
    X(MEASURE, "measure")   /* {"rows":[i],"next":[i],"due"}: EVENT_STAGE ... EVENT_ROW per row; EVENT_BLAME if a row ends it; next: \
                             * rows of the next case, which the worker may prepare meanwhile; the first `due` are not verified yet */ \
    X(RACE, "race")         /* the same, for `bench tune` */ \
    X(COUNT_CHECK, "count check") /* checks that counters are available and that the requested metrics exist */ \
    X(COUNT, "count") /* {"warm","rows":[{"row","plan":[ENGINE,"A",RANK],"facts":{NAME:NUMBER},"steps":{"0":{}}}]}: as MEASURE; \
                       * never sent to a worker that times */

#define EVENTS(X) \
    X(UUID, "uuid")               /* {"uuid"} */ \
    X(GPUS, "gpus")               /* {"gpus":[{"uuid","pci"}]}, by number */ \
    X(DEVICE, "device")           /* {"spec","about","uuid","driver","library","compiler","why","chip"} */ \
    X(ROOFS, "roofs")             /* {"uuid","roofs","note"}; note of a check: other processes on the GPU */ \
    X(ENVIRONMENT, "environment") /* {"name","value"}: stored with the run */ \
    X(COMPILED, "compiled")       /* {"row"} */ \
    X(INTERPRETED, "interpreted") /* {"row","packed"}: of a row of "neighbours", what emu found (measure/trust/interpreted.h) */ \
    X(STAGE, "stage")   /* {"row","stage","phase","limit","spent"}; {"late","hint"}: the error after that time, if no row is at fault */ \
    X(ROW, "row")       /* {"row","packed"}: results of a row (run/message/wire.h) */ \
    X(BLAME, "blame")   /* {"row"}: the row that causes the failure that follows */ \
    X(SPENT, "spent")   /* {"spent"} */ \
    X(DONE, "done")     /* {"lost"}: true if a row destroyed the device's context, so the worker ends */ \
    X(FAILED, "failed") /* {"kind","text","hint"} */

#define COMMAND_ID(name, word) COMMAND_##name,
#define EVENT_ID(name, word) EVENT_##name,
enum command { COMMANDS(COMMAND_ID) COMMAND_UNKNOWN };
enum event { EVENTS(EVENT_ID) EVENT_UNKNOWN };
#undef COMMAND_ID
#undef EVENT_ID

/* A message with that word; format and arguments are those of json_pack for an object, "{}" for a message without fields. New reference. */
json_t *command_new(enum command what, const char *format, ...);
json_t *event_new(enum event what, const char *format, ...);

/* The kind of a message; _UNKNOWN for a word that no table has, and for NULL. */
enum command command_of(const json_t *message);
enum event event_of(const json_t *message);

const char *command_word(enum command what);
