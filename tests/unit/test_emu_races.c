/* emu reports the races in global memory of tests/emu/races.cu at their line, in the same words for any number of host threads. Correct
 * kernels that resemble them give no report. Both code generators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"
#include "emu/check/races.h"
#include <unistd.h>

struct planted {
    const char *kernel;
    int line;                /* 0: honest */
    const char *text, *kind; /* NULL: race */
};
static const struct planted races[] = {
    {"blocks_write", 9, "offset 0 of `out`, races with the write of block 0,0,0", NULL},
    {"in_place", 14, "races with the read of block", NULL},
    {"warps_read", 21, "races with the write of warp", NULL},
    {"warps_write", 25, "races with the write of warp 0", NULL},
    {"last_block_no_fence", 36, "races with the write of block 0,0,0", NULL},
    {"set_and_add", 41, "races with the atomic of block 0,0,0", NULL},
    {"atomics_of_the_block", 47, "races with the atomic of block 0,0,0", NULL},
    {"lanes_write", 51, "lanes 0 and 1 write different values to global memory", NULL},
    {"flag_no_fence", 63, "races with the write of block 0,0,0", NULL},
    {"read_of_a_counter", 68, "atomic on global memory", NULL},
    {"same_value", 75, "of the value that another warp wrote", "same_value"},
    {"behind_a_barrier", 0, NULL, NULL},
    {"last_block", 0, NULL, NULL},
    {"last_block_all_fence", 0, NULL, NULL},
    {"flag_with_fences", 0, NULL, NULL},
    {"words_with_flags", 0, NULL, NULL},
    {"release_acquire", 0, NULL, NULL},
    {"bytes_side_by_side", 0, NULL, NULL},
    {"counted", 0, NULL, NULL},
    {"added_in_place", 0, NULL, NULL},
    {"handed_over_in_a_warp", 0, NULL, NULL},
    {"guessed", 0, NULL, NULL},
    {"guessed_shared", 0, NULL, NULL},
    {"lanes_read", 182, "which lane 1 of this warp wrote: no __syncwarp", NULL},
    {NULL, 0, NULL, NULL},
};
static const struct planted sanitizer[] = {
    {"used_after_free", 16, "which is already freed", "use_after_free"},
    {"leaked", 20, "24 bytes of the device heap", "leak"},
    {"past_a_heap_block", 27, "which malloc did not return", "out_of_bounds"},
    {"mbarrier_of_nobody", 34, "is not initialised", "mbarrier"},
    {"mbarrier_twice", 42, "is initialised again", "mbarrier"},
    {"mbarrier_unannounced", 52, "was initialised by another warp", NULL},
    {"read_only_written", 59, "which this kernel writes", "read_only"},
    {"next_shared_array", 67, "by a pointer into `", "out_of_bounds"},
    {"other_buffer", 72, "by a pointer into `in`: that is `out`", "out_of_bounds"},
    {"no_syncwarp", 78, "by lane 0, which lane 1 of this warp wrote: no __syncwarp", NULL},
    {"warp_sum_no_syncwarp", 89, "no __syncwarp between them", NULL},
    {"lanes_write_shared", 96, "lanes 0 and 1 write different values to shared memory", NULL},
    {"copied_no_syncwarp", 105, "no __syncwarp between them", NULL},
    {"heap_used_well", 0, NULL, NULL},
    {"mbarrier_announced", 0, NULL, NULL},
    {"warp_sum", 0, NULL, NULL},
    {"flag_of_all", 154, "of the value that another warp wrote", "same_value"},
    {"either_array", 0, NULL, NULL},
    {"reduced", 0, NULL, NULL},
    {"lane_overtaken", 184, "which lane 1 of this warp read: no __syncwarp", NULL},
    {"lane_changes_its_own", 0, NULL, NULL},
    {"sums_round", 207, "write sums to shared memory at 0x400 that differ by rounding", "rounding"},
    {"sums_cancel", 215, "that differ by rounding", "rounding"},
    {"sums_cancel_too_much", 223, "lanes 0 and 1 write different values to shared memory", NULL},
    {"counts_differ", 230, "lanes 0 and 1 write different values to shared memory", NULL},
    {NULL, 0, NULL, NULL},
};

