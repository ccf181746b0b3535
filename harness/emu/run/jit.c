/* emu/run/jit: compiles stretches of lane-wise operations of a basic block to AVX-512 code, with the branch that ends them. The code
 * becomes the handler of the first operation of the stretch. Lanes 0 to 15 run first, then lanes 16 to 31. Nothing is stored before a half
 * is done: if a float operation has a NaN as its result, the half is computed again by code that makes each NaN the canonical one. The
 * results have the bits of the handlers'. */
#include "emu/run/jit.h"
#include "emu/ops.h"
#include <stdlib.h>
#include <sys/mman.h>

#define STRETCH_MAX 256

static const struct x86_form move_16 = {1, 3, 1, 0x6f}, move_32 = {1, 1, 0, 0x6f}, move_64 = {1, 1, 1, 0x6f}, store = {1, 1, 1, 0x7f};
static const struct x86_form broadcast = {2, 1, 0, 0x7c}, k_move = {1, 0, 0, 0x90}, k_to = {1, 0, 0, 0x93}, k_test = {1, 0, 0, 0x99};
static const struct x86_form k_shift = {3, 1, 1, 0x30};

/* Computes one half of up to `most` operations; returns how many fit. Nothing is stored. */
static uint32_t compile_half(struct compiler *j, const struct insn *ip, uint32_t most, int half, bool exact)
{
    uint32_t done = 0;
    j->value_count = j->seen_count = 0;
    j->busy = j->busy_masks = 0;
    j->half = half;
    j->exact = exact;
    j->asked = j->full = false;
    j->pending = -1;
    if (exact) {
        X86(&j->code, 0xb8, 0xff, 0xff, 0xff, 0x7f); /* mov eax, 0x7fffffff */
        x86_vector(&j->code, broadcast, X86_ZMM, NAN_REG, 0, EAX, 0);
    }
    for (; done < most; done++) {
        struct compiler before = *j;
        j->now = done + 1;
        jit_operation(j, ip + done);
        if (j->full) {
            before.code.bytes = j->code.bytes;
            before.code.room = j->code.room;
            *j = before;
            break;
        }
    }
    jit_ask_pending(j);
    return done;
}

/* An instruction of ordinary registers on a field of the warp. */
static void put_field(struct machine_code *c, unsigned opcode, int reg, size_t offset)
{
    x86_byte(c, opcode);
    x86_modrm(c, reg, WARP, (uint32_t)offset);
}
static void put_wide_field(struct machine_code *c, unsigned opcode, int reg, size_t offset)
{
    x86_byte(c, 0x48);
    put_field(c, opcode, reg, offset);
}
static void put_address(struct machine_code *c, unsigned reg, const void *address)
{
    X86(c, 0x48, (uint8_t)(0xb8 | reg));
    x86_put(c, &address, 8);
}
/* The word at `ref` and eax: an instruction. */
static void put_word(struct machine_code *c, unsigned opcode, uint32_t ref)
{
    x86_byte(c, opcode);
    x86_modrm(c, EAX, base_of(ref), ref);
}

/* Lanes that are off keep what stands there. Whole vectors are stored: a masked store is not forwarded to the load that follows. */
static void store_vector(struct compiler *j, const struct value *v, int i, bool some)
{
    struct machine_code *c = &j->code;
    const int length = v->bytes == 2 ? X86_YMM : X86_ZMM;
    const uint32_t at = v->ref + (uint32_t)(16 * v->bytes * j->half + 64 * i);
    if (some) {
        x86_vector_at(c, move_64, length, T0, FRAME, at);
        x86_vector(c, v->bytes == 2 ? move_16 : v->bytes == 4 ? move_32 : move_64, length, T0, 0, v->reg[i], i ? K1 : K0);
    }
    x86_vector_at(c, store, length, some ? T0 : v->reg[i], FRAME, at);
}

