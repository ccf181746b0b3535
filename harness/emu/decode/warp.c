/* emu/decode/warp: what lanes and warps do together. */
#include "emu/decode/decode.h"

static uint32_t pred_target(struct decode *d, const struct ptx_operand *o)
{
    if (o->kind == OPERAND_REG && d->f->regs[o->reg] == T_PRED)
        return decode_slot(d, o->reg);
    decode_fail(d, "the result must be a predicate");
    return NO_REF;
}
static uint32_t pred_second(struct decode *d, const struct ptx_operand *o)
{
    if (o->reg2 < 0)
        return NO_REF;
    if (d->f->regs[o->reg2] != T_PRED) {
        decode_fail(d, "the second result must be a predicate");
        return NO_REF;
    }
    return decode_slot(d, o->reg2);
}

static bool decode_bar(struct decode *d)
{
    static const char *const kinds[] = {"sync", "arrive", "red", NULL}, *const reductions[] = {"popc", "and", "or", NULL};
    bool aligned = decode_is(d, "bar") | decode_take(d, "aligned");
    if (decode_take(d, "warp")) {
        decode_take(d, "sync");
        uint32_t mask = decode_source(d, decode_operand(d, 0), T_B32, false);
        struct insn *ip = decode_emit(d, OP_bar_warp);
        ip->a = mask;
        return true;
    }
    if (instr_has(d->in, "cluster"))
        return false;
    decode_take(d, "cta");
    int kind = decode_take_word(d, kinds), reduction = kind == 2 ? decode_take_word(d, reductions) : -1, k = kind == 2;
    uint32_t to = NO_REF, a, b = NO_REF, c = NO_REF;
    bool negated = false;
    if (kind < 0)
        return decode_fail(d, "this barrier is not supported") || true;
    if (kind == 2) {
        enum ptx_type t = decode_take_type(d);
        to = t == T_PRED ? pred_target(d, decode_operand(d, 0)) : decode_target(d, decode_operand(d, 0), T_U32, false);
        c = decode_pred(d, decode_operand(d, d->in->count - 1), &negated);
    }
    a = decode_source(d, decode_operand(d, k), T_U32, false);
    if (d->in->count - k - (kind == 2) > 1)
        b = decode_source(d, decode_operand(d, k + 1), T_U32, false);
    if (kind == 1 || b != NO_REF || !aligned)
        d->p->full_barriers = false;
    struct insn *ip = decode_emit(d, OP_bar);
    ip->kind = (uint8_t)(kind < 2 ? kind : 2 + reduction);
    ip->d = to, ip->a = a, ip->b = b, ip->c = c;
    ip->flags = (uint8_t)(negated | !aligned << 1);
    return true;
}

/* True, with an error, where ptxas refuses the form without .sync. */
static bool lacks_sync(struct decode *d, const char *name, bool sync)
{
    if (sync || d->m->version < 64 || d->sm < 70)
        return false;
    decode_fail(d, "%s without .sync is not supported on sm_70 and later from PTX 6.4 on", name);
    return true;
}

static bool decode_shfl(struct decode *d)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx", NULL};
    bool sync = decode_take(d, "sync");
    int mode = decode_take_word(d, modes);
    if (lacks_sync(d, "shfl", sync))
        return true;
    decode_take_type(d);
    const struct ptx_operand *o = decode_operand(d, 0);
    uint32_t *l = decode_list(d, 2), to = o->kind == OPERAND_SINK ? NO_REF : decode_target(d, o, T_B32, false);
    uint32_t a = decode_source(d, decode_operand(d, 1), T_B32, false), b = decode_source(d, decode_operand(d, 2), T_B32, false),
             c = decode_source(d, decode_operand(d, 3), T_B32, false);
    l[0] = sync ? decode_source(d, decode_operand(d, 4), T_B32, false) : NO_REF;
    l[1] = pred_second(d, o);
    if (mode < 0)
        return decode_fail(d, "a mode was expected") || true;
    struct insn *ip = decode_emit(d, OP_shfl);
    ip->kind = (uint8_t)mode;
    ip->d = to, ip->a = a, ip->b = b, ip->c = c;
    ip->list = l;
    return true;
}

