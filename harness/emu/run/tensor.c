#include "emu/check/races.h"
#include "emu/tensor.h"
#include "emu/run/tensor_sum.h"
#include "base/dtype.h"
#include "emu/async.h"
#include "emu/convert.h"
#include <math.h>
#include <string.h>

int tensor_type_of(enum mma_form f)
{
    switch (f) {
    case MMA_F16: return TENSOR_F16;
    case MMA_BF16: return TENSOR_BF16;
    case MMA_E4M3: return TENSOR_E4M3;
    case MMA_E5M2: return TENSOR_E5M2;
    case MMA_E2M1:
    case MMA_E2M1_BYTE: return TENSOR_E2M1;
    case MMA_E2M3: return TENSOR_E2M3;
    case MMA_E3M2: return TENSOR_E3M2;
    default: return TENSOR_TF32;
    }
}

/* Element e of register r of a lane: its row and its k (a), its k and column (b: row = k), its row and column (c). */
static void mma_place_a(int m, int k, int bits, int r, int lane, int e, int *row, int *col)
{
    int g = lane >> 2, t = lane & 3, per = bits > 32 ? 1 : 32 / bits, groups = k / (4 * per);
    if (groups < 1)
        groups = 1;
    if (m == 8) {
        *row = g;
        *col = r % groups * 4 * per + t * per + e;
        return;
    }
    int tile = r / (2 * groups) % (m / 16), rr = r % (2 * groups);
    *row = 16 * tile + g + 8 * (rr & 1);
    *col = (rr >> 1) * 4 * per + t * per + e;
}

static void mma_place_b(int n, int k, int bits, int r, int lane, int e, int *row, int *col)
{
    int g = lane >> 2, t = lane & 3, per = bits > 32 ? 1 : 32 / bits, groups = k / (4 * per);
    if (groups < 1)
        groups = 1;
    *col = r / groups % (n / 8) * 8 + g;
    *row = r % groups * 4 * per + t * per + e;
}

static void mma_place_c(int m, int n, int bits, int r, int lane, int e, int *row, int *col)
{
    int g = lane >> 2, t = lane & 3, per = bits == 16 ? 2 : 1, wide = 2 / per; /* registers of a row of 8 */
    int tiles = n / 8, rows = m == 8 ? 1 : 2, tile = r / (wide * rows), rr = r % (wide * rows);
    *row = (m == 8 ? 0 : 16 * (tile / tiles)) + g + 8 * (rr / wide);
    *col = tile % tiles * 8 + 2 * t + (per == 2 ? e : rr % wide);
}

/* ---- values ---- */
static double element(const struct warp *w, uint32_t ref, int lane, int e, enum mma_form f)
{
    const uint8_t *slot = SLOT(const uint8_t, w, ref);
    uint32_t u;
    float x;
    double d;
    if (f == MMA_F64) {
        memcpy(&d, slot + lane * 8, 8);
        return d;
    }
    memcpy(&u, slot + lane * 4, 4);
    switch (f) {
    case MMA_F16: return (double)f16_to_f32((uint16_t)(u >> 16 * e));
    case MMA_BF16: return (double)bf16_to_f32((uint16_t)(u >> 16 * e));
    case MMA_S8: return (int8_t)(u >> 8 * e);
    case MMA_U8: return (uint8_t)(u >> 8 * e);
    case MMA_S4: return (int)(u >> 4 * e & 15) - ((u >> 4 * e & 8) ? 16 : 0);
    case MMA_U4: return u >> 4 * e & 15;
    case MMA_B1: return u >> e & 1;
    case MMA_E4M3: return narrow_value((uint8_t)(u >> 8 * e), FORM_E4M3);
    case MMA_E5M2: return narrow_value((uint8_t)(u >> 8 * e), FORM_E5M2);
    case MMA_E2M1: return narrow_value(u >> 4 * e & 15, FORM_E2M1);
    case MMA_E2M1_BYTE: return narrow_value(u >> (8 * e + 2) & 15, FORM_E2M1);
    case MMA_E2M3: return narrow_value(u >> 8 * e & 63, FORM_E2M3);
    case MMA_E3M2: return narrow_value(u >> 8 * e & 63, FORM_E3M2);
    case MMA_S32: return (int32_t)u;
    case MMA_TF32:
        u &= 0xffffe000u; /* the tensor core looks at 19 bits */
        memcpy(&x, &u, 4);
        return (double)x;
    default: memcpy(&x, &u, 4); return (double)x;
    }
}

