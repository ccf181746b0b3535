/* gate/compare: two sides, row by row: the verdict, the ratio, the facts that changed and the source line. */
#pragma once

#include "gate/rules.h"
#include "gate/side.h"
#include "base/stats/decision.h"

enum gate_verdict {
    GATE_SAME,      /* both sides launch the same image in the same way, or times differ by less than the margin */
    GATE_SLOWER,    /* by its time, or by counts that got worse while none got better */
    GATE_FASTER,    /* the other way round */
    GATE_UNDECIDED, /* the code differs, but its counts are equal or mixed, or the times do not decide */
    GATE_WRONG,     /* wrong, unsafe, crashed, hung or broken in head */
    GATE_MISSING,   /* base has it and head has not, or cannot run it */
    GATE_NEW,       /* only head has it */
    GATE_VERDICTS
};
extern const char *const gate_verdict_names[GATE_VERDICTS + 1]; /* "SAME", ..., NULL */
/* What the verdict rests on. */
enum gate_by { GATE_BY_STATUS, GATE_BY_IMAGE, GATE_BY_TIME, GATE_BY_COUNTS };
extern const char *const gate_by_names[]; /* "status", "image", "time", "counts" */

struct gate_change {
    const char *step; /* of the fact */
    const struct gate_kind *kind;
    double base, head; /* NAN: not known on that side */
    int judged;        /* as gate_rules_judge */
    bool waived;
    const struct gate_waiver *waiver; /* that covers it; expired: it does not */
    char *file;                       /* where it is from, in head; NULL: not known */
    int line;
};
struct gate_pair {
    const struct gate_entry *base, *head; /* one of them may be NULL */
    enum gate_verdict verdict;
    enum gate_by by;
    bool waived;              /* the verdict is let through */
    bool disturbed;           /* other processes used the GPU during the timing, so the time is not evidence */
    bool paired;              /* both times are from the same rounds of one run */
    int rounds;               /* 0: no times on both sides */
    int placements;           /* of paired times: the number of placements in the rounds */
    struct decision decision; /* of paired times, and of all of them as a family */
    double ratio, low, high;  /* base's time over head's: above 1 is faster; the interval; NAN */
    char *file;               /* the file in head's sources that a wrong row's reason names, and the line; NULL: none */
    int line;
    struct gate_change *changes; /* of facts, the worst first, then in the order of gate_kinds */
    int change_count;
    char *note; /* further text: "renamed: ...", a reason; NULL */
};
struct gate_comparison {
    const struct gate_side *base, *head;
    struct gate_rules *rules; /* borrowed */
    struct gate_pair *pairs;  /* rows that need action first, then by id */
    int count;
    int counts[GATE_VERDICTS];
    int verified;   /* rows of head that were verified */
    int unrun;      /* rows that a timed gate skipped because both sides launch the same */
    int left_out;   /* rows verified on neither side: infeasible, skipped */
    int not_asked;  /* rows of a baseline that --layer and --only exclude from base; the caller sets it */
    int timed;      /* rows that are judged by times: the alpha of the rules holds for all of them together */
    bool ratchet;   /* base is a baseline: improved and new rows fail until they are promoted */
    char *across;   /* the differences between what made head and what made base, in words; NULL: none */
    char *ops;      /* files of ops that differ between the two trees, in words; NULL: none; the caller sets it (malloc'd) */
    int expired;    /* waivers */
    int promotable; /* rows that improved, appeared or vanished and are not yet in the baseline */
};
/* Compares two sides. If something else made one of them (another device, compiler, ...), that is an environment error, unless `across`.
 * A side without rows is an error. */
bool gate_compare(const struct gate_side *base, const struct gate_side *head, struct gate_rules *rules, bool across,
                  struct gate_comparison *out, struct error *err);
void gate_comparison_free(struct gate_comparison *c);
/* 4: a row is WRONG. 3: a row is SLOWER or MISSING, has a count beyond its allowance or must be promoted, or a waiver expired. 5: nothing
 * was verified, or other processes used the GPU during a timing. 6: UNDECIDED and the rules want a decision. Else 0. */
int gate_exit_code(const struct gate_comparison *c);
/* Do the rules accept the row as it is? */
bool gate_pair_passes(const struct gate_comparison *c, const struct gate_pair *p);
/* The first change that is worse and not waived; else the first change; NULL: none. */
const struct gate_change *gate_pair_worst(const struct gate_pair *p);

/* place.c: the place in head's sources where a fact changed: the line whose count grew most, else the first line of the file that differs.
 * False: unknown. `file` is malloc'd. */
bool gate_place(const struct gate_entry *base, const struct gate_entry *head, const char *step, const struct gate_kind *kind, char **file,
                int *line);
/* The place that the row's reason names: an existing file, one of the row's files, or one next to them. False: none. `file` is malloc'd. */
bool gate_place_said(const struct row *row, char **file, int *line);
