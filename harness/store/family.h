/* store/family: families of metrics. The code that adds a metric names its family, and readers ask for the family; no code parses the
 * metric's name. */
#pragma once

#include "store/row.h"

/* What names begin with: of counter groups, of a warp's states and their samples, of emu, of the machine code, of the model. */
#define METRIC_HARDWARE "hw."
#define METRIC_STALL METRIC_HARDWARE "stall_"
#define METRIC_SAMPLES METRIC_HARDWARE "samples_"
#define METRIC_LINE METRIC_HARDWARE "executed_" /* of a source line, by CUPTI's patching of the machine code */
#define METRIC_EMU "emu."
#define METRIC_WARP METRIC_EMU "warp_" /* instructions of one kind that warps executed */
#define METRIC_STATIC "static."
#define METRIC_SASS METRIC_STATIC "sass_"
#define METRIC_MODEL "model."

/* FAMILY(its constant, its name in the column metric_family, the prefix of its metrics' names, its parent family) */
#define METRIC_FAMILIES(FAMILY) \
    FAMILY(HARDWARE, "hw", METRIC_HARDWARE, HARDWARE) \
    FAMILY(STALL, "stall", METRIC_STALL, HARDWARE) \
    FAMILY(SAMPLES, "samples", METRIC_SAMPLES, HARDWARE) \
    FAMILY(LINE, "executed", METRIC_LINE, HARDWARE) \
    FAMILY(EMU, "emu", METRIC_EMU, EMU) \
    FAMILY(WARP, "warp", METRIC_WARP, EMU) \
    FAMILY(STATIC, "static", METRIC_STATIC, STATIC) \
    FAMILY(SASS, "sass", METRIC_SASS, STATIC) \
    FAMILY(MODEL, "model", METRIC_MODEL, MODEL)
#define FAMILY_CONSTANT(id, name, begins, root) FAMILY_##id,
enum metric_family { METRIC_FAMILIES(FAMILY_CONSTANT) FAMILY_COUNT };

/* Adds the metric of the family whose name is the family's prefix and `word`. */
struct row_metric *row_add_member(struct row *row, enum metric_family family, int step, int line, const char *word, const char *unit,
                                  const char *source, double value);
/* Is it of the family, or of a part of it? */
bool metric_is(const struct row_metric *m, enum metric_family family);
/* The metric's name without the prefix of its family. */
const char *metric_word(const struct row_metric *m, enum metric_family family);
