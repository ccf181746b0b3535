/* measure/rig/buffer_pool: the buffers of a case whose rows are timed together.
 *
 * All rows use the same buffers, so no row is fast because of its addresses. Each buffer exists several times: inputs in *sets*, whose
 * values differ except for weights and masks; outputs, scratch and workspaces in *replicas*. The sampler draws one set and one replica
 * per launch, so a kernel cannot predict them (measure/time/sample). The pool also holds the device check, whose checksums compare a
 * timed launch with a verified launch. */
#pragma once

#include "measure/verify/device_check.h"
#include "measure/rig/rig_private.h"

struct buffer_pool;

#define POOL_REPLICAS 2

/* card: not owned, must outlive the pool; NULL: no checksums. */
struct buffer_pool *buffer_pool_open(struct device *dev, struct card *card, int sets, int replicas);
/* Close all rigs of the pool first. lost: the device may no longer answer, so its memory is not released. */
void buffer_pool_close(struct buffer_pool *pool, bool lost);
int buffer_pool_sets(const struct buffer_pool *pool);
int buffer_pool_replicas(const struct buffer_pool *pool);
struct card *buffer_pool_check(const struct buffer_pool *pool);
/* Returns buffer number `index` of this name and size. The first call allocates it, with `guard` bytes around it, and sets *fresh. */
bool buffer_pool_place(struct buffer_pool *pool, const char *name, int index, size_t bytes, size_t guard, struct place *out, bool *fresh,
                       struct error *err);
