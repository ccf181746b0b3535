#include "cli/side.h"
#include "base/spec.h"
#include "base/file.h"
#include "base/text.h"
#include "base/glob_list.h"
#include "gate/baseline.h"
#include "op/file/ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUNDLE_BEGINS "bench-bundle "

/* ---- stored runs ---- */

/* "12", "12/head": a run, and a side of it. False: it is none. */
static bool run_words(const char *word, long long *run, const char **of)
{
    char digits[24];
    size_t n = strspn(word, "0123456789");
    if (!n || n >= sizeof digits || (word[n] && word[n] != '/'))
        return false;
    snprintf(digits, n + 1, "%s", word);
    *of = word[n] ? word + n + 1 : NULL;
    return text_to_int(digits, run);
}

/* Run 0: the last. */
static bool take_stored(struct gate_side *side, const char *database, long long run_id, const char *of, struct error *err)
{
    struct store *store = NULL;
    struct run run = {0};
    struct row **rows = NULL;
    int count = -1;
    if (store_open(database, true, &store, err) &&
        (run_id ? store_run(store, run_id, &run, err) : store_last_run(store, NULL, NULL, NULL, &run, err)))
        count = store_rows(store, run.id, &rows, err);
    else if (err->kind == ERROR_NONE)
        error_set(err, ERROR_USAGE, "%s holds no run", database);
    store_close(store);
    if (count < 0) {
        run_clear(&run);
        return false;
    }
    if (!side->name)
        side->name = text_format("run %lld%s%s of %s", (long long)run.id, of ? "/" : "", of ? of : "", run.started);
    if (!gate_side_take(side, &run, rows, count, of, err))
        return false;
    if (side->count || !count || side->timed)
        return true;
    error_set(err, ERROR_USAGE, "%s: run %lld has no rows of %s%s", database, run_id, of ? "side " : "no side", of ? of : "");
    return error_hint(err, "add the side to a run of several sides: %lld/head", run_id);
}

static bool stored_side(const char *word, const struct side_options *o, struct gate_side *side, bool *found, struct error *err)
{
    long long run = 0;
    const char *of = NULL, *colon = strstr(word, ".db:");
    SCOPED char *database = NULL;
    if (run_words(word, &run, &of))
        database = cli_database(o->out_dir);
    else if (colon && run_words(colon + 4, &run, &of))
        database = xstrndup(word, (size_t)(colon + 3 - word));
    else if (text_ends(word, ".db"))
        database = xstrdup(word);
    else if (file_is_dir(word))
        database = cli_database(word);
    *found = side->stored = database && (file_exists(database) || !file_is_dir(word));
    return !*found || take_stored(side, database, run, of, err);
}

/* ---- runs made for the comparison ---- */

struct tree {
    const char *root;   /* absolute; NULL: none, as of a bundle */
    bool revision;      /* a commit: files that it lacks did not exist then */
    char sha[12];       /* its first digits; "" */
    const char *bundle; /* NULL */
};

static char *tree_path(const struct tree *tree, const char *name)
{
    char *path = tree->root && *name != '/' ? file_join(tree->root, name) : NULL;
    if (path && file_exists(path))
        return path;
    free(path);
    return NULL;
}

static void add_lack(struct gate_side *side, enum gate_lack_kind kind, char *name, const struct error *why)
{
    *APPEND(side->lacks, side->lack_count) = (struct gate_lack){name, *why, kind};
}

/* "s" of "dir/s.yaml": how a scenario is called that is no longer there. */
static char *scenario_stem(const char *path)
{
    const char *name = file_base(path);
    return xstrndup(name, strlen(name) - (text_ends(name, ".yaml") ? strlen(".yaml") : 0));
}

/* The scenario in the tree, else here or as shipped. *absent: the tree lacks it; then the other side must have it, unless the tree is of a
 * commit. */
static bool tree_scenario(const struct tree *tree, const char *name, struct gate_side *side, char **path, bool *absent, struct error *err)
{
    struct plan_arguments ask = {0};
    SCOPED char *shipped = text_format("scenarios/%s.yaml", name);
    *absent = false;
    *path = tree_path(tree, name);
    if (!*path && !strchr(name, '/'))
        *path = tree_path(tree, shipped);
    if (*path)
        return true;
    *absent = tree->revision && *name != '/' && file_exists(name);
    if (*absent || cli_plan_arguments(&ask, name, path, err))
        return true;
    *absent = tree->root != NULL;
    if (*absent)
        add_lack(side, LACKS_SCENARIO, scenario_stem(name), err);
    return *absent;
}

