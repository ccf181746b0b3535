/* emu/check/report: adds findings to the launch's table of reports. */
#include "emu/check/report.h"
#include "emu/handlers.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

/* ---- reports ---- */
static void thread_index(const struct warp *w, int lane, uint32_t out[3])
{
    const uint32_t *dim = w->runner->launch->block;
    uint32_t t = (uint32_t)w->id * 32 + (uint32_t)(lane < 0 ? __builtin_ctz(w->mask | 1u << 31) : lane);
    out[0] = t % dim[0];
    out[1] = t / dim[0] % dim[1];
    out[2] = t / dim[0] / dim[1];
}

void emu_report_add(struct warp *w, const struct insn *ip, int lane, bool note, const char *kind, const char *format, ...)
{
    struct report_table *t = w->runner->launch->reports;
    uint64_t position = w->block->number << 16 | (uint64_t)w->id << 6 | (uint64_t)(lane < 0 ? 0 : lane + 1);
    const struct cold *c = &w->program->cold[ip->index];
    pthread_mutex_lock(&t->lock);
    struct report_entry *e = NULL;
    for (int i = 0; i < t->count && !e; i++)
        if (t->entries[i].index == ip->index && !strcmp(t->entries[i].r.kind, kind))
            e = &t->entries[i];
    bool fresh = !e, narrow = strstr(format, "of this warp") != NULL; /* other warps are the cause, where both are */
    if (!e && t->count < REPORT_MAX) {
        e = &t->entries[t->count++];
        *e = (struct report_entry){.index = ip->index, .note = note, .r.one_warp = narrow};
        snprintf(e->r.kind, sizeof e->r.kind, "%s", kind);
    }
    if (e) {
        e->r.count++;
        if (fresh || (narrow == e->r.one_warp ? position < e->position : e->r.one_warp)) {
            e->r.one_warp = narrow;
            char op[64];
            SCOPED_TEXT what = {0};
            uint32_t at[3];
            TEXT_ADD_ARGUMENTS(&what, format);
            thread_index(w, lane, at);
            e->position = position;
            e->r.line = c->line;
            const char *file = c->file > 0 && c->file < w->program->module->file_count ? w->program->module->files[c->file] : NULL;
            snprintf(e->r.file, sizeof e->r.file, "%s", file ? file : "");
            ptx_instr_text(c->source, op, sizeof op);
            if (c->line > 0)
                snprintf(e->r.text, sizeof e->r.text, "%s (block %u,%u,%u thread %u,%u,%u)", text_get(&what), w->block->index[0],
                         w->block->index[1], w->block->index[2], at[0], at[1], at[2]);
            else
                snprintf(e->r.text, sizeof e->r.text, "PTX line %d (%s): %s (block %u,%u,%u thread %u,%u,%u)", c->source->ptx_line, op,
                         text_get(&what), w->block->index[0], w->block->index[1], w->block->index[2], at[0], at[1], at[2]);
        }
    }
    pthread_mutex_unlock(&t->lock);
}
