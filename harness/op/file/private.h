/* op/file/private: what the files that read ops share. */
#ifndef BENCH_OP_FILE_PRIVATE_H
#define BENCH_OP_FILE_PRIVATE_H

#include "op/op_file.h"

/* Everything that is read stays: an op lives as long as the process. NULL on error. */
struct op_file *op_file_read(const char *path, struct error *err);

/* Of a file that was refused, or that nobody has any more. */
void op_file_free(struct op_file *f);

/* Hooks of struct op. */
bool op_file_finish(struct work *work, struct error *err);
int op_file_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS]);
double op_file_flop(const struct work *work);
/* Reads what an op of images has in its file; its fields and lets are there. */
bool op_image_read(struct op_file *f, struct error *err);
void op_image_free(struct op_file *f);
/* n, c, h, w, which such an op has unless its file says more of them. */
#define OP_IMAGE_FIELDS 4
extern const struct op_field op_image_fields[OP_IMAGE_FIELDS];
/* Where a work has a field or let of this name, and of which kind it is; false: nowhere of its own. */
bool op_image_member(const struct op_file *f, const char *name, size_t *offset, enum field_kind *kind);
/* Parts of the YAML, in the order in which they are read. */
bool op_file_name_ok(const char *name);
bool op_file_is_image(const struct op_file *f);
bool op_file_read_fields(struct op_file *f, const struct node *n, struct error *err);
bool op_file_read_lets(struct op_file *f, const struct node *n, struct error *err);
bool op_file_read_needs(struct op_file *f, const struct node *n, struct error *err);
/* A name that is none yet; `what`: of which thing. */
bool op_file_new_name(const struct op_file *f, const struct node *n, const char *what, struct error *err);
/* A list of expressions, or one. */
bool op_file_exprs(struct op_file *f, const struct node *n, struct expr ***out, int *count, struct error *err);
/* An expression, or NULL where the key is not there; false: err. */
bool op_file_optional(struct op_file *f, const struct node *map, const char *key, struct expr **out, struct error *err);

#endif
