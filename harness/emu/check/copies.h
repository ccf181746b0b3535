/* emu/check/copies: cp.async copies that no lane has waited for. */
#pragma once

#include "emu/handlers.h"

struct async_copy { /* bytes of shared memory that it fills */
    uint32_t offset, bytes, group;
};
struct copy_source { /* bytes of global memory that it reads */
    uint64_t address;
    uint32_t bytes, group;
};
