/* plan: which rows a plan has, of variants that stand in a folder of the test's own. */
#include "scenario_text.h"
#include "plan/rows/plan.h"
#include <ftw.h>
#include <sys/stat.h>

#define HEAD "/* bench 1\nop: %s\nwhat: w\n%ssteps:\n  - kernel: k\n    grid: 1\n    block: 32\n    args: input, output\n*/\n%s\n"
#define TRANSPOSE "scenario: t\nlayers: {a: {op: transpose, rows: 8, cols: 4}}\n"
#define CONV "{op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1}"

static char *root, *scenario;
static struct plan plan;

static void put(const char *name, const char *text)
{
    struct error err = {0};
    char *path = file_join(root, name), *dir = file_dir(path);
    if (!file_make_dirs(dir, &err) || !file_write(path, text, strlen(text), &err))
        fail_msg("%s", err.text);
    free(dir);
    free(path);
}

static void put_variant(const char *name, const char *op, const char *extra, const char *body)
{
    char *text = text_format(HEAD, op, extra, body);
    put(name, text);
    free(text);
}

static int set_up(void **state)
{
    root = xstrdup("/tmp/test_plan_rows_XXXXXX");
    return !mkdtemp(root);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f)
{
    return remove(path);
}

static int tear_down(void **state)
{
    int failed = nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(root);
    return failed;
}

static char *in_root(const char *format)
{
    return text_format(format, root, root);
}

static bool planned(struct plan_options *o, const char *text, const char *kind, struct error *err)
{
    scenario = text_file(text);
    o->scenario_path = scenario;
    bool ok = plan_make(o, kind, chip_find("H200"), &plan, err);
    unlink(scenario);
    free(scenario);
    return ok;
}

