/* Finds and loads variants: the installation's kernels/variants/<op>/ and the user's own folders. */
#include "variant/head.h"
#include "variant/variant.h"
#include "base/file.h"
#include "base/text.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_MAX_BYTES (1u << 30)

static void add_note(struct variant_set *set, char *note)
{
    set->notes = xrealloc(set->notes, (size_t)(set->note_count + 1) * sizeof *set->notes);
    set->notes[set->note_count++] = note;
}

void variant_free(struct variant *v)
{
    if (!v)
        return;
    head_free(v->parsed);
    node_free(v->head);
    free(v->name);
    free(v->path);
    free(v->text);
    free(v->what);
    free(v->from);
    free(v->algorithm);
    free(v);
}

static char *absolute(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : xstrdup(path);
}

static bool read_head(struct variant *v, const char *path, const struct head_place *place, struct error *err)
{
    v->head = node_parse_text(path, v->text + place->begin, place->end - place->begin, place->line, 1, err);
    if (!v->head)
        return false;
    struct head *h = head_read(v->head, err);
    if (!h)
        return false;
    const struct node *from = node_get(v->head, "from"), *algorithm = node_get(v->head, "algorithm");
    v->parsed = h;
    v->op = h->op;
    v->what = xstrdup(node_get(v->head, "what")->text);
    v->from = from ? xstrdup(from->text) : NULL;
    v->algorithm = xstrdup(algorithm ? algorithm->text : "direct");
    return true;
}

static struct variant *load_head(const char *path, const char *folder, char **note, struct error *err)
{
    const char *base = file_base(path);
    size_t length = strlen(base), bytes = 0;
    struct head_place place;
    struct stat st;
    *note = NULL;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        *note = text_format("%s/%s: not a file, passed over", folder, base);
        return NULL;
    }
    if (stat(path, &st) == 0 && st.st_size > HEAD_MAX_BYTES) {
        *note = text_format("%s/%s: %lld bytes, more than a variant may have (%u), passed over", folder, base, (long long)st.st_size,
                            HEAD_MAX_BYTES);
        return NULL;
    }
    struct variant *v = xcalloc(1, sizeof *v);
    v->name = text_format("%s/%.*s", folder, (int)(length > 3 && !strcmp(base + length - 3, ".cu") ? length - 3 : length), base);
    v->path = absolute(path);
    v->text = file_read(path, HEAD_MAX_BYTES, &bytes, err);
    enum head_found found = v->text ? head_find(path, v->text, bytes, &place, err) : HEAD_BROKEN;
    if (found == HEAD_ABSENT && place.later)
        *note = text_format("%s/%s: its `bench` head (line %d) is not the first comment, passed over", folder, base, place.later);
    else if (found == HEAD_ABSENT)
        *note = text_format("%s/%s: no `bench 1` head, passed over", folder, base);
    if (found == HEAD_PRESENT && read_head(v, path, &place, err)) {
        const struct node *source = node_get(v->head, "source");
        hash_bytes(v->text, bytes, v->hash);
        if (!source)
            return v;
        node_error(source, err, "source: the code of a .cu is the file itself; a head for %.80s is a file of its own, NAME.yaml",
                   source->text);
    }
    variant_free(v);
    return NULL;
}

/* `source:` at the beginning of a line: else a YAML file is something else, like a scenario. */
static bool is_sidecar(const char *text)
{
    return text && (!strncmp(text, "source:", 7) || strstr(text, "\nsource:"));
}

/* The hash covers the code too: a new build of it is another row. */
static bool hash_with_source(struct variant *v, size_t bytes, struct error *err)
{
    const struct node *source = node_get(v->head, "source");
    char *dir = file_dir(v->path), *path = file_join(dir, source->text);
    size_t code_bytes = 0;
    char *code = file_read(path, SOURCE_MAX_BYTES, &code_bytes, NULL);
    if (code) {
        struct hash *h = hash_begin();
        hash_add(h, v->text, bytes);
        hash_add(h, code, code_bytes);
        hash_end(h, v->hash);
    } else {
        node_error(source, err, "source: there is no %s", path);
    }
    bool ok = code != NULL;
    free(code);
    free(path);
    free(dir);
    return ok;
}

