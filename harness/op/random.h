/* op/random: random numbers that are the same on every machine: integer hashes of (seed, stream, index). */
#pragma once

#include <stdint.h>

/* A bijection: flipping any bit of z flips each bit of the result about half of the time. */
uint64_t random_mix(uint64_t z);
/* 64 random bits of (seed, stream, index). */
uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index);
/* The same as a real in [0, 1). */
double random_uniform(uint64_t seed, uint64_t stream, uint64_t index);
