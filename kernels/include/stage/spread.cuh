/* stage 1
what: three equal channels of one (merge)
kind: point
channels: 3
flop: 0
*/
#pragma once
#include "stage/pixel.cuh"

template <class R, int C> __device__ __forceinline__ pixel<R, 3> spread(pixel<R, C> p)
{
    return {{p.v[0], p.v[0], p.v[0]}};
}
