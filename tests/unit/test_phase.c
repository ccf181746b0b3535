/* base/phase: seconds that add up whatever nests, and ranges that close as they were opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/phase.h"
#include "run/message/wire.h"
#include "report/page/run_profile.h"
#include <string.h>
#include <time.h>

static char drawn[256];

static void draw_open(const char *name)
{
    strcat(strcat(strcat(drawn, "<"), name), " ");
}

static void draw_close(void)
{
    strcat(drawn, "> ");
}

static void pass(double seconds)
{
    double end = clock_s() + seconds;
    while (clock_s() < end)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* At least what passed in it; a machine under load adds, so the upper end is the whole. */
static void assert_had(const struct phase_clock *c, enum phase phase, double seconds)
{
    if (!(c->spent_s[phase] >= seconds))
        fail_msg("%s had %g s, not %g", phase_name(phase), c->spent_s[phase], seconds);
}

static void test_nested(void **state)
{
    struct phase_clock c;
    double before = clock_s();
    phase_begin(&c, PHASE_WAITING);
    double begun = clock_s();
    c.draw_open = draw_open;
    c.draw_close = draw_close;
    drawn[0] = 0;
    phase_open(&c, "run");
    phase_push(&c, PHASE_MEASURING);
    pass(0.02);
    phase_open(&c, "round 0");
    phase_push(&c, PHASE_SPACING);
    pass(0.03);
    phase_pop(&c);
    pass(0.01);
    phase_unwind(&c, 1);
    pass(0.01);
    phase_pop(&c);
    phase_pop(&c); /* nothing is open any more */
    assert_string_equal(drawn, "<run <measuring <round 0 <spacing > > > > ");
    double ended = clock_s();
    phase_settle(&c);
    double after = clock_s();
    assert_had(&c, PHASE_MEASURING, 0.03);
    assert_had(&c, PHASE_SPACING, 0.03);
    assert_had(&c, PHASE_WAITING, 0.01);
    double sum = phase_sum(c.spent_s); /* between what passed at least and at most, however long a step of this took */
    assert_true(sum <= after - before + 1e-9 && sum >= ended - begun - 1e-9);
    assert_true(c.spent_s[PHASE_DATA] == 0);
}

static void test_too_deep(void **state)
{
    struct phase_clock c;
    phase_begin(&c, PHASE_WAITING);
    for (int i = 0; i < PHASE_DEPTH + 10; i++)
        phase_push(&c, i == PHASE_DEPTH + 9 ? PHASE_DATA : PHASE_LOADING);
    pass(0.002);
    phase_unwind(&c, 0);
    pass(0.002);
    phase_settle(&c);
    assert_had(&c, PHASE_LOADING, 0.002);
    assert_had(&c, PHASE_WAITING, 0.002);
    assert_true(c.spent_s[PHASE_DATA] == 0);
}

/* A worker's words about the time that its parent waited for it. */
static void test_told(void **state)
{
    struct phase_clock parent, worker;
    double began = clock_s();
    phase_begin(&parent, PHASE_WAITING);
    phase_begin(&worker, PHASE_WAITING);
    phase_push(&worker, PHASE_VERIFYING);
    pass(0.02);
    phase_pop(&worker);
    pass(0.01);
    json_t *said = wire_spent(&worker);
    assert_int_equal(json_object_size(said), 1);
    assert_true(worker.spent_s[PHASE_VERIFYING] == 0); /* told once */
    wire_spent_take(said, &parent);
    json_decref(said);
    assert_had(&parent, PHASE_VERIFYING, 0.02);
    assert_had(&parent, PHASE_WAITING, 0.01);
    /* Nonsense never makes a phase negative, nor the sum another. */
    double before = phase_sum(parent.spent_s);
    said = json_pack("{s:f,s:f,s:f,s:s}", "data", 1e9, "loading", -3.0, "sleeping", 1.0, "counting", "much");
    wire_spent_take(said, &parent);
    json_decref(said);
    phase_settle(&parent);
    assert_true(phase_sum(parent.spent_s) >= before && phase_sum(parent.spent_s) <= clock_s() - began);
    for (int i = 0; i < PHASE_COUNT; i++)
        assert_true(parent.spent_s[i] >= 0);
}

static double part_had(struct phase_clock *c, enum phase phase, const char *name)
{
    return phase_part_find(c, phase, name)->spent_s;
}

/* What of a phase has a name: the innermost counts, a range without one is its surroundings', another phase inside is none of it. */
static void test_parts(void **state)
{
    struct phase_clock c, parent;
    phase_begin(&parent, PHASE_WAITING);
    phase_begin(&c, PHASE_WAITING);
    phase_push(&c, PHASE_DATA);
    pass(0.01);
    phase_part(&c, "sample");
    phase_open(&c, "a row");
    pass(0.02);
    phase_pop(&c);
    phase_part(&c, "inner");
    pass(0.01);
    phase_push(&c, PHASE_LOADING);
    pass(0.01);
    phase_unwind(&c, 1);
    for (int i = 0; i < PHASE_PARTS + 3; i++) { /* more than there is room for: they are the phase's */
        char name[32];
        snprintf(name, sizeof name, "part %d", i);
        phase_part(&c, name);
        phase_pop(&c);
    }
    phase_settle(&c);
    double sample = part_had(&c, PHASE_DATA, "sample"), inner = part_had(&c, PHASE_DATA, "inner"), whole = c.spent_s[PHASE_DATA];
    assert_true(sample >= 0.02 && inner >= 0.01 && sample + inner <= whole - 0.01 + 1e-9);
    assert_null(phase_part_find(&c, PHASE_DATA, "another one"));
    assert_had(&c, PHASE_LOADING, 0.01);
    /* Told once, and added up over there. */
    for (int i = 0; i < 2; i++) {
        json_t *said = wire_spent(&c);
        assert_true(part_had(&c, PHASE_DATA, "sample") == 0);
        wire_spent_take(said, &parent);
        json_decref(said);
    }
    assert_true(part_had(&parent, PHASE_DATA, "sample") == sample);
    json_t *nonsense = json_pack("[[s,s,f],[s],s,[s,s,s]]", "sleeping", "sample", 1.0, "data", "data", "data", "sample", "much");
    wire_parts_take(nonsense, &parent);
    json_decref(nonsense);
    assert_true(part_had(&parent, PHASE_DATA, "sample") == sample);
}

static void test_line(void **state)
{
    double spent_s[PHASE_COUNT] = {
        [PHASE_MEASURING] = 30, [PHASE_SPACING] = 6, [PHASE_COMPILING] = 3.6, [PHASE_STORING] = 0.3, [PHASE_WAITING] = 0.1};
    struct text t = {0};
    spent_line(&t, spent_s);
    assert_string_equal(text_get(&t), "40 s: measuring 30 s (75 %), spacing 6 s (15 %), compiling 3.6 s (9 %), the rest 0.4 s");
    text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nested), cmocka_unit_test(test_too_deep), cmocka_unit_test(test_told),
                                       cmocka_unit_test(test_parts), cmocka_unit_test(test_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