/* Stores what the half wrote. A predicate's lower half waits in r8 to r11, so that its word is stored at once. */
static void store_half(struct compiler *j, bool some)
{
    struct machine_code *c = &j->code;
    unsigned waiting = 0;
    if (some) {
        x86_mask_at(c, k_move, K0, WARP, (uint32_t)offsetof(struct warp, mask) + 2 * (uint32_t)j->half);
        x86_mask(c, k_shift, 0, K1, 0, K0);
        x86_byte(c, 8);
    }
    for (int n = 0; n < j->value_count; n++) {
        const struct value *v = &j->values[n];
        if (!v->dirty)
            continue;
        for (int i = 0; i < vectors_of(v) && v->bytes; i++)
            store_vector(j, v, i, some);
        if (v->bytes)
            continue;
        x86_mask(c, k_to, 0, j->half ? EAX : 8 + (int)waiting, 0, v->reg[0]);
        if (j->half) {
            X86(c, 0xc1, 0xe0, 16);                                   /* shl eax, 16 */
            X86(c, 0x44, 0x09, (uint8_t)(0xc0 | (waiting & 7) << 3)); /* or eax, r8d + n */
            if (some) {
                put_word(c, 0x33, v->ref);                            /* xor eax, [predicate] */
                put_field(c, 0x23, EAX, offsetof(struct warp, mask)); /* and eax, [rdi + mask] */
                put_word(c, 0x33, v->ref);
            }
            put_word(c, 0x89, v->ref); /* mov [predicate], eax */
        }
        waiting++;
    }
}

/* Enters a block as `enter` of lanes.inc does, if nothing else is to be done first; jumps that are to take the handler go to `slow`. */
static void put_enter(struct machine_code *c, const struct flow *to, size_t slow[2])
{
    const uint32_t count = to->id * (uint32_t)sizeof(struct block_count);
    put_field(c, 0x81, 7, offsetof(struct warp, earliest)); /* cmp dword [rdi + earliest], order */
    x86_word(c, to->order);
    slow[0] = x86_jump(c, JUMP_BELOW_EQUAL);
    put_field(c, 0x83, 7, offsetof(struct warp, fuel)); /* cmp dword [rdi + fuel], 0 */
    x86_byte(c, 0);
    slow[1] = x86_jump(c, JUMP_LESS_EQUAL);
    put_field(c, 0xff, 1, offsetof(struct warp, fuel));          /* dec dword [rdi + fuel] */
    put_wide_field(c, 0x8b, EAX, offsetof(struct warp, blocks)); /* mov rax, [rdi + blocks] */
    put_field(c, 0x8b, CONSTANTS, offsetof(struct warp, lanes)); /* mov ecx, [rdi + lanes] */
    X86(c, 0x48, 0xff);                                          /* inc qword [rax + executions] */
    x86_modrm(c, 0, EAX, count + (uint32_t)offsetof(struct block_count, executions));
    X86(c, 0x48, 0x01); /* add [rax + threads], rcx */
    x86_modrm(c, CONSTANTS, EAX, count + (uint32_t)offsetof(struct block_count, threads));
    put_address(c, INSN, to->start);
    X86(c, 0xff, 0x26); /* jmp [rsi] */
}

/* Behind the stretch: the branch that ends it, if one does, then the next handler. rsi: that operation. */
static void put_end(struct machine_code *c, const struct program *p, const struct insn *ip)
{
    size_t slow[5], count = 0;
    if (ip->op == OP_fall || ip->op == OP_bra) {
        put_enter(c, ip->target, slow);
        count = 2;
    } else if (ip->op == OP_bra_if) {
        put_word(c, 0x8b, ip->a); /* mov eax, [predicate] */
        if (ip->flags & 1)
            X86(c, 0xf7, 0xd0);                               /* not eax */
        put_field(c, 0x23, EAX, offsetof(struct warp, mask)); /* and eax, [rdi + mask] */
        put_field(c, 0x3b, EAX, offsetof(struct warp, mask)); /* cmp eax, [rdi + mask] */
        const size_t other = x86_jump(c, JUMP_NOT_ZERO);
        put_enter(c, ip->target, slow);
        x86_land(c, other);
        X86(c, 0x85, 0xc0); /* test eax, eax */
        slow[2] = x86_jump(c, JUMP_NOT_ZERO);
        put_enter(c, p->flows + ip->d, slow + 3);
        count = 5;
    }
    for (size_t i = 0; i < count; i++)
        x86_land(c, slow[i]);
    if (count) {
        put_address(c, EAX, (const void *)(uintptr_t)ip->fn);
        X86(c, 0xff, 0xe0); /* jmp rax */
    } else {
        X86(c, 0xff, 0x26); /* jmp [rsi] */
    }
}

