/* The cycles of a warp's path: latencies and chains as an H200's clock measured them in one warp, and how often loads are waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "emu_run.h"
#include <math.h>
#include <string.h>

static float in[1 << 17];

struct path {
    double l1, l2, dram, first;
};

static struct path path_of_grid(const char *body, uint32_t threads, uint32_t columns, uint32_t rows)
{
    struct emu_test t;
    struct path p;
    char ptx[8192];
    memset(in, 0, sizeof in);
    snprintf(ptx, sizeof ptx,
             PTX_HEAD ".visible .entry k(.param .u64 in) { .reg .b64 %%d<4>; .reg .b32 %%r<6>; .reg .f32 %%f<4>; .reg .pred %%p;\n"
                      ".shared .b32 s[2048];\n"
                      "ld.param.u64 %%d1, [in]; mov.u32 %%r2, 0; mov.f32 %%f1, 0f3F000000; %s ret; }",
             body);
    emu_test_text(&t, "path", ptx, "k");
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    t.launch.block[0] = threads;
    t.launch.grid[0] = columns;
    t.launch.grid[1] = rows;
    emu_test_run(&t);
    p = (struct path){emu_test_counter(&t, "emu.path_l1_cycles", 0), emu_test_counter(&t, "emu.path_l2_cycles", 0),
                      emu_test_counter(&t, "emu.path_dram_cycles", 0), emu_test_counter(&t, "emu.first_sectors", 0)};
    emu_test_close(&t);
    return p;
}

static struct path path_of(const char *body, uint32_t threads)
{
    return path_of_grid(body, threads, 1, 1);
}

#define ADDS "add.u32 %r3, %r1, 1; add.u32 %r3, %r3, 1; add.u32 %r3, %r3, 1;"
#define TWELVE_ADDS ADDS ADDS ADDS ADDS

/* One wait for loads that depend on no other, one more where an address, a barrier, a store or the end of a block keeps them apart. */
static void waits_for_loads(void **state)
{
    static const struct {
        const char *body;
        int waits;
    } table[] = {
        {"ld.global.u32 %r1, [%d1]; ld.global.u32 %r2, [%d1+128]; add.u32 %r3, %r1, %r2; st.global.u32 [%d1+256], %r3;", 1},
        {"ld.global.u32 %r1, [%d1]; add.u32 %r3, %r1, 1; ld.global.u32 %r2, [%d1+128]; add.u32 %r3, %r3, %r2;", 1},
        {"ld.global.u32 %r1, [%d1]; and.b32 %r1, %r1, 12; cvt.u64.u32 %d2, %r1; add.u64 %d2, %d2, %d1;\n"
         "ld.global.v2.u32 {%r2, %r3}, [%d2+128]; add.u32 %r3, %r3, 1;",
         2},
        {"ld.global.u32 %r1, [%d1]; add.u32 %r1, %r1, 1; bar.sync 0; ld.global.u32 %r2, [%d1+128]; add.u32 %r2, %r2, 1;", 2},
        {"ld.global.u32 %r1, [%d1]; st.global.u32 [%d1+128], %r1; ld.global.u32 %r2, [%d1+256]; add.u32 %r2, %r2, 1;", 2},
        {"ld.global.u32 %r1, [%d1]; st.global.u32 [%d1+128], %r1; ld.global.nc.u32 %r2, [%d1+256]; add.u32 %r2, %r2, 1;", 1},
        {"ld.global.u32 %r1, [%d1]; bra NEXT; NEXT: add.u32 %r1, %r1, 1;", 1},
        {"ld.global.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 77; @%p ld.global.u32 %r2, [%d1+128]; mov.u32 %r3, %r2; add.u32 %r3, %r3, 1;", 2},
        {"ld.global.u32 %r1, [%d1]; mov.f32 %f2, %f1; div.rn.f32 %f2, %f2, %f1; mov.b32 %r2, %f2; add.u32 %r1, %r1, %r2;", 1},
        {"ld.global.f32 %f2, [%d1]; div.rn.f32 %f2, %f2, %f1; ld.global.f32 %f3, [%d1+128]; add.f32 %f2, %f2, %f3;", 2},
        /* the load for the next turn is under way while the last one is waited for: two of six at a time */
        {"ld.global.u32 %r1, [%d1]; LOOP: .pragma \"nounroll\"; mov.u32 %r4, %r1; add.u64 %d1, %d1, 128; ld.global.u32 %r1, [%d1]; add.u32 "
         "%r2, %r2, 1;\n"
         "add.u32 %r3, %r4, %r2; setp.lt.u32 %p, %r2, 5; @%p bra LOOP;",
         3},
        {"LOOP: .pragma \"nounroll\"; ld.global.u32 %r1, [%d1]; add.u64 %d1, %d1, 128; add.u32 %r2, %r2, 1; add.u32 %r3, %r1, %r2; "
         "setp.lt.u32 %p, %r2, 5;\n"
         "@%p bra LOOP;",
         5},
        /* ptxas makes one turn of four of a short loop */
        {"LOOP: ld.global.u32 %r1, [%d1]; add.u64 %d1, %d1, 128; add.u32 %r2, %r2, 1; add.u32 %r3, %r1, %r2; setp.lt.u32 %p, %r2, 8;\n"
         "@%p bra LOOP;",
         2},
        /* ptxas puts guards on short ifs */
        {"setp.eq.u32 %p, %r2, 77; @%p bra A; ld.global.u32 %r1, [%d1]; add.u32 %r3, %r1, 1; A: @%p bra B; ld.global.u32 %r1, [%d1+128];\n"
         "add.u32 %r3, %r3, %r1; B: st.global.u32 [%d1+256], %r3;",
         1},
        {"ld.global.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 77; @%p bra A; ld.global.u32 %r2, [%d1+128]; add.u32 %r3, %r2, 1; A:", 2},
        {"setp.eq.u32 %p, %r2, 77; @%p bra A; ld.global.u32 %r1, [%d1];" TWELVE_ADDS " A: @%p bra B; ld.global.u32 %r1, [%d1+128];\n"
         "add.u32 %r3, %r3, %r1; B: st.global.u32 [%d1+256], %r3;",
         2}, /* and on both halves of a short `if` and `else` */
        {"ld.global.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 77; @%p bra A; bra.uni B; A: add.u32 %r2, %r2, %r1; bra.uni C;\n"
         "B: sub.u32 %r2, %r2, %r1; C: ld.global.u32 %r4, [%d1+128]; add.u32 %r3, %r4, %r2;",
         1},
        {"ld.global.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 77; @%p bra A; bra.uni B; A: add.u32 %r2, %r2, %r1; bra.uni C;\n"
         "B: sub.u32 %r2, %r2, %r1;" TWELVE_ADDS " C: ld.global.u32 %r4, [%d1+128]; add.u32 %r3, %r4, %r2;",
         2},
    };
    const struct path one = path_of("ld.global.u32 %r1, [%d1]; add.u32 %r3, %r1, 1;", 32);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct path p = path_of(table[i].body, 32);
        const double waits = (p.dram - p.l1) / (one.dram - one.l1);
        if (fabs(waits - table[i].waits) > 0.1)
            fail_msg("%s: %.2f waits", table[i].body, waits);
    }
}