/* The words of --layer that the scenario has (malloc'd; "": none); the others are lacks. NULL: the option is not given. */
static char *layers_inside(const char *scenario, const struct side_options *o, struct gate_side *side)
{
    SCOPED_BY(glob_list_free) struct glob_list list = {0};
    struct error ignored = {0}; /* reported when the plan is made */
    struct scenario *s = o->layers ? scenario_load(scenario, &ignored) : NULL;
    struct text left = {0};
    if (!s || !glob_list_parse(o->layers, "--layer", &list, &ignored)) {
        scenario_free(s);
        return o->layers ? xstrdup(o->layers) : NULL;
    }
    SCOPED bool *selected = xcalloc((size_t)s->layer_count + 1, sizeof *selected);
    scenario_match_layers(s, &list, selected);
    for (int i = 0; i < list.count; i++) {
        struct error why = {0};
        if (list.words[i].hit) {
            text_addf(&left, "%s%s", left.len ? "," : "", list.words[i].text);
            continue;
        }
        scenario_check_layers(s, &list, &why);
        add_lack(side, LACKS_LAYER, xstrdup(list.words[i].text), &why);
        list.words[i].hit = true; /* the next error names the next word */
    }
    scenario_free(s);
    return text_take(&left);
}

/* True if the folder has a file whose name ends with one of the suffixes (a list that ends with NULL). */
static bool holds(const char *folder, const char *const *suffixes)
{
    SCOPED char **names = NULL;
    for (int i = file_list(folder, "", &names, NULL) - 1; i >= 0; i--)
        for (const char *const *s = suffixes; *s; s++)
            if (text_ends(names[i], *s))
                return true;
    return false;
}

/* The folder or file of --variants NAME=DIR in the tree (malloc'd); NULL: the tree lacks it, or its last kernel was deleted. */
static char *variants_inside(const struct tree *tree, const char *spec)
{
    const char *equals = strchr(spec, '=');
    SCOPED char *inside = equals ? tree_path(tree, equals + 1) : NULL;
    return inside && (!file_is_dir(inside) || holds(inside, (const char *const[]){".cu", ".yaml", ".py", NULL})) ? xstrdup(inside) : NULL;
}

/* Is DIR of --variants NAME=DIR looked up in the tree? */
static bool is_of_tree(const struct tree *tree, const char *spec)
{
    const char *equals = strchr(spec, '=');
    return equals && equals[1] != '/' && tree->root;
}

/* --variants NAME=DIR with DIR inside the tree; one that the tree lacks is left out. Caller frees all. */
static char **tree_variants(const struct tree *tree, const struct side_options *o)
{
    int count = 0, made = 0;
    while (o->variants && o->variants[count])
        count++;
    char **out = xcalloc((size_t)count + 2, sizeof *out);
    for (int i = 0; i < count; i++) {
        const char *spec = o->variants[i], *equals = strchr(spec, '=');
        SCOPED char *inside = variants_inside(tree, spec);
        struct error ignored = {0}; /* such a file is then named by its own error */
        SCOPED char *python = inside && cli_is_python(inside) ? cli_python_folder(inside, &ignored) : NULL;
        if (inside)
            out[made++] = text_format("%.*s%s", (int)(equals + 1 - spec), spec, python ? python : inside);
        else if (!is_of_tree(tree, spec))
            out[made++] = xstrdup(spec);
    }
    return out;
}

/* Notes each folder of --variants that the tree lacks: an error if the other side has no row of it either. A commit may be older than the
 * folder. */
static bool lacks_variants(const struct tree *tree, const struct side_options *o, struct gate_side *side)
{
    bool lacks = false;
    for (int i = 0; o->variants && o->variants[i]; i++) {
        const char *spec = o->variants[i], *equals = strchr(spec, '=');
        SCOPED char *inside = variants_inside(tree, spec), **names = NULL;
        if (inside || !is_of_tree(tree, spec))
            continue;
        lacks = true;
        if (tree->revision)
            continue;
        struct error why = {0};
        int count = file_list(tree->root, "", &names, NULL);
        const char *near = count > 0 ? text_nearest(equals + 1, (const char *const *)names, (size_t)count) : NULL;
        error_set(&why, ERROR_USAGE, "%s: --variants %s: there is no such folder, or no kernel in it", side->name, spec);
        if (near && strcmp(near, equals + 1) != 0)
            error_hint(&why, "did you mean '%s'?", near);
        add_lack(side, LACKS_VARIANT, text_format("%.*s/*", (int)(equals - spec), spec), &why);
    }
    return lacks;
}

