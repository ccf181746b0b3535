/* element/mask_bits: reading the masks of sparse updates: u32[n][h][words], bit x % 32 of word x / 32 is column x, zeros behind the last column. */
#pragma once

/* 32 columns of a mask's row from x on, x first; zeros outside the `words` words of the row. */
__device__ __forceinline__ unsigned mask_bits(const unsigned *row, int x, int words)
{
    int word = x >> 5; /* rounds down, also below 0 */
    unsigned low = word >= 0 && word < words ? __ldg(row + word) : 0, high = word >= -1 && word + 1 < words ? __ldg(row + word + 1) : 0;
    return __funnelshift_r(low, high, x);
}
/* The same of row y of an image of H rows; nothing is marked above and below. */
__device__ __forceinline__ unsigned mask_bits(const unsigned *mask, int y, int x, int H, int words)
{
    return y >= 0 && y < H ? mask_bits(mask + (long long)y * words, x, words) : 0;
}
