/* emu/check/stored: what a store is about to write, for the checks that compare it with what is there. */
#include "emu/handlers.h"
#include "emu/tensor.h"
#include <string.h>

void lane_out(struct warp *w, const struct insn *ip, int i, uint8_t *to)
{
    for (int v = 0; v < ip->count; v++, to += ip->size) {
        uint32_t ref = ip->count == 1 ? ip->d : ip->list[v];
        switch (ip->kind) {
        case MOVE_16:
        case MOVE_U8_16:
        case MOVE_S8_16: memcpy(to, &SLOT(uint16_t, w, ref)[i], ip->size); break;
        case MOVE_32:
        case MOVE_U8_32:
        case MOVE_S8_32:
        case MOVE_U16_32:
        case MOVE_S16_32: memcpy(to, &SLOT(uint32_t, w, ref)[i], ip->size); break;
        case MOVE_128: memcpy(to, &SLOT(uint64_t, w, ref)[2 * i], 16); break;
        default: memcpy(to, &SLOT(uint64_t, w, ref)[i], ip->size); break;
        }
    }
}

void matrix_row(const struct warp *w, const struct insn *ip, int lane, uint8_t *row)
{
    const uint8_t *tile = SLOT(const uint8_t, w, ip->list[lane / 8]);
    int r = lane % 8;
    for (int c = 0; c < 16 && ip->kind == MATRIX_BYTES; c++) /* two rows of 8 and their two neighbours make a register */
        row[c] = tile[16 * (c % 8) + r / 2 * 4 + r % 2 + c / 8 * 2];
    for (int c = 0; c < 8 && ip->kind != MATRIX_BYTES; c++)
        memcpy(row + 2 * c, ip->kind ? tile + 16 * c + 2 * r : tile + 16 * r + 2 * c, 2);
}
