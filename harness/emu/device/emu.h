/* emu/device/emu: the embedded device: runs PTX warp by warp on the CPU, checks results and memory safety, and counts exactly; it measures
 * no time.
 *
 * Addresses live in an emulated space (512-byte aligned, gaps between buffers), never host pointers. launch() returns false when the kernel
 * could not finish (trap, assert, deadlock, time limit, an instruction emu does not know); findings of the safety checks let it finish:
 * ask reports() afterwards. Counters and reports do not depend on the number of threads. Meaning of the counters: docs/EMU.md. */
#pragma once

#include "device/device.h"

extern const struct device_ops emu_device;
/* Host threads to use (0 = base/pool's) and which checks run: all by default; bounds are always checked. */
void emu_set_threads(struct device *dev, int threads);
/* Another order of the blocks; 0: as they are numbered. */
void emu_set_seed(struct device *dev, int seed);
void emu_set_checks(struct device *dev, bool on);
/* Did the host or a kernel write all of these bytes? Without the checks, a kernel's stores are recorded by sectors of 32 bytes, and until
 * clear. */
bool emu_written(struct device *dev, uint64_t address, size_t bytes);
/* What the checks saw that is not an error (kind same_value), as reports() gives errors. */
int emu_notes(const struct device *dev, const struct device_report **notes);
/* The host instruction set of the handlers: "portable", "v3" (AVX2), "v4" (AVX-512), "jit" (AVX-512 with compiled sequences);
 * $BENCH_EMU_ISA selects a lower one. */
const char *emu_isa_name(void);
/* The file that the lines of counters() are of: as the PTX names it; "" before a launch, or when it names none (lines of the PTX). */
const char *emu_source_file(const struct device *dev);
