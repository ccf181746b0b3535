/* Python files where variants are expected: `bench try FILE.py[:KERNEL]`, `--variants NAME=FILE.py[:KERNEL]` (docs/PYTHON.md). */
#include "base/file.h"
#include "base/process.h"
#include "base/talk.h"
#include "base/text.h"
#include "cli/cli.h"
#include "device/compile/compile.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_S 300 /* a first import of a compiler from a network disk takes long */
#define ANSWER_MAX_BYTES (1u << 20)

/* FILE.py or FILE.py:KERNEL: the length of the file's name; 0: it is neither. */
static size_t python_file(const char *s)
{
    const char *colon = strrchr(s, ':');
    size_t n = strlen(s), file = colon ? (size_t)(colon - s) : n;
    if (n > 3 && !strcmp(s + n - 3, ".py"))
        return n;
    return file > 3 && !strncmp(s + file - 3, ".py", 3) ? file : 0;
}

bool cli_is_python(const char *s)
{
    return python_file(s) > 0;
}

/* The last lines of what Python printed, as the hint. */
static bool python_failed(const char *path, int code, const char *log, struct error *err)
{
    size_t bytes = 0;
    SCOPED char *said = file_read(log, ANSWER_MAX_BYTES, &bytes, NULL);
    if (code == PROCESS_MISSING)
        error_set(err, ERROR_ENVIRONMENT, "%s: %s", talk_python(), strerror(errno));
    else if (code == PROCESS_LATE)
        error_set(err, ERROR_USAGE, "%s: Python did not import it within %d s", path, LIST_S);
    else
        error_set(err, ERROR_USAGE, "%s: %s", path,
                  said && bytes ? said + (bytes > 1000 ? bytes - 1000 : 0) : "Python ended without a message");
    return error_hint(err, "BENCH_PYTHON=FILE selects another Python than python3");
}

char *cli_python_folder(const char *given, struct error *err)
{
    char why[512];
    SCOPED char *file = xstrndup(given, python_file(given)), *path = realpath(file, NULL);
    if (!path) {
        error_set(err, ERROR_USAGE, "%s: %s", file, strerror(errno));
        return NULL;
    }
    SCOPED char *root = compile_cache_folder(why, sizeof why), *cache = file_join(root ? root : ".bench", "python");
    SCOPED char *absolute = file_make_dirs(cache, err) ? realpath(cache, NULL) : NULL;
    if (!absolute)
        return NULL;
    SCOPED char *answer = text_format("%s/answer.%d", absolute, (int)getpid()), *log = text_format("%s/log.%d", absolute, (int)getpid());
    SCOPED char *program = file_share("kernels/python/bench.py");
    const char *kernel = given[strlen(file)] ? given + strlen(file) + 1 : "";
    const char *const argv[] = {talk_python(), program, "list", path, kernel, absolute, answer, NULL};
    int code = process_run(argv, &(struct process){.log = log, .seconds = LIST_S});
    size_t bytes;
    char *folder = code == 0 ? file_read(answer, ANSWER_MAX_BYTES, &bytes, NULL) : NULL;
    if (!folder)
        python_failed(path, code, log, err);
    else if (!strncmp(folder, "error ", 6))
        error_set(err, ERROR_USAGE, "%s", folder + 6);
    unlink(answer);
    unlink(log);
    if (folder && strncmp(folder, "error ", 6))
        return folder;
    free(folder);
    return NULL;
}

char *cli_python_ops(const char *folder)
{
    SCOPED char **names = NULL;
    char *ops = file_join(folder, "ops");
    int count = file_is_dir(ops) ? file_list(ops, ".yaml", &names, NULL) : 0;
    if (count > 0)
        return ops;
    free(ops);
    return NULL;
}

static void list_add(struct option_list *list, const char *item)
{
    list->items = xrealloc(list->items, ((size_t)list->count + 2) * sizeof *list->items);
    list->items[list->count++] = item;
    list->items[list->count] = NULL;
}

static const char *keep_text(struct plan_arguments *a, char *text)
{
    return *APPEND(a->made, a->made_count) = text;
}

bool cli_python_variants(struct plan_arguments *a, struct error *err)
{
    for (int i = 0; i < a->variants.count; i++) {
        const char *spec = a->variants.items[i], *equals = strchr(spec, '=');
        if (!equals || !cli_is_python(equals + 1))
            continue;
        SCOPED char *folder = cli_python_folder(equals + 1, err);
        if (!folder)
            return false;
        char *ops = cli_python_ops(folder);
        if (ops)
            list_add(&a->ops, keep_text(a, ops));
        a->variants.items[i] = keep_text(a, text_format("%.*s=%s", (int)(equals - spec), spec, folder));
    }
    return true;
}
