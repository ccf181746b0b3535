/* emu/run/jit_reach: what compiled code calls to check, count and read a load (jit.h). The caller's vector registers do not change: these
 * functions use only those that their instructions name. */
#include "emu/check/shadow.h"
#include "emu/handlers.h"
#include "emu/run/jit.h"

#if defined(__x86_64__)
#define GENERAL __attribute__((target("general-regs-only,bmi2"), no_sanitize("thread", "address", "undefined")))
#define ASM(text, ...) __asm__ volatile(text : : __VA_ARGS__ : "memory")

/* T0 and T1, or T0: the lanes of a pattern that is not uniform. Of lanes that are off they hold anything. */
GENERAL static inline const uint8_t *take_runs_32(const struct memo *m, const uint8_t *host)
{
    if (m->runs == 2 && m->run_lanes[0] == 0xffff && m->run_lanes[1] == 0xffff0000) { /* two rows of a square block */
        ASM("vmovdqu32 (%0), %%zmm26; vmovdqu32 64(%1), %%zmm27", "r"(host + m->run_base[0]), "r"(host + m->run_base[1]));
        return host;
    }
    for (int r = 0; r < m->runs; r++) { /* a load without lanes may take long */
        if (m->run_lanes[r] & 0xffff)
            ASM("kmovd %1, %%k1; vmovdqu32 (%0), %%zmm26%{%%k1%}", "r"(host + m->run_base[r]), "r"(m->run_lanes[r]));
        if (m->run_lanes[r] >> 16)
            ASM("kmovd %1, %%k1; vmovdqu32 64(%0), %%zmm27%{%%k1%}", "r"(host + m->run_base[r]), "r"(m->run_lanes[r] >> 16));
    }
    return host;
}
GENERAL static inline const uint8_t *take_runs_16(const struct memo *m, const uint8_t *host)
{
    for (int r = 0; r < m->runs; r++)
        ASM("kmovd %1, %%k1; vmovdqu16 (%0), %%zmm26%{%%k1%}", "r"(host + m->run_base[r]), "r"(m->run_lanes[r]));
    return host;
}
/* Lanes one by one, which takes less than half the time of a gather. Lanes that are off read what the first one reads. */
#define PART(first, i) "vinserti32x4 $" #i ", %%xmm28, %%zmm" first ", %%zmm" first
GENERAL static __attribute__((noinline)) const uint8_t *take_each_32(const struct memo *m, const uint8_t *host)
{
    const int32_t *rel = m->rel;
#define FOUR(first, i) \
    ASM("vmovd (%0,%1), %%xmm28; vpinsrd $1, (%0,%2), %%xmm28, %%xmm28; vpinsrd $2, (%0,%3), %%xmm28, %%xmm28; " \
        "vpinsrd $3, (%0,%4), %%xmm28, %%xmm28; " PART(first, i), \
        "r"(host), "r"((int64_t)rel[4 * i]), "r"((int64_t)rel[4 * i + 1]), "r"((int64_t)rel[4 * i + 2]), "r"((int64_t)rel[4 * i + 3])); \
    if (i == 3) \
        rel += 16;
    FOUR("26", 0) FOUR("26", 1) FOUR("26", 2) FOUR("26", 3);
    if (m->mask <= 0xffff)
        return host;
    FOUR("27", 0) FOUR("27", 1) FOUR("27", 2) FOUR("27", 3) return host;
}
GENERAL static __attribute__((noinline)) const uint8_t *take_each_16(const int32_t *rel, const uint8_t *host)
{
#define TWO(i) \
    ASM("vpinsrw $" #i ", (%0,%1), %%xmm28, %%xmm28; vpinsrw $" #i " + 1, (%0,%2), %%xmm28, %%xmm28", "r"(host), "r"((int64_t)rel[i]), \
        "r"((int64_t)rel[i + 1]));
#define EIGHT(i) \
    TWO(0) TWO(2) TWO(4) TWO(6) ASM(PART("26", i), "r"(host)); \
    rel += 8;
    EIGHT(0) EIGHT(1) EIGHT(2) EIGHT(3) return host;
}

