/* gate: the verdicts of rows with times, and exit codes, against simulated times with known ratios.
 */
#include "gate/baseline.h"
#include "gate/compare.h"
#include "base/file.h"
#include "base/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 600

static uint64_t random_state;
static double uniform(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}
static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static double usual_ns = 1e5;

/* Base takes usual_ns, head `slower` longer; rounds differ by `spread`. */
static void draw(double *base, double *head, double slower, double spread)
{
    for (int i = 0; i < ROUNDS; i++) {
        double heat = 1 + 0.05 * sin(i / 40.0); /* what both feel */
        base[i] = usual_ns * heat * exp(spread / sqrt(2) * normal());
        head[i] = usual_ns * heat * (1 + slower) * exp(spread / sqrt(2) * normal());
    }
}

/* ---- rows with times ---- */

static int placements = 6; /* that the rounds of a row are taken in */
static const char *others; /* on the GPU beside it */
static char note[160];     /* of the last pair compared */

static struct row *make_row(const char *side, const char *launch, const double *ns, int rounds)
{
    struct row *row = row_new();
    row_set(&row->id, "s/conv/my/one");
    row_set(&row->scenario, "s");
    row_set(&row->layer, "conv");
    row_set(&row->variant, "my/one");
    row_set(&row->side, side);
    row_set(&row->others, others);
    row_set(&row->arch, "sm_90a");
    strncpy(row->launch_hash, launch, sizeof row->launch_hash - 1);
    row->status = ROW_OK;
    struct row_time *t = row_add_time(row);
    strcpy(t->cache, "cold");
    strcpy(t->load, "isolated");
    double sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += ns[i];
    t->rounds = rounds;
    t->median_ns = sum / rounds;
    t->low_ns = 0.998 * t->median_ns;
    t->high_ns = 1.002 * t->median_ns;
    t->samples_ns = xmalloc((size_t)rounds * sizeof *ns);
    memcpy(t->samples_ns, ns, (size_t)rounds * sizeof *ns);
    t->places = xcalloc((size_t)rounds, sizeof *t->places);
    for (int i = 0; i < rounds; i++)
        t->places[i] = 1 + i * placements / rounds;
    return row;
}

static struct gate_side make_side(int64_t run_id, const char *side, const char *driver, struct row *row)
{
    struct gate_side s = {.name = xstrdup(side ? side : "run")};
    struct run run = {.id = run_id, .started = "2026-01-01T00:00:00Z"};
    struct error err = {0};
    struct row **rows = xcalloc(1, sizeof *rows);
    rows[0] = row;
    run.device = xstrdup("cuda:0");
    run.product = xstrdup("NVIDIA H200");
    run.driver = xstrdup(driver);
    run.environment = xstrdup("{\"cudnn\": \"9.1\"}");
    assert_true(gate_side_take(&s, &run, rows, 1, side, &err));
    assert_true(gate_side_sort(&s, &err));
    assert_int_equal(s.count, 1);
    return s;
}

/* The verdict of one pair. `runs`: of one run (1) or of two. */
static struct gate_pair compare_one(double slower, int runs, const char *launch, const char *driver, bool across, int *exit_code,
                                    struct error *err)
{
    static double base_ns[ROUNDS], head_ns[ROUNDS];
    draw(base_ns, head_ns, slower, 0.01);
    struct gate_side base = make_side(1, runs == 1 ? "base" : NULL, "580", make_row(runs == 1 ? "base" : NULL, "aaaa", base_ns, ROUNDS)),
                     head =
                         make_side(runs, runs == 1 ? "head" : NULL, driver, make_row(runs == 1 ? "head" : NULL, launch, head_ns, ROUNDS));
    struct gate_rules rules;
    struct gate_comparison c;
    struct gate_pair p = {0};
    gate_rules_default(&rules);
    *exit_code = -1;
    if (gate_compare(&base, &head, &rules, across, &c, err)) {
        p = c.pairs[0];
        snprintf(note, sizeof note, "%s", p.note ? p.note : "");
        *exit_code = gate_exit_code(&c);
        assert_int_equal(c.across != NULL, strcmp(driver, "580") != 0);
    }
    gate_comparison_free(&c);
    gate_side_free(&base);
    gate_side_free(&head);
    return p;
}

