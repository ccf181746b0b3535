/* session/wire: what a worker found out about a row, as JSON between the processes. */
#ifndef BENCH_SESSION_WIRE_H
#define BENCH_SESSION_WIRE_H

#include "base/chip.h"
#include "store/row.h"
#include <jansson.h>

/* The fields a worker sets (status, reason, check, facts, times, metrics ...); identity stays with the parent's row. New reference. */
json_t *wire_row(const struct row *row);
/* Lays them over a row; unknown or ill-typed fields are ignored. */
void wire_row_merge(const json_t *fields, struct row *row);

/* A chip's limits; both ends are the same executable. */
json_t *wire_chip(const struct chip *chip);
bool wire_chip_read(const json_t *text, struct chip *chip);

#endif
