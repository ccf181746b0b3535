/* What a task needs, copied into the job's folder: bench itself, the data that it reads, and the user's files. */
#include "base/file.h"
#include "base/node.h"
#include "base/spec.h"
#include "run/engine/engine.h"
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool job_copy(const char *from, const char *to, struct error *err)
{
    SCOPED_TEXT out = {0};
    const char *const argv[] = {"cp", "-RLp", from, to, NULL};
    int code = engine_ask(argv, 600, &out, err);
    return !code || (code > 0 && error_set(err, ERROR_ENVIRONMENT, "%s: cannot be copied to %s: %.500s", from, to, text_get(&out)));
}

/* One library of this installation: copied if it counts, else linked, because cuDNN has gigabytes: a node that does not see this
 * installation uses its own. A task compiles nothing, so NVRTC stays here. */
static bool take_library(const char *path, const char *to, struct error *err)
{
    static const char *const copied[] = {"libcupti", "libnvperf", "libpcsamplingutil", "libcheckpoint"};
    const char *name = file_base(path);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (!strncmp(name, copied[i], strlen(copied[i])))
            return job_copy(path, to, err);
    SCOPED char *real = realpath(path, NULL), *link = file_join(to, name);
    if (!strncmp(name, "libnvrtc", 8) || !real || !symlink(real, link))
        return true;
    return error_set(err, ERROR_ENVIRONMENT, "%s: cannot be made: %s", link, strerror(errno));
}

static bool take_libraries(const char *share, struct error *err)
{
    static const char *const roots[] = {".deps/nvidia", "nvidia"};
    bool ok = true;
    for (size_t r = 0; ok && r < sizeof roots / sizeof *roots; r++) {
        SCOPED char *root = file_share(roots[r]), *pattern = text_format("%s/*/lib/*.so*", root);
        glob_t found;
        if (glob(pattern, 0, NULL, &found))
            continue;
        for (size_t i = 0; ok && i < found.gl_pathc; i++) {
            SCOPED char *below = file_dir(found.gl_pathv[i] + strlen(root) + 1), *at = text_format("%s/nvidia/%s", share, below);
            ok = file_make_dirs(at, err) && take_library(found.gl_pathv[i], at, err);
        }
        globfree(&found);
    }
    return ok;
}

bool job_pack(const struct job *job, struct error *err)
{
    static const char *const data[] = {"kernels", "harness/counter/groups", "harness/counter/rules", "harness/counter/limits.yaml",
                                       "harness/device/chip/model"};
    const char *device = job_text(job, "device");
    SCOPED char *bin = file_join(job->folder, "bin"), *self = file_join(bin, "bench"), *share = file_join(job->folder, "share"),
                *input = file_join(job->folder, "input");
    bool ok = file_make_dirs(bin, err) && file_make_dirs(input, err) && job_copy(file_self(), self, err);
    for (size_t i = 0; ok && i < sizeof data / sizeof *data; i++) {
        SCOPED char *from = file_share(data[i]), *to = file_join(share, data[i]), *above = file_dir(to);
        ok = file_make_dirs(above, err) && job_copy(from, to, err);
    }
    return ok && (!spec_is_timed(device) || take_libraries(share, err));
}

/* A word of a YAML file that may name a file beside it: "masks/a.png", "file:a.pgm", "f_%03d.png". */
static bool take_word(const char *word, const char *from, const char *to, const struct node *n, struct error *err)
{
    const char *name = strncmp(word, "file:", 5) ? word : word + 5;
    bool ok = true;
    glob_t found;
    if (!*name || *name == '/' || strlen(name) > 500 || strpbrk(name, "*?[\n"))
        return true;
    SCOPED char *pattern = file_join(from, name);
    for (char *p; (p = strchr(pattern + strlen(from), '%')) && strchr(p, 'd');) { /* %03d: any number */
        *p = '*';
        memmove(p + 1, strchr(p, 'd') + 1, strlen(strchr(p, 'd')));
    }
    if (glob(pattern, 0, NULL, &found))
        return true;
    for (size_t i = 0; ok && i < found.gl_pathc; i++) {
        struct stat st;
        if (stat(found.gl_pathv[i], &st) || !S_ISREG(st.st_mode))
            continue;
        SCOPED char *target = file_join(to, found.gl_pathv[i] + strlen(from) + 1), *above = file_dir(target);
        if (strstr(name, "../"))
            ok = node_error(n, err, "'%.200s' lies outside of the file's folder: a job takes only files below it along", name);
        ok = ok && file_make_dirs(above, err) && job_copy(found.gl_pathv[i], target, err);
    }
    globfree(&found);
    return ok;
}

static bool take_words(const struct node *n, const char *from, const char *to, struct error *err)
{
    bool ok = n->kind != NODE_SCALAR || take_word(n->text, from, to, n, err);
    return ok && ALL_OF(i, n->count, take_words(n->items[i], from, to, err));
}

/* Files of kernel code and data that may belong to one of them. */
static bool take_siblings(const char *from, const char *to, struct error *err)
{
    static const char *const suffixes[] = {".cu", ".cuh", ".h", ".ptx", ".cubin", ".so", ".yaml", ".py"};
    bool ok = true;
    for (size_t s = 0; ok && s < sizeof suffixes / sizeof *suffixes; s++) {
        SCOPED char **names = NULL;
        int count = file_list(from, suffixes[s], &names, err);
        ok = count >= 0;
        for (int i = 0; i < count; i++) {
            SCOPED char *path = file_join(from, names[i]);
            ok = ok && job_copy(path, to, err);
        }
    }
    return ok;
}

char *job_take(const struct job *job, const char *path, struct error *err)
{
    SCOPED char *input = file_join(job->folder, "input"), **present = NULL, *from = file_dir(path);
    int number = file_list(input, "", &present, err);
    if (number < 0)
        return NULL;
    SCOPED char *place = text_format("%d", number), *to = file_join(input, place);
    char *taken = text_format("%s/%s", place, file_base(path));
    bool ok = file_make_dirs(to, err) && job_copy(path, to, err);
    if (ok && text_ends(path, ".yaml")) {
        SCOPED_BY(node_leave) struct node *root = node_parse_file(path, err);
        ok = root && take_words(root, from, to, err);
    } else if (ok && !file_is_dir(path)) {
        ok = take_siblings(from, to, err);
    }
    if (ok)
        return taken;
    free(taken);
    return NULL;
}
