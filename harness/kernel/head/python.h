/* kernel/head/python: kernels of a Python file. A sidecar with `source: FILE.py` and a step `python: NAME` has no launch of its own: for
 * each work and configuration Python (kernels/python/bench.py) compiles the kernel and writes another sidecar beside it, with PTX or a
 * cubin. */
#ifndef BENCH_KERNEL_PYTHON_H
#define BENCH_KERNEL_PYTHON_H

#include "kernel/head/head.h"

/* The variant that Python makes of `v` for a request (JSON, one line). It is made once for each request and lives as long as `v`.
 * True with *made NULL: this request is not possible, and *reason (the caller's) says why. */
bool head_python_make(const struct variant *v, const char *request, const struct variant **made, char **reason, struct error *err);
/* `v` asks the same process as `with`. False: they are not of one Python file. */
bool head_python_share(struct variant *v, const struct variant *with);
void head_python_free(struct head_python *p); /* NULL is allowed */
/* The interpreter: BENCH_PYTHON, else python3 as the shell finds it. */
const char *head_python_interpreter(void);

#endif
