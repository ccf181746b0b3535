/* emu/run/control: traps, indirect branches, calls of the system, barriers of the block. */
#include "emu/check/agents.h"
#include "emu/check/races.h"
#include "emu/handlers.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

const struct insn *emu_trap(struct warp *w, const struct insn *ip)
{
    emu_report(w, ip, __builtin_ctz(w->mask), "trap", "the kernel trapped");
    w->runner->launch->fatal = 1;
    return warp_stop(w);
}

const struct insn *emu_unsupported(struct warp *w, const struct insn *ip)
{
    char op[160];
    ptx_instr_text(w->program->cold[ip->index].source, op, sizeof op);
    emu_report(w, ip, -1, "unsupported", "emu does not support '%s' (PTX line %d)", op, w->program->cold[ip->index].source->ptx_line);
    w->runner->launch->fatal = 1;
    return warp_stop(w);
}

const struct insn *emu_yield(struct warp *w, const struct insn *ip)
{
    emu_poll(w);
    return ip + 1;
}

/* list: [0] how many, then the flows; a = index */
const struct insn *emu_brx(struct warp *w, const struct insn *ip)
{
    const uint32_t *index = SLOT(const uint32_t, w, ip->a);
    uint32_t left = w->mask, first = index[__builtin_ctz(left)];
    for (uint32_t rest = left; rest; rest &= rest - 1)
        if (index[__builtin_ctz(rest)] >= ip->list[0]) {
            emu_report(w, ip, __builtin_ctz(rest), "trap", "branch index %u of %u", index[__builtin_ctz(rest)], ip->list[0]);
            return warp_stop(w);
        }
    bool uniform = true;
    while (left) {
        uint32_t target = index[__builtin_ctz(left)], same = 0;
        for (uint32_t rest = left; rest; rest &= rest - 1)
            if (index[__builtin_ctz(rest)] == target)
                same |= 1u << __builtin_ctz(rest);
        uniform &= target == first;
        left &= ~same;
        w->mask = same;
        warp_park(w, w->program->flows + ip->list[1 + target], NULL, FRAGMENT_READY, 0);
    }
    if (!uniform)
        w->memos[ip->memo].events++;
    return warp_next_fragment(w);
}

/* ---- calls ---- */
static void print_text(struct warp *w, uint64_t address, char *out, size_t bytes)
{
    const struct address_space *s = w->runner->launch->space;
    size_t n = 0;
    struct buffer *b = address ? space_find(s, address) : NULL;
    while (b && n + 1 < bytes && address - b->base < b->bytes) {
        char c = (char)b->host[address - b->base];
        if (!c)
            break;
        out[n++] = c;
        address++;
    }
    out[n] = 0;
}

/* A text that the kernel names: in any memory of its own, and a finding where it leaves that. */
static void lane_text(struct warp *w, const struct insn *ip, int lane, uint64_t address, char *out, size_t bytes)
{
    size_t n = 0;
    for (const uint8_t *c; n + 1 < bytes && (c = resolve_lane(w, ip, lane, SPACE_GENERIC, address + n, 1, ACCESS_READ)) && *c;)
        out[n++] = (char)*c;
    out[n] = 0;
}

/* Copies a conversion without its length letters and limits its numbers to the length of a line, so that no text has two billion blanks. */
static size_t bounded_flags(const char *from, size_t n, char *flags)
{
    size_t k = 0, digits = 0;
    for (size_t i = 0; i < n; i++) {
        digits = isdigit((unsigned char)from[i]) && (digits || from[i] != '0') ? digits + 1 : 0;
        if (digits > 3)
            memset(flags + k - 3, '9', 3);
        else if (!strchr("hlzjt", from[i]))
            flags[k++] = from[i];
    }
    return k;
}

