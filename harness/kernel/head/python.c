#include "kernel/head/python.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/talk.h"
#include "base/text.h"
#include "kernel/head/load.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_S 600 /* a compiler may take long for one kernel */
#define ANSWER_MAX_BYTES (1u << 20)

/* Python with the file loaded. All kernels of a file ask the same one: importing a tool takes seconds. */
struct server {
    struct talk *talk; /* NULL: nothing had to be compiled yet, or the last one ended */
    int users;
    bool told_to_end; /* by a signal to the whole process group: bench ends as well, and starts no other one */
};

struct head_python {
    struct server *server;
    struct variant **made;
    char **keys;
    int count, key_count;
};

void head_python_free(struct head_python *p)
{
    if (!p)
        return;
    if (!--p->server->users) {
        talk_close(p->server->talk);
        free(p->server);
    }
    for (int i = 0; i < p->count; i++) {
        variant_free(p->made[i]);
        free(p->keys[i]);
    }
    FREE_ALL(p->made, p->keys, p);
}

/* KEY.yaml, KEY.no and KEY.error beside the sidecar are the answers of Python. */
static char *answer_path(const char *dir, const char *key, const char *suffix)
{
    return text_format("%s/%s.%s", dir, key, suffix);
}

static bool answer_is_there(const char *dir, const char *key)
{
    static const char *const suffixes[] = {"yaml", "no", "error"};
    bool there = false;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        SCOPED char *path = answer_path(dir, key, suffixes[i]);
        there |= file_exists(path);
    }
    return there;
}

static bool python_ask(struct head_python *p, const struct head *h, const char *dir, const char *key, const char *request,
                       struct error *err)
{
    SCOPED char *program = file_share("kernels/python/bench.py"), *log = file_join(dir, "log");
    const char *const argv[] = {talk_python(), program, "serve", h->source, dir, NULL};
    struct server *s = p->server;
    if (s->told_to_end)
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    if (!s->talk && !(s->talk = talk_open(argv, log, err)))
        return error_hint(err, "BENCH_PYTHON=FILE selects another Python");
    SCOPED char *line = text_format("%s %s %s", h->steps[0].name, key, request);
    if (talk_ask(s->talk, line, ANSWER_S, err))
        return true;
    s->told_to_end = talk_close(s->talk); /* else this kernel crashed the tool: the others get a new one */
    s->talk = NULL;
    return error_hint(err, "what it printed is in %s", log);
}

static struct head_python *state_of(struct head *h)
{
    if (!h->python) {
        h->python = xcalloc(1, sizeof *h->python);
        h->python->server = xcalloc(1, sizeof *h->python->server);
        h->python->server->users = 1;
    }
    return h->python;
}

static bool is_python(const struct head *h)
{
    return h->step_count && h->steps[0].kind == HEAD_PYTHON;
}

void head_python_share(struct variant *v, struct variant *const *others, int count)
{
    struct head *h = v->parsed;
    for (int i = count - 1; is_python(h) && !h->python && i >= 0; i--) {
        struct head *other = others[i]->parsed;
        if (!is_python(other) || strcmp(h->source, other->source))
            continue;
        h->python = xcalloc(1, sizeof *h->python);
        h->python->server = state_of(other)->server;
        h->python->server->users++;
    }
}

static bool make(const struct variant *v, const char *request, const struct variant **made, char **reason, struct error *err)
{
    struct head *h = v->parsed;
    struct head_python *p = state_of(h);
    SCOPED char *asked = text_format("%s %s", h->steps[0].name, request), *folder = file_dir(v->path), *dir = file_join(folder, "made");
    char key[HASH_TEXT];
    hash_bytes(asked, strlen(asked), key);
    *made = NULL;
    *reason = NULL;
    for (int i = 0; i < p->count && !*made; i++)
        *made = strcmp(p->keys[i], key) ? NULL : p->made[i];
    if (*made)
        return true;
    if (!answer_is_there(dir, key) && !python_ask(p, h, dir, key, request, err))
        return false;
    SCOPED char *sidecar = answer_path(dir, key, "yaml"), *no = answer_path(dir, key, "no"), *error = answer_path(dir, key, "error");
    size_t bytes;
    if ((*reason = file_read(no, ANSWER_MAX_BYTES, &bytes, NULL)))
        return true;
    SCOPED char *wrong = file_read(error, ANSWER_MAX_BYTES, &bytes, NULL);
    if (wrong)
        return error_set(err, ERROR_USAGE, "%s", wrong);
    struct variant *new = variant_load(sidecar, v->folder, err);
    if (!new)
        return false;
    free(new->name);
    new->name = xstrdup(v->name);
    *APPEND(p->keys, p->key_count) = xstrdup(key);
    *APPEND(p->made, p->count) = new;
    *made = new;
    return true;
}

bool head_python_make(const struct variant *v, const char *request, const struct variant **made, char **reason, struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a worker makes the next case in a thread of its own */
    pthread_mutex_lock(&lock);
    bool ok = make(v, request, made, reason, err);
    pthread_mutex_unlock(&lock);
    return ok;
}
