/* The cuDNN adaptor without a GPU: its numbers against cudnn.h where there is one, and its plans for a described H200 where libcudnn is. */
#include "base/text.h"
#include "device/cudnn/private.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#if __has_include(<cudnn.h>) && __has_include(<cuda_runtime.h>)
#include <cudnn.h>
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is not " #theirs)
SAME(DESCRIPTOR_POINTWISE, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
SAME(DESCRIPTOR_CONVOLUTION, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
SAME(DESCRIPTOR_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
SAME(DESCRIPTOR_ENGINECFG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
SAME(DESCRIPTOR_ENGINEHEUR, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
SAME(DESCRIPTOR_EXECUTION_PLAN, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
SAME(DESCRIPTOR_KNOB_CHOICE, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
SAME(DESCRIPTOR_OPERATION_CONVOLUTION_FORWARD, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
SAME(DESCRIPTOR_OPERATION_POINTWISE, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
SAME(DESCRIPTOR_OPERATIONGRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
SAME(DESCRIPTOR_VARIANT_PACK, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
SAME(DESCRIPTOR_TENSOR, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
SAME(DESCRIPTOR_DEVICEPROP, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
SAME(ATTR_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MODE);
SAME(ATTR_POINTWISE_MATH_PREC, CUDNN_ATTR_POINTWISE_MATH_PREC);
SAME(ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP);
SAME(ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP);
SAME(ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE);
SAME(ATTR_CONVOLUTION_COMP_TYPE, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
SAME(ATTR_CONVOLUTION_CONV_MODE, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
SAME(ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_DILATIONS);
SAME(ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
SAME(ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
SAME(ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
SAME(ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
SAME(ATTR_ENGINEHEUR_MODE, CUDNN_ATTR_ENGINEHEUR_MODE);
SAME(ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
SAME(ATTR_ENGINEHEUR_RESULTS, CUDNN_ATTR_ENGINEHEUR_RESULTS);
SAME(ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
SAME(ATTR_ENGINECFG_ENGINE, CUDNN_ATTR_ENGINECFG_ENGINE);
SAME(ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
SAME(ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
SAME(ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
SAME(ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
SAME(ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
SAME(ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
SAME(ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
SAME(ATTR_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
SAME(ATTR_CONVOLUTION_FORWARD_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
SAME(ATTR_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
SAME(ATTR_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
SAME(ATTR_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
SAME(ATTR_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
SAME(ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
SAME(ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
SAME(ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
SAME(ATTR_OPERATION_POINTWISE_YDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
SAME(ATTR_OPERATIONGRAPH_HANDLE, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
SAME(ATTR_OPERATIONGRAPH_OPS, CUDNN_ATTR_OPERATIONGRAPH_OPS);
SAME(ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
SAME(ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DATA_TYPE);
SAME(ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_DIMENSIONS);
SAME(ATTR_TENSOR_STRIDES, CUDNN_ATTR_TENSOR_STRIDES);
SAME(ATTR_TENSOR_UNIQUE_ID, CUDNN_ATTR_TENSOR_UNIQUE_ID);
SAME(ATTR_TENSOR_IS_VIRTUAL, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
SAME(ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
SAME(ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
SAME(ATTR_VARIANT_PACK_WORKSPACE, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
SAME(ATTR_ENGINE_GLOBAL_INDEX, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
SAME(ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
SAME(ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE);
SAME(ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
SAME(ATTR_DEVICEPROP_HANDLE, CUDNN_ATTR_DEVICEPROP_HANDLE);
SAME(TYPE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE);
SAME(BEHAVIOR_RUNTIME_COMPILATION, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
SAME(ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
SAME(TYPE_HANDLE, CUDNN_TYPE_HANDLE);
SAME(TYPE_DATA_TYPE, CUDNN_TYPE_DATA_TYPE);
SAME(TYPE_BOOLEAN, CUDNN_TYPE_BOOLEAN);
SAME(TYPE_INT64, CUDNN_TYPE_INT64);
SAME(TYPE_FLOAT, CUDNN_TYPE_FLOAT);
SAME(TYPE_DOUBLE, CUDNN_TYPE_DOUBLE);
SAME(TYPE_VOID_PTR, CUDNN_TYPE_VOID_PTR);
SAME(TYPE_CONVOLUTION_MODE, CUDNN_TYPE_CONVOLUTION_MODE);
SAME(TYPE_HEUR_MODE, CUDNN_TYPE_HEUR_MODE);
SAME(TYPE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE);
SAME(TYPE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE);
SAME(TYPE_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE);
SAME(TYPE_BACKEND_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR);
SAME(TYPE_CHAR, CUDNN_TYPE_CHAR);
SAME(DATA_FLOAT, CUDNN_DATA_FLOAT);
SAME(DATA_HALF, CUDNN_DATA_HALF);
SAME(DATA_INT8, CUDNN_DATA_INT8);
SAME(DATA_INT32, CUDNN_DATA_INT32);
SAME(DATA_BFLOAT16, CUDNN_DATA_BFLOAT16);
SAME(HEURISTIC_A, CUDNN_HEUR_MODE_A);
SAME(HEURISTIC_B, CUDNN_HEUR_MODE_B);
SAME(HEURISTIC_FALLBACK, CUDNN_HEUR_MODE_FALLBACK);
SAME(POINTWISE_ADD, CUDNN_POINTWISE_ADD);
SAME(POINTWISE_RELU_FWD, CUDNN_POINTWISE_RELU_FWD);
SAME(POINTWISE_TANH_FWD, CUDNN_POINTWISE_TANH_FWD);
SAME(POINTWISE_SIGMOID_FWD, CUDNN_POINTWISE_SIGMOID_FWD);
SAME(POINTWISE_GELU_FWD, CUDNN_POINTWISE_GELU_FWD);
SAME(POINTWISE_SWISH_FWD, CUDNN_POINTWISE_SWISH_FWD);
SAME(POINTWISE_GELU_APPROX_TANH_FWD, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD);
SAME(NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
SAME(NOTE_DOWN_CONVERT_INPUTS, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
SAME(NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
SAME(NOTE_FFT, CUDNN_NUMERICAL_NOTE_FFT);
SAME(NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
SAME(NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD);
SAME(NOTE_WINOGRAD_TILE_4x4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4);
SAME(NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6);
SAME(NOTE_WINOGRAD_TILE_13x13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
SAME(NOTE_STRICT_NAN_PROP, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP);
SAME(CROSS_CORRELATION, CUDNN_CROSS_CORRELATION);
SAME(STATUS_SUCCESS, CUDNN_STATUS_SUCCESS);
SAME(STATUS_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED);
/* cuDNN names its own enumerators: the C types must have the size that the attributes are read and written with. */
_Static_assert(sizeof(cudnnDataType_t) == sizeof(int) && sizeof(cudnnBackendNumericalNote_t) == sizeof(int), "enums are ints");
#define CHECKED_AGAINST_HEADER 1
#endif

/* An H200 as its data sheet and cuDNN's own property names describe it. */
static const char h200[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,\"multiProcessorCount\":132,"
    "\"warpSize\":32,"
    "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":"
    "65536,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
    "\"totalGlobalMem\":150754820096,\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560,\"cudaDeviceId\":0,"
    "\"deviceVer\":900,"
    "\"driverVer\":13000,\"deviceName\":\"NVIDIA H200\"}";
static struct cudnn *handle;
static char why_not[256];

static void need_library(void)
{
    if (!handle) {
        print_message("skipped: %s\n", why_not);
        skip();
    }
}

static struct cudnn_conv conv(enum dtype t, enum layout l, enum math m)
{
    return (struct cudnn_conv){.n = 1,
                               .c = 64,
                               .h = 720,
                               .w = 1280,
                               .k = 64,
                               .r = 3,
                               .s = 3,
                               .p = 720,
                               .q = 1280,
                               .stride = 1,
                               .pad = 1,
                               .dilation = 1,
                               .groups = 1,
                               .dtype = t,
                               .layout = l,
                               .math = m};
}

static struct cudnn_plan **plans;
static int ask(const struct cudnn_conv *c, int most)
{
    struct error err = {0};
    int count = cudnn_plans(handle, c, most, &plans, &err);
    if (count == 0)
        fail_msg("%s", err.text);
    return count;
}

static void give_back(int count)
{
    for (int i = 0; i < count; i++)
        cudnn_plan_free(plans[i]);
    free(plans);
}

static void numbers_equal_the_header(void **state)
{
#ifndef CHECKED_AGAINST_HEADER
    print_message("skipped: no cudnn.h here\n");
    skip();
#endif
}

/* 40 configurations of mode A, engine 62 first, three of FALLBACK. */
/* The notes; a bit is one that cudnn.h names. */
static void a_mode_admits_no_lesser_engine(void **state)
{
    const unsigned tensor = 1u << NOTE_TENSOR_CORE, narrow = 1u << NOTE_DOWN_CONVERT_INPUTS, low = 1u << NOTE_REDUCED_PRECISION_REDUCTION,
                   others = 1u << NOTE_FFT | 1u << NOTE_NONDETERMINISTIC | 1u << NOTE_WINOGRAD | 1u << NOTE_STRICT_NAN_PROP;
    for (unsigned notes = 0; notes < 8; notes++) {
        unsigned set = (notes & 1 ? tensor : 0) | (notes & 2 ? narrow : 0) | (notes & 4 ? low : 0) | others;
        assert_int_equal(cudnn_obeys(MATH_F32, set), notes == 0);
        assert_int_equal(cudnn_obeys(MATH_TF32, set), (notes & ~1u) == 0);
        assert_int_equal(cudnn_obeys(MATH_F16_ACC32, set), !(notes & 4));
        assert_int_equal(cudnn_obeys(MATH_BF16_ACC32, set), !(notes & 4));
        assert_true(cudnn_obeys(MATH_F16_ACC16, set));
    }
}

static void transforms_are_not_exact(void **state)
{
    static const struct cudnn_plan_facts direct = {.notes = "TENSOR_CORE NONDETERMINISTIC"}, fft = {.notes = "FFT"},
                                         winograd = {.notes = "TENSOR_CORE WINOGRAD WINOGRAD_TILE_4x4"};
    assert_true(cudnn_plan_sums(&direct));
    assert_false(cudnn_plan_sums(&fft));
    assert_false(cudnn_plan_sums(&winograd));
}

static void plans_of_the_headline_layer(void **state)
{
    need_library();
    struct cudnn_conv c = conv(DTYPE_F16, LAYOUT_NHWC, MATH_F16_ACC32);
    int count = ask(&c, 20), by_mode[3] = {0};
    assert_int_equal(count, 20);
    for (int i = 0; i < count; i++) {
        const struct cudnn_plan_facts *f = cudnn_plan_facts(plans[i]);
        const char *mode = strchr("ABF", f->mode);
        assert_non_null(mode);
        by_mode[mode - "ABF"]++;
        char want[32];
        snprintf(want, sizeof want, "engine %d", f->engine);
        assert_int_equal(strncmp(f->text, want, strlen(want)), 0);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(f->text, cudnn_plan_facts(plans[k])->text);
        assert_null(strstr(f->notes, "REDUCED_PRECISION"));
    }
    const struct cudnn_plan_facts *first = cudnn_plan_facts(plans[0]);
    assert_int_equal(first->mode, 'A');
    assert_int_equal(first->rank, 0);
    assert_non_null(strstr(first->notes, "TENSOR_CORE"));
    assert_non_null(strstr(first->text, "TILE_SIZE="));
    assert_true(by_mode[0] > 5 && by_mode[1] > 0 && by_mode[2] > 0); /* a small `most` holds the best of every mode */
    give_back(count);
    c.layout = LAYOUT_NCHW; /* the library repacks: at least one tensor of 118 MB */
    count = ask(&c, 1);
    assert_true(cudnn_plan_facts(plans[0])->workspace_bytes > 117000000);
    give_back(count);
}

/* The list is the one that a single thread makes, also where some are refused. */
static void made_side_by_side(void **state)
{
    need_library();
    const struct cudnn_conv work[] = {conv(DTYPE_F16, LAYOUT_NHWC, MATH_F16_ACC32), conv(DTYPE_F32, LAYOUT_NCHW, MATH_F32)};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(setenv("BENCH_THREADS", "1", 1), 0);
        int count = ask(&work[i], 24);
        struct cudnn_plan **alone = plans;
        assert_int_equal(setenv("BENCH_THREADS", "7", 1), 0);
        assert_int_equal(ask(&work[i], 24), count);
        for (int k = 0; k < count; k++) {
            const struct cudnn_plan_facts *a = cudnn_plan_facts(alone[k]), *b = cudnn_plan_facts(plans[k]);
            assert_string_equal(a->text, b->text);
            assert_string_equal(a->notes, b->notes);
            assert_true(a->mode == b->mode && a->rank == b->rank && a->workspace_bytes == b->workspace_bytes);
        }
        give_back(count);
        plans = alone;
        give_back(count);
    }
    unsetenv("BENCH_THREADS");
}

static void fused_epilogues(void **state)
{
    need_library();
    for (int i = 0; i < 4; i++) {
        struct cudnn_conv c = conv(i & 2 ? DTYPE_BF16 : DTYPE_F16, LAYOUT_NHWC, i & 2 ? MATH_BF16_ACC32 : MATH_F16_ACC32);
        c.bias = true;
        c.residual = i & 1;
        c.activation = i < 3;
        int count = ask(&c, 4);
        for (int k = 0; k < count; k++)
            assert_non_null(strstr(cudnn_plan_facts(plans[k])->notes, "BIAS_NARROWED"));
        give_back(count);
    }
    struct cudnn_conv c = conv(DTYPE_F32, LAYOUT_NCHW, MATH_F32);
    c.bias = true;
    c.activation = 1;
    int count = ask(&c, 4);
    assert_null(strstr(cudnn_plan_facts(plans[0])->notes, "BIAS_NARROWED"));
    give_back(count);
}

/* Graphs that end with an activation other than relu: some have precompiled engines; for the others cuDNN must compile one, if it offers
 * any. */
static void activations_have_engines(void **state)
{
    need_library();
    for (int i = CUDNN_SILU; i <= CUDNN_CLIP; i++) {
        struct cudnn_conv c = conv(DTYPE_F16, LAYOUT_NHWC, MATH_F16_ACC32);
        struct error err = {0};
        c.bias = true;
        c.activation = (enum cudnn_activation)i;
        c.most = i == CUDNN_CLIP ? 6 : 0;
        int count = cudnn_plans(handle, &c, 1, &plans, &err);
        if (i == CUDNN_SIGMOID || i == CUDNN_TANH || i == CUDNN_CLIP)
            assert_true(count > 0);
        else if (!count)
            assert_non_null(strstr(err.text, "no engine for this layer with this epilogue"));
        give_back(count);
    }
}

/* What one rig's timing chose, a later one makes again from its facts alone, the kind of bias included. */
static void a_choice_is_kept_and_made_again(void **state)
{
    need_library();
    struct error err = {0};
    struct cudnn_conv c = conv(DTYPE_F16, LAYOUT_NHWC, MATH_F16_ACC32), other = c;
    c.bias = true;
    other.bias = true;
    other.k = 128;
    assert_null(cudnn_chosen(handle, &c));
    int count = ask(&c, 6), made = handle->cached_count;
    cudnn_choose(handle, &c, cudnn_plan_facts(plans[3]), count);
    const struct cudnn_choice *kept = cudnn_chosen(handle, &c);
    assert_non_null(kept);
    assert_int_equal(kept->among, count);
    assert_null(cudnn_chosen(handle, &other));
    struct cudnn_plan *again = cudnn_plan_again(handle, &c, &kept->facts, &err);
    assert_non_null(again);
    assert_string_equal(cudnn_plan_facts(again)->text, cudnn_plan_facts(plans[3])->text);
    assert_string_equal(cudnn_plan_facts(again)->notes, cudnn_plan_facts(plans[3])->notes);
    /* finalized once: the others are the same plan with addresses of their own */
    struct cudnn_plan *third_time = cudnn_plan_again(handle, &c, &kept->facts, &err), **first, **second;
    assert_true(third_time != again && handle->cached_count == made + 1 &&
                cudnn_plan_facts(third_time)->rank == cudnn_plan_facts(again)->rank);
    cudnn_plan_free(again);
    assert_string_equal(cudnn_plan_facts(third_time)->text, cudnn_plan_facts(plans[3])->text);
    cudnn_plan_free(third_time);
    assert_int_equal(cudnn_plans(handle, &c, 1, &first, &err), 1); /* another plan than that one, and the same for who asks next */
    assert_int_equal(cudnn_plans(handle, &c, 1, &second, &err), 1);
    assert_true(handle->cached_count == made + 2 && first[0] != second[0]);
    assert_string_equal(cudnn_plan_facts(first[0])->text, cudnn_plan_facts(plans[0])->text);
    assert_string_equal(cudnn_plan_facts(second[0])->text, cudnn_plan_facts(plans[0])->text);
    cudnn_plan_free(first[0]);
    cudnn_plan_free(second[0]);
    free(first);
    free(second);
    cudnn_mark_slow(handle, &c, 1);
    struct cudnn_conv wider = c, narrower = c, typed = c;
    wider.k *= 2, wider.bias = false, narrower.c /= 2, typed.layout = LAYOUT_NCHW;
    assert_true(cudnn_is_slow(handle, &wider, 1) && !cudnn_is_slow(handle, &wider, 2) && !cudnn_is_slow(handle, &narrower, 1) &&
                !cudnn_is_slow(handle, &typed, 1));
    struct cudnn_plan **ahead;
    cudnn_prefetch(handle, &other, 5, true); /* whoever asks for as many has these, once; the first of them checks */
    cudnn_prefetch(handle, &other, 5, true);
    assert_int_equal(handle->prefetched_count, 1);
    struct cudnn_plan *stocked = handle->prefetched[0].plans[0];
    assert_int_equal(cudnn_plans(handle, &other, 1, &first, &err), 1);
    assert_string_equal(cudnn_plan_facts(first[0])->text, cudnn_plan_facts(stocked)->text);
    assert_int_equal(cudnn_plans(handle, &other, 5, &ahead, &err), 5);
    assert_true(ahead[0] == stocked && handle->prefetched_count == 0);
    for (int i = 0; i < 5; i++)
        cudnn_plan_free(ahead[i]);
    cudnn_plan_free(first[0]);
    free(first);
    free(ahead);
    cudnn_prefetch(handle, &other, 3, true); /* nobody asks for these */
    struct cudnn_plan **one;
    const struct cudnn_plan_facts *third = cudnn_plan_facts(plans[3]);
    struct library_plan which = {third->engine, third->mode, third->rank};
    cudnn_only(handle, &which);
    assert_int_equal(cudnn_plans(handle, &c, 24, &one, &err), 1);
    assert_string_equal(cudnn_plan_facts(one[0])->text, cudnn_plan_facts(plans[3])->text);
    cudnn_plan_free(one[0]);
    free(one);
    which.engine = 4711;
    cudnn_only(handle, &which);
    assert_int_equal(cudnn_plans(handle, &c, 24, &one, &err), 0);
    assert_non_null(strstr(err.text, "does not support engine 4711"));
    cudnn_only(handle, NULL);
    cudnn_choose(handle, &c, cudnn_plan_facts(plans[0]), 1); /* the first choice stays */
    assert_string_equal(cudnn_chosen(handle, &c)->facts.text, cudnn_plan_facts(plans[3])->text);
    give_back(count);
}

static void the_math_mode_filters(void **state)
{
    need_library();
    struct cudnn_conv c = conv(DTYPE_F32, LAYOUT_NHWC, MATH_F32);
    int count = ask(&c, 200), tensor = 0;
    for (int i = 0; i < count; i++) {
        assert_null(strstr(cudnn_plan_facts(plans[i])->notes, "TENSOR_CORE"));
        assert_null(strstr(cudnn_plan_facts(plans[i])->notes, "DOWN_CONVERT"));
    }
    give_back(count);
    c.math = MATH_TF32;
    count = ask(&c, 200);
    for (int i = 0; i < count; i++) {
        tensor += strstr(cudnn_plan_facts(plans[i])->notes, "TENSOR_CORE") != NULL;
        assert_null(strstr(cudnn_plan_facts(plans[i])->notes, "DOWN_CONVERT"));
    }
    assert_true(tensor > 10);
    give_back(count);
}

/* 8-bit data with results in f32, as a layer here stores them: the engines are few and none has tensor cores (those store 8 bits). */
static void whole_numbers(void **state)
{
    need_library();
    for (int i = 0; i < 6; i++) {
        struct cudnn_conv c = conv(DTYPE_I8, i & 1 ? LAYOUT_NCHW : LAYOUT_NHWC, MATH_I8_ACC32);
        c.bias = i >= 2;
        c.activation = i >= 4;
        int count = ask(&c, 50);
        for (int k = 0; k < count; k++) {
            assert_null(strstr(cudnn_plan_facts(plans[k])->notes, "BIAS_NARROWED"));
            assert_null(strstr(cudnn_plan_facts(plans[k])->notes, "TENSOR_CORE"));
        }
        give_back(count);
    }
}

static void what_cannot_be_is_said(void **state)
{
    need_library();
    struct error err = {0};
    struct cudnn_conv c = conv(DTYPE_F16, LAYOUT_NHWC, MATH_F32);
    assert_int_equal(cudnn_plans(handle, &c, 4, &plans, &err), 0);
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_null(plans);
    c = conv(DTYPE_I8, LAYOUT_NHWC, MATH_F32);
    assert_int_equal(cudnn_plans(handle, &c, 4, &plans, &err), 0);
    c = conv(DTYPE_F16, LAYOUT_NHWC, MATH_F16_ACC32);
    c.groups = 3;
    assert_int_equal(cudnn_plans(handle, &c, 4, &plans, &err), 0);
    assert_non_null(strstr(err.text, "3 groups"));
    c.groups = 1;
    c.p = 719; /* not the size that this convolution has: cuDNN's own check */
    assert_int_equal(cudnn_plans(handle, &c, 4, &plans, &err), 0);
    if (!strstr(err.text, "cuDNN"))
        fail_msg("%s", err.text);
    c = conv(DTYPE_F16, LAYOUT_NHWC, MATH_F16_ACC32);
    int count = ask(&c, 1);
    assert_false(cudnn_execute(handle, plans[0], 0, 0, 0, 0, 0, 0, &err));
    give_back(count);
}

/* A handle on a GPU that is only described, so that plans can be asked for where none is. */
static bool open_described(const char *json, struct cudnn **out, struct error *err)
{
    const struct cudnn_api *api = cudnn_api(err);
    if (!api)
        return false;
    struct cudnn *h = xcalloc(1, sizeof *h);
    h->api = api;
    int status = api->cudnnBackendCreateDescriptor(DESCRIPTOR_DEVICEPROP, &h->properties);
    if (status == STATUS_SUCCESS)
        status = api->cudnnBackendSetAttribute(h->properties, ATTR_DEVICEPROP_JSON_REPRESENTATION, TYPE_CHAR, (int64_t)strlen(json), json);
    if (status == STATUS_SUCCESS)
        status = api->cudnnBackendFinalize(h->properties);
    if (status != STATUS_SUCCESS) {
        cudnn_failed(api, status, "a device", err);
        cudnn_close(h);
        return false;
    }
    *out = h;
    return true;
}

static int set_up(void **state)
{
    struct error err = {0};
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    if (!open_described(h200, &handle, &err))
        snprintf(why_not, sizeof why_not, "%.250s", err.text);
    return 0;
}

static int tear_down(void **state)
{
    cudnn_close(handle);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_equal_the_header), cmocka_unit_test(a_mode_admits_no_lesser_engine),
        cmocka_unit_test(transforms_are_not_exact), cmocka_unit_test(plans_of_the_headline_layer),
        cmocka_unit_test(made_side_by_side),        cmocka_unit_test(fused_epilogues),
        cmocka_unit_test(activations_have_engines), cmocka_unit_test(a_choice_is_kept_and_made_again),
        cmocka_unit_test(the_math_mode_filters),    cmocka_unit_test(whole_numbers),
        cmocka_unit_test(what_cannot_be_is_said),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
