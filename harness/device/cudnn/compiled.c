/* Plans whose kernel cuDNN compiles when they are made, which takes half a second and more each and runs serially, because NVRTC has a
 * lock. A plan that cuDNN serialises contains its compiled kernel and loads in a millisecond: it is kept in the compiler's cache, under
 * everything that may change the kernel. A process without a device can make it too (cudnn_compile), so that several processes compile in
 * parallel. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "device/cudnn/private.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A descriptor's JSON; NULL where it has none. malloc'd. */
static char *cudnn_json(const struct cudnn_api *api, void *descriptor, int attribute)
{
    int64_t bytes = 0, got = 0;
    if (api->cudnnBackendGetAttribute(descriptor, attribute, TYPE_CHAR, 0, &bytes, NULL) != STATUS_SUCCESS || bytes <= 0)
        return NULL;
    char *text = xcalloc((size_t)bytes + 1, 1);
    if (api->cudnnBackendGetAttribute(descriptor, attribute, TYPE_CHAR, bytes, &got, text) == STATUS_SUCCESS && *text)
        return text;
    free(text);
    return NULL;
}

/* The key: library and compiler, kind of GPU and driver, graph, engine and knobs. `own`: also the index of this GPU, for plans that cuDNN
 * does not load if another GPU made them. */
static char *entry_name(const struct cudnn *h, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts, bool own)
{
    char hash[HASH_TEXT], *graph = cudnn_conv_text(conv);
    SCOPED char *all = text_format("%s%s | %s | %s | %s", h->builder, own ? h->place : "", graph, facts->text, facts->notes);
    hash_bytes(all, strlen(all), hash);
    free(graph);
    return text_format("cudnn-plan-%.40s.json", hash);
}

/* The digits of its SHA-256, then the plan. A damaged one is as good as absent. */
static char *entry_read(const char *name)
{
    char hash[HASH_TEXT];
    size_t bytes = 0;
    char *data = compile_cache_load(name, &bytes);
    if (data && bytes > HASH_TEXT - 1) {
        hash_bytes(data + HASH_TEXT - 1, bytes - (HASH_TEXT - 1), hash);
        if (!memcmp(data, hash, HASH_TEXT - 1)) {
            memmove(data, data + HASH_TEXT - 1, bytes - (HASH_TEXT - 1));
            data[bytes - (HASH_TEXT - 1)] = 0;
            return data;
        }
    }
    free(data);
    return NULL;
}

static void *entry_load(const struct cudnn *h, void *handle, const char *name)
{
    const struct cudnn_api *api = h->api;
    void *plan = NULL;
    SCOPED char *json = entry_read(name);
    bool made = json && api->cudnnBackendCreateDescriptor(DESCRIPTOR_EXECUTION_PLAN, &plan) == STATUS_SUCCESS;
    if (made && (api->cudnnBackendSetAttribute(plan, ATTR_EXECUTION_PLAN_HANDLE, TYPE_HANDLE, 1, &handle) != STATUS_SUCCESS ||
                 api->cudnnBackendSetAttribute(plan, ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, TYPE_CHAR, (int64_t)strlen(json), json) !=
                     STATUS_SUCCESS ||
                 api->cudnnBackendFinalize(plan) != STATUS_SUCCESS)) {
        api->cudnnBackendDestroyDescriptor(plan);
        plan = NULL;
    }
    return plan;
}

void *cudnn_compiled_find(const struct cudnn *h, void *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts)
{
    void *plan = NULL;
    for (int own = 0; own < 2 && !plan && h->builder; own++) {
        SCOPED char *name = entry_name(h, conv, facts, own);
        plan = entry_load(h, handle, name);
    }
    return plan;
}

bool cudnn_compiled_has(const struct cudnn *h, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts)
{
    SCOPED char *name = entry_name(h, conv, facts, false), *json = entry_read(name);
    return json != NULL;
}

void cudnn_compiled_keep(const struct cudnn *h, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts, void *plan)
{
    char hash[HASH_TEXT], *json = h->builder ? cudnn_json(h->api, plan, ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) : NULL;
    if (!json)
        return;
    hash_bytes(json, strlen(json), hash);
    SCOPED char *name = entry_name(h, conv, facts, cudnn_compiled_has(h, conv, facts)), *entry = text_format("%s%s", hash, json);
    compile_cache_save(name, entry, strlen(entry));
    free(json);
}

/* Another build of the compiler has another name or size; its path may differ between checkouts. The GPU's index in this machine is left
 * out. */
void cudnn_set_builder(struct cudnn *h, const char *device)
{
    const char *compiler = h->api->compiler.path;
    struct stat about = {0};
    json_auto_t *all = device ? json_loads(device, 0, NULL) : NULL;
    if (!all || stat(compiler, &about))
        return;
    json_object_del(all, "pciDeviceId");
    json_object_del(all, "cudaDeviceId");
    SCOPED char *kind = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
    h->builder =
        text_format("cudnn %zu | nvrtc %s %lld | %s", h->api->cudnnGetVersion(), file_base(compiler), (long long)about.st_size, kind);
    h->place = xstrdup(device);
}

char *cudnn_device(struct cudnn *h)
{
    const struct cudnn_api *api = h->api;
    void *device = NULL;
    char *json = NULL;
    if (api->cudnnBackendCreateDescriptor(DESCRIPTOR_DEVICEPROP, &device) != STATUS_SUCCESS)
        return NULL;
    if (api->cudnnBackendSetAttribute(device, ATTR_DEVICEPROP_HANDLE, TYPE_HANDLE, 1, &h->handle) == STATUS_SUCCESS &&
        api->cudnnBackendFinalize(device) == STATUS_SUCCESS)
        json = cudnn_json(api, device, ATTR_DEVICEPROP_JSON_REPRESENTATION);
    api->cudnnBackendDestroyDescriptor(device);
    return json;
}
