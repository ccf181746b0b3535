/* device/ptx/tree: the arena of a module, types, and looking things up. */
#include "device/ptx/ptx.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arena ---- */
struct arena_chunk {
    struct arena_chunk *before;
    size_t used, room;
    _Alignas(16) unsigned char data[];
};

void *arena_alloc(struct arena *a, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (!a->last || a->last->room - a->last->used < bytes) {
        size_t room = bytes > (1u << 16) ? bytes : (1u << 16);
        struct arena_chunk *c = xcalloc(1, sizeof *c + room);
        c->before = a->last;
        c->room = room;
        a->last = c;
    }
    void *p = a->last->data + a->last->used;
    a->last->used += bytes;
    return p;
}

char *arena_text(struct arena *a, const char *s, size_t len)
{
    char *p = arena_alloc(a, len + 1);
    memcpy(p, s, len);
    return p;
}

void arena_free(struct arena *a)
{
    while (a->last) {
        struct arena_chunk *c = a->last;
        a->last = c->before;
        free(c);
    }
}

/* ---- types ---- */
static const struct {
    const char *name;
    unsigned char bytes, is_signed, is_float;
} type_table[T_COUNT] = {
    [T_NONE] = {"", 0, 0, 0},         [T_PRED] = {"pred", 0, 0, 0},     [T_B8] = {"b8", 1, 0, 0},
    [T_B16] = {"b16", 2, 0, 0},       [T_B32] = {"b32", 4, 0, 0},       [T_B64] = {"b64", 8, 0, 0},
    [T_B128] = {"b128", 16, 0, 0},    [T_U8] = {"u8", 1, 0, 0},         [T_U16] = {"u16", 2, 0, 0},
    [T_U32] = {"u32", 4, 0, 0},       [T_U64] = {"u64", 8, 0, 0},       [T_S8] = {"s8", 1, 1, 0},
    [T_S16] = {"s16", 2, 1, 0},       [T_S32] = {"s32", 4, 1, 0},       [T_S64] = {"s64", 8, 1, 0},
    [T_F16] = {"f16", 2, 0, 1},       [T_F16X2] = {"f16x2", 4, 0, 1},   [T_BF16] = {"bf16", 2, 0, 1},
    [T_BF16X2] = {"bf16x2", 4, 0, 1}, [T_TF32] = {"tf32", 4, 0, 1},     [T_F32] = {"f32", 4, 0, 1},
    [T_F32X2] = {"f32x2", 8, 0, 1},   [T_F64] = {"f64", 8, 0, 1},       [T_U16X2] = {"u16x2", 4, 0, 0},
    [T_S16X2] = {"s16x2", 4, 1, 0},   [T_E4M3] = {"e4m3", 1, 0, 1},     [T_E5M2] = {"e5m2", 1, 0, 1},
    [T_E4M3X2] = {"e4m3x2", 2, 0, 1}, [T_E5M2X2] = {"e5m2x2", 2, 0, 1}, [T_E2M1X2] = {"e2m1x2", 1, 0, 1},
    [T_E2M3X2] = {"e2m3x2", 2, 0, 1}, [T_E3M2X2] = {"e3m2x2", 2, 0, 1}, [T_UE8M0X2] = {"ue8m0x2", 2, 0, 1},
    [T_S2F6X2] = {"s2f6x2", 2, 0, 1},
};

enum ptx_type ptx_type_parse(const char *s)
{
    for (int t = 1; t < T_COUNT; t++)
        if (ptx_word_is(s, type_table[t].name))
            return (enum ptx_type)t;
    return T_NONE;
}
const char *ptx_type_name(enum ptx_type t)
{
    return type_table[t].name;
}
int ptx_type_bytes(enum ptx_type t)
{
    return type_table[t].bytes;
}
bool ptx_type_signed(enum ptx_type t)
{
    return type_table[t].is_signed;
}
bool ptx_type_float(enum ptx_type t)
{
    return type_table[t].is_float;
}

void ptx_free(struct ptx_module *m)
{
    if (!m)
        return;
    arena_free(&m->arena);
    free(m);
}

struct ptx_function *ptx_find_function(const struct ptx_module *m, const char *name)
{
    for (struct ptx_function *f = m->functions; f; f = f->next)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name)
{
    for (struct ptx_var *v = m->vars; v; v = v->next)
        if (!strcmp(v->name, name))
            return v;
    return NULL;
}

void ptx_instr_text(const struct ptx_instr *in, char *out, size_t bytes)
{
    size_t n = (size_t)snprintf(out, bytes, "%s", in->op);
    for (int i = 0; i < in->mod_count && n < bytes; i++)
        n += (size_t)snprintf(out + n, bytes - n, ".%s", in->mods[i]);
}

bool instr_has(const struct ptx_instr *in, const char *mod)
{
    return ANY_OF(i, in->mod_count, ptx_word_is(in->mods[i], mod));
}

uint32_t ptx_param_layout(const struct ptx_var *params, uint32_t *offsets, int max)
{
    uint64_t at = 0;
    int n = 0;
    for (const struct ptx_var *v = params; v; v = v->next) {
        at = v->align > 1 ? (at + v->align - 1) & ~((uint64_t)v->align - 1) : at;
        if (offsets && n < max)
            offsets[n] = (uint32_t)at;
        n++;
        at += v->bytes;
    }
    return at > 1 << 20 ? 1 << 20 : (uint32_t)at;
}
