/* Runs blocks warp by warp. Lanes that part wait with their own next instruction; the group that is furthest behind runs, groups that meet become one. */
#include "device/emu/mini.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double mini_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void atom_value(const struct ins *in, void *at, uint64_t v, uint64_t v2, uint64_t *old)
{
    enum ptx_type t = (enum ptx_type)in->type;
    bool sign = ptx_type_signed(t), wide = ptx_type_bytes(t) == 8;
    if (t == T_F32) {
        float x, y;
        uint32_t vb = (uint32_t)v;
        memcpy(&x, at, 4);
        memcpy(&y, &vb, 4);
        *old = *(uint32_t *)at;
        if (in->compare == 0) x += y; else if (in->compare == 6) x = y;
        memcpy(at, &x, 4);
        return;
    }
    if (t == T_F64) {
        double x, y;
        memcpy(&x, at, 8);
        memcpy(&y, &v, 8);
        memcpy(old, at, 8);
        x += y;
        memcpy(at, &x, 8);
        return;
    }
    uint64_t o = wide ? *(uint64_t *)at : *(uint32_t *)at, r = o;
    int64_t so = wide ? (int64_t)o : (int32_t)o, sv = wide ? (int64_t)v : (int32_t)v;
    switch (in->compare) {
    case 0: r = o + v; break;
    case 1: r = sign ? (so < sv ? o : v) : o < v ? o : v; break;
    case 2: r = sign ? (so > sv ? o : v) : o > v ? o : v; break;
    case 3: r = o & v; break;
    case 4: r = o | v; break;
    case 5: r = o ^ v; break;
    case 6: r = v; break;
    case 7: r = o == v ? v2 : o; break;
    case 8: r = o >= v ? 0 : o + 1; break;
    case 9: r = o == 0 || o > v ? v : o - 1; break;
    default: break;
    }
    if (wide) *(uint64_t *)at = r; else *(uint32_t *)at = (uint32_t)r;
    *old = o;
}

static bool atom(struct block *b, struct warp *w, const struct ins *in, uint32_t mask)
{
    bool wide = ptx_type_bytes((enum ptx_type)in->type) == 8;
    size_t bytes = wide ? 8 : 4;
    LANES {
        uint64_t address = (uint64_t)in->imm + (in->src[0] < 0 ? 0 : in->wide ? S(uint64_t, 0)[l] : S(uint32_t, 0)[l]), old = 0;
        void *at = NULL;
        bool shared = in->space == SPACE_SHARED || (address >= SHARED_WINDOW && address < SHARED_WINDOW + WINDOW_BYTES);
        if (address >= SHARED_WINDOW && address < SHARED_WINDOW + WINDOW_BYTES) address -= SHARED_WINDOW;
        if (shared) {
            if (address + bytes <= b->shared_bytes) at = b->shared + address;
        } else {
            struct region *r = mini_region(b->m, address);
            if (r && address + bytes <= r->base + r->bytes) at = r->host + (address - r->base);
        }
        if (!at || address % bytes) {
            mini_report(b, w, in, l, at ? "misaligned" : "out_of_bounds", "atomic on %zu bytes at 0x%llx", bytes, (unsigned long long)address);
            return false;
        }
        uint64_t v = wide ? S(uint64_t, 1)[l] : S(uint32_t, 1)[l], v2 = in->nsrc > 1 ? wide ? S(uint64_t, 2)[l] : S(uint32_t, 2)[l] : 0;
        if (!shared) while (atomic_flag_test_and_set(&b->m->lock)) ;
        atom_value(in, at, v, v2, &old);
        if (!shared) atomic_flag_clear(&b->m->lock);
        if (in->dst[0] >= 0) {
            if (wide) D(uint64_t)[l] = old; else D(uint32_t)[l] = (uint32_t)old;
        }
    }
    return true;
}

/* ---- flow ---- */
static void wait_at(struct warp *w, int pc, uint32_t mask)
{
    for (int i = 0; i < w->waits; i++)
        if (w->wait[i].pc == pc) {
            w->wait[i].mask |= mask;
            return;
        }
    w->wait[w->waits].pc = pc;
    w->wait[w->waits++].mask = mask;
}

/* The group with the lowest next instruction runs; false: none is left. */
static bool pick(struct warp *w)
{
    int best = -1;
    for (int i = 0; i < w->waits; i++)
        if (best < 0 || w->wait[i].pc < w->wait[best].pc)
            best = i;
    if (best < 0)
        return false;
    w->pc = w->wait[best].pc;
    w->mask = w->wait[best].mask;
    w->wait[best] = w->wait[--w->waits];
    return true;
}

static void count(struct block *b, const struct ins *in, enum counter c, uint64_t n)
{
    b->n[c] += n;
    b->per_ins[(size_t)(in - b->k->code) * N_COUNT + (size_t)c] += n;
}

static bool stopped(struct block *b, struct warp *w, const struct ins *in)
{
    if (atomic_load_explicit(b->stop, memory_order_relaxed))
        return true;
    if (b->deadline > 0 && mini_now() > b->deadline) {
        mini_report(b, w, in, __builtin_ctz(w->mask), "time_limit", "the kernel ran longer than its time limit and was stopped");
        return true;
    }
    return false;
}

static bool branch(struct block *b, struct warp *w, const struct ins *in, uint32_t taken, uint32_t not_taken)
{
    if (taken && not_taken) {
        count(b, in, N_DIVERGENT, 1);
        wait_at(w, in->target, taken);
        wait_at(w, w->pc + 1, not_taken);
        return pick(w);
    }
    w->pc = taken ? in->target : w->pc + 1;
    return true;
}

