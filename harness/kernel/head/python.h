/* kernel/head/python: kernels of a Python file. A sidecar with `source: FILE.py` and a step `python: NAME` has no launch of its own: for
 * each work and configuration Python (kernels/python/bench.py) compiles the kernel and writes another sidecar beside it, with PTX or a
 * cubin. */
#pragma once

#include "kernel/head/head.h"

/* The variant that Python makes of `v` for a request (JSON, one line). It is made once for each request and lives as long as `v`.
 * True with *made NULL: this request is not possible, and *reason (the caller's) says why. */
bool head_python_make(const struct variant *v, const char *request, const struct variant **made, char **reason, struct error *err);
/* If `v` is of a Python file, it asks the same process as one of the others that is of the same file. */
void head_python_share(struct variant *v, struct variant *const *others, int count);
void head_python_free(struct head_python *p); /* NULL is allowed */
