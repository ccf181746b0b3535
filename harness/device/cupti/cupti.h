/* device/cupti/cupti: hardware counters planned with no GPU: which metrics a chip has, and how many passes a set of them takes.
 *
 * libcupti is loaded when it is first needed and stays. Everything here runs without a driver, except metrics whose name says `_sass_`
 * when they are collected (range.h). A missing library is an ERROR_ENVIRONMENT; a name that is not known is an ERROR_USAGE
 * with the nearest one as hint. */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "device/cupti/shim.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One chip as CUPTI knows it. */
struct cupti_chip;
/* `availability` is a device's counter availability image (kept by the caller until the chip is closed), NULL when there is no device. */
bool cupti_open(const char *chip, const uint8_t *availability, struct cupti_chip **chip_out, struct error *err);
void cupti_close(struct cupti_chip *chip);
const char *cupti_name(const struct cupti_chip *chip);
/* The chips that this libcupti knows; the names live as long as the process. */
bool cupti_chips(const char *const **names, size_t *count, struct error *err);
/* The file that was loaded; "" before. */
const char *cupti_path(void);

/* A full metric name, roll-up included: "dram__bytes_read.sum". */
struct cupti_metric {
    enum cupti_shim_kind kind;
    const char *about; /* CUPTI's own sentence */
    const char *unit;  /* "byte", "percent", "gpc_cycle" */
};
/* True when the chip has it; cheap. */
bool cupti_has(struct cupti_chip *chip, const char *metric);
/* As cupti_has, with its properties; the error names the nearest metric, or the roll-ups there are when only the roll-up is wrong. */
bool cupti_describe(struct cupti_chip *chip, const char *metric, struct cupti_metric *out, struct error *err);
/* Names of a chip's metrics without roll-ups: all kinds, CUPTI's order. Appends those that match the shell pattern, one a line. */
int cupti_list(struct cupti_chip *chip, const char *pattern, struct text *out, struct error *err);

struct cupti_plan {
    size_t passes;   /* how often the kernel must run */
    uint8_t *config; /* CUPTI's config image: what the range profiler is set to */
    size_t config_bytes;
    struct cupti_shim_host *host; /* scheduled for exactly these metrics; cupti_evaluate needs it */
};
/* Every name is checked by itself first. An empty set is an error. Free with cupti_plan_free. */
bool cupti_plan(struct cupti_chip *chip, const char *const *metrics, size_t count, struct cupti_plan *plan, struct error *err);
void cupti_plan_free(struct cupti_plan *plan);
/* The values of a decoded range (device/cupti_range), in the order of `metrics`, which are those that were planned. */
bool cupti_evaluate(const struct cupti_plan *plan, const uint8_t *data, size_t bytes, size_t range, const char *const *metrics,
                    size_t count, double *values, struct error *err);
/* Finds functions of libcupti, and loads it first if necessary: `to` points at a pointer of CUPTI's own type. A missing function is an
 * ERROR_ENVIRONMENT. A module lists the functions that it calls as X(field, function), and has a structure of those fields. */
struct cupti_function {
    const char *name;
    void *to;
};
#define CUPTI_FIELD(field, function) __typeof__(&function) field;
bool cupti_functions(const struct cupti_function *functions, size_t count, struct error *err);
