/* base/file: whole files, folders, atomic writes, and where this installation keeps its data. */
#ifndef BENCH_BASE_FILE_H
#define BENCH_BASE_FILE_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* Reads a whole regular file (folders, fifos and devices are refused) of at most max_bytes. The buffer is NUL-terminated
 * behind `*bytes` and owned by the caller. */
char *file_read(const char *path, size_t max_bytes, size_t *bytes, struct error *err);
/* Writes to a temporary name beside `path`, then renames: a reader sees the old or the new file, never half of one. */
bool file_write(const char *path, const void *data, size_t bytes, struct error *err);
/* The same for a name that the user gave (--to, --export, --bundle): what is no regular file (a device, a pipe) is written through and
 * stays what it is, and so does a link, whose end is written; - is standard output. file_write itself follows nothing: a cache may be a
 * folder that others write in. */
bool file_write_named(const char *path, const void *data, size_t bytes, struct error *err);
/* Is it a regular file that begins with that text? */
bool file_begins(const char *path, const char *text);
/* mkdir -p */
bool file_make_dirs(const char *path, struct error *err);
/* Takes back a folder that file_make_dirs made and nothing was put into. */
void file_unmake_dir(const char *path);
bool file_exists(const char *path);
bool file_is_dir(const char *path);
/* A pipe or a device: opening it may wait, and it cannot be read twice. */
bool file_is_stream(const char *path);
/* Names in a folder, sorted; `suffix` filters ("" = all). Each name and the array are the caller's (free). -1 on error. */
int file_list(const char *dir, const char *suffix, char ***names, struct error *err);
/* Removes a folder of our own that has only files in it. */
void file_remove_flat(const char *dir);
/* "a/b" + "c" -> "a/b/c"; an absolute second part wins. Caller frees. */
char *file_join(const char *dir, const char *name);
/* Folder part ("." when there is none) and last part. Caller frees the folder. */
char *file_dir(const char *path);
const char *file_base(const char *path);
/* The absolute path of this executable. */
const char *file_self(void);
/* A path inside the installation's data: `file_share("scenarios/edsr.yaml")`. The root is, first match: $BENCH_HOME, the
 * folder of the executable when it holds kernels/variants (a source tree), or ../share/bench beside it (make install).
 * Caller frees. */
char *file_share(const char *relative);

#endif
