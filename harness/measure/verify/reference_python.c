/* References by a Python function: run once for a work and its data, and kept in the compiler's cache. */
#include "base/file.h"
#include "base/npy.h"
#include "base/process.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/verify/reference_private.h"
#include "op/op_file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MOST 1500 /* the last bytes of Python's output */

struct words {
    char *items[OP_MAX_TENSORS * 2 + WORK_VALUES + 8];
    int count;
};
static void words_add(struct words *w, char *word)
{
    w->items[w->count++] = word;
}

/* Runs it in the folder, with its output in FOLDER/log. */
static bool python_run(char *const *words, const char *folder, struct error *err)
{
    double limit = reference_limit_s(REFERENCE_LIMIT_MOST_S, err);
    if (!(limit > 0))
        return false;
    char *log = file_join(folder, "log");
    int code = process_run((const char *const *)words, &(struct process){.log = log, .seconds = limit});
    bool failed = code == PROCESS_MISSING, ok = code == 0;
    if (failed) {
        error_set(err, ERROR_ENVIRONMENT, "%s: %s", words[0], strerror(errno));
        error_hint(err, "BENCH_PYTHON=FILE selects another Python; or give the op a reference kernel (docs/OP.md)");
    } else if (code == PROCESS_LATE) {
        error_set(err, ERROR_USAGE, "Python did not end within %g s", limit);
        error_hint(err, "use smaller layers, or a reference kernel (docs/OP.md)");
    } else if (!ok) {
        size_t bytes = 0;
        char *said = file_read(log, 1u << 20, &bytes, NULL);
        while (said && bytes && said[bytes - 1] == '\n')
            said[--bytes] = 0;
        bool missing = said && strstr(said, "No module named 'numpy'");
        error_set(err, missing ? ERROR_ENVIRONMENT : ERROR_USAGE, "%s",
                  missing         ? "python3 has no numpy"
                  : said && bytes ? said + (bytes > LOG_MOST ? bytes - LOG_MOST : 0)
                                  : "Python ended without a message");
        if (missing)
            error_hint(err, "pip install numpy, or set BENCH_PYTHON=FILE to a Python with numpy, or use a reference kernel (docs/OP.md)");
        free(said);
    }
    free(log);
    char *reads = file_join(folder, "reads"); /* its last file */
    if (ok && !file_exists(reads))
        ok = error_set(err, ERROR_USAGE, "the reference ends Python (os._exit) before the function returned");
    free(reads);
    return ok;
}

/* True if the files that a cached result depends on are unchanged. */
static bool python_current(const char *kept)
{
    size_t bytes = 0;
    char *path = file_join(kept, "reads"), *all = file_read(path, 1u << 24, &bytes, NULL), *rest = all;
    bool same = all != NULL;
    for (char *line; same && (line = strsep(&rest, "\n")) && *line;) {
        char *name = strchr(line, ' '), now[HASH_TEXT] = "-";
        size_t length = 0;
        if (!name)
            same = false;
        else {
            *name = 0;
            char *text = file_read(name + 1, (size_t)1 << 40, &length, NULL);
            if (text)
                hash_bytes(text, length, now);
            free(text);
            same = !strcmp(line, now);
        }
    }
    free(all);
    free(path);
    return same;
}