/* True if the tree without the folder that it lacks still has a row of the scenario. */
static bool has_rows(const struct plan_options *o)
{
    SCOPED_BY(plan_free) struct plan plan = {0};
    return plan_make(o, spec_kind(o->device), chip_find("GH100"), &plan, NULL);
}

static void take_lacks(struct gate_side *side, struct plan_lacks *lacks)
{
    for (int i = 0; i < lacks->count; i++)
        add_lack(side, LACKS_VARIANT, xstrdup(lacks->items[i].variant), &lacks->items[i].why);
    plan_lacks_free(lacks);
}

static bool run_tree(const struct tree *tree, const char *scenario, const struct side_options *o, struct gate_side *side, struct error *err)
{
    bool absent = false, ok = false;
    SCOPED char *layers = NULL;
    SCOPED char *path = NULL, *kernels = tree->root ? file_join(tree->root, "kernels") : NULL, *own = NULL,
                *database = cli_database(o->out_dir);
    SCOPED char **variants = tree_variants(tree, o);
    SCOPED char *revision = *tree->sha ? xstrdup(tree->sha) : tree->root ? cli_revision(tree->root, NULL) : NULL;
    struct session_result result;
    struct plan_lacks lacks = {0};
    if (kernels) {
        own = file_join(kernels, "variants");
        if (!file_is_dir(own) && !variants[0] && holds(tree->root, (const char *const[]){".cu", NULL}))
            variants[0] = text_format("%s=%s", o->as ? o->as : "my", tree->root);
    }
    ok = tree_scenario(tree, scenario, side, &path, &absent, err);
    layers = ok && !absent ? layers_inside(path, o, side) : NULL;
    if (!ok || absent || (layers && !*layers))
        goto done;
    struct session_options run = {.plan = {.scenario_path = path,
                                           .device = o->device ? o->device : "emu",
                                           .variant_dirs = variants[0] ? (const char *const *)variants : NULL,
                                           .op_files = o->ops,
                                           .filter = {.layers = layers, .only = o->only},
                                           .compiler = o->compiler,
                                           .bundle = tree->bundle,
                                           .kernels = own && file_is_dir(own) ? kernels : NULL,
                                           .remember = true,
                                           .may_lack = true},
                                  .lacks = &lacks,
                                  .gpus = o->gpus,
                                  .database = database,
                                  .out_dir = o->out_dir,
                                  .argv = o->argv,
                                  .verb = o->verb,
                                  .revision = revision};
    ok = (lacks_variants(tree, o, side) && !has_rows(&run.plan)) ||
         (cli_session_rows(&run, &result, err) && take_stored(side, database, result.run_id, NULL, err));
    take_lacks(side, &lacks);
done:
    for (int i = 0; variants[i]; i++)
        free(variants[i]);
    return ok || error_where(err, "%s", side->name);
}

static bool run_side(const struct tree *tree, const struct side_options *o, struct gate_side *side, struct error *err)
{
    if (!o->scenarios || !o->scenarios[0]) {
        error_set(err, ERROR_USAGE, "%s must be run: with which scenario?", side->name);
        return error_hint(err, "--scenario edsr, or your own: --scenario net.yaml");
    }
    for (int i = 0; o->scenarios[i]; i++)
        if (!run_tree(tree, o->scenarios[i], o, side, err))
            return false;
    return true;
}

/* False for a folder with nothing to run: it would stand for the shipped tree, as the other side does, and no difference could be found. */
static bool holds_any(const struct tree *tree, const struct side_options *o)
{
    SCOPED char *kernels = tree_path(tree, "kernels");
    bool any = kernels || holds(tree->root, (const char *const[]){".cu", NULL});
    for (int i = 0; !any && o->variants && o->variants[i]; i++) {
        SCOPED char *inside = variants_inside(tree, o->variants[i]);
        any = inside;
    }
    for (int i = 0; !any && o->scenarios && o->scenarios[i]; i++) {
        SCOPED char *shipped = text_format("scenarios/%s.yaml", o->scenarios[i]), *own = tree_path(tree, o->scenarios[i]),
                    *other = tree_path(tree, shipped);
        any = own || other;
    }
    return any;
}

