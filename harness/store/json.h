/* store/json: structs of the column table as JSON objects and back, for the exports, the socket and what a search remembers. */
#ifndef BENCH_ROW_JSON_H
#define BENCH_ROW_JSON_H

#include "base/text.h"
#include "store/row.h"
#include <jansson.h>

/* Text of any bytes: those that are no UTF-8 become U+FFFD. */
json_t *json_text(const char *s);
/* null where it is not finite: an infinite number has no JSON and is as little known as NaN. */
json_t *json_finite(double v);
/* The document, indented, every double with the 17 digits that it comes back from; takes it. */
void json_write(struct text *t, json_t *root);
/* A field's value; NULL where it is absent or not finite. */
json_t *json_column(const struct column *column, const void *base);
/* Every field of a group under its column's name: null where absent, or (`sparse`) left out where absent. */
void json_columns_add(json_t *object, enum column_group group, const void *base, bool sparse);
/* Sets a field from JSON, absent where it is NULL or null. False when it is of another kind than the column, which leaves the field. */
bool json_column_take(const struct column *column, void *base, const json_t *value);
/* Each of a row's lists. */
json_t *json_list(const struct row_list *list, const struct row *row, bool sparse);

#endif
