/* measure/time/roofs: measures the ceilings of this machine: bytes per second of copy, L2 and shared memory, FLOP per second of each
 * pipe, the time of an empty launch.
 *
 * It uses kernels that do one thing (kernels/roofs/roofs.cu) and, if cublasLt is available, its matrix products, and keeps the better
 * value. Each value is the best of a few bursts of about 2 ms on an otherwise idle GPU, with random data, at the clocks that the GPU
 * chooses: a limit for kernels as short as one layer, not the rate that the GPU sustains for minutes. */
#pragma once

#include "device/chip/roof.h"
#include "device/device.h"
#include "measure/job.h"

/* The work of one launch of a kernel in kernels/roofs/roofs.cu. */
struct roof_kernel {
    const char *roof, *kernel; /* "shared", "roof_shared" */
    const char *unit;          /* of the rate: B/s or FLOP/s */
    int cc_from, cc_to;        /* compute capabilities (x 10) that have it */
    int blocks_per_sm;         /* of 256 threads; 0 = as many as cover the data once */
    int smem;                  /* dynamic, bytes */
    double per_thread;         /* bytes or FLOP of one thread in one iteration */
};
extern const struct roof_kernel roof_kernels[]; /* ends with roof NULL */
#define ROOF_THREADS 256
#define ROOF_BLOCK_PIECES 1024 /* pieces of 16 bytes that a block of roof_copy and roof_l2 touches in one iteration */
/* The work of `blocks` blocks in `iterations`. */
double roof_amount(const struct roof_kernel *k, int blocks, int iterations);
/* roofs.cu for the compiler; the caller frees. */
char *roofs_source(void);

/* Needs a device that keeps time. wait: with everything loaded, first waits until that job is interrupted; NULL: measures at once. Leaves
 * out what it cannot measure (a pipe that the chip lacks, no memory) and says so in `note` ("" if nothing is missing). compiler: as in
 * compile_request. */
bool roofs_measure(struct device *dev, const char *compiler, const struct job *wait, struct ceiling_list *out, char *note,
                   unsigned note_bytes, struct error *err);
/* A short check of one GPU of several, about 0.3 s: rates of copy, f32 and f16 products, the difference (aa) and spread of the same burst
 * timed in turns, clocks, temperature, throttle reasons (bits of device/chip/throttle.h), uncorrectable ECC errors. */
bool roofs_check(struct device *dev, const char *compiler, struct ceiling_list *out, struct error *err);
