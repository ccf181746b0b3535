/* Time for a stand-in of a device: what runs spends it, events read it, and a graph is as long as what was queued into it. */
#ifndef TEST_VIRTUAL_CLOCK_H
#define TEST_VIRTUAL_CLOCK_H

#include "device/device.h"
#include <stdbool.h>
#include <stdlib.h>

struct device_event {
    double at_ns;
    struct device_event *next;
};
struct device_graph {
    double ns;
};
static struct virtual_clock {
    double now_ns, captured_ns, flush_ns;
    bool capturing;
    bool held, runs_out; /* what is queued waits until it is let go; or for so long that it no longer waits */
    int holds;
    int events;                /* open */
    struct device_event *open; /* those of a device that is lost are nobody's to give back, and no leak */
} virtual_clock;

static inline void spend(double ns)
{
    *(virtual_clock.capturing ? &virtual_clock.captured_ns : &virtual_clock.now_ns) += ns;
}

/* The host takes so long to queue what comes next, while nothing runs that it could hide behind. */
static inline void clock_queues(double host_ns)
{
    if (!virtual_clock.held)
        spend(host_ns);
}
static inline bool clock_hold(struct device *dev, struct error *err)
{
    virtual_clock.held = !virtual_clock.runs_out;
    virtual_clock.holds++;
    return true;
}
static inline void clock_let_go(struct device *dev)
{
    virtual_clock.held = false;
}
static inline bool clock_held(struct device *dev)
{
    return !virtual_clock.runs_out;
}

static inline bool clock_event(struct device *dev, struct device_event **e, struct error *err)
{
    *e = calloc(1, sizeof **e);
    (*e)->next = virtual_clock.open;
    virtual_clock.open = *e;
    virtual_clock.events++;
    return true;
}
static inline void clock_event_free(struct device *dev, struct device_event *e)
{
    struct device_event **at = &virtual_clock.open;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    virtual_clock.events--;
    free(e);
}
static inline bool clock_record(struct device *dev, struct device_event *e, struct error *err)
{
    e->at_ns = virtual_clock.now_ns;
    return true;
}
static inline bool clock_elapsed(struct device *dev, struct device_event *from, struct device_event *to, double *ns, struct error *err)
{
    *ns = to->at_ns - from->at_ns;
    return true;
}
static inline bool clock_flush(struct device *dev, struct error *err)
{
    spend(virtual_clock.flush_ns);
    return true;
}
static inline bool clock_graph_begin(struct device *dev, struct error *err)
{
    virtual_clock.capturing = true;
    virtual_clock.captured_ns = 0;
    return true;
}
static inline bool clock_graph_end(struct device *dev, struct device_graph **graph, struct error *err)
{
    *graph = calloc(1, sizeof **graph);
    (*graph)->ns = virtual_clock.captured_ns;
    virtual_clock.capturing = false;
    return true;
}
static inline bool clock_graph_launch(struct device *dev, struct device_graph *graph, struct error *err)
{
    spend(graph->ns);
    return true;
}
static inline void clock_graph_free(struct device *dev, struct device_graph *graph)
{
    free(graph);
}

/* Gives the time hooks to a table of operations and sets the clock to 0. */
static inline void clock_give(struct device_ops *ops, double flush_ns)
{
    virtual_clock = (struct virtual_clock){.flush_ns = flush_ns};
    ops->keeps_time = true;
    ops->event = clock_event;
    ops->event_free = clock_event_free;
    ops->record = clock_record;
    ops->elapsed = clock_elapsed;
    ops->flush = clock_flush;
    ops->block = clock_hold;
    ops->unblock = clock_let_go;
    ops->unblocked = clock_held;
    ops->graph_begin = clock_graph_begin;
    ops->graph_end = clock_graph_end;
    ops->graph_launch = clock_graph_launch;
    ops->graph_free = clock_graph_free;
}

#endif
