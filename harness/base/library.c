#include "base/library.h"
#include "base/file.h"
#include "base/text.h"
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Patterns of folders to search, one a line, in order; "" is the loader's own search. */
static char *search_path(void)
{
    struct text t = {0};
    const char *given = getenv("BENCH_LIBRARY_PATH");
    if (given && *given) {
        text_add(&t, given);
        for (char *c = t.data; *c; c++)
            if (*c == ':')
                *c = '\n';
        text_add(&t, "\n");
    }
    SCOPED char *deps = file_share(".deps/nvidia/*/lib"), *installed = file_share("nvidia/*/lib");
    text_addf(&t, "%s\n%s\n\n/usr/local/cuda/lib64\n/usr/local/cuda/extras/CUPTI/lib64\n", deps, installed);
    const char *venv = getenv("VIRTUAL_ENV");
    if (venv && *venv)
        text_addf(&t, "%s/lib/python3*/site-packages/nvidia/*/lib\n", venv);
    const char *path = getenv("PATH");
    SCOPED char *copy = xstrdup(path ? path : "");
    char *rest = copy;
    for (char *dir; (dir = strsep(&rest, ":"));) {
        SCOPED char *python = file_join(dir, "python3");
        if (*dir && file_exists(python))
            text_addf(&t, "%s/../lib/python3*/site-packages/nvidia/*/lib\n", dir);
    }
    return text_take(&t);
}

static bool try_open(struct library *lib, const char *file)
{
    lib->handle = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (!lib->handle)
        return false;
    struct link_map *map = NULL;
    if (dlinfo(lib->handle, RTLD_DI_LINKMAP, &map) == 0 && map)
        strncpy(lib->path, map->l_name, sizeof lib->path - 1);
    if (!lib->path[0])
        strncpy(lib->path, file, sizeof lib->path - 1);
    return true;
}

