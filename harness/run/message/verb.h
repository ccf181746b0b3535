/* run/message/verb: the messages between a run and its workers: commands to a worker and events from it (frame.h), one table each.
 *
 * A command is {"do":WORD, ...}. The worker answers with events {"event":WORD, ...} and at the end "spent" and "done", or "failed" if
 * the command fails as a whole. Before an operation that may take long or never end, "stage" names it, its row and its time limit.
 * "stage" and, at the end of a command, "spent" also report the seconds in each phase since the last report. */
#pragma once

#include "run/message/members.h"

/* The members of messages, X(KIND, name). In JSON each has its name. */
#define MESSAGE_MEMBERS(X) \
    X(INT, row) \
    X(ROWS, rows) \
    X(JSON, packed)  /* of one row: run/message/wire.h */ \
    X(ROWS, choice)  /* the rows that a chain's links run */ \
    X(JSON, choices) /* [[row, choice], ...] */ \
    X(TEXT, device)  /* as --device names it; NULL: the first GPU, or emu */ \
    X(TEXT, emu)     /* emu with the scenario's chip, which replaces a bare `device` and, without a GPU, none */ \
    X(TEXT, compiler) \
    X(TEXT, bundle)   /* of compiled kernels */ \
    X(FLAG, compiles) /* asks for the compiler's version; of AHEAD: makes plans that compile kernels, too */ \
    X(FLAG, waits)    /* measures after ENOUGH; of COUNT_CHECK: opens no counters yet */ \
    X(JSON, options)  /* run/message/options.h */ \
    X(JSON, chip)     /* wire_chip */ \
    X(TEXT, files)    /* the hash of the plan's files */ \
    X(TEXT, dump)     /* the folder for outputs of wrong rows */ \
    X(REAL, time_limit) \
    X(FLAG, compile_only) /* opens no device */ \
    X(TEXT, library) \
    X(TEXT, library_device) /* the library's description of the device, and its state, from which compilers make plans */ \
    X(TEXT, library_state) \
    X(ROWS, neighbours) /* whose nearby shapes are compiled */ \
    X(ROWS, plans)      /* for which one part of the library's kernels is compiled */ \
    X(ROWS, checks)     /* source files of the device check (measure/verify/device_check.h) */ \
    X(INT, part) \
    X(INT, parts) \
    X(ROWS, data)       /* the first rows of cases whose data are made, until ENOUGH */ \
    X(FLAG, timed)      /* a MEASURE that includes the row follows */ \
    X(FLAG, ahead)      /* rows of other cases come before a MEASURE */ \
    X(JSON, tiles)      /* [tiles, active tiles] of the mask */ \
    X(ROWS, next)       /* rows of the next case, which the worker may prepare meanwhile */ \
    X(INT, due)         /* how many of them, the first ones, are not verified yet */ \
    X(JSON, pairs)      /* of a gate: [[base, head, margin], ...] */ \
    X(INT, library_row) /* -1: none */ \
    X(REAL, alpha) \
    X(REAL, budget) \
    X(FLAG, warm) \
    X(JSON, requests) /* [{"row","plan":[ENGINE,"A",RANK],"facts":{NAME:NUMBER},"steps":[{}],"slow"}] */ \
    X(TEXT, uuid) \
    X(JSON, gpus) /* [{"uuid","pci"}], by number */ \
    X(TEXT, spec) \
    X(TEXT, about) \
    X(TEXT, driver) \
    X(TEXT, why)   /* there is no GPU */ \
    X(JSON, roofs) /* wire_roofs */ \
    X(TEXT, note)  /* ceilings that could not be measured; of a check: other processes on the GPU */ \
    X(TEXT, name) \
    X(TEXT, value) \
    X(TEXT, stage) \
    X(TEXT, phase) \
    X(REAL, limit) /* seconds until the stage ends */ \
    X(TEXT, late)  /* the error after that time, if no row is at fault, and its hint */ \
    X(TEXT, hint) \
    X(JSON, spent) /* seconds by phase since the last report: wire_spent */ \
    X(FLAG, lost)  /* a row destroyed the device's context, so the worker ends */ \
    X(INT, kind)   /* enum error_kind */ \
    X(TEXT, text)

#define MESSAGE_DECLARE(kind, name) MEMBER_TYPE_##kind name;
struct message {
    MESSAGE_MEMBERS(MESSAGE_DECLARE)
};

