#include "emu/check/races.h"
#include "emu/check/agents.h"
#include "base/large.h"
#include "base/text.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE (1u << PAGE_SHIFT)

/* ---- a launch can be put back ---- */
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

static void keep_page(struct buffer *b, uint64_t page)
{
    uint64_t at = page << PAGE_SHIFT, bytes = b->bytes - at < PAGE ? b->bytes - at : PAGE;
    if (!b->before)
        b->before = xcalloc((b->bytes >> PAGE_SHIFT) + 1, sizeof *b->before);
    if (b->before[page])
        return;
    uint8_t *copy = xmalloc(PAGE + PAGE / 8);
    memcpy(copy, b->host + at, bytes);
    if (b->known)
        memcpy(copy + PAGE, b->known + at / 8, (bytes + 7) / 8);
    b->before[page] = copy;
}

void races_mark(struct launch *l, struct buffer *b, int64_t low, int64_t high)
{
    pthread_mutex_lock(&keeping);
    bool keeps = l->trace == TRACE_WRITES || (l->trace == TRACE_ALL && l->runner_count > 1);
    for (int64_t page = low >> (PAGE_SHIFT - 5); page <= high >> (PAGE_SHIFT - 5) && keeps; page++)
        keep_page(b, (uint64_t)page);
    pthread_mutex_unlock(&keeping);
    for (int64_t s = low; s <= high; s++)
        __atomic_store_n(&b->written[s], l->mark, __ATOMIC_RELEASE);
}

void races_put_back(struct launch *l)
{
    for (int i = 0; i < l->space->count; i++) {
        struct buffer *b = l->space->buffers[i];
        for (uint64_t page = 0; b->before && page <= (b->bytes - 1) >> PAGE_SHIFT; page++) {
            uint64_t at = page << PAGE_SHIFT, bytes = b->bytes - at < PAGE ? b->bytes - at : PAGE;
            if (!b->before[page])
                continue;
            memcpy(b->host + at, b->before[page], bytes);
            if (b->known)
                memcpy(b->known + at / 8, b->before[page] + PAGE, (bytes + 7) / 8);
        }
    }
}

void races_forget(struct launch *l)
{
    for (int i = 0; i < l->space->count; i++) {
        struct buffer *b = l->space->buffers[i];
        for (uint64_t page = 0; b->before && page <= (b->bytes - 1) >> PAGE_SHIFT; page++)
            free(b->before[page]);
        free(b->before);
        b->before = NULL;
    }
}

void races_free(struct buffer *b)
{
    for (int i = 0; i < b->print_count; i++)
        FREE_ALL(b->prints[i].writer, b->prints[i].reader, b->prints[i].lane, b->prints[i].lane_read, b->prints[i].pages);
    free(b->prints);
}

/* ---- one granule ---- */
/* Two strong accesses do not race if each is in the other's scope. */
static bool both_strong(enum unordered unordered, uint32_t tag, bool strong, bool narrow)
{
    return strong && (tag & TAG_STRONG) && (unordered == UNORDERED_WARPS || (!narrow && !(tag & TAG_WIDE)));
}

struct touch {
    struct warp *w;
    const struct insn *ip;
    int lane;
    struct buffer *b;
    uint64_t offset;
    enum access access;
    bool strong, narrow, constant, async;
    bool silent; /* a write of what is there already: to others it is as good as a read */
};

