/* base/source: hashes a .cu with every file that it can include. */
#pragma once

#include "base/error.h"
#include "base/hash.h"

struct source {
    char *path, *text;
    size_t bytes;
    char *folders[2];         /* include folders: the .cu's own, kernels/include */
    char *host;               /* and that of the few headers of the host that NVRTC is given */
    char includes[HASH_TEXT]; /* of every included file's name and content */
};
/* `include` NULL: this installation's kernels/include. The defines ("NAME=VALUE") resolve `#include NAME`. */
bool source_read(const char *path, const char *include, const char *const *defines, int define_count, struct source *s, struct error *err);
void source_free(struct source *s);

/* Feeds a file's bytes to the hash; of a .cu and its includes what code_words leaves. Nothing if path is NULL or cannot be read. */
void source_add(struct hash *h, const char *path);

/* SHA-256 of a .cu and its includes, read once per `memo`; "" if one cannot be read, which the compiler then reports. The string lives as
 * long as the memo. */
struct source_memo;
struct source_memo *source_memo_new(void);
void source_memo_free(struct source_memo *memo);
const char *source_hash(struct source_memo *memo, const char *path, const char *include, const char *const *defines, int define_count);
