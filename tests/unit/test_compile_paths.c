/* paths.c: the cache names an entry by content, and its reader's own paths stand in the PTX, the line table and the messages. */
#include "base/file.h"
#include "device/compile/cubin.h"
#include "device/compile/private.h"
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "own_folder.h"

static const char kernel[] =
    "#include \"part/twice.cuh\"\n#include \"../up.cuh\"\n#include \"theme/shared.cuh\"\n#include <cuda_fp16.h>\n"
    "extern \"C\" __global__ void scale(float *x, __half *h)\n"
    "{\n    int unused;\n    x[threadIdx.x] = shared(twice(x[threadIdx.x])) + up(x[1]);\n    h[0] = __hadd(h[1], h[2]);\n}\n";

static void must(bool ok, const struct error *err)
{
    if (!ok)
        fail_msg("%s", err->text);
}

static void need_compiler(void)
{
    char version[96];
    if (!compile_version(NULL, version, sizeof version, &(struct error){0})) {
        print_message("no NVRTC here: sh ci/setup fetches it\n");
        skip();
    }
}

static void put(const char *root, const char *name, const char *text)
{
    struct error err = {0};
    SCOPED char *path = file_join(root, name), *folder_of_path = file_dir(path);
    must(file_make_dirs(folder_of_path, &err) && file_write(path, text, strlen(text), &err), &err);
}

/* A checkout: a kernel, what it includes, and a kernels/include. */
static char *checkout(const char *name)
{
    char *root = file_join(dir, name);
    put(root, "k/scale.cu", kernel);
    put(root, "k/part/twice.cuh", "__device__ inline float twice(float v)\n{\n    return v * 2.f;\n}\n");
    put(root, "up.cuh", "__device__ inline float up(float v)\n{\n    return v * 3.f + sinf(v);\n}\n");
    put(root, "include/theme/shared.cuh", "__device__ inline float shared(float v)\n{\n    return v / 7.f;\n}\n");
    return root;
}

static void use_cache(const char *name)
{
    SCOPED char *cache = file_join(dir, name);
    setenv("BENCH_CACHE", cache, 1);
}

/* `source` is under the root, or as it is called from the working folder. */
static struct compiled compiled_at(const char *root, const char *source)
{
    struct error err = {0};
    struct compiled c;
    SCOPED char *include = file_join(root, "include"), *whole = *source == '@' ? file_join(root, source + 1) : xstrdup(source);
    must(compile(&(struct compile_request){.path = whole, .label = "test/scale", .include = include, .arch = "sm_90a"}, &c, &err), &err);
    return c;
}

static bool says(const struct compiled *c, const char *text)
{
    return strstr(c->ptx, text) || strstr(c->log, text) || memmem(c->cubin, c->cubin_bytes, text, strlen(text));
}

/* The log without the one figure that differs from run to run. */
static char *lasting_log(const struct compiled *c)
{
    char *copy = xstrdup(c->log), *at = strstr(copy, "Compile time = ");
    if (at)
        at[15] = 0;
    return copy;
}

/* Two entries are the same to a reader: every byte of PTX, the log, the machine code and the line of each instruction. */
static void same_to_a_reader(const struct compiled *a, const struct compiled *b)
{
    assert_string_equal(a->ptx, b->ptx);
    SCOPED char *x = lasting_log(a), *y = lasting_log(b);
    assert_string_equal(x, y);
    const char *files[] = {"scale.cu", "twice.cuh", "up.cuh", "shared.cuh"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct cubin_lines *l = cubin_lines_open(a->cubin, a->cubin_bytes, "scale", files[i]);
        struct cubin_lines *m = cubin_lines_open(b->cubin, b->cubin_bytes, "scale", files[i]);
        assert_true(l && m);
        uint64_t words[2], other[2];
        char inlined[64], inlined_b[64];
        int lines = 0;
        uint64_t at = 0;
        for (; cubin_lines_instruction(l, at, words, inlined, sizeof inlined); at += 16) {
            assert_true(cubin_lines_instruction(m, at, other, inlined_b, sizeof inlined_b));
            assert_memory_equal(words, other, sizeof words);
            assert_string_equal(inlined, inlined_b);
            assert_int_equal(cubin_lines_at(l, at), cubin_lines_at(m, at));
            lines += cubin_lines_at(l, at) > 0;
        }
        assert_false(cubin_lines_instruction(m, at, other, inlined_b, sizeof inlined_b));
        assert_true(lines > 0);
        cubin_lines_close(l);
        cubin_lines_close(m);
    }
}