static void report_race(const struct touch *t, enum unordered unordered, uint32_t tag, const char *other)
{
    static const char *const words[] = {"read of", "write to", "atomic on"}, *word;
    struct launch *l = t->w->runner->launch;
    l->raced = 1;
    if (!races_reporting(t->w))
        return;
    char who[64] = "other warps";
    if (unordered == UNORDERED_WARPS && agent_is(t->w->block, tag & 63)) {
        emu_report(t->w, t->ip, t->lane, "async_wait", "%s global memory at 0x%llx, offset %llu of `%s`, while a bulk copy may be %s",
                   words[t->access], (unsigned long long)(t->b->base + t->offset), (unsigned long long)t->offset, t->b->label,
                   *other == 'r' ? "reading there: no wait for the phase of its mbarrier"
                                 : "writing there: no wait for no wait for its group, or only with .read");
        return;
    }
    word = t->ip->op == OP_call ? "free of" : words[t->access];
    if (unordered == UNORDERED_BLOCKS) {
        uint32_t n = races_block_of(t->w->runner, tag);
        snprintf(who, sizeof who, "block %u,%u,%u", n % l->grid[0], n / l->grid[0] % l->grid[1], n / l->grid[0] / l->grid[1]);
    } else if ((tag & 63) != TAG_MANY) {
        snprintf(who, sizeof who, "warp %u", tag & 63);
    }
    emu_report(t->w, t->ip, t->lane, "race",
               "%s global memory at 0x%llx, offset %llu of `%s`, races with the %s of %s: nothing orders them", word,
               (unsigned long long)(t->b->base + t->offset), (unsigned long long)t->offset, t->b->label, other, who);
}

/* Reports a conflict with another lane of the warp since they last synchronised. */
static void report_lane_race(const struct touch *t, uint32_t lane, const char *did)
{
    const char *word = t->ip->op == OP_call ? "free of" : t->access == ACCESS_READ ? "read of" : "write to";
    char who[32] = "several lanes";
    t->w->runner->launch->raced = 1;
    if (!races_reporting(t->w))
        return;
    if (lane != MANY_LANES)
        snprintf(who, sizeof who, "lane %u", lane);
    emu_report(t->w, t->ip, t->lane, "race",
               "%s global memory at 0x%llx, offset %llu of `%s`, by lane %d, which %s of this warp %s: no __syncwarp between them", word,
               (unsigned long long)(t->b->base + t->offset), (unsigned long long)t->offset, t->b->label, t->lane, who, did);
}

/* The lanes of this warp since they last met. */
static void touch_beside(const struct touch *t, struct footprint *f, uint64_t g)
{
    const struct warp *w = t->w;
    uint32_t *read = &f->lane_read[g], mine = w->used | (uint32_t)t->lane, wrote = f->lane[g];
    bool others = f->reader[g] >= w->runner->base_tag && reads_unordered(w, *read, (uint32_t)t->lane);
    if (t->strong || t->silent) {
        if (t->access == ACCESS_READ || t->silent)
            *read = w->used | NO_LANE;
        return;
    }
    if (f->writer[g] >= w->runner->base_tag && (wrote & 63) < 32 && lanes_unordered(w, wrote, (uint32_t)t->lane))
        report_lane_race(t, wrote & 63, "wrote");
    if (t->access == ACCESS_READ)
        *read = others ? w->used | MANY_LANES : mine;
    else if (others)
        report_lane_race(t, *read & 63, "read");
}

/* Reports a write to what a cp.async of this block may still be reading. */
static void report_copy_race(const struct touch *t, uint32_t bytes)
{
    const struct warp *of = copy_reads(t->w->block, t->b->base + t->offset, bytes);
    if (!of)
        return;
    t->w->runner->launch->raced = 1;
    if (races_reporting(t->w))
        emu_report(t->w, t->ip, t->lane, "cp_async_wait",
                   "write to global memory at 0x%llx, offset %llu of `%s`, that cp.async of warp %d may still read: no wait for it",
                   (unsigned long long)(t->b->base + t->offset), (unsigned long long)t->offset, t->b->label, of->id);
}

static void report_constant_read(const struct touch *t)
{
    t->w->runner->launch->raced = 1;
    if (races_reporting(t->w))
        emu_report(t->w, t->ip, t->lane, "read_only",
                   "ld.global.nc of 0x%llx, offset %llu of `%s`, which this kernel writes: the read-only cache may be stale",
                   (unsigned long long)(t->b->base + t->offset), (unsigned long long)t->offset, t->b->label);
}

