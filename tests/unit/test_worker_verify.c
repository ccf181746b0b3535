/* worker/verify on emu: rows that are right, and rows that are not in one way each, each with the verdict that it deserves. */
#include "op/shape.h"
#include "run/message/options.h"
#include "variant_folder.h"
#include "run/child/serve.h"
#include "run/child/worker.h"
#include "run/message/wire.h"
#include <math.h>

/* A convolution of f32 NCHW. `before` stands at the start of the kernel, `value` is what is stored of `sum`, `after` follows the store. */
static const char head[] =
    "/* bench 1\nop: conv2d\nwhat: %s\nneeds: groups == 1 and dilation == 1\nlayout: {input: NCHW, filter: KCRS, output: NCHW}\n"
    "dtype: {input: f32, output: same, bias: f32}\n%ssteps:\n  - kernel: conv\n    grid: ceil(n * k * p * q, 64)\n"
    "    block: 64\n    args: input, filter, output, n, c, h, w, k, r, s, p, q, stride, pad\n%s*/\n%s\n";
static const char body[] =
    "extern \"C\" __global__ void conv(float *input, const float *filter, float *output, int n, int c, int h, int w, int k, int r, int s,\n"
    "                                  int p, int q, int stride, int pad)\n"
    "{\n"
    "    int i = blockIdx.x * 64 + threadIdx.x;\n"
    "    %s\n"
    "    if (i >= n * k * p * q) return;\n"
    "    int x = i %% q, y = i / q %% p, o = i / (q * p) %% k, b = i / (q * p * k);\n"
    "    float sum = 0;\n"
    "    for (int d = 0; d < c; d++) for (int u = 0; u < r; u++) for (int v = 0; v < s; v++) {\n"
    "        int yy = y * stride - pad + u, xx = x * stride - pad + v;\n"
    "        if (yy >= 0 && yy < h && xx >= 0 && xx < w)\n"
    "            sum += input[((b * c + d) * h + yy) * w + xx] * filter[((o * c + d) * r + u) * s + v];\n"
    "    }\n"
    "    output[i] = %s;\n"
    "    %s\n"
    "}\n";

