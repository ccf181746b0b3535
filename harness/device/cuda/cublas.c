/* cublasLt by dlopen. Its header is not among the pinned ones, so the few calls, codes and the one result structure that bench needs are
 * declared here, by the documentation of cuBLAS 13.0 ("Using the cublasLt API"); they have not changed since cuBLAS 11. */
#include "device/cuda/cublas.h"
#include "base/dtype.h"
#include "base/library.h"
#include "base/text.h"
#include "device/cuda/private.h"
#include <stdlib.h>

enum { TYPE_F32 = 0, TYPE_F16 = 2, TYPE_BF16 = 14 };            /* cudaDataType */
enum { COMPUTE_F16 = 64, COMPUTE_F32 = 68, COMPUTE_TF32 = 77 }; /* cublasComputeType_t */
enum { DESC_TRANSA = 3, PREFERENCE_WORKSPACE = 1, OPERATION_TRANSPOSE = 1 };

struct heuristic { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

struct cublas {
    struct library library;
    struct cuda_state *cuda;
    void *handle;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*desc_create)(void **desc, int compute, int scale);
    int (*desc_destroy)(void *desc);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
    int (*layout_destroy)(void *layout);
    int (*preference_create)(void **preference);
    int (*preference_destroy)(void *preference);
    int (*preference_set)(void *preference, int attribute, const void *value, size_t bytes);
    int (*heuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted, struct heuristic *results,
                     int *count);
    int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,
                  const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const void *algorithm, void *workspace,
                  size_t workspace_bytes, void *stream);
};

struct cublas_gemm {
    struct cublas *library;
    void *desc, *layout;
    uint64_t a, b, d, workspace;
    bool half_scale;
    struct heuristic plan;
};

bool cublas_open(struct device *dev, struct cublas **out, struct error *err)
{
    static const char *const sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    struct cublas *c = xcalloc(1, sizeof *c);
    const struct {
        const char *name;
        void *to;
    } functions[] = {
        {"cublasLtCreate", &c->create},
        {"cublasLtDestroy", &c->destroy},
        {"cublasLtMatmulDescCreate", &c->desc_create},
        {"cublasLtMatmulDescDestroy", &c->desc_destroy},
        {"cublasLtMatmulDescSetAttribute", &c->desc_set},
        {"cublasLtMatrixLayoutCreate", &c->layout_create},
        {"cublasLtMatrixLayoutDestroy", &c->layout_destroy},
        {"cublasLtMatmulPreferenceCreate", &c->preference_create},
        {"cublasLtMatmulPreferenceDestroy", &c->preference_destroy},
        {"cublasLtMatmulPreferenceSetAttribute", &c->preference_set},
        {"cublasLtMatmulAlgoGetHeuristic", &c->heuristic},
        {"cublasLtMatmul", &c->matmul},
    };
    bool ok = library_open(&c->library, sonames, err);
    for (size_t i = 0; ok && i < sizeof functions / sizeof *functions; i++)
        ok = (*(void **)functions[i].to = library_symbol(&c->library, functions[i].name, err)) != NULL;
    c->cuda = cuda_state(dev);
    if (ok && c->create(&c->handle)) {
        c->handle = NULL;
        ok = error_set(err, ERROR_ENVIRONMENT, "%s does not start on this GPU", c->library.path);
    }
    if (!ok) {
        cublas_close(c);
        return false;
    }
    *out = c;
    return true;
}

void cublas_close(struct cublas *c)
{
    if (!c)
        return;
    if (c->handle)
        c->destroy(c->handle);
    library_close(&c->library);
    free(c);
}

static bool cublas_make(struct cublas_gemm *g, int math, int n, struct error *err)
{
    struct cublas *c = g->library;
    int type = math == MATH_F16_ACC32 || math == MATH_F16_ACC16 ? TYPE_F16 : math == MATH_BF16_ACC32 ? TYPE_BF16 : TYPE_F32;
    int compute = math == MATH_F16_ACC16 ? COMPUTE_F16
                  : math == MATH_TF32    ? COMPUTE_TF32
                                         : COMPUTE_F32,
        transpose = OPERATION_TRANSPOSE, count = 0;
    size_t workspace = CUBLAS_WORKSPACE;
    void *preference = NULL;
    g->half_scale = math == MATH_F16_ACC16;
    bool ok = !c->desc_create(&g->desc, compute, g->half_scale ? TYPE_F16 : TYPE_F32) &&
              !c->desc_set(g->desc, DESC_TRANSA, &transpose, sizeof transpose) &&
              !c->layout_create(&g->layout, type, (uint64_t)n, (uint64_t)n, n) && !c->preference_create(&preference) &&
              !c->preference_set(preference, PREFERENCE_WORKSPACE, &workspace, sizeof workspace) &&
              !c->heuristic(c->handle, g->desc, g->layout, g->layout, g->layout, g->layout, preference, 1, &g->plan, &count) &&
              count == 1 && !g->plan.state;
    if (preference)
        c->preference_destroy(preference);
    return ok || error_set(err, ERROR_ENVIRONMENT, "cublasLt has no product of %d x %d matrices in %s", n, n, math_name((enum math)math));
}

bool cublas_gemm_make(struct cublas *c, int math, int n, uint64_t a, uint64_t b, uint64_t d, uint64_t workspace, struct cublas_gemm **out,
                      struct error *err)
{
    struct cublas_gemm *g = xcalloc(1, sizeof *g);
    *g = (struct cublas_gemm){.library = c, .a = a, .b = b, .d = d, .workspace = workspace};
    if (!cublas_make(g, math, n, err)) {
        cublas_gemm_free(g);
        return false;
    }
    *out = g;
    return true;
}

void cublas_gemm_free(struct cublas_gemm *g)
{
    if (!g)
        return;
    if (g->layout)
        g->library->layout_destroy(g->layout);
    if (g->desc)
        g->library->desc_destroy(g->desc);
    free(g);
}

bool cublas_gemm_run(struct cublas_gemm *g, struct error *err)
{
    static const float one = 1, zero = 0;
    static const uint16_t half_one = 0x3c00, half_zero = 0;
    struct cublas *c = g->library;
    const void *alpha = g->half_scale ? (const void *)&half_one : &one, *beta = g->half_scale ? (const void *)&half_zero : &zero;
    void *a = (void *)(uintptr_t)g->a, *b = (void *)(uintptr_t)g->b, *d = (void *)(uintptr_t)g->d;
    int status = c->matmul(c->handle, g->desc, alpha, a, g->layout, b, g->layout, beta, d, g->layout, d, g->layout, g->plan.algorithm,
                           (void *)(uintptr_t)g->workspace, CUBLAS_WORKSPACE, c->cuda->stream);
    return !status || error_set(err, ERROR_INTERNAL, "cublasLtMatmul failed with status %d", status);
}
