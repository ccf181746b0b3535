/* base/phase: where the wall time of a run goes. A process is in one phase at any time. Phases nest, and inner phases count for
 * themselves only, so that all phases add up to the time passed.
 *
 * The same calls open the ranges that a profiler shows (NVTX; device/nvtx.h): a phase is a range of its name. A range that is not a phase
 * (a row, a round) is opened by name and leaves the phase unchanged. Every function accepts a NULL clock and then does nothing. */
#pragma once

/* In the order of a table. What they are: phase_about. */
enum phase {
    PHASE_START_UP,
    PHASE_COMPILING,
    PHASE_DATA,
    PHASE_LOADING,
    PHASE_VERIFYING,
    PHASE_PLANS,
    PHASE_MEASURING,
    PHASE_SPACING,
    PHASE_COUNTING,
    PHASE_STORING,
    PHASE_WAITING,
    PHASE_COUNT
};
/* "start-up", "library plans", "measuring". */
const char *phase_name(enum phase phase);
/* PHASE_COUNT: there is none of that name. */
enum phase phase_find(const char *name);
/* The stage at which a counting worker asks for its counters: a failure there is a failure for every case. At most 20 characters. */
#define PHASE_STAGE_COUNTERS "open counters"

#define PHASE_DEPTH 32 /* twice the actual nesting; deeper phases count as the one around them */
#define PHASE_PARTS 64 /* more than the actual number; further parts count for their phase alone */
/* A named part of a phase's seconds. */
struct phase_part {
    enum phase phase;
    char name[24];
    double spent_s;
};
struct phase_clock {
    double spent_s[PHASE_COUNT];   /* up to since_s */
    double since_s;                /* clock_s */
    enum phase stack[PHASE_DEPTH]; /* of the open ranges; the last one is now */
    int depth;
    struct phase_part parts[PHASE_PARTS];
    int part_count;
    int part_of[PHASE_DEPTH]; /* by open range: its part + 1; 0: of no part */
    /* Draws the ranges; NULL: nothing does. */
    void (*draw_open)(const char *name);
    void (*draw_close)(void);
};
/* Starts counting in `phase`, which has no range and never ends. */
void phase_begin(struct phase_clock *clock, enum phase phase);
void phase_push(struct phase_clock *clock, enum phase phase);
/* A range of that name inside the phase. */
void phase_open(struct phase_clock *clock, const char *name);
/* The same; its seconds are also listed as a part of the phase that they count for. Nested parts: the innermost has them. */
void phase_part(struct phase_clock *clock, const char *name);
/* The part of that phase and name, made if missing; NULL: no room. */
struct phase_part *phase_part_find(struct phase_clock *clock, enum phase phase, const char *name);
/* Ends the last phase_push, phase_open or phase_part. */
void phase_pop(struct phase_clock *clock);
/* How many ranges are open. */
int phase_depth(const struct phase_clock *clock);
/* Ends ranges until `depth` of them are open: after an error that left some. */
void phase_unwind(struct phase_clock *clock, int depth);
/* Goes from the innermost phase to another, without a range. Returns the former. */
enum phase phase_turn(struct phase_clock *clock, enum phase phase);
/* Counts up to now. */
void phase_settle(struct phase_clock *clock);
/* Moves that many seconds of the current phase to another one, on behalf of a process that was waited for; never more than it has. */
void phase_move(struct phase_clock *clock, enum phase to, double seconds);
/* Seconds of all phases. */
double phase_sum(const double spent_s[PHASE_COUNT]);
