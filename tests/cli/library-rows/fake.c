/* What the library rows call, of libraries that are not here: says with what it was called, in place of doing it. */
#include <stdint.h>
#include <stdio.h>

static int made;
static int new_one(void **out)
{
    *out = (void *)(intptr_t)++made;
    return 0;
}
int cublasLtCreate(void **handle)
{
    return new_one(handle);
}
int cublasLtMatmulDescCreate(void **desc, int compute, int scale)
{
    printf("product compute %d scale %d\n", compute, scale);
    return new_one(desc);
}
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading)
{
    new_one(layout);
    printf("layout %d: type %d, %d x %d, leading %d\n", made, type, (int)rows, (int)columns, (int)leading);
    return 0;
}
int cublasLtMatmulPreferenceCreate(void **preference)
{
    return new_one(preference);
}
int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t bytes)
{
    return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted,
                                   uint64_t *results, int *count)
{
    results[0] = 7;
    *count = 1;
    return 0;
}
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,
                   const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const void *algorithm, void *workspace,
                   size_t bytes, void *stream)
{
    printf("multiply %s by %s, layouts %d %d %d\n", (const char *)a, (const char *)b, (int)(intptr_t)a_layout, (int)(intptr_t)b_layout,
           (int)(intptr_t)d_layout);
    return 0;
}
int cublasLtMatrixTransformDescCreate(void **desc, int scale)
{
    return new_one(desc);
}
int cublasLtMatrixTransformDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes)
{
    printf("attribute %d is %d\n", attribute, *(const int *)value);
    return 0;
}
int cublasLtMatrixTransform(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *beta, const void *b,
                            void *b_layout, void *c, void *c_layout, void *stream)
{
    printf("transform %s to %s, layouts %d %d\n", (const char *)a, (const char *)c, (int)(intptr_t)a_layout, (int)(intptr_t)c_layout);
    return 0;
}