static void report_unfenced(const struct touch *t, uint32_t tag)
{
    struct launch *l = t->w->runner->launch;
    uint32_t n = races_block_of(t->w->runner, tag);
    char who[64];
    l->raced = 1;
    if (!races_reporting(t->w))
        return;
    if (n == t->w->block->number)
        snprintf(who, sizeof who, "warp %u", tag & 63);
    else
        snprintf(who, sizeof who, "block %u,%u,%u", n % l->grid[0], n / l->grid[0] % l->grid[1], n / l->grid[0] / l->grid[1]);
    emu_report(t->w, t->ip, t->lane, "proxy_fence",
               "bulk copy %s global memory at 0x%llx, offset %llu of `%s`, which %s wrote: no fence.proxy.async between them",
               t->access == ACCESS_READ ? "of" : "to", (unsigned long long)(t->b->base + t->offset), (unsigned long long)t->offset,
               t->b->label, who);
}

static uint32_t reader_tag(const struct touch *t, uint32_t old, enum unordered unordered)
{
    const struct warp *w = t->w;
    uint32_t now = w->tag | (t->strong ? TAG_STRONG : 0);
    if (old < w->runner->base_tag)
        return now;
    if (!(old & TAG_STRONG))
        now &= ~TAG_STRONG;
    if (unordered == UNORDERED_WARPS)
        now |= TAG_MANY;
    return now | (old & TAG_WIDE) | (unordered == UNORDERED_BLOCKS ? TAG_WIDE : 0);
}

static void touch_granule(const struct touch *t, struct footprint *f, uint64_t g)
{
    struct warp *w = t->w;
    uint32_t writer = f->writer[g];
    if (t->access == ACCESS_READ && t->constant && writer >= w->runner->base_tag)
        report_constant_read(t);
    enum unordered unordered = races_unordered(w, writer);
    if (t->access == ACCESS_WRITE && !t->strong &&
        ((writer & ~(TAG_STRONG | TAG_WIDE)) == w->tag || (t->async && (writer & 63) == (uint32_t)w->id)))
        w->runner->launch->again = 1;
    if (t->async && unordered == ORDERED && races_unfenced(w, writer))
        report_unfenced(t, writer);
    if (unordered != ORDERED && !both_strong(unordered, writer, t->strong, t->narrow) && !t->silent)
        report_race(t, unordered, writer, writer & TAG_STRONG ? "atomic" : "write");
    else if (unordered != ORDERED && t->silent)
        emu_note(w, t->ip, t->lane, "same_value",
                 "write to global memory at 0x%llx, offset %llu of `%s`, of the value that another %s wrote: nothing orders them",
                 (unsigned long long)(t->b->base + t->offset), (unsigned long long)t->offset, t->b->label,
                 unordered == UNORDERED_BLOCKS ? "block" : "warp");
    if (w->trace == TRACE_ALL) {
        uint32_t reader = f->reader[g];
        touch_beside(t, f, g);
        enum unordered from = races_unordered(w, reader & ~TAG_WIDE);
        if (t->access == ACCESS_READ || t->silent) {
            f->reader[g] = reader_tag(t, reader, from);
            return;
        }
        if (from == ORDERED && reader >= w->runner->base_tag && (reader & TAG_WIDE) &&
            reader >> TAG_SHIFT > w->known) /* what was released since counts for all of them */
            from = UNORDERED_BLOCKS;
        if (from != ORDERED && !both_strong(from, reader & ~TAG_WIDE, t->strong, t->narrow))
            report_race(t, from, reader, "read");
    }
    uint32_t flags = t->strong ? TAG_STRONG | (t->narrow ? TAG_WIDE : 0) : 0;
    bool ours = writer >= w->runner->base_tag && unordered != UNORDERED_BLOCKS; /* weak before in this block: weak towards others still */
    if (t->strong && ours && (!(writer & TAG_STRONG) || (writer & TAG_WIDE)))
        flags |= TAG_WIDE;
    f->writer[g] = w->tag | flags;
    if (w->trace == TRACE_ALL) {
        f->lane[g] = w->synced | (t->strong || w->doubles ? NO_LANE : (uint32_t)t->lane);
        w->stored = w->synced;
    }
}

