/* kernel/new/shapes: the shapes, the launch and the sums that the subscripts of textbook kernels show. Whoever wrote the kernels says what
 * is right, in the names of the kernel's own numbers. */
#include "kernel/new/shapes.h"
#include "op/random.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

struct kernel {
    const char *source;
    const char *shapes; /* of the pointers in their order, ? where nothing is known; ! behind one that is read and written */
    const char *launch; /* what the blocks cover: "rows", "n/blockDim", "nx/32 ny/8" */
    const char *terms;
};

static const struct kernel kernels[] = {
    {"__global__ void f(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }",
     "[n] [n]", "n/blockDim", ""},
    {"__global__ void f(float *y, const float *x, float a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; "
     "y[i] "
     "+= a * x[i]; }",
     "[n]! [n]", "n/blockDim", ""},
    {"template <int THREADS> __global__ void f(const float *x, float *y, int cols)\n{\n    const float *r = x + blockIdx.x * cols;\n    "
     "float s = 0;\n    for (int i = threadIdx.x; i < cols; i += THREADS)\n        s += __expf(r[i]);\n    y[blockIdx.x * cols + "
     "threadIdx.x] = s;\n}\n",
     "[rows,cols] [rows,cols]", "rows", "cols"},
    {"__global__ void f(float *q, const float *c, int heads, int dim)\n{\n    int token = blockIdx.x, head = blockIdx.y;\n    float *row = "
     "q "
     "+ ((size_t)token * heads + head) * dim;\n    for (int i = threadIdx.x; i < dim / 2; i += blockDim.x) { float a = row[i]; row[i] = a "
     "* "
     "c[token * (dim / 2) + i]; }\n}\n",
     "[tokens,heads,dim]! [tokens,dim / 2]", "tokens heads", ""},
    {"#define TILE 16\n__global__ void f(const float *A, const float *B, float *C, int M, int N, int K)\n{\n    int row = blockIdx.y * "
     "TILE "
     "+ threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;\n    float acc = 0;\n    for (int k0 = 0; k0 < K; k0 += TILE) {\n        float "
     "a "
     "= row < M && k0 + threadIdx.x < K ? A[row * K + k0 + threadIdx.x] : 0, b = col < N ? B[(k0 + threadIdx.y) * N + col] : 0;\n        "
     "for (int k = 0; k < TILE; k++)\n            acc += a * b;\n    }\n    if (row < M && col < N)\n        C[row * N + col] = acc;\n}\n",
     "[m,k] [k,n] [m,n]", "n/16 m/16", "k"},
    {"__global__ void f(const float *in, float *out, int width, int height)\n{\n    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y "
     "* "
     "32 + threadIdx.y;\n    for (int j = 0; j < 32; j += 8)\n        if (x < width && y + j < height)\n            out[x * height + y + "
     "j] "
     "= in[(y + j) * width + x];\n}\n",
     "[height,width] [width,height]", "width/32 height/32", ""},
    {"__global__ void f(const float *table, const int *ids, float *out, int dim)\n{\n    int tok = blockIdx.x;\n    const float *src = "
     "table "
     "+ (size_t)ids[tok] * dim;\n    for (int d = threadIdx.x; d < dim; d += blockDim.x)\n        out[(size_t)tok * dim + d] = "
     "src[d];\n}\n",
     "[table_rows,dim] [toks] [toks,dim]", "toks", ""},
    {"__global__ void f(const float *in, float *out, int N, int C, int H, int W, int OH, int OW)\n{\n    int idx = blockIdx.x * blockDim.x "
     "+ "
     "threadIdx.x;\n    if (idx >= N * C * OH * OW) return;\n    int ow = idx % OW, oh = idx / OW % OH, nc = idx / (OW * OH);\n    float m "
     "= "
     "0;\n    for (int r = 0; r < 2; r++)\n        for (int s = 0; s < 2; s++)\n            m = fmaxf(m, in[(nc * H + oh * 2 + r) * W + ow "
     "* 2 + s]);\n    out[idx] = m;\n}\n",
     "[n,c,h,w] [n,c,oh,ow]", "n * c * oh * ow/blockDim", ""},
    {"__global__ void f(const float *x, const float *w, const float *b, float *y, int C, int H, int W, int K, int R, int S)\n{\n    int q "
     "= "
     "blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;\n    int P = H - R + 1, Q = W - S "
     "+ "
     "1;\n    if (p >= P || q >= Q) return;\n    float sum = b[k];\n    for (int c = 0; c < C; c++) for (int r = 0; r < R; r++) for (int s "
     "= "
     "0; s < S; s++) sum += x[(c * H + p + r) * W + q + s] * w[((k * C + c) * R + r) * S + s];\n    y[(k * P + p) * Q + q] = sum;\n}\n",
     "[c,h,w] [k,c,r,s] [k] [k,(h - r + 1),(w - s + 1)]", "(w - s + 1)/blockDim (h - r + 1)/blockDim k", "c * r * s"},
    {"__global__ void f(const float *x, float *total, int n)\n{\n    float s = 0;\n    for (int i = blockIdx.x * blockDim.x + threadIdx.x; "
     "i "
     "< n; i += blockDim.x * gridDim.x) s += x[i];\n    atomicAdd(total, s);\n}\n",
     "[n] [1]", "n/blockDim", "n"},
    {"__global__ void f(const float4 *A, const float4 *x, float *y, int rows, int cols4)\n{\n    auto warp = "
     "cg::tiled_partition<32>(cg::this_thread_block());\n    int row = blockIdx.x * (blockDim.x / 32) + warp.meta_group_rank();\n    if "
     "(row "
     ">= rows) return;\n    float s = 0;\n    for (int i = warp.thread_rank(); i < cols4; i += 32) { float4 a = A[row * cols4 + i], b = "
     "x[i]; s += a.x * b.x; }\n    if (warp.thread_rank() == 0) y[row] = s;\n}\n",
     "[rows,cols4 * 4] [cols4 * 4] [rows]", "rows/blockDim / 32", "cols4"},
    {"struct Params { int rows, cols; float eps; };\n__global__ void f(const float *x, float *y, Params p)\n{\n    int row = blockIdx.x;\n "
     "   "
     "for (int i = threadIdx.x; i < p.cols; i += blockDim.x) y[row * p.cols + i] = x[row * p.cols + i];\n}\n",
     "[rows,cols] [rows,cols]", "rows", ""},
    {"constexpr int BX = 32, BY = 8;\n__global__ void f(const double *in, double *out, int nx, int ny)\n{\n    int x = blockIdx.x * BX + "
     "threadIdx.x, y = blockIdx.y * BY + threadIdx.y;\n    if (x < nx && y < ny) out[y * nx + x] = in[y * nx + x];\n}\n",
     "[ny,nx] [ny,nx]", "nx/32 ny/8", ""},
    {"__global__ void f(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }", "? ?", "", ""},
    {"__global__ void f(const float *x, float *y, int n);", "? ?", "", ""},
};

