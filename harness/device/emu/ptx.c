/* device/emu/ptx: look-ups in a parsed module. */
#include "device/emu/ptx.h"
#include <stdio.h>
#include <string.h>

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
