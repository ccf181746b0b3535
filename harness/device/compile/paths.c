/* The paths in compiled code. The cache names an entry by content, so its next reader may have the source files elsewhere; the entry
 * contains its writer's folders. Before it is used, bench replaces the .file lines of the PTX, the folders in the cubin's line table and
 * the paths in the log by the reader's. Code that contains a path elsewhere (__FILE__, debug information) cannot be moved. Every offset is
 * checked: a bundle's bytes may be hostile. */
#include "base/file.h"
#include "device/compile/elf.h"
#include "device/compile/private.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The lines of an entry's `paths`: the working folder, the source as it was asked for, kernels/include, the host's headers, CUDA's. */
enum { CWD, SOURCE, INCLUDE, HOST, CUDA, PATH_LINES };
#define SHIFT 128 /* no section of a cubin has a larger alignment: what follows the line table moves by a multiple of it */

struct pair {
    char *from, *to;
};
struct move {
    struct pair code[5]; /* absolute folders, and "the source's folder": what PTX and line tables say */
    struct pair said[5]; /* as they were given to the compiler: what its messages say */
};

char *paths_of(const struct source *s, const char *cuda)
{
    const char *all[] = {s->path, s->folders[1] ? s->folders[1] : "", s->host ? s->host : "", cuda ? cuda : ""};
    SCOPED char *cwd = getcwd(NULL, 0);
    struct text t = {0};
    text_add(&t, cwd && !strchr(cwd, '\n') ? cwd : "/");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strpbrk(all[i], "\n\"")) { /* then NVRTC writes no line table, or the list could not be read again */
            text_free(&t);
            return NULL;
        }
        text_addf(&t, "\n%s", all[i]);
    }
    return text_take(&t);
}

static bool split(const char *paths, char *lines[PATH_LINES])
{
    char *copy = xstrdup(paths ? paths : ""), *rest = copy, *line;
    int n = 0;
    while ((line = strsep(&rest, "\n")))
        if (n++ < PATH_LINES)
            lines[n - 1] = xstrdup(line);
    for (int i = n; i < PATH_LINES; i++)
        lines[i] = xstrdup("");
    free(copy);
    return n == PATH_LINES;
}

static char *absolute(const char *cwd, const char *path)
{
    return *path == '/' || !*path ? xstrdup(path) : file_join(cwd, path);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? xstrndup(path, (size_t)(slash - path) + (slash == path)) : xstrdup("");
}

/* A source without a folder is in ".", which the compiler is told as an include folder. */
static void fill_pairs(char *lines[PATH_LINES], bool to, struct move *m)
{
    SCOPED char *whole = absolute(lines[CWD], lines[SOURCE]), *dir = file_dir(lines[SOURCE]);
    bool beside = to && !strchr(lines[SOURCE], '/');
    char *code[] = {folder_of(whole), beside ? folder_of(whole) : absolute(lines[CWD], dir), absolute(lines[CWD], lines[INCLUDE]),
                    absolute(lines[CWD], lines[HOST]), absolute(lines[CWD], lines[CUDA])};
    char *said[] = {xstrdup(lines[SOURCE]), xstrdup(dir), xstrdup(lines[INCLUDE]), xstrdup(lines[HOST]), xstrdup(lines[CUDA])};
    for (int i = 0; i < 5; i++) {
        *(to ? &m->code[i].to : &m->code[i].from) = code[i];
        *(to ? &m->said[i].to : &m->said[i].from) = said[i];
    }
}

static void move_free(struct move *m)
{
    for (int i = 0; i < 5; i++)
        FREE_ALL(m->code[i].from, m->code[i].to, m->said[i].from, m->said[i].to);
}

