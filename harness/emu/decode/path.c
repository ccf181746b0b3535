/* emu/decode/path: how long each instruction of PTX takes, from measurements on an H200 and the machine code that ptxas makes (docs/EMU.md,
 * "Counters").
 */
#include "emu/path_code.h"
#include "base/text.h"
#include "emu/decode/decode.h"

#define SPECIAL_CYCLES 8 /* a warp's special functions, at four lanes a cycle */
#define TENSOR_MACS 2048 /* of f16, a cycle and SM */

/* ---- latencies ---- */
struct latency {
    const char *op, *mods; /* mods: one of them; NULL: any */
    uint16_t cycles;
    uint8_t kind, slots, special;
};
/* The first line that fits. Cycles from the operands to the result. */
static const struct latency latencies[] = {{"ld", "param param::entry param::func", 0, PATH_PLAIN, 0, 0},
                                           {"ld", "shared shared::cta", 24, PATH_SHARED, 1, 0},
                                           {"ld", "shared::cluster", 180, PATH_SHARED, 1, 0},
                                           {"ld", "local", 41, PATH_SHARED, 1, 0},
                                           {"ld", "const", 34, PATH_PLAIN, 1, 0},
                                           {"ld", "nc", 0, PATH_LOAD_FREE, 1, 0},
                                           {"ld", "volatile relaxed acquire", 0, PATH_LOAD_STRONG, 1, 0},
                                           {"ld", NULL, 0, PATH_LOAD, 1, 0},
                                           {"ldu", NULL, 0, PATH_LOAD, 1, 0},
                                           {"st", "shared shared::cta shared::cluster local param", 0, PATH_SHARED, 1, 0},
                                           {"st", NULL, 0, PATH_STORE, 1, 0},
                                           {"ldmatrix", NULL, 29, PATH_SHARED, 1, 0},
                                           {"stmatrix", NULL, 0, PATH_SHARED, 1, 0},
                                           {"atom", "shared shared::cta shared::cluster", 35, PATH_SHARED, 2, 0},
                                           {"atom", NULL, 0, PATH_ATOMIC, 1, 0},
                                           {"red", "shared shared::cta shared::cluster", 0, PATH_SHARED, 2, 0},
                                           {"red", NULL, 0, PATH_STORE, 1, 0},
                                           {"bar", "warp", 2, PATH_PLAIN, 1, 0},
                                           {"bar", NULL, 13, PATH_BARRIER, 1, 0},
                                           {"barrier", NULL, 13, PATH_BARRIER, 1, 0},
                                           {"mbarrier", "try_wait test_wait", 25, PATH_MBARRIER, 2, 0},
                                           {"mbarrier", "arrive", 0, PATH_COMMIT, 1, 0},
                                           {"mbarrier", NULL, 0, PATH_SHARED, 1, 0},
                                           {"fence", NULL, 10, PATH_SPLIT, 1, 0},
                                           {"membar", "cta", 10, PATH_SPLIT, 1, 0},
                                           {"membar", NULL, 500, PATH_SPLIT, 1, 0},
                                           {"cp", "wait_group wait_all", 0, PATH_COPY_WAIT, 1, 0},
                                           {"cp", "commit_group", 0, PATH_COMMIT, 1, 0},
                                           {"cp", NULL, 0, PATH_COPY, 1, 0},
                                           {"wgmma", "mma_async", 0, PATH_PRODUCT, 1, 0},
                                           {"wgmma", "wait_group", 60, PATH_PRODUCT_WAIT, 1, 0},
                                           {"wgmma", NULL, 0, PATH_PLAIN, 1, 0},
                                           {"mma", NULL, 25, PATH_PLAIN, 1, 0},
                                           {"wmma", "mma", 50, PATH_PLAIN, 2, 0},
                                           {"wmma", NULL, 35, PATH_SHARED, 4, 0},
                                           {"shfl", NULL, 24, PATH_PLAIN, 1, 0},
                                           {"vote", NULL, 12, PATH_PLAIN, 1, 0},
                                           {"match", NULL, 30, PATH_PLAIN, 1, 0},
                                           {"redux", NULL, 44, PATH_PLAIN, 1, 0},
                                           {"movmatrix", NULL, 30, PATH_PLAIN, 1, 0},
                                           {"mov", NULL, 0, PATH_PLAIN, 0, 0},
                                           {"cvta", NULL, 0, PATH_PLAIN, 0, 0},
                                           {"bra", NULL, 13, PATH_BRANCH, 1, 0},
                                           {"brx", NULL, 30, PATH_BRANCH, 3, 0},
                                           {"call", NULL, 20, PATH_SPLIT, 3, 0},
                                           {"ret", NULL, 10, PATH_BRANCH, 2, 0},
                                           {"exit", NULL, 0, PATH_PLAIN, 1, 0},
                                           {"div", "f64", 123, PATH_SPLIT, 20, 1},
                                           {"sqrt", "f64", 92, PATH_SPLIT, 20, 1},
                                           {"rsqrt", "f64", 92, PATH_SPLIT, 20, 1},
                                           {"rcp", "f64", 100, PATH_SPLIT, 15, 1},
                                           {"div", "full approx", 30, PATH_PLAIN, 6, 1},
                                           {"div", "f32", 76, PATH_SPLIT, 10, 1},
                                           {"div", "s64 u64", 300, PATH_SPLIT, 70, 2},
                                           {"rem", "s64 u64", 300, PATH_SPLIT, 70, 2},
                                           {"div", NULL, 67, PATH_PLAIN, 18, 2},
                                           {"rem", NULL, 64, PATH_PLAIN, 18, 2},
                                           {"rcp", "approx", 17, PATH_PLAIN, 1, 1},
                                           {"rsqrt", "approx", 17, PATH_PLAIN, 1, 1},
                                           {"sqrt", "approx", 30, PATH_PLAIN, 2, 1},
                                           {"rcp", NULL, 76, PATH_SPLIT, 7, 1},
                                           {"sqrt", NULL, 55, PATH_SPLIT, 9, 1},
                                           {"ex2", "ftz f16 f16x2 bf16x2", 17, PATH_PLAIN, 1, 1},
                                           {"lg2", "ftz", 17, PATH_PLAIN, 1, 1},
                                           {"ex2", NULL, 25, PATH_PLAIN, 4, 1},
                                           {"lg2", NULL, 39, PATH_PLAIN, 4, 1},
                                           {"sin", NULL, 23, PATH_PLAIN, 2, 1},
                                           {"cos", NULL, 23, PATH_PLAIN, 2, 1},
                                           {"tanh", NULL, 17, PATH_PLAIN, 1, 1},
                                           {"fma", "f64", 8, PATH_PLAIN, 2, 0},
                                           {"add", "f64", 8, PATH_PLAIN, 2, 0},
                                           {"sub", "f64", 8, PATH_PLAIN, 2, 0},
                                           {"mul", "f64", 8, PATH_PLAIN, 2, 0},
                                           {"cvt", "f64", 12, PATH_PLAIN, 1, 1},
                                           {"cvt", "rni rzi rmi rpi", 12, PATH_PLAIN, 1, 1},
                                           {"cvt", "rn rz rm rp", 6, PATH_PLAIN, 1, 0},
                                           {"cvt", "f32 f16 bf16", 5, PATH_PLAIN, 1, 0},
                                           {"cvt", NULL, 2, PATH_PLAIN, 1, 0},
                                           {"popc", NULL, 17, PATH_PLAIN, 1, 1},
                                           {"clz", NULL, 17, PATH_PLAIN, 1, 1},
                                           {"setp", NULL, 4, PATH_PLAIN, 1, 0},
                                           {"mad", "hi s64 u64", 17, PATH_PLAIN, 3, 0},
                                           {"mul", "hi s64 u64", 17, PATH_PLAIN, 3, 0},
                                           {"mad", NULL, 4, PATH_PLAIN, 1, 0},
                                           {"mul", "wide lo", 4, PATH_PLAIN, 1, 0},
                                           {"add", "s64 u64", 4, PATH_PLAIN, 2, 0},
                                           {"sub", "s64 u64", 4, PATH_PLAIN, 2, 0},
                                           {NULL, NULL, 4, PATH_PLAIN, 1, 0}};

