/* emu/run/atomics: atom and red on any space, lane after lane. */
#include "base/dtype.h"
#include "emu/check/races.h"
#include <math.h>
#include <string.h>

/* fminf and fmaxf give way to the number when one is NaN, as the instruction does. */
static uint16_t half_apply(uint16_t x, uint16_t y, enum atomic_op op, bool bf16)
{
    float a = bf16 ? bf16_to_f32(x) : f16_to_f32(x), b = bf16 ? bf16_to_f32(y) : f16_to_f32(y);
    float r = op == ATOMIC_MIN ? fminf(a, b) : op == ATOMIC_MAX ? fmaxf(a, b) : a + b;
    return bf16 ? bf16_from_f32(r) : f16_from_f32(r);
}

/* f32 and f64 are only added; halves also have min and max */
static uint64_t apply_float(uint64_t x, uint64_t y, enum atomic_op op, enum ptx_type t)
{
    if (t == T_F32) {
        float a, b;
        uint32_t u = (uint32_t)x, v = (uint32_t)y;
        memcpy(&a, &u, 4);
        memcpy(&b, &v, 4);
        a += b;
        memcpy(&u, &a, 4);
        return u;
    }
    if (t == T_F64) {
        double a, b;
        memcpy(&a, &x, 8);
        memcpy(&b, &y, 8);
        a += b;
        memcpy(&x, &a, 8);
        return x;
    }
    bool bf = t == T_BF16 || t == T_BF16X2;
    uint64_t r = half_apply((uint16_t)x, (uint16_t)y, op, bf);
    if (t == T_F16X2 || t == T_BF16X2)
        r |= (uint64_t)half_apply((uint16_t)(x >> 16), (uint16_t)(y >> 16), op, bf) << 16;
    return r;
}

static uint64_t apply(uint64_t x, uint64_t y, uint64_t z, enum atomic_op op, enum ptx_type t)
{
    bool is_signed = ptx_type_signed(t);
    int64_t sx = ptx_type_bytes(t) == 4 ? (int32_t)x : (int64_t)x, sy = ptx_type_bytes(t) == 4 ? (int32_t)y : (int64_t)y;
    if (ptx_type_float(t) && op <= ATOMIC_MAX)
        return apply_float(x, y, op, t);
    switch (op) {
    case ATOMIC_ADD: return x + y;
    case ATOMIC_MIN: return is_signed ? (sy < sx ? y : x) : y < x ? y : x;
    case ATOMIC_MAX: return is_signed ? (sy > sx ? y : x) : y > x ? y : x;
    case ATOMIC_INC: return x >= y ? 0 : x + 1;
    case ATOMIC_DEC: return x == 0 || x > y ? y : x - 1;
    case ATOMIC_AND: return x & y;
    case ATOMIC_OR: return x | y;
    case ATOMIC_XOR: return x ^ y;
    case ATOMIC_EXCH: return y;
    default: return x == y ? z : x;
    }
}

