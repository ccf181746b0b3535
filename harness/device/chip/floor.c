#include "device/chip/floor.h"
#include "base/dtype.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* FLOP/s of the pipe; of one that the chip lacks, what a kernel would fall back to. 0: not known. */
static double rate_of(const struct chip *chip, int math)
{
    double rate = chip_flop_s(chip, math);
    if (rate > 0 || math == MATH_NONE)
        return rate;
    double simt = math == MATH_F16_ACC16 || math == MATH_F16_ACC32 ? chip->flop_f16_simt : chip->flop_f32;
    return (simt > 0 ? simt : chip->flop_f32) * chip->sm_count * chip->clock_max_hz;
}

static struct floor floor_at(const struct chip *chip, const struct need *need, double rate, bool arithmetic, bool warm)
{
    double l2 = (double)chip->l2_bytes, band = chip->dram_bytes_s;
    double written = l2 > 0 ? fmax(0, need->write_bytes - l2) : 0, read = need->read_bytes;
    if (warm)
        read = l2 > 0 ? fmax(0, read - l2) : 0;
    if ((arithmetic && rate <= 0) || band <= 0) {
        struct floor unknown = {0};
        return unknown;
    }
    return largest(arithmetic ? need->flop / rate * 1e9 : 0, (read + written) / band * 1e9, 0);
}

struct floor floor_of(const struct chip *chip, const struct need *need, int math, bool warm)
{
    return floor_at(chip, need, rate_of(chip, math), need->flop > 0 && math != MATH_NONE, warm);
}

struct floor floor_least(const struct chip *chip, const struct need *need, int math, bool warm)
{
    static const struct {
        int math, by;
        double times;
    } others[] = {
        {MATH_F32, MATH_F16_ACC32, 3}, {MATH_TF32, MATH_F16_ACC32, 1}, {MATH_TF32, MATH_F32, 1}, {MATH_I8_ACC32, MATH_F16_ACC32, 1}};
    double rate = rate_of(chip, math);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].math == math)
            rate = fmax(rate, rate_of(chip, others[i].by) / others[i].times);
    return floor_at(chip, need, rate, need->flop > 0 && math != MATH_NONE, warm);
}

struct floor floor_launched(struct floor f, double launch_ns)
{
    return f.by == FLOOR_UNKNOWN && f.ns <= 0 ? f : largest(f.compute_ns, f.memory_ns, launch_ns);
}

struct floor roof_of(const struct ceilings *c, double flop, double bytes, int math, int warm)
{
    double rate = math > MATH_NONE && math < MATH_COUNT ? c->flop_s[math] : 0,
           band = warm && c->l2_bytes_s > 0 ? c->l2_bytes_s : c->copy_bytes_s;
    struct floor unknown = {0};
    if ((flop > 0 && math != MATH_NONE && rate <= 0) || band <= 0) /* a roof with a part missing would be too low */
        return unknown;
    return largest(flop > 0 && rate > 0 ? flop / rate * 1e9 : 0, bytes / band * 1e9, c->launch_ns);
}

struct ceilings ceilings_of(const struct ceiling_list *roofs)
{
    struct ceilings c = {0};
    snprintf(c.date, sizeof c.date, "%s", roofs->measured);
    for (int i = 0; i < roofs->count; i++) {
        const struct ceiling *r = &roofs->items[i];
        double *to = !strcmp(r->name, "copy")         ? &c.copy_bytes_s
                     : !strcmp(r->name, "l2")         ? &c.l2_bytes_s
                     : !strcmp(r->name, "shared")     ? &c.shared_bytes_s
                     : !strcmp(r->name, "launch")     ? &c.launch_ns
                     : !strcmp(r->name, "graph_node") ? &c.graph_node_ns
                                                      : NULL;
        for (int math = MATH_F32; !to && math < MATH_COUNT; math++)
            if (!strcmp(r->name, math_name((enum math)math)))
                to = &c.flop_s[math];
        if (to)
            *to = r->value;
    }
    return c;
}
