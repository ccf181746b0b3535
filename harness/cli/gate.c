/* Verbs that compare: compare, gate, baseline. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "cli/side.h"
#include "gate/asked.h"
#include "gate/baseline.h"
#include "gate/document.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BASELINE_FOLDER "ci/baselines"

/* Options that the three verbs share. */
struct gate_arguments {
    struct side_options side;
    const char *out, *format, *to, *junit, *against, *head;
    struct option_list scenarios, variants, ops;
    bool across, annotate;
    struct gate_asked asked; /* of --layer and --only */
};
#define SHARED_OPTIONS 11
static void shared_options(struct gate_arguments *a, struct option *options)
{
    const struct option all[SHARED_OPTIONS] = {
        {"--scenario", 's', OPTION_LIST, "SCENARIO", "what is run: a file in both trees, or a shipped one", &a->scenarios},
        {"--variants", 'V', OPTION_LIST, "NAME=DIR", "a folder of variants, looked up in either tree", &a->variants},
        {"--ops", 0, OPTION_LIST, "FILE", "an op of your own, or a folder of them, for both sides", &a->ops},
        {"--device", 'd', OPTION_TEXT, "DEVICE", "default emu, which needs no GPU and counts exactly", &a->side.device},
        {"--layer", 'l', OPTION_TEXT, "GLOBS", "only these layers", &a->side.layers},
        {"--only", 0, OPTION_TEXT, "GLOBS", "only these variants", &a->side.only},
        {"--compiler", 0, OPTION_TEXT, "WHICH", "as for bench run", &a->side.compiler},
        {"--across", 0, OPTION_FLAG, NULL, "compare what other devices, drivers or compilers made, and say so", &a->across},
        {"--out", 'o', OPTION_TEXT, "DIR", "database and revisions; default ./.bench", &a->out},
        {"--format", 'f', OPTION_TEXT, "FORM", "text (default), md, html or json", &a->format},
        {"--to", 0, OPTION_TEXT, "FILE", "write there instead of to stdout", &a->to},
    };
    memcpy(options, all, sizeof all);
}

static void gate_arguments_free(struct gate_arguments *a)
{
    free(a->scenarios.items);
    free(a->variants.items);
    free(a->ops.items);
    free((void *)(uintptr_t)a->side.argv);
    gate_asked_free(&a->asked);
}

static bool finish_arguments(struct gate_arguments *a, const struct verb *verb, int argc, char **argv, struct error *err)
{
    a->side.out_dir = cli_out_dir(a->out);
    a->side.argv = cli_line(argc, argv);
    a->side.verb = verb->name;
    a->side.scenarios = a->scenarios.items;
    a->side.variants = a->variants.items;
    a->side.ops = a->ops.items;
    return gate_asked_parse(a->side.layers, a->side.only, &a->asked, err);
}

/* ---- what is written ---- */

static bool put_form(const struct gate_arguments *a, const struct gate_comparison *c, const int *exit_code, struct error *err)
{
    SCOPED_TEXT t = {0};
    struct document d = {0};
    const struct form *form = form_find(a->format ? a->format : form_terminal.name);
    struct report_style style = cli_style();
    bool ok = true, json = a->format ? !strcmp(a->format, "json") : cli_json();
    if (json) {
        gate_json(&t, c, exit_code);
    } else if (!form) {
        error_set(err, ERROR_USAGE, "no format '%s'", a->format);
        return error_hint(err, "the forms are text, md, html, json");
    } else {
        gate_document(&d, c, exit_code);
        if (form->page)
            ok = form->page(&t, &d, err);
        else
            form->write(&t, &d, a->to ? &(struct report_style){0} : &style);
    }
    ok = ok && cli_put(a->to, &t, json, err);
    document_free(&d);
    return ok;
}

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

static bool put_ci(const struct gate_arguments *a, const struct gate_comparison *c, const int *exit_code, struct error *err)
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

/* ---- compare ---- */

