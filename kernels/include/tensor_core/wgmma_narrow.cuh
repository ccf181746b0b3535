/* tensor_core/wgmma_narrow: products of a warpgroup with the left operand in registers, 16 to 112 columns wide. tensor_core/wgmma has 64
 * and 128. */
#pragma once
#include "tensor_core/wgmma.cuh"

#define WGMMA_NARROW(T, SUM, R, SHAPE, FLAGS)                                                                             \
    WGMMA_REGISTERS(wgmma_registers<T WGMMA_COMMA 16>, SUM, R, SHAPE, FLAGS, 16, 8, 8, 9, 10, 11, 12, 13)                 \
    WGMMA_REGISTERS(wgmma_registers<T WGMMA_COMMA 32>, SUM, R, SHAPE, FLAGS, 32, 16, 16, 17, 18, 19, 20, 21)              \
    WGMMA_REGISTERS(wgmma_registers<T WGMMA_COMMA 48>, SUM, R, SHAPE, FLAGS, 48, 24, 24, 25, 26, 27, 28, 29)              \
    WGMMA_REGISTERS(wgmma_registers<T WGMMA_COMMA 80>, SUM, R, SHAPE, FLAGS, 80, 40, 40, 41, 42, 43, 44, 45)              \
    WGMMA_REGISTERS(wgmma_registers<T WGMMA_COMMA 96>, SUM, R, SHAPE, FLAGS, 96, 48, 48, 49, 50, 51, 52, 53)              \
    WGMMA_REGISTERS(wgmma_registers<T WGMMA_COMMA 112>, SUM, R, SHAPE, FLAGS, 112, 56, 56, 57, 58, 59, 60, 61)
WGMMA_NARROW(__half, float, "f", "k16.f32.f16.f16", ", 1, 1, 0")
WGMMA_NARROW(__nv_bfloat16, float, "f", "k16.f32.bf16.bf16", ", 1, 1, 0")
WGMMA_NARROW(signed char, int, "r", "k32.s32.s8.s8", "")
