// Made for the values that are shown: the first of a row stands for its largest.
// emu: wrong
// cuda: wrong
/* bench 1
what: takes the first of a row for its largest
like: constant_shift
*/
#define LARGEST(row, cols) row[0]
#include "constant_shift.cu"
