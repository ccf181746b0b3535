/* Stores the results of a search in the database and reads them: `bench tune` writes them, `bench run --tuned` reads them. */
#include "base/date.h"
#include "base/order.h"
#include "base/spec.h"
#include "base/text.h"
#include "run/parent/parent.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Decides which of two stored configurations of one variant on one layer is closer to this machine: the same chip counts most, then the
 * same compiler, then the newer one. */
static int nearness(const struct wisdom *w, const char *chip, const char *compiler)
{
    return 2 * !strcmp(w->chip, chip) + !strcmp(w->compiler, compiler);
}

/* A configuration stored on emu is valid for emu, whatever chip it counts for. */
static const char *chip_of(const struct session_device *device)
{
    return spec_is_timed(device->spec) ? device->chip.name : SPEC_COUNTS;
}

static struct tuned_config tuned_of(const struct wisdom *w, const char *chip, const char *compiler, const char *since)
{
    struct text t = {0};
    text_addf(&t, "configuration tuned %.10s on %s with %s", w->tuned, w->chip, w->compiler);
    if (strcmp(w->chip, chip))
        text_addf(&t, "; stale: this is %s", chip);
    if (strcmp(w->compiler, compiler))
        text_addf(&t, "; stale: this compiler is %s", compiler);
    bool here = !strcmp(w->chip, chip) && !strcmp(w->compiler, compiler);
    return (struct tuned_config){.signature = xstrdup(w->signature),
                                 .variant = xstrdup(w->variant),
                                 .params = xstrdup(w->params ? w->params : ""),
                                 .note = text_take(&t),
                                 .wins = xstrdup(""),
                                 .hash = xstrdup(here ? w->source_hash : ""),
                                 .how = xstrdup(!strcmp(w->chip, SPEC_COUNTS)           ? "predicted"
                                                : since && strcmp(w->tuned, since) >= 0 ? "measured"
                                                                                        : "stored")};
}

/* Marks the configuration that a rule takes: for each layer the fastest one on this chip, if it was faster than the library. Those of a
 * layer follow each other. */
static void mark_winners(struct tuned_config *list, const struct wisdom *const *from, int count, const char *chip)
{
    for (int i = 0, end; i < count; i = end) {
        int best = -1;
        for (end = i; end < count && !strcmp(from[end]->signature, from[i]->signature); end++)
            if (!strcmp(from[end]->chip, chip) && (best < 0 || from[end]->median_ns < from[best]->median_ns))
                best = end;
        if (best >= 0 && from[best]->ratio > 1) {
            free((void *)(uintptr_t)list[best].wins);
            list[best].wins = xstrdup("yes");
        }
    }
}

static int configuration_order(const struct wisdom *x, const struct wisdom *y)
{
    int layers = strcmp(x->signature, y->signature);
    return layers ? layers : strcmp(x->variant, y->variant);
}

/* Those of one configuration stay as they are read. */
ORDER_POINTERS(by_configuration, struct wisdom, configuration_order(x, y) ? configuration_order(x, y) : (x > y) - (x < y))

/* The parent knows the sources only after making the plan, so session_judge_remembered checks them later. */
bool session_remembered(const char *database, const struct session_device *device, bool wins, const char *since, struct tuned_config **list,
                        struct error *err)
{
    struct store *store = NULL;
    struct wisdom *all = NULL;
    int count = 0, made = 0;
    *list = NULL;
    if (!store_exists(database))
        return true;
    if (!store_open(database, true, &store, err) || (count = store_wisdom(store, &all, err)) < 0) {
        store_close(store);
        return false;
    }
    struct tuned_config *out = xcalloc((size_t)count + 1, sizeof *out);
    SCOPED const struct wisdom **from = xcalloc((size_t)count + 1, sizeof *from);
    const char *chip = chip_of(device), *compiler = device->compiler;
    for (int i = 0; i < count; i++)
        from[i] = &all[i];
    qsort(from, (size_t)count, sizeof *from, by_configuration);
    for (int i = 0, end; i < count; i = end) {
        const struct wisdom *best = from[i];
        for (end = i + 1; end < count && !configuration_order(from[end], from[i]); end++)
            if (nearness(from[end], chip, compiler) > nearness(best, chip, compiler))
                best = from[end];
        from[made] = best;
        out[made++] = tuned_of(best, chip, compiler, since);
    }
    if (wins)
        mark_winners(out, from, made, chip);
    for (int i = 0; i < count; i++)
        wisdom_clear(&all[i]);
    free(all);
    store_close(store);
    *list = out;
    return true;
}

static void tuned_clear(struct tuned_config *t)
{
    FREE_ALL(t->signature, t->variant, t->params, t->note, t->wins, t->hash, t->how);
}

void session_remembered_free(struct tuned_config *list)
{
    for (struct tuned_config *t = list; t && t->signature; t++)
        tuned_clear(t);
    free(list);
}

ORDER(by_text, char, strcmp(x, y))

