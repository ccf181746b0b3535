/* op/file_private: what the files of op/file share. */
#ifndef BENCH_OP_FILE_PRIVATE_H
#define BENCH_OP_FILE_PRIVATE_H

#include "op/file.h"

/* Read when first asked for: op_file_hash(). */
struct op_file_hash {
    char *text; /* the file's; NULL: `hash` stands */
    size_t bytes;
    char hash[HASH_TEXT];
};

/* Everything that is read stays: an op lives as long as the process. NULL on error. */
struct op_file *op_file_read(const char *path, struct error *err);

/* The hooks of its struct op. */
bool op_file_finish(struct work *work, struct error *err);
int op_file_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS]);
double op_file_flop(const struct work *work);

#endif
