/* PTX tree -> decoded instructions: slots instead of registers, codes instead of names. */
#include "base/dtype.h"
#include "base/text.h"
#include "device/emu/mini.h"
#include <stdlib.h>
#include <string.h>

struct decoder {
    struct ptx_module *module;
    struct kernel *k;
    int *slots;
    uint32_t used;
    struct error *err;
    bool failed;
};

static int slot_bytes(enum ptx_type t) { return t == T_PRED ? 4 : ptx_type_bytes(t) == 8 ? 256 : 128; }

static const struct { const char *name; enum code code; } names[] = {
    {"mov", C_MOV}, {"add", C_ADD}, {"sub", C_SUB}, {"mul", C_MUL}, {"mul24", C_MUL}, {"mad", C_MAD}, {"fma", C_FMA}, {"div", C_DIV}, {"rem", C_REM}, {"min", C_MIN}, {"max", C_MAX}, {"abs", C_ABS},
    {"neg", C_NEG}, {"and", C_AND}, {"or", C_OR}, {"xor", C_XOR}, {"not", C_NOT}, {"shl", C_SHL}, {"shr", C_SHR}, {"setp", C_SETP}, {"selp", C_SELP}, {"cvt", C_CVT}, {"cvta", C_CVTA},
    {"ld", C_LD}, {"ldu", C_LD}, {"st", C_ST}, {"bra", C_BRA}, {"bar", C_BAR}, {"barrier", C_BAR}, {"ret", C_RET}, {"exit", C_RET}, {"atom", C_ATOM}, {"red", C_ATOM}, {"shfl", C_SHFL}, {"vote", C_VOTE},
    {"activemask", C_ACTIVEMASK}, {"popc", C_POPC}, {"clz", C_CLZ}, {"brev", C_BREV}, {"bfind", C_BFIND}, {"bfe", C_BFE}, {"bfi", C_BFI}, {"prmt", C_PRMT}, {"shf", C_SHF}, {"rcp", C_RCP}, {"sqrt", C_SQRT},
    {"rsqrt", C_RSQRT}, {"ex2", C_EX2}, {"lg2", C_LG2}, {"sin", C_SIN}, {"cos", C_COS}, {"tanh", C_TANH}, {"copysign", C_COPYSIGN}, {"trap", C_TRAP}, {"membar", C_NOP}, {"fence", C_NOP}, {"prefetch", C_NOP},
    {"prefetchu", C_NOP}, {"lop3", C_LOP3}, {"dp4a", C_DP4A}, {"nanosleep", C_NOP}, {"pragma", C_NOP}};
static const char *const specials[] = {"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z",
                                       "%laneid", "%warpid", "%lanemask_lt", "%lanemask_le", "%lanemask_eq", "%lanemask_ge", "%lanemask_gt", "%smid", "%clock", "%clock64", "%globaltimer", "%dynamic_smem_size", NULL};

static bool has(const struct ptx_instr *in, const char *mod)
{
    for (int i = 0; i < in->mod_count; i++)
        if (!strcmp(in->mods[i], mod))
            return true;
    return false;
}

static bool bad(struct decoder *d, const struct ptx_instr *in, const char *why)
{
    char text[128];
    ptx_instr_text(in, text, sizeof text);
    if (!d->failed)
        error_set(d->err, ERROR_ENVIRONMENT, "emu does not run %s yet (%s; %s:%d, PTX line %d)", text, why,
                  in->place.file > 0 && in->place.file <= d->module->file_count && d->module->files[in->place.file - 1] ? d->module->files[in->place.file - 1] : "?", in->place.line, in->ptx_line);
    d->failed = true;
    return false;
}

static int constant(struct decoder *d, uint64_t bits, int bytes)
{
    struct kernel *k = d->k;
    for (uint32_t at = 0; at < k->const_bytes; at += 256)
        if (bytes == 8 && ((uint64_t *)(k->constants + at))[0] == bits && ((uint64_t *)(k->constants + at))[31] == bits)
            return (int)(1u << 30 | at);
    if ((int)k->const_bytes + 256 > k->const_room) {
        k->const_room = k->const_room ? k->const_room * 2 : 8192;
        k->constants = xrealloc(k->constants, (size_t)k->const_room);
    }
    uint8_t *to = k->constants + k->const_bytes;
    memset(to, 0, 256);
    for (int l = 0; l < 32; l++)
        if (bytes == 8)
            ((uint64_t *)to)[l] = bits;
        else
            ((uint32_t *)to)[l] = (uint32_t)bits;
    k->const_bytes += 256;
    return (int)(1u << 30 | (k->const_bytes - 256));
}