/* From one list of paths to another; false where a list is none. A folder that the reader does not have keeps its name. */
static bool move_open(struct move *m, const char *from, const char *to)
{
    char *a[PATH_LINES], *b[PATH_LINES];
    *m = (struct move){0};
    bool ok = split(from, a);
    ok = split(to, b) && ok;
    for (int i = INCLUDE; i < PATH_LINES; i++)
        if (!*b[i]) {
            free(b[i]);
            b[i] = absolute(a[CWD], a[i]);
        }
    fill_pairs(a, false, m);
    fill_pairs(b, true, m);
    for (int i = 0; i < PATH_LINES; i++) {
        free(a[i]);
        free(b[i]);
    }
    /* One folder of the writer that is two of the reader's: nothing tells which is meant. */
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            if (!strcmp(m->code[i].from, m->code[j].from) && strcmp(m->code[i].to, m->code[j].to))
                ok = ok && !*m->code[i].from;
    if (!ok)
        move_free(m);
    return ok;
}

/* The pair with the longest `from` that is the path or a folder above it. */
static const struct pair *pair_of(const struct pair *pairs, const char *path, size_t n)
{
    const struct pair *found = NULL;
    for (int i = 0; i < 5; i++) {
        size_t k = strlen(pairs[i].from);
        if (k && k <= n && !memcmp(path, pairs[i].from, k) && (k == n || path[k] == '/' || pairs[i].from[k - 1] == '/') &&
            (!found || k > strlen(found->from)))
            found = &pairs[i];
    }
    return found;
}

/* Adds a path as the reader has it; false when it is absolute and of no folder that is known. What is under /usr belongs to the system. */
static bool add_path(struct text *t, const struct move *m, const char *path, size_t n)
{
    const struct pair *p = pair_of(m->code, path, n);
    size_t known = p ? strlen(p->from) : 0;
    if (p)
        text_add(t, p->to);
    text_add_bytes(t, path + known, n - known);
    return p || !n || path[0] != '/' || !strncmp(path, "/usr/", 5);
}

/* The next .file line's name; NULL: there is none. */
static const char *file_name(const char *at, size_t *n)
{
    while (at && *at) {
        const char *end = at + strcspn(at, "\n"), *word = at + strspn(at, " \t");
        const char *open = !strncmp(word, ".file", 5) ? memchr(word, '"', (size_t)(end - word)) : NULL;
        const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
        if (close) {
            *n = (size_t)(close - open - 1);
            return open + 1;
        }
        at = *end ? end + 1 : end;
    }
    return NULL;
}

static bool move_ptx(struct compiled *c, const struct move *m)
{
    SCOPED_TEXT t = {0};
    const char *at = c->ptx, *name;
    size_t n;
    bool ok = true;
    while (ok && (name = file_name(at, &n))) {
        text_add_bytes(&t, at, (size_t)(name - at));
        ok = add_path(&t, m, name, n);
        at = name + n;
    }
    text_add(&t, at);
    if (ok) {
        free(c->ptx);
        c->ptx_bytes = t.len;
        c->ptx = text_take(&t);
    }
    return ok;
}

/* Messages name a place at a line's start or after a blank: "k/flip.cu(4): warning ...". */
static void move_log(struct compiled *c, const struct move *m)
{
    struct text t = {0};
    for (const char *at = c->log; at && *at;) {
        size_t n = strcspn(at, " \n\"(");
        const struct pair *p = n ? pair_of(m->said, at, n) : NULL;
        size_t known = p ? strlen(p->from) : 0;
        if (p && (p == m->said) != (known == n)) /* a folder alone is not a place: ptxas's lines have a "." */
            known = 0;
        if (known)
            text_add(&t, p->to);
        text_add_bytes(&t, at + known, n - known);
        at += n;
        if (*at)
            text_add_bytes(&t, at++, 1);
    }
    free(c->log);
    c->log = text_take(&t);
}

/* ---- the cubin ---- */

/* The head of a line table of one unit: where its folders begin and where the list ends, as offsets into the section. */
static bool folders_of(const unsigned char *p, size_t bytes, size_t *begin, size_t *end)
{
    uint32_t length, header;
    uint16_t version;
    if (bytes < 16)
        return false;
    memcpy(&length, p, 4);
    memcpy(&version, p + 4, 2);
    memcpy(&header, p + 6, 4);
    if (length != bytes - 4 || version < 2 || version > 3 || header > bytes - 10 || !p[14])
        return false;
    *begin = 15 + (size_t)p[14] - 1;
    size_t at = *begin, last = 10 + (size_t)header;
    while (at < last && p[at]) {
        const unsigned char *zero = memchr(p + at, 0, last - at);
        if (!zero)
            return false;
        at = (size_t)(zero - p) + 1;
    }
    *end = at;
    return at < last;
}

