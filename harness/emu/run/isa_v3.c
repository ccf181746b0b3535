/* emu/run/isa_v3: the handlers for x86-64-v3 processors (chosen at run time). */
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
#define ISA_TABLE isa_table_v3
#if defined(__x86_64__)
#include <immintrin.h>
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c")
#include "emu/run/isa_body.inc"
#else
const op_fn ISA_TABLE[OP_COUNT]; /* never chosen */
#endif