/* The rows of the plan, "layer:variant[configuration]@side", each with a space behind it. */
static void rows_are(struct plan_options *o, const char *text, const char *want)
{
    struct error err = {0};
    struct text t = {0};
    if (!planned(o, text, "cuda", &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < plan.row_count; i++) {
        const struct plan_row *r = &plan.rows[i];
        text_addf(&t, "%s:%s", plan.cases[r->case_index].layer->name, plan_row_variant(r));
        if (r->config && r->config->label[0])
            text_addf(&t, "[%s]", r->config->label);
        text_addf(&t, r->side ? "@%s " : " ", r->side ? r->side->name : "");
        assert_int_equal(r->row_index, i && plan.rows[i - 1].case_index == r->case_index ? plan.rows[i - 1].row_index + 1 : 0);
    }
    assert_string_equal(text_get(&t), want);
    text_free(&t);
    plan_free(&plan);
}

/* In place of the scenario's variants those that are named, on each layer of their op; the baseline stands there once. */
static void variants_that_are_named(void **state)
{
    static const char *const names[] = {"reg_tiled", "conv2d/cudnn", "layout/convert", "conv2d/naive", NULL};
    struct plan_options o = {.variant_names = names};
    rows_are(&o,
             "scenario: t\nlayers:\n  a: " CONV
             "\n  b: {op: layout, n: 1, c: 8, h: 16, w: 16, layout: NCHW, to: NHWC}\nvariants: [conv2d/tconv]\n",
             "a:conv2d/cudnn a:conv2d/reg_tiled[BLOCK=32] a:conv2d/naive[BLOCK=16] b:layout/copy b:layout/convert[TILE=16384] ");
}

/* A configuration is one row, however often the scenario names it. */
static void a_configuration_is_one_row(void **state)
{
    struct plan_options o = {0};
    rows_are(&o, "scenario: t\nlayers: {a: " CONV "}\nvariants: [naive, conv2d/naive, {naive: {BLOCK: [8, 16]}}, naive_uncoalesced]\n",
             "a:conv2d/cudnn a:conv2d/naive[BLOCK=16] a:conv2d/naive[BLOCK=8] a:conv2d/naive_uncoalesced[BLOCK=16] ");
}

/* What --variants gives runs though the scenario does not list it: a file always, a folder where the scenario lists none of it. */
static void variants_that_nobody_listed(void **state)
{
    put_variant("mine/one.cu", "transpose", "", "");
    put_variant("mine/two.cu", "transpose", "", "");
    put_variant("mine/other.cu", "softmax", "", "");
    put_variant("mi/three.cu", "transpose", "", "");
    char *mine = in_root("mine=%s/mine"), *mi = in_root("mi=%s/mi"), *file = in_root("t=%s/mine/two.cu");
    const char *const dirs[] = {mine, mi, NULL}, *const files[] = {mine, file, NULL};
    struct plan_options o = {.variant_dirs = dirs};
    rows_are(&o, TRANSPOSE "variants: [transpose/naive]\n", "a:transpose/copy a:transpose/naive a:mi/three a:mine/one a:mine/two ");
    rows_are(&o, TRANSPOSE "variants: [mine/two]\n", "a:transpose/copy a:mine/two a:mi/three ");
    o.filter.only = "ti*,tw*,th*";
    rows_are(&o, TRANSPOSE "variants: [transpose/naive, transpose/tiled]\n", "a:transpose/copy a:transpose/tiled a:mi/three a:mine/two ");
    o.filter.only = "copy,one";
    rows_are(&o, TRANSPOSE "variants: [transpose/naive]\n", "a:transpose/copy a:mine/one ");
    o = (struct plan_options){.variant_dirs = files};
    rows_are(&o, TRANSPOSE "variants: [mine/one]\n", "a:transpose/copy a:mine/one a:t/two ");
    rows_are(&o, TRANSPOSE "variants: [mine/one, t/two]\n", "a:transpose/copy a:mine/one a:t/two ");
    free(mine);
    free(mi);
    free(file);
}

/* If the scenario names a configuration of the baseline for the layer, the baseline runs with it, else with its default. Each configuration
 * of a list is a row. */
static void the_baseline_as_the_scenario_wants_it(void **state)
{
    put_variant("tree/variants/transpose/copy.cu", "transpose", "check: none\nparams:\n  T: {values: [1, 2, 3], default: 2}\n", "");
    put_variant("tree/variants/transpose/naive.cu", "transpose", "params:\n  T: [1, 2]\n", "");
    put("tree/include/a.cuh", "// a\n");
    char *kernels = in_root("%s/tree");
    static const char *const names[] = {"naive", NULL};
    struct plan_options o = {.kernels = kernels};
    rows_are(&o, TRANSPOSE "variants: [transpose/naive]\n", "a:transpose/copy[T=2] a:transpose/naive[T=1] ");
    rows_are(&o, TRANSPOSE "variants: [transpose/naive, transpose/copy: {T: [1, 3]}]\n",
             "a:transpose/copy[T=1] a:transpose/copy[T=3] a:transpose/naive[T=1] ");
    rows_are(&o,
             "scenario: t\nlayers:\n  a: {op: transpose, rows: 8, cols: 4, variants: [transpose/naive]}\n"
             "  b: {op: transpose, rows: 8, cols: 4}\nvariants: [transpose/naive, transpose/copy: {T: 3}]\n",
             "a:transpose/copy[T=2] a:transpose/naive[T=1] b:transpose/copy[T=3] b:transpose/naive[T=1] ");
    rows_are(&o, TRANSPOSE "variants: [transpose/copy: {T: 3}, transpose/naive]\n", "a:transpose/copy[T=3] a:transpose/naive[T=1] ");
    o.variant_names = names;
    rows_are(&o, TRANSPOSE "variants: [transpose/copy: {T: 3}]\n", "a:transpose/copy[T=2] a:transpose/naive[T=1] ");
    static const char *const wrong[] = {"transpose/naive: {T: 9}", "transpose/naive, transpose/copy: {T: 9}"};
    for (int i = 0; i < 2; i++) { /* which neither has */
        struct error err = {0};
        char *text = text_format(TRANSPOSE "variants: [%s]\n", wrong[i]);
        o = (struct plan_options){.kernels = kernels};
        assert_false(planned(&o, text, "cuda", &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        free(text);
    }
    o = (struct plan_options){.kernels = kernels, .tune = true};
    rows_are(&o, TRANSPOSE "variants: [transpose/naive]\n",
             "a:transpose/copy[T=1] a:transpose/copy[T=2] a:transpose/copy[T=3] a:transpose/naive[T=1] a:transpose/naive[T=2] ");
    put_variant("tree/variants/transpose/copy.cu", "transpose", "check: none\n", ""); /* nothing to search, but a baseline all the same */
    put_variant("tree/variants/transpose/one.cu", "transpose", "", "");
    rows_are(&o, TRANSPOSE "variants: [transpose/one, transpose/naive]\n",
             "a:transpose/copy a:transpose/naive[T=1] a:transpose/naive[T=2] ");
    char *one = in_root("%s/tree/variants/transpose/one.cu");
    assert_int_equal(unlink(one), 0);
    free(one);
    free(kernels);
}

/* A search needs something to search. */
static void nothing_to_search(void **state)
{
    struct plan_options o = {.tune = true};
    struct error err = {0};
    assert_false(planned(&o, TRANSPOSE "variants: [transpose/naive, transpose/tiled]\n", "cuda", &err));
    assert_non_null(strstr(err.text, "none of these variants has parameters with more than one value"));
    o = (struct plan_options){.filter.only = "naiv"}; /* and a word of a row that is there */
    assert_false(planned(&o, TRANSPOSE "variants: [transpose/tiled, transpose/naive]\n", "cuda", &err));
    assert_string_equal(err.hint, "did you mean naive? There are: tiled, naive");
    o.filter.only = "zzzzzzzzzzz";
    assert_false(planned(&o, TRANSPOSE "variants: [transpose/tiled, transpose/naive]\n", "cuda", &err));
    assert_string_equal(err.hint, "there are: tiled, naive");
    o = (struct plan_options){0}; /* nor is a name that nobody has one of what runs over frames */
    assert_false(
        planned(&o,
                "scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 16, h: 12, w: 40, k: 16, kernel: 3, pad: 1, dtype: f16, layout: NHWC}}\n"
                "sequences: {s: {of: [a], frames: 9, changes: {pattern: blobs, radius: 3, density: 0.1}, noise: 0.002, threshold: "
                "0.02, truncate: {rms: 0.01}, bound: 0.05}}\nvariants: [naive, nobody]\n",
                "cuda", &err));
    assert_non_null(strstr(err.text, "nobody"));
}

/* Two builds in one run: the baseline and the library's rows are shared, a variant has a row of each side that has it. */
static void sides_have_rows_of_their_own(void **state)
{
    static const char *const sides[] = {"old", "new"};
    for (int i = 0; i < 2; i++) {
        char *name = text_format("%s/variants/transpose/copy.cu", sides[i]);
        put_variant(name, "transpose", "check: none\n", "");
        free(name);
        name = text_format("%s/variants/transpose/both.cu", sides[i]);
        put_variant(name, "transpose", "", sides[i]);
        free(name);
        name = text_format("%s/include/a.cuh", sides[i]);
        put(name, "// a\n");
        free(name);
    }
    put_variant("new/variants/transpose/added.cu", "transpose", "", "");
    put_variant("own/x.cu", "transpose", "", "");
    char *kernels = in_root("%s/new"), *old = in_root("%s/old/variants"), *old_include = in_root("%s/old/include"),
         *new = in_root("%s/new/variants"), *new_include = in_root("%s/new/include"), *own = in_root("my=%s/own\nyour=%s/own"),
         *all = in_root("my=%s/own");
    const char *const dirs[] = {all, NULL};
    struct side list[] = {
        {.name = "old", .variants = old, .include = old_include}, {.name = "new", .variants = new, .include = new_include}, {0}};
    struct plan_options o = {.kernels = kernels, .sides = list};
    rows_are(&o, TRANSPOSE "variants: [transpose/both, transpose/added]\n",
             "a:transpose/copy a:transpose/both@old a:transpose/both@new a:transpose/added@new ");
    list[1].dirs = own; /* folders of one side's own, in place of everybody's */
    o.variant_dirs = dirs;
    rows_are(&o, TRANSPOSE "variants: [transpose/both, my/x]\n",
             "a:transpose/copy a:transpose/both@old a:transpose/both@new a:my/x@old a:my/x@new ");
    list[0].dirs = "";
    list[0].variants = "/nowhere";
    struct error err = {0};
    assert_false(planned(&o, TRANSPOSE "variants: [transpose/both]\n", "cuda", &err));
    assert_non_null(strstr(err.text, "side old"));
    free(kernels);
    free(old);
    free(old_include);
    free(new);
    free(new_include);
    free(own);
    free(all);
}

static void files_of(struct plan_options *o, char out[sizeof plan.files])
{
    struct error err = {0};
    if (!planned(o, TRANSPOSE "variants: [transpose/naive]\n", "cuda", &err))
        fail_msg("%s", err.text);
    memcpy(out, plan.files, sizeof plan.files);
    plan_free(&plan);
}

/* The key by which a run resumes changes if a shared header, its name, or a variant of the tree changes, also in folders below and on one
 * side of a comparison. Otherwise it stays the same. */
static void every_file_tells(void **state)
{
    static const char *const changes[][3] = {/* a file to write, its text, a file to remove */
                                             {"tree/include/a.cuh", "// b\n", NULL},
                                             {"tree/include/c.cuh", "// b\n", "tree/include/a.cuh"},
                                             {"tree/include/sub/a.cuh", "// a\n", NULL},
                                             {"tree/include/sub/a.cuh", "// aa\n", NULL},
                                             {"tree/variants/transpose/naive.cu", HEAD "//\n", NULL},
                                             {"tree/variants/transpose/copy.cu", HEAD "//\n", NULL},
                                             {"tree/variants/transpose/last.cu", HEAD, NULL},
                                             {"side/include/a.cuh", "// b\n", NULL}};
    char files[20][sizeof plan.files];
    put("side/include/a.cuh", "// a\n");
    put_variant("side/variants/transpose/naive.cu", "transpose", "", "");
    put_variant("tree/variants/transpose/copy.cu", "transpose", "", "");
    put_variant("tree/variants/transpose/naive.cu", "transpose", "", "");
    put("tree/include/a.cuh", "// a\n");
    char *kernels = in_root("%s/tree"), *variants = in_root("%s/side/variants"), *include = in_root("%s/side/include");
    const struct side list[] = {{.name = "side", .variants = variants, .include = include}, {0}};
    struct plan_options o = {.kernels = kernels, .sides = list};
    char *empty = in_root("%s/tree/include/empty");
    assert_int_equal(mkdir(empty, 0777), 0);
    free(empty);
    files_of(&o, files[0]);
    files_of(&o, files[1]);
    assert_string_equal(files[0], files[1]);
    for (int i = 0; i < 8; i++) {
        char *gone = changes[i][2] ? file_join(root, changes[i][2]) : NULL;
        if (strstr(changes[i][0], ".cu") && !strstr(changes[i][0], ".cuh"))
            put_variant(changes[i][0], "transpose", "", changes[i][1] + strlen(HEAD));
        else
            put(changes[i][0], changes[i][1]);
        assert_true(!gone || !unlink(gone));
        free(gone);
        files_of(&o, files[i + 1]);
        for (int k = 0; k <= i; k++)
            if (!strcmp(files[k], files[i + 1]))
                fail_msg("%s does not tell", changes[i][0]);
    }
    free(kernels);
    free(variants);
    free(include);
}

/* How long a case may take is the scenario's, or the command's. */
static void the_budget(void **state)
{
    struct error err = {0};
    for (int i = 0; i < 2; i++) {
        struct plan_options o = {.budget_s = i ? 7 : 0};
        assert_true(planned(&o, TRANSPOSE "variants: [transpose/naive]\ntime: {budget: 3}\n", "cuda", &err));
        assert_true(plan.time.budget_s == (i ? 7 : 3) && !plan.tune);
        plan_free(&plan);
    }
}

/* What a GPU runs is machine code. */
static void ptx_alone_is_for_emu(void **state)
{
    struct error err = {0};
    struct plan_options o = {.no_ptxas = true};
    assert_true(planned(&o, TRANSPOSE "variants: [transpose/naive]\n", "emu", &err));
    plan_free(&plan);
    assert_false(planned(&o, TRANSPOSE "variants: [transpose/naive]\n", "cuda", &err));
    assert_string_equal(err.text, "--no-ptxas is only for emu: a GPU runs machine code");
}

/* A function of the host is trusted, and the row says so; so does one that guesses. */
static void rows_say_what_they_are(void **state)
{
    struct error err = {0};
    struct plan_options o = {0};
    int trusted = 0, guess = 0, silent = 0;
    assert_true(planned(&o,
                        "scenario: t\nlayers:\n  a: {op: transpose, rows: 64, cols: 64}\n  b: {op: conv2d, n: 1, c: 64, h: 64, w: 256, k: "
                        "64, kernel: 3, pad: 1, dtype: f16, layout: NHWC}\n"
                        "variants: [transpose/naive, transpose/cublaslt, conv2d/auto]\n",
                        "cuda", &err));
    plan_free(&plan);
    char *path = text_file("scenario: t\nlayers:\n  a: {op: transpose, rows: 64, cols: 64}\n  b: {op: conv2d, n: 1, c: 64, h: 64, w: 256, "
                           "k: 64, kernel: 3, pad: 1, dtype: f16, layout: NHWC}\n"
                           "variants: [transpose/naive, transpose/cublaslt, conv2d/auto]\n");
    o.scenario_path = path;
    assert_true(plan_make(&o, "cuda", chip_find("A100"), &plan, &err));
    for (int i = 0; i < plan.row_count; i++) {
        struct row *row = plan_row_new(&plan, i, "cuda:0");
        const char *name = plan_row_variant(&plan.rows[i]), *note = row->note;
        bool is_trusted = note && strstr(note, "trusted code"), is_guess = note && strstr(note, "measured on other chips");
        assert_true(is_trusted == !strcmp(name, "transpose/cublaslt") && is_guess == !strcmp(name, "conv2d/auto"));
        trusted += is_trusted, guess += is_guess, silent += !note;
        row_free(row);
    }
    assert_true(trusted == 1 && guess == 1 && silent == 3);
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* A case that a run adds has the variants that are wanted there, and the library's. */
static void an_added_case_has_few_rows(void **state)
{
    const struct scenario_wish more[] = {{"t/a[mask=iid:0.10]", 0.15, "conv2d/naive", NULL},
                                         {"t/a[mask=iid:0.10]", 0.2, NULL, NULL},
                                         {"t/a[mask=iid:0.10]", 0.15, "conv2d/tiled_halo", "BLOCK=16,CC=4,KPT=4"},
                                         {0}};
    struct plan_options o = {.filter.extra = more};
    rows_are(&o,
             "scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1, dtype: f32, layout: NCHW}}\n"
             "axes: {mask: {values: [{pattern: iid, density: 0.1}]}}\nvariants: [naive, reg_tiled, tiled_halo]\n",
             "a:conv2d/cudnn a:conv2d/naive[BLOCK=16] a:conv2d/reg_tiled[BLOCK=32] a:conv2d/tiled_halo[BLOCK=16,CC=4,KPT=4] "
             "a:conv2d/cudnn a:conv2d/naive[BLOCK=16] a:conv2d/tiled_halo[BLOCK=16,CC=4,KPT=4] "
             "a:conv2d/cudnn a:conv2d/naive[BLOCK=16] a:conv2d/reg_tiled[BLOCK=32] a:conv2d/tiled_halo[BLOCK=16,CC=4,KPT=4] ");
}

/* Of a variant those configurations alone that may cross there; where none of that name is left, all of them. */
static void an_added_case_has_few_configurations(void **state)
{
    const struct scenario_wish more[] = {{"t/a[mask=iid:0.10]", 0.15, "conv2d/naive", "BLOCK=8,is=conv2d/naive"},
                                         {"t/a[mask=iid:0.10]", 0.2, "conv2d/naive", "BLOCK=8"},
                                         {"t/a[mask=iid:0.10]", 0.2, "conv2d/naive", "BLOCK=32"},
                                         {"t/a[mask=iid:0.10]", 0.3, "conv2d/naive", "BLOCK=7"},
                                         {0}};
    struct plan_options o = {.filter.extra = more};
    rows_are(&o,
             "scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1, dtype: f32, layout: NCHW}}\n"
             "axes: {mask: {values: [{pattern: iid, density: 0.1}]}}\nvariants: [naive: {BLOCK: [8, 16, 32]}]\n",
             "a:conv2d/cudnn a:conv2d/naive[BLOCK=8] a:conv2d/naive[BLOCK=16] a:conv2d/naive[BLOCK=32] "
             "a:conv2d/cudnn a:conv2d/naive[BLOCK=8] "
             "a:conv2d/cudnn a:conv2d/naive[BLOCK=8] a:conv2d/naive[BLOCK=32] "
             "a:conv2d/cudnn a:conv2d/naive[BLOCK=8] a:conv2d/naive[BLOCK=16] a:conv2d/naive[BLOCK=32] ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ptx_alone_is_for_emu),
                                       cmocka_unit_test(an_added_case_has_few_rows),
                                       cmocka_unit_test(an_added_case_has_few_configurations),
                                       cmocka_unit_test(variants_that_are_named),
                                       cmocka_unit_test(a_configuration_is_one_row),
                                       cmocka_unit_test(variants_that_nobody_listed),
                                       cmocka_unit_test(the_baseline_as_the_scenario_wants_it),
                                       cmocka_unit_test(nothing_to_search),
                                       cmocka_unit_test(sides_have_rows_of_their_own),
                                       cmocka_unit_test(every_file_tells),
                                       cmocka_unit_test(the_budget),
                                       cmocka_unit_test(rows_say_what_they_are)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
