/* Reads a cubin's ELF. The format is NVIDIA's and not documented; the facts used here were established by comparing cubins of sm_80, sm_90
 * and sm_100 with ptxas -v and nvdisasm (docs of the constants stand beside them). Every offset and count is checked: the bytes may be
 * hostile. */
#include "device/compile/cubin.h"
#include "base/dtype.h"
#include "base/order.h"
#include "base/text.h"
#include "device/compile/elf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOL_ENTRY 0x10 /* in st_other: a kernel, as against a device function */
#define KERNELS_MAX 4096
/* From sm_90 on every block has 1,024 bytes more shared memory than it declared, and sections say so. */
#define SMEM_RESERVED 1024
struct kernel_place { /* where one kernel lives in the file */
    const char *name;
    uint32_t section, symbol;
    struct kernel_facts facts;
};
struct cubin {
    struct elf elf;
    struct kernel_place *kernels; /* sorted by name */
    int count;
};

ORDER(cubin_by_name, struct kernel_place, strcmp(x->name, y->name))

static struct kernel_place *find_kernel(const struct cubin *c, const char *name)
{
    struct kernel_place key = {.name = name};
    return c->count ? bsearch(&key, c->kernels, (size_t)c->count, sizeof key, cubin_by_name) : NULL;
}

static void nothing_known(struct kernel_facts *f, const char *name)
{
    memset(f, 0xff, sizeof *f); /* every int -1 */
    memset(f->name, 0, sizeof f->name);
    memset(f->sass_hash, 0, sizeof f->sass_hash);
    snprintf(f->name, sizeof f->name, "%s", name);
}

/* The kernels are the function symbols marked as entries. */
static bool find_kernels(struct cubin *c, struct error *err)
{
    const struct elf *e = &c->elf;
    for (uint32_t i = 0; i < e->section_count; i++) {
        Elf64_Shdr table = elf_section(e, i);
        if (table.sh_type != SHT_SYMTAB)
            continue;
        if (!elf_inside(e, table.sh_offset, table.sh_size) || table.sh_link >= e->section_count)
            return elf_broken(err, "its symbol table lies outside the file");
        Elf64_Shdr strings = elf_section(e, table.sh_link);
        if (!elf_inside(e, strings.sh_offset, strings.sh_size))
            return elf_broken(err, "its symbol names lie outside the file");
        uint64_t count = table.sh_size / sizeof(Elf64_Sym);
        for (uint64_t k = 0; k < count && k < UINT32_MAX; k++) {
            Elf64_Sym s;
            memcpy(&s, e->data + table.sh_offset + k * sizeof s, sizeof s);
            if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || !(s.st_other & SYMBOL_ENTRY) || s.st_shndx == SHN_UNDEF ||
                s.st_shndx >= e->section_count)
                continue;
            if (c->count == KERNELS_MAX)
                return elf_broken(err, "more than 4,096 kernels");
            struct kernel_place *p = APPEND(c->kernels, c->count);
            p->name = elf_string_at((const char *)e->data + strings.sh_offset, strings.sh_size, s.st_name);
            p->section = s.st_shndx;
            p->symbol = (uint32_t)k;
            nothing_known(&p->facts, p->name);
        }
        break; /* a file has one symbol table */
    }
    if (c->count)
        qsort(c->kernels, (size_t)c->count, sizeof *c->kernels, cubin_by_name);
    return true;
}

/* Static counts of opcode classes. An instruction is 16 bytes from sm_70 on; its low 9 bits are the operation, the 3 above them the operand
 * form. The numbers were read off nvdisasm for sm_80, sm_86, sm_90a, sm_100a and sm_120a and mean the same in all of them, but for 0x035:
 * HFMA2.MMA up to sm_90, IADD later. */
