/* Each NVRTC compilation in a process of its own, so that its code is its request's alone. NVRTC 13.0 orders some of its work by address,
 * and in a process that has compiled before the heap has holes: of 60 compilations of conv2d/general_tiled in one process 5 came out
 * otherwise (registers, instructions), of 60 in forked ones none. */
#include "base/file.h"
#include "device/compile/private.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

bool compile_may_fork(void)
{
    pthread_mutex_lock(&compile_loading);
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver)
        dlclose(driver);
    pthread_mutex_unlock(&compile_loading);
    return !driver;
}

/* In the new process. What it made goes into `file`, what went wrong into memory that both have. */
static void compile_there(const struct compiler *c, const struct source *s, const struct compile_request *r, pid_t parent, int file,
                          struct error *err)
{
    struct compiled made = {0};
    struct text entry = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (nvrtc_compile(c, s, r, &made, err)) {
        entry_write(&entry, &made);
        for (size_t at = 0; at < entry.len;) {
            ssize_t n = write(file, entry.data + at, entry.len - at);
            if (n <= 0) {
                error_set(err, ERROR_MACHINE, "%s: no room for what was compiled: %s", r->label, strerror(errno));
                break;
            }
            at += (size_t)n;
        }
    }
    _exit(0);
}

/* A compiler that crashes or runs out of memory ends its caller in the same way, as it does in one process: the watchdog tells which row
 * that was. */
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

bool compile_apart(const struct compiler *c, const struct source *s, const struct compile_request *r, struct compiled *out,
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
            compile_there(c, s, r, parent, file, there);
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
