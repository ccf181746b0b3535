/* emu/decode/operands: how many operands an instruction has, and which constants it takes: what ptxas refuses. */
#include "emu/decode/decode.h"
#include <string.h>

bool decode_operand_count(struct decode *d, int least, int most)
{
    if (d->in->count >= least && d->in->count <= most)
        return true;
    return least == most ? decode_wrong(d, "it has %d operand%s", least, least == 1 ? "" : "s")
                         : decode_wrong(d, "it has %d to %d operands", least, most);
}

static bool constant_of(const struct decode *d, int k, uint64_t *bits)
{
    *bits = k < d->in->count ? d->in->operands[k].bits : 0;
    return k < d->in->count && d->in->operands[k].kind == OPERAND_INT;
}

/* Operands of asynchronous copies: destination, source, what becomes of the source, and of these those that a modifier asks for. */
static bool copies(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    bool hint = instr_has(in, "L2::cache_hint"), loads = instr_has(in, "mbarrier::complete_tx::bytes");
    uint64_t bytes, taken;
    if (instr_has(in, "commit_group") || instr_has(in, "wait_all"))
        return decode_operand_count(d, 0, 0);
    if (instr_has(in, "wait_group"))
        return decode_operand_count(d, 1, 1);
    bool ahead = instr_has(in, "prefetch") && !instr_has(in, "tensor");
    if (instr_has(in, "bulk") && !instr_has(in, "tensor") && constant_of(d, ahead ? 1 : 2, &bytes) && bytes % 16)
        return decode_wrong(d, "the number of bytes is a multiple of 16");
    if (instr_has(in, "arrive"))
        return decode_operand_count(d, 1, 1);
    if (instr_has(in, "im2col") && !instr_has(in, "prefetch"))
        return true;
    if (instr_has(in, "prefetch")) {
        int n = 1 + ahead + hint + (instr_has(in, "im2col") || instr_has(in, "im2col::w") || instr_has(in, "im2col::w::128"));
        return decode_operand_count(d, n, n);
    }
    if (!instr_has(in, "bulk")) {
        if (constant_of(d, 2, &bytes) && constant_of(d, 3, &taken) && taken > bytes)
            return decode_wrong(d, "it reads at most the %d bytes that it writes", (int)bytes);
        return (in->count < 4 + hint || in->operands[3].kind != OPERAND_REG || d->f->regs[in->operands[3].reg] == T_PRED ||
                decode_reg_bytes(d, in->operands[3].reg) == 4 || decode_wrong(d, "the size of the source has 32 bits")) &&
               decode_operand_count(d, 3 + hint, 4 + hint);
    }
    int more = hint + instr_has(in, "multicast::cluster") + instr_has(in, "cp_mask") + 2 * instr_has(in, "ignore_oob");
    int n = (instr_has(in, "tensor") ? 2 : 3) + loads + more;
    return decode_operand_count(d, n, n);
}

static bool barriers(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    bool asks = instr_has(in, "test_wait"), arrives = instr_has(in, "arrive") || instr_has(in, "arrive_drop");
    uint64_t bits;
    if (instr_has(in, "init") && constant_of(d, 1, &bits) && (bits < 1 || bits > 0xfffff))
        return decode_wrong(d, "the count of arrivals goes from 1 to 2^20 - 1");
    if (instr_has(in, "init") || instr_has(in, "inval"))
        return decode_operand_count(d, 1 + instr_has(in, "init"), 1 + instr_has(in, "init"));
    if (instr_has(in, "parity") && constant_of(d, 2, &bits) && bits > 1)
        return decode_wrong(d, "the parity is 0 or 1");
    if (asks || instr_has(in, "try_wait"))
        return decode_operand_count(d, 3, asks ? 3 : 4);
    if (!arrives)
        return !decode_has_one_of(in, "expect_tx complete_tx") || decode_operand_count(d, 2, 2);
    if (in->count && in->operands[0].kind == OPERAND_ADDRESS)
        return decode_wrong(d, "a destination or '_' was expected");
    if (instr_has(in, "shared::cluster") && in->count && in->operands[0].kind != OPERAND_SINK)
        return decode_wrong(d, "an arrival in another block has no result: '_' was expected");
    return decode_operand_count(d, instr_has(in, "expect_tx") || instr_has(in, "noComplete") ? 3 : 2, 3);
}

