/* report/view/stored: times of stored runs of the shipped scenarios, by the hash of machine code and launches: what a row that was only
 * counted takes on that GPU, because the code built here is the code that was measured there. `bench export -f stored` writes the files
 * (reports/stored/NAME.yaml). */
#pragma once

#include "base/hash.h"
#include "report/view/verdict.h"

#define STORED_DIGITS 16 /* of a hash in a key */

struct stored_origin {
    char gpu[64], date[16], of[64], library[48]; /* "NVIDIA H200", "2026-11-28", "edsr", "cudnn 9.19.0" */
};
struct stored_time {
    char key[HASH_TEXT]; /* the first digits of launch_hash, or of the hash of a library's work */
    char name[48];       /* the library's row; "": a row of code */
    double us;
    int run; /* of stored_times.runs */
};
struct stored_times {
    struct stored_origin *runs;
    struct stored_time *items;
    int run_count, count;
};
/* The shipped files; one that cannot be read is an error in *err, and the others are read. */
struct stored_times *stored_load(struct error *err);
void stored_free(struct stored_times *s);
/* NULL: no stored run has its code and launches, or a library's row for its work. */
const struct stored_time *stored_find(const struct stored_times *s, const struct row *row);
const struct stored_time *stored_library(const struct stored_times *s, const struct row *row);
/* The hash of a row's work, as a key. */
void stored_work_key(const struct row *row, char out[HASH_TEXT]);
