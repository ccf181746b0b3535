/* emu/run/tensor_sum: the arithmetic of tensor cores, bit for bit: one element of D = A B + C.
 *
 * The hardware adds a group of products and the accumulator in one step. Each product is exact. Every addend is shifted to the largest
 * exponent in the group; the exponent of a product is the sum of its factors' exponents, and a product with a factor 0 takes no part. The
 * bits below the last one kept are cut off, the rest is added exactly, and the sum is cut off to f32, or rounded to nearest for an f16
 * accumulator. How many bits are kept and how many products a group has depends on chip, instruction and type.
 *
 * Sources: sm_90 as measured on an H200 with tests/gpu/tensor_bits.cu. Other chips as published by Xie and others, "MMA-Sim: Bit-Accurate
 * Reference Model of Tensor Cores and Matrix Cores" (arXiv 2511.10909, 2025); not measured here. */
#pragma once

#include <stdbool.h>

#define TENSOR_K_MAX 64

enum tensor_type { TENSOR_F16, TENSOR_BF16, TENSOR_TF32, TENSOR_E4M3, TENSOR_E5M2, TENSOR_E2M3, TENSOR_E3M2, TENSOR_E2M1 };
/* The instruction: mma and wmma, wgmma, or tcgen05.mma. */
enum tensor_unit { TENSOR_MMA, TENSOR_WGMMA, TENSOR_TCGEN05 };

struct tensor_rule {
    int group;    /* products added in one step; 0: all */
    int bits;     /* fraction bits kept at the largest exponent */
    int fraction; /* of an f32 result: 23, or 13 with the rest zero */
    bool by_f16;  /* ptxas makes two f16 instructions that begin with 0 (elements with k % 4 < 2, then the others), and one addition of c */
};

/* cc: compute capability x 10. */
struct tensor_rule tensor_rule_of(int cc, enum tensor_unit unit, enum tensor_type type);
/* The least exponent of a type, that of its subnormal numbers: -14 for f16, -126 for bf16 and tf32, -6 for e4m3, -14 for e5m2, 0 for e2m3
 * and e2m1, -2 for e3m2. */
int tensor_least(enum tensor_type type);
/* c + the sum of a[i] * b[i], n of them (at most TENSOR_K_MAX). half: c and the result are f16 values. NaN has no sign or payload. */
float tensor_sum(const struct tensor_rule *rule, const float *a, enum tensor_type ta, const float *b, enum tensor_type tb, int n, float c,
                 bool half);
