/* emu/decode/allowed: what ptxas refuses although emu could run it: types that an instruction does not have, and missing modifiers that it
 * requires. */
#include "emu/decode/decode.h"
#include <stdlib.h>
#include <string.h>

/* The first line that has one of the operations and one of the words (NULL: any) applies: the permitted types, and words of which one is
 * required (NULL: any type, no word). The type is the last one that the instruction names. */
static const struct {
    const char *ops, *words, *types, *needs;
} rules[] = {
    {"and or xor not", NULL, "pred b16 b32 b64", NULL},
    {"cnot shl", NULL, "b16 b32 b64", NULL},
    {"shr", NULL, "b16 b32 b64 u16 u32 u64 s16 s32 s64", NULL},
    {"popc clz brev bfi match", NULL, "b32 b64", NULL},
    {"bfe bfind", NULL, "u32 u64 s32 s64", NULL},
    {"prmt lop3 fns activemask shfl", NULL, "b32", NULL},
    {"shf bmsk", NULL, "b32", "clamp wrap"}, /* of shf, also l or r: goes_together() */
    {"szext", NULL, "u32 s32", "clamp wrap"},
    {"clmad", NULL, "u64", "lo hi"},
    {"nanosleep", NULL, "u32", NULL},
    {"testp", NULL, "f32 f64", NULL},
    {"dp4a", NULL, "u32 s32", NULL},
    {"dp2a", NULL, "u32 s32", "lo hi"},
    {"fma", NULL, NULL, "rn rz rm rp"},
    {"rsqrt lg2 ex2 sin cos tanh", NULL, NULL, "approx"},
    {"div", "f32", NULL, "rn rz rm rp approx full"},
    {"sqrt div", "f64", NULL, "rn rz rm rp"},
    {"sqrt rcp", NULL, NULL, "rn rz rm rp approx"},
    {"mad", "f32 f64", NULL, "rn rz rm rp"},
    {"mad", NULL, "u16 u32 u64 s16 s32 s64", "lo hi wide"},
    {"mul", "u16 u32 u64 s16 s32 s64", NULL, "lo hi wide"},
    {"add sub", NULL, "u16 u32 u64 s16 s32 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 f32 f32x2 f64", NULL},
    {"abs neg", NULL, "s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", NULL},
    {"slct", NULL, "s32 f32", NULL},
    {"selp", NULL, "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", NULL},
    {"mov", NULL, "pred b16 b32 b64 b128 u16 u32 u64 s16 s32 s64 f32 f64", NULL},
    {"red", "async", NULL, NULL},
    {"atom red", "and or xor", "b32 b64", NULL},
    {"atom", "exch", "b32 b64 b128", NULL},
    {"atom", "cas", "b16 b32 b64 b128", NULL},
    {"atom red", "inc dec", "u32", NULL},
    {"atom red", "add", "u32 s32 u64 f16 f16x2 bf16 bf16x2 f32 f64", NULL},
    {"atom red", NULL, "u32 s32 u64 s64 f16 f16x2 bf16 bf16x2", NULL},
    {"redux", "add", "u32 s32", NULL},
    {"redux", "and or xor", "b32", NULL},
    {"redux", NULL, "u32 s32 f32", NULL},
    {"bar barrier", "and or", "pred", NULL},
};

/* Words that belong to the name of an instruction: those that it has come first and in this order; ptxas takes the others in any order. */
static const struct {
    const char *ops, *words;
} names[] = {
    {"cp", "reduce async bulk prefetch tensor mbarrier arrive commit_group wait_group wait_all"},
    {"mbarrier", "init inval arrive arrive_drop test_wait try_wait pending_count check_layout expect_tx complete_tx parity"},
    {"tcgen05", "alloc dealloc relinquish_alloc_permit commit cp shift ld st red mma ws sp wait::ld wait::st fence::before_thread_sync "
                "fence::after_thread_sync"},
    {"wgmma", "fence commit_group wait_group mma_async sp"},
    {"wmma", "load store mma a b c d"},
    {"barrier bar", "warp cluster cta sync arrive wait red"},
    {"fence membar", "proxy"},
    {"clusterlaunchcontrol", "try_cancel async query_cancel"},
    {"createpolicy", "fractional range cvt"},
    {"tensormap", "replace cp_fenceproxy"},
    {"st red", "async bulk"},
    {"setmaxnreg", "inc dec"},
    {"shf", "l r"},
    {"mul mul24 mad mad24 madc clmad dp2a", "hi lo wide"},
    {"div", "full"},
    {"cvt", "pack"},
};