/* A folder for the inputs and the results. */
static bool python_make(const struct work *work, const struct op_data *data, const char *folder, struct error *err)
{
    const struct op_file *f = work->op->file;
    const char *python = getenv("BENCH_PYTHON");
    struct tensor list[OP_MAX_TENSORS];
    struct words w = {0};
    int count = work->op->tensors(work, list);
    bool ok = true;
    words_add(&w, xstrdup(python && *python ? python : "python3"));
    words_add(&w, file_share("kernels/ops/reference.py"));
    words_add(&w, xstrdup(f->source));
    words_add(&w, xstrdup(f->function));
    words_add(&w, xstrdup(folder));
    for (int i = 0; ok && i < count; i++) {
        struct text t = {0};
        text_addf(&t, "%s%s", list[i].role->name, list[i].written ? "=(" : "");
        for (int k = 0; k < list[i].rank && list[i].written; k++)
            text_addf(&t, "%lld,", (long long)list[i].dim[k]);
        text_add(&t, list[i].written ? ")" : "");
        char *path = text_format("%s/%s.npy", folder, list[i].role->name);
        if (!list[i].written)
            ok = npy_write(path, list[i].dim, list[i].rank, data->at[list[i].role->slot].value, err);
        else
            words_add(&w, text_take(&t));
        text_free(&t);
        free(path);
    }
    words_add(&w, xstrdup("--"));
    for (int i = 0; ok && f->symbol_names[i + 3]; i++) { /* fields and lets: the last three are words of every op */
        struct value v;
        char s[VALUE_TEXT_MAX + 8];
        if (!work_symbol(work, f->symbol_names[i], &v))
            continue;
        value_print(&v, s, sizeof s);
        words_add(&w, text_format("%s=%s", f->symbol_names[i], s));
    }
    ok = ok && python_run(w.items, folder, err);
    for (int i = 0; i < w.count; i++)
        free(w.items[i]);
    return ok;
}

static bool python_results(const struct work *work, struct op_data *data, const char *folder, double *magnitudes[OP_MAX_TENSORS],
                           struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    bool ok = true;
    for (int i = 0, count = work->op->tensors(work, list); ok && i < count; i++) {
        const struct tensor *t = &list[i];
        struct npy a = {0};
        if (!t->written)
            continue;
        char *path = text_format("%s/%s.npy", folder, t->role->name),
             *magnitude = text_format("%s/%s_magnitude.npy", folder, t->role->name);
        ok = npy_read_shape(path, t->dim, t->rank, &a, err);
        if (ok)
            memcpy(data->at[t->role->slot].reference, a.value, a.count * sizeof *a.value);
        npy_free(&a);
        if (ok && file_exists(magnitude) && (ok = npy_read_shape(magnitude, t->dim, t->rank, &a, err)))
            magnitudes[t->role->slot] = a.value;
        free(path);
        free(magnitude);
    }
    return ok;
}

/* Hashes the work, the op's file, the .py, the interpreter and the actual inputs, because another version of bench may draw others; and
 * where the .py lies: it may import another module of the same name there. */
static void key_of(const struct work *work, const struct op_data *data, char out[HASH_TEXT])
{
    struct tensor list[OP_MAX_TENSORS];
    struct hash *h = hash_begin();
    work_key(work, out);
    hash_add(h, out, strlen(out));
    hash_add_text(h, getenv("BENCH_PYTHON"));
    hash_add_text(h, work->op->file->source);
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++)
        if (!list[i].written)
            hash_add(h, data->at[list[i].role->slot].value, tensor_elements(&list[i]) * sizeof(float));
    hash_end(h, out);
}

bool reference_python(const struct work *work, enum data_part part, struct op_data *data, double *magnitudes[OP_MAX_TENSORS],
                      struct error *err)
{
    char key[HASH_TEXT], why[256];
    key_of(work, data, key);
    char *cache = work->set_seed >= REFERENCE_SETS ? NULL : compile_cache_folder(why, sizeof why), /* else a set of one run alone */
        *kept = text_format("%s/reference/%s.%d", cache ? cache : "", key, (int)part),
         *folder = text_format("%s%sXXXXXX", cache ? kept : "/tmp/bench_reference", "."), *above = file_dir(folder);
    bool ok = cache && file_is_dir(kept);
    if (ok && !python_current(kept)) {
        file_remove_flat(kept);
        ok = false;
    }
    if (ok) {
        ok = python_results(work, data, kept, magnitudes, err);
    } else {
        ok = file_make_dirs(above, err) && (mkdtemp(folder) || error_set(err, ERROR_ENVIRONMENT, "%s: %s", folder, strerror(errno))) &&
             python_make(work, data, folder, err) && python_results(work, data, folder, magnitudes, err);
        if (!ok || !cache || !python_current(folder) || rename(folder, kept))
            file_remove_flat(folder);
    }
    free(above);
    free(folder);
    free(kept);
    free(cache);
    return ok || error_where(err, "%s:%s", work->op->file->source, work->op->file->function);
}
