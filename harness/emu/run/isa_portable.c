/* emu/run/isa_portable: the handlers for any processor. */
#include "emu/run/isa.h"
#include <stdlib.h>
#define ISA_TABLE isa_table_portable
#include "emu/run/isa_body.inc"

const op_fn *isa_table(const char **name)
{
    const char *wanted = getenv("BENCH_EMU_ISA");
    int level = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c"))
        level = 1;
    if (level && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        level = 3;
#endif
    if (wanted && !strcmp(wanted, "portable"))
        level = 0;
    if (wanted && !strcmp(wanted, "v3") && level > 1)
        level = 1;
    if (wanted && !strcmp(wanted, "v4") && level > 2)
        level = 2;
    static const char *const names[] = {"portable", "v3", "v4", "jit"};
    const op_fn *const tables[] = {isa_table_portable, isa_table_v3, isa_table_v4, isa_table_v4};
    if (name)
        *name = names[level];
    return tables[level];
}

static const struct insn *no_sums(struct warp *w, const struct insn *ip)
{
    return ip + 1;
}

void isa_bind(struct program *p, bool skips_sums)
{
    const char *name;
    const op_fn *table = isa_table(&name);
    for (uint32_t i = 0; i < p->count; i++)
        p->code[i].fn = skips_sums && p->cold[i].macs ? no_sums : table[p->code[i].op];
    if (!strcmp(name, "jit"))
        jit_compile(p);
}
