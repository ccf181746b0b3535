/* host.so: runs the user's own Python inside a worker of bench, for rows that are callables (docs/PYTHON.md).
 *
 * The interpreter is libpython of the environment whose python3 the shell finds: Py_BytesMain with that program's path as argv[0] sets up
 * its venv or conda environment as the program itself would. It runs bench.py on a thread of its own, which hands back a function and then
 * waits; each run of a row calls this function on the thread of bench, with bench's stream and buffers. Nothing else of Python's C
 * interface is used, so one build serves every version from 3.8 on. */
#include "../../harness/op/foreign.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 4096
#define STACK_BYTES (64u << 20) /* as the main thread of a program has: compilers recurse */

typedef int answer_function(struct bench_call *call);

static struct host {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int started, ended;
    answer_function *answer;
    int (*main)(int argc, char **argv);
    char python[LINE], library[LINE], program[LINE], ready[32];
    struct sigaction kept[3];
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static const int signals[] = {SIGINT, SIGPIPE, SIGXFSZ}; /* which Python takes for itself */

/* bench.py calls this once it can answer; it returns when the process ends. */
static void host_ready(answer_function *answer)
{
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &host.kept[i], NULL);
    pthread_mutex_lock(&host.lock);
    host.answer = answer;
    pthread_cond_broadcast(&host.changed);
    for (;;)
        pthread_cond_wait(&host.changed, &host.lock);
}

static void *host_main(void *unused)
{
    static char mode[] = "host";
    char *argv[] = {host.python, host.program, mode, host.ready, NULL};
    host.main(4, argv);
    pthread_mutex_lock(&host.lock);
    host.ended = 1;
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
    return unused;
}

static int host_say(struct bench_call *call, const char *format, const char *text)
{
    snprintf(call->message, call->message_bytes, format, text);
    return 2;
}

static int read_line(FILE *file, char *to)
{
    int ok = fgets(to, LINE, file) != NULL;
    to[strcspn(to, "\n")] = 0;
    return ok && *to;
}

/* Starts the interpreter that the row's file names. */
static int host_start(struct bench_call *call)
{
    FILE *file = fopen(call->source, "r");
    int ok = file && read_line(file, host.python) && read_line(file, host.library) && read_line(file, host.program);
    if (file)
        fclose(file);
    if (!ok)
        return host_say(call, "%s is no call of a Python function", call->source);
    void *library = dlopen(host.library, RTLD_NOW | RTLD_GLOBAL); /* global: its extension modules look for Python's symbols */
    *(void **)&host.main = library ? dlsym(library, "Py_BytesMain") : NULL;
    if (!host.main)
        return host_say(call, "%s", dlerror());
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], NULL, &host.kept[i]);
    snprintf(host.ready, sizeof host.ready, "%p", (void *)(size_t)host_ready);
    pthread_t thread;
    pthread_attr_t how;
    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, STACK_BYTES);
    ok = pthread_create(&thread, &how, host_main, NULL) == 0;
    pthread_attr_destroy(&how);
    if (!ok)
        return host_say(call, "%s", "no thread for Python");
    pthread_detach(thread);
    host.started = 1;
    return 0;
}

bench_function bench_python_call, bench_open, bench_finish;
int bench_python_call(struct bench_call *call)
{
    pthread_mutex_lock(&host.lock);
    int failed = host.started ? 0 : host_start(call);
    while (!failed && !host.answer && !host.ended)
        pthread_cond_wait(&host.changed, &host.lock);
    answer_function *answer = host.answer;
    pthread_mutex_unlock(&host.lock);
    if (failed)
        return failed;
    return answer ? answer(call) : host_say(call, "%s ended before it could answer", host.python);
}

/* Starts Python, imports the file and calls the function once (bench_host.py): compilers may take long. */
int bench_open(struct bench_call *call)
{
    return bench_python_call(call);
}

/* Queues the copies of what the last call returned: it is told by `defers`, which is 2 here. */
int bench_finish(struct bench_call *call)
{
    call->defers = 2;
    int failed = bench_python_call(call);
    call->defers = 0;
    return failed;
}
