/* The page stands alone, shows hostile names as text, and says when plots are missing; plots can be redrawn without the tool. */
#include "base/process.h"
#include "base/file.h"
#include "fixture_rows.h"
#include "report/form/document.h"
#include "report/plot/plot.h"
#include "report/report.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/test_report.XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int remove_folder(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static bool have_gnuplot(void)
{
    return system("gnuplot -V >/dev/null 2>&1") == 0;
}

/* The page without its one script, which is the shipped one to the last byte. */
static char *page_of(const struct fixture *f)
{
    struct text t = {0};
    struct error err = {0};
    size_t bytes;
    if (!report_whole(&t, &form_html, &f->run, f->rows, f->count, folder, &err))
        fail_msg("%s", err.text);
    char *page = text_take(&t), *path = file_share("plot/page.js"), *script = file_read(path, 1 << 20, &bytes, &err);
    char *at = strstr(page, "<script>\n");
    assert_non_null(at);
    assert_non_null(script);
    assert_memory_equal(at + strlen("<script>\n"), script, bytes);
    char *end = at + strlen("<script>\n") + bytes;
    assert_memory_equal(end, "</script>", strlen("</script>"));
    memmove(at, end + strlen("</script>"), strlen(end + strlen("</script>")) + 1);
    free(path);
    free(script);
    return page;
}

static int count_of(const char *s, const char *what)
{
    const char *end = s + strlen(s); /* a sanitizer's strstr measures all of s each time */
    int n = 0;
    for (; (s = memmem(s, (size_t)(end - s), what, strlen(what))); s += strlen(what))
        n++;
    return n;
}

/* The pictures that gnuplot drew. */
static int plots_of(const char *page)
{
    return count_of(page, "<svg") - count_of(page, "<svg class=\"sketch\"");
}

/* Anything that could make a browser fetch or run something. SVG's own uses (#gpPt) stay inside the page. */
static void stands_alone(const char *page)
{
    static const char *const fetches[] = {
        "<script",          "<link", "<iframe", "<object", "<embed",  "<img",        "<image",         "<base",   "<form",
        "<meta http-equiv", "src=",  "srcset=", "url(",    "@import", "javascript:", "<foreignObject", "action=", "ping="};
    for (size_t i = 0; i < sizeof fetches / sizeof fetches[0]; i++) {
        const char *at = strstr(page, fetches[i]);
        if (at)
            fail_msg("%.80s", at);
    }
    for (const char *p = page; (p = strstr(p, "href=")); p += 5) {
        assert_true(p[5] == '\'' || p[5] == '"');
        assert_int_equal(p[6], '#');
    }
    assert_int_equal(count_of(page, "http"), 0);
    assert_int_equal(count_of(page, "<svg"), count_of(page, "</svg>"));
    assert_int_equal(count_of(page, "<table"), count_of(page, "</table>"));
    assert_int_equal(count_of(page, "<td"), count_of(page, "</td>"));
    assert_int_equal(count_of(page, "<tr"), count_of(page, "</tr>"));
    assert_int_equal(count_of(page, "<div"), count_of(page, "</div>"));
    assert_int_equal(count_of(page, "<section"), count_of(page, "</section>"));
    assert_int_equal(count_of(page, "<figure"), count_of(page, "</figure>"));
    assert_int_equal(count_of(page, "<details"), count_of(page, "</details>"));
}