static const struct latency *latency_of(const struct ptx_instr *in)
{
    const struct latency *l = latencies;
    while (l->op && !(instr_is(in, l->op) && decode_has_one_of(in, l->mods)))
        l++;
    return l;
}

/* Words of 32 bits that a lane loads. */
static int words_of(const struct ptx_instr *in)
{
    int bytes = 4, count = instr_has(in, "v8") ? 8 : instr_has(in, "v4") ? 4 : instr_has(in, "v2") ? 2 : 1;
    for (int i = 0; i < in->mod_count; i++)
        if (ptx_type_parse(in->mods[i]) != T_NONE)
            bytes = ptx_type_bytes(ptx_type_parse(in->mods[i]));
    return bytes * count < 4 ? 1 : bytes * count / 4;
}

static uint32_t amount_of(const struct ptx_instr *in, const struct cold *c, int kind)
{
    const int share = instr_has(in, "tf32") ? 1 : decode_has_one_of(in, "s8 u8 e4m3 e5m2") ? 4 : 2;
    if (kind == PATH_COPY_WAIT || kind == PATH_PRODUCT_WAIT)
        return in->count ? (uint32_t)in->operands[0].bits : 0;
    return kind == PATH_PRODUCT ? c->macs * 8 / (TENSOR_MACS * (uint32_t)share) : 0;
}

