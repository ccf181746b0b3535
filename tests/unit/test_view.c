/* report/view/view: what the tables show of a row, from stored rows of known values. */
#include "store/family.h"
#include "fixture_rows.h"
#include "base/text.h"
#include "report/page/case_document.h"
#include "report/view/view.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct fixture f;
static struct case_view c;

static struct row *row(const char *variant, const char *params, enum row_status status)
{
    return fixture_row(&f, 0, "body", "", "conv2d 64->64", variant, params, status);
}

static struct row_time *timed(struct row *r, int step, const char *cache, const char *load, double us)
{
    struct row_time *t = fixture_time(r, step, us, us / 100, 0, 0, 0);
    snprintf(t->cache, sizeof t->cache, "%s", cache);
    snprintf(t->load, sizeof t->load, "%s", load);
    return t;
}

static void begin(const char *device)
{
    f = (struct fixture){0};
    fixture_run(&f.run, "edsr", device, "NVIDIA H200");
}

static void make(void)
{
    case_view_make(&c, &f.run, f.rows, f.count);
}

static void end(void)
{
    case_view_free(&c);
    fixture_free(&f);
}

/* A row is called by its variants without the folder of an op, by its engine, and by what tells it from rows of the same variant. */
static void rows_are_called(void **state)
{
    begin("cuda:0");
    row("conv2d/cudnn", "", ROW_OK)->engine_number = 62;
    row("conv2d/mma + depth_to_space/d2s_native", "RING=4,STRIP=auto", ROW_OK);
    row("conv2d/mma + depth_to_space/d2s_native", "RING=4,STRIP=none", ROW_OK);
    row("conv2d/mma", "RING=6", ROW_OK); /* another variant's value tells nothing */
    row("my/mma + my/shuffle", "RING=8", ROW_OK)->side = xstrdup("new");
    row_set(&row("conv2d/none", "", ROW_OK)->variant, NULL);
    struct row *whole = row("chain/library", "", ROW_OK); /* of a network each layer has an engine of its own */
    row_set(&whole->op, "chain");
    whole->engine_number = 32;
    static const char *const want[] = {"cudnn engine 62", "mma + d2s_native STRIP=auto", "mma + d2s_native STRIP=none", "mma",
                                       "my/mma + my/shuffle (new)"};
    make();
    for (int i = 0; i < 5; i++)
        assert_string_equal(c.views[i].name, want[i]);
    assert_string_equal(c.views[6].name, "library");
    assert_string_equal(variant_short(f.rows[1]), "mma + depth_to_space/d2s_native");
    assert_string_equal(variant_short(f.rows[4]), "my/mma + my/shuffle");
    assert_string_equal(variant_short(f.rows[5]), "?");
    char base[VARIANT_BASE];
    assert_string_equal(variant_base(f.rows[1], base), "mma");
    row_set(&f.rows[3]->op, "conv"); /* the beginning of a folder's name is none */
    assert_string_equal(variant_short(f.rows[3]), "conv2d/mma");
    row_set(&f.rows[0]->note, "warm");
    row_set(&f.rows[0]->uncounted, "no right");
    assert_string_equal(row_note(f.rows[0], false), "warm");
    assert_string_equal(row_note(f.rows[0], true), "no right");
    assert_string_equal(row_note(f.rows[1], true), "");
    end();
}

/* The headline mode: isolated and cold where anything was, else the first whole row's. */
static void the_mode_that_is_shown(void **state)
{
    begin("cuda:0");
    make();
    assert_true(c.mode == MODE_NONE && !c.zero && !case_best(&c));
    case_view_free(&c);
    struct row *a = row("conv2d/a", "", ROW_OK), *b = row("conv2d/b", "", ROW_OK);
    make();
    assert_true(c.mode == MODE_NONE && !c.views[0].time && !c.views[0].ranked && isnan(c.views[0].half_ns));
    case_view_free(&c);
    timed(b, 0, "warm", "isolated", 1);
    timed(b, -1, "warm", "sustained", 4);
    timed(b, -1, "cold", "sustained", 5);
    make();
    assert_int_equal(c.mode, MODE_SUSTAINED);
    assert_true(!c.views[0].ranked && c.views[1].ranked && c.views[1].time->median_ns == 4e3);
    case_view_free(&c);
    timed(a, -1, "cold", "sustained", 7); /* the first row goes first */
    make();
    assert_int_equal(c.mode, MODE_COLD_SUSTAINED);
    case_view_free(&c);
    timed(b, -1, "cold", "isolated", 6);
    timed(b, 2, "cold", "isolated", 3);
    make();
    assert_int_equal(c.mode, MODE_COLD);
    assert_true(!c.views[0].ranked && c.views[1].time->median_ns == 6e3);
    assert_true(step_time(&c, b, 2)->median_ns == 3e3 && !step_time(&c, b, 0) && !step_time(&c, a, -1));
    end();
}

