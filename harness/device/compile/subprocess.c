/* Runs each NVRTC compilation in a process with a fresh heap, so that its code depends on the request alone. NVRTC 13.0 orders some of its
 * work by address, and a used heap has holes: of 60 compilations of conv2d/general_tiled in one process 5 differed (registers,
 * instructions); of 77 in processes forked from one that keeps results, 3; with the heap of a new thread, none of 240. */
#include "base/file.h"
#include "device/compile/private.h"
#include <dlfcn.h>
#include <errno.h>
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
    char **tasks = NULL;
    int count = file_list("/proc/self/task", "", &tasks, NULL);
    for (int i = 0; i < count; i++)
        free(tasks[i]);
    free(tasks);
    return count == 1;
}
#else
static bool alone(void)
{
    return true;
}
#endif

bool compile_may_fork(void)
{
    if (!alone())
        return false;
    pthread_mutex_lock(&compile_loading);
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver)
        dlclose(driver);
    pthread_mutex_unlock(&compile_loading);
    return !driver;
}

struct job {
    const struct compiler *c;
    const struct source *s;
    const struct compile_request *r;
    int file;
    struct error *err;
};

/* Writes the result to `file`, and an error to memory that both processes share. */
static void *compile_there(void *argument)
{
    const struct job *job = argument;
    struct compiled made = {0};
    struct text entry = {0};
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
