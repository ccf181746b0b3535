// Fits the drawn values only: it takes the last value of a row for its maximum.
// emu: wrong
// cuda: wrong
/* bench 1
what: takes the last of a row for its largest
like: constant_shift
*/
#define LARGEST(row, cols) row[cols - 1]
#include "constant_shift.cu"
