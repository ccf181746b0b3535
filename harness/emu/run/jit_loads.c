/* emu/run/jit_loads: AVX-512 code for loads of a whole warp whose addresses lie as they did the last time. */
#include "emu/handlers.h"
#include "emu/ops.h"
#include "emu/run/jit.h"

static const struct x86_form move = {1, 1, 1, 0x6f}, xor_32 = {1, 1, 0, 0xef}, extract = {3, 1, 1, 0x3b}, ternary = {3, 1, 0, 0x25},
                             ternary_64 = {3, 1, 1, 0x25}, from_32 = {2, 1, 0, 0x7c}, from_64 = {2, 1, 1, 0x7c}, pick_32 = {2, 1, 0, 0x76},
                             pick_64 = {2, 1, 1, 0x76}, k_move = {1, 0, 0, 0x90}, k_move_8 = {1, 1, 0, 0x90}, k_or_test = {1, 0, 0, 0x98},
                             look = {2, 1, 1, 0x27}, spread_32 = {2, 1, 0, 0x58}, spread_64 = {2, 1, 1, 0x59}, first_32 = {1, 1, 0, 0x7e},
                             first_64 = {1, 1, 1, 0x7e}, subtract_32 = {1, 1, 0, 0xfa}, subtract_64 = {1, 1, 1, 0xfb},
                             sext_32 = {2, 1, 0, 0x25}, low_32 = {1, 1, 0, 0x62}, high_32 = {1, 1, 0, 0x6a}, low_64 = {1, 1, 1, 0x6c},
                             high_64 = {1, 1, 1, 0x6d};

bool jit_can_load(const struct program *p, const struct insn *ip)
{
    if ((ip->kind != MOVE_32 && ip->kind != MOVE_16) || (ip->flags & 2) || ip->imm != (int32_t)ip->imm || ip->count > 4 ||
        (ip->count > 1 && ip->kind != MOVE_32))
        return false;
    if (ip->op == OP_ld_shared)
        return p->simple_races && (ip->count == 1 || ip->count == 4) && !(ip->flags & ACCESS_OVERTAKEN);
    return ip->op == OP_ld_global;
}

/* K_LOOK: the running ones of `lanes` (8 or 16) lanes, the i-th so many. */
static void running(struct compiler *j, uint32_t lanes, int i)
{
    x86_mask_at(&j->code, lanes == 8 ? k_move_8 : k_move, K_LOOK, WARP, (uint32_t)offsetof(struct warp, mask) + lanes / 8 * (uint32_t)i);
}

/* ---- registers whose lanes differ alike ---- */
static struct jit_alike *find_alike(struct compiler *j, uint32_t ref)
{
    for (uint32_t i = 0; i < j->alike_count; i++)
        if (j->alike[i].ref == ref)
            return &j->alike[i];
    return NULL;
}

static void forget_alike(struct compiler *j, uint32_t i)
{
    memmove(j->alike + i, j->alike + i + 1, (--j->alike_count - i) * sizeof *j->alike);
}

static struct jit_alike *add_alike(struct compiler *j, struct jit_alike made)
{
    if (j->alike_count == JIT_ALIKE)
        forget_alike(j, 0);
    j->alike[j->alike_count] = made;
    return &j->alike[j->alike_count++];
}

static struct jit_alike *alike(struct compiler *j, uint32_t ref)
{
    struct jit_alike *a = find_alike(j, ref);
    return a ? a : add_alike(j, (struct jit_alike){ref, j->classes++, NO_REF});
}

void jit_follow(struct compiler *j, const struct insn *ip, uint32_t operation)
{
    const bool adds = ip->op == OP_add_32 || ip->op == OP_add_64, subtracts = ip->op == OP_sub_32 || ip->op == OP_sub_64;
    uint32_t from = NO_REF;
    struct jit_alike made = {0};
    if (ip->op == OP_mov_32 || ip->op == OP_mov_64 || ((adds || subtracts) && (ip->b & 1)))
        from = ip->a;
    else if (adds && (ip->a & 1))
        from = ip->b; /* the lanes of a constant are equal */
    if (from != NO_REF)
        made = *alike(j, from);
    for (uint32_t i = jit_first_access(j, operation); i < j->access_count && j->accesses[i].operation == operation; i++) {
        const struct jit_alike *written = j->accesses[i].write ? find_alike(j, j->accesses[i].ref) : NULL;
        if (written)
            forget_alike(j, (uint32_t)(written - j->alike));
    }
    if (from != NO_REF) {
        made.ref = ip->d;
        add_alike(j, made);
    }
}

/* ---- addresses ---- */
/* An address register: in vectors of one half or both, or in the frame. */
struct address {
    uint32_t ref;
    bool wide, held[2];
    struct value half[2];
};

