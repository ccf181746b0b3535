#include "model/floor.h"
#include "base/dtype.h"
#include <stdio.h>
#include <string.h>

/* Nothing is faster than a kernel that does nothing. No data sheet has the figure; an empty kernel between two events is said to take 1.5
 * to 3 us, so 1 us is below what any of these cards shows, and is a floor that holds. */
#define LAUNCH_NS 1000.0

const char *floor_by_name(enum floor_by by)
{
    static const char *const names[] = {"unknown", "compute", "memory", "launch"};
    return by >= 0 && by <= FLOOR_LAUNCH ? names[by] : "unknown";
}

static struct floor largest(double compute_ns, double memory_ns, double launch_ns)
{
    struct floor f = {.ns = launch_ns,
                      .by = launch_ns > 0 ? FLOOR_LAUNCH : FLOOR_UNKNOWN,
                      .compute_ns = compute_ns,
                      .memory_ns = memory_ns,
                      .launch_ns = launch_ns};
    if (compute_ns > f.ns) {
        f.ns = compute_ns;
        f.by = FLOOR_COMPUTE;
    }
    if (memory_ns > f.ns) {
        f.ns = memory_ns;
        f.by = FLOOR_MEMORY;
    }
    return f;
}

struct floor floor_of(const struct chip *chip, double flop, double bytes, int math, int warm)
{
    double rate = chip_flop_s(chip, math), band = chip->dram_bytes_s;
    if (rate <= 0 && math != MATH_NONE) { /* no such pipe: what a kernel would fall back to */
        double simt = math == MATH_F16_ACC16 || math == MATH_F16_ACC32 ? chip->flop_f16_simt : chip->flop_f32;
        rate = (simt > 0 ? simt : chip->flop_f32) * chip->sm_count * chip->clock_max_hz;
    }
    if (warm && chip->l2_bytes && bytes <= (double)chip->l2_bytes)
        band = chip->l2_bytes_s; /* 0 when not known: then memory sets no floor */
    if ((flop > 0 && math != MATH_NONE && rate <= 0) || (!warm && band <= 0)) {
        struct floor unknown = {0};
        return unknown;
    }
    return largest(flop > 0 && rate > 0 ? flop / rate * 1e9 : 0, band > 0 ? bytes / band * 1e9 : 0, LAUNCH_NS);
}

struct floor roof_of(const struct ceilings *c, double flop, double bytes, int math, int warm)
{
    double rate = math > MATH_NONE && math < MATH_COUNT ? c->flop_s[math] : 0,
           band = warm && c->l2_bytes_s > 0 ? c->l2_bytes_s : c->copy_bytes_s;
    struct floor unknown = {0};
    if ((flop > 0 && math != MATH_NONE && rate <= 0) || band <= 0) /* a roof with a part missing would be too low */
        return unknown;
    return largest(flop > 0 && rate > 0 ? flop / rate * 1e9 : 0, bytes / band * 1e9, c->launch_ns > 0 ? c->launch_ns : LAUNCH_NS);
}

struct ceilings ceilings_of(const struct roofs *roofs)
{
    struct ceilings c = {0};
    snprintf(c.date, sizeof c.date, "%s", roofs->measured);
    for (int i = 0; i < roofs->count; i++) {
        const struct roof *r = &roofs->items[i];
        double *to = !strcmp(r->name, "copy")     ? &c.copy_bytes_s
                     : !strcmp(r->name, "l2")     ? &c.l2_bytes_s
                     : !strcmp(r->name, "shared") ? &c.shared_bytes_s
                     : !strcmp(r->name, "launch") ? &c.launch_ns
                                                  : NULL;
        for (int math = MATH_F32; !to && math < MATH_COUNT; math++)
            if (!strcmp(r->name, math_name((enum math)math)))
                to = &c.flop_s[math];
        if (to)
            *to = r->value;
    }
    return c;
}
