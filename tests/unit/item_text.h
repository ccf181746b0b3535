/* An item of a document as one text: "name: text more". */
#ifndef BENCH_TESTS_ITEM_TEXT_H
#define BENCH_TESTS_ITEM_TEXT_H

#include "report/form/document.h"

static inline void item_text(const struct item *item, struct text *t)
{
    if (item->name)
        text_addf(t, "%s%s", item->name, item_between(item));
    text_add(t, item->text ? item->text : "");
    if (item->more)
        text_addf(t, ": %s", item->more);
}

#endif
