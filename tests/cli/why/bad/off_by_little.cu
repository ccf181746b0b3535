/* bench 1
like: right
what: a thousandth too large
*/
#define TIMES 1.001f
#include "right.cu"