/* Back to back a launch begins while the one before it runs: it limits no time. Isolated it does. */
static void a_launch_limits_isolated_rows(void **state)
{
    static const char *const loads[] = {"isolated", "sustained"};
    for (int i = 0; i < 2; i++) {
        begin("cuda:0");
        struct row *r = row("conv2d/naive", "", ROW_OK);
        timed(r, -1, "warm", loads[i], 1);
        r->floor_ns = 670;
        snprintf(r->floor_by, sizeof r->floor_by, "launch");
        row_add_member(r, FAMILY_MODEL, -1, 0, "roof_ns", "ns", "model", 2900);
        row_add_member(r, FAMILY_MODEL, -1, 0, "roof_compute_ns", "ns", "model", 50);
        row_add_member(r, FAMILY_MODEL, -1, 0, "roof_memory_ns", "ns", "model", 100);
        row_add_member(r, FAMILY_MODEL, -1, 0, "roof_launch_ns", "ns", "model", 2900);
        make();
        assert_int_equal(c.mode, i ? MODE_SUSTAINED : MODE_WARM);
        assert_true(fabs(c.views[0].roof_share - (i ? 0.1 : 2.9)) < 1e-9 && c.roof_ns == (i ? 100 : 2900));
        assert_true(i ? isnan(c.views[0].floor_share) : fabs(c.views[0].floor_share - 0.67) < 1e-9);
        SCOPED_TEXT t = {0};
        case_work(&c, false, &t);
        assert_true((strstr(text_get(&t), "0.670 us") != NULL) == !i);
        end();
    }
}

/* A copy does none of the arithmetic of the op that it stands beside: it is held against what its bytes take, or a launch. */
static void a_copy_has_no_arithmetic(void **state)
{
    begin("cuda:0");
    for (int i = 0; i < 2; i++) {
        struct row *r = row(i ? "conv2d/naive" : "conv2d/copy", "", i ? ROW_OK : ROW_FOIL);
        fixture_time(r, -1, 8, 0.1, i ? 1 : 0, i ? 1 : 0, i ? 1 : 0);
        r->floor_ns = 14e3;
        snprintf(r->floor_by, sizeof r->floor_by, "compute");
        row_add_member(r, FAMILY_MODEL, -1, 0, "roof_ns", "ns", "model", 16e3);
        row_add_member(r, FAMILY_MODEL, -1, 0, "roof_memory_ns", "ns", "model", 2e3);
        row_add_member(r, FAMILY_MODEL, -1, 0, "roof_launch_ns", "ns", "model", 3e3);
    }
    make();
    assert_true(fabs(c.views[0].roof_share - 3.0 / 8) < 1e-9 && isnan(c.views[0].floor_share));
    assert_true(fabs(c.views[1].roof_share - 2) < 1e-9 && fabs(c.views[1].floor_share - 1.75) < 1e-9);
    assert_true(c.roof_ns == 16e3); /* of the op */
    case_view_free(&c);
    snprintf(f.rows[0]->floor_by, sizeof f.rows[0]->floor_by, "memory");
    make();
    assert_true(fabs(c.views[0].floor_share - 1.75) < 1e-9);
    end();
}