/* The folders of the line table, as readelf finds them: every section of the moved cubin lies where its header says. */
static void is_sound(const struct compiled *c, const char *root)
{
    Elf64_Ehdr head;
    memcpy(&head, c->cubin, sizeof head);
    assert_true(head.e_shoff + head.e_shnum * sizeof(Elf64_Shdr) <= c->cubin_bytes);
    assert_true(head.e_phoff + head.e_phnum * sizeof(Elf64_Phdr) <= c->cubin_bytes);
    assert_true(head.e_phnum > 0);
    for (unsigned i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, (char *)c->cubin + head.e_shoff + i * sizeof s, sizeof s);
        assert_true(s.sh_type == SHT_NOBITS || s.sh_offset + s.sh_size <= c->cubin_bytes);
        if (s.sh_type != SHT_NOBITS && s.sh_addralign > 1)
            assert_int_equal(s.sh_offset % s.sh_addralign, 0);
    }
    for (unsigned i = 0; i < head.e_phnum; i++) { /* a loaded range begins where a section begins, or with the table itself */
        Elf64_Phdr p;
        memcpy(&p, (char *)c->cubin + head.e_phoff + i * sizeof p, sizeof p);
        bool found = p.p_offset == head.e_phoff || !p.p_filesz;
        for (unsigned k = 0; k < head.e_shnum; k++) {
            Elf64_Shdr s;
            memcpy(&s, (char *)c->cubin + head.e_shoff + k * sizeof s, sizeof s);
            found = found || s.sh_offset == p.p_offset;
        }
        assert_true(found);
    }
    SCOPED char *k = text_format("%s/k", root), *theme = text_format("%s/include/theme", root);
    assert_non_null(memmem(c->cubin, c->cubin_bytes, k, strlen(k) + 1));
    assert_non_null(memmem(c->cubin, c->cubin_bytes, theme, strlen(theme) + 1));
}

static void a_second_checkout_compiles_nothing(void **state)
{
    need_compiler();
    static const char *const names[] = {"one", "another/in/a/folder/that/is/far/longer/so/that/the/line/table/has/to/grow", "3"};
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            if (from == to)
                continue;
            SCOPED char *a = checkout(names[from]), *b = checkout(names[to]), *fresh = text_format("fresh%d%d", from, to);
            SCOPED char *shared = text_format("shared%d%d", from, to);
            use_cache(shared);
            struct compiled first = compiled_at(a, "@k/scale.cu"), second = compiled_at(b, "@k/scale.cu");
            assert_false(first.from_cache);
            assert_true(second.from_cache);
            SCOPED char *others = text_format("%s/", a);
            assert_true(says(&first, others));
            assert_false(says(&second, others));
            use_cache(fresh);
            struct compiled own = compiled_at(b, "@k/scale.cu");
            assert_false(own.from_cache);
            same_to_a_reader(&own, &second);
            is_sound(&second, b);
            compiled_free(&first);
            compiled_free(&second);
            compiled_free(&own);
        }
}

/* A source that is called from the working folder: PTX and line table are absolute, messages as it was called. */
static void a_relative_name_is_the_readers(void **state)
{
    need_compiler();
    SCOPED char *a = checkout("relative"), *b = checkout("relative/deeper/still"), *before = getcwd(NULL, 0), *k = file_join(b, "k");
    use_cache("shared-relative");
    assert_int_equal(chdir(a), 0);
    struct compiled first = compiled_at(a, "k/scale.cu");
    assert_false(first.from_cache);
    assert_non_null(strstr(first.log, "k/scale.cu(7): warning"));
    static const char *const called[] = {"k/scale.cu", "scale.cu", "@k/scale.cu", "./scale.cu"};
    for (int i = 0; i < 4; i++) {
        SCOPED char *fresh = text_format("fresh-relative%d", i);
        assert_int_equal(chdir(i % 2 ? k : b), 0);
        use_cache("shared-relative");
        struct compiled second = compiled_at(b, called[i]);
        use_cache(fresh);
        struct compiled own = compiled_at(b, called[i]);
        assert_true(second.from_cache);
        assert_false(own.from_cache);
        same_to_a_reader(&own, &second);
        compiled_free(&second);
        compiled_free(&own);
    }
    compiled_free(&first);
    assert_int_equal(chdir(before), 0);
}

static void a_changed_include_is_a_miss(void **state)
{
    need_compiler();
    static const char *const changed[] = {"k/part/twice.cuh", "up.cuh", "include/theme/shared.cuh"};
    static const char *const name[] = {"twice", "up", "shared"};
    SCOPED char *a = checkout("unchanged");
    use_cache("shared-changed");
    struct compiled first = compiled_at(a, "@k/scale.cu");
    for (int i = 0; i < 3; i++) {
        SCOPED char *where = text_format("changed%d", i), *b = checkout(where);
        SCOPED char *text = text_format("__device__ inline float %s(float v)\n{\n    return v * 11.f;\n}\n", name[i]);
        put(b, changed[i], text);
        struct compiled second = compiled_at(b, "@k/scale.cu");
        assert_false(second.from_cache);
        assert_string_not_equal(first.key, second.key);
        compiled_free(&second);
    }
    compiled_free(&first);
}

