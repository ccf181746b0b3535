/* op/file/private: what the files that read ops share. */
#pragma once

#include "op/op_file.h"

/* Reads an op, which then lives as long as the process. NULL on error. */
struct op_file *op_file_read(const char *path, struct error *err);

/* Hooks of struct op. */
bool op_file_finish(struct work *work, struct error *err);
int op_file_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS]);
double op_file_flop(const struct work *work);
/* Reads the keys of an op of images; its fields and lets have been read. */
bool op_image_read(struct op_file *f, struct error *err);
void op_image_free(struct op_file *f);
/* Fields n, c, h, w, which such an op has unless its file defines them. */
#define OP_IMAGE_FIELDS 4
extern const struct op_field op_image_fields[OP_IMAGE_FIELDS];
/* Finds the place in struct work, and the kind, of a field or let with a fixed meaning; false: it has none. */
bool op_image_member(const struct op_file *f, const char *name, size_t *offset, enum field_kind *kind);
/* Parts of the YAML, in the order in which they are read. */
bool op_file_name_ok(const char *name);
bool op_file_is_image(const struct op_file *f);
bool op_file_read_fields(struct op_file *f, const struct node *n, struct error *err);
bool op_file_read_lets(struct op_file *f, const struct node *n, struct error *err);
bool op_file_read_needs(struct op_file *f, const struct node *n, struct error *err);
/* Checks that a name is valid and not taken; `what`: the kind of thing, for messages. */
bool op_file_new_name(const struct op_file *f, const struct node *n, const char *what, struct error *err);
/* A list of expressions, or one. */
bool op_file_exprs(struct op_file *f, const struct node *n, struct expr ***out, int *count, struct error *err);
/* Reads an expression; NULL if the map lacks the key. False: err. */
bool op_file_optional(struct op_file *f, const struct node *map, const char *key, struct expr **out, struct error *err);
