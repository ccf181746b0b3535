/* Cases that a run finds it needs: those of the scenario at other densities of their mask. */
#include "base/text.h"
#include "scenario/private.h"
#include <stdlib.h>
#include <string.h>

/* Where the density of "...mask=PATTERN:DENSITY:SEED..." stands; a label alone has no "mask=". */
static bool find_density(const char *text, size_t *from, size_t *to)
{
    const char *mask = strstr(text, "mask="), *label = mask ? mask + 5 : text, *at = label + strcspn(label, ":,]");
    char *end;
    if (*at != ':')
        return false;
    strtod(at + 1, &end);
    *from = (size_t)(at + 1 - text);
    *to = (size_t)(end - text);
    return end > at + 1 && strchr(":,]", *end);
}

static char *with_density(const char *text, double density)
{
    size_t from, to;
    char number[32];
    mask_density_text(density, number, sizeof number);
    return find_density(text, &from, &to) ? text_format("%.*s%s%s", (int)from, text, number, text + to) : xstrdup(text);
}

char *scenario_id_at(const char *id, double density)
{
    size_t from, to;
    return strstr(id, "mask=") && find_density(id, &from, &to) ? with_density(id, density) : NULL;
}

/* Are they one text but for the density? */
static bool same_but_density(const char *a, const char *b)
{
    SCOPED char *x = with_density(a, 0), *y = with_density(b, 0);
    return !strcmp(x, y);
}

static const char *mask_label(const struct scenario_case *c)
{
    for (int i = 0; i < c->axis_count; i++)
        if (!strcmp(c->axes[i].axis, "mask"))
            return c->axes[i].value;
    return "";
}

static bool make_more(const struct scenario_case *like, double density, struct scenario_case *out, struct error *err)
{
    *out = *like;
    out->work.mask.density = density;
    if (!work_finish(&out->work, err))
        return false;
    out->id = with_density(like->id, density);
    out->axes = xcalloc((size_t)like->axis_count + 1, sizeof *out->axes);
    for (int i = 0; i < like->axis_count; i++) {
        const struct coordinate *c = &like->axes[i];
        out->axes[i] = (struct coordinate){xstrdup(c->axis), strcmp(c->axis, "mask") ? xstrdup(c->value) : with_density(c->value, density)};
    }
    return true;
}

static bool has_case(const struct scenario_case *cases, int count, const char *id)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(cases[i].id, id))
            return true;
    return false;
}

bool cases_more(struct scenario_case **cases, int *count, int place, const char *const *more, struct error *err)
{
    int given = *count;
    for (; more && *more; more++) {
        size_t from, to;
        bool known = find_density(*more, &from, &to), layer = false;
        const char *label = strstr(*more, "mask=");
        SCOPED char *own = label ? xstrndup(label + 5, strcspn(label + 5, ",]")) : NULL;
        for (int i = 0; i < given; i++)
            layer = layer || same_but_density((*cases)[i].id, *more);
        for (int i = 0; known && own && i < given; i++) { /* a network is run with every mask that its layers have */
            struct scenario_case one;
            if (!same_but_density(layer ? (*cases)[i].id : mask_label(&(*cases)[i]), layer ? *more : own))
                continue;
            SCOPED char *id = with_density((*cases)[i].id, strtod(*more + from, NULL));
            bool there = has_case(*cases, *count, id);
            if (there)
                continue;
            if (!make_more(&(*cases)[i], strtod(*more + from, NULL), &one, err))
                return false;
            one.place = place++;
            *APPEND(*cases, *count) = one;
        }
    }
    return true;
}
