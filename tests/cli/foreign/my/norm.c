/* RMSNorm in host memory, with the eps that the layer says. */
#include "foreign.h"
#include <math.h>
#include <string.h>

int norm(struct bench_call *call)
{
    const float *input = call->tensors[0].data, *gain = call->tensors[1].data;
    float *output = call->tensors[2].data;
    long long rows = call->shapes[0].dim[0], cols = call->shapes[0].dim[1];
    if (call->real_count != 1 || strcmp(call->reals[0].name, "eps"))
        return 7;
    for (long long r = 0; r < rows; r++) {
        double squares = 0;
        for (long long c = 0; c < cols; c++)
            squares += (double)input[r * cols + c] * input[r * cols + c];
        for (long long c = 0; c < cols; c++)
            output[r * cols + c] = (float)(input[r * cols + c] * gain[c] / sqrt(squares / cols + call->reals[0].value));
    }
    return 0;
}
