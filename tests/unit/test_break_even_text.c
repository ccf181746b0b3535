/* report/break_even/break_even_text: the text follows from measured densities, whatever the shape of the curves. Every density that it
 * names as an end was measured with a significant difference. The text says nothing of densities outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "noise.h"
#include "report/break_even/break_even.h"
#include "report/form/document.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 12
static struct crossing_point points[MOST];
static struct row any; /* of no type */
static struct break_line line = {.name = "s", .points = points, .row = &any};
static struct break_group group = {.title = "body", .against = "d", .lines = &line, .line_count = 1};

/* A letter a density of 1, 2, ... %: `w` it wins, `l` it loses, `.` it cannot be told. */
static void measure(const char *told)
{
    line.count = (int)strlen(told);
    for (int i = 0; i < line.count; i++) {
        double y = told[i] == 'w' ? 0.8 : told[i] == 'l' ? 1.2 : 1.01;
        points[i] = (struct crossing_point){.x = (i + 1) / 100.0, .y = y, .low = y - 0.05, .high = y + 0.05, .waste = NAN};
    }
    line.crossing = crossing_find(points, line.count);
}

static void sentence_is(const char *told, const char *want)
{
    struct text t = {0};
    measure(told);
    break_even_sentence(&group, &t);
    if (strcmp(text_get(&t), want))
        fail_msg("%s: '%s', want '%s'", told, text_get(&t), want);
    text_free(&t);
}

static void cell_is(const char *told, const char *want)
{
    const struct report_style plain = {0};
    struct document d = {0};
    struct text t = {0};
    measure(told);
    document_table(&d, break_even_table(&group, 1, false), DETAIL_ALWAYS);
    form_markdown.write(&t, &d, &plain);
    if (!strstr(text_get(&t), want))
        fail_msg("%s: no '%s' in %s", told, want, text_get(&t));
    text_free(&t);
    document_free(&d);
}

static void what_is_said(void **state)
{
    sentence_is("wwl", "body: s breaks even with d between 2 and 3 % of changed inputs (about 2.5)");
    sentence_is("wl", "body: s breaks even with d somewhere between 1 and 2 % of changed inputs"); /* twice as much: no density is named */
    sentence_is("w..l", "body: s breaks even with d somewhere between 1 and 4 % of changed inputs");
    sentence_is("www", "body: s: faster than d at all 3 measured densities, 1 to 3 %");
    sentence_is("ll", "body: s: slower than d at all 2 measured densities, 1 to 2 %");
    sentence_is("w.w..", "body: s: significantly faster than d at 2 of 5 measured densities, up to 3 % of changed inputs; no significant "
                         "difference at the others");
    sentence_is("..l", "body: s: significantly slower than d at 1 of 3 measured densities, from 3 % of changed inputs; no significant "
                       "difference at the others");
    sentence_is("...", "body: s: no significant difference from d at any of 3 measured densities");
    sentence_is("w", "body: s: measured at one density only");
    /* the other way round, and back again */
    sentence_is("ll.w.", "body: s breaks even with d somewhere between 2 and 4 % of changed inputs, slower at the lower end");
    sentence_is("lwwwl", "body: s breaks even with d between 4 and 5 % of changed inputs (about 4.5) (the curves cross at least 2 times; "
                         "this is the first change to slower)");
    cell_is("wwl", "| 2.5 \\[2 3\\] ");
    cell_is("wl", "between 1 and 2");
    cell_is("ll.w.", "between 2 and 4, slower below");
    cell_is("www", "faster at all densities");
    cell_is("ll", "slower at all densities");
    cell_is("w.", "no difference above 1");
    cell_is(".l", "no difference below 2");
    cell_is("...", "no significant difference");
}

