/* emu/run/jit: compiles sequences of operations in a basic block to AVX-512 code: lane-wise operations, loads that access the same lines as
 * the last time, and the branch at the end. The code becomes the handler of the first operation. Registers stay in vector registers if
 * there are enough: those that are needed soonest; a value that no operation reads again is not stored. A load that needs its handler
 * stores the registers and leaves the sequence; another sequence, without loads, begins after it. If some lanes are inactive, separate code
 * runs. Each NaN becomes the canonical one before it is used, so results have the same bits as those of the handlers. */
#include "emu/run/jit.h"
#include "emu/ops.h"
#include <stdlib.h>
#include <sys/mman.h>

static const struct x86_form broadcast = {2, 1, 0, 0x7c};

/* Where a load leaves the stretch: jumps to there, and what is in registers then. */
struct leaving {
    size_t jumps[2];
    uint32_t load;
    struct values values;
};
struct stretch {
    struct leaving *leaving;
    uint32_t count, room;
};

/* Adds a load, or operations up to `end` without loads. False: they do not fit. */
static bool compile_some(struct compiler *j, const struct insn *ip, uint32_t from, uint32_t end, struct stretch *loads)
{
    const bool load = !jit_can(ip + from);
    struct compiler before = *j;
    j->segment_end = load || end == from + 1 ? 0 : end;
    if (load) {
        if (loads->count == loads->room)
            loads->leaving = xrealloc(loads->leaving, (loads->room = 2 * loads->room + 16) * sizeof *loads->leaving);
        struct leaving *l = loads->leaving + loads->count;
        l->load = j->operation = from;
        jit_load(j, ip + from, l->jumps, &l->values);
    } else {
        jit_operations(j, ip, from, end);
    }
    loads->count += load && !j->full;
    if (!j->full) {
        for (uint32_t i = from; i < end; i++)
            jit_follow(j, ip + i, i);
        return true;
    }
    before.code.bytes = j->code.bytes;
    before.code.room = j->code.room;
    before.accesses = j->accesses;
    *j = before;
    return false;
}

/* What up to `most` operations read and write; returns how many can be compiled. */
static uint32_t record_accesses(struct compiler *j, const struct insn *ip, uint32_t most, uint32_t *segments)
{
    const size_t code = j->code.count;
    struct stretch loads = {0};
    uint32_t n = 0;
    j->records = true;
    j->full = false;
    j->halves = 2;
    j->access_count = j->alike_count = j->classes = 0;
    while (n < most && compile_some(j, ip, n, n + 1, &loads))
        n++;
    j->records = false;
    j->code.count = code;
    free(loads.leaving);
    if (n)
        jit_foresee(j, n, segments);
    return n;
}

