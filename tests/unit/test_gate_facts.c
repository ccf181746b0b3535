/* gate: what becomes of rows without times. Each scene states two sides and the whole outcome, worked out by hand from docs/GATE.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include "gate_world.h"
#include "gate/document.h"
#include <math.h>
#include <unistd.h>

#define TIED "the code or the launch changed, but all counts are equal: only a timed run on a GPU can decide"
#define UNKNOWN \
    "all counts are equal, but bench does not know all code that it launches (a sequence, a library): only a timed run on a GPU can " \
    "decide"
#define WITHIN "the code or the launch changed, but no judged count changed beyond its allowance: only a timed run on a GPU can decide"
#define MIXED "some counts are worse, some better: only a timed run on a GPU can decide"
#define UNCOUNTED "it was not counted, and its time is not judged"
#define COUNTS(v, u, l, p, e) "verified " #v " unrun " #u " left_out " #l " promotable " #p " expired " #e " timed 0"
#define WAIVER(row, what, until) "waivers: [{row: '" row "', what: '" what "', why: w, owner: o, until: " until "}]\n"

/* Base is a baseline; head was timed against base; the comparison is refused. */
enum { KEPT = 16, TIMED = 32, REFUSED = 64 };
struct scene {
    const char *base, *head, *rules, *want;
    int code; /* of the exit, and the above */
};

