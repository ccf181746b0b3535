/* emu/check/known: which bytes of global memory the host or a kernel has written. */
#include "base/text.h"
#include "emu/handlers.h"
#include <stdlib.h>
#include <string.h>

/* ---- bytes never written: global ----
 * A read is reported when nothing it reads was ever written: words read whole and masked afterwards are not an error. */
bool known_lane(struct warp *w, const struct insn *ip, int lane, struct buffer *b, uint64_t offset, uint32_t bytes, enum access access)
{
    bool store = access == ACCESS_WRITE, known = store;
    for (uint64_t k = offset; k < offset + bytes;) { /* a bitmap byte at a time */
        uint64_t n = 8 - (k & 7) < offset + bytes - k ? 8 - (k & 7) : offset + bytes - k;
        uint8_t bits = (uint8_t)(((1u << n) - 1) << (k & 7)), seen = __atomic_load_n(&b->known[k >> 3], __ATOMIC_RELAXED);
        if (store && (seen & bits) != bits)
            __atomic_fetch_or(&b->known[k >> 3], bits, __ATOMIC_RELAXED);
        known |= (seen & bits) != 0;
        k += n;
    }
    if (!known)
        emu_report(w, ip, lane, "uninitialised", "global %s of %u bytes at 0x%llx, offset %llu of `%s`, never written%s",
                   access == ACCESS_ATOMIC ? "atomic" : "read", bytes, (unsigned long long)(b->base + offset), (unsigned long long)offset,
                   b->label, access == ACCESS_ATOMIC ? "; a kernel that adds needs zeros there first (a head: `- fill: BUFFER = 0`)" : "");
    return known;
}

/* Whether every byte of the range was written. `write`: now they are. */
static bool range_known(uint8_t *known, uint64_t from, uint64_t to, bool write)
{
    uint64_t word;
    bool all = true;
    for (uint64_t k = from, end; k < to && (all || write); k = end) {
        while (!(k & 7) && to - k >= 64 && (memcpy(&word, known + (k >> 3), sizeof word), word == UINT64_MAX))
            k += 64;
        end = (k | 7) + 1 < to ? (k | 7) + 1 : to;
        uint8_t bits = (uint8_t)((0xffu << (k & 7)) & (0xffu >> (7 - ((end - 1) & 7))));
        if (k < to && (__atomic_load_n(&known[k >> 3], __ATOMIC_RELAXED) & bits) != bits) {
            all = false;
            if (write)
                __atomic_fetch_or(&known[k >> 3], bits, __ATOMIC_RELAXED);
        }
    }
    return all;
}

void known_global(struct warp *w, const struct insn *ip, struct buffer *b, const struct memo *m, uint64_t offset, uint32_t bytes,
                  bool store)
{
    bool known = !store || !m->gaps;
    for (int s = 0; s < m->spans && known; s++)
        known = range_known(b->known, offset + (uint64_t)(int64_t)m->from[s], offset + (uint64_t)(int64_t)m->to[s], store) || store;
    if (known)
        return;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        known_lane(w, ip, i, b, offset + (uint64_t)(int64_t)m->rel[i], bytes, store ? ACCESS_WRITE : ACCESS_READ);
    }
}

void buffer_know(struct buffer *b, uint64_t offset, size_t bytes, bool known)
{
    if (!b->known && known)
        return;
    if (known && offset == 0 && bytes == b->bytes) {
        free(b->known);
        b->known = NULL;
        return;
    }
    if (!b->known) {
        b->known = xmalloc(b->bytes / 8 + 1);
        memset(b->known, 0xff, b->bytes / 8 + 1);
    }
    uint64_t k = offset, end = offset + bytes;
    for (; k < end && (k & 7); k++)
        b->known[k >> 3] = (uint8_t)(known ? b->known[k >> 3] | 1u << (k & 7) : b->known[k >> 3] & ~(1u << (k & 7)));
    if (end - k >= 8) {
        memset(b->known + (k >> 3), known ? 0xff : 0, (end - k) >> 3);
        k += (end - k) & ~7ull;
    }
    for (; k < end; k++)
        b->known[k >> 3] = (uint8_t)(known ? b->known[k >> 3] | 1u << (k & 7) : b->known[k >> 3] & ~(1u << (k & 7)));
}

bool buffer_known(const struct buffer *b, uint64_t offset, size_t bytes, bool exact)
{
    bool known = true;
    for (uint64_t k = offset; b->known && k < offset + bytes; k++)
        known &= (b->known[k >> 3] >> (k & 7) & 1) || (!exact && b->written[k >> 5]);
    return known;
}

bool buffer_written(const struct buffer *b)
{
    return b->stored || b->written[0] || memcmp(b->written, b->written + 1, b->bytes / 32 + 1);
}

void buffer_clear(struct buffer *b)
{
    b->stored = buffer_written(b);
    b->requested = 0;
    memset(b->read, 0, b->bytes / 32 + 2);
    memset(b->written, 0, b->bytes / 32 + 2);
}
