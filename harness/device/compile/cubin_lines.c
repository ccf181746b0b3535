/* The source lines of machine code, and which of them spill (the spill annotations of a kernel are offsets into its code). The line table
 * is DWARF 2 with one opcode of NVIDIA's own (0x90): the row is inlined code, called from the row of that number (rows count from 1 over
 * the whole table). Compiled with -lineinfo; checked against readelf's dump of cubins of sm_80 and sm_90. Every offset is checked: the
 * bytes may be hostile. */
#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include "device/compile/cubin.h"
#include "device/compile/elf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPCODE_LDL 0x183
#define OPCODE_STL 0x187
#define ROWS_MAX 2000000
#define FILES_MAX 4096
#define INLINED_CALL 0x90
#define INLINE_DEPTH 64

struct bytes {
    const unsigned char *p, *end;
};

/* The bytes of the section of exactly this name; its header too. */
static bool find_section(const struct elf *e, const char *name, struct bytes *out, Elf64_Shdr *header)
{
    if (!elf_find_section(e, name, header))
        return false;
    *out = (struct bytes){e->data + header->sh_offset, e->data + header->sh_offset + header->sh_size};
    return true;
}

static bool cubin_lines_number(struct bytes *b, size_t n, uint64_t *out)
{
    *out = 0;
    if ((size_t)(b->end - b->p) < n)
        return false;
    memcpy(out, b->p, n);
    b->p += n;
    return true;
}

/* LEB128, as DWARF has it. */
static bool leb(struct bytes *b, bool is_signed, int64_t *out)
{
    uint64_t value = 0;
    int shift = 0;
    while (b->p < b->end) {
        unsigned char c = *b->p++;
        if (shift < 64)
            value |= (uint64_t)(c & 0x7f) << shift;
        shift += 7;
        if (!(c & 0x80)) {
            if (is_signed && shift < 64 && (c & 0x40))
                value |= ~(uint64_t)0 << shift;
            *out = (int64_t)value;
            return true;
        }
    }
    return false;
}

/* ---- the line table ---- */

struct row {
    uint64_t address;
    int64_t line;
    int file;
    uint32_t inlined_at; /* number of the calling row; 0: not inlined */
    bool ours, end;      /* of the kernel that is asked for; end of a sequence */
};
struct lines {
    struct row *rows;
    size_t count, room;
    const char *files[FILES_MAX]; /* 1...: names without folders */
    int file_count;
};

static void skip_text(struct bytes *b)
{
    const unsigned char *end = memchr(b->p, 0, (size_t)(b->end - b->p));
    b->p = end ? end + 1 : b->end;
}

static bool read_files(struct bytes *b, struct lines *l)
{
    int64_t ignored;
    while (b->p < b->end && *b->p) /* folders */
        skip_text(b);
    if (b->p < b->end)
        b->p++;
    while (b->p < b->end && *b->p) {
        const char *name = (const char *)b->p;
        skip_text(b);
        if (b->p[-1] || l->file_count + 1 >= FILES_MAX || !leb(b, false, &ignored) || !leb(b, false, &ignored) || !leb(b, false, &ignored))
            return false;
        l->files[++l->file_count] = file_base(name);
    }
    return true;
}

static bool put_row(struct lines *l, const struct row *row)
{
    if (l->count == ROWS_MAX)
        return false;
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->rows = xrealloc(l->rows, l->room * sizeof *l->rows);
    }
    l->rows[l->count++] = *row;
    return true;
}

/* Relocations of .debug_line, with addends or (before sm_90) without. */
struct relocations {
    struct bytes at;
    size_t size; /* of one */
};

/* Does the relocation at this place of .debug_line name the kernel's symbol? */
static bool relocated(const struct relocations *relocations, uint64_t place, uint32_t symbol)
{
    for (const unsigned char *p = relocations->at.p; (size_t)(relocations->at.end - p) >= relocations->size; p += relocations->size) {
        Elf64_Rel r; /* what both forms begin with */
        memcpy(&r, p, sizeof r);
        if (r.r_offset == place)
            return ELF64_R_SYM(r.r_info) == symbol;
    }
    return false;
}

struct program {
    struct bytes code;
    const unsigned char *start; /* of the section: relocations count from there */
    const struct relocations *relocations;
    uint32_t symbol;
    int line_base, line_range, opcode_base;
    const unsigned char *lengths; /* of the standard opcodes' arguments */
};