static bool in_order(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!decode_listed(names[i].ops, in->op))
            continue;
        int first = 0; /* modifiers of the name that stand where they belong */
        while (first < in->mod_count && decode_listed(names[i].words, in->mods[first]))
            first++;
        for (int k = 0; k < in->mod_count; k++) {
            const char *before = k && k < first ? strstr(names[i].words, in->mods[k - 1]) : NULL;
            bool late = k >= first && decode_listed(names[i].words, in->mods[k]);
            if (late || (before && !decode_listed(before, in->mods[k]))) {
                d->column = in->mod_columns[k];
                return decode_wrong(d, "'.%s' stands before this modifier, or behind the instruction's name", in->mods[k]);
            }
        }
        return true;
    }
    return true;
}

static const char *last_type(const struct ptx_instr *in)
{
    const char *found = NULL;
    for (int i = 0; i < in->mod_count; i++)
        found = ptx_type_parse(in->mods[i]) != T_NONE ? in->mods[i] : found;
    return found;
}

static bool fits_rule(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!decode_listed(rules[i].ops, in->op) || !decode_has_one_of(in, rules[i].words))
            continue;
        const char *type = last_type(in);
        if (rules[i].types && !type)
            return decode_wrong(d, "one of the types %s is needed", rules[i].types);
        if (rules[i].types && !decode_listed(rules[i].types, type))
            return decode_wrong(d, "'.%s' is not one of its types: %s", type, rules[i].types);
        return decode_has_one_of(in, rules[i].needs) || decode_wrong(d, "one of %s is needed", rules[i].needs);
    }
    return true;
}

/* Which comparisons a type has. */
static bool compares(struct decode *d)
{
    static const char equal[] = "eq ne", ordered[] = "lt le gt ge", other[] = "lo ls hi hs",
                      unordered[] = "equ neu ltu leu gtu geu num nan";
    const char *type = last_type(d->in);
    if ((!decode_is(d, "setp") && !decode_is(d, "set")) || !type || decode_has_one_of(d->in, equal))
        return true;
    bool real = strchr(type, 'f') != NULL, bits = type[0] == 'b' && !real, natural = type[0] == 'u';
    bool ok = decode_has_one_of(d->in, ordered) ? !bits
              : decode_has_one_of(d->in, other) ? natural
                                                : !decode_has_one_of(d->in, unordered) || real;
    return ok || decode_wrong(d, "this comparison is not one of '.%s'", type);
}

static int float_bits(const char *type)
{
    return !strcmp(type, "f64") ? 64 : !strcmp(type, "f32") ? 32 : !strcmp(type, "f16") || !strcmp(type, "bf16") ? 16 : 0;
}

/* cvt between plain types: a rounding where the result may be inexact, and none where it is exact. */
static bool converts(struct decode *d)
{
    static const char to_float[] = "rn rz rm rp rna rs", to_whole[] = "rni rzi rmi rpi";
    const struct ptx_instr *in = d->in;
    if (!decode_is(d, "cvt") || in->mod_count < 2)
        return true;
    const char *to = decode_nth_type(in, 0), *from = decode_nth_type(in, 1);
    if (!from)
        return true;
    bool pack = instr_has(in, "pack"), random = instr_has(in, "rs"), pair = strstr(to, "x2") && !strcmp(from, "f32");
    int operands = 2 + instr_has(in, "scaled::n2::ue8m0") + (pair || random) + (pair && random) + (pack ? 1 + instr_has(in, "b32") : 0);
    if (!decode_operand_count(d, operands, operands))
        return false;
    if (pack)
        return true;
    int wide = float_bits(to), narrow = float_bits(from);
    bool whole_to = strchr("us", to[0]) && !strchr(to, 'x'), whole_from = strchr("us", from[0]) && !strchr(from, 'x');
    if ((!wide && !whole_to) || (!narrow && !whole_from) || ptx_type_parse(to) == T_NONE)
        return true;
    bool rounds = decode_has_one_of(in, to_float), cuts = decode_has_one_of(in, to_whole);
    if (wide == 64 && narrow == 64 && instr_has(in, "ftz"))
        return decode_wrong(d, "'.ftz' is for f32");
    if (whole_to && whole_from && instr_has(in, "sat")) {
        int more = atoi(to + 1) - atoi(from + 1); /* bits */
        if (from[0] == 's' ? to[0] == 's' && more >= 0 : more >= (to[0] == 's'))
            return decode_wrong(d, "'.sat' is for a type that does not hold all values");
    }
    if (whole_to && whole_from)
        return !(rounds || cuts) || decode_wrong(d, "a whole number becomes another without rounding");
    if (whole_to)
        return cuts || rounds || decode_wrong(d, "one of %s is needed", to_whole);
    if (whole_from || wide < narrow)
        return rounds || decode_wrong(d, "one of rn rz rm rp is needed");
    return !rounds || (wide == narrow && strcmp(to, from)) || !strcmp(from, "bf16") ||
           decode_wrong(d, "a float of the same type, or a wider one, needs no rounding");
}

