/* foreign.h: what a shared library exports to be a row of bench. For authors: include this file alone (C or C++), export one function, and
 * name it in a sidecar (docs/FOREIGN.md):
 *
 *     extern "C" int my_conv(struct bench_call *call) { ... queue kernels on call->stream ...; return 0; }
 *
 * It is called once for every run of the row, must only queue work on the stream (no synchronisation: it may be captured into a CUDA
 * graph), and may keep state between calls. Return 0; BENCH_UNSUPPORTED when this shape or type is not offered (the row is skipped);
 * anything else is a failure. A reason may be written to `message`.
 *
 * A library may also export `bench_open`, which bench calls with the same structure, without tensors, each time it opens such a row: slow
 * initialisation there does not count against the time limit of a run. If it exports `bench_finish`, and `defers` is set, a result that
 * lies elsewhere may be kept: bench calls `bench_finish` with the same structure behind the events that time the run, and it queues the
 * copy. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_FOREIGN_VERSION 1
#define BENCH_UNSUPPORTED 1

struct bench_tensor {
    const char *name;   /* "input", "filter", "bias", "residual", "mask_in", "mask_out", "output"; a workspace: its name in `scratch:` */
    const char *dtype;  /* "f32", "f16", "bf16", "u32" ... */
    const char *layout; /* "NCHW", "NHWC"; filters "KCRS", "KRSC", "RSCK", "CRSK"; "linear" */
    long long dim[4];   /* n, c, h, w whatever the layout; k, c, r, s; 1, 1, 1, elements */
    void *data;         /* device memory; host memory when on_host */
    unsigned long long bytes;
};
struct bench_shape {
    int rank; /* conv3d: 5, n, c, d, h, w, where `dim` above has the planes one under the other */
    long long dim[8];
};
struct bench_symbol {
    const char *name; /* of the op, as `bench list op NAME` prints them: n c h w k r s p q stride pad dilation groups ... */
    long long value;
};
struct bench_real {
    const char *name; /* a field of the op that is a real: eps ... */
    double value;
};
struct bench_call {
    int version;           /* BENCH_FOREIGN_VERSION; fields are only ever added behind the last one */
    int on_host;           /* 1: on emu; data are host memory and the work must be done on return */
    void *stream;          /* the CUstream; 0 on the host */
    const char *op, *math; /* "conv2d"; "f16_acc32" ... */
    int tensor_count, workspace_count, symbol_count;
    const struct bench_tensor *tensors;    /* those that this layer has */
    const struct bench_tensor *workspaces; /* what the sidecar asked for under `scratch:` */
    const struct bench_symbol *symbols;
    const char *epilogue; /* what this call must do after the op, in order: "", "bias,relu", "bias,residual" ... */
    double slope;         /* for negative values: 1 without activation, 0 for relu */
    char *message;
    unsigned long long message_bytes;
    const struct bench_shape *shapes;          /* of each of `tensors`, as the op has it */
    void *(*open_library)(const char *soname); /* "libcublasLt.so.13", for dlsym, wherever bench finds libraries; 0: nowhere */
    int real_count;
    const struct bench_real *reals;
    const char *source; /* the file that the sidecar names as its source */
    int defers;         /* a copy of the result to its buffer may wait for bench_finish */
};
typedef int bench_function(struct bench_call *call);

#ifdef __cplusplus
}
#endif