static void times_decide(void **state)
{
    (void)state;
    struct error err = {0};
    int code;
    random_state = 7;
    struct gate_pair p = compare_one(0.03, 1, "bbbb", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_SLOWER);
    assert_int_equal(p.by, GATE_BY_TIME);
    assert_true(p.paired && p.rounds >= DECISION_ROUNDS_LEAST && p.placements == 6 && p.low < 1 / 1.03 && 1 / 1.03 < p.high);
    assert_int_equal(code, 3);
    assert_true(fabs(p.ratio * (1 + p.decision.change) - 1) < 1e-12 && fabs(p.low * (1 + p.decision.high) - 1) < 1e-12 &&
                fabs(p.high * (1 + p.decision.low) - 1) < 1e-12 && fabs(p.decision.change - 0.03) < 0.005);
    p = compare_one(-0.03, 1, "bbbb", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_FASTER);
    assert_int_equal(code, 0);
    p = compare_one(0, 1, "bbbb", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_SAME);
    placements = 2; /* two of them may both be bad places: nothing is said */
    p = compare_one(0.03, 1, "bbbb", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_UNDECIDED);
    assert_int_equal(code, 0);
    placements = 3;
    p = compare_one(0.03, 1, "bbbb", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_SLOWER);
    placements = 6;
    p = compare_one(0.2, 1, "aaaa", "580", false, &code, &err); /* the same launches: whatever the stopwatch says */
    assert_int_equal(p.verdict, GATE_SAME);
    assert_int_equal(p.by, GATE_BY_IMAGE);
}

/* Who was not alone is not judged, either way; that both launch the same needs no stopwatch. */
static void company_is_not_judged(void **state)
{
    (void)state;
    struct error err = {0};
    int code;
    random_state = 8;
    others = "pid 12 python3";
    for (int i = -1; i <= 1; i++) {
        struct gate_pair p = compare_one(0.05 * i, 1, "bbbb", "580", false, &code, &err);
        assert_int_equal(p.verdict, GATE_UNDECIDED);
        assert_true(p.disturbed);
        assert_int_equal(code, 5);
    }
    struct gate_pair p = compare_one(0.2, 1, "aaaa", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_SAME);
    assert_int_equal(code, 0);
    others = NULL;
}

/* Too short to be judged by time, and of another tool, which counted nothing: no word of counts that are equal. */
static void nothing_tells(void **state)
{
    (void)state;
    struct error err = {0};
    int code;
    usual_ns = 1e3;
    struct gate_pair p = compare_one(0.2, 1, "bbbb", "580", false, &code, &err);
    usual_ns = 1e5;
    assert_int_equal(p.verdict, GATE_UNDECIDED);
    assert_string_equal(note, "it was not counted, and its time is not judged");
}

/* The times of two runs are not paired: what a process has of its own is in the interval. */
static void two_runs_decide_less(void **state)
{
    (void)state;
    struct error err = {0};
    int code;
    random_state = 9;
    struct gate_pair p = compare_one(0.015, 2, "bbbb", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_UNDECIDED);
    assert_false(p.paired);
    assert_true(p.high / p.low > 1.028);
    assert_int_equal(code, 0);
    p = compare_one(0.2, 2, "bbbb", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_SLOWER);
    usual_ns = 5e3; /* of which a launch is a good part: what that takes is each context's own */
    p = compare_one(0.045, 2, "bbbb", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_UNDECIDED);
    p = compare_one(0.2, 2, "bbbb", "580", false, &code, &err);
    assert_int_equal(p.verdict, GATE_SLOWER);
    usual_ns = 1e5;
    p = compare_one(0.2, 2, "bbbb", "570", false, &code, &err);
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    assert_non_null(strstr(err.text, "driver 570, not 580"));
    assert_int_equal(code, -1);
    error_clear(&err);
    p = compare_one(0.2, 2, "bbbb", "570", true, &code, &err);
    assert_int_equal(p.verdict, GATE_SLOWER);
}

