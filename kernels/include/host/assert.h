#pragma once
#include <cuda/std/cassert>
