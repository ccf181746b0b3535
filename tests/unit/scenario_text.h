/* What the tests of scenarios share: a scenario from a text, its ids, and expected errors. */
#ifndef BENCH_TESTS_SCENARIO_TEXT_H
#define BENCH_TESTS_SCENARIO_TEXT_H

#include "base/file.h"
#include "base/text.h"
#include "plan/scenario/scenario.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* A file beside this one. */
static inline char *beside(const char *name)
{
    char *dir = file_dir(__FILE__), *path = file_join(dir, name);
    free(dir);
    return path;
}

/* "/tmp/....yaml" that holds the text; the caller unlinks and frees. */
static inline char *text_file(const char *text)
{
    char *path = xstrdup("/tmp/test_scenario_XXXXXX.yaml");
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    size_t bytes = strlen(text);
    assert_true(write(fd, text, bytes) == (ssize_t)bytes);
    close(fd);
    return path;
}

static inline struct scenario *loaded(const char *text)
{
    struct error err = {0};
    char *path = text_file(text);
    struct scenario *s = scenario_load(path, &err);
    unlink(path);
    free(path);
    if (!s)
        fail_msg("%s\n%s", err.text, text);
    return s;
}

/* Two layers (a: conv2d 4->4 3x3 8x8, m: layout), one variant, and what the test adds. */
#define SCENARIO_HEAD \
    "scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, pad: 1}\n  m: {op: layout, n: 1, c: 4, h: 8, w: 8, " \
    "to: NHWC}\n" \
    "variants: [conv2d/naive]\n"

/* The ids of an expansion, one a line, without the scenario's name. */
static inline char *ids_filtered(const struct scenario *s, const char *device, const struct scenario_filter *filter)
{
    struct error err = {0};
    struct scenario_case *cases;
    struct text t = {0};
    int count = scenario_expand(s, device, filter, &cases, &err);
    if (count < 0) {
        text_addf(&t, "%s", err.text);
        return text_take(&t);
    }
    for (int i = 0; i < count; i++)
        text_addf(&t, "%s%s", i ? " " : "", strchr(cases[i].id, '/') + 1);
    scenario_cases_free(cases, count);
    return text_take(&t);
}

static inline char *ids(const struct scenario *s, const char *device)
{
    return ids_filtered(s, device, NULL);
}

/* The case with this id; its work is the caller's to look at. */
static inline struct work work_of(const struct scenario *s, const char *device, const char *id)
{
    struct error err = {0};
    struct scenario_case *cases;
    struct work work = {0};
    int count = scenario_expand(s, device, NULL, &cases, &err);
    for (int i = 0; i < count; i++)
        if (!strcmp(cases[i].id, id))
            work = cases[i].work;
    scenario_cases_free(cases, count);
    if (!work.op)
        fail_msg("no case %s (%d cases, %s)", id, count, err.text);
    return work;
}

#endif