static void count_opcodes(const unsigned char *text, size_t bytes, int cc, struct kernel_facts *f)
{
    if (cc < 75 || cc > 121 || bytes % 16)
        return;
    int n[512] = {0};
    for (size_t i = 0; i < bytes; i += 16)
        n[word_at(text + i) & 0x1ff]++;
    f->sass_total = (int)(bytes / 16) - n[0x118]; /* without NOP, which only pads */
    f->sass_ffma = n[0x023] + n[0x049];           /* FFMA, and the two-wide FFMA2 of sm_100 */
    f->sass_hfma2 = n[0x031] + (cc < 100 ? n[0x035] : 0);
    f->sass_mma = n[0x037] + n[0x03c] + n[0x03d] + n[0x03f] + n[0x07a] + (cc >= 100 ? n[0x1ea] : 0); /* I, H, B, D, QMMA, UTCHMMA */
    f->sass_gmma = n[0x1f0] + n[0x1f1] + n[0x1f2] + n[0x1f3];                                        /* H, I, B, QGMMA */
    f->sass_ldg = n[0x181];
    f->sass_stg = n[0x186];
    f->sass_lds = n[0x184];
    f->sass_sts = n[0x188];
    f->sass_ldl = n[0x183];
    f->sass_stl = n[0x187];
    f->sass_ldsm = n[0x03b];
    f->sass_ldgsts = n[0x1ae];
    f->sass_bar = n[0x11d];
}

static bool read_text(struct elf *e, struct kernel_place *k, struct error *err)
{
    Elf64_Shdr s = elf_section(e, k->section);
    if (s.sh_type != SHT_PROGBITS || !elf_inside(e, s.sh_offset, s.sh_size) || s.sh_size > INT32_MAX)
        return error_set(err, ERROR_INTERNAL, "cubin: the code of kernel %s lies outside the file", k->facts.name);
    if (!elf_afford(e, s.sh_size, err))
        return false;
    k->facts.code_bytes = (int)s.sh_size;
    hash_bytes(e->data + s.sh_offset, s.sh_size, k->facts.sass_hash);
    count_opcodes(e->data + s.sh_offset, s.sh_size, e->cc, &k->facts);
    return true;
}

static int clamp(uint64_t v)
{
    return v > INT32_MAX ? INT32_MAX : (int)v;
}

/* One attribute that belongs to a kernel; `value` is the size field, `p` its payload of `bytes` (format 4 only). */
static void kernel_attribute(struct kernel_facts *f, int attribute, const unsigned char *p, size_t bytes, uint32_t value)
{
    switch (attribute) {
    case ATTRIBUTE_MAX_THREADS:
    case ATTRIBUTE_REQNTID:
        if (bytes >= 12) {
            uint64_t x = word_at(p), y = word_at(p + 4), z = word_at(p + 8);
            if (x <= 4096 && y <= 4096 && z <= 4096)
                f->max_threads = clamp(x * y * z);
        }
        break;
    case ATTRIBUTE_PARAM_SIZE: f->param_bytes = (int)value; break;
    case ATTRIBUTE_NUM_BARRIERS: f->barriers = (int)value; break;
    case ATTRIBUTE_ANNOTATIONS:
        for (size_t i = 0; i + 8 <= bytes; i += 8)
            f->spill_instructions += word_at(p + i) == ANNOTATION_SPILL;
        break;
    }
}

/* The module's own attributes name the kernel by its symbol. */
static void module_attribute(struct cubin *c, int attribute, const unsigned char *p, size_t bytes)
{
    if (bytes < 8 || (attribute != ATTRIBUTE_REGCOUNT && attribute != ATTRIBUTE_FRAME_SIZE))
        return;
    for (int i = 0; i < c->count; i++)
        if (c->kernels[i].symbol == word_at(p)) {
            if (attribute == ATTRIBUTE_REGCOUNT)
                c->kernels[i].facts.registers = clamp(word_at(p + 4));
            else
                c->kernels[i].facts.stack_bytes = clamp(word_at(p + 4));
            return;
        }
}