/* A launch touches the footprint of a buffer as it touches the buffer. */
static uint32_t *tags_new(const struct buffer *b, size_t count)
{
    uint32_t *tags = xcalloc(count, sizeof *tags);
    if (b->dense)
        large_advise(tags, count * sizeof *tags);
    return tags;
}

static struct footprint *footprint_of(struct runner *k, struct buffer *b, bool reads)
{
    struct footprint *f = &b->prints[k->index];
    int shift = k->launch->program->global_shift;
    if (f->shift > shift || !f->pages) {
        FREE_ALL(f->writer, f->reader, f->lane, f->lane_read, f->pages);
        *f = (struct footprint){.shift = shift, .pages = xcalloc((b->bytes >> PAGE_SHIFT) + 1, 1)};
    }
    size_t n = (size_t)(b->bytes >> f->shift) + 16; /* also of what comes later: a launch with the finest granules had f->shift */
    if (!f->writer)
        f->writer = tags_new(b, n);
    if (!f->reader && reads)
        f->reader = tags_new(b, n);
    if (!f->lane && reads)
        f->lane = tags_new(b, n);
    if (!f->lane_read && reads)
        f->lane_read = tags_new(b, n);
    return f;
}

static void touch_lane(struct warp *w, const struct insn *ip, int lane, struct buffer *b, uint64_t offset, uint32_t bytes,
                       enum access access, const uint8_t *value)
{
    struct footprint *f = footprint_of(w->runner, b, w->trace == TRACE_ALL);
    int shift = w->program->global_shift;
    struct touch t = {.w = w, .ip = ip, .lane = lane, .b = b, .offset = offset, .access = access};
    t.constant = access == ACCESS_READ && (ip->op == OP_ld_global || ip->op == OP_ld_generic) && (ip->flags & ACCESS_CONSTANT);
    t.silent = value && races_reporting(w) && !memcmp(value, b->host + offset, bytes);
    t.async = ip->op == OP_bulk_copy || ip->op == OP_tensor_copy; /* their flags are others */
    t.strong = access == ACCESS_ATOMIC || (!t.async && (ip->flags & ACCESS_STRONG));
    t.narrow = t.strong && !t.async && (ip->flags & ACCESS_NARROW);
    w->touched = true;
    for (uint64_t page = offset >> PAGE_SHIFT; page <= (offset + bytes - 1) >> PAGE_SHIFT; page++)
        f->pages[page] = w->runner->launch->mark;
    bool order = t.strong && !t.narrow && !races_blind(w->runner);
    if (order && access != ACCESS_WRITE)
        races_acquire(w, ip, b->base + offset);
    for (uint64_t g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++)
        touch_granule(&t, f, g);
    if (access != ACCESS_READ && w->trace == TRACE_ALL)
        report_copy_race(&t, bytes);
    else if (ip->op == OP_cp_async)
        copy_source(w, b->base + offset, bytes);
    if (order && access != ACCESS_READ)
        races_release(w, ip, b->base + offset);
}

void races_lane(struct warp *w, const struct insn *ip, int lane, struct buffer *b, uint64_t offset, uint32_t bytes, enum access access)
{
    uint8_t value[32];
    bool plain = access == ACCESS_WRITE && (ip->op == OP_st_global || ip->op == OP_st_generic);
    if (access == ACCESS_READ && w->trace != TRACE_ALL)
        return;
    const struct cold *c = &w->program->cold[ip->index];
    if (access == ACCESS_READ && c->wanted && (*SLOT(const uint32_t, w, c->wanted) >> lane & 1) == c->unwanted)
        return;
    if (plain)
        lane_out(w, ip, lane, value);
    touch_lane(w, ip, lane, b, offset, bytes, access, plain ? value : NULL);
}

