/* base/version: which bench this is. */
#ifndef BENCH_BASE_VERSION_H
#define BENCH_BASE_VERSION_H

/* The commit it was built from: "1a2b3c4d5e", with "+dirty" when the tree had changes, "unknown" outside a checkout. */
const char *bench_version(void);
/* The number of what is handed out (`make dist`); it goes up with what a user must know of: docs/EXPORT.md's schemas have their own. */
#define BENCH_NUMBER "0.9.0"
/* The cuDNN that ci/wheels-gpu.txt pins (test_base holds the two together): an older one makes a weaker denominator. */
#define BENCH_CUDNN_PINNED "9.28.1"

#endif
