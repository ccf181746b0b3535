/* Modules, functions, launches and tensor maps. */
#include "base/dtype.h"
#include "base/text.h"
#include "device/cuda/private.h"
#include "device/ptx/query.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS_MAX 64
#define STACK_BYTES 1024            /* of a thread: the driver's limit, which nobody raises here */
#define SMEM_STATIC_MAX (48u << 10) /* more than this a function must ask for */

struct device_module {
    CUmodule handle;
    char *ptx, *label;
    struct device_function *functions; /* freed with the module */
};
struct device_function {
    CUfunction handle;
    struct device_function *next;
    char *name;
    struct param params[PARAMS_MAX];
    int param_count;
    size_t param_bytes;
    int static_smem, max_threads, local_bytes; /* of a thread */
    /* what was last set by attribute, so that a launch sets only what changes */
    uint32_t smem;
    int carveout;
    bool large_cluster;
};

static bool load_image(struct cuda_state *s, const void *image, CUmodule *module, CUresult *result, char *log, size_t log_bytes)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_GENERATE_LINE_INFO};
    void *values[] = {log, (void *)(uintptr_t)log_bytes, (void *)(uintptr_t)1};
    log[0] = 0;
    *result = s->api->cuModuleLoadDataEx(module, image, 3, options, values);
    log[log_bytes - 1] = 0;
    return *result == CUDA_SUCCESS;
}

bool cuda_load(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    CUresult r = CUDA_ERROR_INVALID_IMAGE;
    CUmodule handle = NULL;
    char log[1024] = "", what[160];
    bool ok = image->cubin && image->cubin_bytes && load_image(s, image->cubin, &handle, &r, log, sizeof log);
    /* A cubin of another architecture: let the driver compile the PTX. Any other failure of a cubin is an error. */
    bool other_arch = r == CUDA_ERROR_NO_BINARY_FOR_GPU || r == CUDA_ERROR_INVALID_IMAGE || r == CUDA_ERROR_INVALID_SOURCE;
    if (!ok && other_arch && image->ptx)
        ok = load_image(s, image->ptx, &handle, &r, log, sizeof log);
    if (!ok) {
        snprintf(what, sizeof what, "loading %s", image->label ? image->label : "a kernel");
        cuda_check(s, r, what, err);
        if (log[0] && err)
            error_set(err, err->kind, "%s: %.900s", what, log);
        return false;
    }
    *module = xcalloc(1, sizeof **module);
    **module = (struct device_module){.handle = handle,
                                      .ptx = image->ptx ? xstrndup(image->ptx, image->ptx_bytes) : NULL,
                                      .label = xstrdup(image->label ? image->label : "")};
    return true;
}

void cuda_unload(struct device *dev, struct device_module *module)
{
    struct cuda_state *s = cuda_state(dev);
    s->api->cuModuleUnload(module->handle);
    for (struct device_function *f = module->functions, *next; f; f = next) {
        next = f->next;
        free(f->name);
        free(f);
    }
    FREE_ALL(module->ptx, module->label, module);
}

/* Checks the PTX's parameter sizes against the driver's. Offsets are not compared: the driver's count from the start of the constant bank,
 * so they differ where an alignment exceeds 16 (a tensor map). Launches pass one pointer a parameter and need no offsets. */
static bool check_params(struct cuda_state *s, const struct device_function *f, struct error *err)
{
    size_t offset = 0, bytes = 0;
    for (int i = 0; i < f->param_count; i++) {
        CUresult r = s->api->cuFuncGetParamInfo(f->handle, (size_t)i, &offset, &bytes);
        if (r != CUDA_SUCCESS || bytes != f->params[i].bytes)
            return error_set(err, ERROR_INTERNAL, "kernel %s: parameter %d: its PTX says %u bytes, the driver %zu", f->name, i,
                             f->params[i].bytes, bytes);
    }
    return true; /* Whether the driver has more parameters is not asked: the query would fail, and compute-sanitizer reports every failed
                    call */
}

/* A cubin without PTX: the driver knows offsets and sizes, but no types. The list ends with a failed query, which compute-sanitizer
 * reports. */
