/* emu/decode/registers: which registers and literals fit an operand's type, as ptxas has it: whole numbers, floats, packed types; untyped
 * registers (.b32) fit all. */
#include "emu/decode/decode.h"
#include <stdlib.h>
#include <string.h>

static bool is_natural(enum ptx_type t)
{
    return t >= T_U8 && t <= T_S64;
}

/* part: of a vector in braces; only mov takes bytes apart and puts them together without a type of bytes. */
static bool register_fits(const struct decode *d, enum ptx_type reg, const char *type, bool part)
{
    enum ptx_type t = ptx_type_parse(type);
    bool packed = strstr(type, "x2") || t == T_TF32, real = ptx_type_float(t) || strchr(type, 'f'),
         whole = type[0] == 'u' || type[0] == 's';
    if (reg == T_PRED)
        return true;
    if (ptx_type_bytes(reg) == 1 && !decode_listed("ld st cvt", d->in->op) && !(part && decode_is(d, "mov")))
        return false;
    if (packed && ptx_type_bytes(reg) == ptx_type_bytes(t))
        return reg == t || (reg >= T_B8 && reg <= T_B128);
    if ((decode_is(d, "ld") || decode_is(d, "st")) && real && reg == T_F64 && strcmp(type, "f64"))
        return false;
    return real ? !is_natural(reg) : !whole || !ptx_type_float(reg);
}

static bool fits(struct decode *d, const struct ptx_operand *o, const char *type, bool part)
{
    enum ptx_type t = ptx_type_parse(type);
    bool real = ptx_type_float(t) || strchr(type, 'f'), whole = type[0] == 'u' || type[0] == 's', ok = true;
    for (int i = 0; o->kind == OPERAND_VECTOR && i < o->count && ok; i++)
        ok = fits(d, &o->items[i], type, true);
    if (o->kind == OPERAND_REG)
        ok = register_fits(d, d->f->regs[o->reg], type, part);
    if (o->kind == OPERAND_F32 || o->kind == OPERAND_F64) /* of the same size as untyped bits */
        ok = ok && (part || type[0] != 'b' || real || instr_has(d->in, "param") || atoi(type + 1) == (o->kind == OPERAND_F32 ? 32 : 64));
    ok = ok && (o->kind != OPERAND_INT || (!real && !strstr(type, "x2")));
    ok = ok && ((o->kind != OPERAND_F32 && o->kind != OPERAND_F64) || !whole);
    return ok || d->failed || decode_wrong(d, "an operand is not of type '.%s'", type);
}

/* The n-th type among the modifiers, of x4 too; NULL: there are fewer. */
const char *decode_nth_type(const struct ptx_instr *in, int n)
{
    for (int i = 0; i < in->mod_count; i++)
        if (decode_is_type(in->mods[i]) && n-- == 0)
            return in->mods[i];
    return NULL;
}

/* Fragments of matrices: halves are packed in registers of 32 bits. */
static bool fragment_fits(struct decode *d, int operand, const char *type)
{
    bool packed = !strcmp(type, "f16") || !strcmp(type, "bf16");
    const char *as = packed ? "f16x2" : !strcmp(type, "s32") || !strcmp(type, "f32") || !strcmp(type, "tf32") ? type : NULL;
    return !as || operand >= d->in->count || fits(d, &d->in->operands[operand], as, false);
}

static bool matrices_fit(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    if (decode_is(d, "wmma") && !instr_has(in, "mma")) {
        const char *type = decode_nth_type(in, 0);
        if (instr_has(in, "load") && in->count && in->operands[0].kind != OPERAND_VECTOR)
            return decode_wrong(d, "a list of registers was expected");
        return !type || fragment_fits(d, instr_has(in, "store"), type);
    }
    if (decode_is(d, "wmma") && !decode_nth_type(in, 2)) /* of f16: D and C alone have a type */
        return !decode_nth_type(in, 1) || (fragment_fits(d, 0, decode_nth_type(in, 0)) && fragment_fits(d, 1, "f16") &&
                                           fragment_fits(d, 2, "f16") && fragment_fits(d, 3, decode_nth_type(in, 1)));
    bool async = decode_is(d, "wgmma"), ok = true;
    for (int i = 0; i < (async ? 2 : 4) && ok; i++) { /* D, A, B, C */
        const char *type = decode_nth_type(in, i);
        bool vector = i < in->count && in->operands[i].kind == OPERAND_VECTOR;
        ok = !type || !vector || fragment_fits(d, i, type);
    }
    return ok;
}

/* Which operands are of the instruction's type, or of whole numbers whatever it is. */
static const struct {
    const char *ops;
    unsigned operands; /* as bits */
    const char *type;  /* NULL: the last one that the instruction names */
} table[] = {
    {"add sub mul mad fma div rem min max abs neg setp selp mov ld st sad mul24 mad24 addc subc madc clmad atom red cvta mapa", ~0u, NULL},
    {"getctarank sqrt rcp rsqrt sin cos lg2 ex2 tanh copysign dp4a dp2a bfe bfind szext shr and or xor not cnot", ~0u, NULL},
    {"elect activemask nanosleep bar barrier bmsk mbarrier cp isspacep", ~0u, "u32"},
    {"popc clz createpolicy", 1, "u32"},
    {"testp", 2, NULL},
    {"redux", 3, NULL},
    {"shl shr vote redux", 4, "u32"},
    {"match", 5, "u32"},
    {"shf", 8, "u32"},
    {"bfi", 24, "u32"},
    {"shfl", 16, "u32"},
    {"redux", 1, "u32"},
};

bool decode_registers_fit(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    const char *first = decode_nth_type(in, 0), *second = decode_nth_type(in, 1), *last = first;
    for (int n = 1; first && decode_nth_type(in, n); n++)
        last = decode_nth_type(in, n);
    if (decode_listed("mma wmma wgmma", in->op))
        return matrices_fit(d);
    if (decode_is(d, "cvt") || decode_is(d, "set") || decode_is(d, "slct")) { /* a type of the result, another of what it is made of */
        bool ok = second && !instr_has(in, "pack");
        for (int i = 0; ok && i < in->count - instr_has(in, "scaled::n2::ue8m0") - instr_has(in, "rs"); i++)
            if (!fits(d, &in->operands[i], i == 0 || (decode_is(d, "slct") && i < 3) ? first : second, false))
                return false;
        return true;
    }
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        const char *type = table[t].type ? table[t].type : last;
        bool real = last && strchr(last, 'f') && decode_is(d, "redux") && table[t].operands == 1;
        for (int i = 0; type && !real && decode_listed(table[t].ops, in->op) && i < in->count; i++) {
            bool of_predicates = last && !strcmp(last, "pred") && !table[t].type;
            if ((table[t].operands >> i & 1) && !of_predicates && in->operands[i].kind != OPERAND_ADDRESS &&
                !fits(d, &in->operands[i], type, false))
                return false;
        }
    }
    return true;
}