/* The baseline, then by time, then what is right without a time, what could not run, and what failed; equals as the scenario has them. */
static void the_order_of_rows(void **state)
{
    begin("cuda:0");
    row("conv2d/wrong", "", ROW_WRONG);
    row("conv2d/untimed", "", ROW_OK);
    row("conv2d/infeasible", "", ROW_INFEASIBLE);
    fixture_time(row("conv2d/late", "", ROW_OK), -1, 30, 1, 0.9, 0.8, 1);
    fixture_time(row("conv2d/fast", "", ROW_OK), -1, 10, 1, 2.7, 2.6, 2.8);
    fixture_time(row("conv2d/cudnn_plain", "", ROW_OK), -1, 29, 1, 1, 1, 1); /* slower than the fastest of the library */
    fixture_time(row("conv2d/cudnn", "", ROW_OK), -1, 27, 1, 1, 1, 1);
    fixture_time(row("conv2d/again", "", ROW_OK), -1, 10, 1, 2.7, 2.6, 2.8);
    fixture_time(row("conv2d/unsafe", "", ROW_UNSAFE), -1, 1, 1, 27, 27, 27);
    row("conv2d/foil", "", ROW_FOIL);
    fixture_time(row("conv2d/no_time", "", ROW_OK), -1, 0, 0, 0, 0, 0);
    fixture_time(row("my/moves", "", ROW_FOIL), -1, 5, 1, 5.4, 5.3, 5.5); /* the fastest, of which nobody knows what it computes */
    static const char *const want[] = {"cudnn",   "my/moves", "fast",    "again",      "cudnn_plain", "late",
                                       "untimed", "foil",     "no_time", "infeasible", "wrong",       "unsafe"};
    static const int rank[] = {0, -1, 1, 2, 3, 4, -1, -1, -1, -1, -1, -1};
    make();
    for (int i = 0; i < 12; i++) {
        assert_string_equal(c.views[c.order[i]].name, want[i]);
        assert_int_equal(c.views[c.order[i]].rank, rank[i]);
    }
    assert_ptr_equal(c.zero, &c.views[6]);
    assert_string_equal(case_best(&c)->name, "fast");
    assert_true(c.views[3].half_ns == 1e3);
    end();
    begin("cuda:0"); /* no row is one that the others are compared with: the scenario's first */
    fixture_time(row("my/copy", "", ROW_OK), -1, 30, 1, 0.9, 0.8, 1);
    fixture_time(row("conv2d/fast", "", ROW_OK), -1, 10, 1, 2.7, 2.6, 2.8);
    make();
    assert_ptr_equal(c.zero, &c.views[0]);
    assert_string_equal(c.zero_name, "copy");
    assert_string_equal(c.views[c.order[0]].name, "my/copy");
    case_view_free(&c);
    f.rows[0]->row_index = 1, f.rows[1]->row_index = 2; /* which was filtered out */
    make();
    assert_true(!c.zero && c.order[0] == 1);
    assert_string_equal(c.zero_name, "baseline");
    assert_int_equal(c.views[1].rank, 1);
    end();
}

/* Where no time is kept nothing is ranked: as the scenario has them, what failed at the end. */
static void the_order_of_what_is_counted(void **state)
{
    static const char *const want[] = {"infeasible", "right", "foil", "wrong", "hung"};
    begin("emu:GH100");
    row("conv2d/wrong", "", ROW_WRONG);
    row("conv2d/infeasible", "", ROW_INFEASIBLE);
    fixture_time(row("conv2d/right", "", ROW_OK), -1, 9, 1, 1, 1, 1);
    row("conv2d/hung", "", ROW_HUNG);
    row("conv2d/foil", "", ROW_FOIL);
    make();
    assert_true(c.counts && !case_best(&c));
    for (int i = 0; i < 5; i++) {
        assert_string_equal(c.views[c.order[i]].name, want[i]);
        assert_true(!c.views[i].time && c.views[i].rank == -1);
    }
    row_set(&f.rows[0]->device, "cuda:0"); /* the case is of one device: its first row says which */
    case_view_free(&c);
    make();
    assert_true(!c.counts);
    end();
}

