/* measure/verify/verify: decides whether an output is right. Success-form tests: NaN never passes. Checks the whole output. */
#pragma once

#include "base/error.h"
#include "op/op.h"
#include "op/program.h"

struct verdict {
    bool ok;
    int slot;                          /* of the tensor that the verdict describes */
    int64_t elements, wrong;           /* compared; wrong, NaN and unwritten included */
    int64_t nan, unwritten;            /* unwritten: still the poison pattern */
    int64_t touched_inactive;          /* with a mask and inactive: untouched: number of canaries that changed */
    double worst_error, worst_bound;   /* of the worst element by error / bound */
    double error_over_bound;           /* max of error / bound over all elements: "0.1 tol"; 0 exact */
    int64_t worst_at[TENSOR_MAX_RANK]; /* its logical coordinates */
    double worst_got, worst_want;
    char pattern[256]; /* "all in column 719: never written", "all in channels 3, 5: channels 3 and 5 swapped", "scattered over ..." */
    char note[160];    /* of a correct output: which outputs it leaves alone, if fewer than all inactive outputs and all padding */
    char text[512];    /* the sentence for the row: "output(0,719,1270,63) = 0.412, want 0.731 ±0.004; 40,960 of 58,982,400 elements,
                        * all in row 719"; coordinates in the order of the storage. When ok: "exact", or "0.12 of the tolerance" */
};
/* The poison that bench writes to outputs and scratch before a run: a 32-bit pattern that is a NaN as f32, f16 pair and bf16 pair. */
#define VERIFY_POISON 0x7FE57FE5u
/* Compares the typed storage of a tensor that the program writes with its reference in `data`, the whole of it. Numbers: exact data bit for
 * bit; precision: |got-want| <= bound * factor + rounding. factor: of the algorithm ("direct" 1, "winograd" 16, others as docs/HEAD.md
 * says); with data->mask_out, inactive pixels must be as `inactive` says. Threaded. Masks: every bit, those behind the last column
 * included, which must be 0 so that the next layer can count bits, unless the program says otherwise. */
void verify_tensor(const struct program *program, int tensor, const struct op_data *data, const void *storage, struct verdict *out);
/* Compares some elements of a tensor, except inactive ones. `data` needs the reference of these elements only. */
struct verify_place {
    size_t logical;
    double got;
};
void verify_places(const struct program *program, int tensor, const struct op_data *data, const struct verify_place *places, size_t count,
                   struct verdict *out);
/* Writes NAME.npy and reference.npy (f32, logical order) and an error map per image (error.pgm, error_1.pgm ...: brighter = more channels
 * wrong) of a tensor that the program writes into dir; of a further output they are NAME_reference.npy, NAME_error.pgm. */
bool verify_dump(const struct program *program, int tensor, const struct op_data *data, const void *storage, const char *dir,
                 struct error *err);

/* The type of a result whose rounding alone is half of the tolerance of the largest error, or more; NULL: none. */
const char *verify_stored_as(const struct program *program, const struct verdict *v);
