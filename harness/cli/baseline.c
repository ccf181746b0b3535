/* bench baseline: the facts of a run in a file under version control. */
#include "base/file.h"
#include "base/text.h"
#include "cli/comparison.h"
#include "gate/asked.h"
#include "gate/baseline.h"
#include <stdio.h>
#include <string.h>

#define BASELINE_FOLDER "ci/baselines"

/* The baseline file: the named one, else the rules' `against`, else ci/baselines/DEVICE.yaml. */
static char *baseline_path(const char *named, const struct comparison_arguments *a, const char *device)
{
    if (named)
        return xstrdup(named);
    if (a->against && text_ends(a->against, ".yaml"))
        return xstrdup(a->against);
    char *path = text_format(BASELINE_FOLDER "/%s.yaml", device ? device : "emu");
    for (char *p = path; *p; p++)
        if (strchr(":,", *p))
            *p = '-';
    return path;
}

static bool write_baseline(const struct comparison_arguments *a, struct gate_side *head, const char *path, struct error *err)
{
    SCOPED_TEXT t = {0};
    SCOPED char *folder = file_dir(path);
    comparison_keep_ops(a, head);
    baseline_write(&t, head);
    bool ok = file_make_dirs(folder, err) && file_write(path, text_get(&t), t.len, err);
    if (ok)
        cli_say(stdout, "baseline  %s\n", path);
    return ok;
}

static bool is_verified(const struct gate_side *side, struct error *err)
{
    int wrong = 0, verified = 0;
    for (int i = 0; i < side->count; i++) {
        verified += side->entries[i].status == ROW_OK;
        wrong +=
            !gate_entry_stands(&side->entries[i]) && side->entries[i].status < ROW_INFEASIBLE && side->entries[i].status != ROW_PLANNED;
    }
    if (wrong) {
        error_set(err, ERROR_WRONG, "rows that are wrong, crashed, hung or broken: %d. This cannot be a baseline", wrong);
        return error_hint(err, "bench show lists them");
    }
    return verified || error_set(err, ERROR_ENVIRONMENT, "no row was verified: this cannot be a baseline");
}

/* Compares the baseline with head. `aside` gets the rows that were not asked for. */
static bool diff_baseline(struct comparison_arguments *a, const char *path, struct gate_side *head, struct gate_rules *rules,
                          struct gate_side *aside, struct error *err)
{
    SCOPED_BY(gate_side_free) struct gate_side base = {0};
    SCOPED_BY(gate_comparison_free) struct gate_comparison c = {0};
    if (!baseline_read(path, &base, err) || !gate_asked_check(&a->asked, &base, head, err))
        return false;
    comparison_set_aside(a, &base, head, aside);
    bool ok = gate_compare(&base, head, rules, a->across, &c, err);
    c.not_asked = aside->count;
    return ok && comparison_put(a, &c, NULL, err);
}

/* Rows that were not asked for stay in the baseline unchanged. */
static bool keep_aside(struct gate_side *head, struct gate_side *aside, struct error *err)
{
    if (aside->count)
        cli_say(stdout, "kept      %d row%s outside the selection, unchanged\n", aside->count, text_s(aside->count));
    for (int i = 0; i < aside->count; i++)
        *APPEND(head->entries, head->count) = aside->entries[i];
    aside->count = 0;
    return gate_side_sort(head, err);
}

static bool show_baseline(const char *path, const struct comparison_arguments *a, struct error *err)
{
    struct gate_side side;
    SCOPED_TEXT t = {0};
    if (!baseline_read(path, &side, err))
        return false;
    gate_side_describe(&side, &t);
    text_addf(&t, "\n%d row%s", side.count, text_s(side.count));
    if (side.bench)
        text_addf(&t, ", saved by bench %s", side.bench);
    text_add(&t, "\n");
    for (int i = 0; i < side.count; i++) {
        text_addf(&t, "%s", side.entries[i].id);
        for (int k = 0; k < side.entries[i].fact_count; k++)
            if (side.entries[i].facts[k].kind->brief && !*side.entries[i].facts[k].step)
                text_addf(&t, "  %s %.15g", side.entries[i].facts[k].kind->head, side.entries[i].facts[k].value);
        text_add(&t, "\n");
    }
    bool ok = cli_put(a->to, &t, false, err);
    gate_side_free(&side);
    return ok;
}