int cli_compare(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(gate_arguments_free) struct gate_arguments a = {0};
    struct option options[SHARED_OPTIONS + 2] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    SCOPED_BY(gate_side_free) struct gate_side base = {0};
    SCOPED_BY(gate_side_free) struct gate_side head = {0};
    SCOPED_BY(gate_comparison_free) struct gate_comparison c = {0};
    struct gate_rules rules = {0};
    struct error err = {0};
    int count, code;
    shared_options(&a, options);
    options[SHARED_OPTIONS] = (struct option){
        "--as", 0, OPTION_TEXT, "NAME", "what the variants of a bare folder of .cu files are called; default my", &a.side.as};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count != 2)
        return cli_usage(verb, count < 2 ? "which two?" : "two at a time");
    gate_rules_default(&rules);
    bool ok = finish_arguments(&a, verb, argc, argv, &err) && cli_side(rest[0], &a.side, &base, &err) &&
              cli_side(rest[1], &a.side, &head, &err) && gate_asked_check(&a.asked, &base, &head, &err) &&
              gate_compare(&base, &head, &rules, a.across, &c, &err) && put_form(&a, &c, NULL, &err);
    return ok ? 0 : cli_fail(&err);
}

/* ---- gate ---- */

static const char *today(char out[11])
{
    time_t now = time(NULL);
    strftime(out, 11, "%Y-%m-%d", gmtime(&now));
    return out;
}

/* A path of the rules that is not here, but beside their file, is meant there: said from here, as every tree is looked into from its root.
 */
static void find_beside(const char *rules, char **word)
{
    char *equals = strchr(*word, '='), *name = equals ? equals + 1 : *word;
    if (*name == '/' || file_exists(name))
        return;
    SCOPED char *folder = file_dir(rules), *path = file_join(folder, name), *real = realpath(path, NULL), *here = realpath(".", NULL);
    size_t n = here ? strlen(here) : 0;
    if (real && n && !strncmp(real, here, n) && (real[n] == '/' || !real[n])) {
        char *found = text_format("%.*s%s", (int)(name - *word), *word, real[n] ? real + n + 1 : ".");
        free(*word);
        *word = found;
    }
}

/* The rules' words stand where the command line has none. */
static bool take_rules(struct gate_arguments *a, const char *path, struct gate_rules *rules, struct error *err)
{
    char day[11];
    if (!path) {
        gate_rules_default(rules);
        return true;
    }
    if (!gate_rules_read(path, today(day), rules, err))
        return false;
    for (char **p = rules->scenarios; p && *p; p++)
        find_beside(path, p);
    for (char **p = rules->variants; p && *p; p++)
        find_beside(path, p);
    for (char **p = rules->ops; p && *p; p++)
        find_beside(path, p);
    if (rules->against)
        find_beside(path, &rules->against);
    if (!a->scenarios.count)
        a->side.scenarios = (const char *const *)rules->scenarios;
    if (!a->variants.count && rules->variants[0])
        a->side.variants = (const char *const *)rules->variants;
    if (!a->ops.count)
        a->side.ops = (const char *const *)rules->ops;
    if (!a->side.device)
        a->side.device = rules->device;
    if (!a->against)
        a->against = rules->against;
    return true;
}

/* On a GPU two trees are the two sides of one run. */
static bool make_sides(const struct gate_arguments *a, const struct gate_rules *rules, struct gate_side *base, struct gate_side *head,
                       struct error *err)
{
    const char *const words[] = {a->against, a->head};
    bool timed = spec_is_timed(a->side.device);
    if (timed && cli_side_is_tree(words[0]) && cli_side_is_tree(words[1]))
        return cli_sides_timed(words, &a->side, rules, base, head, err);
    return cli_side(words[0], &a->side, base, err) && cli_side(words[1], &a->side, head, err);
}

/* ---- some rows of a baseline ---- */

static bool asks_for_some(const struct gate_arguments *a)
{
    return a->scenarios.count || a->side.layers || a->side.only;
}

static bool was_asked_for(const struct gate_arguments *a, const struct gate_side *head, const struct gate_entry *e)
{
    bool scenario = !a->scenarios.count;
    for (int i = 0; i < head->count && !scenario; i++)
        scenario = !strcmp(head->entries[i].scenario, e->scenario);
    return scenario && gate_asked_takes(&a->asked, e);
}

