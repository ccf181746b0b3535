/* device/cuda/cublas: matrix products through cublasLt, loaded at run time: what a library reaches, for the measured ceilings. */
#pragma once

#include "device/device.h"

struct cublas;
struct cublas_gemm;

/* On an open cuda device. An environment error when the library is not here. */
bool cublas_open(struct device *dev, struct cublas **out, struct error *err);
void cublas_close(struct cublas *c);
/* d = a * b of n x n matrices (a transposed, the layout every tensor core likes), f32 accumulation except in MATH_F16_ACC16; `math` is an
 * enum math of base/dtype.h. a, b, d: device buffers of n * n elements; workspace: CUBLAS_WORKSPACE bytes. An error where the library has
 * no algorithm for it. */
#define CUBLAS_WORKSPACE ((size_t)32 << 20)
bool cublas_gemm_make(struct cublas *c, int math, int n, uint64_t a, uint64_t b, uint64_t d, uint64_t workspace, struct cublas_gemm **out,
                      struct error *err);
void cublas_gemm_free(struct cublas_gemm *g);
/* Queued on the device's stream. */
bool cublas_gemm_run(struct cublas_gemm *g, struct error *err);
