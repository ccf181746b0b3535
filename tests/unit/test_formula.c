/* op/formula, op/image: what an op of images may say, that all else is an error at its place, and that its data come out exactly. */
#include "works.h"
#include "base/file.h"
#include "base/text.h"
#include "op/op_file.h"
#include "op/reference/generate.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/file/ops.h"
#include "op/reach.h"
#include "scenario_text.h"
#include <stdio.h>
#include <unistd.h>

#include "own_folder.h"

/* A file of its own for each, so that no op is there twice. */
static const struct op *load(const char *yaml, struct error *err)
{
    static int number;
    char *name = text_format("of_formula_%d.yaml", number++), *path = file_join(dir, name),
         *text = text_format("about: x.\n%s\ntrial: {usual: {c: 2, h: 5, w: 4}}\n", yaml);
    const char *extra[] = {path, NULL};
    memset(err, 0, sizeof *err);
    if (!file_write(path, text, strlen(text), err))
        fail_msg("%s", err->text);
    bool loaded = op_load(extra, err);
    name[strlen(name) - strlen(".yaml")] = 0;
    const struct op *op = loaded ? op_find(name) : NULL;
    free(name);
    free(path);
    free(text);
    return op;
}

/* The first line of the YAML is the file's second. */
static void rejects(const char *yaml, const char *place, const char *words)
{
    struct error err;
    char *want = text_format(".yaml:%s: ", place);
    if (load(yaml, &err))
        fail_msg("accepted:\n%s", yaml);
    if (!strstr(err.text, want) || !strstr(err.text, words))
        fail_msg("said '%s', wanted '%s... %s' of\n%s", err.text, want, words, yaml);
    assert_int_equal(err.kind, ERROR_USAGE);
    free(want);
}

static struct work image_of(const char *yaml, int64_t c, int64_t h, int64_t w)
{
    struct error err;
    const struct op *op = load(yaml, &err);
    if (!op)
        fail_msg("%s (%s) of\n%s", err.text, err.hint, yaml);
    return (struct work){.op = op, .n = 1, .c = c, .h = h, .w = w, .dtype = DTYPE_F32, .layout = LAYOUT_NCHW, .seed = 3};
}

/* Whatever rounds where, small whole numbers leave every sum of magnitudes below what f32 holds. */
static void adds_up(const char *yaml, int64_t taps, double gain, double parts)
{
    struct work w = image_of(yaml, 2, 8, 8);
    w.r = taps > 0, w.s = taps;
    finish(&w);
    struct exact_plan plan = generate_plan(&w);
    double most = (double)plan.input * (double)plan.unit;
    if (!(most * gain * parts <= 0x1p24 && most > 100))
        fail_msg("inputs up to %g of\n%s", most, yaml);
    struct op_data d;
    make_data(&w, DATA_PART_EXACT, &d);
    for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++)
        assert_true((double)(float)d.at[SLOT_OUTPUT].reference[i] == d.at[SLOT_OUTPUT].reference[i]);
    op_data_free(&d);
}

static void test_exact(void **state)
{
    static const char taps[] = "fields: {kernel: {max: 9, what: k}}\nreads: {rows: y, columns: x + tap - 1}\nterms: s\n";
    char *sum = text_format("%soutput: sum(input)", taps),
         *weighted = text_format("%sweight: {columns: 'select(tap == 1, 2, 1)'}\noutput: sum(weight * input)", taps);
    adds_up(sum, 3, 3, 1);
    adds_up(sum, 9, 8, 1); /* of a row of 8 */
    adds_up(weighted, 3, 4, 1);
    adds_up("output: max(input, 0) + max(input(channel + 1), 0)\nterms: 2", 0, 2, 1);
    adds_up("output: input * channel * 1000\nterms: 1", 0, 1000, 1);
    adds_up("output: select(input < 0, input * 64, input)\nterms: 1", 0, 64, 1);
    adds_up("output: input * 0.25 + input(channel + 1) * 0.5\nterms: 2", 0, 0.75, 4);
    free(sum);
    free(weighted);
    struct work w = image_of("output: input * input\nterms: 1", 2, 8, 8);
    finish(&w);
    double most = (double)generate_plan(&w).input;
    assert_true(most > 100 && most * most <= 0x1p24);
}