GENERAL const uint8_t *jit_rows(const uint8_t *host, const int32_t *rel)
{
#define FOUR_ROWS(V, i) \
    ASM("vmovdqu32 (%0,%1), %%xmm" V "; vinserti32x4 $1, (%0,%2), %%zmm" V ", %%zmm" V "; vinserti32x4 $2, (%0,%3), %%zmm" V ", %%zmm" V \
        "; vinserti32x4 $3, (%0,%4), %%zmm" V ", %%zmm" V, \
        "r"(host), "r"((int64_t)rel[i]), "r"((int64_t)rel[i + 4]), "r"((int64_t)rel[i + 8]), "r"((int64_t)rel[i + 12]))
    FOUR_ROWS("26", 0);
    FOUR_ROWS("27", 1);
    FOUR_ROWS("28", 2);
    FOUR_ROWS("29", 3);
    return host;
}

GENERAL static inline bool takes(const struct memo *m, enum jit_take take)
{
    return m->pattern == PATTERN_UNIFORM || take != JIT_UNIFORM;
}
GENERAL static inline const uint8_t *take_lanes(const struct memo *m, const uint8_t *host, enum jit_take take)
{
    if (m->pattern != PATTERN_UNIFORM && take != JIT_ROWS) {
        if (m->runs)
            return take == JIT_ANY_16 ? take_runs_16(m, host) : take_runs_32(m, host);
        return take == JIT_ANY_16 ? take_each_16(m->rel, host) : take_each_32(m, host);
    }
    if (take == JIT_ANY_16)
        ASM("vpbroadcastw (%0), %%zmm26", "r"(host));
    else
        ASM("vpbroadcastd (%0), %%zmm26; vmovdqa64 %%zmm26, %%zmm27", "r"(host));
    return host;
}

/* Marks of eight sectors: without a call. */
typedef uint64_t marks_t __attribute__((may_alias, aligned(1)));

/* From now on `place` is that of `at`. False: too many sectors, or misaligned. */
GENERAL static __attribute__((noinline)) bool new_place(struct memo *m, uint64_t at)
{
    uint64_t last = 0; /* line of the span before */
    uint32_t sectors = 0, lines = 0;
    memo_add_placed(m); /* what the old one cost */
    m->place = PLACE_NONE;
    for (int s = 0; s < m->spans; s++) {
        const uint64_t low = at + (uint64_t)(uint32_t)(m->from[s] - m->min), high = at + (uint64_t)(uint32_t)(m->to[s] - m->min) - 1,
                       more = (high >> 5) - (low >> 5);
        if (more >= 8 || (at & m->quick_mask))
            return false;
        m->place_next = (uint32_t)((low >> 5) - (at >> 5));
        m->place_shift[1] = (uint8_t)(8 * (7 - more));
        m->place_shift[0] = s ? m->place_shift[0] : m->place_shift[1];
        sectors += (uint32_t)more + 1;
        lines += (uint32_t)((high >> 7) - (low >> 7) + (!s || low >> 7 != last));
        last = high >> 7;
    }
    m->place_sectors = (uint8_t)sectors;
    m->place_lines = (uint8_t)lines;
    m->place_bits = m->max == m->min ? (uint8_t)m->quick_mask : 127; /* an element is in one sector anywhere */
    m->place = (uint8_t)(at & m->place_bits);
    return true;
}

/* What reach_quick() does. */
GENERAL const uint8_t *jit_global(struct warp *w, struct memo *m, uint64_t first, enum jit_take take)
{
    const uint64_t at = first - m->quick_from; /* of the first byte in the buffer */
    if (m->mask != w->mask || at > m->quick_span || !takes(m, take) || ((at & m->place_bits) != m->place && !new_place(m, at)))
        return NULL;
    const struct buffer *b = m->buffer;
    const uint8_t *marks = b->read + (at >> 5);
    if ((*(const marks_t *)marks ^ w->marks) << m->place_shift[0] | (*(const marks_t *)(marks + m->place_next) ^ w->marks)
                                                                        << m->place_shift[1])
        return NULL;
    m->placed++;
    return take_lanes(m, b->host + (int64_t)at - m->min, take);
}

