/* report/view/number: see number.h. */
#include "report/view/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Decimals needed to show v with `digits` significant digits. */
static int decimals_for(double v, int digits)
{
    v = fabs(v);
    if (!(v > 0))
        return 0;
    int d = digits - 1 - (int)floor(log10(v));
    /* 9.996 with two decimals is printed 10.00: one digit too many */
    if (d > 0 && v + 0.5 * pow(10, -d) >= pow(10, digits - d))
        d--;
    return d < 0 ? 0 : d > 9 ? 9 : d;
}

/* Prints with thousands separators. */
static const char *grouped(double v, int decimals, char out[NUMBER_TEXT])
{
    char plain[NUMBER_TEXT];
    if (!isfinite(v) || fabs(v) >= 1e18) {
        snprintf(out, NUMBER_TEXT, isfinite(v) ? "%.3g" : "-", v);
        return out;
    }
    snprintf(plain, sizeof plain, "%.*f", decimals, v);
    size_t sign = plain[0] == '-', whole = strcspn(plain + sign, "."), n = 0;
    for (size_t i = 0; plain[i] && n < NUMBER_TEXT - 1; i++) {
        size_t at = i - sign;
        if (i >= sign && at > 0 && at < whole && (whole - at) % 3 == 0 && whole > 3) {
            out[n++] = ',';
            if (n == NUMBER_TEXT - 1)
                break;
        }
        out[n++] = plain[i];
    }
    out[n] = '\0';
    return out;
}

const char *number_3(double v, char out[NUMBER_TEXT])
{
    return grouped(v, isfinite(v) ? decimals_for(v, 3) : 0, out);
}

const char *number_short(double v, char out[NUMBER_TEXT])
{
    number_3(v, out);
    if (strchr(out, '.')) {
        size_t n = strlen(out);
        while (out[n - 1] == '0')
            out[--n] = '\0';
        if (out[n - 1] == '.')
            out[n - 1] = '\0';
    }
    return out;
}

const char *number_count(double v, char out[NUMBER_TEXT])
{
    return grouped(v, 0, out);
}

void number_pair(double v, double half, char value[NUMBER_TEXT], char spread[NUMBER_TEXT])
{
    spread[0] = '\0';
    if (!(half > 0) || !isfinite(half) || !isfinite(v)) {
        number_3(v, value);
        return;
    }
    int least = decimals_for(v, 3), most = decimals_for(v, 4), supported = decimals_for(half, 1);
    int decimals = supported < least ? least : supported > most ? most : supported;
    grouped(v, decimals, value);
    double unit = pow(10, -decimals);
    grouped(fmax(round(half / unit), 1) * unit, decimals, spread); /* never "±0.0": at least one unit of the last digit */
}

const char *number_si(double v, const char *unit, char out[NUMBER_TEXT])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int p = 0;
    char digits[NUMBER_TEXT];
    while (isfinite(v) && fabs(v) >= 999.5 && p < 5) {
        v /= 1000;
        p++;
    }
    snprintf(out, NUMBER_TEXT, "%.16s %s%.10s", number_3(v, digits), prefixes[p], unit);
    return out;
}

const char *number_time(double ns, char out[NUMBER_TEXT])
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    char digits[NUMBER_TEXT];
    int u = 0;

    while (u < 2 && !(ns >= units[u].scale))
        u++;
    snprintf(out, NUMBER_TEXT, "%.20s %s", number_3(ns / units[u].scale, digits), units[u].unit);
    return out;
}

const char *number_duration(double seconds, char out[NUMBER_TEXT])
{
    char digits[NUMBER_TEXT];
    if (!(seconds >= 0)) {
        snprintf(out, NUMBER_TEXT, "-");
    } else if (seconds < 9.95) {
        snprintf(out, NUMBER_TEXT, "%.1f s", seconds);
    } else if (seconds < 59.5) {
        snprintf(out, NUMBER_TEXT, "%.0f s", seconds);
    } else if (seconds < 3599.5) {
        int whole = (int)lround(seconds);
        snprintf(out, NUMBER_TEXT, "%d min %d s", whole / 60, whole % 60);
    } else {
        double minutes = floor(seconds / 60 + 0.5);
        snprintf(out, NUMBER_TEXT, "%.12s h %02d min", number_count(floor(minutes / 60), digits), (int)fmod(minutes, 60));
    }
    return out;
}

const char *number_percent(double share, char out[NUMBER_TEXT])
{
    double p = share * 100;
    return grouped(p, isfinite(p) && p > 0 && p < 0.995 ? 1 : 0, out);
}
