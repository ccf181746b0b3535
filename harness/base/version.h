/* base/version: which bench this is. */
#ifndef BENCH_BASE_VERSION_H
#define BENCH_BASE_VERSION_H

/* The commit it was built from: "1a2b3c4d5e", with "+dirty" when the tree had changes, "unknown" outside a checkout. */
const char *bench_version(void);

#endif
