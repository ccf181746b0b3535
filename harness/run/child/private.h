/* run/child/private: what one worker process holds, and what it does on each command (run/message/verb.h). */
#ifndef BENCH_WORKER_PRIVATE_H
#define BENCH_WORKER_PRIVATE_H

#include "base/phase.h"
#include "counter/set.h"
#include "device/compile/compile.h"
#include "device/cupti/range.h"
#include "device/cupti/sass.h"
#include "measure/card.h"
#include "measure/reference.h"
#include "measure/rig.h"
#include "measure/room.h"
#include "run/message/verb.h"
#include "run/message/wire.h"
#include "plan/rows/plan.h"
#include "run/child/devices.h"
#include "run/child/worker.h"
#include <jansson.h>
#include <stdatomic.h>

#define WORKER_DATA (DATA_PART_COUNT + 1)

struct build;
struct neighbour_data {
    char key[HASH_TEXT]; /* of the work */
    struct op_data data;
};
struct neighbour { /* that was drawn for a row: number so many of them */
    int row, number;
    bool any; /* there is one: */
    struct work work;
    struct program program;
};
struct neighbours { /* of a case's rows (neighbour.c): their data, and those that nobody has visited yet */
    struct neighbour_data *items;
    struct neighbour *drawn;
    int count, drawn_count, case_index; /* -1: of none */
};
/* What a row's first launch of full precision left, as a sum over its bits. */
struct left {
    bool known;
    uint64_t sum;
};
/* Data that were made before their case's turn (early.c). Nothing points to them until they are taken. */
struct early {
    int in_case, set, slot;
    struct op_data data;
};
struct worker {
    void (*emit)(void *context, json_t *event); /* takes the reference */
    void *context;
    bool (*waiting)(void); /* has a further command come? NULL: nobody can tell */
    struct plan_options options;
    json_t *setup; /* keeps the strings of options alive */
    struct plan plan;
    bool planned;
    struct device *dev;
    struct cudnn *library;
    struct cupti_session *cupti; /* opened by the first count */
    struct cupti_sass *sass;     /* opened by the first row that was sampled */
    struct counter_set set;
    char library_error[512];
    char *library_state; /* what its remembered choices depend on; NULL: there is no library */
    const char *dump_dir;
    double time_limit_s;
    char self[HASH_TEXT]; /* of this build of bench; "" until somebody asks (remember.c) */
    bool lost;            /* the device's context died with a row: this process ends after saying so */
    struct neighbours neighbours;
    bool timed_next;     /* the row that is verified is timed afterwards, in this process */
    const json_t *tiles; /* its tiles, and how many of them are active, where the parent has counted them; else NULL */
    struct left *left;   /* by row; NULL: of none */
    const json_t *next;  /* rows of the case behind the one that is being timed, for whom something can be made meanwhile; or NULL */
    struct ahead *ahead; /* a thread that makes something of the next case; NULL: none does */
    struct op_data host[ROOM_SETS][WORKER_DATA]; /* the CPU's part of data, made ahead; of which case, -1 = none */
    int host_case[ROOM_SETS][WORKER_DATA];
    struct early *early;
    int early_count;
    double early_left;   /* bytes of the device's memory that more of them may take */
    int task_case;       /* the case of which no_task is known; -1: of none */
    const char *no_task; /* why a case's work is no task; NULL: it is one */
    struct tried *tried; /* a search: the configurations of the case in hand whose launches are their own (tune.c) */
    int tried_count;
    struct sequence_hold *sequence; /* the sequence in hand (sequence.c) */
    /* data of the case in hand, by set of inputs, then enum data_part, then the precision data without zeros (DATA_FULL) */
    int data_case[ROOM_SETS][WORKER_DATA]; /* -1 = none */
    struct op_data data[ROOM_SETS][WORKER_DATA];
    struct build *kept; /* by row; NULL: of no case */
    int kept_case;
    struct phase_clock clock;  /* the ranges in it: the run, the case and the row in hand, the phase */
    int range_case, range_row; /* -1: none */
    int stage_row;             /* what was announced last */
    char stage[24];
    double stage_limit_s;
    int stage_depth, inside; /* ranges that are open with the stage; and when others were opened in it, as by a timed round, with them */
    enum phase stage_phase;
    struct card *card; /* the check on the device; NULL: the CPU checks */
    bool card_tried;
    struct others {       /* board.c: who else was on the GPU since the bout in hand began, as far as it is known */
        struct text said; /* "pid 12 python3, pid 13" */
        long *pids;
        int count;
    } others;
    struct device *witness; /* of dev, opened by the first op whose reference is a kernel of its file */
};