static void page_stands_alone(void **state)
{
    struct fixture f = {0};
    fixture_h200(&f);
    int skipped = 0; /* why, only its reason knows: a device, or a network that would take 74 times as long */
    while (f.rows[skipped]->status != ROW_INFEASIBLE)
        skipped++;
    f.rows[skipped]->status = ROW_SKIPPED;
    char *page = page_of(&f);
    stands_alone(page);
    assert_non_null(strstr(page, "29 of 34 rows verified</b>: 1 failed, 3 not applicable to their case, 1 skipped with a reason"));
    assert_non_null(strstr(page, "WRONG  output(0,719,1270,63)"));
    assert_non_null(strstr(page, "GPU-00000000-1111-2222-3333-444444444444"));
    assert_non_null(strstr(page, "prefers-color-scheme: dark"));
    assert_non_null(strstr(page, ".plot [color=\"#000000\"]"));       /* as gnuplot writes the circles of a roofline */
    assert_int_equal(plots_of(page), have_gnuplot() ? 7 + 6 + 3 : 0); /* each timed case has a roofline too; by layer, share, over FLOP */
    assert_int_equal(count_of(page, "<details class=\"row\""), f.count); /* every row has its page */
    free(page);
    fixture_free(&f);
    fixture_emu(&f);
    page = page_of(&f);
    stands_alone(page);
    assert_null(strstr(page, "time us"));
    assert_non_null(strstr(page, "halo_regs.cu:88"));
    free(page);
    fixture_free(&f);
}

static void hostile_names_stay_text(void **state)
{
    static const char evil[] =
        "</title></table><script>alert(1)</script>\"'`touch PWNED` %s%n \\\" @{} \033[31m\n$(id) ' ; system(\"touch PWNED\")";
    struct fixture f = {0};
    fixture_run(&f.run, evil, "cuda:0", evil);
    row_set(&f.run.scenario_text, evil);
    row_set(&f.run.argv, evil);
    row_set(&f.run.asked_variants, evil);
    row_set(&f.run.asked_device, evil);
    row_set(&f.run.asked_out, evil);
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < 3; i++) {
            char axes[16];
            snprintf(axes, sizeof axes, "n=%d", c);
            struct row *r = fixture_row(&f, c, evil, axes, evil, i ? "my/x" : "cudnn", "", ROW_OK);
            fixture_variant(r, i == 2 ? evil : "my/x");
            row_set(&r->what, evil);
            row_set(&r->note, evil);
            row_set(&r->case_id, axes);
            row_set(&r->layer, evil);
            snprintf(fixture_step(r, "k", 10 + i, 0, 0, 0.1, "<b>")->lift, 160, "%.150s", evil);
            fixture_time(r, -1, 10 + i, 0.1, 10.0 / (10 + i), 0.9, 0.95);
            r->floor_ns = 2000;
            snprintf(r->floor_by, sizeof r->floor_by, "<i>");
        }
        struct row *bad = fixture_row(&f, c, evil, "", evil, "my/bad", "", ROW_CRASHED);
        row_set(&bad->case_id, f.rows[c * 4]->case_id);
        row_set(&bad->reason, evil);
    }
    char *page = page_of(&f);
    /* the style sheet and gnuplot's own markup are all the markup there is */
    assert_int_equal(count_of(page, "<script"), 0);
    assert_int_equal(count_of(page, "</title>"), 1);
    assert_null(strchr(page, '\033'));
    stands_alone(page);
    if (have_gnuplot())
        assert_int_equal(plots_of(page), 3 + 1 + 1 + 1); /* 3 cases, by layer, sweep over n, facts */
    char *pwned = text_format("%s/plots/PWNED", folder);
    assert_false(file_exists(pwned));
    assert_false(file_exists("PWNED"));
    free(pwned);
    free(page);
    fixture_free(&f);
}

static void names_are_cleaned_for_gnuplot(void **state)
{
    struct text t = {0};
    plot_add_name(&t, "a\"b`c\\d%se\tf\ng\033h");
    assert_string_equal(text_get(&t), "\"a'b'c/d/se f g h\"");
    text_free(&t);
    plot_add_name(&t, "ääääääääääääääääääääääääääääääääääääääää"); /* 40 characters are cut between two, never inside one */
    assert_string_equal(text_get(&t), "\"ääääääääää…äääääääääääääääääääääääääää\"");
    text_free(&t);
    plot_add_name(&t, "conv2d/tiled_constmem BLOCK16 UPLOAD=prepare"); /* what names differ in stands last, and stays */
    assert_string_equal(text_get(&t), "\"conv2d/til…tmem BLOCK16 UPLOAD=prepare\"");
    text_free(&t);
}

