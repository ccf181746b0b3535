/* base/large: memory in large pages, if the system gives some on request: 512 times fewer page faults. */
#pragma once

#include <stddef.h>

/* Like malloc; free() frees it. NULL: there is not enough memory. */
void *large_alloc(size_t bytes);
/* Asks for large pages in a range of which all will be written. */
void large_advise(void *at, size_t bytes);