static bool decode_vote(struct decode *d)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot", NULL};
    bool sync = decode_take(d, "sync"), negated;
    int mode = decode_take_word(d, modes);
    if (lacks_sync(d, "vote", sync))
        return true;
    decode_take_type(d);
    if (mode < 0)
        return decode_fail(d, "a mode was expected") || true;
    uint32_t to = mode == 3 ? decode_target(d, decode_operand(d, 0), T_B32, false) : pred_target(d, decode_operand(d, 0)),
             a = decode_pred(d, decode_operand(d, 1), &negated);
    uint32_t b = sync ? decode_source(d, decode_operand(d, 2), T_B32, false) : NO_REF;
    struct insn *ip = decode_emit(d, OP_vote);
    ip->kind = (uint8_t)mode;
    ip->d = to, ip->a = a, ip->b = b;
    ip->flags = negated;
    return true;
}

static bool decode_match(struct decode *d)
{
    bool all = decode_take(d, "all");
    if (!all)
        decode_take(d, "any");
    decode_take(d, "sync");
    enum ptx_type t = decode_take_type(d);
    const struct ptx_operand *o = decode_operand(d, 0);
    uint32_t to = o->kind == OPERAND_SINK ? NO_REF : decode_target(d, o, T_B32, false),
             a = decode_source(d, decode_operand(d, 1), t, false), b = decode_source(d, decode_operand(d, 2), T_B32, false);
    uint32_t p = pred_second(d, o);
    struct insn *ip = decode_emit(d, OP_match);
    ip->kind = all;
    ip->size = (uint8_t)ptx_type_bytes(t);
    ip->d = to, ip->a = a, ip->b = b, ip->c = p;
    return true;
}

static bool decode_redux(struct decode *d)
{
    static const char *const ops[] = {"add", "min", "max", "and", "or", "xor", NULL};
    decode_take(d, "sync");
    int op = decode_take_word(d, ops);
    bool absolute = decode_take(d, "abs"), nan = decode_take(d, "NaN");
    enum ptx_type t = decode_take_type(d);
    int kind = op == 0   ? 0
               : op == 1 ? (t == T_F32           ? 8
                            : ptx_type_signed(t) ? 3
                                                 : 1)
               : op == 2 ? (t == T_F32           ? 9
                            : ptx_type_signed(t) ? 4
                                                 : 2)
                         : op + 2;
    uint32_t to = decode_target(d, decode_operand(d, 0), t, false), a = decode_source(d, decode_operand(d, 1), t, false),
             b = decode_source(d, decode_operand(d, 2), T_B32, false);
    if (op < 0 || ptx_type_bytes(t) != 4)
        return decode_fail(d, "this reduction is not supported") || true;
    struct insn *ip = decode_emit(d, OP_redux);
    ip->kind = (uint8_t)kind;
    ip->d = to, ip->a = a, ip->b = b;
    ip->flags = (uint8_t)(absolute | nan << 1);
    return true;
}

bool decode_warp(struct decode *d)
{
    if (decode_is(d, "bar") || decode_is(d, "barrier"))
        return decode_bar(d);
    if (decode_is(d, "shfl"))
        return decode_shfl(d);
    if (decode_is(d, "vote"))
        return decode_vote(d);
    if (decode_is(d, "match"))
        return decode_match(d);
    if (decode_is(d, "redux"))
        return decode_redux(d);
    if (decode_is(d, "activemask")) {
        decode_take_type(d);
        uint32_t to = decode_target(d, decode_operand(d, 0), T_B32, false);
        decode_emit(d, OP_activemask)->d = to;
        return true;
    }
    if (decode_is(d, "elect")) {
        decode_take(d, "sync");
        const struct ptx_operand *o = decode_operand(d, 0);
        uint32_t to = o->kind == OPERAND_SINK ? NO_REF : decode_target(d, o, T_B32, false), p = pred_second(d, o),
                 b = decode_source(d, decode_operand(d, 1), T_B32, false);
        if (p == NO_REF)
            return decode_fail(d, "a predicate result was expected") || true;
        struct insn *ip = decode_emit(d, OP_elect);
        ip->d = to, ip->b = b, ip->c = p;
        return true;
    }
    if (decode_is(d, "nanosleep")) {
        decode_take_type(d);
        decode_emit(d, OP_yield);
        return true;
    }
    if (decode_is(d, "brkpt")) { /* with no debugger there a GPU ends the launch with an error */
        decode_emit(d, OP_trap);
        return true;
    }
    return false;
}
