/* Buffers that are mapped only while a kernel may use them; mapped and unmapped as a whole. */
#include "base/text.h"
#include "device/cuda/private.h"
#include <stdlib.h>

static CUmemAllocationProp properties(const struct cuda_state *s)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = s->device}};
}

static bool map(struct cuda_state *s, struct cuda_guarded *a, struct error *err)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = s->device},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (a->mapped)
        return true;
    if (!cuda_check(s, s->api->cuMemMap(a->address, a->bytes, 0, a->memory, 0), "mapping memory", err))
        return false;
    a->mapped = true;
    return cuda_check(s, s->api->cuMemSetAccess(a->address, a->bytes, &access, 1), "mapping memory", err);
}

static bool unmap(struct cuda_state *s, struct cuda_guarded *a, struct error *err)
{
    if (!a->mapped)
        return true;
    a->mapped = false;
    return cuda_check(s, s->api->cuMemUnmap(a->address, a->bytes), "unmapping memory", err);
}

static void guarded_free(struct cuda_state *s, struct cuda_guarded *a)
{
    unmap(s, a, NULL);
    if (a->memory)
        s->api->cuMemRelease(a->memory);
    if (a->address)
        s->api->cuMemAddressFree(a->address, a->bytes);
    *a = (struct cuda_guarded){0};
}

bool cuda_alloc_guarded(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    struct cuda_guarded a = {0};
    CUmemAllocationProp p = properties(s);
    size_t grain = 0;
    if (!cuda_check(s, s->api->cuMemGetAllocationGranularity(&grain, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM), label, err) || !grain)
        return false;
    a.bytes = (bytes / grain + 1) * grain;
    bool ok = cuda_check(s, s->api->cuMemAddressReserve(&a.address, a.bytes, 0, 0, 0), label, err) &&
              cuda_check(s, s->api->cuMemCreate(&a.memory, a.bytes, &p, 0), label, err) && map(s, &a, err);
    if (!ok) {
        guarded_free(s, &a);
        return false;
    }
    *APPEND(s->guarded, s->guarded_count) = a;
    *address = a.address;
    return true;
}

bool cuda_release_guarded(struct cuda_state *s, uint64_t address)
{
    for (int i = 0; i < s->guarded_count; i++)
        if (s->guarded[i].address == address) {
            guarded_free(s, &s->guarded[i]);
            s->guarded[i] = s->guarded[--s->guarded_count];
            return true;
        }
    return false;
}

void cuda_guarded_close(struct cuda_state *s)
{
    while (s->guarded_count > 0)
        guarded_free(s, &s->guarded[--s->guarded_count]);
    free(s->guarded);
}

bool cuda_reach(struct device *dev, uint64_t address, bool within, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    bool ok = s->guarded_count == 0 || cuda_sync(dev, err); /* what is queued may still use it */
    return ok && ALL_OF(i, s->guarded_count,
                        address && s->guarded[i].address != address ? true
                        : within                                    ? map(s, &s->guarded[i], err)
                                                                    : unmap(s, &s->guarded[i], err));
}
