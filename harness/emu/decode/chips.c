/* emu/decode/chips: which targets have an instruction, and which PTX version has a target; as ptxas 13.4 and 13.5 refuse them. */
#include "base/text.h"
#include "emu/decode/decode.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An instruction with these words (NULL: any; a list: one of them) exists on chips from a number on ("80+"), or on the listed ones: "90"
 * means sm_90a and sm_90f, "90a" only the former; NULL: all. It needs a PTX version (x 10) if that is newer than its targets; else 0. All
 * lines for one instruction must hold; if several fail, the error names the first: older versions come before newer ones. */
#define BLACKWELL "100 103 107 110 120 121"
static const struct {
    const char *ops, *words, *others, *chips;
    int version;
} table[] = {
    {"ldmatrix", NULL, NULL, NULL, 65},
    {"abs", "f16 f16x2", NULL, NULL, 65},
    {"cvt", "pack", NULL, NULL, 65},
    {"tanh", NULL, NULL, NULL, 70},
    {"ex2", "f16 f16x2", NULL, NULL, 70},
    {"mma", "sp", NULL, NULL, 71},
    {"alloca", NULL, NULL, NULL, 73},
    {"createpolicy applypriority discard", NULL, NULL, NULL, 74},
    {"ld st atom red cp prefetch", "L2::cache_hint L2::64B L2::128B L2::256B L2::evict_last L2::evict_normal", NULL, NULL, 74},
    {"ld st", "L1::evict_last L1::evict_first L1::evict_normal L1::evict_unchanged L1::no_allocate", NULL, NULL, 74},
    {"bmsk szext", NULL, NULL, NULL, 76},
    {"isspacep", "param", NULL, NULL, 77},
    {"isspacep", "param::entry", NULL, NULL, 83},
    {NULL, "shared::cta", NULL, NULL, 78},
    {"movmatrix", NULL, NULL, NULL, 78},
    {"redux", NULL, NULL, "80+", 0},
    {"redux", "f32", NULL, "100 103", 0},
    {"setp set", "bf16 bf16x2", NULL, "80+", 0},
    {"cvt", "relu f16x2 bf16x2", NULL, "80+", 0},
    {"ld st atom red cp", "L2::cache_hint", NULL, "80+", 0},
    {"membar", "async", NULL, "90+", 0},
    {"prefetch", "tensormap", NULL, "90+", 80},
    {"ld st atom red", "shared::cluster", NULL, "90+", 0},
    {"wmma", "f64", NULL, "80+", 0},
    {"cp", "cta_group::1 cta_group::2", NULL, "100 103 107 110", 0},
    {"st red", "async", "release", "100+", 0},
    {"elect mapa getctarank griddepcontrol stmatrix", NULL, NULL, "90+", 0},
    {"barrier", "cluster", NULL, "90+", 0},
    {"min max", "NaN f16 f16x2", NULL, "80+", 0},
    {"min max", "xorsign", NULL, "86+", 0},
    {"min max", "relu", "s32", "90+", 80},
    {"min max add sub", "u16x2 s16x2", NULL, "90+", 80},
    {"min max fma abs neg cvt atom red mma wmma", "bf16 bf16x2 tf32", NULL, "80+", 0},
    {"add sub mul ex2 tanh", "bf16 bf16x2", NULL, "90+", 0},
    {"fma", "relu", NULL, "80+", 0},
    {"add sub fma", "f32", "f16 bf16", "100+", 0},
    {"add sub mul fma", "f32x2", NULL, "100+", 0},
    {"cvt", "e4m3x2 e5m2x2", NULL, "89+", 0},
    {"cvt", "tf32", "rn rz", "90+", 0},
    {"cvt", "bf16", "u16 u32 u64 s16 s32 s64", "90+", 0},
    {"cvt", "e2m1x2 e2m3x2 e3m2x2 ue8m0x2", NULL, BLACKWELL, 0},
    {"cvt", "bf16x2", "e4m3x2 e5m2x2", BLACKWELL, 0},
    {"cvt", "s2f6x2", NULL, "100a 103a 107a 110a 120a 121a", 0},
    {"cvt", "rs", NULL, "100a 103a 107a", 87},
    {"ld st atom red fence", "cluster", NULL, "90+", 0},
    {"fence", "async mbarrier_init acquire release tensormap::generic", NULL, "90+", 0},
    {"ld", "L2::256B", NULL, "80+", 0},
    {"createpolicy applypriority discard mbarrier", NULL, NULL, "80+", 0},
    {"prefetch", "L2::evict_last L2::evict_normal", NULL, "80+", 0},
    {"atom", "b128 bf16 bf16x2", NULL, "90+", 0},
    {"red", "bf16 bf16x2", NULL, "90+", 0},
    {"atom red", "v2 v4 v8", NULL, "90+", 81},
    {"st red", "async", NULL, "90+", 81},
    {"cp", "async", NULL, "80+", 0},
    {"cp", "bulk", NULL, "90+", 80},
    {"mbarrier", "try_wait expect_tx complete_tx cluster shared::cluster", NULL, "90+", 0},
    {"isspacep", "shared::cluster", NULL, "90+", 0},
    {"ldmatrix", "m16n16 m8n16", NULL, BLACKWELL, 0},
    {"stmatrix", "m16n8", NULL, BLACKWELL, 0},
    {"clmad", NULL, NULL, "80+", 93},
    {"st", "bulk", NULL, "100+", 0},
    {"mma", "sp sp::ordered_metadata f64", NULL, "80+", 0},
    {"mma", "m16n8k4 m16n8k16 m16n8k32 m16n8k64 m16n8k128 m16n8k256", NULL, "80+", 0},
    {"mma", "m16n8k4 m16n8k8 m16n8k16", "f64", "90+", 0},
    {"mma", "e4m3 e5m2", NULL, "89+", 84},
    {"mma", "kind::f8f6f4 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4", NULL, "120 121", 0},
    {"wgmma", NULL, NULL, "90", 0},
    {"setmaxnreg", NULL, NULL, "90 " BLACKWELL, 0},
    {"tensormap", "replace", NULL, "90 " BLACKWELL, 83},
    {"tcgen05", NULL, NULL, "100 103 107 110", 0},
    {"tcgen05", "kind::i8", NULL, "100a 110a", 0},
    {"tcgen05", "red", NULL, "103 107 110", 0},
    {"tcgen05", "shift", NULL, "100a 103a 107a 110a", 0},
    {"tcgen05", "scale_vec::4X", NULL, "100a 103a 107a 110a", 0},
    {"clusterlaunchcontrol", NULL, NULL, "100+", 0},
    {"barrier", "cluster", "acquire release relaxed", NULL, 80},
    {"elect", NULL, NULL, NULL, 80},
    {"fence", "mbarrier_init async", NULL, NULL, 80},
    {"mbarrier", "expect_tx complete_tx acquire release", NULL, NULL, 80},
    {"mbarrier", "relaxed", NULL, NULL, 86},
    {"st red", "async", "release", NULL, 87},
    {"ld", "mmio", NULL, NULL, 82},
    {"lop3", "and or", NULL, NULL, 82},
    {"fence", "tensormap::generic", NULL, NULL, 83},
    {"ld st atom mov", "b128", NULL, NULL, 83},
    {"mma", "sp::ordered_metadata", NULL, NULL, 85},
    {"fence", "sync_restrict::shared::cta sync_restrict::shared::cluster", NULL, NULL, 86},
    {"ld st", "v8", NULL, NULL, 88},
    {"cvt", "s2f6x2 scaled::n2::ue8m0", NULL, NULL, 91},
};

