/* emu/emulate_parts: what emulate*.c share. */
#ifndef BENCH_EMU_EMULATE_PARTS_H
#define BENCH_EMU_EMULATE_PARTS_H

#include "emu/emu.h"
#include "emu/emulate.h"

#define EMULATE_BUFFERS_MAX 64

struct buffer_wanted {
    const char *name;
    enum dtype type;
    int64_t count, show;
    uint64_t address;
};
struct emulation {
    const struct emulate_request *request;
    struct device dev;
    struct device_module *module;
    struct device_function *function;
    struct device_launch launch;
    struct buffer_wanted buffers[EMULATE_BUFFERS_MAX]; /* and symbols */
    int buffer_count;
    int argument_buffers; /* the first of them: what args may name */
    unsigned char *params;
    struct emulate_result *out;
};
/* Keys, grid, block, sizes, limits. */
bool emulate_read_launch(struct emulation *e, struct error *err);
/* Buffers are made and filled, variables of the module are filled. */
bool emulate_make_buffers(struct emulation *e, struct error *err);
bool emulate_set_arguments(struct emulation *e, struct error *err);
/* The entry that `wanted` means: its name, or the name in the source that it was mangled from. NULL: the only one. Caller frees. */
char *emulate_find_kernel(const char *label, const char *ptx, const char *wanted, struct error *err);

#endif
