/* bench 1
op: conv2d
what: the library on channels padded with zeros to multiples of 8, its time including padding and cropping
needs: groups == 1 and (c % 8 != 0 or k % 8 != 0) and n * h * w * c8 < 2147483648 and n * p * q * k8 < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [f32, tf32, f16_acc32, bf16_acc32]
algorithm: library
epilogue: [bias, relu, leaky_relu]
let:
  c8: ceil(c, 8) * 8
  k8: ceil(k, 8) * 8
  wide: c8 != c                # the input is padded
  deep: k8 != k                # the output is cut off
define:
  ELEMENT_T: type(input)
scratch:
  x8: input[select(wide, n * h * w * c8, 8)]
  f8: filter[k8 * r * s * c8]
  b8: f32[k8]
  y8: output[select(deep, n * p * q * k8, 8)]
prepare:
  - fill: f8 = 0
  - kernel: pad_channels
    grid: ceil(k * r * s * (c8 / 8), 256)
    block: 256
    args: filter, f8, k * r * s, c, c8
  - fill: b8 = 0
    when: has(bias)
  - kernel: pad_bias
    grid: ceil(k, 256)
    block: 256
    args: bias, b8, k
    when: has(bias)
steps:
  - kernel: pad_channels
    grid: ceil(n * h * w * (c8 / 8), 256)
    block: 256
    args: input, x8, n * h * w, c, c8
    when: wide
  - {variant: conv2d/cudnn, input: x8, filter: f8, bias: b8, output: y8, with: {c: c8, k: k8}, epilogue: same, when: wide and deep}
  - {variant: conv2d/cudnn, input: x8, filter: f8, bias: b8, with: {c: c8}, epilogue: same, when: wide and not deep}
  - {variant: conv2d/cudnn, filter: f8, bias: b8, output: y8, with: {k: k8}, epilogue: same, when: deep and not wide}
  - kernel: cut_channels
    grid: ceil(n * p * q * k, 256)
    block: 256
    args: y8, output, n * p * q * k, k, k8
    when: deep
*/

/* cuDNN's tensor-core engines need multiples of eight channels; for 3, 20 or 36 of them its heuristics fall back to engines that are several times slower.
 * A user who pads the tensor gets the fast ones. This row does so, and its time includes the padding, so that the denominator of such layers is not a weak
 * one. Filter and bias are padded once, before the timing (`prep us`).
 *
 * A thread pads eight channels of one pixel: up to eight loads of single elements, one store of 16 (or 32) bytes. */
#include "element/element.cuh"

struct alignas(8 * sizeof(ELEMENT_T) < 16 ? 8 * sizeof(ELEMENT_T) : 16) Eight {
    ELEMENT_T v[8];
};

extern "C" __global__ void __launch_bounds__(256) pad_channels(const ELEMENT_T *from, Eight *to, int rows, int C, int C8)
{
    int at = blockIdx.x * 256 + threadIdx.x, groups = C8 / 8;
    if (at >= rows * groups)
        return;
    int row = at / groups, c0 = at % groups * 8;
    Eight out;
#pragma unroll
    for (int i = 0; i < 8; i++)
        out.v[i] = c0 + i < C ? from[(size_t)row * C + c0 + i] : ELEMENT_T(0.0f);
    to[at] = out;
}

extern "C" __global__ void __launch_bounds__(256) pad_bias(const float *from, float *to, int K)
{
    int k = blockIdx.x * 256 + threadIdx.x;
    if (k < K)
        to[k] = from[k];
}

extern "C" __global__ void __launch_bounds__(256) cut_channels(const ELEMENT_T *from, ELEMENT_T *to, int count, int K, int K8)
{
    int at = blockIdx.x * 256 + threadIdx.x;
    if (at < count)
        to[at] = from[(size_t)(at / K) * K8 + at % K];
}
