/* Runs each NVRTC compilation in a process with a fresh heap, so that its code depends on the request alone. NVRTC 13.0 orders some of its
 * work by address, and a used heap has holes: of 60 compilations of conv2d/general_tiled in one process 5 differed (registers,
 * instructions); of 77 in processes forked from one that keeps results, 3; with the heap of a new thread, none of 240. A process that has
 * loaded a CUDA driver must not be forked and then used: it starts `bench worker compile`, which forks in the same way. */
#include "base/file.h"
#include "base/large.h"
#include "device/compile/private.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* GCC 12's AddressSanitizer does not support a fork while another thread is in its heap: the child may wait for its locks forever. */
static bool alone(void)
{
    SCOPED char **tasks = NULL;
    int count = file_list("/proc/self/task", "", &tasks, NULL);
    return count == 1;
}
#else
static bool alone(void)
{
    return true;
}
#endif

static bool has_driver(void)
{
    pthread_mutex_lock(&compile_loading);
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver)
        dlclose(driver);
    pthread_mutex_unlock(&compile_loading);
    return driver;
}

bool compile_may_fork(void)
{
    return alone() && !has_driver();
}

struct job {
    const struct compiler *c;
    const struct source *s;
    const struct compile_request *r;
    int file;
    struct error *err;
};

#define HEAP_BYTES ((size_t)30 << 20) /* less than what glibc gives a mapping of its own (M_MMAP_THRESHOLD below) */

/* NVRTC fills some 30 MB, and glibc makes a thread's heap accessible by a few pages at a time. Of what is allocated once and freed, the
 * heap keeps all (M_TRIM_THRESHOLD below), in large pages; later allocations get the addresses that they had got without this. */
static void widen_heap(void)
{
    void *volatile whole = malloc(HEAP_BYTES); /* volatile: the compiler may leave out a pair of malloc and free */
    if (whole)
        large_advise(whole, HEAP_BYTES);
    free(whole);
}

/* Writes the result to `file`, and an error to memory that both processes share. */
static void *compile_there(void *argument)
{
    const struct job *job = argument;
    struct compiled made = {0};
    struct text entry = {0};
    widen_heap();
    if (!nvrtc_compile(job->c, job->s, job->r, &made, job->err))
        return NULL;
    entry_write(&entry, &made);
    for (size_t at = 0; at < entry.len;) {
        ssize_t n = write(job->file, entry.data + at, entry.len - at);
        if (n <= 0) {
            error_set(job->err, ERROR_MACHINE, "%s: no room for what was compiled: %s", job->r->label, strerror(errno));
            break;
        }
        at += (size_t)n;
    }
    return NULL;
}

/* In the child, whose heap has its parent's holes: a new thread gets a heap of its own from glibc, at a multiple of 64 MiB, and allocates
 * only from it. */
static void compile_in_thread(struct job *job, pid_t parent)
{
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    if (pthread_create(&thread, NULL, compile_there, job))
        compile_there(job);
    else
        pthread_join(thread, NULL);
    _exit(0);
}

/* If the compiler crashes or runs out of memory, this process ends in the same way, as it would without the subprocess: the watchdog then
 * reports which row it was. */
static void die_like(int status)
{
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 127);
}

/* Reads what compile_there or compile_serve wrote. */
static bool take_made(int file, struct compiled *out)
{
    off_t bytes = lseek(file, 0, SEEK_END);
    size_t next;
    void *data = bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    bool ok = data != MAP_FAILED && entry_read(data, (size_t)bytes, out, &next);
    if (data != MAP_FAILED)
        munmap(data, (size_t)bytes);
    return ok;
}

