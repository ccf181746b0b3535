/* The row softmax/cudnn: one cudnnSoftmaxForward, the one that subtracts the largest. Declared by the documentation of cuDNN 9, which is opened at run time. */
#include "op/foreign_library.h"

enum { TYPE_F32 = 0, TYPE_F16 = 2, TYPE_BF16 = 9 }; /* cudnnDataType_t */
enum { NCHW = 0, ACCURATE = 1, INSTANCE = 0 };

static struct {
    void *handle, *shape;
    int (*create)(void **handle);
    int (*set_stream)(void *handle, void *stream);
    int (*shape_create)(void **shape);
    int (*shape_set)(void *shape, int layout, int type, int n, int c, int h, int w);
    int (*softmax)(void *handle, int algorithm, int mode, const void *alpha, void *x_shape, const void *x, const void *beta, void *y_shape, void *y);
} dnn;

static int load(struct bench_call *call)
{
    const struct library_function functions[] = {{"cudnnCreate", &dnn.create},
                                                 {"cudnnSetStream", &dnn.set_stream},
                                                 {"cudnnCreateTensorDescriptor", &dnn.shape_create},
                                                 {"cudnnSetTensor4dDescriptor", &dnn.shape_set},
                                                 {"cudnnSoftmaxForward", &dnn.softmax}};
    int failed = library_find(call, "libcudnn.so.9", "nvidia-cudnn-cu13", functions, 5);
    if (failed)
        return failed;
    return dnn.create(&dnn.handle) || dnn.shape_create(&dnn.shape) ? library_say(call, 2, "cudnnCreate failed") : 0;
}

bench_function softmax_cudnn;
int softmax_cudnn(struct bench_call *call)
{
    static const float one = 1, zero = 0;
    const struct bench_tensor *input = &call->tensors[0], *output = &call->tensors[1];
    int type = !strcmp(input->dtype, "f16") ? TYPE_F16 : !strcmp(input->dtype, "bf16") ? TYPE_BF16 : TYPE_F32;
    int failed = dnn.handle ? 0 : load(call);
    if (failed)
        return failed;
    int status = dnn.set_stream(dnn.handle, call->stream);
    status = status ? status : dnn.shape_set(dnn.shape, NCHW, type, (int)call->shapes[0].dim[0], (int)call->shapes[0].dim[1], 1, 1);
    status = status ? status : dnn.softmax(dnn.handle, ACCURATE, INSTANCE, &one, dnn.shape, input->data, &zero, dnn.shape, output->data);
    return status ? library_say(call, 2, "cudnnSoftmaxForward failed") : 0;
}
