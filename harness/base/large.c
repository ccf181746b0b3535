#include "base/large.h"
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE ((size_t)2 << 20)
#define LEAST (2 * PAGE) /* of a smaller range too little is whole pages */

void large_advise(void *at, size_t bytes)
{
    uintptr_t from = ((uintptr_t)at + PAGE - 1) / PAGE * PAGE, to = ((uintptr_t)at + bytes) / PAGE * PAGE;
    if (bytes >= LEAST && to > from)
        madvise((void *)from, to - from, MADV_HUGEPAGE); /* refused, it costs time alone */
}

void *large_alloc(size_t bytes)
{
    if (bytes < LEAST || bytes > SIZE_MAX - PAGE)
        return malloc(bytes);
    void *p = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (p)
        large_advise(p, bytes);
    return p;
}
