/* Loads and stores: addresses, bounds, alignment, and what they cost the hardware: sectors, wavefronts. */
#include "device/emu/mini.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct region *mini_region(struct mini *m, uint64_t address)
{
    for (int i = 0; i < m->count; i++)
        if (address >= m->regions[i].base && address < m->regions[i].base + m->regions[i].bytes)
            return &m->regions[i];
    return NULL;
}

void mini_report(struct block *b, const struct warp *w, const struct ins *in, int lane, const char *kind, const char *format, ...)
{
    struct mini *m = b->m;
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    while (atomic_flag_test_and_set(&m->lock))
        ;
    if (m->report_count < 16) {
        struct device_report *r = &m->reports[m->report_count++];
        uint32_t t = (uint32_t)(w->id * 32 + lane);
        const uint32_t *block = b->launch->block;
        *r = (struct device_report){.line = in->from ? in->from->place.line : 0, .count = 1};
        snprintf(r->kind, sizeof r->kind, "%s", kind);
        snprintf(r->text, sizeof r->text, "line %d: %s (block %u,%u,%u thread %u,%u,%u)", r->line, text, b->index[0], b->index[1], b->index[2], t % block[0], t / block[0] % block[1],
                 t / (block[0] * block[1]));
    }
    atomic_flag_clear(&m->lock);
    atomic_store(b->stop, 1);
}

static void out_of_bounds(struct block *b, struct warp *w, const struct ins *in, int lane, uint64_t address, size_t bytes, bool store, const char *where)
{
    struct region *near = NULL;
    for (int i = 0; i < b->m->count; i++)
        if (b->m->regions[i].base <= address)
            near = &b->m->regions[i];
    if (near && *where == 'g')
        mini_report(b, w, in, lane, "out_of_bounds", "global %s of %zu bytes at 0x%llx, %llu bytes past the end of `%s`", store ? "write" : "read", bytes, (unsigned long long)address,
                    (unsigned long long)(address - near->base - near->bytes), near->label);
    else
        mini_report(b, w, in, lane, "out_of_bounds", "%s %s of %zu bytes at 0x%llx, outside of every buffer", where, store ? "write" : "read", bytes, (unsigned long long)address);
}

static void move(struct warp *w, const struct ins *in, int lane, uint8_t *at, bool store)
{
    enum ptx_type t = (enum ptx_type)in->type;
    int bytes = ptx_type_bytes(t), reg = ptx_type_bytes((enum ptx_type)in->type2);
    for (int i = 0; i < in->vec; i++, at += bytes) {
        if (in->dst[i] < 0)
            continue;
        uint8_t *slot = w->frame + in->dst[i];
        if (store) {
            if (reg == 8)
                memcpy(at, slot + 8 * lane, (size_t)bytes);
            else
                memcpy(at, slot + 4 * lane, (size_t)bytes);
            continue;
        }
        uint64_t v = 0;
        memcpy(&v, at, (size_t)bytes);
        if (t == T_S8) v = (uint64_t)(int64_t)(int8_t)v;
        if (t == T_S16) v = (uint64_t)(int64_t)(int16_t)v;
        if (t == T_S32) v = (uint64_t)(int64_t)(int32_t)v;
        if (reg == 8)
            memcpy(slot + 8 * lane, &v, 8);
        else
            memcpy(slot + 4 * lane, &v, 4);
    }
}

static int distinct(uint64_t *v, int n)
{
    int count = 0, rising = 1;
    for (int i = 1; i < n; i++)
        rising &= v[i] >= v[i - 1];
    if (rising) { /* the common patterns: neighbours, strides, one value for all */
        for (int i = 0; i < n; i++)
            if (!count || v[count - 1] != v[i])
                v[count++] = v[i];
        return count;
    }
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int k = count - 1; k >= 0 && !seen; k--)
            seen = v[k] == v[i];
        if (!seen)
            v[count++] = v[i];
    }
    return count;
}

static void count_global(struct block *b, const struct ins *in, const uint64_t *address, uint32_t mask, size_t bytes, bool store, struct region *region)
{
    uint64_t sectors[64 * 2];
    int n = 0, lanes = __builtin_popcount(mask);
    for (int l = 0; l < 32; l++)
        if (mask >> l & 1)
            for (uint64_t s = address[l] / 32; s <= (address[l] + bytes - 1) / 32; s++)
                if (n < 128 && (!n || sectors[n - 1] != s))
                    sectors[n++] = s;
    n = distinct(sectors, n);
    uint8_t *touched = store ? region->touched_written : region->touched_read;
    for (int i = 0; i < n; i++)
        if (sectors[i] * 32 >= region->base && sectors[i] * 32 < region->base + region->bytes)
            touched[(sectors[i] * 32 - region->base) / 32] = 1;
    /* the least: the distinct bytes, packed */
    uint64_t firsts[32];
    int k = 0;
    for (int l = 0; l < 32; l++)
        if (mask >> l & 1)
            firsts[k++] = address[l];
    uint64_t ideal = ((uint64_t)distinct(firsts, k) * bytes + 31) / 32;
    uint64_t *p = b->per_ins + (size_t)(in - b->k->code) * N_COUNT;
    int r = store ? N_REQ_ST : N_REQ_LD, s = store ? N_SEC_ST : N_SEC_LD, d = store ? N_IDEAL_ST : N_IDEAL_LD;
    (void)lanes;
    b->n[r]++, b->n[s] += (uint64_t)n, b->n[d] += ideal;
    p[r]++, p[s] += (uint64_t)n, p[d] += ideal;
}