/* vprintf(format, arguments): text goes to the standard output of the program, as on a GPU. */
static void print_lane(struct warp *w, const struct insn *ip, int lane, uint64_t format_at, uint64_t args)
{
    char format[1024], line[4096];
    size_t used = 0;
    w->fuel -= 16; /* the time limit is looked at when it is used up */
    lane_text(w, ip, lane, format_at, format, sizeof format);
    for (const char *p = format; *p && used + 1 < sizeof line;) {
        if (*p != '%' || p[1] == '%') {
            line[used++] = *p;
            p += *p == '%' ? 2 : 1;
            continue;
        }
        size_t n = 1 + strspn(p + 1, "-+ #0123456789.hlzjt");
        char kind = p[n];
        if (!kind || n > 40)
            break;
        bool wide = memchr(p, 'l', n) || memchr(p, 'z', n) || memchr(p, 'j', n) || strchr("eEfFgGaAps", kind);
        uint32_t bytes = wide ? 8 : 4;
        if (args)
            args = (args + bytes - 1) & ~(uint64_t)(bytes - 1);
        const uint8_t *from = args ? resolve_lane(w, ip, lane, SPACE_GENERIC, args, bytes, ACCESS_READ) : NULL;
        uint64_t v = 0;
        if (!from)
            break;
        memcpy(&v, from, bytes);
        args += bytes;
        char *out = line + used, flags[48];
        size_t room = sizeof line - used, k = bounded_flags(p, n, flags);
        int wrote = 0;
        /* the length letters are put back for 64 bits */
        if (strchr("diouxX", kind)) {
            snprintf(flags + k, sizeof flags - k, "ll%c", kind);
            wrote = snprintf(out, room, flags, kind == 'd' || kind == 'i' ? (wide ? (long long)v : (long long)(int32_t)v) : (long long)v);
        } else if (strchr("eEfFgGaA", kind)) {
            double d;
            memcpy(&d, &v, 8);
            snprintf(flags + k, sizeof flags - k, "%c", kind);
            wrote = snprintf(out, room, flags, d);
        } else if (kind == 'c') {
            wrote = snprintf(out, room, "%c", (int)v);
        } else if (kind == 's') {
            char text[512] = "(null)";
            if (v)
                lane_text(w, ip, lane, v, text, sizeof text);
            snprintf(flags + k, sizeof flags - k, "s");
            wrote = snprintf(out, room, flags, text);
        } else if (kind == 'p') {
            wrote = snprintf(out, room, "0x%llx", (unsigned long long)v);
        }
        used += wrote < 0 ? 0 : (size_t)wrote < room ? (size_t)wrote : room - 1;
        p += n + 1;
    }
    emu_print(w->runner->launch, w->block->number, line, used);
}

static uint64_t argument(const struct warp *w, const struct insn *ip, uint32_t k, int lane, uint32_t bytes)
{
    uint64_t v = 0;
    const uint32_t *a = ip->list + 3 + 2 * k;
    if (k >= ip->list[0]) /* called with fewer */
        return 0;
    memcpy(&v, w->base[0] + a[0] + (size_t)lane * a[1], bytes < a[1] ? bytes : a[1]);
    return v;
}

static void set_result(struct warp *w, const struct insn *ip, int lane, const void *value, uint32_t bytes)
{
    const uint32_t *a = ip->list + 3 + 2 * ip->list[0];
    if (ip->list[1])
        memcpy(w->base[0] + a[0] + (size_t)lane * a[1], value, bytes < a[1] ? bytes : a[1]);
}

static const struct insn *system_call(struct warp *w, const struct insn *ip)
{
    const struct flow *next = w->program->flows + ip->list[2];
    char expression[256], file[256], function[256];
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        int32_t one = 1;
        uint64_t address;
        switch (ip->kind) {
        case CALL_VPRINTF:
            if (ip->list[0] >= 2)
                print_lane(w, ip, i, argument(w, ip, 0, i, 8), argument(w, ip, 1, i, 8));
            set_result(w, ip, i, &one, 4);
            break;
        case CALL_ASSERTFAIL:
            print_text(w, argument(w, ip, 0, i, 8), expression, sizeof expression);
            print_text(w, argument(w, ip, 1, i, 8), file, sizeof file);
            print_text(w, argument(w, ip, 3, i, 8), function, sizeof function);
            emu_report(w, ip, i, "assert", "%s:%u: %s: assertion `%s` failed", file, (unsigned)argument(w, ip, 2, i, 4), function,
                       expression);
            break;
        case CALL_MALLOC:
            emu_malloc(w, ip, i, argument(w, ip, 0, i, 8), &address);
            set_result(w, ip, i, &address, 8);
            break;
        default: emu_free(w, ip, i, argument(w, ip, 0, i, 8)); break;
        }
    }
    if (ip->kind == CALL_ASSERTFAIL) {
        w->runner->launch->fatal = 1;
        return warp_exit(w);
    }
    warp_park(w, next, NULL, FRAGMENT_READY, 0);
    return warp_next_fragment(w);
}

