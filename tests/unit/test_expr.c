/* base/expr: the expressions of heads and scenarios. Expected values are written by hand from the grammar in docs/HEAD.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/expr.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool env_name(void *context, const char *name, struct value *out, struct error *err)
{
    static const struct {
        const char *name;
        int64_t i;
    } known[] = {{"c", 3}, {"CC", 8}, {"r", 3}, {"smem", 57144}, {"optin", 49152}, {"big", INT64_MAX}, {"least", INT64_MIN}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) {
            *out = value_int(known[i].i);
            return true;
        }
    if (!strcmp(name, "layout")) {
        *out = value_text("NHWC");
        return true;
    }
    if (!strcmp(name, "broken"))
        return error_set(err, ERROR_USAGE, "elsewhere.cu:3:4: broken by design");
    return false;
}

static bool env_call(void *context, const char *name, const struct value *args, int count, struct value *out, struct error *err)
{
    if (strcmp(name, "twice"))
        return false;
    if (count != 1 || args[0].kind != VALUE_INT)
        return error_set(err, ERROR_USAGE, "twice wants one number");
    *out = value_int(2 * args[0].i);
    return true;
}

static const char *const env_names[] = {"c", "CC", "smem", "layout", "twice", NULL};
static const struct expr_env env = {NULL, env_name, env_call, env_names};

static struct node scalar(const char *text)
{
    return (struct node){.kind = NODE_SCALAR, .file = "a.cu", .line = 7, .column = 11, .text = (char *)text};
}

static struct expr *parsed(const char *text, struct error *err)
{
    struct node n = scalar(text);
    return expr_parse(&n, err);
}

static bool value_of(const char *text, struct value *out, struct error *err)
{
    struct expr *e = parsed(text, err);
    bool ok = e && expr_eval(e, &env, out, err);
    expr_free(e);
    return ok;
}

static void gives_int(const char *text, int64_t want)
{
    struct value v;
    struct error err = {0};
    if (!value_of(text, &v, &err))
        fail_msg("%s: %s", text, err.text);
    if (v.kind != VALUE_INT || v.i != want)
        fail_msg("%s: kind %d, %lld, want %lld", text, v.kind, (long long)v.i, (long long)want);
}

static void gives_real(const char *text, double want)
{
    struct value v;
    struct error err = {0};
    if (!value_of(text, &v, &err))
        fail_msg("%s: %s", text, err.text);
    if (v.kind != VALUE_REAL || !(v.d == want))
        fail_msg("%s: kind %d, %.17g, want %.17g", text, v.kind, v.d, want);
}

static void gives_error(const char *text, const char *want)
{
    struct value v;
    struct error err = {0};
    if (value_of(text, &v, &err))
        fail_msg("%s: no error", text);
    if (!strstr(err.text, want))
        fail_msg("%s: '%s' lacks '%s'", text, err.text, want);
    assert_int_equal(err.kind, ERROR_USAGE);
}

static void test_arithmetic(void **state)
{
    gives_int("1 + 2 * 3", 7);
    gives_int("(1 + 2) * 3", 9);
    gives_int("10 - 3 - 2", 5);
    gives_int("-2 * -3", 6);
    gives_int("2 - -3", 5);
    gives_int("24 / 2 / 3", 4);
    gives_int("-7 % 3", 2); /* never negative */
    gives_int("7 % -3", 1);
    gives_int("-7 % -3", 2);
    gives_int("least % -1", 0);
    gives_int("0x10 + 1", 17);
    gives_int("9223372036854775807", INT64_MAX);
    gives_real("1 / 2.0", 0.5);
    gives_real(".5 + 1e1", 10.5);
}

static void test_truth(void **state)
{
    gives_int("1 < 2", 1);
    gives_int("2 <= 1", 0);
    gives_int("1 == 1.0", 1);
    gives_int("not 1 == 2", 1); /* not binds weaker than == */
    gives_int("0 and 1 or 1", 1);
    gives_int("1 or 0 and 0", 1);
    gives_int("1 or broken", 1); /* the second side is not looked at */
    gives_int("0 and broken", 0);
    gives_int("layout == 'NHWC'", 1);
    gives_int("layout != \"NHWC\"", 0);
    gives_int("9223372036854775807 == 9223372036854775806.0", 0); /* that real is 2^63 */
}

