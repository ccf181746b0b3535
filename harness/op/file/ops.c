#include "op/file/ops.h"
#include "base/file.h"
#include "base/text.h"
#include "op/file/private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FILES_MAX 256
#define OP_MAX 320
static struct {
    struct op_file *items[FILES_MAX];
    int count;
    bool installed;
    struct error broken; /* the first error of an installed file */
} files;

static bool add_file(const char *path, bool own, struct error *err)
{
    SCOPED char *real = realpath(path, NULL), *name = xstrndup(file_base(path), strcspn(file_base(path), "."));
    bool known = ANY_OF(i, files.count, !strcmp(files.items[i]->path, real ? real : path));
    const struct op *other = known ? NULL : op_find(name);
    struct op_file *f = NULL;
    bool ok = known;
    if (other)
        error_set(err, ERROR_USAGE, "%s: the op '%s' already exists%s%s", path, name, op_path(other) ? ": " : "",
                  op_path(other) ? op_path(other) : "");
    else if (!known && files.count == FILES_MAX)
        error_set(err, ERROR_USAGE, "%s: more than %d ops", path, FILES_MAX);
    else if (!known && (f = op_file_read(path, err))) {
        f->installed = !own;
        files.items[files.count++] = f;
        ok = true;
    }
    return ok;
}

/* Reads every op that can be read; if one of the installation's cannot, keeps the first error and goes on. */
static bool add_folder(const char *dir, bool own, struct error *err)
{
    SCOPED char **names = NULL;
    int count = file_list(dir, ".yaml", &names, err);
    bool ok = count >= 0;
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(dir, names[i]);
        struct error later;
        if (ok)
            ok = add_file(path, own, err);
        else if (!own)
            add_file(path, false, &later);
    }
    return ok && own && !count ? error_set(err, ERROR_USAGE, "--ops %s: the folder has no op (no .yaml)", dir) : ok;
}

/* Loads the installation's ops at the first call: they are always available. */
static void add_installed(void)
{
    if (files.installed)
        return;
    files.installed = true;
    SCOPED char *dir = file_share("kernels/ops");
    if (file_is_dir(dir))
        add_folder(dir, false, &files.broken);
}

/* Op i of those that are files; NULL behind the last. */
static const struct op *op_file_at(int i)
{
    add_installed();
    return i < files.count ? &files.items[i]->op : NULL;
}

bool op_load(const char *const *extra, struct error *err)
{
    add_installed();
    if (files.broken.kind != ERROR_NONE) {
        if (err)
            *err = files.broken;
        return false;
    }
    for (int i = 0; extra && extra[i]; i++) {
        if (!file_exists(extra[i])) {
            const char *why = file_unreachable(extra[i]);
            return error_set(err, ERROR_USAGE, "--ops %s: %s", extra[i], why ? why : "there is no such file or folder");
        }
        if (!(file_is_dir(extra[i]) ? add_folder(extra[i], true, err) : add_file(extra[i], true, err)))
            return false;
    }
    for (int i = 0; i < files.count; i++) { /* now that all are there */
        const struct op *op = &files.items[i]->op;
        if (op->of_changes && !op_find(op->of_changes))
            return node_error(node_get(files.items[i]->root, "changes"), err, "changes: there is no op '%s'", op->of_changes);
    }
    return true;
}

const struct op *op_at(int i)
{
    int in_c = 0;
    while (op_table[in_c])
        in_c++;
    return i < in_c ? op_table[i] : op_file_at(i - in_c);
}

const struct op *op_find(const char *name)
{
    const struct op *op = NULL;
    for (int i = 0; name && (op = op_at(i)); i++)
        if (!strcmp(op->name, name))
            return op;
    return NULL;
}

const struct op *op_of_changes(const struct op *op)
{
    return op->of_changes ? op_find(op->of_changes) : op;
}

const struct op *op_for(enum op_task task)
{
    const struct op *op;
    int i = 0;
    while ((op = op_at(i)) && op->task != task)
        i++;
    return op;
}

bool op_is_for(const char *name, enum op_task task)
{
    const struct op *op = op_find(name);
    return op && op->task == task;
}

const struct op *op_of_variant(const char *name)
{
    size_t length = strcspn(name, "/ ");
    SCOPED char *folder = xstrndup(name, length);
    const struct op *op = name[length] == '/' ? op_find(folder) : NULL;
    return op;
}

const char *const *op_names(void)
{
    static const char *names[OP_MAX + 1];
    const struct op *op;
    int i = 0;
    for (; i < OP_MAX && (op = op_at(i)); i++)
        names[i] = op->name;
    names[i] = NULL;
    return names;
}

const char *op_nearest(const char *name)
{
    static const char *const others[][2] = {{"pixel_shuffle", "depth_to_space"},
                                            {"pixelshuffle", "depth_to_space"},
                                            {"pixel_unshuffle", "space_to_depth"},
                                            {"deconv2d", "conv_transpose2d"},
                                            {"deconv", "conv_transpose2d"},
                                            {"deconvolution", "conv_transpose2d"},
                                            {"conv2d_transpose", "conv_transpose2d"},
                                            {"convtranspose2d", "conv_transpose2d"},
                                            {"avg_pool2d", "pool_average"},
                                            {"avg_pool", "pool_average"},
                                            {"max_pool2d", "pool_max"},
                                            {"max_pool", "pool_max"},
                                            {"matmul", "gemm"},
                                            {"mm", "gemm"},
                                            {"linear", "gemm"},
                                            {"resize", "upsample_bilinear"},
                                            {"interpolate", "upsample_bilinear"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcasecmp(name, others[i][0]) && op_find(others[i][1]))
            return others[i][1];
    return text_nearest_in(name, op_names());
}

bool op_unknown_name(const char *name, struct error *err)
{
    const char *near = op_nearest(name);
    if (near && err && !strstr(err->hint, "did you mean")) {
        char said[sizeof err->hint];
        snprintf(said, sizeof said, "%s", err->hint);
        error_hint(err, *said ? "did you mean '%s'? %.900s" : "did you mean '%s'?", near, said);
    } else if (near && err && text_nearest_in(name, op_names()) != near) { /* the field's other name, not the nearest word */
        error_hint(err, "did you mean '%s'?", near);
    }
    return op_unknown(err);
}

bool op_unknown(struct error *err)
{
    char said[sizeof err->hint];
    snprintf(said, sizeof said, "%s", err ? err->hint : "");
    return error_hint(err, "%.900s%sto define your own op: --ops FILE.yaml", said, text_ends(said, "?") ? " " : *said ? "; " : "");
}