static void tensor_put(struct warp *w, uint32_t ref, int lane, int e, enum mma_form f, double v)
{
    uint8_t *slot = SLOT(uint8_t, w, ref);
    uint16_t h;
    uint32_t u;
    float x = (float)v;
    switch (f) {
    case MMA_F64: memcpy(slot + lane * 8, &v, 8); break;
    case MMA_F16:
        h = v != v ? 0x7fff : f16_from_f32(x);
        memcpy(slot + lane * 4 + 2 * e, &h, 2);
        break;
    case MMA_S32:
        u = (uint32_t)(int64_t)v;
        memcpy(slot + lane * 4, &u, 4);
        break;
    default:
        memcpy(&u, &x, 4);
        if (x != x)
            u = 0x7fffffffu;
        memcpy(slot + lane * 4, &u, 4);
        break;
    }
}

struct tiles { /* 32 x 16, 8 x 32, 16 x 8 x 256 (b1) ... */
    double a[16 * 256], b[256 * 32], c[32 * 32];
    double scale_a[16][4], scale_b[8][4];
    int k;                  /* stored elements of a row of a */
    uint8_t pick[16 * 256]; /* by those: the element of b that each is multiplied with */
};

static int elements(enum mma_form f)
{
    return mma_form_bits(f) >= 32 ? 1 : 32 / mma_form_bits(f);
}

static void gather(const struct warp *w, const uint32_t *l, const uint32_t *refs, struct tiles *t)
{
    int m = (int)l[MMA_M], n = (int)l[MMA_N], k = (int)l[MMA_K], row, col;
    uint32_t at = l[MMA_COUNT_D];
    for (uint32_t r = 0; r < l[MMA_COUNT_A]; r++)
        for (int lane = 0; lane < 32; lane++)
            for (int e = 0; e < elements((enum mma_form)l[MMA_FA]); e++) {
                mma_place_a(m, t->k, mma_form_bits((enum mma_form)l[MMA_FA]), (int)r, lane, e, &row, &col);
                t->a[row * t->k + col] = element(w, refs[at + r], lane, e, (enum mma_form)l[MMA_FA]);
            }
    at += l[MMA_COUNT_A];
    for (uint32_t r = 0; r < l[MMA_COUNT_B]; r++)
        for (int lane = 0; lane < 32; lane++)
            for (int e = 0; e < elements((enum mma_form)l[MMA_FB]); e++) {
                mma_place_b(n, k, mma_form_bits((enum mma_form)l[MMA_FB]), (int)r, lane, e, &row, &col);
                t->b[row * n + col] = element(w, refs[at + r], lane, e, (enum mma_form)l[MMA_FB]);
            }
    at += l[MMA_COUNT_B];
    for (uint32_t r = 0; r < l[MMA_COUNT_C]; r++)
        for (int lane = 0; lane < 32; lane++)
            for (int e = 0; e < (l[MMA_FC] == MMA_F16 ? 2 : 1); e++) {
                mma_place_c(m, n, mma_form_bits((enum mma_form)l[MMA_FC]), (int)r, lane, e, &row, &col);
                t->c[row * n + col] = element(w, refs[at + r], lane, e, (enum mma_form)l[MMA_FC]);
            }
}

static double scale_of(const struct warp *w, const uint32_t *slots, uint32_t flags, int lane, int at)
{
    uint32_t word = SLOT(const uint32_t, w, slots[0])[lane];
    uint8_t code = (uint8_t)(word >> 8 * (SLOT(const uint16_t, w, slots[1])[0] + at));
    return flags & MMA_UE4M3 ? (double)emu_fp8(code & 0x7f, true) : dtype_get(DTYPE_E8M0, &code, 0);
}

/* The scales of m16n8 (PTX ISA, "Scale factors"): of four neighbouring lanes a selected pair has those of a's rows g and g + 8, a selected
 * one those of b's column g. */
static void gather_scales(const struct warp *w, const uint32_t *l, const uint32_t *slots, struct tiles *t)
{
    uint32_t flags = l[MMA_FLAGS], pair = SLOT(const uint16_t, w, slots[2])[0] & 1, lane = SLOT(const uint16_t, w, slots[5])[0] & 3;
    for (int i = 0; i < (int)(flags >> MMA_SCALES); i++) {
        for (int row = 0; row < 16; row++)
            t->scale_a[row][i] = scale_of(w, slots, flags, row % 8 * 4 + 2 * (int)pair + row / 8, i);
        for (int col = 0; col < 8; col++)
            t->scale_b[col][i] = scale_of(w, slots + 3, flags, col * 4 + (int)lane, i);
    }
}

