/* measure/emulate/parts: what the files of measure/emulate share. */
#pragma once

#include "base/expr.h"
#include "base/npy.h"
#include "measure/emulate/emulate.h"
#include "measure/rig/rig.h"
#include "op/program.h"

#define EMULATE_BUFFERS_MAX 64
#define EMULATE_FIELDS_MAX 32

struct field_value {
    const char *name;
    struct value value;
};
/* A kernel of the launch file as a program of one step, on a device: the kernel itself, or the reference. */
struct launched {
    struct program program; /* scratch: the buffers that its arguments may name, in the order of the launch file */
    struct rig *rig;
    int magnitudes[EMULATE_BUFFERS_MAX], magnitude_count; /* reference: the buffers with scratch NAME_magnitude, behind the others */
};
struct emulation {
    const struct emulate_request *request;
    struct device dev;
    double time_limit_s;
    struct launched kernel;
    struct emulate_buffer *buffers; /* the result's: room for EMULATE_BUFFERS_MAX */
    int argument_buffers;           /* the first of them: what args may name */
    struct field_value fields[EMULATE_FIELDS_MAX];
    int field_count;
    struct emulate_result *out;
};
/* The named numbers of the request's combination; every number below may be an expression of them. */
bool emulate_read_fields(struct emulation *e, struct error *err);
bool emulate_int(const struct emulation *e, const struct node *n, const char *what, int64_t min, int64_t max, int64_t *out,
                 struct error *err);
bool emulate_real(const struct emulation *e, const struct node *n, const char *what, double *out, struct error *err);
bool emulate_value(const struct emulation *e, const struct node *n, const char *what, struct value *out, struct error *err);
/* A number of the type once it is rounded: a whole number in its range, a finite number that does not overflow, infinity, NaN. */
bool emulate_holds(enum dtype t, double v);
/* Keys, grid, block, sizes, limits: the step of e->kernel, but for its name and arguments. */
bool emulate_read_launch(struct emulation *e, struct error *err);
/* What buffers there are, and of what size: e->buffers, and the scratch of e->kernel. */
bool emulate_read_buffers(struct emulation *e, struct error *err);
/* Adds to the program's step the arguments: `args` of the map `at`. */
bool emulate_add_arguments(struct emulation *e, struct launched *l, const struct node *at, struct error *err);
/* Loads the code, allocates the buffers and packs the arguments. */
bool emulate_open(struct emulation *e, struct launched *l, const char *label, const char *path, const char *ptx, size_t ptx_bytes,
                  struct error *err);
void emulate_close(struct launched *l);
uint64_t emulate_address(const struct launched *l, int scratch);
/* Fills buffers, and variables of the code of e->kernel. */
bool emulate_fill_buffers(struct emulation *e, struct error *err);
/* Fills the variables of a program that was loaded from the kernel's PTX; `add`: they become e->buffers, too. */
bool emulate_fill_symbols(struct emulation *e, struct launched *l, bool add, struct error *err);
bool emulate_expects_reference(const struct emulate_buffer *b);
/* The numbers that `n` gives for all elements of a buffer: one for all, a list that repeats, an array. Call npy_free even if it fails. */
bool emulate_read_numbers(struct emulation *e, const struct emulate_buffer *b, const struct node *n, const char *what, struct npy *out,
                          struct error *err);
/* Holds what came out to every `expect:`, and writes what `save:` asks for. */
bool emulate_check(struct emulation *e, struct error *err);
/* The entry that `wanted` means: its name, or the name in the source that it was mangled from. NULL: the only one. Caller frees. */
char *emulate_find_kernel(const char *label, const char *ptx, const char *wanted, struct error *err);
