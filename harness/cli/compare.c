/* bench compare: two sides, row by row. */
#include "base/text.h"
#include "cli/comparison.h"
#include "gate/asked.h"
#include <time.h>

int cli_compare(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(comparison_arguments_free) struct comparison_arguments a = {0};
    struct option options[COMPARISON_OPTION_COUNT + 2] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    SCOPED_BY(gate_side_free) struct gate_side base = {0};
    SCOPED_BY(gate_side_free) struct gate_side head = {0};
    SCOPED_BY(gate_comparison_free) struct gate_comparison c = {0};
    struct gate_rules rules = {0};
    struct error err = {0};
    int count, code;
    comparison_options(&a, options);
    options[COMPARISON_OPTION_COUNT] =
        (struct option){"--as", 0, OPTION_TEXT, "NAME", "name for the variants of a folder of .cu files; default my", &a.side.as};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count != 2)
        return cli_usage(verb, count < 2 ? "which two?" : "two at a time");
    gate_rules_default(&rules);
    bool ok = comparison_finish(&a, verb, argc, argv, &err) && cli_side(rest[0], &a.side, &base, &err) &&
              cli_side(rest[1], &a.side, &head, &err) && gate_asked_check(&a.asked, &base, &head, &err) &&
              gate_compare(&base, &head, &rules, a.across, &c, &err);
    if (ok)
        comparison_note_ops(&a, &c);
    ok = ok && comparison_put(&a, &c, NULL, &err);
    return ok ? 0 : cli_fail(&err);
}
