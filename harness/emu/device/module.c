#include "emu/device/module.h"
#include "base/text.h"
#include "device/ptx/query.h"
#include "emu/decode/decode.h"
#include "emu/run/buffer.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CONSTANT_MAX 65536   /* bytes of a module's constants, as ptxas has it */
#define KEPT_BYTES (8 << 20) /* of PTX, of unloaded modules: decoded, 25 times as much (mallinfo2, over 400 modules of kernels/) */

/* Unloaded modules, the last one first. A device loads its checks again each time it is opened, and decoding takes longer than most of
 * their launches. */
static struct {
    pthread_mutex_t lock;
    struct device_module *first;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool in_memory(const struct ptx_var *v)
{
    return v->address && (v->space == SPACE_GLOBAL || v->space == SPACE_CONST);
}

static void module_free(struct device_module *module)
{
    for (struct device_function *f = module->functions, *next; f; f = next) {
        next = f->next;
        decode_free(f->program);
        free(f->params);
        free(f);
    }
    ptx_free(module->ptx);
    FREE_ALL(module->label, module->path, module->text, module);
}

/* Those that are too many, oldest first, are freed. */
static void keep_decoded(struct device_module *module)
{
    size_t bytes = 0;
    pthread_mutex_lock(&kept.lock);
    module->next = kept.first;
    kept.first = module;
    for (struct device_module **at = &kept.first, *m; (m = *at);) {
        bytes += m->bytes;
        if (bytes > KEPT_BYTES) {
            *at = m->next;
            module_free(m);
        } else {
            at = &m->next;
        }
    }
    pthread_mutex_unlock(&kept.lock);
}

/* The module of this text, as it was before its first launch; NULL: there is none. It is the caller's alone. */
static struct device_module *take_kept(const char *text, size_t bytes)
{
    struct device_module **at = &kept.first, *m;
    pthread_mutex_lock(&kept.lock);
    while ((m = *at) && (m->bytes != bytes || memcmp(m->text, text, bytes)))
        at = &m->next;
    if (m)
        *at = m->next;
    pthread_mutex_unlock(&kept.lock);
    for (struct device_function *f = m ? m->functions : NULL; f; f = f->next) {
        f->program->trace_all = false;
        f->program->launch_s = 0;
        f->program->launch_groups = 0;
    }
    return m;
}

void module_unload(struct address_space *space, struct device_module *module)
{
    bool placed = !module->ptx; /* its code has the addresses */
    for (struct device_function *f = module->functions; f; f = f->next)
        placed = placed || f->program->has_addresses;
    for (struct ptx_var *v = module->ptx ? module->ptx->vars : NULL; v; v = v->next)
        if (in_memory(v)) {
            space_remove(space, v->address);
            placed = placed || v->space == SPACE_CONST;
            v->address = 0;
        }
    if (placed)
        module_free(module);
    else
        keep_decoded(module);
}

/* Writes the addresses that initial values name. */
static bool apply_relocs(const struct address_space *space, const struct ptx_module *m, const struct ptx_var *v, struct error *err)
{
    struct buffer *b = space_find(space, v->address);
    for (const struct ptx_reloc *r = v->relocs; b && r; r = r->next) {
        const struct ptx_var *to = ptx_find_var(m, r->name);
        uint64_t value = to ? to->address + (uint64_t)r->add : 0;
        int number = 0;
        for (const struct ptx_function *f = m->functions; f && !value; f = f->next, number++)
            if (!strcmp(f->name, r->name))
                value = FUNCTION_HANDLE + 16ull * (uint64_t)number;
        if (!value)
            return error_set(err, ERROR_USAGE, "%s: the initial value of '%s' refers to '%s', which is not defined", m->label, v->name,
                             r->name);
        value = r->mask ? (value & r->mask) >> __builtin_ctzll(r->mask) : value;
        memcpy(b->host + r->offset, &value, r->bytes < 8 ? r->bytes : 8);
    }
    return true;
}

/* Gives the variables their places in memory. */
static bool place_variables(struct address_space *space, const struct device_module *m, struct error *err)
{
    uint64_t constant = 0;
    for (struct ptx_var *v = m->ptx->vars; v; v = v->next) {
        constant += v->space == SPACE_CONST ? v->bytes : 0;
        if (constant > CONSTANT_MAX)
            return error_set(err, ERROR_USAGE, "%s: more than %d bytes of constant memory, at '%s'", m->label, CONSTANT_MAX, v->name);
        if ((v->space != SPACE_GLOBAL && v->space != SPACE_CONST) || v->bytes == 0 || (v->is_extern && !v->init))
            continue;
        struct buffer *b = buffer_new(space, v->name, v->bytes, true, err);
        if (!b)
            return false;
        v->address = b->base;
        b->constant = v->space == SPACE_CONST;
        if (v->init)
            memcpy(b->host, v->init, v->bytes);
    }
    for (struct ptx_var *v = m->ptx->vars; v; v = v->next)
        if (v->address && !apply_relocs(space, m->ptx, v, err))
            return false;
    return true;
}

struct device_module *module_load(struct address_space *space, const struct device_image *image, struct error *err)
{
    const char *label = image->label ? image->label : "", *path = image->path ? image->path : "";
    if (!image->ptx) {
        error_set(err, ERROR_USAGE, "%s: emu runs PTX, and there is none", image->label ? image->label : "image");
        return NULL;
    }
    size_t bytes = image->ptx_bytes ? image->ptx_bytes : strlen(image->ptx);
    struct device_module *m = take_kept(image->ptx, bytes);
    if (!m) {
        m = xcalloc(1, sizeof *m);
        m->text = xmalloc(bytes + 1);
        m->bytes = bytes;
        memcpy(m->text, image->ptx, bytes);
    }
    free(m->label);
    free(m->path);
    m->label = xstrdup(label);
    m->path = xstrdup(path);
    if (m->ptx)
        m->ptx->label = m->label;
    else
        m->ptx = ptx_parse(m->label, image->ptx, bytes, err);
    if (m->ptx && place_variables(space, m, err))
        return m;
    module_unload(space, m);
    return NULL;
}

static void fill_signature(struct device_function *f, const struct ptx_function *entry)
{
    int n = 0;
    size_t bytes;
    for (const struct ptx_var *v = entry->params; v && n < 1024; v = v->next)
        n++;
    f->params = xcalloc((size_t)n + 1, sizeof *f->params);
    f->param_count = ptx_params(entry, f->params, n, &bytes);
}

struct device_function *module_function(struct device_module *module, const char *name, bool skips_sums, struct error *err)
{
    const struct ptx_function *entry = ptx_find_function(module->ptx, name);
    const char *isa;
    if (!entry || !entry->is_entry || !entry->has_body) {
        error_set(err, ERROR_USAGE, "%s: there is no kernel '%s'", module->label, name);
        for (const struct ptx_function *f = module->ptx->functions; f; f = f->next)
            if (f->is_entry) {
                error_hint(err, "there is '%s'", f->name);
                break;
            }
        return NULL;
    }
    isa_table(&isa);
    for (struct device_function *f = module->functions; f; f = f->next)
        if (f->program->functions[0].ptx == entry && f->skips_sums == skips_sums && !strcmp(f->isa, isa))
            return f;
    struct program *p = decode_entry(module->ptx, entry, err);
    if (!p)
        return NULL;
    isa_bind(p, skips_sums);
    struct device_function *f = xcalloc(1, sizeof *f);
    f->program = p;
    f->skips_sums = skips_sums;
    f->isa = isa;
    f->module = module;
    fill_signature(f, entry);
    f->next = module->functions;
    module->functions = f;
    return f;
}
