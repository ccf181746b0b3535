/* emu/run/jit_values: which PTX registers compiled code holds in registers of the processor, and when the frame gets them. */
#include "emu/ops.h"
#include "emu/run/jit.h"

static const struct x86_form k_move = {1, 0, 0, 0x90}, k_put = {1, 0, 0, 0x91}, k_to = {1, 0, 0, 0x93}, k_to_32 = {1, 3, 0, 0x93};
static const struct x86_form k_shift = {3, 1, 1, 0x30}, k_unpack = {1, 0, 0, 0x4b};
static const struct x86_form move = {1, 1, 1, 0x6f}, move_16 = {1, 3, 1, 0x6f}, move_32 = {1, 1, 0, 0x6f}, compare = {1, 0, 0, 0xc2},
                             put = {1, 1, 1, 0x7f};

void jit_canonical(struct compiler *j, int reg)
{
    x86_vector(&j->code, compare, X86_ZMM, K_LOOK, reg, reg, 0);
    x86_byte(&j->code, 3); /* unordered */
    x86_vector(&j->code, move_32, X86_ZMM, reg, 0, NAN_REG, K_LOOK);
}

/* Lanes that are off keep what stands there. Whole vectors are stored: a masked store is not forwarded to the load that follows. */
static void store_vector(struct compiler *j, const struct value *v, int i)
{
    struct machine_code *c = &j->code;
    const int length = v->bytes == 2 ? X86_YMM : X86_ZMM;
    const uint32_t at = v->ref + (uint32_t)(16 * v->bytes * v->half + 64 * i);
    if (j->some) {
        x86_mask_at(c, k_move, K_LOOK, WARP, (uint32_t)offsetof(struct warp, mask) + 2 * (uint32_t)v->half);
        if (i) {
            x86_mask(c, k_shift, 0, K_LOOK, 0, K_LOOK);
            x86_byte(c, 8);
        }
        x86_vector_at(c, move, length, T3, FRAME, at);
        x86_vector(c, v->bytes == 2 ? move_16 : v->bytes == 4 ? move_32 : move, length, T3, 0, v->reg[i], K_LOOK);
    }
    x86_vector_at(c, put, length, j->some ? T3 : v->reg[i], FRAME, at);
}

/* Half of a predicate. */
static void store_mask(struct compiler *j, const struct value *v)
{
    struct machine_code *c = &j->code;
    const uint32_t at = v->ref + 2 * (uint32_t)v->half;
    if (!j->some) {
        x86_mask_at(c, k_put, v->reg[0], FRAME, at);
        return;
    }
    x86_mask(c, k_to, 0, EAX, 0, v->reg[0]);
    x86_byte(c, 0x66); /* xor ax, [predicate]; and ax, [rdi + mask]; xor [predicate], ax */
    put_word(c, 0x33, at);
    x86_byte(c, 0x66);
    put_field(c, 0x23, EAX, offsetof(struct warp, mask) + 2 * v->half);
    x86_byte(c, 0x66);
    put_word(c, 0x31, at);
}

static void store_value(struct compiler *j, const struct value *v)
{
    if (v->raw)
        jit_canonical(j, v->reg[0]);
    for (int i = 0; i < vectors_of(v) && v->bytes; i++)
        store_vector(j, v, i);
    if (!v->bytes)
        store_mask(j, v);
}

/* Both halves of a predicate at once, or the only one that is used: its word is read soon. */
static void store_masks(struct compiler *j, const struct value *low, const struct value *high)
{
    struct machine_code *c = &j->code;
    if (high)
        x86_mask(c, k_unpack, 1, K_LOOK, high->reg[0], low->reg[0]);
    x86_mask(c, high ? k_to_32 : k_to, 0, EAX, 0, high ? K_LOOK : low->reg[0]);
    if (j->some || !high) { /* xor eax, [predicate]; and eax, [rdi + mask]; xor eax, [predicate] */
        put_word(c, 0x33, low->ref);
        put_field(c, 0x23, EAX, offsetof(struct warp, mask));
        put_word(c, 0x33, low->ref);
    }
    put_word(c, 0x89, low->ref);
}

void jit_flush(struct compiler *j, const struct values *values)
{
    for (int n = 0; n < values->count; n++) {
        const struct value *v = &values->at[n], *other = NULL;
        for (int i = 0; i < values->count && !v->bytes && v->dirty; i++)
            if (i != n && values->at[i].dirty && values->at[i].ref == v->ref && !values->at[i].bytes)
                other = &values->at[i];
        if (v->dead)
            continue;
        if ((other && !v->half) || (!v->bytes && v->dirty && j->halves == 1))
            store_masks(j, v, other);
        else if (v->dirty && !other)
            store_value(j, v);
    }
}

static void drop_value(struct compiler *j, int n)
{
    struct value *at = j->values.at;
    const struct value v = at[n];
    if (v.dirty && !v.dead)
        store_value(j, &v);
    for (int i = 0; i < (v.bytes ? vectors_of(&v) : 1); i++)
        *(v.bytes ? &j->busy : &j->busy_masks) &= ~(1u << v.reg[i]);
    memmove(at + n, at + n + 1, (size_t)(--j->values.count - n) * sizeof *at);
}