/* What stands behind the line table moves by `shift`, and the table has another size. */
static void shift_headers(unsigned char *p, Elf64_Ehdr head, const Elf64_Shdr *line, uint64_t size, size_t shift)
{
    uint64_t end = line->sh_offset + line->sh_size;
    head.e_phoff += head.e_phoff >= end ? shift : 0;
    head.e_shoff += head.e_shoff >= end ? shift : 0;
    memcpy(p, &head, sizeof head);
    for (unsigned i = 0; i < head.e_shnum; i++) {
        unsigned char *at = p + head.e_shoff + i * sizeof(Elf64_Shdr);
        Elf64_Shdr s;
        memcpy(&s, at, sizeof s);
        if (!memcmp(&s, line, sizeof s))
            s.sh_size = size;
        else if (s.sh_offset >= end)
            s.sh_offset += shift;
        memcpy(at, &s, sizeof s);
    }
    for (unsigned i = 0; i < head.e_phnum; i++) {
        unsigned char *at = p + head.e_phoff + i * sizeof(Elf64_Phdr);
        Elf64_Phdr s;
        memcpy(&s, at, sizeof s);
        s.p_offset += s.p_offset >= end ? shift : 0;
        memcpy(at, &s, sizeof s);
    }
}

/* The relocations of the line table count from its start. */
static void shift_relocations(unsigned char *p, size_t bytes, const char *name, size_t entry, int64_t delta)
{
    struct elf e;
    Elf64_Shdr s;
    if (!elf_open(&e, p, bytes, NULL) || !elf_find_section(&e, name, &s))
        return;
    for (size_t at = 0; at + entry <= s.sh_size; at += entry) {
        uint64_t offset;
        memcpy(&offset, p + s.sh_offset + at, 8);
        offset += (uint64_t)delta;
        memcpy(p + s.sh_offset + at, &offset, 8);
    }
}

/* The headers lie in the file, and behind the line table or wholly before it. */
static bool headers_fit(const struct elf *e, const Elf64_Shdr *line)
{
    size_t sections = (size_t)e->head.e_shnum * sizeof(Elf64_Shdr), programs = (size_t)e->head.e_phnum * sizeof(Elf64_Phdr);
    size_t end = line->sh_offset + line->sh_size;
    return elf_inside(e, e->head.e_phoff, programs) && (!e->head.e_phnum || e->head.e_phentsize == sizeof(Elf64_Phdr)) &&
           (e->head.e_shoff >= end || e->head.e_shoff + sections <= line->sh_offset) &&
           (e->head.e_phoff >= end || e->head.e_phoff + programs <= line->sh_offset) && line->sh_offset >= sizeof(Elf64_Ehdr);
}

/* Puts another list of folders into the line table. Room for a longer one is made behind the table. */
static void put_folders(struct compiled *c, const struct elf *e, const Elf64_Shdr *line, size_t begin, size_t end,
                        const struct text *folders)
{
    int64_t delta = (int64_t)folders->len - (int64_t)(end - begin);
    size_t room = delta > 0 ? ((size_t)delta + SHIFT - 1) / SHIFT * SHIFT : 0, at = line->sh_offset, rest = line->sh_size - end;
    size_t behind = at + line->sh_size, bytes = e->bytes + room;
    unsigned char *p = xcalloc(1, bytes + 1);
    memcpy(p, e->data, at + begin);
    memcpy(p + at + begin, folders->data, folders->len);
    memcpy(p + at + begin + folders->len, e->data + at + end, rest);
    memcpy(p + behind + room, e->data + behind, e->bytes - behind);
    for (size_t i = 0; i < 2; i++) { /* the lengths of the unit and of its head */
        uint32_t length = word_at(p + at + 6 * i) + (uint32_t)delta;
        memcpy(p + at + 6 * i, &length, 4);
    }
    shift_headers(p, e->head, line, (uint64_t)((int64_t)line->sh_size + delta), room);
    shift_relocations(p, bytes, ".rela.debug_line", sizeof(Elf64_Rela), delta);
    shift_relocations(p, bytes, ".rel.debug_line", sizeof(Elf64_Rel), delta);
    free(c->cubin);
    c->cubin = p;
    c->cubin_bytes = bytes;
}

