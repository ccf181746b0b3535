/* device/cudnn/api: the part of cuDNN's backend interface that bench uses. Users do not have its headers, so the numbers are listed here;
 * tests/unit/test_cudnn.c compares each with cudnn.h where that is installed. The interface is stable within cuDNN 9. */
#pragma once

#include "base/library.h"
#include <stdbool.h>
#include <stdint.h>

enum cudnn_descriptor {
    DESCRIPTOR_POINTWISE = 0,
    DESCRIPTOR_CONVOLUTION = 1,
    DESCRIPTOR_ENGINE = 2,
    DESCRIPTOR_ENGINECFG = 3,
    DESCRIPTOR_ENGINEHEUR = 4,
    DESCRIPTOR_EXECUTION_PLAN = 5,
    DESCRIPTOR_KNOB_CHOICE = 7,
    DESCRIPTOR_OPERATION_CONVOLUTION_FORWARD = 10,
    DESCRIPTOR_OPERATION_POINTWISE = 13,
    DESCRIPTOR_OPERATIONGRAPH = 15,
    DESCRIPTOR_VARIANT_PACK = 16,
    DESCRIPTOR_TENSOR = 17,
    DESCRIPTOR_DEVICEPROP = 38
};
enum cudnn_attribute {
    ATTR_POINTWISE_MODE = 0,
    ATTR_POINTWISE_MATH_PREC = 1,
    ATTR_POINTWISE_RELU_LOWER_CLIP = 3,
    ATTR_POINTWISE_RELU_UPPER_CLIP = 4,
    ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE = 5,
    ATTR_CONVOLUTION_COMP_TYPE = 100,
    ATTR_CONVOLUTION_CONV_MODE = 101,
    ATTR_CONVOLUTION_DILATIONS = 102,
    ATTR_CONVOLUTION_FILTER_STRIDES = 103,
    ATTR_CONVOLUTION_POST_PADDINGS = 104,
    ATTR_CONVOLUTION_PRE_PADDINGS = 105,
    ATTR_CONVOLUTION_SPATIAL_DIMS = 106,
    ATTR_ENGINEHEUR_MODE = 200,
    ATTR_ENGINEHEUR_OPERATION_GRAPH = 201,
    ATTR_ENGINEHEUR_RESULTS = 202,
    ATTR_ENGINEHEUR_DEVICEPROP = 204,
    ATTR_ENGINECFG_ENGINE = 300,
    ATTR_ENGINECFG_KNOB_CHOICES = 302,
    ATTR_EXECUTION_PLAN_HANDLE = 400,
    ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 401,
    ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 402,
    ATTR_EXECUTION_PLAN_JSON_REPRESENTATION = 405,
    ATTR_EXECUTION_PLAN_DEVICEPROP = 407,
    ATTR_KNOB_CHOICE_KNOB_TYPE = 600,
    ATTR_KNOB_CHOICE_KNOB_VALUE = 601,
    ATTR_CONVOLUTION_FORWARD_ALPHA = 700,
    ATTR_CONVOLUTION_FORWARD_BETA = 701,
    ATTR_CONVOLUTION_FORWARD_CONV_DESC = 702,
    ATTR_CONVOLUTION_FORWARD_W = 703,
    ATTR_CONVOLUTION_FORWARD_X = 704,
    ATTR_CONVOLUTION_FORWARD_Y = 705,
    ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR = 750,
    ATTR_OPERATION_POINTWISE_XDESC = 751,
    ATTR_OPERATION_POINTWISE_BDESC = 752,
    ATTR_OPERATION_POINTWISE_YDESC = 753,
    ATTR_OPERATION_POINTWISE_ALPHA1 = 754,
    ATTR_OPERATION_POINTWISE_ALPHA2 = 755,
    ATTR_OPERATIONGRAPH_HANDLE = 800,
    ATTR_OPERATIONGRAPH_OPS = 801,
    ATTR_TENSOR_BYTE_ALIGNMENT = 900,
    ATTR_TENSOR_DATA_TYPE = 901,
    ATTR_TENSOR_DIMENSIONS = 902,
    ATTR_TENSOR_STRIDES = 903,
    ATTR_TENSOR_UNIQUE_ID = 906,
    ATTR_TENSOR_IS_VIRTUAL = 907,
    ATTR_VARIANT_PACK_UNIQUE_IDS = 1000,
    ATTR_VARIANT_PACK_DATA_POINTERS = 1001,
    ATTR_VARIANT_PACK_WORKSPACE = 1003,
    ATTR_ENGINE_GLOBAL_INDEX = 1301,
    ATTR_ENGINE_NUMERICAL_NOTE = 1303,
    ATTR_ENGINE_BEHAVIOR_NOTE = 1305,
    ATTR_DEVICEPROP_HANDLE = 2701,
    ATTR_DEVICEPROP_JSON_REPRESENTATION = 2702
};
enum cudnn_type {
    TYPE_HANDLE = 0,
    TYPE_DATA_TYPE = 1,
    TYPE_BOOLEAN = 2,
    TYPE_INT64 = 3,
    TYPE_FLOAT = 4,
    TYPE_DOUBLE = 5,
    TYPE_VOID_PTR = 6,
    TYPE_CONVOLUTION_MODE = 7,
    TYPE_HEUR_MODE = 8,
    TYPE_KNOB_TYPE = 9,
    TYPE_NUMERICAL_NOTE = 11,
    TYPE_POINTWISE_MODE = 14,
    TYPE_BACKEND_DESCRIPTOR = 15,
    TYPE_BEHAVIOR_NOTE = 19,
    TYPE_CHAR = 24
};
enum cudnn_data { DATA_FLOAT = 0, DATA_HALF = 2, DATA_INT8 = 3, DATA_INT32 = 4, DATA_BFLOAT16 = 9 };
enum cudnn_heuristic { HEURISTIC_B = 1, HEURISTIC_FALLBACK = 2, HEURISTIC_A = 3 };
enum cudnn_pointwise {
    POINTWISE_ADD = 0,
    POINTWISE_RELU_FWD = 100,
    POINTWISE_TANH_FWD = 101,
    POINTWISE_SIGMOID_FWD = 102,
    POINTWISE_GELU_FWD = 104,
    POINTWISE_SWISH_FWD = 106,
    POINTWISE_GELU_APPROX_TANH_FWD = 107
};
enum cudnn_note {
    NOTE_TENSOR_CORE = 0,
    NOTE_DOWN_CONVERT_INPUTS = 1,
    NOTE_REDUCED_PRECISION_REDUCTION = 2,
    NOTE_FFT = 3,
    NOTE_NONDETERMINISTIC = 4,
    NOTE_WINOGRAD = 5,
    NOTE_WINOGRAD_TILE_4x4 = 6,
    NOTE_WINOGRAD_TILE_6x6 = 7,
    NOTE_WINOGRAD_TILE_13x13 = 8,
    NOTE_STRICT_NAN_PROP = 9,
    NOTE_COUNT = 10
};
enum {
    BEHAVIOR_RUNTIME_COMPILATION = 0,
    CROSS_CORRELATION = 1,
    STATUS_SUCCESS = 0,
    STATUS_NOT_SUPPORTED = 3000,
    STATUS_NOT_SUPPORTED_LAST = 3999
};

