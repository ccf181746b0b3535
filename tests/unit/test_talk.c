/* base/talk: a program that answers lines, one that ends, one that is silent, one that does not exist. The other side is sh. */
#include "base/file.h"
#include "base/talk.h"
#include "base/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct talk *open_sh(const char *script, const char *log)
{
    struct error err = {0};
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct talk *t = talk_open(argv, log, &err);
    assert_non_null(t);
    return t;
}

static char *log_name(void)
{
    char *name = xstrdup("/tmp/test_talk.XXXXXX");
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    close(fd);
    return name;
}

static void answers(void **state)
{
    (void)state;
    struct error err = {0};
    SCOPED char *log = log_name();
    struct talk *t = open_sh("while read -r line; do echo \"got $line\"; printf . >&0; done", log);
    assert_true(talk_ask(t, "one", 10, &err));
    assert_true(talk_ask(t, "two {\"a\": 1}", 10, &err));
    talk_close(t);
    size_t bytes;
    SCOPED char *said = file_read(log, 1000, &bytes, &err);
    assert_string_equal(said, "got one\ngot two {\"a\": 1}\n");
    unlink(log);
}

static void ends(void **state)
{
    (void)state;
    struct error err = {0};
    struct talk *t = open_sh("read -r line; exit 3", "/dev/null");
    assert_false(talk_ask(t, "one", 10, &err));
    assert_string_equal(err.text, "sh ended before it answered");
    assert_false(talk_ask(t, "two", 10, &err));
    assert_string_equal(err.text, "sh has ended");
    talk_close(t);
}

static void silent(void **state)
{
    (void)state;
    struct error err = {0};
    struct talk *t = open_sh("read -r line; exec sleep 100", "/dev/null");
    assert_false(talk_ask(t, "one", 0.3, &err));
    assert_string_equal(err.text, "sh did not answer within 0.3 s");
    talk_close(t);
}

static void stays(void **state)
{
    (void)state;
    struct error err = {0};
    struct talk *t = open_sh("trap '' TERM; read -r line; printf . >&0; while :; do sleep 1; done", "/dev/null");
    assert_true(talk_ask(t, "one", 10, &err));
    alarm(20);
    assert_false(talk_close(t));
    alarm(0);
}

static void missing(void **state)
{
    (void)state;
    struct error err = {0};
    const char *const argv[] = {"/nowhere/python", NULL};
    assert_null(talk_open(argv, "/dev/null", &err));
    assert_string_equal(err.text, "/nowhere/python: No such file or directory");
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    talk_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers), cmocka_unit_test(ends), cmocka_unit_test(silent), cmocka_unit_test(stays), cmocka_unit_test(missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