static struct variant *load_sidecar(const char *path, const char *folder, struct error *err)
{
    const char *base = file_base(path);
    size_t bytes = 0;
    struct variant *v = xcalloc(1, sizeof *v);
    v->name = text_format("%s/%.*s", folder, (int)(strlen(base) - 5), base);
    v->path = absolute(path);
    v->text = file_read(path, HEAD_MAX_BYTES, &bytes, err);
    struct head_place whole = {.begin = 0, .end = bytes, .line = 1};
    if (v->text && read_head(v, path, &whole, err) && hash_with_source(v, bytes, err))
        return v;
    variant_free(v);
    return NULL;
}

/* `*note` is set, or nothing at all, instead of the error when the file is no variant. */
static struct variant *load(const char *path, const char *folder, char **note, struct error *err)
{
    size_t length = strlen(path), bytes;
    *note = NULL;
    if (length < 5 || strcmp(path + length - 5, ".yaml"))
        return load_head(path, folder, note, err);
    char *text = file_read(path, HEAD_MAX_BYTES, &bytes, NULL);
    struct variant *v = NULL;
    if (is_sidecar(text))
        v = load_sidecar(path, folder, err);
    else
        *note = xstrdup("");
    free(text);
    return v;
}

struct variant *variant_load(const char *path, const char *folder, struct error *err)
{
    char *note;
    struct variant *v = load(path, folder, &note, err);
    if (note && !*note) {
        error_set(err, ERROR_USAGE, "%s: no `source:`, so it is no sidecar of foreign code", path);
        error_hint(err, "docs/FOREIGN.md");
    } else if (note) {
        error_set(err, ERROR_USAGE, "%s", note);
        error_where(err, "%s", path);
        error_hint(err, "a variant begins with a comment `/* bench 1`: `bench new OP %s` writes one from the kernel's signature",
                   file_base(path));
    }
    free(note);
    return v;
}

static int by_name(const void *a, const void *b)
{
    const struct variant *const *va = a, *const *vb = b;
    return strcmp((*va)->name, (*vb)->name);
}

static void add_variant(struct variant_set *set, struct variant *v)
{
    set->items = xrealloc(set->items, (size_t)(set->count + 1) * sizeof *set->items);
    set->items[set->count++] = v;
}

