/* gate/rules: the rules of a gate, in YAML (docs/GATE.md): how much each fact of a row may change, and which changes are waived, each until
 * a date. */
#pragma once

#include "base/glob_list.h"
#include "base/node.h"
#include "gate/side.h"

struct gate_rule {
    char **what;           /* globs on facts, or "time"; NULL-terminated */
    struct glob_list rows; /* on row ids; not given: all */
    double allow, allow_share;
    double floor_ns; /* of "time": shorter times are not judged */
    int line;
};
struct gate_waiver {
    char *row, *what; /* globs; `what` may be MISSING */
    double to;        /* the worst value that is let through; NAN: any */
    char *why, *owner, *until;
    int line;
    bool expired, used;
};
struct gate_rules {
    char *file;
    char *against;                /* a revision, a folder, a baseline file; NULL */
    char **scenarios, **variants; /* NULL-terminated; variants as NAME=DIR; NULL: none */
    char **ops;                   /* files of ops, NULL-terminated; NULL: none */
    char *device;                 /* NULL: emu */
    struct glob_list rows;        /* on the ids that are gated; not given: all */
    double margin, floor_ns;      /* of a time */
    double alpha;                 /* the probability that a gate of equal builds reports SLOWER for any row of a run */
    bool decide;                  /* an UNDECIDED row fails (exit 6) */
    bool ratchet;                 /* against a baseline, improved, new and vanished rows fail until they are promoted */
    struct gate_rule *items;      /* none: gate_kinds' own */
    int count;
    struct gate_waiver *waivers;
    int waiver_count;
};
/* The rules of a gate without a file. */
void gate_rules_default(struct gate_rules *rules);
/* `today` is "2027-03-01", for the waivers. Errors name FILE:LINE:COLUMN and the nearest word. */
bool gate_rules_read(const char *path, const char *today, struct gate_rules *rules, struct error *err);
void gate_rules_free(struct gate_rules *rules);

/* Is the row gated at all? */
bool gate_rules_take(const struct gate_rules *rules, const char *id);
/* How the rules judge a change of a fact of a row: 1 worse than allowed, -1 better by more than the allowance, 0 neither or not judged. */
int gate_rules_judge(const struct gate_rules *rules, const char *id, const struct gate_kind *kind, double base, double head);
/* The margin for the times of a row. False: times of this row are not judged. */
bool gate_rules_margin(const struct gate_rules *rules, const char *id, double base_ns, double *margin);
/* The waiver that permits a worse value of that fact (expired ones too), or NULL; marks it as used. */
struct gate_waiver *gate_rules_waiver(const struct gate_rules *rules, const char *id, const char *what, const struct gate_kind *kind,
                                      double head);
