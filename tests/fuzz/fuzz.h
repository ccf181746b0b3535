/* What a fuzz target provides: one function. driver.c holds main(). See tests/README.md. */
#ifndef BENCH_TESTS_FUZZ_H
#define BENCH_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_MAX_BYTES (256u << 10)

/* Gives the bytes to the parser under test. Whatever they are, it returns; every refusal must carry a text (abort() when it does not). */
void fuzz_one(const uint8_t *data, size_t bytes);

#endif
