#include "op/random.h"

/* The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014; constants by Stafford): a bijection in which every input bit flips
 * each output bit about half of the time. */
uint64_t random_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
    return random_mix(random_mix(random_mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ stream * UINT64_C(0xd1342543de82ef95)) +
                      index * UINT64_C(0x9e3779b97f4a7c15));
}

double random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)(random_bits(seed, stream, index) >> 11) * 0x1p-53;
}
