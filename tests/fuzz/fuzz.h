/* What a fuzz target provides: one function. driver.c holds main(). See tests/README.md. */
#ifndef BENCH_TESTS_FUZZ_H
#define BENCH_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_MAX_BYTES (256u << 10)

/* Gives the bytes to the parser under test. Whatever they are, it returns; every refusal must carry a text (abort() when it does not). */
void fuzz_one(const uint8_t *data, size_t bytes);
/* Optional: damages the input in a way that its format allows (replaces a token), so that more than the parser runs. Returns the new
 * length, at most `room`. */
size_t fuzz_mutate(uint8_t *data, size_t bytes, size_t room, uint64_t *rng) __attribute__((weak));
/* Optional: reads a seed file that is not an input itself. Returns its length, at most `room`; 0: the file is an input as it is. `times`
 * says how often the file was listed before. */
size_t fuzz_read_seed(const char *path, int times, uint8_t *data, size_t room) __attribute__((weak));
/* xorshift64: the next number of a repeatable series. */
static inline uint64_t fuzz_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

#endif