static bool try_folder(struct library *lib, const char *pattern, const char *soname, struct text *broken)
{
    SCOPED char *path = file_join(pattern, soname);
    glob_t found = {0};
    bool ok = false;
    if (glob(path, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !ok; i++) {
            ok = try_open(lib, found.gl_pathv[i]);
            if (!ok)
                text_addf(broken, "; %s", dlerror());
        }
    globfree(&found);
    return ok;
}

bool library_open(struct library *lib, const char *const *sonames, struct error *err)
{
    *lib = (struct library){0};
    SCOPED char *path = search_path();
    char *rest = path;
    SCOPED_TEXT looked = {0}, broken = {0};
    bool ok = false;
    for (char *dir; !ok && (dir = strsep(&rest, "\n"));) {
        if (!rest)
            break; /* what follows the last newline */
        for (int i = 0; sonames[i] && !ok; i++)
            ok = *dir ? try_folder(lib, dir, sonames[i], &broken) : try_open(lib, sonames[i]);
        text_addf(&looked, "%s%s", looked.len ? ", " : "", *dir ? dir : "the loader's path");
    }
    if (!ok) {
        error_set(err, ERROR_ENVIRONMENT, "%s was not found (looked in %.1500s)%s", sonames[0], text_get(&looked), text_get(&broken));
        error_hint(err, "sh ci/setup fetches the pinned libraries; or set BENCH_LIBRARY_PATH to its folder");
    }
    return ok;
}

/* ---- the newest ---- */

static long version_number(long major, long minor, long patch)
{
    return major * 1000000 + minor * 1000 + patch;
}

/* "libcudnn.so.9.19.0" */
static long version_of_name(const char *path)
{
    char real[PATH_MAX];
    long major, minor, patch;
    const char *so = realpath(path, real) ? strstr(real, ".so.") : NULL;
    return so && sscanf(so, ".so.%ld.%ld.%ld", &major, &minor, &patch) == 3 ? version_number(major, minor, patch) : -1;
}

static long version_of_header(const char *path, const char *header)
{
    static const char *const parts[] = {"_MAJOR ", "_MINOR ", "_PATCHLEVEL "};
    long numbers[3] = {-1, -1, -1};
    size_t bytes;
    SCOPED char *dir = file_dir(path), *file = text_format("%s/../include/%s", dir, header), *text = file_read(file, 1 << 20, &bytes, NULL);
    for (char *line, *rest = text; text && (line = strsep(&rest, "\n"));)
        for (int i = 0; i < 3; i++) {
            char *at = strncmp(line, "#define ", 8) ? NULL : strstr(line, parts[i]);
            if (at && numbers[i] < 0)
                numbers[i] = atol(at + strlen(parts[i]));
        }
    return numbers[0] > 0 && numbers[1] >= 0 && numbers[2] >= 0 ? version_number(numbers[0], numbers[1], numbers[2]) : -1;
}

bool library_newest(const char *const *patterns, int count, const char *soname, const char *header, char path[4096], long *version)
{
    *version = -1;
    for (int i = 0; i < count; i++) {
        SCOPED char *pattern = file_join(patterns[i], soname);
        glob_t found = {0};
        if (glob(pattern, 0, NULL, &found) == 0)
            for (size_t k = 0; k < found.gl_pathc; k++) {
                long named = version_of_name(found.gl_pathv[k]), one = named >= 0 ? named : version_of_header(found.gl_pathv[k], header);
                if (one > *version && strlen(found.gl_pathv[k]) < 4096) {
                    *version = one;
                    strcpy(path, found.gl_pathv[k]);
                }
            }
        globfree(&found);
    }
    return *version >= 0;
}

/* Is any of them in a folder of the colon list? */
static bool folders_hold(const char *folders, const char *const *sonames)
{
    SCOPED char *copy = xstrdup(folders ? folders : "");
    char *rest = copy;
    bool found = false;
    for (char *dir; !found && (dir = strsep(&rest, ":"));)
        for (int i = 0; *dir && sonames[i] && !found; i++) {
            SCOPED char *path = file_join(dir, sonames[i]);
            glob_t files = {0};
            found = glob(path, 0, NULL, &files) == 0;
            globfree(&files);
        }
    return found;
}

bool library_open_newest(struct library *lib, const char *const *sonames, const char *header, struct error *err)
{
    const char *home = getenv("HOME"), *loader = getenv("LD_LIBRARY_PATH");
    SCOPED_TEXT all = {0};
    SCOPED char *path = search_path();
    char newest[4096];
    SCOPED const char **patterns = NULL;
    int count = 0;
    long version;
    *lib = (struct library){0};
    text_addf(&all, "%s/usr/lib/*-linux-gnu\n/usr/lib64\n/usr/local/lib/python3*/dist-packages/nvidia/*/lib\n", path);
    text_addf(&all, "/usr/lib/python3*/dist-packages/nvidia/*/lib\n%s/.local/lib/python3*/site-packages/nvidia/*/lib\n", home ? home : "");
    for (char *c = all.data; *c; c++)
        *c = *c == '\n' ? ':' : *c;
    text_addf(&all, "%s", loader ? loader : "");
    for (char *dir, *rest = all.data; (dir = strsep(&rest, ":"));)
        if (*dir)
            *APPEND(patterns, count) = dir;
    bool ok = !folders_hold(getenv("BENCH_LIBRARY_PATH"), sonames) &&
              library_newest(patterns, count, sonames[0], header, newest, &version) && try_open(lib, newest);
    return ok || library_open(lib, sonames, err);
}

void *library_symbol(struct library *lib, const char *name, struct error *err)
{
    void *p = dlsym(lib->handle, name);
    if (!p)
        error_set(err, ERROR_ENVIRONMENT, "%s has no function %s: it is not the version that bench expects", lib->path, name);
    return p;
}

void library_close(struct library *lib)
{
#ifndef __SANITIZE_ADDRESS__ /* there, what a library that is gone has allocated looks lost */
    if (lib->handle)
        dlclose(lib->handle);
#endif
    *lib = (struct library){0};
}
