#include "device/chip/occupancy.h"
#include "base/text.h"
#include <cuda_occupancy.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

const char *occupancy_limit_name(enum occupancy_limit limit)
{
    static const char *const names[LIMIT_COUNT] = {"none", "warps", "blocks", "regs", "smem"};
    return limit >= 0 && limit < LIMIT_COUNT ? names[limit] : "none";
}

/* Asks CUDA's own calculator. False when it does not know the chip or the question makes no sense. */
static bool ask(const struct chip *chip, const struct occupancy_query *q, cudaOccResult *result)
{
    cudaOccDeviceProp device = {
        .computeMajor = chip->cc / 10,
        .computeMinor = chip->cc % 10,
        .maxThreadsPerBlock = chip->threads_per_block,
        .maxThreadsPerMultiprocessor = chip->threads_per_sm,
        .regsPerBlock = chip->registers_per_block,
        .regsPerMultiprocessor = chip->registers_per_sm,
        .warpSize = chip->warp_size,
        .sharedMemPerBlock = chip->smem_per_block,
        .sharedMemPerMultiprocessor = chip->smem_per_sm,
        .numSms = chip->sm_count > 0 ? chip->sm_count : 1, /* an unknown number changes nothing of one SM */
        .sharedMemPerBlockOptin = chip->smem_per_block_optin,
        .reservedSharedMemPerBlock = chip->smem_reserved,
    };
    cudaOccFuncAttributes function = {
        .maxThreadsPerBlock = INT_MAX,
        .numRegs = q->registers,
        .sharedSizeBytes = q->static_smem,
        .partitionedGCConfig = PARTITIONED_GC_OFF,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = q->dynamic_smem,
        .numBlockBarriers = 1,
    };
    cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_NONE,
                                .carveoutConfig = q->carveout < 0 ? SHAREDMEM_CARVEOUT_DEFAULT : q->carveout};
    bool fits = q->block_threads <= SHRT_MAX && q->registers <= SHRT_MAX && q->static_smem <= INT_MAX / 4 &&
                q->dynamic_smem <= INT_MAX / 4; /* the calculator works in int, and multiplies the first two */
    if (q->block_threads < 1 || q->registers < 0 || !fits)
        return false;
    memset(result, 0, sizeof *result);
    return cudaOccMaxActiveBlocksPerMultiprocessor(result, &device, &function, &state, q->block_threads, q->dynamic_smem) ==
           CUDA_OCC_SUCCESS;
}

static int warps_of(const struct chip *chip, int threads)
{
    return (threads + chip->warp_size - 1) / chip->warp_size;
}

static void occupancy_fill(const struct chip *chip, const struct occupancy_query *q, const cudaOccResult *r, struct occupancy *o)
{
    o->blocks_per_sm = r->activeBlocksPerMultiprocessor;
    o->warps_per_sm = o->blocks_per_sm * warps_of(chip, q->block_threads);
    o->share = (double)o->warps_per_sm / chip->warps_per_sm;
    o->possible = o->blocks_per_sm > 0;
    o->smem_per_block = r->allocatedSharedMemPerBlock;
    o->blocks_by[LIMIT_WARPS] = r->blockLimitWarps;
    o->blocks_by[LIMIT_BLOCKS] = r->blockLimitBlocks;
    o->blocks_by[LIMIT_REGISTERS] = r->blockLimitRegs == INT_MAX ? chip->blocks_per_sm : r->blockLimitRegs;
    o->blocks_by[LIMIT_SMEM] = r->blockLimitSharedMem == INT_MAX ? chip->blocks_per_sm : r->blockLimitSharedMem;
    o->limit = LIMIT_WARPS; /* among equals the one that lies deepest: fewer registers lift nothing while the warps are used up */
    for (int i = LIMIT_WARPS; i < LIMIT_COUNT; i++)
        if (o->blocks_by[i] < o->blocks_by[o->limit])
            o->limit = (enum occupancy_limit)i;
}