#define TELLS "  - kernel: tell\n    grid: 1\n    block: 1\n    args: sums\n"
static const struct sample {
    const char *name, *extra, *steps, *global, *before, *value, *after;
    enum row_status status;
    const char *reason; /* part of it; NULL: none */
} samples[] = {
    {"right", "", "", "", "", "sum", "", ROW_OK, NULL},
    {"two_steps", "", "  - kernel: same\n    grid: 1\n    block: 32\n    args: output, n * k * p * q\n",
     "extern \"C\" __global__ void same(float *output, int count) { if (threadIdx.x < count) output[threadIdx.x] += 0.0f * blockIdx.x; }",
     "", "sum", "", ROW_OK, NULL},
    {"off_by_little", "", "", "", "", "sum * 1.001f", "", ROW_WRONG, "(exact data)"},
    {"last_channel", "", "", "", "", "o == k - 1 ? 0 : sum", "", ROW_WRONG, "(exact data)"},
    {"forgets", "", "", "", "if (i == 7) return;", "sum", "", ROW_WRONG, "was not written"},
    /* whole numbers of few bits survive f16, full mantissas do not */
    {"less_precise", "", "", "#include <cuda_fp16.h>", "", "__half2float(__float2half(sum))", "", ROW_WRONG, "exact"},
    {"past_end", "", "", "", "", "sum", "if (i == 0) output[n * k * p * q + 3] = input[-5];", ROW_UNSAFE, "out_of_bounds"},
    {"spoils_input", "", "", "", "", "sum", "if (i == 0) input[54] += 1; // of the row that no filter reaches", ROW_UNSAFE, "input"},
    {"traps", "", "", "", "if (i == 3) __trap();", "sum", "", ROW_CRASHED, "trap"},
    {"never_ends", "", "", "", "while (((volatile float *)filter)[0] == ((volatile float *)filter)[0]) ;", "sum", "", ROW_HUNG,
     "time_limit"},
    {"no_code", "", "", "", "this is no code", "sum", "", ROW_BROKEN, "no_code.cu"},
    /* right on the two images that are shown */
    {"batch_of_two", "", "", "", "", "n == 2 ? sum : 0", "", ROW_WRONG,
     "right on its own shape, but not on a nearby shape that its head accepts, conv2d"},
    {"past_elsewhere", "", "", "", "", "sum", "if (n != 2 && i == 0) output[n * k * p * q + 3] = 1;", ROW_UNSAFE, "nearby shape"},
    {"spoils_elsewhere", "", "", "", "", "sum", "if (n != 2 && i == 0) ((float *)filter)[0] += 1;", ROW_UNSAFE, "nearby shape"},
    {"traps_elsewhere", "", "", "", "if (n != 2) __trap();", "sum", "", ROW_CRASHED, "nearby shape"},
    {"hangs_elsewhere", "", "", "", "while (n != 2 && ((volatile float *)filter)[0] == ((volatile float *)filter)[0]) ;", "sum", "",
     ROW_HUNG, "nearby shape"},
    {"sized", "define: {OWN: h}\n", "", "", "", "sum", "", ROW_OK, NULL},
    {"sized_for_this", "define: {OWN: h}\n", "", "", "", "OWN == 7 ? sum : 0", "", ROW_WRONG, "nearby shape"},
    {"counts", "scratch:\n  sums: u32[2]\ncolumns:\n  first_sum: sums[0]\n  second_sum: sums[1]\n", TELLS,
     "extern \"C\" __global__ void tell(unsigned *sums) { sums[0] = 5, sums[1] = 6; }", "", "sum", "", ROW_OK, NULL},
    /* outputs are 2 x 3 an image: of 1 x 2 there are eight, six with an output in both columns */
    {"counts_tiles", "mask: {needs: input, tile: [1, 2]}\nscratch:\n  sums: u32[2]\ncolumns:\n  tiles_active: sums[0]\n", TELLS,
     "extern \"C\" __global__ void tell(unsigned *sums) { sums[0] = 8, sums[1] = 6; }", "", "sum", "", ROW_OK, NULL},
    {"counts_wrong", "mask: {needs: input, tile: [1, 2]}\nscratch:\n  sums: u32[2]\ncolumns:\n  tiles_active: sums[1]\n", TELLS,
     "extern \"C\" __global__ void tell(unsigned *sums) { sums[0] = 8, sums[1] = 6; }", "", "sum", "", ROW_WRONG,
     "its column tiles_active is 6, but 8 of 8 tiles of 1x2 have an active output"},
    {"no_argument", "", "  - kernel: same\n    grid: 1\n    block: 32\n    args: output\n",
     "extern \"C\" __global__ void same(float *output, int count) {}", "", "sum", "", ROW_BROKEN, "takes 2 parameters"},
    {"on_heap", "", "", "", "if (i == 0) free(malloc(8));", "sum", "", ROW_STATEFUL, "its code calls malloc"},
    {"races", "", "", "", "", "sum", "if (i == 33) ((volatile float *)output)[2] += 0;", ROW_UNSAFE, "race"},
    {"reads_scratch", "scratch:\n  x: f32[4]\n", "", "", "", "sum", "", ROW_OK, NULL},
};
#define SAMPLES (sizeof samples / sizeof *samples)

static int set_up(void **state)
{
    bool ok = variant_folder_open();
    for (size_t i = 0; ok && i < SAMPLES; i++) {
        const struct sample *s = &samples[i];
        struct text t = {0};
        text_addf(&t, head, s->name, s->extra, s->steps, s->global);
        text_addf(&t, body, s->before, s->value, s->after);
        ok = variant_put(s->name, &t);
    }
    return !ok;
}

static json_t *interpreted; /* what emu said last of a row of a GPU */

static void take(void *context, json_t *event)
{
    const char *name = json_string_value(json_object_get(event, "event"));
    if (name && !strcmp(name, "interpreted")) {
        json_decref(interpreted);
        interpreted = json_incref(json_object_get(event, FRAME_PACKED));
    }
    if (name && !strcmp(name, "row"))
        wire_row_merge(json_object_get(event, FRAME_PACKED), context);
    json_decref(event);
}

static void tell(struct worker *w, json_t *command)
{
    struct error err = {0};
    if (!worker_handle(w, command, &err))
        fail_msg("%s", err.text);
    json_decref(command);
}

static const char *op_file; /* that is read besides; NULL */