/* A plot's file of data or numbers; the caller frees it. */
static char *plot_file(const char *name)
{
    struct error err = {0};
    size_t bytes;
    char *path = text_format("%s/plots/%s", folder, name), *file = file_read(path, 1 << 20, &bytes, &err);
    if (!file)
        fail_msg("%s", err.text);
    free(path);
    return file;
}

/* A bar, its interval and its label say one number; rows that lie on each other share a label that stays in the picture. */
static void pictures_agree_with_their_labels(void **state)
{
    struct fixture f = {0};
    fixture_notebook(&f, "cuda:0");
    free(page_of(&f));
    char *time = plot_file("01_time.dat"), *roof = plot_file("02_roofline.dat"), *sweep = plot_file("17_sweep.gp");
    for (char *line = time, *end; *line; line = end + (*end == '\n')) {
        double x, low, high, said;
        end = line + strcspn(line, "\n");
        assert_int_equal(sscanf(strchr(line, '\t'), "%lf %lf %lf %*d \"x %lf", &x, &low, &high, &said), 4);
        assert_true(low <= x && x <= high && fabs(said / x - 1) < 0.005);
    }
    for (char *quote = roof; (quote = strstr(quote, "\t\""));) { /* the labels */
        quote += 2;
        assert_in_range(strcspn(quote, "\""), 0, 14);
        quote += strcspn(quote, "\"") + 1;
    }
    assert_non_null(strstr(sweep, "the_places = \"3 5 7 9 11 13 15\"")); /* marks where something was measured */
    free(time);
    free(roof);
    free(sweep);
    fixture_free(&f);
}

/* The outline of the rounds holds all of them, a map the least of each pair, a share the time of all of its runs. */
static void pictures_add_up(void **state)
{
    struct fixture f = {0};
    double x, low, high, value, least = INFINITY, all = 0, left = 0, base;
    int cells = 0;
    fixture_run(&f.run, "map", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 10; i++) {
        char params[32];
        snprintf(params, sizeof params, "TH=%d,TW=%d", 4 << (i + 2) / 3, 8 << (i + 2) % 3);
        struct row *r = fixture_row(&f, 0, "a", "", "work", i ? "my/x" : "cudnn", i ? params : "", ROW_OK);
        double us = i ? 10 + (i * 7) % 9 : 30;
        fixture_time(r, -1, us, 0.1, 30 / us, 29 / us, 31 / us);
        fixture_networks(r, "net:3");
        free(r->times[0].samples_ns);
        r->times[0].rounds = 40;
        r->times[0].samples_ns = xcalloc(40, sizeof(double));
        for (int k = 0; k < 40; k++)
            r->times[0].samples_ns[k] = 1e3 * us * (k % 2 ? 0.9 : 1.1);
    }
    struct row *other = fixture_row(&f, 1, "b", "", "work", "cudnn", "", ROW_OK);
    fixture_time(other, -1, 10, 0.1, 1, 1, 1);
    fixture_networks(other, "net:1");
    fixture_time(fixture_row(&f, 1, "b", "", "work", "my/x", "", ROW_OK), -1, 20, 0.1, 0.5, 0.49, 0.51);
    free(page_of(&f));
    char *shape = plot_file("02_samples.dat"), *map = plot_file("03_map.dat"), *share = plot_file("06_share.dat");
    assert_int_equal(sscanf(shape, "%lf %lf %lf", &x, &low, &high), 3);
    assert_true(fabs(x + 10) < 0.01 && low == high); /* per cent of the median: two humps at 10 % less and more, and nothing between */
    assert_int_equal(count_of(shape, "\t0\t0\n"), 2 + 22);
    for (char *line = map; sscanf(line, "%*d %*d %lf", &value) == 1; line = strchr(line, '\n') + 1) {
        least = fmin(least, value);
        cells++;
    }
    assert_int_equal(cells, 9);
    assert_true(least == 10);
    for (char *line = share; (line = strchr(line, '\t')); line = strchr(line, '\n')) { /* 3 x 30 + 10 us; 3 x 10 + 10 */
        assert_int_equal(sscanf(line, "%lf %lf", &base, &value), 2);
        all += base;
        left += value;
    }
    if (!(fabs(all - 100) < 1e-6 && fabs(left - 40) < 1e-6))
        fail_msg("%s", share);
    free(shape);
    free(map);
    free(share);
    fixture_free(&f);
}