/* ---- registers ---- */
struct maker {
    struct path_code *c;
    uint32_t room, reg_room, base; /* base: of the function's registers */
};

static uint8_t add_reg(struct maker *m, int reg)
{
    struct path_code *c = m->c;
    if (reg < 0)
        return 0;
    if (c->reg_used == m->reg_room)
        c->regs = xrealloc(c->regs, (m->reg_room = 2 * m->reg_room + 64) * sizeof *c->regs);
    c->regs[c->reg_used++] = m->base + (uint32_t)reg;
    return 1;
}

static uint8_t add_operand(struct maker *m, const struct ptx_operand *o)
{
    uint8_t n = (uint8_t)(add_reg(m, o->reg) + add_reg(m, o->reg2));
    for (int i = 0; i < o->count && n < 200; i++)
        n = (uint8_t)(n + add_operand(m, &o->items[i]));
    return n;
}

static void add_step(struct maker *m, const struct cold *cold, uint32_t memo)
{
    struct path_code *c = m->c;
    const struct ptx_instr *in = cold->source;
    const struct latency *l = latency_of(in);
    bool also_read;
    const int writes = instr_writes(in, &also_read);
    if (c->step_count == m->room)
        c->steps = xrealloc(c->steps, (m->room = 2 * m->room + 64) * sizeof *c->steps);
    struct path_step *s = &c->steps[c->step_count++];
    *s = (struct path_step){.kind = l->kind,
                            .slots = l->slots,
                            .special = (uint8_t)(l->special * SPECIAL_CYCLES),
                            .latency = l->cycles,
                            .words = (uint8_t)words_of(in),
                            .amount = amount_of(in, cold, l->kind),
                            .regs = c->reg_used,
                            .memo = memo};
    if (instr_is(in, "mov") && in->count == 2 && in->operands[1].kind == OPERAND_SPECIAL)
        s->latency = 20, s->slots = 1;
    if (l->kind == PATH_PRODUCT) /* its sums are ready when they are waited for */
        return;
    s->reads = add_reg(m, in->guard);
    for (int i = also_read ? 0 : writes; i < in->count && s->reads < 200; i++)
        s->reads = (uint8_t)(s->reads + add_operand(m, &in->operands[i]));
    for (int i = 0; i < writes && s->writes < 200; i++)
        s->writes = (uint8_t)(s->writes + add_operand(m, &in->operands[i]));
}

const struct path_code *decode_path(struct program *p)
{
    if (p->path_code)
        return p->path_code;
    struct path_code *c = p->path_code = xcalloc(1, sizeof *c);
    struct maker m = {.c = c};
    int function = 0;
    c->range = xcalloc((size_t)p->flow_count + 1, sizeof *c->range);
    const struct ptx_instr *last = NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct cold *cold = &p->cold[i];
        while (function + 1 < p->function_count && cold->block >= p->functions[function + 1].entry->id)
            m.base += (uint32_t)p->functions[function++].ptx->reg_count;
        if (!cold->source || cold->internal || cold->source == last)
            continue;
        last = cold->source;
        if (!c->range[cold->block][1])
            c->range[cold->block][0] = c->step_count;
        add_step(&m, cold, p->code[i].memo);
        c->range[cold->block][1] = c->step_count;
    }
    c->reg_count = m.base + (uint32_t)p->functions[function].ptx->reg_count;
    return c;
}

void decode_path_free(struct path_code *c)
{
    if (!c)
        return;
    FREE_ALL(c->range, c->steps, c->regs, c);
}