/* The most registers with which `blocks` fit, as far as registers go; 0 = none. */
static int registers_for(const struct chip *chip, struct occupancy_query q, int blocks)
{
    cudaOccResult r;
    for (; q.registers > 0; q.registers--)
        if (ask(chip, &q, &r) && r.blockLimitRegs >= blocks)
            return q.registers;
    return 0;
}

/* The most bytes (static and dynamic) with which `blocks` fit, as far as shared memory goes; -1 = none. */
static long smem_for(const struct chip *chip, struct occupancy_query q, int blocks)
{
    long low = -1, high = (long)(q.static_smem + q.dynamic_smem);
    q.static_smem = 0;
    while (low < high) { /* fewer bytes never allow fewer blocks */
        long middle = low + (high - low + 1) / 2;
        cudaOccResult r;
        q.dynamic_smem = (size_t)middle;
        if (ask(chip, &q, &r) && r.blockLimitSharedMem >= blocks)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The block size nearest to the present one that keeps more warps, when shared memory does not stand in the way. */
static int better_block(const struct chip *chip, struct occupancy_query q, int warps, int *better_warps)
{
    int now = q.block_threads, best = 0;
    for (int threads = chip->warp_size; threads <= chip->threads_per_block; threads += chip->warp_size) {
        cudaOccResult r;
        q.block_threads = threads;
        if (!ask(chip, &q, &r))
            continue;
        int got = r.activeBlocksPerMultiprocessor * warps_of(chip, threads);
        if (got > warps && (!best || abs(threads - now) < abs(best - now))) {
            best = threads;
            *better_warps = got;
        }
    }
    return best;
}

static int blocks_with(const struct chip *chip, struct occupancy_query q, int registers, long smem)
{
    cudaOccResult r;
    q.registers = registers;
    q.static_smem = 0;
    q.dynamic_smem = (size_t)smem;
    return ask(chip, &q, &r) ? r.activeBlocksPerMultiprocessor : 0;
}

#define LEAST_REGISTERS 16 /* below this no compiler can do much, and no advice helps */

static void add_lift(const struct chip *chip, const struct occupancy_query *q, struct occupancy *o)
{
    SCOPED_TEXT t = {0};
    int want = o->blocks_per_sm + 1, better_warps = 0;
    int slots = o->blocks_by[LIMIT_WARPS] < o->blocks_by[LIMIT_BLOCKS] ? o->blocks_by[LIMIT_WARPS] : o->blocks_by[LIMIT_BLOCKS];
    if (want <= slots) { /* there is room for another block: what would it take? */
        bool registers = o->blocks_by[LIMIT_REGISTERS] < want, smem = o->blocks_by[LIMIT_SMEM] < want;
        int fewer = registers ? registers_for(chip, *q, want) : q->registers;
        long bytes = smem ? smem_for(chip, *q, want) : 0, used = (long)(q->static_smem + q->dynamic_smem);
        bool can = (registers || smem) && (!registers || fewer >= LEAST_REGISTERS) && (!smem || bytes >= 0);
        if (can && registers)
            text_addf(&t, "%d fewer registers (%d)", q->registers - fewer, fewer);
        if (can && smem)
            text_addf(&t, "%s%ld fewer bytes of shared memory (%ld)", registers ? " and " : "", used - bytes, bytes);
        if (can)
            text_addf(&t, want == 1 ? " let a block fit" : " give %d blocks per SM", blocks_with(chip, *q, fewer, smem ? bytes : used));
    }
    if (!t.len && q->static_smem + q->dynamic_smem == 0) {
        int threads = better_block(chip, *q, o->warps_per_sm, &better_warps);
        if (threads)
            text_addf(&t, "blocks of %d threads give %d warps per SM", threads, better_warps);
    } else if (!t.len && o->limit == LIMIT_BLOCKS) {
        text_addf(&t, "larger blocks: at most %d fit on an SM", chip->blocks_per_sm);
    } else if (!t.len && o->limit == LIMIT_WARPS && o->possible) {
        text_addf(&t, "blocks whose warps divide %d", chip->warps_per_sm);
    }
    snprintf(o->lift, sizeof o->lift, "%s", text_get(&t));
}

int occupancy_warps(const struct chip *chip, const struct occupancy_query *q)
{
    cudaOccResult r;
    return ask(chip, q, &r) ? r.activeBlocksPerMultiprocessor * warps_of(chip, q->block_threads) : 0;
}

struct occupancy occupancy_of(const struct chip *chip, const struct occupancy_query *q)
{
    struct occupancy o = {.limit = LIMIT_NONE};
    cudaOccResult result;
    if (!ask(chip, q, &result))
        return o;
    occupancy_fill(chip, q, &result, &o);
    if (o.warps_per_sm < chip->warps_per_sm)
        add_lift(chip, q, &o);
    return o;
}

double occupancy_waves(const struct chip *chip, const struct occupancy *o, double grid_blocks)
{
    if (!o->possible || chip->sm_count < 1)
        return NAN;
    return grid_blocks / ((double)o->blocks_per_sm * chip->sm_count);
}

void occupancy_need(const struct chip *chip, const struct occupancy_query *query, enum occupancy_limit limit, int blocks, char *out,
                    size_t bytes)
{
    struct occupancy o = {0};
    cudaOccResult result;
    *out = 0;
    if (!ask(chip, query, &result))
        return;
    occupancy_fill(chip, query, &result, &o);
    if (o.blocks_by[limit] >= blocks || blocks < 1)
        return;
    int registers = limit == LIMIT_REGISTERS ? registers_for(chip, *query, blocks) : 0;
    long smem = limit == LIMIT_SMEM ? smem_for(chip, *query, blocks) : -1;
    int warps = limit == LIMIT_WARPS ? chip->warps_per_sm / blocks : 0;
    if (registers >= LEAST_REGISTERS)
        snprintf(out, bytes, "%d fewer registers (%d)", query->registers - registers, registers);
    else if (smem >= 0)
        snprintf(out, bytes, "%ld fewer bytes of shared memory (%ld)", (long)(query->static_smem + query->dynamic_smem) - smem, smem);
    else if (warps > 0)
        snprintf(out, bytes, "blocks of at most %d threads", warps * chip->warp_size);
}

int occupancy_registers(const struct chip *chip, const struct occupancy_query *query, int blocks)
{
    struct occupancy_query q = *query;
    q.registers = chip->registers_per_thread;
    return registers_for(chip, q, blocks);
}

bool occupancy_tail(double waves, struct occupancy_tail *out)
{
    if (!(waves > 0) || !(waves < 1e9))
        return false;
    double rounds = ceil(waves);
    *out = (struct occupancy_tail){.waves = waves, .rounds = (int)rounds, .last = waves - (rounds - 1), .idle = 1 - waves / rounds};
    return true;
}

/* SMs come in groups of unequal sizes, and a cluster stays within one: what the driver reports on three H200s for blocks that fill an SM.
 */
static const struct {
    int blocks, clusters;
} gh100_132[] = {{2, 66}, {3, 39}, {4, 30}, {6, 17}, {8, 15}, {12, 7}, {16, 7}};

int occupancy_clusters(const struct chip *chip, const struct occupancy *o, int cluster_blocks)
{
    if (!o->possible || cluster_blocks < 1)
        return 0;
    int most = chip->sm_count / cluster_blocks;
    bool known = !strcmp(chip->name, "GH100") && chip->sm_count == 132 && cluster_blocks > 1;
    for (size_t i = 0; known && i < sizeof gh100_132 / sizeof *gh100_132; i++)
        if (cluster_blocks <= gh100_132[i].blocks) {
            most = gh100_132[i].clusters < most ? gh100_132[i].clusters : most;
            break;
        }
    return o->blocks_per_sm * most;
}
