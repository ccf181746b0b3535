/* `like: NAME`: finds the other head and lays this one on top of it. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/head/head.h"
#include "kernel/variant.h"
#include <stdlib.h>
#include <string.h>

#define LIKE_MAX 16 /* heads in a chain */

/* Keys that are not inherited: a sentence about the file, a measured claim, the place of its code. */
static const char *const like_own[] = {"what", "like", "from", "claims", "source", "on"};

/* The file that is being read: the meaning of its `like:` depends on the file's folder. */
struct like_seat {
    char *dir, *folder; /* on disk; in names of variants */
    const struct head_places *places;
};

/* DIR/NAME.cu or .yaml; NULL: neither is there. */
static char *like_file(const char *dir, const char *name)
{
    static const char *const suffixes[] = {".cu", ".yaml"};
    for (int i = 0; i < 2; i++) {
        SCOPED char *base = text_format("%s%s", name, suffixes[i]);
        char *path = file_join(dir, base);
        if (file_exists(path) && !file_is_dir(path) && !file_is_stream(path))
            return path;
        free(path);
    }
    return NULL;
}

static char *like_root(const struct head_places *places)
{
    return places && places->installed ? xstrdup(places->installed) : file_share("kernels/variants");
}

static char *like_installed(const struct head_places *places, const char *folder, const char *name)
{
    SCOPED char *root = like_root(places), *dir = file_join(root, folder);
    return like_file(dir, name);
}

/* Looks in the user's folders, given as NAME=DIR or NAME=FILE. */
static char *like_extra(const struct head_places *places, const char *folder, const char *name)
{
    const char *const *extra = places ? places->extra : NULL;
    size_t n = strlen(folder);
    for (int i = 0; extra && extra[i]; i++) {
        if (strncmp(extra[i], folder, n) || extra[i][n] != '=')
            continue;
        const char *place = extra[i] + n + 1;
        SCOPED char *dir = file_is_dir(place) ? xstrdup(place) : file_dir(place);
        char *path = like_file(dir, name);
        if (path)
            return path;
    }
    return NULL;
}

/* True for one part of a name that cannot lead out of the folders. */
static bool like_word(const char *s, size_t n)
{
    return n > 0 && n < PROGRAM_NAME && s[0] != '.' && !memchr(s, '/', n);
}

static char *like_find(const struct like_seat *seat, const char *name, const char *op, char **folder)
{
    const char *slash = strchr(name, '/'), *base = slash ? slash + 1 : name;
    size_t n = slash ? (size_t)(slash - name) : 0;
    if (!like_word(base, strlen(base)) || (slash && !like_word(name, n)))
        return NULL;
    *folder = slash ? xstrndup(name, n) : xstrdup(seat->folder);
    char *path = !slash || !strcmp(*folder, seat->folder) ? like_file(seat->dir, base) : NULL;
    path = path || !slash ? path : like_extra(seat->places, *folder, base);
    path = path || !slash ? path : like_installed(seat->places, *folder, base);
    if (!path && !slash && op && like_word(op, strlen(op))) {
        free(*folder);
        *folder = xstrdup(op);
        path = like_installed(seat->places, op, base);
    }
    if (!path) {
        free(*folder);
        *folder = NULL;
    }
    return path;
}

struct like_words {
    char **items;
    size_t count;
};

/* `self`: the file that asks. */
static void like_add_words(struct like_words *w, const char *dir, const char *folder, const char *self)
{
    SCOPED char **names = NULL;
    int count = file_list(dir, ".cu", &names, NULL);
    for (int i = 0; i < count; i++) {
        w->items = xrealloc(w->items, (w->count + 1) * sizeof *w->items);
        if (strcmp(names[i], self))
            w->items[w->count++] = text_format("%s%s%.*s", folder, *folder ? "/" : "", (int)strlen(names[i]) - 3, names[i]);
    }
}

static bool like_unknown(const struct like_seat *seat, const struct node *like, const char *op, struct error *err)
{
    struct like_words words = {0};
    SCOPED char *root = like_root(seat->places), **folders = NULL;
    int count = file_list(root, "", &folders, NULL);
    like_add_words(&words, seat->dir, "", file_base(like->file));
    for (int i = 0; i < count; i++) {
        SCOPED char *dir = file_join(root, folders[i]);
        like_add_words(&words, dir, folders[i], "");
        if (op && !strcmp(op, folders[i]))
            like_add_words(&words, dir, "", file_base(like->file));
    }
    const char *near = text_nearest(like->text, (const char *const *)words.items, words.count);
    struct text same = {0}; /* files of that name in other folders, for example where a shipped file was copied from */
    for (size_t i = 0; i < words.count; i++) {
        const char *slash = strchr(words.items[i], '/');
        if (slash && !strcmp(slash + 1, like->text))
            text_addf(&same, "%s%s", same.len ? ", " : "", words.items[i]);
    }
    node_error(like, err, "like: there is no head '%.100s'", like->text);
    if (same.len)
        error_hint(err, "with its folder: %s", text_get(&same));
    else if (near)
        error_hint(err, "did you mean '%s'?", near);
    else
        error_hint(err, "use the NAME of a file in the same folder, or OP/NAME as in `bench list variants`");
    text_free(&same);
    pointers_free(words.items, words.count);
    return false;
}