static bool ask_params(struct cuda_state *s, struct device_function *f, struct error *err)
{
    size_t offset, bytes;
    f->param_count = 0;
    f->param_bytes = 0;
    while (s->api->cuFuncGetParamInfo(f->handle, (size_t)f->param_count, &offset, &bytes) == CUDA_SUCCESS) {
        if (f->param_count == PARAMS_MAX)
            return error_set(err, ERROR_USAGE, "kernel %s: more than %d parameters", f->name, PARAMS_MAX);
        f->params[f->param_count++] = (struct param){.kind = PARAM_ANY, .bytes = (uint32_t)bytes, .offset = (uint32_t)offset};
        f->param_bytes = offset + bytes;
    }
    return true;
}

/* True if the stack may exceed the driver's figure. Unknown for machine code without PTX. */
static bool grows(const struct device_module *module)
{
    return !module->ptx || strstr(module->ptx, "alloca") || strstr(module->ptx, ".callprototype");
}

bool cuda_function(struct device *dev, struct device_module *module, const char *name, struct device_function **function, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    for (struct device_function *f = module->functions; f; f = f->next) /* the driver has one of a name, with one limit of shared memory */
        if (!strcmp(f->name, name)) {
            *function = f;
            return true;
        }
    struct device_function *f = xcalloc(1, sizeof *f);
    f->carveout = -1;
    f->name = xstrdup(name);
    bool ok = false;
    if (module->ptx)
        f->param_count = ptx_signature(module->ptx, name, f->params, PARAMS_MAX, &f->param_bytes, err);
    if (f->param_count < 0)
        goto done;
    CUresult found = s->api->cuModuleGetFunction(&f->handle, module->handle, name);
    if (found == CUDA_ERROR_NOT_FOUND) {
        error_set(err, ERROR_USAGE, "%s has no kernel '%s'", module->label, name);
        goto done;
    }
    if (!cuda_check(s, found, name, err) || !cuda_check(s, s->api->cuFuncLoad(f->handle), name, err) ||
        !(module->ptx ? check_params(s, f, err) : ask_params(s, f, err)))
        goto done;
    s->api->cuFuncGetAttribute(&f->static_smem, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f->handle);
    s->api->cuFuncGetAttribute(&f->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f->handle);
    f->local_bytes += grows(module) ? STACK_BYTES : 0;
    s->api->cuFuncGetAttribute(&f->max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f->handle);
    f->next = module->functions;
    module->functions = f;
    *function = f;
    ok = true;
done:
    if (!ok) {
        free(f->name);
        free(f);
    }
    return ok;
}

int cuda_signature(struct device *dev, const struct device_function *function, const struct param **params, size_t *param_bytes)
{
    *params = function->params;
    *param_bytes = function->param_bytes;
    return function->param_count;
}

bool cuda_symbol(struct device *dev, struct device_module *module, const char *name, uint64_t *address, size_t *bytes, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    CUdeviceptr p = 0;
    CUresult r = s->api->cuModuleGetGlobal(&p, bytes, module->handle, name);
    if (r == CUDA_ERROR_NOT_FOUND) {
        error_set(err, ERROR_USAGE, "%s has no symbol '%s'", module->label, name);
        return error_hint(err, "declare it extern \"C\" __constant__; the compiler removes a symbol that no kernel uses");
    }
    *address = p;
    return cuda_check(s, r, name, err);
}

static bool map_kind(int dtype, CUtensorMapDataType *out)
{
    switch ((enum dtype)dtype) {
    case DTYPE_F32: *out = CU_TENSOR_MAP_DATA_TYPE_FLOAT32; return true;
    case DTYPE_F16: *out = CU_TENSOR_MAP_DATA_TYPE_FLOAT16; return true;
    case DTYPE_BF16: *out = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16; return true;
    case DTYPE_F64: *out = CU_TENSOR_MAP_DATA_TYPE_FLOAT64; return true;
    case DTYPE_I8:
    case DTYPE_E4M3:
    case DTYPE_E5M2:
    case DTYPE_E8M0:
    case DTYPE_BOOL:
    case DTYPE_U8: *out = CU_TENSOR_MAP_DATA_TYPE_UINT8; return true;
    case DTYPE_I32: *out = CU_TENSOR_MAP_DATA_TYPE_INT32; return true;
    case DTYPE_U32: *out = CU_TENSOR_MAP_DATA_TYPE_UINT32; return true;
    case DTYPE_U16: *out = CU_TENSOR_MAP_DATA_TYPE_UINT16; return true;
    case DTYPE_I64: *out = CU_TENSOR_MAP_DATA_TYPE_INT64; return true;
    case DTYPE_U64: *out = CU_TENSOR_MAP_DATA_TYPE_UINT64; return true;
    case DTYPE_E2M1:
    case DTYPE_NONE:
    case DTYPE_COUNT: break;
    }
    return false;
}

