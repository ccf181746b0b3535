#include "run/child/cache.h"
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "run/message/wire.h"
#include "measure/rig/build.h"
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SELF_MAX_BYTES (1u << 30)
#define BUILD_ID_MIN 16 /* bytes: MD5's; less is not a hash */
#define ALIGNED(bytes) (((size_t)(bytes) + 3) & ~(size_t)3)
#define MEMORY_FORMAT "emu memory 2"

/* Hashes the build id of the program, which the linker computed from its whole output; the program comes first in the list. */
static int find_build(struct dl_phdr_info *info, size_t size, void *to)
{
    const ElfW(Nhdr) * note;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + part->p_vaddr), *end = at + part->p_memsz;
        for (; part->p_type == PT_NOTE && at + sizeof *note < end; at += sizeof *note + ALIGNED(note->n_namesz) + ALIGNED(note->n_descsz)) {
            note = (const void *)at;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof "GNU" && note->n_descsz >= BUILD_ID_MIN)
                hash_bytes(at + sizeof *note + ALIGNED(sizeof "GNU"), note->n_descsz, to);
        }
    }
    return 1;
}

/* Identifies this build, because another build may count differently. Without a build id it hashes the whole file. */
static bool hash_self(char self_hash[HASH_TEXT])
{
    size_t bytes;
    if (!self_hash[0])
        dl_iterate_phdr(find_build, self_hash);
    SCOPED char *self = self_hash[0] ? NULL : file_read(file_self(), SELF_MAX_BYTES, &bytes, NULL);
    if (self)
        hash_bytes(self, bytes, self_hash);
    return self_hash[0] != 0;
}

/* Hashes a unit's compilation, and the heads that refer to it. */
static bool hash_unit(const struct job *job, const struct unit *u, struct hash *h, char key[HASH_TEXT])
{
    struct compile_request request = build_request(job, u);
    hash_add_text(h, u->label);
    for (int i = 0; i < job->plan.variants.count; i++)
        if (!strcmp(job->plan.variants.items[i]->name, u->label))
            hash_add_text(h, job->plan.variants.items[i]->hash);
    return !u->path || (u->code == CODE_CUDA && compile_key(&request, key, NULL));
}

/* The code and the launches of a program for a work. */
static bool hash_program(const struct job *job, const struct program *p, const struct work *work, struct hash *h)
{
    char(*keys)[HASH_TEXT] = xcalloc((size_t)p->unit_count, sizeof *keys), launches[HASH_TEXT];
    SCOPED const char **codes = xcalloc((size_t)p->step_count + 1, sizeof *codes);
    bool known = ALL_OF(i, p->unit_count, hash_unit(job, &p->units[i], h, keys[i]));
    for (int i = 0; known && i < p->step_count; i++) {
        known = p->steps[i].kind != STEP_CUDNN && p->steps[i].kind != STEP_CALL;
        codes[i] = p->steps[i].kind == STEP_KERNEL || p->steps[i].kind == STEP_SYMBOL ? keys[p->steps[i].unit] : NULL;
    }
    if (known)
        program_hash(p, work, codes, launches);
    hash_add_text(h, known ? launches : "");
    free(keys);
    return known;
}

/* False: bench cannot cache this row. */
static bool row_key(struct memory *m, int index, char out[HASH_TEXT])
{
    const struct job *job = m->job;
    const struct plan_row *row = &job->plan.rows[index];
    const struct program *p = plan_program(&job->plan, index), *part = plan_part(&job->plan, index);
    const char *device = job->options.device;
    if (spec_is_timed(device) || job->options.bundle || row->kind == PLAN_SEQUENCE || row->side || !p->feasible || !p->unit_count ||
        !hash_self(m->self))
        return false;
    struct hash *h = hash_begin();
    hash_add_text(h, MEMORY_FORMAT);
    hash_add_text(h, m->self);
    hash_add_text(h, device);
    hash_add_text(h, job->plan.chip.arch);
    if (row->variant) {
        hash_add_text(h, row->variant->hash);
        hash_add_text(h, row->config->label);
    }
    bool known = hash_program(job, p, &job->plan.cases[row->case_index].work, h) &&
                 (!part || !part->feasible || hash_program(job, part, &part->work, h));
    hash_end(h, out);
    return known;
}

static bool memory_key(struct memory *m, int index, char out[HASH_TEXT])
{
    return m->job->options.remember && row_key(m, index, out);
}

/* The file has one entry: the hash of the row's bytes (run/message/wire.h), a newline, and the bytes. NULL: there is none. */
static json_t *entry_read(const char *key, const char *kind)
{
    char check[HASH_TEXT];
    size_t bytes;
    SCOPED char *name = text_format("%s.%s", key, kind), *data = compile_cache_load(name, &bytes);
    if (!data || bytes <= HASH_TEXT)
        return NULL;
    hash_bytes(data + HASH_TEXT, bytes - HASH_TEXT, check);
    return memcmp(check, data, HASH_TEXT - 1) ? NULL : json_stringn_nocheck(data + HASH_TEXT, bytes - HASH_TEXT);
}

static void entry_write(const char *key, const char *kind, const struct row *row)
{
    char check[HASH_TEXT];
    json_auto_t *packed = wire_row(row, true);
    const char *bytes = json_string_value(packed);
    SCOPED char *name = text_format("%s.%s", key, kind);
    SCOPED_TEXT entry = {0};
    hash_bytes(bytes, json_string_length(packed), check);
    text_addf(&entry, "%s\n", check);
    text_add_bytes(&entry, bytes, json_string_length(packed));
    compile_cache_save(name, entry.data, entry.len);
}

bool memory_counts(struct memory *m, int index, struct counted_layers *known)
{
    char key[HASH_TEXT];
    if (!m->job->plan.rows[index].part || m->job->options.counters.off || !row_key(m, index, key))
        return false;
    json_auto_t *packed = entry_read(key, "counts");
    if (packed)
        wire_row_merge(packed, *APPEND(known->rows, known->count) = row_new());
    return packed != NULL;
}

void memory_keep_counts(struct memory *m, int index, const struct counted_layers *known, const struct row *row)
{
    char key[HASH_TEXT];
    const struct row *counts = layer_counts_known(known, row->launch_hash);
    if (counts && row->status == ROW_OK && row->ran && !row->part_because[0] && row_key(m, index, key))
        entry_write(key, "counts", counts);
}

static json_t *entry_load(struct memory *m, int index)
{
    char key[HASH_TEXT];
    return memory_key(m, index, key) ? entry_read(key, "emu") : NULL;
}

bool memory_has(struct memory *m, int index)
{
    json_auto_t *packed = entry_load(m, index);
    return packed != NULL;
}

bool memory_recall(struct memory *m, int index, struct row *found)
{
    json_auto_t *packed = entry_load(m, index);
    const struct program *p = plan_program(&m->job->plan, index);
    wire_row_merge(packed, found);
    for (int i = 0; packed && i < found->step_count; i++)
        if (found->steps[i].file[0])
            snprintf(found->steps[i].file, sizeof found->steps[i].file, "%s",
                     p->units[p->steps[i].unit].path); /* its folder may be another now */
    return packed != NULL;
}

void memory_keep(struct memory *m, int index, const struct row *row)
{
    char key[HASH_TEXT];
    if ((row->status != ROW_OK && row->status != ROW_FOIL) || !memory_key(m, index, key))
        return;
    entry_write(key, "emu", row);
}
