/* measure/rig/build: the compiled units of one row, and a cache that keeps the units of verified rows until the rows are timed. */
#pragma once

#include "device/compile/compile.h"
#include "device/device.h"
#include "op/program.h"
#include "measure/job.h"

struct build {
    struct compiled *units;
    struct device_image *images;
    int count;
};
struct compile_request build_request(const struct job *job, const struct unit *unit);
bool build_make(const struct job *job, const struct program *program, struct build *build, struct error *err);
/* The same for a program of which only the values matter (a nearby shape, the part that emu verifies): on emu its units may be PTX without
 * machine code. */
bool build_make_values(const struct job *job, const struct program *program, struct build *build, struct error *err);
void build_free(struct build *build);
/* Scans the images once for all rigs that use them (rig_scan_image). */
void build_scan(struct build *build);

/* The cached builds of one case's rows. The cache exists because reading an image again means hashing all of it. */
struct build_cache {
    struct build *kept; /* by row; NULL: none */
    int count, kept_case;
};
/* Moves the build out of `build` into the cache. Drops builds of another case first. */
void build_keep(struct build_cache *cache, const struct job *job, int row, struct build *build);
/* Moves the build out of the cache; false: not in the cache. */
bool build_kept(struct build_cache *cache, int row, struct build *build);
void build_drop(struct build_cache *cache);
