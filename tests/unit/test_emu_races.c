/* Races in global memory of tests/emu/races.cu are told at their line, with the same words for any number of threads of the host; honest
 * kernels that look like them give no report. Both code generators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"

static const struct planted {
    const char *kernel;
    int line; /* 0: honest */
    const char *text;
} table[] = {
    {"blocks_write", 9, "offset 0 of `out`, races with the write of block 0,0,0"},
    {"in_place", 14, "races with the read of block"},
    {"warps_read", 21, "races with the write of warp"},
    {"warps_write", 25, "races with the write of warp 0"},
    {"last_block_no_fence", 36, "races with the write of block 0,0,0"},
    {"set_and_add", 41, "races with the atomic of block 0,0,0"},
    {"atomics_of_the_block", 47, "races with the atomic of block 0,0,0"},
    {"lanes_write", 51, "lanes 0 and 1 write different values to global memory"},
    {"flag_no_fence", 63, "races with the write of block 0,0,0"},
    {"read_of_a_counter", 68, "atomic on global memory"},
    {"same_value", 0, NULL},
    {"behind_a_barrier", 0, NULL},
    {"last_block", 0, NULL},
    {"last_block_all_fence", 0, NULL},
    {"flag_with_fences", 0, NULL},
    {"words_with_flags", 0, NULL},
    {"release_acquire", 0, NULL},
    {"bytes_side_by_side", 0, NULL},
    {"counted", 0, NULL},
    {"added_in_place", 0, NULL},
};

static void run_one(const char *fixture, const struct planted *p, int threads, char *told, size_t room)
{
    struct emu_test t;
    static float in[1024], out[2048];
    for (int i = 0; i < 1024; i++)
        in[i] = (float)(i % 13) + 1;
    emu_test_file(&t, fixture, p->kernel);
    emu_set_threads(&t.dev, threads);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    emu_test_pointer(&t, emu_test_buffer(&t, "out", out, sizeof out));
    t.launch.block[0] = 256;
    t.launch.grid[0] = 4;
    emu_test_run(&t);
    const struct device_report *r;
    int n = emu_device.reports(&t.dev, &r), found = 0;
    for (int i = 0; i < n; i++) {
        size_t used = strlen(told);
        snprintf(told + used, room - used, "%d %s %llu %s\n", r[i].line, r[i].kind, (unsigned long long)r[i].count, r[i].text);
        found |= !strcmp(r[i].kind, "race") && r[i].line == p->line && strstr(r[i].text, p->text);
    }
    if (p->line ? !found : n > 0)
        fail_msg("%s in %s on %d threads: %s", p->kernel, fixture, threads, n ? told : "nothing was told");
    emu_test_close(&t);
}

static void every_race(void **state)
{
    static const char *const fixtures[] = {"races.ptx", "races_100.ptx"};
    for (size_t f = 0; f < 2; f++)
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            char first[4096] = "", told[4096];
            for (int threads = 1; threads <= 3; threads++) {
                told[0] = 0;
                run_one(fixtures[f], &table[i], threads, told, sizeof told);
                if (threads == 1)
                    memcpy(first, told, sizeof first);
                assert_string_equal(first, told);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_race)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
