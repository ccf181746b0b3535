/* base/: against the compiler's own _Float16, published hashes, and hand-written cases. */
#include "base/crash.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/library.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/version.h"
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void half_agrees_with_the_compiler(void **state)
{
    for (uint32_t h = 0; h < 65536; h++) {
        _Float16 g;
        memcpy(&g, &(uint16_t){(uint16_t)h}, 2);
        float f = f16_to_f32((uint16_t)h);
        assert_true(isnan(f) ? isnan((float)g) : f == (float)g);
        if (!isnan(f))
            assert_int_equal(f16_from_f32(f), h);
    }
    uint64_t s = 1;
    for (int i = 0; i < 500000; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        uint32_t bits = (uint32_t)(s >> 32);
        float f;
        memcpy(&f, &bits, 4);
        if (isnan(f))
            continue;
        if ((i & 1) && f != 0 && !isinf(f))
            f = ldexpf(f, -ilogbf(f) + (int)(bits % 50) - 28);
        _Float16 g = (_Float16)f;
        uint16_t want;
        memcpy(&want, &g, 2);
        assert_int_equal(f16_from_f32(f), want);
    }
}

static void sixteen_bit_rounds_once(void **state)
{
    /* 1 + 2^-11 + 2^-40: to float first would tie to even (1), one rounding gives 1 + 2^-10 */
    uint16_t h;
    dtype_set(DTYPE_F16, &h, 0, 1 + 0x1p-11 + 0x1p-40);
    assert_int_equal(h, 0x3c01);
    dtype_set(DTYPE_BF16, &h, 0, 1 + 0x1p-8 + 0x1p-40);
    assert_int_equal(h, 0x3f81);
    dtype_set(DTYPE_BF16, &h, 0, 1 + 0x1p-8);
    assert_int_equal(h, 0x3f80);
    assert_true(isnan(dtype_get(DTYPE_BF16, &(uint16_t){0x7fe5}, 0)));
    assert_true(dtype_holds(DTYPE_F16, -65519) && !dtype_holds(DTYPE_F16, 65520) && dtype_holds(DTYPE_F16, INFINITY));
    assert_true(dtype_holds(DTYPE_I8, -128) && !dtype_holds(DTYPE_I8, -129) && !dtype_holds(DTYPE_I8, 128) && !dtype_holds(DTYPE_I8, NAN));
    assert_true(dtype_holds(DTYPE_U16, 65535) && !dtype_holds(DTYPE_U16, 65536) && !dtype_holds(DTYPE_U32, -1) &&
                dtype_holds(DTYPE_I32, -0x1p31) && !dtype_holds(DTYPE_I32, 0x1p31) && !dtype_holds(DTYPE_U8, INFINITY));
}

/* Each number of an 8-bit float is its own nearest one; half way between two the even one is taken. */
static void eight_bit_floats(void **state)
{
    static const struct {
        enum dtype t;
        uint8_t one, most, least, nan;
        double most_value, least_value;
    } types[] = {{DTYPE_E4M3, 0x38, 0x7e, 1, 0x7f, 448, 0x1p-9}, {DTYPE_E5M2, 0x3c, 0x7b, 1, 0x7e, 57344, 0x1p-16}};
    for (int i = 0; i < 2; i++) {
        enum dtype t = types[i].t;
        uint8_t bits;
        assert_true(dtype_get(t, &types[i].one, 0) == 1 && dtype_get(t, &types[i].most, 0) == types[i].most_value);
        assert_true(dtype_get(t, &types[i].least, 0) == types[i].least_value && isnan(dtype_get(t, &types[i].nan, 0)));
        for (int code = 0; code < types[i].most; code++) {
            uint8_t low = (uint8_t)code, high = (uint8_t)(code + 1), negative = (uint8_t)(code | 0x80);
            double a = dtype_get(t, &low, 0), b = dtype_get(t, &high, 0);
            dtype_set(t, &bits, 0, a);
            assert_int_equal(bits, low);
            dtype_set(t, &bits, 0, -a);
            assert_int_equal(bits, negative);
            dtype_set(t, &bits, 0, (a + b) / 2);
            assert_int_equal(bits, code & 1 ? high : low);
            dtype_set(t, &bits, 0, (a + b) / 2 * (1 + 0x1p-40));
            assert_int_equal(bits, high);
        }
        dtype_set(t, &bits, 0, -INFINITY);
        assert_int_equal(bits, types[i].most | 0x80);
        assert_true(!dtype_holds(t, INFINITY) && dtype_holds(t, types[i].most_value));
    }
    int64_t far = (INT64_C(1) << 52) + 1;
    assert_true(dtype_get(DTYPE_I64, &far, 0) == 0x1p52 + 1 && dtype_parse("u64") == DTYPE_U64 && dtype_holds(DTYPE_BOOL, 1) &&
                !dtype_holds(DTYPE_BOOL, 2));
}

