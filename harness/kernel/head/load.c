/* Makes a variant of one file: a .cu with a head, or a sidecar of foreign code. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/head/head.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCE_MAX_BYTES (1u << 30)

void variant_free(struct variant *v)
{
    if (!v)
        return;
    head_free(v->parsed);
    node_free(v->head);
    for (int i = 0; i < v->parent_count; i++) {
        free(v->parents[i].path);
        free(v->parents[i].text);
        node_free(v->parents[i].root);
    }
    FREE_ALL(v->parents, v->name, v->folder, v->path, v->text, v->code, v->what, v->from, v->algorithm, v);
}

static char *load_absolute(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : xstrdup(path);
}

/* Reads the keys that struct variant keeps. A head that is like another one is also `from` it, unless it says otherwise. */
static bool load_keys(struct variant *v, struct error *err)
{
    struct head *h = head_read(v->head, err);
    if (!h)
        return false;
    const struct node *from = node_get(v->head, "from"), *like = node_get(v->head, "like"), *algorithm = node_get(v->head, "algorithm");
    from = from ? from : like;
    v->parsed = h;
    v->op = h->op;
    v->what = xstrdup(node_get(v->head, "what")->text);
    v->from = from ? xstrdup(from->text) : NULL;
    v->algorithm = xstrdup(algorithm ? algorithm->text : "direct");
    return true;
}

/* The hash covers foreign code too: a new build of it is another row. */
static bool load_hash(struct variant *v, size_t bytes, struct error *err)
{
    const struct node *source = node_get(v->head, "source");
    size_t code_bytes = 0;
    char *code = NULL;
    if (source) {
        SCOPED char *path = file_beside(v->path, source->text);
        size_t stem = strlen(path) > 3 ? strlen(path) - 3 : 0;
        code = file_read(path, SOURCE_MAX_BYTES, &code_bytes, NULL);
        if (!code && !strcmp(path + stem, ".so")) { /* not built, as in a revision that was only unpacked: the row will be skipped */
            SCOPED char *made_of = text_format("%.*s.c", (int)stem, path);
            code = file_read(made_of, SOURCE_MAX_BYTES, &code_bytes, NULL);
        }
        if (!code)
            node_error(source, err, "source: there is no %s", path);
        if (!code)
            return false;
    }
    if (!code && !v->parent_count) {
        hash_bytes(v->text, bytes, v->hash);
        return true;
    }
    struct hash *h = hash_begin();
    hash_add(h, v->text, bytes);
    for (int i = 0; i < v->parent_count; i++)
        hash_add(h, v->parents[i].text, v->parents[i].bytes);
    if (code)
        hash_add(h, code, code_bytes);
    hash_end(h, v->hash);
    free(code);
    return true;
}

/* Loads the part that all files share; `place`: the YAML in v->text. */
static bool load_head(struct variant *v, const char *path, const char *folder, const struct head_places *places, size_t bytes,
                      const struct head_place *place, struct error *err)
{
    v->head = node_parse_text(path, v->text + place->begin, place->end - place->begin, place->line, 1, err);
    return v->head && head_inherit(v, folder, places, err) && load_keys(v, err) && load_hash(v, bytes, err);
}

char *head_absent_note(const char *folder, const char *base)
{
    return text_format("%s/%s: no `bench 1` head, skipped", folder, base);
}

static struct variant *load_cu(const char *path, const char *folder, const struct head_places *places, char **note, struct error *err)
{
    const char *base = file_base(path);
    size_t length = strlen(base), bytes = 0;
    struct head_place place;
    struct stat st;
    bool link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    if (stat(path, &st) ? link : !S_ISREG(st.st_mode)) { /* a link that leads nowhere, too */
        *note = text_format("%s/%s: not a file, skipped", folder, base);
        return NULL;
    }
    if (stat(path, &st) == 0 && st.st_size > HEAD_MAX_BYTES) {
        *note = text_format("%s/%s: %lld bytes, more than a variant may have (%u), skipped", folder, base, (long long)st.st_size,
                            HEAD_MAX_BYTES);
        return NULL;
    }
    struct variant *v = xcalloc(1, sizeof *v);
    v->folder = xstrdup(folder);
    v->name = text_format("%s/%.*s", folder, (int)(length > 3 && !strcmp(base + length - 3, ".cu") ? length - 3 : length), base);
    v->path = load_absolute(path);
    v->text = file_read(path, HEAD_MAX_BYTES, &bytes, err);
    enum head_found found = v->text ? head_find(path, v->text, bytes, &place, err) : HEAD_BROKEN;
    if (found == HEAD_ABSENT && place.later)
        *note = text_format("%s/%s: its `bench` head (line %d) is not the first comment, skipped", folder, base, place.later);
    else if (found == HEAD_ABSENT)
        *note = head_absent_note(folder, base);
    if (found == HEAD_PRESENT && load_head(v, path, folder, places, bytes, &place, err)) {
        const struct node *source = node_get(v->head, "source");
        if (!source)
            return v;
        node_error(source, err, "source: a .cu contains its own code; put a head for %.80s into a separate file, NAME.yaml", source->text);
    }
    variant_free(v);
    return NULL;
}

/* True if a line begins with `source:`; other YAML files are something else, like a scenario. */
static bool load_is_sidecar(const char *text)
{
    return text && (!strncmp(text, "source:", 7) || strstr(text, "\nsource:"));
}

static struct variant *load_sidecar(const char *path, const char *folder, const struct head_places *places, struct error *err)
{
    const char *base = file_base(path);
    size_t bytes = 0;
    struct variant *v = xcalloc(1, sizeof *v);
    v->folder = xstrdup(folder);
    v->name = text_format("%s/%.*s", folder, (int)(strlen(base) - 5), base);
    v->path = load_absolute(path);
    v->text = file_read(path, HEAD_MAX_BYTES, &bytes, err);
    struct head_place whole = {.begin = 0, .end = bytes, .line = 1};
    if (v->text && load_head(v, path, folder, places, bytes, &whole, err))
        return v;
    variant_free(v);
    return NULL;
}

struct variant *head_load(const char *path, const char *folder, const struct head_places *places, char **note, struct error *err)
{
    size_t length = strlen(path), bytes;
    *note = NULL;
    if (length < 5 || strcmp(path + length - 5, ".yaml"))
        return load_cu(path, folder, places, note, err);
    SCOPED char *text = file_read(path, HEAD_MAX_BYTES, &bytes, NULL);
    struct variant *v = NULL;
    if (load_is_sidecar(text))
        v = load_sidecar(path, folder, places, err);
    else
        *note = xstrdup("");
    return v;
}

struct variant *head_load_only(const char *path, const char *folder, const struct head_places *places, struct error *err)
{
    SCOPED char *note = NULL;
    struct variant *v = head_load(path, folder, places, &note, err);
    if (note && !*note) {
        error_set(err, ERROR_USAGE, "%s: it has no `source:`, so it is not a sidecar of foreign code", path);
        error_hint(err, "docs/FOREIGN.md");
    } else if (note) {
        error_set(err, ERROR_USAGE, "%s", note);
        error_where(err, "%s", path);
        error_hint(err, "a variant must begin with a comment `/* bench 1`: `bench new OP %s` writes it from the kernel's signature",
                   file_base(path));
    }
    return v;
}

struct variant *variant_load(const char *path, const char *folder, struct error *err)
{
    return head_load_only(path, folder, NULL, err);
}
