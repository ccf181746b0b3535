/* gate: a side made from stored rows: its facts, compiler and versions, the source line of a change, and times of two runs, against numbers
 * worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include "gate/document.h"
#include "gate_world.h"
#include "store/family.h"
#include <math.h>
#include <unistd.h>

static struct row *new_row(const char *id, const char *side, const char *launch)
{
    struct row *row = row_new();
    row_set(&row->id, id);
    row_set(&row->scenario, "s");
    row_set(&row->layer, "a");
    row_set(&row->side, side);
    row_set(&row->arch, "sm_90a");
    snprintf(row->launch_hash, sizeof row->launch_hash, "%s", launch);
    row->status = ROW_OK;
    return row;
}

static struct row_step *step(struct row *row, const char *name, const char *file, int registers)
{
    struct row_step *s = row_add_step(row);
    row_set(&s->name, name);
    snprintf(s->file, sizeof s->file, "%s", file);
    s->registers = registers;
    return s;
}

static void count(struct row *row, int step, int line, const char *word, double value)
{
    row_add_member(row, FAMILY_EMU, step, line, word, "", "emu", value);
}

static struct gate_side take(int64_t id, const char *device, const char *driver, struct row **rows, int n, const char *only)
{
    struct gate_side side = {.name = xstrdup("run")};
    struct run run = {.id = id, .device = xstrdup(device), .compiler = xstrdup("nvrtc 13.0"), .product = xstrdup("NVIDIA H200")};
    struct error err = {0};
    struct row **list = xcalloc((size_t)n + 1, sizeof *list);
    memcpy(list, rows, (size_t)n * sizeof *rows);
    run.driver = xstrdup(driver);
    run.environment = xstrdup("{\"cudnn\": \"9.1\", \"other\": 3}");
    assert_true(gate_side_take(&side, &run, list, n, only, &err) && gate_side_sort(&side, &err));
    return side;
}

/* ---- facts ---- */

static void rows_become_facts(void **state)
{
    struct row *ok = new_row("s/a/one", NULL, "A"), *other = new_row("s/a/other", "base", "B"), *bad = new_row("s/a/bad", "head", "C"),
               *empty = new_row("s/a/empty", "", "D");
    step(ok, "conv", "a.cu", 32)->spill_store_bytes = 4;
    step(ok, "pool", "b.cu", 16)->occupancy = 0.5;
    step(ok, "conv", "a.cu", 40);
    count(ok, -1, 0, "global_sectors_ld", 640);
    count(ok, 1, 0, "global_sectors_st", 8); /* of a step: the gate compares the whole row's */
    row_add_member(ok, FAMILY_STATIC, 1, 0, "sass_total", "", "cubin", 120);
    bad->status = ROW_WRONG;
    row_set(&bad->reason, "it is wrong");
    step(bad, "conv", "a.cu", 99);
    struct row *all[] = {ok, other, bad, empty};
    struct gate_side side = take(7, "emu:GH100", "580", all, 4, NULL);
    assert_int_equal(side.count, 2); /* the rows without a side */
    const struct gate_entry *e = gate_side_find(&side, "s/a/one");
    assert_true(e && e->row == ok && e->run && e->run->id == 7 && !strcmp(e->launch, "A") && !strcmp(e->layer, "a"));
    assert_string_equal(e->scenario, "s");
    assert_true(gate_entry_fact(e, "conv", "registers") == 32 && gate_entry_fact(e, "conv#2", "registers") == 40);
    assert_true(gate_entry_fact(e, "conv", "spill_store_bytes") == 4 && gate_entry_fact(e, "pool", "occupancy") == 0.5);
    assert_true(gate_entry_fact(e, "pool", "static.sass_total") == 120 && isnan(gate_entry_fact(e, "conv", "static.sass_total")));
    assert_true(gate_entry_fact(e, "", "emu.global_sectors_ld") == 640);
    assert_true(isnan(gate_entry_fact(e, "pool", "emu.global_sectors_st")) && isnan(gate_entry_fact(e, "", "emu.global_sectors_st")));
    assert_true(isnan(gate_entry_fact(e, "", "registers")) && isnan(gate_entry_fact(NULL, "", "registers")));
    assert_null(gate_side_find(&side, "s/a/other"));
    gate_side_free(&side);

    struct row *two[] = {new_row("s/a/one", "base", "A"), new_row("s/a/one", "head", "B"), new_row("s/a/two", "head", "C")};
    two[2]->status = ROW_CRASHED;
    row_set(&two[2]->reason, "it crashed");
    step(two[2], "conv", "a.cu", 99);
    side = take(8, "emu:GH100", "580", two, 3, "head");
    assert_int_equal(side.count, 2);
    assert_string_equal(gate_side_find(&side, "s/a/one")->launch, "B");
    e = gate_side_find(&side, "s/a/two");
    assert_true(e->status == ROW_CRASHED && !strcmp(e->reason, "it crashed") && e->fact_count == 0); /* a failed row has no facts */
    gate_side_free(&side);
    assert_null(gate_kind_find("registres"));
}

