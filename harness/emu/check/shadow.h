/* emu/check/shadow: what the race check knows of shared memory. */
#pragma once

#include <stdint.h>

/* The last writer and the readers of each grain of shared memory (1 << program.shared_shift bytes). Simple kernels: watch.inc; others:
 * (warp's clock << 7 | atomic << 6 | warp), 0 = none; reader warp 63: several. */
struct shadow {
    uint32_t *writer, *reader;
    uint32_t *lane_read;                  /* of the last read that a lane may overtake; NULL: there are none */
    uint32_t *source;                     /* of the bulk copy or wgmma that reads it, agents.h; NULL: there are none */
    uint32_t *lane;                       /* of the last write: warp.synced | the lane, MANY_LANES or NO_LANE */
    uint32_t *far_writer, *far_reader[2]; /* dsmem.h; readers of the block itself, of others; NULL: no cluster */
    uint32_t grains;
};
#define KNOWN_PENDING 0x80         /* in shared_known: copied by a cp.async that no lane has waited for */
#define EPOCH_MAX ((1u << 25) - 1) /* what fits a tag */
#define SHADOW_MANY 63u
#define SHADOW_ATOMIC 64u
#define SHADOW_UNREAD 64u /* of a reader: told of at an mbarrier before it was used */
