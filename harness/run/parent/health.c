/* run/parent/health: see health.h. */
#include "run/parent/health.h"
#include "base/order.h"
#include "device/chip/throttle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOW 0.05     /* a rate that is so much lower is told; two H200s of one host differ by 2.1 % at most in a row's time */
#define TOO_SLOW 0.20 /* and such a GPU runs nothing */

static double number(const struct gpu_check *c, const char *name)
{
    for (int i = 0; i < c->rates.count; i++)
        if (!strcmp(c->rates.items[i].name, name))
            return c->rates.items[i].value;
    return NAN;
}

static void say(struct text *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *why, const char *format, ...)
{
    va_list args;
    text_add(why, why->len ? "; " : "");
    va_start(args, format);
    text_vaddf(why, format, args);
    va_end(args);
}

static enum health worse(enum health a, enum health b)
{
    return a > b ? a : b;
}

static const struct rate {
    const char *name, *what, *unit;
    double scale;
} rates[] = {{"copy", "copies", "TB/s", 1e12},
             {"f32", "f32", "TFLOP/s", 1e12},
             {"f16_acc32", "f16 products", "TFLOP/s", 1e12},
             {"sm_clock_mhz", "SM clock", "MHz", 1},
             {"memory_clock_mhz", "memory clock", "MHz", 1}};
#define RATES (sizeof rates / sizeof *rates)

static enum health judge_rate(const struct rate *r, double own, double reference, const char *of, struct text *why)
{
    double less = 1 - own / reference;
    if (!(less > SLOW))
        return HEALTH_GOOD;
    say(why, "%s %.4g %s, %s %.4g (%.0f %% less)", r->what, own / r->scale, r->unit, of, reference / r->scale, less * 100);
    return less > TOO_SLOW ? HEALTH_REFUSED : HEALTH_LABELLED;
}

/* What a check says by itself. */
static enum health judge_alone(const struct gpu_check *c, struct text *why)
{
    enum health h = HEALTH_GOOD;
    SCOPED_TEXT throttle = {0};
    double errors = number(c, "ecc_errors"), aa = number(c, "aa"), bits = number(c, "throttle");
    if (errors > 0) {
        say(why, "%.0f uncorrectable memory errors", errors);
        h = HEALTH_REFUSED;
    }
    if (aa > HEALTH_NOISY) {
        say(why, "the same burst differs from itself by %.1f %%", aa * 100);
        h = worse(h, HEALTH_LABELLED);
    }
    throttle_text(isnan(bits) ? -1 : (int64_t)bits, &throttle);
    if (throttle.len) {
        say(why, "the driver holds the clock down: %s", text_get(&throttle));
        h = worse(h, HEALTH_LABELLED);
    }
    if (c->others[0]) {
        say(why, "another process computes there: %s", c->others);
        h = worse(h, HEALTH_LABELLED);
    }
    return h;
}

/* The median over the other GPUs; NaN: none knows it. */
static double median_of_others(const struct gpu_check *checks, int count, int index, const char *name)
{
    SCOPED double *values = xcalloc((size_t)count + 1, sizeof *values);
    int n = 0;
    for (int i = 0; i < count; i++)
        if (i != index && !isnan(number(&checks[i], name)))
            values[n++] = number(&checks[i], name);
    qsort(values, (size_t)n, sizeof *values, order_doubles);
    return !n ? NAN : n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

enum health health_judge(const struct gpu_check *checks, int count, int index, struct text *why)
{
    const struct gpu_check *own = &checks[index];
    if (!own->rates.count)
        return HEALTH_UNKNOWN;
    enum health h = judge_alone(own, why);
    for (size_t i = 0; i < RATES; i++)
        h = worse(
            h, judge_rate(&rates[i], number(own, rates[i].name), median_of_others(checks, count, index, rates[i].name), "the others", why));
    return h;
}

enum health health_drift(const struct gpu_check *first, const struct gpu_check *now, struct text *why)
{
    enum health h = judge_alone(now, why);
    for (size_t i = 0; i < RATES; i++)
        h = worse(h, judge_rate(&rates[i], number(now, rates[i].name), number(first, rates[i].name), "at first", why));
    return h == HEALTH_REFUSED ? HEALTH_LABELLED : h; /* rows that were measured before stay */
}

const char *health_name(enum health h)
{
    static const char *const names[] = {"unknown", "good", "labelled", "refused"};
    return names[h];
}