/* Each kind of fact: whether more is worse, the share that may change, whether it belongs to the row ("r") or to each step, and whether a
 * baseline ("b") and the brief table ("t") have it, as docs/GATE.md says. */
static void kinds_are_those_of_the_manual(void **state)
{
    static const char want[] =
        "registers 0 0 bt|spill_store_bytes 1 0 bt|spill_load_bytes 1 0 b|stack_bytes 1 0 b|static_smem 0 0 b|dynamic_smem 0 0 b|"
        "occupancy 2 0 bt|static.sass_total 0 0 b|static.sass_ffma 0 0 |static.sass_hfma2 0 0 |static.sass_mma 0 0 |static.sass_gmma 0 0 |"
        "static.sass_ldg 0 0 |static.sass_stg 0 0 |static.sass_lds 0 0 |static.sass_sts 0 0 |static.sass_ldl 0 0 |static.sass_stl 0 0 |"
        "static.sass_ldsm 0 0 |static.sass_ldgsts 0 0 |static.sass_bar 0 0 |emu.warp_instructions 1 0.005 rbt|emu.warp_fma 0 0 r|"
        "emu.tensor_ops 0 0 r|emu.global_sectors_ld 1 0 rbt|emu.global_sectors_st 1 0 rbt|emu.global_sectors_atomic 1 0 rb|"
        "emu.async_sectors 1 0 rb|emu.local_sectors 1 0 rb|emu.shared_wavefronts_ld 1 0 rb|emu.shared_wavefronts_st 1 0 rb|"
        "emu.shared_bank_conflicts 1 0 rbt|emu.atomic_contention 1 0 rb|emu.barriers 0 0 r|emu.divergent_branches 0 0 r|";
    SCOPED_TEXT t = {0};
    for (const struct gate_kind *k = gate_kinds; k->what; k++)
        text_addf(&t, "%s %d %g %s%s%s|", k->what, (int)k->direction, k->allow, k->whole ? "r" : "", k->kept ? "b" : "",
                  k->brief ? "t" : "");
    assert_string_equal(text_get(&t), want);
}

static void two_rows_of_one_name_are_refused(void **state)
{
    struct gate_side side = {.name = xstrdup("run 3")};
    struct error err = {0};
    gate_side_add(&side, "s/b");
    gate_side_add(&side, "s/a");
    assert_true(gate_side_sort(&side, &err) && !strcmp(side.entries[0].id, "s/a"));
    gate_side_add(&side, "s/b");
    assert_false(gate_side_sort(&side, &err));
    assert_string_equal(err.text, "run 3: two rows have the name s/b");
    gate_side_free(&side);
}

