/* emu/decode/async: asynchronous copies, mbarriers, wgmma, clusters. */
#include "emu/async.h"
#include "emu/decode/decode.h"
#include "emu/tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cp.async ---- */
static bool cp_async_copy(struct decode *d)
{
    bool l1 = decode_take(d, "ca");
    if (!l1 && !decode_take(d, "cg"))
        return decode_fail(d, "this copy is not supported") || true;
    while (decode_take_word(d, (const char *const[]){"shared", "shared::cta", "global", NULL}) >= 0)
        ;
    while (decode_take_word(d, (const char *const[]){"L2::cache_hint", "L2::64B", "L2::128B", "L2::256B", NULL}) >= 0)
        ;
    const struct ptx_operand *size = decode_operand(d, 2), *more = d->in->count > 3 ? &d->in->operands[3] : NULL;
    struct place_ref to, from;
    bool negated = false;
    uint32_t *l = decode_list(d, 5);
    if (!decode_address(d, decode_operand(d, 0), SPACE_SHARED, &to) || !decode_address(d, decode_operand(d, 1), SPACE_GLOBAL, &from))
        return true;
    if (size->kind != OPERAND_INT || (size->bits != 16 && (!l1 || (size->bits != 4 && size->bits != 8))))
        return decode_fail(d, "a size of %s16 was expected", l1 ? "4, 8 or " : "") || true;
    l[0] = from.a;
    l[1] = l[2] = NO_REF;
    l[3] = (uint32_t)from.imm;
    l[4] = (uint32_t)((uint64_t)from.imm >> 32);
    if (more && more->kind == OPERAND_REG && d->f->regs[more->reg] == T_PRED)
        l[2] = decode_pred(d, more, &negated);
    else if (more && !(more->kind == OPERAND_REG && decode_reg_bytes(d, more->reg) == 8)) /* 64 bits: a cache policy */
        l[1] = decode_source(d, more, T_U32, false);
    struct insn *ip = decode_emit(d, OP_cp_async);
    ip->a = to.a, ip->imm = to.imm;
    ip->flags = (uint8_t)(to.flags | (negated ? 4 : 0) | (l1 ? 0 : COPY_BYPASS));
    ip->list = l;
    ip->size = (uint8_t)size->bits;
    return true;
}

static bool cp_async(struct decode *d)
{
    decode_take(d, "async");
    if (decode_take(d, "commit_group")) {
        decode_emit(d, OP_cp_async_commit);
        return true;
    }
    if (decode_take(d, "wait_all")) {
        decode_emit(d, OP_cp_async_wait)->imm = -1;
        return true;
    }
    if (decode_take(d, "wait_group")) {
        const struct ptx_operand *n = decode_operand(d, 0);
        if (n->kind != OPERAND_INT || n->bits > 1000)
            return decode_fail(d, "a small number of groups was expected") || true;
        decode_emit(d, OP_cp_async_wait)->imm = (int64_t)n->bits;
        return true;
    }
    if (decode_take(d, "mbarrier")) {
        struct place_ref at;
        decode_take(d, "arrive");
        bool noinc = decode_take(d, "noinc");
        enum ptx_space space = decode_take_space(d);
        decode_take_type(d);
        d->p->uses_mbarrier = true;
        const struct ptx_operand *o = decode_operand(d, 0);
        /* CCCL passes the 32 bits of an address in shared memory without the state space, and ptxas takes them as such */
        if (space == SPACE_GENERIC && o->kind == OPERAND_ADDRESS && o->reg >= 0 && decode_reg_bytes(d, o->reg) == 4)
            space = SPACE_SHARED;
        if (!decode_address(d, o, space, &at))
            return true;
        struct insn *ip = decode_emit(d, OP_cp_async_arrive);
        ip->a = at.a, ip->imm = at.imm, ip->flags = at.flags;
        ip->kind = noinc;
        ip->aux = (uint16_t)space;
        return true;
    }
    return cp_async_copy(d);
}

