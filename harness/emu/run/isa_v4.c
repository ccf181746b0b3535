/* emu/run/isa_v4: the handlers for x86-64-v4 processors (chosen at run time). */
#include "base/dtype.h"
#include "emu/async.h"
#include "emu/check/report.h"
#include "emu/check/shadow.h"
#include "emu/check/races.h"
#include "emu/handlers.h"
#include "emu/run/path.h"
#include "emu/run/tensor_sum.h"
#include "emu/tensor.h"
#include "emu/tensor_memory.h"
#include <fenv.h>
#include <math.h>
#include <string.h>
#define ISA_TABLE isa_table_v4
#if defined(__x86_64__)
#include <immintrin.h>
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,prefer-vector-width=512")
#include "emu/run/isa_body.inc"
#else
const op_fn ISA_TABLE[OP_COUNT]; /* never chosen */
#endif