/* Registers may share bytes of the frame, one after the other: the frame gets the earlier one's first. */
static void drop_sharing(struct compiler *j, uint32_t ref, int bytes)
{
    const uint32_t end = ref + (bytes ? 32 * (uint32_t)bytes : 4);
    for (int n = j->values.count - 1; n >= 0; n--) {
        const struct value *v = &j->values.at[n];
        const uint32_t v_end = v->ref + (v->bytes ? 32 * (uint32_t)v->bytes : 4);
        if (((v->ref ^ ref) & 1) || end <= v->ref || v_end <= ref || (v->ref == ref && v->bytes == bytes))
            continue;
        j->full |= v->used == j->now;
        drop_value(j, n);
    }
}

/* How far away its next use is, in steps of half an operation. */
static uint32_t distance(const struct compiler *j, const struct value *v)
{
    if (v->next == JIT_NEVER)
        return JIT_NEVER - v->dirty;
    return v->next + (v->next < j->segment_end && v->half == j->half ? 0 : STRETCH_MAX);
}

static int take_register(struct compiler *j, bool predicate)
{
    uint32_t *busy = predicate ? &j->busy_masks : &j->busy, all = predicate ? ((1u << K_COUNT) - 1) << K_FIRST : (1u << CACHE) - 1;
    while (!(all & ~*busy)) {
        int last = -1; /* the one that is needed last */
        for (int i = 0; i < j->values.count; i++) {
            const struct value *v = &j->values.at[i];
            if (v->used != j->now && !v->bytes == predicate && (last < 0 || distance(j, v) > distance(j, &j->values.at[last])))
                last = i;
        }
        if (last < 0) {
            j->full = true;
            return predicate ? K_FIRST : 0;
        }
        drop_value(j, last);
    }
    int reg = __builtin_ctz(all & ~*busy);
    *busy |= 1u << reg;
    return reg;
}

static struct value *find_value(struct compiler *j, uint32_t ref, int bytes)
{
    return FIRST_IN(j->values.at, i, j->values.count,
                    j->values.at[i].ref == ref && j->values.at[i].bytes == bytes && j->values.at[i].half == j->half);
}

static void record(struct compiler *j, uint32_t ref, int bytes, bool write)
{
    j->full |= ref == NO_REF;
    if (j->full || j->half)
        return;
    if (j->access_count == j->access_room)
        j->accesses = xrealloc(j->accesses, (j->access_room = 2 * j->access_room + 256) * sizeof *j->accesses);
    j->accesses[j->access_count++] = (struct jit_access){.ref = ref, .operation = j->operation, .bytes = (uint8_t)bytes, .write = write};
}

/* The operation reads or writes it now. */
static struct value *see_value(struct compiler *j, struct value *v, bool write)
{
    const struct jit_access *a = jit_find_access(j, v->ref, v->bytes, write);
    v->used = j->now;
    v->dirty |= write;
    v->dead = a && a->dead;
    v->next = a ? a->next : 0;
    return v;
}

struct value jit_hold(struct compiler *j, uint32_t ref, int bytes, enum jit_use use)
{
    const bool load = use == JIT_READ || use == JIT_READ_RAW, write = !load;
    if (j->records) {
        record(j, ref, bytes, write);
        return (struct value){.ref = ref, .bytes = (uint8_t)bytes};
    }
    struct value *v = find_value(j, ref, bytes);
    if (!v) {
        struct value made = {.ref = ref, .bytes = (uint8_t)bytes, .half = (uint8_t)j->half, .used = j->now};
        j->full |= ref == NO_REF;
        if (!j->full)
            drop_sharing(j, ref, bytes);
        for (int i = 0; i < vectors_of(&made); i++)
            made.reg[i] = (uint8_t)take_register(j, !bytes);
        if (j->full)
            return made;
        for (int i = 0; i < vectors_of(&made) && load; i++) {
            const uint32_t at = ref + (uint32_t)(bytes ? 16 * bytes * j->half + 64 * i : 2 * j->half);
            if (bytes)
                x86_vector_at(&j->code, move, bytes == 2 ? X86_YMM : X86_ZMM, made.reg[i], base_of(ref), at);
            else
                x86_mask_at(&j->code, k_move, made.reg[i], base_of(ref), at);
        }
        v = &j->values.at[j->values.count++];
        *v = made;
    }
    see_value(j, v, write);
    if (v->raw && use == JIT_READ)
        jit_canonical(j, v->reg[0]);
    v->raw = use == JIT_WRITE_RAW || (v->raw && use == JIT_READ_RAW);
    return *v;
}

bool jit_held(struct compiler *j, uint32_t ref, int bytes, struct value *v)
{
    struct value *found = find_value(j, ref, bytes);
    if (found)
        *v = *see_value(j, found, false);
    return found != NULL;
}

bool jit_take_over(struct compiler *j, uint32_t from, uint32_t ref)
{
    struct value *v = j->records || ref == NO_REF ? NULL : find_value(j, from, 4);
    if (!v || !(v->dead || (!v->dirty && v->next == JIT_NEVER)))
        return false;
    struct value *old = find_value(j, ref, 4);
    if (old) { /* what it held is overwritten */
        if (old->used == j->now)
            return false;
        old->dead = true;
        drop_value(j, (int)(old - j->values.at));
    }
    drop_sharing(j, ref, 4);
    v = find_value(j, from, 4);
    if (j->full)
        return false;
    v->ref = ref;
    v->raw = true;
    see_value(j, v, true);
    return true;
}
