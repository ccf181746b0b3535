/* cli/fields: --json output of verbs whose result is neither rows nor a table: an object with a schema of its own. Each verb fills its
 * fields next to the text it prints; without --json these calls do nothing. */
#pragma once

#include "base/node.h"
#include "store/json.h"
#include "kernel/variant.h"

/* The object that --json prints instead of a document: "bench.NAME", with the schema docs/schema/NAME.json. The first call makes it,
 * later calls return it. NULL without --json: jansson's functions accept NULL and free their arguments. */
json_t *fields(const char *name);
/* Sets a text; null for NULL. */
void fields_text(json_t *object, const char *key, const char *text);
/* A number that may be unknown: null where it is NaN. */
void fields_number(json_t *object, const char *key, double value);
/* A count; null where it is below 0, not known. */
struct named_count {
    const char *name;
    long long value;
};
void fields_count(json_t *object, const char *key, long long value);
void fields_counts(json_t *object, const struct named_count *counts, size_t count);
/* An object of its own under the key. NULL for NULL. */
json_t *fields_object(json_t *object, const char *key);
/* A list of its own under the key; the caller appends. NULL for NULL. */
json_t *fields_list(json_t *object, const char *key);
/* An object at the end of a list. NULL for NULL. */
json_t *fields_item(json_t *list);
/* The YAML of a head, a sidecar or an op file in `text`. */
json_t *fields_of_file(const char *path, const char *text);
void fields_op(const struct op *op);
void fields_variant(const struct variant *v);