/* X(NAME, word, HAS(member) ...). Commands up to ROOFS need no plan; the others require SETUP first. */
#define COMMANDS(X) \
    X(UUID, "uuid", HAS(device))                                                    /* EVENT_UUID of the GPU that a run would open */ \
    X(GPUS, "gpus", )                                                               /* EVENT_GPUS, the GPUs that this process may use */ \
    X(PROBE, "probe", HAS(device) HAS(emu) HAS(compiler) HAS(bundle) HAS(compiles)) /* EVENT_DEVICE */ \
    /* Makes the plan, opens the device; again: makes another plan, keeps the device. */ \
    X(SETUP, "setup", \
      HAS(options) HAS(chip) HAS(files) HAS(dump) HAS(time_limit) HAS(compile_only) HAS(library_device) HAS(library_state)) \
    X(ROOFS, "roofs", HAS(device) HAS(compiler) HAS(bundle) HAS(waits)) /* EVENT_ROOFS, the ceilings of the machine */ \
    X(CHECK, "check", )                                                 /* EVENT_ROOFS, a short check of the GPU */ \
    X(COMPILE, "compile", HAS(rows) HAS(neighbours) HAS(plans) HAS(checks) HAS(part) HAS(parts)) /* EVENT_COMPILED per row of `rows` */ \
    X(ENOUGH, "enough", )                                                                        /* ends AHEAD */ \
    /* Makes the library's plans of these rows, for cases after the first until ENOUGH; then data. */ \
    X(AHEAD, "ahead", HAS(rows) HAS(compiles) HAS(data)) \
    X(ABLATE, "ablate", HAS(row))                                                          /* EVENT_STAGE, EVENT_ROW with the metrics */ \
    X(VERIFY, "verify", HAS(row) HAS(choice) HAS(timed) HAS(ahead) HAS(tiles) HAS(packed)) /* EVENT_STAGE ... EVENT_ROW; packed: of \
                                                                                            * EVENT_INTERPRETED */ \
    X(IDENTIFY, "identify", HAS(row))                                                      /* EVENT_ROW, launch_hash */ \
    /* EVENT_STAGE ... EVENT_ROW per row; EVENT_BLAME if a row ends it. */ \
    X(MEASURE, "measure", HAS(rows) HAS(choices) HAS(next) HAS(due) HAS(pairs) HAS(library_row) HAS(alpha) HAS(budget)) \
    X(RACE, "race", HAS(rows) HAS(choices) HAS(next) HAS(due)) /* the same, for `bench tune` */ \
    X(COUNT_CHECK, "count check", HAS(waits))  /* checks that counters are available and that the requested metrics exist */ \
    X(COUNT, "count", HAS(warm) HAS(requests)) /* as MEASURE; never sent to a worker that times */

#define EVENTS(X) \
    X(UUID, "uuid", HAS(uuid)) \
    X(GPUS, "gpus", HAS(gpus)) \
    X(DEVICE, "device", \
      HAS(spec) HAS(about) HAS(uuid) HAS(driver) HAS(library) HAS(library_device) HAS(library_state) HAS(compiler) HAS(why) HAS(chip)) \
    X(ROOFS, "roofs", HAS(uuid) HAS(roofs) HAS(note)) \
    X(ENVIRONMENT, "environment", HAS(name) HAS(value)) /* stored with the run */ \
    X(COMPILED, "compiled", HAS(row)) \
    X(INTERPRETED, "interpreted", HAS(row) HAS(packed)) /* of a row of `neighbours`, what emu found (measure/trust/interpreted.h) */ \
    X(STAGE, "stage", HAS(row) HAS(stage) HAS(phase) HAS(limit) HAS(late) HAS(hint) HAS(spent)) /* row -1: none */ \
    X(ROW, "row", HAS(row) HAS(packed))                                                         /* results of a row */ \
    X(BLAME, "blame", HAS(row)) /* the row that causes the failure that follows; -1: none */ \
    X(SPENT, "spent", HAS(spent)) \
    X(DONE, "done", HAS(lost)) \
    X(FAILED, "failed", HAS(kind) HAS(text) HAS(hint))

#define COMMAND_ID(name, word, members) COMMAND_##name,
#define EVENT_ID(name, word, members) EVENT_##name,
enum command { COMMANDS(COMMAND_ID) COMMAND_UNKNOWN };
enum event { EVENTS(EVENT_ID) EVENT_UNKNOWN };
#undef COMMAND_ID
#undef EVENT_ID

/* A message with the members that the table names; it takes the references of JSON members. members NULL: none is set. event_new: NULL if a
 * text is not UTF-8. New reference. */
json_t *command_new(enum command what, const struct message *members);
json_t *event_new(enum event what, const struct message *members);
/* Texts and JSON members belong to the JSON, which must live as long; message_free frees the arrays. */
void message_read(const json_t *json, struct message *out);
void message_free(struct message *m);

/* The kind of a message; _UNKNOWN for a word that no table has, and for NULL. */
enum command command_of(const json_t *message);
enum event event_of(const json_t *message);

const char *command_word(enum command what);
