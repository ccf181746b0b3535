/* The row rmsnorm/cudnn: a graph of one operation, the norm of mode RMS at inference, as the first engine of cuDNN's heuristic that makes a plan of it. Declared by the
 * documentation of cuDNN 9 ("Backend API"), which is opened at run time. A row is an image of cols channels and one pixel. */
#include "op/foreign_library.h"
#include <stddef.h>
#include <stdint.h>

enum { DATA_FLOAT = 0, DATA_HALF = 2, DATA_BFLOAT16 = 9 }; /* cudnnDataType_t */
enum { INT64 = 3, BOOLEAN = 2, DATA_TYPE = 1, HANDLE = 0, POINTER = 6, HEURISTIC_MODE = 8, DESCRIPTOR = 15, NORM_MODE = 27, NORM_PHASE = 28 };
enum { MAKE_CONFIG = 3, MAKE_HEURISTIC = 4, MAKE_PLAN = 5, MAKE_GRAPH = 15, MAKE_PACK = 16, MAKE_TENSOR = 17, MAKE_NORM = 29 };
enum {
    HEURISTIC_OF = 200,
    HEURISTIC_GRAPH,
    HEURISTIC_RESULTS,
    PLAN_HANDLE = 400,
    PLAN_CONFIG,
    PLAN_WORKSPACE,
    GRAPH_HANDLE = 800,
    GRAPH_OPERATIONS,
    TENSOR_ALIGNMENT = 900,
    TENSOR_TYPE,
    TENSOR_DIMENSIONS,
    TENSOR_STRIDES,
    TENSOR_ID = 906,
    TENSOR_BY_VALUE = 908,
    PACK_IDS = 1000,
    PACK_POINTERS,
    PACK_WORKSPACE = 1003,
    NORM_OF = 2000,
    NORM_AT,
    NORM_X,
    NORM_SCALE = 2005,
    NORM_EPSILON = 2007,
    NORM_Y = 2013
};
enum { RMS = 4, INFERENCE = 0, MODE_A = 3, MODE_FALLBACK = 2, CONFIGS = 8 };
enum { ID_X = 1, ID_SCALE, ID_EPSILON, ID_Y };

/* Made by the first call of each work that a process has: of another size or type the plan is another one. */
static struct {
    void *handle, *plan;
    int (*create)(void **handle);
    int (*set_stream)(void *handle, void *stream);
    int (*make)(int kind, void **descriptor);
    int (*drop)(void *descriptor);
    int (*set)(void *descriptor, int attribute, int type, int64_t count, const void *values);
    int (*get)(void *descriptor, int attribute, int type, int64_t wanted, int64_t *count, void *values);
    int (*finish)(void *descriptor);
    int (*execute)(void *handle, void *plan, void *pack);
    int64_t workspace;
    struct rows {
        long long rows, cols, type;
    } of;
} dnn;

static int load(struct bench_call *call)
{
    const struct library_function functions[] = {{"cudnnCreate", &dnn.create},
                                                 {"cudnnSetStream", &dnn.set_stream},
                                                 {"cudnnBackendCreateDescriptor", &dnn.make},
                                                 {"cudnnBackendDestroyDescriptor", &dnn.drop},
                                                 {"cudnnBackendSetAttribute", &dnn.set},
                                                 {"cudnnBackendGetAttribute", &dnn.get},
                                                 {"cudnnBackendFinalize", &dnn.finish},
                                                 {"cudnnBackendExecute", &dnn.execute}};
    int failed = library_find(call, "libcudnn.so.9", "nvidia-cudnn-cu13", functions, 8);
    return failed ? failed : dnn.create(&dnn.handle) ? library_say(call, 2, "cudnnCreate failed") : 0;
}

static void *made(int kind)
{
    void *d = NULL;
    return dnn.make(kind, &d) ? NULL : d;
}

/* Of rows x cols x 1 x 1 elements side by side; by value: one number that the host has when it is executed. */
static void *tensor(int64_t id, int type, int64_t rows, int64_t cols, int by_value)
{
    const int64_t dim[4] = {rows, cols, 1, 1}, stride[4] = {cols, 1, cols, cols}, alignment = 16;
    const _Bool yes = 1;
    void *d = made(MAKE_TENSOR);
    if (!d || dnn.set(d, TENSOR_TYPE, DATA_TYPE, 1, &type) || dnn.set(d, TENSOR_DIMENSIONS, INT64, 4, dim) || dnn.set(d, TENSOR_STRIDES, INT64, 4, stride) ||
        dnn.set(d, TENSOR_ID, INT64, 1, &id) || dnn.set(d, TENSOR_ALIGNMENT, INT64, 1, &alignment) ||
        (by_value && dnn.set(d, TENSOR_BY_VALUE, BOOLEAN, 1, &yes)))
        return NULL;
    return dnn.finish(d) ? NULL : d;
}

