/* emu/check/copies: cp.async copies that nobody has waited for. */
#ifndef BENCH_EMU_CHECK_COPIES_H
#define BENCH_EMU_CHECK_COPIES_H

#include "emu/handlers.h"

struct async_copy { /* bytes of shared memory that it fills */
    uint32_t offset, bytes, group;
};
struct copy_source { /* bytes of global memory that it reads */
    uint64_t address;
    uint32_t bytes, group;
};

#endif
