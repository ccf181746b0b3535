/* run/message/wire: what a worker found out comes through the socket whole, and leaves alone what is the parent's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fixture_rows.h"
#include "run/message/wire.h"

/* Through a frame, as between the processes. */
static void send(const struct row *from, struct row *to)
{
    SCOPED_TEXT frame = {0};
    size_t packed;
    assert_true(frame_write(&frame, json_pack("{s:o}", FRAME_PACKED, wire_row(from, true))));
    const char *line = text_get(&frame), *end = strchr(line, '\n');
    json_auto_t *in = frame_read(line, (size_t)(end - line), frame.len - (size_t)(end + 1 - line), &packed);
    assert_int_equal(packed, frame.len - (size_t)(end + 1 - line));
    wire_row_merge(json_object_get(in, FRAME_PACKED), to);
}

static void same(enum column_group group, const void *a, const void *b)
{
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        struct column_value v = column_get(c, a), w = column_get(c, b);
        if (v.absent != w.absent)
            fail_msg("%s is %s", c->name, v.absent ? "there" : "lost");
        if (v.text)
            assert_string_equal(v.text, w.text);
        else if (v.reals)
            assert_memory_equal(v.reals, w.reals, (size_t)v.count * sizeof *v.reals);
        else if (!v.absent)
            assert_true(v.is_real ? v.real == w.real : v.integer == w.integer);
    }
}

/* Every field of a row and of each of its lists, by the column table: a field that is not sent is found whatever it is called. */
static void set_all(enum column_group group, void *base, int seed)
{
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        static const double samples[] = {1.25, 2.5, 1e9 / 3};
        struct column_value v = {.text = "ab", .integer = seed, .is_real = true, .real = seed + 1 / 3.0, .reals = samples, .count = 3};
        if (c->type == COLUMN_STATUS)
            v.text = "impossible"; /* which keeps its times */
        if (c->type == COLUMN_INT || c->type == COLUMN_INT_NEG || c->type == COLUMN_INT64 || c->type == COLUMN_INT64_NEG)
            v.is_real = false;
        if (!strcmp(c->name, "rounds"))
            v.integer = 3;
        column_set(c, base, &v);
    }
}

static void everything_comes_through(void **state)
{
    struct row *a = row_new(), *b = row_new();
    set_all(COLUMN_RESULT, a, 7);
    row_set(&a->note, NULL); /* is made of the list */
    for (const struct row_list *l = row_lists; l->table; l++)
        for (int i = 0; i < 3; i++)
            if (l->group == COLUMN_NOTE)
                row_add_note(a, "note %d", i);
            else
                set_all(l->group, row_list_add(l, a), i + 1);
    b->row_index = 7; /* the parent's: it cannot say that it is not known */
    b->library = true;
    send(a, b);
    same(COLUMN_RESULT, a, b);
    for (const struct row_list *l = row_lists; l->table; l++) {
        assert_int_equal(row_list_count(l, b), 3);
        for (int i = 0; i < 3; i++)
            same(l->group, row_list_at(l, a, i), row_list_at(l, b, i));
    }
    send(a, b); /* once more: facts and times are replaced, metrics are added */
    assert_int_equal(b->step_count, 3);
    assert_int_equal(b->plan_count, 3);
    assert_int_equal(b->note_count, 3); /* notes that are said again stand once */
    assert_int_equal(b->time_count, 3);
    assert_int_equal(b->metric_count, 6);
    row_free(a);
    row_free(b);
}

/* What the plan, the checks and the timing each note of a row stands there beside the others, in the order of the run. */
static void notes_are_added(void **state)
{
    struct row *planned = row_new(), *checked = row_new(), *timed = row_new(), *silent = row_new();
    row_add_note(planned, "its first configuration");
    row_add_note(checked, "left alone; by tiles");
    row_add_note(checked, "by tiles");
    row_add_note(timed, "the time budget ended");
    send(checked, planned);
    send(silent, planned);
    send(timed, planned);
    send(timed, planned); /* said twice, it stands once */
    assert_string_equal(planned->note, "its first configuration; left alone; by tiles; by tiles; the time budget ended");
    assert_int_equal(planned->note_count, 4);
    assert_string_equal(planned->notes[2].text, "by tiles");
    row_free(planned);
    row_free(checked);
    row_free(timed);
    row_free(silent);
}

/* If a row is timed again, together with one that joined its case, it has only the new times: the baseline and the rows compared with it
 * were timed in one group. For another mode or step it has separate times. */