/* ---- bulk copies ---- */
/* An address operand as the slot of its 64-bit value; the offset is added by an operation of its own. */
static uint32_t address_value(struct decode *d, const struct ptx_operand *o, bool shared)
{
    struct ptx_operand plain = *o;
    plain.items = NULL;
    plain.count = 0;
    struct place_ref at;
    if (!decode_address(d, &plain, shared ? SPACE_SHARED : SPACE_GLOBAL, &at))
        return 0;
    uint32_t a = at.a;
    if (shared && !at.flags) { /* 32 bits */
        struct insn *ip = decode_emit_internal(d, OP_zext_32_64);
        ip->a = a;
        a = ip->d = decode_scratch(d);
    }
    if (at.imm) {
        uint32_t c = decode_constant(d, (uint64_t)at.imm, 8);
        struct insn *ip = decode_emit_internal(d, OP_add_64);
        ip->a = a, ip->b = c;
        a = ip->d = decode_scratch(d);
    }
    return a;
}

/* commit_group, or wait_group N */
static bool group_of(struct decode *d, enum op op, int waits)
{
    const struct ptx_operand *n = waits ? decode_operand(d, 0) : NULL;
    if (waits && (n->kind != OPERAND_INT || n->bits > 1000))
        return decode_fail(d, "a small number of groups was expected") || true;
    struct insn *ip = decode_emit(d, op);
    ip->kind = (uint8_t)waits;
    ip->imm = waits ? (int64_t)n->bits : 0;
    return true;
}

static bool bulk_group(struct decode *d)
{
    bool waits = decode_take(d, "wait_group");
    if (!waits && !decode_take(d, "commit_group"))
        return false;
    bool read = decode_take(d, "read");
    if (waits && !read) /* what may follow the wait: less than without it */
        decode_take_word(d, (const char *const[]){"sync_restrict::proxy::async", "sync_restrict::shared::cta", NULL});
    return group_of(d, OP_bulk_group, waits ? read ? 2 : 1 : 0);
}

static bool bulk_operands(struct decode *d, uint32_t *l, int kind, int from, bool multicast)
{
    int k = from;
    if (decode_take(d, "ignore_oob")) {
        if (kind != BULK_GLOBAL_TO_SHARED || instr_has(d->in, "shared::cluster") || instr_has(d->in, "tensor"))
            return decode_wrong(d, "'.ignore_oob' goes with copies from global memory to shared::cta alone");
        l[BULK_LEFT] = decode_source(d, decode_operand(d, k++), T_U32, false);
        l[BULK_RIGHT] = decode_source(d, decode_operand(d, k++), T_U32, false);
    }
    if (kind != BULK_SHARED_TO_GLOBAL)
        l[BULK_MBAR] = address_value(d, decode_operand(d, k++), true);
    if (multicast) {
        const struct ptx_operand *o = decode_operand(d, k);
        uint32_t mask = decode_source(d, o, T_B16, false);
        struct insn *ip = decode_emit_internal(d, OP_zext_16_32);
        ip->a = mask;
        l[BULK_MASK] = ip->d = decode_scratch(d);
    }
    return !d->failed;
}

