#include "measure/count/code.h"
#include "base/order.h"
#include "base/text.h"
#include "store/family.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_OF_STEP 192
#define KEPT_OF_LINE 12
#define LINE_SHARE 0.01 /* of a step: instructions of lines below this share are not kept */
#define TEXT_MOST 120

ORDER(by_heat, struct row_code, row_code_order(x, y))
ORDER(by_line, struct row_code, ORDER_UP(line) ?: row_code_order(x, y))
ORDER(by_address, struct row_code, ORDER_UP(address))

void code_keep(struct row *row, struct row_code *all, int count)
{
    int kept = 0, end;
    double whole = 0;
    for (int i = 0; i < count; i++)
        whole += row_code_heat(&all[i]);
    qsort(all, (size_t)count, sizeof *all, by_line);
    for (int i = 0; i < count; i = end) {
        double of_line = 0;
        for (end = i; end < count && all[end].line == all[i].line; end++)
            of_line += row_code_heat(&all[end]);
        for (int k = i; k < end; k++)
            if (k < i + KEPT_OF_LINE && of_line >= LINE_SHARE * whole)
                all[kept++] = all[k];
            else
                free(all[k].text);
    }
    qsort(all, (size_t)kept, sizeof *all, by_heat);
    for (; kept > KEPT_OF_STEP; kept--)
        free(all[kept - 1].text);
    qsort(all, (size_t)kept, sizeof *all, by_address);
    for (int i = 0; i < kept; i++) {
        struct row_code *to = row_add_code(row);
        free(to->text);
        *to = all[i];
        to->text = to->text ? to->text : xstrdup("");
    }
}

/* Returns the instruction without surrounding text and with single blanks. The caller frees it. */
static char *bare(const char *p, size_t bytes)
{
    struct text t = {0};
    for (size_t i = 0; i < bytes && t.len < TEXT_MOST; i++) {
        bool blank = p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '{' || p[i] == ';';
        if (!blank || p[i] == '{')
            text_add_bytes(&t, p + i, 1);
        else if (t.len && i + 1 < bytes && p[i] != ';' && t.data[t.len - 1] != ' ')
            text_add(&t, " ");
    }
    return t.len ? text_take(&t) : xstrdup("");
}

void code_of_emu(struct device *dev, const struct device_image *image, struct row *row, int step)
{
    const struct device_instruction *ran;
    int count = dev->ops->instructions ? dev->ops->instructions(dev, &ran) : 0, line = 1;
    SCOPED struct row_code *all = xcalloc((size_t)count + 1, sizeof *all);
    const char *p = image->ptx ? image->ptx : "", *end = p + (image->ptx ? image->ptx_bytes : 0);
    for (int i = 0; i < count; i++) {
        const struct device_instruction *d = &ran[i];
        for (; line < d->ptx_line && p < end; line++) {
            const char *next = memchr(p, '\n', (size_t)(end - p));
            p = next ? next + 1 : end;
        }
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        all[i] = (struct row_code){.step = step,
                                   .language = "ptx",
                                   .address = d->ptx_line,
                                   .line = d->line,
                                   .text = bare(p, (size_t)((stop ? stop : end) - p)),
                                   .executed = (double)d->executed,
                                   .lanes = (double)d->lanes,
                                   .sectors = d->sectors ? (double)d->sectors : NAN,
                                   .sectors_ideal = d->sectors_ideal ? (double)d->sectors_ideal : NAN,
                                   .wavefronts = d->wavefronts ? (double)d->wavefronts : NAN,
                                   .wavefronts_ideal = d->wavefronts_ideal ? (double)d->wavefronts_ideal : NAN,
                                   .samples = NAN};
        memcpy(all[i].inlined, d->inlined, sizeof all[i].inlined);
    }
    code_keep(row, all, count);
    if (count)
        row_add_member(row, FAMILY_EMU, step, 0, "code_run", "instr", "emu", count);
}

/* The counts of an instruction that a row keeps, in the order of source_metrics. */
static void put_counts(struct row_code *to, const double *counts)
{
    double *const at[] = {&to->executed, &to->lanes, &to->sectors, &to->sectors_ideal, &to->wavefronts, &to->wavefronts_ideal};
    for (size_t i = 0; counts && i < sizeof at / sizeof *at; i++)
        *at[i] = counts[i] > 0 || i < 2 ? counts[i] : NAN;
}

void code_of_gpu(struct code_list *list, const struct source_values *values)
{
    for (int i = 0; i < values->code_count; i++) {
        const struct source_code *from = &values->code[i];
        const struct source_wait *most = NULL;
        int at = 0;
        while (at < list->count && (list->items[at].step != from->step || (uint64_t)list->items[at].address != from->offset))
            at++;
        if (at == list->count) {
            *APPEND(list->items, list->count) = (struct row_code){.step = from->step,
                                                                  .language = "sass",
                                                                  .address = (int64_t)from->offset,
                                                                  .line = from->line,
                                                                  .executed = NAN,
                                                                  .lanes = NAN,
                                                                  .sectors = NAN,
                                                                  .sectors_ideal = NAN,
                                                                  .wavefronts = NAN,
                                                                  .wavefronts_ideal = NAN,
                                                                  .samples = 0};
            list->items[at].text = text_format("0x%016llx%016llx", (unsigned long long)from->words[1], (unsigned long long)from->words[0]);
            memcpy(list->items[at].inlined, from->inlined, sizeof from->inlined);
        }
        struct row_code *to = &list->items[at];
        put_counts(to, from->counts);
        to->samples += from->samples;
        for (int k = 0; k < from->wait_count; k++)
            most = !most || from->waits[k].samples > most->samples ? &from->waits[k] : most;
        if (most)
            memcpy(to->wait, most->reason, sizeof to->wait);
    }
}

ORDER(by_step, struct row_code, ORDER_UP(step) ?: by_address(x, y))

void code_keep_list(struct row *row, struct code_list *list)
{
    if (list->count)
        qsort(list->items, (size_t)list->count, sizeof *list->items, by_step);
    for (int i = 0, end; i < list->count; i = end) {
        for (end = i; end < list->count && list->items[end].step == list->items[i].step; end++)
            ;
        code_keep(row, list->items + i, end - i);
    }
    free(list->items);
    *list = (struct code_list){0};
}

static void take_instructions(void *context, const struct device_counter *c, int line, double value)
{
    if (!line && !strcmp(c->name, "emu.warp_instructions"))
        *(double *)context += value;
}

double code_instructions(struct device *dev)
{
    double instructions = 0;
    dev->ops->counters(dev, take_instructions, &instructions);
    return instructions;
}