struct cudnn_api {
    struct library library, compiler; /* NVRTC, which it finds by its soname when a plan is compiled; path "": none */
    size_t (*cudnnGetVersion)(void);
    const char *(*cudnnGetErrorString)(int status);
    void (*cudnnGetLastErrorString)(char *message, size_t bytes);
    int (*cudnnCreate)(void **handle);
    int (*cudnnDestroy)(void *handle);
    int (*cudnnSetStream)(void *handle, void *stream);
    int (*cudnnBackendCreateDescriptor)(int type, void **descriptor);
    int (*cudnnBackendDestroyDescriptor)(void *descriptor);
    int (*cudnnBackendFinalize)(void *descriptor);
    int (*cudnnBackendSetAttribute)(void *descriptor, int name, int type, int64_t count, const void *elements);
    int (*cudnnBackendGetAttribute)(void *descriptor, int name, int type, int64_t wanted, int64_t *count, void *elements);
    int (*cudnnBackendExecute)(void *handle, void *plan, void *pack);
};
/* Loaded once a process. */
const struct cudnn_api *cudnn_api(struct error *err);
/* Sets "CUDNN_STATUS_...: the library's message for its last failure"; false. */
bool cudnn_failed(const struct cudnn_api *api, int status, const char *what, struct error *err);