/* In double and rounded once: how tensor cores add scaled products was not published. */
static double scaled_sum(const struct tiles *t, const uint32_t *l, int row, int col)
{
    int n = (int)l[MMA_N], block = (int)l[MMA_K] / (int)(l[MMA_FLAGS] >> MMA_SCALES);
    double sum = t->c[row * n + col];
    for (int i = 0; i < t->k; i++) {
        int at = t->pick[row * t->k + i];
        sum += t->a[row * t->k + i] * t->b[at * n + col] * t->scale_a[row][at / block] * t->scale_b[col][at / block];
    }
    return sum;
}

static double sum_one(const struct tiles *t, const uint32_t *l, int row, int col, int cc)
{
    int n = (int)l[MMA_N], k = t->k;
    double sum = t->c[row * n + col];
    const double *a = t->a + row * k, *b = t->b + col;
    const uint8_t *pick = t->pick + row * k;
    if (l[MMA_FLAGS] >> MMA_SCALES)
        return scaled_sum(t, l, row, col);
    if (l[MMA_FD] == MMA_F64) {
        for (int i = 0; i < k; i++)
            sum = fma(a[i], b[pick[i] * n], sum);
    } else if (l[MMA_FD] == MMA_S32) {
        int64_t s = (int64_t)sum;
        for (int i = 0; i < k; i++) {
            int64_t x = (int64_t)a[i], y = (int64_t)b[pick[i] * n];
            s += l[MMA_FA] == MMA_B1 ? (l[MMA_FLAGS] & MMA_AND_POPC ? (x & y) : (x ^ y)) : x * y;
        }
        sum = (double)(int32_t)whole_result(s, l[MMA_FLAGS] & MMA_SAT);
    } else {
        const enum tensor_type ta = (enum tensor_type)tensor_type_of((enum mma_form)l[MMA_FA]),
                               tb = (enum tensor_type)tensor_type_of((enum mma_form)l[MMA_FB]);
        const struct tensor_rule rule = tensor_rule_of(cc, TENSOR_MMA, ta);
        float x[TENSOR_K_MAX], y[TENSOR_K_MAX];
        for (int i = 0; i < k; i++) {
            x[i] = (float)a[i];
            y[i] = (float)b[pick[i] * n];
        }
        sum = (double)tensor_sum(&rule, x, ta, y, tb, k, (float)sum, l[MMA_FD] == MMA_F16);
    }
    return sum;
}

float emu_fp8(uint8_t v, bool e4m3)
{
    return (float)dtype_get(e4m3 ? DTYPE_E4M3 : DTYPE_E5M2, &v, 0);
}

void emu_wgmma_a(struct warp *w, const uint32_t *list, uint32_t h, uint32_t k0, float *out)
{
    const uint32_t *a = list + WGMMA_HEADER + list[WGMMA_COUNT_D];
    enum mma_form f = (enum mma_form)list[WGMMA_FA];
    int row, col;
    for (uint32_t r = 0; r < list[WGMMA_COUNT_A]; r++)
        for (int lane = 0; lane < 32; lane++)
            for (int e = 0; e < elements(f); e++) {
                mma_place_a(16, (int)list[WGMMA_K], mma_form_bits(f), (int)r, lane, e, &row, &col);
                if (row / 8 == (int)h && col >= (int)k0 && col < (int)k0 + 8)
                    out[row % 8 * 8 + col - (int)k0] = (float)element(w, a[r], lane, e, f);
            }
}

/* All lanes must take part. */
static void check_full(struct warp *w, const struct insn *ip)
{
    if (w->mask != ~0u && (w->checks & CHECK_SYNC))
        emu_report(w, ip, __builtin_ctz(~w->mask), "inactive_lane", "only lanes 0x%08x of the warp execute this matrix instruction",
                   w->mask);
}

