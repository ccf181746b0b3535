#include "emu/check/agents.h"
#include "base/text.h"
#include "emu/check/shadow.h"
#include "emu/check/dsmem.h"
#include "emu/check/races.h"
#include <string.h>

#define IDS_MAX 62u /* 63 says: several */
struct told {       /* what arriving warps release to waiting ones */
    uint32_t clocks[64], fenced[64], far[CLUSTER_MAX], known;
};
#define PHASES_KEPT 4 /* a warp that lags further behind is taken to have waited for the oldest of them */
struct sync_point {   /* an mbarrier, or a word of atomics */
    uint32_t offset;
    struct told now;
    struct told over[PHASES_KEPT];       /* as phases ended, by their number */
    uint32_t made_by, made_at, made_far; /* mbarrier.init: the warp, its clock, the cluster's time */
    const struct insn *made_ip;
    int made_lane;
    uint32_t used[IDS_MAX]; /* by warp: its clock when it used the mbarrier last */
    uint64_t state;         /* of an mbarrier, as its last operation left it */
    bool has_state;
    uint32_t agent, phases;         /* id of the copies that complete on it, 0: none yet; completed phases */
    uint32_t first;                 /* phases that had completed when it was last initialised */
    uint32_t acquired[PHASES_KEPT]; /* by phase: the cluster's time when it was first waited for; 0: not yet */
    uint32_t last;                  /* the last phase that copies complete */
    struct warp *sender;            /* of the last of them */
    const struct insn *copy;
    int lane;
};
#define POINTS_MAX 256

static struct sync_point *point_of(struct block *b, uint32_t offset, bool add)
{
    for (int i = 0; i < b->point_count; i++)
        if (b->points[i].offset == offset)
            return &b->points[i];
    if (!add || b->point_count == POINTS_MAX)
        return NULL;
    if (!b->points)
        b->points = xcalloc(POINTS_MAX, sizeof *b->points);
    struct sync_point *p = &b->points[b->point_count++];
    *p = (struct sync_point){.offset = offset};
    return p;
}

