/* report/source/sketch: see sketch.h. Colours are classes: `s` soft text, `w` a line, `f` a faint line, `a` the row itself, `d` dots, `k`
 * words over lines. */
#include "report/source/sketch.h"
#include "device/chip/occupancy.h"
#include "report/view/number.h"
#include "report/limits.h"
#include <math.h>
#include <stdio.h>

static void open_svg(struct text *t, int width, int height, const char *what, const char *alternative)
{
    text_addf(t, "<svg class=\"sketch\" viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"%s", width, height, width, what);
    text_add_html(t, alternative);
    text_add(t, "\">");
}

/* anchor: "", " m" in the middle, " e" at the end. */
static void label(struct text *t, double x, double y, const char *class, const char *words)
{
    text_addf(t, "<text x=\"%.4g\" y=\"%.4g\"", x, y);
    text_addf(t, class[0] ? " class=\"%s\">" : ">", class);
    text_add_html(t, words);
    text_add(t, "</text>");
}

/* ---- memory ---- */

/* One way between two boxes. */
struct flow {
    double read, written; /* bytes; NaN: not counted */
};

static const char *or_less(double v, const char *unit, char out[NUMBER_TEXT])
{
    return isnan(v) ? "" : unit[0] ? number_si(v, unit, out) : number_count(v, out);
}

static void box(struct text *t, int x, int y, int height, const char *name, const char *first, const char *second)
{
    text_addf(t, "<rect x=\"%d\" y=\"%d\" height=\"%d\"/>", x, y, height);
    label(t, x + 52, y + 18, "m b", name);
    if (first[0])
        label(t, x + 52, y + 35, "m", first);
    if (second[0])
        label(t, x + 52, y + 51, "m s", second);
}

/* An arrow each way between boxes, with its bytes. */
static void way(struct text *t, int x, int y, const struct flow *f)
{
    char n[NUMBER_TEXT];
    if (!isnan(f->read)) {
        text_addf(t, "<path class=\"a\" d=\"M%d %dh-66m7-4l-7 4l7 4\"/>", x + 73, y);
        label(t, x + 40, y - 5, "m", number_si(f->read, "B", n));
    }
    if (!isnan(f->written)) {
        text_addf(t, "<path class=\"a\" d=\"M%d %dh66m-7-4l7 4l-7 4\"/>", x + 7, y + 14);
        label(t, x + 40, y + 29, "m", number_si(f->written, "B", n));
    }
}

static double hw(const struct view *v, const char *name)
{
    return view_hardware(v, -1, name);
}

static const char *percent(double value, const char *of, char out[64])
{
    char n[NUMBER_TEXT];
    out[0] = 0;
    if (!isnan(value))
        snprintf(out, 64, "%s %% %s", number_short(value, n), of);
    return out;
}

/* Wavefronts of shared memory, and how many are conflicts. False, and no box: it was not used. */
static bool shared_box(struct text *t, double waves, double conflicts, double busy, struct text *alternative)
{
    char a[NUMBER_TEXT], p[64], first[64] = "", second[80] = "";
    if (!(waves > 0))
        return false;
    snprintf(first, sizeof first, "%s wavefronts", waves >= 1e4 ? number_si(waves, "", a) : number_count(waves, a));
    if (!isnan(conflicts))
        snprintf(second, sizeof second, "%s %% conflicts", number_percent(conflicts / waves, p));
    else
        percent(busy, "busy", second);
    text_add(t, "<path class=\"a\" d=\"M112 128h72m-65-4l-7 4l7 4m58-8l7 4l-7 4\"/>");
    box(t, 192, 96, 60, "shared", first, second);
    text_addf(alternative, "; shared memory %s, %s", first, second);
    return true;
}

void sketch_memory(struct text *t, const struct case_view *c, const struct view *v)
{
    SCOPED_TEXT boxes = {0}, words = {0};
    char a[64], b[64], n[NUMBER_TEXT], count[64];
    bool emu = c->counts, shared = false;
    double loads = emu ? view_part(v, -1, METRIC_EMU_SECTORS + SIDE_LOAD) : hw(v, "global_sectors_ld"),
           stores = emu ? view_part(v, -1, METRIC_EMU_SECTORS + SIDE_STORE) : hw(v, "global_sectors_st"),
           copied = emu ? view_part(v, -1, METRIC_EMU_COPIED) : NAN;
    struct flow first = {SECTOR_BYTES * known_sum(loads, copied > 0 ? copied : NAN), SECTOR_BYTES * stores},
                second = {hw(v, "l2_to_l1_bytes"), hw(v, "l1_to_l2_bytes")},
                third = {hw(v, "dram_bytes_read"), hw(v, "dram_bytes_written")};
    double instructions = emu ? view_total(v, metric_names[METRIC_EMU_INSTRUCTIONS]) : hw(v, "warp_instructions");
    if (isnan(first.read) && isnan(first.written) && isnan(third.read))
        return;
    snprintf(count, sizeof count, "%s",
             isnan(instructions)   ? ""
             : instructions >= 1e6 ? number_si(instructions, "", n)
                                   : number_count(instructions, n));
    way(&boxes, 110, 34, &first);
    text_addf(&words, "%s read and %s written between registers and L1", or_less(first.read, "B", a), or_less(first.written, "B", b));
    double unused = hw(v, "useful_ld");
    if (emu) {
        double ideal = view_part(v, -1, METRIC_EMU_SECTORS_IDEAL + SIDE_LOAD);
        unused = loads > 0 ? 100 * ideal / loads : NAN;
    }
    percent(hw(v, "l1_hit_rate_ld"), "hit", a);
    percent(unused, "of it used", b);
    box(&boxes, 192, 8, 60, emu ? "global" : "L1", a[0] ? a : b, a[0] ? b : "");
    if (emu) { /* no caches: the distinct bytes that the kernel touches */
        struct flow unique = {view_total(v, "emu.unique_bytes_read"), view_total(v, "emu.unique_bytes_written")};
        way(&boxes, 298, 34, &unique);
        box(&boxes, 380, 8, 60, "buffers", "each byte once", "");
        text_addf(&words, "; distinct bytes: %s read, %s written", or_less(unique.read, "B", a), or_less(unique.written, "B", b));
        shared = shared_box(&boxes, known_sum(view_part(v, -1, METRIC_EMU_WAVEFRONTS), view_part(v, -1, METRIC_EMU_WAVEFRONTS + 1)),
                            view_part(v, -1, METRIC_EMU_CONFLICTS), NAN, &words);
    } else {
        way(&boxes, 298, 34, &second);
        percent(hw(v, "l2_hit_rate"), "hit", a);
        percent(hw(v, "l2_busy"), "busy", b);
        box(&boxes, 380, 8, 60, "L2", a[0] ? a : b, a[0] ? b : "");
        way(&boxes, 486, 34, &third);
        box(&boxes, 568, 8, 60, "DRAM", percent(hw(v, "dram_throughput"), "busy", a), "");
        text_addf(&words, "; DRAM read %s, written %s", or_less(third.read, "B", a), or_less(third.written, "B", b));
        shared = shared_box(&boxes, hw(v, "shared_wavefronts"), hw(v, "shared_conflicts"), hw(v, "shared_pipe"), &words);
    }
    box(&boxes, 4, 8, shared ? 148 : 60, "warps", count, count[0] ? "instructions" : "");
    open_svg(t, emu ? 490 : 676, shared ? 160 : 74, "Memory chart: ", text_get(&words));
    text_add(t, text_get(&boxes));
    text_add(t, "</svg>");
}

/* ---- occupancy ---- */

#define PANEL_WIDTH 190
#define PANEL_HEIGHT 84

struct axis {
    const char *name;
    int from, to, step, now;
};

static int warps_at(const struct chip *chip, struct occupancy_query q, int axis, int value)
{
    if (axis == 0)
        q.registers = value;
    else if (axis == 1)
        q.dynamic_smem = (size_t)value > q.static_smem ? (size_t)value - q.static_smem : 0;
    else
        q.block_threads = value;
    return occupancy_warps(chip, &q);
}

/* A curve of steps: level, then up or down. */
static void curve(struct text *t, const struct chip *chip, const struct occupancy_query *q, int axis, const struct axis *x, int left)
{
    double per_x = (double)(PANEL_WIDTH - 30) / (x->to - x->from), per_y = (double)PANEL_HEIGHT / chip->warps_per_sm;
    int before = -1;
    text_add(t, "<path class=\"w\" d=\"");
    for (int value = x->from; value <= x->to; value += x->step) {
        int warps = warps_at(chip, *q, axis, value);
        if (before < 0)
            text_addf(t, "M%d %.0f", left, 6 + PANEL_HEIGHT - warps * per_y);
        else if (warps != before)
            text_addf(t, "H%.0fV%.0f", left + (value - x->from) * per_x, 6 + PANEL_HEIGHT - warps * per_y);
        before = warps;
    }
    text_addf(t, "H%d\"/>", left + PANEL_WIDTH - 30);
    if (x->now >= x->from && x->now <= x->to)
        text_addf(t, "<circle class=\"d\" r=\"4\" cx=\"%.4g\" cy=\"%.4g\"/>", left + (x->now - x->from) * per_x,
                  6 + PANEL_HEIGHT - warps_at(chip, *q, axis, x->now) * per_y);
}

void sketch_occupancy(struct text *t, const struct case_view *c, const struct row_step *s)
{
    const struct chip *chip = c->machine.chip;
    if (!chip || s->registers < 1 || s->block[0] < 1)
        return;
    struct occupancy_query q = {.block_threads = (int)(s->block[0] * s->block[1] * s->block[2]),
                                .registers = s->registers,
                                .static_smem = s->static_smem > 0 ? (size_t)s->static_smem : 0,
                                .dynamic_smem = s->dynamic_smem > 0 ? (size_t)s->dynamic_smem : 0,
                                .carveout = -1};
    struct occupancy o = occupancy_of(chip, &q);
    if (!o.possible || (s->blocks_per_sm >= 0 && o.blocks_per_sm != s->blocks_per_sm))
        return;
    int most_smem = (int)(chip->smem_per_sm / 1024);
    const struct axis axes[] = {{"registers a thread", 16, 255, 1, q.registers},
                                {"shared KiB a block", 0, most_smem * 1024, 1024, (int)(q.static_smem + q.dynamic_smem)},
                                {"threads a block", 32, 1024, 32, q.block_threads}};
    SCOPED char *alternative = text_format("%d of %d warps at %d registers, %d bytes of shared memory, %d threads", o.warps_per_sm,
                                           chip->warps_per_sm, q.registers, (int)(q.static_smem + q.dynamic_smem), q.block_threads);
    open_svg(t, 3 * PANEL_WIDTH + 30, PANEL_HEIGHT + 44, "Occupancy curves: ", alternative);
    for (int i = 0; i < 3; i++) {
        int left = 30 + i * PANEL_WIDTH, scale = i == 1 ? 1024 : 1;
        char from[16], to[16];
        snprintf(from, sizeof from, "%d", axes[i].from / scale);
        snprintf(to, sizeof to, "%d", axes[i].to / scale);
        text_addf(t, "<path class=\"f\" d=\"M%d 6v%dh%d\"/>", left, PANEL_HEIGHT, PANEL_WIDTH - 30);
        curve(t, chip, &q, i, &axes[i], left);
        label(t, left, PANEL_HEIGHT + 22, "s", from);
        label(t, left + PANEL_WIDTH - 30, PANEL_HEIGHT + 22, "e s", to);
        label(t, left + (PANEL_WIDTH - 30) / 2, PANEL_HEIGHT + 38, "m", axes[i].name);
    }
    char most[16];
    snprintf(most, sizeof most, "%d", chip->warps_per_sm);
    label(t, 26, 14, "e s", most);
    label(t, 26, PANEL_HEIGHT + 6, "e s", "0");
    text_add(t, "</svg>");
}

/* ---- roofline ---- */

#define ROOF_WIDTH 420
#define ROOF_HEIGHT 190
#define ROOF_LEFT 52
#define ROOF_BOTTOM 34
#define ROOF_RIGHT 26 /* half of the last label */

struct frame {
    double low_x, high_x, low_y, high_y; /* decades, of powers of ten */
};

static double at_x(const struct frame *f, double x)
{
    return ROOF_LEFT + (log10(x) - f->low_x) / (f->high_x - f->low_x) * (ROOF_WIDTH - ROOF_LEFT - ROOF_RIGHT);
}

static double at_y(const struct frame *f, double y)
{
    return 8 + (f->high_y - log10(y)) / (f->high_y - f->low_y) * (ROOF_HEIGHT - ROOF_BOTTOM - 8);
}

static void decades(struct text *t, const struct frame *f)
{
    char n[NUMBER_TEXT];
    for (int d = (int)f->low_x; d <= (int)f->high_x; d++) {
        double x = at_x(f, pow(10, d));
        text_addf(t, "<path class=\"f\" d=\"M%.4g 8V%d\"/>", x, ROOF_HEIGHT - ROOF_BOTTOM);
        label(t, x, ROOF_HEIGHT - ROOF_BOTTOM + 14, "m s", number_short(pow(10, d), n));
    }
    for (int d = (int)f->low_y; d <= (int)f->high_y; d++) {
        double y = at_y(f, pow(10, d));
        text_addf(t, "<path class=\"f\" d=\"M%d %.4gH%d\"/>", ROOF_LEFT, y, ROOF_WIDTH - ROOF_RIGHT);
        label(t, ROOF_LEFT - 4, y + 4, "e s", number_si(pow(10, d), "", n));
    }
}

static void ceiling(struct text *t, const struct frame *f, double band, double rate, const char *class)
{
    double ridge = rate / band, left = pow(10, f->low_x), right = pow(10, f->high_x), low = pow(10, f->low_y);
    double start = fmax(left, low / band);
    if (!(band > 0) || !(rate > 0) || start > ridge || ridge > right)
        return;
    text_addf(t, "<path class=\"%s\" d=\"M%.4g %.4gL%.4g %.4gH%d\"/>", class, at_x(f, start), at_y(f, start * band), at_x(f, ridge),
              at_y(f, rate), ROOF_WIDTH - ROOF_RIGHT);
}

void sketch_roofline(struct text *t, const struct case_view *c, const struct view *v, const struct breakdown *a)
{
    const struct row *row = v->row;
    bool ignored, masked = row->flop_useful >= 0 && row->bytes_useful > 0;
    double flop = masked ? row->flop_useful : row->flop, bytes = masked ? row->bytes_useful : row->bytes;
    double band = machine_bytes_s(&c->machine, &ignored), l2 = c->machine.ceilings.l2_bytes_s,
           rate = machine_flop_s(&c->machine, a->pipe_math, &ignored);
    if (!v->ranked || !(flop > 0) || !(bytes > 0) || !(band > 0) || !(rate > 0))
        return;
    double mine = flop / v->time->median_ns * 1e9;
    const char *const names[] = {"least", "DRAM", "L2", "L1"};
    double x[] = {flop / bytes, breakdown_intensity(v, -1, flop, "dram"), breakdown_intensity(v, -1, flop, "l2"),
                  breakdown_intensity(v, -1, flop, "l1")};
    struct frame f = {log10(rate / band), log10(rate / band), log10(mine), log10(fmax(rate, mine))};
    for (int i = 0; i < 4; i++) {
        if (!isfinite(x[i]) || x[i] <= 0 || x[i] > 100 * rate / band) /* a bypassed L1 serves almost nothing */
            x[i] = NAN;
        f.low_x = fmin(f.low_x, isnan(x[i]) ? f.low_x : log10(x[i]));
        f.high_x = fmax(f.high_x, isnan(x[i]) ? f.high_x : log10(x[i]));
    }
    f = (struct frame){floor(f.low_x), ceil(f.high_x + 0.01), floor(f.low_y), ceil(f.high_y)};
    if (f.high_x - f.low_x > 12 || f.high_y - f.low_y > 12) /* damaged numbers */
        return;
    char n[NUMBER_TEXT];
    SCOPED_TEXT words = {0};
    text_addf(&words, "%s", number_si(mine, "FLOP/s", n));
    for (int i = 0; i < 4; i++)
        if (!isnan(x[i]))
            text_addf(&words, "; %s FLOP/B %s %s", number_3(x[i], n), i ? "at" : "at the", names[i]);
    open_svg(t, ROOF_WIDTH, ROOF_HEIGHT, "Roofline: ", text_get(&words));
    decades(t, &f);
    ceiling(t, &f, l2, rate, "w o");
    ceiling(t, &f, band, rate, "w");
    for (int i = 3; i >= 0; i--)
        if (!isnan(x[i])) {
            text_addf(t, "<circle class=\"%s\" r=\"4\" cx=\"%.4g\" cy=\"%.4g\"/>", i ? "d" : "w", at_x(&f, x[i]), at_y(&f, mine));
            label(t, at_x(&f, x[i]), at_y(&f, mine) + (i % 2 ? 18 : -9), "m k", names[i]);
        }
    label(t, (ROOF_WIDTH + ROOF_LEFT) / 2, ROOF_HEIGHT - 4, "m s", "FLOP a byte");
    label(t, ROOF_LEFT + 4, 18, "s", "FLOP/s");
    text_add(t, "</svg>");
}

/* ---- rounds ---- */

#define ROUNDS_WIDTH 680
#define ROUNDS_HEIGHT 96
#define ROUNDS_SPLIT 470 /* the rounds in order on the left, how they are distributed on the right */
#define STRIP_HEIGHT 26
#define BINS 24

/* A value of every round other than time, as a strip with its range on the left. Nothing if it was not read. */
static void strip(struct text *t, const struct row_time *time, const double *values, double unit, const char *name, int top)
{
    double low = INFINITY, high = 0, each = (double)(ROUNDS_SPLIT - 60) / time->rounds;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], words[3 * NUMBER_TEXT];
    for (int i = 0; values && i < time->rounds; i++)
        if (isfinite(values[i]) && values[i] > 0) {
            low = fmin(low, values[i]);
            high = fmax(high, values[i]);
        }
    if (!(high > 0))
        return;
    double scale = high > low ? (STRIP_HEIGHT - 10) / (high - low) : 0;
    int before = -1, at = 0;
    text_add(t, "<path class=\"w\" d=\"");
    for (int i = 0; i < time->rounds; i++) {
        if (!isfinite(values[i]) || values[i] <= 0)
            continue;
        int y = top + 5 + (int)round((high - values[i]) * scale);
        if (before < 0)
            text_addf(t, "M%.0f %d", 62 + i * each, y);
        else if (y != before) /* a clock stays where it is for many rounds */
            text_addf(t, "h%.3gv%d", (i - at) * each, y - before);
        else
            continue;
        before = y;
        at = i;
    }
    text_addf(t, "H%d\"/>", ROUNDS_SPLIT);
    snprintf(words, sizeof words, high > low ? "%s to %s %s" : "%.0s%s %s", number_count(round(low / unit), a),
             number_count(round(high / unit), b), name);
    label(t, ROUNDS_SPLIT + 10, top + STRIP_HEIGHT / 2 + 4, "s", words);
}

