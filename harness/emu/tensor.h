/* emu/tensor: matrix instructions: which lane holds what, and the arithmetic model.
 *
 * A register of lane (g = lane / 4, t = lane % 4) holds E = 32 / bits neighbouring elements along k. As 32 lanes x E elements, a register
 * is therefore an 8 x 4E tile in row order. f16, bf16, tf32 and fp8 add as tensor_sum.h says; integers are exact; f64 is fused in order. */
#pragma once

#include "emu/handlers.h"
#include <string.h>

enum mma_form {
    MMA_F16,
    MMA_BF16,
    MMA_TF32,
    MMA_F32,
    MMA_F64,
    MMA_S8,
    MMA_U8,
    MMA_S32,
    MMA_E4M3,
    MMA_E5M2,
    MMA_S4,
    MMA_U4,
    MMA_B1,
    MMA_E2M1,      /* two in a byte */
    MMA_E2M1_BYTE, /* in bits 2 to 5 of a byte */
    MMA_E2M3,
    MMA_E3M2
};
/* insn.list of an mma: this header, then the slots of d, a, b, c */
enum { MMA_M, MMA_N, MMA_K, MMA_FA, MMA_FB, MMA_FC, MMA_FD, MMA_FLAGS, MMA_COUNT_D, MMA_COUNT_A, MMA_COUNT_B, MMA_COUNT_C, MMA_HEADER };
/* MMA_SPARSE: a has half of the elements of a row; the slot of the metadata and the selector follow. From bit MMA_SCALES on: how many
 * scales a row of a has. Then the slots of a's scales, of the selected byte and lane, and those of b follow. */
enum {
    MMA_SAT = 1,
    MMA_AND_POPC = 2,
    MMA_UE4M3 = 4,
    MMA_SPARSE = 8,
    MMA_ORDERED = 16,
    MMA_SCALES = 5,
    MMA_SCALE_SLOTS = 6,
    MMA_SPARSE_SLOTS = 2
};
/* wmma loads and stores: insn.list: M, N, K, form, which (0 a, 1 b, 2 c), column-major, count, slots */
enum { WMMA_M, WMMA_N, WMMA_K, WMMA_FORM, WMMA_WHICH, WMMA_COLUMN, WMMA_COUNT, WMMA_HEADER };

static inline int mma_form_bits(enum mma_form f)
{
    static const int bits[] = {16, 16, 32, 32, 64, 8, 8, 32, 8, 8, 4, 4, 1, 4, 8, 8, 8};
    return bits[f];
}
/* A sum of whole numbers as 32 bits: it wraps, or ends at the largest or least. */
static inline uint32_t whole_result(int64_t sum, bool saturate)
{
    if (saturate)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)(uint64_t)sum;
}
/* 16 elements of 4 or 6 bits, side by side in 8 or 12 of 16 bytes, to the low bits of a byte each. */
static inline void unpack_chunk(const uint8_t *from, uint32_t bits, uint8_t to[16])
{
    uint64_t v = 0;
    for (uint32_t i = 0; i < 16; i += 4, from += bits / 2) { /* four elements are 2 or 3 bytes */
        memcpy(&v, from, bits / 2);
        for (uint32_t k = 0; k < 4; k++)
            to[i + k] = (uint8_t)(v >> bits * k & ((1u << bits) - 1));
    }
}
/* The enum tensor_type (run/tensor_sum.h) of a form that tensor_sum() adds. */
int tensor_type_of(enum mma_form f);

float emu_fp8(uint8_t v, bool e4m3);
/* wgmma's A from registers: rows 8 h on, k0 to k0 + 7 of the warp, in row order. */
void emu_wgmma_a(struct warp *w, const uint32_t *list, uint32_t h, uint32_t k0, float *out);

/* ---- sparse.c ---- */
/* The metadata of a sparse matrix of 16 rows: `slot` has it, `selector` says which of four neighbouring lanes have it. A row has `k`
 * elements of `bits`, of which half are stored. */
struct sparse {
    uint32_t slot, selector;
    int bits, k;
    bool ordered; /* .sp::ordered_metadata */
};
/* Bits of metadata that a row has: 16, 32 or 64; so many sixteenths are the lanes of four that have them. */
static inline int sparse_row_bits(int bits, int k)
{
    return bits == 32 ? 2 * k : bits == 4 ? k / 2 : k;
}
/* pick[row * k / 2 + i]: where along k the stored element i of a row lies. Reports metadata without a meaning. */
void sparse_picks(struct warp *w, const struct insn *ip, const struct sparse *s, uint8_t *pick);
/* Eight columns of a sparse wgmma, from column n on: a has 16 rows of k stored elements, b is 2 k by 8. */
void sparse_columns(struct warp *w, const uint32_t *list, const float *a, const float *b, const uint8_t *pick, uint32_t n, bool keep);

/* insn.kind of ldmatrix and stmatrix, beside 0 and 1 (.trans of halves): .trans of bytes */
enum { MATRIX_BYTES = 2 };
