/* gate: what a file of rules says, key by key; what is refused, with the line; and which rows --layer and --only ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include "gate/asked.h"
#include "gate_world.h"
#include <math.h>
#include <unistd.h>

static void defaults_are_those_of_the_manual(void **state)
{
    struct gate_rules g;
    gate_rules_default(&g);
    assert_true(g.margin == 0.01 && g.floor_ns == 5000 && g.alpha == 0.001 && g.ratchet && !g.decide && !g.count && !g.waiver_count);
    assert_true(gate_rules_take(&g, "any/row"));
}

static void each_key_is_read(void **state)
{
    struct gate_rules g;
    struct error err = {0};
    assert_true(gate_world_rules("against: v1.0\nscenario: [a.yaml, b.yaml]\nvariants: {my: k, other: .}\nops: o.yaml\ndevice: cuda:0\n"
                                 "rows: 's/a/* s/b/*'\nmargin: 2 %\nfloor: 7 us\nalpha: 5 %\ndecide: yes\nratchet: no\n"
                                 "rules:\n- {what: [registers, 'emu.global_*'], rows: 's/a/*', allow: 2.5}\n"
                                 "- {what: time, allow: 3 %, floor: 2 ms}\n"
                                 "waivers:\n- {row: s/a/x, what: MISSING, why: w, owner: me, until: 2026-06-15}\n"
                                 "- {row: s/a/y, what: registers, to: 40, why: w2, owner: me2, until: 2026-06-14}\n",
                                 &g, &err));
    assert_string_equal(g.file, "gate.yaml");
    assert_string_equal(g.against, "v1.0");
    assert_string_equal(g.device, "cuda:0");
    assert_string_equal(g.scenarios[0], "a.yaml");
    assert_string_equal(g.scenarios[1], "b.yaml");
    assert_null(g.scenarios[2]);
    assert_string_equal(g.variants[0], "my=k");
    assert_string_equal(g.variants[1], "other=.");
    assert_null(g.variants[2]);
    assert_string_equal(g.ops[0], "o.yaml");
    assert_null(g.ops[1]);
    assert_true(fabs(g.margin - 0.02) < 1e-15 && g.floor_ns == 7000 && fabs(g.alpha - 0.05) < 1e-15 && g.decide && !g.ratchet);
    assert_true(gate_rules_take(&g, "s/a/x") && gate_rules_take(&g, "s/b/x") && !gate_rules_take(&g, "s/c/x"));
    assert_true(g.count == 2 && g.items[0].line == 13 && g.items[0].allow == 2.5 && g.items[0].allow_share == 0 &&
                isnan(g.items[0].floor_ns));
    assert_string_equal(g.items[0].what[1], "emu.global_*");
    assert_true(g.items[1].line == 14 && g.items[1].allow == 0 && fabs(g.items[1].allow_share - 0.03) < 1e-15 &&
                g.items[1].floor_ns == 2e6);
    assert_true(g.waiver_count == 2 && g.waivers[0].line == 16 && isnan(g.waivers[0].to) && !g.waivers[0].expired);
    assert_true(g.waivers[1].to == 40 && g.waivers[1].expired && !strcmp(g.waivers[1].owner, "me2") && !strcmp(g.waivers[1].why, "w2"));
    gate_rules_free(&g);
}

static void times_have_margins_and_floors(void **state)
{
    struct gate_rules g;
    struct error err = {0};
    double margin;
    gate_rules_default(&g);
    assert_true(gate_rules_margin(&g, "s/a/x", 5000, &margin) && margin == 0.01);
    assert_false(gate_rules_margin(&g, "s/a/x", 4999, &margin));
    assert_true(gate_world_rules("margin: 4 %\nrules:\n- {what: time, rows: 's/a/*', allow: 3 %, floor: 2 us}\n- {what: time, rows: "
                                 "'s/b/*'}\n",
                                 &g, &err));
    assert_true(gate_rules_margin(&g, "s/a/x", 2000, &margin) && fabs(margin - 0.03) < 1e-15);
    assert_false(gate_rules_margin(&g, "s/a/x", 1999, &margin));
    assert_true(gate_rules_margin(&g, "s/b/x", 5000, &margin) && fabs(margin - 0.04) < 1e-15);
    assert_false(gate_rules_margin(&g, "s/b/x", 4999, &margin));
    assert_false(gate_rules_margin(&g, "s/c/x", 1e6, &margin)); /* rules that do not name its time do not judge it */
    gate_rules_free(&g);
    assert_true(gate_world_rules("rules: [{what: registers}]", &g, &err)); /* nor do those that name no time at all */
    assert_false(gate_rules_margin(&g, "s/a/x", 1e6, &margin));
    gate_rules_free(&g);
}