static bool move_cubin(struct compiled *c, const struct move *m)
{
    struct elf e;
    Elf64_Shdr line;
    struct text folders = {0};
    size_t begin, end;
    bool ok = elf_open(&e, c->cubin, c->cubin_bytes, NULL);
    if (!ok || !elf_find_section(&e, ".debug_line", &line))
        return ok;
    ok = line.sh_size < UINT32_MAX && headers_fit(&e, &line) && folders_of(e.data + line.sh_offset, line.sh_size, &begin, &end);
    for (size_t at = begin; ok && at < end;) {
        const char *name = (const char *)e.data + line.sh_offset + at;
        ok = add_path(&folders, m, name, strlen(name));
        text_add_bytes(&folders, "", 1);
        at += strlen(name) + 1;
    }
    if (ok)
        put_folders(c, &e, &line, begin, end, &folders);
    text_free(&folders);
    return ok;
}

/* ---- */

bool paths_move(struct compiled *c, const char *paths)
{
    struct move m;
    if (!c->paths || !paths)
        return false;
    if (!strcmp(c->paths, paths))
        return true;
    if (!move_open(&m, c->paths, paths))
        return false;
    bool ok = move_ptx(c, &m) && move_cubin(c, &m);
    if (ok) {
        move_log(c, &m);
        free(c->paths);
        c->paths = xstrdup(paths);
    }
    move_free(&m);
    return ok;
}

static bool holds(const void *data, size_t bytes, const char *path)
{
    size_t n = strlen(path);
    return n > 1 && memmem(data, bytes, path, n) != NULL;
}

/* Is a path of the writer's in a section other than the line table? In what is loaded onto a GPU also as it was given: __FILE__. */
static bool cubin_bound(const struct compiled *c, const struct move *m)
{
    struct elf e;
    Elf64_Shdr line;
    if (!elf_open(&e, c->cubin, c->cubin_bytes, NULL))
        return true;
    bool table = elf_find_section(&e, ".debug_line", &line);
    for (uint32_t i = 1; i < e.section_count; i++) {
        Elf64_Shdr s = elf_section(&e, i);
        if (s.sh_type == SHT_NOBITS || (table && !memcmp(&s, &line, sizeof s)))
            continue;
        if (s.sh_addralign > SHIFT || !elf_inside(&e, s.sh_offset, s.sh_size))
            return true;
        if (ANY_OF(k, 5, holds(e.data + s.sh_offset, s.sh_size, m->code[k].from)))
            return true;
        if ((s.sh_flags & SHF_ALLOC) && holds(e.data + s.sh_offset, s.sh_size, m->said[0].from))
            return true;
    }
    return false;
}

bool paths_bound(const struct compiled *c)
{
    struct move m;
    size_t n;
    /* Moved to where nobody is, a copy holds no path of the writer's. */
    if (!c->paths || !move_open(&m, c->paths, "/\n/\1/\1.cu\n/\2\n/\3\n/\4"))
        return true;
    SCOPED_BY(compiled_free) struct compiled copy = {.ptx = xstrndup(c->ptx, c->ptx_bytes), .ptx_bytes = c->ptx_bytes};
    copy.cubin = xmalloc(c->cubin_bytes + 1);
    if (c->cubin_bytes) /* PTX alone has none */
        memcpy(copy.cubin, c->cubin, c->cubin_bytes);
    copy.cubin_bytes = c->cubin_bytes;
    bool bound = cubin_bound(c, &m) || !move_ptx(&copy, &m) || !move_cubin(&copy, &m);
    for (const char *at = copy.ptx, *name; !bound && (name = file_name(at, &n)); at = name + n)
        bound = *name == '/' && (unsigned char)name[1] > 4 && strncmp(name, "/usr/", 5) != 0;
    for (int k = 0; k < 5 && !bound; k++)
        bound = holds(copy.ptx, copy.ptx_bytes, m.code[k].from);
    move_free(&m);
    return bound;
}