static const struct scene scenes[] = {
    /* the first 16 digits of a launch hash decide, and an unknown launch equals none */
    {"s/a/x ok 0123456789abcdefAAA emu.warp_instructions=1000", "s/a/x ok 0123456789abcdefBBB emu.warp_instructions=9000", NULL,
     "pass SAME image s/a/x\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok 0123456789abcdeA registers=1", "s/a/x ok 0123456789abcdeB registers=1", NULL,
     "pass UNDECIDED counts s/a/x | " TIED "\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok - registers=1", "s/a/x ok - registers=1", NULL, "pass UNDECIDED counts s/a/x | " UNKNOWN "\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A registers=1", "s/a/x ok - registers=1", NULL, "pass UNDECIDED counts s/a/x | " UNKNOWN "\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A", "s/a/x ok B", NULL, "pass UNDECIDED counts s/a/x | " UNCOUNTED "\n" COUNTS(1, 0, 0, 0, 0), 0},
    /* the allowance of instructions is 0.5 %, that of others 0; less occupancy is worse; registers are neither */
    {"s/a/x ok A emu.warp_instructions=1000", "s/a/x ok B emu.warp_instructions=1005", NULL,
     "pass UNDECIDED counts s/a/x =emu.warp_instructions 1000>1005 | " WITHIN "\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A emu.warp_instructions=1000", "s/a/x ok B emu.warp_instructions=1006", NULL,
     "fail SLOWER counts s/a/x +emu.warp_instructions 1000>1006\n" COUNTS(1, 0, 0, 0, 0), 3},
    {"s/a/x ok A emu.warp_instructions=1000", "s/a/x ok B emu.warp_instructions=995", NULL,
     "pass UNDECIDED counts s/a/x =emu.warp_instructions 1000>995 | " WITHIN "\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A emu.warp_instructions=1000", "s/a/x ok B emu.warp_instructions=994", NULL,
     "pass FASTER counts s/a/x -emu.warp_instructions 1000>994\n" COUNTS(1, 0, 0, 1, 0), 0},
    {"s/a/x ok A occupancy=0.5", "s/a/x ok B occupancy=0.49", NULL, "fail SLOWER counts s/a/x +occupancy 0.5>0.49\n" COUNTS(1, 0, 0, 0, 0),
     3},
    {"s/a/x ok A occupancy=0.5", "s/a/x ok B occupancy=0.51", NULL, "pass FASTER counts s/a/x -occupancy 0.5>0.51\n" COUNTS(1, 0, 0, 1, 0),
     0},
    {"s/a/x ok A k:registers=32", "s/a/x ok B k:registers=255", NULL,
     "pass UNDECIDED counts s/a/x =k:registers 32>255 | " WITHIN "\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A k:spill_store_bytes=0", "s/a/x ok B k:spill_store_bytes=4", NULL,
     "fail SLOWER counts s/a/x +k:spill_store_bytes 0>4\n" COUNTS(1, 0, 0, 0, 0), 3},
    /* the worst comes first, then the order of the kinds; one better and one worse are UNDECIDED and still fail */
    {"s/a/x ok A registers=32 occupancy=1 emu.global_sectors_ld=64 emu.global_sectors_st=8",
     "s/a/x ok B registers=31 occupancy=0.5 emu.global_sectors_ld=63 emu.global_sectors_st=9", NULL,
     "fail UNDECIDED counts s/a/x +occupancy 1>0.5 +emu.global_sectors_st 8>9 =registers 32>31 -emu.global_sectors_ld 64>63 | " MIXED
     "\n" COUNTS(1, 0, 0, 0, 0),
     3},
    {"s/a/x ok A emu.global_sectors_ld=64 emu.global_sectors_st=8", "s/a/x ok B emu.global_sectors_ld=63 emu.global_sectors_st=9",
     WAIVER("s/a/*", "emu.global_sectors_st", "2026-06-15"),
     "pass UNDECIDED counts s/a/x (waived) -emu.global_sectors_ld 64>63 +emu.global_sectors_st! 8>9 | " MIXED "\n" COUNTS(1, 0, 0, 0, 0),
     0},
    /* a fact that one side lacks is shown and not judged; of a baseline, which keeps some facts, only where it keeps that one */
    {"s/a/x ok A emu.barriers=2 emu.local_sectors=0", "s/a/x ok B emu.local_sectors=0 emu.atomic_contention=7 registers=9", NULL,
     "pass UNDECIDED counts s/a/x =registers nan>9 =emu.atomic_contention nan>7 =emu.barriers 2>nan | " WITHIN "\n" COUNTS(1, 0, 0, 0, 0),
     0},
    {"s/a/x ok A emu.local_sectors=0", "s/a/x ok B emu.local_sectors=0 emu.barriers=7 registers=9", NULL,
     "pass UNDECIDED counts s/a/x =registers nan>9 | " WITHIN "\n" COUNTS(1, 0, 0, 0, 0), 0 | KEPT},
    {"s/a/x ok A emu.barriers=1\ns/b/x ok A", "s/a/x ok B\ns/b/x ok B emu.barriers=1", NULL,
     "pass UNDECIDED counts s/a/x =emu.barriers 1>nan | " WITHIN "\npass UNDECIDED counts s/b/x =emu.barriers nan>1 | " WITHIN
     "\n" COUNTS(2, 0, 0, 0, 0),
     0},
    {"s/a/x ok A a:spill_store_bytes=0 b:spill_store_bytes=8", "s/a/x ok B a:spill_store_bytes=8", NULL,
     "fail SLOWER counts s/a/x +a:spill_store_bytes 0>8 =b:spill_store_bytes 8>nan\n" COUNTS(1, 0, 0, 0, 0), 3},
    /* waivers: of all that is worse, of a part, up to a value in either direction, expired, and of another row */
    {"s/a/x ok A emu.global_sectors_ld=64", "s/a/x ok B emu.global_sectors_ld=65", WAIVER("*", "emu.global_*", "2026-06-15"),
     "pass SLOWER counts s/a/x (waived) +emu.global_sectors_ld! 64>65\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A emu.global_sectors_ld=64 emu.local_sectors=1", "s/a/x ok B emu.global_sectors_ld=65 emu.local_sectors=2",
     WAIVER("*", "emu.global_*", "2026-06-15"),
     "fail SLOWER counts s/a/x +emu.local_sectors 1>2 +emu.global_sectors_ld! 64>65\n" COUNTS(1, 0, 0, 0, 0), 3},
    {"s/a/x ok A emu.global_sectors_ld=64", "s/a/x ok B emu.global_sectors_ld=65", WAIVER("*", "emu.global_*", "2026-06-14"),
     "fail SLOWER counts s/a/x +emu.global_sectors_ld 64>65\n" COUNTS(1, 0, 0, 0, 1), 3},
    {"s/a/x ok A registers=1", "s/a/x ok B registers=1", WAIVER("*", "emu.global_*", "2026-06-14"),
     "pass UNDECIDED counts s/a/x | " TIED "\n" COUNTS(1, 0, 0, 0, 1), 3},
    {"s/a/x ok A emu.global_sectors_ld=64", "s/a/x ok B emu.global_sectors_ld=65", WAIVER("s/b/*", "emu.global_*", "2026-06-15"),
     "fail SLOWER counts s/a/x +emu.global_sectors_ld 64>65\n" COUNTS(1, 0, 0, 0, 0), 3},
    {"s/a/x ok A emu.local_sectors=8\ns/b/x ok A emu.local_sectors=8", "s/a/x ok B emu.local_sectors=12\ns/b/x ok B emu.local_sectors=13",
     "waivers: [{row: '*', what: emu.local_sectors, to: 12, why: w, owner: o, until: 2099-01-01}]",
     "pass SLOWER counts s/a/x (waived) +emu.local_sectors! 8>12\nfail SLOWER counts s/b/x +emu.local_sectors 8>13\n" COUNTS(2, 0, 0, 0, 0),
     3},
    {"s/a/x ok A occupancy=0.5\ns/b/x ok A occupancy=0.5", "s/a/x ok B occupancy=0.25\ns/b/x ok B occupancy=0.2",
     "waivers: [{row: '*', what: occupancy, to: 0.25, why: w, owner: o, until: 2099-01-01}]",
     "pass SLOWER counts s/a/x (waived) +occupancy! 0.5>0.25\nfail SLOWER counts s/b/x +occupancy 0.5>0.2\n" COUNTS(2, 0, 0, 0, 0), 3},
    /* rules replace the default ones: an absolute allowance, a share, a direction that the fact has not, the last rule of two */
    {"s/a/x ok A registers=32 emu.local_sectors=1", "s/a/x ok B registers=36 emu.local_sectors=9", "rules: [{what: registers, allow: 4}]",
     "pass UNDECIDED counts s/a/x =registers 32>36 =emu.local_sectors 1>9 | " WITHIN "\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A registers=32", "s/a/x ok B registers=37", "rules: [{what: registers, allow: 4}]",
     "fail SLOWER counts s/a/x +registers 32>37\n" COUNTS(1, 0, 0, 0, 0), 3},
    {"s/a/x ok A registers=32", "s/a/x ok B registers=27", "rules: [{what: registers, allow: 4}]",
     "pass FASTER counts s/a/x -registers 32>27\n" COUNTS(1, 0, 0, 1, 0), 0},
    {"s/a/x ok A spill_load_bytes=0", "s/a/x ok B spill_load_bytes=4", "rules: [{what: 'spill*', allow: 4}]",
     "pass UNDECIDED counts s/a/x =spill_load_bytes 0>4 | " WITHIN "\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A emu.warp_fma=200", "s/a/x ok B emu.warp_fma=206", "rules: [{what: 'emu.*', allow: 3 %}]",
     "pass UNDECIDED counts s/a/x =emu.warp_fma 200>206 | " WITHIN "\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A emu.warp_fma=200\ns/b/x ok A emu.warp_fma=200", "s/a/x ok B emu.warp_fma=206\ns/b/x ok B emu.warp_fma=206",
     "rules: [{what: emu.warp_fma, allow: 3 %}, {what: emu.warp_fma, rows: 's/b/*', allow: 2 %}]",
     "fail SLOWER counts s/b/x +emu.warp_fma 200>206\npass UNDECIDED counts s/a/x =emu.warp_fma 200>206 | " WITHIN
     "\n" COUNTS(2, 0, 0, 0, 0),
     3},
    {"s/a/x ok A registers=32", "s/a/x ok B registers=33", "decide: yes",
     "fail UNDECIDED counts s/a/x =registers 32>33 | " WITHIN "\n" COUNTS(1, 0, 0, 0, 0), 6},
    {"s/a/x ok A registers=32\ns/b/x ok A emu.local_sectors=0", "s/a/x ok B registers=33\ns/b/x ok B emu.local_sectors=1", "decide: yes",
     "fail SLOWER counts s/b/x +emu.local_sectors 0>1\nfail UNDECIDED counts s/a/x =registers 32>33 | " WITHIN "\n" COUNTS(2, 0, 0, 0, 0),
     3},
    /* statuses: each of the five failures is WRONG, in a row of base too; the order is by verdict, then by id */
    {"s/a/1 ok A\ns/a/2 ok A\ns/a/3 ok A\ns/a/4 wrong A\ns/a/5 ok A\ns/a/6 foil A\ns/a/7 ok A\ns/a/8 ok A",
     "s/a/1 wrong A\ns/a/2 unsafe A\ns/a/3 crashed A\ns/a/4 hung A\ns/a/5 broken A\ns/a/6 foil A\ns/a/7 infeasible A\ns/a/9 ok C", NULL,
     "fail WRONG status s/a/1 | wrong: no reason given\nfail WRONG status s/a/2 | unsafe: no reason given\n"
     "fail WRONG status s/a/3 | crashed: no reason given\nfail WRONG status s/a/4 | hung: no reason given\n"
     "fail WRONG status s/a/5 | broken: no reason given\nfail MISSING status s/a/7 | infeasible now\nfail MISSING status s/a/8\n"
     "pass NEW status s/a/9\npass SAME image s/a/6\n" COUNTS(1, 0, 0, 3, 0),
     4},
    {"s/a/x ok A\ns/b/x ok B", "s/a/x skipped A", WAIVER("s/a/x", "MISSING", "2099-12-31"),
     "pass MISSING status s/a/x (waived) | skipped now\nfail MISSING status s/b/x\n" COUNTS(0, 0, 0, 2, 0), 3},
    {"s/a/1 ok A emu.local_sectors=1\ns/a/2 ok A emu.local_sectors=1\ns/a/3 ok A\ns/a/4 ok A\ns/a/5 ok A\ns/a/6 ok A\ns/a/61 wrong A",
     "s/a/1 ok B emu.local_sectors=0\ns/a/2 ok B emu.local_sectors=2\ns/a/4 wrong A\ns/a/5 ok B\ns/a/6 ok A\ns/a/7 ok C\ns/a/61 wrong A",
     NULL,
     "fail WRONG status s/a/4 | wrong: no reason given\nfail WRONG status s/a/61 | wrong: no reason given\n"
     "fail SLOWER counts s/a/2 +emu.local_sectors 1>2\nfail MISSING status s/a/3\n"
     "pass UNDECIDED counts s/a/5 | " UNCOUNTED "\npass FASTER counts s/a/1 -emu.local_sectors 1>0\npass NEW status s/a/7\n"
     "pass SAME image s/a/6\n" COUNTS(5, 0, 0, 3, 0),
     4},
    {"s/a/x ok A registers=1 emu.local_sectors=1", "s/a/x ok B registers=2 emu.local_sectors=2",
     "rules: [{what: 'emu.*'}]\n" WAIVER("*", "*", "2026-06-15"),
     "pass SLOWER counts s/a/x (waived) =registers 1>2 +emu.local_sectors! 1>2\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x ok A", "s/a/x skipped A", WAIVER("s/a/x", "MISSING", "2026-06-14"),
     "fail MISSING status s/a/x | skipped now\n" COUNTS(0, 0, 0, 1, 1), 3},
    {"s/a/x infeasible A\ns/b/x ok B", "s/a/x ok A\ns/b/x ok B", NULL,
     "pass NEW status s/a/x | was infeasible\npass SAME image s/b/x\n" COUNTS(2, 0, 0, 1, 0), 0},
    /* against a baseline, better and new rows fail until they are promoted, unless the rules say otherwise */
    {"s/a/x ok A emu.local_sectors=4\ns/b/x ok B", "s/a/x ok B emu.local_sectors=3\ns/b/x ok B\ns/c/x ok C", NULL,
     "fail FASTER counts s/a/x -emu.local_sectors 4>3\nfail NEW status s/c/x\npass SAME image s/b/x\n" COUNTS(3, 0, 0, 2, 0), 3 | KEPT},
    {"s/a/x ok A emu.local_sectors=4\ns/b/x ok B", "s/a/x ok B emu.local_sectors=3\ns/b/x ok B\ns/c/x ok C", "ratchet: no",
     "pass FASTER counts s/a/x -emu.local_sectors 4>3\npass NEW status s/c/x\npass SAME image s/b/x\n" COUNTS(3, 0, 0, 2, 0), 0 | KEPT},
    /* rows that neither side verified are left out; a failure of base that is gone is nobody's; `rows` restricts */
    {"s/a/x ok A\ns/b/x skipped B\ns/c/x wrong C\ns/d/x wrong D", "s/a/x ok A\ns/b/x infeasible B\ns/d/x infeasible D\ns/e/x planned E",
     NULL, "pass SAME image s/a/x\n" COUNTS(1, 0, 2, 0, 0), 0},
    {"s/a/x ok A\ns/b/x ok B", "s/a/x ok A\ns/b/x wrong B\ns/c/y ok C", "rows: 's/a/* s/z/*'", "usage", REFUSED},
    {"s/a/x ok A\ns/b/x ok B", "s/a/x ok A\ns/b/x wrong B", "rows: 's/a/*, *a/x'", "pass SAME image s/a/x\n" COUNTS(1, 0, 0, 0, 0), 0},
    {"s/a/x skipped A", "s/a/x skipped A", NULL, "environment", REFUSED},
    {"s/a/x wrong A", "s/b/x infeasible A", NULL, "environment", REFUSED},
    /* a row that a timed run skipped, as both sides launch the same, is SAME and judged; without equal launches it is not */
    {"s/a/x skipped A\ns/b/x skipped B", "s/a/x skipped A\ns/b/x skipped C", NULL, "pass SAME image s/a/x\n" COUNTS(0, 1, 1, 0, 0),
     0 | TIMED},
    /* a missing and a new row of the same launches are one that was renamed: each once */
    {"s/a/old ok A\ns/a/old2 ok A", "s/a/new ok A\ns/a/other ok B", NULL,
     "fail MISSING status s/a/old | renamed: s/a/new has the same launches\nfail MISSING status s/a/old2\n"
     "pass NEW status s/a/new | renamed: was s/a/old\npass NEW status s/a/other\n" COUNTS(2, 0, 0, 4, 0),
     3},
    {"s/a/1 ok A", "s/a/2 ok A", NULL,
     "fail MISSING status s/a/1 | renamed: s/a/2 has the same launches\npass NEW status s/a/2 | renamed: was s/a/1\n" COUNTS(1, 0, 0, 2, 0),
     3},
    {"s/a/old ok A\ns/b/x infeasible A", "s/a/old infeasible A\ns/b/x ok A", NULL,
     "fail MISSING status s/a/old | infeasible now\npass NEW status s/b/x | was infeasible\n" COUNTS(1, 0, 0, 2, 0), 3},
    /* head verified nothing, and base was not run either */
    {"s/a/x ok A", "s/b/x infeasible A", "waivers: [{row: '*', what: MISSING, why: w, owner: o, until: 2099-01-01}]",
     "pass MISSING status s/a/x (waived)\n" COUNTS(0, 0, 1, 1, 0), 5},
};