static void what_made_a_side_is_said(void **state)
{
    struct row *one[] = {new_row("s/a/one", NULL, "A")}, *two[] = {new_row("s/a/one", NULL, "A")},
               *more[] = {new_row("s/a/two", NULL, "A")};
    struct gate_side emu = take(1, "emu:GH100", "570", one, 1, NULL), gpu = take(2, "cuda:0", "580", two, 1, NULL);
    SCOPED_TEXT t = {0}, on_gpu = {0}, difference = {0};
    struct error err = {0};
    gate_side_describe(&emu, &t);
    assert_string_equal(text_get(&t), "emu:GH100 \302\267 sm_90a \302\267 nvrtc 13.0"); /* wherever it ran */
    gate_side_describe(&gpu, &on_gpu);
    assert_string_equal(text_get(&on_gpu), "NVIDIA H200 \302\267 sm_90a \302\267 nvrtc 13.0 \302\267 driver 580 \302\267 cuDNN 9.1");
    gate_side_differences(&gpu, &emu, &difference); /* what one side does not know is no difference */
    assert_string_equal(text_get(&difference), "device emu:GH100, not NVIDIA H200");
    struct run run = {.id = 3, .device = xstrdup("cuda:0"), .compiler = xstrdup("nvrtc 12.9"), .product = xstrdup("NVIDIA H200")};
    run.driver = xstrdup("590");
    struct row **list = xcalloc(1, sizeof *list);
    *list = more[0];
    assert_false(gate_side_take(&gpu, &run, list, 1, NULL, &err));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    assert_string_equal(err.text, "run: its runs were made on different systems: compiler nvrtc 12.9, not nvrtc 13.0; driver 590, not 580");
    gate_side_free(&emu);
    gate_side_free(&gpu);
}

/* ---- the line of a change ---- */

static void place_is(struct row *base, struct row *head, const char *step_name, const char *what, const char *want, int want_line)
{
    struct gate_entry a = {.row = base}, b = {.row = head};
    SCOPED char *file = NULL;
    int line;
    bool found = gate_place(&a, &b, step_name, gate_kind_find(what), &file, &line);
    if (found != (want != NULL) || (want && strcmp(file, want) != 0) || line != want_line)
        fail_msg("%s of '%s': %s:%d, not %s:%d", what, step_name, found ? file : "(none)", line, want, want_line);
}

static void the_line_that_grew_is_found(void **state)
{
    struct row *base = new_row("s/a/one", NULL, "A"), *head = new_row("s/a/one", NULL, "B");
    const int same[] = {3, 5, 9, 20};
    step(base, "conv", "a.cu", 1);
    step(base, "last", "z.cu", 1);
    step(head, "fill", "", 1);
    step(head, "conv", "b.cu", 1);
    step(head, "new", "c.cu", 1);
    for (int i = 0; i < 4; i++) { /* head has two more lines above: the lines are matched by their counts */
        count(base, 0, same[i], "global_sectors_ld", 100 * (i + 1));
        count(head, 1, same[i] + 2, "global_sectors_ld", 100 * (i + 1) + (i == 2 ? 50 : i == 1 ? 10 : 0));
    }
    place_is(base, head, "", "emu.global_sectors_ld", "b.cu", 11);
    count(head, 1, 4, "global_sectors_ld", 60); /* a new line outgrows the one that grew by 50 */
    place_is(base, head, "", "emu.global_sectors_ld", "b.cu", 4);
    count(head, 2, 7, "global_sectors_ld", 61); /* and a new step's line that one */
    place_is(base, head, "", "emu.global_sectors_ld", "c.cu", 7);
    count(base, 0, 40, "global_sectors_ld", 7000); /* what only base has places nothing */
    place_is(base, head, "", "emu.global_sectors_ld", "c.cu", 7);
    count(base, 0, 3, "local_sectors", 9);
    count(head, 1, 3, "local_sectors", 9);
    place_is(base, head, "conv", "emu.local_sectors", "b.cu", 0); /* nothing grew: the file */
    place_is(base, head, "gone", "emu.local_sectors", NULL, 0);
    place_is(NULL, head, "", "emu.global_sectors_ld", "b.cu", 22); /* of a baseline, which has no lines: the largest count */
    count(head, 1, 31, "async_sectors", 1);                        /* one is growth, too; of two equal ones, the first */
    count(head, 1, 32, "async_sectors", 1);
    place_is(base, head, "", "emu.async_sectors", "b.cu", 31);
    row_add_member(head, FAMILY_WARP, 1, 5, "instructions", "", "emu", 1e6);
    place_is(base, head, "", "emu.warp_instructions", "b.cu", 5);
    place_is(NULL, head, "", "emu.warp_instructions", "b.cu", 0); /* which all lines of a file share */
    row_free(base);
    row_free(head);
}

