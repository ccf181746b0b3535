/* base/kernel_name: how long the name of a kernel may be. Templates of one family share hundreds of their first characters, so no name is
 * cut anywhere. */
#pragma once

#define KERNEL_NAME 1024 /* with the zero at its end */
/* A define whose name begins so has a name expression of C++ as its value, such as ns::scale<T, 32>: the compiler makes that instance. */
#define KERNEL_INSTANCE "BENCH_INSTANTIATE"