static int operand(struct decoder *d, const struct ptx_instr *in, const struct ptx_operand *o, enum ptx_type type)
{
    int bytes = type == T_PRED ? 0 : ptx_type_bytes(type);
    switch (o->kind) {
    case OPERAND_REG: return d->slots[o->reg];
    case OPERAND_SINK: return -1;
    case OPERAND_INT: {
        uint64_t bits = o->bits;
        if (type == T_PRED)
            return constant(d, bits ? ~0ull : 0, 4);
        return constant(d, bits, bytes == 8 ? 8 : 4);
    }
    case OPERAND_F32: return constant(d, type == T_F64 ? 0 : o->bits, 4);
    case OPERAND_F64:
        if (type == T_F32) {
            double v;
            memcpy(&v, &o->bits, 8);
            float f = (float)v;
            uint32_t b;
            memcpy(&b, &f, 4);
            return constant(d, b, 4);
        }
        return constant(d, o->bits, 8);
    case OPERAND_VAR: {
        uint64_t base = o->var->address + o->bits;
        return constant(d, base, bytes == 8 ? 8 : 4);
    }
    case OPERAND_SPECIAL: return -2;
    default: break;
    }
    bad(d, in, "operand");
    return -1;
}

static enum ptx_type last_type(const struct ptx_instr *in, enum ptx_type *first)
{
    enum ptx_type t = T_NONE;
    *first = T_NONE;
    for (int i = 0; i < in->mod_count; i++) {
        enum ptx_type one = ptx_type_parse(in->mods[i]);
        if (one != T_NONE) {
            if (*first == T_NONE)
                *first = one;
            t = one;
        }
    }
    return t;
}

static bool decode_memory(struct decoder *d, const struct ptx_instr *in, struct ins *out)
{
    bool store = out->code == C_ST;
    const struct ptx_operand *address = &in->operands[store ? 0 : 1], *value = &in->operands[store ? 1 : 0];
    out->space = SPACE_GENERIC;
    for (int i = 0; i < in->mod_count; i++) {
        const char *m = in->mods[i];
        if (!strncmp(m, "global", 6)) out->space = SPACE_GLOBAL;
        else if (!strncmp(m, "shared", 6)) out->space = SPACE_SHARED;
        else if (!strncmp(m, "local", 5)) out->space = SPACE_LOCAL;
        else if (!strncmp(m, "const", 5)) out->space = SPACE_CONST;
        else if (!strncmp(m, "param", 5)) out->space = SPACE_PARAM;
        if (!strcmp(m, "v2")) out->vec = 2;
        if (!strcmp(m, "v4")) out->vec = 4;
        if (!strcmp(m, "v8")) out->vec = 8;
    }
    if (!out->vec)
        out->vec = 1;
    if (out->type == T_B128)
        return bad(d, in, "b128");
    out->imm = (int64_t)address->bits;
    if (address->kind != OPERAND_ADDRESS)
        return bad(d, in, "address");
    out->src[0] = -1;
    if (address->var)
        out->imm += (int64_t)address->var->address;
    if (address->reg >= 0) {
        out->src[0] = d->slots[address->reg];
        out->wide = ptx_type_bytes(d->k->function->regs[address->reg]) == 8;
    }
    for (int i = 0; i < out->vec; i++) {
        const struct ptx_operand *one = out->vec > 1 || value->kind == OPERAND_VECTOR ? &value->items[i] : value;
        int slot = operand(d, in, one, out->type);
        out->dst[i] = slot;
        if (one->kind == OPERAND_REG && !store)
            out->type2 = (uint8_t)d->k->function->regs[one->reg];
        if (one->kind == OPERAND_REG && store)
            out->type2 = (uint8_t)d->k->function->regs[one->reg];
    }
    return !d->failed;
}

static int compare_code(const struct ptx_instr *in)
{
    static const char *const codes[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "lo", "ls", "hi", "hs"};
    for (int i = 0; i < in->mod_count; i++)
        for (int c = 0; c < 18; c++)
            if (!strcmp(in->mods[i], codes[c]))
                return c < 14 ? c : c == 14 ? 2 : c == 15 ? 3 : c == 16 ? 4 : 5;
    return -1;
}