/* What a baseline has and nobody asked for, as --scenario, --layer and --only were given, goes from it to `aside`. */
static void set_aside(const struct gate_arguments *a, struct gate_side *base, const struct gate_side *head, struct gate_side *aside)
{
    int left = 0;
    for (int i = 0; i < base->count; i++) {
        struct gate_entry *e = &base->entries[i];
        bool asked = !base->kept || !asks_for_some(a) || gate_side_find(head, e->id) || was_asked_for(a, head, e);
        *(asked ? &base->entries[left++] : APPEND(aside->entries, aside->count)) = *e;
    }
    base->count = left;
}

int cli_gate(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(gate_arguments_free) struct gate_arguments a = {.head = "."};
    struct option options[SHARED_OPTIONS + 6] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    SCOPED_BY(gate_side_free) struct gate_side base = {0};
    SCOPED_BY(gate_side_free) struct gate_side head = {0};
    SCOPED_BY(gate_side_free) struct gate_side aside = {0};
    SCOPED_BY(gate_comparison_free) struct gate_comparison c = {0};
    SCOPED_BY(gate_rules_free) struct gate_rules rules = {0};
    struct error err = {0};
    int count, code;
    const struct option own[] = {
        {"--against", 0, OPTION_TEXT, "BASE", "a revision, folder, stored run or baseline, instead of the rules'", &a.against},
        {"--head", 0, OPTION_TEXT, "HEAD", "what is judged; default the working tree", &a.head},
        {"--junit", 0, OPTION_TEXT, "FILE", "write JUnit's XML, too", &a.junit},
        {"--budget", 0, OPTION_REAL, "SECONDS", "on a GPU: for the rounds of one layer, default 6", &a.side.budget_s},
        {"--annotate", 0, OPTION_FLAG, NULL, "print ::error file=,line=:: lines; by itself where GITHUB_ACTIONS is true", &a.annotate},
    };
    shared_options(&a, options);
    memcpy(options + SHARED_OPTIONS, own, sizeof own);
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count > 1)
        return cli_usage(verb, "one file of rules at a time");
    if (!finish_arguments(&a, verb, argc, argv, &err) || !take_rules(&a, rest[0], &rules, &err))
        return cli_fail(&err);
    if (!a.against)
        return cli_usage(verb, "against what? --against REVISION, FOLDER or BASELINE, or `against:` in the rules");
    bool ok = make_sides(&a, &rules, &base, &head, &err) && gate_asked_check(&a.asked, &base, &head, &err);
    if (ok)
        set_aside(&a, &base, &head, &aside);
    ok = ok && gate_compare(&base, &head, &rules, a.across, &c, &err) && gate_rules_used(&rules, &err);
    c.not_asked = aside.count;
    code = ok ? gate_exit_code(&c) : 0;
    ok = ok && put_form(&a, &c, &code, &err) && put_ci(&a, &c, &code, &err);
    if (!ok)
        code = cli_fail(&err);
    return code;
}

/* ---- baseline ---- */

/* The file that is meant: named, or the rules' `against`, or ci/baselines/DEVICE.yaml. */
static char *baseline_path(const char *named, const struct gate_arguments *a, const char *device)
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

static bool write_baseline(const struct gate_side *head, const char *path, struct error *err)
{
    SCOPED_TEXT t = {0};
    SCOPED char *folder = file_dir(path);
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
        error_set(err, ERROR_WRONG, "%d rows are wrong, crashed, hung or broken: this is no baseline", wrong);
        return error_hint(err, "bench show says which");
    }
    return verified || error_set(err, ERROR_ENVIRONMENT, "no row was verified: this is no baseline");
}

/* What the baseline has, beside what is here now; `aside`: what it has that was not asked for. */
static bool diff_baseline(struct gate_arguments *a, const char *path, const struct gate_side *head, struct gate_rules *rules,
                          struct gate_side *aside, struct error *err)
{
    SCOPED_BY(gate_side_free) struct gate_side base = {0};
    SCOPED_BY(gate_comparison_free) struct gate_comparison c = {0};
    if (!baseline_read(path, &base, err) || !gate_asked_check(&a->asked, &base, head, err))
        return false;
    set_aside(a, &base, head, aside);
    bool ok = gate_compare(&base, head, rules, a->across, &c, err);
    c.not_asked = aside->count;
    return ok && put_form(a, &c, NULL, err);
}

