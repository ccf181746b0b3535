/* element/ablate: leaves a part of a kernel out to measure its cost (`ablate:` in a head, bench run --ablate). The compiler removes unused results, so the other parts
 * must still seem used.
 *
 *  - ABLATE_STORE: results are added up instead of stored. The sum is compared with a value that it never has, and would be stored if equal. One add for each result and
 *    one compare a thread remain.
 *  - ABLATE_BIAS: element/epilogue.cuh reads no bias.
 *  - ABLATE_MATHS: every loaded operand is mixed into a word once (half an instruction: LOP3 takes two), while the whole kernel multiplies each with many; the word is
 *    added to a sum. */
#pragma once
#include "element/element.cuh"

#ifdef ABLATE_STORE
#define STORE(to, value) ablated_sum += to_f32(value)
#define ABLATED_BEGIN float ablated_sum = 0.0f;
#define ABLATED_END(to)                                                                                                                                \
    if (ablated_sum == 1.2345e30f)                                                                                                                     \
        *(to) = from_f32<OUTPUT_T>(ablated_sum);
#else
#define STORE(to, value) (to) = (value)
#define ABLATED_BEGIN
#define ABLATED_END(to)
#endif

#ifdef ABLATE_MATHS
#define ABLATED_WORD unsigned ablated_word = 0;
#define ABLATED_MIX(x) ablated_word ^= __float_as_uint(x)
#define ABLATED_WORD_TO(sum) (sum) += __uint_as_float(ablated_word)
#else
#define ABLATED_WORD
#define ABLATED_WORD_TO(sum)
#endif
