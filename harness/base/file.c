#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *file_read(const char *path, size_t max_bytes, size_t *bytes, struct error *err)
{
    char *data = NULL;
    bool ok = false;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st)) {
        error_set(err, ERROR_USAGE, "%s: %s", path, strerror(errno));
        goto done;
    }
    if (!S_ISREG(st.st_mode)) {
        error_set(err, ERROR_USAGE, "%s: %s, not a file", path, S_ISDIR(st.st_mode) ? "is a folder" : "is a device or a pipe");
        goto done;
    }
    if ((uint64_t)st.st_size > max_bytes) {
        error_set(err, ERROR_USAGE, "%s: %lld bytes; at most %zu are read here", path, (long long)st.st_size, max_bytes);
        goto done;
    }
    size_t want = (size_t)st.st_size, got = 0;
    data = xmalloc(want + 1);
    while (got < want) {
        ssize_t n = read(fd, data + got, want - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            error_set(err, ERROR_USAGE, "%s: %s", path, strerror(errno));
            goto done;
        }
        if (n == 0)
            break; /* it shrank meanwhile */
        got += (size_t)n;
    }
    data[got] = 0;
    if (bytes)
        *bytes = got;
    ok = true;
done:
    if (fd >= 0)
        close(fd);
    if (ok)
        return data;
    free(data);
    return NULL;
}

static bool file_is_text(const char *path, const char *text, size_t bytes, struct error *err)
{
    const char *nul = memchr(text, 0, bytes), *begin = text;
    if (!nul)
        return true;
    int line = 1;
    for (const char *next; (next = memchr(begin, '\n', (size_t)(nul - begin))); line++)
        begin = next + 1;
    return error_set(err, ERROR_USAGE, "%s:%d:%d: a NUL byte", path, line, (int)(nul - begin) + 1);
}

char *file_text(const char *path, size_t max_bytes, size_t *bytes, struct error *err)
{
    char *text = file_read(path, max_bytes, bytes, err);
    if (!text || file_is_text(path, text, *bytes, err))
        return text;
    free(text);
    return NULL;
}

static bool write_all(int fd, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool file_write(const char *path, const void *data, size_t bytes, struct error *err)
{
    SCOPED char *temporary = text_format("%s.XXXXXX", path);
    bool ok = false;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        error_set(err, ERROR_ENVIRONMENT, "%s: cannot be written: %s", path, strerror(errno));
        return ok;
    }
    mode_t mask = umask(0);
    umask(mask);
    if (!write_all(fd, data, bytes) || fchmod(fd, 0666 & ~mask) || close(fd) || rename(temporary, path)) {
        error_set(err, ERROR_ENVIRONMENT, "%s: cannot be written: %s", path, strerror(errno));
        unlink(temporary);
        return ok;
    }
    return true;
}

/* The target of a link, which need not exist; NULL: it has none (a loop, or a descriptor in /proc). */
static char *link_end(const char *path)
{
    char *end = xstrdup(path), to[PATH_MAX];
    struct stat st;
    for (int hop = 0; hop < 40 && !lstat(end, &st) && S_ISLNK(st.st_mode); hop++) {
        ssize_t n = readlink(end, to, sizeof to - 1);
        if (n <= 0)
            break;
        to[n] = 0;
        SCOPED char *dir = file_dir(end), *real = realpath(dir, NULL);
        char *next = file_join(dir, to);
        bool descriptor = real && !strncmp(real, "/proc/", 6);
        free(end);
        end = next;
        if (descriptor) {
            free(end);
            return NULL;
        }
    }
    if (!lstat(end, &st) ? S_ISREG(st.st_mode) : errno == ENOENT)
        return end;
    free(end);
    return NULL;
}

bool file_write_named(const char *path, const void *data, size_t bytes, struct error *err)
{
    struct stat st;
    if (!*path) {
        error_set(err, ERROR_USAGE, "the file name is empty");
        return error_hint(err, "- is standard output");
    }
    if (!strcmp(path, "-")) /* as every tool has it; a file of that name is ./- */
        return (!fflush(NULL) && write_all(STDOUT_FILENO, data, bytes)) ||
               error_set(err, ERROR_ENVIRONMENT, "standard output cannot be written: %s", strerror(errno));
    bool link = !lstat(path, &st) && S_ISLNK(st.st_mode), there = !stat(path, &st);
    char *end = link && (!there || S_ISREG(st.st_mode)) ? link_end(path) : NULL;
    bool ok = false;
    if (end || !(link || there) || (!link && S_ISREG(st.st_mode))) {
        ok = file_write(end ? end : path, data, bytes, err);
        free(end);
        return ok;
    }
    if (there && S_ISDIR(st.st_mode)) {
        error_set(err, ERROR_USAGE, "%s: is a folder, not a file", path);
        return false;
    }
    int fd = open(path, O_WRONLY | O_NOCTTY | O_TRUNC | O_CLOEXEC);
    if (fd >= 0)
        ok = write_all(fd, data, bytes);
    if (fd >= 0 && close(fd))
        ok = false;
    return ok || error_set(err, ERROR_ENVIRONMENT, "%s: cannot be written: %s", path, strerror(errno));
}