static void test_calls(void **state)
{
    gives_int("ceil(7, 2)", 4);
    gives_int("ceil(-7, 2)", -3);
    gives_int("ceil(8, 2)", 4);
    gives_int("floor(7, 2)", 3);
    gives_int("floor(-7, 2)", -4);
    gives_int("floor(7, -2)", -4);
    gives_int("ceil(2.1)", 3);
    gives_int("floor(-0.5)", -1);
    gives_int("min(4, 2, 3)", 2);
    gives_int("max(4, 2.5)", 4);
    gives_int("abs(-4)", 4);
    gives_int("log2(1024)", 10);
    gives_real("log2(10)", log2(10));
    gives_int("pow2(5)", 8);
    gives_int("pow2(8)", 8);
    gives_int("pow2(0)", 1);
    gives_int("pair(3, 5)", 5 * INT64_C(4294967296) + 3);
    gives_int("pair(-1, 0)", 4294967295);
    gives_int("pair(0, -1)", -INT64_C(4294967296));
    gives_int("bits(1.0)", 0x3f800000);
    gives_int("bits(-2)", 0xc0000000);
    gives_int("bits(0.1)", 0x3dcccccd); /* rounded to a float */
    gives_int("bits64(-0.5)", (int64_t)0xbfe0000000000000);
    gives_int("pair(7, bits(1.5)) % 4294967296", 7);
    gives_int("select(c == 3, 10, broken)", 10);
    gives_int("c == 'auto'", 0); /* a parameter that is a number or the word */
    gives_int("'auto' != c", 1);
    gives_int("select(c == 4, broken, 20)", 20);
    gives_int("twice(4) + 1", 9);
}

static void test_errors_have_places(void **state)
{
    gives_error("1 / 0", "a.cu:7:13: division by zero: 1 / 0");
    gives_error("c % 0", "a.cu:7:13: division by zero: 3 % 0");
    gives_error("7 / 2", "a.cu:7:13: 7 / 2 is not an integer");
    gives_error("ceil(1, 0)", "a.cu:7:11: division by zero");
    gives_error("big + 1", "a.cu:7:15: the result of 9223372036854775807 + 1 is out of range");
    gives_error("big * 2", "out of range");
    gives_error("least - 1", "out of range");
    gives_error("-least", "out of range");
    gives_error("least / -1", "not an integer");
    gives_error("abs(least)", "out of range");
    gives_error("1e308 * 10", "out of range");
    gives_error("99999999999999999999", "a.cu:7:11: the number '99999999999999999999' is too large");
    gives_error("1e999", "too large");
    gives_error("3x", "'3x' is not a number");
    gives_error("", "a.cu:7:11: the expression ends where a value is expected");
    gives_error("1 +", "a.cu:7:14: the expression ends where a value is expected");
    gives_error("(1", "a.cu:7:11: this '(' has no ')'");
    gives_error("min(1", "the ')' of min( is missing");
    gives_error("min(1 2)", "a.cu:7:17: a comma or ')' is expected here");
    gives_error("1 2", "a.cu:7:13: an operator is expected here, not '2'");
    gives_error("1 orange", "an operator is expected here, not 'o'");
    gives_error("c = 3", "a.cu:7:13: '=' is not an operator; equality is '=='");
    gives_error("c && 1", "the words are `and`, `or`, `not`");
    gives_error("1 < c < 4", "a.cu:7:17: comparisons cannot be chained");
    gives_error("'abc", "the quote has no end");
    gives_error("layout + 1", "a.cu:7:11: a number is expected here, not the text 'NHWC'");
    gives_error("'auto' < 3", "the text 'auto' cannot be compared with the number 3");
    gives_error("layout == 3", "the text 'NHWC' cannot be compared with the number 3");
    gives_error("layout < 'a'", "texts cannot be ordered");
    gives_error("and", "a value is expected here, not 'and'");
    gives_error("c @ 2", "not '@'");
    gives_error("\x01", "byte 0x01");
    gives_error("select(1, 2)", "select takes three arguments, not 2");
    gives_error("pair(1)", "pair takes two arguments, not 1");
    gives_error("pair(4294967296, 0)", "a.cu:7:11: pair takes two integers of 4 bytes");
    gives_error("pair(1, 0.5)", "pair takes two integers of 4 bytes");
    gives_error("bits('a')", "a number is expected here");
    gives_error("ceil()", "ceil takes one or two arguments, not 0");
    gives_error("min(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)", "more than 16 arguments");
    gives_error("twice(c, c)", "a.cu:7:11: twice wants one number");
    gives_error("1 + broken", "elsewhere.cu:3:4: broken by design");
    gives_error("5.5 % 2", "two integers");
}

