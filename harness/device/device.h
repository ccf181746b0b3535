/* device/device: one interface to a GPU (`cuda:0`) and to the embedded PTX interpreter (`emu`, `emu:GH100`).
 *
 * A device runs single launches on one stream and answers with plain numbers. It knows nothing of variants, works and rows. Addresses are
 * device addresses; on emu they live in an emulated space of their own. To add a device: one .c and one line in device_table
 * (run/child/devices.c). */
#ifndef BENCH_DEVICE_DEVICE_H
#define BENCH_DEVICE_DEVICE_H

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
/* What names a plan of the vendor's library: its engine, and where a heuristic listed it. */
struct library_plan {
    int engine;
    char heuristic;
    int rank;
};
struct device_module;   /* a loaded PTX / cubin image */
struct device_function; /* a kernel inside it */
struct device_event;
struct device_graph;

/* Compiled code. The device takes what it can run: emu the PTX, cuda the cubin (PTX when the arch differs). */
struct device_memory { /* outside of buffers: its own variables by name, whether it calls malloc, and what tells it one launch from another
                        */
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
    const struct device_memory *memory; /* what it refers to, where somebody has looked (rig_scan_image); else NULL */
};
/* A kernel parameter as the compiled signature has it, from the PTX. */
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
};
struct device_launch {
    uint32_t grid[3], block[3], cluster[3];
    uint32_t smem; /* dynamic, bytes */
    bool cooperative, pdl;
    int carveout;       /* %, -1 = default */
    const void *params; /* packed by the signature's offsets; 128-byte tensor maps inside it were made by tensor_map */
    size_t param_bytes;
    double time_limit_s;  /* emu: gives up with an error after this long; 0 = none */
    uint64_t entries_max; /* emu: block entries that a warp may take between two waits; 0: over 4 thousand million */
    const uint64_t *only; /* emu: these blocks alone, each once, by x + grid x (y + grid y z), of a grid without clusters; NULL: all */
    int only_count;
};
/* An event of the device's safety checks (emu): "global read of 4 bytes at 0x..., offset 4096 of `input`, which has 4096 (block 3,0,0
 * thread 31,0,0)". Without a source line (`line` 0) the text begins with the line of the PTX. */