static void a_time_is_of_the_last_bout(void **state)
{
    struct row *row = row_new(), *first = row_new(), *again = row_new();
    for (int bout = 0; bout < 2; bout++) {
        struct row *r = bout ? again : first;
        fixture_time(r, -1, 100 + bout, 1, 2, 1.9, 2.1);
        fixture_time(r, 0, 60 + bout, 1, 0, 0, 0);
        fixture_time(r, 0, 70 + bout, 1, 0, 0, 0); /* one report may have several of a step: they stay */
        if (!bout)
            snprintf(fixture_time(r, -1, 80, 1, 2, 1.9, 2.1)->cache, sizeof r->times->cache, "warm");
        send(r, row);
    }
    static const double want[] = {80e3, 101e3, 61e3, 71e3};
    assert_int_equal(row->time_count, 4);
    for (int i = 0; i < 4; i++)
        assert_true(row->times[i].median_ns == want[i]);
    row_free(row);
    row_free(first);
    row_free(again);
}

static void what_is_not_known_changes_nothing(void **state)
{
    struct fixture f = {0};
    struct row *nothing = row_new();
    fixture_h200(&f);
    struct row *r = f.rows[1];
    r->state_bytes = 100;
    nothing->status = ROW_OK;
    r->status = ROW_WRONG;
    int steps = r->step_count, index = r->row_index;
    char *id = xstrdup(r->id);
    send(nothing, r);
    assert_int_equal(r->status, ROW_OK);
    assert_int_equal(r->state_bytes, 100);
    assert_int_equal(r->step_count, steps);
    assert_int_equal(r->row_index, index);
    assert_string_equal(r->id, id);
    free(id);
    row_free(nothing);
    fixture_free(&f);
}

/* What no page or export can show does not leave the worker: bytes that are no UTF-8, infinite numbers. */
static void what_cannot_be_shown_is_not_sent(void **state)
{
    struct row *from = row_new(), *to = row_new();
    row_set(&from->reason, "at \xff\xc3\xa9");
    from->error_over_bound = INFINITY;
    from->noise = 0.25;
    to->error_over_bound = 2;
    send(from, to);
    assert_string_equal(to->reason, "at \xef\xbf\xbd\xc3\xa9");
    assert_true(to->error_over_bound == 2 && to->noise == 0.25);
    row_free(from);
    row_free(to);
}

/* Bytes that are still on their way are waited for; a part of them changes no list. */
static void bytes_come_in_parts(void **state)
{
    SCOPED_TEXT frame = {0};
    struct row *from = row_new();
    size_t packed;
    row_add_note(from, "a note");
    assert_true(frame_write(&frame, json_pack("{s:i,s:o}", "row", 3, FRAME_PACKED, wire_row(from, true))));
    const char *line = text_get(&frame), *end = strchr(line, '\n');
    size_t length = (size_t)(end - line), all = frame.len - length - 1;
    for (size_t behind = 0; behind <= all; behind++) {
        SCOPED char *exact = memcpy(xmalloc(length + 1 + behind), line, length + 1 + behind); /* of its own: a sanitizer sees its end */
        json_auto_t *in = frame_read(exact, length, behind, &packed);
        struct row *to = row_new();
        assert_int_equal(packed, all);
        wire_row_merge(json_object_get(in, FRAME_PACKED), to);
        assert_int_equal(to->note_count, behind == all);
        row_free(to);
    }
    row_free(from);
}

/* A row that was timed and fails in a later comparison has no time left; one that is impossibly fast keeps the time that says so. */
static void a_row_that_fails_later_has_no_time(void **state)
{
    static const enum row_status statuses[] = {ROW_OK,      ROW_WRONG, ROW_UNSAFE, ROW_STATEFUL,
                                               ROW_CRASHED, ROW_HUNG,  ROW_BROKEN, ROW_IMPOSSIBLE};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct row *from = row_new(), *to = row_new();
        for (int k = 0; k < 2; k++) {
            struct row_time *t = row_add_time(to);
            t->step = k - 1;
            t->median_ns = 1000;
        }
        from->status = statuses[i];
        send(from, to);
        assert_int_equal(to->status, statuses[i]);
        assert_int_equal(to->time_count, statuses[i] == ROW_OK || statuses[i] == ROW_IMPOSSIBLE ? 2 : 0);
        row_free(from);
        row_free(to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_comes_through),          cmocka_unit_test(notes_are_added),
                                       cmocka_unit_test(what_is_not_known_changes_nothing), cmocka_unit_test(a_time_is_of_the_last_bout),
                                       cmocka_unit_test(what_cannot_be_shown_is_not_sent),  cmocka_unit_test(bytes_come_in_parts),
                                       cmocka_unit_test(a_row_that_fails_later_has_no_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
