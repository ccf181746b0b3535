/* emu/run/buffer: buffers of the device's memory, zero at first. A large one takes memory of the host where it is touched, and no more. */
#pragma once

#include "base/error.h"
#include "emu/exec.h"

/* known: all of it counts as written. NULL + err: there is no memory for it. */
struct buffer *buffer_new(struct address_space *space, const char *label, size_t bytes, bool known, struct error *err);
void buffer_free(struct buffer *b);
/* Fills the buffer with copies of a tile. A large one shares the tile's memory until something writes there. */
bool buffer_repeat(struct buffer *b, const void *tile, size_t bytes, struct error *err);
/* Takes the buffer at this address out of the space and frees it. */
void space_remove(struct address_space *space, uint64_t address);

/* Adds the bytes of its sectors that were read and written since the last clear. stands_for > 1: the blocks that ran stand for so many
 * each; then as many times the bytes, and at most all of the buffer. */
void buffer_touched(const struct buffer *b, double stands_for, uint64_t *read, uint64_t *written);