bool file_begins(const char *path, const char *text)
{
    size_t n = strlen(text), same = 0;
    FILE *f = file_is_dir(path) || file_is_stream(path) ? NULL : fopen(path, "r");
    while (f && same < n && fgetc(f) == (unsigned char)text[same])
        same++;
    if (f)
        fclose(f);
    return same == n;
}

/* Makes git ignore ./.bench. A failure does no harm. */
static void ignore_all(const char *folder)
{
    SCOPED char *path = file_join(folder, ".gitignore");
    file_write(path, "*\n", 2, NULL);
}

bool file_make_dirs(const char *path, struct error *err)
{
    SCOPED char *copy = xstrdup(path);
    bool ok = false;
    for (char *at = copy + (*copy != 0);; at++) {
        if (*at && *at != '/')
            continue;
        char saved = *at;
        *at = 0;
        bool made = !mkdir(copy, 0777);
        if (!made && errno != EEXIST) {
            error_set(err, ERROR_ENVIRONMENT, "%s: cannot create the folder: %s", copy, strerror(errno));
            return ok;
        }
        if (made && !strcmp(file_base(copy), ".bench"))
            ignore_all(copy);
        *at = saved;
        if (!saved)
            break;
    }
    if (!file_is_dir(path)) {
        error_set(err, ERROR_ENVIRONMENT, "%s: is not a folder", path);
        return ok;
    }
    return true;
}

bool file_exists(const char *path)
{
    struct stat st;
    return !stat(path, &st);
}

const char *file_unreachable(const char *path)
{
    struct stat st;
    if (!stat(path, &st))
        return NULL;
    if (errno == ELOOP)
        return "a symbolic link that leads to itself";
    if (errno != ENOENT && errno != ENOTDIR)
        return strerror(errno);
    return lstat(path, &st) ? NULL : "a symbolic link that leads nowhere";
}

bool file_is_dir(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool file_is_stream(const char *path)
{
    struct stat st;
    return !stat(path, &st) && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode);
}

int file_list(const char *dir, const char *suffix, char ***names, struct error *err)
{
    *names = NULL;
    DIR *d = opendir(dir);
    if (!d) {
        error_set(err, ERROR_USAGE, "%s: %s", dir, strerror(errno));
        return -1;
    }
    int count = 0;
    size_t tail = strlen(suffix), bytes = 0;
    SCOPED char **found = NULL;
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || n < tail || strcmp(e->d_name + n - tail, suffix))
            continue;
        *APPEND(found, count) = xstrdup(e->d_name);
        bytes += n + 1;
    }
    closedir(d);
    if (count)
        qsort(found, (size_t)count, sizeof *found, order_strings);
    *names = xmalloc((size_t)count * sizeof **names + bytes);
    char *to = (char *)(*names + count);
    for (int i = 0; i < count; i++) {
        (*names)[i] = to;
        to = stpcpy(to, found[i]) + 1;
        free(found[i]);
    }
    return count;
}

void file_unmake_dir(const char *path)
{
    SCOPED char *ignore = file_join(path, ".gitignore");
    if (!strcmp(file_base(path), ".bench"))
        unlink(ignore);
    rmdir(path);
}

void file_remove_flat(const char *dir)
{
    SCOPED char **names = NULL;
    int count = file_list(dir, "", &names, NULL);
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

char *file_join(const char *dir, const char *name)
{
    if (name[0] == '/' || !*dir)
        return xstrdup(name);
    return text_format("%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name);
}

char *file_dir(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return xstrdup(".");
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

char *file_beside(const char *path, const char *name)
{
    SCOPED char *dir = file_dir(path);
    return file_join(dir, name);
}

const char *file_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *file_self(void)
{
    static char path[PATH_MAX];
    if (!path[0]) {
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        if (n <= 0)
            return "bench";
        path[n] = 0;
    }
    return path;
}

char *file_share(const char *relative)
{
    const char *home = getenv("BENCH_HOME");
    if (home && *home)
        return file_join(home, relative);
    SCOPED char *bin = file_dir(file_self());
    SCOPED char *variants = file_join(bin, "kernels/variants");
    char *root = file_is_dir(variants) ? xstrdup(bin) : file_join(bin, "../share/bench");
    if (!file_is_dir(root)) { /* a test program in build/tests */
        SCOPED char *up = file_join(bin, "../../kernels/variants");
        if (file_is_dir(up)) {
            free(root);
            root = file_join(bin, "../..");
        }
    }
    SCOPED char *real = realpath(root, NULL);
    char *result = file_join(real ? real : root, relative);
    free(root);
    return result;
}

double file_memory_available(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
        ;
    if (f)
        fclose(f);
    return (double)kib * 1024;
}