/* What is no sum of a few powers of two is bounded in both sets. */
static void test_not_exact(void **state)
{
    struct op_data d;
    struct work w = image_of("output: input * 0.1\nterms: 1\nexact: no", 2, 8, 8);
    finish(&w);
    make_data(&w, DATA_PART_EXACT, &d);
    for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++) {
        float tenth = 0.1f * d.at[SLOT_INPUT].value[i];
        assert_true(fabs(tenth - d.at[SLOT_OUTPUT].reference[i]) <= (double)d.at[SLOT_OUTPUT].bound[i]);
        assert_true(d.at[SLOT_OUTPUT].bound[i] > 0 && d.at[SLOT_OUTPUT].bound[i] < 1e-5);
    }
    op_data_free(&d);
}

/* Outputs that are left out for their values are where their inputs are. */
static void test_sent(void **state)
{
    static const char above[] =
        "fields: {above: {type: real, min: 0, max: 1000, what: a}}\nmask: yes\noutput: input\nsent: {above: above}\n";
    char *grown = text_format("%slet: {p: h * 16, q: w * 16}", above), *reads = text_format("%sreads: {rows: y + 1}", above),
         *filter = text_format("tensors: [input, filter]\nsent: {above: 1}\noutput: sum(input * filter)");
    rejects(grown, "5:7", "sent: ");
    rejects(reads, "5:7", "sent: ");
    rejects(filter, "3:7", "sent: ");
    struct work w = image_of(above, 2, 8, 8);
    w.above = 1;
    finish(&w);
    free(grown);
    free(reads);
    free(filter);
}

static void set_word(struct work *w, const char *field, int64_t word)
{
    for (const struct op_field *f = w->op->fields; f->name; f++)
        if (!strcmp(f->name, field))
            memcpy((char *)w + f->offset, &word, sizeof word);
}

/* A field of words is a text in formulas as everywhere, and a norm is the one that its word says, wherever in the list it stands. */
static void test_words(void **state)
{
    struct op_data d;
    for (int64_t word = 0; word < 2; word++) {
        struct work w =
            image_of("fields: {what: {words: [plus, minus], default: plus, what: sign}}\nlet: {twice: \"select(what == 'plus', 2, 1)\"}\n"
                     "output: select(what != 'plus', 0 - input, input * twice)\nterms: 1",
                     2, 8, 8);
        set_word(&w, "what", word);
        finish(&w);
        make_data(&w, DATA_PART_EXACT, &d);
        for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++)
            assert_true(d.at[SLOT_OUTPUT].reference[i] == (word ? -1 : 2) * (double)d.at[SLOT_INPUT].value[i]);
        op_data_free(&d);
    }
    rejects("fields: {what: {words: [a, b], default: a, what: w}}\noutput: input * what", "3:17", "'what' is a text here");
}

static void test_norms(void **state)
{
    static const char sent[] = "fields: {above: {type: real, min: 0, max: 1000, what: a}, size: {words: [rms, l2], default: l2, what: s}}\n"
                               "mask: yes\noutput: input\nsent: {above: above, norm: %s}\n";
    static const struct {
        const char *norm;
        int64_t word;
        double scale; /* of the root of the sum of squares */
    } tries[] = {{"size", 0, 0.5}, {"size", 1, 1}, {"l2", 0, 1}, {"rms", 1, 0.5}};
    for (size_t t = 0; t < sizeof tries / sizeof *tries; t++) {
        struct op_data d;
        char *yaml = text_format(sent, tries[t].norm);
        struct work w = image_of(yaml, 4, 24, 24);
        int passed = 0, held = 0;
        w.above = 1.7 * tries[t].scale;
        w.mask = (struct mask){.pattern = MASK_IID, .density = 0.9, .seed = 3};
        set_word(&w, "size", tries[t].word);
        finish(&w);
        make_data(&w, DATA_PART_PRECISION, &d);
        for (int i = 0; i < 24 * 24; i++) {
            double squares = 0;
            for (int c = 0; c < 4; c++)
                squares += pow((double)d.at[SLOT_INPUT].value[c * 24 * 24 + i], 2);
            assert_true(d.mask_out[i] != 0 ? tries[t].scale * sqrt(squares) > w.above
                                           : tries[t].scale * sqrt(squares) < w.above || d.at[SLOT_MASK_IN].value[i] == 0);
            passed += d.mask_out[i] != 0;
            held += d.at[SLOT_MASK_IN].value[i] != 0 && d.mask_out[i] == 0;
        }
        assert_true(passed > 50 && held > 50);
        op_data_free(&d);
        free(yaml);
    }
    rejects("fields: {above: {type: real, min: 0, max: 9, what: a}, size: {words: [rms, l3], default: rms, what: s}}\noutput: input\nsent: "
            "{above: above, norm: size}",
            "4:28", "the word 'l3' of the field 'size'");
    rejects("fields: {above: {type: real, min: 0, max: 9, what: a}}\noutput: input\nsent: {above: above, norm: above}", "4:28",
            "needs `words:`");
    rejects("fields: {above: {type: real, min: 0, max: 9, what: a}}\noutput: input\nsent: {above: above, norm: l1}", "4:28",
            "'l1' is not known");
}

