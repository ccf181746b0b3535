/* A document in its forms: what each shows, and that a form is one struct with one function. */
#include "fixture_rows.h"
#include "item_text.h"
#include "report/form/document.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- a fourth form: a line a block, in words ---- */

static void words(struct text *t, const struct document *d, const struct report_style *style)
{
    int at = 0;
    (void)style;
    for (const struct block *b; (b = document_next(d, &at, false));) {
        switch (b->kind) {
        case BLOCK_HEADING: text_addf(t, "%d %s\n", b->level, b->text); break;
        case BLOCK_PROSE:
        case BLOCK_LIST:
            for (int i = 0; i < b->item_count; i++) {
                item_text(&b->items[i], t);
                text_add(t, "\n");
            }
            break;
        case BLOCK_TABLE: text_addf(t, "table of %d lines\n", b->table->line_count); break;
        case BLOCK_CODE: text_add(t, b->text); break;
        case BLOCK_FIGURE:
        case BLOCK_FOLD:
        case BLOCK_END: fail_msg("a form that does not show everything is not asked about it");
        }
    }
}

static const struct form form_words = {.name = "words", .write = words};

static void a_form_is_one_function(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    struct error err = {0};
    fixture_emu(&f);
    assert_true(report_whole(&t, &form_words, &f.run, f.rows, f.count, NULL, &err));
    const char *text = text_get(&t);
    assert_ptr_equal(strstr(text, "1 edsr_sparse\n"), text);
    assert_non_null(strstr(text, "\n2 edsr_sparse/body_1@48x48[mask=none]\nemu:GH100 "));
    assert_non_null(strstr(text, "\ntable of 3 lines\nonly a part of the layer was counted: my/halo_regs TH8 TW16, my/halo_regs TH16 TW32\n"
                                 "halo_regs.cu:88  16 sectors/request (ideal 2): uncoalesced store\n"));
    assert_non_null(strstr(text, "\n2 Provenance\ntable of "));
    text_free(&t);
    fixture_free(&f);
}

static void forms_have_names(void **state)
{
    struct text t = {0};
    assert_ptr_equal(form_find("md"), &form_markdown);
    assert_ptr_equal(form_find("html"), &form_html);
    assert_ptr_equal(form_find("text"), &form_terminal);
    assert_null(form_find("words")); /* its line in the table is what is missing */
    form_names(&t);
    assert_string_equal(text_get(&t), "md, html, text, json");
    text_free(&t);
}

/* ---- what forms show ---- */

static void make(struct document *d)
{
    document_heading(d, 2, "a <case>", "its work")->anchor = xstrdup("a <case>");
    struct table *t = table_new();
    table_column(t, "mark", "#", ALIGN_LEFT);
    table_column(t, "name", "name", ALIGN_LEFT);
    table_column(t, "time", "us", ALIGN_POINT, .note = "[95 %]", .about = "what it took", .ncu = "gpu__time.sum");
    table_column(t, "brief", "at a glance", ALIGN_RIGHT, .detail = DETAIL_BRIEF);
    table_column(t, "full", "busy %", ALIGN_RIGHT, .detail = DETAIL_FULL);
    table_column(t, "none", "nobody", ALIGN_RIGHT);
    table_row(t, LINE_BASELINE);
    table_cell(t, PAINT_NONE, "0");
    table_cell(t, PAINT_BOLD, "a|b");
    table_target(t, "a <case>");
    table_about(t, "what it is");
    table_number(t, PAINT_GOOD, 1.5, "1.50");
    table_note(t, "[1.4 1.6]");
    table_number(t, PAINT_NONE, 3, "3");
    table_bar(t, 40);
    table_row(t, LINE_FAILED);
    table_cell(t, PAINT_BAD, "!");
    table_cell(t, PAINT_BAD, "c");
    table_rest(t, PAINT_NONE, "WRONG by 1");
    document_table(d, t, DETAIL_ALWAYS);
    struct block *list = document_list(d, DETAIL_ALWAYS);
    block_item(list, "why", "c", "because");
    block_item(list, "why", NULL, NULL);
    block_item(list, "why", NULL, "other");
    block_names(list, "x, y", 2);
    document_fold_at(d, "row <1>", "more", "12 us");
    document_heading(d, 3, "hidden", NULL);
    document_code(d, "int x;\n", DETAIL_ALWAYS);
    document_end(d);
    document_code(d, "brief\n", DETAIL_BRIEF);
    document_figure(d, NULL, "not drawn", false);
    document_list(d, DETAIL_ALWAYS);
}

