/* gate: what a person and a CI system read of a comparison. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include "gate/document.h"
#include "gate_world.h"
#include <jansson.h>
#include <sys/utsname.h>
#include <unistd.h>

static struct gate_side base, head;
static struct gate_rules rules;
static struct gate_comparison c;
static int code;

static void compare(const char *yaml, const char *base_text, const char *head_text, bool kept)
{
    struct error err = {0};
    base = gate_world_side("main", base_text, kept);
    head = gate_world_side("the working tree", head_text, false);
    head.about = xstrdup("emu:GH100");
    head.device = xstrdup("emu:GH100");
    head.folder = xstrdup("/w/");
    assert_true(gate_world_rules(yaml, &rules, &err));
    if (!gate_compare(&base, &head, &rules, false, &c, &err))
        fail_msg("%s", err.text);
    code = gate_exit_code(&c);
}

static void done(void)
{
    gate_comparison_free(&c);
    gate_rules_free(&rules);
    gate_side_free(&base);
    gate_side_free(&head);
}

static char *printed(const int *exit_code)
{
    struct document d = {0};
    struct text t = {0};
    gate_document(&d, &c, exit_code);
    form_terminal.write(&t, &d, &(struct report_style){.width = 200});
    document_free(&d);
    return text_take(&t);
}

static void is(const char *got, const char *want)
{
    size_t i = 0;
    while (got[i] && got[i] == want[i])
        i++;
    if (got[i] != want[i])
        fail_msg("from byte %zu:\n%s\nnot\n%s", i, got + i, want + i);
}

static void a_page_has_what_changed(void **state)
{
    compare("waivers:\n- {row: '*', what: emu.local_sectors, why: it is known, owner: me, until: 2026-06-15}\n"
            "- {row: 's/z', what: time, why: w, owner: o, until: 2026-06-14}\n- {row: 's/y', what: time, why: v, owner: o, until: "
            "2099-01-01}\n",
            "s/a/better ok A emu.local_sectors=4\ns/a/gone ok A\ns/a/same ok A\ns/a/worse ok A conv:registers=32 "
            "emu.global_sectors_ld=64 emu.local_sectors=1 occupancy=0.5 emu.barriers=2 emu.shared_wavefronts_ld=1000000",
            "s/a/bad wrong A\ns/a/better ok B emu.local_sectors=3\ns/a/new ok N\ns/a/same ok A\ns/a/skip skipped A\ns/a/worse ok B "
            "conv:registers=40 emu.global_sectors_ld=512 emu.local_sectors=2 occupancy=0.25 emu.shared_wavefronts_ld=1000001",
            false);
    struct gate_pair *bad = &c.pairs[0], *worse = &c.pairs[1];
    bad->file = xstrdup("/w/k/a.cu");
    bad->line = 7;
    worse->changes[0].file = xstrdup("/w/k/b.cu");
    worse->changes[1].file = xstrdup("/elsewhere/c.cu");
    worse->changes[1].line = 12;
    worse->changes[2].line = 13; /* of no file */
    c.not_asked = 2;
    SCOPED char *page = printed(&code), *bare = printed(NULL);
    is(page, "main -> the working tree  emu:GH100\n"
             "FAIL  SAME 1 \302\267 SLOWER 1 \302\267 FASTER 1 \302\267 UNDECIDED 0 \302\267 WRONG 1 \302\267 MISSING 1 \302\267 NEW 1 "
             "\302\267 1 row "
             "was run on neither side (infeasible or skipped) \302\267 2 rows outside the selection\n\n"
             "verdict  row         by      what changed                                                 at\n"
             "WRONG    s/a/bad     status  wrong: no reason given\n"
             "SLOWER   s/a/worse   counts  occupancy 50 % -> 25 %                                       k/b.cu\n"
             "                             emu.global_sectors_ld 64 -> 512 (+700 %)                     /elsewhere/c.cu:12\n"
             "                             emu.shared_wavefronts_ld 1,000,000 -> 1,000,001 (+0.0001 %)\n"
             "                             registers 32 -> 40 (+25 %) in conv\n"
             "                             --format html or json lists more changed facts\n"
             "MISSING  s/a/gone    status\n"
             "FASTER   s/a/better  counts  emu.local_sectors 4 -> 3 (-25 %)\n"
             "NEW      s/a/new     status\n\n"
             "geometric mean, base / head (below 1 is worse)  rows  changed\n"
             "s/a                                                3        2\n"
             "all                                                3        2\n\n"
             "waiver  gate.yaml:3: time of s/z, until 2026-06-14 (o): expired: renew it or delete it\n"
             "        gate.yaml:4: time of s/y, until 2099-01-01 (o): it applies to nothing any more: delete it\n"
             "exit  4: 1 row WRONG, 1 row SLOWER, 1 row MISSING, 1 waiver expired\n");
    assert_true(strstr(bare, "\nSAME 1 ") && !strstr(bare, "exit") && !strstr(bare, "FAIL"));
    SCOPED_TEXT t = {0};
    gate_annotations(&t, &c);
    is(text_get(&t), "::error file=k/a.cu,line=7,title=WRONG s/a/bad::WRONG by status: wrong: no reason given\n"
                     "::error file=k/b.cu,title=SLOWER s/a/worse::SLOWER by counts: occupancy 50 %25 -> 25 %25\n"
                     "::error title=MISSING s/a/gone::MISSING by status\n"
                     "::error file=gate.yaml,line=3::the waiver expired 2026-06-14\n");
    done();
}