/* One atomic on host memory that other threads may share. */
#define UPDATE(T) \
    { \
        T *p = (T *)(void *)host; \
        T old = __atomic_load_n(p, __ATOMIC_RELAXED), want; \
        do \
            want = (T)apply(old, y, z, op, t); \
        while (!__atomic_compare_exchange_n(p, &old, want, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
        return old; \
    }
static uint64_t update(uint8_t *host, uint64_t y, uint64_t z, enum atomic_op op, enum ptx_type t)
{
    switch (ptx_type_bytes(t)) {
    case 2: UPDATE(uint16_t)
    case 4: UPDATE(uint32_t)
    default: UPDATE(uint64_t)
    }
}

void atomic_reduce(uint8_t *to, const uint8_t *from, uint64_t bytes, enum atomic_op op, enum ptx_type t)
{
    uint32_t size = (uint32_t)ptx_type_bytes(t);
    for (uint64_t k = 0; k + size <= bytes; k += size) {
        uint64_t value = 0;
        memcpy(&value, from + k, size);
        update(to + k, value, 0, op, t);
    }
}

static uint64_t lane_value(const struct warp *w, uint32_t ref, int bytes, int i)
{
    if (bytes == 2)
        return SLOT(const uint16_t, w, ref)[i];
    return bytes == 4 ? SLOT(const uint32_t, w, ref)[i] : SLOT(const uint64_t, w, ref)[i];
}

static void put_value(struct warp *w, uint32_t ref, int bytes, int i, uint64_t v)
{
    if (bytes == 2)
        SLOT(uint16_t, w, ref)[i] = (uint16_t)v;
    else if (bytes == 4)
        SLOT(uint32_t, w, ref)[i] = (uint32_t)v;
    else
        SLOT(uint64_t, w, ref)[i] = v;
}

/* exch and cas of 128 bits. Only one thread of the host runs a launch that has them (program.ordered) or sees the shared memory. */
static void update_wide(struct warp *w, const struct insn *ip, uint8_t *host, int i)
{
    uint8_t old[16] = {0};
    if (host) {
        const uint8_t *y = SLOT(const uint8_t, w, ip->b) + 16 * i;
        memcpy(old, host, 16);
        if (ip->kind == ATOMIC_EXCH)
            memcpy(host, y, 16);
        else if (!memcmp(old, y, 16))
            memcpy(host, SLOT(const uint8_t, w, ip->c) + 16 * i, 16);
    }
    if (ip->d != NO_REF)
        memcpy(SLOT(uint8_t, w, ip->d) + 16 * i, old, 16);
}

/* The most lanes on one address. */
static uint32_t contention(const uint64_t *address, uint32_t mask)
{
    uint32_t most = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t n = 0;
        for (uint32_t all = mask; all; all &= all - 1)
            n += address[__builtin_ctz(all)] == address[__builtin_ctz(rest)];
        most = n > most ? n : most;
    }
    return most;
}

/* a = address, b, c = operands (vectors: list, count), d = old value or NO_REF; kind = operation, aux = type | space << 8; flags 1 = wide
 * shared address */
const struct insn *emu_atom(struct warp *w, const struct insn *ip)
{
    enum ptx_type t = (enum ptx_type)(ip->aux & 255);
    enum ptx_space space = (enum ptx_space)(ip->aux >> 8);
    int bytes = ptx_type_bytes(t);
    uint64_t address[32];
    uint32_t good = 0;
    lane_addresses(w, ip, space, address);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint8_t *host = resolve_lane(w, ip, i, space, address[i], (uint32_t)(bytes * ip->count), ACCESS_ATOMIC);
        if (bytes == 16)
            update_wide(w, ip, host, i);
        if (!host) {
            if (bytes < 16 && ip->d != NO_REF && ip->count == 1)
                put_value(w, ip->d, bytes, i, 0);
            continue;
        }
        good |= 1u << i;
        if (bytes == 16)
            continue;
        if (ip->count == 1) {
            uint64_t old = update(host, lane_value(w, ip->b, bytes, i), ip->c == NO_REF ? 0 : lane_value(w, ip->c, bytes, i),
                                  (enum atomic_op)ip->kind, t);
            if (ip->d != NO_REF)
                put_value(w, ip->d, bytes, i, old);
            continue;
        }
        for (int v = 0; v < ip->count; v++) { /* list: values, then results */
            uint64_t old = update(host + v * bytes, lane_value(w, ip->list[v], bytes, i), 0, (enum atomic_op)ip->kind, t);
            if (ip->list[ip->count + v] != NO_REF)
                put_value(w, ip->list[ip->count + v], bytes, i, old);
        }
    }
    count_lanes(w, ip, space, address, good, (uint32_t)(bytes * ip->count));
    w->memos[ip->memo].events += contention(address, good);
    w->clocks[w->id]++;
    races_tick(w);
    emu_poll(w);
    return ip + 1;
}