/* A folder, a bundle or a revision, as `tree` (root malloc'd) and the side's name. False without an error: the word is none of these. */
static bool find_tree(const char *word, const struct side_options *o, struct tree *tree, struct gate_side *side, struct error *err)
{
    *tree = (struct tree){0};
    if (file_exists(word)) {
        char *root = realpath(word, NULL);
        bool folder = root && file_is_dir(root);
        *tree = folder ? (struct tree){.root = root} : (struct tree){.bundle = word};
        if (!folder)
            free(root);
        side->name = xstrdup(strcmp(word, ".") ? word : "working tree");
        if (!folder && !file_begins(word, BUNDLE_BEGINS))
            return error_set(err, ERROR_USAGE, "%s: not a baseline, database, bundle or folder", word);
        if (folder && strcmp(word, ".") != 0 && !holds_any(tree, o))
            return error_set(err, ERROR_USAGE,
                             "%s: the folder has neither kernels, nor variants, nor the scenario, so nothing of it would run", word);
    } else {
        tree->root = cli_revision_tree(word, o->out_dir, &side->name, tree->sha, err);
        tree->revision = true;
        if (!tree->root)
            return false;
    }
    side->folder = tree->root ? text_format("%s/", tree->root) : NULL;
    return true;
}

bool cli_side(const char *word, const struct side_options *o, struct gate_side *side, struct error *err)
{
    struct tree tree = {0};
    bool found = true, ok = false;
    *side = (struct gate_side){0};
    if (!op_load(o->ops, err))
        return false;
    if (baseline_is(word))
        ok = baseline_read(word, side, err);
    else if (!stored_side(word, o, side, &found, err) || found)
        ok = err->kind == ERROR_NONE;
    else
        ok = find_tree(word, o, &tree, side, err) && run_side(&tree, o, side, err);
    free((void *)(uintptr_t)tree.root);
    ok = ok && gate_side_sort(side, err);
    if (!ok)
        gate_side_free(side);
    return ok;
}

/* ---- both sides in one run ---- */

bool cli_side_is_tree(const char *word)
{
    long long run;
    const char *of;
    SCOPED char *database = file_is_dir(word) ? cli_database(word) : NULL;
    bool stored = (database && file_exists(database) && strcmp(word, ".") != 0) || run_words(word, &run, &of) || strstr(word, ".db");
    return !stored && (file_is_dir(word) || !file_exists(word));
}

/* The tree as a side of a run; its texts are malloc'd. */
static struct side side_of(const char *name, const struct tree *tree, const struct side_options *o)
{
    SCOPED char *kernels = file_join(tree->root, "kernels"), *own = file_join(kernels, "variants"), **dirs = tree_variants(tree, o);
    struct side s = {.name = name};
    struct text t = {0};
    if (file_is_dir(own)) {
        s.variants = xstrdup(own);
        s.include = file_join(kernels, "include");
        s.ops = file_join(kernels, "ops");
    } else if (!dirs[0] && holds(tree->root, (const char *const[]){".cu", NULL})) {
        dirs[0] = text_format("%s=%s", o->as ? o->as : "my", tree->root);
    }
    for (int i = 0; dirs[i]; i++) {
        text_addf(&t, "%s%s", i ? "\n" : "", dirs[i]);
        free(dirs[i]);
    }
    s.dirs = text_take(&t);
    return s;
}

static void side_free(struct side *s)
{
    FREE_ALL(s->variants, s->include, s->ops, s->dirs);
}

static double margin_of(void *context, const char *row)
{
    double margin;
    gate_rules_margin(context, row, HUGE_VAL, &margin);
    return margin;
}

/* What of a tree's scenario is planned. To be given to asked_free. */
struct asked {
    struct plan_options options;
    char *path, *kernels, *layers, **dirs;
    bool absent; /* it has no such scenario, or none of the layers */
};

static bool ask_plan(struct asked *a, const char *scenario, const struct tree *tree, const struct side *side, const struct side_options *o,
                     struct gate_side *of, struct error *err)
{
    *a = (struct asked){.kernels = file_join(tree->root, "kernels"), .dirs = tree_variants(tree, o)};
    if (!a->dirs[0] && !side->variants && side->dirs[0])
        a->dirs[0] = xstrdup(side->dirs);
    if (!tree_scenario(tree, scenario, of, &a->path, &a->absent, err))
        return false;
    a->layers = a->absent ? NULL : layers_inside(a->path, o, of);
    a->absent |= a->layers && !*a->layers;
    a->options = (struct plan_options){.scenario_path = a->path,
                                       .device = o->device,
                                       .variant_dirs = a->dirs[0] ? (const char *const *)a->dirs : NULL,
                                       .op_files = o->ops,
                                       .filter = {.layers = a->layers, .only = o->only},
                                       .compiler = o->compiler,
                                       .kernels = side->variants ? a->kernels : NULL,
                                       .layers_only = true,
                                       .may_lack = true,
                                       .budget_s = o->budget_s,
                                       .counters = {.off = true}};
    return true;
}

