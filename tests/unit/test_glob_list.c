/* base/glob_list: one list of names, how it is split, and what is said of a word that selects nothing. */
#include "base/glob_list.h"
#include "base/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* The words joined with '|'. */
static void splits(const char *text, bool values, const char *want)
{
    struct glob_list list;
    struct error err = {0};
    SCOPED_TEXT got = {0};
    assert_true((values ? glob_list_parse_values : glob_list_parse)(text, "--only", &list, &err));
    for (int i = 0; i < list.count; i++)
        text_addf(&got, "%s%s", i ? "|" : "", list.words[i].text);
    assert_string_equal(text_get(&got), want);
    glob_list_free(&list);
}

static void words(void **state)
{
    splits(NULL, false, "");
    splits("a", false, "a");
    splits("a,b", false, "a|b");
    splits("a, b", false, "a|b");
    splits("  a b\t,c ,", false, "a|b|c");
    splits("*/naive[TH=8,TW=16] x", false, "*/naive[TH=8,TW=16]|x");
    splits("*/naive[*,b", false, "*/naive[*|b");
    splits("a[1,2,b[3,4]", false, "a[1,2,b[3,4]");
    splits("a[1 2],b", false, "a[1|2]|b");
    splits("a b , c", true, "a b|c");
    for (int i = 0; i < 3; i++) {
        static const char *const empty[] = {"", " , ", ","};
        struct glob_list list;
        struct error err = {0};
        assert_false(glob_list_parse(empty[i], "--only", &list, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        assert_non_null(strstr(err.text, "--only '"));
    }
}

static void all_options(void **state)
{
    const char *const given[] = {"a, b", "c", NULL}, *const nothing[] = {" ", NULL}, *const none[] = {NULL};
    struct glob_list list;
    struct error err = {0};
    assert_true(glob_list_parse_all(given, "--group", &list, &err) && list.count == 3 && !strcmp(list.words[1].text, "b"));
    glob_list_free(&list);
    assert_true(glob_list_parse_all(NULL, "--group", &list, &err) && glob_list_parse_all(none, "--group", &list, &err) && !list.count);
    assert_false(glob_list_parse_all(nothing, "--group", &list, &err));
    assert_string_equal(err.text, "--group names nothing");
}

static bool takes(const char *text, const char *name)
{
    struct glob_list list;
    struct error err = {0};
    assert_true(glob_list_parse(text, "--only", &list, &err));
    bool does = glob_list_match_tail(&list, name);
    glob_list_free(&list);
    return does;
}

/* Whole names, or names without their folder; patterns too. */
static void names(void **state)
{
    assert_true(takes(NULL, "a/b") && takes("b", "a/b") && takes("a/b", "a/b") && takes("x,b", "a/b") && takes("x, b", "a/b"));
    assert_true(takes("b,x", "a/b") && takes("a/*", "a/b") && takes("*", "a/b") && takes("c", "a/b/c") && takes("b", "b"));
    assert_true(!takes("a", "a/b") && !takes("bb", "a/b") && !takes("b", "a/bb") && !takes("x", "a/b"));
}

/* Each word must select something; the error names the one that does not, and what is near. */
static void each_word_selects(void **state)
{
    const char *const known[] = {"naive", "tiled_halo"};
    struct glob_list list;
    struct error err = {0};
    assert_true(glob_list_parse("naive, tiled_hallo, *", "--only", &list, &err));
    assert_true(glob_list_match(&list, "naive"));
    assert_string_equal(glob_list_unmatched(&list), "tiled_hallo");
    assert_false(glob_list_check(&list, "--only", "variant of this scenario", known, 2, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_string_equal(err.text, "--only tiled_hallo selects no variant of this scenario");
    assert_non_null(strstr(err.hint, "did you mean tiled_halo?"));
    glob_list_free(&list);
    assert_true(glob_list_parse("nothing*", "--layer", &list, &err));
    assert_false(glob_list_check(&list, "--layer", "layer", known, 2, &err));
    assert_string_equal(err.hint, "there are: naive, tiled_halo");
    glob_list_free(&list);
    assert_true(glob_list_parse("n* *_halo", "--only", &list, &err));
    glob_list_match(&list, "naive"); /* every word is asked, not the first that matches alone */
    glob_list_match(&list, "tiled_halo");
    assert_true(glob_list_check(&list, "--only", "variant", known, 2, &err));
    glob_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(all_options),
        cmocka_unit_test(names),
        cmocka_unit_test(each_word_selects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