/* 32 banks of 4 bytes; equal words broadcast; 8-byte accesses in two halves of the warp, 16-byte ones in four quarters. */
static void count_shared(struct block *b, const struct ins *in, const uint64_t *address, uint32_t mask, size_t bytes, bool store)
{
    int parts = bytes >= 16 ? 4 : bytes == 8 ? 2 : 1, wave = 0, ideal = 0;
    for (int part = 0; part < parts; part++) {
        uint64_t words[128];
        int n = 0, per_bank[32] = {0}, most = 0;
        for (int l = part * 32 / parts; l < (part + 1) * 32 / parts; l++)
            if (mask >> l & 1)
                for (uint64_t a = address[l] / 4; a <= (address[l] + bytes - 1) / 4 && n < 128; a++)
                    words[n++] = a;
        n = distinct(words, n);
        for (int i = 0; i < n; i++)
            if (++per_bank[words[i] & 31] > most)
                most = per_bank[words[i] & 31];
        wave += most;
        ideal += (n + 31) / 32;
    }
    uint64_t *p = b->per_ins + (size_t)(in - b->k->code) * N_COUNT;
    int a = store ? N_WAVE_ST : N_WAVE_LD, d = store ? N_WIDEAL_ST : N_WIDEAL_LD;
    b->n[a] += (uint64_t)wave, b->n[d] += (uint64_t)ideal, b->n[N_CONFLICT] += (uint64_t)(wave - ideal);
    p[a] += (uint64_t)wave, p[d] += (uint64_t)ideal, p[N_CONFLICT] += (uint64_t)(wave - ideal);
}

bool mini_memory(struct block *b, struct warp *w, const struct ins *in, uint32_t mask, bool store)
{
    uint64_t address[32];
    size_t bytes = (size_t)ptx_type_bytes((enum ptx_type)in->type) * in->vec;
    struct region *region = NULL;
    int space = in->space, first = __builtin_ctz(mask);
    for (int l = 0; l < 32; l++) {
        uint64_t base = in->src[0] < 0 ? 0 : in->wide ? ((const uint64_t *)(const void *)(w->frame + in->src[0]))[l] : ((const uint32_t *)(const void *)(w->frame + in->src[0]))[l];
        address[l] = base + (uint64_t)in->imm;
    }
    if (space == SPACE_GENERIC) {
        uint64_t a = address[first], window = a & ~(WINDOW_BYTES - 1);
        space = window == SHARED_WINDOW ? SPACE_SHARED : window == LOCAL_WINDOW ? SPACE_LOCAL : window == PARAM_WINDOW ? SPACE_PARAM : SPACE_GLOBAL;
        for (int l = 0; l < 32 && space != SPACE_GLOBAL; l++)
            address[l] -= window;
    }
    for (int l = first; l < 32; l++) {
        if (!(mask >> l & 1))
            continue;
        uint64_t a = address[l];
        uint8_t *at = NULL;
        if (a % bytes) {
            mini_report(b, w, in, l, "misaligned", "%s of %zu bytes at 0x%llx", store ? "write" : "read", bytes, (unsigned long long)a);
            return false;
        }
        switch (space) {
        case SPACE_PARAM:
            if (a + bytes <= b->launch->param_bytes && !store)
                at = (uint8_t *)(size_t)b->launch->params + a;
            break;
        case SPACE_SHARED:
            if (a + bytes <= b->shared_bytes && a < b->shared_bytes)
                at = b->shared + a;
            break;
        case SPACE_LOCAL:
            if (a + bytes <= b->k->local_bytes)
                at = w->local + (size_t)l * b->k->local_bytes + a;
            break;
        default:
            if (!region || a < region->base || a + bytes > region->base + region->bytes)
                region = mini_region(b->m, a);
            if (region && a + bytes <= region->base + region->bytes)
                at = region->host + (a - region->base);
        }
        if (!at) {
            out_of_bounds(b, w, in, l, a, bytes, store, space == SPACE_SHARED ? "shared" : space == SPACE_LOCAL ? "local" : space == SPACE_PARAM ? "parameter" : "global");
            return false;
        }
        move(w, in, l, at, store);
    }
    if (space == SPACE_GLOBAL)
        count_global(b, in, address, mask, bytes, store, region);
    else if (space == SPACE_SHARED)
        count_shared(b, in, address, mask, bytes, store);
    return true;
}
