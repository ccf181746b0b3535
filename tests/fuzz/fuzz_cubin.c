/* Cubins, and compiler logs: the input is both. */
#include "device/compile/cubin.h"
#include "fuzz/common.h"
#include <string.h>

void fuzz_one(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    struct kernel_facts *facts = NULL;
    char **names;
    bool heap;
    int variables = cubin_state(data, bytes, &names, &heap, &err);
    if (variables < 0)
        must_explain(&err);
    for (int i = 0; i < variables; i++)
        free(names[i]);
    free(names);
    void *copy = malloc(bytes + 1);
    if (!copy)
        abort();
    cubin_expose(memcpy(copy, data, bytes), bytes);
    free(copy);
    error_clear(&err);
    int count = cubin_read(data, bytes, &facts, &err);
    if (count < 0) {
        must_explain(&err);
        return;
    }
    char *log = malloc(bytes + 1);
    if (!log)
        abort();
    memcpy(log, data, bytes);
    log[bytes] = '\0';
    error_clear(&err);
    for (int i = 0; i < count; i++) {
        struct spill_line *lines;
        cubin_spill_lines(data, bytes, facts[i].name, "facts.cu", &lines);
        free(lines);
        cubin_factors(data, bytes, facts[i].name);
    }
    if (!cubin_add_log(log, facts, count, &err))
        must_explain(&err);
    free(log);
    free(facts);
}
