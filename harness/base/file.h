/* base/file: whole files, folders, atomic writes, and where this installation keeps its data. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* Reads a whole regular file of at most max_bytes; folders, fifos and devices are refused. The buffer is NUL-terminated after `*bytes`;
 * the caller owns it. */
char *file_read(const char *path, size_t max_bytes, size_t *bytes, struct error *err);
/* The same for text: a NUL byte, behind which C would not read, is an error with path, line and column. */
char *file_text(const char *path, size_t max_bytes, size_t *bytes, struct error *err);
/* Writes a temporary file next to `path`, then renames it: a reader sees the old or the new file, never half of one. */
bool file_write(const char *path, const void *data, size_t bytes, struct error *err);
/* The same for a name that the user gave (--to, --export, --bundle). A device or pipe is written to and stays; a link stays and its
 * target is written; - is stdout. file_write does not follow links, since others may write in a cache folder. */
bool file_write_named(const char *path, const void *data, size_t bytes, struct error *err);
/* Is it a regular file that begins with that text? */
bool file_begins(const char *path, const char *text);
/* mkdir -p */
bool file_make_dirs(const char *path, struct error *err);
/* Removes a folder that file_make_dirs made, if it is empty. */
void file_unmake_dir(const char *path);
bool file_exists(const char *path);
/* Why file_exists() is false although there is something of that name: "a symbolic link that leads nowhere", "Permission denied". NULL:
 * there is nothing, or the file exists. */
const char *file_unreachable(const char *path);
bool file_is_dir(const char *path);
/* A pipe or a device: opening it may wait, and it cannot be read twice. */
bool file_is_stream(const char *path);
/* Names in a folder, sorted; `suffix` filters ("" = all). One block, names included: the caller frees *names. -1 and NULL on error. */
int file_list(const char *dir, const char *suffix, char ***names, struct error *err);
/* Removes a folder of our own that has only files in it. */
void file_remove_flat(const char *dir);
/* "a/b" + "c" -> "a/b/c"; an absolute second part wins. Caller frees. */
char *file_join(const char *dir, const char *name);
/* The folder part ("." if there is none) and the last part of a path; a file in the folder of another. Caller frees, but for the last part.
 */
char *file_dir(const char *path);
char *file_beside(const char *path, const char *name);
const char *file_base(const char *path);
/* Bytes of memory that the host can give without swapping (MemAvailable); 0: not known. */
double file_memory_available(void);
/* The absolute path of this executable. */
const char *file_self(void);
/* A path in the installation's data: `file_share("scenarios/edsr.yaml")`. The root is the first of: $BENCH_HOME; the folder of the
 * executable if it holds kernels/variants (a source tree); ../share/bench next to it (make install). Caller frees. */
char *file_share(const char *relative);