/* What was not asked for stays as it was. */
static bool keep_aside(struct gate_side *head, struct gate_side *aside, struct error *err)
{
    if (aside->count)
        cli_say(stdout, "kept      %d row%s not asked for, as before\n", aside->count, text_s(aside->count));
    for (int i = 0; i < aside->count; i++)
        *APPEND(head->entries, head->count) = aside->entries[i];
    aside->count = 0;
    return gate_side_sort(head, err);
}

static bool show_baseline(const char *path, const struct gate_arguments *a, struct error *err)
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

static bool run_baseline(const char *what, struct gate_arguments *a, const char *file, struct gate_rules *rules, struct error *err)
{
    SCOPED_BY(gate_side_free) struct gate_side head = {0};
    SCOPED_BY(gate_side_free) struct gate_side aside = {0};
    SCOPED char *path = NULL;
    bool ok = cli_side(a->head, &a->side, &head, err);
    path = ok ? baseline_path(file, a, head.device) : NULL;
    if (ok && strcmp(what, "save") && !file_exists(path)) {
        ok = error_set(err, ERROR_USAGE, "%s: there is no such baseline yet", path);
        error_hint(err, "bench baseline save");
    }
    if (ok && !strcmp(what, "save") && file_exists(path)) {
        ok = error_set(err, ERROR_USAGE, "%s is there already", path);
        error_hint(err, "bench baseline diff says what is other now, bench baseline promote takes that over");
    }
    if (ok && !strcmp(what, "save")) {
        ok = gate_asked_check(&a->asked, &head, &head, err);
    } else if (ok) {
        ok = diff_baseline(a, path, &head, rules, &aside, err);
        if (!ok && head.lack_count) /* a name that neither side has, perhaps misspelled */
            return false;
        if (!ok && !strcmp(what, "promote") && asks_for_some(a)) {
            error_hint(err, "without --scenario, --layer and --only promote writes the whole baseline anew");
        } else if (!ok && !strcmp(what, "promote") &&
                   err->kind != ERROR_INTERNAL) { /* broken, or of another compiler: this is how it is made anew */
            cli_say(stderr, "bench: %s\n", err->text);
            error_clear(err);
            ok = true;
        }
    }
    return ok && (!strcmp(what, "diff") || (is_verified(&head, err) && keep_aside(&head, &aside, err) && write_baseline(&head, path, err)));
}

int cli_baseline(const struct verb *verb, int argc, char **argv)
{
    static const char *const words[] = {"save", "show", "diff", "promote", NULL};
    SCOPED_BY(gate_arguments_free) struct gate_arguments a = {.head = "."};
    struct option options[SHARED_OPTIONS + 2] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *file = NULL;
    SCOPED_BY(gate_rules_free) struct gate_rules rules = {0};
    struct error err = {0};
    int count, code = 0, word = 0;
    shared_options(&a, options);
    options[SHARED_OPTIONS] = (struct option){"--head", 0, OPTION_TEXT, "HEAD", "what is saved; default the working tree", &a.head};
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
    if (!finish_arguments(&a, verb, argc, argv, &err))
        return cli_fail(&err);
    const char *rules_path = NULL; /* of the further words, a baseline is one by how it begins, or by its name when it is to be made */
    for (int i = 1; i < count; i++)
        if (i == 2 || baseline_is(rest[i]) || !file_exists(rest[i]) || !strcmp(rest[0], "show"))
            file = rest[i];
        else
            rules_path = rest[i];
    if (!take_rules(&a, rules_path, &rules, &err))
        return cli_fail(&err);
    char *path = !strcmp(rest[0], "show") ? baseline_path(file, &a, a.side.device) : NULL;
    bool ok = path ? show_baseline(path, &a, &err) : run_baseline(rest[0], &a, file, &rules, &err);
    free(path);
    return ok ? 0 : cli_fail(&err);
}