static int digit(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : 63;
}

/* What data-packed="..." holds, unpacked by zlib's own inflate. */
static char *unpack(const char *from)
{
    size_t n = strcspn(from, "\""), bytes = 0, room = 8 << 20;
    unsigned char *data = xcalloc(n + 4, 1);
    char *out = xcalloc(room, 1);
    for (size_t i = 0; i < n; i += 4) {
        unsigned v = (unsigned)(digit(from[i]) << 18 | digit(from[i + 1]) << 12 | digit(from[i + 2]) << 6 | digit(from[i + 3]));
        data[bytes++] = (unsigned char)(v >> 16);
        data[bytes++] = (unsigned char)(v >> 8);
        data[bytes++] = (unsigned char)v;
    }
    z_stream z = {.next_in = data, .avail_in = (uInt)bytes, .next_out = (unsigned char *)out, .avail_out = (uInt)room - 1};
    assert_int_equal(inflateInit2(&z, -15), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    free(data);
    return out;
}

/* A large page says of each row its first list, and holds the rest in one piece a section: as many parts as places. */
static void a_large_page_packs_what_is_folded(void **state)
{
    for (int brief = 0; brief < 2; brief++) {
        struct document d = {.brief = brief};
        struct text t = {0};
        document_heading(&d, 2, "case", NULL);
        for (int i = 0; i < 1000; i++) {
            char name[32];
            snprintf(name, sizeof name, "row %d <b>", i);
            document_fold_at(&d, name, name, NULL);
            block_item(document_list(&d, DETAIL_FULL), "verdict", NULL, name);
            struct block *more = document_prose(&d, TONE_PLAIN, DETAIL_FULL);
            for (int k = 0; k < 100; k++)
                block_item(more, NULL, name, "what the rest of its page says");
            document_end(&d);
        }
        form_html.write(&t, &d, &(struct report_style){0});
        const char *page = text_get(&t), *packed = strstr(page, "data-packed=\"");
        assert_non_null(packed);
        assert_true(t.len < 500000);
        assert_int_equal(count_of(page, "data-packed"), 1);
        assert_int_equal(count_of(page, "<div class=\"more\"></div>"), 1000);
        assert_non_null(strstr(page, "<summary>row 999 &lt;b&gt;</summary>"));
        assert_true((strstr(page, "row 999 &lt;b&gt;</li>") == NULL) == brief);
        assert_null(strstr(page, "what the rest"));
        char *rest = unpack(packed + strlen("data-packed=\""));
        assert_int_equal(count_of(rest, "\n<!--part-->\n"), 1000);
        assert_int_equal(count_of(rest, "what the rest of its page says"), 100 * 1000);
        assert_true((strstr(rest, "row 999 &lt;b&gt;</li>") != NULL) == brief);
        assert_null(strstr(rest, "<b>row 999 <b>"));
        free(rest);
        text_free(&t);
        document_free(&d);
    }
}

/* Of a brief page: what a name means at the first table that has it, what a column is at the end of the page. */
static void a_brief_page_says_it_once(void **state)
{
    for (int brief = 0; brief < 2; brief++) {
        struct document d = {.brief = brief};
        struct text t = {0};
        const int tables = 8000;
        for (int i = 0; i < tables; i++) {
            struct table *table = table_new();
            table_column(table, "name", "variant", ALIGN_LEFT);
            table_column(table, "us", "time us", ALIGN_POINT, .about = "a median");
            table_row(table, LINE_PLAIN);
            table_cell(table, PAINT_NONE, "naive");
            table_about(table, "the kernel of a textbook");
            table_number(table, PAINT_NONE, 1, "1.00");
            table_row(table, LINE_PLAIN);
            table_cell(table, PAINT_NONE, "other");
            table_number(table, PAINT_NONE, 2, "2.00");
            document_table(&d, table, DETAIL_ALWAYS);
        }
        struct error err = {0};
        assert_true(form_html.page(&t, &d, &err));
        assert_int_equal(count_of(text_get(&t), "the kernel of a textbook"), brief ? 1 : tables);
        assert_int_equal(count_of(text_get(&t), " title=\"a median\""), brief ? 0 : tables);
        assert_int_equal(count_of(text_get(&t), "<dt>time us</dt><dd>a median</dd>"), 1);
        text_free(&t);
        document_free(&d);
    }
}

static void plots_redraw_without_the_tool(void **state)
{
    struct fixture f = {0};
    char command[256];
    if (!have_gnuplot()) {
        print_message("skipped: gnuplot is not installed\n");
        skip();
    }
    fixture_notebook(&f, "cuda:0");
    char *page = page_of(&f);
    assert_int_equal(plots_of(page),
                     7 + 7 + 2 + 8 + 1); /* cases, their rooflines, by layer and over FLOP, kernel and BLOCK per kernel, facts */
    assert_null(strstr(page, "not drawn"));
    free(page);
    fixture_free(&f);
    snprintf(command, sizeof command,
             "cd %s/plots && rm -f *.svg && for g in [0-9]*.gp; do gnuplot -d $g || exit 1; done && test $(ls *.svg | wc -l) = 25", folder);
    assert_int_equal(system(command), 0);
}

static void without_gnuplot_the_page_says_so(void **state)
{
    struct fixture f = {0};
    char *path = xstrdup(getenv("PATH"));
    fixture_h200(&f);
    setenv("PATH", folder, 1);
    char *page = page_of(&f);
    setenv("PATH", path, 1);
    stands_alone(page);
    assert_non_null(strstr(page, "gnuplot is not installed"));
    assert_int_equal(plots_of(page), 0);
    char *data = text_format("%s/plots/01_time.dat", folder);
    assert_true(file_exists(data)); /* to be drawn later, elsewhere */
    free(data);
    free(page);
    free(path);
    fixture_free(&f);
}

static void a_stuck_child_is_ended(void **state)
{
    struct timespec a, b;
    const char *const sleeps[] = {"sleep", "30", NULL}, *const fine[] = {"true", NULL}, *const fails[] = {"false", NULL},
                      *const none[] = {"no-such-program-at-all", NULL};
    clock_gettime(CLOCK_MONOTONIC, &a);
    assert_int_equal(process_run(sleeps, &(struct process){folder, "gnuplot.log", true, true, 0.2}), PROCESS_LATE);
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_true(b.tv_sec - a.tv_sec < 25); /* it would have been 30; anything less may be a busy machine */
    assert_int_equal(process_run(fine, &(struct process){folder, "gnuplot.log", true, true, 5}), 0);
    assert_int_equal(process_run(fails, &(struct process){folder, "gnuplot.log", true, true, 5}), 1);
    assert_int_equal(process_run(none, &(struct process){folder, "gnuplot.log", true, true, 5}), PROCESS_MISSING);
}

static void unwritable_folder_is_an_error(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    struct error err = {0};
    fixture_emu(&f);
    char *file = text_format("%s/file", folder);
    assert_true(file_write(file, "x", 1, &err));
    assert_false(report_whole(&t, &form_html, &f.run, f.rows, f.count, file, &err)); /* a file where a folder should be */
    assert_string_not_equal(err.text, "");
    free(file);
    text_free(&t);
    fixture_free(&f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(page_stands_alone),
        TEST(hostile_names_stay_text),
        TEST(names_are_cleaned_for_gnuplot),
        TEST(pictures_agree_with_their_labels),
        TEST(pictures_add_up),
        TEST(a_large_page_packs_what_is_folded),
        TEST(a_brief_page_says_it_once),
        TEST(plots_redraw_without_the_tool),
        TEST(without_gnuplot_the_page_says_so),
        TEST(a_stuck_child_is_ended),
        TEST(unwritable_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
