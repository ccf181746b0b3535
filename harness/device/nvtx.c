#include "device/nvtx.h"
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

void nvtx_open(const char *name)
{
    nvtxRangePushA(name);
}

void nvtx_close(void)
{
    nvtxRangePop();
}
#else
void nvtx_open(const char *name)
{
    (void)name;
}

void nvtx_close(void) {}
#endif