/* Counts an instruction; the lanes that its guard lets through. */
static uint32_t begin(struct block *b, struct warp *w, const struct ins *in)
{
    uint32_t mask = w->mask;
    b->n[N_WARP]++;
    b->per_ins[(size_t)w->pc * N_COUNT + N_WARP]++;
    if (in->guard >= 0) {
        uint32_t p = mini_pred(w, in->guard);
        mask &= in->neg_guard ? ~p : p;
    }
    unsigned lanes = (unsigned)__builtin_popcount(mask);
    b->n[N_THREAD] += lanes;
    if (in->klass != N_MOVE || in->code != C_LD)
        b->n[in->klass]++;
    if (in->type == T_F32)
        b->n[N_FLOP32] += in->code == C_FMA ? 2 * lanes : in->code == C_ADD || in->code == C_MUL || in->code == C_SUB ? lanes : 0;
    return mask;
}

/* A warp at __syncthreads(): all its threads that are left must come. False: reported. */
static bool arrive(struct block *b, struct warp *w, const struct ins *in)
{
    uint32_t mask = w->mask;
    int pc = ++w->pc;
    w->at_bar |= mask;
    if (w->waits) { /* the others come first */
        pick(w);
        if (w->pc == pc) {
            w->mask |= mask;
            return true;
        }
    }
    if (mask == w->alive)
        return true;
    mini_report(b, w, in, __builtin_ctz(mask), "divergent_barrier", "__syncthreads() reached by %d of %d threads of a warp", __builtin_popcount(mask), __builtin_popcount(w->alive));
    return false;
}

/* Runs a warp until it waits at a barrier, ends, or the launch stops. */
static bool run_warp(struct block *b, struct warp *w)
{
    for (;;) {
        for (int i = 0; i < w->waits; i++) /* groups that meet become one; one that is further behind goes first */
            if (w->wait[i].pc <= w->pc) {
                wait_at(w, w->pc, w->mask);
                pick(w);
                break;
            }
        const struct ins *in = &b->k->code[w->pc];
        uint32_t mask;
        if ((++b->steps & 8191) == 0 && stopped(b, w, in))
            return false;
        mask = begin(b, w, in);
        switch (in->code) {
        case C_BRA:
            if (!branch(b, w, in, mask, w->mask & ~mask))
                return true;
            continue;
        case C_RET:
            w->alive &= ~mask;
            if (w->mask & ~mask) {
                w->mask &= ~mask;
                break;
            }
            if (!pick(w)) {
                w->done = true;
                return true;
            }
            continue;
        case C_TRAP:
            if (mask) {
                mini_report(b, w, in, __builtin_ctz(mask), "trap", "__trap()");
                return false;
            }
            break;
        case C_ASSERT:
            if (mask) {
                mini_report(b, w, in, __builtin_ctz(mask), "assert", "an assert failed");
                return false;
            }
            break;
        case C_BAR: return arrive(b, w, in);
        case C_LD: case C_ST:
            if (mask && !mini_memory(b, w, in, mask, in->code == C_ST))
                return false;
            break;
        case C_ATOM:
            if (mask && !atom(b, w, in, mask))
                return false;
            break;
        case C_NOP: break;
        default:
            if (mask)
                mini_alu(b, w, in, mask);
        }
        w->pc++;
    }
}

size_t mini_block_bytes(const struct kernel *k, const struct device_launch *launch)
{
    size_t threads = (size_t)launch->block[0] * launch->block[1] * launch->block[2], warps = (threads + 31) / 32;
    return warps * (sizeof(struct warp) + k->frame_bytes + k->const_bytes + 64 + 32u * k->local_bytes) + k->shared_bytes + launch->smem + 4096;
}

void mini_run_block(struct block *b, uint8_t *arena)
{
    const struct kernel *k = b->k;
    b->threads = (int)(b->launch->block[0] * b->launch->block[1] * b->launch->block[2]);
    b->warp_count = (b->threads + 31) / 32;
    b->shared_bytes = k->shared_bytes + b->launch->smem;
    memset(arena, 0, (size_t)b->warp_count * sizeof(struct warp));
    b->warps = (struct warp *)(void *)arena;
    uint8_t *at = arena + (((size_t)b->warp_count * sizeof(struct warp) + 63) & ~(size_t)63);
    b->shared = at;
    at += (b->shared_bytes + 63) & ~(size_t)63;
    memset(b->shared, 0xA5, b->shared_bytes);
    for (int i = 0; i < b->warp_count; i++) {
        struct warp *w = &b->warps[i];
        w->id = i;
        w->frame = at;
        at += k->frame_bytes + k->const_bytes;
        w->local = at;
        at += 32u * k->local_bytes;
        memcpy(w->frame + k->const_at, k->constants, k->const_bytes);
        int left = b->threads - 32 * i;
        w->alive = w->mask = left >= 32 ? ~0u : (1u << left) - 1;
    }
    for (bool more = true; more;) { /* every warp to the next barrier, in order */
        int waiting = 0, done = 0;
        for (int i = 0; i < b->warp_count; i++) {
            struct warp *w = &b->warps[i];
            if (!w->done && !run_warp(b, w))
                return;
            done += w->done;
            waiting += !w->done;
        }
        for (int i = 0; i < b->warp_count; i++)
            b->warps[i].at_bar = 0;
        more = waiting > 0;
        (void)done;
    }
}
