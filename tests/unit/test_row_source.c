/* report/page/row_source: a kernel's lines with their counts and the compiler's output, in each form; also a missing or changed file.
 */
#include "store/family.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "fixture_rows.h"
#include "report/form/document.h"
#include "report/page/row_document.h"
#include "report/form/terminal.h"
#include "report/view/verdict.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char kernel[] = "// one\n"
                             "__global__ void k(float *o)\n"
                             "{\n"
                             "    for (int i = 0; i < 8; i++)\n"
                             "        o[i] = a < b ? \"<script>\" : at(i);\n"
                             "\n"
                             "    o[9] = 1;\n"
                             "}\n";
static char path[64];

static void add_code(struct row *row, const char *language, int line, int address, double executed, const char *text, const char *inlined)
{
    struct row_code *c = row_add_code(row);
    c->line = line;
    c->address = address;
    c->executed = executed;
    c->lanes = 32 * executed;
    row_set(&c->text, text);
    snprintf(c->language, sizeof c->language, "%s", language);
    snprintf(c->inlined, sizeof c->inlined, "%s", inlined);
}

/* Line 5 takes 900 of 1000 instructions, 4 takes 90, 7 takes 10; what line 5 loads is 4 times what it needs. */
static void counted(struct fixture *f)
{
    strcpy(path, "/tmp/test_row_source.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, kernel, sizeof kernel - 1) == sizeof kernel - 1 && !close(fd));
    fixture_run(&f->run, "edsr", "emu:GH100", "emu · GH100 (sm_90a)");
    struct row *r = row_new();
    f->rows = xrealloc(f->rows, sizeof *f->rows);
    f->rows[f->count++] = r;
    row_set(&r->id, "edsr/a/conv2d/x");
    row_set(&r->case_id, "edsr/a");
    row_set(&r->variant, "conv2d/x");
    row_set(&r->device, "emu:GH100");
    r->status = ROW_OK;
    struct row_step *s = row_add_step(r);
    row_set(&s->name, "k");
    snprintf(s->kind, sizeof s->kind, "kernel");
    snprintf(s->file, sizeof s->file, "%s", path);
    hash_bytes(kernel, sizeof kernel - 1, s->file_hash);
    row_add_member(r, FAMILY_WARP, 0, 0, "instructions", "instr", "emu", 1000);
    row_add_member(r, FAMILY_WARP, -1, 0, "instructions", "instr", "emu", 1000);
    const int lines[] = {4, 5, 7}, counts[] = {90, 900, 10};
    for (int i = 0; i < 3; i++) {
        row_add_member(r, FAMILY_WARP, 0, lines[i], "instructions", "instr", "emu", counts[i]);
        row_add_member(r, FAMILY_EMU, 0, lines[i], "thread_instructions", "instr", "emu", 16 * counts[i]);
    }
    row_add_member(r, FAMILY_EMU, 0, 5, "global_requests_ld", "request", "emu", 10);
    row_add_member(r, FAMILY_EMU, 0, 5, "global_sectors_ld", "sector", "emu", 160);
    row_add_member(r, FAMILY_EMU, 0, 5, "global_sectors_ideal_ld", "sector", "emu", 40);
    add_code(r, "ptx", 4, 30, 80, "setp.lt.s32 %p1, %r1, 8", "");
    add_code(r, "ptx", 5, 33, 400, "ld.global.f32 %f1, [%rd1+4]", "tile<2>.cuh:31");
    r->code[1].sectors = 1600;
    r->code[1].sectors_ideal = 400;
    add_code(r, "ptx", 5, 34, 500, "fma.rn.f32 %f2, %f1, %f1, %f2", "");
}

static void add_source(struct document *d, const struct case_view *c, const struct view *v, int extent)
{
    row_source(d, c, v, (enum source_extent)extent);
}

static void add_units(struct document *d, const struct case_view *c, const struct view *v, int ignored)
{
    (void)ignored;
    row_pipes(d, v);
    row_levels(d, c, v);
    row_schedulers(d, c, v);
}

static char *told(const struct fixture *f, const struct form *form,
                  void (*add)(struct document *, const struct case_view *, const struct view *, int), int extent)
{
    struct case_view c;
    struct judge judge;
    struct document d = {0};
    struct text t = {0};
    judge_open(&judge);
    case_view_make(&c, &f->run, f->rows, f->count);
    case_judge(&c, &judge);
    add(&d, &c, &c.views[0], extent);
    form->write(&t, &d, &(struct report_style){0});
    document_free(&d);
    case_view_free(&c);
    judge_close(&judge);
    return t.len ? text_take(&t) : xstrdup("");
}

static char *shown(const struct fixture *f, const struct form *form, enum source_extent extent)
{
    return told(f, form, add_source, extent);
}

static void has(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("no '%s' in\n%s", what, text);
}

static void beside_each_other(void **state)
{
    struct fixture f = {0};
    counted(&f);
    char *page = shown(&f, &form_html, SOURCE_PAGE);
    has(page, "<th class=\"l\">PTX</th>");
    has(page, "o[i] = a &lt; b ? &quot;&lt;script&gt;&quot; : at(i);");
    has(page, "16 lanes · 16 sectors a load (4)");
    has(page, "16 sectors/request (ideal 4): uncoalesced load");                /* the rule's sentence at its line */
    has(page, "<details open><summary>2 of PTX <small>90 %</small></summary>"); /* the hottest line's */
    has(page, "<details><summary>1 of PTX <small>8 %</small></summary>");
    has(page, "ld.global.f32 %f1, [%rd1+4] <small>tile&lt;2&gt;.cuh:31</small>");
    has(page, "32 lanes · 4 sectors (1)");
    assert_null(strstr(page, "// one"));
    has(page, ">    o[9] = 1;<");
    has(page, ">\n<tr><td>6</td>"); /* between two that are hot: it is shown, too */
    char *ld = strstr(page, "ld.global"), *fma = strstr(page, "fma.rn");
    assert_true(ld && fma && ld < fma); /* as they follow each other, not by heat */
    free(page);
    unlink(path);
    fixture_free(&f);
}

/* Two kernels of one file: what a rule says of a line is what that kernel did there. */
static void of_each_step(void **state)
{
    struct fixture f = {0};
    counted(&f);
    struct row *r = f.rows[0];
    row_add_step(r);
    free(r->steps[1].name);
    r->steps[1] = r->steps[0];
    r->steps[1].name = xstrdup(r->steps[0].name);
    row_add_member(r, FAMILY_WARP, 1, 5, "instructions", "instr", "emu", 100);
    row_add_member(r, FAMILY_EMU, 1, 5, "global_requests_ld", "request", "emu", 10);
    row_add_member(r, FAMILY_EMU, 1, 5, "global_sectors_ld", "sector", "emu", 80);
    row_add_member(r, FAMILY_EMU, 1, 5, "global_sectors_ideal_ld", "sector", "emu", 20);
    char *page = shown(&f, &form_html, SOURCE_PAGE), *first = strstr(page, "16 sectors/request (ideal 4): uncoalesced load"),
         *second = strstr(page, "8 sectors/request (ideal 2): uncoalesced load");
    assert_true(first && second && first < second);
    free(page);
    unlink(path);
    fixture_free(&f);
}

static void at_once(void **state)
{
    struct fixture f = {0};
    counted(&f);
    char *brief = shown(&f, &form_terminal, SOURCE_BRIEF), *whole = shown(&f, &form_terminal, SOURCE_WHOLE),
         *md = shown(&f, &form_markdown, SOURCE_BRIEF);
    has(brief, "Source: ");
    has(brief, "ld.global.f32 %f1, [%rd1+4]");
    assert_null(strstr(brief, "setp.lt.s32")); /* of a line that takes less than a fifth */
    assert_null(strstr(brief, "o[9] = 1;"));
    has(brief, "1 more line with a smaller share");
    has(whole, "setp.lt.s32");
    has(whole, "o[9] = 1;");
    has(md, "fma.rn.f32 %f2");
    free(brief);
    free(whole);
    free(md);
    unlink(path);
    fixture_free(&f);
}

/* Numbers stay; that the text is another one, or none, is said. */
static void the_file_may_be_gone(void **state)
{
    struct fixture f = {0};
    counted(&f);
    char *same = shown(&f, &form_html, SOURCE_PAGE);
    assert_null(strstr(same, "changed since"));
    struct row_step *s = &f.rows[0]->steps[0];
    s->file_hash[0] = s->file_hash[0] == '0' ? '1' : '0';
    char *other = shown(&f, &form_html, SOURCE_PAGE);
    has(other, "The source has changed since it was counted");
    unlink(path);
    char *gone = shown(&f, &form_html, SOURCE_PAGE);
    has(gone, "The source file no longer exists");
    has(gone, "16 lanes · 16 sectors a load (4)");
    setenv("BENCH_HOME", ".", 0); /* a shipped kernel of another machine's run is read where it lies here */
    snprintf(s->file, sizeof s->file, "/elsewhere/share/bench/kernels/variants/conv2d/naive.cu");
    char *shipped = shown(&f, &form_html, SOURCE_PAGE);
    has(shipped, "The source has changed since it was counted");
    assert_null(strstr(shipped, "no longer exists"));
    free(shipped);
    free(same);
    free(other);
    free(gone);
    fixture_free(&f);
}

/* Where the card sampled, its samples are the heat, and each instruction says what was waited for. */
static void samples_are_the_heat(void **state)
{
    struct fixture f = {0};
    counted(&f);
    struct row *r = f.rows[0];
    for (int i = 0; i < r->code_count; i++) {
        snprintf(r->code[i].language, sizeof r->code[i].language, "sass");
        r->code[i].samples = i == 1 ? 300 : 10;
        snprintf(r->code[i].wait, sizeof r->code[i].wait, "%s", i == 1 ? "long_scoreboard" : "wait");
    }
    row_set(&r->device, "cuda:0");
    row_add_member(r, FAMILY_LINE, 0, 5, "sectors", "sectors", "cupti", 1600);
    row_add_member(r, FAMILY_LINE, 0, 5, "sectors_ideal", "sectors", "cupti", 400);
    row_add_member(r, FAMILY_SAMPLES, 0, 4, "wait", "samples", "cupti", 10);
    row_add_member(r, FAMILY_SAMPLES, 0, 5, "long_scoreboard", "samples", "cupti", 300);
    row_add_member(r, FAMILY_SAMPLES, 0, 5, "wait", "samples", "cupti", 10);
    char *page = shown(&f, &form_html, SOURCE_PAGE);
    has(page, "% samples");
    has(page, "<th class=\"l\">SASS</th>");
    has(page, "2 of SASS <small>96.9 %</small>");
    has(page, "4 sectors (1) · long_scoreboard");
    has(page, "0021");                                                                             /* byte 33 */
    has(page, "4x the sectors that its bytes need: uncoalesced or misaligned, 1,600 (ideal 400)"); /* the rule's sentence, by the card's own
                                                                                                      counts */
    free(page);
    unlink(path);
    fixture_free(&f);
}

/* What each level did, in one table; on emu without what only caches have; what was not counted has no line. */
static void units_are_tables(void **state)
{
    struct fixture f = {0};
    counted(&f);
    struct row *r = f.rows[0];
    row_add_member(r, FAMILY_EMU, -1, 0, "global_requests_ld", "request", "emu", 10);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_ld", "sector", "emu", 160);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_ideal_ld", "sector", "emu", 40);
    char *page = told(&f, &form_html, add_units, 0);
    has(page, "<td class=\"l level\">global loads</td><td>10</td><td>160</td><td>16 <small>(4)</small></td><td>25</td>");
    assert_true(!strstr(page, "DRAM") && !strstr(page, "Schedulers") && !strstr(page, "Pipes") && !strstr(page, "global stores"));
    free(page);
    row_set(&r->device, "cuda:0");
    snprintf(r->steps[0].limit, sizeof r->steps[0].limit, "warps");
    const struct {
        const char *name;
        double value;
    } counts[] = {{"global_requests_ld", 100},
                  {"global_sectors_ld", 450},
                  {"useful_ld", 88.9},
                  {"l1_hit_rate_ld", 61},
                  {"l2_busy", 33},
                  {"l2_sectors", 300},
                  {"l2_bytes", 9600},
                  {"dram_throughput", 71},
                  {"dram_bytes_read", 6000},
                  {"shared_loads", 20},
                  {"shared_wavefronts", 50},
                  {"shared_conflicts", 10},
                  {"pipe_alu", 40},
                  {"issue_active", 62},
                  {"warps_eligible", 1.5},
                  {"warps_per_sm_achieved", 24}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        row_add_member(r, FAMILY_HARDWARE, -1, 0, counts[i].name, "", "cupti", counts[i].value);
    page = told(&f, &form_html, add_units, 0);
    has(page, "global loads</td><td>100</td><td>450</td><td>4.50</td><td>88.9</td><td>61</td><td>14.4 kB</td>");
    has(page, "shared</td><td>20</td><td>50</td><td>2.50 <small>(2)</small></td><td>80</td>");
    has(page, "L2</td><td></td><td>300</td><td></td><td></td><td></td><td>9.60 kB</td><td>33</td>");
    has(page, "DRAM</td><td></td><td></td><td></td><td></td><td></td><td>6.00 kB</td><td>71</td>");
    has(page, "<td class=\"l part\">ALU</td><td class=\"share\">40.0</td>");
    has(page, "<td class=\"l part\">active</td><td>6</td>");
    has(page, "<td class=\"l part\">issued</td><td>0.620</td>");
    assert_true(!strstr(page, ">tensor<") && !strstr(page, "DRAM writes"));
    free(page);
    unlink(path);
    fixture_free(&f);
}

/* A batch of launches is a step each, with counts of its own: their lines are looked for once, not once a step (32 s of a report). */
static void many_steps_take_no_time(void **state)
{
    struct fixture f = {0};
    struct case_view c;
    struct document d = {0};
    counted(&f);
    for (int step = 1; step < 1000; step++) {
        SCOPED char *name = text_format("k%d", step);
        row_set(&row_add_step(f.rows[0])->name, name);
        for (int i = 0; i < 100; i++)
            row_add_member(f.rows[0], FAMILY_MODEL, step, 0, "x", "", "model", i);
    }
    case_view_make(&c, &f.run, f.rows, f.count);
    double began = clock_thread_s();
    row_source(&d, &c, &c.views[0], SOURCE_PAGE);
    assert_true(clock_thread_s() - began < 1);
    document_free(&d);
    case_view_free(&c);
    unlink(path);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_each_other),      cmocka_unit_test(of_each_step),         cmocka_unit_test(at_once),
        cmocka_unit_test(the_file_may_be_gone),   cmocka_unit_test(samples_are_the_heat), cmocka_unit_test(units_are_tables),
        cmocka_unit_test(many_steps_take_no_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