static bool each_once(struct decode *d)
{
    const struct ptx_operand *regs = decode_operand(d, 0);
    for (int i = 0; regs->kind == OPERAND_VECTOR && i < regs->count; i++)
        for (int k = 0; k < i; k++)
            if (regs->items[i].kind == OPERAND_REG && regs->items[k].kind == OPERAND_REG && regs->items[i].reg == regs->items[k].reg)
                return decode_wrong(d, "register %d of the list is register %d again", i + 1, k + 1);
    return true;
}

static bool tensor_memory(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    bool many = instr_has(in, "multicast::cluster");
    uint64_t columns;
    if (instr_has(in, "alloc") || instr_has(in, "dealloc"))
        return decode_operand_count(d, 2, 2) &&
               (!constant_of(d, 1, &columns) || (columns >= 32 && columns <= 512 && !(columns & (columns - 1))) ||
                decode_wrong(d, "columns are 32, 64, 128, 256 or 512"));
    if (decode_has_one_of(in, "wait::ld wait::st shift cp")) {
        int n = instr_has(in, "cp") ? 2 : instr_has(in, "shift");
        return decode_operand_count(d, n, n);
    }
    if (instr_has(in, "commit"))
        return decode_operand_count(d, 1 + many, 1 + many);
    if (instr_has(in, "ld") || instr_has(in, "st")) {
        int n = 2 + instr_has(in, "16x32bx2") + instr_has(in, "red");
        if (in->count == n && in->operands[instr_has(in, "st") ? n - 1 : 0].kind != OPERAND_VECTOR)
            return decode_wrong(d, "a list of registers was expected");
        return decode_operand_count(d, n, n) && (instr_has(in, "st") || each_once(d));
    }
    return true;
}

/* Registers of a vector have one size. */
static bool same_sizes(struct decode *d)
{
    const struct ptx_operand *v = &d->in->operands[decode_is(d, "st")];
    int bytes = 0;
    for (int i = 0; v->kind == OPERAND_VECTOR && i < v->count; i++) {
        int own = v->items[i].kind == OPERAND_REG ? ptx_type_bytes(d->f->regs[v->items[i].reg]) : bytes;
        if (bytes && own != bytes)
            return decode_wrong(d, "registers of different sizes in a vector");
        bytes = own;
    }
    return true;
}

/* Loads, stores and atomics: a cache hint is one more operand, a policy of 64 bits. */
static bool accesses(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    bool hint = instr_has(in, "L2::cache_hint");
    int n = 2 + decode_is(d, "atom") + instr_has(in, "cas") + hint;
    if (instr_has(in, "async") || instr_has(in, "bulk"))
        return true;
    const struct ptx_operand *last = in->count ? &in->operands[in->count - 1] : NULL;
    const bool wide = decode_by_256_bits(in);
    if (wide && decode_has_one_of(in, "shared shared::cta shared::cluster local const param"))
        return decode_wrong(d, "only global memory is accessed by 256 bits");
    if (!wide && decode_has_one_of(in, "L2::evict_last L2::evict_first L2::evict_normal") && (decode_is(d, "ld") || decode_is(d, "st")))
        return decode_wrong(d, "an eviction priority of L2 is of accesses by 256 bits");
    return decode_operand_count(d, n, n) && same_sizes(d) &&
           (!hint || last->kind != OPERAND_REG || decode_reg_bytes(d, last->reg) == 8 || decode_wrong(d, "the cache policy has 64 bits"));
}

