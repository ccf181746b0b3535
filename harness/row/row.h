/* row/row: one row, the waist of the house: everything that is known of one variant (at one point) on one case on one device.
 *
 * Strings are owned by the row (malloc'd; NULL or "" = absent). Numbers that may be absent: see each. */
#ifndef BENCH_ROW_ROW_H
#define BENCH_ROW_ROW_H

#include "base/hash.h"
#include <stdbool.h>
#include <stdint.h>

/* In the order of a run; a row has exactly one. OK and FOIL rows may be ranked by time; nothing else. */
enum row_status {
    ROW_PLANNED,    /* nothing done yet (an interrupted run) */
    ROW_OK,         /* verified */
    ROW_FOIL,       /* not the op (row 0 `copy`): nothing to verify */
    ROW_WRONG,      /* verification failed; reason = the verdict's sentence */
    ROW_UNSAFE,     /* right, but wrote outside a buffer, changed an input, or emu reported a safety error */
    ROW_CRASHED,    /* trap, illegal address, worker died */
    ROW_HUNG,       /* watchdog */
    ROW_BROKEN,     /* does not compile, or its head cannot be bound */
    ROW_INFEASIBLE, /* the clause and both values */
    ROW_SKIPPED,    /* not on this device, or a limit of the run */
    ROW_STATUS_COUNT
};
/* How the reason of an infeasible point begins that a search need not run: behind it the label of the point that is the same. */
#define ROW_SAME_AS "the same launches of the same machine code as "
const char *
row_status_name(enum row_status s); /* "ok", "foil", "wrong", "unsafe", "crashed", "hung", "broken", "infeasible", "skipped", "planned" */
enum row_status row_status_parse(const char *name);

/* A number with a name: emu.*, static.*, hw.*, a variant's own column. step -1 = the whole row. line 0 = no source line. */
struct row_metric {
    int step;
    int line;
    char name[128];
    char unit[24];
    char source[16]; /* emu, compiler, cupti, model, variant */
    double value;
};
/* One launch of the row. Ints: -1 = not known. */
struct row_step {
    char name[96];
    char kind[16]; /* kernel, fill, copy, symbol, cudnn */
    bool prepare;
    int64_t grid[3], block[3];
    int registers, spill_store_bytes, spill_load_bytes, stack_bytes, static_smem, dynamic_smem, constant_bytes, code_bytes;
    char sass_hash[HASH_TEXT];
    int blocks_per_sm, warps_per_sm;
    double occupancy; /* theoretical, 0..1; -1 = not known */
    char limit[16];   /* regs, smem, warps, blocks */
    char lift[160];
    double waves; /* -1 = not known */
    char file[256];
};
/* A time in one mode. step -1 = the row. All ns; NaN = absent. */
struct row_time {
    int step;
    char cache[8], load[12]; /* cold|warm, isolated|sustained */
    double median_ns, low_ns, high_ns, p05_ns, p95_ns;
    double ratio, ratio_low, ratio_high; /* t_row0 / t of the same rounds; above 1 is faster than row 0 */
    int rounds;
    double *samples_ns; /* rounds of them, or NULL */
};
struct row {
    /* identity */
    char *id; /* CASE/VARIANT[params] (decision 7) */
    char *case_id, *scenario, *layer;
    char *axes; /* "mask=iid:0.1,n=4" */
    char *variant, *params;
    char key[HASH_TEXT];       /* work + sources + params + compiler + device: --resume keeps a row whose key is unchanged */
    char *device;              /* cuda:0, emu:GH100 */
    int case_index, row_index; /* order of the scenario */
    int64_t repeat;            /* how often the layer runs, in all its networks together */
    char *networks;            /* "edsr_x2:16, x4:1": in which, and how often; absent: in none */
    /* the work */
    char *work; /* "conv2d 64->64 3x3 +bias+relu  1x720x1280 f16 acc32 NHWC" */
    char *op, *dtype, *math, *layout;
    char *what, *from, *algorithm;
    double flop, bytes; /* direct-equivalent FLOP; compulsory bytes */
    int claims;         /* 1: its head says that it is at par with the library on this work; 0: it does not; -1 = not known */
    double floor_ns;    /* 0 = not known */
    char floor_by[16];
    double density_in, density_out;   /* -1 = no mask */
    double flop_useful, bytes_useful; /* what the mask leaves of flop and bytes; NaN = no mask */
    /* outcome */
    enum row_status status;
    char *reason;
    char *check;             /* "exact + 0.1 tol" */
    double error_over_bound; /* NaN = absent */
    char *dump;              /* folder of the dump */
    /* facts */
    struct row_step *steps;
    int step_count;
    struct row_time *times;
    int time_count;
    double noise;                                   /* half width of the A/A twin's ratio around 1, relative; NaN = absent */
    double prepare_ns, first_call_ns, host_call_ns; /* NaN = absent */
    int64_t scratch_bytes, workspace_bytes;         /* -1 = absent */
    /* of a sparse variant that declares its tiles */
    char *tile;                                     /* "8x16", "4x4/2": outputs, and how far apart they lie when not side by side */
    int64_t tiles, tiles_active, tile_weight_bytes; /* -1 = absent */
    double flop_scheduled; /* all outputs of the active tiles; of a dense row of a masked case: flop. NaN = absent */
    char *tile_fill;       /* "0:12298 1:20 2:8 3-4:74": tiles by the marked inputs under them */
    int64_t state_bytes;   /* kept from frame to frame; -1 = absent */
    char *engine;          /* cuDNN's plan text */
    char *verdicts;        /* JSON list: what the counter groups' rules say, {step, group, binds, says, try} */
    char *kernels;         /* JSON list: every kernel that ran, as CUPTI saw it, also inside of the library */
    char *uncounted;       /* why there are no hardware counters though they were asked for */
    struct row_metric *metrics;
    int metric_count;
    /* provenance */
    char *compiler, *arch;
    char source_hash[HASH_TEXT];
    char *note; /* warnings of this row: "clock 12 % below the others" */
};
struct row *row_new(void); /* every absent-able number absent */
void row_free(struct row *row);
/* Replaces a malloc'd string field. */
void row_set(char **field, const char *value);
struct row_metric *row_add_metric(struct row *row, int step, int line, const char *name, const char *unit, const char *source,
                                  double value);
