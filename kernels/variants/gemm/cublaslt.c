/* The row gemm/cublaslt: one cublasLtMatmul. cuBLAS is opened at run time and its header is not among the pinned ones, so the few calls, codes and the one
 * structure that are needed are declared here, by the documentation of cuBLAS 13.0 ("Using the cublasLt API").
 *
 * cuBLAS stores matrices column by column: a matrix of ours is, as it lies there, the transpose of one of its. c = a b is therefore asked for as c' = b' a'. */
#include "op/foreign.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

/* Made by the first call, for the one work that a process has. */
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
    long long m, n, k;
    int type, compute;
} lt;

static int say(struct bench_call *call, int result, const char *text)
{
    snprintf(call->message, call->message_bytes, "%s", text);
    return result;
}

static int load(struct bench_call *call)
{
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"cublasLtCreate", &lt.create},
                     {"cublasLtMatmulDescCreate", &lt.desc_create},
                     {"cublasLtMatrixLayoutCreate", &lt.layout_create},
                     {"cublasLtMatmulPreferenceCreate", &lt.preference_create},
                     {"cublasLtMatmulPreferenceSetAttribute", &lt.preference_set},
                     {"cublasLtMatmulAlgoGetHeuristic", &lt.heuristic},
                     {"cublasLtMatmul", &lt.matmul}};
    void *library = call->open_library("libcublasLt.so.13");
    library = library ? library : call->open_library("libcublasLt.so.12");
    if (!library)
        return say(call, BENCH_UNSUPPORTED, "libcublasLt.so.13 was not found: BENCH_LIBRARY_PATH names its folder");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!(*(void **)functions[i].to = dlsym(library, functions[i].name)))
            return say(call, BENCH_UNSUPPORTED, functions[i].name);
    return lt.create(&lt.handle) ? say(call, 2, "cublasLtCreate failed") : 0;
}

static int plan(struct bench_call *call)
{
    void *preference;
    size_t workspace = call->workspaces[0].bytes;
    int count = 0;
    if (lt.desc_create(&lt.desc, lt.compute, TYPE_F32) || lt.layout_create(&lt.a, lt.type, (uint64_t)lt.k, (uint64_t)lt.m, lt.k) ||
        lt.layout_create(&lt.b, lt.type, (uint64_t)lt.n, (uint64_t)lt.k, lt.n) || lt.layout_create(&lt.c, lt.type, (uint64_t)lt.n, (uint64_t)lt.m, lt.n) ||
        lt.preference_create(&preference) || lt.preference_set(preference, PREFERENCE_WORKSPACE, &workspace, sizeof workspace))
        return say(call, 2, "cublasLt does not describe this product");
    if (lt.heuristic(lt.handle, lt.desc, lt.b, lt.a, lt.c, lt.c, preference, 1, &lt.plan, &count) || count != 1 || lt.plan.state)
        return say(call, BENCH_UNSUPPORTED, "cublasLt has no algorithm for this product");
    return 0;
}

bench_function gemm_cublaslt;
int gemm_cublaslt(struct bench_call *call)
{
    static const float one = 1, zero = 0;
    const struct bench_tensor *a = &call->tensors[0], *b = &call->tensors[1], *c = &call->tensors[2];
    long long m = call->shapes[0].dim[0], k = call->shapes[0].dim[1], n = call->shapes[1].dim[1];
    if (call->on_host)
        return say(call, BENCH_UNSUPPORTED, "cuBLAS needs a GPU");
    if (!lt.handle) {
        int failed = load(call);
        if (failed)
            return failed;
    }
    if (!lt.plan.algorithm[0] || m != lt.m || n != lt.n || k != lt.k) {
        lt.m = m, lt.n = n, lt.k = k;
        lt.type = !strcmp(a->dtype, "f16") ? TYPE_F16 : !strcmp(a->dtype, "bf16") ? TYPE_BF16 : TYPE_F32;
        lt.compute = !strcmp(call->math, "tf32") ? COMPUTE_TF32 : COMPUTE_F32;
        int failed = plan(call);
        if (failed)
            return failed;
    }
    int status = lt.matmul(lt.handle, lt.desc, &one, b->data, lt.b, a->data, lt.a, &zero, c->data, lt.c, c->data, lt.c, lt.plan.algorithm,
                           call->workspaces[0].data, call->workspaces[0].bytes, call->stream);
    return status ? say(call, 2, "cublasLtMatmul failed") : 0;
}
