/* base/sha256: blocks of SHA-256 by the processor's own instructions. */
#ifndef BENCH_BASE_SHA256_H
#define BENCH_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sha256_has_instructions(void);
/* Whole blocks of 64 bytes into the eight words; only where there are such instructions. */
void sha256_blocks(uint32_t state[8], const void *data, size_t blocks);

#endif
