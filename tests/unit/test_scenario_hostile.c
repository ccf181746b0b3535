/* Broken scenarios, one a file under hostile/: `# want LINE:COLUMN | words of the error | words of the hint`. A new mistake: a new file. */
#include "scenario_text.h"
#include <time.h>

static char *trimmed(char *s)
{
    s += strspn(s, " ");
    size_t n = strlen(s);
    while (n && s[n - 1] == ' ')
        s[--n] = 0;
    return s;
}

/* Loads and expands as a run does. */
static bool fails(const char *path, struct error *err)
{
    struct scenario_case *cases;
    struct scenario *s = scenario_load(path, err);
    int count = s ? scenario_expand(s, "emu", NULL, &cases, err) : -1;
    if (count >= 0)
        scenario_cases_free(cases, count);
    scenario_free(s);
    return count < 0;
}

static bool check(const char *path)
{
    struct error err = {0};
    size_t bytes;
    char *text = file_read(path, 1 << 20, &bytes, &err), *place = NULL, *parts[3] = {"", "", ""};
    assert_non_null(text);
    text[strcspn(text, "\n")] = 0;
    bool ok = !strncmp(text, "# want ", 7);
    char *rest = text + 7;
    for (int i = 0; ok && i < 3; i++) {
        char *bar = i < 2 ? strstr(rest, " | ") : NULL;
        if (bar)
            *bar = 0;
        parts[i] = trimmed(rest);
        rest = bar ? bar + 3 : rest + strlen(rest);
    }
    place = text_format("%s:%s: ", path, parts[0]);
    ok = ok && *parts[1] && fails(path, &err) && err.kind == ERROR_USAGE && !strncmp(err.text, place, strlen(place)) &&
         strstr(err.text, parts[1]) && strstr(err.hint, parts[2]) && !strchr(err.text, '\n') && strlen(err.text) < 600;
    if (!ok)
        print_error("%s\n    want %s ... %s | %s\n    got  %s | %s\n", path, parts[0], parts[1], parts[2], err.text, err.hint);
    free(place);
    free(text);
    return ok;
}

static void every_hostile_file(void **state)
{
    struct error err = {0};
    SCOPED char **names = NULL, *dir = beside("hostile");
    int count = file_list(dir, ".yaml", &names, &err), wrong = 0;
    assert_true(count > 100);
    clock_t start = clock();
    for (int i = 0; i < count; i++) {
        char *path = file_join(dir, names[i]);
        wrong += !check(path);
        free(path);
    }
    assert_int_equal(wrong, 0);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5);
}

static void sizes_are_bounded(void **state)
{
    struct error err = {0};
    struct text t = {0};
    clock_t start = clock();
    text_add(&t, "scenario: t\nlayers:\n"); /* many layers */
    for (int i = 0; i < 3000; i++)
        text_addf(&t, "  l%d: {op: layout, n: 1, c: 1, h: 1, w: 1, to: NHWC}\n", i);
    char *path = text_file(text_get(&t));
    assert_true(fails(path, &err));
    assert_non_null(strstr(err.text, ":3:3: layers: 3000; a scenario may have 2000"));
    unlink(path);
    free(path);
    text_free(&t);
    text_add(&t, SCENARIO_HEAD "axes: {n: ["); /* many values */
    for (int i = 1; i < 20000; i++)
        text_addf(&t, "%d, ", i);
    text_add(&t, "]}");
    path = text_file(text_get(&t));
    assert_true(fails(path, &err));
    assert_non_null(strstr(err.text, "axis 'n': more than 10000 values"));
    unlink(path);
    free(path);
    text_free(&t);
    text_add(&t, "scenario: t\nlayers: {a: {op: layout, n: 1, c: 1, h: 1, w: 1, to: NHWC}}\nvariants: ["); /* many variants */
    for (int i = 1; i < 50000; i++)
        text_addf(&t, "v%d, ", i);
    text_add(&t, "]");
    path = text_file(text_get(&t));
    assert_true(fails(path, &err));
    assert_non_null(strstr(err.text, "variants: 49999; a scenario may have 1000"));
    unlink(path);
    free(path);
    text_free(&t);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 3);
}

static void files_that_are_none(void **state)
{
    struct error err = {0};
    assert_null(scenario_load("/tmp", &err));
    assert_non_null(strstr(err.text, "is a folder"));
    assert_null(scenario_load("/no/such/file.yaml", &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_null(scenario_load("/dev/zero", &err));
    char path[] = "/tmp/test_scenario_XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(ftruncate(fd, 100000000), 0);
    close(fd);
    assert_null(scenario_load(path, &err));
    assert_non_null(strstr(err.text, "100000000 bytes"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_hostile_file), cmocka_unit_test(sizes_are_bounded),
                                       cmocka_unit_test(files_that_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