/* Lines are matched by the longest common sequence of their counts; the rest of head is new or another count of the line in its place. */
static void lines_are_matched_by_their_counts(void **state)
{
    static const struct {
        int base[4], head[4], line;
    } all[] = {
        {{10, 20}, {20, 25}, 2},                 /* the first is gone, the last is new */
        {{1, 60, 70}, {60, 70, 9}, 3},           /* a pair of lines moved up */
        {{60, 70, 9}, {1, 60, 70}, 1},           /* or down */
        {{10, 20, 30}, {10, 29, 30}, 2},         /* one in its place has another count */
        {{10, 20, 30, 40}, {10, 30, 45, 41}, 4}, /* one is gone, the third grew, the last is new */
        {{5, 5, 5}, {5, 6, 5}, 2},
        {{7}, {7, 7}, 2},
        {{9, 10, 20}, {10, 12, 20}, 2},   /* the first is gone, 12 is new */
        {{80, 1, 2, 3}, {1, 2, 3, 5}, 4}, /* three lines moved up */
        {{50, 40, 30}, {49, 39, 29}, 0},  /* none grew: the file alone */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct row *base = new_row("s/a/one", NULL, "A"), *head = new_row("s/a/one", NULL, "B");
        step(base, "conv", "a.cu", 1);
        step(head, "conv", "b.cu", 1);
        count(base, 0, 0, "global_sectors_ld", 5);
        count(head, 0, 0, "global_sectors_ld", 1e6); /* of the step: no line's */
        for (int k = 3; k >= 0; k--) {               /* stored in any order */
            if (all[i].base[k])
                count(base, 0, k + 1, "global_sectors_ld", all[i].base[k]);
            if (all[i].head[k])
                count(head, 0, k + 1, "global_sectors_ld", all[i].head[k]);
        }
        place_is(base, head, "", "emu.global_sectors_ld", "b.cu", all[i].line);
        row_free(base);
        row_free(head);
    }
}

static void the_line_that_differs_is_found(void **state)
{
    struct row *base = new_row("s/a/one", NULL, "A"), *head = new_row("s/a/one", NULL, "B");
    struct error err = {0};
    static const struct {
        const char *name, *text;
    } files[] = {{"old.cu", "a\nb\nc\n"},  {"new.cu", "a\nb\nd\n"},    {"long.cu", "a\nb\nc\nd\n"},
                 {"same.cu", "a\nb\nc\n"}, {"wide.cu", "aaa\nb\nd\n"}, {"first.cu", "aaa\nb\nc\n"}};
    for (size_t i = 0; i < 6; i++)
        assert_true(file_write(files[i].name, files[i].text, strlen(files[i].text), &err));
    struct row *first = new_row("s/a/one", NULL, "B");
    step(base, "conv", "old.cu", 1);
    step(first, "conv", "new.cu", 1);
    place_is(base, first, "conv", "registers", "new.cu", 3);
    row_free(first);
    step(head, "pool", "long.cu", 1);
    step(head, "conv", "new.cu", 1);
    place_is(base, head, "conv", "registers", "new.cu", 3);
    place_is(base, head, "", "registers", "new.cu", 3);
    snprintf(head->steps[1].file, sizeof head->steps[1].file, "long.cu");
    place_is(base, head, "conv", "registers", "long.cu", 4);
    snprintf(head->steps[1].file, sizeof head->steps[1].file, "same.cu");
    place_is(base, head, "conv", "registers", "same.cu", 0);
    snprintf(head->steps[1].file, sizeof head->steps[1].file, "wide.cu");
    snprintf(base->steps[0].file, sizeof base->steps[0].file, "first.cu");
    place_is(base, head, "conv", "registers", "wide.cu", 3);
    snprintf(base->steps[0].file, sizeof base->steps[0].file, "old.cu");
    snprintf(head->steps[1].file, sizeof head->steps[1].file, "gone.cu");
    place_is(base, head, "conv", "registers", "gone.cu", 0);
    place_is(NULL, head, "conv", "registers", "gone.cu", 0);
    row_free(base);
    row_free(head);
}

