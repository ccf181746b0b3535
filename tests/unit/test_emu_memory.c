/* Sectors, lines, wavefronts, FLOP and instructions of tests/emu/memory.cu, counted by hand for one warp; lines as in the source. Also
 * damaged tensor maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu/handlers.h"
#include "emu/run/tensormap.h"
#include "emu_run.h"

static float in[4096];

static void start(struct emu_test *t, const char *kernel, int n, uint64_t *out)
{
    for (int i = 0; i < 4096; i++)
        in[i] = (float)(i % 100);
    emu_test_file(t, "memory.ptx", kernel);
    emu_test_pointer(t, emu_test_buffer(t, "in", in, sizeof in));
    emu_test_pointer(t, *out = emu_test_buffer(t, "out", NULL, 4096));
    emu_test_int(t, n);
}

static void expect(struct emu_test *t, const char *name, int line, double want)
{
    double got = emu_test_counter(t, name, line);
    if (got != want)
        fail_msg("%s of line %d: %g, want %g", name, line, got, want);
}

static void run(struct emu_test *t, const char *kernel, int n)
{
    uint64_t out;
    start(t, kernel, n, &out);
    emu_test_run(t);
}

/* 32 lanes, stride s floats: 128 s bytes unordered in all: min(32, 4 s) sectors for s <= 8; a line for each 32 floats */
static void strides(void **state)
{
    static const struct {
        int stride, sectors, lines, waves; /* waves: words in the fullest of 32 banks */
    } table[] = {{0, 1, 1, 1},  {1, 4, 1, 1},  {2, 8, 2, 2},     {3, 12, 3, 1},    {4, 16, 4, 4},
                 {5, 20, 5, 1}, {8, 32, 8, 8}, {16, 32, 16, 16}, {32, 32, 32, 32}, {100, 32, 32, 4}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct emu_test t;
        run(&t, "strided", table[i].stride);
        expect(&t, "emu.global_requests_ld", 0, 1);
        expect(&t, "emu.global_requests_st", 0, 1);
        expect(&t, "emu.global_sectors_ld", 2, table[i].sectors);
        expect(&t, "emu.global_sectors_st", 2, 4);
        expect(&t, "emu.global_lines", 0, table[i].lines + 1);
        expect(&t, "emu.global_wavefronts", 0, table[i].waves + 1);
        expect(&t, "emu.global_sectors_ideal_ld", 0, table[i].stride ? 4 : 1);
        expect(&t, "emu.unique_bytes_read", 0, 32.0 * table[i].sectors);
        expect(&t, "emu.unique_bytes_written", 0, 128);
        emu_test_close(&t);
    }
}

/* Instructions are what lines are made of: of a line their sums, and what a load touched stands at the load. */
static void instructions_make_lines(void **state)
{
    struct emu_test t;
    const struct device_instruction *all;
    double executed[64] = {0}, sectors[64] = {0};
    int loads = 0, stores = 0;
    run(&t, "strided", 3);
    int count = emu_device.instructions(&t.dev, &all);
    assert_true(count > 4);
    for (int i = 0; i < count; i++) {
        assert_true(!i || all[i].ptx_line > all[i - 1].ptx_line);
        assert_true(all[i].line > 0 && all[i].line < 64 && !all[i].inlined[0]);
        executed[all[i].line] += (double)all[i].executed;
        sectors[all[i].line] += (double)all[i].sectors;
        loads += all[i].sectors == 12 && all[i].sectors_ideal == 4 && all[i].executed == 1 && all[i].lanes == 32;
        stores += all[i].sectors == 4 && all[i].sectors_ideal == 4 && all[i].executed == 1 && all[i].lanes == 32;
    }
    assert_true(loads == 1 && stores == 1);
    for (int i = 1; i < 64; i++) {
        expect(&t, "emu.warp_instructions", i, executed[i]);
        double read = emu_test_counter(&t, "emu.global_sectors_ld", i), written = emu_test_counter(&t, "emu.global_sectors_st", i);
        assert_true(sectors[i] == read + written);
    }
    emu_device.clear(&t.dev);
    assert_int_equal(emu_device.instructions(&t.dev, &all), 0);
    emu_test_close(&t);
}

/* Starting inside a sector costs one more. */
static void shifts(void **state)
{
    for (int shift = 0; shift < 40; shift++) {
        struct emu_test t;
        run(&t, "shifted", shift);
        expect(&t, "emu.global_sectors_ld", 3, shift % 8 ? 5 : 4);
        expect(&t, "emu.global_lines", 0, (shift % 32 ? 2 : 1) + 1);
        emu_test_close(&t);
    }
}

