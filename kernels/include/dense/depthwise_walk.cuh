/* dense/depthwise_walk: how the blocks of a depthwise convolution of NCHW tensors share its lines (dense/depthwise_planes.cuh).
 *
 * Not for NHWC: blocks of neighbouring channels must be at the same lines at the same time, or each byte comes from DRAM twice (H200, 7x7 in TF32: 114 MB for 54).
 *
 * Needs R, STRIDE_Y, DILATION_Y, EVEN, EXTRA as constants. */
#pragma once

/* The lines of the image that a block computes, in sequence. Columns of ACROSS outputs of a plane are stacked, with EXTRA empty lines in between, and every block gets `each` lines
 * of this stack: a block that begins a second column loads another halo. */
template <int ACROSS> struct walk {
    int at, end, P, K, tiles_x; /* lines of the tower */
    int k = 0, q = 0, n = 0, p = 0, rows = 0, lines = 0; /* of a column: its place, lines of outputs from p on, lines of input */

    /* The block's number comes from a register that is read anew, so that walks share nothing that has to stay in registers. */
    __device__ __forceinline__ walk(int P, int K, int tiles_x, int all, int each) : P(P), K(K), tiles_x(tiles_x)
    {
        int i;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(i));
        at = i * each;
        end = min(at + each, all * (P + EXTRA));
        column();
    }
    /* On to the next part that has lines; lines == 0: there is none. */
    __device__ __forceinline__ void column()
    {
        lines = 0;
        while (at < end) {
            int i = at / (P + EXTRA), from = i * (P + EXTRA);
            p = at - from;
            rows = min(P, end - from) - p;
            k = i % K;
            q = i / K % tiles_x * ACROSS;
            n = i / K / tiles_x;
            lines = rows > 0 ? (rows - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1 : 0;
            at = from + P + EXTRA;
            if (!EVEN || lines > 0) /* without EVEN each block begins with lines */
                break;
        }
    }
};
