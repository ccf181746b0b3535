/* emu/run/memo: the patterns of addresses that memory instructions remember: spans, sectors, wavefronts. */
#include "emu/handlers.h"
#include <stdlib.h>
#include <string.h>

/* The active lanes' rel in ascending order; how many. */
static int sorted_lanes(const struct memo *m, int32_t *v)
{
    int n = 0;
    for (uint32_t rest = m->mask; rest; rest &= rest - 1) {
        int32_t r = m->rel[__builtin_ctz(rest)];
        int k = n++;
        for (; k > 0 && v[k - 1] > r; k--)
            v[k] = v[k - 1];
        v[k] = r;
    }
    return n;
}

static void learn_runs(struct memo *m, int bytes)
{
    for (int part = 0; part < 4 && bytes == 4; part++) {
        bool whole = (m->mask >> 8 * part & 255) == 255;
        for (int i = 8 * part; i < 8 * part + 8; i++)
            whole &= m->rel[i] - m->rel[8 * part] == 4 * (i - 8 * part);
        m->quarters |= (uint8_t)(whole << part);
    }
    for (uint32_t rest = m->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest), base = m->rel[i] - bytes * i;
        if (!m->runs || m->run_base[m->runs - 1] != base) {
            if (m->runs == RUNS_MAX) {
                m->runs = 0;
                return;
            }
            m->run_base[m->runs] = base;
            m->run_lanes[m->runs++] = 0;
        }
        m->run_lanes[m->runs - 1] |= 1u << i;
    }
}

/* Two patterns of one mask with one key have the same rel: a step from lane to lane and one to the upper 16 lanes, or else a number that no
 * other pattern gets. */
static uint64_t pattern_key(const struct memo *m)
{
    static _Atomic uint64_t others;
    const int first = __builtin_ctz(m->mask);
    const int32_t step = (uint64_t)m->mask >> (first + 1) & 1 ? m->rel[first + 1] - m->rel[first] : 0;
    const int32_t upper = first < 16 && (m->mask >> 16 & 1) ? m->rel[16] : 0;
    bool regular = step >= 0;
    for (int i = first; i < 32; i++) {
        const int64_t expected = i < 16 || first >= 16 ? (int64_t)step * (i - first) : upper + (int64_t)step * (i - 16);
        regular &= m->rel[i] == expected || !(m->mask >> i & 1);
    }
    return regular ? (uint64_t)(uint32_t)step << 32 | (uint32_t)upper : 1ull << 63 | others++;
}

/* Derives the pattern from mask and rel, without the counters. Starts at most `gap` bytes from each other belong to one span. Returns the
 * number of distinct addresses. */
uint32_t memo_learn(struct memo *m, uint32_t bytes, int32_t gap)
{
    int32_t v[32];
    int n = sorted_lanes(m, v);
    uint32_t distinct = 1, covered = 0;
    bool dense = m->mask == ~0u;
    m->low = 0;
    for (int i = 0; i < 32; i++) {
        if (!(m->mask >> i & 1))
            m->rel[i] = 0;
        m->low |= (uint32_t)m->rel[i];
        dense &= m->rel[i] == i * (int32_t)bytes;
    }
    m->min = v[0];
    m->max = v[n - 1];
    m->pattern = v[0] == v[n - 1] ? PATTERN_UNIFORM : dense ? PATTERN_DENSE : PATTERN_OTHER;
    m->spans = 1;
    m->from[0] = v[0];
    for (int i = 1; i < n; i++) {
        distinct += v[i] != v[i - 1];
        if (v[i] - v[i - 1] > gap) {
            m->to[m->spans - 1] = v[i - 1] + (int32_t)bytes;
            m->from[m->spans++] = v[i];
        }
    }
    m->to[m->spans - 1] = v[n - 1] + (int32_t)bytes;
    for (int s = 0; s < m->spans; s++)
        covered += (uint32_t)(m->to[s] - m->from[s]);
    m->gaps = covered != distinct * bytes;
    memo_disarm(m);
    m->doubles = distinct != (uint32_t)n;
    m->key = pattern_key(m);
    m->place = PLACE_NONE;
    m->place_bits = 127;
    m->runs = m->quarters = 0;
    if ((bytes == 4 || bytes == 2) && m->pattern != PATTERN_UNIFORM)
        learn_runs(m, (int)bytes);
    return distinct;
}

const struct buffer *origin_buffer(const struct warp *w, const struct insn *ip)
{
    return origin_of(w->runner->launch, w->program, ip->index);
}

