/* What bench compare, gate and baseline share: options, rules, the rows that were asked for, and how a comparison is written. */
#include "base/file.h"
#include "base/text.h"
#include "cli/comparison.h"
#include "gate/asked.h"
#include "gate/baseline.h"
#include "gate/document.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OP_FILE_MAX_BYTES (1u << 20)

void comparison_options(struct comparison_arguments *a, struct option *options)
{
    const struct option all[COMPARISON_OPTION_COUNT] = {
        {"--scenario", 's', OPTION_LIST, "SCENARIO", "the scenario: a file in both trees, or a shipped one", &a->scenarios},
        {"--variants", 'V', OPTION_LIST, "NAME=DIR", "a folder of variants, searched in each tree", &a->variants},
        {"--ops", 0, OPTION_LIST, "FILE", "your own op file, or a folder of them, for both sides", &a->ops},
        {"--device", 'd', OPTION_TEXT, "DEVICE", "default emu, which counts exactly without a GPU", &a->side.device},
        {"--layer", 'l', OPTION_TEXT, "GLOBS", "only these layers, or those of a network", &a->side.layers},
        {"--only", 0, OPTION_TEXT, "GLOBS", "only these variants", &a->side.only},
        {"--compiler", 0, OPTION_TEXT, "WHICH", "as for bench run; bench compare also takes two, A,B: one for each side",
         &a->side.compiler},
        {"--across", 0, OPTION_FLAG, NULL, "compare runs of different devices, drivers or compilers, and mark the result", &a->across},
        {"--out", 'o', OPTION_TEXT, "DIR", "folder of the database and the revisions; default ./.bench", &a->out},
        {"--format", 'f', OPTION_TEXT, "FORM", "text (default), md, html or json", &a->format},
        {"--to", 0, OPTION_TEXT, "FILE", "write to this file instead of stdout", &a->to},
    };
    memcpy(options, all, sizeof all);
}

void comparison_arguments_free(struct comparison_arguments *a)
{
    FREE_ALL(a->scenarios.items, a->variants.items, a->ops.items, a->side.argv);
    gate_asked_free(&a->asked);
}

bool comparison_finish(struct comparison_arguments *a, const struct verb *verb, int argc, char **argv, struct error *err)
{
    a->side.out_dir = cli_out_dir(a->out);
    a->side.argv = cli_line(argc, argv);
    a->side.verb = verb->name;
    a->side.scenarios = a->scenarios.items;
    a->side.variants = a->variants.items;
    a->side.ops = a->ops.items;
    return gate_asked_parse(a->side.layers, a->side.only, &a->asked, err);
}

bool comparison_put(const struct comparison_arguments *a, const struct gate_comparison *c, const int *exit_code, struct error *err)
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
        return error_hint(err, "the formats are text, md, html, json");
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

static const char *today(char out[11])
{
    time_t now = time(NULL);
    strftime(out, 11, "%Y-%m-%d", gmtime(&now));
    return out;
}

/* Replaces a path in the rules that does not exist here by the one beside the rules file, relative to this folder, since every tree is
 * searched from its root. */
static void find_beside(const char *rules, char **word)
{
    char *equals = strchr(*word, '='), *name = equals ? equals + 1 : *word;
    if (*name == '/' || file_exists(name))
        return;
    SCOPED char *path = file_beside(rules, name), *real = realpath(path, NULL), *here = realpath(".", NULL);
    size_t n = here ? strlen(here) : 0;
    if (real && n && !strncmp(real, here, n) && (real[n] == '/' || !real[n])) {
        char *found = text_format("%.*s%s", (int)(name - *word), *word, real[n] ? real + n + 1 : ".");
        free(*word);
        *word = found;
    }
}

bool comparison_rules(struct comparison_arguments *a, const char *path, struct gate_rules *rules, struct error *err)
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

/* Calls `visit` with each file of an op of one's own that lies below this folder: the op itself, and what a reference is made of. */
static void each_op_file(const struct comparison_arguments *a, void (*visit)(void *context, const char *path), void *context)
{
    static const char *const suffixes[] = {".yaml", ".py", ".cu", ".cuh"};
    for (const char *const *p = a->side.ops; p && *p; p++) {
        bool folder = file_is_dir(*p);
        SCOPED char *stem = xstrndup(*p, strlen(*p) - (text_ends(*p, ".yaml") ? strlen(".yaml") : 0));
        for (size_t s = 0; s < sizeof suffixes / sizeof *suffixes && **p != '/'; s++) {
            SCOPED char **names = NULL;
            int count = folder ? file_list(*p, suffixes[s], &names, NULL) : 0;
            for (int i = 0; i < count; i++) {
                SCOPED char *path = file_join(*p, names[i]);
                visit(context, path);
            }
            SCOPED char *beside = text_format("%s%s", stem, suffixes[s]); /* the op itself, and a reference of its name */
            if (!folder)
                visit(context, beside);
        }
    }
}

