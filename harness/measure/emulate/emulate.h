/* measure/emulate/emulate: one kernel, one launch, for authors whose kernel is in no scenario (`bench emulate`): counters, what the safety
 * checks found, and the source with what each line costs. docs/EMU.md, "`bench emulate`" has the YAML of a launch; it becomes a program
 * (op/program.h), as a head and an op do, and runs on a rig. */
#pragma once

#include "base/dtype.h"
#include "base/error.h"
#include "base/kernel_name.h"
#include "base/node.h"
#include "base/text.h"
#include "device/device.h"
#include "op/program.h"
#include <stdbool.h>
#include <stddef.h>

struct emulate_request {
    const char *label; /* for messages: "saxpy.cu" */
    const char *ptx;   /* NUL-terminated */
    size_t ptx_bytes;
    const char *source; /* path of the .cu or .ptx, for the listing; NULL: no source text beside the counts */
    const struct node *launch;
    int point;                 /* which combination of the fields' lists: 0 to emulate_points() - 1 */
    bool keep;                 /* what the buffers held before, what is right after, and how far off it may be */
    const char *reference_ptx; /* of the reference's own source; NULL: it is in `ptx` */
    const char *kernel;        /* instead of the launch's; NULL: the launch's, or the only one */
    const char *chip;          /* "GH100", "sm_86"; NULL: GH100 */
    bool no_check;             /* only bounds and alignment */
    int threads;               /* 0: all */
    int seed;                  /* of the order of blocks; 0: as they are numbered */
    double time_limit_s;       /* 0: the launch's */
};
struct emulate_counter {
    char *name;
    const char *unit;
    double value;
};
struct emulate_line { /* a source line that ran; sums over warps */
    int line;
    double instructions, threads, requests, sectors, sectors_ideal, wavefronts, ideal;
};
struct emulate_expectation {
    bool given;
    int64_t wrong, unwritten, first; /* first: the first wrong element; unwritten: wrong ones that nothing wrote */
    double got, want;                /* of it */
    bool first_unwritten;            /* it is one that nothing wrote: `got` means nothing */
    double worst, tolerance;         /* the largest error, and the largest that is right: of the value, or of the usual one */
};
#define EMULATE_RANK_MAX 8
struct emulate_buffer { /* a buffer of the launch, or a variable of its code */
    char *name;
    enum dtype type;
    int64_t count, dim[EMULATE_RANK_MAX]; /* dim: of `shape:`, else the count */
    int rank;
    int64_t show;            /* how many of its first elements are printed */
    const struct node *node; /* its map in the launch; NULL: a variable */
    uint64_t address;
    bool none;                  /* never written before the launch */
    bool *unwritten;            /* elements that the launch did not write either, whole; NULL: none */
    void *before, *after;       /* before: of a request that keeps them, or a launch with a reference; after: to be shown or compared */
    double *expected, *allowed; /* of a request that keeps them: what is right, and how far off it may be; what emu computed where nothing
                                 * is expected */
    bool read, written;         /* of such a request: what the launch did with it */
    struct emulate_expectation expect;
};
struct emulate_facts { /* of the machine code; known: false without any */
    bool known;
    int registers, spill_bytes, static_smem, code_bytes;
    char occupancy[320]; /* "75 % of the warps, by registers; 5 fewer registers (59) give 4 blocks per SM" */
};
struct emulate_result {
    char kernel[KERNEL_NAME]; /* as in the PTX */
    char fields[160];         /* "n=1024 m=16"; "" without any */
    char device[256];
    struct step launch;               /* as a head's step becomes one */
    struct emulate_counter *counters; /* those that are 0 too */
    int counter_count;
    struct emulate_line *lines; /* by line */
    int line_count;
    struct device_report *reports, *notes; /* notes: no errors */
    int report_count, note_count;
    struct emulate_buffer *buffers;
    int buffer_count;
    char *arguments;         /* as a head has them: "x, y, 1024, 2.5"; NULL when one is infinite or NaN */
    struct tensor_map *maps; /* "map_0" ... of the arguments; buffer.index: into buffers */
    int map_count;
    struct emulate_facts facts; /* the caller's, who has the machine code */
    bool finished;              /* false: trap, assert, deadlock, time limit ...: `why` */
    char why[512];
    char source[512]; /* the file the lines are of; "" unknown */
};
/* False + err for a wrong request (PTX, YAML, sizes). A kernel that traps or hangs is a result. */
bool emulate(const struct emulate_request *request, struct emulate_result *out, struct error *err);
/* Did it finish, without a finding, and with the values that were expected? */
bool emulate_right(const struct emulate_result *r);
/* Launches that the fields' lists come to: 1 without any. -1 + err. */
int emulate_points(const struct node *launch, struct error *err);
void emulate_free(struct emulate_result *r);
/* 0: no counter of that name. */
double emulate_counter(const struct emulate_result *r, const char *name);
/* _Z5scaleILi32EEvPf -> scale. Caller frees. */
char *emulate_plain_name(const char *entry);
/* Everything for a reader; counters that are 0 are left out. Two of its parts: */
void emulate_text(const struct emulate_result *r, struct text *t);
void emulate_text_reports(const struct emulate_result *r, struct text *t); /* a line each; nothing when nothing was found */
void emulate_text_shown(const struct emulate_result *r, struct text *t);
/* One line per launch, for a sweep; NULL: the headings. */
void emulate_text_row(const struct emulate_result *r, struct text *t);
/* The same as one JSON object (docs/EMU.md); NaN and infinities of buffers are strings. */
void emulate_json(const struct emulate_result *r, struct text *t);

/* A launch to begin with, as YAML: the kernel's parameters, guessed from what the PTX does with them, named as in `source_text` (NULL:
 * numbered). */
bool emulate_start(const char *label, const char *ptx, size_t ptx_bytes, const char *source_text, const char *kernel, struct text *out,
                   struct error *err);