struct buffer *origin_of(const struct launch *l, const struct program *p, uint32_t index)
{
    uint16_t k = p->cold[index].origin;
    const struct origin *o = k ? &p->origins[k - 1] : NULL;
    uint64_t address = o ? o->address : 0;
    if (o && o->param)
        memcpy(&address, l->params + o->param - 1, 8);
    return address ? space_find(l->space, address) : NULL;
}

/* The active lanes' addresses from the first one's on; others are 0. False: too far from each other. */
static bool relative_64(const struct warp *w, int32_t *rel, const uint64_t *a)
{
    uint64_t first = a[__builtin_ctz(w->mask)], far = 0;
    for (int i = 0; i < 32; i++) {
        uint64_t r = (a[i] - first) & (uint64_t)(int64_t)w->on[i];
        far |= (r + (1u << 30)) >> 31;
        rel[i] = (int32_t)r;
    }
    return !far;
}

static bool memo_is(const struct memo *m, uint32_t mask, const int32_t *rel, uint8_t space, uint8_t phase)
{
    return m->mask == mask && m->space == space && m->phase == phase && !memcmp(m->rel, rel, sizeof m->rel);
}

/* Where the pattern stands, or would stand, among those that the instruction had: in one of two places. NULL: it has not had many. */
static struct memo *memo_place(struct memo *m, uint32_t mask, const int32_t *rel, uint8_t space, uint8_t phase)
{
    if (!m->others && ++m->learnt > 4) {
        m->others = aligned_alloc(64, MEMO_WAYS * sizeof *m->others);
        for (int i = 0; m->others && i < MEMO_WAYS; i++)
            m->others[i].mask = 0;
    }
    if (!m->others)
        return NULL;
    uint32_t h = mask ^ phase; /* of some lanes: three patterns of one hash take turns */
    for (int i = 3; i < 32; i += 4)
        h = (h ^ (uint32_t)rel[i]) * 2654435761u;
    struct memo *one = &m->others[h >> 27], *two = &m->others[h >> 27 ^ 1];
    if (!one->mask || memo_is(one, mask, rel, space, phase))
        return one;
    if (!two->mask || memo_is(two, mask, rel, space, phase))
        return two;
    return m->learnt++ & 1 ? two : one;
}

static void memo_copy(struct memo *to, const struct memo *from)
{
    memcpy(to, from, PATTERN_BYTES);
    for (int s = 0; s < from->spans; s += 4) { /* few, and of fixed size: no call */
        memcpy(to->from + s, from->from + s, 16);
        memcpy(to->to + s, from->to + s, 16);
    }
    if (from->space == SPACE_SHARED && from->lanes_known)
        memcpy(to->lane_of, from->lane_of, sizeof to->lane_of);
}

static bool memo_recall(struct memo *m, const struct memo *place, uint32_t mask, const int32_t *rel, uint8_t space, uint8_t phase)
{
    if (!place || !memo_is(place, mask, rel, space, phase))
        return false;
    memo_copy(m, place);
    return true;
}

bool memo_global(struct warp *w, const struct insn *ip, struct memo *m, const uint64_t *a, uint64_t first_address, uint32_t bytes)
{
    struct buffer *b = space_find(w->runner->launch->space, first_address);
    const struct buffer *from = origin_buffer(w, ip);
    int32_t rel[32];
    memo_add_waves(m);
    if (!b || b == w->runner->launch->heap.buffer || (from && from != b))
        return false;
    if (!relative_64(w, rel, a)) {
        m->mask = 0;
        return false;
    }
    struct memo *place = memo_place(m, w->mask, rel, SPACE_GLOBAL, 0);
    if (!memo_recall(m, place, w->mask, rel, SPACE_GLOBAL, 0)) {
        memcpy(m->rel, rel, sizeof rel);
        m->mask = w->mask;
        m->space = SPACE_GLOBAL;
        m->phase = 0;
        /* what the different elements would need if they lay together */
        m->ideal = (uint8_t)((memo_learn(m, bytes, SECTOR_GAP) * bytes + 31) / 32);
        int fewest;
        m->wavefronts = (uint8_t)shared_wavefronts(m, w->mask, (uint32_t)first_address & 3, bytes, &fewest);
        if (place)
            memo_copy(place, m);
    }
    m->buffer = b;
    return true;
}

/* Wavefronts of one group of lanes: the most distinct words that one bank must serve. */
static int group_wavefronts(const struct memo *m, uint32_t mask, uint32_t phase, uint32_t bytes)
{
    uint64_t words[32][32]; /* by bank */
    int count[32] = {0}, most = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int64_t at = (int64_t)phase + m->rel[__builtin_ctz(rest)] + ((int64_t)1 << 32);
        for (int64_t word = at >> 2; word <= (at + (int64_t)bytes - 1) >> 2; word++) {
            int bank = (int)(word & 31), k = count[bank] - 1;
            while (k >= 0 && words[bank][k] != (uint64_t)word)
                k--;
            if (k < 0 && count[bank] < 32)
                words[bank][count[bank]++] = (uint64_t)word;
            most = count[bank] > most ? count[bank] : most;
        }
    }
    return most;
}