/* "": there is no such file. */
static void hash_file(const char *folder, const char *path, char sum[HASH_TEXT])
{
    size_t bytes = 0;
    SCOPED char *whole = text_format("%s%s", folder, path), *text = file_read(whole, OP_FILE_MAX_BYTES, &bytes, NULL);
    *sum = 0;
    if (text)
        hash_bytes(text, bytes, sum);
}

static void keep_op(void *context, const char *path)
{
    char sum[HASH_TEXT];
    hash_file("", path, sum);
    if (*sum)
        memcpy(gate_side_op(context, path)->sum, sum, sizeof sum);
}

void comparison_keep_ops(const struct comparison_arguments *a, struct gate_side *side)
{
    each_op_file(a, keep_op, side);
}

struct ops_noted {
    const struct gate_comparison *c;
    struct text said;
    bool *seen; /* by file of the baseline */
};

/* Says so if the two sides have other texts of the file, or one of them has none. */
static void note_op(void *context, const char *path)
{
    struct ops_noted *n = context;
    const struct gate_side *base = n->c->base, *head = n->c->head;
    char a[HASH_TEXT] = "", b[HASH_TEXT];
    for (int i = 0; base->kept && i < base->op_count; i++)
        if (!strcmp(base->ops[i].path, path)) {
            memcpy(a, base->ops[i].sum, sizeof a);
            n->seen[i] = true;
        }
    if (!base->kept)
        hash_file(base->folder, path, a);
    hash_file(head->folder ? head->folder : "", path, b);
    bool same = base->kept ? !strncmp(a, b, BASELINE_DIGITS) : !strcmp(a, b);
    if ((*a || *b) && (!*a || !*b || !same))
        text_addf(&n->said, "%s%s %s", n->said.len ? ", " : "", path, !*a ? "is new" : !*b ? "is gone" : "changed");
}

void comparison_note_ops(const struct comparison_arguments *a, struct gate_comparison *c)
{
    struct ops_noted n = {.c = c, .seen = xcalloc((size_t)c->base->op_count + 1, sizeof *n.seen)};
    if (c->base->kept ? c->base->op_count > 0 : c->base->folder && c->head->folder)
        each_op_file(a, note_op, &n);
    for (int i = 0; c->base->kept && i < c->base->op_count; i++)
        if (!n.seen[i] && !file_exists(c->base->ops[i].path))
            note_op(&n, c->base->ops[i].path);
    c->ops = n.said.len ? text_take(&n.said) : NULL;
    text_free(&n.said);
    free(n.seen);
}

bool comparison_asks_for_some(const struct comparison_arguments *a)
{
    return a->scenarios.count || a->side.layers || a->side.only;
}

static bool was_asked_for(const struct comparison_arguments *a, const struct gate_side *head, const struct gate_entry *e)
{
    bool scenario = !a->scenarios.count;
    for (int i = 0; i < head->count && !scenario; i++)
        scenario = !strcmp(head->entries[i].scenario, e->scenario);
    for (int i = 0; i < head->lack_count && !scenario; i++)
        scenario = head->lacks[i].kind == LACKS_SCENARIO && !strcmp(head->lacks[i].name, e->scenario);
    return scenario && gate_asked_takes(&a->asked, e);
}

/* Of a side that was not made by a run of its own, whose plan selects. */
static void set_aside(const struct comparison_arguments *a, struct gate_side *side, const struct gate_side *other, struct gate_side *aside)
{
    const bool all = !side->kept && !side->stored, made = !other->kept && !other->stored;
    int left = 0;
    for (int i = 0; i < side->count && !all; i++) {
        struct gate_entry *e = &side->entries[i];
        const struct gate_entry *same = gate_side_find(other, e->id);
        bool asked = was_asked_for(a, other, e) || (same && (made || was_asked_for(a, other, same)));
        *(asked ? &side->entries[left++] : APPEND(aside->entries, aside->count)) = *e;
    }
    side->count = all ? side->count : left;
}

void comparison_set_aside(const struct comparison_arguments *a, struct gate_side *base, struct gate_side *head, struct gate_side *aside)
{
    if (!comparison_asks_for_some(a))
        return;
    set_aside(a, base, head, aside);
    set_aside(a, head, base, aside);
}
