#include "device/cudnn/cudnn.h"
#include "base/pool.h"
#include "base/text.h"
#include "device/cuda/cuda.h"
#include "device/cudnn/private.h"
#include <stdio.h>
#include <string.h>

bool cudnn_open(struct device *dev, struct cudnn **handle, struct error *err)
{
    void *context, *stream;
    const struct cudnn_api *api;
    if (!cuda_native(dev, &context, &stream, err) || !(api = cudnn_api(err)))
        return false;
    struct cudnn *h = xcalloc(1, sizeof *h);
    h->api = api;
    h->dev = dev;
    int status = api->cudnnCreate(&h->handle);
    if (status == STATUS_SUCCESS)
        status = api->cudnnSetStream(h->handle, stream);
    if (status != STATUS_SUCCESS) {
        cudnn_failed(api, status, "it does not start", err);
        if (err && err->kind == ERROR_INTERNAL)
            err->kind = ERROR_ENVIRONMENT;
        error_hint(err, "%s was the newest found; BENCH_LIBRARY_PATH=FOLDER selects another one", api->library.path);
        cudnn_close(h);
        return false;
    }
    SCOPED char *described = cudnn_device(h);
    cudnn_set_builder(h, described);
    *handle = h;
    return true;
}

int cudnn_handles(struct cudnn *h, int wanted)
{
    int most = wanted < CUDNN_BUILDERS ? wanted : CUDNN_BUILDERS;
    most = most < pool_threads() ? most : pool_threads();
    if (!h->handle)
        return most;
    while (1 + h->builder_count < most && h->api->cudnnCreate(&h->builders[h->builder_count]) == STATUS_SUCCESS)
        h->builder_count++;
    return 1 + h->builder_count < most ? 1 + h->builder_count : most;
}

void *cudnn_handle_of(struct cudnn *h, int thread)
{
    if (!thread || !h->handle)
        return h->handle;
    return cuda_enter(h->dev, NULL) ? h->builders[thread - 1] : NULL;
}

void cudnn_close(struct cudnn *handle)
{
    if (!handle)
        return;
    cudnn_cache_free(handle);
    while (handle->builder_count > 0)
        handle->api->cudnnDestroy(handle->builders[--handle->builder_count]);
    if (handle->narrow_module)
        handle->dev->ops->unload(handle->dev, handle->narrow_module);
    if (handle->properties)
        handle->api->cudnnBackendDestroyDescriptor(handle->properties);
    if (handle->handle)
        handle->api->cudnnDestroy(handle->handle);
    json_decref(handle->choice_file);
    FREE_ALL(handle->choices_path, handle->builder, handle->place, handle->choices, handle);
}

void cudnn_only(struct cudnn *handle, const struct library_plan *which)
{
    handle->only = which;
}

void cudnn_version(const struct cudnn *handle, char *out, size_t bytes)
{
    size_t v = handle->api->cudnnGetVersion(); /* 91900: 9.19.0 */
    snprintf(out, bytes, "cudnn %zu.%zu.%zu", v / 10000, v % 10000 / 100, v % 100);
}

bool cudnn_describe(const char *device, struct cudnn **handle, struct error *err)
{
    const struct cudnn_api *api = cudnn_api(err);
    if (!api)
        return false;
    struct cudnn *h = xcalloc(1, sizeof *h);
    h->api = api;
    int status = api->cudnnBackendCreateDescriptor(DESCRIPTOR_DEVICEPROP, &h->properties);
    if (status == STATUS_SUCCESS)
        status =
            api->cudnnBackendSetAttribute(h->properties, ATTR_DEVICEPROP_JSON_REPRESENTATION, TYPE_CHAR, (int64_t)strlen(device), device);
    if (status == STATUS_SUCCESS)
        status = api->cudnnBackendFinalize(h->properties);
    if (status != STATUS_SUCCESS) {
        cudnn_close(h);
        return cudnn_failed(api, status, "a device that is described", err);
    }
    cudnn_set_builder(h, device);
    *handle = h;
    return true;
}

bool cudnn_allows(const struct cudnn *h, const struct cudnn_plan_facts *facts)
{
    return !h->only || (h->only->engine == facts->engine && h->only->heuristic == facts->mode && h->only->rank == facts->rank);
}