const struct insn *emu_call(struct warp *w, const struct insn *ip)
{
    if (ip->kind == CALL_DIRECT)
        return warp_call(w, ip, w->program->functions + ip->aux, w->mask);
    if (ip->kind != CALL_INDIRECT)
        return system_call(w, ip);
    const uint64_t *a = SLOT(const uint64_t, w, ip->a);
    uint32_t left = w->mask;
    while (left) { /* one activation for each function named; the last one runs first */
        uint64_t handle = a[__builtin_ctz(left)];
        uint32_t same = 0;
        for (uint32_t rest = left; rest; rest &= rest - 1)
            if (a[__builtin_ctz(rest)] == handle)
                same |= 1u << __builtin_ctz(rest);
        const struct function *f = NULL;
        for (int i = 1; i < w->program->function_count; i++)
            if (w->program->functions[i].handle == handle)
                f = &w->program->functions[i];
        if (!f) {
            emu_report(w, ip, __builtin_ctz(left), "trap", "call of 0x%llx, which is not a function", (unsigned long long)handle);
            return warp_stop(w);
        }
        if (same == w->mask)
            return warp_call(w, ip, f, same);
        /* lanes that call something else wait at the call itself */
        uint32_t rest = w->mask & ~same;
        int32_t node = w->node;
        w->fragments[w->others++] = (struct fragment){.ip = ip, .mask = rest, .node = node, .state = FRAGMENT_READY};
        return warp_call(w, ip, f, same);
    }
    return warp_next_fragment(w);
}

/* ---- barriers of the block ---- */
/* kind: 0 sync, 1 arrive, 2 red.popc, 3 red.and, 4 red.or; a = id, b = count or NO_REF; c = predicate (flags 1 negated); flags 2 = not
 * aligned */
static uint32_t uniform_value(const struct warp *w, uint32_t ref, uint32_t mask)
{
    return SLOT(const uint32_t, w, ref)[__builtin_ctz(mask)];
}

static uint64_t warps_alive(const struct block *b)
{
    uint64_t m = 0;
    for (int i = 0; i < b->warp_count; i++)
        if (b->warps[i].state != WARP_DONE)
            m |= 1ull << i;
    return m;
}

static void barrier_finish(struct block *b, struct barrier *bar)
{
    race_join(b, bar->present, bar->waiting);
    for (int i = 0; i < b->warp_count; i++) {
        struct warp *w = &b->warps[i];
        if (!(bar->waiting >> i & 1))
            continue;
        for (int k = 0; k < w->others; k++) {
            struct fragment *f = &w->fragments[k];
            if (f->state != FRAGMENT_BARRIER)
                continue;
            const struct insn *ip = f->ip;
            uint8_t *base = w->stack + (f->node < 0 ? 0 : w->nodes[f->node].frame);
            if (ip->kind == 2) {
                for (int l = 0; l < 32; l++)
                    if (f->mask >> l & 1)
                        ((uint32_t *)(void *)(base + ip->d))[l] = bar->reduce_count;
            } else if (ip->kind > 2) {
                uint32_t *d = (uint32_t *)(void *)(base + ip->d), v = (ip->kind == 3 ? bar->reduce_and : bar->reduce_or) ? ~0u : 0;
                *d = (*d & ~f->mask) | (v & f->mask);
            }
            f->state = FRAGMENT_READY;
            f->ip = ip + 1;
        }
        w->state = WARP_READY;
    }
    *bar = (struct barrier){.reduce_and = 1, .generation = bar->generation + 1};
}

static void barrier_try(struct block *b, struct barrier *bar)
{
    if (!bar->present)
        return;
    if (bar->expected ? bar->arrived >= bar->expected : !(warps_alive(b) & ~bar->present))
        barrier_finish(b, bar);
}

/* A warp ended: barriers of all threads may be complete now. */
void barrier_warp_done(struct block *b)
{
    for (int i = 0; i < 16; i++)
        if (b->barriers[i].waiting && !b->barriers[i].expected)
            barrier_try(b, &b->barriers[i]);
}

static void barrier_reduce(struct warp *w, const struct fragment *f, struct barrier *bar)
{
    const struct insn *ip = f->ip;
    if (ip->kind < 2)
        return;
    const uint8_t *base = ip->c & 1 ? w->base[1] : w->stack + (f->node < 0 ? 0 : w->nodes[f->node].frame);
    uint32_t p = *(const uint32_t *)(const void *)(base + ip->c) ^ (ip->flags & 1 ? ~0u : 0);
    bar->reduce_count += (uint32_t)__builtin_popcount(p & f->mask);
    bar->reduce_and &= (p & f->mask) == f->mask;
    bar->reduce_or |= (p & f->mask) != 0;
}

