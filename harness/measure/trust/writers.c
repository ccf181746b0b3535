#include "measure/trust/writers.h"
#include "base/text.h"
#include "measure/count/blocks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS 12
#define SPANS_MOST 4096
#define HUNTED 512 /* groups of a grid in which each is looked at, */
#define HUNT 4e7   /* and what that may cost */
#define SLACK 16   /* a larger share of the buffer tells nothing */
#define RUN_S 1.0

struct span {
    int64_t from, to;
};
/* A group's number in a mixed radix, the fastest digit first: each step of a digit moves its first sector by `stride`. */
struct level {
    uint64_t count;
    double stride;
};
struct writers {
    struct device *dev;
    struct rig *rig;
    int step;
    uint64_t address, grid[3], groups;
    size_t sectors;
    struct span *spans; /* of the first group: sectors from its first one on */
    int span_count;
    int64_t base, high, slack; /* its first sector; where it ends, from there on; how far a first sector may lie from where it should */
    struct level levels[LEVELS];
    int level_count;
    double each, cost; /* of the first group, on a device that computes; of all that ran, on this one */
    int64_t *open;     /* the sectors that are asked for, ascending */
    int open_count;
};

/* Runs a group alone. Returns the marks of the sectors that launches wrote, and that of this launch; NULL: it cannot. */
static const uint8_t *run_one(struct writers *w, uint64_t group, uint8_t *mark)
{
    struct device_sample sample = {0};
    struct error ignored = {0};
    *APPEND(sample.groups, sample.count) = (struct device_group){.number = group};
    rig_time_limit(w->rig, RUN_S);
    bool ok = rig_run_sample(w->rig, w->step, &sample, &ignored);
    *mark = sample.mark;
    w->cost += ok ? blocks_cost_of(&sample.groups[0], false) : 0;
    w->each = ok && !group ? blocks_cost_of(&sample.groups[0], true) : w->each;
    device_sample_free(&sample);
    return ok ? w->dev->ops->touched(w->dev, w->address, true) : NULL;
}

/* The first sector with this mark, from `at` on; -1: none. */
static int64_t next_marked(const struct writers *w, const uint8_t *marks, uint8_t mark, int64_t at)
{
    const int64_t end = (int64_t)w->sectors;
    for (uint64_t some; at < end; at++) {
        for (; at + 8 < end && !(memcpy(&some, marks + at, sizeof some), some); at += 8) /* most are not written */
            ;
        if (marks[at] == mark)
            return at;
    }
    return -1;
}

/* The first sector that a group writes; -1: none. */
static int64_t first_of(struct writers *w, uint64_t group)
{
    uint8_t mark;
    const uint8_t *marks = run_one(w, group, &mark);
    return marks ? next_marked(w, marks, mark, 0) : -1;
}

static bool take_shape(struct writers *w)
{
    uint8_t mark;
    const uint8_t *marks = run_one(w, 0, &mark);
    int64_t at = marks ? next_marked(w, marks, mark, 0) : -1;
    w->base = at;
    while (at >= 0 && w->span_count < SPANS_MOST) {
        int64_t end = at;
        while ((size_t)end < w->sectors && marks[end] == mark)
            end++;
        *APPEND(w->spans, w->span_count) = (struct span){at - w->base, end - w->base};
        w->high = end - w->base;
        at = next_marked(w, marks, mark, end);
    }
    return w->base >= 0 && at < 0;
}