/* Whatever is drawn: of two ends one wins and the other loses, and nothing between them is told. */
static void ends_were_measured(void **state)
{
    int bracketed = 0;
    noise_state = 5;
    for (int run = 0; run < 2000; run++) {
        char told[MOST + 1] = "";
        struct text t = {0};
        int count = 2 + (int)(noise_uniform() * (MOST - 2)), low, high;
        for (int i = 0; i < count; i++)
            told[i] = "wl."[(int)(noise_uniform() * 3)];
        measure(told);
        break_even_sentence(&group, &t);
        const char *said = text_get(&t), *between = strstr(said, "between ");
        assert_true(!strstr(said, "beats") && !strstr(said, " below ") && !strstr(said, "no crossing"));
        assert_true(!between == !(strchr(told, 'w') && strchr(told, 'l')));
        if (between) {
            assert_int_equal(sscanf(between, "between %d and %d %%", &low, &high), 2);
            assert_true(low < high && told[low - 1] != '.' && told[high - 1] != '.' && told[low - 1] != told[high - 1]);
            assert_true(told[low - 1] == (strstr(said, "slower at the lower") ? 'l' : 'w'));
            for (int i = low; i < high - 1; i++)
                assert_int_equal(told[i], '.');
            bracketed++;
        }
        text_free(&t);
    }
    assert_true(bracketed > 1000);
}

/* Of many curves: each of a variant counted once, by what is told of it; and the densities within which it changes. */
static void sums_of_many(void **state)
{
    static const char *const told[] = {"www", "wwl", "wlll", "wwwwwl", "ll", "w.", "..", "ll.w."};
    static struct crossing_point all[8][MOST];
    static struct break_line lines[9];
    static struct break_group groups[9];
    struct document d = {0};
    struct text t = {0};
    for (int i = 0; i < 9; i++) {
        measure(told[i % 8]);
        memcpy(all[i % 8], points, sizeof points);
        lines[i] = line;
        lines[i].points = all[i % 8];
        groups[i] = group;
        groups[i].lines = &lines[i];
        snprintf(groups[i].against, sizeof groups[i].against, i == 8 ? "c" : "d"); /* the last one has another rival */
    }
    break_even_sums(document_list(&d, DETAIL_ALWAYS), "answer", "When?", groups, 9);
    form_markdown.write(&t, &d, &(struct report_style){0});
    assert_string_equal(
        text_get(&t),
        "- **When?** summary of the 9 curves in the table of break-evens\n- s against d, 8 curves: faster at all measured densities on 1, "
        "changes from faster to slower on 3 (within 1 to 6 % of changed inputs), changes from slower to faster on 1, "
        "faster below a density and without a significant difference above it on 1, without a significant difference on 1, "
        "slower at all measured densities on 1\n- s against c, 1 curve: faster at all measured densities on 1\n");
    text_free(&t);
    document_free(&d);
    /* Curves of another type or math mode are sums of their own, which say so. */
    struct row half = {.dtype = xstrdup("f16"), .math = xstrdup("f16_acc32")}, single = {.dtype = xstrdup("f32"), .math = xstrdup("f32")};
    struct document by_type = {0};
    for (int i = 0; i < 9; i++)
        lines[i].row = i < 4 ? &half : &single;
    break_even_sums(document_list(&by_type, DETAIL_ALWAYS), "answer", "When?", groups, 8);
    form_markdown.write(&t, &by_type, &(struct report_style){0});
    assert_string_equal(
        text_get(&t),
        "- **When?** summary of the 8 curves in the table of break-evens\n- s against d in f16 f16_acc32, 4 curves: faster at all measured "
        "densities on 1, changes from faster to slower on 3 (within 1 to 6 % of changed inputs)\n- s against d in f32, "
        "4 curves: changes from slower to faster on 1, faster below a density and without a significant difference above it on 1, "
        "without a significant difference on 1, slower at all measured densities on 1\n");
    text_free(&t);
    document_free(&by_type);
    free(half.dtype);
    free(half.math);
    free(single.dtype);
    free(single.math);
}

/* A table that stands alone says what sentences would beside it. */
static void remarks_are_said(void **state)
{
    static const char *const told[][2] = {
        {"wwl", "| 3 |"}, {"w", "| 1 |"}, {"w.w..", "| 5, 2 significant |"}, {"lwwwl", "| 5, at least 2 crossings, this is the first |"}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        struct document d = {0};
        struct text t = {0};
        measure(told[i][0]);
        document_table(&d, break_even_table(&group, 1, true), DETAIL_ALWAYS);
        form_markdown.write(&t, &d, &(struct report_style){0});
        if (!strstr(text_get(&t), told[i][1]))
            fail_msg("%s: no '%s' in %s", told[i][0], told[i][1], text_get(&t));
        text_free(&t);
        document_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_said), cmocka_unit_test(sums_of_many), cmocka_unit_test(remarks_are_said),
                                       cmocka_unit_test(ends_were_measured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
