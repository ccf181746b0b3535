/* cli/fields: what `--json` says of verbs whose answer is neither rows nor a table: an object with a schema of its own. Each writes its
 * fields beside what it prints; where --json was not given all of it costs nothing and goes nowhere. */
#ifndef BENCH_CLI_FIELDS_H
#define BENCH_CLI_FIELDS_H

#include "base/node.h"
#include "store/json.h"
#include "kernel/variant.h"

/* The object that --json prints in place of a document: "bench.NAME", whose schema is docs/schema/NAME.json. Made by the first call and the
 * same in every further one. NULL without --json: jansson's functions take that, and free what they were to put there. */
json_t *fields(const char *name);
/* A text; null where it is not there. */
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
/* The YAML of a head, of a sidecar or of an op's file, as it stands in `text`. */
json_t *fields_of_file(const char *path, const char *text);
void fields_op(const struct op *op);
void fields_variant(const struct variant *v);

#endif
