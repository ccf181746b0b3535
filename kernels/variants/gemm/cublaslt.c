/* The row gemm/cublaslt: one cublasLtMatmul. cuBLAS is opened at run time and its header is not among the pinned ones, so the few calls, codes and the one
 * structure that are needed are declared here, by the documentation of cuBLAS 13.0 ("Using the cublasLt API").
 *
 * cuBLAS stores matrices column by column: a matrix of ours is, as it lies there, the transpose of one of its. c = a b is therefore asked for as c' = b' a'. */
#include "op/foreign_library.h"
#include <stddef.h>
#include <stdint.h>

enum { TYPE_F32 = 0, TYPE_F16 = 2, TYPE_BF16 = 14 }; /* cudaDataType */
enum { COMPUTE_F32 = 68, COMPUTE_TF32 = 77 };        /* cublasComputeType_t */
enum { PREFERENCE_WORKSPACE = 1 };

struct heuristic { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

/* Made by the first call of each work that a process has: of another size or type the product is another one. */
static struct {
    void *handle, *desc, *a, *b, *c;
    struct heuristic plan;
    int (*create)(void **handle);
    int (*desc_create)(void **desc, int compute, int scale);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
    int (*preference_create)(void **preference);
    int (*preference_set)(void *preference, int attribute, const void *value, size_t bytes);
    int (*heuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted, struct heuristic *results, int *count);
    int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, const void *beta, const void *c,
                  void *c_layout, void *d, void *d_layout, const void *algorithm, void *workspace, size_t workspace_bytes, void *stream);
    struct product {
        long long m, n, k, type, compute;
    } of;
} lt;

static int load(struct bench_call *call)
{
    const struct library_function functions[] = {{"cublasLtCreate", &lt.create},
                                                 {"cublasLtMatmulDescCreate", &lt.desc_create},
                                                 {"cublasLtMatrixLayoutCreate", &lt.layout_create},
                                                 {"cublasLtMatmulPreferenceCreate", &lt.preference_create},
                                                 {"cublasLtMatmulPreferenceSetAttribute", &lt.preference_set},
                                                 {"cublasLtMatmulAlgoGetHeuristic", &lt.heuristic},
                                                 {"cublasLtMatmul", &lt.matmul}};
    int failed = library_find(call, "libcublasLt.so.13", "nvidia-cublas", functions, 7);
    return failed ? failed : lt.create(&lt.handle) ? library_say(call, 2, "cublasLtCreate failed") : 0;
}

static int plan(struct bench_call *call)
{
    void *preference;
    size_t workspace = call->workspaces[0].bytes;
    int count = 0;
    const struct product *p = &lt.of;
    int type = (int)p->type;
    if (lt.desc_create(&lt.desc, (int)p->compute, TYPE_F32) || lt.layout_create(&lt.a, type, (uint64_t)p->k, (uint64_t)p->m, p->k) ||
        lt.layout_create(&lt.b, type, (uint64_t)p->n, (uint64_t)p->k, p->n) || lt.layout_create(&lt.c, type, (uint64_t)p->n, (uint64_t)p->m, p->n) ||
        lt.preference_create(&preference) || lt.preference_set(preference, PREFERENCE_WORKSPACE, &workspace, sizeof workspace))
        return library_say(call, 2, "cublasLt does not describe this product");
    if (lt.heuristic(lt.handle, lt.desc, lt.b, lt.a, lt.c, lt.c, preference, 1, &lt.plan, &count) || count != 1 || lt.plan.state)
        return library_say(call, BENCH_UNSUPPORTED, "cublasLt has no algorithm for this product");
    return 0;
}

bench_function gemm_cublaslt;
int gemm_cublaslt(struct bench_call *call)
{
    static const float one = 1, zero = 0;
    const struct bench_tensor *a = &call->tensors[0], *b = &call->tensors[1], *c = &call->tensors[2];
    const struct product p = {call->shapes[0].dim[0], call->shapes[1].dim[1], call->shapes[0].dim[1],
                              !strcmp(a->dtype, "f16")    ? TYPE_F16
                              : !strcmp(a->dtype, "bf16") ? TYPE_BF16
                                                          : TYPE_F32,
                              !strcmp(call->math, "tf32") ? COMPUTE_TF32 : COMPUTE_F32};
    int failed = lt.handle ? 0 : load(call);
    if (failed)
        return failed;
    if (memcmp(&p, &lt.of, sizeof p)) {
        lt.of = p;
        failed = plan(call);
        if (failed) {
            lt.of = (struct product){0};
            return failed;
        }
    }
    int status = lt.matmul(lt.handle, lt.desc, &one, b->data, lt.b, a->data, lt.a, &zero, c->data, lt.c, c->data, lt.c, lt.plan.algorithm,
                           call->workspaces[0].data, call->workspaces[0].bytes, call->stream);
    return status ? library_say(call, 2, "cublasLtMatmul failed") : 0;
}