static bool has_chip(const struct decode *d, const char *chips)
{
    char number[16];
    snprintf(number, sizeof number, "%d", d->sm);
    char last = d->m->target[strlen(d->m->target) - 1];
    return strchr(chips, '+') ? d->sm >= atoi(chips)
                              : (last == 'a' || last == 'f') && (decode_listed(chips, d->m->target + 3) || decode_listed(chips, number));
}

bool decode_of_chip(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    const char *chips = NULL;
    int own = d->m->version, version = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if ((table[i].ops && !decode_listed(table[i].ops, in->op)) || !decode_has_one_of(in, table[i].words) ||
            !decode_has_one_of(in, table[i].others))
            continue;
        if (!chips && d->sm && table[i].chips && !has_chip(d, table[i].chips))
            chips = table[i].chips;
        if (!version && own && own < table[i].version)
            version = table[i].version;
    }
    const bool three = (decode_is(d, "min") || decode_is(d, "max")) && in->count == 4;
    if (d->sm && (three || decode_by_256_bits(in)) && !has_chip(d, "100+"))
        chips = "100+";
    for (int i = 0; i < in->count && d->sm && !chips; i++)
        if (in->operands[i].kind == OPERAND_SPECIAL && (strstr(in->operands[i].name, "cluster") || strstr(in->operands[i].name, "aggr")) &&
            d->sm < 90)
            chips = "90+";
    if (chips && strchr(chips, '+'))
        return decode_wrong(d, "this is of sm_%d and later, and the target is %s", atoi(chips), d->m->target);
    if (chips) {
        SCOPED_TEXT names = {0};
        for (const char *at = chips; *at; at += strspn(at, " ")) {
            int n = (int)strcspn(at, " ");
            text_addf(&names, "%ssm_%.*s%s", at == chips ? "" : at[n] ? ", " : " and ", n, at, at[n - 1] == 'a' ? "" : "a");
            at += n;
        }
        return decode_wrong(d, "this is of %s alone, and the target is %s", text_get(&names), d->m->target);
    }
    if (decode_is(d, "fence") && instr_has(in, "tensormap::generic") && in->count == 2 && in->operands[1].bits != 128)
        return decode_wrong(d, "a size of 128 was expected");
    if (version)
        return decode_wrong(d, "this is of PTX %d.%d and later, and the file is of %d.%d", version / 10, version % 10, own / 10, own % 10);
    return true;
}

int decode_target_number(const struct ptx_module *m)
{
    return strncmp(m->target, "sm_", 3) ? 0 : atoi(m->target + 3);
}

bool decode_target_known(const struct ptx_module *m, struct error *err)
{
    static const struct {
        int sm;
        const char *suffix;
        int version; /* x 10, the first */
    } first[] = {{75, "", 63},   {80, "", 70},  {86, "", 71},  {87, "", 74},  {88, "", 90},  {89, "", 78},   {90, "", 78},  {90, "a", 80},
                 {100, "f", 88}, {100, "", 86}, {103, "", 88}, {107, "", 94}, {110, "", 90}, {120, "f", 88}, {120, "", 87}, {121, "", 88}};
    int sm = decode_target_number(m);
    char last[2] = {m->target[strlen(m->target) - 1], 0};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (sm == first[i].sm && (!*first[i].suffix || !strcmp(first[i].suffix, last)) && m->version && m->version < first[i].version)
            return error_set(err, ERROR_USAGE, "%s: PTX %d.%d does not have the target %s, which is of %d.%d and later", m->label,
                             m->version / 10, m->version % 10, m->target, first[i].version / 10, first[i].version % 10);
    return true;
}