static bool pairs_equal(const struct memo *m, uint32_t mask, int distance)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest), k = i ^ distance;
        if ((mask >> k & 1) && m->rel[i] != m->rel[k])
            return false;
    }
    return true;
}

/* The rule: 32-bit and narrower accesses go at once; 64-bit ones by half-warps, 128-bit ones by quarter-warps; neighbouring
 * groups go together when all pairs T[n], T[n^1] or all pairs T[n], T[n^2] have one address. */
int shared_wavefronts(const struct memo *m, uint32_t mask, uint32_t phase, uint32_t bytes, int *ideal)
{
    int lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, sum = 0;
    if (bytes > 4 && (pairs_equal(m, mask, 1) || pairs_equal(m, mask, 2)))
        lanes *= 2;
    *ideal = 0;
    for (int from = 0; from < 32; from += lanes) {
        uint32_t group = lanes == 32 ? mask : mask & (((1u << lanes) - 1) << from);
        if (!group)
            continue;
        (*ideal)++;
        sum += group_wavefronts(m, group, phase, bytes);
    }
    return sum;
}

/* Which lane each grain of the spans is of: as the spans lie one behind the other. */
static void learn_lanes(struct memo *m, uint32_t bytes, int shift)
{
    uint32_t at = 0, n = bytes >> shift;
    for (int s = 0; s < m->spans; s++)
        at += (uint32_t)(m->to[s] - m->from[s]) >> shift;
    m->lanes_known = at <= sizeof m->lane_of;
    if (!m->lanes_known)
        return;
    memset(m->lane_of, 0xff, at);
    at = 0;
    for (int s = 0; s < m->spans; at += (uint32_t)(m->to[s] - m->from[s]) >> shift, s++)
        for (uint32_t rest = m->mask; rest; rest &= rest - 1) {
            int i = __builtin_ctz(rest);
            for (uint32_t k = 0; k < n && m->rel[i] >= m->from[s] && m->rel[i] < m->to[s]; k++) {
                uint8_t *of = &m->lane_of[at + ((uint32_t)(m->rel[i] - m->from[s]) >> shift) + k];
                *of = *of == 0xff ? (uint8_t)i : 32; /* MANY_LANES */
            }
        }
}

void memo_shared(struct warp *w, const struct insn *ip, struct memo *m, const uint32_t *a, uint32_t bytes)
{
    uint32_t first = a[__builtin_ctz(w->mask)];
    uint8_t phase = (uint8_t)((first + (uint32_t)ip->imm) & 3);
    int32_t rel[32];
    for (int i = 0; i < 32; i++)
        rel[i] = (int32_t)(a[i] - first) & w->on[i];
    memo_add_waves(m);
    struct memo *place = memo_place(m, w->mask, rel, SPACE_SHARED, phase);
    if (memo_recall(m, place, w->mask, rel, SPACE_SHARED, phase))
        return;
    memcpy(m->rel, rel, sizeof rel);
    m->mask = w->mask;
    const struct program *p = w->program;
    uint16_t k = p->cold[ip->index].origin;
    bool one = k && p->origins[k - 1].high;
    m->low_at = one ? p->origins[k - 1].low : SHARED_RESERVED;
    m->high_at = one ? p->origins[k - 1].high : w->block->shared_bytes;
    m->space = SPACE_SHARED;
    m->phase = phase;
    memo_learn(m, bytes, (int32_t)bytes);
    learn_lanes(m, bytes, p->shared_shift);
    int ideal;
    m->wavefronts = (uint8_t)shared_wavefronts(m, w->mask, m->phase, bytes, &ideal);
    m->ideal = (uint8_t)ideal;
    if (place)
        memo_copy(place, m);
}

/* ldmatrix: rows of 16 bytes, in groups of eight */
void memo_rows(struct memo *m, const uint32_t *a, int matrices)
{
    m->mask = matrices == 4 ? ~0u : (1u << 8 * matrices) - 1;
    for (int i = 0; i < 8 * matrices; i++)
        m->rel[i] = (int32_t)(a[i] - a[0]);
    m->space = SPACE_SHARED;
    memo_learn(m, 16, 16);
    m->wavefronts = 0;
    m->ideal = (uint8_t)matrices;
    for (int k = 0; k < matrices; k++)
        m->wavefronts = (uint8_t)(m->wavefronts + group_wavefronts(m, 0xffu << 8 * k, 0, 16));
}
