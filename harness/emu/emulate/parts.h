/* emu/emulate/parts: what emulate*.c share. */
#pragma once

#include "emu/device/emu.h"
#include "emu/emulate/emulate.h"

#define EMULATE_BUFFERS_MAX 64
#define EMULATE_FIELDS_MAX 32
#define EMULATE_RANK_MAX 8

struct buffer_wanted {
    const char *name;
    enum dtype type;
    int64_t count, show;
    uint64_t address;
    const struct node *node;
    int64_t dim[EMULATE_RANK_MAX]; /* of `shape:`; rank 0: a plain count */
    int rank;
    bool none;       /* never written before the launch */
    bool *unwritten; /* elements that the launch did not write either, whole; NULL: none */
    void *initial;   /* what it held before the launch, where an expectation asks for it; NULL else */
};
struct field_value {
    const char *name;
    double value;
};
struct emulation {
    const struct emulate_request *request;
    struct device dev;
    struct device_module *module;
    struct device_function *function;
    struct device_launch launch;
    struct buffer_wanted buffers[EMULATE_BUFFERS_MAX]; /* and symbols */
    int buffer_count;
    struct field_value fields[EMULATE_FIELDS_MAX];
    int field_count;
    struct buffer_wanted magnitudes[EMULATE_RANK_MAX]; /* of the reference */
    int magnitude_count;
    struct device_module *reference_module;
    int argument_buffers; /* the first of them: what args may name */
    unsigned char *params;
    struct emulate_result *out;
};
/* The named numbers of the request's combination; every number below may be an expression of them. */
bool emulate_read_fields(struct emulation *e, struct error *err);
bool emulate_int(const struct emulation *e, const struct node *n, const char *what, int64_t min, int64_t max, int64_t *out,
                 struct error *err);
bool emulate_real(const struct emulation *e, const struct node *n, const char *what, double *out, struct error *err);
/* A number of the type once it is rounded: a whole number in its range, a finite number that does not overflow, infinity, NaN. */
bool emulate_holds(enum dtype t, double v);
/* Keys, grid, block, sizes, limits. */
bool emulate_read_launch(struct emulation *e, struct error *err);
/* Buffers are made and filled, variables of the module are filled. */
bool emulate_make_buffers(struct emulation *e, struct error *err);
/* Packs `args` (of the map `at`) as the function wants them; `launch` points to them until the next call. */
bool emulate_set_arguments(struct emulation *e, const struct node *args, const struct node *at, struct device_function *function,
                           struct device_launch *launch, struct error *err);
/* A file that the launch names, beside it. Caller frees. */
char *emulate_file(const struct emulation *e, const char *name);
/* Holds what came out to every `expect:`, and writes what `save:` asks for. */
bool emulate_check(struct emulation *e, struct error *err);
/* The entry that `wanted` means: its name, or the name in the source that it was mangled from. NULL: the only one. Caller frees. */
char *emulate_find_kernel(const char *label, const char *ptx, const char *wanted, struct error *err);
