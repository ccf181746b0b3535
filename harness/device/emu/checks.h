/* device/emu/checks: the table of reports of a launch, and the shadow of shared memory. */
#ifndef BENCH_DEVICE_EMU_CHECKS_H
#define BENCH_DEVICE_EMU_CHECKS_H

#include "device/device.h"
#include "device/emu/exec.h"
#include <pthread.h>

#define REPORT_MAX 256 /* different places; more are counted in the last one */
struct report_entry {
    struct device_report r;
    uint64_t position; /* of the example: block, warp, lane */
    uint32_t index;    /* instruction */
};
struct report_table {
    pthread_mutex_t lock;
    struct report_entry entries[REPORT_MAX];
    int count;
    const char *label; /* of the variant */
};

/* Of each 4-byte word of shared memory: who wrote it last and who has read it since, as (warp's clock << 6 | warp), 0 = nobody. */
struct shadow {
    uint32_t *writer, *reader; /* reader: SHADOW_MANY with the block's barrier generation when several warps read */
    uint32_t words;
    uint32_t generation;
    uint8_t *writer_lane; /* 255: an atomic */
};
#define SHADOW_MANY 63u

#endif
