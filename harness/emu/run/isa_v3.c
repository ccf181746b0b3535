/* emu/run/isa_v3: the handlers for x86-64-v3 processors (chosen at run time). */
#include "emu/run/isa.h"
#define ISA_TABLE isa_table_v3
#if defined(__x86_64__)
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c")
#include "emu/run/isa_body.inc"
#else
const op_fn ISA_TABLE[OP_COUNT]; /* never chosen */
#endif
