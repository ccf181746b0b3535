/* base/hash: SHA-256 (libmd) as text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_TEXT 65 /* 64 hex digits and NUL */

/* Lower-case hex SHA-256 of a byte string. */
void hash_bytes(const void *data, size_t bytes, char out[HASH_TEXT]);
/* Feeds pieces: hash_begin, hash_add (each piece is length-prefixed, so that ("ab","c") differs from ("a","bc")), hash_end. */
struct hash;
struct hash *hash_begin(void);
void hash_add(struct hash *h, const void *data, size_t bytes);
void hash_add_text(struct hash *h, const char *s);
void hash_end(struct hash *h, char out[HASH_TEXT]); /* frees h */
/* A fast sum of 64 bits that continues from `sum`, without protection against forgery: FNV-1a over 8-byte words instead of bytes, the
 * remainder at the end byte by byte. */
uint64_t hash_sum(uint64_t sum, const void *data, size_t count);
