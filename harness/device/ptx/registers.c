/* device/ptx/registers: declaring a function's registers, and appending to its instructions. */
#include "device/ptx/parser.h"
#include <string.h>

bool add_register(struct parser *p, enum ptx_type type, int count, int *first)
{
    struct ptx_function *f = p->f;
    if (count < 1 || f->reg_count > PTX_MAX_REGS - count)
        return parser_fail(p, "too many registers");
    if (f->reg_count + count > f->reg_room) {
        int room = (f->reg_count + count) * 2;
        enum ptx_type *regs = arena_alloc(&p->m->arena, (size_t)room * sizeof *regs);
        if (f->reg_count)
            memcpy(regs, f->regs, (size_t)f->reg_count * sizeof *regs);
        f->regs = regs;
        f->reg_room = room;
    }
    *first = f->reg_count;
    for (int i = 0; i < count; i++)
        f->regs[f->reg_count++] = type;
    return true;
}

bool parse_reg_type(struct parser *p, enum ptx_type *type, int *vector)
{
    char name[16] = "";
    parser_split(p);
    *vector = parser_word(p, ".v2") ? 2 : parser_word(p, ".v4") ? 4 : parser_word(p, ".v8") ? 8 : 1;
    if (p->t.kind == TOKEN_WORD && p->t.len > 1 && p->t.len < 16)
        memcpy(name, p->t.at + 1, (size_t)p->t.len - 1);
    *type = ptx_type_parse(name);
    if (*type == T_NONE)
        return parser_fail(p, "'.reg' needs a type");
    parser_next(p);
    return true;
}

/* A vector's elements are registers of their own: v.x, v.y or v.r, v.g. */
bool declare_register(struct parser *p, const char *name, enum ptx_type type, int vector, int *first)
{
    if (!add_register(p, type, vector, first) || !name_add(p, name, vector > 1 ? NAME_VECTOR : NAME_REG, *first, vector, NULL))
        return false;
    for (int i = 0; i < 8 && vector > 1 && vector <= 4; i++) {
        size_t n = strlen(name);
        char *element = arena_alloc(&p->m->arena, n + 3);
        memcpy(element, name, n);
        element[n] = '.';
        element[n + 1] = "xyzwrgba"[i];
        if (i % 4 < vector && !name_add(p, element, NAME_REG, *first + i % 4, 1, NULL))
            return false;
    }
    return true;
}

bool parser_push(struct parser *p, struct ptx_instr *in)
{
    struct ptx_function *f = p->f;
    if (f->instr_count == f->instr_room) {
        int room = f->instr_room ? f->instr_room * 2 : 256;
        struct ptx_instr **list = arena_alloc(&p->m->arena, (size_t)room * sizeof *list);
        if (f->instr_count)
            memcpy(list, f->instrs, (size_t)f->instr_count * sizeof *list);
        f->instrs = list;
        f->instr_room = room;
    }
    f->instrs[f->instr_count++] = in;
    return true;
}
