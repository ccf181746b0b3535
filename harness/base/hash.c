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
