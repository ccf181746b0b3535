/* A stand-in libcupti for the tests of device/cupti_*: built from tests/fake/cupti.cpp into a folder that the loader looks in first. Skips
 * without a C++ compiler or CUDA's headers. */
#ifndef BENCH_TESTS_FAKE_CUPTI_H
#define BENCH_TESTS_FAKE_CUPTI_H

#include "base/text.h"
#include "device/cupti/range.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/fakecuptiXXXXXX";
static bool ready;

static inline int build_fake(void **state)
{
    static const char *const includes[] = {".deps/nvidia/cu13/include", "/usr/local/cuda/include"};
    const char *cxx = getenv("CXX");
    for (int i = 0; i < 2 && !ready; i++) {
        char *header = text_format("%s/cupti_range_profiler.h", includes[i]);
        if (!access(header, R_OK)) {
            if (!mkdtemp(folder))
                return -1;
            char *command = text_format("%s -std=c++17 -shared -fPIC -fno-exceptions -isystem %s -o %s/libcupti.so.13 tests/fake/cupti.cpp",
                                        cxx && *cxx ? cxx : "c++", includes[i], folder);
            ready = system(command) == 0;
            free(command);
        }
        free(header);
    }
    setenv("BENCH_LIBRARY_PATH", folder, 1); /* looked in first */
    return 0;
}

static inline int remove_fake(void **state)
{
    char *file = text_format("%s/libcupti.so.13", folder);
    unlink(file);
    rmdir(folder);
    free(file);
    return 0;
}

static inline void need_fake(void)
{
    static const char *const variables[] = {
        "FAKE_CUPTI",         "FAKE_CUPTI_SUPPORT", "FAKE_CUPTI_DISABLED",     "FAKE_CUPTI_DROP",         "FAKE_CUPTI_LOSE",
        "FAKE_CUPTI_ENDLESS", "FAKE_CUPTI_RENAME",  "FAKE_CUPTI_RECORDS_LOST", "FAKE_CUPTI_SAMPLES_LOST", "FAKE_CUPTI_SASS_LOST"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    if (!ready) {
        fprintf(stderr, "skipped: no C++ compiler or no CUPTI headers to build the stand-in with\n");
        skip();
    }
}

static inline struct cupti_session *open_session(void)
{
    struct cupti_session *s;
    struct error err = {0};
    if (!cupti_session_open((void *)&folder, 0, &s, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(cupti_path(), folder, strlen(folder)); /* the stand-in and not the real one */
    return s;
}

/* Kernels of the counted context. */
static inline void launch_fake(int count)
{
    void (*launch)(void) = NULL;
    const struct cupti_function function = {"fake_cupti_launch", &launch};
    assert_true(cupti_functions(&function, 1, NULL));
    for (int i = 0; i < count; i++)
        launch();
}

static inline bool launch_three(void *context, struct error *err)
{
    launch_fake(3);
    return !context || error_set(err, ERROR_WRONG, "the kernel trapped");
}

#endif
