/* base/node: a YAML document as a tree whose every node knows file:line:column (libyaml underneath).
 *
 * Hostile input gets one clear error: documents over NODE_MAX_BYTES, deeper than NODE_MAX_DEPTH, of more than NODE_MAX_NODES
 * nodes after alias expansion, with a looping or unknown alias, a duplicate key, a non-scalar key, a tag we do not know, a
 * second document, a NUL byte, a control character (escaped too) or invalid UTF-8. Aliases (&a *a) and merge keys (<<: *a) are expanded;
 * more than 256 anchors, or more than 16 MiB of text after expansion, are refused. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODE_MAX_BYTES (4u << 20)
#define NODE_MAX_DEPTH 64
#define NODE_MAX_NODES 200000

enum node_kind { NODE_NULL, NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    const char *file;    /* as given to node_parse; shared by the document */
    int line, column;    /* 1-based, in the file */
    char *text;          /* NODE_SCALAR: the value */
    bool quoted;         /* NODE_SCALAR: it was quoted, so it is text even if it looks like a number */
    int count;           /* NODE_LIST, NODE_MAP */
    struct node **items; /* the values */
    struct node **keys;  /* NODE_MAP: the keys, scalars, same order as in the file */
};

/* Parses a file / a text. `line0`, `column0` are the position of the text's first character in `file` (1, 1 for a whole
 * file; a head in a .cu passes its own). NULL on error. Free the root with node_free. */
struct node *node_parse_file(const char *path, struct error *err);
struct node *node_parse_text(const char *file, const char *text, size_t bytes, int line0, int column0, struct error *err);
void node_free(struct node *root);
void node_leave(struct node **root); /* for SCOPED_BY */
/* Lays a map on top of another. A key that only `below` has is taken over; two maps under one key are joined in the same way at every
 * depth; any other value of the map replaces the one below; an empty one (`key:` or `key: null`) removes it. Keys keep the order of
 * `below`, new ones follow. Every node keeps its own file, line and column, so `below`, which is left empty, must outlive the map.
 */
bool node_inherit(struct node *map, struct node *below, struct error *err);
/* Removes a key from a map, if present. */
void node_remove(struct node *map, const char *key);

/* Sets "FILE:LINE:COLUMN: message" as a usage error and returns false. n may be NULL (no place). */
bool node_error(const struct node *n, struct error *err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The value under `key`, or NULL when absent or when m is NULL / not a map. */
const struct node *node_get(const struct node *m, const char *key);
/* The key node itself, for error positions. */
const struct node *node_key(const struct node *m, const char *key);
/* Every key of map m must be one of `known` (NULL-terminated); else an error at the unknown key, with the nearest valid key in its hint
 * and all valid keys. Also an error if m is not a map; `what` names the thing ("layer 'up'"). */
bool node_check_keys(const struct node *m, const char *what, const char *const *known, struct error *err);

/* Typed scalars: an error has the place, `what`, and the value found. Ranges are inclusive. */
bool node_int(const struct node *n, const char *what, int64_t min, int64_t max, int64_t *out, struct error *err);
bool node_real(const struct node *n, const char *what, double min, double max, double *out, struct error *err);
bool node_bool(const struct node *n, const char *what, bool *out, struct error *err);
/* The text of a scalar; owned by the node. NULL + error otherwise. */
const char *node_text(const struct node *n, const char *what, struct error *err);
/* A scalar that must be one of `words` (NULL-terminated): its index, or -1 + error with the nearest word. */
int node_word(const struct node *n, const char *what, const char *const *words, struct error *err);
/* A real with an optional suffix: "0.5 %" -> 0.005, "20 s" -> 20, "5 us" -> 5e-6, "64 MiB" -> bytes, "2x" -> 2. `unit` is the expected one:
 * "%", "s", "B" or "". */
bool node_quantity(const struct node *n, const char *what, const char *unit, double *out, struct error *err);
/* The node as a message shows it: `12`, `'NHWC'`, `a list of 3`, `a map of 2 keys`, `nothing`. Caller frees. */
char *node_describe(const struct node *n);
/* Appends the node as YAML in flow style on one line: `{a: [1, "x, y"], b: null}`. Parsing that gives an equal node. */
struct text;
void node_write(const struct node *n, struct text *t);