/* The code of `n` operations from ip on; returns where it begins. Rare ways lie behind it. */
static size_t compile_stretch(struct compiler *j, const struct program *p, const struct insn *ip, uint32_t n)
{
    struct machine_code *c = &j->code;
    const size_t begin = c->count;
    size_t again[2] = {0}, computed[2], some[2], stored[2];
    put_wide_field(c, 0x8b, FRAME, offsetof(struct warp, base)); /* mov rdx, [rdi + base] */
    put_wide_field(c, 0x8b, CONSTANTS, offsetof(struct warp, base) + sizeof(uint8_t *));
    for (int half = 0; half < 2; half++) {
        compile_half(j, ip, n, half, false);
        if (j->asked) {
            x86_mask_at(c, k_move, K0, WARP, (uint32_t)offsetof(struct warp, mask) + 2 * (uint32_t)half);
            x86_mask(c, k_test, 0, K_NAN, 0, K0);
            again[half] = x86_jump(c, JUMP_NOT_ZERO);
        }
        computed[half] = c->count;
        put_field(c, 0x83, 7, offsetof(struct warp, mask)); /* cmp dword [rdi + mask], -1 */
        x86_byte(c, 255);
        some[half] = x86_jump(c, JUMP_NOT_ZERO);
        store_half(j, false);
        stored[half] = c->count;
    }
    X86(c, 0x48, 0x81, 0xc6); /* add rsi, ... */
    x86_word(c, n * (uint32_t)sizeof *ip);
    put_end(c, p, ip + n);
    for (int half = 0; half < 2; half++) {
        if (again[half]) {
            x86_land(c, again[half]);
            compile_half(j, ip, n, half, true);
            x86_land_at(c, x86_jump(c, 0), computed[half]);
        }
        x86_land(c, some[half]);
        j->half = half; /* both halves use the same registers */
        store_half(j, true);
        x86_land_at(c, x86_jump(c, 0), stored[half]);
    }
    return begin;
}

/* Maps the code. NULL: a hardened system does not allow it, and the handlers go on. */
static uint8_t *map_code(const struct machine_code *c, size_t bytes)
{
    uint8_t *code = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return NULL;
    memcpy(code, c->bytes, c->count);
    if (!mprotect(code, bytes, PROT_READ | PROT_EXEC))
        return code;
    munmap(code, bytes);
    return NULL;
}

void jit_compile(struct program *p)
{
    struct stretch {
        uint32_t insn;
        size_t at;
    } *made = xmalloc((size_t)(p->count + 1) * sizeof *made);
    struct compiler *j = xcalloc(1, sizeof *j);
    uint32_t count = 0, n;
    for (uint32_t i = 0; i < p->count; i += n) {
        uint32_t most = 0;
        bool guarded = i && p->code[i - 1].op == OP_guard; /* runs alone */
        while (i + most < p->count && most < STRETCH_MAX && !guarded && jit_can(p->code + i + most))
            most++;
        const size_t before = j->code.count;
        n = compile_half(j, p->code + i, most, 0, false);
        j->code.count = before;
        if (n) {
            made[count].at = compile_stretch(j, p, p->code + i, n);
            made[count++].insn = i;
        } else {
            n = 1;
        }
    }
    p->jit_bytes = (j->code.count + 4095) & ~(size_t)4095;
    p->jit = count ? map_code(&j->code, p->jit_bytes) : NULL;
    for (uint32_t i = 0; i < count && p->jit; i++)
        p->code[made[i].insn].fn = (op_fn)(uintptr_t)((uint8_t *)p->jit + made[i].at);
    free(made);
    free(j->code.bytes);
    free(j);
}