void sketch_rounds(struct text *t, const struct row_time *time)
{
    double low = INFINITY, high = 0;
    int bins[BINS] = {0}, most = 1, shown = 0;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    for (int i = 0; time->samples_ns && i < time->rounds; i++) {
        double s = time->samples_ns[i];
        if (isfinite(s) && s > 0) {
            low = fmin(low, s);
            high = fmax(high, s);
            shown++;
        }
    }
    if (shown < 3 || !(high > low))
        return;
    SCOPED char *alternative = text_format("%d rounds from %s to %s", shown, number_time(low, a), number_time(high, b));
    int strips = (time->clock_hz != NULL) + (time->power_w != NULL);
    open_svg(t, ROUNDS_WIDTH, ROUNDS_HEIGHT + strips * STRIP_HEIGHT, "Time of every round, and their distribution: ", alternative);
    double scale = (ROUNDS_HEIGHT - 26) / (high - low), each = (double)(ROUNDS_SPLIT - 60) / time->rounds;
    int step = 1 + time->rounds / SHOWN_ROUNDS; /* of many, every second, third ... */
    text_addf(t, "<path class=\"f\" d=\"M60 %.4gH%d\"/><path class=\"p\" d=\"", 8 + (high - time->median_ns) * scale, ROUNDS_WIDTH - 4);
    int before = 0, at = -1; /* a step further each, by the same text: a page packs it well */
    for (int i = 0; i < time->rounds; i++) {
        double s = time->samples_ns[i];
        if (!isfinite(s) || s <= 0)
            continue;
        bins[(int)fmin(BINS - 1, (high - s) / (high - low) * BINS)]++;
        if (i % step)
            continue;
        int y = 8 + (int)round((high - s) * scale);
        if (at < 0)
            text_addf(t, "M%.0f %dh2", 62 + i * each, y);
        else
            text_addf(t, "m%.3g %dh2", (i - at) * each - 2, y - before);
        before = y;
        at = i;
    }
    text_add(t, "\"/><path class=\"h\" d=\"");
    for (int i = 0; i < BINS; i++)
        most = bins[i] > most ? bins[i] : most;
    for (int i = 0; i < BINS; i++)
        if (bins[i])
            text_addf(t, "M%d %.3gh%.3g", ROUNDS_SPLIT + 10, 8 + (i + 0.5) * (ROUNDS_HEIGHT - 26) / BINS,
                      (double)bins[i] / most * (ROUNDS_WIDTH - ROUNDS_SPLIT - 16));
    text_add(t, "\"/>");
    label(t, 56, 14, "e s", number_3(high / 1e3, a));
    label(t, 56, ROUNDS_HEIGHT - 16, "e s", number_3(low / 1e3, a));
    label(t, 56, ROUNDS_HEIGHT - 2, "e s", "us");
    label(t, 62, ROUNDS_HEIGHT - 2, "s", step > 1 ? "rounds in order (some left out)" : "rounds in order");
    label(t, ROUNDS_SPLIT + 10, ROUNDS_HEIGHT - 2, "s", "distribution");
    strip(t, time, time->clock_hz, 1e6, "MHz, SM clock", ROUNDS_HEIGHT);
    strip(t, time, time->power_w, 1, "W, board", ROUNDS_HEIGHT + (time->clock_hz ? STRIP_HEIGHT : 0));
    text_add(t, "</svg>");
}
