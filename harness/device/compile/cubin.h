/* device/compile/cubin: the facts that a cubin holds about each kernel: registers, spills, stack, shared memory, code. Needs no GPU. */
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "base/kernel_name.h"
#include <stddef.h>
#include <stdint.h>

/* -1 = not known (absent, never 0). */
struct kernel_facts {
    char name[KERNEL_NAME];
    int registers;                           /* per thread */
    int spill_store_bytes, spill_load_bytes; /* from the log */
    int spill_instructions;                  /* from the ELF annotations */
    int stack_bytes;                         /* frame per thread */
    int static_smem;                         /* bytes the source declares (the 1,024 reserved from sm_90 on are taken off) */
    int constant_bytes;                      /* user __constant__ data (bank 3) ; parameters excluded */
    int param_bytes;
    int max_threads; /* __launch_bounds__, or -1 */
    int barriers;
    int code_bytes;
    char sass_hash[HASH_TEXT]; /* of .text.<kernel> */
    /* opcode classes in the code, static counts; -1 each when the chip's encoding is not known */
    int sass_total, sass_ffma, sass_hfma2, sass_mma, sass_ldg, sass_stg, sass_lds, sass_sts, sass_ldl, sass_stl, sass_ldsm, sass_ldgsts,
        sass_bar, sass_gmma;
};
/* Reads a cubin's ELF; the buffer may be hostile. Returns how many kernels (facts malloc'd), -1 + err. */
int cubin_read(const void *cubin, size_t bytes, struct kernel_facts **facts, struct error *err);
/* As ptx_factors, of machine code without PTX. 0 too where the chip's encoding is not known; products of tcgen05, whose type is in a
 * descriptor, are not seen. */
unsigned cubin_factors(const void *cubin, size_t bytes, const char *kernel);
/* As ptx_state, of machine code without PTX: the variables of .nv.global* that a relocation names. -1 + err: not to be read. */
int cubin_state(const void *cubin, size_t bytes, char ***names, bool *heap, struct error *err);
/* Makes the module's variables global, so that a driver finds them by name: in an unlinked source they are local. The code does not change.
 * A cubin that cannot be read stays as it is. */
void cubin_expose(void *cubin, size_t bytes);
/* A hash of everything in a cubin that a device loads: no debug section, and no names except those of kernels' sections. A comment, a
 * renamed variable or another order of includes does not change it. */
bool cubin_image_hash(const void *cubin, size_t bytes, char out[HASH_TEXT], struct error *err);
/* Adds spill bytes from the -v log (matched by phrase, not column) and cross-checks registers, stack and shared memory with the ELF:
 * a difference is an internal error naming both values. */
bool cubin_add_log(const char *log, struct kernel_facts *facts, int count, struct error *err);
/* Spill loads and stores in the machine code by source line of `file` (its base name counts; inlined code counts where it is called from;
 * line 0: from elsewhere), most first. Static: an instruction in a loop counts once. Returns 0 if there are none or the cubin has no line
 * table (-lineinfo).
 * Caller frees. */
struct spill_line {
    int line, loads, stores;
};
int cubin_spill_lines(const void *cubin, size_t bytes, const char *kernel, const char *file, struct spill_line **out);

/* The source lines of a kernel's machine code, by the same rule. NULL when there is no line table. `cubin` stays the caller's and must
 * outlive it. */
struct cubin_lines;
struct cubin_lines *cubin_lines_open(const void *cubin, size_t bytes, const char *kernel, const char *file);
/* The line of the instruction at that offset into the kernel; 0 = code from elsewhere, or `lines` is NULL. */
int cubin_lines_at(const struct cubin_lines *lines, uint64_t offset);
/* The 16 bytes of the instruction there; where it stands ("tile.cuh:31"), when that is another file, else "". False: none begins there. */
bool cubin_lines_instruction(const struct cubin_lines *lines, uint64_t offset, uint64_t words[2], char *inlined, size_t room);
void cubin_lines_close(struct cubin_lines *lines);
