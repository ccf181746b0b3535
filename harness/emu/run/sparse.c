/* emu/run/sparse: sparse matrices of mma.sp and wgmma.sp: of each 4 elements of a row 2 are stored (tf32: 1 of 2; 4-bit types: 4 of 8, in
 * pairs), and metadata say which. Layout: PTX ISA 9.0, "Sparse matrix storage" and the metadata figures of each shape. */
#include "emu/async.h"
#include "emu/run/tensor_sum.h"
#include "emu/tensor.h"
#include "base/dtype.h"
#include <string.h>

/* The four bits of metadata that a row has for its chunk c. */
static uint32_t chunk_bits(const uint32_t *metadata, const struct sparse *s, int row, int c)
{
    int lanes = sparse_row_bits(s->bits, s->k) / 16, first = row % 8 * 4 + (int)s->selector * lanes;
    if (s->bits <= 8) /* a lane has 32 bits of one row, else 16 of two */
        return metadata[first + row / 8 + c / 8 * 2] >> 4 * (c % 8) & 15;
    return metadata[first + c / 4] >> (row / 8 * 16 + 4 * (c % 4)) & 15;
}

static bool meaningful(const struct sparse *s, uint32_t v)
{
    if (s->bits == 32)
        return v == 0xe || v == 4;
    return s->ordered ? (v & 3) < v >> 2 : (v & 3) != v >> 2;
}

void sparse_picks(struct warp *w, const struct insn *ip, const struct sparse *s, uint8_t *pick)
{
    const uint32_t *metadata = SLOT(const uint32_t, w, s->slot);
    int pair = s->bits == 4 ? 2 : 1, chunks = sparse_row_bits(s->bits, s->k) / 4, wide = s->k / chunks;
    bool told = false;
    for (int row = 0; row < 16; row++)
        for (int c = 0; c < chunks; c++) {
            uint32_t v = chunk_bits(metadata, s, row, c);
            if (!told && !meaningful(s, v)) {
                emu_report(w, ip, -1, "descriptor",
                           "the metadata of row %d, elements %d to %d of the sparse matrix are 0x%x, which has no meaning%s", row, c * wide,
                           c * wide + wide - 1, v, s->ordered && (v & 3) != v >> 2 ? " where they are ordered" : "");
                told = true;
            }
            for (int i = 0; i < wide / 2; i++) {
                int unit = s->bits == 32 ? (int)(v >> 3) : (int)(v >> 2 * (i / pair) & 3);
                *pick++ = (uint8_t)(c * wide + unit * pair + i % pair);
            }
        }
}

void sparse_columns(struct warp *w, const uint32_t *list, const float *a, const float *b, const uint8_t *pick, uint32_t n, bool keep)
{
    const uint32_t *d = list + WGMMA_HEADER, k = list[WGMMA_K];
    const enum tensor_type ta = (enum tensor_type)tensor_type_of((enum mma_form)list[WGMMA_FA]),
                           tb = (enum tensor_type)tensor_type_of((enum mma_form)list[WGMMA_FB]);
    const struct tensor_rule rule = tensor_rule_of(w->runner->launch->chip->cc, TENSOR_WGMMA, ta);
    const bool half = list[WGMMA_FD] == MMA_F16;
    for (uint32_t row = 0; row < 16; row++)
        for (uint32_t col = 0; col < 8; col++) {
            const float *stored = a + row * k;
            const uint8_t *at = pick + row * k;
            uint32_t lane = row % 8 * 4 + col / 2, tile = n / 8, slot = half ? 2 * tile + row / 8 : 4 * tile + row / 8 * 2 + col % 2;
            uint32_t *word = SLOT(uint32_t, w, d[slot]) + lane;
            uint16_t *part = (uint16_t *)word + col % 2;
            float y[TENSOR_K_MAX], c = 0;
            for (uint32_t i = 0; i < k; i++)
                y[i] = b[at[i] * 8 + col];
            if (list[WGMMA_FD] == MMA_S32) {
                int64_t sum = keep ? (int32_t)*word : 0;
                for (uint32_t i = 0; i < k; i++)
                    sum += (int64_t)stored[i] * (int64_t)y[i];
                *word = whole_result(sum, list[WGMMA_SATURATE]);
                continue;
            }
            if (keep && half)
                c = f16_to_f32(*part);
            else if (keep)
                memcpy(&c, word, 4);
            c = tensor_sum(&rule, stored, ta, y, tb, (int)k, c, half);
            if (half)
                *part = c != c ? 0x7fff : f16_from_f32(c);
            else
                memcpy(word, &c, 4);
            if (!half && c != c)
                *word = 0x7fffffff;
        }
}