static const struct planted order[] = {
    {"stored_then_added", 11, "races with warp 0", NULL},
    {"volatile_sum", 32, "which lane 2 of this warp wrote: no __syncwarp", NULL},
    {"flag_in_shared", 50, "races with warp 0", NULL},
    {"published_by_another", 65, "races with the write of block 0,0,0", NULL},
    {"barrier_of_forty", 71, "a barrier of 41 threads: the number must be a multiple of 32", "trap"},
    {"barrier_seventeen", 77, "barrier 17: a block has 0 to 15", "trap"},
    {"barrier_of_two_counts", 85, "warp 1 reaches barrier 1 with 128 threads, but other warps with 64", "divergent_barrier"},
    {"lanes_overtaken", 212, "by lane 0, which lane 1 of this warp read: no __syncwarp", NULL},
    {"halves_meet", 0, NULL, NULL},
    {"lanes_change_their_own", 0, NULL, NULL},
    {"quarters_sum", 0, NULL, NULL},
    {"flag_behind_a_fence", 0, NULL, NULL},
    {"flag_released", 0, NULL, NULL},
    {"flag_between_lanes", 0, NULL, NULL},
    {"published_for_all", 0, NULL, NULL},
    {"fenced_by_each", 0, NULL, NULL},
    {NULL, 0, NULL, NULL},
};

static const struct planted one_order[] = {
    /* which half of a warp goes first is the compiler's */
    {"half_meets", 22, "by lane 16, which lane 0 of this warp wrote: no __syncwarp", NULL},
    {NULL, 0, NULL, NULL},
};

static const struct planted async[] = {
    {"load_read_early", 47, "no thread waited for phase", "async_wait"},
    {"load_stale_parity", 63, "no thread waited for phase", "async_wait"},
    {"load_over_readers", 76, "while a bulk copy may be in flight there", "async_wait"},
    {"store_overwritten", 95, "that a bulk copy may still read", "async_wait"},
    {"store_waited_by_another", 114, "that a bulk copy may still read", "async_wait"},
    {"store_no_proxy_fence", 124, "no fence.proxy.async between them", "proxy_fence"},
    {"store_fenced_too_soon", 136, "no fence.proxy.async between them", "proxy_fence"},
    {"store_no_barrier", 144, "that a bulk copy may still read", "async_wait"},
    {"bytes_too_many", 18, "still lacks 0 arrivals and 1024 bytes", "deadlock"},
    {"parity_never", 18, "its current phase 2, of parity 0, still lacks 256 arrivals", "deadlock"},
    {"parity_wrong", 190, "read of shared memory", NULL},
    {"cluster_no_barrier", 198, "races with block", NULL},
    {"cluster_overwrites", 209, "races with block", NULL},
    {"cluster_ends", 219, "of the cluster, which", "ended_block"},
    {"cluster_ends_one", 229, "of the cluster, which", "ended_block"},
    {"cluster_arrives_only", 237, "races with block", NULL},
    {"load_ring", 0, NULL, NULL},
    {"store_ring", 0, NULL, NULL},
    {"store_fenced_by_one", 0, NULL, NULL},
    {"loaded_and_stored", 0, NULL, NULL},
    {"waited_by_one", 0, NULL, NULL},
    {"cluster_sum", 0, NULL, NULL},
    {"cluster_counted", 0, NULL, NULL},
    {"cluster_handed_on", 0, NULL, NULL},
    {"cluster_multicast", 0, NULL, NULL},
    {NULL, 0, NULL, NULL},
};

static const struct planted products[] = {
    {"product_no_proxy_fence", 248, "no fence.proxy.async between them", "proxy_fence"},
    {"product_overwritten", 281, "that wgmma may still read", "async_wait"},
    {"product_of_what_comes", 248, "no thread waited for phase", "async_wait"},
    {"product_given_back", 0, NULL, NULL},
    {NULL, 0, NULL, NULL},
};