/* Three rows of one run: each p-value is Holm's for the three, and the verdict follows from it. A side without known placements has one
 * placement, and one is not enough for a verdict. */
static void chances_are_those_of_the_family(void **state)
{
    static const double slower[] = {0.0106, 0.0111, 0.0120};
    static double base_ns[3][ROUNDS], head_ns[3][ROUNDS];
    struct row **rows = xcalloc(6, sizeof *rows), **more = xcalloc(6, sizeof *more);
    struct gate_side base = {.name = xstrdup("base")}, head = {.name = xstrdup("head")};
    struct error err = {0};
    double alone[3], want[3], change[3];
    random_state = 11;
    for (int i = 0; i < 3; i++) {
        draw(base_ns[i], head_ns[i], slower[i], 0.005);
        rows[i] = make_row("base", "aaaa", base_ns[i], ROUNDS);
        rows[3 + i] = make_row("head", "bbbb", head_ns[i], ROUNDS);
        for (int k = i; k < 6; k += 3) {
            free(rows[k]->id);
            rows[k]->id = text_format("s/conv/my/%d", i);
        }
    }
    int places[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        places[i] = i * placements / ROUNDS;
    for (int i = 0; i < 3; i++)
        alone[i] = decision_make(base_ns[i], head_ns[i], places, ROUNDS, 0.01, 0.001 / 3).p_slower;
    assert_true(alone[2] < alone[1] && alone[1] < alone[0] && alone[0] < 1);
    want[2] = 3 * alone[2];
    want[1] = fmax(want[2], 2 * alone[1]);
    want[0] = fmax(want[1], alone[0]);
    struct run run = {.id = 1, .started = "2026-01-01T00:00:00Z", .device = xstrdup("cuda:0")},
               again = {.id = 1, .started = "2026-01-01T00:00:00Z", .device = xstrdup("cuda:0")};
    memcpy(more, rows + 3, 3 * sizeof *rows);
    assert_true(gate_side_take(&base, &run, rows, 3, "base", &err) && gate_side_take(&head, &again, more, 3, "head", &err));
    assert_true(gate_side_sort(&base, &err) && gate_side_sort(&head, &err));
    struct gate_rules rules;
    struct gate_comparison c;
    gate_rules_default(&rules);
    assert_true(gate_compare(&base, &head, &rules, false, &c, &err) && c.count == 3 && c.timed == 3);
    for (int i = 0; i < 3; i++) {
        const struct gate_pair *p = &c.pairs[i];
        int which = p->head->id[strlen(p->head->id) - 1] - '0';
        assert_true(p->paired && p->placements == placements && fabs(p->decision.p_slower / fmin(want[which], 1) - 1) < 1e-9);
        assert_int_equal(p->verdict, want[which] <= 0.001 ? GATE_SLOWER : GATE_UNDECIDED);
        change[which] = p->decision.change;
    }
    gate_comparison_free(&c);
    free(rows[2]->times[0].places);
    rows[2]->times[0].places = NULL;
    rows[0]->times[0].places[0] = 99; /* one of a single round */
    assert_true(gate_compare(&base, &head, &rules, false, &c, &err));
    for (int i = 0; i < 3; i++) {
        const struct gate_pair *p = &c.pairs[i];
        if (!strcmp(p->head->id, "s/conv/my/2"))
            assert_true(p->placements == 1 && p->verdict == GATE_UNDECIDED);
        else
            assert_int_equal(p->placements, strcmp(p->head->id, "s/conv/my/0") ? placements : placements + 1);
    }
    gate_comparison_free(&c);
    rows[0]->times[0].median_ns = 4000; /* below the floor: counts judge it, and it is none of the family */
    assert_true(gate_compare(&base, &head, &rules, false, &c, &err));
    for (int i = 0; i < 3; i++) {
        const struct gate_pair *p = &c.pairs[i];
        int which = p->head->id[strlen(p->head->id) - 1] - '0';
        assert_int_equal(p->by, which ? GATE_BY_TIME : GATE_BY_COUNTS);
        assert_true(p->paired && fabs(p->decision.change - change[which]) < 1e-12);
    }
    gate_comparison_free(&c);
    gate_side_free(&head);
    gate_side_free(&base);
}

/* ---- baselines ---- */

/* A file with a right beginning and a right sum is read or refused with a reason, whatever is between. A written baseline is read back
 * unchanged.
 */
static void hostile_baselines(void **state)
{
    (void)state;
    char path[] = "/tmp/bench-gate-XXXXXX", sum[HASH_TEXT];
    struct gate_side side = {.name = xstrdup("a"),
                             .device = xstrdup("emu:GH100"),
                             .about = xstrdup("it's # a: b"),
                             .arch = xstrdup("sm_90a")},
                     read;
    struct gate_entry *e = gate_side_add(&side, "s/conv[mask=iid:0.1]@4x4/my/one[A=1,B=2]");
    struct text text = {0};
    struct error err = {0};
    int right = 0;
    e->status = ROW_FOIL;
    e->scenario = xstrdup("s");
    e->layer = xstrdup("conv");
    strcpy(e->launch, "0123456789abcdef");
    gate_entry_add(e, "fill count", gate_kind_find("registers"), 32);
    gate_entry_add(e, "", gate_kind_find("emu.warp_instructions"), 123456789012.0);
    gate_entry_add(e, "fill count", gate_kind_find("occupancy"), 0.4375);
    baseline_write(&text, &side);
    close(mkstemp(path));
    random_state = 3;
    for (int round = 0; round < 4000; round++) {
        char *copy = xstrndup(text.data, text.len);
        size_t bytes = text.len - (strlen("sum: ") + HASH_TEXT), begin = strlen("# bench baseline:");
        struct text whole = {0};
        for (int i = 0; round && i < 1 + round % 3; i++)
            copy[begin + (size_t)(uniform() * (double)(bytes - begin))] = (char)(round % 2 ? 32 + 95 * uniform() : 256 * uniform());
        hash_bytes(copy, bytes, sum);
        text_add_bytes(&whole, copy, bytes);
        text_addf(&whole, "sum: %s\n", sum);
        assert_true(file_write(path, whole.data, whole.len, &err));
        error_clear(&err);
        if (baseline_read(path, &read, &err)) {
            right++;
            if (!round) {
                assert_int_equal(read.count, 1);
                assert_string_equal(read.about, side.about);
                assert_string_equal(read.entries[0].id, e->id);
                assert_string_equal(read.entries[0].scenario, "s");
                assert_string_equal(read.entries[0].layer, "conv");
                assert_int_equal(read.entries[0].status, ROW_FOIL);
                assert_true(gate_entry_fact(&read.entries[0], "fill count", "occupancy") == 0.4375);
                assert_true(gate_entry_fact(&read.entries[0], "", "emu.warp_instructions") == 123456789012.0);
            }
            gate_side_free(&read);
        } else {
            assert_true(err.text[0] && err.kind == ERROR_USAGE);
        }
        assert_true(round || right);
        free(copy);
        text_free(&whole);
    }
    assert_true(right > 1);
    unlink(path);
    text_free(&text);
    gate_side_free(&side);
}

/* Each mistake in a baseline with a right sum is refused where it is; a text that YAML could mistake is quoted. */
static void mistakes_in_baselines(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } all[] = {{"registers: 32", "registers: 33", NULL},
               {"registers: 32", "registers: many", "registers"},
               {"emu.warp_instructions: 7", "emu.warp_instructions: [7]", "emu.warp_instructions"},
               {"status: foil", "status: wrong", "status: `foil` is the only value"},
               {"0123456789abcdef", "0123456789abcde", "16 hexadecimal digits"},
               {"version: ", "version: 9", "version"},
               {"about: ", "other: ", NULL}, /* then it is the device */
               {"rows:", "lows:", "without rows"},
               {"layer: conv", "later: conv", "a scenario and a layer"}};
    char path[] = "/tmp/bench-gate-XXXXXX", sum[HASH_TEXT];
    struct gate_side side = {.name = xstrdup("a"), .device = xstrdup("emu"), .about = xstrdup("caf\303\251"), .arch = xstrdup("sm_90a")};
    struct gate_entry *e = gate_side_add(&side, "s/conv/my/one");
    struct text text = {0};
    struct error err = {0};
    e->status = ROW_FOIL;
    e->scenario = xstrdup("s"), e->layer = xstrdup("conv");
    strcpy(e->launch, "0123456789abcdef");
    gate_entry_add(e, "fill", gate_kind_find("registers"), 32);
    gate_entry_add(e, "", gate_kind_find("emu.warp_instructions"), 7);
    text_add(&text, "before");
    baseline_write(&text, &side); /* behind what is there: the sum is of its own text */
    SCOPED_TEXT alone = {0};
    baseline_write(&alone, &side);
    assert_string_equal(text_get(&text) + strlen("before"), text_get(&alone));
    text_free(&text);
    baseline_write(&text, &side);
    close(mkstemp(path));
    assert_non_null(strstr(text_get(&text), ": 'caf\303\251'\n"));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct gate_side read;
        SCOPED_TEXT whole = {0};
        const char *at = strstr(text_get(&text), all[i].from), *end = strstr(text_get(&text), "sum: ");
        assert_true(at && end && at < end);
        text_add_bytes(&whole, text.data, (size_t)(at - text.data));
        text_add(&whole, all[i].to);
        text_add_bytes(&whole, at + strlen(all[i].from), (size_t)(end - at) - strlen(all[i].from));
        hash_bytes(text_get(&whole), whole.len, sum);
        text_addf(&whole, "sum: %s\n", sum);
        assert_true(file_write(path, whole.data, whole.len, &err));
        bool ok = baseline_read(path, &read, &err);
        if (ok != !all[i].says || (!ok && !strstr(err.text, all[i].says)))
            fail_msg("%s: %s", all[i].to, ok ? "read" : err.text);
        if (ok) {
            assert_string_equal(read.about, strncmp(all[i].to, "other", 5) ? "caf\303\251" : "emu");
            gate_side_free(&read);
        }
        error_clear(&err);
    }
    unlink(path);
    text_free(&text);
    gate_side_free(&side);
}