/* How many groups, `unit` apart, advance by equal steps from the first one; at most `most`. */
static uint64_t run_length(struct writers *w, uint64_t unit, uint64_t most, int64_t stride)
{
    uint64_t low = 1, high = 2; /* `low` does, `high` does not */
    if (first_of(w, unit * (most - 1)) == w->base + stride * (int64_t)(most - 1) &&
        first_of(w, unit * (most / 2)) == w->base + stride * (int64_t)(most / 2))
        return most;
    for (; high < most && first_of(w, unit * high) == w->base + stride * (int64_t)high; high *= 2)
        low = high;
    high = high < most ? high : most - 1;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (first_of(w, unit * middle) == w->base + stride * (int64_t)middle)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Equal steps along an axis of the grid, or along stretches of it. */
static bool fit_axis(struct writers *w, uint64_t unit, uint64_t size)
{
    while (size > 1) {
        int64_t next = first_of(w, unit);
        if (next < 0 || w->level_count == LEVELS)
            return false;
        uint64_t length = size == 2 ? 2 : run_length(w, unit, size, next - w->base);
        if (size % length)
            return false;
        w->levels[w->level_count++] = (struct level){length, (double)(next - w->base)};
        unit *= length;
        size /= length;
    }
    return true;
}

/* Groups in the order of where they write, whose shares of it are about equal. */
static bool fit_evenly(struct writers *w)
{
    int64_t last = first_of(w, w->groups - 1);
    double stride = (double)(last - w->base) / (double)(w->groups - 1);
    if (last <= w->base)
        return false;
    w->slack = w->high + (int64_t)stride;
    for (int i = 1; i < 8; i++) {
        uint64_t group = w->groups * (uint64_t)i / 8;
        if (w->slack > (int64_t)w->sectors / SLACK ||
            fabs((double)(first_of(w, group) - w->base) - stride * (double)group) > (double)w->slack)
            return false;
    }
    w->levels[0] = (struct level){w->groups, stride};
    w->level_count = 1;
    return true;
}

static bool fit(struct writers *w)
{
    bool ok = true;
    if (!take_shape(w))
        return false;
    for (uint64_t axis = 0, unit = 1; axis < 3 && ok; unit *= w->grid[axis], axis++)
        ok = fit_axis(w, unit, w->grid[axis]);
    return ok || (w->groups > 1 && fit_evenly(w));
}

/* Some sector from `from` up to `to` is asked for. */
static bool asks(const struct writers *w, int64_t from, int64_t to)
{
    int low = 0, high = w->open_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (w->open[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->open_count && w->open[low] < to;
}

static bool may_write(const struct writers *w, uint64_t group)
{
    double first = (double)w->base;
    for (int i = 0; i < w->level_count; i++) {
        first += w->levels[i].stride * (double)(group % w->levels[i].count);
        group /= w->levels[i].count;
    }
    int64_t at = (int64_t)first;
    bool may = false;
    if (!asks(w, at - w->slack, at + w->high + w->slack))
        return false;
    for (int i = 0; i < w->span_count && !may; i++)
        may = asks(w, at + w->spans[i].from - w->slack, at + w->spans[i].to + w->slack);
    return may;
}

static void want(struct device_sample *sample, uint64_t group)
{
    for (int i = 0; i < sample->count; i++)
        if (sample->groups[i].number == group)
            return;
    *APPEND(sample->groups, sample->count) = (struct device_group){.number = group};
}

/* Wants a group if it writes something that is asked for and not found. Returns how much it found. */
static int look_at(struct writers *w, uint64_t group, bool *found, struct device_sample *sample)
{
    uint8_t mark;
    const uint8_t *marks = run_one(w, group, &mark);
    int count = 0;
    for (int k = 0; marks && k < w->open_count; k++) {
        const bool now = marks[w->open[k]] == mark && !found[k];
        found[k] = found[k] || now;
        count += now;
    }
    if (count)
        want(sample, group);
    return count;
}

/* Runs groups one by one until everything that is needed is written: first at the ends of halves, quarters and eighths of the grid, which
 * may be parts of the channels, then, if `all`, each from both ends of the grid. False: that is not enough, or takes too long. */
static bool hunt(struct writers *w, bool all, struct device_sample *sample)
{
    SCOPED bool *found = xcalloc((size_t)w->open_count + 1, sizeof *found);
    int left = w->open_count;
    for (uint64_t parts = 1; parts <= 8 && parts < w->groups; parts *= 2)
        for (uint64_t i = 0; i < 2 * parts && left && w->cost < HUNT; i++)
            if (parts == 1 || (i / 2 + i % 2) % 2) /* others are ends of larger parts */
                left -= look_at(w, w->groups * (i / 2 + i % 2) / parts - i % 2, found, sample);
    for (uint64_t i = 0; all && i < w->groups && left && w->cost < HUNT; i++)
        left -= look_at(w, i % 2 ? i / 2 : w->groups - 1 - i / 2, found, sample);
    return !left;
}

bool writers_of(struct device *dev, struct rig *rig, int step, uint64_t address, const uint8_t *open, size_t sectors, bool all, double most,
                double *cost, struct device_sample *sample)
{
    const struct step *s = &rig_program(rig)->steps[step];
    struct writers w = {.dev = dev, .rig = rig, .step = step, .address = address, .sectors = sectors, .groups = 1};
    const int before = sample->count;
    for (int i = 0; i < 3; i++) {
        w.grid[i] = s->grid[i] / (s->cluster[i] > 1 ? s->cluster[i] : 1);
        w.groups *= w.grid[i];
    }
    for (size_t i = 0; i < sectors; i++)
        if (open[i])
            *APPEND(w.open, w.open_count) = (int64_t)i;
    bool enough = true;
    if (fit(&w)) {
        for (uint64_t g = 0; g < w.groups && (double)(sample->count - before) * w.each <= most; g++)
            if (may_write(&w, g))
                want(sample, g);
    } else if (w.groups <= HUNTED) {
        enough = hunt(&w, all, sample);
    }
    *cost = enough ? (double)(sample->count - before) * w.each : INFINITY;
    free(w.spans);
    free(w.open);
    return sample->count > before;
}
