/* compile.c with the real NVRTC (and nvcc where there is one), or skipped with a reason; the cache and the bundles also without. */
#include "base/file.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "device/compile/cubin.h"
#include "device/ptx/query.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/bench-test-compile.XXXXXX";
static bool compiler_present;
static char why_not[256];

static char *write_source(const char *name, const char *text)
{
    struct error err = {0};
    char *path = file_join(folder, name);
    if (!file_write(path, text, strlen(text), &err))
        fail_msg("%s", err.text);
    return path;
}

static const char kernel[] =
    "#include \"part.h\"\n#include <cuda_fp16.h>\n"
    "extern \"C\" __global__ void scale(const __half *x, float *y, int n)\n"
    "{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        y[i] = PART(__half2float(x[i])) * FACTOR;\n}\n";

static struct compile_request request(const char *path)
{
    static const char *const defines[] = {"FACTOR=3.0f"};
    return (struct compile_request){.path = path, .label = "test/scale", .defines = defines, .define_count = 1, .arch = "sm_90a"};
}

static void need(bool present, const char *why)
{
    if (!present) {
        print_message("skipped: %s\n", why);
        skip();
    }
}

static void must(bool ok, const struct error *err)
{
    if (!ok)
        fail_msg("%s", err->text);
}

static int cache_entries(char ***names)
{
    struct error err = {0};
    char *cache = file_join(folder, "cache");
    int n = file_list(cache, ".compiled", names, &err);
    free(cache);
    return n;
}

static void gives_ptx_cubin_and_log(void **state)
{
    need(compiler_present, why_not);
    struct error err = {0};
    struct compiled c;
    char *part = write_source("part.h", "#define PART(v) (v)\n"), *path = write_source("a.cu", kernel);
    struct compile_request r = request(path);
    must(compile(&r, &c, &err), &err);
    assert_false(c.from_cache);
    assert_true(c.seconds > 0);
    assert_int_equal(strlen(c.ptx), c.ptx_bytes);
    assert_non_null(strstr(c.ptx, ".target sm_90a"));
    assert_int_equal(strncmp(c.compiler, "nvrtc 1", 7), 0);
    assert_string_equal(c.arch, "sm_90a");
    struct param p[8];
    assert_int_equal(ptx_signature(c.ptx, "scale", p, 8, NULL, &err), 3);
    struct kernel_facts *facts;
    assert_int_equal(cubin_read(c.cubin, c.cubin_bytes, &facts, &err), 1);
    must(cubin_add_log(c.log, facts, 1, &err), &err); /* cross-check of log and ELF on live output */
    assert_string_equal(facts[0].name, "scale");
    assert_int_equal(facts[0].spill_store_bytes, 0);
    assert_true(facts[0].registers > 0);
    assert_int_equal(facts[0].param_bytes, 20);
    free(facts);
    compiled_free(&c);
    /* Again: the same bytes from the cache. */
    must(compile(&r, &c, &err), &err);
    assert_true(c.from_cache);
    assert_true(c.seconds > 0);
    assert_non_null(strstr(c.ptx, ".target sm_90a"));
    compiled_free(&c);
    free(part);
    free(path);
}

static void every_part_of_the_key_counts(void **state)
{
    need(compiler_present, why_not);
    struct error err = {0};
    struct compiled first, c;
    free(write_source("part.h", "#define PART(v) (v)\n"));
    char *path = write_source("a.cu", kernel);
    struct compile_request r = request(path);
    must(compile(&r, &first, &err), &err);
    static const char *const other[] = {"FACTOR=4.0f"};
    r.defines = other;
    must(compile(&r, &c, &err), &err);
    assert_false(c.from_cache);
    assert_string_not_equal(c.key, first.key);
    compiled_free(&c);
    r = request(path);
    r.arch = "sm_86";
    must(compile(&r, &c, &err), &err);
    assert_false(c.from_cache);
    assert_string_not_equal(c.key, first.key);
    compiled_free(&c);
    r = request(path);
    free(write_source("part.h", "#include \"deeper.h\"\n"));
    free(write_source("deeper.h", "#define PART(v) ((v) + 1.0f)\n"));
    must(compile(&r, &c, &err), &err);
    assert_false(c.from_cache);
    char key[HASH_TEXT];
    memcpy(key, c.key, sizeof key);
    compiled_free(&c);
    free(write_source("deeper.h", "#define PART(v) ((v) + 2.0f)\n")); /* an include of an include */
    must(compile(&r, &c, &err), &err);
    assert_false(c.from_cache);
    assert_string_not_equal(c.key, key);
    assert_non_null(strstr(c.ptx, "0f40000000")); /* 2.0f */
    compiled_free(&c);
    free(write_source("part.h", "#define PART(v) (v)\n"));
    must(compile(&r, &c, &err), &err);
    assert_true(c.from_cache);
    assert_string_equal(c.key, first.key);
    compiled_free(&c);
    compiled_free(&first);
    free(path);
}