static bool extended(struct program *p, struct row *r, struct lines *l)
{
    int64_t size, context;
    if (!leb(&p->code, false, &size) || size < 1 || size > p->code.end - p->code.p)
        return false;
    struct bytes body = {p->code.p + 1, p->code.p + size};
    int opcode = *p->code.p;
    bool ok = true;
    if (opcode == 1) { /* end of a sequence */
        r->end = true;
        ok = put_row(l, r);
        *r = (struct row){.file = 1, .line = 1};
    } else if (opcode == 2 && size == 9) { /* address: a relocation says of which function */
        r->ours = relocated(p->relocations, (uint64_t)(body.p - p->start), p->symbol);
        ok = cubin_lines_number(&body, 8, &r->address);
    } else if (opcode == INLINED_CALL) {
        ok = leb(&body, false, &context) && context >= 0 && context < UINT32_MAX;
        r->inlined_at = ok ? (uint32_t)context : 0;
    }
    p->code.p += size;
    return ok;
}

static bool run_program(struct program *p, struct lines *l)
{
    struct row r = {.file = 1, .line = 1};
    while (p->code.p < p->code.end) {
        int opcode = *p->code.p++;
        int64_t v = 0;
        bool ok = true;
        if (opcode >= p->opcode_base) {
            int adjusted = opcode - p->opcode_base;
            r.address += (uint64_t)(adjusted / p->line_range);
            r.line = (int64_t)((uint64_t)r.line + (uint64_t)(int64_t)(p->line_base + adjusted % p->line_range));
            ok = put_row(l, &r);
        } else if (opcode == 0) {
            ok = extended(p, &r, l);
        } else if (opcode == 1) {
            ok = put_row(l, &r);
        } else if (opcode == 2 && (ok = leb(&p->code, false, &v))) {
            r.address += (uint64_t)v;
        } else if (opcode == 3 && (ok = leb(&p->code, true, &v))) {
            r.line = (int64_t)((uint64_t)r.line + (uint64_t)v);
        } else if (opcode == 4 && (ok = leb(&p->code, false, &v))) {
            r.file = v > 0 && v < FILES_MAX ? (int)v : 0;
        } else if (opcode == 8) {
            r.address += (uint64_t)((255 - p->opcode_base) / p->line_range);
        } else if (opcode == 9) {
            uint64_t advance;
            ok = cubin_lines_number(&p->code, 2, &advance);
            r.address += ok ? advance : 0;
        } else if (opcode > 4) {
            ok = ok && ALL_OF(i, p->lengths[opcode - 1], leb(&p->code, false, &v));
        }
        if (!ok)
            return false;
    }
    return true;
}

static bool read_lines(const struct elf *e, uint32_t symbol, struct lines *l)
{
    struct relocations relocations = {.size = sizeof(Elf64_Rela)};
    struct bytes section, header, unit;
    Elf64_Shdr ignored;
    uint64_t length, version, header_length, v;
    if (!find_section(e, ".debug_line", &section, &ignored))
        return false;
    if (!find_section(e, ".rela.debug_line", &relocations.at, &ignored)) {
        relocations.size = sizeof(Elf64_Rel);
        if (!find_section(e, ".rel.debug_line", &relocations.at, &ignored))
            return false;
    }
    unit = section;
    if (!cubin_lines_number(&unit, 4, &length) || length > (uint64_t)(unit.end - unit.p))
        return false;
    unit.end = unit.p + length;
    struct program p = {.start = section.p, .relocations = &relocations, .symbol = symbol};
    if (!cubin_lines_number(&unit, 2, &version) || version < 2 || version > 3 || !cubin_lines_number(&unit, 4, &header_length) ||
        header_length > (uint64_t)(unit.end - unit.p))
        return false;
    header = (struct bytes){unit.p, unit.p + header_length};
    p.code = (struct bytes){header.end, unit.end};
    if (!cubin_lines_number(&header, 2, &v)) /* least instruction length (1), is_stmt */
        return false;
    if (!cubin_lines_number(&header, 1, &v))
        return false;
    p.line_base = (signed char)v;
    if (!cubin_lines_number(&header, 1, &v) || v < 1)
        return false;
    p.line_range = (int)v;
    if (!cubin_lines_number(&header, 1, &v) || v < 10 || header.end - header.p < (int)v - 1)
        return false;
    p.opcode_base = (int)v;
    p.lengths = header.p;
    header.p += p.opcode_base - 1;
    return read_files(&header, l) && run_program(&p, l);
}

/* The row that holds an address of the kernel; of inlined code the innermost. */
static const struct row *row_at(const struct lines *l, uint64_t address)
{
    const struct row *found = NULL;
    for (size_t i = 0; i + 1 < l->count; i++) {
        const struct row *r = &l->rows[i];
        if (r->ours && !r->end && r->address <= address && address < l->rows[i + 1].address)
            found = r; /* the last: rows of one address follow each other, the innermost last */
    }
    return found;
}

/* The line in `file` from which what stands at the address was called, through inlined code. */
static int cubin_lines_line_of(const struct lines *l, uint64_t address, const char *file)
{
    const struct row *found = row_at(l, address);
    for (int depth = 0; found && depth < INLINE_DEPTH; depth++) {
        if (found->file > 0 && found->file <= l->file_count && !strcmp(l->files[found->file], file))
            return found->line > 0 && found->line < INT32_MAX ? (int)found->line : 0;
        found = found->inlined_at > 0 && found->inlined_at <= l->count ? &l->rows[found->inlined_at - 1] : NULL;
    }
    return 0;
}

