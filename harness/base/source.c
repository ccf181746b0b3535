/* What a compilation depends on: the .cu and every file that it can include from its own folder and from kernels/include, found by
 * reading `#include` and `__has_include` lines without a preprocessor. Includes in a false #if count too; at worst that compiles once
 * more than needed. The compiler's build number covers CUDA's own headers. */
#include "base/source.h"
#include "base/code_only.h"
#include "base/file.h"
#include "base/text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX_BYTES (16u << 20)
#define INCLUDES_MAX 512

struct includes {
    struct source *source;
    const char *const *defines;
    int define_count;
    struct hash *hash;
    bool words;                /* comments and blanks do not count */
    char *paths[INCLUDES_MAX]; /* files already read */
    int count;
};

static bool scan_file(struct includes *in, const char *path, const char *text, struct error *err);

/* Feeds one file to the hash under the name by which it was included; its content and its own includes only the first time. */
static bool add_file(struct includes *in, const char *name, const char *path, struct error *err)
{
    hash_add_text(in->hash, name);
    for (int i = 0; i < in->count; i++)
        if (strcmp(in->paths[i], path) == 0) {
            hash_add(in->hash, &i, sizeof i);
            return true;
        }
    if (in->count == INCLUDES_MAX)
        return error_set(err, ERROR_USAGE, "%s: more than %d included files", in->source->path, INCLUDES_MAX);
    in->paths[in->count++] = xstrdup(path);
    size_t bytes;
    SCOPED char *text = file_read(path, SOURCE_MAX_BYTES, &bytes, err);
    if (!text)
        return false;
    SCOPED char *words = in->words ? code_words(text) : NULL;
    hash_add(in->hash, words ? words : text, words ? strlen(words) : bytes);
    return scan_file(in, path, text, err);
}

/* `name` as an include of the file in `folder` (NULL for <name>): the first place where it exists. */
static bool add_include(struct includes *in, const char *name, const char *folder, struct error *err)
{
    if (name[0] == '/')
        return !file_exists(name) || file_is_dir(name) || add_file(in, name, name, err);
    const char *places[] = {folder, in->source->folders[0], in->source->folders[1], in->source->host};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i])
            continue;
        SCOPED char *path = file_join(places[i], name);
        bool found = file_exists(path) && !file_is_dir(path);
        bool ok = found ? add_file(in, name, path, err) : true;
        if (found)
            return ok;
    }
    return true; /* a header of CUDA, or a missing one: the compiler will say so */
}

static bool is_header(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".h") || !strcmp(dot, ".cuh") || !strcmp(dot, ".inc") || !strcmp(dot, ".hpp"));
}

/* Every header of a folder; in kernels/include also those of its subfolders, included as THEME/NAME. */
static bool add_folder(struct includes *in, const char *folder, const char *theme, struct error *err)
{
    SCOPED char **names = NULL;
    int count = folder ? file_list(folder, "", &names, NULL) : -1;
    bool ok = true;
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(folder, names[i]), *name = file_join(theme, names[i]);
        if (ok && is_header(names[i]))
            ok = add_file(in, name, path, err);
        else if (ok && folder == in->source->folders[1] && file_is_dir(path))
            ok = add_folder(in, path, names[i], err);
    }
    return ok;
}

/* `#include MACRO` without a define for it: any file of both folders is possible. */
static bool add_all(struct includes *in, struct error *err)
{
    return add_folder(in, in->source->folders[0], "", err) && add_folder(in, in->source->folders[1], "", err);
}

/* The file that a define gives the macro at p: "name" or <name>; NULL when none does. */
static const char *defined_name(const struct includes *in, const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    for (int i = 0; i < in->define_count; i++)
        if (!strncmp(in->defines[i], p, n) && in->defines[i][n] == '=' && (in->defines[i][n + 1] == '"' || in->defines[i][n + 1] == '<'))
            return in->defines[i] + n + 1;
    return NULL;
}

/* p is after `include` or `__has_include(`. */
static bool take_name(struct includes *in, const char *p, const char *folder, bool directive, struct error *err)
{
    while (*p == ' ' || *p == '\t' || *p == '(')
        p++;
    bool macro = isalpha((unsigned char)*p) || *p == '_';
    const char *defined = macro ? defined_name(in, p) : NULL;
    if (defined)
        p = defined;
    if (*p == '"' || *p == '<') {
        size_t n = strcspn(p + 1, *p == '"' ? "\"\n" : ">\n");
        if (n == 0 || n > 1000)
            return true;
        SCOPED char *name = xstrndup(p + 1, n);
        return add_include(in, name, *p == '"' ? folder : NULL, err);
    }
    return directive && macro ? add_all(in, err) : true;
}

