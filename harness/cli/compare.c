/* bench compare: two sides, row by row. */
#include "base/text.h"
#include "cli/comparison.h"
#include "gate/asked.h"
#include <stdlib.h>
#include <string.h>

/* Two compilers, A,B: one tree, or two, the first compiled with A and the second with B. Each side's name says its compiler. */
static bool make_sides(const char *const words[2], const struct comparison_arguments *a, struct gate_side *base, struct gate_side *head,
                       struct error *err)
{
    SCOPED char *list = xstrdup(a->side.compiler ? a->side.compiler : "");
    char *comma = strchr(list, ','), *compilers[2] = {list, comma ? comma + 1 : list};
    struct gate_side *sides[2] = {base, head};
    if (comma)
        *comma = 0;
    for (int i = 0; i < 2; i++) {
        struct side_options of = a->side;
        of.compiler = *compilers[i] ? compilers[i] : NULL;
        if (!cli_side(words[i], &of, sides[i], err))
            return false;
        if (comma) {
            char *name = text_format("%s (%s)", sides[i]->name, compilers[i]);
            free(sides[i]->name);
            sides[i]->name = name;
        }
    }
    return true;
}

int cli_compare(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(comparison_arguments_free) struct comparison_arguments a = {0};
    struct option options[COMPARISON_OPTION_COUNT + 2] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    SCOPED_BY(gate_side_free) struct gate_side base = {0};
    SCOPED_BY(gate_side_free) struct gate_side head = {0};
    SCOPED_BY(gate_side_free) struct gate_side aside = {0};
    SCOPED_BY(gate_comparison_free) struct gate_comparison c = {0};
    struct gate_rules rules = {0};
    struct error err = {0};
    int count, code;
    comparison_options(&a, options);
    options[COMPARISON_OPTION_COUNT] =
        (struct option){"--as", 0, OPTION_TEXT, "NAME", "name for the variants of a folder of .cu files; default my", &a.side.as};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    bool compilers = a.side.compiler && strchr(a.side.compiler, ',');
    if (count > 2 || (count < 2 && !compilers))
        return cli_usage(verb, count < 2 ? "which two?" : "two at a time");
    const char *words[2] = {count ? rest[0] : ".", count > 1 ? rest[1] : count ? rest[0] : "."};
    gate_rules_default(&rules);
    bool ok = comparison_finish(&a, verb, argc, argv, &err) && make_sides(words, &a, &base, &head, &err) &&
              gate_asked_check(&a.asked, &base, &head, &err);
    if (ok)
        comparison_set_aside(&a, &base, &head, &aside);
    ok = ok && gate_compare(&base, &head, &rules, a.across || compilers, &c, &err);
    c.not_asked = aside.count;
    if (ok)
        comparison_note_ops(&a, &c);
    ok = ok && comparison_put(&a, &c, NULL, &err);
    return ok ? 0 : cli_fail(&err);
}
