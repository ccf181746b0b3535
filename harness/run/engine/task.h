/* run/engine/task: one shard of a job, on the machine that runs it. */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include <signal.h>
#include <stdbool.h>

/* Runs `bench run --shard` with a database on the node's own disk, and hands a copy of it over to JOB/parts from time to time and at the
 * end. If an earlier task of this shard left a part, continues it. If *stop is set (SIGTERM before a time limit) or the process that
 * started this one is gone, the run is stopped and what it has is handed over. `output`: the part is appended to *text at the end instead,
 * for a job whose folder nobody else sees. *code: 0 if the shard is done, whatever the status of its rows; else the exit code of the run.
 */
bool task_run(const char *folder, int shard, volatile sig_atomic_t *stop, struct text *text, int *code, struct error *err);