/* How many operands an instruction has, where its decoder looks at the first ones alone. */
static bool counts(struct decode *d)
{
    static const struct {
        const char *ops;
        int least, most;
        const char *words; /* one of which it has; NULL: any */
    } table[] = {
        {"and or xor shl shr bmsk szext add sub mul mul24 div rem addc subc copysign match redux mapa", 3, 3, NULL},
        {"mad madc mad24 clmad fma sad prmt bfe fns shf dp4a dp2a slct selp", 4, 4, NULL},
        {"abs neg not cnot popc clz brev bfind sqrt rcp rsqrt sin cos lg2 ex2 tanh testp mov elect cvta isspacep getctarank", 2, 2, NULL},
        {"min max", 3, 3, "xorsign"},
        {"min max", 3, 4, "f32"},
        {"min max", 3, 3, NULL},
        {"setp set", 4, 4, "and or xor"},
        {"setp set", 3, 3, NULL},
        {"shfl", 5, 5, "sync"},
        {"vote", 3, 3, "sync"},
        {"ldmatrix stmatrix movmatrix discard applypriority istypep", 2, 2, NULL},
        {"mma", 4, 4, "row"}, /* of dense matrices: counts() */
        {"clusterlaunchcontrol", 2, 2, "try_cancel"},
        {"st red", 3, 3, "mbarrier::complete_tx::bytes"},
        {"st red", 2, 2, "async"},
        {"bar barrier", 3, 4, "red"},
        {"bfi", 5, 5, NULL},
        {"lop3", 5, 6, NULL},
        {"activemask nanosleep setmaxnreg pmevent", 1, 1, NULL},
        {"bar barrier", 1, 1, "warp"},
        {"barrier", 0, 0, "cluster"},
        {"wgmma", 0, 0, "fence commit_group"},
        {"fence membar brkpt trap exit ret griddepcontrol", 0, 0, NULL}};
    if (decode_is(d, "fence") && instr_has(d->in, "tensormap::generic") && instr_has(d->in, "acquire"))
        return decode_operand_count(d, 2, 2); /* an address and a size */
    bool more = decode_is(d, "mma") && decode_has_one_of(d->in, "sp sp::ordered_metadata block_scale");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!more && decode_listed(table[i].ops, d->in->op) && (!table[i].words || decode_has_one_of(d->in, table[i].words)))
            return decode_operand_count(d, table[i].least, table[i].most);
    if (more && !instr_has(d->in, "block_scale"))
        return decode_operand_count(d, 6, 6);
    if (decode_listed("ld ldu st atom red", d->in->op))
        return accesses(d);
    return decode_is(d, "cp") ? copies(d) : decode_is(d, "mbarrier") ? barriers(d) : !decode_is(d, "tcgen05") || tensor_memory(d);
}

/* A field of a tensor map: its number behind the address, where there are several; a constant where it is an enumeration. */
static bool tensor_map(struct decode *d)
{
    static const struct {
        const char *name;
        int most; /* of the constant; -1: a register will do */
    } fields[] = {{"elemtype", 15}, {"interleave_layout", 2}, {"swizzle_mode", 3}, {"fill_mode", 1}, {"swizzle_atomicity", 3}};
    const struct ptx_instr *in = d->in;
    if (!instr_has(in, "replace"))
        return true;
    bool many = decode_has_one_of(in, "box_dim global_dim global_stride element_stride");
    uint64_t value;
    if (!decode_operand_count(d, 2 + many, 2 + many))
        return false;
    if (many && (!constant_of(d, 1, &value) || value > 4))
        return decode_wrong(d, "the number of a dimension is a constant from 0 to 4");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (instr_has(in, fields[i].name) && (!constant_of(d, 1, &value) || value > (uint64_t)fields[i].most))
            return decode_wrong(d, "the value is a constant from 0 to %d", fields[i].most);
    const struct ptx_var *v = in->operands[0].var;
    return !v || v->space != SPACE_SHARED || !instr_has(in, "global") || decode_wrong(d, "'%s' lies in another state space", v->name);
}

/* Constants of hints. */
static bool hints(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    uint64_t value, other;
    if (decode_is(d, "applypriority") && (!constant_of(d, 1, &value) || value != 128))
        return decode_wrong(d, "it is of 128 bytes");
    if ((decode_is(d, "bfe") || decode_is(d, "bfi")) &&
        ((constant_of(d, in->count - 1, &value) && value > 255) || (constant_of(d, in->count - 2, &value) && value > 255)))
        return decode_wrong(d, "a place or a length goes from 0 to 255");
    if (decode_is(d, "pmevent") && !constant_of(d, 0, &value))
        return decode_wrong(d, "a constant was expected");
    if (decode_is(d, "pmevent") && !instr_has(in, "mask") && value > 15)
        return decode_wrong(d, "events go from 0 to 15");
    if (!decode_is(d, "createpolicy"))
        return true;
    if (instr_has(in, "fractional") && constant_of(d, 1, &value))
        return decode_wrong(d, "the fraction is a float");
    if (instr_has(in, "range") && constant_of(d, 2, &value) && constant_of(d, 3, &other) && value > other)
        return decode_wrong(d, "the first size is at most the second");
    if (!instr_has(in, "fractional") || in->count < 2 || (in->operands[1].kind != OPERAND_F64 && in->operands[1].kind != OPERAND_F32))
        return true;
    double part;
    float single;
    memcpy(&part, &in->operands[1].bits, sizeof part);
    memcpy(&single, &in->operands[1].bits, sizeof single);
    part = in->operands[1].kind == OPERAND_F32 ? single : part;
    return (part > 0 && part <= 1) || decode_wrong(d, "the fraction is above 0 and at most 1");
}

