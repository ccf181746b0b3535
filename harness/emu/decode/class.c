/* emu/decode/class: the class that each instruction counts in, and its floating-point operations. */
#include "emu/decode/decode.h"

/* ---- classes ---- */
static enum ptx_type first_type(const struct ptx_instr *in)
{
    for (int i = 0; i < in->mod_count; i++)
        if (ptx_type_parse(in->mods[i]) != T_NONE)
            return ptx_type_parse(in->mods[i]);
    return T_NONE;
}

static enum insn_class memory_class(const struct ptx_instr *in, bool load)
{
    bool cluster = instr_has(in, "shared::cta") || instr_has(in, "shared::cluster");
    if (instr_has(in, "shared") || cluster)
        return load ? CLASS_LOAD_SHARED : CLASS_STORE_SHARED;
    if (instr_has(in, "local"))
        return load ? CLASS_LOAD_LOCAL : CLASS_STORE_LOCAL;
    if (instr_has(in, "global"))
        return load ? CLASS_LOAD_GLOBAL : CLASS_STORE_GLOBAL;
    if (instr_has(in, "const") || instr_has(in, "param") || instr_has(in, "param::entry") || instr_has(in, "param::func"))
        return load ? CLASS_LOAD_CONST : CLASS_OTHER;
    return CLASS_GENERIC;
}

static void classify_float(const struct ptx_instr *in, struct cold *c, enum ptx_type t)
{
    bool fused = instr_is(in, "fma") || instr_is(in, "mad"),
         arithmetic = fused || instr_is(in, "add") || instr_is(in, "sub") || instr_is(in, "mul") || instr_is(in, "div");
    bool two = t == T_F16X2 || t == T_BF16X2 || t == T_F32X2;
    c->class = t == T_F64 ? CLASS_F64 : t == T_F32 || t == T_F32X2 ? (fused ? CLASS_FMA : CLASS_FLOAT) : CLASS_HALF;
    if (!arithmetic)
        return;
    c->flops = (uint16_t)((fused ? 2 : 1) * (two ? 2 : 1));
    c->flop_type = t == T_F64 ? FLOP_F64 : t == T_F32 || t == T_F32X2 ? FLOP_F32 : t == T_BF16 || t == T_BF16X2 ? FLOP_BF16 : FLOP_F16;
}

static const struct {
    const char *op;
    enum insn_class class;
} classes[] = {{"mov", CLASS_MOVE},

               {"selp", CLASS_MOVE},
               {"slct", CLASS_MOVE},
               {"cvta", CLASS_MOVE},
               {"cvt", CLASS_CONVERT},
               {"setp", CLASS_COMPARE},
               {"set", CLASS_COMPARE},
               {"testp", CLASS_COMPARE},
               {"isspacep", CLASS_COMPARE},
               {"bra", CLASS_BRANCH},
               {"brx", CLASS_BRANCH},
               {"call", CLASS_BRANCH},
               {"ret", CLASS_BRANCH},
               {"exit", CLASS_BRANCH},
               {"trap", CLASS_OTHER},
               {"bar", CLASS_BARRIER},
               {"barrier", CLASS_BARRIER},
               {"mbarrier", CLASS_BARRIER},
               {"shfl", CLASS_WARP},
               {"vote", CLASS_WARP},
               {"match", CLASS_WARP},
               {"redux", CLASS_WARP},
               {"activemask", CLASS_WARP},
               {"elect", CLASS_WARP},
               {"atom", CLASS_ATOMIC},
               {"red", CLASS_ATOMIC},
               {"mma", CLASS_TENSOR},
               {"wgmma", CLASS_TENSOR},
               {"ldmatrix", CLASS_LOAD_SHARED},
               {"stmatrix", CLASS_STORE_SHARED},
               {"movmatrix", CLASS_WARP},
               {"cp", CLASS_ASYNC},
               {"tensormap", CLASS_OTHER},
               {"ex2", CLASS_SPECIAL_FN},
               {"lg2", CLASS_SPECIAL_FN},
               {"sin", CLASS_SPECIAL_FN},
               {"cos", CLASS_SPECIAL_FN},
               {"tanh", CLASS_SPECIAL_FN},
               {"rcp", CLASS_SPECIAL_FN},
               {"rsqrt", CLASS_SPECIAL_FN},
               {"sqrt", CLASS_SPECIAL_FN},
               {"membar", CLASS_OTHER},
               {"fence", CLASS_OTHER},
               {"nanosleep", CLASS_OTHER},
               {"prefetch", CLASS_OTHER},
               {"mapa", CLASS_MOVE},
               {"setmaxnreg", CLASS_OTHER},
               {"griddepcontrol", CLASS_OTHER},
               {"createpolicy", CLASS_OTHER}};

static enum insn_class tensor_memory_class(const struct ptx_instr *in)
{
    if (instr_has(in, "mma"))
        return CLASS_TENSOR;
    if (instr_has(in, "commit") || instr_has(in, "wait::ld") || instr_has(in, "wait::st"))
        return CLASS_BARRIER;
    return instr_has(in, "ld") || instr_has(in, "st") || instr_has(in, "cp") ? CLASS_ASYNC : CLASS_OTHER;
}

void decode_classify(const struct ptx_instr *in, struct cold *c)
{
    enum ptx_type t = first_type(in);
    if (instr_is(in, "ld") || instr_is(in, "ldu") || instr_is(in, "st")) {
        c->class = (uint8_t)memory_class(in, !instr_is(in, "st"));
        return;
    }
    if (instr_is(in, "tcgen05")) {
        c->class = (uint8_t)tensor_memory_class(in);
        return;
    }
    if (instr_is(in, "wmma")) {
        c->class = instr_has(in, "mma") ? CLASS_TENSOR : CLASS_GENERIC;
        return;
    }
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (instr_is(in, classes[i].op)) {
            c->class = (uint8_t)classes[i].class;
            return;
        }
    if (ptx_type_float(t))
        classify_float(in, c, t);
    else
        c->class = CLASS_INT;
}