/* The code of up to `most` operations, whose accesses are recorded; returns how many fit. */
static uint32_t compile_operations(struct compiler *j, const struct insn *ip, uint32_t most, const uint32_t *segments,
                                   struct stretch *loads)
{
    uint32_t done = 0;
    bool floats = false;
    j->full = false;
    j->values.count = 0;
    j->busy = j->busy_masks = j->now = 0;
    j->alike_count = j->classes = 0;
    for (uint32_t i = 0; i < most; i++)
        floats |= jit_is_float(ip + i);
    if (floats) {
        X86(&j->code, 0xb8, 0xff, 0xff, 0xff, 0x7f); /* mov eax, 0x7fffffff */
        x86_vector(&j->code, broadcast, X86_ZMM, NAN_REG, 0, EAX, 0);
    }
    while (done < most) {
        uint32_t end = done + 1;
        while (end < segments[done] && jit_can(ip + done) && jit_can(ip + end))
            end++;
        if (compile_some(j, ip, done, end, loads))
            done = end;
        else if (end > done + 1 && compile_some(j, ip, done, done + 1, loads))
            done++;
        else
            break;
    }
    return done;
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

/* The code of up to `most` operations from ip on, of which some are loads or none, and of what comes behind; returns how many. */
static uint32_t put_stretch(struct compiler *j, const struct program *p, const struct insn *ip, uint32_t most, const uint32_t *segments,
                            bool with_loads)
{
    struct machine_code *c = &j->code;
    struct stretch loads = {0};
    if (with_loads)
        X86(c, 0x53, 0x48, 0x89, 0xfb); /* push rbx; mov rbx, rdi */
    jit_bases(c);
    const uint32_t n = compile_operations(j, ip, most, segments, &loads);
    jit_flush(j, &j->values);
    if (with_loads)
        x86_byte(c, 0x5b); /* pop rbx */
    put_address(c, INSN, ip + n);
    put_end(c, p, ip + n);
    for (uint32_t i = 0; i < loads.count; i++) {
        const struct leaving *l = &loads.leaving[i];
        x86_land(c, l->jumps[0]);
        x86_land(c, l->jumps[1]);
        jit_bases(c);
        jit_flush(j, &l->values);
        x86_byte(c, 0x5b);
        put_address(c, INSN, ip + l->load);
        put_address(c, EAX, (const void *)(uintptr_t)ip[l->load].fn);
        X86(c, 0xff, 0xe0); /* jmp rax */
    }
    free(loads.leaving);
    return n;
}

/* The same for all lanes, for lanes 0 to 15 and for some; all go on where the next stretch begins. */
static uint32_t compile_stretch(struct compiler *j, const struct program *p, const struct insn *ip, uint32_t most, bool with_loads)
{
    static const uint32_t masks[] = {~0u, 0xffff};
    uint32_t segments[STRETCH_MAX], n = record_accesses(j, ip, most, segments);
    for (int i = 0; i < 3 && n; i++) {
        size_t other = 0;
        if (i < 2) {
            put_field(&j->code, 0x81, 7, offsetof(struct warp, mask)); /* cmp dword [rdi + mask], masks[i] */
            x86_word(&j->code, masks[i]);
            other = x86_jump(&j->code, JUMP_NOT_ZERO);
        }
        j->halves = i == 1 ? 1 : 2;
        j->some = i == 2;
        const uint32_t fit = put_stretch(j, p, ip, n, segments, with_loads);
        n = i ? n : fit;
        if (other)
            x86_land(&j->code, other);
    }
    return n;
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

/* Operations before `end` that a stretch from i on may have, and those of them before the first load. */
static uint32_t stretch_at(const struct program *p, uint32_t i, bool with_loads, uint32_t end, uint32_t *plain)
{
    uint32_t n = 0;
    *plain = 0;
    if (i && p->code[i - 1].op == OP_guard) /* runs alone */
        return 0;
    for (; i + n < end && n < STRETCH_MAX; n++) {
        if (!jit_can(p->code + i + n) && !(with_loads && jit_can_load(p, p->code + i + n)))
            break;
        *plain += *plain == n && jit_can(p->code + i + n);
    }
    return n;
}

/* A branch on its own. */
static bool jit_can_end(const struct program *p, uint32_t i)
{
    const int op = p->code[i].op;
    return (op == OP_fall || op == OP_bra || op == OP_bra_if) && !(i && (p->code[i - 1].op == OP_guard || jit_can(p->code + i - 1)));
}

void jit_compile(struct program *p)
{
    struct made {
        uint32_t insn;
        size_t at;
    } *made = xmalloc((size_t)(p->count + 1) * sizeof *made);
    struct compiler *j = xcalloc(1, sizeof *j);
    uint32_t count = 0, plain, end = 0; /* end: of the last stretch with loads */
    for (uint32_t i = 0, n; i < p->count; i += n) {
        const bool behind = i < end;
        const uint32_t most = stretch_at(p, i, !behind, behind ? end : p->count, &plain);
        made[count] = (struct made){i, j->code.count};
        if (!most && jit_can_end(p, i)) {
            jit_bases(&j->code);
            put_end(&j->code, p, p->code + i);
            count++;
        }
        n = most ? compile_stretch(j, p, p->code + i, most, plain < most) : 0;
        count += n > 0;
        if (n && !behind && plain < n) {
            end = i + n;
            n = plain;
        }
        n = n ? n : 1;
    }
    p->jit_bytes = (j->code.count + 4095) & ~(size_t)4095;
    p->jit = count ? map_code(&j->code, p->jit_bytes) : NULL;
    for (uint32_t i = 0; i < count && p->jit; i++)
        p->code[made[i].insn].fn = (op_fn)(uintptr_t)((uint8_t *)p->jit + made[i].at);
    FREE_ALL(made, j->code.bytes, j->accesses, j);
}
