/* store/lock: one run at a time writes a database. A whole-file flock on PATH.lock, which the kernel drops when the holder dies however it
 * dies; the file's text only names the holder, so a stale text or a reused pid can never keep anybody out. The file stays (removing it
 * would race with somebody who has just opened it). */
#ifndef BENCH_ROW_LOCK_H
#define BENCH_ROW_LOCK_H

#include "base/error.h"

/* One run at a time has a GPU, whoever's it is and whatever database it writes: PATH is /tmp/bench-UUID.lock. Who finds it taken waits;
 * `asked` is called as long as it is, with the holder's pid (0: not known), and ends the waiting with false. *fd -1 and true: there is no
 * place for such a file here, and nobody is locked out. */
bool lock_gpu(const char *uuid, bool (*asked)(void *context, long long pid), void *context, int *fd, struct error *err);
/* Does not wait. On success *fd is the lock; on failure the error names the holder's pid. */
bool lock_take(const char *database, int *fd, struct error *err);
void lock_release(int *fd); /* -1 is fine; sets -1 */

#endif