static void shown(const char *source, char **shapes, char **launch, char **terms)
{
    struct signature s;
    struct shapes found;
    struct error err = {0};
    SCOPED_TEXT a = {0};
    SCOPED_TEXT b = {0};
    if (!signature_read(source, NULL, &s, &err))
        memset(&s, 0, sizeof s);
    shapes_read(source, &s, &found);
    for (int i = 0; i < s.count; i++) {
        const struct shape_guess *g = &found.of[i];
        if (!s.params[i].pointer)
            continue;
        text_add(&a, a.len ? " " : "");
        for (int k = 0; k < g->count; k++)
            text_addf(&a, "%s%s", k ? "," : "[", g->axes[k]);
        text_add(&a, !g->count ? "?" : !s.params[i].constant && g->read ? "]!" : "]");
    }
    for (int i = 0; i < 3 && found.launch[i].size[0]; i++)
        text_addf(&b, "%s%s%s%s", i ? " " : "", found.launch[i].size, found.launch[i].each[0] ? "/" : "", found.launch[i].each);
    *shapes = text_take(&a);
    *launch = text_take(&b);
    *terms = xstrdup(found.terms);
}

static void subscripts_show_shapes(void **state)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const struct kernel *k = &kernels[i];
        SCOPED char *shapes = NULL, *launch = NULL, *terms = NULL;
        shown(k->source, &shapes, &launch, &terms);
        if (strcmp(shapes, k->shapes) || strcmp(launch, k->launch) || strcmp(terms, k->terms))
            fail_msg("%s\n shapes %s\n want   %s\n launch %s\n want   %s\n terms %s, want %s", k->source, shapes, k->shapes, launch,
                     k->launch, terms, k->terms);
    }
}

/* Names that are defined by themselves, and texts that end anywhere or have any character at any place: there is an end, and no crash. */
static void any_text_ends(void **state)
{
    static const char *const loops[] = {
        "__global__ void f(float *x, int n) { int a = a + a + a + a, b = (((a * b))); x[a * b + a] = 0; }",
        "__global__ void f(float *x, int n) { int a = b + b + b, b = c + c + c, c = d + d + d, d = e + e, e = a + a + a; x[a] = 0; }",
        "__global__ void f(float *x, int n) { x[((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1",
        "__global__ void f(float *x, int n) { x[n*n*n*n*n*n*n*n*n*n*n*n + (n+1)*(n+2)*(n+3)*(n+4)*(n+5)*(n+6)*threadIdx.x] = 0; }"};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        SCOPED char *shapes = NULL, *launch = NULL, *terms = NULL;
        shown(loops[i], &shapes, &launch, &terms);
    }
    static const char letters[] = "(){}[]<>+-*/%=&.,;:?\"'#n x1";
    for (uint64_t i = 0; i < 3000; i++) {
        const struct kernel *k = &kernels[i % (sizeof kernels / sizeof *kernels)];
        SCOPED char *text = xstrdup(k->source), *shapes = NULL, *launch = NULL, *terms = NULL;
        size_t n = strlen(text);
        for (uint64_t j = 0; j < 1 + i % 4; j++)
            text[random_bits(11, i, j) % n] = letters[random_bits(12, i, j) % (sizeof letters - 1)];
        if (i % 3 == 0)
            text[random_bits(13, i, 0) % n] = 0;
        shown(text, &shapes, &launch, &terms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(subscripts_show_shapes), cmocka_unit_test(any_text_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
