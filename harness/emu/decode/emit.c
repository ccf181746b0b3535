/* emu/decode/emit: what every family of instructions uses: errors, modifiers, and appending an operation to the program. */
#include "emu/decode/decode.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

bool decode_refuse(struct decode *d, enum error_kind kind, const char *format, ...)
{
    if (d->failed)
        return false;
    d->failed = true;
    char op[160] = "", column[32] = "";
    SCOPED_TEXT what = {0};
    TEXT_ADD_ARGUMENTS(&what, format);
    int at_column = d->column > 0 ? d->column : d->in ? d->in->column : 0;
    if (at_column > 0)
        snprintf(column, sizeof column, ", column %d", at_column);
    if (d->in)
        ptx_instr_text(d->in, op, sizeof op);
    const struct ptx_place *at = d->in ? &d->in->place : NULL;
    if (at && at->line > 0 && at->file > 0 && at->file < d->m->file_count && d->m->files[at->file])
        return error_set(d->err, kind, "%s: %s:%d: PTX line %d%s: '%s': %s", d->m->label, d->m->files[at->file], at->line, d->in->ptx_line,
                         column, op, text_get(&what));
    return error_set(d->err, kind, "%s: PTX line %d%s: '%s': %s", d->m->label,
                     d->in  ? d->in->ptx_line
                     : d->f ? d->f->line
                            : 0,
                     column, op, text_get(&what));
}

/* ---- modifiers ---- */
bool decode_take(struct decode *d, const char *mod)
{
    for (int i = 0; i < d->in->mod_count; i++)
        if (!(d->taken >> i & 1) && ptx_word_is(d->in->mods[i], mod)) {
            d->taken |= 1u << i;
            return true;
        }
    return false;
}

enum ptx_type decode_take_type(struct decode *d)
{
    for (int i = 0; i < d->in->mod_count; i++) {
        enum ptx_type t = d->taken >> i & 1 ? T_NONE : ptx_type_parse(d->in->mods[i]);
        if (t != T_NONE) {
            d->taken |= 1u << i;
            return t;
        }
    }
    return T_NONE;
}

int decode_take_word(struct decode *d, const char *const *words)
{
    for (int k = 0; words[k]; k++)
        if (decode_take(d, words[k]))
            return k;
    return -1;
}

/* ---- emitting ---- */
static struct insn *emit_as(struct decode *d, enum op op, bool internal)
{
    struct program *p = d->p;
    if (p->count == d->code_room) {
        d->code_room = d->code_room ? d->code_room * 2 : 1024;
        p->code = xrealloc(p->code, d->code_room * sizeof *p->code);
        p->cold = xrealloc(p->cold, d->code_room * sizeof *p->cold);
    }
    struct insn *ip = &p->code[p->count];
    struct cold *c = &p->cold[p->count];
    memset(ip, 0, sizeof *ip);
    memset(c, 0, sizeof *c);
    ip->op = (uint16_t)op;
    ip->index = p->count++;
    ip->count = 1;
    ip->d = ip->a = ip->b = ip->c = NO_REF;
    c->source = d->in;
    c->block = d->flow;
    c->internal = internal;
    if (d->in) {
        const struct ptx_place *at = &d->in->place;
        /* code inlined from a header is charged to the line that called it */
        const char *file = at->file > 0 && at->file < d->m->file_count ? d->m->files[at->file] : NULL;
        if (d->in->inlined.line > 0 && file && d->m->files[d->in->inlined.file < d->m->file_count ? d->in->inlined.file : 0] &&
            strcmp(file, d->m->files[d->in->inlined.file < d->m->file_count ? d->in->inlined.file : 0]))
            at = &d->in->inlined;
        c->file = at->file;
        c->line = d->m->file_count > 0 ? at->line : d->in->ptx_line; /* written by hand, or without -lineinfo */
        if (!internal)
            decode_classify(d->in, c);
    }
    return ip;
}

struct insn *decode_emit(struct decode *d, enum op op)
{
    return emit_as(d, op, false);
}

struct insn *decode_emit_internal(struct decode *d, enum op op)
{
    return emit_as(d, op, true);
}

uint32_t *decode_list(struct decode *d, int n)
{
    return arena_alloc(&d->p->arena, (size_t)(n > 0 ? n : 1) * sizeof(uint32_t));
}

const struct placed *decode_find_placed(const struct decode *d, const struct ptx_var *v, int function)
{
    return FIRST_IN(d->placed, i, d->placed_count,
                    d->placed[i].var == v && (d->placed[i].function == function || d->placed[i].function < 0));
}
