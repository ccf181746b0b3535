/* emu's counters against known kernels: for the kernels of tests/gpu/counters.cu they read the values of their comments
 * (tests/gpu/known.h), as tests/gpu/counters.c requires of CUPTI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/emulate/emulate.h"
#include "gpu/known.h"
#include "device/chip/occupancy.h"
#include <stdio.h>
#include <string.h>

#define SOURCE "tests/gpu/counters.cu"
#define CHIP "GH100"

static struct compiled code;
static struct emulate_result results[KERNELS];

static void run(int k, struct error *err)
{
    char *yaml =
        text_format("{kernel: %s, grid: %d, block: %u, buffers: {x: {count: %d, data: index}, y: {count: %d, data: none}}, args: [x, y]}",
                    kernels[k].name, BLOCKS, kernels[k].threads, BLOCKS * THREADS * 8, BLOCKS * THREADS);
    struct node *launch = node_parse_text("launch", yaml, strlen(yaml), 1, 1, err);
    struct emulate_request request = {.label = "counters", .ptx = code.ptx, .ptx_bytes = code.ptx_bytes, .launch = launch, .chip = CHIP};
    if (!launch || !emulate(&request, &results[k], err))
        fail_msg("%s: %s", kernels[k].name, err->text);
    if (!results[k].finished || results[k].report_count)
        fail_msg("%s: %s, %d reports", kernels[k].name, results[k].why, results[k].report_count);
    node_free(launch);
    free(yaml);
}

static int begin(void **state)
{
    struct error err = {0};
    char path[4096];
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    struct compile_request r = {.path = realpath(SOURCE, path), .label = "counters", .arch = "sm_90a"};
    if (!compile(&r, &code, &err)) {
        if (err.kind != ERROR_ENVIRONMENT)
            fail_msg("%s", err.text);
        fprintf(stderr, "skipped: %s\n", err.text);
        return 0;
    }
    for (int k = 0; k < KERNELS; k++)
        run(k, &err);
    return 0;
}

static int end(void **state)
{
    for (int k = 0; k < KERNELS; k++)
        emulate_free(&results[k]);
    compiled_free(&code);
    return 0;
}

static const struct emulate_result *result_of(const char *kernel)
{
    for (int k = 0; k < KERNELS; k++)
        if (!strcmp(kernels[k].name, kernel))
            return &results[k];
    fail_msg("no kernel %s", kernel);
    return NULL;
}

static double counter(const struct emulate_result *r, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "emu.%s", name);
    for (int i = 0; i < r->counter_count; i++)
        if (!strcmp(r->counters[i].name, full))
            return r->counters[i].value;
    fail_msg("emu has no counter %s", full);
    return NAN;
}

static void reads_as_known(void **state)
{
    static const char *const groups[] = {"coalescing", "memory", "spills", "shared", "roofline", "divergence", "tensor"};
    bool met[sizeof groups / sizeof *groups] = {false};
    int wrong = 0;
    if (!code.ptx)
        skip();
    for (size_t e = 0; e < sizeof expects / sizeof *expects; e++) {
        const struct expect *x = &expects[e];
        if (!x->emu)
            continue;
        const struct emulate_result *r = result_of(x->kernel);
        double got = counter(r, x->emu) / (x->emu_per ? counter(r, x->emu_per) : 1) * (x->emu_times ? x->emu_times : 1);
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
            met[g] |= !strcmp(groups[g], x->group);
        if (!(got >= x->low && got <= x->high)) {
            fprintf(stderr, "%s: %s is %.10g, not %.10g .. %.10g\n", x->kernel, x->emu, got, x->low, x->high);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        assert_true(met[g]);
}

/* The compiler makes spills; emu runs PTX, which has none. The compiler's log and its annotations agree, and each instruction moves one
 * register. */
static void spills_are_known(void **state)
{
    struct kernel_facts *facts = NULL;
    struct error err = {0};
    int loads, stores;
    if (!code.ptx)
        skip();
    int n = cubin_read(code.cubin, code.cubin_bytes, &facts, &err);
    assert_int_equal(n, KERNELS);
    assert_true(cubin_add_log(code.log, facts, n, &err));
    known_spills(code.cubin, code.cubin_bytes, SOURCE, &loads, &stores);
    assert_true(loads > 0 && stores > 0);
    for (int i = 0; i < n; i++) {
        bool spills = !strcmp(facts[i].name, "spilled");
        assert_int_equal(facts[i].spill_load_bytes, spills ? 4 * loads : 0);
        assert_int_equal(facts[i].spill_store_bytes, spills ? 4 * stores : 0);
        assert_true(!spills || facts[i].registers <= 32);
    }
    assert_true(counter(result_of("spilled"), "warp_load_local") == 0);
    free(facts);
}