static void each_scene_comes_out(void **state)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        const struct scene *s = &scenes[i];
        struct gate_side base = gate_world_side("base", s->base, s->code & KEPT), head = gate_world_side("head", s->head, false);
        struct gate_rules rules;
        struct gate_comparison c;
        struct error err = {0};
        head.timed = s->code & TIMED;
        assert_true(gate_world_rules(s->rules, &rules, &err));
        bool done = gate_compare(&base, &head, &rules, false, &c, &err);
        SCOPED char *got = done ? gate_world_dump(&c) : xstrdup(err.kind == ERROR_USAGE ? "usage" : "environment");
        int code = done ? gate_exit_code(&c) : REFUSED;
        if (strcmp(got, s->want) || code != (s->code & ~(KEPT | TIMED)))
            fail_msg("scene %zu: exit %d, not %d\n%s\nnot\n%s", i, code, s->code, got, s->want);
        if (!strcmp(got, "usage"))
            assert_string_equal(err.hint, "did you mean s/a/x? There are: s/a/x, s/b/x, s/c/y");
        gate_comparison_free(&c);
        gate_rules_free(&rules);
        gate_side_free(&base);
        gate_side_free(&head);
        error_clear(&err);
    }
}

/* A word of a rule's rows that selects no row is an error that names it; a rule judges rows that did not change as well. */
static void a_rule_for_no_row_is_an_error(void **state)
{
    static const struct {
        const char *rules, *says; /* NULL: it is right */
    } all[] = {
        {"rules: [{what: emu.local_sectors, allow: 0}]", NULL},
        {"rules: [{what: emu.local_sectors, rows: 's/a/*'}, {what: registers, rows: '*/y'}, {what: time}]", NULL},
        {"rules:\n- {what: time}\n- {what: registers, rows: 's/a/* nobody'}", "gate.yaml:3: rows: nobody selects no row of either side"},
        {"rules: [{what: registers, rows: 's/b/*'}]", "gate.yaml:1: rows: s/b/* selects no row of either side"},
        {"rows: '*/x'\nrules: [{what: registers, rows: '*/y'}]", NULL},
    };
    for (size_t i = 0; i < 2 * sizeof all / sizeof *all; i++) {
        const char *rules_text = all[i / 2].rules, *says = all[i / 2].says;
        struct gate_side base = gate_world_side("base", "s/a/x ok A emu.local_sectors=1\ns/a/y skipped -", false),
                         head = gate_world_side("head", i % 2 ? "s/a/x ok A emu.local_sectors=1" : "s/a/x ok B emu.local_sectors=2", false);
        struct gate_rules rules;
        struct gate_comparison c;
        struct error err = {0};
        assert_true(gate_world_rules(rules_text, &rules, &err));
        bool made = gate_compare(&base, &head, &rules, false, &c, &err);
        if (made == (says != NULL) || (says && (err.kind != ERROR_USAGE || !strstr(err.text, says))))
            fail_msg("%s: %s", rules_text, err.text);
        if (made)
            gate_comparison_free(&c);
        gate_rules_free(&rules);
        gate_side_free(&base);
        gate_side_free(&head);
        error_clear(&err);
    }
}