static bool load_files(struct variant_set *set, const char *dir, const char *folder, const char *suffix, struct error *err)
{
    char **names;
    int count = file_list(dir, suffix, &names, err);
    bool done = count >= 0;
    for (int i = 0; i < count; i++) {
        char *path = file_join(dir, names[i]), *note = NULL;
        struct variant *v = done ? load(path, folder, &note, err) : NULL;
        if (v) {
            add_variant(set, v);
        } else if (note && *note) {
            add_note(set, note);
        } else if (note) {
            free(note);
        } else {
            done = false;
        }
        free(path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return done;
}

static bool load_folder(struct variant_set *set, const char *dir, const char *folder, bool own, struct error *err)
{
    int before = set->count;
    bool done = load_files(set, dir, folder, ".cu", err) && load_files(set, dir, folder, ".yaml", err);
    if (done && own && set->count == before) /* a folder that selects nothing is an error (decision 13) */
        return error_set(err, ERROR_USAGE, "--variants %s=%s: the folder has no variant (no .cu file with a `bench 1` head)", folder, dir);
    return done;
}

static bool load_installed(struct variant_set *set, struct error *err)
{
    char **names = NULL, *root = file_share("kernels/variants");
    int count = file_is_dir(root) ? file_list(root, "", &names, err) : 0;
    bool done = count >= 0;
    for (int i = 0; i < count; i++) {
        char *dir = file_join(root, names[i]);
        done = done && (!file_is_dir(dir) || load_folder(set, dir, names[i], false, err));
        free(dir);
        free(names[i]);
    }
    free(names);
    free(root);
    return done;
}

static bool folder_name_ok(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", s[i]))
            return false;
    return n > 0 && n < PROGRAM_NAME;
}

static bool load_extra(struct variant_set *set, const char *spec, struct error *err)
{
    size_t n = strcspn(spec, "=");
    if (!spec[n] || !folder_name_ok(spec, n)) {
        error_set(err, ERROR_USAGE, "--variants %s: should be NAME=DIR or NAME=FILE.cu; rows will be called NAME/FILE", spec);
        return error_hint(err, access(spec, F_OK) ? "for example --variants my=." : "--variants my=%s", spec);
    }
    const char *path = spec + n + 1;
    if (access(path, F_OK))
        return error_set(err, ERROR_USAGE, "--variants %s: there is no '%s'", spec, path);
    char *folder = xstrndup(spec, n);
    bool dir = file_is_dir(path), done;
    int before = set->count;
    if (dir) {
        done = load_folder(set, path, folder, true, err);
    } else {
        struct variant *v = variant_load(path, folder, err);
        done = v != NULL;
        if (v)
            add_variant(set, v);
    }
    for (int i = before; i < set->count; i++)
        set->items[i]->given = dir ? GIVEN_FOLDER : GIVEN_FILE;
    free(folder);
    return done;
}

static const struct variant *find_exact(const struct variant_set *set, const char *name)
{
    for (int i = 0; set && i < set->count; i++)
        if (!strcmp(set->items[i]->name, name))
            return set->items[i];
    return NULL;
}

/* `from: tiled_halo` is looked for in the variant's own folder, then in its op's; a parent that is not here is only noted. */
static void resolve_parents(struct variant_set *set)
{
    for (int i = 0; i < set->count; i++) {
        struct variant *v = set->items[i];
        if (!v->from)
            continue;
        char *mine = text_format("%.*s/%s", (int)strcspn(v->name, "/"), v->name, v->from),
             *ops = text_format("%s/%s", v->op->name, v->from);
        const struct variant *parent = find_exact(set, v->from);
        parent = parent ? parent : find_exact(set, mine);
        parent = parent ? parent : find_exact(set, ops);
        if (parent) {
            free(v->from);
            v->from = xstrdup(parent->name);
        } else {
            add_note(set, text_format("%s: from '%s', which is not among the variants", v->name, v->from));
        }
        free(mine);
        free(ops);
    }
}

bool variant_set_load(const char *const *extra, struct variant_set *set, struct error *err)
{
    *set = (struct variant_set){0};
    bool done = load_installed(set, err);
    for (int i = 0; done && extra && extra[i]; i++)
        done = load_extra(set, extra[i], err);
    if (set->count)
        qsort(set->items, (size_t)set->count, sizeof *set->items, by_name);
    for (int i = 1; done && i < set->count; i++)
        if (!strcmp(set->items[i - 1]->name, set->items[i]->name))
            done = error_set(err, ERROR_USAGE, "two variants are called %s: %s and %s", set->items[i]->name, set->items[i - 1]->path,
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
    for (int i = 0; i < set->note_count; i++)
        free(set->notes[i]);
    free(set->items);
    free(set->notes);
    *set = (struct variant_set){0};
}

static bool no_such_variant(const struct variant_set *set, const char *name, const struct op *op, const struct node *where,
                            struct error *err)
{
    int count = set ? set->count : 0;
    const char **words = xcalloc((size_t)count * 2 + 1, sizeof *words);
    size_t n = 0;
    for (int i = 0; i < count; i++) {
        words[n++] = set->items[i]->name;
        if (!op || set->items[i]->op == op)
            words[n++] = strchr(set->items[i]->name, '/') + 1;
    }
    const char *near = text_nearest(name, words, n);
    for (int i = 0; i < count && near && !op; i++) /* without an op only the whole name means a variant */
        if (!strcmp(strchr(set->items[i]->name, '/') + 1, near))
            near = set->items[i]->name;
    if (where)
        node_error(where, err, "no variant is called '%.100s'", name);
    else
        error_set(err, ERROR_USAGE, "no variant is called '%.100s'", name);
    if (near)
        error_hint(err, "did you mean '%s'?", near);
    else
        error_hint(err, "`bench list` names them all; --variants NAME=DIR adds a folder");
    free(words);
    return false;
}

const struct variant *variant_find(const struct variant_set *set, const char *name, const struct op *op, const struct node *where,
                                   struct error *err)
{
    const struct variant *found = find_exact(set, name);
    if (!found && op && !strchr(name, '/')) {
        char *full = text_format("%s/%s", op->name, name);
        found = find_exact(set, full);
        free(full);
    }
    if (!found)
        no_such_variant(set, name, op, where, err);
    return found;
}

bool variant_reads_mask(const struct variant *v)
{
    const struct head *h = v->parsed;
    return h->mask.given;
}

bool variant_is_library(const struct variant *v)
{
    const char *base = strrchr(v->name, '/');
    return !strncmp(base ? base + 1 : v->name, "cudnn", 5);
}