static bool scan_file(struct includes *in, const char *path, const char *text, struct error *err)
{
    SCOPED char *folder = file_dir(path);
    bool ok = true;
    for (const char *line = text; ok && *line;) {
        size_t n = strcspn(line, "\n");
        const char *p = line + strspn(line, " \t");
        if (*p == '#') {
            p++;
            p += strspn(p, " \t");
            if (strncmp(p, "include", 7) == 0 && strncmp(p, "include_", 8) != 0)
                ok = take_name(in, p + 7, folder, true, err);
            for (const char *h = p; ok && (h = memmem(h, (size_t)(line + n - h), "__has_include", 13)); h += 13)
                ok = take_name(in, h + 13, folder, false, err);
        }
        line += n + (line[n] == '\n');
    }
    return ok;
}

/* The source has a NUL byte, which NVRTC would take for its end. */
static bool nul_byte(const struct source *s, struct error *err)
{
    int line = 1;
    for (const char *p = s->text; *p; p++)
        line += *p == '\n';
    error_set(err, ERROR_USAGE, "%s:%d: a NUL byte in a source file", s->path, line);
    return error_at(err, s->path, line);
}

/* words: comments and blanks do not count in s->includes. */
static bool read_source(const char *path, const char *include, const char *const *defines, int define_count, bool words, struct source *s,
                        struct error *err)
{
    *s = (struct source){.path = xstrdup(path)};
    struct includes in = {.source = s, .defines = defines, .define_count = define_count, .words = words};
    s->text = file_read(path, SOURCE_MAX_BYTES, &s->bytes, err);
    if (!s->text)
        return false;
    if (strlen(s->text) != s->bytes)
        return nul_byte(s, err);
    if (!strncmp(s->text, "\xef\xbb\xbf", 3)) /* a byte order mark, which NVRTC does not skip */
        memcpy(s->text, "   ", 3);
    s->folders[0] = file_dir(path);
    s->folders[1] = include ? xstrdup(include) : file_share("kernels/include");
    s->host = file_share("kernels/include/host");
    in.hash = hash_begin();
    bool ok = scan_file(&in, path, s->text, err);
    hash_end(in.hash, s->includes);
    for (int i = 0; i < in.count; i++)
        free(in.paths[i]);
    return ok;
}

bool source_read(const char *path, const char *include, const char *const *defines, int define_count, struct source *s, struct error *err)
{
    return read_source(path, include, defines, define_count, false, s, err);
}

void source_free(struct source *s)
{
    FREE_ALL(s->path, s->text, s->folders[0], s->folders[1], s->host);
    *s = (struct source){0};
}

/* Hashes a .cu with all its includes; false, and nothing is hashed, if one of them cannot be read. */
static bool add_source(struct hash *h, const char *path, const char *include, const char *const *defines, int define_count, bool words)
{
    SCOPED_BY(source_free) struct source s = {0};
    bool ok = read_source(path, include, defines, define_count, words, &s, &(struct error){0});
    if (ok) {
        SCOPED char *only = words ? code_words(s.text) : NULL;
        hash_add(h, only ? only : s.text, only ? strlen(only) : s.bytes);
        hash_add_text(h, s.includes);
    }
    return ok;
}

void source_add(struct hash *h, const char *path)
{
    size_t bytes;
    if (!path || (text_ends(path, ".cu") && add_source(h, path, NULL, NULL, 0, true)))
        return;
    SCOPED char *content = file_read(path, 1u << 31, &bytes, NULL);
    if (content)
        hash_add(h, content, bytes);
}

struct source_memo {
    struct {
        char *of; /* what was asked for */
        char hash[HASH_TEXT];
    } * items;
    int count;
};

struct source_memo *source_memo_new(void)
{
    return xcalloc(1, sizeof(struct source_memo));
}

void source_memo_free(struct source_memo *memo)
{
    for (int i = 0; memo && i < memo->count; i++)
        free(memo->items[i].of);
    if (memo)
        free(memo->items);
    free(memo);
}

const char *source_hash(struct source_memo *memo, const char *path, const char *include, const char *const *defines, int define_count)
{
    struct text of = {0};
    text_addf(&of, "%s\n%s", path, include ? include : "");
    for (int i = 0; i < define_count; i++) { /* the others change no file that is read */
        const char *value = strchr(defines[i], '=');
        if (value && (value[1] == '"' || value[1] == '<'))
            text_addf(&of, "\n%s", defines[i]);
    }
    char *key = text_take(&of);
    int at = 0;
    while (at < memo->count && strcmp(memo->items[at].of, key))
        at++;
    if (at < memo->count) {
        free(key);
        return memo->items[at].hash;
    }
    memo->items = xrealloc(memo->items, sizeof *memo->items * (size_t)(memo->count + 1));
    memo->items[at].of = key;
    struct hash *h = hash_begin();
    bool read = add_source(h, path, include, defines, define_count, false);
    hash_end(h, memo->items[at].hash);
    if (!read)
        memo->items[at].hash[0] = 0;
    memo->count++;
    return memo->items[at].hash;
}
