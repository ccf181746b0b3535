// Fits the drawn values only: it takes the first value of a row for its maximum.
// emu: wrong
// cuda: wrong
/* bench 1
what: takes the first of a row for its largest
like: constant_shift
*/
#define LARGEST(row, cols) row[0]
#include "constant_shift.cu"
