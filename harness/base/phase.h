/* base/phase: where the clock time of a run goes. A process is in one phase at any time; phases nest, and what is inside counts for itself
 * only, so that the seconds of all phases together are the seconds that have passed.
 *
 * The same calls open the ranges that a profiler shows (NVTX; device/nvtx.h): a phase is a range of its name. A range that is no phase, a
 * row or a round, is opened by name and leaves the phase as it is. Every function takes a NULL clock and then does nothing. */
#ifndef BENCH_BASE_PHASE_H
#define BENCH_BASE_PHASE_H

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
/* PHASE_COUNT when there is none of that name. */
enum phase phase_find(const char *name);
/* The stage at which a counting worker asks the machine for its counters: what fails there fails for every case. At most 20 characters. */
#define PHASE_STAGE_COUNTERS "open counters"

#define PHASE_DEPTH 32 /* twice what nests anywhere; what is deeper counts as the phase around it */
#define PHASE_PARTS 64 /* more than there are; what is beyond counts for its phase alone */
/* Of the seconds of a phase those that have a name. */
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
    /* Who draws the ranges; NULL: nobody. */
    void (*draw_open)(const char *name);
    void (*draw_close)(void);
};
/* Begins to count, in `phase`, which has no range and is never closed. */
void phase_begin(struct phase_clock *clock, enum phase phase);
void phase_push(struct phase_clock *clock, enum phase phase);
/* A range of that name inside the phase. */
void phase_open(struct phase_clock *clock, const char *name);
/* The same, and its seconds are also told apart in the phase they count for; the innermost part has them. */
void phase_part(struct phase_clock *clock, const char *name);
/* The part of that phase and name, made if there is none; NULL: no room. */
struct phase_part *phase_part_find(struct phase_clock *clock, enum phase phase, const char *name);
/* Ends what phase_push, phase_open or phase_part began last. */
void phase_pop(struct phase_clock *clock);
/* How many ranges are open. */
int phase_depth(const struct phase_clock *clock);
/* Ends ranges until `depth` of them are open: after an error that left some. */
void phase_unwind(struct phase_clock *clock, int depth);
/* Goes from the innermost phase to another, without a range. Returns the former. */
enum phase phase_turn(struct phase_clock *clock, enum phase phase);
/* Counts up to now. */
void phase_settle(struct phase_clock *clock);
/* That many seconds of the phase it is in were another's, as somebody who was waited for says; never more than it has had. */
void phase_move(struct phase_clock *clock, enum phase to, double seconds);
/* Seconds of all phases. */
double phase_sum(const double spent_s[PHASE_COUNT]);

#endif