void races_lanes(struct warp *w, const struct insn *ip, const struct memo *m, uint64_t offset, uint32_t bytes, bool store)
{
    if (store && m->doubles)
        races_doubles(w, ip, m, m->buffer->base + offset, false);
    w->doubles = store && m->doubles;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        races_lane(w, ip, i, m->buffer, offset + (uint64_t)(int64_t)m->rel[i], bytes, store ? ACCESS_WRITE : ACCESS_READ);
    }
    w->doubles = false;
}

uint32_t races_silent(struct warp *w, const struct insn *ip, const struct memo *m, const uint8_t *host)
{
    uint32_t same = 0;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint8_t value[32];
        lane_out(w, ip, i, value);
        same |= memcmp(value, host + m->rel[i], (size_t)ip->size * ip->count) ? 0 : 1u << i;
    }
    return same;
}

float races_scale(struct warp *w, const struct insn *ip)
{
    uint8_t value[32];
    float most = 0, f;
    for (uint32_t rest = w->mask; rest && ip->size == 4; rest &= rest - 1) {
        lane_out(w, ip, __builtin_ctz(rest), value);
        for (int v = 0; v < ip->count; v++) {
            memcpy(&f, value + 4 * v, 4);
            most = fabsf(f) > most && fabsf(f) < 0x1p60f ? fabsf(f) : most;
        }
    }
    return most;
}

bool races_rounding(const uint8_t *a, const uint8_t *b, size_t bytes, float scale)
{
    for (size_t at = 0; at < bytes; at += 4) {
        float x, y;
        memcpy(&x, a + at, 4);
        memcpy(&y, b + at, 4);
        if (memcmp(a + at, b + at, 4) &&
            !(fabsf(x) > 0x1p-60f && fabsf(x) < 0x1p60f && fabsf(x - y) <= fmaxf(0x1p-20f * fabsf(x), 0x1p-16f * scale)))
            return false;
    }
    return true;
}

void races_fresh(struct launch *l, struct buffer *b, uint64_t offset, uint64_t bytes)
{
    int shift = l->program->global_shift;
    for (int t = 0; t < b->print_count; t++)
        for (uint64_t g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
            if (b->prints[t].writer)
                b->prints[t].writer[g] = 0;
            if (b->prints[t].reader)
                b->prints[t].reader[g] = 0;
        }
}

void races_doubles(struct warp *w, const struct insn *ip, const struct memo *m, uint64_t address, bool shared)
{
    uint8_t value[2][32];
    float scale = -1; /* not known yet */
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        lane_out(w, ip, i, value[0]);
        for (uint32_t others = rest & (rest - 1); others; others &= others - 1) {
            int k = __builtin_ctz(others);
            if (m->rel[i] != m->rel[k])
                continue;
            lane_out(w, ip, k, value[1]);
            if (!memcmp(value[0], value[1], (size_t)ip->size * ip->count))
                continue;
            scale = scale < 0 ? races_scale(w, ip) : scale;
            if (ip->size == 4 && races_rounding(value[0], value[1], 4u * ip->count, scale)) {
                emu_note(w, ip, k, "rounding", "lanes %d and %d write sums to %s memory at 0x%llx that differ by rounding", i, k,
                         shared ? "shared" : "global", (unsigned long long)(address + (uint64_t)(int64_t)m->rel[k]));
                continue;
            }
            emu_report(w, ip, k, "race", "lanes %d and %d write different values to %s memory at 0x%llx", i, k,
                       shared ? "shared" : "global", (unsigned long long)(address + (uint64_t)(int64_t)m->rel[k]));
            return;
        }
    }
}

