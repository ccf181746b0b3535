#include "device/compile/elf.h"

#define MACHINE_CUDA 190
#define NAME_MAX_BYTES 4096

bool elf_broken(struct error *err, const char *what)
{
    return error_set(err, ERROR_INTERNAL, "cubin: %s", what);
}

bool elf_inside(const struct elf *e, uint64_t offset, uint64_t bytes)
{
    return offset <= e->bytes && bytes <= e->bytes - offset;
}

bool elf_afford(struct elf *e, uint64_t bytes, struct error *err)
{
    e->spent += bytes;
    return e->spent <= 4 * (uint64_t)e->bytes || elf_broken(err, "its sections overlap");
}

/* By value: the file need not be aligned. */
Elf64_Shdr elf_section(const struct elf *e, uint32_t i)
{
    Elf64_Shdr s;
    memcpy(&s, e->data + e->head.e_shoff + (uint64_t)i * sizeof s, sizeof s);
    return s;
}

const char *elf_string_at(const char *table, size_t bytes, uint32_t offset)
{
    if (offset >= bytes)
        return "";
    size_t room = bytes - offset;
    return memchr(table + offset, 0, room < NAME_MAX_BYTES ? room : NAME_MAX_BYTES) ? table + offset : "";
}

const char *elf_section_name(const struct elf *e, const Elf64_Shdr *s)
{
    return elf_string_at(e->names, e->names_bytes, s->sh_name);
}

bool elf_find_section(const struct elf *e, const char *name, Elf64_Shdr *out)
{
    for (uint32_t i = 0; i < e->section_count; i++) {
        *out = elf_section(e, i);
        if (!strcmp(elf_section_name(e, out), name))
            return out->sh_type != SHT_NOBITS && elf_inside(e, out->sh_offset, out->sh_size);
    }
    return false;
}

bool elf_open(struct elf *e, const void *cubin, size_t bytes, struct error *err)
{
    *e = (struct elf){.data = cubin, .bytes = bytes};
    if (bytes < sizeof e->head)
        return elf_broken(err, "shorter than an ELF header");
    memcpy(&e->head, cubin, sizeof e->head);
    if (memcmp(e->head.e_ident, ELFMAG, SELFMAG) || e->head.e_ident[EI_CLASS] != ELFCLASS64 || e->head.e_ident[EI_DATA] != ELFDATA2LSB)
        return elf_broken(err, "not a 64-bit little-endian ELF file");
    if (e->head.e_machine != MACHINE_CUDA)
        return elf_broken(err, "not for an NVIDIA GPU");
    if (e->head.e_shentsize != sizeof(Elf64_Shdr) || e->head.e_shnum == 0 || e->head.e_shstrndx >= e->head.e_shnum ||
        !elf_inside(e, e->head.e_shoff, (uint64_t)e->head.e_shnum * sizeof(Elf64_Shdr)))
        return elf_broken(err, "its section table lies outside the file");
    e->section_count = e->head.e_shnum;
    Elf64_Shdr names = elf_section(e, e->head.e_shstrndx);
    if (!elf_inside(e, names.sh_offset, names.sh_size))
        return elf_broken(err, "its section names lie outside the file");
    e->names = (const char *)e->data + names.sh_offset;
    e->names_bytes = names.sh_size;
    /* The architecture: byte 1 of the flags since ABI 8 (0x9005a04: 0x5a = 90), byte 0 before. */
    e->new_abi = e->head.e_ident[EI_ABIVERSION] >= 8;
    e->cc = (int)(e->head.e_flags >> (e->new_abi ? 8 : 0) & 0xff);
    return true;
}
