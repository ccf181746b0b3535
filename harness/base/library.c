#include "base/library.h"
#include "base/file.h"
#include "base/text.h"
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* Folder patterns to look in, one a line, in order; "" is the loader's own search. */
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
    char *deps = file_share(".deps/nvidia/*/lib"), *installed = file_share("nvidia/*/lib");
    text_addf(&t, "%s\n%s\n\n/usr/local/cuda/lib64\n/usr/local/cuda/extras/CUPTI/lib64\n", deps, installed);
    free(deps);
    free(installed);
    const char *venv = getenv("VIRTUAL_ENV");
    if (venv && *venv)
        text_addf(&t, "%s/lib/python3*/site-packages/nvidia/*/lib\n", venv);
    const char *path = getenv("PATH");
    char *copy = xstrdup(path ? path : ""), *rest = copy;
    for (char *dir; (dir = strsep(&rest, ":"));) {
        char *python = file_join(dir, "python3");
        if (*dir && file_exists(python))
            text_addf(&t, "%s/../lib/python3*/site-packages/nvidia/*/lib\n", dir);
        free(python);
    }
    free(copy);
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
    char *path = file_join(pattern, soname);
    glob_t found = {0};
    bool ok = false;
    if (glob(path, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !ok; i++) {
            ok = try_open(lib, found.gl_pathv[i]);
            if (!ok)
                text_addf(broken, "; %s", dlerror());
        }
    globfree(&found);
    free(path);
    return ok;
}

bool library_open(struct library *lib, const char *const *sonames, struct error *err)
{
    *lib = (struct library){0};
    char *path = search_path(), *rest = path;
    struct text looked = {0}, broken = {0};
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
        error_hint(err, "sh ci/setup fetches the pinned libraries; or point BENCH_LIBRARY_PATH at the folder that holds it");
    }
    text_free(&looked);
    text_free(&broken);
    free(path);
    return ok;
}

void *library_symbol(struct library *lib, const char *name, struct error *err)
{
    void *p = dlsym(lib->handle, name);
    if (!p)
        error_set(err, ERROR_ENVIRONMENT, "%s has no function %s: another version than the one bench expects", lib->path, name);
    return p;
}

void library_close(struct library *lib)
{
    if (lib->handle)
        dlclose(lib->handle);
    *lib = (struct library){0};
}