static void take_clocks(uint32_t *to, const uint32_t *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* ---- order ---- */
void agents_join(struct block *b, uint64_t arrived, uint64_t waiting)
{
    uint32_t all[64] = {0}, fenced[64] = {0}, far[CLUSTER_MAX] = {0}, n = b->ids;
    bool async = b->warps[0].program->uses_async, cluster = b->cluster_count > 1;
    for (int i = 0; i < b->warp_count; i++) {
        const struct warp *w = &b->warps[i];
        if (!(arrived >> i & 1))
            continue;
        take_clocks(all, w->clocks, n);
        if (async)
            take_clocks(fenced, w->fenced, n);
        if (cluster)
            take_clocks(far, w->far, CLUSTER_MAX);
    }
    for (int i = 0; i < b->warp_count; i++) {
        struct warp *w = &b->warps[i];
        if (waiting >> i & 1) {
            take_clocks(w->clocks, all, n);
            if (async)
                take_clocks(w->fenced, fenced, n);
            if (cluster)
                take_clocks(w->far, far, CLUSTER_MAX);
        }
        if (arrived >> i & 1)
            w->flag_fence = w->clocks[i]++;
    }
}

void race_flag_fence(struct warp *w)
{
    if (w->block->shadow && !w->program->simple_races)
        w->flag_fence = w->clocks[w->id]++;
}

void race_flag_acquire(struct warp *w, const struct warp *of, uint32_t clock)
{
    uint32_t before = w->clocks[of->id], told = of->flag_fence < clock ? of->flag_fence : clock;
    take_clocks(w->clocks, of->clocks, w->block->ids);
    w->clocks[of->id] = told > before ? told : before;
    if (w->program->uses_async)
        take_clocks(w->fenced, of->fenced, w->block->ids);
    if (w->block->cluster_count > 1)
        take_clocks(w->far, of->far, CLUSTER_MAX);
    w->known = of->known > w->known ? of->known : w->known;
}

/* Some lanes of the warp release or fence their accesses; adds them to those that did so earlier in this stretch. */
static void release_in_part(const struct warp *w, struct part_released *p)
{
    uint32_t before = p->synced == w->synced ? p->who : 0, reading = p->used == w->used ? p->who_used : 0;
    *p = (struct part_released){w->synced, w->used, before | w->mask, reading | w->mask, w->clocks[w->id]};
}

void race_leaves_out(struct warp *w, const struct block *b)
{
    uint32_t others = w->alive & ~w->mask;
    if (b != w->block || !b->shadow || !others || !((w->wrote & others) || w->read))
        return;
    release_in_part(w, &w->part_released);
    w->block->parted = true;
}

void race_arrive(struct warp *w, struct block *b, uint32_t offset)
{
    struct sync_point *p = b->shadow ? point_of(b, offset, true) : NULL;
    if (!p)
        return;
    if (b->cluster_count > 1)
        dsmem_release(w, p->now.far);
    if (b != w->block)
        return;
    take_clocks(p->now.clocks, w->clocks, b->ids);
    if (w->program->uses_async)
        take_clocks(p->now.fenced, w->fenced, b->ids);
    p->now.known = w->known > p->now.known ? w->known : p->now.known;
    w->clocks[w->id]++;
    races_tick(w);
}

static void acquire(struct warp *w, const struct block *b, const struct told *t)
{
    lanes_parted(w);
    if (b->cluster_count > 1)
        take_clocks(w->far, t->far, CLUSTER_MAX);
    if (b != w->block)
        return;
    take_clocks(w->clocks, t->clocks, b->ids);
    if (w->program->uses_async)
        take_clocks(w->fenced, t->fenced, b->ids);
    w->known = t->known > w->known ? t->known : w->known;
}

void race_wait(struct warp *w, struct block *b, uint32_t offset)
{
    const struct sync_point *p = b->shadow ? point_of(b, offset, false) : NULL;
    if (p)
        acquire(w, b, &p->now);
}

static bool has_acquired(const struct warp *w, const struct block *b, const struct told *t)
{
    bool acquired = true;
    for (uint32_t i = 0; i < b->ids && b == w->block; i++)
        acquired &= w->clocks[i] >= t->clocks[i];
    for (int r = 0; r < CLUSTER_MAX && b->cluster_count > 1; r++)
        acquired &= r == w->block->cluster_rank || w->far[r] >= t->far[r];
    return acquired;
}

void race_wait_phase(struct warp *w, struct block *b, uint32_t offset, int parity)
{
    struct sync_point *p = b->shadow ? point_of(b, offset, false) : NULL;
    if (!p || p->phases == p->first)
        return;
    uint32_t oldest = p->phases - p->first > PHASES_KEPT ? p->phases - PHASES_KEPT : p->first, known = p->phases;
    while (known > oldest && !has_acquired(w, b, &p->over[(known - 1) % PHASES_KEPT]))
        known--;
    if (parity < 0) /* waited by state: it is the last phase */
        known = p->phases - 1;
    else if (known == oldest && oldest > p->first)
        known += ((known - p->first) & 1) != (uint32_t)parity;
    else if (((known - p->first) & 1) != (uint32_t)parity)
        return; /* it knew already */
    if (known >= p->phases)
        return;
    acquire(w, b, &p->over[known % PHASES_KEPT]);
    if (b->cluster_count > 1 && !p->acquired[known % PHASES_KEPT])
        p->acquired[known % PHASES_KEPT] = b->cluster[0]->cluster_time;
}

void race_init(struct warp *w, const struct insn *ip, int lane, uint32_t offset)
{
    struct sync_point *p = w->block->shadow ? point_of(w->block, offset, true) : NULL;
    if (!p)
        return;
    p->made_by = (uint32_t)w->id;
    p->made_at = w->clocks[w->id];
    p->made_ip = ip;
    p->made_lane = lane;
    p->first = p->phases;
    p->made_far = w->block->cluster_count > 1 ? w->block->cluster[0]->cluster_time : 0;
}

bool race_init_known(struct warp *w, struct block *b, uint32_t offset)
{
    const struct sync_point *p = b->shadow ? point_of(b, offset, false) : NULL;
    if (p && b != w->block)
        return w->far[b->cluster_rank] >= p->made_far;
    return !p || p->made_by == (uint32_t)w->id || w->clocks[p->made_by] >= p->made_at;
}

int race_use(struct warp *w, uint32_t offset, bool last)
{
    struct sync_point *p = w->block->shadow ? point_of(w->block, offset, true) : NULL;
    int user = -1;
    if (!p)
        return -1;
    for (int i = 0; i < w->block->warp_count && last; i++)
        user = i != w->id && p->used[i] > w->clocks[i] ? i : user;
    p->used[w->id] = w->clocks[w->id];
    return user;
}

void agent_keeps(struct block *b, uint32_t offset, uint64_t state)
{
    struct sync_point *p = b->shadow ? point_of(b, offset, true) : NULL;
    if (p) {
        p->state = state;
        p->has_state = true;
    }
}

bool agent_kept(struct block *b, uint32_t offset, uint64_t state)
{
    const struct sync_point *p = b->shadow ? point_of(b, offset, false) : NULL;
    return !p || !p->has_state || p->state == state;
}

void race_proxy_fence(struct warp *w)
{
    if (!w->block->shadow || !w->program->uses_async)
        return;
    if (w->wrote & w->alive & ~w->mask)
        release_in_part(w, &w->part_fenced);
    else
        w->part_fenced.synced = 0;
    take_clocks(w->fenced, w->clocks, w->block->ids);
    if (w->block->cluster_count > 1)
        take_clocks(w->block->cluster[0]->far_fenced, w->far, CLUSTER_MAX);
    w->clocks[w->id]++;
    races_tick(w);
}

/* ---- agents ---- */
static uint32_t agent_new(struct block *b)
{
    return b->ids < IDS_MAX ? b->ids++ : 0;
}

void agent_phase(struct block *b, uint32_t offset)
{
    struct sync_point *p = b->shadow ? point_of(b, offset, true) : NULL;
    if (!p)
        return;
    if (p->agent)
        p->now.clocks[p->agent] = p->now.fenced[p->agent] = p->phases + 1;
    p->acquired[p->phases % PHASES_KEPT] = 0;
    p->over[p->phases++ % PHASES_KEPT] = p->now;
}

uint32_t agent_phases(struct block *b, uint32_t offset)
{
    const struct sync_point *p = b->shadow ? point_of(b, offset, false) : NULL;
    return p ? p->phases : 0;
}

uint32_t agent_of_mbarrier(struct block *b, uint32_t offset, struct warp *w, const struct insn *ip, int lane)
{
    struct sync_point *p = b->shadow ? point_of(b, offset, true) : NULL;
    if (!p)
        return 0;
    if (!p->agent && (p->agent = agent_new(b)))
        p->now.clocks[p->agent] = p->now.fenced[p->agent] = p->phases;
    p->last = p->phases + 1;
    p->sender = w;
    p->copy = ip;
    p->lane = lane;
    return p->agent ? (p->phases + 1) << 7 | p->agent : 0;
}

uint32_t agent_of_group(struct warp *w, const struct insn *ip, int lane)
{
    if (!w->block->shadow)
        return 0;
    if (!w->bulk_agent)
        w->bulk_agent = agent_new(w->block);
    w->bulk_lanes |= 1u << lane;
    w->bulk_last = w->bulk_groups + 1;
    w->bulk_ip = ip;
    return w->bulk_agent ? (w->bulk_groups + 1) << 7 | w->bulk_agent : 0;
}

void agent_ends(struct warp *w)
{
    if (w->bulk_agent && (w->checks & CHECK_RACE) && w->bulk_last > w->clocks[w->bulk_agent])
        emu_report(w, w->bulk_ip, __builtin_ctz(w->bulk_lanes), "async_wait",
                   "the warp that issued this copy ends without waiting for its group: another block may get its shared memory");
}

/* Reports an mbarrier whose words changed since its last operation and that was not invalidated. (Uses of such an mbarrier are reported at
 * once.) */
static void mbarrier_ends(struct block *b, const struct sync_point *p)
{
    uint64_t state;
    memcpy(&state, b->shared + p->offset, 8);
    if (!p->made_ip || !b->mbarriers || !(b->mbarriers[p->offset >> 9] >> (p->offset >> 3 & 63) & 1) || state == p->state)
        return;
    struct warp *w = &b->warps[p->made_by];
    if (w->checks & CHECK_SYNC)
        emu_report(w, p->made_ip, p->made_lane, "mbarrier",
                   "the mbarrier at shared 0x%x, initialised here, was overwritten: mbarrier.inval must come first", p->offset);
}

void agents_end(struct block *b)
{
    for (int i = 0; i < b->point_count; i++) {
        const struct sync_point *p = &b->points[i];
        bool known = !p->agent || !(b->warps[0].checks & CHECK_RACE);
        for (int k = 0; k < b->warp_count && !known; k++)
            known = b->warps[k].clocks[p->agent] >= p->last;
        if (!known)
            emu_report(p->sender, p->copy, p->lane, "async_wait",
                       "no thread waited for this copy before block %u,%u,%u ends: another block may get its shared memory", b->index[0],
                       b->index[1], b->index[2]);
        mbarrier_ends(b, p);
    }
}

static const struct sync_point *point_of_agent(const struct block *b, uint32_t id)
{
    return FIRST_IN(b->points, i, b->point_count, b->points[i].agent == id);
}

static bool agent_multiplies(const struct block *b, uint32_t id)
{
    return ANY_OF(i, sizeof b->matrix_agent, b->matrix_agent[i] == id);
}

void agent_race(struct warp *w, const struct insn *ip, int lane, uint32_t offset, const char *what, uint32_t tag)
{
    const struct sync_point *p = point_of_agent(w->block, tag & 63);
    if (p)
        emu_report(w, ip, lane, "async_wait",
                   "%s shared memory at 0x%x while a bulk copy may be in flight there: no thread waited for phase %u of the mbarrier at "
                   "0x%x, only up to phase %u",
                   what, offset, tag >> 7, p->offset, w->clocks[tag & 63]);
    else if ((tag & 63) == w->block->sent_agent)
        emu_report(w, ip, lane, "async_wait",
                   "%s shared memory at 0x%x that a bulk copy to another block may still read: that block has not signalled its arrival",
                   what, offset);
    else
        emu_report(w, ip, lane, "async_wait", "%s shared memory at 0x%x that %s may still read: no wait for its group", what, offset,
                   agent_multiplies(w->block, tag & 63) ? "wgmma" : "a bulk copy");
}

void agent_releases(struct warp *w, struct block *b, uint32_t offset)
{
    struct sync_point *p = b != w->block && b->shadow ? point_of(b, offset, false) : NULL;
    if (p)
        dsmem_release(w, p->now.far);
}

/* ---- copies to another block of the cluster ---- */
struct sent {
    struct block *to;
    uint32_t offset, phase;
};
#define SENT_MAX 64 /* more at once are not watched */

uint32_t agent_of_sent(struct warp *w, struct block *to, uint32_t offset)
{
    struct block *b = w->block;
    struct sync_point *p = b->shadow ? point_of(to, offset, true) : NULL;
    if (!p)
        return 0;
    if (to == b)
        return agent_of_mbarrier(b, offset, w, NULL, 0);
    if (!b->sent_agent)
        b->sent_agent = agent_new(b);
    if (!b->sent)
        b->sent = xcalloc(SENT_MAX, sizeof *b->sent);
    b->sent[b->sent_count++ % SENT_MAX] = (struct sent){to, offset, p->phases};
    return b->sent_agent ? b->sent_count << 7 | b->sent_agent : 0;
}

/* True if the warp has acquired from a block that waited for the copy. */
bool sent_known(const struct warp *w, uint32_t number)
{
    const struct block *b = w->block;
    const struct sent *s = &b->sent[(number - 1) % SENT_MAX];
    const struct sync_point *p = number + SENT_MAX > b->sent_count ? point_of(s->to, s->offset, false) : NULL;
    if (!p || p->phases > s->phase + PHASES_KEPT)
        return true;
    uint32_t acquired = p->phases > s->phase ? p->acquired[s->phase % PHASES_KEPT] : 0;
    return acquired && w->far[s->to->cluster_rank] >= acquired;
}

uint32_t agent_store_tag(struct warp *w, uint32_t group)
{
    if (w->trace && w->block->shadow && !w->bulk_writer)
        w->bulk_writer = agent_new(w->block);
    return races_tag_of(w, w->bulk_writer, group);
}

/* ---- tcgen05, wgmma ---- */
uint32_t agent_of_tensor_core(struct block *b)
{
    return b->shadow ? agent_new(b) : 0;
}

void agent_commits(struct block *b, uint32_t offset, uint32_t agent, uint32_t group)
{
    struct sync_point *p = b->shadow ? point_of(b, offset, true) : NULL;
    if (p && p->now.clocks[agent] < group)
        p->now.clocks[agent] = p->now.fenced[agent] = group;
}

uint8_t *agent_of_matrix(struct warp *w)
{
    uint8_t *agent = &w->block->matrix_agent[w->id / 4 & 7];
    if (!*agent)
        *agent = (uint8_t)agent_new(w->block);
    return agent;
}

void dsmem_release(struct warp *w, uint32_t *to)
{
    struct block *first = w->block->cluster[0];
    for (int r = 0; r < CLUSTER_MAX; r++)
        to[r] = w->far[r] > to[r] ? w->far[r] : to[r];
    to[w->block->cluster_rank] = first->cluster_time++;
}