static const struct planted pending[] = {
    {"mbarrier_overwritten", 16, "was overwritten: mbarrier.inval must come first", "mbarrier"},
    {"mbarrier_of_another_block", 17, "was initialised by another block", NULL},
    {"store_of_nothing", 63, "bulk copy of shared memory at 0x600 that no thread wrote", "uninitialised"},
    {"store_at_the_end", 75, "waiting for its group", "async_wait"},
    {"cluster_arrives_twice", 82, "again before it has waited", "divergent_barrier"},
    {"mbarrier_given_up", 0, NULL, NULL},
    {"mbarrier_of_another_announced", 0, NULL, NULL},
    {"store_of_gaps", 0, NULL, NULL},
    {"cluster_arrives_early", 0, NULL, NULL},
    {NULL, 0, NULL, NULL},
};

static const struct planted who_is_planted[] = {
    {"reader_overtaken", 51, "races with warp", NULL},
    {"ring_overtaken", 75, ", only up to phase 1", "async_wait"},
    {"bytes_too_few", 88, "expect_tx was too small", "async_wait"},
    {"load_at_the_end", 100, "no thread waited for this copy", "async_wait"},
    {"store_read_back", 114, "no wait for its group, or only with .read", "async_wait"},
    {"store_published_early", 135, "races with the write of block 0,0,0", NULL},
    {"load_no_proxy_fence", 149, "which warp 0 wrote: no fence.proxy.async", "proxy_fence"},
    {"cluster_relaxed", 161, "races with block 1", NULL},
    {"cluster_relaxed_global", 171, "races with the write of block 1,0,0", NULL},
    {"cluster_not_begun", 176, "which may not have started", "ended_block"},
    {"sent_and_overwritten", 196, "that block has not signalled its arrival", "async_wait"},
    {"arrived_for_others", 215, "no __syncwarp between it and the lanes that arrived", NULL},
    {"arrived_and_read", 228, "by lane 0, which lane 31 of this warp wrote", NULL},
    {"store_no_syncwarp", 239, "by lane 0, which lane 1 of this warp wrote", NULL},
    {"store_fenced_for_others", 254, "which warp 0 wrote: no fence.proxy.async", "proxy_fence"},
    {"shuffle_is_no_barrier", 266, "which lane 1 of this warp wrote", NULL},
    {"matrix_no_syncwarp", 274, "of this warp wrote: no __syncwarp", NULL},
    {"halves_of_global", 284, "which lane 16 of this warp wrote", NULL},
    {"freed_by_another", 296, "free of global memory", NULL},
    {"refilled_unread", 519, "that warp 1 may still read", "proxy_fence"},
    {"refilled_unread_by_one", 520, "that warp 1 may still read", "proxy_fence"},
    {"phases_in_turn", 0, NULL, NULL},
    {"waits_for_the_last_alone", 0, NULL, NULL},
    {"store_waited_for", 0, NULL, NULL},
    {"load_behind_a_fence", 0, NULL, NULL},
    {"cluster_relaxed_fenced", 0, NULL, NULL},
    {"cluster_inits_announced", 0, NULL, NULL},
    {"sent_and_answered", 0, NULL, NULL},
    {"arrived_for_all", 0, NULL, NULL},
    {"store_of_one_warp", 0, NULL, NULL},
    {"matrix_of_a_warp", 0, NULL, NULL},
    {"refilled_behind_a_fence", 0, NULL, NULL},
    {"refilled_after_use", 0, NULL, NULL},
    {NULL, 0, NULL, NULL},
};

static const struct planted who_of_products[] = {
    {"product_of_three_warps", 311, "warp 3 has ended without it", "inactive_lane"},
    {NULL, 0, NULL, NULL},
};