static bool read_info(struct cubin *c, const Elf64_Shdr *s, struct kernel_place *kernel, struct error *err)
{
    struct elf *e = &c->elf;
    if (!elf_inside(e, s->sh_offset, s->sh_size))
        return elf_broken(err, "an .nv.info section lies outside the file");
    /* A module attribute is looked up among all kernels: charge it as such. */
    if (!elf_afford(e, kernel ? s->sh_size : s->sh_size * (uint64_t)(1 + c->count / 64), err))
        return false;
    const unsigned char *p = e->data + s->sh_offset, *end = p + s->sh_size;
    if (kernel) {
        kernel->facts.spill_instructions = 0;
        if (e->new_abi)
            kernel->facts.barriers = 0;
        kernel->facts.param_bytes = 0;
    }
    while (end - p >= 4) {
        int format = p[0], attribute = p[1];
        uint32_t size = p[2] | (uint32_t)p[3] << 8;
        p += 4;
        size_t bytes = format == FORMAT_BYTES ? size : 0;
        if (bytes > (size_t)(end - p))
            return elf_broken(err, "an attribute of .nv.info runs past its section");
        if (kernel)
            kernel_attribute(&kernel->facts, attribute, p, bytes, format == 1 || format == 2 ? size & 0xff : size);
        else
            module_attribute(c, attribute, p, bytes);
        p += bytes;
    }
    return true;
}

/* Sections are matched by their exact names: sm_100 has look-alikes (.nv.merc.*, .nv.capmerc.*). */
static bool read_sections(struct cubin *c, struct error *err)
{
    const struct elf *e = &c->elf;
    int constants = 0;
    for (int i = 0; i < c->count; i++)
        c->kernels[i].facts.static_smem = 0; /* a kernel without shared memory has no section */
    for (uint32_t i = 0; i < e->section_count; i++) {
        Elf64_Shdr s = elf_section(e, i);
        const char *name = elf_section_name(e, &s);
        struct kernel_place *k;
        if (strcmp(name, ".nv.info") == 0) {
            if (!read_info(c, &s, NULL, err))
                return false;
        } else if (strncmp(name, ".nv.info.", 9) == 0 && (k = find_kernel(c, name + 9))) {
            if (!read_info(c, &s, k, err))
                return false;
        } else if (strncmp(name, ".nv.shared.", 11) == 0 && (k = find_kernel(c, name + 11))) {
            uint64_t reserved = e->cc >= 90 ? SMEM_RESERVED : 0;
            k->facts.static_smem = clamp(s.sh_size > reserved ? s.sh_size - reserved : 0);
        } else if (strcmp(name, ".nv.constant3") == 0) {
            constants = clamp(s.sh_size);
        }
    }
    for (int i = 0; i < c->count; i++)
        c->kernels[i].facts.constant_bytes = constants;
    return true;
}

int cubin_read(const void *cubin, size_t bytes, struct kernel_facts **facts, struct error *err)
{
    struct cubin c = {0};
    int count = -1;
    *facts = NULL;
    if (!elf_open(&c.elf, cubin, bytes, err) || !find_kernels(&c, err) || !read_sections(&c, err))
        goto done;
    for (int i = 0; i < c.count; i++)
        if (!read_text(&c.elf, &c.kernels[i], err))
            goto done;
    *facts = xcalloc((size_t)c.count + 1, sizeof **facts);
    for (int i = 0; i < c.count; i++)
        (*facts)[i] = c.kernels[i].facts;
    count = c.count;
done:
    free(c.kernels);
    return count;
}

/* The one symbol table; and where its names are. False: there is none that can be read. */
static bool symbol_table(const struct elf *e, Elf64_Shdr *table, Elf64_Shdr *strings)
{
    for (uint32_t i = 0; i < e->section_count; i++) {
        *table = elf_section(e, i);
        if (table->sh_type != SHT_SYMTAB)
            continue;
        if (table->sh_link >= e->section_count)
            return false;
        *strings = elf_section(e, table->sh_link);
        return elf_inside(e, table->sh_offset, table->sh_size) && elf_inside(e, strings->sh_offset, strings->sh_size);
    }
    return false;
}