/* What an H200 took (one warp, clock64, chains of 256 to 1,000; 30 November 2026). */
static void chains_take_what_an_h200_took(void **state)
{
    static const struct {
        const char *what, *first, *link;
        double cycles;
        uint32_t threads;
    } table[] = {
        {"fma", "", "fma.rn.f32 %f1, %f1, %f1, %f1;", 3.99, 32},
        {"ex2", "", "ex2.approx.ftz.f32 %f1, %f1;", 16.95, 32},
        {"tanh", "", "tanh.approx.f32 %f1, %f1;", 16.95, 32},
        {"shuffle", "", "shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1;", 23.95, 32},
        {"integer division", "", "div.s32 %r2, %r2, 3;", 66.88, 32},
        {"shared memory", "mov.u32 %r3, s;", "ld.shared.u32 %r2, [%r3]; mov.u32 %r3, %r2;", 23.83, 32},
        {"shared memory, 8 ways", "mov.u32 %r3, %tid.x; shl.b32 %r3, %r3, 5; mov.u32 %r4, s; add.u32 %r3, %r3, %r4; mov.u32 %r5, 0;",
         "st.shared.u32 [%r3], %r3; ld.shared.u32 %r3, [%r3];", 37.83, 32},
        {"barrier of 8 warps", "", "bar.sync 0;", 28.77, 256},
        {"barrier of 32 warps", "", "bar.sync 0;", 76.83, 1024},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char body[2][6000];
        for (int k = 0; k < 2; k++) {
            size_t at = (size_t)snprintf(body[k], sizeof body[k], "%s", table[i].first);
            for (int n = 0; n < 8 + 32 * k && at < sizeof body[k]; n++)
                at += (size_t)snprintf(body[k] + at, sizeof body[k] - at, "%s\n", table[i].link);
        }
        const double cycles = (path_of(body[1], table[i].threads).l1 - path_of(body[0], table[i].threads).l1) / 32;
        if (fabs(cycles / table[i].cycles - 1) > 0.06)
            fail_msg("%s: %.2f cycles, an H200 took %.2f", table[i].what, cycles, table[i].cycles);
    }
}