const struct insn *emu_mma(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list, *refs = l + MMA_HEADER;
    struct tiles t;
    int m = (int)l[MMA_M], n = (int)l[MMA_N], row, col;
    check_full(w, ip);
    lanes_together(w);
    bool sparse = l[MMA_FLAGS] & MMA_SPARSE;
    t.k = (int)l[MMA_K] >> sparse;
    gather(w, l, refs, &t);
    const uint32_t *more = refs + l[MMA_COUNT_D] + l[MMA_COUNT_A] + l[MMA_COUNT_B] + l[MMA_COUNT_C];
    for (int i = 0; i < m * t.k && !sparse; i++)
        t.pick[i] = (uint8_t)(i % t.k);
    if (sparse)
        sparse_picks(
            w, ip,
            &(struct sparse){more[0], more[1], mma_form_bits((enum mma_form)l[MMA_FA]), (int)l[MMA_K], (l[MMA_FLAGS] & MMA_ORDERED) != 0},
            t.pick);
    if (l[MMA_FLAGS] >> MMA_SCALES)
        gather_scales(w, l, more + (sparse ? MMA_SPARSE_SLOTS : 0), &t);
    double d[32 * 32];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            d[i * n + j] = sum_one(&t, l, i, j, w->runner->launch->chip->cc);
    for (uint32_t r = 0; r < l[MMA_COUNT_D]; r++)
        for (uint32_t rest = w->mask; rest; rest &= rest - 1)
            for (int e = 0; e < (l[MMA_FD] == MMA_F16 ? 2 : 1); e++) {
                int lane = __builtin_ctz(rest);
                mma_place_c(m, n, mma_form_bits((enum mma_form)l[MMA_FD]), (int)r, lane, e, &row, &col);
                tensor_put(w, refs[r], lane, e, (enum mma_form)l[MMA_FD], d[row * n + col]);
            }
    return ip + 1;
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */
/* Wavefronts of up to four 8-row groups. */
static void count_rows(struct warp *w, const struct insn *ip, const uint64_t *address, int matrices)
{
    struct memo *m = &w->memos[ip->memo];
    uint32_t a[32];
    for (int i = 0; i < 8 * matrices; i++)
        a[i] = (uint32_t)address[i];
    memo_rows(m, a, matrices);
    m->shared_requests++;
    m->wavefront_sum += m->wavefronts;
    m->ideal_sum += m->ideal;
}

/* count = matrices, list = slots, kind 1 = .trans, aux = bits of elements that become bytes; the address of row r of matrix i comes from
 * lane 8 i + r */
static bool matrix_rows(struct warp *w, const struct insn *ip, uint8_t **rows)
{
    uint64_t address[32];
    lane_addresses(w, ip, SPACE_SHARED, address);
    check_full(w, ip);
    for (int i = 0; i < 8 * ip->count; i++)
        if (!(rows[i] = resolve_lane(w, ip, i, SPACE_SHARED, address[i], 16, ACCESS_READ)))
            return false;
    count_rows(w, ip, address, ip->count);
    return true;
}

/* Row r of the upper or lower half of 16 x 16 bytes that are turned; bits: of elements that become bytes, or 0. */
static void turn_bytes(uint8_t **rows, int half, int r, int bits, uint8_t *out)
{
    for (int k = 0; k < 16; k++) {
        uint8_t row[16];
        if (bits)
            unpack_chunk(rows[k], bits, row);
        out[k] = bits ? row[8 * half + r] : rows[k][8 * half + r];
    }
}

const struct insn *emu_ldmatrix(struct warp *w, const struct insn *ip)
{
    lanes_exchange(w);
    uint8_t *rows[32], tile[4][128];
    if (!matrix_rows(w, ip, rows))
        return ip + 1;
    for (int i = 0; i < ip->count; i++)
        for (int r = 0; r < 8; r++) {
            if (ip->kind == MATRIX_BYTES) {
                turn_bytes(rows + i / 2 * 16, i % 2, r, ip->aux, tile[i] + 16 * r);
                continue;
            }
            if (ip->aux) {
                unpack_chunk(rows[8 * i + r], ip->aux, tile[i] + 16 * r);
                continue;
            }
            if (!ip->kind) {
                memcpy(tile[i] + 16 * r, rows[8 * i + r], 16);
                continue;
            }
            for (int c = 0; c < 8; c++)
                memcpy(tile[i] + 16 * c + 2 * r, rows[8 * i + r] + 2 * c, 2);
        }
    for (int i = 0; i < ip->count; i++) {
        if (w->mask == ~0u) {
            memcpy(SLOT(uint8_t, w, ip->list[i]), tile[i], 128);
            continue;
        }
        for (uint32_t rest = w->mask; rest; rest &= rest - 1)
            memcpy(&SLOT(uint32_t, w, ip->list[i])[__builtin_ctz(rest)], tile[i] + 4 * __builtin_ctz(rest), 4);
    }
    return ip + 1;
}

const struct insn *emu_stmatrix(struct warp *w, const struct insn *ip)
{
    lanes_exchange(w);
    uint64_t address[32];
    lane_addresses(w, ip, SPACE_SHARED, address);
    check_full(w, ip);
    for (int lane = 0; lane < 8 * ip->count; lane++) { /* one after the other: a row may be stored twice */
        uint8_t *row = resolve_lane(w, ip, lane, SPACE_SHARED, address[lane], 16, ACCESS_WRITE);
        if (!row)
            return ip + 1;
        matrix_row(w, ip, lane, row);
    }
    count_rows(w, ip, address, ip->count);
    return ip + 1;
}

const struct insn *emu_movmatrix(struct warp *w, const struct insn *ip)
{
    uint8_t t[128];
    const uint8_t *a = SLOT(const uint8_t, w, ip->a);
    check_full(w, ip);
    lanes_together(w);
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++)
            memcpy(t + 16 * c + 2 * r, a + 16 * r + 2 * c, 2);
    memcpy(SLOT(uint8_t, w, ip->d), t, 128);
    return ip + 1;
}