/* A worker that is set up for one variant on one layer, and the row's index. */
static int worker_for(struct worker *w, struct row *row, const char *layer, const char *variant)
{
    char *text = text_format("scenario: t\nlayers: {a: {%s}}\nvariants: [%s]\n", layer, variant);
    char *path = text_file(text), *set = text_format("my=%s", variant_folder);
    const char *const dirs[] = {set, NULL}, *const ops[] = {op_file, NULL};
    const struct plan_options options = {
        .scenario_path = path, .device = "emu:GH100", .variant_dirs = dirs, .op_files = op_file ? ops : NULL};
    struct error err = {0};
    struct plan plan;
    int index = -1;
    worker_init(w, take, row);
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < plan.row_count; i++)
        index = strcmp(plan_row_variant(&plan.rows[i]), variant) ? index : i;
    tell(w, json_pack("{s:s,s:o,s:o,s:s,s:f}", "do", "setup", "options", options_write(&options), "chip", wire_chip(chip_find("GH100")),
                      "files", plan.files, "time_limit", 0.3));
    plan_free(&plan);
    unlink(path);
    free(path);
    free(set);
    free(text);
    return index;
}

/* Two images whose last row no filter reaches. */
#define LAYER "op: conv2d, n: 2, c: 3, h: 7, w: 9, k: 4, kernel: 3, stride: 3, dtype: f32, layout: NCHW"

static struct row *verified_with(const char *layer, const char *variant, json_t *tiles)
{
    struct row *row = row_new();
    struct worker w;
    int index = worker_for(&w, row, layer, variant);
    tell(&w, json_pack("{s:s,s:i,s:[],s:o*}", "do", "verify", "row", index, "choice", "tiles", tiles));
    worker_close(&w);
    return row;
}

static struct row *verified_on(const char *layer, const char *variant)
{
    return verified_with(layer, variant, NULL);
}

/* The row that the worker makes of one sample. */
static struct row *verified(const char *name)
{
    char *variant = text_format("my/%s", name);
    struct row *row = verified_on(strncmp(name, "counts_", 7) ? LAYER : LAYER ", mask: {pattern: full}", variant);
    free(variant);
    return row;
}

static void each_has_the_verdict_it_deserves(void **state)
{
    need_compiler();
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct sample *s = &samples[i];
        struct row *row = verified(s->name);
        const char *reason = row->reason ? row->reason : "";
        bool said = s->reason ? strstr(reason, s->reason) != NULL : !*reason;
        said = said &&
               (!strstr(reason, "nearby shape") || strstr(s->reason, "nearby shape")); /* who is found on his own shape is named for that */
        if (!strcmp(s->name, "less_precise"))                                          /* it passes the exact part */
            said = !strstr(reason, "(exact data)") && strstr(reason, "of 48 elements");
        if (row->status != s->status || !said)
            fail_msg("%s: status %d (want %d), '%s'", s->name, row->status, s->status, reason);
        row_free(row);
    }
}

/* The parent has counted a row's tiles when it planned: it is held to that, and nobody counts again. */
static void tiles_are_counted_once(void **state)
{
    need_compiler();
    for (int active = 7; active <= 8; active++) {
        struct row *row = verified_with(LAYER ", mask: {pattern: full}", "my/counts_tiles", json_pack("[i,i]", 9, active));
        assert_int_equal(row->status, active == 8 ? ROW_OK : ROW_WRONG);
        assert_true(active == 8 || strstr(row->reason, "its column tiles_active is 8, but 7 of 9 tiles of 1x2 have an active output"));
        row_free(row);
    }
}

/* What is stored of a right row: how exact it was, that it gives the same bits twice, and counters that are the sums of its steps'. */
static void a_right_row_says_how_right(void **state)
{
    need_compiler();
    struct row *row = verified("two_steps");
    assert_true(row->check && !strncmp(row->check, "exact + ", 8) && strstr(row->check, " tol"));
    assert_true(row->error_over_bound >= 0 && row->error_over_bound < 1);
    assert_true(row_metric(row, -1, "verify.neighbours") && row_metric(row, -1, "verify.neighbours")->value == 3);
    assert_true(row_metric(row, -1, "verify.unread") &&
                row_metric(row, -1, "verify.unread")->value > 0); /* the row that no filter reaches */
    assert_true(row_metric(row, -1, "verify.same_bits") && row_metric(row, -1, "verify.same_bits")->value == 1);
    const struct row_metric *whole = row_metric(row, -1, "emu.warp_instructions"), *one = row_metric(row, 0, "emu.warp_instructions"),
                            *two = row_metric(row, 1, "emu.warp_instructions");
    assert_true(whole && one && two && two->value >= 3 && one->value > 100 && whole->value == one->value + two->value);
    assert_true(row->compiler && !strncmp(row->compiler, "nvrtc", 5));
    assert_true(isnan(row->first_call_ns) && isnan(row->alloc_ns)); /* emu keeps no time */
    int sums = 0;
    for (int i = 0; i < row->metric_count; i++)
        sums += row->metrics[i].step < 0 && !row->metrics[i].line && !strcmp(row->metrics[i].name, "emu.warp_instructions");
    assert_int_equal(sums, 1);
    row_free(row);
    row = verified("counts"); /* the variant's own numbers */
    assert_true(row_metric(row, -1, "first_sum")->value == 5 && row_metric(row, -1, "second_sum")->value == 6);
    row_free(row);
}