static void asked_free(struct asked *a)
{
    pointers_free(a->dirs, -1);
    FREE_ALL(a->kernels, a->layers, a->path);
}

/* Adds to base the rows that only base's scenario or variants have; the run used head's scenario. */
static bool add_gone(const char *scenario, const struct tree *tree, const struct side *own, const struct side_options *o,
                     struct gate_side *side, struct error *err)
{
    struct asked a;
    struct plan plan = {0};
    const struct chip *chip = cli_chip(NULL, "", err);
    bool ok = chip && ask_plan(&a, scenario, tree, own, o, side, err) && (a.absent || plan_make(&a.options, "cuda", chip, &plan, err));
    for (int i = 0; ok && i < plan.row_count; i++) {
        const struct plan_row *p = &plan.rows[i];
        const struct scenario_case *c = &plan.cases[p->case_index];
        if (plan_pinned(&plan, i) || p->broken || !p->facts.feasible || gate_side_find(side, plan_id(&plan, i)))
            continue;
        struct gate_entry *e = gate_side_add(side, plan_id(&plan, i));
        e->scenario = xstrdup(plan.scenario->name);
        e->layer = xstrdup(c->layer->name);
        e->status = ROW_OK;
        ok = gate_side_sort(side, err);
    }
    if (plan.private_data)
        plan_free(&plan);
    if (chip)
        asked_free(&a);
    return ok;
}

/* One scenario, head's. *run_id 0: head has none of that name. */
static bool run_both(const char *scenario, const struct tree *tree, const struct side *sides, const struct side_options *o,
                     const struct session_gate *gate, struct gate_side *head, int64_t *run_id, struct error *err)
{
    SCOPED_BY(asked_free) struct asked a = {0};
    SCOPED char *database = cli_database(o->out_dir);
    struct session_result result = {0};
    struct plan_lacks lacks = {0};
    SCOPED char *revision = *tree->sha ? xstrdup(tree->sha) : cli_revision(tree->root, NULL);
    bool ok = ask_plan(&a, scenario, tree, &sides[1], o, head, err);
    if (ok && !a.absent && (!lacks_variants(tree, o, head) || has_rows(&a.options))) {
        struct session_options run = {.plan = a.options,
                                      .gate = gate,
                                      .lacks = &lacks,
                                      .gpus = o->gpus,
                                      .database = database,
                                      .out_dir = o->out_dir,
                                      .argv = o->argv,
                                      .verb = o->verb,
                                      .revision = revision};
        run.plan.sides = sides;
        ok = cli_session_rows(&run, &result, err);
        take_lacks(head, &lacks);
    }
    *run_id = result.run_id;
    return ok;
}

bool cli_sides_timed(const char *const words[2], const struct side_options *o, const struct gate_rules *rules, struct gate_side *base,
                     struct gate_side *head, struct error *err)
{
    struct gate_side *both[] = {base, head};
    struct tree trees[2] = {{0}};
    struct side sides[3] = {{0}};
    SCOPED char *database = cli_database(o->out_dir);
    int scenarios = 0;
    int64_t run_id = 0;
    bool ok = op_load(o->ops, err);
    *base = *head = (struct gate_side){0};
    if (ok && (!o->scenarios || !o->scenarios[0])) {
        ok = error_set(err, ERROR_USAGE, "both sides must be run: with which scenario?");
        error_hint(err, "--scenario edsr, or your own: --scenario net.yaml");
    }
    for (int i = 0; i < 2 && ok; i++) {
        ok = find_tree(words[i], o, &trees[i], both[i], err);
        both[i]->timed = true;
        if (ok)
            sides[i] = side_of(i ? "head" : "base", &trees[i], o);
    }
    while (ok && o->scenarios[scenarios])
        scenarios++;
    const struct session_gate gate = {rules->alpha / (scenarios ? scenarios : 1), margin_of, (void *)(uintptr_t)rules};
    for (int i = 0; i < scenarios && ok; i++) {
        ok = run_both(o->scenarios[i], &trees[1], sides, o, &gate, head, &run_id, err);
        for (int k = 0; k < 2 && ok && run_id; k++)
            ok = take_stored(both[k], database, run_id, sides[k].name, err);
    }
    ok = ok && gate_side_sort(base, err) && gate_side_sort(head, err);
    ok = ok && ALL_OF(i, scenarios, add_gone(o->scenarios[i], &trees[0], &sides[0], o, base, err));
    for (int i = 0; i < 2; i++) {
        free((void *)(uintptr_t)trees[i].root);
        side_free(&sides[i]);
        if (!ok)
            gate_side_free(both[i]);
    }
    return ok;
}
