/* device/device: one interface to a GPU (`cuda:0`) and to the embedded PTX interpreter (`emu`, `emu:GH100`).
 *
 * A device runs single launches on one stream and returns plain numbers. It knows nothing of variants, works and rows. Addresses are
 * device addresses; on emu they are in an emulated space of their own. To add a device: one .c and one line in device_table
 * (run/child/devices.c). */
#pragma once

#include "device/chip/chip.h"
#include "base/error.h"
#include "base/phase.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_OPS_VERSION 1
#define DEVICE_STAMPS 4
#define DEVICE_BLOCK_NS 2000000
#define DEVICE_LAUNCH_SLOTS 8

struct device;
/* Identifies a plan of the vendor's library: its engine, and its rank in a heuristic's list. */
struct library_plan {
    int engine;
    char heuristic;
    int rank;
};
struct device_module;   /* a loaded PTX / cubin image */
struct device_function; /* a kernel inside it */
struct device_event;
struct device_graph;
#define DEVICE_STREAMS 8 /* side streams */

/* Compiled code. The device takes what it can run: emu the PTX, cuda the cubin (PTX when the arch differs). */
struct device_memory { /* State of the code outside of buffers: its global variables, whether it calls malloc, and a special register
                          that differs between launches */
    char **names;
    int count;
    bool heap;
    const char *launches;
};
struct device_image {
    const char *label; /* the variant, for messages */
    const char *path;  /* the .cu, for messages of emu */
    const char *ptx;
    size_t ptx_bytes;
    const void *cubin;
    size_t cubin_bytes;
    const char *log;                    /* the compiler's, which knows the entries of templates (compile_entry); NULL: there is none */
    const struct device_memory *memory; /* the memory that the code refers to, from rig_scan_image; NULL: not determined */
};
/* A kernel parameter, as read from the PTX. */
enum param_kind {
    PARAM_INT,
    PARAM_FLOAT,
    PARAM_BYTES,
    PARAM_ANY
}; /* pointers are PARAM_INT of 8 bytes; structs PARAM_BYTES; of a cubin alone: PARAM_ANY */
struct param {
    enum param_kind kind;
    uint32_t bytes, align;
    uint32_t offset; /* in the packed parameter buffer */
    bool untyped;    /* PARAM_INT of PTX's .b32 or .b64, which may be a float, too */
};
/* Writes a number as the parameter's type has it. `name`: the argument's, for messages. */
struct value;
bool device_pack_number(const struct param *param, const char *name, const struct value *number, void *to, struct error *err);
struct device_launch {
    uint32_t grid[3], block[3], cluster[3];
    uint32_t smem; /* dynamic, bytes */
    bool cooperative, pdl;
    int carveout;       /* %, -1 = default */
    const void *params; /* packed by the signature's offsets; 128-byte tensor maps inside it were made by tensor_map */
    size_t param_bytes;
    double time_limit_s;          /* emu: fails after this time; 0 = no limit */
    uint64_t entries_max;         /* emu: basic blocks that a warp may enter between two waits; 0: about 4 thousand million */
    struct device_sample *sample; /* emu: runs only those of its groups that have not run yet, and keeps their counts there; NULL: all */
};
/* emu: a few groups of a grid, instead of all of them. A group: the blocks of a cluster, else one block; by x + grid x (y + grid y z), in
 * clusters. */
struct device_group {
    uint64_t number, weight;        /* weight: how many groups of the grid it stands for (`weigh`) */
    uint64_t hash;                  /* of all counts: equal hashes mean equal counts */
    uint64_t instructions, sectors; /* that its warps executed; of global memory that it touched */
    uint64_t macs;                  /* multiply-adds of tensor instructions */
    uint64_t *counts;               /* malloc'd by the launch */
    void *path;                     /* the same: the way of its first block's warps */
};
struct device_sample {
    struct device_group *groups;
    int count, ran; /* the first `ran` have run */
    bool own_work;  /* what a group does depends on no other one, and there are not too many */
    uint8_t mark;   /* of sectors that the last launch touched (device_ops.touched) */
};
/* An event of the device's safety checks (emu): "global read of 4 bytes at 0x..., offset 4096 of `input`, which has 4096 (block 3,0,0
 * thread 31,0,0)". Without a source line (`line` 0) the text begins with the line of the PTX. */