/* The step that stands for a row: the longest by time, else by instructions, else the last that has registers and is timed. */
static void the_step_that_stands_for_a_row(void **state)
{
    begin("cuda:0");
    struct row *r = row("conv2d/steps", "", ROW_OK);
    fixture_step(r, "early", 200, 8, 100, 1, "regs")->prepare = true;
    fixture_step(r, "fill x", 0, 0, 0, 1, "regs");
    fixture_step(r, "one", 10, 1, 1, 1, "regs");
    fixture_step(r, "two", 20, 2, 2, 1, "regs")->static_smem = 100;
    fixture_step(r, "three", 30, 3, 3, 1, "regs")->static_smem = -1;
    make();
    assert_true(c.views[0].step == 4 && c.views[0].steps == 4 && c.views[0].spill_bytes == 3 && c.views[0].smem_bytes == -1);
    case_view_free(&c);
    row_add_member(r, FAMILY_WARP, 2, 0, "instructions", "", "emu", 0.5);
    make();
    assert_int_equal(c.views[0].step, 2);
    case_view_free(&c);
    row_add_member(r, FAMILY_WARP, 0, 0, "instructions", "", "emu", 1000);
    row_add_member(r, FAMILY_WARP, 1, 0, "instructions", "", "emu", 1000);
    row_add_member(r, FAMILY_WARP, 3, 0, "instructions", "", "emu", 10);
    row_add_member(r, FAMILY_WARP, 4, 0, "instructions", "", "emu", 9);
    make();
    assert_true(c.views[0].step == 3 && c.views[0].spill_bytes == 2 && c.views[0].smem_bytes == 2148);
    assert_true(view_total(&c.views[0], "emu.warp_instructions") == 1019.5); /* preparing is none of the row's */
    assert_true(isnan(view_counted(&c.views[0], 0, "hw.busy")) && isnan(view_total(&c.views[0], "emu.other")));
    case_view_free(&c);
    fixture_time(r, -1, 50, 1, 1, 1, 1);
    fixture_time(r, 2, 40, 1, 1, 1, 1);
    fixture_time(r, 3, 4, 1, 1, 1, 1);
    fixture_time(r, 0, 400, 1, 1, 1, 1);
    r->steps[2].dynamic_smem = -1;
    make();
    assert_true(c.views[0].step == 2 && c.views[0].smem_bytes == -1);
    assert_true(view_itemises(&c.views[0]));
    end();
    begin("cuda:0");
    r = row("conv2d/one", "", ROW_OK);
    make();
    assert_true(c.views[0].step == -1 && c.views[0].steps == 0 && c.views[0].spill_bytes == -1 && c.views[0].smem_bytes == -1);
    for (int steps = 1; steps <= 9; steps++) { /* one needs no line of its own, nine would fill the table */
        case_view_free(&c);
        fixture_step(r, "one", 10, 1, 1, 1, "regs");
        row_add_member(r, FAMILY_HARDWARE, -1, 0, "busy", "%", "cupti", 90);
        row_add_member(r, FAMILY_HARDWARE, steps - 1, 0, "bytes", "B", "cupti", 5);
        row_add_metric(r, steps - 1, 0, "sm__cycles.sum", "", "cupti", 5);
        make();
        assert_true(view_itemises(&c.views[0]) == (steps > 1 && steps < 9));
        assert_true(steps == 1 ? view_counted(&c.views[0], 0, "hw.busy") == 90 : isnan(view_counted(&c.views[0], 0, "hw.busy")));
        assert_true(isnan(view_counted(&c.views[0], -1, "hw.busy")) || steps == 1);
        assert_true(view_hardware(&c.views[0], -1, "busy") == 90 && view_hardware(&c.views[0], 0, "bytes") == 5);
        assert_true(isnan(view_total(&c.views[0], "hw.bytes")) && isnan(view_total(&c.views[0], "sm__cycles.sum"))); /* no sums */
    }
    end();
}

