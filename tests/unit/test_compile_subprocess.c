/* subprocess.c: a request gets its own code, whatever its process compiled before. If a compiler process dies, the error is as for one in
 * this process. Needs NVRTC. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define TURNS 40
#define CONFIGURATIONS 2

static bool compiler_present;
static const char *const naive[] = {"BLOCK=16",    "NHWC=1",      "FILTER=RSCK", "INPUT_T=float",   "OUTPUT_T=float",   "EPI_BIAS=0",
                                    "EPI_SLOPE=0", "EPI_PRELU=0", "PAD_MORE=0",  "STRIDE_ACROSS=0", "DILATION_ACROSS=0"};

static void need_compiler(void)
{
    if (!compiler_present) {
        print_message("skipped: no NVRTC here\n");
        skip();
    }
}

/* general_tiled is the kernel whose code NVRTC 13.0 was seen to write in several ways: 5 of 60 in one process. */
static void a_request_s_code_is_its_own(void **state)
{
    static const char *const defines[CONFIGURATIONS][20] = {
        {"TX=32", "TY=8", "PX=2", "KB=8", "CC=2", "NHWC=1", "WHOLE=1", "FILTER=KRSC", "INPUT_T=__half", "OUTPUT_T=__half", "EPI_BIAS=0",
         "EPI_SLOPE=1", "R=3", "S=3", "STRIDE_Y=1", "STRIDE_X=1", "DILATION_Y=1", "DILATION_X=1", "PAD_MORE=0"},
        {"TX=32", "TY=8", "PX=2", "KB=8", "CC=2", "NHWC=1", "WHOLE=1", "FILTER=KRSC", "INPUT_T=__half", "OUTPUT_T=__half", "EPI_BIAS=1",
         "EPI_SLOPE=0", "R=3", "S=3", "STRIDE_Y=1", "STRIDE_X=1", "DILATION_Y=1", "DILATION_X=1", "PAD_MORE=0"}};
    need_compiler();
    char first[CONFIGURATIONS][HASH_TEXT] = {{0}}, now[HASH_TEXT], *path = file_share("kernels/variants/conv2d/general_tiled.cu");
    for (int i = 0; i < TURNS; i++) {
        int k = i % CONFIGURATIONS;
        struct error err = {0};
        struct compiled c;
        struct compile_request r = {
            .path = path, .label = "conv2d/general_tiled", .defines = defines[k], .define_count = 19, .arch = "sm_90a", .ptx_only = true};
        if (!compile(&r, &c, &err))
            fail_msg("%s", err.text);
        assert_false(c.from_cache); /* else nothing is compared */
        hash_bytes(c.ptx, c.ptx_bytes, now);
        compiled_free(&c);
        if (i < CONFIGURATIONS)
            memcpy(first[k], now, sizeof now);
        else if (strcmp(first[k], now))
            fail_msg("compilation %d of %d gave other PTX than compilation %d", i + 1, TURNS, k + 1);
    }
    free(path);
}

/* PTX alone is the PTX that is written beside machine code, and an entry without machine code answers no request for it. */
static void ptx_alone(void **state)
{
    static const struct {
        bool ptx_only, from_cache;
    } asked[] = {{true, false}, {true, true}, {false, false}, {false, true}, {true, true}};
    struct error err = {0};
    struct compiled c;
    need_compiler();
    char *path = file_share("kernels/variants/conv2d/naive.cu"), *first = NULL, folder[] = "/tmp/bench-test-ptx.XXXXXX";
    struct compile_request r = {.path = path, .label = "conv2d/naive", .defines = naive, .define_count = 11, .arch = "sm_90a"};
    assert_non_null(mkdtemp(folder));
    setenv("BENCH_CACHE", folder, 1);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        r.ptx_only = asked[i].ptx_only;
        if (!compile(&r, &c, &err))
            fail_msg("%s", err.text);
        assert_int_equal(c.from_cache, asked[i].from_cache);
        assert_int_equal(c.cubin != NULL, i >= 2); /* from then on it is there */
        first = first ? first : xstrdup(c.ptx);
        assert_string_equal(c.ptx, first);
        compiled_free(&c);
    }
    setenv("BENCH_CACHE", "/proc/none", 1);
    file_remove_flat(folder);
    free(first);
    free(path);
}

