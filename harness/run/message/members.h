/* run/message/members: structs as JSON objects and back. One table, a line for each member, serves both directions. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a member is: TEXTS: an array that ends with NULL. RECORDS: structs of texts; the last one's first text is NULL. ROWS: an array
 * with its length. */
#define MEMBER_TYPE_TEXT const char *
#define MEMBER_TYPE_FLAG bool
#define MEMBER_TYPE_INT int
#define MEMBER_TYPE_REAL double
#define MEMBER_TYPE_ROWS struct member_rows
#define MEMBER_TYPE_JSON json_t *
enum member_kind {
    MEMBER_TEXT,
    MEMBER_TEXTS,
    MEMBER_FLAG,
    MEMBER_INT,
    MEMBER_REAL,
    MEMBER_RECORDS,
    MEMBER_WISHES,
    MEMBER_ROWS,
    MEMBER_JSON
};
struct member {
    const char *name;
    enum member_kind kind;
    size_t offset;
    int texts; /* of a record */
};
struct member_rows {
    int *at; /* NULL: absent */
    int count;
};
/* As JSON; NULL: absent. New reference. */
json_t *member_rows_write(const struct member_rows *rows);
struct member_rows member_rows_read(const json_t *all);
void member_rows_free(struct member_rows *rows);

/* The members whose bit is set in `which`, without those that are absent. Takes the references of JSON members. *whole (NULL: not wanted):
 * false if a text is not UTF-8, and so left out. New reference. */
json_t *members_write(const struct member *table, int count, uint64_t which, const void *from, bool *whole);
/* Members that the object lacks are NULL, false or 0. Texts and JSON members belong to the object; members_free frees the arrays. */
void members_read(const struct member *table, int count, const json_t *object, void *to);
void members_free(const struct member *table, int count, void *from);
