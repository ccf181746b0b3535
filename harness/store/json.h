/* store/json: structs of the column table as JSON objects and back, for exports and tuned configurations. */
#pragma once

#include "base/text.h"
#include "store/row.h"
#include <jansson.h>

/* A text of any bytes: invalid UTF-8 becomes U+FFFD. Caller frees the copy. */
json_t *json_text(const char *s);
char *json_clean(const char *s);
/* null where it is not finite: an infinite number has no JSON and is as little known as NaN. */
json_t *json_finite(double v);
/* The document, indented, doubles with 17 digits; frees it. */
void json_write(struct text *t, json_t *root);
/* Every field of a group under its column's name. Absent fields are null. */
void json_columns_add(json_t *object, enum column_group group, const void *base);
/* Sets a field from JSON; NULL or null means absent. False if the type is not the column's: the field stays as it is. */
bool json_column_take(const struct column *column, void *base, const json_t *value);
/* Each of a row's lists. */
json_t *json_list(const struct row_list *list, const struct row *row);