/* A fact of a step is placed in that step's file, also where another step's name begins its own. */
static void a_step_has_its_own_file(void **state)
{
    (void)state;
    struct row *row = row_new();
    struct gate_entry base = {0}, head = {.row = row};
    char *file;
    int line;
    static const char *const steps[][2] = {{"conv", "a.cu"}, {"conv_b", "b.cu"}, {"conv", "c.cu"}};
    for (int i = 0; i < 3; i++) {
        struct row_step *s = row_add_step(row);
        row_set(&s->name, steps[i][0]);
        strcpy(s->file, steps[i][1]);
    }
    static const char *const wanted[][2] = {{"conv_b", "b.cu"}, {"conv", "a.cu"}, {"conv#2", "c.cu"}, {"", "a.cu"}};
    for (int i = 0; i < 4; i++) {
        assert_true(gate_place(&base, &head, wanted[i][0], gate_kind_find("registers"), &file, &line));
        assert_string_equal(file, wanted[i][1]);
        assert_int_equal(line, 0);
        free(file);
    }
    assert_false(gate_place(&base, &head, "pool", gate_kind_find("registers"), &file, &line));
    row_free(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_decide),          cmocka_unit_test(company_is_not_judged),           cmocka_unit_test(nothing_tells),
        cmocka_unit_test(two_runs_decide_less),  cmocka_unit_test(chances_are_those_of_the_family), cmocka_unit_test(hostile_baselines),
        cmocka_unit_test(mistakes_in_baselines), cmocka_unit_test(a_step_has_its_own_file)};
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
