#include "device/cudnn/cudnn.h"
#include "base/pool.h"
#include "base/text.h"
#include "device/cuda/cuda.h"
#include "device/cudnn/private.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool load_api(struct cudnn_api *api, struct error *err)
{
    static const char *const sonames[] = {"libcudnn.so.9", NULL}, *const compiler[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
    if (!library_open_newest(&api->library, sonames, "cudnn_version.h", err))
        return error_where(err, "cuDNN");
    /* cuDNN looks for NVRTC by its soname when an engine compiles its kernel: found then, wherever ours lies. Kept loaded. */
    library_open(&api->compiler, compiler, NULL);
    bool ok = true;
#define LOAD(name) ok = ok && (api->name = (__typeof__(api->name))library_symbol(&api->library, #name, err));
    LOAD(cudnnGetVersion)
    LOAD(cudnnGetErrorString)
    LOAD(cudnnGetLastErrorString)
    LOAD(cudnnCreate)
    LOAD(cudnnDestroy)
    LOAD(cudnnSetStream)
    LOAD(cudnnBackendCreateDescriptor)
    LOAD(cudnnBackendDestroyDescriptor)
    LOAD(cudnnBackendFinalize)
    LOAD(cudnnBackendSetAttribute)
    LOAD(cudnnBackendGetAttribute)
    LOAD(cudnnBackendExecute)
#undef LOAD
    return ok;
}

const struct cudnn_api *cudnn_api(struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cudnn_api api;
    static bool loaded;
    pthread_mutex_lock(&lock);
    if (!loaded) {
        loaded = load_api(&api, err);
        if (!loaded)
            library_close(&api.library);
    }
    pthread_mutex_unlock(&lock);
    return loaded ? &api : NULL;
}

bool cudnn_failed(const struct cudnn_api *api, int status, const char *what, struct error *err)
{
    char said[600] = "";
    api->cudnnGetLastErrorString(said, sizeof said - 1);
    for (char *c = said; *c; c++)
        if (*c == '\n')
            *c = ' ';
    bool unsupported = status >= STATUS_NOT_SUPPORTED && status <= STATUS_NOT_SUPPORTED_LAST;
    return error_set(err, unsupported ? ERROR_USAGE : ERROR_INTERNAL, "cuDNN: %s: %s%s%s", what, api->cudnnGetErrorString(status),
                     said[0] ? ": " : "", said);
}

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
        error_hint(err, "%s was the newest found; BENCH_LIBRARY_PATH=FOLDER takes the one there", api->library.path);
        cudnn_close(h);
        return false;
    }
    char *described = cudnn_device(h);
    cudnn_maker(h, described);
    free(described);
    *handle = h;
    return true;
}

int cudnn_handles(struct cudnn *h, int wanted)
{
    int most = wanted < CUDNN_MAKERS ? wanted : CUDNN_MAKERS;
    most = most < pool_threads() ? most : pool_threads();
    if (!h->handle)
        return most;
    while (1 + h->maker_count < most && h->api->cudnnCreate(&h->makers[h->maker_count]) == STATUS_SUCCESS)
        h->maker_count++;
    return 1 + h->maker_count < most ? 1 + h->maker_count : most;
}

void *cudnn_handle_of(struct cudnn *h, int thread)
{
    if (!thread || !h->handle)
        return h->handle;
    return cuda_enter(h->dev, NULL) ? h->makers[thread - 1] : NULL;
}

void cudnn_close(struct cudnn *handle)
{
    if (!handle)
        return;
    cudnn_made_free(handle);
    while (handle->maker_count > 0)
        handle->api->cudnnDestroy(handle->makers[--handle->maker_count]);
    if (handle->narrow_module)
        handle->dev->ops->unload(handle->dev, handle->narrow_module);
    if (handle->properties)
        handle->api->cudnnBackendDestroyDescriptor(handle->properties);
    if (handle->handle)
        handle->api->cudnnDestroy(handle->handle);
    json_decref(handle->memory);
    free(handle->memory_path);
    free(handle->maker);
    free(handle->choices);
    free(handle);
}

bool cudnn_conv_same(const struct cudnn_conv *a, const struct cudnn_conv *b)
{
    const int64_t x[] = {a->n, a->c, a->h, a->w, a->k, a->r, a->s, a->p, a->q, a->stride, a->pad, a->dilation, a->groups, a->d, a->t, a->o},
                  y[] = {b->n, b->c, b->h, b->w, b->k, b->r, b->s, b->p, b->q, b->stride, b->pad, b->dilation, b->groups, b->d, b->t, b->o};
    return !memcmp(x, y, sizeof x) && a->dtype == b->dtype && a->layout == b->layout && a->math == b->math && a->bias == b->bias &&
           a->residual == b->residual && a->activation == b->activation && a->alpha == b->alpha;
}

char *cudnn_plan_said(const struct cudnn_plan_facts *facts)
{
    return text_format("%s, mode %c rank %d,", facts->text, facts->mode, facts->rank);
}

void cudnn_only(struct cudnn *handle, const struct library_plan *which)
{
    handle->only = which;
}

/* -1: none. */
static int choice_find(const struct cudnn *handle, const struct cudnn_conv *conv)
{
    for (int i = 0; i < handle->choice_count; i++)
        if (cudnn_conv_same(&handle->choices[i].conv, conv))
            return i;
    return -1;
}

static const struct cudnn_choice *choice_add(struct cudnn *handle, const struct cudnn_choice *choice)
{
    struct cudnn_choice *added = APPEND(handle->choices, handle->choice_count);
    *added = *choice;
    return added;
}

void cudnn_choose(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts, int among)
{
    if (choice_find(handle, conv) >= 0)
        return;
    cudnn_memorize(handle, choice_add(handle, &(struct cudnn_choice){.conv = *conv, .facts = *facts, .among = among}));
}

const struct cudnn_choice *cudnn_chosen(struct cudnn *handle, const struct cudnn_conv *conv)
{
    struct cudnn_choice recalled;
    int i = choice_find(handle, conv);
    const struct cudnn_choice *choice = i >= 0                                  ? &handle->choices[i]
                                        : cudnn_recall(handle, conv, &recalled) ? choice_add(handle, &recalled)
                                                                                : NULL;
    return choice && cudnn_lets_in(handle, &choice->facts) ? choice : NULL;
}

void cudnn_forget(struct cudnn *handle, const struct cudnn_conv *conv)
{
    int i = choice_find(handle, conv);
    if (i >= 0)
        handle->choices[i] = handle->choices[--handle->choice_count];
    cudnn_unlearn(handle, conv);
}

void cudnn_version(const struct cudnn *handle, char *out, size_t bytes)
{
    size_t v = handle->api->cudnnGetVersion(); /* 91900: 9.19.0 */
    snprintf(out, bytes, "cudnn %zu.%zu.%zu", v / 10000, v % 10000 / 100, v % 100);
}