#define VOLUME \
    "fields: {d: {max: 64, what: planes}, h: {max: 64, what: rows}, kernel: {max: 3, default: 1, what: k}}\nlet: {o: d, p: h, q: w}\n"

/* A name stands only where it has a value. */
static void test_names(void **state)
{
    rejects("reads: {rows: y + channel, columns: x}\noutput: input", "2:19", "unknown name 'channel'");
    rejects("reads: {rows: y + x, columns: x}\noutput: input", "2:19", "unknown name 'x'");
    rejects("reads: {rows: y, columns: x + z}\noutput: input", "2:31", "unknown name 'z'");
    rejects("weight: {columns: y}\noutput: input * weight", "2:19", "unknown name 'y'");
    rejects("output: sum(input * tap)", "2:21", "unknown name 'tap'");
    rejects("output: input * z", "2:17", "unknown name 'z'");
    rejects("fields: {kernel: {max: 3, what: k}}\nlet: {r: h}\noutput: sum(input)", "3:7", "let 'r': this name is already used");
    rejects("fields: {s: 1, kernel: {max: 3, what: k}}\noutput: sum(input)", "2:10", "field 's': this name is already used");
    rejects("reads: {planes: z}\noutput: input", "2:9", "planes: only for volumes");
    rejects("epilogue: yes\noutput: input + bias", "3:17", "unknown name 'bias'");
    rejects("epilogue: yes\noutput: input + residual", "3:17", "unknown name 'residual'");
    rejects("epilogue: yes\noutput: input + residual(channel)", "3:17", "residual: only floor");
    rejects(VOLUME "output: input * select(y < h, 1, 2)", "4:24", "unknown name 'y'");
    rejects(VOLUME "output: input * select(z < d, 1, 2)", "4:24", "unknown name 'z'");
    rejects(VOLUME "output: sum(input * weight)\nweight: {rows: 0.5}", "5:9", "weight: ");
    rejects(VOLUME "reads: {planes: z + y}\noutput: input", "4:21", "unknown name 'y'");
    struct work w = image_of("output: input * channel + x + y", 2, 8, 8);
    finish(&w);
}

/* Which rows an output reads, one tap each. */
static void reads_rows(const struct work *w, int64_t step, int64_t first)
{
    struct op_reach r = op_reach(w, AXIS_ROWS);
    assert_true(r.outputs == w->p && r.taps == 1);
    for (int64_t i = 0; i < r.outputs; i++)
        assert_true(r.at[i] == step * i + first);
    op_reach_free(&r);
}

/* Quotients are rounded down whatever sign the divisor has. */
static void test_floor(void **state)
{
    static const char *const zeros[] = {"floor(5, -2) + 3", "floor(-5, -2) - 2", "ceil(5, -2) + 2",  "ceil(-5, -2) - 3",
                                        "7 % -3 + 2",       "-7 % 3 - 2",        "floor(6, -2) + 3", "floor(5 + y - y, -2) + 3"};
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++) {
        char *yaml = text_format("reads: {rows: \"y + %s\"}\noutput: input", zeros[i]);
        struct work w = image_of(yaml, 2, 8, 8);
        finish(&w);
        reads_rows(&w, 1, 0);
        free(yaml);
    }
}

/* A kernel that is left out is the same in all three directions. */
static void test_kernel_of_volume(void **state)
{
    struct work w = image_of(VOLUME "output: sum(input)\nterms: 1", 2, 4, 5);
    char *text = text_format("scenario: t\nlayers:\n  a: {op: %s, c: 2, d: 3, h: 4, w: 5}\nvariants: [conv2d/naive]\n", w.op->name);
    struct scenario *s = loaded(text);
    const struct work *made = &s->layers[0].work;
    assert_true(made->t == 1 && made->r == 1 && made->s == 1);
    scenario_free(s);
    free(text);
    /* nor need its height be named */
    w = image_of("fields: {d: {max: 64, what: planes}}\nlet: {o: d, p: h, q: w}\noutput: input", 2, 4, 5);
    text = text_format("scenario: t\nlayers:\n  a: {op: %s, c: 2, d: 3, h: 4, w: 5}\nvariants: [conv2d/naive]\n", w.op->name);
    s = loaded(text);
    made = &s->layers[0].work;
    assert_true(made->plane == 4 && made->h == 12 && made->p == 12 && made->plane_out == 4);
    scenario_free(s);
    free(text);
}