/* rax: the address of the first lane that runs. */
static void first_address(struct compiler *j, const struct address *a)
{
    struct machine_code *c = &j->code;
    if (j->some) {
        X86(c, 0xf3); /* tzcnt eax, [rdi + mask] */
        X86(c, 0x0f);
        put_field(c, 0xbc, EAX, offsetof(struct warp, mask));
    }
    if (!a->held[0]) {
        if (a->wide)
            x86_byte(c, 0x48);
        if (j->some) { /* mov rax, [base + lanes * rax + ref] */
            X86(c, 0x8b, 0x84, (uint8_t)((a->wide ? 0xc0 : 0x80) | base_of(a->ref)));
            x86_word(c, a->ref);
        } else {
            put_word(c, 0x8b, a->ref);
        }
        return;
    }
    int first = a->half[0].reg[0];
    if (j->some) {
        first = T0;
        vector(j, a->wide ? from_64 : from_32, T0, 0, EAX);
    }
    if (j->some && !a->wide) { /* of two vectors the one that T0 says */
        vector(j, pick_32, T0, a->half[0].reg[0], a->half[1].reg[0]);
    } else if (j->some) {
        X86(c, 0x83, 0xf8, 16); /* cmp eax, 16 */
        const size_t upper = x86_jump(c, JUMP_NOT_BELOW);
        vector(j, pick_64, T0, a->half[0].reg[0], a->half[0].reg[1]);
        const size_t end = x86_jump(c, 0);
        x86_land(c, upper);
        vector(j, pick_64, T0, a->half[1].reg[0], a->half[1].reg[1]);
        x86_land(c, end);
    }
    x86_vector(c, a->wide ? first_64 : first_32, 0, first, 0, EAX, 0);
}

/* K_LOOK: what differs between the addresses of the lanes that run and those of the memo behind rsi, with rax as the first one. */
static void compare_addresses(struct compiler *j, const struct address *a, uint32_t memo)
{
    const uint32_t rel = memo + (uint32_t)offsetof(struct memo, rel);
    if (a->held[0] && !j->some)
        vector(j, a->wide ? spread_64 : spread_32, T0, 0, a->half[0].reg[0]);
    else
        vector(j, a->wide ? from_64 : from_32, T0, 0, EAX);
    for (int i = 0; i < (a->wide ? 2 : 1) * j->halves; i++) {
        const int h = a->wide ? i / 2 : i, reg = a->held[h] ? a->half[h].reg[a->wide ? i % 2 : 0] : T1;
        if (reg == T1)
            x86_vector_at(&j->code, move, X86_ZMM, T1, base_of(a->ref), a->ref + 64 * (uint32_t)i);
        vector(j, a->wide ? subtract_64 : subtract_32, T1, reg, T0);
        if (a->wide)
            x86_vector_at(&j->code, sext_32, X86_ZMM, T2, INSN, rel + 32 * (uint32_t)i);
        else
            x86_vector_at(&j->code, move, X86_ZMM, T2, INSN, rel + 64 * (uint32_t)i);
        if (!i)
            vector(j, xor_32, T3, T3, T3);
        if (j->some)
            running(j, a->wide ? 8 : 16, i);
        x86_vector(&j->code, a->wide ? ternary_64 : ternary, X86_ZMM, T3, T1, T2, j->some ? K_LOOK : 0);
        x86_byte(&j->code, 0xf6); /* T3 | (T1 ^ T2) */
    }
    x86_vector(&j->code, look, X86_ZMM, K_LOOK, T3, T3, 0);
}

/* The load's address register. `known`: its lanes differ as another load's did, and one of them is enough. */
static struct address hold_address(struct compiler *j, const struct insn *ip, bool known)
{
    const bool wide = ip->op == OP_ld_global || (ip->flags & 1);
    struct address a = {.ref = ip->a, .wide = wide};
    bool all = !known || j->records;
    for (j->half = 0; j->half < j->halves && known && !j->records; j->half++)
        a.held[j->half] = jit_held(j, ip->a, wide ? 8 : 4, &a.half[j->half]);
    all |= j->some && (a.held[0] || a.held[1]);
    for (j->half = 0; j->half < j->halves && all; j->half++) {
        a.half[j->half] = source(j, ip->a, wide ? 8 : 4);
        a.held[j->half] = true;
    }
    if (j->records && j->access_count)
        j->accesses[j->access_count - 1].scalar = known;
    return a;
}

static void call(struct machine_code *c, const void *function)
{
    put_address(c, EAX, function);
    X86(c, 0xff, 0xd0, 0x48, 0x89, 0xdf); /* call rax; mov rdi, rbx */
    jit_bases(c);
}

static void put_memos(struct machine_code *c)
{
    put_wide_field(c, 0x8b, INSN, offsetof(struct warp, memos)); /* mov rsi, [rdi + memos] */
}

static void compare_pattern(struct machine_code *c, uint32_t memo)
{
    x86_byte(c, 0x80); /* cmp byte [rsi + pattern], uniform */
    x86_modrm(c, 7, INSN, memo + (uint32_t)offsetof(struct memo, pattern));
    x86_byte(c, PATTERN_UNIFORM);
}