static void what_is_wrong_is_refused_with_its_line(void **state)
{
#define ONE(key, value) "waivers: [{row: a, what: MISSING, why: w, owner: o, until: 2026-06-15}]\n" key ": " value
#define DATED(date) "waivers: [{row: a, what: MISSING, why: w, owner: o, until: " date "}]"
    static const struct {
        const char *yaml, *says; /* NULL: it is right */
    } all[] = {
        {ONE("margin", "0 %"), NULL},
        {ONE("margin", "999 %"), NULL},
        {ONE("margin", "1000 %"), "gate.yaml:2:9: margin: from 0 % to 1000 %"},
        {ONE("margin", "-1 %"), "gate.yaml:2:9: "},
        {ONE("margin", ".nan"), "gate.yaml:2:9: "},
        {ONE("alpha", "49 %"), NULL},
        {ONE("alpha", "50 %"), "gate.yaml:2:8: alpha: above 0 %"},
        {ONE("alpha", "0 %"), "gate.yaml:2:8: alpha: above 0 %"},
        {ONE("floor", "0 s"), NULL},
        {ONE("floor", "999999 s"), NULL},
        {ONE("floor", "1000000 s"), "gate.yaml:2:8: floor: a time is expected"},
        {ONE("floor", "-1 us"), "gate.yaml:2:8: "},
        {ONE("floor", "fast"), "gate.yaml:2:8: "},
        {ONE("decide", "perhaps"), "gate.yaml:2:9: "},
        {ONE("ratchet", "3"), "gate.yaml:2:10: "},
        {ONE("against", "''"), "gate.yaml:2:10: against: it is empty"},
        {ONE("device", "[a]"), "gate.yaml:2:9: "},
        {ONE("scenario", "[]"), "gate.yaml:2:11: scenario: the list is empty"},
        {ONE("scenario", "[a.yaml, [b]]"), "gate.yaml:2:20: "},
        {ONE("ops", "[]"), "gate.yaml:2:6: ops: the list is empty"},
        {ONE("variants", "my"), "gate.yaml:2:11: variants: a map"},
        {ONE("variants", "{my: [k]}"), "gate.yaml:2:16: "},
        {ONE("rows", "' , '"), "gate.yaml:2:7: rows: ' , ' names nothing"},
        {ONE("rows", "[a]"), "gate.yaml:2:7: "},
        {ONE("mragin", "1 %"), "gate.yaml:2:1: "},
        {ONE("rules", "[]"), "gate.yaml:2:8: a list is expected here"},
        {ONE("rules", "{what: time}"), "gate.yaml:2:8: a list is expected here"},
        {ONE("rules", "[{rows: a}]"), "gate.yaml:2:9: a rule needs `what`"},
        {ONE("rules", "[{what: time, allwo: 3 %}]"), "gate.yaml:2:"},
        {ONE("rules", "[{what: registres}]"), "gate.yaml:2:16: what: there is no fact 'registres'"},
        {ONE("rules", "[{what: [registers, sectors]}]"), "gate.yaml:2:28: what: there is no fact 'sectors'"},
        {ONE("rules", "[{what: 'tim*'}, {what: '*sectors_st'}]"), NULL},
        {ONE("rules", "[{what: registers, allow: 999 %}]"), NULL},
        {ONE("rules", "[{what: registers, allow: 1000 %}]"), "gate.yaml:2:34: allow: from 0 % to 1000 %"},
        {ONE("rules", "[{what: registers, allow: 0 %}]"), NULL},
        {ONE("rules", "[{what: registers, allow: -1 %}]"), "gate.yaml:2:34: "},
        {ONE("rules", "[{what: registers, allow: -1}]"), "gate.yaml:2:34: "},
        {ONE("rules", "[{what: time, floor: -1 us}]"), "gate.yaml:2:29: "},
        {ONE("rules", "[{what: time, rows: ','}]"), "gate.yaml:2:28: "},
        {ONE("rules", "[{what: time, allow: 0.02}]"), "gate.yaml:2:29: allow: a share such as 2 % is expected for `time`"},
        {ONE("rules", "[{what: [registers, time], allow: 1}]"), "gate.yaml:2:42: allow: a share such as 2 %"},
        {"waivers: [{what: MISSING, why: w, owner: o, until: 2026-06-15}]", "gate.yaml:1:11: a waiver without `row`"},
        {"waivers: {}", "gate.yaml:1:10: a list is expected here"},
        {"waivers: []", NULL},
        {"waivers: [{row: a, what: MISSING, why: w, owner: o}]", "gate.yaml:1:11: a waiver without `until`"},
        {"waivers: [{row: a, what: MISSING, why: '', owner: o, until: 2026-06-15}]", "gate.yaml:1:40: why: it is empty"},
        {"waivers: [{row: a, what: time, why: w, owner: o, until: 2026-06-15, wyh: x}]", "gate.yaml:1:"},
        {"waivers: [{row: a, what: regs, why: w, owner: o, until: 2026-06-15}]", "gate.yaml:1:26: what: there is no fact 'regs'"},
        {"waivers: [{row: a, what: registers, to: many, why: w, owner: o, until: 2026-06-15}]", "gate.yaml:1:41: "},
        {DATED("2028-02-29"), NULL},
        {DATED("2000-02-29"), NULL},
        {DATED("2026-12-31"), NULL},
        {DATED("2026-04-30"), NULL},
        {DATED("2026-02-28"), NULL},
        {DATED("2026-02-29"), "gate.yaml:1:60: until: a date such as 2027-03-01 is expected, not '2026-02-29'"},
        {DATED("2100-02-29"), "gate.yaml:1:60: until: a date"},
        {DATED("2028-02-30"), "gate.yaml:1:60: until: a date"},
        {DATED("2026-04-31"), "gate.yaml:1:60: until: a date"},
        {DATED("2026-13-01"), "gate.yaml:1:60: until: a date"},
        {DATED("2026-00-01"), "gate.yaml:1:60: until: a date"},
        {DATED("2026-01-00"), "gate.yaml:1:60: until: a date"},
        {DATED("2026-01-32"), "gate.yaml:1:60: until: a date"},
        {DATED("2026-1-1"), "gate.yaml:1:60: until: a date"},
        {DATED("2026-01-011"), "gate.yaml:1:60: until: a date"},
        {DATED("2026/01-01"), "gate.yaml:1:60: until: a date"},
        {DATED("2026-01/01"), "gate.yaml:1:60: until: a date"},
        {DATED("2026-0a-01"), "gate.yaml:1:60: until: a date"},
        {DATED("x026-01-01"), "gate.yaml:1:60: until: a date"},
        {DATED("'2026-01-0:'"), "gate.yaml:1:60: until: a date"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct gate_rules g;
        struct error err = {0};
        bool right = gate_world_rules(all[i].yaml, &g, &err);
        if (right != !all[i].says || (all[i].says && strncmp(err.text, all[i].says, strlen(all[i].says)) != 0))
            fail_msg("%s\nsays: %s\nnot:  %s", all[i].yaml, err.text, all[i].says ? all[i].says : "nothing");
        if (right)
            gate_rules_free(&g);
        error_clear(&err);
    }
}

/* Each month has its last day, and no later one. */
static void each_month_has_its_days(void **state)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (int month = 1; month <= 12; month++)
        for (int beyond = 0; beyond < 2; beyond++) {
            SCOPED char *yaml = text_format(DATED("2027-%02d-%02d"), month, days[month - 1] + beyond);
            struct gate_rules g;
            struct error err = {0};
            bool right = gate_world_rules(yaml, &g, &err);
            assert_true(right == !beyond);
            if (right)
                gate_rules_free(&g);
            error_clear(&err);
        }
}

