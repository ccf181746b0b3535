/* emu/run/x86: writes AVX-512 machine code into a buffer. Registers of vectors are 0 to 31, of masks 0 to 7, others as the processor
 * numbers them. Memory operands are a base register and a displacement. */
#pragma once

#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct machine_code {
    uint8_t *bytes;
    size_t count, room;
};

static inline void x86_put(struct machine_code *c, const void *bytes, size_t n)
{
    if (c->count + n > c->room) {
        c->room = 2 * (c->room + n) + 4096;
        c->bytes = xrealloc(c->bytes, c->room);
    }
    memcpy(c->bytes + c->count, bytes, n);
    c->count += n;
}
static inline void x86_byte(struct machine_code *c, unsigned byte)
{
    x86_put(c, &(uint8_t){(uint8_t)byte}, 1);
}
static inline void x86_word(struct machine_code *c, uint32_t word)
{
    x86_put(c, &word, 4);
}
#define X86(c, ...) x86_put(c, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* A jump over a distance that is known later: x86_land sets it to where the code ends then. */
static inline size_t x86_jump(struct machine_code *c, unsigned condition) /* second byte of jcc; 0: always */
{
    if (condition)
        X86(c, 0x0f, (uint8_t)condition);
    else
        x86_byte(c, 0xe9);
    x86_word(c, 0);
    return c->count;
}
static inline void x86_land_at(struct machine_code *c, size_t jump, size_t target)
{
    const int32_t distance = (int32_t)((int64_t)target - (int64_t)jump);
    memcpy(c->bytes + jump - 4, &distance, 4);
}
static inline void x86_land(struct machine_code *c, size_t jump)
{
    x86_land_at(c, jump, c->count);
}
#define JUMP_NOT_BELOW 0x83u
#define JUMP_ZERO 0x84u
#define JUMP_NOT_ZERO 0x85u
#define JUMP_BELOW_EQUAL 0x86u
#define JUMP_LESS_EQUAL 0x8eu

/* An instruction of vectors: opcode map (1: 0f, 2: 0f38, 3: 0f3a), prefix (0, 1: 66, 2: f3, 3: f2), 64-bit elements?, opcode. */
struct x86_form {
    uint8_t map, prefix, wide, opcode;
};
enum { X86_YMM = 1, X86_ZMM = 2 };

static inline void x86_evex(struct machine_code *c, struct x86_form f, int length, int reg, int second, int mask, unsigned rm_high)
{
    X86(c, 0x62, (uint8_t)(((~reg >> 3 & 1) << 7) | (~rm_high & 3) << 5 | ((~reg >> 4 & 1) << 4) | f.map),
        (uint8_t)(f.wide << 7 | (~second & 15) << 3 | 4 | f.prefix), (uint8_t)(length << 5 | (~second >> 4 & 1) << 3 | mask), f.opcode);
}
/* reg, second, rm: vectors; lanes that `mask` leaves out keep their value (0: all are written) */
static inline void x86_vector(struct machine_code *c, struct x86_form f, int length, int reg, int second, int rm, int mask)
{
    x86_evex(c, f, length, reg, second, mask, (unsigned)(rm >> 3 & 3));
    x86_byte(c, 0xc0u | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}
static inline void x86_modrm(struct machine_code *c, int reg, int base, uint32_t displacement)
{
    x86_byte(c, 0x80u | (unsigned)(reg & 7) << 3 | (unsigned)(base & 7));
    x86_word(c, displacement);
}
static inline void x86_vector_at(struct machine_code *c, struct x86_form f, int length, int reg, int base, uint32_t displacement)
{
    x86_evex(c, f, length, reg, 0, 0, 0);
    x86_modrm(c, reg, base, displacement);
}
/* The same with a byte behind it. */
static inline void x86_vector_by(struct machine_code *c, struct x86_form f, int length, int reg, int second, int rm, unsigned by)
{
    x86_vector(c, f, length, reg, second, rm, 0);
    x86_byte(c, by);
}

/* Masks: `length` 1 with two sources. */
static inline void x86_vex(struct machine_code *c, struct x86_form f, int length, int reg, int second)
{
    X86(c, 0xc4, (uint8_t)((reg < 8) << 7 | 0x60 | f.map), (uint8_t)(f.wide << 7 | (~second & 15) << 3 | length << 2 | f.prefix), f.opcode);
}
static inline void x86_mask(struct machine_code *c, struct x86_form f, int length, int reg, int second, int rm)
{
    x86_vex(c, f, length, reg, second);
    x86_byte(c, 0xc0u | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}
static inline void x86_mask_at(struct machine_code *c, struct x86_form f, int reg, int base, uint32_t displacement)
{
    x86_vex(c, f, 0, reg, 0);
    x86_modrm(c, reg, base, displacement);
}
