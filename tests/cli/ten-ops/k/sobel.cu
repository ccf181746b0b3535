/* bench 1
op: sobel
what: mine
steps:
  - kernel: sobel
    grid: ceil(w, 32), ceil(h, 8)
    block: 32, 8
    args: x, y, h, w
*/
extern "C" __global__ void sobel(const unsigned char *x, float *y, int h, int w)
{
    int px = blockIdx.x * 32 + threadIdx.x, py = blockIdx.y * 8 + threadIdx.y;
    if (px >= w || py >= h) return;
    float v[3][3];
    for (int i = -1; i < 2; i++) for (int j = -1; j < 2; j++) v[i + 1][j + 1] = x[min(max(py + i, 0), h - 1) * w + min(max(px + j, 0), w - 1)];
    float gx = v[0][2] + 2 * v[1][2] + v[2][2] - v[0][0] - 2 * v[1][0] - v[2][0], gy = v[2][0] + 2 * v[2][1] + v[2][2] - v[0][0] - 2 * v[0][1] - v[0][2];
    y[py * w + px] = sqrtf(gx * gx + gy * gy);
}
