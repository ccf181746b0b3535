/* References by a Python function: run once for a work and its data, and kept in the compiler's cache. */
#include "base/clock.h"
#include "base/file.h"
#include "base/npy.h"
#include "base/talk.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/verify/reference_private.h"
#include "op/op_file.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MOST 1500 /* the last bytes of Python's output */

/* Python with a reference's file loaded, for as long as this process lives: importing torch takes seconds, and one row asks for several
 * references (the layer, nearby shapes, other inputs). */
struct server {
    char *source, *python;
    struct talk *talk;
};

static struct talk **server_of(const char *source, const char *python)
{
    static struct server *servers;
    static int count;
    for (int i = 0; i < count; i++)
        if (!strcmp(servers[i].source, source) && !strcmp(servers[i].python, python))
            return &servers[i].talk;
    *APPEND(servers, count) = (struct server){.source = xstrdup(source), .python = xstrdup(python)};
    return &servers[count - 1].talk;
}

/* What Python printed is the error; `ended`: it ended by itself, without one. */
static bool tell(const char *log, bool ended, struct error *err)
{
    size_t bytes = 0;
    SCOPED char *said = file_read(log, 1u << 20, &bytes, NULL);
    while (said && bytes && said[bytes - 1] == '\n')
        said[--bytes] = 0;
    if (said && strstr(said, "No module named 'numpy'")) {
        error_set(err, ERROR_ENVIRONMENT, "python3 has no numpy");
        return error_hint(err,
                          "pip install numpy, or set BENCH_PYTHON=FILE to a Python with numpy, or use a reference kernel (docs/OP.md)");
    }
    return error_set(err, ERROR_USAGE, "%s",
                     ended           ? "the reference ends Python (os._exit) before the function returned"
                     : said && bytes ? said + (bytes > LOG_MOST ? bytes - LOG_MOST : 0)
                                     : "Python ended without a message");
}

/* Asks for the request in the folder. */
static bool python_run(const char *source, const char *folder, struct error *err)
{
    const char *python = talk_python();
    SCOPED char *program = file_share("kernels/ops/reference.py"), *log = file_join(folder, "log"), *reads = file_join(folder, "reads");
    const char *const argv[] = {python, program, source, NULL};
    double limit = reference_limit_s(REFERENCE_LIMIT_MOST_S, err), late = clock_s() + limit;
    if (!(limit > 0))
        return false;
    struct talk **talk = server_of(source, python);
    if (!*talk && !(*talk = talk_open(argv, log, err)))
        return error_hint(err, "BENCH_PYTHON=FILE selects another Python; or give the op a reference kernel (docs/OP.md)");
    if (talk_ask(*talk, folder, limit, err))
        return file_exists(reads) || tell(log, false, err); /* its last file */
    bool ended = talk_close(*talk);
    *talk = NULL;
    if (clock_s() < late)
        return tell(log, ended, err);
    error_set(err, ERROR_USAGE, "Python did not end within %g s", limit);
    return error_hint(err, "use smaller layers, or a reference kernel (docs/OP.md)");
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
            SCOPED char *text = file_read(name + 1, (size_t)1 << 40, &length, NULL);
            if (text)
                hash_bytes(text, length, now);
            same = !strcmp(line, now);
        }
    }
    free(all);
    free(path);
    return same;
}

static void add_word(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_word(struct text *t, const char *format, ...)
{
    text_add(t, "\n");
    TEXT_ADD_ARGUMENTS(t, format);
}

/* A folder for the inputs and the results. */
static bool python_make(const struct work *work, const struct op_data *data, const char *folder, struct error *err)
{
    const struct op_file *f = work->op->file;
    struct tensor list[OP_MAX_TENSORS];
    SCOPED_TEXT words = {0};
    SCOPED char *request = file_join(folder, "request");
    int count = work->op->tensors(work, list);
    bool ok = true;
    text_add(&words, f->function);
    for (int i = 0; ok && i < count; i++) {
        SCOPED char *path = text_format("%s/%s.npy", folder, list[i].role->name);
        const double *wide = data->at[list[i].role->slot].wide;
        if (!list[i].written)
            ok = wide ? npy_write_as(path, list[i].dim, list[i].rank, DTYPE_F64, wide, err)
                      : npy_write(path, list[i].dim, list[i].rank, data->at[list[i].role->slot].value, err);
        else
            add_word(&words, "%s=(", list[i].role->name);
        for (int k = 0; k < list[i].rank && list[i].written; k++)
            text_addf(&words, "%lld,", (long long)list[i].dim[k]);
    }
    add_word(&words, "--");
    for (int i = 0; ok && f->symbol_names[i + 3]; i++) { /* fields and lets: the last three are words of every op */
        struct value v;
        char s[VALUE_TEXT_MAX + 8];
        if (!work_symbol(work, f->symbol_names[i], &v))
            continue;
        value_print(&v, s, sizeof s);
        add_word(&words, "%s=%s", f->symbol_names[i], s);
    }
    return ok && file_write(request, text_get(&words), words.len, err) && python_run(f->source, folder, err);
}

/* The array that the function returned as NAME_magnitude or NAME_bound, if no tensor has that name. NULL: none. Caller frees. */
static char *sizes_of(const struct tensor *list, int count, const char *folder, const char *name, const char *behind)
{
    SCOPED char *word = text_format("%s_%s", name, behind);
    char *path = text_format("%s/%s.npy", folder, word);
    if (file_exists(path) && !ANY_OF(i, count, !strcmp(list[i].role->name, word)))
        return path;
    free(path);
    return NULL;
}

static bool python_results(const struct work *work, struct op_data *data, const char *folder, double *magnitudes[OP_MAX_TENSORS],
                           bool bounds[OP_MAX_TENSORS], struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    bool ok = true;
    for (int i = 0, count = work->op->tensors(work, list); ok && i < count; i++) {
        const char *name = list[i].role->name;
        int slot = list[i].role->slot;
        if (!list[i].written)
            continue;
        SCOPED char *result = text_format("%s/%s.npy", folder, name), *magnitude = sizes_of(list, count, folder, name, "magnitude"),
                    *bound = sizes_of(list, count, folder, name, "bound");
        bounds[slot] = bound;
        ok = reference_take(&list[i], result, bound ? bound : magnitude, data, &magnitudes[slot], err);
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
        if (!list[i].written && data->at[list[i].role->slot].wide)
            hash_add(h, data->at[list[i].role->slot].wide, tensor_elements(&list[i]) * sizeof(double));
        else if (!list[i].written)
            hash_add(h, data->at[list[i].role->slot].value, tensor_elements(&list[i]) * sizeof(float));
    hash_end(h, out);
}

bool reference_python(const struct work *work, enum data_part part, struct op_data *data, double *magnitudes[OP_MAX_TENSORS],
                      bool bounds[OP_MAX_TENSORS], struct error *err)
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
        ok = python_results(work, data, kept, magnitudes, bounds, err);
    } else {
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the next case is made in a thread of its own */
        pthread_mutex_lock(&lock);
        ok = file_make_dirs(above, err) && (mkdtemp(folder) || error_set(err, ERROR_ENVIRONMENT, "%s: %s", folder, strerror(errno))) &&
             python_make(work, data, folder, err) && python_results(work, data, folder, magnitudes, bounds, err);
        pthread_mutex_unlock(&lock);
        if (!ok || !cache || !python_current(folder) || rename(folder, kept))
            file_remove_flat(folder);
    }
    FREE_ALL(above, folder, kept, cache);
    return ok || error_where(err, "%s:%s", work->op->file->source, work->op->file->function);
}
