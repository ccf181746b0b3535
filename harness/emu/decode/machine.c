/* The number of sm_90 machine instructions for a PTX instruction, counted in the code of NVRTC 13.0 (up to the first exit; without the
 * paths for unusual operands). */
#include "emu/decode/decode.h"
#include <string.h>

static const struct {
    const char *op, *has, *lacks; /* modifiers; NULL: any */
    uint8_t more;
} table[] = {
    {"div", "u32", NULL, 17},    {"div", "s32", NULL, 24},    {"rem", "u32", NULL, 16},      {"rem", "s32", NULL, 22},
    {"div", "u64", NULL, 27},    {"div", "s64", NULL, 27},    {"rem", "u64", NULL, 27},      {"rem", "s64", NULL, 27},
    {"div", "f64", NULL, 17},    {"sqrt", "f64", NULL, 22},   {"rcp", "f64", "approx", 12},  {"div", "rn", "f64", 12},
    {"div", "full", NULL, 4},    {"div", "approx", "ftz", 4}, {"sqrt", "rn", "f64", 13},     {"rcp", "rn", "f64", 13},
    {"ex2", "approx", "ftz", 3}, {"lg2", "approx", "ftz", 3}, {"rsqrt", "approx", "ftz", 3}, {"sqrt", "approx", "ftz", 3},
};

static bool is_machine(const struct ptx_instr *in, const char *op, const char *has, const char *lacks)
{
    return !strcmp(in->op, op) && instr_has(in, has) && (!lacks || !instr_has(in, lacks));
}

uint8_t decode_machine_more(const struct ptx_instr *in)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_machine(in, table[i].op, table[i].has, table[i].lacks))
            return table[i].more;
    return 0;
}