/* Modifiers that do not go with a type, and operands. */
static bool goes_together(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    const char *type = last_type(in);
    bool f64 = type && !strcmp(type, "f64"), inverse = decode_is(d, "rcp") || decode_is(d, "rsqrt");
    if (f64 && !decode_is(d, "cvt") && ((instr_has(in, "ftz") && !inverse) || instr_has(in, "sat")))
        return decode_wrong(d, "'.%s' is for f32", instr_has(in, "sat") ? "sat" : "ftz");
    if (f64 && decode_is(d, "rcp") && instr_has(in, "approx") && !instr_has(in, "ftz"))
        return decode_wrong(d, "'.approx.f64' needs '.ftz'");
    if (instr_has(in, "xorsign") && !instr_has(in, "abs"))
        return decode_wrong(d, "'.xorsign' needs '.abs'");
    if (decode_is(d, "barrier") && instr_has(in, "cluster") && instr_has(in, "arrive") && instr_has(in, "acquire"))
        return decode_wrong(d, "an arrival releases");
    if (decode_is(d, "shf") && !decode_has_one_of(in, "l r"))
        return decode_wrong(d, "one of l r is needed");
    if (decode_is(d, "wgmma") && !instr_has(in, "sync"))
        return decode_wrong(d, "'.sync' is needed");
    bool barrier = (decode_is(d, "bar") || decode_is(d, "barrier")) && !instr_has(in, "warp") && !instr_has(in, "cluster");
    int first = barrier && instr_has(in, "red") ? 1 : 0;
    if (barrier && in->count > (first ? 4 : 2))
        return decode_wrong(d, "it has %d operands at most", first ? 4 : 2);
    if (barrier && instr_has(in, "arrive") && in->count < 2)
        return decode_wrong(d, "the number of threads is missing");
    if (barrier && in->count > first && in->operands[first].kind == OPERAND_INT && in->operands[first].bits > 15)
        return decode_wrong(d, "barriers go from 0 to 15");
    if (barrier && in->count > first + 1 && in->operands[first + 1].kind == OPERAND_INT && in->operands[first + 1].bits % 32)
        return decode_wrong(d, "the number of threads is a multiple of 32");
    return true;
}

/* mov: special registers, addresses and vectors are not of every type. */
static bool moves(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    const char *type = last_type(in);
    if (!decode_is(d, "mov") || in->count != 2 || !type || instr_has(in, "v2") || instr_has(in, "v4") || instr_has(in, "v8"))
        return true;
    const struct ptx_operand *to = &in->operands[0], *from = &in->operands[1];
    int bits = atoi(type + 1);
    if (type[0] != 'b' && (to->kind == OPERAND_VECTOR || from->kind == OPERAND_VECTOR))
        return decode_wrong(d, "a vector is moved as '.b%d'", bits);
    if (type[0] == 'f' && (from->kind == OPERAND_SPECIAL || from->kind == OPERAND_SYMBOL || from->kind == OPERAND_VAR))
        return decode_wrong(d, "this operand is no float");
    if (from->kind == OPERAND_SPECIAL && bits && strcmp(from->name, "%gridid")) {
        size_t n = strlen(from->name);
        bool wide = (n > 2 && !strcmp(from->name + n - 2, "64")) || !strcmp(from->name, "%globaltimer") ||
                    !strcmp(from->name, "%current_graph_exec");
        if (bits == 128 || (bits == 64) != wide)
            return decode_wrong(d, "'%s' has %d bits", from->name, wide ? 64 : 32);
    }
    return true;
}

bool decode_allowed(struct decode *d)
{
    return in_order(d) && fits_rule(d) && decode_arithmetic_form(d) && decode_operands(d) && compares(d) && converts(d) && moves(d) &&
           goes_together(d) && decode_registers_fit(d);
}