/* Code that holds its path cannot be another reader's. */
static void a_path_in_the_code_is_not_shared(void **state)
{
    need_compiler();
    static const char text[] = "#include <cstdio>\nextern \"C\" __global__ void scale()\n{\n    printf(\"%s\", __FILE__);\n}\n";
    SCOPED char *a = checkout("file-one"), *b = checkout("file-two");
    put(a, "k/scale.cu", text);
    put(b, "k/scale.cu", text);
    use_cache("shared-file");
    struct compiled first = compiled_at(a, "@k/scale.cu"), second = compiled_at(b, "@k/scale.cu"), again = compiled_at(a, "@k/scale.cu");
    assert_false(first.from_cache);
    assert_false(second.from_cache);
    assert_true(again.from_cache);
    assert_true(says(&second, "file-two/k/scale.cu"));
    assert_false(says(&second, "file-one"));
    assert_false(says(&again, "file-two"));
    compiled_free(&first);
    compiled_free(&second);
    compiled_free(&again);
}

/* Processes of two checkouts write and read one entry at once; each gets its own paths, and nothing is left half written. */
static void processes_share_an_entry(void **state)
{
    need_compiler();
    char *roots[] = {checkout("process-one"), checkout("process-two-with-a-longer-name")};
    use_cache("shared-processes");
    SCOPED char *cache = file_join(dir, "shared-processes");
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        fflush(NULL);
        children[i] = fork();
        if (children[i])
            continue;
        const char *mine = roots[i % 2], *other = roots[1 - i % 2];
        for (int round = 0; round < 6; round++) {
            SCOPED char **names = NULL;
            int n = round < 4 ? file_list(cache, ".compiled", &names, NULL) : 0; /* the first rounds compile again and again */
            for (int k = 0; k < n; k++) {
                SCOPED char *path = file_join(cache, names[k]);
                unlink(path);
            }
            struct compiled c = {0};
            SCOPED char *include = file_join(mine, "include"), *source = file_join(mine, "k/scale.cu");
            if (!compile(&(struct compile_request){.path = source, .label = "x", .include = include, .arch = "sm_90a"}, &c, NULL) ||
                !says(&c, mine) || says(&c, other))
                _exit(1);
        }
        _exit(0);
    }
    for (int i = 0; i < 4; i++) {
        int status = -1;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    SCOPED char **names = NULL;
    int n = file_list(cache, "", &names, NULL), entries = 0;
    for (int i = 0; i < n; i++) {
        entries += text_ends(names[i], ".compiled");
        assert_true(text_ends(names[i], ".compiled") || text_ends(names[i], ".compiler"));
    }
    assert_int_equal(entries, 1);
    free(roots[0]);
    free(roots[1]);
}

static void a_bundle_has_the_readers_paths(void **state)
{
    need_compiler();
    struct error err = {0};
    SCOPED char *a = checkout("bundle-one"), *b = checkout("bundle-two-is-longer"), *path = file_join(dir, "bundle");
    use_cache("shared-bundle");
    struct compiled first = compiled_at(a, "@k/scale.cu");
    must(compile_bundle_write(path, &first, 1, &err) && compile_bundle_use(path, &err), &err);
    struct compiled second = compiled_at(b, "@k/scale.cu");
    compile_bundle_close();
    assert_true(second.from_bundle);
    assert_false(says(&second, "bundle-one"));
    is_sound(&second, b);
    compiled_free(&first);
    compiled_free(&second);
}

/* A damaged cubin, whose checksum says nothing since a bundle is anybody's, is moved or refused; sanitizers watch. */
static void hostile_cubins(void **state)
{
    need_compiler();
    SCOPED char *a = checkout("hostile");
    use_cache("shared-hostile");
    struct compiled whole = compiled_at(a, "@k/scale.cu");
    static const char longer[] = "/\n/a/very/long/folder/in/which/another/reader/has/the/same/kernel/scale.cu\n/include\n/host\n/cuda";
    uint32_t random = 7;
    for (int i = 0; i < 3000; i++) {
        struct compiled c = {
            .ptx = xstrdup(whole.ptx), .ptx_bytes = whole.ptx_bytes, .log = xstrdup(whole.log), .paths = xstrdup(whole.paths)};
        c.cubin_bytes = i % 3 ? whole.cubin_bytes : (random >> 8) % whole.cubin_bytes;
        c.cubin = xmalloc(c.cubin_bytes + 1);
        memcpy(c.cubin, whole.cubin, c.cubin_bytes);
        Elf64_Ehdr head;
        memcpy(&head, whole.cubin, sizeof head);
        for (int k = 0; k < 1 + i % 4; k++) {
            random = random * 1664525 + 1013904223;
            size_t places[] = {0, head.e_shoff, 0}, rooms[] = {sizeof head, head.e_shnum * sizeof(Elf64_Shdr), whole.cubin_bytes};
            size_t at = places[i % 3] + (random >> 7) % rooms[i % 3];
            if (at < c.cubin_bytes)
                ((unsigned char *)c.cubin)[at] = (unsigned char)(random >> 24);
        }
        paths_bound(&c);
        paths_move(&c, longer);
        compiled_free(&c);
    }
    compiled_free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_checkout_compiles_nothing),
        cmocka_unit_test(a_relative_name_is_the_readers),
        cmocka_unit_test(a_changed_include_is_a_miss),
        cmocka_unit_test(a_path_in_the_code_is_not_shared),
        cmocka_unit_test(processes_share_an_entry),
        cmocka_unit_test(a_bundle_has_the_readers_paths),
        cmocka_unit_test(hostile_cubins),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
