/* device/chip/throttle: why a GPU's clock is held down, as NVML says it in bits (nvmlClocksEventReasons). */
#pragma once

#include "base/text.h"
#include <stdint.h>

/* Adds "power cap, thermal" for the bits that mean a slowed clock; nothing when there are none, or when it is not known (negative). */
void throttle_text(int64_t throttle, struct text *t);