static void test_unknown_names_suggest(void **state)
{
    struct error err = {0};
    struct value v;
    assert_false(value_of("2 + smen", &v, &err));
    assert_string_equal(err.text, "a.cu:7:15: unknown name 'smen'");
    assert_string_equal(err.hint, "did you mean 'smem'?");
    assert_false(value_of("2 + ciel(1, 2)", &v, &err));
    assert_string_equal(err.text, "a.cu:7:15: unknown function 'ciel'");
    assert_string_equal(err.hint, "did you mean 'ceil'?");
    struct expr *e = parsed("zzzzzzzz", &err);
    assert_non_null(e);
    assert_false(expr_eval(e, NULL, &v, &err));
    assert_string_equal(err.text, "a.cu:7:11: unknown name 'zzzzzzzz'");
    assert_string_equal(err.hint, "");
    expr_free(e);
}

static void why_is(const char *text, bool want, const char *want_why)
{
    struct error err = {0};
    bool truth = !want;
    char why[200] = "?";
    struct expr *e = parsed(text, &err);
    assert_non_null(e);
    if (!expr_test(e, &env, &truth, why, sizeof why, &err))
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(truth, want);
    assert_string_equal(why, want_why);
    expr_free(e);
}

static void test_why(void **state)
{
    why_is("smem <= optin", false, "smem to be at most optin (smem = 57144, optin = 49152)");
    why_is("smem < 4", false, "smem to be less than 4 (smem = 57144)");
    why_is("c >= 4", false, "c to be at least 4 (c = 3)");
    why_is("c != r", false, "c to be other than r (c = 3, r = 3)");
    why_is("r == 3 and c % CC == 0 and smem > 0", false, "c to be a multiple of CC (c = 3, CC = 8)");
    why_is("r == 5 or r == 7", false, "r to be 5 or 7 (r = 3)");
    why_is("CC % 8 != 0 or smem % 8 != 0", false, "CC or smem to be no multiple of 8 (CC = 8, smem = 57144)");
    why_is("CC % 8 != 0 or smem % 4 != 0", false, "CC to be no multiple of 8, or smem to be no multiple of 4 (CC = 8, smem = 57144)");
    why_is("r == 5 and c == 3 or c > 9", false, "r to be 5, and c to be 3, or c to be more than 9 (r = 3, c = 3)");
    why_is("not (r == 3 or c > 9)", false, "r to be other than 3, and c to be at most 9 (r = 3, c = 3)");
    why_is("layout == 'NCHW'", false, "layout to be 'NCHW' (layout = NHWC)");
    why_is("r == 3 and not (c == 3)", false, "c to be other than 3 (c = 3)");
    why_is("twice(c) * 0", false, "twice(c) * 0 to be other than 0 (twice(c) = 6, c = 3)");
    why_is("twice(c) > 8", false, "twice(c) to be more than 8 (twice(c) = 6, c = 3)");
    why_is("c * 2 > 8", false, "c * 2 to be more than 8 (c * 2 = 6, c = 3)");
    why_is("r == 3 and c == 3", true, "");
    struct error err = {0};
    struct expr *e = parsed("r == 3 and nope", &err);
    bool truth;
    char why[8];
    assert_false(expr_test(e, &env, &truth, why, sizeof why, &err));
    assert_non_null(strstr(err.text, "a.cu:7:22: unknown name 'nope'"));
    expr_free(e);
}