/* Index of value in a list of four, or -1. */
static int one_of(int value, int a, int b, int c, int d)
{
    const int list[] = {a, b, c, d};
    return FIRST_OF(i, 4, list[i] == value);
}

bool cuda_tensor_map(struct device *dev, const struct device_tensor_map *m, void *out128, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    CUtensorMap map __attribute__((aligned(64)));
    CUtensorMapDataType kind;
    cuuint64_t dim[5], strides[5];
    cuuint32_t box[5], element[5];
    int swizzle = one_of(m->swizzle, 0, 32, 64, 128), interleave = one_of(m->interleave, 0, 16, 32, -1),
        promotion = one_of(m->l2_promotion, 0, 64, 128, 256);
    if (m->rank < 1 || m->rank > 5 || !map_kind(m->element_kind, &kind) || swizzle < 0 || interleave < 0 || promotion < 0)
        return error_set(
            err, ERROR_USAGE,
            "tensor map: rank %d (1 to 5), swizzle %d (0, 32, 64, 128), interleave %d (0, 16, 32), L2 promotion %d (0, 64, 128, 256)",
            m->rank, m->swizzle, m->interleave, m->l2_promotion);
    for (int i = 0; i < m->rank; i++) {
        dim[i] = m->dim[i];
        box[i] = m->box[i];
        element[i] = m->element_stride[i] ? m->element_stride[i] : 1;
        if (i)
            strides[i - 1] = m->stride_bytes[i];
    }
    CUresult r =
        s->api->cuTensorMapEncodeTiled(&map, kind, (cuuint32_t)m->rank, (void *)(uintptr_t)m->address, dim, strides, box, element,
                                       (CUtensorMapInterleave)interleave, (CUtensorMapSwizzle)swizzle, (CUtensorMapL2promotion)promotion,
                                       m->oob_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r == CUDA_ERROR_INVALID_VALUE)
        return error_set(err, ERROR_USAGE,
                         "tensor map refused (CUDA_ERROR_INVALID_VALUE): the address must be a multiple of 16, strides multiples of 16, "
                         "each box edge 1 to 256, and the inner box at most the swizzle's width in bytes");
    if (!cuda_check(s, r, "tensor map", err))
        return false;
    memcpy(out128, &map, 128);
    return true;
}

