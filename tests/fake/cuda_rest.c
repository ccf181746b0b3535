/* The functions that tests/fake/cuda.c lacks; their names are those that cuda.h gives them. */
#include "device/cuda/private.h"

#define NAME(name) #name
#define REST(name) \
    int rest_##name(void) __asm__(NAME(name)) __attribute__((weak)); \
    int rest_##name(void) \
    { \
        return CUDA_ERROR_NOT_SUPPORTED; \
    }
CUDA_FUNCTIONS(REST)
