/* bench gate: fails if a row became slower or wrong, or is missing. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "cli/comparison.h"
#include "gate/asked.h"
#include "gate/document.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What GitHub shows on the page of a run is added to a file that it names. */
static bool put_summary(const struct gate_comparison *c, const int *exit_code, struct error *err)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    SCOPED_TEXT t = {0};
    struct document d = {0};
    bool ok = true;
    if (!path || !*path)
        return true;
    gate_document(&d, c, exit_code);
    form_markdown.write(&t, &d, &(struct report_style){0});
    FILE *f = fopen(path, "a");
    ok = f && fwrite(text_get(&t), 1, t.len, f) == t.len;
    ok = f && fclose(f) == 0 && ok;
    document_free(&d);
    return ok || error_set(err, ERROR_ENVIRONMENT, "%s: cannot be written", path);
}

static bool put_ci(const struct comparison_arguments *a, const struct gate_comparison *c, const int *exit_code, struct error *err)
{
    const char *github = getenv("GITHUB_ACTIONS");
    struct text t = {0};
    bool ok = put_summary(c, exit_code, err);
    if (ok && (a->annotate || (github && !strcmp(github, "true")))) {
        gate_annotations(&t, c);
        cli_print(&t);
        text_free(&t);
    }
    if (ok && a->junit) {
        gate_junit(&t, c);
        ok = file_write_named(a->junit, text_get(&t), t.len, err);
        text_free(&t);
    }
    return ok;
}

/* On a GPU two trees are the two sides of one run. */
static bool make_sides(const struct comparison_arguments *a, const struct gate_rules *rules, struct gate_side *base, struct gate_side *head,
                       struct error *err)
{
    const char *const words[] = {a->against, a->head};
    bool timed = spec_is_timed(a->side.device);
    if (timed && cli_side_is_tree(words[0]) && cli_side_is_tree(words[1]))
        return cli_sides_timed(words, &a->side, rules, base, head, err);
    return cli_side(words[0], &a->side, base, err) && cli_side(words[1], &a->side, head, err);
}

int cli_gate(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(comparison_arguments_free) struct comparison_arguments a = {.head = "."};
    struct option options[COMPARISON_OPTION_COUNT + 7] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    SCOPED_BY(gate_side_free) struct gate_side base = {0};
    SCOPED_BY(gate_side_free) struct gate_side head = {0};
    SCOPED_BY(gate_side_free) struct gate_side aside = {0};
    SCOPED_BY(gate_comparison_free) struct gate_comparison c = {0};
    SCOPED_BY(gate_rules_free) struct gate_rules rules = {0};
    struct error err = {0};
    int count, code;
    const struct option own[] = {
        {"--against", 0, OPTION_TEXT, "BASE", "compare with this revision, folder, stored run or baseline instead of the one in the rules",
         &a.against},
        {"--head", 0, OPTION_TEXT, "HEAD", "the tree or run to judge; default the working tree", &a.head},
        {"--junit", 0, OPTION_TEXT, "FILE", "also write JUnit XML", &a.junit},
        {"--budget", 0, OPTION_REAL, "SECONDS", "on a GPU: time for the rounds of one layer; default 6", &a.side.budget_s},
        {"--gpus", 0, OPTION_TEXT, "LIST", "run on several GPUs of this host, as bench run does; both sides of a row on the same GPU",
         &a.side.gpus},
        {"--annotate", 0, OPTION_FLAG, NULL, "print ::error file=,line=:: lines; the default if GITHUB_ACTIONS is true", &a.annotate},
    };
    comparison_options(&a, options);
    memcpy(options + COMPARISON_OPTION_COUNT, own, sizeof own);
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count > 1)
        return cli_usage(verb, "only one rules file is expected");
    if (a.side.gpus && !a.side.device)
        a.side.device = "cuda";
    if (!comparison_finish(&a, verb, argc, argv, &err) || !comparison_rules(&a, rest[0], &rules, &err))
        return cli_fail(&err);
    if (!a.against)
        return cli_usage(verb, "--against REVISION, FOLDER or BASELINE is missing, or `against:` in the rules");
    bool ok = make_sides(&a, &rules, &base, &head, &err) && gate_asked_check(&a.asked, &base, &head, &err);
    if (ok)
        comparison_set_aside(&a, &base, &head, &aside);
    ok = ok && gate_compare(&base, &head, &rules, a.across, &c, &err);
    c.not_asked = aside.count;
    if (ok)
        comparison_note_ops(&a, &c);
    code = ok ? gate_exit_code(&c) : 0;
    ok = ok && comparison_put(&a, &c, &code, &err) && put_ci(&a, &c, &code, &err);
    if (!ok)
        code = cli_fail(&err);
    return code;
}