static bool is_variable(const struct elf *e, const Elf64_Sym *s)
{
    if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT || s->st_shndx == SHN_UNDEF || s->st_shndx >= e->section_count)
        return false;
    Elf64_Shdr home = elf_section(e, s->st_shndx);
    return !strncmp(elf_section_name(e, &home), ".nv.global", 10);
}

static Elf64_Sym symbol_at(const struct elf *e, const Elf64_Shdr *table, uint64_t i)
{
    Elf64_Sym s = {0};
    if (i < table->sh_size / sizeof s)
        memcpy(&s, e->data + table->sh_offset + i * sizeof s, sizeof s);
    return s;
}

/* Marks the symbols that a section of relocations names. */
static bool mark_relocations(struct elf *e, const Elf64_Shdr *s, bool *named, uint64_t symbols, struct error *err)
{
    size_t each = s->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    if (!elf_inside(e, s->sh_offset, s->sh_size))
        return elf_broken(err, "its relocations lie outside the file");
    if (!elf_afford(e, s->sh_size, err))
        return false;
    for (uint64_t i = 0; i < s->sh_size / each; i++) {
        Elf64_Rel r;
        memcpy(&r, e->data + s->sh_offset + i * each, sizeof r);
        if (ELF64_R_SYM(r.r_info) < symbols)
            named[ELF64_R_SYM(r.r_info)] = true;
    }
    return true;
}

int cubin_state(const void *cubin, size_t bytes, char ***names, bool *heap, struct error *err)
{
    struct elf e;
    Elf64_Shdr table, strings;
    int count = 0;
    *names = NULL;
    *heap = false;
    if (!elf_open(&e, cubin, bytes, err))
        return -1;
    if (!symbol_table(&e, &table, &strings)) {
        elf_broken(err, "its symbol table lies outside the file");
        return -1;
    }
    uint64_t symbols = table.sh_size / sizeof(Elf64_Sym);
    bool *named = xcalloc(symbols + 1, sizeof *named), ok = true;
    for (uint32_t i = 0; i < e.section_count && ok; i++) {
        Elf64_Shdr s = elf_section(&e, i);
        const char *name = elf_section_name(&e, &s);
        if ((s.sh_type == SHT_RELA || s.sh_type == SHT_REL) && !strstr(name, "debug"))
            ok = mark_relocations(&e, &s, named, symbols, err);
    }
    for (uint64_t i = 0; i < symbols && ok; i++) {
        Elf64_Sym s = symbol_at(&e, &table, i);
        const char *name = elf_string_at((const char *)e.data + strings.sh_offset, strings.sh_size, s.st_name);
        *heap |= named[i] && s.st_shndx == SHN_UNDEF && !strcmp(name, "malloc");
        if (!named[i] || !is_variable(&e, &s))
            continue;
        *APPEND(*names, count) = xstrdup(name);
    }
    free(named);
    return ok ? count : -1;
}

void cubin_expose(void *cubin, size_t bytes)
{
    struct elf e;
    struct error ignored = {0};
    Elf64_Shdr table, strings;
    if (!elf_open(&e, cubin, bytes, &ignored) || !symbol_table(&e, &table, &strings))
        return;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s = symbol_at(&e, &table, i);
        if (!is_variable(&e, &s) || ELF64_ST_BIND(s.st_info) != STB_LOCAL)
            continue;
        s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
        memcpy((unsigned char *)cubin + table.sh_offset + i * sizeof s, &s, sizeof s);
    }
}

/* HMMA and HGMMA hold their type in two bits (f16, bf16, TF32), and in one whether they sum in f32. Read off cubins of sm_80 to sm_120 of
 * one product each (tests/unit/test_factors.c). */