/* An op that is a file has neighbours by its own fields, where the reference knows them. */
static void files_have_neighbours(void **state)
{
    need_compiler();
    struct row *row = verified_on("op: transpose, rows: 5, cols: 7, dtype: f32", "transpose/naive");
    if (row->status != ROW_OK)
        fail_msg("%s", row->reason);
    assert_true(row_metric(row, -1, "verify.neighbours") && row_metric(row, -1, "verify.neighbours")->value == 6);
    row_free(row);
}

/* The row of a device that has what it checks against, on an op of a file; `kept`: the second set of inputs is there for timing. */
static struct row *verified_there(const char *layer, const char *variant, bool timed, bool *kept)
{
    struct row *row = row_new();
    struct worker w;
    struct error err = {0};
    int index = worker_for(&w, row, layer, variant);
    if (!card_open(w.job.dev, NULL, &w.data.card, &err))
        fail_msg("%s", err.text);
    tell(&w, json_pack("{s:s,s:i,s:[],s:b}", "do", "verify", "row", index, "choice", "timed", timed));
    *kept = w.data.data_case[1][DATA_PART_PRECISION] == w.job.plan.rows[index].case_index;
    worker_close(&w);
    return row;
}

/* An op of a file that leaves a constant is no task on a device either, and one that leaves what it reads is one. */
static void a_task_is_asked_for_there(void **state)
{
    need_compiler();
    char *folder = text_format("%s/blank", variant_folder), *path = text_format("%s/blank.yaml", folder),
         *command = text_format("mkdir -p %1$s; cd %1$s; echo 'extern \"C\" __global__ void two(double *y, int n)"
                                "{ if (threadIdx.x < n) y[threadIdx.x] = 2; }' >blank.cu; printf 'about: A constant.\nfields: {n: {}}\n"
                                "tensors: {x: {shape: [n]}, y: {shape: [n], written: yes}}\nmath: none\n"
                                "reference: {kernel: two, threads: n, args: [y, n]}\ntrial: {usual: {n: 9}}\n' >blank.yaml",
                                folder);
    assert_int_equal(system(command), 0);
    struct text own = {0};
    text_add(&own, "/* bench 1\nop: blank\nwhat: a constant\nsteps:\n  - kernel: two\n    grid: 1\n    block: n\n    args: y\n*/\n"
                   "extern \"C\" __global__ void two(float *y) { y[threadIdx.x] = 2; }\n");
    assert_true(variant_put("two", &own));
    for (int timed = 0; timed < 2; timed++) {
        bool kept;
        op_file = path;
        struct row *row = verified_there("op: blank, n: 9, dtype: f32", "my/two", timed, &kept);
        if (row->status != ROW_BROKEN || !strstr(row->reason, "cannot be verified: for 8 input sets every output has the same value"))
            fail_msg("%s: %s", row_status_name(row->status), row->reason ? row->reason : "");
        assert_true(kept == timed && row->reason_line == 5 && text_ends(row->reason_file, "/blank.yaml"));
        row_free(row);
        op_file = NULL;
        row = verified_there("op: transpose, rows: 5, cols: 7, dtype: f32", "transpose/naive", timed, &kept);
        if (row->status != ROW_OK)
            fail_msg("%s: %s", row_status_name(row->status), row->reason ? row->reason : "");
        assert_int_equal(kept, timed);
        row_free(row);
    }
    free(command);
    free(folder);
    free(path);
}

static int files_in(const char *folder)
{
    char *command = text_format("exit $(find '%s' -type f | wc -l)", folder);
    int status = system(command);
    free(command);
    return WEXITSTATUS(status);
}

