/* cli/stored: the stored run that bench show, report and export work on. */
#pragma once

#include "cli/cli.h"

struct stored {
    const char *out_dir, *device, *scenario, *to, *format;
    const char *share; /* --share FILE */
    const char *ask;   /* --ask FILE */
    bool compare;      /* several runs: further words name runs */
    bool calibration;  /* emu's counters next to the hardware's */
    int run_id;        /* -1: the last */
    const char *path;  /* the first word as given, which may be a file that is not a database; NULL: it names a scenario's file */
    bool from_file;    /* its first word named a database */
    bool takes_row;    /* further words name a row */
    bool json;         /* the text is JSON */
    char *words;       /* of the row; NULL: the whole run */
    char *database;    /* given as a file, or of out_dir */
    struct stored_run r;
};
/* Runs the verb: reads the common options and the verb's own (at most 4, which write into `s`), opens the run, lets `make` append to the
 * text, and prints or writes it. Returns the exit code. */
int stored_verb(const struct verb *verb, int argc, char **argv, struct stored *s, const struct option *own, int own_count,
                bool (*make)(struct stored *s, struct text *t, struct error *err));
/* How many rows the case of this whole name has, from *from on. */
int stored_case(struct row *const *rows, int count, const char *name, int *from);
bool stored_unknown_format(const struct stored *s, const char *known, struct error *err);