struct device_report {
    char kind[32]; /* out_of_bounds, misaligned, uninitialised, race, divergent_barrier, inactive_lane, cp_async_wait, trap, assert,
                      deadlock, unsupported, time_limit */
    char text[512];
    char file[256];
    int line;
    bool one_warp; /* a race between lanes of one warp */
    uint64_t count;
};
/* A counter (emu). */
struct device_counter {
    const char *name, *word, *unit; /* "emu.warp_fma", of the words behind its family's: "fma" */
    bool warp;                      /* counts the instructions of one class that warps executed */
};
/* emu: an instruction that ran since the last clear, with its source line and counts. */
struct device_instruction {
    int ptx_line, line; /* line of the PTX; line of the kernel's own file, 0: none */
    char inlined[64];   /* "tile.cuh:31" for code from another file than the kernel's; "" otherwise */
    uint64_t executed, lanes, sectors, sectors_ideal, wavefronts, wavefronts_ideal;
};
struct device_tensor_map {
    uint64_t address;
    int element_bytes;
    int element_kind; /* an enum dtype of base/dtype.h */
    int rank;
    uint64_t dim[5], stride_bytes[5];
    uint32_t box[5], element_stride[5];
    int swizzle, interleave, l2_promotion;
    bool oob_nan;
};

