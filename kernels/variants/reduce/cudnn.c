/* The row reduce/cudnn: one cudnnReduceTensor. Declared by the documentation of cuDNN 9, which is opened at run time. */
#include "op/foreign_library.h"
#include <stddef.h>

enum { TYPE_F32 = 0, NCHW = 0, SUM = 0, LARGEST = 3, NOT_A_NUMBER_PASSES = 1, NO_INDICES = 0, INDICES_32 = 0 };

static struct {
    void *handle, *reduction, *from, *to;
    int (*create)(void **handle);
    int (*set_stream)(void *handle, void *stream);
    int (*shape_create)(void **shape);
    int (*shape_set)(void *shape, int layout, int type, int n, int c, int h, int w);
    int (*reduction_create)(void **reduction);
    int (*reduction_set)(void *reduction, int what, int type, int nan, int indices, int index_type);
    int (*workspace)(void *handle, void *reduction, void *from, void *to, size_t *bytes);
    int (*reduce)(void *handle, void *reduction, void *indices, size_t index_bytes, void *workspace, size_t bytes, const void *alpha, void *x_shape,
                  const void *x, const void *beta, void *y_shape, void *y);
} dnn;

static int load(struct bench_call *call)
{
    const struct library_function functions[] = {{"cudnnCreate", &dnn.create},
                                                 {"cudnnSetStream", &dnn.set_stream},
                                                 {"cudnnCreateTensorDescriptor", &dnn.shape_create},
                                                 {"cudnnSetTensor4dDescriptor", &dnn.shape_set},
                                                 {"cudnnCreateReduceTensorDescriptor", &dnn.reduction_create},
                                                 {"cudnnSetReduceTensorDescriptor", &dnn.reduction_set},
                                                 {"cudnnGetReductionWorkspaceSize", &dnn.workspace},
                                                 {"cudnnReduceTensor", &dnn.reduce}};
    int failed = library_find(call, "libcudnn.so.9", "nvidia-cudnn-cu13", functions, 8);
    if (failed)
        return failed;
    return dnn.create(&dnn.handle) || dnn.shape_create(&dnn.from) || dnn.shape_create(&dnn.to) || dnn.reduction_create(&dnn.reduction)
               ? library_say(call, 2, "cudnnCreate failed")
               : 0;
}

bench_function reduce_cudnn;
int reduce_cudnn(struct bench_call *call)
{
    static const float one = 1, zero = 0;
    int rows = (int)call->shapes[0].dim[0], cols = (int)call->shapes[0].dim[1], is_max = 0;
    size_t bytes = 0;
    for (int i = 0; i < call->symbol_count; i++)
        is_max = !strcmp(call->symbols[i].name, "is_max") ? (int)call->symbols[i].value : is_max;
    int failed = dnn.handle ? 0 : load(call);
    if (failed)
        return failed;
    int status = dnn.set_stream(dnn.handle, call->stream);
    status = status ? status : dnn.shape_set(dnn.from, NCHW, TYPE_F32, rows, cols, 1, 1);
    status = status ? status : dnn.shape_set(dnn.to, NCHW, TYPE_F32, rows, 1, 1, 1);
    status = status ? status : dnn.reduction_set(dnn.reduction, is_max ? LARGEST : SUM, TYPE_F32, NOT_A_NUMBER_PASSES, NO_INDICES, INDICES_32);
    status = status ? status : dnn.workspace(dnn.handle, dnn.reduction, dnn.from, dnn.to, &bytes);
    if (!status && bytes > call->workspaces[0].bytes)
        return library_say(call, BENCH_UNSUPPORTED, "cuDNN wants more scratch memory than the sidecar has");
    status = status ? status
                    : dnn.reduce(dnn.handle, dnn.reduction, NULL, 0, call->workspaces[0].data, bytes, &one, dnn.from, call->tensors[0].data, &zero,
                                 dnn.to, call->tensors[1].data);
    return status ? library_say(call, 2, "cudnnReduceTensor failed") : 0;
}