/* The lines of a kernel in the source: from the one that names it to the brace that ends it. */
static void place_of(const char *text, const char *kernel, int *first, int *last)
{
    char *head = text_format(" %s(const float", kernel);
    const char *at = strstr(text, head), *end = at ? strstr(at, "\n}\n") : NULL;
    assert_non_null(end);
    *first = *last = 1;
    for (const char *c = text; c <= end; c++) {
        *first += *c == '\n' && c < at;
        *last += *c == '\n';
    }
    free(head);
}

/* Every instruction has a line, and it is one of its kernel; the first is the kernel's head. What follows the code has none. */
static void instructions_have_lines(void **state)
{
    struct kernel_facts *facts = NULL;
    struct error err = {0};
    size_t bytes;
    if (!code.ptx)
        skip();
    char *text = file_read(SOURCE, 1 << 20, &bytes, &err);
    int n = cubin_read(code.cubin, code.cubin_bytes, &facts, &err);
    assert_non_null(text);
    for (int i = 0; i < n; i++) {
        int first, last;
        struct cubin_lines *lines = cubin_lines_open(code.cubin, code.cubin_bytes, facts[i].name,
                                                     "/elsewhere/counters.cu"), /* names without folders are compared */
            *others = cubin_lines_open(code.cubin, code.cubin_bytes, facts[i].name, "other.cu");
        place_of(text, facts[i].name, &first, &last);
        assert_int_equal(cubin_lines_at(lines, 0), first);
        for (uint64_t offset = 0; offset < (uint64_t)facts[i].code_bytes; offset += 16) {
            int line = cubin_lines_at(lines, offset);
            assert_true(line >= first && line <= last);
            assert_int_equal(cubin_lines_at(others, offset), 0);
        }
        assert_int_equal(cubin_lines_at(lines, (uint64_t)facts[i].code_bytes + 4096), 0);
        uint64_t words[2] = {0}, size = (uint64_t)facts[i].code_bytes;
        char inlined[64];
        int exits = 0;
        for (uint64_t offset = 0; offset < size; offset += 16) {
            assert_true(cubin_lines_instruction(lines, offset, words, inlined, sizeof inlined) && !inlined[0]);
            exits += (words[0] & 0x1ff) == 0x14d;
        }
        assert_true(exits >= 1); /* every kernel ends somewhere */
        assert_false(cubin_lines_instruction(lines, 8, words, inlined, sizeof inlined));
        assert_false(cubin_lines_instruction(lines, size, words, inlined, sizeof inlined));
        assert_false(cubin_lines_instruction(lines, UINT64_MAX - 15, words, inlined, sizeof inlined));
        assert_true(cubin_lines_instruction(others, 0, words, inlined, sizeof inlined) && !strncmp(inlined, "counters.cu:", 12));
        cubin_lines_close(lines);
        cubin_lines_close(others);
    }
    assert_null(cubin_lines_open(code.cubin, code.cubin_bytes, "no_such_kernel", SOURCE));
    assert_int_equal(cubin_lines_at(NULL, 0), 0);
    assert_false(cubin_lines_instruction(NULL, 0, (uint64_t[2]){0}, (char[64]){0}, 64));
    free(facts);
    free(text);
}

static struct occupancy occupancy(const struct kernel_facts *facts, int count, const char *kernel, int threads)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(facts[i].name, kernel)) {
            struct occupancy_query q = {
                .block_threads = threads, .registers = facts[i].registers, .static_smem = (size_t)facts[i].static_smem, .carveout = -1};
            return occupancy_of(chip_find(CHIP), &q);
        }
    fail_msg("no kernel %s", kernel);
    return (struct occupancy){0};
}

/* 64 warps and 32 blocks are what an SM of the chip takes. */
static void launch_and_occupancy(void **state)
{
    struct kernel_facts *facts = NULL;
    struct error err = {0};
    if (!code.ptx)
        skip();
    int n = cubin_read(code.cubin, code.cubin_bytes, &facts, &err);
    struct occupancy full = occupancy(facts, n, "multiply_add", THREADS), spilled = occupancy(facts, n, "spilled", THREADS),
                     small = occupancy(facts, n, "tensor", 32);
    assert_int_equal(full.blocks_per_sm, 8);
    assert_true(full.share == 1);
    assert_int_equal(spilled.warps_per_sm, 64); /* 32 registers are what full occupancy takes */
    assert_int_equal(small.blocks_per_sm, 32);
    assert_int_equal(small.limit, LIMIT_BLOCKS);
    assert_true(small.share == 0.5);
    assert_true(fabs(occupancy_waves(chip_find(CHIP), &full, BLOCKS) - BLOCKS / (8.0 * chip_find(CHIP)->sm_count)) < 1e-12);
    for (int k = 0; k < KERNELS; k++)
        assert_int_equal(results[k].launch.block[0], kernels[k].threads);
    free(facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_as_known), cmocka_unit_test(spills_are_known),
                                       cmocka_unit_test(instructions_have_lines), cmocka_unit_test(launch_and_occupancy)};
    return cmocka_run_group_tests(tests, begin, end);
}
