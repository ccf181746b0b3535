/* Whole scenarios: loaded, expanded for both devices, the network checked. */
#include "fuzz/common.h"
#include "plan/scenario/scenario.h"

void fuzz_one(const uint8_t *data, size_t bytes)
{
    static const char *const kinds[] = {"emu", "cuda"};
    struct error err = {0};
    const char *path = as_file(data, bytes, ".yaml");
    struct scenario *s = scenario_load(path, &err);
    unlink(path);
    if (!s) {
        must_explain(&err);
        return;
    }
    struct scenario_filter filter = {0};
    for (int i = 0; i < 2; i++) {
        struct scenario_case *cases = NULL;
        error_clear(&err);
        int count = scenario_expand(s, kinds[i], &filter, &cases, &err);
        if (count < 0)
            must_explain(&err);
        else
            scenario_cases_free(cases, count);
    }
    scenario_free(s);
}
