/* What code can keep from launch to launch, found in PTX or, without it, in the cubin. The expected references come from data/state.cu;
 * readelf shows that a cubin's variables are local symbols until they are exposed. */
#include "device/compile/compile.h"
#include "device/compile/cubin.h"
#include "device/device.h"
#include "device/ptx/query.h"
#include "base/text.h"
#include "measure/rig/rig.h"
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct compiled compiled_state(const char *define)
{
    struct error err = {0};
    struct compiled c = {0};
    struct compile_request r = {
        .path = "tests/unit/data/state.cu", .label = "test/state", .arch = "sm_90a", .defines = &define, .define_count = define != NULL};
    if (!compile(&r, &c, &err))
        fail_msg("%s", err.text);
    return c;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names, sorted; frees them. */
static void are(char **names, int count, const char *want)
{
    struct text t = {0};
    if (count > 0)
        qsort(names, (size_t)count, sizeof *names, by_name);
    for (int i = 0; i < count; i++) {
        text_addf(&t, "%s%s", i ? " " : "", names[i]);
        free(names[i]);
    }
    free(names);
    assert_string_equal(text_get(&t), want);
    text_free(&t);
}

static void what_code_refers_to(void **state)
{
    struct error err = {0};
    for (int heap = 0; heap < 2; heap++) {
        struct compiled c = compiled_state(heap ? "HEAP=1" : NULL);
        char **names;
        bool asks;
        char *text = xstrndup(c.ptx, c.ptx_bytes);
        int count = ptx_state(text, &names, &asks);
        assert_int_equal(asks, heap);
        are(names, count, "hits kept table"); /* `unused` is there, but no code names it; constants no kernel can write */
        count = cubin_state(c.cubin, c.cubin_bytes, &names, &asks, &err);
        assert_int_equal(asks, heap);
        are(names, count, "hits kept table unused"); /* machine code has a table of addresses of all of them */
        const struct device_image alone = {.label = "kernel", .cubin = c.cubin, .cubin_bytes = c.cubin_bytes};
        struct device_memory *m = rig_scan_image(&alone, &err); /* without a text a rig looks at the machine code */
        assert_true(m && m->heap == heap);
        are(m->names, m->count, "hits kept table unused");
        free(m);
        free(text);
        compiled_free(&c);
    }
}

static void in_text(void **state)
{
    static const char ptx[] = ".visible .global .align 4 .u32 seen;\n.global .attribute(.managed) .align 8 .b8 shared_one[8];\n"
                              ".global .align 8 .u64 chain[1] = {generic(behind)};\n.extern .global .f32 far[];\n"
                              ".global .align 1 .b8 message[3] = {115, 101, 0};\n.global .texref picture;\n"
                              "// .global .u32 remark;\n.const .f32 weights[4];\n"
                              ".visible .entry other(.param .u64 .ptr .global .align 1 given)\n{\nld.param.u64 %rd1, [given];\n}\n"
                              ".visible .entry k(.param .u64 message_param_0)\n{\n.reg .u64 %malloc;\nmov.u64 %rd1, chain;\n"
                              "st.global.f32 [far+4], %f1;\nld.global.u32 %r1, [seen];\nmov.u64 %rd2, shared_one;\n}\n";
    char **names;
    bool heap;
    int count = ptx_state(ptx, &names, &heap);
    are(names, count, "chain far seen shared_one");
    assert_false(heap);
    struct text many = {0}, all = {0}; /* more than there is room for at first, and than at second */
    for (int i = 10; i < 60; i++)
        text_addf(&many, ".global .u32 v%d;\n", i);
    text_add(&many, ".entry k() {");
    for (int i = 10; i < 60; i++) {
        text_addf(&many, " ld.global.u32 %%r1, [v%d];", i);
        text_addf(&all, "%sv%d", i > 10 ? " " : "", i);
    }
    text_add(&many, " }");
    count = ptx_state(text_get(&many), &names, &heap);
    are(names, count, text_get(&all));
    text_free(&many);
    text_free(&all);
    count = ptx_state(".extern .func (.param .b64 r) malloc (.param .b64 n);\n.entry k() { ret; }\n", &names, &heap);
    are(names, count, "");
    assert_false(heap); /* declared, not called */
    count = ptx_state(".entry k() { { call.uni (r), malloc, (n); } }\n", &names, &heap);
    are(names, count, "");
    assert_true(heap);
    count = ptx_state(".global/* */.u32 hidden;\n.entry k() { st.global.u32 [hidden], 1; }\n", &names, &heap);
    are(names, count, "hidden");
    count = ptx_state(".global ;\n.global .align 4 .b8 ;\n.entry k() { ld.global.u32 %r1, [none]; }\n", &names, &heap);
    are(names, count, ""); /* of no name */
    count = ptx_state(".global .u32 v;\n.entry k() { ret; }\n.section .debug_info {\n.b64 v\n}\n", &names, &heap);
    are(names, count, "");                    /* a debugger's table is no code */
    for (size_t n = 0; n < sizeof ptx; n++) { /* every prefix ends */
        char *part = xstrndup(ptx, n);
        count = ptx_state(part, &names, &heap);
        for (int i = 0; i < count; i++)
            free(names[i]);
        free(names);
        free(part);
    }
}

/* Each of the registers by itself; a name that begins alike is another. */
static void launches_are_told_apart(void **state)
{
    assert_string_equal(ptx_launches(".entry k() { mov.u64 %rd1, %gridid; }"), "%gridid");
    assert_string_equal(ptx_launches(".entry k() { mov.u64 %rd1, %current_graph_exec; }"), "%current_graph_exec");
    assert_string_equal(ptx_launches(".entry k() { mov.u32 %r1, %pm0; }"), "%pm0");
    assert_string_equal(ptx_launches(".entry k() { mov.u64 %rd1, %pm6_64; }"), "%pm6_64");
    assert_null(ptx_launches(".entry k() { mov.u32 %pm0_64x, %gridid1; /* %gridid */ mov.u64 %rd1, %clock64; }"));
}

static void made_visible(void **state)
{
    char *text = ptx_expose(".version 8.0\n.global .u32 a;\n.visible .global .u32 b;\n.extern .global .u32 c; // .global\n"
                            ".entry k(.param .u64 .ptr .global g) { ld.global.u32 %r, [a]; }\n.global .f32 d = 1;");
    assert_string_equal(text, ".version 8.0\n.visible .global .u32 a;\n.visible .global .u32 b;\n.extern .global .u32 c; // .global\n"
                              ".entry k(.param .u64 .ptr .global g) { ld.global.u32 %r, [a]; }\n.visible .global .f32 d = 1;");
    free(text);
    text = ptx_expose(".global .u32 one, two[2];\n.shared .u32 s, t;"); /* one word for the whole list */
    assert_string_equal(text, ".visible .global .u32 one, two[2];\n.shared .u32 s, t;");
    free(text);
    text = ptx_expose(".global .u32 first;\n.weak .global .u32 e;\n.common .global .u32 f;"); /* as a text begins, too */
    assert_string_equal(text, ".visible .global .u32 first;\n.weak .global .u32 e;\n.common .global .u32 f;");
    free(text);
}

/* Bindings of the variables, by name; and the bytes of everything but the symbol table. */
static int globals_of(const unsigned char *cubin, const char *name)
{
    Elf64_Ehdr h;
    Elf64_Shdr table, strings;
    memcpy(&h, cubin, sizeof h);
    for (int i = 0; i < h.e_shnum; i++) {
        memcpy(&table, cubin + h.e_shoff + (size_t)i * sizeof table, sizeof table);
        if (table.sh_type == SHT_SYMTAB)
            break;
    }
    memcpy(&strings, cubin + h.e_shoff + table.sh_link * sizeof strings, sizeof strings);
    for (size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        memcpy(&s, cubin + table.sh_offset + i * sizeof s, sizeof s);
        if (!strcmp((const char *)cubin + strings.sh_offset + s.st_name, name))
            return ELF64_ST_BIND(s.st_info);
    }
    return -1;
}

static void exposing_changes_no_code(void **state)
{
    struct compiled c = compiled_state(NULL);
    unsigned char *whole = memcpy(xmalloc(c.cubin_bytes), c.cubin, c.cubin_bytes);
    assert_int_equal(globals_of(whole, "kept"), STB_LOCAL);
    cubin_expose(whole, c.cubin_bytes);
    assert_int_equal(globals_of(whole, "kept"), STB_GLOBAL);
    assert_int_equal(globals_of(whole, "hits"), STB_GLOBAL);
    assert_int_equal(globals_of(whole, "table"), STB_GLOBAL);
    int differ = 0;
    for (size_t i = 0; i < c.cubin_bytes; i++)
        differ += whole[i] != ((unsigned char *)c.cubin)[i];
    assert_int_equal(differ, 4); /* a byte for each variable */
    struct kernel_facts *before, *after;
    assert_int_equal(cubin_read(c.cubin, c.cubin_bytes, &before, NULL), 1);
    assert_int_equal(cubin_read(whole, c.cubin_bytes, &after, NULL), 1);
    assert_string_equal(before->sass_hash, after->sass_hash);
    free(before);
    free(after);
    free(whole);
    compiled_free(&c);
}

/* Any damage is refused or survived. */
static void hostile_bytes(void **state)
{
    struct compiled c = compiled_state(NULL);
    uint64_t random = 88172645463325252ull;
    for (int round = 0; round < 4000; round++) {
        unsigned char *part = memcpy(xmalloc(c.cubin_bytes), c.cubin, c.cubin_bytes);
        size_t bytes = round % 5 ? c.cubin_bytes : (size_t)round * 7 % c.cubin_bytes;
        for (int k = 0; k < 1 + round % 8; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            part[random % (round % 2 ? 64 : c.cubin_bytes)] ^= (unsigned char)(random >> 40);
        }
        unsigned char *exact = memcpy(xmalloc(bytes + 1), part, bytes);
        struct error err = {0};
        char **names;
        bool heap;
        int count = cubin_state(exact, bytes, &names, &heap, &err);
        assert_true(count >= 0 || err.kind != ERROR_NONE);
        for (int i = 0; i < count; i++)
            free(names[i]);
        free(names);
        cubin_expose(exact, bytes);
        free(exact);
        free(part);
    }
    compiled_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_code_refers_to),
                                       cmocka_unit_test(in_text),
                                       cmocka_unit_test(made_visible),
                                       cmocka_unit_test(launches_are_told_apart),
                                       cmocka_unit_test(exposing_changes_no_code),
                                       cmocka_unit_test(hostile_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
