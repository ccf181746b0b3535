#include "base/hash.h"
#include "base/sha256.h"
#include "base/text.h"
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

struct hash {
    SHA2_CTX context;
};

/* Whole blocks by the processor's instructions, the beginning and the end of them by libmd. */
static void update(SHA2_CTX *c, const uint8_t *data, size_t bytes)
{
    static int instructions = -1; /* two threads find the same */
    size_t head = (SHA256_BLOCK_LENGTH - c->bitcount[0] / 8 % SHA256_BLOCK_LENGTH) % SHA256_BLOCK_LENGTH;
    if (instructions < 0)
        instructions = sha256_has_instructions();
    if (instructions && bytes >= head + SHA256_BLOCK_LENGTH) {
        size_t blocks = (bytes - head) / SHA256_BLOCK_LENGTH, whole = blocks * SHA256_BLOCK_LENGTH;
        SHA256Update(c, data, head);
        sha256_blocks(c->state.st32, data + head, blocks);
        c->bitcount[0] += (uint64_t)whole * 8;
        data += head + whole;
        bytes -= head + whole;
    }
    SHA256Update(c, data, bytes);
}

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
    update(&h->context, prefix, sizeof prefix);
    update(&h->context, data, bytes);
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
    update(&c, data, bytes);
    SHA256End(&c, out);
}