struct device_ops {
    const char *name; /* "cuda", "emu" */
    int version;      /* DEVICE_OPS_VERSION */
    bool keeps_time;  /* false: emu; every time hook is NULL then */
    /* `spec` is the text behind the colon ("", "0", "GH100"). Fills dev->chip and dev->about. */
    bool (*open)(struct device *dev, const char *spec, struct error *err);
    void (*close)(struct device *dev);
    /* Buffers. `label` is what messages call it. Addresses are 512-byte aligned. */
    bool (*alloc)(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err);
    void (*release)(struct device *dev, uint64_t address);
    /* cuda: buffers whose pages are mapped only between reach(true) and reach(false), so that a stray access by a kernel faults. reach
     * waits for the stream. A new buffer is mapped. Address 0: all of them. NULL elsewhere: use alloc. */
    bool (*alloc_guarded)(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err);
    bool (*reach)(struct device *dev, uint64_t address, bool within, struct error *err);
    /* cuda: free bytes of device memory. NULL elsewhere. */
    size_t (*spare)(struct device *dev);
    /* Both wait for the stream. */
    bool (*write)(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err);
    bool (*read)(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err);
    bool (*fill)(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes,
                 struct error *err); /* 32-bit pattern; bytes % 4 may be != 0 */
    bool (*copy)(struct device *dev, uint64_t to, uint64_t from, size_t bytes, struct error *err);
    /* emu: marks a buffer's bytes as never written: reading them is reported then. NULL on cuda. */
    void (*forget)(struct device *dev, uint64_t address, size_t bytes);
    /* emu: true if a kernel wrote to the buffer, even the same values, since the host last wrote there. NULL on cuda. */
    bool (*stored)(struct device *dev, uint64_t address);
    /* One bit a byte from that address on, 8 bytes a byte: set if the host or a kernel wrote it. NULL: not tracked. */
    const uint8_t *(*known)(struct device *dev, uint64_t address);
    /* emu, for a buffer that begins at the address. repeat: fills it with copies of `tile`, and takes memory only where it is touched; the
     * fill does not count as a write. touched: for each sector of 32 bytes, not 0 if launches read (or wrote) it since the last clear, and
     * the mark of the last launch that did; an atomic does both. NULL on cuda. */
    bool (*repeat)(struct device *dev, uint64_t address, const void *tile, size_t bytes, struct error *err);
    const uint8_t *(*touched)(struct device *dev, uint64_t address, bool written);
    /* emu: sets seen[i] to 1 when a kernel or a copy reads byte i of the buffer that begins at the address; NULL ends it. NULL on cuda. */
    void (*watch)(struct device *dev, uint64_t address, uint8_t *seen);
    /* Code. */
    bool (*load)(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err);
    void (*unload)(struct device *dev, struct device_module *module);
    bool (*function)(struct device *dev, struct device_module *module, const char *name, struct device_function **function,
                     struct error *err);
    int (*signature)(struct device *dev, const struct device_function *function, const struct param **params, size_t *param_bytes);
    bool (*symbol)(struct device *dev, struct device_module *module, const char *name, uint64_t *address, size_t *bytes, struct error *err);
    bool (*tensor_map)(struct device *dev, const struct device_tensor_map *map, void *out128, struct error *err);
    /* Queues the launch on the device's one stream. emu runs it at once. */
    bool (*launch)(struct device *dev, struct device_function *function, const struct device_launch *launch, struct error *err);
    bool (*sync)(struct device *dev, struct error *err);
    /* cuda: how many clusters of such a launch the driver says can be resident at once; 0 without clusters. NULL on emu. */
    bool (*clusters)(struct device *dev, struct device_function *function, const struct device_launch *launch, int *count,
                     struct error *err);
    /* emu: counters and safety reports since the last clear, in a fixed order. NULL on cuda. `line` 0: the whole launch; else one source
     * line. A counter's texts last until `visit` returns. */
    void (*counters)(struct device *dev, void (*visit)(void *context, const struct device_counter *counter, int line, double value),
                     void *context);
    /* emu: adds the counts of a sample's groups, each as often as its weight says, to the counters. NULL on cuda. */
    void (*weigh)(struct device *dev, struct device_function *function, const struct device_sample *sample);
    /* emu: the instructions that were counted, in the order of the PTX. NULL on cuda. */
    int (*instructions)(struct device *dev, const struct device_instruction **instructions);
    /* emu: the instructions that the warps of each group of the last launch executed, by the group's number; returns the number of groups,
     * 0 after a sample, after a launch with too many groups, or if blocks may take work from each other. Valid until the next launch. NULL
     * on cuda. */
    uint64_t (*group_work)(const struct device *dev, const uint32_t **work);
    /* emu: the share of a mean block's path that no block goes without, whatever its work, in the last launch or sample that was weighed;
     * 0: its blocks do the same, or take work from each other. NULL on cuda. */
    double (*group_fixed)(const struct device *dev);
    int (*reports)(struct device *dev, const struct device_report **reports);
    void (*clear)(struct device *dev);
    /* emu: later launches run their blocks in an order drawn from the seed (0: by number), and report threads that wait for each other
     * sooner. Returns true if, since the last call, a kernel ran whose result may depend on that order. NULL on cuda. */
    bool (*reorder)(struct device *dev, int seed);
    /* emu: false: functions that are looked up from now on count tensor instructions without computing their results, which would take most
     * of the time of such kernels. NULL on cuda. */
    void (*multiply)(struct device *dev, bool on);
    /* cuda: queues kernels that overwrite the registers, shared memory and local memory which earlier launches left behind. NULL on emu,
     * which tracks every write itself. */
    bool (*wipe_threads)(struct device *dev, struct error *err);
    /* Local memory of one thread of the function, in bytes. NULL on emu. */
    int (*frame_bytes)(struct device *dev, const struct device_function *function);
    /* cuda: time. Events resolve 32 ns on an H200 (0.5 us is documented). flush: on the stream, writes and then reads 2x the L2, and resets
     * persisting lines. */
    bool (*event)(struct device *dev, struct device_event **event, struct error *err);
    void (*event_free)(struct device *dev, struct device_event *event);
    bool (*record)(struct device *dev, struct device_event *event, struct error *err);
    bool (*elapsed)(struct device *dev, struct device_event *from, struct device_event *to, double *ns, struct error *err);
    bool (*flush)(struct device *dev, struct error *err);
    /* cuda: the SM clock. stamp queues a kernel that stores time and cycles into a slot (0 .. DEVICE_STAMPS - 1), which takes some
     * microseconds. stamped_hz, after a sync: cycles per second between two stamps, NAN if they ran on different SMs. NULL: not available.
     */
    bool (*stamp)(struct device *dev, int slot, struct error *err);
    double (*stamped_hz)(struct device *dev, int from, int to);
    /* cuda: a stream-blocking kernel, as nvbench has one. Without it, a timed sequence of launches would include the host's time for
     * queueing them whenever the host is slower than the GPU: `record; launch; launch; record` measures the gaps between the launches as
     * well. `block` queues a kernel that spins on a word of pinned host memory; the caller queues what it wants to time; `unblock` sets the
     * word, and everything runs back to back. Hazard: a call that waits for the GPU in between (a first launch that loads a module,
     * cudaFree in a library, a full launch queue) would wait forever. The kernel therefore gives up after DEVICE_BLOCK_NS. `unblocked`,
     * after a sync: true if the kernel was still spinning when `unblock` came; if not, the sample may contain host time and has to be taken
     * again. Caveats: it occupies one thread of one SM until it ends, and one launch slot; do not queue it inside a graph. NULL, all three:
     * not available. */
    bool (*block)(struct device *dev, struct error *err);
    void (*unblock)(struct device *dev);
    bool (*unblocked)(struct device *dev);
    /* cuda: the launch slot that the next launch gets: the number of launches so far modulo DEVICE_LAUNCH_SLOTS. On an H200 cold launches
     * in two of eight slots take some 0.9 us longer (docs/notes/2026-11-noise.md), so launches that are compared should use the same slot.
     * slots_used: adds launches that a library made itself. NULL: no slots. */
    int (*launch_slot)(struct device *dev);
    void (*slots_used)(struct device *dev, int launches);
    /* cuda: the launches that follow go to side stream `index`, which waits for what the main stream had queued before side streams were
     * used; 0: to the main stream again, which waits for all of them. In a capture the side streams become branches of the graph. NULL: one
     * stream. */
    bool (*stream)(struct device *dev, int index, struct error *err);
    /* Graphs: begin and end capture what is queued between them; graph_launches: how many launches the graph makes. */
    bool (*graph_begin)(struct device *dev, struct error *err);
    bool (*graph_end)(struct device *dev, struct device_graph **graph, struct error *err);
    bool (*graph_launch)(struct device *dev, struct device_graph *graph, struct error *err);
    int (*graph_launches)(struct device *dev, const struct device_graph *graph);
    void (*graph_free)(struct device *dev, struct device_graph *graph);
};

