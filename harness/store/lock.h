/* store/lock: only one run at a time writes a database. It holds a whole-file flock on PATH.lock, which the kernel releases when the
 * process ends in any way. The text in the file only names the holder, so a stale text or a reused pid locks nobody out. The file stays:
 * removing it would race with a process that has just opened it. */
#pragma once

#include "base/error.h"

/* Only one run at a time uses a GPU, of any user and database: PATH is /tmp/bench-UUID.lock. If it is taken, waits; `asked` is called
 * repeatedly with the holder's pid (0: not known) and can end the waiting by returning false. *fd -1 and true: such a file cannot be made
 * here, and nothing is locked. */
bool lock_gpu(const char *uuid, bool (*asked)(void *context, long long pid), void *context, int *fd, struct error *err);
/* Does not wait. On success *fd is the lock; on failure the error names the holder's host and pid. */
bool lock_take(const char *database, int *fd, struct error *err);
void lock_release(int *fd); /* -1 is fine; sets -1 */