static void the_key_does_not_depend_on_the_place(void **state)
{
    need(compiler_present, why_not);
    struct error err = {0};
    struct compiled a, b;
    char *sub = file_join(folder, "elsewhere");
    mkdir(sub, 0700);
    free(write_source("part.h", "#define PART(v) (v)\n"));
    free(write_source("elsewhere/part.h", "#define PART(v) (v)\n"));
    char *path = write_source("a.cu", kernel), *path2 = write_source("elsewhere/a.cu", kernel);
    struct compile_request r = request(path), r2 = request(path2);
    must(compile(&r, &a, &err), &err);
    must(compile(&r2, &b, &err), &err);
    assert_string_equal(a.key, b.key);
    assert_non_null(strstr(b.ptx, "elsewhere/a.cu")); /* but messages name its own file */
    compiled_free(&a);
    compiled_free(&b);
    free(path);
    free(path2);
    free(sub);
}

static void a_damaged_entry_is_compiled_again(void **state)
{
    need(compiler_present, why_not);
    struct error err = {0};
    struct compiled c;
    free(write_source("part.h", "#define PART(v) ((v) * 7.0f)\n"));
    char *path = write_source("damage.cu", kernel), **before, **names;
    int old = cache_entries(&before);
    struct compile_request r = request(path);
    must(compile(&r, &c, &err), &err);
    char *ptx = xstrdup(c.ptx);
    compiled_free(&c);
    int count = cache_entries(&names);
    assert_int_equal(count, old + 1);
    char *entry = NULL;
    for (int i = 0; i < count && !entry; i++) {
        bool known = false;
        for (int k = 0; k < old; k++)
            known = known || strcmp(before[k], names[i]) == 0;
        if (!known)
            entry = text_format("%s/cache/%s", folder, names[i]);
    }
    size_t bytes, positions[] = {0, 20, 100, 400};
    char *good = file_read(entry, 1 << 24, &bytes, &err);
    for (size_t i = 0; i < 6; i++) { /* a flipped bit here and there, cut short, nothing at all */
        char *bad = malloc(bytes);
        memcpy(bad, good, bytes);
        if (i < 4)
            bad[positions[i]] ^= 1;
        must(file_write(entry, bad, i == 4 ? bytes - 1 : i == 5 ? 0 : bytes, &err), &err);
        must(compile(&r, &c, &err), &err);
        assert_false(c.from_cache);
        assert_string_equal(c.ptx, ptx);
        compiled_free(&c);
        must(compile(&r, &c, &err), &err); /* and it was repaired */
        assert_true(c.from_cache);
        compiled_free(&c);
        free(bad);
    }
    free(good);
    free(entry);
    free(ptx);
    free(path);
    free(names);
    free(before);
}