struct device_report {
    char kind[32]; /* out_of_bounds, misaligned, uninitialised, race, divergent_barrier, inactive_lane, cp_async_wait, trap, assert,
                      deadlock, unsupported, time_limit */
    char text[512];
    char file[256];
    int line;
    uint64_t count;
};
/* What is counted (emu). */
struct device_counter {
    const char *name, *word, *unit; /* "emu.warp_fma", of the words behind its family's: "fma" */
    bool warp;                      /* counts instructions of one kind that warps executed */
};
/* An instruction that ran since the last clear (emu): where it stands, and what it counted. */
struct device_instruction {
    int ptx_line, line; /* of the PTX; of the kernel's own file, 0: none */
    char inlined[64];   /* "tile.cuh:31": where it stands, when that is another file than the kernel's; "" */
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
    /* `spec` is what follows the colon ("" , "0", "GH100"). Fills dev->chip and dev->about. */
    bool (*open)(struct device *dev, const char *spec, struct error *err);
    void (*close)(struct device *dev);
    /* Buffers. `label` is what messages call it. Addresses are 512-byte aligned. */
    bool (*alloc)(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err);
    void (*release)(struct device *dev, uint64_t address);
    /* cuda: buffers that no kernel reaches but between reach(true) and reach(false), which wait; they begin within reach. Address 0: all
     * of them. NULL elsewhere: alloc will do. */
    bool (*alloc_guarded)(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err);
    bool (*reach)(struct device *dev, uint64_t address, bool within, struct error *err);
    /* cuda: bytes that are free. NULL elsewhere: nobody counts them. */
    size_t (*spare)(struct device *dev);
    /* Both wait for what is queued. */
    bool (*write)(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err);
    bool (*read)(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err);
    bool (*fill)(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes,
                 struct error *err); /* 32-bit pattern; bytes % 4 may be != 0 */
    bool (*copy)(struct device *dev, uint64_t to, uint64_t from, size_t bytes, struct error *err);
    /* emu: marks a buffer's bytes as never written, so that a read of them is reported. NULL on cuda. */
    void (*forget)(struct device *dev, uint64_t address, size_t bytes);
    /* emu: did a kernel write to the buffer, whatever values, since the host wrote there? NULL on cuda. */
    bool (*stored)(struct device *dev, uint64_t address);
    /* A bit for each byte from there on, 8 bytes a byte: the host or a kernel wrote it. NULL: nobody keeps it. */
    const uint8_t *(*known)(struct device *dev, uint64_t address);
    /* Code. */
    bool (*load)(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err);
    void (*unload)(struct device *dev, struct device_module *module);
    bool (*function)(struct device *dev, struct device_module *module, const char *name, struct device_function **function,
                     struct error *err);
    int (*signature)(struct device *dev, const struct device_function *function, const struct param **params, size_t *param_bytes);
    bool (*symbol)(struct device *dev, struct device_module *module, const char *name, uint64_t *address, size_t *bytes, struct error *err);
    bool (*tensor_map)(struct device *dev, const struct device_tensor_map *map, void *out128, struct error *err);
    /* Queued on the one stream. emu runs at once. */
    bool (*launch)(struct device *dev, struct device_function *function, const struct device_launch *launch, struct error *err);
    bool (*sync)(struct device *dev, struct error *err);
    /* cuda: clusters of such a launch that the GPU holds at once, by the driver; 0 without clusters. NULL on emu. */
    bool (*clusters)(struct device *dev, struct device_function *function, const struct device_launch *launch, int *count,
                     struct error *err);
    /* emu: counters and safety reports since the last clear, in a fixed order. NULL on cuda. `line` 0 = whole launch, else per source line.
     */
    void (*counters)(struct device *dev, void (*visit)(void *context, const struct device_counter *counter, int line, double value),
                     void *context);
    /* emu: the instructions behind them, in the order of the PTX. NULL on cuda. */
    int (*instructions)(struct device *dev, const struct device_instruction **instructions);
    int (*reports)(struct device *dev, const struct device_report **reports);
    void (*clear)(struct device *dev);
    /* emu: launches from now on take their blocks in another order for each seed, 0: as they are numbered, and give up early on threads
     * that wait for one another. True: since the last call a kernel ran whose results may hang on that order. NULL on cuda. */
    bool (*reorder)(struct device *dev, int seed);
    /* cuda: overwrites, on the stream, what threads of earlier launches left where they ran: registers, shared and local memory. NULL on
     * emu, which knows who wrote what. */
    bool (*wipe_threads)(struct device *dev, struct error *err);
    /* Local memory of a thread of the function, in bytes. NULL on emu. */
    int (*frame_bytes)(struct device *dev, const struct device_function *function);
    /* cuda: time. Events resolve 32 ns on an H200 (0.5 us is promised). flush: writes, then reads back, 2x L2, on the stream, and resets
     * persisting lines. */
    bool (*event)(struct device *dev, struct device_event **event, struct error *err);
    void (*event_free)(struct device *dev, struct device_event *event);
    bool (*record)(struct device *dev, struct device_event *event, struct error *err);
    bool (*elapsed)(struct device *dev, struct device_event *from, struct device_event *to, double *ns, struct error *err);
    bool (*flush)(struct device *dev, struct error *err);
    /* cuda: the SMs' clock as the stream sees it. stamp queues a note of time and cycles into a slot (0 .. DEVICE_STAMPS - 1) that takes
     * some microseconds; between two notes, after a sync: cycles per second, NAN when they come of different SMs. NULL: not to be had. */
    bool (*stamp)(struct device *dev, int slot, struct error *err);
    double (*stamped_hz)(struct device *dev, int from, int to);
    /* cuda: what is queued behind hold begins when let_go says so, and not before all of it is queued: how long the host takes is no part
     * of a time then. Whoever waits for the GPU in between waits DEVICE_BLOCK_NS, and gets it back; held, after a sync: did it wait for
     * let_go? NULL, all three: not to be had. */
    bool (*block)(struct device *dev, struct error *err);
    void (*unblock)(struct device *dev);
    bool (*unblocked)(struct device *dev);
    /* cuda: the turn, of DEVICE_LAUNCH_SLOTS, that the next launch has: so many launches were seen, those in graphs among them. turned: a
     * library made so many that were not. NULL: launches have no turns. */
    int (*launch_slot)(struct device *dev);
    void (*slots_used)(struct device *dev, int launches);
    /* Graphs: everything queued between begin and end becomes one graph; launches: how many it makes. */
    bool (*graph_begin)(struct device *dev, struct error *err);
    bool (*graph_end)(struct device *dev, struct device_graph **graph, struct error *err);
    bool (*graph_launch)(struct device *dev, struct device_graph *graph, struct error *err);
    int (*graph_launches)(struct device *dev, const struct device_graph *graph);
    void (*graph_free)(struct device *dev, struct device_graph *graph);
};

struct device {
    const struct device_ops *ops;
    struct chip chip; /* the limits and rates in force: the table's for emu, the driver's (rates from the table) for cuda */
    char spec[64];    /* "cuda:0", "emu:GH100" */
    char about[160];  /* "NVIDIA H200 · driver 580.159.04 · 132 SMs", "emu · GH100 (sm_90a)" */
    char uuid[64];    /* "" on emu */
    char driver[64];
    struct phase_clock *clock; /* of whoever wants to know what takes the time on it; NULL: nobody */
    struct device *witness;    /* an interpreter, to which reference kernels are held that run here; not owned; NULL: none */
    /* Told before a kernel that is no row's is launched and may never end, with how long it may take and what is to be said then, and
     * afterwards (NULL): whoever can end this process listens. NULL: nobody. */
    void (*endless)(void *context, double limit_s, const struct error *late);
    void *endless_context;
    void *private_data;
};

void device_close(struct device *dev);
/* The best present: "cuda:0" when a driver and a GPU answer, else "emu". Loads the driver: call it in a throw-away worker only. */
bool device_cuda_present(char *why, size_t why_bytes);
/* The UUID of cuda:N without opening it: whoever asks is not on the GPU. Loads the driver, too. */
bool device_cuda_uuid(const char *spec, char *uuid, size_t bytes, struct error *err);

#endif