/* Geometric means of base / head: of the rows whose code changed; of a network, of all of its rows, each as often as it runs. */
static void means_are_those_of_changed_rows(void **state)
{
    struct gate_side base = gate_world_side("base",
                                            "s/a/x ok A emu.warp_instructions=800 emu.global_sectors_ld=10 emu.global_sectors_st=6 "
                                            "emu.async_sectors=0\n"
                                            "s/a/y ok B emu.warp_instructions=100 emu.global_sectors_ld=0 emu.global_sectors_st=0 "
                                            "emu.async_sectors=0\n"
                                            "s/a/z ok S emu.warp_instructions=500\n"
                                            "s/a/zero ok Z emu.warp_instructions=0\ns/a/zero2 ok Z emu.warp_instructions=7\n"
                                            "s/b/x ok C emu.global_sectors_ld=5\n"
                                            "s/b/gone ok D emu.warp_instructions=1",
                                            false),
                     head = gate_world_side("head",
                                            "s/a/x ok AA emu.warp_instructions=100 emu.global_sectors_ld=2 emu.global_sectors_st=1 "
                                            "emu.async_sectors=1\n"
                                            "s/a/y ok BB emu.warp_instructions=200 emu.global_sectors_ld=0 emu.global_sectors_st=0 "
                                            "emu.async_sectors=0\n"
                                            "s/a/z ok S emu.warp_instructions=500\n"
                                            "s/a/zero ok ZZ emu.warp_instructions=7\ns/a/zero2 ok ZZ emu.warp_instructions=0\n"
                                            "s/b/x ok CC emu.global_sectors_ld=5\n"
                                            "s/b/new ok D2 emu.warp_instructions=1",
                                            false);
    struct row *row = row_new(), *seldom = row_new();
    struct gate_rules rules;
    struct gate_comparison c;
    struct gate_mean *m;
    struct error err = {0};
    row_add_network(row, "net", 3);
    row_add_network(seldom, "net", 1);
    row_add_network(row, "idle", 0);
    row_add_network(row, "net", 100); /* the first of a name counts */
    for (int i = 0; i < head.count; i++)
        if (!strcmp(head.entries[i].id, "s/a/x") || !strcmp(head.entries[i].id, "s/a/z"))
            head.entries[i].row = head.entries[i].id[4] == 'x' ? row : seldom;
    gate_rules_default(&rules);
    assert_true(gate_compare(&base, &head, &rules, false, &c, &err));
    assert_int_equal(gate_means(&c, &m), 5);
    static const struct {
        const char *name;
        int rows, changed;
        double instructions, sectors; /* NAN: none of its rows has a ratio */
        bool network;
    } want[] = {{"s/a", 5, 4, 2, 2, false}, /* 8 and 1/2; 16/4 and, of nothing moved, 1 */
                {"s/b", 1, 1, NAN, NAN, false},
                {"net", 2, 1, 4.756828460010884, 4, true}, /* three times 8 of x, once 1 of z, which moved nothing that is known */
                {"idle", 0, 0, NAN, NAN, true},
                {"all", 6, 5, 2, 2, false}};
    for (int i = 0; i < 5; i++) {
        int k = 0;
        while (k < 5 && strcmp(m[k].name, want[i].name) != 0)
            k++;
        assert_true(k < 5);
        assert_true(m[k].rows == want[i].rows && m[k].changed == want[i].changed && m[k].network == want[i].network && isnan(m[k].time));
        assert_true(isnan(want[i].instructions) ? isnan(m[k].instructions) : fabs(m[k].instructions - want[i].instructions) < 1e-12);
        assert_true(isnan(want[i].sectors) ? isnan(m[k].sectors) : fabs(m[k].sectors - want[i].sectors) < 1e-12);
    }
    gate_means_free(m, 5);
    gate_comparison_free(&c);
    gate_side_free(&base);
    gate_side_free(&head);
    row_free(row);
    row_free(seldom);
}

static int in_own_folder(void **state)
{
    return set_up(state) || chdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_scene_comes_out), cmocka_unit_test(a_rule_for_no_row_is_an_error),
                                       cmocka_unit_test(means_are_those_of_changed_rows)};
    return cmocka_run_group_tests_name("gate_facts", tests, in_own_folder, tear_down);
}