/* Parts of a register are of video instructions; a minus before one is of vmad. */
static bool whole_register(struct decode *d, const struct ptx_operand *o)
{
    bool ok = (!o->part || d->in->op[0] == 'v') && (!o->minus || decode_is(d, "vmad"));
    for (int i = 0; i < o->count && ok && !d->failed; i++)
        ok = whole_register(d, &o->items[i]);
    return ok || d->failed || decode_wrong(d, "'%s' stands here whole, without a sign", o->name);
}

/* What an operand must be. */
static bool kinds(struct decode *d)
{
    const struct ptx_instr *in = d->in;
    const struct ptx_operand *o = in->count > 1 ? &in->operands[1] : NULL;
    for (int i = 0; i < in->count; i++)
        if (in->operands[i].kind == OPERAND_ADDRESS && in->operands[i].reg < 0 && !in->operands[i].name && !instr_has(in, "local"))
            return decode_wrong(d, "only local memory is addressed by a plain number");
    for (int i = 0; i < in->count; i++)
        if (!whole_register(d, &in->operands[i]))
            return false;
    if (decode_is(d, "match") && instr_has(in, "any") && in->count && in->operands[0].reg2 >= 0)
        return decode_wrong(d, "'.any' has no predicate");
    if ((decode_is(d, "prefetch") || decode_is(d, "prefetchu")) &&
        (!decode_operand_count(d, 1, 1) || in->operands[0].kind != OPERAND_ADDRESS))
        return !d->failed && decode_wrong(d, "an address in brackets was expected");
    const bool ahead = decode_listed("prefetch prefetchu applypriority", in->op) || instr_has(in, "prefetch");
    const struct ptx_operand *at = in->count && ahead                                       ? &in->operands[0]
                                   : decode_is(d, "createpolicy") && instr_has(in, "range") ? o
                                                                                            : NULL;
    if (at && at->reg >= 0 && decode_reg_bytes(d, at->reg) != 8)
        return decode_wrong(d, "'%s' is not an address register", at->name);
    bool other = at && at->var &&
                 (instr_has(in, "global") ? at->var->space != SPACE_GLOBAL : instr_has(in, "param") && at->var->space != SPACE_PARAM);
    if (other || (at && at->var && decode_is(d, "prefetchu")))
        return decode_wrong(d, "'%s' lies in another state space", at->var->name);
    if (decode_is(d, "cvta") && o && o->kind != OPERAND_REG) {
        enum ptx_space space = o->var ? o->var->space : SPACE_GENERIC;
        static const char *const names[SPACE_COUNT] = {"", "global", "shared", "local", "const", "param"};
        if (instr_has(in, "to"))
            return decode_wrong(d, "a register was expected");
        if (space != SPACE_GENERIC && !instr_has(in, names[space]) &&
            !(space == SPACE_SHARED && (instr_has(in, "shared::cta") || instr_has(in, "shared::cluster"))) &&
            !(space == SPACE_PARAM && instr_has(in, "param::entry")))
            return decode_wrong(d, "'%s' lies in another state space", o->var->name);
    }
    if (decode_is(d, "getctarank") && o && o->kind == OPERAND_REG && instr_has(in, "u32") && decode_reg_bytes(d, o->reg) != 4)
        return decode_wrong(d, "an address of 32 bits was expected");
    return true;
}

bool decode_operands(struct decode *d)
{
    return counts(d) && kinds(d) && hints(d) && (!decode_is(d, "tensormap") || tensor_map(d));
}
