/* Finds and loads variants: the installation's kernels/variants/<op>/ and the user's own folders. */
#include "kernel/head/head.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include "kernel/head/python.h"
#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_note(struct variant_set *set, char *note)
{
    struct text line = {0};
    text_add_line(&line, note);
    free(note);
    *APPEND(set->notes, set->note_count) = text_take(&line);
}

/* Refuses file names that would break a line or control a terminal: the file's name is its variant's. */
static bool takes_name(struct variant_set *set, const char *path, const char *name)
{
    while (*name && !text_control(name) && !strchr("\r\n\t", *name))
        name++;
    if (*name)
        add_note(set, text_format("%s: no variant: its name has a control character", path));
    return !*name;
}

ORDER_POINTERS(set_by_name, struct variant, strcmp(x->name, y->name))

static void add_variant(struct variant_set *set, struct variant *v)
{
    head_python_share(v, set->items, set->count);
    *APPEND(set->items, set->count) = v;
}

static bool load_files(struct variant_set *set, const char *dir, const char *folder, const char *suffix, const struct head_places *places,
                       struct error *err)
{
    SCOPED char **names = NULL;
    int count = file_list(dir, suffix, &names, err);
    bool done = count >= 0;
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(dir, names[i]);
        char *note = NULL;
        bool taken = takes_name(set, path, names[i]);
        struct variant *v = done && taken ? head_load(path, folder, places, &note, err) : NULL;
        if (v)
            add_variant(set, v);
        else if (note && *note)
            add_note(set, note);
        else if (note)
            free(note);
        else
            done = done && !taken;
    }
    return done;
}

/* A .cu without a head that a sidecar names was not skipped: drops its note. */
static void forget_sources(struct variant_set *set, const char *folder, int first, int first_note)
{
    for (int i = first; i < set->count && set->note_count > first_note; i++) {
        const struct node *source = node_get(set->items[i]->head, "source");
        if (!source)
            continue;
        SCOPED char *note = head_absent_note(folder, file_base(source->text));
        int kept = first_note;
        for (int k = first_note; k < set->note_count; k++)
            if (strcmp(set->notes[k], note))
                set->notes[kept++] = set->notes[k];
            else
                free(set->notes[k]);
        set->note_count = kept;
    }
}

/* `own`: it is one of the user's folders. */
static bool load_folder(struct variant_set *set, const char *dir, const char *folder, bool own, const struct head_places *places,
                        struct error *err)
{
    int before = set->count, notes = set->note_count;
    bool done = load_files(set, dir, folder, ".cu", places, err) && load_files(set, dir, folder, ".yaml", places, err);
    forget_sources(set, folder, before, notes);
    if (done && own && set->count == before) /* a folder that selects nothing is an error */
        error_set(err, ERROR_USAGE, "--variants %s=%s: the folder has no variant (no .cu file with a `bench 1` head)", folder, dir);
    if (done && own && set->count == before && set->note_count > notes)
        error_hint(err, "%s", set->notes[notes]);
    done = done && (!own || set->count > before);
    return done;
}

static bool load_installed(const struct head_places *places, struct variant_set *set, struct error *err)
{
    SCOPED char **names = NULL, *root = places->installed ? xstrdup(places->installed) : file_share("kernels/variants");
    int count = file_is_dir(root) ? file_list(root, "", &names, err) : 0;
    bool done = count >= 0;
    for (int i = 0; i < count; i++) {
        SCOPED char *dir = file_join(root, names[i]);
        done = done && (!file_is_dir(dir) || load_folder(set, dir, names[i], false, places, err));
    }
    return done;
}

