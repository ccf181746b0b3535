/* gate/rules: the rules of a gate, in YAML (docs/GATE.md): which facts of which rows may change by how much, and what is waived until
 * when. */
#ifndef BENCH_GATE_RULES_H
#define BENCH_GATE_RULES_H

#include "base/glob_list.h"
#include "base/node.h"
#include "gate/side.h"

struct gate_rule {
    char **what;           /* globs on facts, or "time"; NULL-terminated */
    struct glob_list rows; /* on row ids; not given: all */
    double allow, allow_share;
    double floor_ns; /* of "time": shorter times are not judged */
    int line;
    bool used; /* it applied to some fact */
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
    double alpha;                 /* over all rows of a run: how often a gate of equal builds may report SLOWER */
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
/* How the rules take a change of a fact of a row from one value to another: 1 worse than is allowed, -1 better than is allowed the other
 * way, 0 neither or not judged. */
int gate_rules_judge(const struct gate_rules *rules, const char *id, const struct gate_kind *kind, double base, double head);
/* The margin for the times of a row. False: they are not judged. */
bool gate_rules_margin(const struct gate_rules *rules, const char *id, double base_ns, double *margin);
/* The waiver that lets a worse value of that fact through (expired ones too), or NULL; it is marked as used. */
struct gate_waiver *gate_rules_waiver(const struct gate_rules *rules, const char *id, const char *what, const struct gate_kind *kind,
                                      double head);
/* A rule that applied to nothing is an error that names it. */
bool gate_rules_used(const struct gate_rules *rules, struct error *err);

#endif