/* Of a row's neighbours what has sizes compiled in is compiled ahead, and nothing else; then verifying compiles no more. */
static void neighbours_are_compiled_ahead(void **state)
{
    need_compiler();
    const char *const before = getenv("BENCH_CACHE");
    char *kept = before ? xstrdup(before) : NULL, folder[] = "/tmp/test_worker_verify.XXXXXX";
    assert_true(mkdtemp(folder) && !setenv("BENCH_CACHE", folder, 1));
    for (int sized = 0; sized < 2; sized++) {
        struct row *row = row_new();
        struct worker w;
        int index = worker_for(&w, row, LAYER, sized ? "my/sized" : "my/right"), none = files_in(folder);
        tell(&w, json_pack("{s:s,s:[i]}", "do", "compile", "neighbours", index));
        int ahead = files_in(folder);
        assert_true((ahead > none) == sized);
        tell(&w, json_pack("{s:s,s:[i]}", "do", "compile", "rows", index));
        int own = files_in(folder);
        assert_true(own > ahead);
        tell(&w, json_pack("{s:s,s:i,s:[]}", "do", "verify", "row", index, "choice"));
        assert_int_equal(files_in(folder), own);
        assert_true(row->status == ROW_OK && row_metric(row, -1, "verify.neighbours")->value == (sized ? 1 : 3));
        worker_close(&w);
        row_free(row);
    }
    char *command = text_format("rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    free(command);
    kept ? setenv("BENCH_CACHE", kept, 1) : unsetenv("BENCH_CACHE");
    free(kept);
}

/* One thread reads and writes outside: the first report is told, and how many more there are. */
static void several_reports_are_counted(void **state)
{
    need_compiler();
    struct row *row = verified("past_end");
    if (!row->reason || !strstr(row->reason, "past_end.cu:") || !strstr(row->reason, " (and 1 more report)"))
        fail_msg("%s", row->reason);
    SCOPED char *said = text_format("past_end.cu:%d: ", row->reason_line);
    assert_true(row->reason_file && text_ends(row->reason_file, "past_end.cu") && strstr(row->reason, said));
    row_free(row);
}

/* What was found of a row is not said of the next one, which cannot even be loaded. */
static void findings_are_of_their_row(void **state)
{
    struct row *rows[2] = {row_new(), row_new()};
    struct worker w;
    worker_for(&w, rows[0], LAYER, "my/past_end, my/no_argument");
    for (int i = 0; i < 2; i++) {
        w.context = rows[i];
        tell(&w, json_pack("{s:s,s:i,s:[]}", "do", "verify", "row", i + 1, "choice")); /* behind the baseline */
    }
    worker_close(&w);
    if (rows[0]->status != ROW_UNSAFE)
        fail_msg("%s: %s", row_status_name(rows[0]->status), rows[0]->reason);
    if (rows[1]->status != ROW_BROKEN || !strstr(rows[1]->reason, "takes 2 parameters"))
        fail_msg("%s: %s", row_status_name(rows[1]->status), rows[1]->reason);
    row_free(rows[0]);
    row_free(rows[1]);
}

/* A user's row of a GPU (which emu plays here) also runs on emu, ahead in a compile worker or during verification. If it has a race, that
 * is its status; a note says what emu could not run. */
static void rows_of_a_gpu_are_interpreted(void **state)
{
    static const struct {
        const char *variant;
        enum row_status status;
        const char *says; /* in the reason, or in the note */
    } rows[] = {
        {"my/right", ROW_OK, NULL},
        {"my/sized", ROW_OK, NULL},
        {"my/races", ROW_UNSAFE, "right on the GPU, but not as emu runs its PTX on conv2d 3->4 3x3 s3 p0  2x7x9 f32 NCHW: race: races.cu:"},
        {"my/forgets", ROW_WRONG, "right on the GPU, but not as emu runs its PTX on conv2d"},
        {"my/traps", ROW_OK, "races, unset memory and bounds were not checked, as emu could not run its PTX: trap"},
        {"transpose/naive", ROW_OK, NULL}};
    need_compiler();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct row *row = row_new(), *right = row_new();
        struct worker w;
        bool own = strncmp(rows[i].variant, "my/", 3) == 0;
        int index = worker_for(&w, row, own ? LAYER : "op: transpose, rows: 5, cols: 7, dtype: f32", rows[i].variant);
        w.job.options.device = "cuda:0";
        tell(&w, json_pack("{s:s,s:[i]}", "do", "compile", "neighbours", index));
        assert_true((interpreted != NULL) == own);
        wire_row_merge(interpreted, right);
        const char *said = right->status == ROW_OK ? right->note_count ? right->notes[0].text : "" : right->reason;
        if (own && (right->status != rows[i].status || !strstr(said, rows[i].says ? rows[i].says : "")))
            fail_msg("%s: %s: %s", rows[i].variant, row_status_name(right->status), said);
        assert_true((row_metric(right, -1, "verify.interpreted") != NULL) == (own && !rows[i].says));
        if (!rows[i].says) { /* emu as a GPU finds the others itself */
            tell(&w, json_pack("{s:s,s:i,s:[],s:O*}", "do", "verify", "row", index, "choice", FRAME_PACKED, interpreted));
            assert_true(row->status == ROW_OK && (row_metric(row, -1, "verify.interpreted") != NULL) == own);
            row_free(right);
            right = row_new();
            right->status = ROW_UNSAFE;
            row_set(&right->reason, "a race");
            tell(&w, json_pack("{s:s,s:i,s:[],s:o}", "do", "verify", "row", index, "choice", FRAME_PACKED, wire_row(right, true)));
            assert_true(own ? row->status == ROW_UNSAFE && !strcmp(row->reason, "a race") : row->status == ROW_OK);
            row->status = ROW_PLANNED;
            tell(&w, json_pack("{s:s,s:i,s:[]}", "do", "verify", "row", index, "choice")); /* nothing was found ahead */
            assert_true(row->status == ROW_OK && (row_metric(row, -1, "verify.interpreted") != NULL) == own);
        }
        json_decref(interpreted);
        interpreted = NULL;
        worker_close(&w);
        row_free(row);
        row_free(right);
    }
}