static bool run_baseline(const char *what, struct comparison_arguments *a, const char *file, struct gate_rules *rules, struct error *err)
{
    SCOPED_BY(gate_side_free) struct gate_side head = {0};
    SCOPED_BY(gate_side_free) struct gate_side aside = {0};
    SCOPED char *path = NULL;
    bool ok = cli_side(a->head, &a->side, &head, err);
    path = ok ? baseline_path(file, a, head.device) : NULL;
    if (ok && strcmp(what, "save") && !file_exists(path)) {
        ok = error_set(err, ERROR_USAGE, "%s: this baseline does not exist yet", path);
        error_hint(err, "bench baseline save");
    }
    if (ok && !strcmp(what, "save") && file_exists(path)) {
        ok = error_set(err, ERROR_USAGE, "%s already exists", path);
        error_hint(err, "bench baseline diff shows the differences, bench baseline promote accepts them");
    }
    if (ok && !strcmp(what, "save")) {
        ok = gate_asked_check(&a->asked, &head, &head, err);
    } else if (ok) {
        ok = diff_baseline(a, path, &head, rules, &aside, err);
        if (!ok && head.lack_count) /* a name that neither side has, perhaps misspelled */
            return false;
        if (!ok && !strcmp(what, "promote") && comparison_asks_for_some(a)) {
            error_hint(err, "without --scenario, --layer and --only, promote writes the whole baseline again");
        } else if (!ok && !strcmp(what, "promote") &&
                   err->kind != ERROR_INTERNAL) { /* broken, or of another compiler: this is how it is made anew */
            cli_say(stderr, "bench: %s\n", err->text);
            error_clear(err);
            ok = true;
        }
    }
    return ok &&
           (!strcmp(what, "diff") || (is_verified(&head, err) && keep_aside(&head, &aside, err) && write_baseline(a, &head, path, err)));
}

int cli_baseline(const struct verb *verb, int argc, char **argv)
{
    static const char *const words[] = {"save", "show", "diff", "promote", NULL};
    SCOPED_BY(comparison_arguments_free) struct comparison_arguments a = {.head = "."};
    struct option options[COMPARISON_OPTION_COUNT + 2] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *file = NULL;
    SCOPED_BY(gate_rules_free) struct gate_rules rules = {0};
    struct error err = {0};
    int count, code = 0, word = 0;
    comparison_options(&a, options);
    options[COMPARISON_OPTION_COUNT] =
        (struct option){"--head", 0, OPTION_TEXT, "HEAD", "the tree or run to save; default the working tree", &a.head};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    while (count && words[word] && strcmp(words[word], rest[0]))
        word++;
    if (!count || !words[word] || count > 3) {
        const char *near = count && !words[word] ? text_nearest_in(rest[0], words) : NULL;
        code = cli_usage(verb, near ? "no '%s': %s?" : "save, show, diff or promote? bench baseline save gate.yaml", count ? rest[0] : "",
                         near);
        return code;
    }
    if (!comparison_finish(&a, verb, argc, argv, &err))
        return cli_fail(&err);
    const char *rules_path = NULL; /* of the further words, a baseline is one by how it begins, or by its name when it is to be made */
    for (int i = 1; i < count; i++)
        if (i == 2 || baseline_is(rest[i]) || !file_exists(rest[i]) || !strcmp(rest[0], "show"))
            file = rest[i];
        else
            rules_path = rest[i];
    if (!comparison_rules(&a, rules_path, &rules, &err))
        return cli_fail(&err);
    SCOPED char *path = !strcmp(rest[0], "show") ? baseline_path(file, &a, a.side.device) : NULL;
    bool ok = path ? show_baseline(path, &a, &err) : run_baseline(rest[0], &a, file, &rules, &err);
    return ok ? 0 : cli_fail(&err);
}
