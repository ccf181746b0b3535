/* report/source/disassemble: disassembles the machine code stored with rows, by nvdisasm if it is installed. */
#pragma once

#include "store/row.h"

/* Disassembles the rows' SASS with one call per architecture. nvdisasm is $BENCH_NVDISASM, else that of ci/setup, PATH or
 * /usr/local/cuda. An instruction that it does not know, or every one without it, gets the name of its operation if known, followed by
 * its bytes: "LDG 0x...". Calling it again changes nothing. */
void disassemble(struct row *const *rows, int count);
bool disassembled(const struct row_code *code);