/* A lane's row is 128 bytes: 32 lines a request. */
static void requests_of_many_lines(void **state)
{
    const struct path near = path_of("mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 8; add.u64 %d2, %d1, %d2; ld.global.u32 %r3, [%d2];\n"
                                     "add.u32 %r3, %r3, 1;",
                                     32),
                      apart = path_of("mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 128; add.u64 %d2, %d1, %d2; ld.global.u32 %r3, [%d2];\n"
                                      "add.u32 %r3, %r3, 1;",
                                      32);
    assert_true(fabs((apart.l1 - near.l1) - (106.25 - 43.38)) < 7); /* as an H200 took */
    assert_true(near.first == 8 && apart.first == 32);
}

/* A warp that reads a byte again finds it in L1, and the rest of a line in L2: an H200 took 41, 280 and 700 cycles. What it reads again
 * after more bytes than L1 holds comes from L2. */
static void what_a_warp_has_read(void **state)
{
#define USE(at) "ld.global.u32 %r1, [%d1+" #at "]; add.u32 %r2, %r2, %r1;"
#define WALK(name, last) \
#name \
        ": .pragma \"nounroll\"; ld.global.v2.u32 {%r1, %r4}, [%d2]; add.u64 %d2, %d2, 256; add.u32 %r2, %r2, %r1; add.u32 %r3, %r3, 1;\n" \
        "setp.lt.u32 %p, %r3, " #last "; @%p bra " #name ";\n"
    static const struct {
        const char *body;
        int near, far, sectors;
    } table[] = {
        {USE(0) USE(4) USE(16), 1, 1, 1},
        {USE(0) "bra NEXT; NEXT:" USE(32) USE(64), 2, 1, 3},
        {USE(0) "bra NEXT; NEXT:" USE(128), 2, 2, 2},
        {"mov.u32 %r5, %tid.x; mul.wide.u32 %d3, %r5, 8; mov.u32 %r3, 0; add.u64 %d2, %d1, %d3;" WALK(A, 512) "add.u64 %d2, %d1, %d3;" WALK(
             B, 1024),
         512, 512, 4096},
        {"mov.u32 %r5, %tid.x; mul.wide.u32 %d3, %r5, 8; mov.u32 %r3, 0; add.u64 %d2, %d1, %d3;" WALK(
             A, 1900) "add.u64 %d2, %d1, %d3;" WALK(B, 3800),
         3800, 1900, 15200},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct path p = path_of(table[i].body, 32);
        const double near = (p.l2 - p.l1) / 239, far = (p.dram - p.l2) / 420;
        if (fabs(near / table[i].near - 1) > 0.02 || fabs(far / table[i].far - 1) > 0.02 || fabs(p.first / table[i].sectors - 1) > 0.02)
            fail_msg("%s: %.2f times not in L1, %.2f times in DRAM, %.0f sectors", table[i].body, near, far, p.first);
    }
}

/* Eight warps that each load 32 lines 64 times: the units of the SM, not a warp's latency. */
static void warps_of_a_block_share_an_sm(void **state)
{
    const char *body = "mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 31; mul.wide.u32 %d2, %r1, 128; add.u64 %d2, %d1, %d2;\n"
                       "LOOP: .pragma \"nounroll\"; ld.global.u32 %r3, [%d2]; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, 64; @%p bra LOOP;";
    assert_true(fabs(path_of(body, 256).l1 / (8 * 64 * 32) - 1) < 0.02);
    assert_true(path_of(body, 32).l1 < 8 * 64 * 32 / 2);
}

/* The first warp that runs here takes all iterations from the counter. Eight warps share 64 iterations and the 8 failing reads: 9 each, as
 * many as one warp has for 8 iterations. */
static void work_from_a_counter_is_shared(void **state)
{
    const char *body = "mov.u32 %%r5, %%tid.x; and.b32 %%r5, %%r5, 31;\n"
                       "LOOP: .pragma \"nounroll\"; setp.eq.u32 %%p, %%r5, 0; @%%p atom.global.add.u32 %%r1, [%%d1+1024], 1;\n"
                       "shfl.sync.idx.b32 %%r1, %%r1, 0, 31, -1; ld.global.u32 %%r3, [%%d1]; add.u32 %%r2, %%r2, %%r3;\n"
                       "setp.lt.u32 %%p, %%r1, %d; @%%p bra LOOP;";
    char few[1024], many[1024];
    snprintf(few, sizeof few, body, 8);
    snprintf(many, sizeof many, body, 64);
    const struct path one = path_of(few, 32), eight = path_of(many, 256);
    if (fabs(eight.dram / one.dram - 1) > 0.1) /* by instructions: those in front of the loop count too */
        fail_msg("%.0f cycles of eight warps, %.0f of one with as many turns", eight.dram, one.dram);
}

