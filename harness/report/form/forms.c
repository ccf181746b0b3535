/* The forms of a report, by name. */
#include "report/form/document.h"
#include <string.h>

#define FORM_ENTRY(name) &form_##name,
static const struct form *const forms[] = {FORMS(FORM_ENTRY)};
#define FORM_COUNT (sizeof forms / sizeof *forms)

const struct form *form_find(const char *name)
{
    for (size_t i = 0; i < FORM_COUNT; i++)
        if (strcmp(forms[i]->name, name) == 0)
            return forms[i];
    return NULL;
}

void form_names(struct text *t)
{
    for (size_t i = 0; i < FORM_COUNT; i++)
        text_addf(t, "%s%s", i ? ", " : "", forms[i]->name);
}