/* ---- a launch ---- */
void races_begin(struct launch *l)
{
    struct address_space *s = l->space;
    if (++s->mark < 2) { /* all marks of old launches are one */
        for (int i = 0; i < s->count; i++)
            for (uint64_t k = 0; k <= s->buffers[i]->bytes / 32; k++) {
                s->buffers[i]->read[k] = s->buffers[i]->read[k] != 0;
                s->buffers[i]->written[k] = s->buffers[i]->written[k] != 0;
            }
        for (int i = 0; i < s->count; i++)
            for (int t = 0; t < s->buffers[i]->print_count; t++)
                if (s->buffers[i]->prints[t].pages)
                    memset(s->buffers[i]->prints[t].pages, 0, (s->buffers[i]->bytes >> PAGE_SHIFT) + 1);
        s->mark = 2;
    }
    l->mark = s->mark;
    if (s->moment_count < l->runner_count) {
        s->moments = xrealloc(s->moments, (size_t)l->runner_count * sizeof *s->moments);
        while (s->moment_count < l->runner_count)
            s->moments[s->moment_count++] = 0;
    }
    for (int i = 0; i < s->count && l->trace; i++) {
        struct buffer *b = s->buffers[i];
        if (b->print_count >= l->runner_count)
            continue;
        b->prints = xrealloc(b->prints, (size_t)l->runner_count * sizeof *b->prints);
        memset(b->prints + b->print_count, 0, (size_t)(l->runner_count - b->print_count) * sizeof *b->prints);
        b->print_count = l->runner_count;
    }
}

/* A granule as all threads left it: blocks of different threads know nothing of each other. */
static bool threads_race(const struct launch *l, const struct buffer *b, uint64_t page)
{
    int shift = l->program->global_shift;
    uint64_t from = page << PAGE_SHIFT >> shift, to = (((page + 1) << PAGE_SHIFT) < b->bytes ? (page + 1) << PAGE_SHIFT : b->bytes);
    to = (to + (1ull << shift) - 1) >> shift;
    uint8_t seen[PAGE] = {0}; /* 1 read, 2 written, by a thread before; 4: not strong */
    for (int t = 0; t < l->runner_count; t++) {
        const struct footprint *f = &b->prints[t];
        uint32_t base = l->runners[t].base_tag;
        if (!f->pages || f->pages[page] != l->mark)
            continue;
        for (uint64_t g = from; g < to; g++) {
            uint32_t writer = f->writer[g], reader = l->trace == TRACE_ALL ? f->reader[g] : 0;
            uint8_t *s = &seen[g - from], mine = (uint8_t)((writer >= base ? 2 : 0) | (reader >= base ? 1 : 0));
            if (writer >= base && (!(writer & TAG_STRONG) || (writer & TAG_WIDE)))
                mine |= 4;
            if (reader >= base && !(reader & TAG_STRONG))
                mine |= 4;
            if (mine && *s && ((mine | *s) & 2) && ((mine | *s) & 4))
                return true;
            *s |= mine;
        }
    }
    return false;
}

static bool all_threads_race(const struct launch *l, const struct buffer *b)
{
    for (uint64_t page = 0; page <= (b->bytes - 1) >> PAGE_SHIFT; page++) {
        int threads = 0;
        for (int t = 0; t < l->runner_count; t++)
            threads += b->prints[t].pages && b->prints[t].pages[page] == l->mark;
        if (threads > 1 && threads_race(l, b, page))
            return true;
    }
    return false;
}

enum verdict races_end(struct launch *l)
{
    const struct address_space *s = l->space;
    bool raced = l->raced;
    if (l->trace == TRACE_WRITES && l->again)
        return RACES_WATCH_READS;
    if (!l->trace || (l->runner_count == 1 && l->trace == TRACE_ALL))
        return RACES_NONE;
    for (int i = 0; i < s->count; i++) {
        const struct buffer *b = s->buffers[i];
        if (b->before && l->trace == TRACE_WRITES)
            for (uint64_t k = 0; k <= (b->bytes - 1) / 32; k++)
                if (b->read[k] == l->mark && b->written[k] == l->mark)
                    return RACES_WATCH_READS;
        if (b->before && !raced)
            raced = all_threads_race(l, b);
    }
    return raced ? RACES_REPORT : RACES_NONE;
}
