#include "base/text.h"
#include "gate/document.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    double logs, weights;
};

/* The ratio of base to head of the sum of some counts; NAN if a side does not know them. Counts that are 0 on both sides are equal. */
static double ratio_of(const struct gate_pair *p, const char *const *whats)
{
    double base = 0, head = 0;
    for (; *whats; whats++) {
        double a = gate_entry_fact(p->base, "", *whats), b = gate_entry_fact(p->head, "", *whats);
        base += a;
        head += b;
    }
    if (isnan(base) || isnan(head))
        return NAN;
    return base == head ? 1 : base > 0 && head > 0 ? base / head : NAN;
}

static void add(struct sums *s, double ratio, double weight)
{
    if (ratio > 0) {
        s->logs += weight * log(ratio);
        s->weights += weight;
    }
}

static double mean_of(const struct sums *s)
{
    return s->weights > 0 ? exp(s->logs / s->weights) : NAN;
}

static const struct row *row_of(const struct gate_pair *p)
{
    return p->head && p->head->row ? p->head->row : p->base ? p->base->row : NULL;
}

/* How often the row counts in a mean of that name; 0: not at all. */
static double weight_in(const struct gate_pair *p, const char *name, bool network)
{
    const struct row *row = row_of(p);
    if (!gate_entry_stands(p->base) || !gate_entry_stands(p->head))
        return 0;
    if (!name)
        return 1;
    if (!network) {
        SCOPED char *layer = text_format("%s/%s", p->head->scenario, p->head->layer);
        return !strcmp(layer, name);
    }
    for (int i = 0; row && i < row->network_count; i++)
        if (!strcmp(row->network[i].name, name))
            return (double)row->network[i].runs;
    return 0;
}

static struct gate_mean mean_make(const struct gate_comparison *c, const char *name, bool network)
{
    static const char *const instructions[] = {"emu.warp_instructions", NULL};
    static const char *const sectors[] = {"emu.global_sectors_ld", "emu.global_sectors_st", "emu.async_sectors", NULL};
    struct sums time = {0}, count = {0}, moved = {0};
    struct gate_mean m = {.name = xstrdup(name ? name : "all"), .network = network};
    for (int i = 0; i < c->count; i++) {
        const struct gate_pair *p = &c->pairs[i];
        double weight = weight_in(p, name, network);
        bool same = p->verdict == GATE_SAME && p->by == GATE_BY_IMAGE;
        if (!(weight > 0))
            continue;
        m.rows++;
        m.changed += !same;
        if (same && !network) /* equal rows would dilute the mean of the changed ones; a network's sum includes them */
            continue;
        if (same && c->timed)
            add(&time, 1, weight);
        add(&time, p->ratio, weight);
        add(&count, ratio_of(p, instructions), weight);
        add(&moved, ratio_of(p, sectors), weight);
    }
    m.time = c->timed ? mean_of(&time) : NAN;
    m.instructions = mean_of(&count);
    m.sectors = mean_of(&moved);
    return m;
}

/* Adds the name unless it is there. */
static void mean_name(char ***names, int *count, const char *name)
{
    for (int i = 0; i < *count; i++)
        if (!strcmp((*names)[i], name))
            return;
    *APPEND(*names, *count) = xstrdup(name);
}

int gate_means(const struct gate_comparison *c, struct gate_mean **means)
{
    SCOPED char **layers = NULL, **networks = NULL;
    int layer_count = 0, network_count = 0, made = 0;
    for (int i = 0; i < c->count; i++) {
        const struct gate_pair *p = &c->pairs[i];
        const struct row *row = row_of(p);
        if (!gate_entry_stands(p->base) || !gate_entry_stands(p->head))
            continue;
        SCOPED char *layer = text_format("%s/%s", p->head->scenario, p->head->layer);
        mean_name(&layers, &layer_count, layer);
        for (int k = 0; row && k < row->network_count; k++)
            mean_name(&networks, &network_count, row->network[k].name);
    }
    struct gate_mean *all = *means = xcalloc((size_t)(layer_count + network_count) + 1, sizeof *all);
    for (int i = 0; i < layer_count; i++)
        all[made++] = mean_make(c, layers[i], false);
    for (int i = 0; i < network_count; i++)
        all[made++] = mean_make(c, networks[i], true);
    all[made++] = mean_make(c, NULL, false);
    for (int i = 0; i < layer_count; i++)
        free(layers[i]);
    for (int i = 0; i < network_count; i++)
        free(networks[i]);
    return made;
}

void gate_means_free(struct gate_mean *means, int count)
{
    for (int i = 0; i < count; i++)
        free(means[i].name);
    free(means);
}
