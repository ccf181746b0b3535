#include "base/hash.h"
#include "base/text.h"
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

struct hash {
    SHA2_CTX context;
};

struct hash *hash_begin(void)
{
    struct hash *h = xmalloc(sizeof *h);
    SHA256Init(&h->context);
    return h;
}

void hash_add(struct hash *h, const void *data, size_t bytes)
{
    uint64_t length = bytes;
    uint8_t prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (uint8_t)(length >> (8 * i));
    SHA256Update(&h->context, prefix, sizeof prefix);
    SHA256Update(&h->context, data, bytes);
}

void hash_add_text(struct hash *h, const char *s)
{
    hash_add(h, s ? s : "", s ? strlen(s) : 0);
}

void hash_end(struct hash *h, char out[HASH_TEXT])
{
    SHA256End(&h->context, out);
    free(h);
}

void hash_bytes(const void *data, size_t bytes, char out[HASH_TEXT])
{
    SHA2_CTX c;
    SHA256Init(&c);
    SHA256Update(&c, data, bytes);
    SHA256End(&c, out);
}

uint64_t hash_sum(uint64_t sum, const void *data, size_t count)
{
    const unsigned char *bytes = data;
    uint64_t word;
    size_t at = 0;
    for (; at + sizeof word <= count; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x100000001b3);
        sum ^= sum >> 29; /* otherwise high bits of a word would never reach low bits of the sum */
    }
    for (; at < count; at++)
        sum = (sum ^ bytes[at]) * UINT64_C(0x100000001b3);
    return sum;
}
