/* The row transpose/cublaslt: one cublasLtMatrixTransform. Declared by the documentation of cuBLAS 13.0, as in gemm/cublaslt.c: what lies row by row is to cuBLAS its own
 * transpose, so the input is a matrix of cols x rows, and the result that one transposed. */
#include "op/foreign_library.h"
#include <stdint.h>

enum { TYPE_F32 = 0, TYPE_F16 = 2, TYPE_BF16 = 14 }; /* cudaDataType */
enum { TRANSFORM_TRANSPOSE_A = 2, TRANSPOSED = 1 };

static struct {
    void *handle, *desc, *from, *to;
    int (*create)(void **handle);
    int (*desc_create)(void **desc, int scale);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
    int (*transform)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *beta, const void *b, void *b_layout, void *c,
                     void *c_layout, void *stream);
    struct matrix {
        long long rows, cols, type;
    } of;
} lt;

static int load(struct bench_call *call)
{
    const struct library_function functions[] = {{"cublasLtCreate", &lt.create},
                                                 {"cublasLtMatrixTransformDescCreate", &lt.desc_create},
                                                 {"cublasLtMatrixTransformDescSetAttribute", &lt.desc_set},
                                                 {"cublasLtMatrixLayoutCreate", &lt.layout_create},
                                                 {"cublasLtMatrixTransform", &lt.transform}};
    int failed = library_find(call, "libcublasLt.so.13", "nvidia-cublas", functions, 5), transposed = TRANSPOSED;
    if (failed)
        return failed;
    if (lt.create(&lt.handle) || lt.desc_create(&lt.desc, TYPE_F32) || lt.desc_set(lt.desc, TRANSFORM_TRANSPOSE_A, &transposed, sizeof transposed))
        return library_say(call, 2, "cublasLt describes no transposition");
    return 0;
}

bench_function transpose_cublaslt;
int transpose_cublaslt(struct bench_call *call)
{
    static const float one = 1, zero = 0;
    const struct bench_tensor *input = &call->tensors[0], *output = &call->tensors[1];
    const struct matrix m = {call->shapes[0].dim[0], call->shapes[0].dim[1],
                             !strcmp(input->dtype, "f16")    ? TYPE_F16
                             : !strcmp(input->dtype, "bf16") ? TYPE_BF16
                                                             : TYPE_F32};
    int failed = lt.handle ? 0 : load(call);
    if (failed)
        return failed;
    if (memcmp(&m, &lt.of, sizeof m)) {
        lt.of = m;
        if (lt.layout_create(&lt.from, (int)m.type, (uint64_t)m.cols, (uint64_t)m.rows, m.cols) ||
            lt.layout_create(&lt.to, (int)m.type, (uint64_t)m.rows, (uint64_t)m.cols, m.rows))
            return library_say(call, 2, "cublasLt does not describe these matrices");
    }
    int status = lt.transform(lt.handle, lt.desc, &one, input->data, lt.from, &zero, NULL, NULL, output->data, lt.to, call->stream);
    return status ? library_say(call, 2, "cublasLtMatrixTransform failed") : 0;
}