static void vectors(void **state)
{
    struct emu_test t;
    uint64_t out;
    float got[128];
    start(&t, "four", 0, &out);
    emu_test_run(&t);
    emu_test_read(&t, out, got, sizeof got);
    assert_memory_equal(got, in, sizeof got);
    expect(&t, "emu.global_requests_ld", 0, 1);
    expect(&t, "emu.global_sectors_ld", 4, 16);
    expect(&t, "emu.global_sectors_st", 4, 16);
    emu_test_close(&t);
    run(&t, "same", 5);
    expect(&t, "emu.global_sectors_ld", 5, 1);
    emu_test_close(&t);
}

/* Stride s words: gcd(s, 32) lanes share a bank, unless they read the same word. */
static void bank_conflicts(void **state)
{
    for (int stride = 0; stride <= 33; stride++) {
        int gcd = 1;
        for (int k = 2; k <= 32; k *= 2)
            gcd = stride % k == 0 ? k : gcd;
        struct emu_test t;
        run(&t, "banks", stride);
        int wave = stride == 0 ? 1 : gcd;
        expect(&t, "emu.shared_wavefronts_ld", 12, wave);
        expect(&t, "emu.shared_wavefronts_ideal_ld", 12, 1);
        expect(&t, "emu.shared_bank_conflicts", 12, wave - 1);
        expect(&t, "emu.shared_wavefronts_st", 0, 32);
        emu_test_close(&t);
    }
}

/* 16-byte accesses: quarter-warps of 8 lanes; stride s * 16 bytes: 8 lanes touch 32 words, conflict-free for odd s */
static void wide_conflicts(void **state)
{
    static const struct {
        int stride, wavefronts;
    } table[] = {{1, 4}, {2, 8}, {3, 4}, {4, 16}, {8, 32}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct emu_test t;
        run(&t, "wide", table[i].stride);
        expect(&t, "emu.shared_wavefronts_ld", 20, table[i].wavefronts);
        expect(&t, "emu.shared_wavefronts_ideal_ld", 20, 4);
        emu_test_close(&t);
    }
}

/* The rule for 64-bit accesses, on addresses by lane: each half-warp has its own wavefronts; one wavefront serves both if the lanes of all
 * pairs n, n^1 or of all pairs n, n^2 read one address. Without the rule each of these accesses would take 2; those that the rule covers
 * take 1. */