/* ---- wmma loads and stores: element by element ---- */
static const struct insn *wmma_move(struct warp *w, const struct insn *ip, bool store)
{
    const uint32_t *l = ip->list;
    enum mma_form f = (enum mma_form)l[WMMA_FORM];
    int m = (int)l[WMMA_M], n = (int)l[WMMA_N], k = (int)l[WMMA_K], bits = mma_form_bits(f), bytes = bits / 8,
        per = bits >= 32 ? 1 : 32 / bits;
    enum ptx_space space = (enum ptx_space)ip->aux;
    uint64_t address[32], first[32];
    lane_addresses(w, ip, space, address);
    check_full(w, ip);
    for (uint32_t r = 0; r < l[WMMA_COUNT]; r++) {
        for (int e = 0; e < per; e++) {
            uint32_t good = 0;
            for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
                int lane = __builtin_ctz(rest), row, col;
                uint32_t stride = ip->b == NO_REF ? 0 : SLOT(const uint32_t, w, ip->b)[lane];
                if (l[WMMA_WHICH] == 0)
                    mma_place_a(m, k, bits, (int)r, lane, e, &row, &col);
                else if (l[WMMA_WHICH] == 1)
                    mma_place_b(n, k, bits, (int)r, lane, e, &row, &col);
                else
                    mma_place_c(m, n, bits, (int)r, lane, e, &row, &col);
                uint64_t index = l[WMMA_COLUMN] ? (uint64_t)col * stride + (uint64_t)row : (uint64_t)row * stride + (uint64_t)col;
                first[lane] = address[lane] + index * (uint64_t)bytes;
                uint8_t *host = resolve_lane(w, ip, lane, space, first[lane], (uint32_t)bytes, store ? ACCESS_WRITE : ACCESS_READ);
                if (!host)
                    continue;
                good |= 1u << lane;
                uint8_t *slot = SLOT(uint8_t, w, l[WMMA_HEADER + r]) + (size_t)lane * (bits > 32 ? 8 : 4) + (size_t)(e * bytes);
                memcpy(store ? host : slot, store ? slot : host, (size_t)bytes);
            }
            if (e == 0) /* elements that are adjacent in memory belong to one access */
                count_lanes(w, ip, space, first, good, (uint32_t)(l[WMMA_COLUMN] == (l[WMMA_WHICH] == 1) ? bytes * per : bytes));
        }
    }
    return ip + 1;
}
const struct insn *emu_wmma_load(struct warp *w, const struct insn *ip)
{
    lanes_exchange(w);
    return wmma_move(w, ip, false);
}
const struct insn *emu_wmma_store(struct warp *w, const struct insn *ip)
{
    lanes_exchange(w);
    return wmma_move(w, ip, true);
}

/* kind: 0 wgmma.commit_group, 1 wait_group: imm groups may stay open. The four warps of a group make one product: a warp that waits for it
 * waits for all four, and may then release the operands for all four. */
const struct insn *emu_wgmma_group(struct warp *w, const struct insn *ip)
{
    const struct block *b = w->block;
    uint32_t open = (uint32_t)ip->imm, over = w->wgmma_groups > open ? w->wgmma_groups - open : 0;
    if (!ip->kind) {
        w->wgmma_groups++;
        return ip + 1;
    }
    for (int i = w->id & ~3; i <= (w->id | 3); i++) {
        bool there = i < b->warp_count;
        if (there && (b->warps[i].wgmma_groups >= over || w->others))
            continue;
        if (there && b->warps[i].state != WARP_DONE)
            return warp_retry(w, ip);
        if (over && (w->checks & CHECK_SYNC))
            emu_report(w, ip, -1, "inactive_lane", "wgmma needs four warps: warp %d %s", i,
                       there ? "has ended without it" : "is not of this block");
    }
    w->stalls = 0;
    uint32_t agent = b->matrix_agent[w->id / 4 & 7];
    if (agent && w->clocks[agent] < over)
        w->clocks[agent] = w->fenced[agent] = over;
    return ip + 1;
}