/* In a grid of eight rows the first column has no work: an eighth of all blocks apart stand blocks of this column alone. */
static void blocks_of_one_column_stand_for_no_others(void **state)
{
    const char *body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 0; @%p bra END;\n"
                       "LOOP: .pragma \"nounroll\"; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, 400; @%p bra LOOP;\n"
                       "END:";
    const double all = path_of_grid(body, 32, 40, 8).l1, each = path_of_grid(body, 32, 2, 1).l1;
    if (fabs(all / (39 * 8 * each) - 1) > 0.15)
        fail_msg("%.0f cycles of 312 blocks that work, %.0f of one", all, each);
}

/* Of 640 blocks twelve have work, and each waits for a load first: a busy one stands for no idle one, nor the other way round. */
static void few_blocks_have_the_work(void **state)
{
#define SOME(turns) \
    "ld.global.u32 %r1, [%d1]; mov.u32 %r4, %ctaid.x; setp.ge.u32 %p, %r4, 12; add.u32 %r4, %r4, %r1; @%p bra END;\n" \
    "LOOP: .pragma \"nounroll\"; ex2.approx.ftz.f32 %f1, %f1; ex2.approx.ftz.f32 %f1, %f1; add.u32 %r2, %r2, 1; setp.lt.u32 %p, " \
    "%r2, " turns "; @%p bra LOOP; END:"
    const double busy = path_of_grid(SOME("400"), 32, 1, 1).l2, idle = path_of_grid(SOME("0"), 32, 640, 1).l2 / 640;
    const double all = path_of_grid(SOME("400"), 32, 640, 1).l2, want = 12 * busy + 628 * idle;
    assert_true(busy > 30 * idle);
    if (fabs(all / want - 1) > 0.1)
        fail_msg("%.0f cycles of 640 blocks, %.0f of 12 that work and 628 that do not", all, want);
}

/* What another block may write at any time is never in L1, and lies in L2; how often a loop asks for it here means nothing. */
static void values_that_others_write(void **state)
{
    const struct path none = path_of("mov.u32 %r1, 0;", 32),
                      once = path_of("ld.relaxed.gpu.global.u32 %r1, [%d1]; add.u32 %r1, %r1, 1;", 32),
                      twice = path_of("ld.relaxed.gpu.global.u32 %r1, [%d1]; add.u32 %r1, %r1, 1; bar.sync 0;\n"
                                      "ld.volatile.global.u32 %r2, [%d1]; add.u32 %r2, %r2, %r1;",
                                      32);
    assert_true(fabs((once.l2 - once.l1 - (none.l2 - none.l1)) / 239 - 1) < 0.02 && fabs((twice.l2 - twice.l1) / 239 - 2) < 0.02);
    assert_true(fabs(twice.dram - twice.l2) < 1);
    double loops[2];
    for (int i = 0; i < 2; i++) {
        char body[512];
        snprintf(body, sizeof body,
                 "LOOP: .pragma \"nounroll\"; ld.volatile.global.u32 %%r1, [%%d1]; add.u32 %%r2, %%r2, 1; add.u32 %%r3, %%r2, %%r1;\n"
                 "setp.lt.u32 %%p, %%r3, %d; @%%p bra LOOP;",
                 i ? 1000 : 10);
        loops[i] = path_of(body, 32).l2;
    }
    if (!(loops[1] < 1.02 * loops[0] && loops[0] > 280))
        fail_msg("%.0f and %.0f cycles", loops[0], loops[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waits_for_loads),
                                       cmocka_unit_test(chains_take_what_an_h200_took),
                                       cmocka_unit_test(requests_of_many_lines),
                                       cmocka_unit_test(what_a_warp_has_read),
                                       cmocka_unit_test(warps_of_a_block_share_an_sm),
                                       cmocka_unit_test(work_from_a_counter_is_shared),
                                       cmocka_unit_test(blocks_of_one_column_stand_for_no_others),
                                       cmocka_unit_test(few_blocks_have_the_work),
                                       cmocka_unit_test(values_that_others_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