/* 100 sectors of 50 requests that need 25; 64 stored by 64; 4 of atomics; 6 copied: 174 of 32 bytes. */
static void what_was_moved(void **state)
{
    begin("emu:GH100");
    struct row *r = row("conv2d/moves", "", ROW_OK), *crop = row("conv2d/crop", "", ROW_OK), *none = row("conv2d/none", "", ROW_OK),
               *part = row("conv2d/part", "", ROW_OK);
    for (int i = 0; i < 2; i++) {
        struct row *one = f.rows[i];
        row_add_member(one, FAMILY_EMU, -1, 0, "global_sectors_ld", "", "emu", 100);
        row_add_member(one, FAMILY_EMU, -1, 0, "global_requests_ld", "", "emu", 50);
        row_add_member(one, FAMILY_EMU, -1, 0, "global_sectors_ideal_ld", "", "emu", 25);
        one->bytes = 1392;
    }
    row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_st", "", "emu", 64);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_requests_st", "", "emu", 64);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_ideal_st", "", "emu", 16);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_atomic", "", "emu", 4);
    row_add_member(r, FAMILY_EMU, -1, 0, "async_sectors", "", "emu", 6);
    row_add_member(none, FAMILY_EMU, -1, 0, "global_requests_st", "", "emu", 0);
    row_add_member(none, FAMILY_EMU, -1, 0, "global_sectors_st", "", "emu", 0);
    crop->cropped = true;
    row_add_member(part, FAMILY_EMU, -1, 0, "global_sectors_ld", "", "emu", 100); /* of 10 x 16 pixels of a layer that is not cropped */
    snprintf(part->part_because, sizeof part->part_because, "waits");
    part->bytes = 1e9;
    make();
    const struct view *v = c.views;
    assert_true(v->sectors_request[SIDE_LOAD] == 2 && v->sectors_ideal[SIDE_LOAD] == 0.5);
    assert_true(v->sectors_request[SIDE_STORE] == 1 && v->sectors_ideal[SIDE_STORE] == 0.25);
    assert_true(v->moved_bytes == 174 * 32 && v->moved_here == 4 && v->moved_over_compulsory == 4);
    assert_true(v[1].moved_bytes == 3200 && isnan(v[1].moved_over_compulsory) && v[1].moved_here == 3200 / 1392.0);
    assert_true(isnan(v[1].sectors_request[SIDE_STORE]));
    assert_true(v[2].moved_bytes == 0 && isnan(v[2].sectors_request[SIDE_STORE]) && isnan(v[2].moved_here));
    assert_true(v[3].moved_bytes == 3200 && isnan(v[3].moved_here) && isnan(v[3].moved_over_compulsory));
    end();
}