static void wide_pairs(void **state)
{
    static const struct {
        int shift[5]; /* address of lane n: 8 bytes times the sum of the shifts of the bits set in n */
        uint32_t mask;
        int wavefronts, ideal;
    } table[] = {
        {{1, 2, 4, 8, 16}, ~0u, 2, 2}, /* 32 different addresses */
        {{0, 1, 2, 4, 8}, ~0u, 1, 1},  /* n and n^1 */
        {{1, 0, 2, 4, 8}, ~0u, 1, 1},  /* n and n^2 */
        {{1, 2, 0, 4, 8}, ~0u, 2, 2},  /* n and n^4 do not count */
        {{1, 0, 2, 4, 16}, ~0u, 2, 1}, /* the halves lie on the same banks */
        {{1, 2, 4, 8, 16}, 0xffffu, 1, 1}, {{1, 2, 4, 8, 16}, 0x5555u, 1, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct memo m = {.mask = table[i].mask};
        int ideal;
        for (int n = 0; n < 32; n++)
            for (int b = 0; b < 5; b++)
                m.rel[n] += n >> b & 1 ? 8 * table[i].shift[b] : 0;
        int got = shared_wavefronts(&m, m.mask, 0, 8, &ideal);
        if (got != table[i].wavefronts || ideal != table[i].ideal)
            fail_msg("pattern %zu: %d wavefronts, %d would do; want %d and %d", i, got, ideal, table[i].wavefronts, table[i].ideal);
    }
}

/* The same word of all lanes lies together: 4 sectors a 4-byte access. */
static void local_memory(void **state)
{
    struct emu_test t;
    run(&t, "stack", 5);
    double requests = emu_test_counter(&t, "emu.local_requests", 0);
    assert_true(requests >= 5);
    assert_true(emu_test_counter(&t, "emu.local_sectors", 0) >= 4 * requests);
    emu_test_close(&t);
}

/* fma of n rounds for 32 threads, one product for 7 of them */
static void flop(void **state)
{
    struct emu_test t;
    run(&t, "counted", 9);
    expect(&t, "emu.warp_fma", 0, 9);
    expect(&t, "emu.flop_f32", 0, 9 * 32 * 2 + 7);
    expect(&t, "emu.divergent_branches", 0, 1);
    emu_test_close(&t);
}

/* 8 lanes on each of 4 words */
static void contention(void **state)
{
    struct emu_test t;
    uint64_t out;
    int zero[32] = {0}, got[32];
    start(&t, "contended", 0, &out);
    assert_true(emu_device.write(&t.dev, out, zero, sizeof zero, &t.err));
    emu_test_run(&t);
    emu_test_read(&t, out, got, sizeof got);
    for (int i = 0; i < 32; i++)
        assert_int_equal(got[i], i < 4 ? 8 : 0);
    expect(&t, "emu.atomics", 0, 1);
    expect(&t, "emu.atomic_contention", 0, 8);
    emu_test_close(&t);
}

/* Three blocks of a warp take 20 tiles: 20 results are a tile, and each block learns once that there is none. A sum that nobody reads, a
 * counter in shared memory and the blocks of a cooperative launch, which run in turns, take no work from each other. */
static void results_of_atomics(void **state)
{
    static const struct {
        const char *kernel;
        bool cooperative;
        int results;
    } table[] = {{"tickets", false, 20 + 3}, {"tickets", true, 0}, {"contended", false, 0}, {"own_tickets", false, 0}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct emu_test t;
        uint64_t out;
        int zero[32] = {0};
        start(&t, table[i].kernel, 20, &out);
        assert_true(emu_device.write(&t.dev, out, zero, sizeof zero, &t.err));
        t.launch.grid[0] = strcmp(table[i].kernel, "tickets") ? 1 : 3;
        t.launch.cooperative = table[i].cooperative;
        emu_test_run(&t);
        expect(&t, "emu.atomic_results", 0, table[i].results);
        emu_test_close(&t);
    }
}

/* Float atomics give the same bits for any number of threads: block order. */
static void float_atomics(void **state)
{
    uint32_t first = 0;
    for (int threads = 1; threads <= 4; threads++) {
        struct emu_test t;
        uint64_t out;
        uint32_t zero = 0, got;
        start(&t, "float_sum", 0, &out);
        float x[4096];
        for (int i = 0; i < 4096; i++)
            x[i] = 1.0f / (float)(1 + i * 37 % 1000);
        assert_true(emu_device.write(&t.dev, ((uint64_t *)t.params)[0], x, sizeof x, &t.err));
        assert_true(emu_device.write(&t.dev, out, &zero, 4, &t.err));
        emu_set_threads(&t.dev, threads);
        t.launch.grid[0] = 128;
        emu_test_run(&t);
        emu_test_read(&t, out, &got, 4);
        float sum = 0;
        for (int i = 0; i < 4096; i++)
            sum += x[i];
        first = threads == 1 ? got : first;
        assert_int_equal(got, first);
        float f;
        memcpy(&f, &got, 4);
        assert_true(f == sum); /* lane after lane, warp after warp, block after block */
        emu_test_close(&t);
    }
}

/* A tensor map that something has written into is told, whatever stands there now. */
static const char *const tensor_load =
    PTX_HEAD ".visible .entry k(.param .align 64 .b8 map[128]) { .reg .b64 %rd<3>; .reg .b32 %r<4>; .shared .align 128 .b8 s[256]; .shared "
             ".align 8 .b64 bar;\n"
             "mov.b64 %rd1, map; mov.u32 %r1, s; mov.u32 %r2, bar; mov.u32 %r3, 0; mbarrier.init.shared.b64 [%r2], 1;\n"
             "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r3}], [%r2]; ret; }\n";

static void damaged_maps(void **state)
{
    static const size_t places[] = {offsetof(struct tensormap, box), offsetof(struct tensormap, element_stride),
                                    offsetof(struct tensormap, element_bytes), offsetof(struct tensormap, rank),
                                    offsetof(struct tensormap, magic)};
    float data[64] = {0};
    for (size_t i = 0; i <= sizeof places / sizeof *places; i++) {
        struct emu_test t;
        emu_test_text(&t, "map", tensor_load, "k");
        t.launch.block[0] = 1;
        struct device_tensor_map map = {.address = emu_test_buffer(&t, "in", data, sizeof data), .element_bytes = 4, .rank = 1};
        map.dim[0] = map.box[0] = 64;
        map.element_stride[0] = 1;
        assert_true(tensormap_encode(&map, t.params, &t.err));
        for (int k = 0; i && k < 2; k++)
            t.params[places[i - 1] + (size_t)k] = 0;
        emu_test_run(&t);
        const struct device_report *r = emu_test_report(&t, "out_of_bounds");
        assert_true(i ? r && strstr(r->text, "has no tensor map") : !r);
        emu_test_close(&t);
    }
}

/* What `discard` is given is lost, and counts as written: where another buffer begins, or in its middle, it is not taken. */
static void discards(void **state)
{
    static const struct {
        int at;
        const char *kind;
    } table[] = {{0, NULL}, {128, NULL}, {3968, NULL}, {64, "misaligned"}, {4096, "out_of_bounds"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char ptx[512];
        struct emu_test t;
        float now[1024];
        snprintf(ptx, sizeof ptx,
                 PTX_HEAD
                 ".visible .entry k(.param .u64 to) { .reg .b64 %%d<2>; ld.param.u64 %%d1, [to]; discard.global.L2 [%%d1+%d], 128; ret; }",
                 table[k].at);
        emu_test_text(&t, "discards", ptx, "k");
        for (int i = 0; i < 1024; i++)
            in[i] = (float)i;
        uint64_t to = emu_test_buffer(&t, "to", in, 4096);
        emu_test_pointer(&t, to);
        t.launch.block[0] = 1;
        emu_test_run(&t);
        emu_test_read(&t, to, now, sizeof now);
        const struct device_report *r = table[k].kind ? emu_test_report(&t, table[k].kind) : NULL;
        assert_true(table[k].kind ? r != NULL : emu_test_reports(&t) == 0);
        assert_true(emu_device.stored(&t.dev, to) == !table[k].kind);
        for (int i = 0; i < 1024; i++) {
            bool gone = !table[k].kind && i * 4 >= table[k].at && i * 4 < table[k].at + 128;
            assert_true(gone ? now[i] != now[i] : now[i] == (float)i);
        }
        emu_test_close(&t);
    }
}

/* Blocks begin at different times, the same ones in every run; a thread's own goes on. */
static void clocks(void **state)
{
    uint64_t first[2][128];
    for (int run = 0; run < 2; run++) {
        struct emu_test t;
        unsigned windows = 0;
        emu_test_text(&t, "clocks",
                      PTX_HEAD
                      ".visible .entry k(.param .u64 to) { .reg .b64 %d<5>; .reg .b32 %r; ld.param.u64 %d1, [to]; mov.u32 %r, %ctaid.x;\n"
                      "mad.wide.u32 %d1, %r, 16, %d1; mov.u64 %d2, %globaltimer; mov.u64 %d3, %globaltimer; st.u64 [%d1], %d2;\n"
                      "st.u64 [%d1+8], %d3; ret; }",
                      "k");
        uint64_t to = emu_test_buffer(&t, "to", NULL, sizeof first[0]);
        emu_test_pointer(&t, to);
        t.launch.block[0] = 1, t.launch.grid[0] = 64;
        emu_test_run(&t);
        emu_test_read(&t, to, first[run], sizeof first[0]);
        for (int i = 0; i < 64; i++) {
            windows |= 1u << (first[run][2 * i] >> 10 & 7);
            assert_true(first[run][2 * i] < first[run][2 * i + 1] && first[run][2 * i + 1] - first[run][2 * i] < 1000);
        }
        assert_int_equal(windows, 0xff); /* who leaves out one microsecond of eight leaves out something */
        emu_test_close(&t);
    }
    assert_memory_equal(first[0], first[1], sizeof first[0]);
}

/* What divisions and roots become. */
static void machine_instructions(void **state)
{
    static const struct {
        const char *body;
        double more;
    } table[] = {
        {"div.u32 %r1, %r1, %r2;", 17},
        {"div.s32 %r1, %r1, %r2; rem.u32 %r2, %r1, %r2;", 24 + 16},
        {"div.rn.f32 %f1, %f1, %f2; div.rn.f64 %g, %g, %g;", 12 + 17},
        {"ex2.approx.ftz.f32 %f1, %f2; ex2.approx.f32 %f1, %f2; add.f32 %f1, %f1, %f2;", 3},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct emu_test t;
        char ptx[1024];
        snprintf(ptx, sizeof ptx,
                 PTX_HEAD ".visible .entry k() { .reg .b32 %%r<4>; .reg .f32 %%f<4>; .reg .f64 %%g; mov.u32 %%r1, 5; mov.u32 %%r2, 3;\n"
                          "mov.f32 %%f1, 0f40000000; mov.f32 %%f2, 0f40000000; mov.f64 %%g, 0d4000000000000000; %s ret; }",
                 table[i].body);
        emu_test_text(&t, "machine", ptx, "k");
        emu_test_run(&t);
        if (emu_test_counter(&t, "emu.machine_more", 0) != table[i].more)
            fail_msg("%s: %g", table[i].body, emu_test_counter(&t, "emu.machine_more", 0));
        emu_test_close(&t);
    }
}

/* cp.async of words: sources and destinations in one run of lanes, in several and in none, with zeros for some lanes, and lanes off. */
static void async_words(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u64 in, .param .u64 plan, .param .u64 to) { .reg .b64 %d<6>; .reg .b32 %r<9>; .reg .pred %p;\n"
        ".shared .align 16 .b8 s[256]; mov.u32 %r0, %tid.x; ld.param.u64 %d0, [in]; ld.param.u64 %d1, [plan]; ld.param.u64 %d2, [to];\n"
        "mad.wide.u32 %d3, %r0, 16, %d1; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d3]; mad.wide.u32 %d4, %r1, 4, %d0;\n"
        "mov.u32 %r5, s; mad.lo.u32 %r6, %r2, 4, %r5; mad.lo.u32 %r5, %r0, 8, %r5; mov.b32 %r7, 7; st.shared.v2.b32 [%r5], {%r7, %r7};\n"
        "setp.ne.u32 %p, %r4, 0; bar.sync 0; @%p cp.async.ca.shared.global [%r6], [%d4], 4, %r3; cp.async.wait_all; bar.sync 0;\n"
        "ld.shared.v2.b32 {%r7, %r8}, [%r5]; mad.wide.u32 %d5, %r0, 8, %d2; st.global.v2.b32 [%d5], {%r7, %r8}; ret; }";
    uint32_t words[128], plan[32][4], got[64], expected[64];
    for (uint32_t i = 0; i < 128; i++)
        words[i] = 1000 + i;
    for (uint32_t n = 0; n < 5 * 3 * 3 * 3; n++) { /* of source, destination, size and lanes a kind each */
        const uint32_t from = n % 5, to = n / 5 % 3, size = n / 15 % 3, lanes = n / 45;
        for (int i = 0; i < 64; i++)
            expected[i] = 7;
        for (uint32_t i = 0; i < 32; i++) {
            const uint32_t sources[] = {i, i < 20 ? i : i + 44, 31 - i, 2 * i, 3 + i / 8 * 24 + i % 8};
            const uint32_t places[] = {i, i < 10 ? i : i + 8, 63 - 2 * i}, bytes[] = {4, i % 3 ? 4 : 0, 0};
            const uint32_t runs[] = {1, i < 16, i % 5 != 1};
            memcpy(plan[i], (uint32_t[]){sources[from], places[to], bytes[size], runs[lanes]}, sizeof plan[i]);
            if (runs[lanes])
                expected[places[to]] = bytes[size] ? words[sources[from]] : 0;
        }
        struct emu_test t;
        emu_test_text(&t, "words", text, "k");
        emu_test_pointer(&t, emu_test_buffer(&t, "in", words, sizeof words));
        emu_test_pointer(&t, emu_test_buffer(&t, "plan", plan, sizeof plan));
        const uint64_t out = emu_test_buffer(&t, "to", NULL, sizeof got);
        emu_test_pointer(&t, out);
        emu_test_run(&t);
        emu_test_read(&t, out, got, sizeof got);
        assert_int_equal(emu_test_reports(&t), 0);
        assert_memory_equal(got, expected, sizeof got);
        emu_test_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(strides),
                                       cmocka_unit_test(machine_instructions),
                                       cmocka_unit_test(discards),
                                       cmocka_unit_test(clocks),
                                       cmocka_unit_test(shifts),
                                       cmocka_unit_test(vectors),
                                       cmocka_unit_test(bank_conflicts),
                                       cmocka_unit_test(wide_conflicts),
                                       cmocka_unit_test(wide_pairs),
                                       cmocka_unit_test(local_memory),
                                       cmocka_unit_test(flop),
                                       cmocka_unit_test(contention),
                                       cmocka_unit_test(float_atomics),
                                       cmocka_unit_test(results_of_atomics),
                                       cmocka_unit_test(instructions_make_lines),
                                       cmocka_unit_test(damaged_maps),
                                       cmocka_unit_test(async_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
