/* base/file_system: may several hosts write to this folder? */
#pragma once

/* The name of the file system of `path` (an existing file or folder) if several hosts may see it: "nfs", "lustre", ... A type that is not
 * known to be local counts as shared: "type 0x...". NULL: only this host sees it, or the type cannot be asked for. */
const char *file_system_shared(const char *path);
