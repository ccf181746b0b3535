/* device/ptx/query: questions about PTX text, answered from its outline (device/ptx/ptx.h), so that an instruction, a type or a directive
 * that this parser does not know hides nothing else. */
#pragma once

#include "device/device.h"
#include "device/ptx/ptx.h"

/* The parameters of an entry: how many, or -1 with err when there is no such entry (the error lists those there are). */
int ptx_signature(const char *ptx, const char *entry, struct param *params, int max, size_t *param_bytes, struct error *err);
/* The same of a function that was read: as many as `max` holds. */
int ptx_params(const struct ptx_function *f, struct param *params, int max, size_t *param_bytes);
/* Names of the entries; caller frees each and the array. */
int ptx_entries(const char *ptx, char ***names);
/* Threads of a block along x that the entry requires (.reqntid) or allows (.maxntid); 0: it does not say. */
int ptx_block(const char *ptx, const char *entry);
/* What it was compiled for, "sm_90a"; "": it does not say. */
void ptx_target(const char *ptx, char out[32]);
/* What tensor cores multiply and sum in, in an entry and in all functions that are not inlined: enum factor_type of base/dtype.h, bits. */
unsigned ptx_factors(const char *ptx, const char *entry);
/* Does an entry, or a function that is not inlined, wait for the launch before it (griddepcontrol.wait)? */
bool ptx_waits(const char *ptx, const char *entry);
/* What code could keep from launch to launch: the global variables of the module that it refers to (unused ones do not count), and whether
 * it calls malloc, whose memory outlives a launch. Returns the number of names; caller frees each and the array. */
int ptx_state(const char *ptx, char ***names, bool *heap);
/* The first special register in the code that differs from launch to launch: the grid's number, the running graph, a profiler's counters.
 * NULL: none. Clocks do not count: a kernel may time itself. */
const char *ptx_launches(const char *ptx);
/* The text without comments, blanks that do not matter, and what only debuggers read (.loc, .file, debug sections): two texts with equal
 * results compile to the same machine code. Malloc'd. */
char *ptx_code(const char *ptx);
/* The text with its global variables made visible, so that a driver that compiles it finds them by name. Malloc'd. */
char *ptx_expose(const char *ptx);