static void a_reason_names_its_line(void **state)
{
    struct row *row = new_row("s/a/one", NULL, "A");
    struct error err = {0};
    char *file;
    int line;
    assert_true(file_make_dirs("k", &err) && file_write("k/a.cu", "a", 1, &err) && file_write("k/a.cuh", "a", 1, &err));
    step(row, "fill", "", 1);
    step(row, "conv", "k/a.cu", 1);
    static const struct {
        const char *said;
        int line;
        const char *want;
    } all[] = {{"a.cu", 3, "k/a.cu"},     {"elsewhere/a.cu", 3, "k/a.cu"}, {"a.cuh", 4, "k/a.cuh"},
               {"k/a.cuh", 1, "k/a.cuh"}, {"none.cuh", 4, NULL},           {"a.cu", 0, NULL}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        row_set(&row->reason_file, all[i].said);
        row->reason_line = all[i].line;
        bool found = gate_place_said(row, &file, &line);
        if (found != (all[i].want != NULL) || line != (all[i].want ? all[i].line : 0) || (found && strcmp(file, all[i].want) != 0))
            fail_msg("%s:%d: %s:%d", all[i].said, all[i].line, found ? file : "none", line);
        free(file);
    }
    assert_false(gate_place_said(NULL, &file, &line));
    row_free(row);
    row = new_row("s/a/two", NULL, "A"); /* the first step's file, or a header beside it */
    step(row, "conv", "k/a.cu", 1);
    for (int i = 0; i < 2; i++) {
        row_set(&row->reason_file, i ? "a.cuh" : "x/a.cu");
        row->reason_line = 2;
        assert_true(gate_place_said(row, &file, &line) && line == 2 && !strcmp(file, i ? "k/a.cuh" : "k/a.cu"));
        free(file);
    }
    row_free(row);
}

/* ---- times of two runs ---- */

static struct row *timed_row(double low, double median, double high, int rounds)
{
    struct row *row = new_row("s/a/one", NULL, "one");
    struct row_time *t = row_add_time(row);
    t->step = -1;
    strcpy(t->cache, "cold");
    strcpy(t->load, "isolated");
    t->low_ns = low;
    t->median_ns = median;
    t->high_ns = high;
    t->rounds = rounds;
    return row;
}

static void two_runs_are_judged_at_their_worst(void **state)
{
    static const struct {
        double a[3], b[3];
        enum gate_verdict verdict;
        double ratio, low, high; /* by hand; two processes differ by 1.5 % */
    } all[] = {
        {{99000, 100000, 101000}, {108900, 110000, 111100}, GATE_SLOWER, 0.909090909091, 0.877920304346, 0.941368227732},
        {{108900, 110000, 111100}, {99000, 100000, 101000}, GATE_FASTER, 1.1, 1.06228356826, 1.13905555556},
        {{99000, 100000, 101000}, {99000, 100000, 101000}, GATE_UNDECIDED, 1, 0.96571233478, 1.03550505051},
        {{99000, 100000, 101000}, {101000, 102000, 103000}, GATE_UNDECIDED, 0.980392156863, 0.946960638959, 1.015},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int order = 0; order < 2; order++) {
            struct row *a = timed_row(all[i].a[0], all[i].a[1], all[i].a[2], order ? 40 : 30),
                       *b = timed_row(all[i].b[0], all[i].b[1], all[i].b[2], order ? 30 : 40);
            snprintf(b->launch_hash, sizeof b->launch_hash, "other");
            struct gate_side base = take(1, "cuda:0", "580", &a, 1, NULL), head = take(2, "cuda:0", "580", &b, 1, NULL);
            struct gate_rules rules;
            struct gate_comparison c;
            struct error err = {0};
            gate_rules_default(&rules);
            assert_true(gate_compare(&base, &head, &rules, false, &c, &err) && c.count == 1 && c.timed == 1);
            const struct gate_pair *p = &c.pairs[0];
            assert_true(!p->paired && p->by == GATE_BY_TIME && p->rounds == 30 && p->verdict == all[i].verdict);
            assert_true(fabs(p->ratio - all[i].ratio) < 1e-8 && fabs(p->low - all[i].low) < 1e-8 && fabs(p->high - all[i].high) < 1e-8);
            assert_true(p->decision.p_same == 1 && p->decision.p_slower == 1 && p->decision.p_faster == 1);
            struct gate_mean *m;
            int means = gate_means(&c, &m);
            assert_true(means == 2 && fabs(m[1].time - all[i].ratio) < 1e-8);
            gate_means_free(m, means);
            gate_comparison_free(&c);
            gate_side_free(&base);
            gate_side_free(&head);
        }
}

