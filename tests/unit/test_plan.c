/* session/plan: what a row knows of its case before it runs. */
#include "scenario_text.h"
#include "session/plan.h"

/* The rows of a layer carry its runs in each network; those of a layer in none carry none. */
static void rows_name_their_networks(void **state)
{
    char *path = text_file("scenario: t\nlayers:\n"
                           "  a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, pad: 1}\n"
                           "  b: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 1, repeat: 6}\n"
                           "networks: {x2: {order: [{repeat: 16, of: [a]}]}, x4: {order: [a, a]}}\n"
                           "variants: [conv2d/naive]\n");
    struct plan_options options = {.scenario_path = path};
    struct error err = {0};
    struct plan plan;
    int found = 0;
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < plan.row_count; i++) {
        struct row *row = plan_row_new(&plan, i, "emu:GH100");
        if (!strcmp(row->layer, "a")) {
            assert_string_equal(row->networks, "x2:16, x4:2");
            assert_int_equal(row->repeat, 18);
        } else if (!strcmp(row->op, "chain")) { /* a network run whole is in no network */
            assert_null(row->networks);
            assert_int_equal(row->repeat, 1);
            row_free(row);
            continue;
        } else {
            assert_null(row->networks);
            assert_int_equal(row->repeat, 6);
        }
        found |= !strcmp(row->layer, "a") ? 1 : 2;
        assert_non_null(strstr(row->work, "conv2d 4->4")); /* the texts beside it are whole */
        row_free(row);
    }
    assert_int_equal(found, 3);
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* The command that a table prints must work: "body_1 mma_sync" is one row, though mma_sync_d2s has the words too. */
static void words_mean_the_variant_called_so(void **state)
{
    struct error err = {0};
    struct plan plan;
    struct plan_options options = {.scenario_path = "scenarios/edsr.yaml"};
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    int row = plan_find(&plan, "body_1 mma_sync", &err);
    assert_true(row >= 0 && !strcmp(plan.rows[row].variant->name, "conv2d/mma_sync"));
    assert_int_equal(plan_find(&plan, "body_1 conv2d/mma_sync", &err), row);
    assert_int_equal(plan_find(&plan, plan.rows[row].id, &err), row);
    assert_int_equal(plan_find(&plan, "mma_sync", &err), -1); /* of every layer */
    assert_int_equal(plan_find(&plan, "body_1 mma_synk", &err), -1);
    plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_name_their_networks), cmocka_unit_test(words_mean_the_variant_called_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