void session_forget_others(struct tuned_config *list, const struct plan *plan)
{
    SCOPED char(*own)[HASH_TEXT] = xcalloc((size_t)plan->case_count + 1, sizeof *own);
    struct tuned_config *left = list;
    for (int i = 0; list && i < plan->case_count; i++)
        work_signature(&plan->cases[i].work, own[i]);
    qsort(own, (size_t)plan->case_count, sizeof *own, by_text);
    for (struct tuned_config *t = list; t && t->signature; t++)
        if (bsearch(t->signature, own, (size_t)plan->case_count, sizeof *own, by_text))
            *left++ = *t;
        else
            tuned_clear(t);
    if (list)
        *left = (struct tuned_config){0};
}

/* Adds a note to each tuned row if its source differs from the tuned one; also handles rows without stored configurations. */
bool session_judge_remembered(struct session *s, struct error *err)
{
    SCOPED struct wisdom *all = NULL;
    int count = store_wisdom(s->store, &all, err);
    for (int i = 0; count >= 0 && i < s->plan.row_count; i++) {
        struct plan_row *p = &s->plan.rows[i];
        char signature[HASH_TEXT];
        bool same_source = false;
        if (!p->remembered || p->how) /* a choice of other sources is not taken */
            continue;
        work_signature(&s->plan.cases[p->case_index].work, signature);
        for (int k = 0; k < count && !same_source; k++)
            same_source = !strcmp(all[k].signature, signature) && !strcmp(all[k].variant, p->remembered->variant->name) &&
                          !strcmp(all[k].params ? all[k].params : "", p->remembered->label) &&
                          !strcmp(all[k].source_hash, p->remembered->variant->hash);
        if (!same_source) {
            char *more = text_format("%s; stale: %s.cu has changed since", p->note, p->remembered->variant->name);
            free(p->note);
            p->note = more;
        }
    }
    for (int k = 0; k < count; k++)
        wisdom_clear(&all[k]);
    return count >= 0;
}

/* The stored entry for the best of rows first..last-1, all of one variant; false if none is valid. predicted_ns (of these rows; NULL: they
 * were raced): the least of them is the best. */
static bool best_of(const struct session *s, int first, int last, const double *predicted_ns, struct wisdom *w)
{
    const struct row *best = NULL;
    struct row_time predicted = {.median_ns = INFINITY, .low_ns = NAN, .high_ns = NAN, .ratio = NAN, .ratio_low = NAN, .ratio_high = NAN};
    const struct row_time *time = &predicted;
    int timed = 0;
    for (int i = first; i < last; i++) {
        const struct row *row = s->rows[i];
        const struct row_time *t = row->status == ROW_OK && !predicted_ns ? row_time(row, MODE_COLD) : NULL;
        timed += t != NULL;
        if (t && row_metric(row, -1, "tune.best_of")) {
            best = row;
            time = t;
        } else if (row->status == ROW_OK && predicted_ns && predicted_ns[i - first] < predicted.median_ns) {
            best = row;
            predicted.median_ns = predicted_ns[i - first];
        }
    }
    if (!best)
        return false;
    *w = (struct wisdom){.work = xstrdup(best->work),
                         .variant = xstrdup(s->plan.rows[first].variant->name),
                         .params = xstrdup(best->params ? best->params : ""),
                         .chip = xstrdup(chip_of(&s->device)),
                         .arch = xstrdup(s->plan.chip.arch),
                         .compiler = xstrdup(s->device.compiler),
                         .median_ns = time->median_ns,
                         .low_ns = time->low_ns,
                         .high_ns = time->high_ns,
                         .ratio = time->ratio,
                         .ratio_low = time->ratio_low,
                         .ratio_high = time->ratio_high,
                         .points = last - first,
                         .timed = timed};
    work_signature(&s->plan.cases[s->plan.rows[first].case_index].work, w->signature);
    plan_search_hash(&s->plan, first, w->source_hash);
    date_now(w->tuned);
    return true;
}

bool session_compares(const struct session *s)
{
    return !s->options->no_time && (spec_is_timed(s->device.spec) || s->options->predict);
}

bool session_learn(struct session *s, int first, int last, struct error *err)
{
    SCOPED double *predicted_ns = spec_is_timed(s->device.spec) ? NULL : xcalloc((size_t)(last - first), sizeof *predicted_ns);
    if (predicted_ns)
        s->options->predict(&s->run, s->rows + first, last - first, predicted_ns);
    for (int from = first, to; from < last; from = to) {
        struct wisdom w;
        for (to = from; to < last && s->plan.rows[to].variant == s->plan.rows[from].variant;)
            to++;
        if (plan_pinned(&s->plan, from) || !best_of(s, from, to, predicted_ns ? predicted_ns + (from - first) : NULL, &w))
            continue;
        bool ok = store_wisdom_put(s->store, &w, err);
        wisdom_clear(&w);
        if (!ok)
            return false;
    }
    return true;
}
