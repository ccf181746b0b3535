/* cuDNN's library: loads it, and turns its status codes into errors of ours. */
#include "device/cudnn/private.h"
#include <pthread.h>

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
