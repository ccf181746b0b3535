#define ONE_C 16
