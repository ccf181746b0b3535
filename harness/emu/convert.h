/* emu/convert: bits of a general cvt's imm. */
#pragma once

#include <stdint.h>

/* mode: enum round_mode; INTEGRAL: .rni .rzi .rmi .rpi between floats; PACK: two sources into one; UNPACK: one into two;
 * RANDOM: .rs, the sources in list, the random bits in c; SCALED: two powers of two in c multiply (UNPACK) or divide */
enum {
    CONVERT_MODE = 7,
    CONVERT_FTZ = 8,
    CONVERT_SAT = 16,
    CONVERT_INTEGRAL = 32,
    CONVERT_PACK = 64,
    CONVERT_RELU = 128,
    CONVERT_FINITE = 256,
    CONVERT_UNPACK = 512,
    CONVERT_RANDOM = 1024,
    CONVERT_SCALED = 2048
};

/* The value of a float of 8 bits or less (FORM_E4M3 to FORM_S2F6), which lies in the low bits of v. */
double narrow_value(uint8_t v, int form);
