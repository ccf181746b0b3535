/* report/source/disassemble: machine code that a row stores as bytes becomes text, by nvdisasm where there is one. */
#ifndef BENCH_REPORT_DISASSEMBLE_H
#define BENCH_REPORT_DISASSEMBLE_H

#include "store/row.h"

/* The SASS among the rows' instructions, all with one call for each architecture. nvdisasm is $BENCH_NVDISASM, else that of ci/setup, of
 * PATH or of /usr/local/cuda. What it does not know, and everything where there is none, gets the name of its operation where that is
 * known, and keeps its bytes behind it: "LDG 0x...". Again it changes nothing. */
void disassemble(struct row *const *rows, int count);
bool disassembled(const struct row_code *code);

#endif
