/* One plan: its facts, its variant pack, and running it. */
#include "base/text.h"
#include "device/cudnn/private.h"
#include <stdlib.h>
#include <string.h>

void cudnn_plan_free(struct cudnn_plan *p)
{
    if (!p || --p->users > 0)
        return;
    if (p->pack)
        p->api->cudnnBackendDestroyDescriptor(p->pack);
    if (!p->of) {
        p->api->cudnnBackendDestroyDescriptor(p->plan);
        p->api->cudnnBackendDestroyDescriptor(p->configuration);
    }
    cudnn_graph_release(p->graph);
    cudnn_plan_free(p->of);
    free(p);
}

const struct cudnn_plan_facts *cudnn_plan_facts(const struct cudnn_plan *plan)
{
    return &plan->facts;
}

/* addresses: x, w, y, bias, residual, workspace, in the order of the UIDs. */
static bool pack_make(struct cudnn_plan *p, const uint64_t addresses[6], struct error *err)
{
    int64_t uids[5], count = 0;
    void *pointers[5], *workspace = (void *)(uintptr_t)addresses[5];
    uint64_t narrow = p->graph->narrow_bias;
    for (int64_t uid = UID_X; uid <= UID_RESIDUAL; uid++)
        if (p->tensors & 1u << uid) {
            uids[count] = uid;
            pointers[count++] = (void *)(uintptr_t)(uid == UID_BIAS && narrow ? narrow : addresses[uid - UID_X]);
        }
    if (p->pack)
        p->api->cudnnBackendDestroyDescriptor(p->pack);
    p->pack = NULL;
    int status = p->api->cudnnBackendCreateDescriptor(DESCRIPTOR_VARIANT_PACK, &p->pack);
    if (status == STATUS_SUCCESS)
        status = p->api->cudnnBackendSetAttribute(p->pack, ATTR_VARIANT_PACK_UNIQUE_IDS, TYPE_INT64, count, uids);
    if (status == STATUS_SUCCESS)
        status = p->api->cudnnBackendSetAttribute(p->pack, ATTR_VARIANT_PACK_DATA_POINTERS, TYPE_VOID_PTR, count, pointers);
    if (status == STATUS_SUCCESS)
        status = p->api->cudnnBackendSetAttribute(p->pack, ATTR_VARIANT_PACK_WORKSPACE, TYPE_VOID_PTR, 1, &workspace);
    if (status == STATUS_SUCCESS)
        status = p->api->cudnnBackendFinalize(p->pack);
    if (status == STATUS_SUCCESS) {
        memcpy(p->addresses, addresses, sizeof p->addresses);
        return true;
    }
    if (p->pack)
        p->api->cudnnBackendDestroyDescriptor(p->pack);
    p->pack = NULL;
    return cudnn_failed(p->api, status, p->facts.text, err);
}

bool cudnn_prepare(struct cudnn *h, const struct cudnn_plan *plan, uint64_t bias, struct error *err)
{
    struct cudnn_graph *g = plan->graph;
    if (!g->narrow_bias)
        return true;
    g->prepared_bias = 0;
    if (!cudnn_narrow(h, g, bias, err))
        return false;
    g->prepared_bias = bias;
    return true;
}

bool cudnn_execute(struct cudnn *h, const struct cudnn_plan *plan, uint64_t x, uint64_t w, uint64_t y, uint64_t bias, uint64_t residual,
                   uint64_t workspace, struct error *err)
{
    struct cudnn_plan *p = (struct cudnn_plan *)(uintptr_t)plan; /* its pack is a cache */
    const uint64_t addresses[6] = {x, w, y, bias, residual, workspace};
    if (!h->handle)
        return error_set(err, ERROR_INTERNAL, "cuDNN: a device description cannot execute anything");
    if ((!p->pack || memcmp(addresses, p->addresses, sizeof addresses)) && !pack_make(p, addresses, err))
        return false;
    if (p->graph->narrow_bias && p->graph->prepared_bias != bias && !cudnn_narrow(h, p->graph, bias, err))
        return false;
    int status = h->api->cudnnBackendExecute(h->handle, p->plan, p->pack);
    return status == STATUS_SUCCESS || cudnn_failed(h->api, status, p->facts.text, err);
}

char *cudnn_plan_text(const struct cudnn_plan_facts *facts)
{
    return text_format("%s, mode %c rank %d,", facts->text, facts->mode, facts->rank);
}