/* ---- spills ---- */

static void cubin_lines_add(struct spill_line **lines, int *count, int line, bool store)
{
    int i = 0;
    while (i < *count && (*lines)[i].line != line)
        i++;
    if (i == *count)
        *APPEND(*lines, *count) = (struct spill_line){.line = line};
    *(store ? &(*lines)[i].stores : &(*lines)[i].loads) += 1;
}

ORDER(by_count, struct spill_line, y->loads + y->stores - x->loads - x->stores ?: ORDER_UP(line))

/* Visits the offsets that the annotations mark as spills. */
static void walk(struct bytes info, const struct bytes *text, const struct lines *l, const char *file, struct spill_line **lines,
                 int *count)
{
    while (info.end - info.p >= 4) {
        int format = info.p[0], attribute = info.p[1];
        size_t size = format == FORMAT_BYTES ? (size_t)(info.p[2] | info.p[3] << 8) : 0;
        info.p += 4;
        if (size > (size_t)(info.end - info.p))
            return;
        for (size_t i = 0; attribute == ATTRIBUTE_ANNOTATIONS && i + 8 <= size; i += 8) {
            uint32_t at = word_at(info.p + i + 4);
            if (word_at(info.p + i) != ANNOTATION_SPILL || text->end - text->p < 16 || at > (uint32_t)(text->end - text->p - 16))
                continue;
            uint32_t opcode = word_at(text->p + at) & 0x1ff;
            if (opcode == OPCODE_LDL || opcode == OPCODE_STL) /* sm_75 to sm_120: see cubin.c */
                cubin_lines_add(lines, count, cubin_lines_line_of(l, at, file), opcode == OPCODE_STL);
        }
        info.p += size;
    }
}

/* The kernel's code and its line table. */
static bool open_lines(struct elf *e, const void *cubin, size_t bytes, const char *kernel, struct bytes *text, struct lines *l)
{
    Elf64_Shdr header;
    SCOPED char *name = text_format(".text.%s", kernel);
    bool ok = elf_open(e, cubin, bytes, NULL) && find_section(e, name, text, &header) &&
              read_lines(e, header.sh_info & 0xffffff, l); /* sh_info of .text: the kernel's symbol, below the register count */
    return ok;
}

int cubin_spill_lines(const void *cubin, size_t bytes, const char *kernel, const char *file, struct spill_line **out)
{
    struct elf e;
    SCOPED struct lines *l = xcalloc(1, sizeof *l);
    struct bytes text, info;
    Elf64_Shdr header;
    SCOPED char *name = text_format(".nv.info.%s", kernel);
    int count = 0;
    *out = NULL;
    if (open_lines(&e, cubin, bytes, kernel, &text, l) && find_section(&e, name, &info, &header))
        walk(info, &text, l, file_base(file), out, &count);
    free(l->rows);
    if (count)
        qsort(*out, (size_t)count, sizeof **out, by_count);
    return count;
}

struct cubin_lines {
    struct lines lines;
    struct bytes text;
    char *file;
};

struct cubin_lines *cubin_lines_open(const void *cubin, size_t bytes, const char *kernel, const char *file)
{
    struct elf e;
    struct cubin_lines *c = xcalloc(1, sizeof *c);
    c->file = xstrdup(file_base(file));
    if (open_lines(&e, cubin, bytes, kernel, &c->text, &c->lines))
        return c;
    cubin_lines_close(c);
    return NULL;
}

int cubin_lines_at(const struct cubin_lines *lines, uint64_t offset)
{
    return lines ? cubin_lines_line_of(&lines->lines, offset, lines->file) : 0;
}

bool cubin_lines_instruction(const struct cubin_lines *lines, uint64_t offset, uint64_t words[2], char *inlined, size_t room)
{
    inlined[0] = 0;
    if (!lines || offset % 16 || offset > (uint64_t)(lines->text.end - lines->text.p) ||
        lines->text.end - lines->text.p - (ptrdiff_t)offset < 16)
        return false;
    memcpy(words, lines->text.p + offset, 16);
    const struct row *at = row_at(&lines->lines, offset);
    const char *file = at && at->file > 0 && at->file <= lines->lines.file_count ? lines->lines.files[at->file] : NULL;
    if (file && strcmp(file, lines->file) && at->line > 0 && at->line < INT32_MAX)
        snprintf(inlined, room, "%.*s:%d", (int)(room > 16 ? room - 16 : 0), file, (int)at->line);
    return true;
}

void cubin_lines_close(struct cubin_lines *lines)
{
    if (!lines)
        return;
    FREE_ALL(lines->lines.rows, lines->file, lines);
}
