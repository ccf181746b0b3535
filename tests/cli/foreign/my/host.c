/* A library as docs/FOREIGN.md describes it; it computes on the host, so that emu can run it. */
#include "foreign.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct bench_tensor *tensor(const struct bench_call *call, const char *name)
{
    for (int i = 0; i < call->tensor_count; i++)
        if (!strcmp(call->tensors[i].name, name))
            return &call->tensors[i];
    return NULL;
}

static long long symbol(const struct bench_call *call, const char *name)
{
    for (int i = 0; i < call->symbol_count; i++)
        if (!strcmp(call->symbols[i].name, name))
            return call->symbols[i].value;
    return -1;
}

int conv(struct bench_call *call)
{
    if (!call->open_library("libm.so.6") || call->open_library("libnothing.so.1"))
        return 8;
    const struct bench_tensor *x = tensor(call, "input"), *f = tensor(call, "filter"), *bias = tensor(call, "bias"),
                              *y = tensor(call, "output");
    const float *input = x->data, *filter = f->data, *add = bias->data;
    float *output = y->data, *row = call->workspaces[0].data;
    long long pad = symbol(call, "pad");
    if (call->version != BENCH_FOREIGN_VERSION || !call->on_host || call->workspace_count != 1 || strcmp(call->workspaces[0].name, "row") ||
        call->workspaces[0].dim[3] != y->dim[3] || strcmp(call->epilogue, "bias,relu") || call->slope != 0 || strcmp(f->layout, "KCRS") ||
        symbol(call, "k") != 7)
        return 7;
    for (long long i = 0; i < y->dim[0] * y->dim[1] * y->dim[2]; i++) {
        long long py = i % y->dim[2], o = i / y->dim[2] % y->dim[1], b = i / y->dim[2] / y->dim[1];
        for (long long px = 0; px < y->dim[3]; px++) {
            float sum = add[o];
            for (long long d = 0; d < x->dim[1]; d++)
                for (long long t = 0; t < 9; t++) {
                    long long yy = py + t / 3 - pad, xx = px + t % 3 - pad;
                    if (yy >= 0 && yy < x->dim[2] && xx >= 0 && xx < x->dim[3])
                        sum += input[((b * x->dim[1] + d) * x->dim[2] + yy) * x->dim[3] + xx] * filter[(o * x->dim[1] + d) * 9 + t];
                }
            row[px] = sum < 0 ? 0 : sum;
        }
        memcpy(output + i * y->dim[3], row, (size_t)y->dim[3] * sizeof *row);
    }
    return 0;
}

int wrong(struct bench_call *call)
{
    conv(call);
    ((float *)tensor(call, "output")->data)[5] += 1;
    return 0;
}

int crash(struct bench_call *call)
{
    *(volatile int *)0 = 1;
    return 0;
}

int hang(struct bench_call *call)
{
    for (;;)
        sleep(1);
}

int past(struct bench_call *call)
{
    const struct bench_tensor *y = tensor(call, "output");
    conv(call);
    ((char *)y->data)[y->bytes + 12] = 0;
    return 0;
}

int refuse(struct bench_call *call)
{
    strcpy(call->message, "only for c = 64");
    return BENCH_UNSUPPORTED;
}