/* A macro of the head's that breaks the compiler's own templates is named; others are not. */
static void a_taken_name_is_told(void **state)
{
    static const char *const defines[] = {"UNUSED=1", "T=float"};
    struct error err = {0};
    struct compiled c;
    need_compiler();
    char *path = file_share("kernels/variants/conv2d/general_tiled.cu");
    struct compile_request r = {.path = path, .label = "k", .defines = defines, .define_count = 2, .arch = "sm_90a"};
    assert_false(compile(&r, &c, &err));
    assert_non_null(strstr(err.text, ":\n(T, which the head defines, is also a name in the compiler's headers: use a longer name)\n"));
    r.define_count = 1;
    assert_false(compile(&r, &c, &err)); /* without what its head gives it */
    assert_null(strstr(err.text, "compiler's headers"));
    free(path);
}

/* What a process of ours that ended so is taken for. */
static int end_of(void (*body)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(99);
    }
    waitpid(child, &status, 0);
    return status;
}

/* A compiler's stack that runs over: a source nested without end, or a stand-in, as newer ones may bear it. */
static void crash_compiler(void)
{
    struct text t = {0};
    struct error err = {0};
    struct compiled c;
    char path[] = "/tmp/bench-test-apart.XXXXXX";
    int file = mkstemp(path);
    for (int i = 0; i < 300000; i++)
        text_add(&t, "(");
    char *source = text_format("__device__ int x = %s1;\n", text_get(&t));
    if (file >= 0 && write(file, source, strlen(source)) > 0) {
        struct compile_request r = {.path = path, .label = "deep", .arch = "sm_90a"};
        compile(&r, &c, &err);
    }
    unlink(path);
    _exit(err.kind == ERROR_USAGE ? 98 : 97);
}

static void a_compiler_s_end_is_its_caller_s(void **state)
{
    need_compiler();
    int status = end_of(crash_compiler);
    if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) && !(WIFEXITED(status) && WEXITSTATUS(status) == 98))
        fail_msg("status %x", (unsigned)status);
}

/* Loads a library that has the driver's name: glibc's empty libpthread with another soname. */
static bool load_driver(const char *folder)
{
    static const char was[] = "libpthread.so.0", is[sizeof was] = "libcuda.so.1";
    size_t bytes;
    struct error err = {0};
    char *data = file_read("/lib/x86_64-linux-gnu/libpthread.so.0", 1 << 22, &bytes, &err), *path = file_join(folder, is);
    for (size_t i = 0; data && i + sizeof was <= bytes; i++)
        if (!memcmp(data + i, was, sizeof was))
            memcpy(data + i, is, sizeof is);
    bool ok = data && file_write(path, data, bytes, &err) && dlopen(path, RTLD_NOW) && dlopen(is, RTLD_NOW | RTLD_NOLOAD);
    free(data);
    free(path);
    return ok;
}

/* A process with a driver has its code compiled in one without: the entry in the cache is then good for every process. */
static void a_driver_changes_no_code(void **state)
{
    struct error err = {0};
    struct compiled c;
    int status = 0;
    need_compiler();
    char *path = file_share("kernels/variants/conv2d/naive.cu"), *dir = file_dir(file_self()), *bench = file_join(dir, "../../bench"),
         folder[] = "/tmp/bench-test-driver.XXXXXX";
    struct compile_request r = {.path = path, .label = "conv2d/naive", .defines = naive, .define_count = 11, .arch = "sm_90a"};
    bool built = !access(bench, X_OK);
    assert_non_null(mkdtemp(folder));
    setenv("BENCH_CACHE", folder, 1);
    fflush(NULL);
    pid_t child = built ? fork() : -1;
    if (child == 0)
        _exit(!load_driver(folder) ? 77 : compile(&r, &c, &err) && !c.from_cache && c.ptx_bytes ? 0 : 1);
    if (built)
        waitpid(child, &status, 0);
    bool same = built && !status && compile(&r, &c, &err) && c.from_cache;
    setenv("BENCH_CACHE", "/proc/none", 1);
    file_remove_flat(folder);
    free(path);
    free(dir);
    free(bench);
    if (!built || (WIFEXITED(status) && WEXITSTATUS(status) == 77)) {
        print_message("skipped: no ./bench, or no libpthread that could stand for a driver\n");
        skip();
    }
    if (status)
        fail_msg("the process with a driver ended with status %x: %s", (unsigned)status, err.text);
    assert_true(same);
    compiled_free(&c);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_s_code_is_its_own),
        cmocka_unit_test(ptx_alone),
        cmocka_unit_test(a_taken_name_is_told),
        cmocka_unit_test(a_driver_changes_no_code),
        cmocka_unit_test(a_compiler_s_end_is_its_caller_s),
    };
    struct error err = {0};
    char version[96];
    setenv("BENCH_CACHE", "/proc/none", 1); /* no cache: each time it is compiled */
    compiler_present = compile_version(NULL, version, sizeof version, &err);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