/* A refused launch is an error in the head, unless it only does not fit this GPU. The error lists the launch's numbers. */
static bool refused(struct cuda_state *s, const struct device_function *f, const struct device_launch *l, CUresult r, const char *why,
                    struct error *err)
{
    const char *name = "";
    struct error driver = {0};
    cuda_check(s, r, f->name, &driver);
    if (driver.kind == ERROR_WRONG || s->lost) {
        if (err)
            *err = driver;
        return false;
    }
    if (r == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
        why = ": its registers or shared memory do not fit one SM at this block size";
    else if (r == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
        why = ": a cooperative grid must fit the GPU at once";
    else if (r == CUDA_ERROR_INVALID_CLUSTER_SIZE)
        why = ": no group of SMs has room for such a cluster";
    s->api->cuGetErrorName(r, &name);
    bool too_large = r == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE || r == CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return error_set(err, too_large ? ERROR_ENVIRONMENT : ERROR_USAGE,
                     "kernel %s cannot be launched: grid %u,%u,%u block %u,%u,%u (at most %d threads) cluster %u,%u,%u shared memory %d + "
                     "%u bytes: %s%s",
                     f->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], f->max_threads, l->cluster[0],
                     l->cluster[1], l->cluster[2], f->static_smem, l->smem, name, why);
}

static bool prepare_function(struct cuda_state *s, struct device_function *f, const struct device_launch *l, uint64_t cluster_blocks,
                             struct error *err)
{
    CUresult r = CUDA_SUCCESS;
    if (l->smem > f->smem && l->smem + (uint64_t)f->static_smem > SMEM_STATIC_MAX) {
        r = l->smem > INT32_MAX ? CUDA_ERROR_INVALID_VALUE
                                : s->api->cuFuncSetAttribute(f->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)l->smem);
        if (r != CUDA_SUCCESS)
            return refused(s, f, l, r, ": a block cannot have that much shared memory here", err);
        f->smem = l->smem;
    }
    if (l->carveout != f->carveout) {
        r = s->api->cuFuncSetAttribute(f->handle, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, l->carveout);
        if (r != CUDA_SUCCESS)
            return refused(s, f, l, r, ": a carveout is a percentage, or -1", err);
        f->carveout = l->carveout;
    }
    if (cluster_blocks > 8 && !f->large_cluster) {
        r = s->api->cuFuncSetAttribute(f->handle, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
        if (r != CUDA_SUCCESS)
            return refused(s, f, l, r, ": clusters of more than 8 blocks are not allowed here", err);
        f->large_cluster = true;
    }
    return true;
}

#define ATTRIBUTES_MAX 3
static bool is_clustered(const struct device_launch *l)
{
    return l->cluster[0] > 1 || l->cluster[1] > 1 || l->cluster[2] > 1; /* one block is not a cluster */
}

/* Sets the function's attributes for such a launch and fills the driver's configuration; `attributes` is the array that it points to. */
static bool configure(struct cuda_state *s, struct device_function *f, const struct device_launch *l,
                      CUlaunchAttribute attributes[ATTRIBUTES_MAX], CUlaunchConfig *config, struct error *err)
{
    unsigned count = 0;
    bool cluster = is_clustered(l);
    uint32_t c[3];
    for (int i = 0; i < 3; i++)
        c[i] = cluster && l->cluster[i] == 0 ? 1 : l->cluster[i];
    if (!prepare_function(s, f, l, cluster ? (uint64_t)c[0] * c[1] * c[2] : 1, err))
        return false;
    if (cluster)
        attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {c[0], c[1], c[2]}};
    if (l->cooperative)
        attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    if (l->pdl)
        attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                                  .value.programmaticStreamSerializationAllowed = 1};
    *config = (CUlaunchConfig){.gridDimX = l->grid[0],
                               .gridDimY = l->grid[1],
                               .gridDimZ = l->grid[2],
                               .blockDimX = l->block[0],
                               .blockDimY = l->block[1],
                               .blockDimZ = l->block[2],
                               .sharedMemBytes = l->smem,
                               .hStream = s->stream,
                               .attrs = attributes,
                               .numAttrs = count};
    return true;
}

int cuda_frame_bytes(struct device *dev, const struct device_function *function)
{
    return function->local_bytes;
}

bool cuda_launch(struct device *dev, struct device_function *f, const struct device_launch *l, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    CUlaunchAttribute attributes[ATTRIBUTES_MAX];
    CUlaunchConfig config;
    void *params[PARAMS_MAX];
    if (l->param_bytes != f->param_bytes)
        return error_set(err, ERROR_INTERNAL, "kernel %s takes %zu bytes of parameters, but has %zu", f->name, f->param_bytes,
                         l->param_bytes);
    for (int i = 0; i < f->param_count; i++)
        params[i] = (char *)(uintptr_t)l->params + f->params[i].offset;
    if (!configure(s, f, l, attributes, &config, err))
        return false;
    cuda_threads_ran(s, (size_t)f->local_bytes);
    CUresult r = cuda_start(s, &config, f->handle, params);
    return r == CUDA_SUCCESS || refused(s, f, l, r, "", err);
}

bool cuda_clusters(struct device *dev, struct device_function *f, const struct device_launch *l, int *count, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    CUlaunchAttribute attributes[ATTRIBUTES_MAX];
    CUlaunchConfig config;
    *count = 0;
    if (!is_clustered(l))
        return true;
    return configure(s, f, l, attributes, &config, err) &&
           cuda_check(s, s->api->cuOccupancyMaxActiveClusters(count, f->handle, &config), "asking how many clusters fit", err);
}