static bool like_circle(const struct variant *v, const struct node *like, const char *path, struct error *err)
{
    SCOPED_TEXT t = {0};
    int first = strcmp(v->path, path) ? 1 : 0;
    while (first && strcmp(v->parents[first - 1].path, path))
        first++;
    for (int i = first; i <= v->parent_count; i++)
        text_addf(&t, "%s -> ", file_base(i ? v->parents[i - 1].path : v->path));
    text_add(&t, file_base(path));
    node_error(like, err, "like: is circular, %s", text_get(&t));
    return false;
}

static bool like_read(struct variant_file *f, const struct node *like, struct error *err)
{
    f->text = file_read(f->path, HEAD_MAX_BYTES, &f->bytes, err);
    if (!f->text)
        return false;
    struct head_place place = {.end = f->bytes, .line = 1};
    enum head_found found = text_ends(f->path, ".yaml") ? HEAD_PRESENT : head_find(f->path, f->text, f->bytes, &place, err);
    if (found == HEAD_ABSENT)
        node_error(like, err, "like: %s has no `bench 1` head", f->path);
    if (found != HEAD_PRESENT)
        return false;
    f->root = node_parse_text(f->path, f->text + place.begin, place.end - place.begin, place.line, 1, err);
    return f->root && (f->root->kind == NODE_MAP || node_error(f->root, err, "a head must be a map of keys"));
}

/* Reads one more head into v->parents; `like` is the key of the head before. */
static bool like_add(struct variant *v, struct like_seat *seat, const struct node *root, struct error *err)
{
    const struct node *like = node_get(root, "like"), *op = node_get(root, "op");
    const char *name = node_text(like, "like", err), *of = op && op->kind == NODE_SCALAR ? op->text : NULL;
    if (!name)
        return false;
    char *folder = NULL, *found = like_find(seat, name, of, &folder), *path = found ? realpath(found, NULL) : NULL;
    free(found);
    if (!path) {
        free(folder);
        return like_unknown(seat, like, of, err);
    }
    bool circle = !strcmp(path, v->path);
    for (int i = 0; i < v->parent_count; i++)
        circle |= !strcmp(path, v->parents[i].path);
    bool done = !(circle && !like_circle(v, like, path, err)) &&
                (v->parent_count < LIKE_MAX || node_error(like, err, "like: more than %d heads in a chain", LIKE_MAX));
    free(seat->folder);
    free(seat->dir);
    seat->folder = folder;
    seat->dir = file_dir(path);
    if (!done) {
        free(path);
        return false;
    }
    v->parents = xrealloc(v->parents, (size_t)(v->parent_count + 1) * sizeof *v->parents);
    v->parents[v->parent_count] = (struct variant_file){.path = path};
    return like_read(&v->parents[v->parent_count++], like, err);
}

/* True if the file has code besides comments and the head: only then is the file compiled. */
static bool like_has_code(const char *s, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        const char *end = NULL;
        if (strchr(" \t\r\n", s[i]))
            i++;
        else if (!strncmp(s + i, "/*", 2) && (end = memmem(s + i + 2, bytes - i - 2, "*/", 2)))
            i = (size_t)(end + 2 - s);
        else if (!strncmp(s + i, "//", 2))
            i += strcspn(s + i, "\n");
        else
            return true;
    }
    return false;
}

static void like_find_code(struct variant *v, size_t bytes)
{
    const char *code = v->path;
    const struct node *source = text_ends(v->path, ".yaml") ? node_get(v->head, "source") : NULL;
    if (source && source->kind == NODE_SCALAR && text_ends(source->text, ".cu")) { /* a sidecar of code that bench compiles */
        v->code = file_beside(v->path, source->text);
        return;
    }
    bool own = like_has_code(v->text, bytes);
    for (int i = 0; i < v->parent_count && !own; i++) {
        own = text_ends(v->parents[i].path, ".cu") && like_has_code(v->parents[i].text, v->parents[i].bytes);
        code = own ? v->parents[i].path : v->path;
    }
    v->code = xstrdup(code);
}

bool head_inherit(struct variant *v, const char *folder, const struct head_places *places, struct error *err)
{
    struct like_seat seat = {file_dir(v->path), xstrdup(folder), places};
    const struct node *at = v->head;
    bool done = true;
    while (done && at->kind == NODE_MAP && node_get(at, "like")) {
        done = like_add(v, &seat, at, err);
        at = done ? v->parents[v->parent_count - 1].root : at;
    }
    for (int i = v->parent_count - 1; done && i >= 0; i--) { /* the farthest first */
        for (size_t k = 0; k < sizeof like_own / sizeof *like_own; k++)
            node_remove(v->parents[i].root, like_own[k]);
        done = node_inherit(i ? v->parents[i - 1].root : v->head, v->parents[i].root, err);
    }
    if (done)
        like_find_code(v, strlen(v->text));
    free(seat.dir);
    free(seat.folder);
    return done;
}
