/* base/version: which bench this is. */
#pragma once

/* The commit it was built from: "1a2b3c4d5e", with "+dirty" when the tree had changes, "unknown" outside a checkout. */
const char *bench_version(void);
/* The version of a release (`make dist`); it rises with changes that users must know. Schemas of exports have their own (docs/EXPORT.md).
 */
#define BENCH_NUMBER "0.9.0"
/* The cuDNN that ci/wheels-gpu.txt pins (test_base compares the two): an older one is a slower baseline. */
#define BENCH_CUDNN_PINNED "9.28.1"