static const struct planted misused[] = {
    {"source_overwritten", 44, "while a bulk copy may be reading there", "async_wait"},
    {"source_overwritten_by_others", 60, "while a bulk copy may be reading there", "async_wait"},
    {"copied_source_overwritten", 68, "that cp.async of warp 0 may still read", "cp_async_wait"},
    {"arrives_too_often", 77, "5 arrivals at the mbarrier at shared 0x400, whose phase lacks 3", "mbarrier"},
    {"arrives_while_bytes_lack", 89, "1 arrivals at the mbarrier at shared 0x400, whose phase lacks 0", "mbarrier"},
    {"expects_too_much", 101, "cannot expect 1048576 bytes: the limit is 1048575", "mbarrier"},
    {"waits_for_none", 109, "for 0 arrivals: 1 to 1048575 are possible", "mbarrier"},
    {"given_up_in_use", 121, "is invalidated while warp", NULL},
    {"loaded_from_another", 140, "which block 0,0,0 wrote: no fence.proxy.async", "proxy_fence"},
    {"lanes_write_twice", 150, "which lane 0 of this warp wrote: no __syncwarp", NULL},
    {"written_and_sent", 161, "which lane 1 of this warp wrote: no __syncwarp", NULL},
    {"heap_given_again", 175, "which is already freed", "use_after_free"},
    {"matrices_stored_twice", 377, "of this warp wrote: no __syncwarp between them", NULL},
    {"source_given_back", 0, NULL, NULL},
    {"source_given_back_by_one", 0, NULL, NULL},
    {"copied_source_given_back", 0, NULL, NULL},
    {"some_leave", 0, NULL, NULL},
    {"given_up_behind_a_barrier", 0, NULL, NULL},
    {"fenced_by_the_reader", 0, NULL, NULL},
    {"fenced_by_the_writer", 0, NULL, NULL},
    {"lanes_write_in_turns", 0, NULL, NULL},
    {"written_then_sent", 0, NULL, NULL},
    {"heap_in_turns", 0, NULL, NULL},
    {"product_by_columns", 0, NULL, NULL},
    {"product_by_rows", 0, NULL, NULL},
    {"matrices_stored_alike", 0, NULL, NULL},
    {NULL, 0, NULL, NULL},
};

static const struct planted proxies[] = {
    {"overwritten", 59, "bulk copy to shared memory at 0x410, which warp 0 wrote: no fence.proxy.async", "proxy_fence"},
    {"overwritten_fenced_before", 60, "which warp 0 wrote: no fence.proxy.async", "proxy_fence"},
    {"overwritten_fenced_by_one", 61, "wrote: no fence.proxy.async", "proxy_fence"},
    {"scaled_in_place", 84, "which warp 0 wrote: no fence.proxy.async", "proxy_fence"},
    {"stored_and_arrived", 97, "wrote: no fence.proxy.async", "proxy_fence"},
    {"refilled_by_one_lane", 116, "by lane 0, which other lanes of this warp have read: no __syncwarp", NULL},
    {"stored_by_lanes", 129, "by lane 0, which other lanes of this warp have written: no __syncwarp", NULL},
    {"overwritten_there", 154, "of another block at 0x410, which warp 0 there wrote: no fence.proxy.async", "proxy_fence"},
    {"global_overwritten", 174, "bulk copy to global memory", "proxy_fence"},
    {"global_added_to", 175, "offset 0 of `out`, which warp 0 wrote: no fence.proxy.async", "proxy_fence"},
    {"mbarrier_as_data", 193, "initialised here, was overwritten: mbarrier.inval must come first", "mbarrier"},
    {"released_for_others", 226, "of warp 0, which reads: no __syncwarp between it and the lanes that arrived", NULL},
    {"released_for_others_written", 228, "of warp 0, which reads: no __syncwarp between it and the lanes that arrived", NULL},
    {"released_together", 0, NULL, NULL},
    {"released_together_written", 0, NULL, NULL},
    {"arrived_in_turns", 0, NULL, NULL},
    {"met_in_a_product", 0, NULL, NULL},
    {"mbarrier_given_up_for_data", 0, NULL, NULL},
    {"overwritten_behind_fences", 0, NULL, NULL},
    {"overwritten_behind_a_fence", 0, NULL, NULL},
    {"overwritten_beside", 0, NULL, NULL},
    {"scaled_and_fenced", 0, NULL, NULL},
    {"stored_fenced_and_arrived", 0, NULL, NULL},
    {"refilled_by_one_lane_met", 0, NULL, NULL},
    {"stored_by_lanes_met", 0, NULL, NULL},
    {"overwritten_there_fenced", 0, NULL, NULL},
    {"overwritten_there_fenced_here", 0, NULL, NULL},
    {"global_overwritten_fenced", 0, NULL, NULL},
    {"global_added_to_fenced", 0, NULL, NULL},
    {NULL, 0, NULL, NULL},
};

