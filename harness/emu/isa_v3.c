/* emu/isa_v3: the handlers for x86-64-v3 processors (chosen at run time). */
#include "base/dtype.h"
#include "emu/async.h"
#include "emu/checks.h"
#include "emu/races.h"
#include "emu/slow.h"
#include "emu/tensor.h"
#include <fenv.h>
#include <math.h>
#include <string.h>
#define ISA_TABLE isa_table_v3
#if defined(__x86_64__)
#include <immintrin.h>
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c")
#include "emu/isa_body.inc"
#else
const op_fn ISA_TABLE[OP_COUNT]; /* never chosen */
#endif
