/* Names of cases, and freeing them. */
#include "base/text.h"
#include "plan/scenario/private.h"
#include <stdlib.h>
#include <string.h>

struct work *work_copy(const struct work *work)
{
    return memcpy(xmalloc(sizeof *work), work, sizeof *work);
}

void scenario_case_free(struct scenario_case *c)
{
    for (int i = 0; i < c->axis_count; i++) {
        free(c->axes[i].axis);
        free(c->axes[i].value);
    }
    FREE_ALL(c->axes, c->part, c->id, c->like, c->same);
    case_want_all(c);
}

/* "@8x256": the cropped sizes of the fields that the crop names, in the op's order. */
static void name_crop(const struct node *crop, const struct scenario_case *c, struct text *t)
{
    const char *between = "@";
    for (const struct op_field *f = c->work.op->fields; f->name; f++)
        if (f->kind == FIELD_INT && node_get(crop, f->name)) {
            text_addf(t, "%s%lld", between, *(const long long *)(const void *)((const char *)&c->work + f->offset));
            between = "x";
        }
}

char *case_name(const struct scenario *s, const struct node *crop, const struct scenario_case *c)
{
    struct text t = {0};
    bool open = false;
    text_addf(&t, "%s/%s", s->name, c->layer->name);
    if (c->cropped && c->work.op->file)
        name_crop(crop, c, &t);
    else if (c->cropped && c->work.op->volume)
        text_addf(&t, "@%lldx%lldx%lld", (long long)c->work.d, (long long)c->work.plane, (long long)c->work.w);
    else if (c->cropped)
        text_addf(&t, "@%lldx%lld", (long long)c->work.h, (long long)c->work.w);
    for (int i = 0; i < c->axis_count; i++)
        if (!c->axes[i].silent) {
            text_addf(&t, "%s%s=%s", open ? "," : "[", c->axes[i].axis, c->axes[i].value);
            open = true;
        }
    text_add(&t, open ? "]" : "");
    return text_take(&t);
}

void scenario_cases_free(struct scenario_case *cases, int count)
{
    for (int i = 0; i < count; i++)
        scenario_case_free(&cases[i]);
    free(cases);
}

void case_want_all(struct scenario_case *c)
{
    for (int i = 0; i < c->only_count; i++) {
        free(c->only[i].variant);
        free(c->only[i].params);
    }
    free(c->only);
    c->only = NULL;
    c->only_count = 0;
}
