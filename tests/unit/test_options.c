/* run/message/options: every option of a plan comes through the socket, and none is forgotten in the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"
#include "run/message/options.h"

static const struct scenario_wish wishes[] = {
    {"t/a[mask=iid:0.10]", 1 / 3.0, NULL, NULL}, {"t/b", 0, "conv2d/naive", "BLOCK=16,CC=4"}, {0}};
static const char *const words[] = {"a b", "\xe2\x82\xac", "", NULL};
static const struct tuned_config configs[] = {
    {"abc", "conv2d/tconv", "MB=16,NB=8", "point tuned", "yes", "12", "stored"}, {"def", "my/x", "", NULL, "", "", ""}, {0}};
static const struct side sides[] = {{.name = ""}, {"head", "1a2b", "/v", "/i", "/o", "my=/a\nyour=/b"}, {0}};
static const struct plan_options full = {.scenario_path = "s.yaml",
                                         .device = "cuda:0",
                                         .op_files = words,
                                         .seed = "7",
                                         .kernels = "/k",
                                         .variant_dirs = words,
                                         .variant_names = words,
                                         .filter = {.layers = "head,b*", .only = "naive", .set = words, .extra = wishes, .gpus = words},
                                         .compiler = "nvrtc",
                                         .bundle = "f.tar",
                                         .budget_s = 1 / 3.0,
                                         .tune = true,
                                         .choose = true,
                                         .tuned_rules = true,
                                         .remember = true,
                                         .layers_only = true,
                                         .tuned = configs,
                                         .sides = sides,
                                         .counters = {true, true, true, "full", words, words}};

static void same_text(const char *a, const char *b)
{
    assert_int_equal(!a, !b);
    if (a)
        assert_string_equal(a, b);
}

static void same_list(const char *const *a, const char *const *b, int each)
{
    assert_int_equal(!a, !b);
    if (!a)
        return;
    for (; *a; a += each, b += each)
        for (int i = 0; i < each; i++)
            same_text(a[i], b[i]);
    assert_null(*b);
}

static void round_trip(const struct plan_options *a)
{
    json_t *out = options_write(a), *in;
    char *line = json_dumps(out, JSON_COMPACT);
    struct plan_options b;
    in = json_loads(line, 0, NULL);
    options_read(in, &b);
    same_text(a->scenario_path, b.scenario_path);
    same_text(a->device, b.device);
    same_list(a->op_files, b.op_files, 1);
    same_text(a->seed, b.seed);
    same_text(a->kernels, b.kernels);
    same_list(a->filter.gpus, b.filter.gpus, 1);
    same_list(a->variant_dirs, b.variant_dirs, 1);
    same_list(a->variant_names, b.variant_names, 1);
    same_text(a->filter.layers, b.filter.layers);
    same_text(a->filter.only, b.filter.only);
    same_list(a->filter.set, b.filter.set, 1);
    assert_int_equal(!a->filter.extra, !b.filter.extra);
    for (int i = 0; a->filter.extra; i++) {
        same_text(a->filter.extra[i].case_id, b.filter.extra[i].case_id);
        if (!a->filter.extra[i].case_id)
            break;
        assert_true(a->filter.extra[i].density == b.filter.extra[i].density);
        same_text(a->filter.extra[i].variant, b.filter.extra[i].variant);
        same_text(a->filter.extra[i].params, b.filter.extra[i].params);
    }
    same_text(a->compiler, b.compiler);
    same_text(a->bundle, b.bundle);
    assert_true(a->budget_s == b.budget_s && a->tune == b.tune && a->remember == b.remember && a->layers_only == b.layers_only);
    assert_true(a->choose == b.choose && a->tuned_rules == b.tuned_rules);
    same_list((const char *const *)a->tuned, (const char *const *)b.tuned, 7);
    same_list((const char *const *)a->sides, (const char *const *)b.sides, 6);
    assert_true(a->counters.off == b.counters.off && a->counters.source == b.counters.source);
    assert_int_equal(a->counters.required, b.counters.required);
    same_text(a->counters.set, b.counters.set);
    same_list(a->counters.groups, b.counters.groups, 1);
    same_list(a->counters.metrics, b.counters.metrics, 1);
    options_free(&b);
    json_decref(out);
    json_decref(in);
    free(line);
}

static void options_come_through(void **state)
{
    round_trip(&full);
    round_trip(&(struct plan_options){0});
}

/* The members of a struct as its header declares them must be keys of what is written. `prefix` is the member that holds the struct. */
static void members_are_sent(const char *header, const char *name, const char *prefix, const json_t *sent, int least)
{
    struct error err = {0};
    size_t bytes;
    char *text = file_read(header, 1 << 20, &bytes, &err), *begin = text_format("struct %s {\n", name);
    int found = 0;
    if (!text)
        fail_msg("%s", err.text);
    char *at = strstr(text, begin), *end = at ? strstr(at, "\n};") : NULL;
    assert_non_null(end);
    *end = 0;
    for (char *line, *rest = at + strlen(begin); (line = strsep(&rest, "\n"));) {
        char *semicolon = strchr(line, ';');
        if (!semicolon || (strstr(line, "/*") && strstr(line, "/*") < semicolon))
            continue;
        *semicolon = 0;
        for (char *one; (one = strsep(&line, ","));) { /* "const char *a, *b" */
            size_t n = strlen(one);
            while (n && strchr("abcdefghijklmnopqrstuvwxyz_0123456789", one[n - 1]))
                n--;
            if (!strcmp(one + n, "filter") || !strcmp(one + n, "counters") || !strcmp(one + n, "by_need"))
                continue; /* looked at by themselves; a worker's own choice */
            char *key = text_format("%s%s", prefix, one + n);
            if (!json_object_get(sent, key))
                fail_msg("struct %s has '%s', which is not in the table of run/message/options.c", name, key);
            free(key);
            found++;
        }
    }
    assert_true(found >= least);
    free(begin);
    free(text);
}

static void no_option_is_forgotten(void **state)
{
    json_t *sent = options_write(&full);
    members_are_sent("harness/plan/rows/plan.h", "plan_options", "", sent, 10);
    members_are_sent("harness/plan/scenario/scenario.h", "scenario_filter", "filter.", sent, 4);
    members_are_sent("harness/counter/choice.h", "counter_wish", "counters.", sent, 6);
    json_decref(sent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_come_through), cmocka_unit_test(no_option_is_forgotten)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