/* What the modifiers say that has nothing to do with operands. */
static void decode_modifiers(const struct ptx_instr *in, struct ins *out)
{
    out->ftz = has(in, "ftz");
    out->sat = has(in, "sat") || has(in, "satfinite");
    for (int i = 0; i < in->mod_count; i++) {
        const char *m = in->mods[i];
        if (m[0] == 'r' && strlen(m) <= 3 && strchr("nzmpa", m[1]))
            out->round = (uint8_t)((m[1] == 'n' ? 0 : m[1] == 'z' ? 1 : m[1] == 'm' ? 2 : m[1] == 'p' ? 3 : 4) + (m[2] == 'i' ? 8 : 0));
    }
    switch (out->code) {
    case C_MUL: out->code = has(in, "hi") ? C_MUL_HI : has(in, "wide") ? C_MUL_WIDE : C_MUL; break;
    case C_MAD: out->code = has(in, "hi") ? C_MAD_HI : has(in, "wide") ? C_MAD_WIDE : ptx_type_float((enum ptx_type)out->type) ? C_FMA : C_MAD; break;
    case C_SETP: {
        int c = compare_code(in);
        out->compare = (uint8_t)(c < 0 ? 0 : c);
        out->join = has(in, "and") ? 1 : has(in, "or") ? 2 : has(in, "xor") ? 3 : 0;
        break;
    }
    case C_SHF: out->compare = (uint8_t)((has(in, "r") ? 1 : 0) | (has(in, "wrap") ? 2 : 0)); break;
    case C_SHFL: out->compare = has(in, "up") ? 0 : has(in, "down") ? 1 : has(in, "bfly") ? 2 : 3; break;
    case C_VOTE: out->compare = has(in, "all") ? 0 : has(in, "any") ? 1 : has(in, "uni") ? 2 : 3; break;
    case C_BFIND: out->compare = has(in, "shiftamt"); break;
    case C_CVTA:
        out->space = has(in, "shared") || has(in, "shared::cta") ? SPACE_SHARED : has(in, "local") ? SPACE_LOCAL : has(in, "param") ? SPACE_PARAM : SPACE_GLOBAL;
        out->compare = has(in, "to");
        break;
    default: break;
    }
}

static bool decode_cvt(struct decoder *d, const struct ptx_instr *in, struct ins *out)
{
    const struct ptx_operand *to = &in->operands[0], *from = &in->operands[1];
    if (from->kind == OPERAND_REG && in->count == 3)
        return bad(d, in, "packed cvt");
    /* registers may be wider than the types */
    out->wide = from->kind == OPERAND_REG && ptx_type_bytes(d->k->function->regs[from->reg]) == 8;
    out->volatile_ = to->kind == OPERAND_REG && ptx_type_bytes(d->k->function->regs[to->reg]) == 8;
    return true;
}

static bool decode_atomic(struct decoder *d, const struct ptx_instr *in, struct ins *out)
{
    static const char *const ops[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};
    bool red = !strcmp(in->op, "red");
    const struct ptx_operand *address = &in->operands[red ? 0 : 1];
    out->compare = 99;
    for (int i = 0; i < 10; i++)
        if (has(in, ops[i]))
            out->compare = (uint8_t)i;
    out->space = has(in, "shared") || has(in, "shared::cta") ? SPACE_SHARED : has(in, "global") ? SPACE_GLOBAL : SPACE_GENERIC;
    out->dst[0] = red ? -1 : operand(d, in, &in->operands[0], (enum ptx_type)out->type);
    if (address->kind != OPERAND_ADDRESS || out->compare == 99 || has(in, "v2") || has(in, "v4"))
        return bad(d, in, "atomic form");
    out->imm = (int64_t)address->bits + (address->var ? (int64_t)address->var->address : 0);
    out->src[0] = -1;
    if (address->reg >= 0) {
        out->src[0] = d->slots[address->reg];
        out->wide = ptx_type_bytes(d->k->function->regs[address->reg]) == 8;
    }
    for (int i = red ? 1 : 2; i < in->count && i < 8; i++)
        out->src[1 + out->nsrc++] = operand(d, in, &in->operands[i], (enum ptx_type)out->type);
    d->k->float_atomics |= ptx_type_float((enum ptx_type)out->type);
    return !d->failed;
}

