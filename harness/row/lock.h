/* row/lock: one run at a time writes a database. A whole-file flock on PATH.lock, which the kernel drops when the holder dies however it
 * dies; the file's text only names the holder, so a stale text or a reused pid can never keep anybody out. The file stays (removing it
 * would race with somebody who has just opened it). */
#ifndef BENCH_ROW_LOCK_H
#define BENCH_ROW_LOCK_H

#include "base/error.h"

/* Does not wait. On success *fd is the lock; on failure the error names the holder's pid. */
bool lock_take(const char *database, int *fd, struct error *err);
void lock_release(int *fd); /* -1 is fine; sets -1 */

#endif