static void expect(const struct form *form, const char *want)
{
    struct document d = {0};
    struct text t = {0};
    make(&d);
    form->write(&t, &d, &(struct report_style){0});
    assert_string_equal(text_get(&t), want);
    text_free(&t);
    document_free(&d);
}

/* The names of another tool are asked for on a terminal, and stand once in Markdown, however many tables have them. */
static void ncu_is_one_step_away(void **state)
{
    struct document d = {0};
    struct text t = {0};
    make(&d);
    make(&d);
    form_terminal.write(&t, &d, &(struct report_style){.ncu = true});
    const char *first = strstr(text_get(&t), "!  c     WRONG by 1\nncu   us: gpu__time.sum\n\nwhy ");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "\nncu   us: gpu__time.sum\n"));
    t.len = 0;
    form_markdown.write(&t, &d, &(struct report_style){0});
    first = strstr(text_get(&t), "[^time]: ncu");
    assert_non_null(first);
    assert_null(strstr(first + 1, "[^time]"));
    text_free(&t);
    document_free(&d);
}

static void every_form_shows_the_same(void **state)
{
    expect(&form_terminal, "a <case>  its work\n"
                           "#  name    us [95 %]     at a glance\n"
                           "0  a|b   1.50 [1.4 1.6]            3\n"
                           "!  c     WRONG by 1\n"
                           "\n"
                           "why   c: because\n"
                           "      other: x, y\n"
                           "brief\n");
    expect(&form_markdown, "## a &lt;case>\n\nits work\n\n"
                           "| # | name | us \\[95 %\\][^time] | at a glance |\n"
                           "|---|---|---:|---:|\n"
                           "| 0 | a\\|b | 1.50 \\[1.4 1.6\\] | 3 |\n"
                           "| ! | c | WRONG by 1 | |\n"
                           "\n- **c**: because\n- other: x, y\n"
                           "\n```\nbrief\n```\n\n[^time]: ncu: `gpu__time.sum`\n");
    expect(&form_html,
           "<section>\n<h2 id=\"a--case--17c6c31e\">a &lt;case&gt;</h2>\n<p class=\"mono\">its work</p>\n"
           "<div class=\"scroll\"><table><thead><tr><th class=\"l\">#</th><th class=\"l\">name</th><th title=\"what it took; ncu: "
           "gpu__time.sum\">us <small>[95 "
           "%]</small></th>"
           "<th>busy %</th></tr></thead><tbody>\n"
           "<tr class=\"zero\"><td class=\"l mark\">0</td><td class=\"l name strong\"><b><a href=\"#a--case--17c6c31e\">a|b</a></b>"
           "<span class=\"what\">what it is</span></td><td class=\"good\">1.50 <small>[1.4 1.6]</small></td>"
           "<td class=\"share\">40.0</td></tr>\n"
           "<tr class=\"failed\"><td class=\"l mark bad\">!</td><td class=\"l name bad\">c</td>"
           "<td class=\"l reason\" colspan=\"2\"><span class=\"said\">WRONG by 1</span></td></tr>\n"
           "</tbody></table></div>\n"
           "<ul class=\"notes\">\n<li><i>why </i><b>c</b>: because</li>\n<li><i> </i>other: <small>x, y</small></li>\n</ul>\n"
           "<details class=\"row\" id=\"row--1--6c543234\" data-id=\"row &lt;1&gt;\"><summary>more <small>12 "
           "us</small></summary>\n<h3>hidden</h3>\n<pre>int x;\n</pre>\n</details>\n</section>\n");
}

/* A page has no backticks where words are meant to be code; what is none of such words stays as it is. */
static void words_in_backticks_are_code(void **state)
{
    struct document d = {0};
    struct text t = {0};
    block_item(document_list(&d, DETAIL_ALWAYS), "try", NULL, "`stalls` or `bench why`: not `a<b`, `` nor one ` alone");
    form_html.write(&t, &d, &(struct report_style){0});
    assert_non_null(strstr(text_get(&t), "<code>stalls</code> or <code>bench why</code>: not `a&lt;b`, `` nor one ` alone</li>"));
    text_free(&t);
    document_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_form_is_one_function), cmocka_unit_test(forms_have_names),
                                       cmocka_unit_test(every_form_shows_the_same), cmocka_unit_test(ncu_is_one_step_away),
                                       cmocka_unit_test(words_in_backticks_are_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