/* The last lines of the page; the exit line names its own cause. */
static void the_exit_line_names_its_cause(void **state)
{
    static const struct {
        const char *rules, *base, *head, *end;
        int kept;
    } all[] = {
        {NULL, "s/a/x ok A", "s/a/x ok A", "\n", 0},
        {NULL, "s/a/x ok A emu.local_sectors=2", "s/a/x ok B emu.local_sectors=1", "\n", 0},
        {"ratchet: no", "s/a/x ok A emu.local_sectors=2", "s/a/x ok B emu.local_sectors=1",
         "note  to keep the improvements in the baseline: bench baseline promote\n", 1},
        {NULL, "s/a/x ok A emu.local_sectors=1", "s/a/x ok B emu.local_sectors=2", "exit  3: 1 row SLOWER\n", 0},
        {NULL, "s/a/x ok A emu.local_sectors=1", "s/a/x ok B emu.local_sectors=2", "exit  3: 1 row SLOWER\n", 1},
        {NULL, "s/a/x ok A\ns/b/x ok A\ns/c/x ok A", "s/c/x ok A", "exit  3: 2 rows MISSING\n", 0},
        {NULL, "s/a/x ok A\ns/b/x ok A\ns/c/x ok A", "s/c/x ok A",
         "exit  3: 2 rows MISSING: the changes are not in the baseline; to accept them: bench baseline promote\n", 1},
        {NULL, "s/a/x ok A\ns/b/x ok A emu.local_sectors=2", "s/a/x ok A\ns/b/x ok B emu.local_sectors=1\ns/c/x ok C",
         "exit  3: 1 row FASTER, 1 row NEW: the changes are not in the baseline; to accept them: bench baseline promote\n", 1},
        {NULL, "s/a/x ok A emu.local_sectors=1 occupancy=0.5\ns/b/x ok A registers=1",
         "s/a/x ok B emu.local_sectors=2 occupancy=1\ns/b/x ok B registers=2",
         "exit  3: 1 row UNDECIDED with a count beyond its allowance\n", 0},
        {"waivers: [{row: a, what: time, why: w, owner: o, until: 2026-06-14}]", "s/a/x ok A", "s/a/x ok A", "exit  3: 1 waiver expired\n",
         0},
        {"decide: yes", "s/a/x ok A registers=1\ns/b/x ok A", "s/a/x ok B registers=2\ns/b/x ok B",
         "exit  6: 2 rows UNDECIDED, and the rules ask for a decision\n", 0},
        {"decide: yes", "s/a/x ok A registers=1\ns/b/x ok A emu.local_sectors=1 occupancy=0.5",
         "s/a/x ok B registers=2\ns/b/x ok B emu.local_sectors=2 occupancy=1",
         "exit  3: 1 row UNDECIDED, 1 row UNDECIDED with a count beyond its allowance\n", 0},
        {"waivers: [{row: '*', what: MISSING, why: w, owner: o, until: 2099-01-01}]", "s/a/x ok A", "s/b/x infeasible A",
         "exit  5: no row was verified, so nothing can be judged\n", 0},
        {"rules: [{what: time}, {what: registers}]", "s/a/x ok A registers=1", "s/a/x ok B registers=2",
         "note  gate.yaml:1: no row has `time` on both sides, so the rule did not judge it\nexit  3: 1 row SLOWER\n", 0},
        {"rules: [{what: [registers, emu.barriers]}]", "s/a/x ok A registers=1 emu.barriers=1", "s/a/x ok B registers=2",
         "note  gate.yaml:1: no row has `emu.barriers` on both sides, so the rule did not judge it\nexit  3: 1 row SLOWER\n", 0},
        {"rules: [{what: emu.barriers, rows: '*/y'}]", "s/a/x ok A emu.barriers=1\ns/b/y ok A", "s/a/x ok B emu.barriers=1\ns/b/y ok A",
         "note  gate.yaml:1: no row has `emu.barriers` on both sides, so the rule did not judge it\n", 0},
        {"rules: [{what: emu.*}, {what: registers}]", "s/a/x ok A registers=1 emu.barriers=1", "s/a/x ok A registers=1 emu.barriers=1",
         "\n", 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        compare(all[i].rules, all[i].base, all[i].head, all[i].kept);
        SCOPED char *page = printed(&code);
        if (!text_ends(page, all[i].end))
            fail_msg("%zu: %s\nnot at its end: %s", i, page, all[i].end);
        assert_true(!strstr(page, "note") == !strstr(all[i].end, "note"));
        assert_true(strstr(page, code ? "\nFAIL  " : "\nPASS  ") != NULL);
        done();
    }
    compare(NULL, "s/a/x ok A", "s/a/x ok B", false); /* others used the GPU: no failure of the row */
    c.pairs[0].disturbed = true;
    code = gate_exit_code(&c);
    SCOPED char *page = printed(&code);
    assert_true(code == 5 && text_ends(page, "exit  5: other processes used the GPU during the timing, so the times cannot be judged\n"));
    done();
}

/* The means of a changed row are in the table: 800 to 100 instructions, 32 to 8 sectors. */
static void means_are_printed(void **state)
{
    compare(NULL, "s/a/x ok A emu.warp_instructions=800 emu.global_sectors_ld=30 emu.global_sectors_st=2 emu.async_sectors=0\ns/b/x ok A",
            "s/a/x ok B emu.warp_instructions=100 emu.global_sectors_ld=6 emu.global_sectors_st=2 emu.async_sectors=0\ns/b/x ok A", false);
    SCOPED char *page = printed(&code);
    assert_non_null(strstr(page, "s/a                                                1        1          8.00     4.00\n"));
    assert_non_null(strstr(page, "all                                                2        1          8.00     4.00\n"));
    assert_null(strstr(page, "s/b "));
    done();
    compare(NULL, "s/b/x ok A", "s/b/x ok A", false); /* nothing changed: no tables */
    SCOPED char *same = printed(&code);
    assert_true(!strstr(same, "geometric") && !strstr(same, "verdict"));
    done();
}

static void a_waived_row_says_whose_it_is(void **state)
{
    compare("waivers: [{row: '*', what: emu.local_sectors, why: it is known, owner: me, until: 2026-06-15}]",
            "s/a/x ok A emu.local_sectors=0\ns/b/x ok A registers=1\ns/c/x ok A conv:registers=9",
            "s/a/x ok B emu.local_sectors=2\ns/b/x ok B registers=1\ns/c/x ok C pool:registers=9", false);
    SCOPED char *page = printed(&code);
    assert_non_null(strstr(page, "SLOWER (waived)  s/a/x  counts  emu.local_sectors 0 -> 2 [waived by me until 2026-06-15: it is known]"));
    assert_non_null(strstr(page, "registers 9 -> not known in conv"));
    assert_non_null(strstr(page, "registers not known -> 9 in pool"));
    assert_null(strstr(page, "\nwaiver"));
    struct text t = {0};
    gate_annotations(&t, &c);
    assert_true(strstr(text_get(&t), "::warning title=SLOWER s/a/x::SLOWER by counts: emu.local_sectors 0 -> 2 [waived") != NULL);
    assert_non_null(
        strstr(text_get(&t), "::warning title=UNDECIDED s/c/x::UNDECIDED by counts: the code or the launch changed, but no")); /* no fact */
    assert_true(strstr(text_get(&t), "::warning title=UNDECIDED s/b/x::") != NULL && !strstr(text_get(&t), "::error"));
    text_free(&t);
    done();
    compare("waivers: [{row: '*', what: emu.local_sectors, why: it is known, owner: me, until: 2026-06-14}]",
            "s/a/x ok A emu.local_sectors=1", "s/a/x ok B emu.local_sectors=2", false);
    SCOPED char *expired = printed(&code);
    assert_non_null(strstr(expired, "emu.local_sectors 1 -> 2 (+100 %) [waiver of me expired 2026-06-14]"));
    done();
}

/* JUnit's own rules: one case a row, a failure in those that do not pass, no control characters; the numbers of the suite are the sums. */
static void junit_has_a_case_for_each_row(void **state)
{
    compare("waivers: [{row: a, what: time, why: w, owner: o, until: 2026-06-14}]", "s/a/<x> ok A emu.local_sectors=1\ns/b/x ok A",
            "s/a/<x> ok B emu.local_sectors=2\ns/b/x ok A", false);
    c.pairs[0].changes[0].file = xstrdup("/w/k/a.cu");
    c.pairs[0].changes[0].line = 3;
    c.pairs[1].note = xstrdup("a\033b\n\tc");
    SCOPED_TEXT t = {0};
    gate_junit(&t, &c);
    const char *xml = text_get(&t);
    assert_non_null(strstr(xml, "tests=\"3\" failures=\"2\" errors=\"0\""));
    assert_non_null(strstr(xml,
                           "<testcase classname=\"s.a\" name=\"s/a/&lt;x&gt;\" time=\"0\">\n      <failure type=\"SLOWER\" "
                           "message=\"SLOWER by counts: emu.local_sectors 1 -&gt; 2 (+100 %)\">k/a.cu:3</failure>\n    </testcase>\n"));
    assert_non_null(strstr(xml, "<testcase classname=\"s.b\" name=\"s/b/x\" time=\"0\"/>\n"));
    assert_non_null(strstr(xml, "<testcase classname=\"waivers\" name=\"line 1\" time=\"0\">\n      <failure type=\"expired\" "
                                "message=\"expired 2026-06-14\"/>"));
    assert_non_null(strstr(xml, "<property name=\"base\" value=\"main\"/>"));
    assert_non_null(strstr(xml, "<property name=\"device\" value=\"emu:GH100\"/>"));
    const char *stamp = strstr(xml, " timestamp=\"");
    int part[6];
    assert_true(stamp &&
                sscanf(stamp, " timestamp=\"%4d-%2d-%2dT%2d:%2d:%2d\"", &part[0], &part[1], &part[2], &part[3], &part[4], &part[5]) == 6);
    struct utsname machine;
    SCOPED char *host = uname(&machine) ? NULL : text_format(" hostname=\"%s\"", machine.nodename);
    assert_non_null(strstr(xml, host && *machine.nodename ? host : " hostname=\"localhost\""));
    assert_true(!strstr(xml, "name=\"driver\""));
    assert_non_null(strstr(xml, "s/b/x: SAME by image: a b\n c\n"));
    done();
}

/* Without waivers, too. */
static void junit_without_waivers(void **state)
{
    compare(NULL, "s/a/x ok A", "s/a/x ok A", false);
    assert_null(rules.waivers);
    SCOPED_TEXT t = {0};
    gate_junit(&t, &c);
    assert_non_null(strstr(text_get(&t), "tests=\"1\" failures=\"0\" errors=\"0\""));
    done();
}

/* A sentence says the worst change if it was judged, and beside a note no other; changes of one kind keep the order of the launches. */
static void a_sentence_says_a_change_or_a_note(void **state)
{
    static const struct {
        const char *head, *says, *with_note;
    } all[] = {{"s/a/x ok B emu.local_sectors=2", "SLOWER by counts: emu.local_sectors 1 -> 2 (+100 %)",
                "SLOWER by counts: emu.local_sectors 1 -> 2 (+100 %); a note"},
               {"s/a/x ok B emu.local_sectors=1 one:registers=9 two:registers=9", "UNDECIDED by counts: registers 8 -> 9 (+12.5 %) in one",
                "UNDECIDED by counts: a note"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        compare(NULL, "s/a/x ok A emu.local_sectors=1 one:registers=8 two:registers=8", all[i].head, false);
        struct gate_pair *p = &c.pairs[0];
        SCOPED_TEXT says = {0};
        SCOPED_TEXT noted = {0};
        free(p->note);
        p->note = NULL;
        gate_sentence(&c, p, &says);
        p->note = xstrdup("a note");
        gate_sentence(&c, p, &noted);
        is(text_get(&says), all[i].says);
        is(text_get(&noted), all[i].with_note);
        if (i)
            assert_string_equal(p->changes[1].step, "two");
        done();
    }
}

/* A property has five escapes, a message three (GitHub's own). */
static void annotations_are_escaped(void **state)
{
    compare(NULL, "s/a:b,c%/x ok A", "s/a:b,c%/x wrong A", false);
    c.pairs[0].note = (free(c.pairs[0].note), xstrdup("a:b,c%\nd"));
    SCOPED_TEXT t = {0};
    gate_annotations(&t, &c);
    is(text_get(&t), "::error title=WRONG s/a%3Ab%2Cc%25/x::WRONG by status: a:b,c%25%0Ad\n");
    done();
    compare(NULL, "s/a/x ok A emu.local_sectors=1", "s/a/x ok B emu.local_sectors=9", false);
    c.pairs[0].changes[0].file = xstrdup("/w/k,1/a:b.cu");
    c.pairs[0].changes[0].line = 7;
    SCOPED_TEXT of_file = {0};
    gate_annotations(&of_file, &c);
    if (strncmp(text_get(&of_file), "::error file=k%2C1/a%3Ab.cu,line=7,title=SLOWER s/a/x::SLOWER by ", 64) != 0)
        fail_msg("%s", text_get(&of_file));
    done();
}

static void an_expired_waiver_is_an_annotation(void **state)
{
    compare(
        "waivers: [{row: a, what: time, why: w, owner: o, until: 2026-06-14}, {row: b, what: time, why: w, owner: o, until: 2099-01-01}]",
        "s/a/x ok A", "s/a/x ok A", false);
    SCOPED_TEXT t = {0};
    gate_annotations(&t, &c);
    is(text_get(&t), "::error file=gate.yaml,line=1::the waiver expired 2026-06-14\n");
    done();
}

/* Times of one run are paired; those of two runs say so, and how many rounds they have. */
static void a_ratio_says_whether_it_is_paired(void **state)
{
    for (int paired = 0; paired < 2; paired++) {
        compare(NULL, "s/a/x ok A emu.local_sectors=1", "s/a/x ok B emu.local_sectors=9", false);
        struct gate_pair *p = &c.pairs[0];
        p->rounds = 21, p->ratio = 1.25, p->low = 1.21, p->high = 1.29, p->paired = paired;
        SCOPED_TEXT says = {0};
        SCOPED char *text = printed(&code);
        gate_sentence(&c, p, &says);
        assert_non_null(strstr(text_get(&says), "1.25 x [1.21 1.29] in 21 rounds"));
        assert_true((strstr(text_get(&says), ", not paired (two runs)") == NULL) == paired && (strstr(text, "two runs") == NULL) == paired);
        assert_true(strstr(text, "1.25 [1.21 1.29]") && strstr(text, "21"));
        done();
    }
}

/* Counts of two versions of bench may differ by themselves. */
static void other_versions_are_told(void **state)
{
    for (int other = 0; other < 2; other++) {
        compare(NULL, "s/a/x ok A", "s/a/x ok A", false);
        free(base.bench), free(head.bench);
        base.bench = xstrdup("1.0"), head.bench = xstrdup(other ? "1.1" : "1.0");
        SCOPED char *text = printed(&code);
        assert_true((strstr(text, "base was counted with bench 1.0, head with 1.1") != NULL) == other);
        assert_true((strstr(text, "base was counted") != NULL) == other);
        done();
    }
}

/* Rows that are the same are not listed, except those that were timed. */
static void a_timed_row_is_listed(void **state)
{
    for (int timed = 0; timed < 2; timed++) {
        compare(NULL, "s/a/x ok A", "s/a/x ok A", false);
        assert_true(c.counts[GATE_SAME] == 1 && c.count == 1);
        if (timed)
            c.pairs[0].by = GATE_BY_TIME;
        SCOPED char *text = printed(&code);
        assert_true((strstr(text, "s/a/x") != NULL) == timed);
        done();
    }
}

static void json_has_what_the_page_has(void **state)
{
    compare("waivers: [{row: '*', what: emu.local_sectors, why: w, owner: o, until: 2026-06-15}]",
            "s/a/x ok A emu.local_sectors=1 emu.barriers=2\ns/b/x ok A", "s/a/x ok B emu.local_sectors=2\ns/b/x ok A\ns/c/x skipped A",
            false);
    c.pairs[0].changes[0].file = xstrdup("/w/k/a.cu");
    c.pairs[0].changes[0].line = 3;
    c.pairs[0].changes[1].file = xstrdup("/w/k/a.cu");
    SCOPED_TEXT t = {0};
    gate_json(&t, &c, &code);
    json_error_t where;
    json_auto_t *o = json_loads(text_get(&t), 0, &where);
    json_t *rows = json_object_get(o, "rows"), *row = json_array_get(rows, 0), *changes = json_object_get(row, "changes"),
           *x = json_array_get(changes, 0), *y = json_array_get(changes, 1);
    assert_true(json_array_size(rows) == 2 && json_array_size(json_object_get(o, "means")) == 3 && json_array_size(changes) == 2);
    assert_true(json_integer_value(json_object_get(o, "exit")) == 0 && json_is_integer(json_object_get(o, "exit")));
    assert_true(json_integer_value(json_object_get(o, "verified")) == 2 && json_integer_value(json_object_get(o, "left_out")) == 1);
    assert_true(json_integer_value(json_object_get(json_object_get(o, "counts"), "SLOWER")) == 1);
    assert_true(json_is_true(json_object_get(row, "passes")) && json_is_true(json_object_get(row, "waived")) &&
                !json_object_get(row, "ratio"));
    assert_true(json_integer_value(json_object_get(x, "judged")) == 1 && json_integer_value(json_object_get(x, "line")) == 3 &&
                json_is_true(json_object_get(x, "waived")));
    assert_string_equal(json_string_value(json_object_get(x, "file")), "k/a.cu");
    assert_true(json_is_null(json_object_get(y, "head")) && json_real_value(json_object_get(y, "base")) == 2 &&
                !json_object_get(y, "line") && json_object_get(y, "file"));
    done();
}

static int in_own_folder(void **state)
{
    return set_up(state) || chdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_page_has_what_changed),
                                       cmocka_unit_test(the_exit_line_names_its_cause),
                                       cmocka_unit_test(means_are_printed),
                                       cmocka_unit_test(a_waived_row_says_whose_it_is),
                                       cmocka_unit_test(junit_has_a_case_for_each_row),
                                       cmocka_unit_test(junit_without_waivers),
                                       cmocka_unit_test(a_sentence_says_a_change_or_a_note),
                                       cmocka_unit_test(annotations_are_escaped),
                                       cmocka_unit_test(a_ratio_says_whether_it_is_paired),
                                       cmocka_unit_test(an_expired_waiver_is_an_annotation),
                                       cmocka_unit_test(a_timed_row_is_listed),
                                       cmocka_unit_test(other_versions_are_told),
                                       cmocka_unit_test(json_has_what_the_page_has)};
    return cmocka_run_group_tests_name("gate_document", tests, in_own_folder, tear_down);
}
