/* emu/run/jit_next: when the operations of a stretch use each register again. */
#include "emu/run/jit.h"
#include <stdlib.h>

enum { GRAIN = 4 }; /* bytes of a predicate; other registers have a multiple */

static uint32_t grains(const struct jit_access *a)
{
    return a->bytes ? 32 * (uint32_t)a->bytes / GRAIN : 1;
}

void jit_foresee(struct compiler *j, uint32_t count, uint32_t *segments)
{
    uint32_t *later[2], room[2] = {0}; /* by grain of the frame and of the constants: 1 + the access that comes next */
    for (uint32_t i = 0; i < j->access_count; i++) {
        const struct jit_access *a = j->accesses + i;
        const uint32_t end = a->ref / GRAIN + grains(a);
        room[a->ref & 1] = end > room[a->ref & 1] ? end : room[a->ref & 1];
    }
    for (int i = 0; i < 2; i++)
        later[i] = xcalloc(room[i] + 1, sizeof **later);
    for (uint32_t i = 0; i < count; i++)
        segments[i] = count;
    for (uint32_t i = j->access_count; i--;) {
        struct jit_access *a = j->accesses + i;
        uint32_t *at = later[a->ref & 1] + a->ref / GRAIN, nearest = UINT32_MAX, *segment = segments + a->operation;
        for (uint32_t g = 0; g < grains(a); g++) {
            const struct jit_access *b = j->accesses + at[g] - 1;
            if (at[g] && (b->ref != a->ref || b->bytes != a->bytes))
                *segment = b->operation < *segment ? b->operation : *segment;
            nearest = at[g] && at[g] < nearest ? at[g] : nearest;
            at[g] = i + 1;
        }
        a->next = JIT_NEVER;
        if (nearest != UINT32_MAX) { /* another register there: this one's life is over */
            const struct jit_access *b = j->accesses + nearest - 1;
            a->dead = b->write || b->ref != a->ref || b->bytes != a->bytes;
            a->next = a->dead || b->scalar ? JIT_NEVER : b->operation;
        }
    }
    for (uint32_t i = count - 1; i--;)
        segments[i] = segments[i + 1] < segments[i] ? segments[i + 1] : segments[i];
    for (int i = 0; i < 2; i++)
        free(later[i]);
}

uint32_t jit_first_access(const struct compiler *j, uint32_t operation)
{
    uint32_t low = 0, high = j->access_count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (j->accesses[middle].operation < operation)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct jit_access *jit_find_access(const struct compiler *j, uint32_t ref, int bytes, bool write)
{
    for (uint32_t i = jit_first_access(j, j->operation); i < j->access_count && j->accesses[i].operation == j->operation; i++) {
        const struct jit_access *a = j->accesses + i;
        if (a->ref == ref && a->bytes == bytes && a->write == write)
            return a;
    }
    return NULL;
}
