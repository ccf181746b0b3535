/* emu/run/isa: what the handlers of isa_*.c need, before each chooses its instruction set. */
#pragma once

#include "base/dtype.h"
#include "emu/async.h"
#include "emu/check/races.h"
#include "emu/check/report.h"
#include "emu/check/shadow.h"
#include "emu/handlers.h"
#include "emu/run/path.h"
#include "emu/run/tensor_sum.h"
#include "emu/tensor.h"
#include "emu/tensor_memory.h"
#include <fenv.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
