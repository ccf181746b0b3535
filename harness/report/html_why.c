/* report/html_why: the words of `bench why` for the rows of a case, the kernels it launched and its source lines, folded away below its
 * table. */
#include "report/counted.h"
#include "report/html.h"
#include "report/listing.h"
#include "report/verdict.h"
#include "report/why.h"
#include <stdlib.h>

#define ROWS_EXPLAINED 12 /* of a case, the fastest first: a page stays a page */

/* What `bench why --measure` and `bench show ROW` print below that: as far as the row has it. */
static void add_parts(struct text *t, const struct row *row, const struct report_style *style)
{
    struct text parts[4] = {0};
    listing_code(&parts[0], row, style);
    report_kernels(&parts[1], row);
    report_samples(&parts[2], row);
    listing_lines(&parts[3], row, style);
    for (int i = 0; i < 4; i++) {
        if (parts[i].len)
            text_addf(t, "\n%s", text_get(&parts[i]));
        text_free(&parts[i]);
    }
}

void html_why(struct text *t, const struct case_view *c)
{
    const struct report_style style = {.width = 120};
    int shown = 0;
    for (int i = 0; i < c->count && shown < ROWS_EXPLAINED; i++) {
        const struct view *v = &c->views[c->order[i]];
        struct verdicts all;
        struct text words = {0};
        if (v->row->status != ROW_OK || (!v->ranked && !c->counts))
            continue;
        verdicts_of(c, v, &all);
        report_why(&words, c->run, c->rows, c->count, (int)(v - c->views), &style);
        add_parts(&words, v->row, &style);
        text_add(t, shown++ ? ""
                            : "<details><summary>Why each row is as fast as it is: verdict, account of its time, what the fastest does "
                              "better, kernels, source lines</summary>\n");
        text_add(t, "<details><summary>");
        html_text(t, v->name);
        text_addf(t, "%s%s</summary><pre>", all.count ? ": " : "", all.count ? counter_bind_names[all.items[0].binds] : "");
        html_text(t, text_get(&words));
        text_add(t, "</pre></details>\n");
        text_free(&words);
    }
    text_add(t, shown ? "</details>\n" : "");
}
