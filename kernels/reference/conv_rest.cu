/* The kernels of conv.cu that read activations in double, and formulas. */
#define REST
#include "conv.cu"
