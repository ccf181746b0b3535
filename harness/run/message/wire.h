/* run/message/wire: rows, times of phases, chips and ceilings between the processes. */
#pragma once

#include "device/chip/chip.h"
#include "base/phase.h"
#include "base/text.h"
#include "device/chip/roof.h"
#include "run/message/frame.h"
#include "store/row.h"
#include <jansson.h>

/* Rows pass between processes as bytes that only the same executable reads: the values in table order, in strings of any bytes (frame.h).
 *
 * Of a worker's row the fields that it sets (status, reason, check, facts, times, metrics ...); identity stays with the parent's row.
 * judged: false leaves the status out. New reference. */
json_t *wire_row(const struct row *row, bool judged);
/* Copies what is known there into a row. */
void wire_row_merge(const json_t *packed, struct row *row);

/* Whole rows with their identity and their index in the plan. wire_rows_next returns the row, which the caller frees, and moves *at behind
 * it; NULL: no more, or not a whole row. */
void wire_rows_add(struct text *t, int index, const struct row *row);
struct row *wire_rows_next(const char **at, const char *end, int *index);

/* {"data": 0.2, ..., "parts": ...}: the seconds of the phases that are not 0, except waiting; resets the clock to 0. New reference. */
json_t *wire_spent(struct phase_clock *clock);
/* Adds the seconds of another process, for which the caller waited in the current phase. */
void wire_spent_take(const json_t *spent, struct phase_clock *clock);
/* [["data", "sample", 0.1], ...]: the seconds of the parts that are not 0, including those added from others. New reference. */
json_t *wire_parts(const struct phase_clock *clock);
void wire_parts_take(const json_t *parts, struct phase_clock *clock);

/* A chip's limits; both ends are the same executable, so the format may change freely. */
json_t *wire_chip(const struct chip *chip);
bool wire_chip_read(const json_t *text, struct chip *chip);

/* The ceilings of a machine. */
json_t *wire_roofs(const struct ceiling_list *roofs);
void wire_roofs_read(const json_t *json, struct ceiling_list *roofs);