/* All lanes that can come have come: the warp arrives. */
void barrier_warp_arrives(struct warp *w)
{
    struct block *b = w->block;
    const struct fragment *first = &w->fragments[0];
    uint32_t here = 0, missing = 0;
    const struct insn *ip = first->ip;
    for (int i = 0; i < w->others; i++) {
        const struct fragment *f = &w->fragments[i];
        here |= f->mask;
        if (!(f->ip->flags & 2))
            missing |= f->wanted;
        if (f->ip != ip && (w->checks & CHECK_SYNC) && !((f->ip->flags | ip->flags) & 2))
            emu_report(w, f->ip, __builtin_ctz(f->mask), "divergent_barrier",
                       "lanes 0x%08x of warp %d wait at this barrier, but lanes 0x%08x at the barrier of line %d", f->mask, w->id,
                       first->mask, w->program->cold[ip->index].line);
    }
    if ((missing & ~here) && (w->checks & CHECK_SYNC))
        emu_report(w, ip, __builtin_ctz(here), "divergent_barrier", "lanes 0x%08x of warp %d reach the barrier, but lanes 0x%08x do not",
                   here, w->id, missing & ~here);
    uint32_t id = w->barrier_id & 15;
    struct barrier *bar = &b->barriers[id];
    if ((w->checks & CHECK_SYNC) && bar->present && bar->first != ip && !bar->expected && !(ip->flags & 2) &&
        bar->first->kind == ip->kind && ip->kind == 0 && w->program->cold[ip->index].line != w->program->cold[bar->first->index].line)
        emu_report(w, ip, __builtin_ctz(here), "divergent_barrier",
                   "warp %d waits at this barrier, but other warps at the barrier of line %d", w->id,
                   w->program->cold[bar->first->index].line);
    if (!bar->present) {
        bar->reduce_and = 1;
        bar->first = ip;
    }
    for (int i = 0; i < w->others; i++)
        barrier_reduce(w, &w->fragments[i], bar);
    bar->expected = w->barrier_count;
    bar->arrived += 32;
    bar->waiting |= 1ull << w->id;
    bar->present |= 1ull << w->id;
    barrier_try(b, bar);
}

/* Lanes that are alive elsewhere and have more to do than to end: those that returned early are not part of a barrier. */
static uint32_t lanes_elsewhere(const struct warp *w)
{
    uint32_t m = w->alive & ~w->mask;
    for (int i = 0; i < w->others; i++) {
        const struct fragment *f = &w->fragments[i];
        if (f->at && (f->at->start->op == OP_exit || (f->at->start->op == OP_ret && f->node < 0)))
            m &= ~f->mask;
    }
    return m;
}

/* What no machine promises anything of: false when the kernel cannot go on. */
static bool barrier_sound(struct warp *w, const struct insn *ip, uint32_t id, uint32_t count)
{
    int lane = __builtin_ctz(w->mask);
    if (id > 15 || count % 32) {
        if (id > 15)
            emu_report(w, ip, lane, "trap", "barrier %u: a block has 0 to 15", id);
        else
            emu_report(w, ip, lane, "trap", "a barrier of %u threads: the number must be a multiple of 32", count);
        w->runner->launch->fatal = 1;
        return false;
    }
    const struct barrier *bar = &w->block->barriers[id];
    if ((w->checks & CHECK_SYNC) && bar->present && bar->expected != count)
        emu_report(w, ip, lane, "divergent_barrier", "warp %d reaches barrier %u with %u threads, but other warps with %u (0: all)", w->id,
                   id, count, bar->expected);
    return true;
}

const struct insn *emu_bar(struct warp *w, const struct insn *ip)
{
    uint32_t id = uniform_value(w, ip->a, w->mask), count = ip->b == NO_REF ? 0 : uniform_value(w, ip->b, w->mask);
    w->memos[ip->memo].events++;
    if (!barrier_sound(w, ip, id, count))
        return warp_stop(w);
    if (ip->kind == 1) { /* arrive: goes on */
        struct barrier *bar = &w->block->barriers[id];
        if (!bar->present) {
            bar->reduce_and = 1;
            bar->first = ip;
        }
        bar->expected = count;
        bar->arrived += 32;
        bar->present |= 1ull << w->id;
        barrier_try(w->block, bar);
        return ip + 1;
    }
    w->barrier_id = (int)id;
    w->barrier_count = count;
    warp_park(w, NULL, ip, FRAGMENT_BARRIER, lanes_elsewhere(w));
    return warp_next_fragment(w);
}

const struct insn *emu_fence(struct warp *w, const struct insn *ip)
{
    if (ip->kind & (FENCE_ASYNC_GLOBAL | FENCE_MAP))
        races_fence_async(w);
    if (ip->kind & FENCE_ASYNC_SHARED)
        race_proxy_fence(w);
    else if (ip->kind & FENCE_ASYNC_GLOBAL)
        races_tick(w);
    if (ip->kind & (FENCE_ASYNC_SHARED | FENCE_ASYNC_GLOBAL))
        return ip + 1;
    race_flag_fence(w);
    w->cluster_fenced |= (ip->kind & (FENCE_WIDE | FENCE_INIT)) != 0;
    if (w->trace && (ip->kind & FENCE_WIDE) && !races_blind(w->runner))
        races_fence(w);
    return ip + 1;
}
