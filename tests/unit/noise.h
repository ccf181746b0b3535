/* Random numbers of a seed, the same on every machine. */
#ifndef TEST_NOISE_H
#define TEST_NOISE_H

#include <math.h>
#include <stdint.h>

static uint64_t noise_state;

static inline double noise_uniform(void) /* splitmix64 */
{
    uint64_t z = noise_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static inline double noise_normal(void)
{
    double r = sqrt(-2 * log(1 - noise_uniform()));
    return r * cos(2 * M_PI * noise_uniform());
}

#endif