/* With a margin of 5 %, an interval of 4 % to either side is SAME. A waiver accepts a slower time. A time without an interval, or one below
 * the limit, gives no verdict. */
static void times_follow_the_rules(void **state)
{
    static const struct {
        const char *rules;
        double a[3], b[3];
        enum gate_verdict verdict;
        bool by_time, passes;
    } all[] = {
        {"margin: 5 %", {99000, 100000, 101000}, {99000, 100000, 101000}, GATE_SAME, true, true},
        {"margin: 3 %", {99000, 100000, 101000}, {99000, 100000, 101000}, GATE_UNDECIDED, true, true},
        {"margin: 3.56 %", {99000, 100000, 101000}, {99000, 100000, 101000}, GATE_SAME, true, true},
        {"margin: 15 %", {99000, 100000, 101000}, {108900, 110000, 111100}, GATE_SAME, true, true},
        {"margin: 1 %", {99000, 100000, 101000}, {108900, 110000, 111100}, GATE_SLOWER, true, false},
        {"waivers: [{row: '*', what: time, why: w, owner: o, until: 2026-06-15}]",
         {99000, 100000, 101000},
         {108900, 110000, 111100},
         GATE_SLOWER,
         true,
         true},
        {"waivers: [{row: '*', what: time, why: w, owner: o, until: 2026-06-14}]",
         {99000, 100000, 101000},
         {108900, 110000, 111100},
         GATE_SLOWER,
         true,
         false},
        {NULL, {0, 100000, 0}, {108900, 110000, 111100}, GATE_UNDECIDED, false, true},
        {NULL, {99000, 100000, 101000}, {0, 110000, 0}, GATE_UNDECIDED, false, true},
        {NULL, {0.1, 0, 0.1}, {108900, 110000, 111100}, GATE_UNDECIDED, false, true},
        {NULL, {99000, 100000, 101000}, {0.1, 0, 0.1}, GATE_UNDECIDED, false, true},
        {"floor: 0 s", {0.1, 0, 0.1}, {108900, 110000, 111100}, GATE_UNDECIDED, false, true},
        {"floor: 101 us", {99000, 100000, 101000}, {108900, 110000, 111100}, GATE_UNDECIDED, false, true},
        {"floor: 100 us", {99000, 100000, 101000}, {108900, 110000, 111100}, GATE_SLOWER, true, false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct row *a = timed_row(all[i].a[0], all[i].a[1], all[i].a[2], 30), *b = timed_row(all[i].b[0], all[i].b[1], all[i].b[2], 30);
        snprintf(b->launch_hash, sizeof b->launch_hash, "other");
        struct gate_side base = take(1, "cuda:0", "580", &a, 1, NULL), head = take(2, "cuda:0", "580", &b, 1, NULL);
        struct gate_rules rules;
        struct gate_comparison c;
        struct error err = {0};
        assert_true(gate_world_rules(all[i].rules, &rules, &err) && gate_compare(&base, &head, &rules, false, &c, &err));
        const struct gate_pair *p = &c.pairs[0];
        if (p->verdict != all[i].verdict || (p->by == GATE_BY_TIME) != all[i].by_time || gate_pair_passes(&c, p) != all[i].passes)
            fail_msg("case %zu: %s by %s", i, gate_verdict_names[p->verdict], gate_by_names[p->by]);
        gate_comparison_free(&c);
        gate_rules_free(&rules);
        gate_side_free(&base);
        gate_side_free(&head);
    }
}

static int in_own_folder(void **state)
{
    return set_up(state) || chdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_become_facts),
                                       cmocka_unit_test(kinds_are_those_of_the_manual),
                                       cmocka_unit_test(two_rows_of_one_name_are_refused),
                                       cmocka_unit_test(what_made_a_side_is_said),
                                       cmocka_unit_test(the_line_that_grew_is_found),
                                       cmocka_unit_test(lines_are_matched_by_their_counts),
                                       cmocka_unit_test(the_line_that_differs_is_found),
                                       cmocka_unit_test(a_reason_names_its_line),
                                       cmocka_unit_test(two_runs_are_judged_at_their_worst),
                                       cmocka_unit_test(times_follow_the_rules)};
    return cmocka_run_group_tests_name("gate_side", tests, in_own_folder, tear_down);
}