static unsigned product_of(const unsigned char *instruction)
{
    static const unsigned halves[] = {FACTOR_F16, FACTOR_BF16, FACTOR_TF32, FACTOR_F16 | FACTOR_BF16 | FACTOR_TF32};
    uint32_t high = word_at(instruction + 8);
    switch (word_at(instruction) & 0x1ff) {
    case 0x03c: return halves[high >> 18 & 3] | (high >> 12 & 1 ? 0 : FACTOR_SUM_F16);
    case 0x1f0: return halves[high >> 12 & 3] | (high >> 11 & 1 ? 0 : FACTOR_SUM_F16);
    case 0x037:
    case 0x1f1: return FACTOR_I8;
    case 0x03d:
    case 0x1f2: return FACTOR_BITS;
    case 0x03f: return FACTOR_F64;
    case 0x07a:
    case 0x1f3: return FACTOR_F8;
    default: return 0;
    }
}

unsigned cubin_factors(const void *cubin, size_t bytes, const char *kernel)
{
    struct cubin c = {0};
    struct error ignored = {0};
    unsigned all = 0;
    bool open = elf_open(&c.elf, cubin, bytes, &ignored) && find_kernels(&c, &ignored);
    const struct kernel_place *k = open ? find_kernel(&c, kernel) : NULL;
    Elf64_Shdr text = k ? elf_section(&c.elf, k->section) : (Elf64_Shdr){0};
    bool known = k && c.elf.cc >= 75 && c.elf.cc <= 121 && text.sh_type != SHT_NOBITS && elf_inside(&c.elf, text.sh_offset, text.sh_size);
    for (uint64_t at = 0; known && at + 16 <= text.sh_size; at += 16)
        all |= product_of(c.elf.data + text.sh_offset + at);
    free(c.kernels);
    return all;
}

/* True for sections that only people and tools read, and for tables of names: the code does not depend on what symbols are called. */
static bool is_for_tools(const char *name)
{
    return strstr(name, "debug") || !strncmp(name, ".note", 5) || !strcmp(name, ".strtab") || !strcmp(name, ".shstrtab") ||
           !strcmp(name, ".symtab");
}

static void hash_symbols(const struct elf *e, const Elf64_Shdr *table, struct hash *h)
{
    for (uint64_t k = 0; k < table->sh_size / sizeof(Elf64_Sym); k++) {
        Elf64_Sym s;
        memcpy(&s, e->data + table->sh_offset + k * sizeof s, sizeof s);
        s.st_name = 0;
        hash_add(h, &s, sizeof s);
    }
}

bool cubin_image_hash(const void *cubin, size_t bytes, char out[HASH_TEXT], struct error *err)
{
    struct elf e;
    if (!elf_open(&e, cubin, bytes, err))
        return false;
    bool ok = true;
    struct hash *h = hash_begin();
    hash_add(h, &e.head.e_flags, sizeof e.head.e_flags);
    for (uint32_t i = 0; ok && i < e.section_count; i++) {
        Elf64_Shdr s = elf_section(&e, i);
        const char *name = elf_section_name(&e, &s);
        bool stored = s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL;
        if (stored && !elf_inside(&e, s.sh_offset, s.sh_size))
            ok = elf_broken(err, "a section lies outside the file");
        else if (!stored || elf_afford(&e, s.sh_size, err)) {
            if (s.sh_type == SHT_SYMTAB)
                hash_symbols(&e, &s, h);
            if (is_for_tools(name))
                continue;
            hash_add_text(h, name);
            hash_add(h, &s.sh_flags, sizeof s.sh_flags);
            hash_add(h, &s.sh_size, sizeof s.sh_size);
            hash_add(h, stored ? e.data + s.sh_offset : e.data, stored ? s.sh_size : 0);
        } else
            ok = false;
    }
    hash_end(h, out);
    return ok;
}
