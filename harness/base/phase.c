#include "base/phase.h"
#include "base/clock.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const names[PHASE_COUNT] = {
    [PHASE_START_UP] = "start-up",   [PHASE_COMPILING] = "compiling", [PHASE_DATA] = "data",           [PHASE_LOADING] = "loading",
    [PHASE_VERIFYING] = "verifying", [PHASE_PLANS] = "library plans", [PHASE_MEASURING] = "measuring", [PHASE_SPACING] = "spacing",
    [PHASE_COUNTING] = "counting",   [PHASE_STORING] = "storing",     [PHASE_WAITING] = "waiting",
};

const char *phase_name(enum phase phase)
{
    return names[phase];
}

enum phase phase_find(const char *name)
{
    int i = 0;
    while (i < PHASE_COUNT && (!name || strcmp(names[i], name)))
        i++;
    return (enum phase)i;
}

void phase_begin(struct phase_clock *clock, enum phase phase)
{
    *clock = (struct phase_clock){.since_s = clock_s(), .stack = {phase}};
}

static int level(const struct phase_clock *clock)
{
    return clock->depth < PHASE_DEPTH ? clock->depth : PHASE_DEPTH - 1;
}

static enum phase *innermost(struct phase_clock *clock)
{
    return &clock->stack[level(clock)];
}

void phase_settle(struct phase_clock *clock)
{
    double now = clock_s();
    int part = clock->part_of[level(clock)];
    clock->spent_s[*innermost(clock)] += now - clock->since_s;
    if (part)
        clock->parts[part - 1].spent_s += now - clock->since_s;
    clock->since_s = now;
}

struct phase_part *phase_part_find(struct phase_clock *clock, enum phase phase, const char *name)
{
    for (int i = 0; i < clock->part_count; i++)
        if (clock->parts[i].phase == phase && !strcmp(clock->parts[i].name, name))
            return &clock->parts[i];
    if (clock->part_count == PHASE_PARTS)
        return NULL;
    struct phase_part *made = &clock->parts[clock->part_count++];
    *made = (struct phase_part){.phase = phase};
    snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

/* part: as in part_of. */
static void open_range(struct phase_clock *clock, enum phase phase, int part, const char *name)
{
    phase_settle(clock);
    if (++clock->depth < PHASE_DEPTH) {
        clock->stack[clock->depth] = phase;
        clock->part_of[clock->depth] = part;
    }
    if (clock->draw_open)
        clock->draw_open(name);
}

void phase_push(struct phase_clock *clock, enum phase phase)
{
    if (clock)
        open_range(clock, phase, 0, phase_name(phase));
}

void phase_open(struct phase_clock *clock, const char *name)
{
    if (clock)
        open_range(clock, *innermost(clock), clock->part_of[level(clock)], name);
}

void phase_part(struct phase_clock *clock, const char *name)
{
    const struct phase_part *part = clock ? phase_part_find(clock, *innermost(clock), name) : NULL;
    if (clock)
        open_range(clock, *innermost(clock), part ? (int)(part - clock->parts) + 1 : 0, name);
}

void phase_pop(struct phase_clock *clock)
{
    if (!clock || !clock->depth)
        return;
    phase_settle(clock);
    clock->depth--;
    if (clock->draw_close)
        clock->draw_close();
}

int phase_depth(const struct phase_clock *clock)
{
    return clock ? clock->depth : 0;
}

void phase_unwind(struct phase_clock *clock, int depth)
{
    while (clock && clock->depth > depth)
        phase_pop(clock);
}

enum phase phase_turn(struct phase_clock *clock, enum phase phase)
{
    enum phase former = *innermost(clock);
    phase_settle(clock);
    *innermost(clock) = phase;
    if (phase != former)
        clock->part_of[level(clock)] = 0;
    return former;
}

void phase_move(struct phase_clock *clock, enum phase to, double seconds)
{
    phase_settle(clock);
    double *from = &clock->spent_s[*innermost(clock)];
    double moved = seconds < *from ? seconds : *from;
    if (!(moved > 0))
        return;
    *from -= moved;
    clock->spent_s[to] += moved;
}

double phase_sum(const double spent_s[PHASE_COUNT])
{
    double sum = 0;
    for (int i = 0; i < PHASE_COUNT; i++)
        sum += spent_s[i];
    return sum;
}
