/* device/compile/elf: a cubin as an ELF file. The bytes may be hostile: every offset is checked. */
#pragma once

#include "base/error.h"
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Attributes of .nv.info, by the names in ptxas's own string table. */
enum elf_attribute {
    ATTRIBUTE_MAX_THREADS = 0x05,
    ATTRIBUTE_REQNTID = 0x10,
    ATTRIBUTE_FRAME_SIZE = 0x11,
    ATTRIBUTE_PARAM_SIZE = 0x19,
    ATTRIBUTE_REGCOUNT = 0x2f,
    ATTRIBUTE_NUM_BARRIERS = 0x4c,
    ATTRIBUTE_ANNOTATIONS = 0x55
};
#define FORMAT_BYTES 4     /* the size field counts bytes that follow; in formats 1 to 3 it is the value */
#define ANNOTATION_SPILL 1 /* pairs (1, offset in .text): an instruction that spills or fills a register */

struct elf {
    const unsigned char *data;
    size_t bytes;
    Elf64_Ehdr head;
    uint32_t section_count;
    const char *names;
    size_t names_bytes;
    int cc;
    bool new_abi;   /* ABI 8, CUDA 13: no barrier attribute means no barriers */
    uint64_t spent; /* bytes read: sections of a hostile file may all point at the same bytes */
};
/* False + err: not a cubin. Borrows the bytes. */
bool elf_open(struct elf *e, const void *cubin, size_t bytes, struct error *err);
/* Sets "cubin: WHAT"; false. */
bool elf_broken(struct error *err, const char *what);
bool elf_inside(const struct elf *e, uint64_t offset, uint64_t bytes);
/* Counts bytes that are about to be read; false when that is far more than the file holds. */
bool elf_afford(struct elf *e, uint64_t bytes, struct error *err);
Elf64_Shdr elf_section(const struct elf *e, uint32_t i);
const char *elf_section_name(const struct elf *e, const Elf64_Shdr *s);
/* The first section of exactly this name, stored in the file and inside it. */
bool elf_find_section(const struct elf *e, const char *name, Elf64_Shdr *out);
/* A NUL-terminated name inside a string table; "" for anything else. */
const char *elf_string_at(const char *table, size_t bytes, uint32_t offset);

static inline uint32_t word_at(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
