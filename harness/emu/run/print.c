/* emu/run/print: the text of the kernel's printf, kept in block order until the launch ends. */
#include "base/text.h"
#include "base/order.h"
#include "emu/check/report.h"
#include "emu/check/races.h"
#include "emu/handlers.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct printed {
    uint64_t block;
    int64_t order;
    char *text;
    size_t bytes;
};

ORDER(by_block, struct printed, ORDER_UP(block) ?: ORDER_UP(order))

/* A GPU's buffer is a ring of 1 MiB in which the newest overwrite the oldest. Here the last texts in the order of blocks stay, so that the
 * result is the same for any number of threads. */
#define PRINTED_BYTES (1u << 20)

static void drop_printed(struct launch *l)
{
    size_t kept = 0;
    int first = l->printed_count;
    if (!first)
        return;
    qsort(l->printed, (size_t)l->printed_count, sizeof *l->printed, by_block);
    while (first && kept + l->printed[first - 1].bytes + sizeof *l->printed <= PRINTED_BYTES)
        kept += l->printed[--first].bytes + sizeof *l->printed;
    for (int i = 0; i < first; i++)
        free(l->printed[i].text);
    memmove(l->printed, l->printed + first, (size_t)(l->printed_count - first) * sizeof *l->printed);
    l->printed_count -= first;
    l->printed_lost += first;
    l->printed_bytes = kept;
}

void emu_print(struct launch *l, uint64_t block, const char *text, size_t bytes)
{
    pthread_mutex_lock(&l->reports->lock);
    if (l->printed_lost && l->printed_count && block < l->printed[0].block) {
        l->printed_lost++;
    } else {
        struct printed *p = APPEND(l->printed, l->printed_count);
        *p = (struct printed){block, l->printed_order++, xmalloc(bytes + 1), bytes};
        memcpy(p->text, text, bytes);
        if ((l->printed_bytes += bytes + sizeof *p) > 2 * PRINTED_BYTES)
            drop_printed(l);
    }
    pthread_mutex_unlock(&l->reports->lock);
}

/* A kernel's printf goes where the CUDA driver would send it, to the process's own output, without what a terminal would obey. */
void emu_print_show(struct launch *l)
{
    struct text t = {0};
    drop_printed(l);
    if (l->printed_lost)
        text_addf(&t, "[printf: %lld earlier texts were overwritten, as in the 1 MiB buffer of a GPU]\n", (long long)l->printed_lost);
    for (int i = 0; i < l->printed_count; i++) {
        text_add_bytes(&t, l->printed[i].text, l->printed[i].bytes);
        free(l->printed[i].text);
    }
    if (races_unwatched(l))
        text_addf(&t, "[%s: too many blocks, barriers and fences for one launch: later races in global memory were not checked]\n",
                  l->program->functions[0].ptx->name);
    text_neutralise(&t, 0);
    for (size_t at = 0; at < t.len;) {
        ssize_t n = write(STDOUT_FILENO, t.data + at, t.len - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    text_free(&t);
    free(l->printed);
    l->printed = NULL;
    l->printed_count = 0;
    l->printed_lost = 0;
}

void emu_print_drop(struct launch *l)
{
    for (int i = 0; i < l->printed_count; i++)
        free(l->printed[i].text);
    l->printed_count = 0;
    l->printed_order = l->printed_lost = 0;
    l->printed_bytes = 0;
}