static void errors_carry_the_file_and_line(void **state)
{
    need(compiler_present, why_not);
    struct error err = {0};
    struct compiled c;
    char *path = write_source("wrong.cu", "\n\n\n\n__global__ void k(float *y) { *y = unknown_name; }\n__half f() { cudaFree(0); }");
    struct compile_request r = request(path);
    assert_false(compile(&r, &c, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    SCOPED char *place = text_format("%s(5): error", path);
    if (!strstr(err.text, place) || !strstr(err.text, "unknown_name") ||
        !strstr(err.text, "(the 16-bit types are in <cuda_fp16.h> and <cuda_bf16.h>)") ||
        !strstr(err.text, "nvrtc compiles no host code: put it between #ifndef __CUDACC_RTC__ and #endif"))
        fail_msg("%s", err.text);
    assert_true(!strcmp(err.file, path) && err.line == 5);
    r.arch = "sm_30";
    assert_false(compile(&r, &c, &err));
    assert_true(err.kind == ERROR_ENVIRONMENT && !err.file[0] && !err.line);
    assert_true(strstr(err.text, "sm_30") && strstr(err.text, "sm_90"));
    r.arch = "hopper";
    assert_true(!compile(&r, &c, &err) && err.kind == ERROR_USAGE);
    free(path);
    /* A thousand errors do not push the text over its end. */
    struct text t = {0};
    for (int i = 0; i < 90; i++)
        text_addf(&t, "int f%d() { return some_unknown_name_that_is_long_%d; }\n", i, i);
    path = write_source("many.cu", text_get(&t));
    r = request(path);
    assert_false(compile(&r, &c, &err));
    assert_non_null(strstr(err.text, "more lines)"));
    text_free(&t);
    free(path);
    r = request("/nonexistent/x.cu");
    assert_false(compile(&r, &c, &err));
    assert_non_null(strstr(err.text, "/nonexistent/x.cu"));
}

static void hostile_sources(void **state)
{
    need(compiler_present, why_not);
    struct error err = {0};
    struct compiled c;
    /* An include cycle, an include of a folder, thousands of includes of itself: no hang in our scanner. */
    free(write_source("loop.h", "#pragma once\n#include \"loop.h\"\n#include \"a.cu\"\n#include \"elsewhere\"\n#include MACRO\n"));
    struct text t = {0};
    for (int i = 0; i < 100000; i++)
        text_add(&t, "#if 0\n#include \"loop.h\"\n#endif\n");
    text_add(&t, "extern \"C\" __global__ void k() {}\n");
    char *path = write_source("cycle.cu", text_get(&t));
    struct compile_request r = request(path);
    must(compile(&r, &c, &err), &err);
    compiled_free(&c);
    free(path);
    text_free(&t);
    path = write_source("nul.cu", "x");
    FILE *f = fopen(path, "wb");
    fwrite("int a;\0int b;", 1, 13, f);
    fclose(f);
    r = request(path);
    assert_false(compile(&r, &c, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    free(path);
}

static void bundles_travel(void **state)
{
    need(compiler_present, why_not);
    struct error err = {0};
    struct compiled c, d;
    free(write_source("part.h", "#define PART(v) (v)\n"));
    char *path = write_source("a.cu", kernel), *file = file_join(folder, "plan.bundle");
    struct compile_request r = request(path);
    must(compile(&r, &c, &err), &err);
    must(compile_bundle_write(file, &c, 1, &err) && compile_bundle_use(file, &err), &err);
    must(compile(&r, &d, &err), &err);
    assert_true(d.from_bundle);
    assert_string_equal(d.key, c.key);
    assert_string_equal(d.ptx, c.ptx);
    assert_int_equal(d.cubin_bytes, c.cubin_bytes);
    assert_memory_equal(d.cubin, c.cubin, c.cubin_bytes);
    compiled_free(&d);
    assert_true(compile_bundle_compiler(NULL, d.compiler, sizeof d.compiler) && !strcmp(d.compiler, c.compiler));
    assert_false(compile_bundle_compiler("nvcc", d.compiler, sizeof d.compiler));
    r.compiler = "nvcc:/nonexistent/nvcc"; /* another kind of compiler was asked for: the bundle has none, nor has this machine */
    assert_false(compile(&r, &d, &err));
    assert_non_null(strstr(err.text, "bundle"));
    size_t bytes;
    char *good = file_read(file, 1 << 24, &bytes, &err);
    for (size_t at = 3; at < bytes; at += bytes / 7) {
        good[at] ^= 8;
        must(file_write(file, good, bytes, &err), &err);
        assert_false(compile_bundle_use(file, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        good[at] ^= 8;
    }
    must(file_write(file, good, bytes - 5, &err), &err);
    assert_false(compile_bundle_use(file, &err));
    compile_bundle_close();
    free(good);
    compiled_free(&c);
    free(path);
    free(file);
}

static void *compile_thread(void *argument)
{
    struct error err = {0};
    struct compiled c;
    char *label = argument;
    char *define = text_format("FACTOR=%s.0f", label), *path = file_join(folder, "a.cu");
    const char *defines[] = {define};
    struct compile_request r = {.path = path, .label = label, .defines = defines, .define_count = 1, .arch = "sm_80"};
    bool ok = compile(&r, &c, &err);
    char *want = text_format("%s", label);
    struct kernel_facts *facts = NULL;
    bool right = ok && cubin_read(c.cubin, c.cubin_bytes, &facts, &err) == 1 && cubin_add_log(c.log, facts, 1, &err);
    free(facts);
    free(want);
    free(define);
    free(path);
    compiled_free(&c);
    return right ? argument : NULL;
}

static void threads_compile_at_once(void **state)
{
    need(compiler_present, why_not);
    pthread_t threads[6];
    char labels[6][12];
    free(write_source("part.h", "#define PART(v) (v)\n"));
    free(write_source("a.cu", kernel));
    for (int i = 0; i < 6; i++) {
        snprintf(labels[i], sizeof labels[i], "%d", 11 + i / 2); /* pairs want the same entry */
        assert_int_equal(pthread_create(&threads[i], NULL, compile_thread, labels[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
}

static void need_nvcc(void)
{
    struct error err = {0};
    char version[96];
    need(compile_version("nvcc", version, sizeof version, &err), err.text);
    assert_memory_equal(version, "nvcc 1", 6);
}

static void nvcc_is_another_compiler(void **state)
{
    struct error err = {0};
    struct compiled c;
    need_nvcc();
    free(write_source("part.h", "#define PART(v) (v)\n"));
    char *path = write_source("a.cu", kernel);
    struct compile_request r = request(path);
    r.compiler = "nvcc";
    must(compile(&r, &c, &err), &err);
    struct kernel_facts *facts;
    assert_int_equal(cubin_read(c.cubin, c.cubin_bytes, &facts, &err), 1);
    must(cubin_add_log(c.log, facts, 1, &err), &err);
    assert_int_equal(facts[0].spill_store_bytes, 0);
    assert_non_null(strstr(c.ptx, ".entry scale"));
    free(facts);
    compiled_free(&c);
    must(compile(&r, &c, &err), &err);
    assert_true(c.from_cache);
    compiled_free(&c);
    free(path);
    path = write_source("wrong.cu", "\nvoid f() { unknown_name; }\n");
    r.path = path;
    assert_false(compile(&r, &c, &err));
    assert_true(err.kind == ERROR_USAGE && strstr(err.text, "unknown_name") && !strcmp(err.file, path) && err.line == 2);
    free(path);
}

/* nvcc hands its steps to a shell: neither a value nor a name may be obeyed there. */
static void nvcc_s_shell_gets_no_words_of_ours(void **state)
{
    static const char source[] =
        "extern \"C\" __global__ void k(char *y) { const char *s = VALUE; y[threadIdx.x] = s[threadIdx.x] + N; }\n";
    struct error err = {0};
    struct compiled c;
    need_nvcc();
    char *owned = file_join(folder, "owned"), *path = write_source("shell.cu", source);
    char *values[] = {text_format("VALUE=\"$(touch %s) `touch %s`\"", owned, owned), "N=1'\";touch owned;'\"'0'"};
    struct compile_request r = request(path);
    r.compiler = "nvcc";
    r.defines = (const char *const *)values;
    r.define_count = 2;
    assert_false(compile(&r, &c, &err)); /* N is no C++ */
    values[1] = "N=1";
    must(compile(&r, &c, &err), &err);
    compiled_free(&c);
    assert_false(file_exists(owned));
    free(path);
    r.path = path = write_source("$(touch owned).cu", source);
    assert_false(compile(&r, &c, &err));
    assert_int_equal(error_exit_code(err.kind), 2);
    assert_non_null(strstr(err.text, "$(touch owned)"));
    free(values[0]);
    free(path);
    free(owned);
}

static struct kernel_facts facts_of(const struct compile_request *r, const char *name)
{
    struct error err = {0};
    struct compiled c;
    struct kernel_facts *facts, found = {.registers = -1};
    must(compile(r, &c, &err), &err);
    int count = cubin_read(c.cubin, c.cubin_bytes, &facts, &err);
    must(count >= 0 && cubin_add_log(c.log, facts, count, &err), &err);
    for (int i = 0; i < count; i++)
        if (!strcmp(facts[i].name, name))
            found = facts[i];
    free(facts);
    compiled_free(&c);
    assert_true(found.registers >= 0);
    return found;
}

/* `spills` has __launch_bounds__(64, 32): 32 registers a thread on sm_90. `free_of_bounds` has none. */
static void other_launch_bounds(const char *compiler)
{
    struct error err = {0};
    char version[96];
    if (!compile_version(compiler, version, sizeof version, &err))
        return;
    struct compile_request r = {.path = "tests/unit/data/facts.cu", .label = "test/facts", .arch = "sm_90a", .compiler = compiler};
    struct kernel_facts own = facts_of(&r, "spills");
    assert_int_equal(own.registers, 32);
    assert_true(own.spill_store_bytes > 0 && own.spill_load_bytes > 0);
    r.bounds = (struct compile_bounds){.threads = 64, .blocks = 8, .registers = 128};
    struct kernel_facts loose = facts_of(&r, "spills");
    assert_true(loose.registers > 40 && loose.registers <= 128);
    assert_int_equal(loose.spill_store_bytes, 0);
    r.bounds = (struct compile_bounds){.threads = 64, .blocks = 24, .registers = 40};
    struct kernel_facts tight = facts_of(&r, "spills");
    assert_int_equal(tight.registers, 40);
    assert_true(tight.spill_store_bytes > 0 && tight.spill_store_bytes < own.spill_store_bytes);
    r.bounds = (struct compile_bounds){0};
    assert_int_equal(facts_of(&r, "spills").registers, 32); /* the cache keeps them apart */
    r.path = write_source("free.cu", "extern \"C\" __global__ void free_of_bounds(const float *x, float *y, int n)\n{\n    float a[60];\n"
                                     "    for (int i = 0; i < 60; i++)\n        a[i] = x[i * n + threadIdx.x];\n"
                                     "    for (int k = 0; k < n; k++)\n        for (int i = 0; i < 60; i++)\n            a[i] = a[i] * "
                                     "a[(i + 7) % 60] + a[(i + 1) % 60];\n"
                                     "    for (int i = 0; i < 60; i++)\n        y[i * n + threadIdx.x] = a[i];\n}\n");
    assert_true(facts_of(&r, "free_of_bounds").registers > 60);
    r.bounds = (struct compile_bounds){.threads = 64, .blocks = 24, .registers = 40};
    struct kernel_facts capped = facts_of(&r, "free_of_bounds");
    assert_int_equal(capped.registers, 40); /* by the cap: there are no bounds to replace */
    assert_true(capped.spill_store_bytes > 0);
    free((char *)r.path);
}

/* Spills by line against the cubin's other records: every annotated instruction is a load or a store in some line of that kernel (7 to 19),
 * most of them in the loop (16). */
static void spills_have_lines(void **state)
{
    need(compiler_present, why_not);
    static const char *const compilers[] = {NULL, "nvcc"}, *const archs[] = {"sm_90a", "sm_80"};
    for (int k = 0; k < 4; k++) {
        struct error err = {0};
        char version[96];
        struct compiled c;
        struct kernel_facts *facts;
        struct spill_line *lines;
        struct compile_request r = {
            .path = "tests/unit/data/facts.cu", .label = "test/facts", .arch = archs[k / 2], .compiler = compilers[k % 2]};
        if (!compile_version(r.compiler, version, sizeof version, &err))
            continue;
        must(compile(&r, &c, &err), &err);
        int count = cubin_read(c.cubin, c.cubin_bytes, &facts, &err), sum = 0, wanted = -1;
        for (int i = 0; i < count; i++)
            if (!strcmp(facts[i].name, "spills"))
                wanted = facts[i].spill_instructions;
        int n = cubin_spill_lines(c.cubin, c.cubin_bytes, "spills", "/elsewhere/facts.cu", &lines);
        if (n <= 1 || wanted <= 20)
            fail_msg("%s for %s: %d lines, %d instructions", version, r.arch, n, wanted);
        for (int i = 0; i < n; i++) {
            assert_in_range(lines[i].line, 7, 19);
            sum += lines[i].loads + lines[i].stores;
        }
        assert_int_equal(lines[0].line, 16);
        assert_true(lines[0].loads > 0 && lines[0].stores > 0);
        assert_int_equal(sum, wanted);
        free(lines);
        assert_int_equal(cubin_spill_lines(c.cubin, c.cubin_bytes, "matrix", "facts.cu", &lines), 0);
        assert_int_equal(cubin_spill_lines(c.cubin, c.cubin_bytes, "nothing", "facts.cu", &lines), 0);
        n = cubin_spill_lines(c.cubin, c.cubin_bytes, "spills", "other.cu", &lines); /* nothing is of that file */
        assert_int_equal(n, 1);
        assert_int_equal(lines[0].line, 0);
        free(lines);
        free(facts);
        compiled_free(&c);
    }
}

static void launch_bounds_are_replaced(void **state)
{
    need(compiler_present, why_not);
    other_launch_bounds(NULL);
    other_launch_bounds("nvcc");
}

static void bad_names_and_no_cache(void **state)
{
    struct error err = {0};
    char version[96], note[512];
    assert_false(compile_version("nvrct", version, sizeof version, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_false(compile_version("nvrtc:/nonexistent/lib.so", version, sizeof version, &err));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    assert_non_null(strstr(err.text, "/nonexistent/lib.so"));
    char *cache = file_join(folder, "cache"), *is = compile_cache_folder(note, sizeof note);
    assert_string_equal(is, cache);
    free(is);
    setenv("BENCH_CACHE", "/proc/nothing/here", 1);
    assert_null(compile_cache_folder(note, sizeof note));
    assert_non_null(strstr(note, "/proc/nothing"));
    if (compiler_present) { /* it still compiles, every time anew */
        free(write_source("part.h", "#define PART(v) (v)\n"));
        char *path = write_source("a.cu", kernel);
        struct compile_request r = request(path);
        struct compiled c;
        must(compile(&r, &c, &err), &err);
        assert_false(c.from_cache);
        compiled_free(&c);
        free(path);
    }
    setenv("BENCH_CACHE", cache, 1);
    free(cache);
}

static int set_up(void **state)
{
    struct error err = {0};
    char version[96];
    if (!mkdtemp(folder))
        return -1;
    char *cache = file_join(folder, "cache");
    setenv("BENCH_CACHE", cache, 1);
    free(cache);
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1); /* tests run from the root of the repository */
    compiler_present = compile_version(NULL, version, sizeof version, &err);
    snprintf(why_not, sizeof why_not, "%.250s", err.text);
    return 0;
}

static int tear_down(void **state)
{
    char *command = text_format("rm -rf '%s'", folder);
    int r = system(command);
    free(command);
    return r;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_ptx_cubin_and_log),
        cmocka_unit_test(every_part_of_the_key_counts),
        cmocka_unit_test(the_key_does_not_depend_on_the_place),
        cmocka_unit_test(a_damaged_entry_is_compiled_again),
        cmocka_unit_test(errors_carry_the_file_and_line),
        cmocka_unit_test(hostile_sources),
        cmocka_unit_test(bundles_travel),
        cmocka_unit_test(threads_compile_at_once),
        cmocka_unit_test(nvcc_is_another_compiler),
        cmocka_unit_test(nvcc_s_shell_gets_no_words_of_ours),
        cmocka_unit_test(launch_bounds_are_replaced),
        cmocka_unit_test(spills_have_lines),
        cmocka_unit_test(bad_names_and_no_cache),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