/* A worker that holds nothing yet. Events go to `emit`, which takes the reference. */
void worker_init(struct worker *w, void (*emit)(void *context, json_t *event), void *context);
#define DATA_LIMIT_S 600.0 /* of making a layer's data, and of looking at what a row left */
/* Says what comes next, for which row (-1: for none of them alone) and how long it may take; by its name it belongs to a phase. */
void worker_stage(struct worker *w, int row, const char *stage, double limit_s);
/* verify.c: the PTX instructions that warps executed since the last clear, by emu. */
double worker_instructions(struct device *dev);
/* Plan and device are there: the run's range begins, and the device knows whose clock it is on. */
void worker_ready(struct worker *w);
bool worker_handle(struct worker *w, const json_t *command, struct error *err);
void worker_close(struct worker *w);
/* The check on the device; NULL where the CPU checks, which is told once. */
struct card *worker_card(struct worker *w);
/* A file's reference kernel that runs on a GPU is held to the interpreter of the same chip, or of one with the same code. */
void worker_witness(struct worker *w, const struct op *op);
/* Data of a row's case, made once and kept until another case is asked for. */
bool worker_data(struct worker *w, int row, enum data_part part, struct op_data **data, struct error *err);
void worker_data_drop(struct worker *w, int set, int slot);
/* own.c: worker_early_take, of what is still as it was made; so are the data in hand, when the case has the same. And behind a row: who
 * wrote to what is kept for all rows is unsafe. */
bool worker_own_take(struct worker *w, int in_case, int set, int slot, struct op_data *data);
bool worker_own_share(struct worker *w, int in_case, int set, int slot);
bool worker_own_look(struct worker *w, int index, struct row *row, struct error *err);
/* Of the values of one neighbour alone, while what is said of the row is said of it there. */
bool worker_own_look_there(struct op_data *data, struct row *row, struct error *err);
/* The same with other values in all that is no weight and no mask, which the run's seed decides; set 0 is worker_data. */
bool worker_data_set(struct worker *w, int row, enum data_part part, int set, struct op_data **data, struct error *err);
/* Where data of that part are kept; and made. */
int worker_slot(enum data_part part);
bool worker_data_make(struct worker *w, int in_case, enum data_part part, int set, struct op_data *data, struct error *err);
/* The work that they are made of, and the part of it. A layer's without zeros (DATA_FULL) are those of the layer without a mask: cases that
 * differ in their masks alone have the same. Is that so of a slot's data of two cases? */
struct work worker_data_work(const struct worker *w, int in_case, enum data_part *part, int set);
bool worker_data_shared(const struct worker *w, int one, int other, int slot);
/* What nobody can foresee unless `--seed` says it. */
uint64_t worker_secret(const struct worker *w);

/* The data that a row is timed on. A row that runs dense on a case whose mask marks inputs gets an input full of data: a dense kernel
 * meets no zeros in real use, and a multiplier fed with zeros draws less power. */
enum data_part worker_timed_part(const struct worker *w, int row);
/* And the data that it is verified on: the part, but of a network with a mask a dense row is held to the dense net (op/chain/chain.h). */
enum data_part worker_verified_part(const struct worker *w, int row, enum data_part part);

/* Compiled units of one row (facts.c). */
struct build {
    struct compiled *units;
    struct device_image *images;
    int count;
};
struct compile_request build_request(const struct worker *w, const struct unit *unit);
bool build_make(const struct worker *w, const struct program *program, struct build *build, struct error *err);
void build_free(struct build *build);
/* Looks into its images once, for all rigs that are made of it (rig_look). */
void build_look(struct build *build);
/* What a verified layer's row was compiled to stays until it is timed, or a row of another case is kept: reading it anew costs a hash over
 * all of it. Takes it from `build`; and gives it back, false when there is none. */
void build_keep(struct worker *w, int row, struct build *build);
bool build_kept(struct worker *w, int row, struct build *build);
void build_drop(struct worker *w);
/* What the compiler says of one kernel of a unit. */
struct kernel_facts;
bool build_kernel_facts(const struct compiled *c, const char *kernel, struct kernel_facts *out, struct error *err);
/* Registers, spills, shared memory, occupancy of each step into row->steps; SASS counts into metrics. */
bool build_facts(const struct build *build, const struct program *program, const struct chip *chip, struct row *row, struct error *err);

/* row->launch_hash; absent where a part of the code is a library's. */
void build_launch_hash(const struct build *build, const struct program *program, const struct work *work, struct row *row);

/* remember.c, where the plan says so: is a verified row of emu known from an earlier run? Recalls it (the row's event is emitted; false: it
 * is not known), or keeps it. */
bool worker_remembers(struct worker *w, int row);
bool worker_recall(struct worker *w, int row);
void worker_remember(struct worker *w, int index, const struct row *row);

/* verify.c */
bool worker_verify(struct worker *w, int row, struct error *err);
/* Says of a right row whether a further launch left the bits of its first one; of one that was launched twice before nothing more. */
void worker_same_bits(const struct worker *w, int index, const struct rig *rig, struct row *row);
/* Compiles it, and says by launch_hash what is launched: nothing runs. */
bool worker_identify(struct worker *w, int row, struct error *err);
/* What of an op's file may make a right kernel look wrong, where it is off by little, as the end of a sentence; "": nothing. */
const char *worker_near_why(const struct program *program, const struct op_data *data, const struct verdict *verdict);
/* task.c: where the work of an op that is a file lets kernels pass that do not do it, `row` is broken and says why; looked at once a case.
 * False (err): the case's own data cannot be made. */