/* mov between a register and a list of parts, or from a special register. */
static bool decode_mov(struct decoder *d, const struct ptx_instr *in, struct ins *out)
{
    if (in->operands[1].kind == OPERAND_SPECIAL) {
        out->code = C_SPECIAL;
        for (int i = 0; specials[i]; i++)
            if (!strcmp(specials[i], in->operands[1].name))
                out->imm = i + 1;
        out->dst[0] = operand(d, in, &in->operands[0], (enum ptx_type)out->type);
        return out->imm > 0 || bad(d, in, "special register");
    }
    bool unpack = in->operands[0].kind == OPERAND_VECTOR;
    const struct ptx_operand *list = &in->operands[unpack ? 0 : 1], *one = &in->operands[unpack ? 1 : 0];
    if (list->count < 1 || list->count > 8)
        return bad(d, in, "vector");
    out->code = unpack ? C_UNPACK : C_PACK;
    out->vec = (uint8_t)list->count;
    int part = ptx_type_bytes((enum ptx_type)out->type) / list->count;
    for (int i = 0; i < list->count; i++)
        (unpack ? out->dst : out->src)[i] = operand(d, in, &list->items[i], part == 8 ? T_B64 : part == 4 ? T_B32 : part == 2 ? T_B16 : T_B8);
    (unpack ? out->src : out->dst)[0] = operand(d, in, one, (enum ptx_type)out->type);
    return !d->failed;
}

/* The type in which source i (from 1) is read. */
static enum ptx_type source_type(const struct ins *out, int i)
{
    enum ptx_type type = (enum ptx_type)out->type;
    switch (out->code) {
    case C_CVT: return (enum ptx_type)out->type2;
    case C_SHL:
    case C_SHR: return i == 2 ? T_U32 : type;
    case C_SELP:
    case C_SETP: return i == 3 ? T_PRED : type;
    case C_VOTE: return i == 1 ? T_PRED : T_U32;
    case C_MUL_WIDE:
    case C_MAD_WIDE: return i == 3 ? ptx_type_bytes(type) == 4 ? T_U64 : T_U32 : type;
    case C_BFE: return i >= 2 ? T_U32 : type;
    case C_BFI: return i >= 3 ? T_U32 : type;
    case C_SHF:
    case C_SHFL:
    case C_PRMT: return T_U32;
    default: return type;
    }
}

static bool decode_operands(struct decoder *d, const struct ptx_instr *in, struct ins *out)
{
    if (in->operands[0].kind == OPERAND_REG && in->operands[0].reg2 >= 0) {
        out->dst[1] = d->slots[in->operands[0].reg2];
        out->ndst = 2;
    }
    out->dst[0] = operand(d, in, &in->operands[0], out->code == C_SETP ? T_PRED : (enum ptx_type)out->type);
    for (int i = 1; i < in->count && i < 7; i++) {
        out->src[out->nsrc] = operand(d, in, &in->operands[i], source_type(out, i));
        if (out->nsrc < 2)
            out->src_neg[out->nsrc] = in->operands[i].negated;
        if (out->code == C_SETP && i == 3)
            out->vec = in->operands[i].negated;
        out->nsrc++;
    }
    return !d->failed;
}

static bool decode_one(struct decoder *d, const struct ptx_instr *in, struct ins *out)
{
    enum ptx_type first;
    *out = (struct ins){.from = in, .guard = in->guard >= 0 ? d->slots[in->guard] : -1, .neg_guard = in->guard_negated, .target = -1};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(in->op, names[i].name))
            out->code = names[i].code;
    if (!strcmp(in->op, "call") && in->count > 1 && in->operands[1].name && !strcmp(in->operands[1].name, "__assertfail"))
        out->code = C_ASSERT;
    out->type = out->type2 = (uint8_t)last_type(in, &first);
    if (out->code == C_CVT) /* cvt.to.from */
        out->type = (uint8_t)first;
    decode_modifiers(in, out);
    switch (out->code) {
    case C_BAD: return bad(d, in, "instruction");
    case C_LD:
    case C_ST: return decode_memory(d, in, out);
    case C_ATOM: return decode_atomic(d, in, out);
    case C_BRA:
        out->target = in->operands[0].target;
        return out->target >= 0 || bad(d, in, "target");
    case C_BAR:
        if (has(in, "warp"))
            out->code = C_NOP;
        return out->code == C_NOP || (has(in, "sync") && !has(in, "red") && in->count <= 1) || bad(d, in, "barrier form");
    case C_NOP:
    case C_RET:
    case C_TRAP:
    case C_ASSERT: return true;
    case C_PRMT:
        if (in->mod_count > 1)
            return bad(d, in, "prmt mode");
        break;
    case C_CVT:
        if (!decode_cvt(d, in, out))
            return false;
        break;
    case C_MOV:
        if (in->operands[0].kind == OPERAND_VECTOR || in->operands[1].kind == OPERAND_VECTOR || in->operands[1].kind == OPERAND_SPECIAL)
            return decode_mov(d, in, out);
        break;
    default: break;
    }
    return decode_operands(d, in, out);
}

