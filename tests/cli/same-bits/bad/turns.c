#include "foreign.h"

/* input, filter, bias and output stand in this order. */
int turns(struct bench_call *call)
{
    static int calls;
    const struct bench_tensor *x = &call->tensors[0], *f = &call->tensors[1], *y = &call->tensors[3];
    const float *input = x->data, *filter = f->data, *bias = call->tensors[2].data;
    long long C = x->dim[1], H = x->dim[2], W = x->dim[3], K = y->dim[1];
    if (call->tensor_count != 4)
        return 7;
    for (long long i = 0; i < y->dim[0] * K * H * W; i++) {
        long long q = i % W, p = i / W % H, k = i / W / H % K, n = i / W / H / K;
        float sum = 0;
        for (long long j = 0; j < 9 * C; j++) {
            long long t = calls % 2 ? 9 * C - 1 - j : j, a = p + t % 9 / 3 - 1, b = q + t % 3 - 1;
            if (a >= 0 && a < H && b >= 0 && b < W)
                sum += input[((n * C + t / 9) * H + a) * W + b] * filter[k * 9 * C + t];
        }
        sum += bias[k];
        ((float *)y->data)[i] = sum < 0 ? 0 : sum;
    }
    calls++;
    return 0;
}