/* The OCP's table of e2m1, two in a byte; ties to even; e8m0 is an exponent. */
static void four_bit_floats(void **state)
{
    static const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    uint8_t packed[8], scale[2];
    for (int code = 0; code < 16; code++) {
        double v = code & 8 ? -values[code & 7] : values[code & 7];
        dtype_set(DTYPE_E2M1, packed, (size_t)code, v);
        assert_true(dtype_get(DTYPE_E2M1, packed, (size_t)code) == v &&
                    !signbit(v) == !signbit(dtype_get(DTYPE_E2M1, packed, (size_t)code)));
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(packed[i], 2 * i | (2 * i + 1) << 4);
    const double between[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 100}, even[] = {0, 1, 1, 2, 2, 4, 4, 6};
    for (size_t i = 0; i < 8; i++) {
        dtype_set(DTYPE_E2M1, packed, 5, between[i]);
        assert_true(dtype_get(DTYPE_E2M1, packed, 5) == even[i] && dtype_get(DTYPE_E2M1, packed, 4) == 2);
    }
    dtype_set(DTYPE_E2M1, packed, 3, NAN);
    assert_true(dtype_get(DTYPE_E2M1, packed, 3) == 6 && !dtype_holds(DTYPE_E2M1, 7) && dtype_holds(DTYPE_E2M1, -6.9));
    assert_true(dtype_size(DTYPE_E2M1, 5) == 3 && dtype_offset(DTYPE_E2M1, 5) == 2 && dtype_inside(DTYPE_E2M1, 5) == 1 &&
                dtype_size(DTYPE_F16, 5) == 10 && dtype_offset(DTYPE_F16, 5) == 10);
    for (int code = 0; code < 255; code++) {
        dtype_set(DTYPE_E8M0, scale, 1, ldexp(1.4, code - 127));
        assert_true(scale[1] == code && dtype_get(DTYPE_E8M0, scale, 1) == ldexp(1, code - 127));
    }
    dtype_set(DTYPE_E8M0, scale, 0, -3);
    assert_true(scale[0] == 129);
    dtype_set(DTYPE_E8M0, scale, 0, NAN);
    assert_true(scale[0] == 255 && isnan(dtype_get(DTYPE_E8M0, scale, 0)) && !dtype_holds(DTYPE_E8M0, 0) &&
                dtype_holds(DTYPE_E8M0, 0x1p-127));
}

static void sha256_is_the_published_one(void **state)
{
    char out[HASH_TEXT];
    hash_bytes("abc", 3, out);
    assert_string_equal(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    char a[HASH_TEXT], b[HASH_TEXT];
    struct hash *h = hash_begin();
    hash_add_text(h, "ab");
    hash_add_text(h, "c");
    hash_end(h, a);
    h = hash_begin();
    hash_add_text(h, "a");
    hash_add_text(h, "bc");
    hash_end(h, b);
    assert_string_not_equal(a, b);
}

/* Long texts go another way: the vectors of FIPS 180-2, and libmd with pieces of every length at every place of a block. */
static void sha256_of_many_blocks(void **state)
{
    enum { MILLION = 1000000 };
    char out[HASH_TEXT], want[HASH_TEXT], *text = xmalloc(MILLION);
    hash_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, out);
    assert_string_equal(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(text, 'a', MILLION);
    hash_bytes(text, MILLION, out);
    assert_string_equal(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    for (int i = 0; i < MILLION; i++)
        text[i] = (char)(i * 31 + i / 256);
    for (size_t first = 0; first < 200; first++) {
        const size_t second = (first * 37) % 331;
        const uint8_t lengths[2][8] = {{(uint8_t)first}, {(uint8_t)second, (uint8_t)(second >> 8)}};
        SHA2_CTX c;
        SHA256Init(&c);
        SHA256Update(&c, lengths[0], 8);
        SHA256Update(&c, (const uint8_t *)text + 1, first);
        SHA256Update(&c, lengths[1], 8);
        SHA256Update(&c, (const uint8_t *)text + 3, second);
        SHA256End(&c, want);
        struct hash *h = hash_begin();
        hash_add(h, text + 1, first);
        hash_add(h, text + 3, second);
        hash_end(h, out);
        assert_string_equal(out, want);
    }
    free(text);
}

static void nearest_word(void **state)
{
    const char *words[] = {"density", "radius", "marks", "values"};
    assert_string_equal(text_nearest("densty", words, 4), "density");
    assert_string_equal(text_nearest("raduis", words, 4), "radius");
    assert_string_equal(text_nearest("value", words, 4), "values");
    assert_null(text_nearest("chocolate", words, 4));
}

static void globs_and_numbers(void **state)
{
    assert_true(text_glob("body_*", "body_1"));
    assert_true(text_glob("*a*b", "xxaxxaxb"));
    assert_false(text_glob("*a*b", "xxaxxaxbc"));
    assert_false(text_glob("", "x"));
    long long i;
    double d;
    assert_true(text_to_int("-12", &i) && i == -12);
    assert_false(text_to_int("99999999999999999999", &i));
    assert_false(text_to_int("1x", &i));
    assert_false(text_to_int("-", &i));
    assert_true(text_to_real("1e-3", &d) && d == 1e-3);
    assert_false(text_to_real("nan", &d));
    assert_false(text_to_real("0x10", &d));
    assert_false(text_to_real("1e999", &d));
}

/* What a terminal or a spreadsheet would obey. */
/* A note of megabytes, of blanks or of none, is read once from end to end. */
static void many_lines_are_one(void **state)
{
    char lines[] = " a b\t c \r\n\r\n  d\n";
    text_one_line(lines);
    assert_string_equal(lines, " a b\t c d ");
    size_t bytes = 16u << 20;
    char *large = malloc(bytes + 1);
    assert_non_null(large);
    for (const char *of = "n \n"; *of; of++) {
        memset(large, *of, bytes);
        large[bytes] = 0;
        text_one_line(large);
        assert_int_equal(strlen(large), *of == '\n' ? 1 : bytes);
        assert_int_equal(large[0], *of == '\n' ? ' ' : *of);
    }
    free(large);
    (void)state;
}

static void hostile_texts_are_only_texts(void **state)
{
    struct text t = {0};
    text_add(&t, "\033 mine ");
    text_add(&t, "a\033[31mb\r\nc\td\re\177f\302\2332Jg\303\251\a\n");
    text_neutralise(&t, 7);
    assert_string_equal(text_get(&t), "\033 mine a?[31mb\r\nc\td?e?f?2Jg\303\251?\n");
    t.len = 0;
    text_add_line(&t, "a\nb\tc\r\nd\033e");
    assert_string_equal(text_get(&t), "a?b?c??d?e");
    static const char *const cells[][2] = {{"=1+2", "'=1+2"},
                                           {"-O3", "'-O3"},
                                           {"+x", "'+x"},
                                           {"@x", "'@x"},
                                           {"'x", "''x"},
                                           {"x=1", "x=1"},
                                           {"", ""},
                                           {"=A1,\"b\"", "\"'=A1,\"\"b\"\"\""},
                                           {"\t=1", "'\t=1"},
                                           {"a,b", "\"a,b\""},
                                           {"\n=1", "\"'\n=1\""}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        t.len = 0;
        text_add(&t, "");
        text_add_csv(&t, cells[i][0]);
        assert_string_equal(text_get(&t), cells[i][1]);
    }
    text_free(&t);
}

/* A list keeps its elements while it grows, and n additions copy at most four n of them, also where each copy costs (sanitizers). */
static void long_lists_are_copied_seldom(void **state)
{
    struct {
        int n, fill[30];
    } *list = NULL, *before = NULL;
    int count = 0, copied = 0, all = 20000;
    for (int i = 0; i < all; i++) {
        size_t room = malloc_usable_size(list);
        before = list;
        APPEND(list, count)->n = i;
        copied += before && malloc_usable_size(list) != room ? i : 0;
    }
    for (int i = 0; i < all; i++)
        assert_int_equal(list[i].n, i);
    assert_int_equal(count, all);
    assert_in_range(copied, 1, 4 * all);
    free(list);
}

static void errors_gain_places(void **state)
{
    struct error err = {0};
    assert_false(error_set(&err, ERROR_USAGE, "axis '%s': no values", "mask"));
    error_where(&err, "%s:%d:%d", "edsr.yaml", 12, 5);
    assert_string_equal(err.text, "edsr.yaml:12:5: axis 'mask': no values");
    assert_int_equal(error_exit_code(err.kind), 2);
    error_at(&err, "edsr.yaml", 12);
    error_where(&err, "bench");
    assert_true(!strcmp(err.file, "edsr.yaml") && err.line == 12);
    for (int k = 0; k < 400; k++)
        error_where(&err, "a very long place that is repeated");
    assert_int_equal(err.text[sizeof err.text - 1], 0);
    error_set(&err, ERROR_INTERNAL, "again: %.20s", err.text); /* its own text as an argument */
    assert_memory_equal(err.text, "again: a very long", 18);
    assert_true(!err.file[0] && !err.line);
}

static void files_are_whole_or_refused(void **state)
{
    struct error err = {0};
    char dir[] = "/tmp/bench-base-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char *path = file_join(dir, "x");
    assert_true(file_write(path, "hello", 5, &err));
    size_t n;
    char *data = file_read(path, 100, &n, &err);
    assert_int_equal(n, 5);
    assert_string_equal(data, "hello");
    free(data);
    assert_null(file_read(path, 4, &n, &err));
    assert_null(file_read(dir, 100, &n, &err));
    assert_null(file_read("/dev/zero", 100, &n, &err));
    SCOPED char **names = NULL;
    assert_int_equal(file_list(dir, "", &names, &err), 1);
    assert_string_equal(names[0], "x");
    free(path);
    char *command = text_format("rm -r %s", dir);
    assert_int_equal(system(command), 0);
    free(command);
}

/* A name that the user gave: what is there stays what it is, and gets the text. */
static void files_are_written_where_their_names_lead(void **state)
{
    struct error err = {0};
    struct stat st;
    char dir[] = "/tmp/bench-base-XXXXXX", got[16] = "";
    assert_non_null(mkdtemp(dir));
    char *file = file_join(dir, "file"), *link = file_join(dir, "link"), *pipe = file_join(dir, "pipe"), *none = file_join(dir, "none"),
         *to_none = file_join(dir, "to_none"), *circle = file_join(dir, "circle"), *data;
    assert_true(!symlink("file", link) && !mkfifo(pipe, 0600) && !symlink(none, to_none) && !symlink("circle", circle));
    assert_true(file_write_named(file, "old and longer", 14, &err) && file_write_named(link, "new", 3, &err));
    assert_true(!lstat(link, &st) && S_ISLNK(st.st_mode));
    assert_string_equal(data = file_read(file, 100, NULL, &err), "new");
    free(data);
    assert_true(file_write_named(to_none, "made", 4, &err));
    assert_string_equal(data = file_read(none, 100, NULL, &err), "made");
    free(data);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_true(file_write_named(pipe, "through", 7, &err));
    assert_int_equal(read(reader, got, sizeof got), 7);
    assert_true(!stat(pipe, &st) && S_ISFIFO(st.st_mode));
    close(reader);
    assert_true(file_write_named("/dev/null", "gone", 4, &err));
    assert_true(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));
    assert_false(file_write_named("/dev/full", "no room", 7, &err));
    assert_int_equal(error_exit_code(err.kind), 5);
    assert_false(file_write_named(circle, "x", 1, &err));
    assert_false(file_write_named(dir, "x", 1, &err));
    assert_int_equal(error_exit_code(err.kind), 2);
    char *descriptor = text_format("/proc/self/fd/%d", reader = open(file, O_RDONLY));
    assert_true(file_write_named(descriptor, "same file", 9, &err)); /* not another one beside it */
    assert_int_equal(read(reader, got, sizeof got), 9);
    close(reader);
    char *all[] = {descriptor, file, link, pipe, none, to_none, circle};
    for (int i = 0; i < 7; i++) {
        unlink(all[i]);
        free(all[i]);
    }
    assert_int_equal(rmdir(dir), 0);
}

static void count_up(void *context, int64_t index, int thread)
{
    __atomic_fetch_add((int64_t *)context, index, __ATOMIC_RELAXED);
}

static void loops_visit_each_index_once(void **state)
{
    for (int threads = 1; threads <= 5; threads++)
        for (int64_t n = 0; n < 200; n += 37) {
            int64_t sum = 0;
            pool_for(n, threads, count_up, &sum);
            assert_int_equal(sum, n * (n - 1) / 2);
        }
}

static void only_thread(void *context, int64_t index, int thread)
{
    assert_int_equal(thread, 0);
    count_up(context, index, thread);
}

static void loop_inside(void *context, int64_t index, int thread)
{
    pool_for(10, 8, only_thread, context);
}

/* A loop in a loop's body has its thread; the next one beside it has them all again. */
static void loops_in_loops(void **state)
{
    int64_t sum = 0;
    pool_for(40, 4, loop_inside, &sum);
    assert_int_equal(sum, 40 * 45);
    loops_visit_each_index_once(state);
}

static void put_file(const char *folder, const char *name, const char *text)
{
    struct error err = {0};
    char *path = file_join(folder, name), *dir = file_dir(path);
    if (!file_make_dirs(dir, &err) || !file_write(path, text, strlen(text), &err))
        fail_msg("%s", err.text);
    free(dir);
    free(path);
}

/* Three installations: a wheel with its header, the system's behind a link, and one without a version. The newest is chosen: 9.9 is older
 * than 9.14, and an installation without a version is older than all. */
static void the_newest_library_is_found(void **state)
{
    char folder[] = "/tmp/bench-test-XXXXXX", path[4096];
    long version;
    assert_non_null(mkdtemp(folder));
    put_file(folder, "site/cudnn/lib/libcudnn.so.9", "x");
    put_file(folder, "site/cudnn/include/cudnn_version.h",
             "#pragma once\n#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 9\n#define CUDNN_PATCHLEVEL 1\n"
             "#define CUDNN_VERSION (CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)\n");
    put_file(folder, "system/libcudnn.so.9.14.0", "x");
    put_file(folder, "silent/libcudnn.so.9", "x");
    char *link = file_join(folder, "system/libcudnn.so.9"), *site = file_join(folder, "site/*/lib"), *system_ = file_join(folder, "system"),
         *silent = file_join(folder, "silent");
    assert_int_equal(symlink("libcudnn.so.9.14.0", link), 0);
    const char *const all[] = {silent, site, system_}, *const two[] = {site, silent};
    assert_true(library_newest(all, 3, "libcudnn.so.9", "cudnn_version.h", path, &version));
    assert_int_equal(version, 9014000);
    assert_string_equal(path, link);
    assert_true(library_newest(two, 2, "libcudnn.so.9", "cudnn_version.h", path, &version));
    assert_int_equal(version, 9009001);
    assert_false(library_newest(two + 1, 1, "libcudnn.so.9", "cudnn_version.h", path, &version));
    char *command = text_format("rm -r %s", folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(link);
    free(site);
    free(system_);
    free(silent);
}

/* BENCH_LIBRARY_PATH names the folder of one library; another that is not there is still the newest that is found. */
static void a_named_folder_is_for_what_it_holds(void **state)
{
    char folder[] = "/tmp/bench-test-XXXXXX";
    struct library libm, lib;
    struct error err = {0};
    assert_non_null(mkdtemp(folder));
    assert_true(library_open(&libm, (const char *const[]){"libm.so.6", NULL}, &err));
    put_file(folder, ".local/lib/python3.9/site-packages/nvidia/x/lib/none", "");
    put_file(folder, "npp/libnppc.so.13", "x");
    char *command = text_format("cp %s %s/.local/lib/python3.9/site-packages/nvidia/x/lib/libtold.so.9.14.0 && cd %s/.local/lib/python3.9/"
                                "site-packages/nvidia/x/lib && ln -s libtold.so.9.14.0 libtold.so.9",
                                libm.path, folder, folder),
         *named = file_join(folder, "npp"), *home = xstrdup(getenv("HOME"));
    assert_int_equal(system(command), 0);
    setenv("HOME", folder, 1);
    setenv("BENCH_LIBRARY_PATH", named, 1);
    bool found = library_open_newest(&lib, (const char *const[]){"libtold.so.9", NULL}, "told_version.h", &err);
    setenv("HOME", home, 1);
    unsetenv("BENCH_LIBRARY_PATH");
    assert_true(found);
    library_close(&lib);
    library_close(&libm);
    free(command);
    command = text_format("rm -r %s", folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(named);
    free(home);
}

static void the_pin_is_the_wheels(void **state)
{
    size_t bytes;
    struct error err = {0};
    char *text = file_read("ci/wheels-gpu.txt", 1 << 16, &bytes, &err);
    assert_non_null(text);
    assert_non_null(strstr(text, "nvidia-cudnn-cu13==" BENCH_CUDNN_PINNED "."));
    free(text);
}

/* A process that dies with $BENCH_BACKTRACE set leaves its calls, and dies of the same signal. */
static void a_crash_leaves_its_stack(void **state)
{
    static const int signals[] = {SIGSEGV, SIGABRT};
    char folder[] = "/tmp/bench-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int status, child = fork();
        if (child == 0) {
            setenv("BENCH_BACKTRACE", folder, 1);
            crash_report();
            raise(signals[i]);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        size_t bytes;
        struct error err = {0};
        char *path = text_format("%s/%d.stack", folder, child), *stack = file_read(path, 1 << 20, &bytes, &err),
             *head = text_format("signal 0x%x\naddress 0x", signals[i]);
        assert_non_null(stack);
        assert_int_equal(strncmp(stack, head, strlen(head)), 0);
        assert_non_null(strstr(stack, "(+0x")); /* a call */
        assert_non_null(strstr(stack, "\nmap\n"));
        assert_int_equal(unlink(path), 0);
        free(head);
        free(stack);
        free(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_agrees_with_the_compiler),
        cmocka_unit_test(sixteen_bit_rounds_once),
        cmocka_unit_test(eight_bit_floats),
        cmocka_unit_test(four_bit_floats),
        cmocka_unit_test(sha256_is_the_published_one),
        cmocka_unit_test(sha256_of_many_blocks),
        cmocka_unit_test(nearest_word),
        cmocka_unit_test(globs_and_numbers),
        cmocka_unit_test(many_lines_are_one),
        cmocka_unit_test(hostile_texts_are_only_texts),
        cmocka_unit_test(long_lists_are_copied_seldom),
        cmocka_unit_test(errors_gain_places),
        cmocka_unit_test(files_are_whole_or_refused),
        cmocka_unit_test(files_are_written_where_their_names_lead),
        cmocka_unit_test(loops_visit_each_index_once),
        cmocka_unit_test(loops_in_loops),
        cmocka_unit_test(the_newest_library_is_found),
        cmocka_unit_test(a_named_folder_is_for_what_it_holds),
        cmocka_unit_test(the_pin_is_the_wheels),
        cmocka_unit_test(a_crash_leaves_its_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