bool compile_in_subprocess(const struct compiler *c, const struct source *s, const struct compile_request *r, struct compiled *out,
                           struct error *err)
{
    int status = 0, file = memfd_create("bench-compiled", MFD_CLOEXEC);
    struct error *there = mmap(NULL, sizeof *there, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = getpid(), child = -1;
    bool ok = false;
    if (file >= 0 && there != MAP_FAILED) {
        fflush(NULL);
        pthread_mutex_lock(&compile_loading);
        child = fork();
        if (child == 0)
            compile_in_thread(&(struct job){c, s, r, file, there}, parent);
        pthread_mutex_unlock(&compile_loading);
    }
    if (child < 0) {
        error_set(err, ERROR_MACHINE, "%s: no process for its compilation: %s", r->label, strerror(errno));
        goto done;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status)
        die_like(status);
    if (there->kind != ERROR_NONE) {
        if (err)
            *err = *there;
        goto done;
    }
    ok = take_made(file, out) || error_set(err, ERROR_MACHINE, "%s: what was compiled could not be read back", r->label);
done:
    if (file >= 0)
        close(file);
    if (there != MAP_FAILED)
        munmap(there, sizeof *there);
    return ok;
}

/* ---- with a driver: in another program ---- */

#define SERVED_MOST 4096 /* fields of a request */

static bool serving; /* this process is such a program: it starts no further one */

/* The executable to start as `worker compile`: bench itself; for a test program in build/tests, the bench of its tree. NULL: none is
 * needed, or none exists. Caller frees. */
static char *program(void)
{
    if (serving || !has_driver())
        return NULL;
    if (!strcmp(file_base(file_self()), "bench"))
        return xstrdup(file_self());
    char *path = file_beside(file_self(), "../../bench");
    if (!access(path, X_OK))
        return path;
    free(path);
    return NULL;
}

/* A field of a request: NULL and "" differ. */
static void put(struct text *t, const char *value)
{
    text_add(t, value ? "=" : "-");
    text_add_bytes(t, value ? value : "", value ? strlen(value) + 1 : 1);
}

static bool put_request(const struct compile_request *r, int file)
{
    char numbers[64];
    SCOPED_TEXT t = {0};
    snprintf(numbers, sizeof numbers, "%d %d %d %d", r->bounds.threads, r->bounds.blocks, r->bounds.registers, r->ptx_only);
    const char *const fields[] = {r->path, r->label, r->include, r->arch, r->compiler, numbers};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        put(&t, fields[i]);
    for (int i = 0; i < r->define_count; i++)
        put(&t, r->defines[i]);
    return t.len <= 1 << 20 && write(file, t.data, t.len) == (ssize_t)t.len && !lseek(file, 0, SEEK_SET);
}

/* Only async-signal-safe calls. The request is at 3, the result at 4 and an error at 5. */
static void become_compiler(const char *path, const int files[3], pid_t parent)
{
    static char *const argv[] = {"bench", "worker", "compile", NULL};
    int high[3];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (int i = 0; i < 3; i++)
        high[i] = fcntl(files[i], F_DUPFD, 16);
    for (int i = 0; i < 3; i++)
        if (dup2(high[i], 3 + i) < 0)
            _exit(1);
    execv(path, argv);
    _exit(127);
}

bool compile_in_program(const struct compile_request *r, struct compiled *out, bool *started, struct error *err)
{
    SCOPED char *path = program();
    int files[3], status = 0;
    struct error there = {0};
    pid_t parent = getpid(), child = -1;
    bool ok = path != NULL, made = false;
    for (int i = 0; i < 3; i++)
        ok = (files[i] = memfd_create("bench-compile", MFD_CLOEXEC)) >= 0 && ok;
    if (ok && put_request(r, files[0])) {
        child = fork();
        if (child == 0)
            become_compiler(path, files, parent);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    *started = child > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    if (*started && status)
        die_like(status);
    if (*started && pread(files[2], &there, sizeof there, 0) == (ssize_t)sizeof there) {
        if (err)
            *err = there;
    } else if (*started) {
        made = take_made(files[1], out) || error_set(err, ERROR_MACHINE, "%s: what was compiled could not be read back", r->label);
    }
    for (int i = 0; i < 3; i++)
        if (files[i] >= 0)
            close(files[i]);
    return made;
}

int compile_serve(void)
{
    static const char *fields[SERVED_MOST];
    struct compile_request r = {0};
    struct compiled made = {0};
    struct error err = {0};
    SCOPED_TEXT entry = {0};
    int count = 0, ptx_only = 0;
    serving = true;
    off_t bytes = lseek(3, 0, SEEK_END);
    char *data = bytes > 0 && bytes <= 1 << 20 ? xcalloc((size_t)bytes + 1, 1) : NULL;
    if (!data || pread(3, data, (size_t)bytes, 0) != bytes)
        return 2;
    for (char *at = data; at < data + bytes && count < SERVED_MOST; at += strlen(at) + 1)
        fields[count++] = *at == '=' ? at + 1 : NULL;
    if (count < 6 || !fields[5] ||
        sscanf(fields[5], "%d %d %d %d", &r.bounds.threads, &r.bounds.blocks, &r.bounds.registers, &ptx_only) != 4)
        return 2;
    r.ptx_only = ptx_only;
    r.path = fields[0], r.label = fields[1], r.include = fields[2], r.arch = fields[3], r.compiler = fields[4];
    r.defines = fields + 6, r.define_count = count - 6;
    if (compile(&r, &made, &err))
        entry_write(&entry, &made);
    compiled_free(&made);
    free(data);
    if (err.kind != ERROR_NONE)
        return pwrite(5, &err, sizeof err, 0) == (ssize_t)sizeof err ? 0 : 2;
    return write(4, text_get(&entry), entry.len) == (ssize_t)entry.len ? 0 : 2;
}
