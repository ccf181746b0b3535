#include "emu/device/fits.h"
#include <string.h>

/* The rule of ptxas 13.0, which does not see code that was compiled to PTX only. For targets with `a` it accepts the maximum of a block
 * (12.9 accepts 48 KB there, too). */
static bool static_fits(const struct chip *chip, const struct program *program, const char *label, struct error *err)
{
    size_t bytes = program->shared_bytes - SHARED_RESERVED, most = chip->smem_per_block ? chip->smem_per_block : 49152;
    if (bytes <= most || strchr(chip->arch, 'a'))
        return true;
    return error_set(err, ERROR_USAGE,
                     "%s: '%s' has %zu bytes of static shared memory; for %s the compiler takes at most %zu: use dynamic shared memory",
                     label, program->functions[0].ptx->name, bytes, chip->arch, most);
}

bool launch_fits(const struct chip *chip, const struct program *program, const char *label, const struct device_launch *l,
                 struct error *err)
{
    const struct ptx_function *entry = program->functions[0].ptx;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    int most = chip->threads_per_block > 0 ? chip->threads_per_block : 1024;
    size_t smem = (size_t)(program->shared_bytes - SHARED_RESERVED) + l->smem,
           limit = chip->smem_per_block_optin ? chip->smem_per_block_optin : 232448;
    for (int i = 0; i < 3; i++) {
        if (!l->grid[i] || !l->block[i] || l->grid[i] > (i ? 65535u : 0x7fffffffu) || l->block[i] > 1024)
            return error_set(err, ERROR_USAGE, "%s: grid %u,%u,%u block %u,%u,%u cannot be launched", label, l->grid[0], l->grid[1],
                             l->grid[2], l->block[0], l->block[1], l->block[2]);
        if (l->cluster[i] > 1 && l->grid[i] % l->cluster[i])
            return error_set(err, ERROR_USAGE, "%s: the grid is not a multiple of the cluster", label);
        if (entry->req_threads[0] && (uint32_t)entry->req_threads[i] != l->block[i])
            return error_set(err, ERROR_USAGE, "%s: '%s' requires blocks of %d,%d,%d threads", label, entry->name, entry->req_threads[0],
                             entry->req_threads[1], entry->req_threads[2]);
    }
    if (threads > (uint64_t)most)
        return error_set(err, ERROR_USAGE, "%s: %llu threads in a block; %d at most", label, (unsigned long long)threads, most);
    if (entry->max_threads > 0 && threads > (uint64_t)entry->max_threads)
        return error_set(err, ERROR_USAGE, "%s: %llu threads in a block; __launch_bounds__ of '%s' says %d", label,
                         (unsigned long long)threads, entry->name, entry->max_threads);
    if (!static_fits(chip, program, label, err))
        return false;
    if (smem > limit)
        return error_set(err, ERROR_USAGE, "%s: %zu bytes of shared memory in a block; %s has %zu", label, smem, chip->name, limit);
    if (l->param_bytes != program->param_bytes)
        return error_set(err, ERROR_USAGE, "%s: %zu bytes of parameters; '%s' takes %u", label, l->param_bytes, entry->name,
                         program->param_bytes);
    uint64_t cluster =
        (uint64_t)(l->cluster[0] ? l->cluster[0] : 1) * (l->cluster[1] ? l->cluster[1] : 1) * (l->cluster[2] ? l->cluster[2] : 1);
    if (l->cooperative && l->cluster[1] * l->cluster[2] > 1)
        return error_set(err, ERROR_USAGE, "%s: a cooperative grid of clusters in y or z is not supported", label);
    if (cluster > CLUSTER_MAX)
        return error_set(err, ERROR_USAGE, "%s: a cluster of %llu blocks; %d at most", label, (unsigned long long)cluster, CLUSTER_MAX);
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    if (l->cooperative && blocks > (uint64_t)(chip->sm_count > 0 ? chip->sm_count : 132) * 32)
        return error_set(err, ERROR_USAGE, "%s: a cooperative grid of %llu blocks exceeds the resident blocks of the chip", label,
                         (unsigned long long)blocks);
    return true;
}
