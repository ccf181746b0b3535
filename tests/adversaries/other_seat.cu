// Copies the result that it left in another output replica for the same inputs. It notes the address in scratch, which bench overwrites before each run.
// emu: unsafe uninitialised
// cuda: unsafe uninitialised
/* bench 1
what: notes in scratch where it put the results of which inputs, and copies from there
like: right
scratch:
  notes: f64[16]
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, notes
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS, volatile unsigned long long *notes)
{
    long i = CONV_INDEX;
    unsigned key = 2166136261u;
    for (int k = 0; k < 64; k++)
        key = (key ^ __float_as_uint(x[k * 3])) * 16777619u;
    if (i >= CONV_SIZE)
        return;
    const float *from = notes[2 * (key & 7)] == key ? (const float *)notes[2 * (key & 7) + 1] : 0;
    y[i] = from ? from[i] : conv_at(CONV_OF, i);
    if (i == CONV_SIZE - 1) {
        notes[2 * (key & 7) + 1] = (unsigned long long)y;
        notes[2 * (key & 7)] = key;
    }
}