/* Where tensors of wrong rows are asked for, a wrong row names the folder in which its own lie, and a right row has none. */
static void a_wrong_row_leaves_its_tensors(void **state)
{
    need_compiler();
    for (int wrong = 0; wrong < 2; wrong++) {
        char folder[] = "/tmp/test_worker_verify.XXXXXX";
        struct row *row = row_new();
        struct worker w;
        assert_non_null(mkdtemp(folder));
        int index = worker_for(&w, row, LAYER, wrong ? "my/off_by_little" : "my/right");
        w.verifier.dump_dir = folder;
        tell(&w, json_pack("{s:s,s:i,s:[]}", "do", "verify", "row", index, "choice"));
        worker_close(&w);
        assert_int_equal(row->status, wrong ? ROW_WRONG : ROW_OK);
        assert_true((row->dump != NULL) == wrong && (files_in(folder) > 0) == wrong);
        assert_true(!wrong || (!strncmp(row->dump, folder, strlen(folder)) && files_in(row->dump) == files_in(folder)));
        row_free(row);
        char *command = text_format("rm -rf '%s'", folder);
        assert_int_equal(system(command), 0);
        free(command);
    }
}

static size_t little_memory(struct device *dev)
{
    return 100 << 20;
}

/* A row of a layer for which the device has no memory is skipped, and the row says what the layer needs. */
static void what_does_not_fit_is_skipped(void **state)
{
    need_compiler();
    struct row *row = row_new();
    struct worker w;
    struct error err = {0};
    int index = worker_for(&w, row, "op: transpose, rows: 10000, cols: 10000, dtype: f32", "transpose/naive");
    if (!card_open(w.job.dev, NULL, &w.data.card, &err))
        fail_msg("%s", err.text);
    const struct device_ops *ops = w.job.dev->ops;
    struct device_ops little = *ops;
    little.spare = little_memory;
    w.job.dev->ops = &little;
    tell(&w, json_pack("{s:s,s:i,s:[]}", "do", "verify", "row", index, "choice"));
    w.job.dev->ops = ops;
    worker_close(&w);
    if (row->status != ROW_SKIPPED || !strstr(row->reason, " of the GPU's memory ") || !strstr(row->reason, "0.1 GB are free"))
        fail_msg("%s: %s", row_status_name(row->status), row->reason ? row->reason : "");
    row_free(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_a_gpu_are_interpreted), cmocka_unit_test(each_has_the_verdict_it_deserves),
                                       cmocka_unit_test(a_right_row_says_how_right),    cmocka_unit_test(several_reports_are_counted),
                                       cmocka_unit_test(files_have_neighbours),         cmocka_unit_test(tiles_are_counted_once),
                                       cmocka_unit_test(neighbours_are_compiled_ahead), cmocka_unit_test(findings_are_of_their_row),
                                       cmocka_unit_test(a_task_is_asked_for_there),     cmocka_unit_test(a_wrong_row_leaves_its_tensors),
                                       cmocka_unit_test(what_does_not_fit_is_skipped)};
    return cmocka_run_group_tests(tests, set_up, variant_folder_remove);
}