/* A misspelled fact is answered by the nearest one; one that is like none, by a list. */
static void a_fact_has_a_nearest_one(void **state)
{
    struct gate_rules g;
    struct error err = {0};
    assert_false(gate_world_rules("rules: [{what: registres}]", &g, &err));
    assert_string_equal(err.hint, "registers");
    error_clear(&err);
    assert_false(gate_world_rules("rules: [{what: qqqqqqqqqq}]", &g, &err));
    assert_non_null(strstr(err.hint, "time, registers, spill_store_bytes"));
    error_clear(&err);
}

/* ---- --layer and --only ---- */

static void each_word_asks_for_its_rows(void **state)
{
    static const struct {
        const char *layers, *only, *id;
        bool takes;
    } all[] = {
        {NULL, NULL, "s/a/my/one", true},        {"a", NULL, "s/a/my/one", true},      {"b", NULL, "s/a/my/one", false},
        {NULL, "one", "s/a/my/one", true},       {NULL, "my/one", "s/a/my/one", true}, {NULL, "one", "s/a/my/one[A=1]", true},
        {NULL, "one*", "s/a/my/one[A=1]", true}, {NULL, "on", "s/a/my/one", false},    {NULL, "one", "s/a/my/stone", false},
        {NULL, "x, one", "s/a/my/one", true},    {"a", "x", "s/a/my/one", false},      {"b", "one", "s/a/my/one", false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct gate_asked asked;
        struct error err = {0};
        struct gate_entry e = {.id = (char *)(uintptr_t)all[i].id, .layer = (char *)(uintptr_t) "a"};
        assert_true(gate_asked_parse(all[i].layers, all[i].only, &asked, &err));
        if (gate_asked_takes(&asked, &e) != all[i].takes)
            fail_msg("--layer %s --only %s: %s", all[i].layers, all[i].only, all[i].id);
        gate_asked_free(&asked);
    }
    struct gate_asked asked;
    struct error err = {0};
    assert_false(gate_asked_parse(" ", NULL, &asked, &err) || gate_asked_parse(NULL, ",", &asked, &err));
    error_clear(&err);
}

/* A word must select a row of one side. What one side's tree lacks may be MISSING or NEW; what neither has is an error of the plan. */
static void each_word_selects_something(void **state)
{
    static const struct {
        const char *only, *lack, *says;
    } all[] = {
        {"one", NULL, NULL},
        {"one two", NULL, NULL},
        {"one, tow", NULL, "--only tow selects no row of either side"},
        {"gone", "gone", NULL},
        {"one nobody", "nobody", "the plan says"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int lacking = 0; lacking < 2; lacking++) {
            struct gate_side sides[2] = {gate_world_side("base", "s/a/my/one ok A\ns/a/my/gone ok C", false),
                                         gate_world_side("head", "s/a/my/one ok A\ns/b/my/two[A=1] ok B", false)};
            struct row row = {.variant = (char *)(uintptr_t) "my/two"}; /* of both rows: the hint has the name once */
            struct gate_asked asked;
            struct error err = {0};
            sides[1].entries[0].row = sides[1].entries[1].row = &row;
            if (all[i].lack) {
                struct gate_lack *lack = APPEND(sides[lacking].lacks, sides[lacking].lack_count);
                *lack = (struct gate_lack){.name = xstrdup(all[i].lack)};
                error_set(&lack->why, ERROR_USAGE, "the plan says");
            }
            assert_true(gate_asked_parse(NULL, all[i].only, &asked, &err));
            bool right = gate_asked_check(&asked, &sides[0], &sides[1], &err);
            if (right != !all[i].says || (all[i].says && (err.kind != ERROR_USAGE || !strstr(err.text, all[i].says))))
                fail_msg("--only %s: %s", all[i].only, err.text);
            if (i == 2)
                assert_string_equal(err.hint, "did you mean two? There are: two"); /* the nearest variant, without its folder */
            gate_asked_free(&asked);
            gate_side_free(&sides[0]);
            gate_side_free(&sides[1]);
            error_clear(&err);
        }
}

static int in_own_folder(void **state)
{
    return set_up(state) || chdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_manual), cmocka_unit_test(each_key_is_read),
        cmocka_unit_test(times_have_margins_and_floors),    cmocka_unit_test(what_is_wrong_is_refused_with_its_line),
        cmocka_unit_test(each_month_has_its_days),          cmocka_unit_test(a_fact_has_a_nearest_one),
        cmocka_unit_test(each_word_asks_for_its_rows),      cmocka_unit_test(each_word_selects_something)};
    return cmocka_run_group_tests_name("gate_rules", tests, in_own_folder, tear_down);
}