struct row_step *row_add_step(struct row *row);
/* Is it a network's, whole or over frames? Its work is spread over all of its steps, so none of them stands for it. */
bool row_is_network(const struct row *row);
struct row_time *row_add_time(struct row *row);
/* The row's time in a mode (step -1), or NULL. */
const struct row_time *row_time(const struct row *row, const char *cache, const char *load);
const struct row_metric *row_metric(const struct row *row, int step, const char *name);

/* The column table: one line a column. It writes and reads the tables of the store, the JSON and the CSV; METHOD.md has a
 * paragraph `### name` for every line (make check). To add a column: the field above, its line in row.c, a migration in
 * store.c when the group is stored, the place that sets it, the paragraph. */
enum column_group {
    COLUMN_RUN,     /* struct run: table run */
    COLUMN_CASE,    /* struct row: table case, the work, shared by the rows of a case */
    COLUMN_RESULT,  /* struct row: table result */
    COLUMN_STEP,    /* struct row_step: table kernel */
    COLUMN_TIME,    /* struct row_time: table timing */
    COLUMN_METRIC,  /* struct row_metric: table metric */
    COLUMN_WISDOM,  /* struct wisdom: table wisdom */
    COLUMN_DERIVED, /* stored nowhere: report/ computes it from the others */
    COLUMN_COUNTER, /* the name of a metric that a table shows */
};
/* How the field is held, and with it what "absent" looks like. */
enum column_type {
    COLUMN_NONE,      /* derived and counters: no field */
    COLUMN_TEXT,      /* char *: NULL or "" absent */
    COLUMN_CHARS,     /* char[size]: "" absent */
    COLUMN_INT,       /* int: always there */
    COLUMN_INT_NEG,   /* int: negative absent */
    COLUMN_INT64,     /* int64_t: always there */
    COLUMN_INT64_NEG, /* int64_t: negative absent */
    COLUMN_UINT64,    /* uint64_t: always there */
    COLUMN_BOOL,
    COLUMN_REAL,      /* double: NaN absent */
    COLUMN_REAL_NEG,  /* double: negative or NaN absent */
    COLUMN_REAL_ZERO, /* double: 0, negative or NaN absent */
    COLUMN_STATUS,    /* enum row_status, written by name */
};
struct column {
    const char *name, *unit, *what;
    enum column_group group;
    enum column_type type;
    unsigned offset, size; /* of the field in its struct */
};
extern const struct column columns[]; /* ends with name NULL */
/* A column's value in its struct (run, row, step, time or metric). Exactly one of the three is set, or none when absent. */
struct column_value {
    bool absent;
    const char *text; /* TEXT, CHARS, STATUS */
    bool is_real;
    double real;     /* REAL... */
    int64_t integer; /* INT..., BOOL; UINT64: its bits */
};
struct column_value column_get(const struct column *column, const void *base);
/* Sets the field from a value (absent: the type's own absent). Text is copied; CHARS is cut to its size. */
void column_set(const struct column *column, void *base, const struct column_value *value);
/* By name inside a group; NULL when there is none. */
const struct column *column_find(enum column_group group, const char *name);

#endif
