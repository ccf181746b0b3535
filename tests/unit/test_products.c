/* op: which works are sums of products of two tensors, so that a finding may suggest tensor cores: of all shipped ops, by their formulas,
 * and of op files as people write them. */
#include "scenario_text.h"
#include "op/file/ops.h"
#include "report/form/document.h"

#include "judged_rows.h"

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(*list, name))
            return true;
    return false;
}

/* Works of the layers that bench try takes; a tail of channels or a small depth changes nothing. */
static void shipped_ops(void **state)
{
    static const char *const products[] = {"conv2d", "conv3d", "conv_transpose2d", "upsample_conv2d", "gemm", "matmul", NULL};
    struct error err = {0};
    int seen = 0, found = 0;
    assert_true(op_load(NULL, &err));
    for (int i = 0; op_at(i); i++) {
        const struct op *op = op_at(i);
        struct scenario_case *cases;
        if (!op->trial)
            continue;
        SCOPED char *text = text_format("scenario: t\n%s\nvariants: []\n", op->trial);
        struct scenario *s = loaded(text);
        int count = scenario_expand(s, "cuda", NULL, &cases, &err);
        if (count < 0)
            fail_msg("%s: %s", op->name, err.text);
        for (int k = 0; k < count; k++) {
            bool want = is_one_of(op->name, products);
            if (!cases[k].work.chain && cases[k].work.op == op && work_multiplies(&cases[k].work) != want)
                fail_msg("%s: %s", cases[k].id, want ? "sums of products" : "no sums of products");
            found += want;
            seen++;
        }
        scenario_cases_free(cases, count);
        scenario_free(s);
    }
    assert_true(seen > 40 && found >= 12);
}

/* An op file of that name; `keys`: its tensors and figures. True if its works are sums of products. */
static bool own_op(const char *name, const char *keys)
{
    struct error err = {0};
    char folder[] = "/tmp/test_products_XXXXXX";
    assert_non_null(mkdtemp(folder));
    SCOPED char *path = text_format("%s/%s.yaml", folder, name), *source = text_format("%s/%s.cu", folder, name);
    SCOPED char *text = text_format("about: \"%s\"\nfields: {m: {what: m}, n: {what: n}, k: {what: k}}\n%s\ndtype: f16\nexact: no\n"
                                    "reference: {kernel: r, threads: m, args: [m]}\ntrial: {usual: {m: 64, n: 48, k: 96}}\n",
                                    name, keys);
    const char *const files[] = {path, NULL};
    assert_true(file_write(path, text, strlen(text), &err) && file_write(source, "//", 2, &err));
    if (!op_load(files, &err))
        fail_msg("%s", err.text);
    SCOPED char *layer = text_format("scenario: t\nlayers: {a: {op: %s, m: 64, n: 48, k: 96}}\nvariants: []\n", name);
    struct scenario *s = loaded(layer);
    struct work w = work_of(s, "cuda", "t/a");
    bool products = work_multiplies(&w);
    scenario_free(s);
    unlink(path);
    unlink(source);
    rmdir(folder);
    return products;
}

static void own_ops(void **state)
{
    assert_true(own_op("own_product", "tensors: {a: {shape: [m, k]}, b: {shape: [k, n]}, c: {shape: [m, n], written: yes}}\n"
                                      "flop: 2 * m * n * k\nterms: k"));
    assert_true(own_op("own_attention",
                       "tensors: {q: {shape: [m, k]}, key: {shape: [n, k]}, v: {shape: [n, k]}, o: {shape: [m, k], written: "
                       "yes}}\nflop: 4 * m * n * k\nterms: n"));
    assert_false(own_op("own_gelu", "tensors: {x: {shape: [m, k]}, y: {shape: [m, k], written: yes}}\nflop: 12 * m * k\nterms: 1"));
    assert_false(own_op("own_gated", "tensors: {x: {shape: [m, k]}, g: {shape: [m, k]}, y: {shape: [m, k], written: yes}}\n"
                                     "flop: 14 * m * k\nterms: 1"));
    assert_false(own_op("own_layernorm", "tensors: {x: {shape: [m, k]}, g: {shape: [k]}, b: {shape: [k]}, y: {shape: [m, k], written: "
                                         "yes}}\nflop: 8 * m * k\nterms: k"));
    assert_false(own_op("own_sum", "tensors: {x: {shape: [m, k]}, y: {shape: [m], written: yes}}\nflop: m * k\nterms: k"));
}

/* A row of the narrow pipe, whose math mode has a wide one. */
static void only_products_are_sent_to_tensor_cores(void **state)
{
    for (int products = -1; products < 2; products++) { /* -1: not known, as of rows that an older bench stored */
        struct fixture f = {0};
        struct judge j;
        measured_run(&f);
        struct row *r = row_of(&f, "conv2d/mine", 1700, 0);
        if (products >= 0)
            row_add_member(r, FAMILY_MODEL, -1, 0, "products", "", "model", products);
        struct case_view c = judged(&f, &j);
        const struct verdicts *all = &c.views[0].verdicts;
        int suggested = 0;
        for (int i = 0; i < all->count; i++)
            suggested += !strncmp(all->items[i].remedy, "use tensor cores", 16) || strstr(all->items[i].says, "tensor");
        if ((suggested > 0) != (products != 0))
            fail_msg("products %d: %d of %d findings", products, suggested, all->count);
        judged_free(&c, &j, &f);
    }
}

/* Where issue slots are busy, a remedy names tensor cores if they could compute the results and the kernel does not use them. */
static void remedies_are_possible(void **state)
{
    for (int tensor = 0; tensor < 2; tensor++)
        for (int products = -1; products < 2; products++) {
            struct fixture f = {0};
            struct judge j;
            int named = 0, instructions = 0;
            measured_run(&f);
            struct row *r = row_of(&f, "conv2d/mine", 1700, tensor);
            r->flop = 1e9;
            hw(r, "issue_active", 90);
            hw(r, "dram_throughput", 10);
            hw(r, "tensor_active", 5);
            hw(r, "sm_busy", 99);
            if (products >= 0)
                row_add_member(r, FAMILY_MODEL, -1, 0, "products", "", "model", products);
            struct case_view c = judged(&f, &j);
            const struct verdicts *all = &c.views[0].verdicts;
            for (int i = 0; i < all->count; i++) {
                named += strstr(all->items[i].remedy, "tensor cores") != NULL;
                instructions += !strncmp(all->items[i].remedy, "execute fewer instructions", 26);
                assert_null(strpbrk(all->items[i].remedy, "[]"));
            }
            assert_true(instructions > 0);
            if ((named > 0) != (!tensor && products != 0))
                fail_msg("tensor %d, products %d: %d remedies", tensor, products, named);
            judged_free(&c, &j, &f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_ops), cmocka_unit_test(own_ops),
                                       cmocka_unit_test(only_products_are_sent_to_tensor_cores), cmocka_unit_test(remedies_are_possible)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
