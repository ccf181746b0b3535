/* emu/check/report: the table of reports of a launch. */
#pragma once

#include "device/device.h"
#include "emu/exec.h"
#include <pthread.h>

#define REPORT_MAX 256 /* different places; more are counted in the last one */
struct report_entry {
    struct device_report r;
    uint64_t position; /* of the example: block, warp, lane */
    uint32_t index;    /* instruction */
    bool note;         /* no error */
};
struct report_table {
    pthread_mutex_t lock;
    struct report_entry entries[REPORT_MAX];
    int count;
    const char *label; /* of the variant */
};