static int class_of(const struct ins *in)
{
    bool f = ptx_type_float((enum ptx_type)in->type);
    switch (in->code) {
    case C_FMA: return N_FMA;
    case C_LD: return in->space == SPACE_GLOBAL ? N_LOAD_GLOBAL : in->space == SPACE_SHARED ? N_LOAD_SHARED : N_MOVE;
    case C_ST: return in->space == SPACE_GLOBAL ? N_STORE_GLOBAL : in->space == SPACE_SHARED ? N_STORE_SHARED : N_MOVE;
    case C_BRA: return N_BRANCH;
    case C_BAR: return N_BARRIER;
    case C_ATOM: return N_ATOMIC;
    case C_CVT: return N_CONVERT;
    case C_MOV: case C_PACK: case C_UNPACK: case C_SPECIAL: case C_CVTA: case C_SELP: return N_MOVE;
    default: return f ? N_FLOAT : N_INT;
    }
}

static uint32_t lay_out(struct ptx_var *vars, enum ptx_space space, uint32_t at)
{
    for (struct ptx_var *v = vars; v; v = v->next)
        if (v->space == space && !(v->is_extern && v->bytes == 0)) {
            uint32_t align = v->align ? v->align : 1;
            at = (at + align - 1) / align * align;
            v->address = at;
            at += (uint32_t)v->bytes;
        }
    return at;
}

bool mini_decode(struct ptx_module *module, const struct ptx_function *f, struct kernel *k, struct error *err)
{
    struct decoder d = {.module = module, .k = k, .err = err};
    *k = (struct kernel){.function = f, .count = f->instr_count};
    /* Shared: module-level then the function's; dynamic (extern) behind them. Local and parameters: offsets. */
    k->shared_bytes = lay_out(f->vars, SPACE_SHARED, lay_out(module->vars, SPACE_SHARED, 0));
    uint32_t dynamic = (k->shared_bytes + 127) / 128 * 128;
    bool any_extern = false;
    for (struct ptx_var *v = module->vars; v; v = v->next)
        if (v->space == SPACE_SHARED && v->is_extern && v->bytes == 0) {
            v->address = dynamic;
            any_extern = true;
        }
    if (any_extern)
        k->shared_bytes = dynamic;
    k->local_bytes = lay_out(f->vars, SPACE_LOCAL, 0);
    uint32_t at = 0;
    for (struct ptx_var *p = f->params; p; p = p->next) {
        uint32_t align = p->align ? p->align : (uint32_t)ptx_type_bytes(p->type);
        at = (at + align - 1) / align * align;
        p->address = at;
        k->params = xrealloc(k->params, sizeof *k->params * (size_t)(k->param_count + 1));
        bool array = p->bytes != (uint64_t)ptx_type_bytes(p->type);
        k->params[k->param_count++] = (struct param){.kind = array ? PARAM_BYTES : ptx_type_float(p->type) ? PARAM_FLOAT : PARAM_INT, .bytes = (uint32_t)p->bytes, .align = align, .offset = at};
        at += (uint32_t)p->bytes;
    }
    k->param_bytes = at;
    d.slots = xcalloc((size_t)f->reg_count + 1, sizeof *d.slots);
    for (int i = 0; i < f->reg_count; i++) {
        d.slots[i] = (int)k->frame_bytes;
        k->frame_bytes += (uint32_t)((slot_bytes(f->regs[i]) + 63) / 64 * 64);
    }
    k->code = xcalloc((size_t)f->instr_count + 1, sizeof *k->code);
    for (int i = 0; i < f->instr_count && !d.failed; i++) {
        decode_one(&d, f->instrs[i], &k->code[i]);
        k->code[i].klass = class_of(&k->code[i]);
    }
    k->code[f->instr_count] = (struct ins){.code = C_RET, .guard = -1, .from = f->instr_count ? f->instrs[f->instr_count - 1] : NULL};
    k->const_at = k->frame_bytes;
    for (int i = 0; i < f->instr_count; i++) /* constants stand behind the registers */
        for (int s = 0; s < 8; s++) {
            if (k->code[i].src[s] > 0 && (k->code[i].src[s] & 1 << 30))
                k->code[i].src[s] = (int)(k->const_at + ((uint32_t)k->code[i].src[s] & ~(1u << 30)));
            if (k->code[i].dst[s] > 0 && (k->code[i].dst[s] & 1 << 30))
                k->code[i].dst[s] = (int)(k->const_at + ((uint32_t)k->code[i].dst[s] & ~(1u << 30)));
        }
    free(d.slots);
    return !d.failed;
}