static const char *const reductions[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", NULL}; /* enum atomic_op */

/* The operation of a copy that reduces, as insn.aux has it; what the chip takes is what ptxas lets through. */
static uint16_t take_reduction(struct decode *d, bool typed)
{
    int op = decode_take_word(d, reductions);
    decode_take(d, "noftz");
    enum ptx_type t = typed ? decode_take_type(d) : T_NONE;
    int bytes = ptx_type_bytes(t);
    bool fits = op >= 0 && (!typed || (bytes >= 2 && bytes <= 8 && (bytes > 2 || ptx_type_float(t)) &&
                                       (!ptx_type_float(t) || op == ATOMIC_ADD || (bytes == 2 && op <= ATOMIC_MAX))));
    if (!fits)
        decode_fail(d, "this reduction is not supported");
    d->p->ordered = true; /* of floats the order counts, of integers whether all blocks have come */
    return (uint16_t)((unsigned)(op + 1) | (typed ? (unsigned)t << 8 : 0));
}

static bool decode_tensor_copy(struct decode *d)
{
    uint16_t reduction = decode_is(d, "cp") && instr_has(d->in, "reduce") ? take_reduction(d, false) : 0;
    static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d", NULL};
    int rank = decode_take_word(d, ranks) + 1;
    decode_take(d, "tile");
    bool store = decode_take(d, "bulk_group"), multicast = decode_take(d, "multicast::cluster");
    decode_take(d, "mbarrier::complete_tx::bytes");
    decode_take(d, "L2::cache_hint");
    decode_take_word(d, (const char *const[]){"cta_group::1", "cta_group::2", NULL});
    while (decode_take_word(d, (const char *const[]){"shared::cluster", "shared::cta", "global", NULL}) >= 0)
        ;
    const struct ptx_operand *map = decode_operand(d, store ? 0 : 1), *shared = decode_operand(d, store ? 1 : 0);
    if (rank < 1 || map->count < 1 || map->items[0].kind != OPERAND_VECTOR || map->items[0].count != rank)
        return decode_fail(d, "a tensor map with its coordinates was expected") || true;
    uint32_t *l = decode_list(d, BULK_HEADER);
    for (int i = 0; i < BULK_HEADER; i++)
        l[i] = NO_REF;
    l[store ? BULK_DST : BULK_SRC] = address_value(d, map, false);
    l[store ? BULK_SRC : BULK_DST] = address_value(d, shared, true);
    for (int i = 0; i < rank; i++)
        l[BULK_COORD + i] = decode_source(d, &map->items[0].items[i], T_B32, false);
    int kind = store ? BULK_SHARED_TO_GLOBAL : BULK_GLOBAL_TO_SHARED;
    if (d->failed || !bulk_operands(d, l, kind, 2, multicast))
        return true;
    struct insn *ip = decode_emit(d, OP_tensor_copy);
    ip->aux = reduction;
    ip->list = l;
    ip->kind = (uint8_t)kind;
    ip->count = (uint8_t)rank;
    return true;
}

static bool cp_bulk(struct decode *d)
{
    bool reduces = decode_take(d, "reduce");
    decode_take(d, "async");
    decode_take(d, "bulk");
    if (bulk_group(d))
        return true;
    if (decode_take(d, "prefetch")) {
        if (!decode_form(d))
            return true;
        d->taken = ~0u;
        decode_emit(d, OP_nop);
        return true;
    }
    d->p->uses_mbarrier = d->p->uses_async = true;
    d->p->global_shift = d->p->global_shift > 2 ? 2 : d->p->global_shift; /* a box may end at any element */
    if (decode_take(d, "tensor"))
        return decode_tensor_copy(d);
    bool store = decode_take(d, "bulk_group"), multicast = decode_take(d, "multicast::cluster"),
         from_shared = instr_has(d->in, "shared::cta") && !instr_has(d->in, "global");
    decode_take(d, "mbarrier::complete_tx::bytes");
    decode_take(d, "L2::cache_hint");
    while (decode_take_word(d, (const char *const[]){"shared::cluster", "shared::cta", "global", NULL}) >= 0)
        ;
    int kind = store ? BULK_SHARED_TO_GLOBAL : from_shared ? BULK_SHARED_TO_SHARED : BULK_GLOBAL_TO_SHARED;
    uint16_t reduction = reduces ? take_reduction(d, true) : 0;
    uint32_t *l = decode_list(d, BULK_HEADER);
    for (int i = 0; i < BULK_HEADER; i++)
        l[i] = NO_REF;
    l[BULK_DST] = address_value(d, decode_operand(d, 0), kind != BULK_SHARED_TO_GLOBAL);
    l[BULK_SRC] = address_value(d, decode_operand(d, 1), kind != BULK_GLOBAL_TO_SHARED);
    l[BULK_SIZE] = decode_source(d, decode_operand(d, 2), T_U32, false);
    if (d->failed || !bulk_operands(d, l, kind, 3, multicast))
        return true;
    struct insn *ip = decode_emit(d, OP_bulk_copy);
    ip->aux = reduction;
    ip->list = l;
    ip->kind = (uint8_t)kind;
    return true;
}

/* st.async and red.async: to shared memory of the cluster, completing on an mbarrier there */
static bool store_async(struct decode *d)
{
    static const char *const words[] = {"async", "weak", "relaxed", "cluster", "shared::cluster", "mbarrier::complete_tx::bytes", NULL};
    static const char *const vectors[] = {"v2", "v4", NULL};
    bool reduces = decode_is(d, "red");
    while (decode_take_word(d, words) >= 0)
        ;
    int count = 2 * (decode_take_word(d, vectors) + 1);
    uint16_t reduction = reduces ? take_reduction(d, true) : 0;
    enum ptx_type t = reduces ? (enum ptx_type)(reduction >> 8) : decode_take_type(d);
    int bytes = ptx_type_bytes(t);
    const struct ptx_operand *value = decode_operand(d, 1);
    d->p->uses_mbarrier = d->p->uses_cluster = d->p->uses_async = true;
    count = count ? count : 1;
    if (d->failed || (bytes != 4 && bytes != 8) || (value->kind == OPERAND_VECTOR ? value->count : 1) != count)
        return decode_fail(d, "this form is not supported") || true;
    uint32_t *l = decode_list(d, 2 + count);
    l[0] = address_value(d, decode_operand(d, 0), true);
    l[1] = address_value(d, decode_operand(d, 2), true);
    for (int i = 0; i < count && !d->failed; i++)
        l[2 + i] = decode_source(d, value->kind == OPERAND_VECTOR ? &value->items[i] : value, t, false);
    struct insn *ip = decode_emit(d, OP_store_async);
    ip->list = l;
    ip->size = (uint8_t)bytes;
    ip->count = (uint8_t)count;
    ip->aux = reduction;
    return true;
}

/* ---- mbarrier ---- */
static bool mbarrier_wait(struct decode *d, bool test, const struct place_ref *at, enum ptx_space space, bool parity)
{
    const struct ptx_operand *o = decode_operand(d, 0);
    uint32_t b = decode_source(d, decode_operand(d, 2), parity ? T_U32 : T_U64, false);
    if (o->kind != OPERAND_REG || d->f->regs[o->reg] != T_PRED)
        return decode_fail(d, "the result must be a predicate") || true;
    struct insn *ip = decode_emit(d, OP_mbarrier);
    ip->d = decode_slot(d, o->reg);
    ip->a = at->a, ip->imm = at->imm, ip->flags = at->flags;
    ip->b = b;
    ip->aux = (uint16_t)space;
    ip->kind = test ? (parity ? MBARRIER_TEST_PARITY : MBARRIER_TEST) : parity ? MBARRIER_TRY_PARITY : MBARRIER_TRY;
    return true;
}

static bool decode_mbarrier(struct decode *d)
{
    static const char *const ops[] = {"init",      "inval",    "arrive",        "arrive_drop",  "expect_tx", "complete_tx",
                                      "test_wait", "try_wait", "pending_count", "check_layout", NULL};
    static const char *const layouts[] = {"layout::v0", "layout::v1", NULL};
    static const char *const words[] = {"release", "acquire", "relaxed", "cta", "cluster", "noComplete", NULL};
    int op = decode_take_word(d, ops);
    bool expect = (op == 2 || op == 3) && decode_take(d, "expect_tx"), parity = decode_take(d, "parity");
    while (decode_take_word(d, words) >= 0)
        ;
    enum ptx_space space = decode_take_space(d);
    int layout = op == 0 || op == 9 ? decode_take_word(d, layouts) : -1;
    decode_take_type(d);
    d->p->uses_mbarrier = true;
    if (op < 0 || (op == 9 && layout < 0))
        return decode_fail(d, "this form is not supported") || true;
    if (op == 8) {
        uint32_t to = decode_target(d, decode_operand(d, 0), T_U32, false), b = decode_source(d, decode_operand(d, 1), T_U64, false);
        struct insn *ip = decode_emit(d, OP_mbarrier);
        ip->kind = MBARRIER_COUNT, ip->d = to, ip->b = b;
        return true;
    }
    int k = decode_operand(d, 0)->kind == OPERAND_ADDRESS ? 0 : 1;
    struct place_ref at;
    if (!decode_address(d, decode_operand(d, k), space, &at))
        return true;
    if (op == 6 || op == 7)
        return mbarrier_wait(d, op == 6, &at, space, parity);
    if (op == 9) {
        const struct ptx_operand *o = decode_operand(d, 0);
        if (o->kind != OPERAND_REG || d->f->regs[o->reg] != T_PRED)
            return decode_fail(d, "the result must be a predicate") || true;
        struct insn *ip = decode_emit(d, OP_mbarrier);
        ip->kind = MBARRIER_LAYOUT, ip->d = decode_slot(d, o->reg);
        ip->a = at.a, ip->imm = at.imm, ip->flags = at.flags;
        ip->aux = (uint16_t)space, ip->size = (uint8_t)layout;
        return true;
    }
    static const int kinds[] = {MBARRIER_INIT, MBARRIER_INVAL, MBARRIER_ARRIVE, MBARRIER_DROP, MBARRIER_EXPECT, MBARRIER_COMPLETE};
    uint32_t b = d->in->count > k + 1 ? decode_source(d, decode_operand(d, k + 1), T_U32, false) : NO_REF;
    uint32_t to = k && decode_operand(d, 0)->kind != OPERAND_SINK ? decode_target(d, decode_operand(d, 0), T_B64, false) : NO_REF;
    struct insn *ip = decode_emit(d, OP_mbarrier);
    ip->kind = (uint8_t)kinds[op];
    ip->d = to, ip->b = b;
    ip->a = at.a, ip->imm = at.imm;
    ip->flags = (uint8_t)(at.flags | (expect ? 4 : 0));
    ip->aux = (uint16_t)space;
    ip->size = op == 0 && layout == 1;
    return true;
}

/* ---- wgmma ---- */
static int wgmma_form(struct decode *d)
{
    static const struct {
        const char *word;
        enum mma_form form;
    } words[] = {{"f16", MMA_F16}, {"bf16", MMA_BF16}, {"tf32", MMA_TF32}, {"f32", MMA_F32},  {"s8", MMA_S8},
                 {"u8", MMA_U8},   {"s32", MMA_S32},   {"e4m3", MMA_E4M3}, {"e5m2", MMA_E5M2}};
    for (int i = 0; i < d->in->mod_count; i++)
        for (size_t k = 0; k < sizeof words / sizeof *words && !(d->taken >> i & 1); k++)
            if (!strcmp(d->in->mods[i], words[k].word)) {
                d->taken |= 1u << i;
                return (int)words[k].form;
            }
    return -1;
}

static int immediate_of(struct decode *d, int k)
{
    const struct ptx_operand *o = k < d->in->count ? &d->in->operands[k] : NULL;
    return o && o->kind == OPERAND_INT ? (int)(int64_t)o->bits : 0;
}

static bool decode_mma_async(struct decode *d)
{
    int m = 0, n = 0, k = 0;
    char rest;
    decode_take(d, "mma_async");
    for (int i = 0; i < d->in->mod_count; i++)
        if (sscanf(d->in->mods[i], "m%dn%dk%d%c", &m, &n, &k, &rest) == 3)
            d->taken |= 1u << i;
    int fd = wgmma_form(d), fa = wgmma_form(d), fb = wgmma_form(d);
    const struct ptx_operand *regs = decode_operand(d, 0), *a = decode_operand(d, 1);
    int count = fd == MMA_F16 ? n / 4 : n / 2, na = a->kind == OPERAND_VECTOR ? a->count : 0;
    bool sparse = decode_take(d, "sp"), saturated = decode_take(d, "satfinite");
    if (m != 64 || n < 8 || n > 256 || n % 8 || fd < 0 || fa < 0 || fb < 0 ||
        k * mma_form_bits((enum mma_form)fa) != (sparse ? 512 : 256) || regs->kind != OPERAND_VECTOR || regs->count != count ||
        (na && na != 4))
        return decode_fail(d, "this form is not supported") || true;
    if (saturated && fd != MMA_S32)
        return decode_wrong(d, "'.satfinite' goes with whole numbers alone") || true;
    d->p->uses_async = true;
    uint32_t *l = decode_list(d, WGMMA_HEADER + count + na + MMA_SPARSE_SLOTS);
    const uint32_t header[WGMMA_HEADER] = {(uint32_t)n,
                                           (uint32_t)(sparse ? k / 2 : k),
                                           (uint32_t)fa,
                                           (uint32_t)fb,
                                           (uint32_t)fd,
                                           na != 0,
                                           0,
                                           0,
                                           0,
                                           0,
                                           (uint32_t)count,
                                           (uint32_t)na,
                                           sparse,
                                           saturated};
    memcpy(l, header, sizeof header);
    for (int i = 0; i < count; i++)
        l[WGMMA_HEADER + i] = decode_target(d, &regs->items[i], T_B32, false);
    for (int i = 0; i < na; i++)
        l[WGMMA_HEADER + count + i] = decode_source(d, &a->items[i], T_B32, false);
    uint32_t da = na ? NO_REF : decode_source(d, a, T_B64, false), db = decode_source(d, decode_operand(d, 2), T_B64, false);
    bool negated = false;
    if (sparse && !decode_metadata(d, 3, mma_form_bits((enum mma_form)fa), k, l + WGMMA_HEADER + count + na))
        return true;
    int at = sparse ? 5 : 3;
    uint32_t keep = decode_pred(d, decode_operand(d, at), &negated);
    bool whole = fd == MMA_S32, half = fa == MMA_F16 || fa == MMA_BF16;
    if ((half || fa == MMA_TF32) && (fa != fb || (fd == MMA_F16 && fa != MMA_F16)))
        return decode_wrong(d, "types that do not go together") || true;
    if (whole != (fa == MMA_S8 || fa == MMA_U8) || d->in->count != at + (whole ? 1 : !half ? 3 : na ? 4 : 5))
        return decode_wrong(d, "types or operands that do not go together") || true;
    for (int i = at + 1; i < d->in->count; i++)
        if (i < at + 3 ? abs(immediate_of(d, i)) != 1 : immediate_of(d, i) >> 1)
            return decode_wrong(d, i < at + 3 ? "a sign is 1 or -1" : "a transposition is 0 or 1") || true;
    l[WGMMA_NEG_A] = immediate_of(d, at + 1) < 0;
    l[WGMMA_NEG_B] = immediate_of(d, at + 2) < 0;
    l[WGMMA_TRANS_A] = na ? 0 : immediate_of(d, at + 3) != 0;
    l[WGMMA_TRANS_B] = immediate_of(d, na ? at + 3 : at + 4) != 0;
    struct insn *ip = decode_emit(d, OP_wgmma);
    ip->a = da, ip->b = db, ip->c = keep;
    ip->flags = negated;
    ip->list = l;
    d->p->cold[ip->index].macs = (uint32_t)(16 * n * k) >> sparse;
    return true;
}

static bool decode_wgmma(struct decode *d)
{
    decode_take(d, "sync");
    decode_take(d, "aligned");
    if (instr_has(d->in, "mma_async"))
        return decode_mma_async(d);
    if (decode_take(d, "fence")) {
        decode_emit(d, OP_nop);
        return true;
    }
    bool waits = decode_take(d, "wait_group");
    if (waits || decode_take(d, "commit_group"))
        return group_of(d, OP_wgmma_group, waits);
    return decode_fail(d, "this form is not supported") || true;
}

/* ---- clusters ---- */
static bool decode_cluster(struct decode *d)
{
    static const char *const words[] = {"cluster", "release", "relaxed", "acquire", "aligned", NULL};
    bool arrive = decode_take(d, "arrive"), wait = decode_take(d, "wait"), relaxed = instr_has(d->in, "relaxed");
    while (decode_take_word(d, words) >= 0)
        ;
    d->p->uses_cluster = true;
    if (arrive == wait)
        return decode_fail(d, "this barrier is not supported") || true;
    decode_emit(d, OP_cluster_barrier)->kind = wait ? 1 : relaxed ? 2 : 0;
    return true;
}

static bool decode_mapa(struct decode *d)
{
    bool rank = decode_is(d, "getctarank");
    decode_take_space(d);
    enum ptx_type t = decode_take_type(d);
    const struct ptx_operand *o = decode_operand(d, 1);
    enum ptx_type ta = rank && o->kind == OPERAND_REG && decode_reg_bytes(d, o->reg) == 8 ? T_U64 : t;
    uint32_t to = decode_target(d, decode_operand(d, 0), rank ? T_U32 : t, false), a = decode_source(d, o, ta, false),
             b = rank ? NO_REF : decode_source(d, decode_operand(d, 2), T_U32, false);
    d->p->uses_cluster = true;
    struct insn *ip = decode_emit(d, OP_mapa);
    ip->d = to, ip->a = a, ip->b = b;
    ip->size = (uint8_t)ptx_type_bytes(ta);
    ip->kind = rank;
    return true;
}

/* clusterlaunchcontrol.query_cancel */
static bool query_cancel(struct decode *d)
{
    static const char *const parts[] = {"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z", NULL};
    const struct ptx_operand *to = decode_operand(d, 0);
    bool asks = instr_has(d->in, "is_canceled"), all = instr_has(d->in, "v4");
    int part = decode_take_word(d, parts);
    d->taken = ~0u;
    if (all ? to->kind != OPERAND_VECTOR || to->count != 4 : asks && (to->kind != OPERAND_REG || d->f->regs[to->reg] != T_PRED))
        return decode_fail(d, all ? "a vector of 4 was expected" : "the result must be a predicate") || true;
    uint32_t b = decode_source(d, decode_operand(d, 1), T_B128, false), *l = all ? decode_list(d, 3) : NULL;
    for (int i = 0; i < 3 && all && !d->failed; i++)
        l[i] = to->items[i].kind == OPERAND_SINK ? NO_REF : decode_target(d, &to->items[i], T_B32, false);
    uint32_t ref = all ? NO_REF : asks ? decode_slot(d, to->reg) : decode_target(d, to, T_B32, false);
    if (d->failed)
        return true;
    struct insn *ip = decode_emit(d, OP_query_cancel);
    ip->kind = (uint8_t)(asks ? 0 : all ? 1 : 2 + part);
    ip->b = b, ip->d = ref;
    ip->list = l;
    return true;
}

static bool decode_launch_control(struct decode *d)
{
    if (!decode_form(d))
        return true;
    if (decode_take(d, "query_cancel"))
        return query_cancel(d);
    bool all = instr_has(d->in, "multicast::cluster::all");
    d->taken = ~0u;
    d->p->cancels = d->p->uses_mbarrier = d->p->uses_async = true;
    uint32_t *l = decode_list(d, BULK_HEADER);
    for (int i = 0; i < BULK_HEADER; i++)
        l[i] = NO_REF;
    l[BULK_DST] = address_value(d, decode_operand(d, 0), true);
    l[BULK_MBAR] = address_value(d, decode_operand(d, 1), true);
    if (d->failed)
        return true;
    struct insn *ip = decode_emit(d, OP_try_cancel);
    ip->list = l;
    ip->flags = all;
    return true;
}

bool decode_async(struct decode *d)
{
    if (decode_is(d, "clusterlaunchcontrol"))
        return decode_launch_control(d);
    if (decode_is(d, "cp") && instr_has(d->in, "bulk"))
        return cp_bulk(d);
    if ((decode_is(d, "st") || decode_is(d, "red")) && instr_has(d->in, "async"))
        return store_async(d);
    if (decode_is(d, "cp") && instr_has(d->in, "async") && !instr_has(d->in, "reduce"))
        return cp_async(d);
    if (decode_is(d, "mbarrier"))
        return decode_mbarrier(d);
    if (decode_is(d, "wgmma"))
        return decode_wgmma(d);
    if (decode_is(d, "barrier") && instr_has(d->in, "cluster"))
        return decode_cluster(d);
    if (decode_is(d, "mapa") || decode_is(d, "getctarank"))
        return decode_mapa(d);
    if (decode_is(d, "setmaxnreg") || decode_is(d, "griddepcontrol")) {
        if (!decode_form(d))
            return true;
        uint64_t registers = decode_is(d, "setmaxnreg") && d->in->count == 1 ? d->in->operands[0].bits : 24;
        if (registers < 24 || registers > 256 || registers % 8)
            return decode_wrong(d, "registers of a thread go from 24 to 256 in steps of 8") || true;
        d->taken = ~0u;
        decode_emit(d, OP_nop);
        return true;
    }
    return false;
}