/* Without a kernel a volume has one tap each way, as an image has, or as many as the file says. */
static void test_volume(void **state)
{
    struct op_data d;
    struct work w = image_of("fields: {d: {max: 64, what: planes}}\nlet: {o: d, p: h, q: w}\noutput: input", 2, 4, 5);
    w.d = 3, w.plane = 4;
    finish(&w);
    assert_true(op_taps(&w, AXIS_ROWS) == 1);
    reads_rows(&w, 1, 0);
    make_data(&w, DATA_PART_EXACT, &d);
    for (size_t i = 0; i < 2 * 3 * 4 * 5; i++)
        assert_true(d.at[SLOT_OUTPUT].reference[i] == d.at[SLOT_INPUT].value[i]);
    op_data_free(&d);
    w = image_of("fields: {d: {max: 64, what: planes}}\nlet: {o: d, p: h, q: w}\ntaps: 2\noutput: largest(input)", 2, 4, 5);
    w.d = 3, w.plane = 4;
    finish(&w);
    struct op_reach r = op_reach(&w, AXIS_ROWS);
    assert_true(op_taps(&w, AXIS_ROWS) == 4 && r.taps == 4 && r.outputs == 12);
    op_reach_free(&r);
}

/* What means the same in every op of images is of one kind, so that a default is not another number than it says. */
static void test_fields(void **state)
{
    rejects("fields: {slope: {default: 1, max: 1}}\noutput: input * slope", "2:10", "'slope' of an op of images is a real");
    rejects("fields: {pad: {type: real, default: 2}}\noutput: input * pad", "2:10", "'pad' of an op of images is a whole number");
    rejects("fields: {stride: {words: [a, b]}}\noutput: input", "2:10", "a whole number");
    rejects("fields: {norm: {default: 1}}\noutput: input", "2:10", "one of `words:`");
    rejects("fields: {above: {words: [a, b]}}\noutput: input", "2:10", "a real");
    rejects("fields: {mode: {default: 1}}\noutput: input", "2:10", "no default");
    rejects("fields: {to: {words: [NCHW]}}\noutput: input", "2:10", "words");
    rejects("fields: {d: {max: 9}, h: {type: real}}\noutput: input", "2:23", "a whole number");
    struct text t = {0};
    text_add(&t, "output: input\nfields: {a0: 1");
    for (int i = 1; i < 29; i++)
        text_addf(&t, ", a%d: 1", i);
    text_add(&t, "}");
    rejects(text_get(&t), "3:9", "33 fields; at most 32");
    text_free(&t);
}

/* No reference of what is no number, and no bound from a magnitude that is none. */
static void no_data(const char *yaml, enum data_part part, const char *place, const char *words)
{
    struct op_data d;
    struct error err = {0};
    struct work w = image_of(yaml, 2, 8, 8);
    char *want = text_format(".yaml:%s: ", place);
    finish(&w);
    if (op_data_make(&w, part, &d, &err))
        fail_msg("made data of\n%s", yaml);
    if (!strstr(err.text, want) || !strstr(err.text, words))
        fail_msg("said '%s', wanted '%s... %s'", err.text, want, words);
    free(want);
}

static void test_no_number(void **state)
{
    static const char *const sizes[] = {"1 / 0", "0 - 1", "0 / 0", "select(x == 7, -1, 1)"};
    no_data("output: 1 / 0", DATA_PART_EXACT, "2:9", "`output:` is not a number");
    no_data("output: input / (x - 3)", DATA_PART_PRECISION, "2:9", "`output:` is not a number");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *yaml = text_format("output: input * 1\nterms: 1\nmagnitude: %s", sizes[i]);
        no_data(yaml, DATA_PART_PRECISION, "4:12", "`magnitude:` is not a number");
        free(yaml);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),  cmocka_unit_test(test_not_exact), cmocka_unit_test(test_sent),
        cmocka_unit_test(test_words),  cmocka_unit_test(test_norms),     cmocka_unit_test(test_names),
        cmocka_unit_test(test_floor),  cmocka_unit_test(test_volume),    cmocka_unit_test(test_kernel_of_volume),
        cmocka_unit_test(test_fields), cmocka_unit_test(test_no_number)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
