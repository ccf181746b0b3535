/* base/dtype: element types, tensor layouts, math modes: their names, sizes and conversions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* e4m3 and e5m2: 8-bit floats of the OCP (e4m3 without infinity). e2m1: its 4-bit floats, two in a byte, the even one in the low bits.
 * e8m0: its scale of a block, a power of two from 2^-127 to 2^127, or NaN. bool: a byte that is 0 or 1. The order is also that of
 * kernels/reference/storage.cuh. */
enum dtype {
    DTYPE_NONE,
    DTYPE_F32,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_F64,
    DTYPE_I8,
    DTYPE_U8,
    DTYPE_I32,
    DTYPE_U32,
    DTYPE_U16,
    DTYPE_E4M3,
    DTYPE_E5M2,
    DTYPE_I64,
    DTYPE_U64,
    DTYPE_BOOL,
    DTYPE_E2M1,
    DTYPE_E8M0,
    DTYPE_COUNT
};

/* "f32", "f16" ...; DTYPE_NONE for an unknown name. dtype_names lists the valid ones (NULL-terminated). */
enum dtype dtype_parse(const char *name);
const char *dtype_name(enum dtype t);
extern const char *const dtype_names[];
/* The element type of a C++ type of one word: f16 for half2. no_sign: the name follows `unsigned`. DTYPE_NONE: another type.
 */
enum dtype dtype_of_c(const char *type, bool no_sign);
size_t dtype_bytes(enum dtype t); /* of the smallest part of memory that holds an element: 1 for e2m1 */
/* Bytes that so many elements occupy. */
size_t dtype_size(enum dtype t, size_t elements);
/* The byte in which an element begins, and its number among those that begin there. */
size_t dtype_offset(enum dtype t, size_t index);
size_t dtype_inside(enum dtype t, size_t index);
/* The CUDA C spelling: float, __half, __nv_bfloat16, double, signed char, unsigned char, int, unsigned, unsigned short, __nv_fp8_e4m3, long
 * long, bool ... */
const char *dtype_cuda(enum dtype t);
/* Unit roundoff of a floating type: f32 2^-24, f16 2^-11, bf16 2^-8, f64 2^-53, e4m3 2^-4, e5m2 2^-3, e2m1 and
 * e8m0 2^-2; 0 for integers. */
double dtype_unit_roundoff(enum dtype t);
/* The largest rounding error of a subnormal value, half of the smallest number: f32 2^-150, f16 2^-25, bf16 2^-134. */
double dtype_underflow(enum dtype t);
bool dtype_is_whole(enum dtype t);
/* Values strictly between these two round to a finite number of the type (integers: are truncated to one). */
void dtype_range(enum dtype t, double *below, double *above);
/* Types that are not integers and have more than 8 bits can hold infinity. */
bool dtype_holds(enum dtype t, double value);
/* The largest N such that the type holds every integer up to N: f32 2^24, f16 2^11, bf16 2^8; of 64-bit integers, what a double holds. */
double dtype_exact_integer(enum dtype t);

/* Conversions, round to nearest even; overflow to infinity, of 8-bit and narrower floats to the largest number (cvt.satfinite); NaN
 * stays NaN, and is the largest number of e2m1. e8m0 takes the nearest power of two of the magnitude. */
uint16_t f16_from_f32(float x);
float f16_to_f32(uint16_t h);
uint16_t f16_from_f64(double x); /* one rounding */
uint16_t bf16_from_f32(float x);
float bf16_to_f32(uint16_t h);
/* A float of 4 to 8 bits: the lowest bits are the mantissa, `sign` is the sign's bit, `most` the largest number. Larger codes are an
 * infinity without a mantissa, else NaN. */
struct narrow_float {
    int mantissa, bias, sign;
    double most;
};
extern const struct narrow_float narrow_e4m3, narrow_e5m2, narrow_e2m1;
double narrow_get(const struct narrow_float *f, uint8_t bits);
/* x is not NaN. To nearest even, and no further than the largest number. */
uint8_t narrow_from_f64(const struct narrow_float *f, double x);
/* One element of a typed array, to and from double (one rounding). */
double dtype_get(enum dtype t, const void *array, size_t index);
void dtype_set(enum dtype t, void *array, size_t index, double value);

/* Activations: NCHW, NHWC. Filters: KCRS (k output channels outermost), KRSC, RSCK, CRSK. BITS: one bit a pixel,
 * u32[n][h][ceil(w/32)], low bit = small x. LINEAR: anything one-dimensional. */
enum layout {
    LAYOUT_NONE,
    LAYOUT_NCHW,
    LAYOUT_NHWC,
    LAYOUT_KCRS,
    LAYOUT_KRSC,
    LAYOUT_RSCK,
    LAYOUT_CRSK,
    LAYOUT_BITS,
    LAYOUT_LINEAR,
    LAYOUT_COUNT
};
enum layout layout_parse(const char *name);
const char *layout_name(enum layout l);
extern const char *const layout_names[];

/* Arithmetic of the products and sums. f32: IEEE single, no TF32. tf32: products of operands rounded to
 * TF32, f32 sums. f16_acc32 / bf16_acc32: exact products of 16-bit operands, f32 sums. f16_acc16: f16 sums. i8_acc32: products and sums of
 * whole numbers in 32 bits, exact; the result is stored as f32. */
enum math { MATH_NONE, MATH_F32, MATH_TF32, MATH_F16_ACC32, MATH_F16_ACC16, MATH_BF16_ACC32, MATH_I8_ACC32, MATH_COUNT };
enum math math_parse(const char *name);
const char *math_name(enum math m);
extern const char *const math_names[];
/* The mode a dtype gets when none is named: f32 -> f32, f16 -> f16_acc32, bf16 -> bf16_acc32, i8 -> i8_acc32. */
enum math math_default(enum dtype t);

/* depth_to_space channel order. DCR (ONNX, TensorFlow): source channel = C'*(b*dy + dx) + c. CRD (PyTorch PixelShuffle): c*b*b + b*dy + dx.
 */
enum d2s_mode { D2S_NONE, D2S_DCR, D2S_CRD };
enum d2s_mode d2s_mode_parse(const char *name);
const char *d2s_mode_name(enum d2s_mode m);

/* What tensor cores multiply and sum in, as bits. */
enum factor_type {
    FACTOR_F16 = 1,
    FACTOR_BF16 = 2,
    FACTOR_TF32 = 4,
    FACTOR_F64 = 8,
    FACTOR_I8 = 16,
    FACTOR_F8 = 32,   /* and all narrower floating types */
    FACTOR_BITS = 64, /* whole numbers of 4 bits and 1 */
    FACTOR_SUM_F16 = 128,
    FACTOR_HALF = 256, /* f16 or bf16: a descriptor tells at run time */
};
/* The set in words: "f16, tf32". */
void factor_type_names(unsigned factors, char *out, size_t bytes);