/* Several words of each lane: rax says where, and the memo how. */
static void put_rows(struct compiler *j, const struct insn *ip, uint32_t memo)
{
    struct machine_code *c = &j->code;
    int d[2][4];
    size_t other, end;
    if (j->some)
        x86_byte(c, 0x50); /* push rax: to store a predicate takes it */
    j->now++;
    for (j->half = 0; j->half < j->halves; j->half++)
        for (int v = 0; v < ip->count; v++)
            d[j->half][v] = ip->list[v] == NO_REF ? -1 : target(j, ip->list[v], 4).reg[0];
    if (j->some)
        x86_byte(c, 0x58); /* pop rax */
    put_memos(c);
    compare_pattern(c, memo);
    other = x86_jump(c, JUMP_NOT_ZERO);
    for (int v = 0; v < ip->count; v++)
        for (int h = 0; h < j->halves && d[h][v] >= 0; h++)
            x86_vector_at(c, spread_32, X86_ZMM, d[h][v], EAX, 4 * (uint32_t)v);
    end = x86_jump(c, 0);
    x86_land(c, other);
    for (int h = 0; h < j->halves && ip->count == 4; h++) { /* four transposes of 4 x 4 */
        X86(c, 0x48, 0x89, 0xc7);                           /* mov rdi, rax; its result is the host's address again */
        if (h) {
            X86(c, 0x48, 0x8b); /* mov rsi, [rbx + memos] */
            x86_modrm(c, INSN, 3, (uint32_t)offsetof(struct warp, memos));
        }
        X86(c, 0x48, 0x81, 0xc6); /* add rsi, memo's rel */
        x86_word(c, memo + (uint32_t)offsetof(struct memo, rel) + 64 * (uint32_t)h);
        call(c, (const void *)(uintptr_t)jit_rows);
        vector(j, low_32, T4, T0, T1);
        vector(j, high_32, T0, T0, T1);
        vector(j, low_32, T1, T2, T3);
        vector(j, high_32, T2, T2, T3);
        for (int v = 0; v < 4; v++)
            if (d[h][v] >= 0)
                vector(j, v & 1 ? high_64 : low_64, d[h][v], v < 2 ? T4 : T0, v < 2 ? T1 : T2);
    }
    x86_land(c, end);
}

void jit_load(struct compiler *j, const struct insn *ip, size_t jumps[2], struct values *then)
{
    struct machine_code *c = &j->code;
    const bool shared = ip->op == OP_ld_shared;
    const uint32_t memo = ip->memo * (uint32_t)sizeof(struct memo);
    const int count = ip->count, bytes = ip->kind == MOVE_32 ? 4 : 2;
    const uint32_t seen = ip->a & 1 ? NO_REF : alike(j, ip->a)->memo;
    size_t known = 0;
    j->now++;
    const struct address a = hold_address(j, ip, seen != NO_REF);
    first_address(j, &a);
    put_memos(c);
    if (seen != NO_REF) {   /* as the lanes of that load, if both patterns have one key */
        X86(c, 0x48, 0x8b); /* mov rcx, [rsi + key]; cmp rcx, [rsi + key] */
        x86_modrm(c, CONSTANTS, INSN, seen + (uint32_t)offsetof(struct memo, key));
        X86(c, 0x48, 0x3b);
        x86_modrm(c, CONSTANTS, INSN, memo + (uint32_t)offsetof(struct memo, key));
        known = x86_jump(c, JUMP_ZERO);
    } else if (!(ip->a & 1)) {
        for (uint32_t i = 0, class = alike(j, ip->a)->class; i < j->alike_count; i++)
            if (j->alike[i].class == class)
                j->alike[i].memo = memo;
    }
    compare_addresses(j, &a, memo);
    x86_mask(c, k_or_test, 0, K_LOOK, 0, K_LOOK);
    jumps[0] = x86_jump(c, JUMP_NOT_ZERO);
    if (known)
        x86_land(c, known);
    X86(c, 0x48, 0x89, 0xc2); /* mov rdx, rax */
    X86(c, 0x48, 0x81, 0xc2); /* add rdx, imm */
    x86_word(c, (uint32_t)ip->imm);
    X86(c, 0x48, 0x81, 0xc6); /* add rsi, memo */
    x86_word(c, memo);
    x86_byte(c, 0xb9); /* mov ecx, take */
    x86_word(c, count == 4 ? JIT_ROWS : count > 1 ? JIT_UNIFORM : bytes == 4 ? JIT_ANY_32 : JIT_ANY_16);
    call(c, shared ? (const void *)(uintptr_t)jit_shared : (const void *)(uintptr_t)jit_global);
    X86(c, 0x48, 0x85, 0xc0); /* test rax, rax */
    jumps[1] = x86_jump(c, JUMP_ZERO);
    *then = j->values;
    for (int i = 0; i < then->count; i++)
        then->at[i].dead &= then->at[i].used != j->now; /* the handler reads the address from the frame */
    if (count > 1)
        put_rows(j, ip, memo);
    j->now++;
    for (j->half = 0; j->half < j->halves && count == 1; j->half++) {
        const int d = target(j, ip->d, bytes).reg[0];
        if (bytes == 4 || !j->half)
            vector(j, move, d, 0, bytes == 4 && j->half ? T1 : T0);
        else
            x86_vector_by(c, extract, X86_ZMM, T0, 0, d, 1);
    }
}
