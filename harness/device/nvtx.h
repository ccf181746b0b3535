/* device/nvtx: ranges on the time line of Nsight Systems and Nsight Compute. Without a tool attached a call costs nanoseconds, and without
 * NVTX's headers it does nothing. */
#pragma once

void nvtx_open(const char *name);
void nvtx_close(void);