/* The numbers of a line of an export, by name. */
static void numbers_by_name(void **state)
{
    const char *near = NULL;
    begin("cuda:0");
    struct row *zero = row("conv2d/cudnn", "", ROW_OK), *r = row("conv2d/mine", "", ROW_OK), *bad = row("conv2d/wrong", "", ROW_WRONG);
    fixture_time(zero, -1, 40, 1, 1, 1, 1);
    struct row_time *t = fixture_time(r, -1, 20, 0.5, 2, 1.9, 2.1);
    t->samples_ns = xcalloc(2, sizeof *t->samples_ns);
    t->rounds = 2;
    fixture_time(bad, -1, 10, 1, 4, 4, 4);
    fixture_work(r, 1, 1, 5, "compute", 10);
    fixture_step(r, "one", 10, 12, 1, 1, "regs");
    bad->noise = 0.5, zero->noise = NAN, r->noise = 0.25;
    row_add_metric(r, -1, 0, "mine.count", "", "variant", 11);
    make();
    const struct view *v = &c.views[1];
    assert_true(c.noise == 0.25 && c.roof_ns == 10e3); /* the first that says */
    assert_true(v->half_ns == 500 && v->floor_share == 0.25 && v->roof_share == 0.5);
    assert_true(isnan(c.views[0].floor_share) && isnan(c.views[0].roof_share) && c.views[2].failed && !c.views[2].time);
    static const struct {
        const char *name;
        double value;
    } want[] = {{"rank", 1},         {"time_us", 20},     {"x_cudnn", 2},       {"floor_share", 0.25},
                {"roof_share", 0.5}, {"spill_bytes", 12}, {"smem_bytes", 1024}, {"registers", 10},
                {"median_ns", 20e3}, {"mine.count", 11},  {"rounds", 2},        {"row_index", 1}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        if (view_number(v, want[i].name) != want[i].value)
            fail_msg("%s: %g, want %g", want[i].name, view_number(v, want[i].name), want[i].value);
    static const char *const no[] = {"graph_us", "samples_ns", "variant", "no_such", "st_sect_req", "ld_sect_req", "moved_over_compulsory"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_true(isnan(view_number(v, no[i])));
    static const char *const timed_only[] = {"rank",      "time_us",     "graph_us",   "x_cudnn",
                                             "median_ns", "spill_bytes", "smem_bytes", "registers"};
    for (size_t i = 0; i < sizeof timed_only / sizeof *timed_only; i++)
        assert_true(isnan(view_number(&c.views[2], timed_only[i])));
    assert_true(view_number(&c.views[0], "rank") == 0);
    assert_true(view_has_number("time_us", &near) && view_has_number("registers", &near) && view_has_number("row_index", &near));
    assert_false(view_has_number("variant", &near));
    assert_false(view_has_number("samples_ns", &near));
    assert_false(view_has_number("time_uss", &near));
    assert_string_equal(near, "time_us");
    end();
}

/* Of a masked case: who does all outputs has no tiles and schedules the work as it is. */
static void who_runs_dense(void **state)
{
    struct row *r = row_new();
    r->flop = 8, r->flop_scheduled = 8;
    assert_true(row_runs_dense(r));
    r->flop_scheduled = 4;
    assert_false(row_runs_dense(r));
    r->flop_scheduled = 8;
    row_set(&r->tile, "8x8");
    assert_false(row_runs_dense(r));
    row_free(r);
}

/* Reasons that name other values of one clause are one. */
static void reasons_are_grouped(void **state)
{
    struct reason_group *groups;
    begin("cuda:0");
    static const char *const reasons[] = {"needs more (12 of 8)", "needs less",    "needs more (14 of 8)", "", NULL,
                                          "needs less (4)",       "needs mode (1)"};
    static const char *const clauses[] = {"needs more", NULL, "needs more", NULL, NULL, "needs less (than)", NULL};
    for (int i = 0; i < 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "conv2d/%c", 'a' + i);
        struct row *r = row(name, "", ROW_INFEASIBLE);
        row_set(&r->reason, reasons[i]);
        row_set(&r->clause, clauses[i]);
    }
    row_set(&row("conv2d/wrong", "", ROW_WRONG)->reason, "needs more (1)");
    make();
    static const char *const names[] = {"a, c", "b", "d, e", "f", "g"}, *const said[] = {"needs more (12 of 8)", "needs less",
                                                                                         "without a reason", "needs less (4)",
                                                                                         "needs mode (1)"};
    assert_int_equal(reason_groups(&c, ROW_INFEASIBLE, &groups), 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(text_get(&groups[i].names), names[i]);
        assert_string_equal(groups[i].reason, said[i]);
        assert_int_equal(groups[i].count, i == 0 || i == 2 ? 2 : 1);
    }
    reason_groups_free(groups, 5);
    assert_int_equal(reason_groups(&c, ROW_CRASHED, &groups), 0);
    end();
}

/* A case ends where another begins; rows of no case are one. */
static void cases_follow_each_other(void **state)
{
    static const char *const layers[] = {"a", "a", "b", "c", "c"};
    static const int counts[] = {2, 1, 2};
    int seen = 0;
    begin("cuda:0");
    for (int i = 0; i < 5; i++)
        fixture_row(&f, layers[i][0] - 'a', layers[i], "", "conv2d 64->64", "conv2d/x", "", ROW_OK);
    row_set(&f.rows[3]->case_id, NULL);
    row_set(&f.rows[4]->case_id, NULL);
    for (struct case_walk w = {.run = &f.run, .rows = f.rows, .count = f.count}; case_next(&w); seen++) {
        assert_true(seen < 3 && w.view.count == counts[seen] && w.view.rows == f.rows + w.at - counts[seen]);
        assert_true(w.view.views[0].row == w.view.rows[0]);
    }
    assert_int_equal(seen, 3);
    fixture_free(&f);
}

/* Which row the ratios are to, what a row is called, and what is known of the library's: of views, not of words. */
static void views_know_the_baseline(void **state)
{
    begin("cuda:0");
    struct row *slow = fixture_row(&f, 0, "body", "", "conv2d 64->64", "conv2d/cudnn_plain", "", ROW_FOIL);
    struct row *fast = fixture_row(&f, 0, "body", "", "conv2d 64->64", "conv2d/cudnn", "", ROW_FOIL);
    struct row *same = fixture_row(&f, 0, "body", "", "conv2d 64->64", "my/same", "TH=8,TW=16", ROW_OK);
    struct row *other = fixture_row(&f, 0, "body", "", "conv2d 64->64", "my/same", "TH=16,TW=16", ROW_OK);
    fixture_step(fast, "cudnn", 99, 0, 0, 1.0, "regs");
    fixture_step(same, "conv", 77, 0, 0, 1.0, "regs");
    row_add_member(same, FAMILY_HARDWARE, 0, 0, "inst", "", "cupti", 5);
    row_add_member(same, FAMILY_WARP, -1, 0, "instructions", "", "emu", 30);
    row_add_member(same, FAMILY_WARP, 0, 0, "instructions", "", "emu", 10);
    row_add_member(same, FAMILY_EMU, -1, 0, "global_sectors_st", "", "emu", 7); /* its loads are all asynchronous */
    row_add_member(same, FAMILY_EMU, -1, 0, "async_sectors", "", "emu", 4);
    row_add_member(other, FAMILY_EMU, -1, 0, "async_sectors", "", "emu", 4); /* nothing is stored either: not counted at all */
    fast->engine_number = 0;
    fixture_time(slow, -1, 200, 1, 0.5, 0.49, 0.51);
    fixture_time(fast, -1, 100, 1, 1, 0.9999999999999997, 1.0000000000000002); /* as logarithms leave it */
    fixture_time(same, -1, 90, 1, 1, 0.99, 1.01);                              /* not told apart from it: no baseline */
    fixture_time(other, -1, 99, 1, 1, 1, 1.01);                                /* nor one of which an end is 1 */
    make();
    assert_ptr_equal(c.zero, &c.views[1]);
    assert_string_equal(c.zero_name, "cudnn");
    assert_string_equal(c.views[2].name, "my/same TH8");
    assert_string_equal(c.views[3].name, "my/same TH16");
    assert_ptr_equal(step_time(&c, same, -1), &same->times[0]);
    assert_true(view_counted(&c.views[2], 0, "hw.inst") == 5 && isnan(view_counted(&c.views[2], 0, "hw.other")));
    assert_int_equal(c.views[2].smem_bytes, 0);
    assert_string_equal(c.views[1].name, "cudnn engine 0");
    assert_true(c.views[2].moved_bytes == 32 * 11 && isnan(c.views[3].moved_bytes));
    assert_true(view_part(&c.views[2], 0, METRIC_EMU_INSTRUCTIONS) == 10 && view_part(&c.views[2], -1, METRIC_EMU_INSTRUCTIONS) == 30);
    assert_true(isnan(view_number(&c.views[2], "variant"))); /* a word is no number */
    assert_true(isnan(view_number(&c.views[1], "registers")) && view_number(&c.views[2], "registers") == 77);
    case_view_free(&c);
    fixture_time(other, -1, 80, 1, 1, 0.99, 1); /* now it would be the fastest of them, were it one */
    other->time_count = 1;
    other->times[0].ratio_low = 0.99, other->times[0].ratio_high = 1;
    make();
    assert_ptr_equal(c.zero, &c.views[1]);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_called),
                                       cmocka_unit_test(the_mode_that_is_shown),
                                       cmocka_unit_test(a_launch_limits_isolated_rows),
                                       cmocka_unit_test(a_copy_has_no_arithmetic),
                                       cmocka_unit_test(the_order_of_rows),
                                       cmocka_unit_test(the_order_of_what_is_counted),
                                       cmocka_unit_test(the_step_that_stands_for_a_row),
                                       cmocka_unit_test(what_was_moved),
                                       cmocka_unit_test(numbers_by_name),
                                       cmocka_unit_test(who_runs_dense),
                                       cmocka_unit_test(reasons_are_grouped),
                                       cmocka_unit_test(cases_follow_each_other),
                                       cmocka_unit_test(views_know_the_baseline)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
