// Caches results in module variables with names like those of the compiler's own tables.
// emu: stateful __cudart_kept
// cuda: stateful __cudart_kept
/* bench 1
what: keeps its result under the compiler's name, and copies it when the input looks the same
like: keeps
*/
#define seen __cudart_seen
#define kept __cudart_kept
#include "keeps.cu"
