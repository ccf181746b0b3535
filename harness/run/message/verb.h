/* run/message/verb: what a run and its workers say to each other: JSON lines, commands to a worker and events from it, one table each.
 *
 * A command is {"do":WORD, ...}; its answer is events {"event":WORD, ...} and at the end "spent" and "done", or "failed" for what fails as
 * a whole. Before anything that may take long or never end, "stage" says what, for which row, and how long at most; it also says, as does
 * "spent" at a command's end, which seconds went by in which phase since the last word of that: "spent":{"data":0.2, ...}. */
#ifndef BENCH_MESSAGE_VERB_H
#define BENCH_MESSAGE_VERB_H

#include <jansson.h>

/* X(NAME, word). Up to ROOFS a command needs no plan; all others come after a setup. */
#define COMMANDS(X) \
    X(UUID, "uuid")               /* {"device"}: EVENT_UUID, of the GPU that a run would open */ \
    X(PROBE, "probe")             /* {"device","emu","compiler","bundle","compiles"}: EVENT_DEVICE */ \
    X(SETUP, "setup")             /* plan made, device opened; again: another plan, on the same device */ \
    X(ROOFS, "roofs")             /* {"device","compiler","bundle"}: EVENT_ROOFS, the ceilings of the machine */ \
    X(COMPILE, "compile")         /* {"rows":[i]}: EVENT_COMPILED a row; {"neighbours":[i]}: what rows need beside their own code; \
                                   * {"plans":[i],"part","parts"}: what the library compiles for rows, that part of it; \
                                   * {"checks":[i]}: that source of the check on the device (measure/verify/device_check.h) */ \
    X(ENOUGH, "enough")           /* nothing more is made ahead */ \
    X(AHEAD, "ahead")             /* {"rows":[i]}: the library's plans of these rows are made, of cases behind the first until ENOUGH; \
                                   * {"data":[i]}: until then data of the cases of which these are the first rows that are due */ \
    X(ABLATE, "ablate")           /* {"row"}: EVENT_STAGE, EVENT_ROW with the metrics */ \
    X(VERIFY, "verify")           /* {"row","timed"}: EVENT_STAGE ... EVENT_ROW; timed: MEASURE follows, for it among others */ \
    X(IDENTIFY, "identify")       /* {"row"}: EVENT_ROW, the compiler's facts and launch_hash */ \
    X(MEASURE, "measure")         /* {"rows":[i],"next":[i]}: EVENT_STAGE ... EVENT_ROW a row; EVENT_BLAME where one ends it; next: the \
                                   * rows of the next case, for whom something may be made meanwhile */ \
    X(RACE, "race")               /* the same, for `bench tune` */ \
    X(COUNT_CHECK, "count check") /* counters can be had here, and the metrics that are asked for exist */ \
    X(COUNT, "count") /* {"warm","rows":[{"row","plan":[ENGINE,"A",RANK],"facts":{NAME:NUMBER},"steps":{"0":{}}}]}: as MEASURE; \
                       * never sent to a worker that times */

#define EVENTS(X) \
    X(UUID, "uuid")               /* {"uuid"} */ \
    X(DEVICE, "device")           /* {"spec","about","uuid","driver","library","compiler","why","chip"} */ \
    X(ROOFS, "roofs")             /* {"uuid","roofs","note"} */ \
    X(ENVIRONMENT, "environment") /* {"name","value"}: stored with the run */ \
    X(COMPILED, "compiled")       /* {"row"} */ \
    X(STAGE, \
      "stage") /* {"row","stage","phase","limit","spent"}; {"late","hint"}: what is wrong when it takes longer, and is no row's fault */ \
    X(ROW, "row")       /* {"row","fields"}: what was found out about a row (run/message/wire.h) */ \
    X(BLAME, "blame")   /* {"row"}: whose fault the failure is that follows */ \
    X(SPENT, "spent")   /* {"spent"} */ \
    X(DONE, "done")     /* {"lost"}: true when the device's context died with a row and the worker ends */ \
    X(FAILED, "failed") /* {"kind","text","hint"} */

#define COMMAND_ID(name, word) COMMAND_##name,
#define EVENT_ID(name, word) EVENT_##name,
enum command { COMMANDS(COMMAND_ID) COMMAND_UNKNOWN };
enum event { EVENTS(EVENT_ID) EVENT_UNKNOWN };
#undef COMMAND_ID
#undef EVENT_ID

/* A message of that word; format and arguments are json_pack's for an object, "{}" for one that says no more. New reference. */
json_t *command_new(enum command what, const char *format, ...);
json_t *event_new(enum event what, const char *format, ...);

/* What a message is; _UNKNOWN for a word that no table has, and for NULL. */
enum command command_of(const json_t *message);
enum event event_of(const json_t *message);

const char *command_word(enum command what);

#endif