static void run_one(const char *fixture, const struct planted *p, int threads, int seed, char *told, size_t room)
{
    struct emu_test t;
    static float in[1024], out[2048];
    for (int i = 0; i < 1024; i++)
        in[i] = (float)(i % 13) + 1;
    emu_test_file(&t, fixture, p->kernel);
    emu_set_threads(&t.dev, threads);
    emu_set_seed(&t.dev, seed);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    emu_test_pointer(&t, emu_test_buffer(&t, "out", out, sizeof out));
    t.launch.block[0] = 256;
    t.launch.grid[0] = 4;
    if (emu_test_launch(&t) != !(p->kind && (!strcmp(p->kind, "deadlock") || !strcmp(p->kind, "trap"))))
        fail_msg("%s: %s", p->kernel, t.err.text);
    const struct device_report *r;
    bool note = p->kind && (!strcmp(p->kind, "same_value") || !strcmp(p->kind, "rounding"));
    int n = emu_device.reports(&t.dev, &r), found = 0;
    if (note && n)
        fail_msg("%s: %s", p->kernel, r->text);
    n = note ? emu_notes(&t.dev, &r) : n;
    for (int i = 0; i < n; i++) {
        size_t used = strlen(told);
        snprintf(told + used, room - used, "%d %s %llu %s\n", r[i].line, r[i].kind, (unsigned long long)r[i].count, r[i].text);
        found |= !strcmp(r[i].kind, p->kind ? p->kind : "race") && r[i].line == p->line && strstr(r[i].text, p->text);
    }
    if (p->line ? !found : n > 0)
        fail_msg("%s in %s on %d threads: %s", p->kernel, fixture, threads, n ? told : "nothing was told");
    emu_test_close(&t);
}

static void run_all(const char *fixture, const struct planted *table)
{
    for (const struct planted *p = table; p->kernel; p++) {
        char first[4096] = "", told[4096];
        for (int threads = 1; threads <= 3; threads++) {
            told[0] = 0;
            run_one(fixture, p, threads, 0, told, sizeof told);
            if (threads == 1)
                memcpy(first, told, sizeof first);
            assert_string_equal(first, told);
        }
    }
}
static void every_race(void **state)
{
    run_all("races.ptx", races);
    run_all("races_100.ptx", races);
}
static void what_sanitizers_find(void **state)
{
    run_all("sanitizer.ptx", sanitizer);
    run_all("sanitizer_100.ptx", sanitizer);
}

static void what_orders_nothing(void **state)
{
    run_all("order.ptx", order);
    run_all("order_100.ptx", order);
    run_all("order.ptx", one_order);
}

static void what_is_under_way(void **state)
{
    run_all("async.ptx", async);
    run_all("async_100.ptx", async);
    run_all("async.ptx", products);
    run_all("pending.ptx", pending);
    run_all("pending_100.ptx", pending);
}

static void who_is_told(void **state)
{
    run_all("told.ptx", who_is_planted);
    run_all("told_100.ptx", who_is_planted);
    run_all("told.ptx", who_of_products);
}

static void what_is_misused(void **state)
{
    run_all("misused.ptx", misused);
    run_all("misused_100.ptx", misused);
}

static void what_copies_overwrite(void **state)
{
    run_all("proxies.ptx", proxies);
    run_all("proxies_100.ptx", proxies);
}

/* A seed changes who comes first, not what is found. */
static void another_order(void **state)
{
    static const struct planted found = {"blocks_write", 9, "races with the write of block", NULL},
                                sound = {"behind_a_barrier", 0, NULL, NULL};
    char first[4096] = "";
    int others = 0;
    run_one("races.ptx", &found, 1, 0, first, sizeof first);
    for (int seed = 1; seed <= 4; seed++) {
        char told[4096] = "", again[4096] = "";
        run_one("races.ptx", &found, 1, seed, told, sizeof told);
        run_one("races.ptx", &found, 3, seed, again, sizeof again);
        assert_string_equal(told, again);
        others += strcmp(told, first) != 0;
        told[0] = 0;
        run_one("races.ptx", &sound, 2, seed, told, sizeof told);
    }
    assert_true(others > 0);
}