static void *graph(const struct rows *of)
{
    const int mode = RMS, phase = INFERENCE, type = (int)of->type;
    void *parts[] = {tensor(ID_X, type, of->rows, of->cols, 0), tensor(ID_SCALE, type, 1, of->cols, 0), tensor(ID_EPSILON, DATA_FLOAT, 1, 1, 1),
                     tensor(ID_Y, type, of->rows, of->cols, 0)},
         *norm = made(MAKE_NORM), *g = made(MAKE_GRAPH);
    const int places[] = {NORM_X, NORM_SCALE, NORM_EPSILON, NORM_Y};
    if (!norm || !g || dnn.set(norm, NORM_OF, NORM_MODE, 1, &mode) || dnn.set(norm, NORM_AT, NORM_PHASE, 1, &phase))
        return NULL;
    for (int i = 0; i < 4; i++)
        if (!parts[i] || dnn.set(norm, places[i], DESCRIPTOR, 1, &parts[i]))
            return NULL;
    return dnn.finish(norm) || dnn.set(g, GRAPH_OPERATIONS, DESCRIPTOR, 1, &norm) || dnn.set(g, GRAPH_HANDLE, HANDLE, 1, &dnn.handle) || dnn.finish(g) ? NULL : g;
}

/* The first configuration of this mode that becomes a plan in the memory that there is. */
static void *plan_of(void *g, int mode, int64_t room)
{
    void *heuristic = made(MAKE_HEURISTIC), *configs[CONFIGS] = {0};
    int64_t count = 0;
    if (!heuristic || dnn.set(heuristic, HEURISTIC_GRAPH, DESCRIPTOR, 1, &g) || dnn.set(heuristic, HEURISTIC_OF, HEURISTIC_MODE, 1, &mode) ||
        dnn.finish(heuristic))
        return NULL;
    for (int i = 0; i < CONFIGS; i++)
        if (!(configs[i] = made(MAKE_CONFIG)))
            return NULL;
    if (dnn.get(heuristic, HEURISTIC_RESULTS, DESCRIPTOR, CONFIGS, &count, configs))
        return NULL;
    for (int i = 0; i < count && i < CONFIGS; i++) {
        void *plan = made(MAKE_PLAN);
        int64_t bytes = 0, got = 0;
        if (plan && !dnn.set(plan, PLAN_CONFIG, DESCRIPTOR, 1, &configs[i]) && !dnn.set(plan, PLAN_HANDLE, HANDLE, 1, &dnn.handle) && !dnn.finish(plan) &&
            !dnn.get(plan, PLAN_WORKSPACE, INT64, 1, &got, &bytes) && bytes <= room)
            return plan;
        if (plan)
            dnn.drop(plan);
    }
    return NULL;
}

bench_function rmsnorm_cudnn;
int rmsnorm_cudnn(struct bench_call *call)
{
    const struct bench_tensor *input = &call->tensors[0], *gain = &call->tensors[1], *output = &call->tensors[2];
    const struct rows of = {call->shapes[0].dim[0], call->shapes[0].dim[1],
                            !strcmp(input->dtype, "f16")    ? DATA_HALF
                            : !strcmp(input->dtype, "bf16") ? DATA_BFLOAT16
                                                            : DATA_FLOAT};
    int failed = dnn.handle ? 0 : load(call);
    if (failed)
        return failed;
    if (memcmp(&of, &dnn.of, sizeof of)) {
        void *g = graph(&of);
        dnn.plan = g ? plan_of(g, MODE_A, (int64_t)call->workspaces[0].bytes) : NULL;
        dnn.plan = g && !dnn.plan ? plan_of(g, MODE_FALLBACK, (int64_t)call->workspaces[0].bytes) : dnn.plan;
        dnn.of = dnn.plan ? of : (struct rows){0};
        if (!dnn.plan)
            return library_say(call, BENCH_UNSUPPORTED, g ? "cuDNN has no plan for this norm" : "cuDNN does not describe this norm");
    }
    float eps = 0;
    for (int i = 0; i < call->real_count; i++)
        eps = !strcmp(call->reals[i].name, "eps") ? (float)call->reals[i].value : eps;
    const int64_t ids[] = {ID_X, ID_SCALE, ID_EPSILON, ID_Y};
    void *const pointers[] = {input->data, gain->data, &eps, output->data}, *pack = made(MAKE_PACK);
    int status = !pack || dnn.set(pack, PACK_IDS, INT64, 4, ids) || dnn.set(pack, PACK_POINTERS, POINTER, 4, pointers) ||
                 dnn.set(pack, PACK_WORKSPACE, POINTER, 1, &call->workspaces[0].data) || dnn.finish(pack) || dnn.set_stream(dnn.handle, call->stream) ||
                 dnn.execute(dnn.handle, dnn.plan, pack);
    if (pack)
        dnn.drop(pack);
    return status ? library_say(call, 2, "cuDNN's norm failed") : 0;
}
