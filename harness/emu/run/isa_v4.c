/* emu/run/isa_v4: the handlers for x86-64-v4 processors (chosen at run time). */
#include "emu/run/isa.h"
#define ISA_TABLE isa_table_v4
#if defined(__x86_64__)
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,prefer-vector-width=512")
#include "emu/run/isa_body.inc"
#else
const op_fn ISA_TABLE[OP_COUNT]; /* never chosen */
#endif
