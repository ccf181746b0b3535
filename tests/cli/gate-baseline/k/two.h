#define TWO_K 32
