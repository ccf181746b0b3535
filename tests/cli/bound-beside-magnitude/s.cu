/* bench 1
op: signs
what: a thread a row
dtype: {x: f32, bits: u32, scale: f32}
steps:
  - kernel: signs
    grid: ceil(rows, 32)
    block: 32
    args: x, bits, scale, rows, words
*/
extern "C" __global__ void signs(const float *x, unsigned *bits, float *scale, int rows, int words)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = row * words; i < (row + 1) * words; i++) {
        unsigned word = 0;
        for (int k = 0; k < 32; k++) {
            word |= (x[32 * i + k] > 0 ? 1u : 0u) << k;
            sum += fabsf(x[32 * i + k]);
        }
        bits[i] = word;
    }
    scale[row] = sum / (32 * words);
}
