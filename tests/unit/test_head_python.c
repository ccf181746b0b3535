/* kernel/head/python: several threads ask for kernels of a Python file at once, as in a worker that prepares the next case early. The
 * test's Python is a slow script. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "own_folder.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/head/head.h"
#include "kernel/head/load.h"
#include "kernel/head/python.h"
#include "kernel/variant.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 4, KERNELS = 6 };
/* python3 PROGRAM serve FILE FOLDER: a line `name key request` makes FOLDER/KEY.yaml, then answers with one byte. */
static const char server[] = "#!/bin/sh\necho >>\"$4/started\"\nwhile read -r name key request; do\n  sleep 0.02\n"
                             "  case $request in dies) kill -9 $$;; ends) exit 0;; esac\n"
                             "  printf 'op: softmax\\nwhat: w\\nsource: \"k.ptx\"\\nsteps:\\n  - {kernel: %s, grid: 1, block: 32, args: "
                             "[input, output]}\\n' \"$request\" >\"$4/$key.part\"\n"
                             "  mv \"$4/$key.part\" \"$4/$key.yaml\"\n  printf . >&0\ndone\n";
static const char sidecar[] = "op: softmax\nwhat: w\nsource: \"%s/k.py\"\nsteps:\n  - python: softmax\n";

static const char ptx_text[] = ".version 8.0\n.target sm_80\n.address_size 64\n";

/* Python with the kernels' file in `dir`, whose sidecars are NAME.yaml. */
static void put_files(const char *const *names)
{
    struct error err = {0};
    SCOPED char *python = file_join(dir, "python"), *made = file_join(dir, "made"), *ptx = file_join(dir, "made/k.ptx"),
                *file = file_join(dir, "k.py"), *text = text_format(sidecar, dir);
    assert_true(file_write(python, server, strlen(server), &err));
    for (; *names; names++) {
        SCOPED char *path = text_format("%s/%s.yaml", dir, *names);
        assert_true(file_write(path, text, strlen(text), &err));
    }
    assert_int_equal(chmod(python, 0755), 0);
    assert_true(file_make_dirs(made, &err) && file_write(ptx, ptx_text, strlen(ptx_text), &err) && file_write(file, "", 0, &err));
    setenv("BENCH_PYTHON", python, 1);
}

struct asker {
    pthread_t thread;
    struct variant *v;
    int first, wrong;
    struct error err;
};

static void *ask(void *context)
{
    struct asker *a = context;
    for (int i = 0; i < KERNELS && !a->wrong; i++) {
        const struct variant *made;
        char *reason;
        SCOPED char *request = text_format("k%d", (a->first + i) % (THREADS + KERNELS)); /* neighbours ask for the same ones, too */
        if (!head_python_make(a->v, request, &made, &reason, &a->err) || !made ||
            strcmp(((const struct head *)made->parsed)->steps[0].name, request))
            a->wrong++;
    }
    return NULL;
}

static void threads_ask_at_once(void **state)
{
    struct error err = {0};
    struct asker askers[THREADS];
    put_files((const char *const[]){"softmax", NULL});
    SCOPED char *path = file_join(dir, "softmax.yaml");
    struct variant *v = variant_load(path, "my", &err);
    if (!v)
        fail_msg("%s", err.text);
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (struct asker){.v = v, .first = i};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(askers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        if (askers[i].wrong)
            fail_msg("thread %d: %s", i, askers[i].err.text);
    variant_free(v);
}

static bool makes(const struct variant_set *set, const char *name, const char *request, struct error *err)
{
    const struct variant *made;
    char *reason;
    *err = (struct error){0};
    return head_python_make(variant_exact(set, name), request, &made, &reason, err) && made;
}

/* The kernels of a file ask one process: importing a tool takes seconds. If a kernel crashes it, the others get another one; if a signal to
 * the process group ends it, none is started again. */
static void kernels_of_a_file_share_python(void **state)
{
    struct error err = {0};
    struct variant_set set = {0};
    struct stat st;
    put_files((const char *const[]){"one", "two", NULL});
    SCOPED char *spec = text_format("mine=%s", dir), *started = file_join(dir, "made/started");
    unlink(started);
    if (!variant_set_load((const char *const[]){spec, NULL}, &set, &err))
        fail_msg("%s", err.text);
    assert_true(makes(&set, "mine/one", "r1", &err) && makes(&set, "mine/two", "r2", &err) && makes(&set, "mine/one", "r3", &err));
    assert_int_equal(stat(started, &st), 0);
    assert_int_equal(st.st_size, 1);
    assert_false(makes(&set, "mine/one", "dies", &err));
    assert_non_null(strstr(err.text, "ended before it answered"));
    assert_true(makes(&set, "mine/two", "r4", &err) && makes(&set, "mine/one", "r5", &err));
    assert_true(!stat(started, &st) && st.st_size == 2);
    assert_false(makes(&set, "mine/two", "ends", &err));
    assert_false(makes(&set, "mine/one", "r6", &err));
    assert_int_equal(err.kind, ERROR_INTERRUPTED);
    variant_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_ask_at_once), cmocka_unit_test(kernels_of_a_file_share_python)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
