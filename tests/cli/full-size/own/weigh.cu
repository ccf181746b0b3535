/* bench 1
op: weighed
what: one thread an element; FAULT makes it wrong where there are many rows or columns
dtype: {x: f32, w: same, y: same}
params:
  FAULT: {values: [0, 1, 2, 3], default: 0}
steps:
  - kernel: weigh
    grid: ceil(cols, 128), rows
    block: 128
    args: x, w, y, rows, cols
*/
extern "C" __global__ void weigh(const float *x, const float *w, float *y, int rows, int cols)
{
    int c = blockIdx.x * 128 + threadIdx.x, r = blockIdx.y, from = r;
    if (c >= cols)
        return;
    if (FAULT == 1) /* a row in 12 bits */
        from = r & 4095;
    float weight = w[FAULT == 2 ? c & 511 : c]; /* a table of 512 weights */
    if (FAULT == 3 && r == rows - 1 && rows > 4096)
        weight = 1;
    y[(long long)r * cols + c] = x[(long long)from * cols + c] * weight;
}