static bool folder_name_ok(const char *s, size_t n)
{
    return ALL_OF(i, n, strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", s[i])) && n > 0 && n < PROGRAM_NAME;
}

/* Refuses a folder named like one of bench's own, whose rows would pass for bench's. */
static bool names_are_own(const char *const *extra, const struct head_places *places, struct error *err)
{
    SCOPED char *root = places->installed ? xstrdup(places->installed) : file_share("kernels/variants");
    for (int i = 0; extra && extra[i]; i++) {
        SCOPED char *folder = xstrndup(extra[i], strcspn(extra[i], "=")), *shipped = file_join(root, folder);
        if (!folder_name_ok(folder, strlen(folder)) || *folder == '.' || !file_is_dir(shipped))
            continue;
        error_set(err, ERROR_USAGE, "--variants %s: the name %s/ is reserved", extra[i], folder);
        return error_hint(err, "use another name, for example --variants my%s", extra[i] + strlen(folder));
    }
    return true;
}

static bool load_extra(struct variant_set *set, const char *spec, const struct head_places *places, struct error *err)
{
    size_t n = strcspn(spec, "=");
    if (!spec[n] || !folder_name_ok(spec, n)) {
        error_set(err, ERROR_USAGE, "--variants %s: NAME=DIR or NAME=FILE.cu is expected; the rows are named NAME/FILE", spec);
        return error_hint(err, access(spec, F_OK) ? "for example --variants my=." : "--variants my=%s", spec);
    }
    const char *path = spec + n + 1;
    if (access(path, F_OK)) {
        const char *why = file_unreachable(path);
        return error_set(err, ERROR_USAGE, why ? "--variants %s: '%s': %s" : "--variants %s: there is no '%s'", spec, path, why);
    }
    SCOPED char *folder = xstrndup(spec, n);
    bool dir = file_is_dir(path), done;
    int before = set->count;
    if (dir) {
        done = load_folder(set, path, folder, true, places, err);
    } else {
        struct variant *v = head_load_only(path, folder, places, err);
        done = v != NULL;
        if (v)
            add_variant(set, v);
    }
    for (int i = before; i < set->count; i++)
        set->items[i]->given = dir ? GIVEN_FOLDER : GIVEN_FILE;
    return done;
}

/* `from: tiled_halo` is looked for in the variant's own folder, then in its op's; a parent that is not here is only noted. */
static void resolve_parents(struct variant_set *set)
{
    for (int i = 0; i < set->count; i++) {
        struct variant *v = set->items[i];
        if (!v->from)
            continue;
        SCOPED char *mine = text_format("%s/%s", v->folder, v->from), *ops = text_format("%s/%s", v->op->name, v->from);
        const struct variant *parent = variant_exact(set, v->from);
        parent = parent ? parent : variant_exact(set, mine);
        parent = parent ? parent : variant_exact(set, ops);
        if (parent) {
            bool ladder =
                parent->op == v->op || node_get(v->head, "from"); /* a head that is like another op's has no parent on the ladder */
            free(v->from);
            v->from = ladder ? xstrdup(parent->name) : NULL;
        } else {
            add_note(set, text_format("%s: from '%s', which is not among the variants", v->name, v->from));
        }
    }
}

bool variant_set_load(const char *const *extra, struct variant_set *set, struct error *err)
{
    return variant_set_load_from(NULL, NULL, extra, set, err);
}

bool variant_set_load_from(const char *root, const char *include, const char *const *extra, struct variant_set *set, struct error *err)
{
    *set = (struct variant_set){0};
    const struct head_places places = {root, extra};
    bool done = names_are_own(extra, &places, err) && load_installed(&places, set, err);
    for (int i = 0; done && extra && extra[i]; i++)
        done = load_extra(set, extra[i], &places, err);
    for (int i = 0; i < set->count; i++)
        set->items[i]->include = include;
    if (set->count)
        qsort(set->items, (size_t)set->count, sizeof *set->items, set_by_name);
    for (int i = 1; done && i < set->count; i++)
        if (!strcmp(set->items[i - 1]->name, set->items[i]->name))
            done = error_set(err, ERROR_USAGE, "two variants have the name %s: %s and %s", set->items[i]->name, set->items[i - 1]->path,
                             set->items[i]->path);
    if (done)
        resolve_parents(set);
    else
        variant_set_free(set);
    return done;
}

void variant_set_free(struct variant_set *set)
{
    for (int i = 0; i < set->count; i++)
        variant_free(set->items[i]);
    pointers_free(set->notes, set->note_count);
    free(set->items);
    *set = (struct variant_set){0};
}

bool variant_reads_mask(const struct variant *v)
{
    const struct head *h = v->parsed;
    return h->mask.given;
}

bool variant_selects(const struct variant *v)
{
    const struct head *h = v->parsed;
    return h->selects;
}

bool variant_races(const struct variant_set *set, const struct variant *v, char hash[HASH_TEXT])
{
    const struct head *head = v->parsed;
    if (!head->race_count)
        return false;
    struct hash *h = hash_begin();
    hash_add_text(h, v->hash);
    for (int i = head->step_count - head->race_count; i < head->step_count; i++) {
        const struct variant *raced = variant_find(set, head->steps[i].name, v->op, NULL, NULL);
        hash_add_text(h, raced ? raced->hash : "");
    }
    hash_end(h, hash);
    return true;
}
