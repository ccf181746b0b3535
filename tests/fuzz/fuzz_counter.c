/* Counter groups, evaluated where measurements are zero, huge, negative, absent and ordinary, on a chip that lacks every third metric. */
#include "counter/judge.h"
#include "counter/set.h"
#include "fuzz/common.h"
#include <math.h>
#include <string.h>

static bool has(void *context, const char *metric)
{
    return strlen(metric) % 3 != 0;
}

static double fact(void *context, const char *name)
{
    return name[0] == 'w' ? NAN : (double)strlen(name) - 5; /* `flop` is negative, `bytes` 0 */
}

static void see_value(void *context, const struct counter_value *value, double number)
{
    if (!value->name[0] || !isfinite(number))
        abort();
}

static void see_rule(void *context, const struct counter_finding *f)
{
    if (!f->says || !f->remedy || strstr(f->says, "nan") == f->says || f->gain < 0 || f->gain > 100)
        abort();
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    static const double numbers[] = {0, 1, 32, 1e300, -4, NAN, 4096, INFINITY};
    struct error err = {0};
    struct counter_chip chip = {"X1", has, NULL};
    struct counter_known facts = {.fact = fact};
    struct counter_set set;
    struct counter_group *g = counter_group_parse("fuzz.yaml", (const char *)data, bytes, NULL, &err);
    if (!g) {
        must_explain(&err);
        return;
    }
    const struct counter_group *one = g;
    if (!counter_set_make(&one, 1, NULL, 0, &chip, &set, &err)) {
        must_explain(&err);
    } else {
        double *measured = calloc((size_t)set.count + 1, sizeof *measured);
        for (int shift = 0; measured && shift < 8; shift++) {
            for (int i = 0; i < set.count; i++)
                measured[i] = numbers[(i + shift) % 8];
            counter_set_each(&set, measured, &facts, see_value, NULL);
            counter_group_judge(g, &facts, see_rule, NULL);
        }
        for (int i = 0; i < g->value_count; i++)
            counter_set_offers(&set, 0, i);
        free(measured);
        counter_set_free(&set);
    }
    counter_group_free(g);
}
