#include "emu/run/buffer.h"
#include "base/text.h"
#include "emu/check/races.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUFFER_GAP 65536u
#define BUFFER_MAX ((size_t)1 << 40)
#define LARGE ((size_t)4 << 20)
#define SPARSE ((size_t)64 << 20)

static size_t whole(size_t bytes)
{
    return (bytes + 127) & ~(size_t)63; /* some bytes more than can be addressed */
}

/* In large pages, where the system has some for who asks: 512 times fewer faults. */
static uint8_t *room_take(size_t bytes)
{
    size_t room = whole(bytes);
    if (room < LARGE) {
        uint8_t *small = aligned_alloc(64, room);
        return small ? memset(small, 0, room) : NULL;
    }
    uint8_t *large = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (large == MAP_FAILED)
        return NULL;
    madvise(large, room, room < SPARSE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return large;
}

static void room_give(uint8_t *room, size_t bytes)
{
    if (room && whole(bytes) >= LARGE)
        munmap(room, whole(bytes));
    else
        free(room);
}

void buffer_free(struct buffer *b)
{
    room_give(b->host, b->bytes);
    FREE_ALL(b->known, b->read, b->written);
    races_free(b);
    free(b);
}

struct buffer *buffer_new(struct address_space *space, const char *label, size_t bytes, bool known, struct error *err)
{
    struct buffer *b = xcalloc(1, sizeof *b);
    b->bytes = bytes;
    b->dense = bytes <= BUFFER_MAX && whole(bytes) < SPARSE;
    b->host = bytes <= BUFFER_MAX ? room_take(bytes) : NULL;
    b->read = b->host ? calloc(bytes / 32 + 10, 1) : NULL;
    b->written = b->read ? calloc(bytes / 32 + 10, 1) : NULL;
    b->known = b->written && !known ? calloc(bytes / 8 + 1, 1) : NULL;
    if (!b->written || (!known && !b->known)) {
        buffer_free(b);
        error_set(err, bytes <= BUFFER_MAX ? ERROR_MACHINE : ERROR_ENVIRONMENT, "no memory for %zu bytes of `%s`", bytes, label);
        return NULL;
    }
    b->base = space->next;
    snprintf(b->label, sizeof b->label, "%s", label ? label : "");
    space->next = (b->base + bytes + BUFFER_GAP + 511) & ~511ull;
    return *APPEND(space->buffers, space->count) = b;
}

static bool map_copies(struct buffer *b, const void *tile, size_t bytes)
{
    int file = memfd_create("tile", MFD_CLOEXEC);
    bool ok = file >= 0 && write(file, tile, bytes) == (ssize_t)bytes;
    for (size_t at = 0; ok && at < b->bytes; at += bytes)
        ok = mmap(b->host + at, b->bytes - at < bytes ? b->bytes - at : bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0) !=
             MAP_FAILED;
    if (file >= 0)
        close(file);
    return ok;
}

bool buffer_repeat(struct buffer *b, const void *tile, size_t bytes, struct error *err)
{
    if (whole(b->bytes) >= LARGE && bytes % (size_t)sysconf(_SC_PAGESIZE) == 0)
        return map_copies(b, tile, bytes) || error_set(err, ERROR_ENVIRONMENT, "no memory for copies in `%s`", b->label);
    for (size_t at = 0; at < b->bytes; at += bytes)
        memcpy(b->host + at, tile, b->bytes - at < bytes ? b->bytes - at : bytes);
    return true;
}

/* How many bytes of `seen` are not 0. A sum of 128 fits into a byte, so the compiler adds a whole vector at a time. */
static uint64_t marked(const uint8_t *seen, uint64_t count)
{
    uint64_t sum = 0, at = 0;
    for (; at + 128 <= count; at += 128) {
        uint8_t some = 0;
        for (int i = 0; i < 128; i++)
            some = (uint8_t)(some + (seen[at + (uint64_t)i] != 0));
        sum += some;
    }
    for (; at < count; at++)
        sum += seen[at] != 0;
    return sum;
}

void buffer_touched(const struct buffer *b, double stands_for, uint64_t *read, uint64_t *written)
{
    const uint64_t sectors = b->bytes / 32, rest = b->bytes % 32;
    for (int i = 0; i < 2; i++) {
        const uint8_t *seen = i ? b->written : b->read;
        uint64_t own = 32 * marked(seen, sectors) + (rest && seen[sectors] ? rest : 0);
        double all = stands_for > 1 ? (double)own * stands_for : (double)own;
        *(i ? written : read) += all < (double)b->bytes ? (uint64_t)all : b->bytes;
    }
}

void space_remove(struct address_space *space, uint64_t address)
{
    for (int i = 0; i < space->count; i++)
        if (space->buffers[i]->base == address) {
            buffer_free(space->buffers[i]);
            memmove(space->buffers + i, space->buffers + i + 1, (size_t)(space->count - i - 1) * sizeof *space->buffers);
            space->count--;
            return;
        }
}
