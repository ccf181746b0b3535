/* Roofline of one case: each verified row's rate over its intensity, under the ceilings of the machine. */
#include "report/account.h"
#include "report/plot.h"
#include "base/dtype.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 620
#define HEIGHT 380

static double counted(const struct view *v, const char *level)
{
    char name[40];
    snprintf(name, sizeof name, "hw.intensity_%s", level);
    return counter_step(v->row, -1, name);
}

static void widen(double *low, double *high, double value)
{
    if (isfinite(value) && value > 0) {
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

bool roofline_plot(struct plots *p, const struct case_view *c, const char *dir, struct error *err)
{
    struct plot_draft d = {.base = "roofline.gp", .width = WIDTH, .height = HEIGHT};
    const struct row *first = c->rows[0];
    enum math math = first->math && first->math[0] ? math_parse(first->math) : MATH_NONE;
    bool measured, pipe_measured, ignored;
    double band = machine_bytes_s(&c->machine, &measured) / 1e12, l2 = c->machine.ceilings.l2_bytes_s / 1e12;
    double pipe = machine_flop_s(&c->machine, math, &pipe_measured) / 1e12, f32 = machine_flop_s(&c->machine, MATH_F32, &ignored) / 1e12;
    double low_x = 1e30, high_x = 0, low_y = 1e30, high_y = 0;
    int rows = 0;
    bool counters = false;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        const struct row *row = v->row;
        if (!v->ranked || row->status != ROW_OK || !(row->flop > 0) || !(row->bytes > 0))
            continue;
        bool masked = row->flop_useful >= 0 && row->bytes_useful > 0;
        double flop = masked ? row->flop_useful : row->flop, bytes = masked ? row->bytes_useful : row->bytes, rate = flop / v->time->median_ns / 1e3;
        const double x[] = {flop / bytes, counted(v, "dram"), counted(v, "l2"), counted(v, "l1")};
        if (!(flop > 0))
            continue;
        plot_add_name(&d.data, v->name);
        text_addf(&d.data, "\t%.9g", rate);
        for (int k = 0; k < 4; k++) {
            counters |= k && isfinite(x[k]);
            text_addf(&d.data, isfinite(x[k]) ? "\t%.9g" : "\tNaN", x[k]);
            widen(&low_x, &high_x, x[k]);
        }
        text_addf(&d.data, "\t\"%d\"\n", v->rank);
        widen(&low_y, &high_y, rate);
        rows++;
    }
    if (!rows || band <= 0 || (pipe <= 0 && f32 <= 0)) {
        text_free(&d.data);
        return true;
    }
    double roof = pipe > 0 ? pipe : f32;
    widen(&low_x, &high_x, roof / band); /* the ridge is in the picture */
    widen(&low_y, &high_y, roof);
    text_addf(&d.script, "band_dram = %.9g\nband_l2 = %.9g\npipe = %.9g\npipe_f32 = %.9g\npipe_name = \"%s\"\nmeasured = %d\ncounted = %d\nleft = %.9g\nright = %.9g\nbottom = %.9g\ntop = %.9g\n",
              band, l2, pipe, math == MATH_F32 ? 0 : f32, math_name(math), measured && pipe_measured, counters, low_x / 3, high_x * 3, low_y / 2, high_y * 2);
    return plot_write(p, &d, PLOT_ROOFLINE, first->case_index,
                      text_format("Roofline: useful operations a second over operations a byte, %s. A number is the row's place in the table. Open circle: the least "
                                  "bytes any kernel moves; filled: the bytes counted at each level.",
                                  measured && pipe_measured ? "under the ceilings measured on this machine" : "under the data sheet's ceilings"),
                      dir, err);
}
