/* device/cudnn/remember: what one process chose the next one finds, and nobody else does. No library is needed: a handle without one. */
#include "base/file.h"
#include "base/text.h"
#include "device/cudnn/private.h"
#include "measure/rig/vendor.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/cudnn-memory-XXXXXX";
static const struct cudnn_conv body = {.n = 1,
                                       .c = 64,
                                       .h = 720,
                                       .w = 1280,
                                       .k = 64,
                                       .r = 3,
                                       .s = 3,
                                       .p = 720,
                                       .q = 1280,
                                       .stride = 1,
                                       .pad = 1,
                                       .dilation = 1,
                                       .groups = 1,
                                       .dtype = DTYPE_F16,
                                       .layout = LAYOUT_NHWC,
                                       .math = MATH_F16_ACC32,
                                       .bias = true,
                                       .activation = 1};
static const struct cudnn_plan_facts plan = {
    .text = "engine 62 TILE_SIZE=4 CGA_M=8", .engine = 62, .mode = 'B', .rank = 3, .notes = "TENSOR_CORE BIAS_NARROWED"};

static const struct gpu_kind {
    const char *uuid, *name, *driver, *cudnn;
    int sms;
    double mhz, watt;
} gpu_1 = {"GPU-1", "H200", "580.1", "cudnn 9.19.0", 132, 1980, 700};

/* A handle on that GPU. */
static struct cudnn *opened(const struct gpu_kind *k)
{
    struct cudnn *h = xcalloc(1, sizeof *h);
    struct device dev = {.chip.clock_max_hz = k->mhz * 1e6};
    snprintf(dev.uuid, sizeof dev.uuid, "%s", k->uuid);
    snprintf(dev.driver, sizeof dev.driver, "%s, CUDA 13.0", k->driver);
    snprintf(dev.about, sizeof dev.about, "%s · driver %s · %d SMs", k->name, k->driver, k->sms);
    SCOPED char *state = vendor_state(k->cudnn, &dev, k->watt);
    cudnn_open_choices(h, state);
    return h;
}

/* What another process chose. */
static int learnt(void **state)
{
    struct cudnn *h = opened(&gpu_1);
    cudnn_choose(h, &body, &plan, 24);
    cudnn_close(h);
    return 0;
}
static int forgotten(void **state)
{
    char *command = text_format("rm -f '%s'/*", folder);
    int failed = system(command);
    free(command);
    return failed;
}

static int set_up(void **state)
{
    return !mkdtemp(folder) || setenv("BENCH_CACHE", folder, 1);
}

static int tear_down(void **state)
{
    char *command = text_format("rm -rf '%s'", folder);
    int failed = system(command);
    free(command);
    return failed;
}

static void the_next_process_finds_it(void **state)
{
    struct cudnn *first = opened(&gpu_1);
    assert_null(cudnn_chosen(first, &body));
    cudnn_choose(first, &body, &plan, 24);
    assert_string_equal(cudnn_chosen(first, &body)->raced, ""); /* its own */
    cudnn_close(first);

    struct cudnn *next = opened(&gpu_1);
    const struct cudnn_choice *found = cudnn_chosen(next, &body);
    char today[16];
    time_t now = time(NULL);
    strftime(today, sizeof today, "%Y-%m-%d", gmtime(&now));
    assert_non_null(found);
    assert_string_equal(found->raced, today);
    assert_string_equal(found->facts.text, plan.text);
    assert_true(found->facts.engine == 62 && found->facts.rank == 3 && cudnn_conv_same(&found->conv, &body));
    assert_string_equal(found->facts.notes, plan.notes);
    assert_int_equal(found->facts.mode, 'B');
    assert_int_equal(found->among, 24);
    cudnn_close(next);
}

/* Another graph, another kind of GPU: all of them race. A GPU of the same kind does not. */
static void nobody_else_does(void **state)
{
    struct gpu_kind others[] = {gpu_1, gpu_1, gpu_1, gpu_1, gpu_1, gpu_1, gpu_1};
    others[0].uuid = "GPU-2";
    others[1].cudnn = "cudnn 9.14.0";
    others[2].driver = "590.1";
    others[3].name = "H100";
    others[4].sms = 66;
    others[5].mhz = 1500;
    others[6].watt = 400;
    for (int i = 0; i < 7; i++) {
        struct cudnn *h = opened(&others[i]);
        assert_int_equal(cudnn_chosen(h, &body) != NULL, i == 0);
        cudnn_close(h);
    }
    struct cudnn *h = opened(&gpu_1);
    struct cudnn_conv conv[6] = {body, body, body, body, body, body};
    conv[0].w++;
    conv[1].math = MATH_F16_ACC16;
    conv[2].residual = true;
    conv[3].activation = 2;
    conv[4].layout = LAYOUT_NCHW;
    conv[5].alpha = 0.1;
    for (int i = 0; i < 6; i++)
        assert_null(cudnn_chosen(h, &conv[i]));
    assert_non_null(cudnn_chosen(h, &body));
    cudnn_close(h);
}

