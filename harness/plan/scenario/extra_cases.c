/* Cases that a run adds: cases of the scenario at other densities of their mask. */
#include "base/text.h"
#include "plan/scenario/private.h"
#include <stdlib.h>
#include <string.h>

static bool make_extra(const struct scenario *s, const struct node *crop, const struct scenario_case *like, double density,
                       struct scenario_case *out, struct error *err)
{
    *out = *like;
    out->work.mask.density = density;
    out->part = like->part ? work_copy(like->part) : NULL;
    if (out->part)
        out->part->mask.density = density;
    if (!work_finish(&out->work, err) || (out->part && !work_finish(out->part, err))) {
        free(out->part);
        return false;
    }
    out->axes = xcalloc((size_t)like->axis_count + 1, sizeof *out->axes);
    for (int i = 0; i < like->axis_count; i++) {
        const struct coordinate *c = &like->axes[i];
        SCOPED char *seeded = mask_value_label(&like->work.mask, true, true);
        bool mask = !strcmp(c->axis, "mask");
        out->axes[i] = (struct coordinate){xstrdup(c->axis),
                                           mask ? mask_value_label(&out->work.mask, true, !strcmp(c->value, seeded)) : xstrdup(c->value),
                                           c->number, c->silent && !mask}; /* a density other than the layer's own is part of the id */
    }
    out->id = case_name(s, crop, out);
    out->like = xstrdup(like->id);
    return true;
}

static const struct scenario_case *find_case(const struct scenario_case *cases, int count, const char *id)
{
    return FIRST_IN(cases, i, count, !strcmp(cases[i].id, id));
}

/* One that was added for an earlier wish. */
static struct scenario_case *find_added(struct scenario_case *cases, int count, const struct scenario_wish *w)
{
    return FIRST_IN(cases, i, count, cases[i].like && cases[i].work.mask.density == w->density && !strcmp(cases[i].like, w->case_id));
}

static void want(struct scenario_case *c, const struct scenario_wish *w)
{
    *APPEND(c->only, c->only_count) = (struct scenario_only){xstrdup(w->variant), w->params ? xstrdup(w->params) : NULL};
}

bool extra_cases_add(const struct scenario *s, const struct node *crop, struct scenario_case **cases, int *count, int place,
                     const struct scenario_wish *wish, struct error *err)
{
    int given = *count;
    for (; wish && wish->case_id; wish++) {
        const struct scenario_case *like = find_case(*cases, given, wish->case_id);
        struct scenario_case one, *added = find_added(*cases + given, *count - given, wish);
        if (added && !wish->variant)
            case_want_all(added);
        else if (added && added->only) /* where all are wanted already they stay so */
            want(added, wish);
        if (added || !like || !(mask_pattern_keys[like->work.mask.pattern] & MASK_DENSITY))
            continue;
        if (!make_extra(s, crop, like, wish->density, &one, err))
            return false;
        one.place = place;
        if (wish->variant)
            want(&one, wish);
        if (find_case(*cases, *count, one.id)) {
            scenario_case_free(&one);
            continue;
        }
        place++;
        *APPEND(*cases, *count) = one;
    }
    return true;
}

/* A copy of the case with one more axis, in the order of names. */
static struct scenario_case on_gpu(const struct scenario *s, const struct node *crop, const struct scenario_case *like, const char *gpu)
{
    struct scenario_case one = *like;
    int at = 0;
    one.axes = xcalloc((size_t)like->axis_count + 1, sizeof *one.axes);
    while (at < like->axis_count && strcmp(like->axes[at].axis, "gpu") < 0)
        at++;
    for (int i = 0; i < like->axis_count; i++) {
        const struct coordinate *c = &like->axes[i];
        one.axes[i + (i >= at)] = (struct coordinate){xstrdup(c->axis), xstrdup(c->value), c->number, c->silent};
    }
    one.axes[at] = (struct coordinate){xstrdup("gpu"), xstrdup(gpu), strtod(gpu, NULL), false};
    one.axis_count++;
    one.part = like->part ? work_copy(like->part) : NULL;
    one.like = like->like ? xstrdup(like->like) : NULL;
    one.only = NULL;
    one.only_count = 0;
    for (int i = 0; i < like->only_count; i++)
        *APPEND(one.only, one.only_count) =
            (struct scenario_only){xstrdup(like->only[i].variant), like->only[i].params ? xstrdup(like->only[i].params) : NULL};
    one.id = case_name(s, crop, &one);
    return one;
}

void gpu_cases_make(const struct scenario *s, const struct node *crop, struct scenario_case **cases, int *count, const char *const *gpus)
{
    struct scenario_case *all = NULL;
    int made = 0, each = 0;
    while (gpus[each])
        each++;
    for (int i = 0; i < *count; i++) {
        for (int k = 0; k < each; k++) {
            struct scenario_case one = on_gpu(s, crop, &(*cases)[i], gpus[k]);
            one.place = one.place * each + k;
            *APPEND(all, made) = one;
        }
        scenario_case_free(&(*cases)[i]);
    }
    free(*cases);
    *cases = all;
    *count = made;
}