/* As watch_read(): was all of it written in this block, and before the last barrier? Vectors are only as wide as the rest of the data,
 * because the processor does not forward a masked store to the next load. */
#define READ_GRAINS(N, V) \
    { \
        uint32_t amiss; \
        __asm__ volatile("vmovdqu32 (%1), %%" V "28; vpcmpnltud %%" V "26, %%" V "28, %%k1; vpcmpneqd %%" V "27, %%" V \
                         "28, %%k1%{%%k1%}; vmovdqa64 %%" V "27, %%" V "28; vpbroadcastd %3, %%" V "28%{%%k1%}; vmovdqu32 %%" V \
                         "28, (%1); vpbroadcastd %4, %%" V "29; vmovdqu32 (%2), %%" V "28; vpsubd %%" V "29, %%" V "28, %%" V \
                         "28; vpsubd %%" V "29, %%" V "26, %%" V "29; vpcmpnltud %%" V "29, %%" V "28, %%k1; kmovw %%k1, %0" \
                         : "=r"(amiss) \
                         : "r"(reader + g), "r"(writer + g), "r"(now | 63), "r"(base) \
                         : "memory"); \
        clean &= !amiss; \
        g += N; \
    }
GENERAL static inline bool read_spans(const struct warp *w, const struct memo *m, uint32_t a0)
{
    const struct block *b = w->block;
    const uint32_t base = b->first_epoch << 7, now = b->epoch << 7, own = now | (uint32_t)w->id, *writer = b->shadow->writer;
    uint32_t *reader = b->shadow->reader;
    const int shift = w->program->shared_shift;
    bool clean = true;
    ASM("vpbroadcastd %0, %%zmm26; vpbroadcastd %1, %%zmm27", "r"(now), "r"(own));
    for (int s = 0; s < m->spans; s++) {
        uint32_t g = (a0 + (uint32_t)m->from[s]) >> shift, high = (a0 + (uint32_t)m->to[s]) >> shift;
        while (high - g >= 16)
            READ_GRAINS(16, "zmm")
        if (high - g >= 8)
            READ_GRAINS(8, "ymm")
        if (high - g >= 4)
            READ_GRAINS(4, "xmm")
        for (; g < high; g++) {
            clean &= writer[g] - base < now - base;
            reader[g] = reader[g] >= now && reader[g] != own ? now | 63 : own;
        }
    }
    return clean;
}

/* What reach_shared() does where nothing is amiss. */
GENERAL const uint8_t *jit_shared(struct warp *w, struct memo *m, uint32_t a0, enum jit_take take)
{
    const struct block *b = w->block;
    const int64_t offset = a0;
    const uint32_t bytes = take == JIT_ANY_16 ? 2 : take == JIT_ROWS ? 16 : 4;
    if (m->mask != w->mask || m->space != SPACE_SHARED || m->phase != (a0 & 3) || !takes(m, take))
        return NULL;
    if (offset + m->min < m->low_at || offset + m->max + (int64_t)bytes > m->high_at || ((a0 | m->low) & (bytes - 1)))
        return NULL;
    if (w->checks & (CHECK_KNOWN | CHECK_RACE))
        if (!w->quick_watch || w->part_count || w->wrote || !read_spans(w, m, a0))
            return NULL;
    m->shared_requests++;
    m->wavefront_sum += m->wavefronts;
    m->ideal_sum += m->ideal;
    return take_lanes(m, b->shared + a0, take);
}
#else
const uint8_t *jit_rows(const uint8_t *host, const int32_t *rel)
{
    return NULL;
}
const uint8_t *jit_global(struct warp *w, struct memo *m, uint64_t first, enum jit_take take)
{
    return NULL;
}
const uint8_t *jit_shared(struct warp *w, struct memo *m, uint32_t first, enum jit_take take)
{
    return NULL;
}
#endif