static void one_that_fails_is_raced_again(void **state)
{
    struct cudnn_plan_facts other = plan;
    const struct library_plan first = {62, 'B', 3}, chosen = {7, 'A', 0}, longer = {70, 'A', 0};
    strcpy(other.text, "engine 7");
    other.engine = 7;
    other.mode = 'A';
    other.rank = 0;
    struct cudnn *h = opened(&gpu_1);
    assert_non_null(cudnn_chosen(h, &body));
    cudnn_drop_choice(h, &body);
    assert_null(cudnn_chosen(h, &body));
    cudnn_choose(h, &body, &other, 12);
    cudnn_close(h);
    h = opened(&gpu_1);
    assert_string_equal(cudnn_chosen(h, &body)->facts.text, "engine 7");
    /* One that counts runs the plan that was timed, whatever is remembered. */
    cudnn_only(h, &first);
    assert_null(cudnn_chosen(h, &body));
    cudnn_only(h, &chosen);
    assert_non_null(cudnn_chosen(h, &body));
    cudnn_only(h, &longer);
    assert_null(cudnn_chosen(h, &body));
    cudnn_close(h);
}

/* Two processes at once: both choices stay. */
static void two_write(void **state)
{
    struct cudnn_conv one = body, two = body;
    one.c = 32;
    two.c = 48;
    struct cudnn *a = opened(&gpu_1), *b = opened(&gpu_1);
    cudnn_choose(a, &one, &plan, 24);
    cudnn_choose(b, &two, &plan, 24);
    cudnn_close(a);
    cudnn_close(b);
    struct cudnn *h = opened(&gpu_1);
    assert_non_null(cudnn_chosen(h, &one));
    assert_non_null(cudnn_chosen(h, &two));
    cudnn_close(h);
}

/* A process that is open already finds what another one chooses, as on two GPUs of one run. */
static void both_run(void **state)
{
    struct cudnn_conv one = body, two = body;
    one.c = 32;
    two.c = 48;
    struct gpu_kind gpu_2 = gpu_1;
    gpu_2.uuid = "GPU-2";
    struct cudnn *a = opened(&gpu_1), *b = opened(&gpu_2);
    assert_null(cudnn_chosen(b, &one));
    cudnn_choose(a, &one, &plan, 24);
    assert_int_equal(cudnn_chosen(b, &one)->facts.engine, 62);
    assert_null(cudnn_chosen(b, &two));
    cudnn_choose(a, &two, &plan, 24);
    assert_non_null(cudnn_chosen(b, &two));
    cudnn_close(a);
    cudnn_close(b);
}

static void damage_is_absence(void **state)
{
    static const char *const contents[] = {
        "",
        "{",
        "[1]",
        "{\"plans\": 3}",
        "{\"plans\": {\"%s\": 1}}",
        "{\"plans\": {\"%s\": {\"text\": 1, \"raced\": \"2026-11-23\"}}}",
        "{\"plans\": {\"%s\": {\"text\":\"e\",\"notes\":\"\",\"raced\":\"2026-11-23\",\"mode\":\"\",\"among\":24}}}",
        "{\"plans\": {\"%s\": {\"text\":\"e\",\"notes\":\"\",\"raced\":\"2026-11-23\",\"mode\":\"X\",\"among\":24}}}",
        "{\"plans\": {\"%s\": {\"text\":\"e\",\"notes\":\"\",\"raced\":\"soon\",\"mode\":\"A\",\"among\":24}}}",
        "{\"plans\": {\"%s\": {\"text\":\"e\",\"notes\":\"\",\"raced\":\"2026-11-23\",\"mode\":\"A\",\"among\":-1}}}",
        "{\"plans\": {\"%s\": {\"text\":\"e\",\"notes\":\"\",\"raced\":\"2026-11-23\",\"mode\":\"A\",\"among\":24}}}"};
    size_t count = sizeof contents / sizeof *contents;
    struct cudnn *h = opened(&gpu_1);
    cudnn_choose(h, &body, &plan, 24);
    json_t *plans = json_object_get(h->choice_file, "plans");
    char *path = xstrdup(h->choices_path), *key = xstrdup(json_object_iter_key(json_object_iter(plans)));
    cudnn_close(h);
    for (size_t i = 0; i < count; i++) {
        const char *at = strstr(contents[i], "%s");
        char *text = at ? text_format("%.*s%s%s", (int)(at - contents[i]), contents[i], key, at + 2) : xstrdup(contents[i]);
        assert_true(file_write(path, text, strlen(text), NULL));
        h = opened(&gpu_1);
        if (i == count - 1) /* the one that is whole */
            assert_non_null(cudnn_chosen(h, &body));
        else if (cudnn_chosen(h, &body))
            fail_msg("taken: %s", text);
        cudnn_close(h);
        h = opened(&gpu_1); /* and written anew */
        if (i < count - 1) {
            cudnn_choose(h, &body, &plan, 24);
            cudnn_close(h);
            h = opened(&gpu_1);
            assert_non_null(cudnn_chosen(h, &body));
        }
        cudnn_close(h);
        free(text);
    }
    free(path);
    free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(the_next_process_finds_it, forgotten),
                                       cmocka_unit_test_setup_teardown(nobody_else_does, learnt, forgotten),
                                       cmocka_unit_test_setup_teardown(one_that_fails_is_raced_again, learnt, forgotten),
                                       cmocka_unit_test_teardown(both_run, forgotten),
                                       cmocka_unit_test_teardown(two_write, forgotten),
                                       cmocka_unit_test(damage_is_absence)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