struct device {
    const struct device_ops *ops;
    struct chip chip; /* limits and rates: from the table for emu, from the driver for cuda (rates from the table) */
    char spec[64];    /* "cuda:0", "emu:GH100" */
    char about[160];  /* "NVIDIA H200 · driver 580.159.04 · 132 SMs", "emu · GH100 (sm_90a)" */
    char uuid[64];    /* "" on emu */
    char driver[64];
    struct phase_clock *clock; /* attributes the time spent on it to phases; NULL: off */
    struct device *witness;    /* an emu device on which the reference kernels that run here are checked as well; not owned; NULL: none */
    /* Called before the launch of a kernel that belongs to no row and may never end, with its time limit and the error to report after
     * that time; and again after the kernel with NULL. The callee may end this process. NULL: no callback. */
    void (*endless)(void *context, double limit_s, const struct error *late);
    void *endless_context;
    void *private_data;
};

void device_close(struct device *dev);
void device_sample_free(struct device_sample *sample);
/* True if a driver and a GPU answer. Loads the driver: call it only in a short-lived worker. */
bool device_cuda_present(char *why, size_t why_bytes);
/* The UUID of cuda:N without opening it, so that the GPU stays unused. Loads the driver as well. */
/* The GPUs that this process may use, by number; -1 on error. Free the array. */
struct cuda_gpu {
    char uuid[64], pci[32]; /* "GPU-...", "0000:3b:00.0"; "": not known */
};
int device_cuda_list(struct cuda_gpu **gpus, struct error *err);
bool device_cuda_uuid(const char *spec, char *uuid, size_t bytes, struct error *err);