static void test_hostile(void **state)
{
    struct error err = {0};
    size_t mega = 1 << 20;
    char *s = malloc(mega + 1);
    memset(s, '(', mega);
    s[mega] = 0;
    assert_null(parsed(s, &err));
    assert_non_null(strstr(err.text, "the expression has 1048576 characters; at most 4096 are allowed"));
    static const char *const repeated[] = {"(", "-", "not ", "1+", "min(", "c and ", "1 == 1 or ", NULL};
    for (int i = 0; repeated[i]; i++) {
        struct text t = {0};
        while (t.len + strlen(repeated[i]) < 4090)
            text_add(&t, repeated[i]);
        text_add(&t, "1");
        assert_null(parsed(text_get(&t), &err));
        if (!strstr(err.text, "nested deeper than 128"))
            fail_msg("%s: %s", repeated[i], err.text);
        text_free(&t);
    }
    free(s);
    struct node list = {.kind = NODE_LIST, .file = "a.cu", .line = 2, .column = 3};
    assert_null(expr_parse(&list, &err));
    assert_string_equal(err.text, "a.cu:2:3: an expression is expected here, not a list");
}

static void test_print(void **state)
{
    static const struct {
        double d;
        const char *want;
    } reals[] = {{0.5, "0.5"}, {0.1, "0.1"}, {1.0 / 3, "0.3333333333333333"}, {1e-7, "1e-07"}};
    char s[64];
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        struct value v = value_real(reals[i].d);
        value_print(&v, s, sizeof s);
        assert_string_equal(s, reals[i].want);
    }
    struct value i = value_int(-12), t = value_text("NHWC");
    value_print(&i, s, sizeof s);
    assert_string_equal(s, "-12");
    value_print(&t, s, sizeof s);
    assert_string_equal(s, "NHWC");
    assert_false(value_equal(&i, &t));
}

static void collect(void *context, const char *name)
{
    text_addf(context, "%s ", name);
}

static void test_names(void **state)
{
    struct error err = {0};
    struct text t = {0};
    struct expr *e = parsed("a + min(b, select(c, 1, d)) and not e", &err);
    expr_names(e, collect, &t);
    assert_string_equal(text_get(&t), "a b c d e ");
    assert_string_equal(expr_text(e), "a + min(b, select(c, 1, d)) and not e");
    int64_t i;
    expr_free(e);
    text_free(&t);
    e = parsed("1 / 2.0", &err);
    assert_false(expr_eval_int(e, NULL, &i, &err));
    assert_non_null(strstr(err.text, "an integer is expected here, not 0.5"));
    expr_free(e);
}

static bool only_a(void *context, const char *name, bool call)
{
    return !call && !strcmp(name, "a");
}

static void test_check(void **state)
{
    static const char *const names[] = {"a", "height", NULL};
    struct error err = {0};
    struct expr *e = parsed("a + min(a, a)", &err);
    assert_true(expr_check(e, only_a, NULL, names, &err));
    assert_null(expr_name(e));
    expr_free(e);
    e = parsed("a + min(a, heigth)", &err);
    assert_false(expr_check(e, only_a, NULL, names, &err));
    assert_non_null(strstr(err.text, "a.cu:7:22: unknown name 'heigth'"));
    assert_string_equal(err.hint, "did you mean 'height'?");
    expr_free(e);
    e = parsed("a + mim(a)", &err);
    assert_false(expr_check(e, only_a, NULL, names, &err));
    assert_non_null(strstr(err.text, "a.cu:7:15: unknown function 'mim'"));
    expr_free(e);
    e = parsed(" a ", &err);
    assert_string_equal(expr_name(e), "a");
    expr_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_truth),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_errors_have_places),
        cmocka_unit_test(test_unknown_names_suggest),
        cmocka_unit_test(test_why),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