/* A bulk reduction reads what it adds to. */
static void reduction_reads(void **state)
{
    struct emu_test t;
    float in[4] = {1, 2, 3, 4};
    emu_test_file(&t, "sanitizer.ptx", "reduced");
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    emu_test_pointer(&t, emu_test_buffer(&t, "out", NULL, 64));
    emu_test_run(&t);
    assert_non_null(emu_test_report(&t, "uninitialised"));
    assert_true(emu_test_counter(&t, "emu.unique_bytes_read", 0) == 48); /* in, and the sector that is added to */
    emu_test_close(&t);
}

/* If a launch has more barriers and fences than a tag can count, the report says that the check did not cover its end. With fewer, there is
 * no such note. */
static void too_many_moments(void **state)
{
    static const struct planted sound = {"behind_a_barrier", 0, NULL, NULL};
    for (int k = 0; k < 2; k++) {
        char told[4096] = "", said[256] = "";
        FILE *to = tmpfile();
        fflush(stdout);
        int kept = dup(1);
        assert_true(to && kept >= 0 && dup2(fileno(to), 1) == 1);
        races_set_moments(k ? 6 : 0);
        run_one("races.ptx", &sound, 1, 0, told, sizeof told);
        races_set_moments(0);
        assert_int_equal(dup2(kept, 1), 1);
        close(kept);
        rewind(to);
        char *line = fgets(said, sizeof said, to);
        fclose(to);
        assert_true(k ? line && strstr(said, "behind_a_barrier: too many blocks, barriers and fences") : !line);
    }
}

/* Kernels of one buffer write bytes, then words, then read bytes. The record of reads has room for each of the last, and two blocks that
 * read different halves of a word do not race. */
static void narrower_than_before(void **state)
{
    enum { BYTES = 1 << 20 };
#define KERNEL(name, shift, body) \
    ".visible .entry " name "(.param .u64 a) {\n.reg .pred p;\n.reg .b32 i, n, v;\n.reg .b64 x, y, k;\n" \
    "ld.param.u64 x, [a];\nmov.u32 i, %ctaid.x;\nmov.u32 n, %tid.x;\nshl.b32 i, i, 19;\nshl.b32 n, n, " shift ";\nadd.u32 n, n, i;\n" \
    "cvt.u64.u32 k, n;\nadd.u64 y, x, k;\nmov.u32 n, 0;\n" body "ret;\n}\n"
    static const char ptx[] = PTX_HEAD KERNEL("bytes_written", "0", "st.global.u8 [y], n;\n")
        KERNEL("words_read", "2", "ld.volatile.global.u32 v, [y];\nst.global.u32 [y], v;\n")
            KERNEL("bytes_read", "0",
                   "L:\nld.volatile.global.u8 v, [y];\nadd.u64 y, y, 256;\nadd.u32 n, n, 1;\nsetp.lt.u32 p, n, 2048;\n@p bra L;\n"
                   "sub.u64 y, y, 256;\nst.global.u8 [y], v;\n");
#undef KERNEL
    static const char *const kernels[] = {"bytes_written", "words_read", "bytes_read"};
    struct emu_test t;
    emu_test_text(&t, "narrower", ptx, kernels[0]);
    void *zero = calloc(BYTES, 1);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", zero, BYTES));
    free(zero);
    t.launch.grid[0] = 2;
    t.launch.block[0] = 256;
    for (int i = 0; i < 3; i++) {
        assert_true(emu_device.function(&t.dev, t.module, kernels[i], &t.function, &t.err));
        emu_test_run(&t);
        assert_int_equal(emu_test_reports(&t), 0);
    }
    emu_test_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_race),
                                       cmocka_unit_test(what_sanitizers_find),
                                       cmocka_unit_test(what_orders_nothing),
                                       cmocka_unit_test(what_is_under_way),
                                       cmocka_unit_test(who_is_told),
                                       cmocka_unit_test(what_is_misused),
                                       cmocka_unit_test(what_copies_overwrite),
                                       cmocka_unit_test(another_order),
                                       cmocka_unit_test(reduction_reads),
                                       cmocka_unit_test(too_many_moments),
                                       cmocka_unit_test(narrower_than_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