bool worker_file_task(struct worker *w, int index, struct row *row, struct error *err);
/* factors.c: a row whose tensor cores multiply in a lesser type than its math mode and algorithm allow is wrong, whatever its result is:
 * where sums are long, a tolerance would let it pass. */
void worker_fits_math(const struct worker *w, int index, const struct build *build, struct row *row);
/* Is there no matrix instruction and no library in it? Not known of machine code without PTX. images: by unit. */
bool worker_sums_round(const struct program *program, const struct device_image *images);
/* A step that may begin before the one whose buffers it shares is done, and never waits, is unsafe. */
void worker_waits(const struct worker *w, int index, const struct build *build, struct row *row);
/* neighbour.c: runs a verified row's code on a few works like its own; where it is at fault there, the row is, and its reason names the
 * neighbour. False (err): nobody's fault. */
bool worker_neighbours(struct worker *w, int index, const struct build *build, struct row *row, struct error *err);
/* Gives back what they have of a case. */
void worker_neighbours_drop(struct worker *w);
/* Draws a row's neighbours and makes their data, those that are not there; in any thread, until it is enough. */
void worker_neighbours_data(const struct worker *w, int index, struct neighbours *n, const atomic_bool *enough);
/* Compiles ahead what those works need beside the row's own code. */
void worker_neighbours_compile(struct worker *w, int index);
/* ahead.c: a thread begins with what of the next case, whose rows these are, needs no device; it is ended, and what it made is taken. */
void worker_ahead_begin(struct worker *w, const json_t *rows);
void worker_ahead_end(struct worker *w);
/* Takes the CPU's part of data (card_host_make), where it was made ahead. */
bool worker_ahead_host(struct worker *w, int in_case, int set, int slot, struct op_data *host);
/* Gives back all of it. */
void worker_ahead_drop(struct worker *w);
/* early.c: makes data of the cases of these rows, which are the first of theirs, until another command waits; one of them is there, or is
 * taken; all that nobody took go. */
void worker_early(struct worker *w, const json_t *rows);
bool worker_early_has(const struct worker *w, int in_case, int set, int slot);
bool worker_early_take(struct worker *w, int in_case, int set, int slot, struct op_data *data);
void worker_early_drop(struct worker *w);
/* The worst of emu's safety reports, if there are any, decides what the row is. */
void worker_take_reports(const struct worker *w, struct row *row);
/* A failure while the row ran: says in `row` what it was. Always true: it is no one else's. */
bool worker_blame(const struct worker *w, struct row *row, const struct error *why, enum row_status otherwise);
/* sequence.c: a row over its frames. False when they cannot be had, which is nobody's row. The caller closes the rig. */
bool worker_sequence_verify(struct worker *w, int index, const struct build *build, struct row *row, struct rig **rig, struct error *err);
void worker_sequence_close(struct worker *w);
/* board.c: adds to w->others who is on the GPU now and no part of this run. Takes some microseconds. */
void worker_look_around(struct worker *w);
/* Of these pids, those that are neither this process nor its parent's, to what `others` has. */
void worker_others_of(const long *pids, int count, struct others *others);
void worker_others_free(struct others *others);
/* roofs.c */
bool worker_roofs(struct worker *w, const json_t *command, struct error *err);
/* gate: NULL, or pairs of two builds' rows (run/parent/gate.c). */
bool worker_measure(struct worker *w, const json_t *rows, const json_t *gate, int *blame, struct error *err);
/* count.c. The check opens the counters, and closes them again so that nothing is open while others time. */
bool worker_count_check(struct worker *w, struct error *err);
/* rig_open; the library makes no plan but this (a row's; NULL: any). */
bool worker_open_rig(struct worker *w, const struct program *program, const struct device_image *images, bool keep_inputs,
                     const struct library_plan *which, struct rig **rig, struct error *err);
bool worker_count(struct worker *w, const json_t *command, int *blame, struct error *err);

/* ablate.c: what a row costs without its parts, as metrics in an event that says nothing else of it. */
bool worker_ablate(struct worker *w, int row, struct error *err);

/* code.c: what emu counted of each instruction of a step, as the row's code; the caller clears the counts. */
void worker_code_of_emu(struct device *dev, const struct device_image *image, struct row *row, int step);
/* Adds to a row of all instructions of a step those that it keeps. Takes their texts. */
void worker_keep_code(struct row *row, struct row_code *all, int count);
/* What the card sampled and counted of each instruction of a row, of its machine code. */
struct code_list {
    struct row_code *items;
    int count;
};
struct source_values;
void worker_code_of_card(struct code_list *list, const struct source_values *values);
/* The same for what was gathered of all steps; the list is empty then. */
void worker_keep_list(struct row *row, struct code_list *list);

/* tune.c: the search. */
/* What the compiler made of a configuration refuses it: it spills, one block of it does not fit, or another configuration is the same
 * launches of the same machine code. Makes `row` infeasible with the reason; false when the configuration is worth a run. */
bool worker_refuses(struct worker *w, int row, struct row *fields);
/* "measure" for a search: the configurations of each variant race against each other, with the library's rows in every round. */
bool worker_race(struct worker *w, const json_t *rows, int *blame, struct error *err);

#endif
