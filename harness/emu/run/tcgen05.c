/* emu/run/tcgen05: the products of tensor memory: instruction descriptors, operands, layouts, and the sums that are not those of
 * tensor_sum.h. */
#include "base/dtype.h"
#include "emu/convert.h"
#include "emu/tensor.h"
#include "emu/tensor_memory.h"
#include <math.h>
#include <string.h>

static bool wrong(struct warp *w, const struct insn *ip, int lane, uint32_t idesc, const char *what)
{
    emu_report(w, ip, lane, "descriptor", "instruction descriptor 0x%x: %s", idesc, what);
    return false;
}

static bool scaled(enum tensor_kind kind)
{
    return kind >= KIND_MXF8F6F4;
}

/* The legal shapes of PTX ISA 9.0, table "Various combinations of .kind and shapes". */
static bool shape_is_legal(const struct product *p, bool stationary)
{
    uint32_t step = p->kind == KIND_I8 && p->n > 32 ? 16 : p->groups == 2 && p->m == 256 ? 16 : p->m == 128 || p->groups == 2 ? 16 : 8;
    if (stationary)
        return (p->m == 32 || p->m == 64 || p->m == 128) && (p->n == 64 || p->n == 128 || p->n == 256);
    bool rows = p->groups == 2 ? p->m == 128 || p->m == 256 : p->m == 128 || (p->m == 64 && !scaled(p->kind));
    return rows && p->n >= 8 && p->n <= 256 && p->n % (scaled(p->kind) ? 8 : step) == 0;
}

/* The depth of a scaled product: that of bit 3 or 31 is of one chip. */
static bool product_depth(struct warp *w, const struct insn *ip, int lane, uint32_t v, struct product *p)
{
    int cc = w->runner->launch->chip->cc;
    bool mx8 = p->kind == KIND_MXF8F6F4, twice = mx8 ? v >> 31 : v >> 3 & 1, ultra = !mx8 && v >> 31;
    if ((mx8 && (v >> 3 & 1)) || (ultra && twice))
        return wrong(w, ip, lane, v, "emu supports no other depth (bits 3 and 31)");
    if (twice && (cc != 107 || 2 * p->k / ip->list[PRODUCT_BLOCK] > 4))
        return wrong(w, ip, lane, v, "twice the depth is of sm_107 alone, and emu reads at most four scales of a row");
    if (ultra && cc != 103)
        return wrong(w, ip, lane, v, "a depth of 96 is of sm_103 alone");
    if (ultra && ip->list[PRODUCT_BLOCK] == 16 && ((v >> 29 & 1) || (v >> 4 & 1)))
        return wrong(w, ip, lane, v, "six scales of a row begin at byte 0 or 2");
    p->k = ultra ? 96 : p->k << twice; /* twice as Triton 3.9 writes it for sm_107 */
    return true;
}

bool product_read(struct warp *w, const struct insn *ip, int lane, struct product *p)
{
    static const uint32_t depth[] = {16, 8, 32, 32, 32, 64, 64};
    const uint32_t *l = ip->list;
    uint32_t v = SLOT(const uint32_t, w, l[PRODUCT_IDESC])[lane];
    *p = (struct product){.kind = (enum tensor_kind)ip->kind, .groups = ip->size, .n = (v >> 17 & 63) << 3};
    p->k = depth[p->kind];
    p->m = scaled(p->kind) ? (v >> 27 & 3) << 7 : (v >> 24 & 31) << 4;
    p->rows = p->m / p->groups;
    p->parts = p->rows == 32 ? 4 : p->rows == 64 && (l[PRODUCT_STATIONARY] || p->groups == 2) ? 2 : 1;
    p->type_d = scaled(p->kind) ? 1 : v >> 4 & 3;
    p->type_a = v >> 7 & 7;
    p->type_b = v >> 10 & (p->kind >= KIND_MXF4 ? 3 : 7);
    p->negative_a = v >> 13 & 1, p->negative_b = v >> 14 & 1;
    p->across_a = v >> 15 & 1, p->across_b = v >> 16 & 1;
    p->saturate = !scaled(p->kind) && (v >> 3 & 1);
    if (v >> 2 & 1)
        return wrong(w, ip, lane, v, "emu supports no sparse matrices");
    if (scaled(p->kind) && !product_depth(w, ip, lane, v, p))
        return false;
    if (!shape_is_legal(p, l[PRODUCT_STATIONARY])) {
        emu_report(w, ip, lane, "descriptor", "instruction descriptor 0x%x: a product of %u x %u with %u block%s does not exist", v, p->m,
                   p->n, p->groups, p->groups == 1 ? "" : "s");
        return false;
    }
    if (l[PRODUCT_ASHIFT] && p->m < 128)
        return wrong(w, ip, lane, v, "'.ashift' needs 128 or 256 rows");
    if (product_type(p, p->type_a) < 0 || product_type(p, p->type_b) < 0 || (p->kind == KIND_F16 && p->type_a != p->type_b))
        return wrong(w, ip, lane, v, "these types do not go with the kind of the instruction");
    if (p->kind == KIND_I8 ? p->type_d != 2 : p->type_d > 1 || (p->kind == KIND_TF32 && p->type_d != 1))
        return wrong(w, ip, lane, v, "the result has a type that does not go with the kind of the instruction");
    if ((p->across_a || p->across_b) && (p->kind == KIND_MXF4 || p->kind == KIND_MXF4NVF4))
        return wrong(w, ip, lane, v, "matrices of 4 bits are K-major");
    return tensor_pair(w, ip, lane, p->of);
}

/* ---- elements ---- */
enum element { E_F16, E_BF16, E_TF32, E_E4M3, E_E5M2, E_E2M3, E_E3M2, E_E2M1, E_U8, E_S8 };

int product_type(const struct product *p, uint32_t type)
{
    static const int8_t f8f6f4[] = {E_E4M3, E_E5M2, -1, E_E2M3, E_E3M2, E_E2M1, -1, -1};
    switch (p->kind) {
    case KIND_F16: return type < 2 ? (int)type : -1;
    case KIND_TF32: return type == 2 ? E_TF32 : -1;
    case KIND_I8: return type < 2 ? E_U8 + (int)type : -1;
    case KIND_MXF4:
    case KIND_MXF4NVF4: return type == 1 ? E_E2M1 : -1;
    default: return f8f6f4[type];
    }
}

static const uint8_t element_bits[] = {16, 16, 32, 8, 8, 6, 6, 4, 8, 8};

/* Element i of bytes: `packed` tells whether elements of less than 8 bits lie side by side. */
static float element_at(const uint8_t *from, uint32_t i, enum element e)
{
    uint32_t bits = element_bits[e], at = i * bits;
    uint64_t v = 0;
    memcpy(&v, from + at / 8, (at % 8 + bits + 7) / 8);
    uint32_t u = (uint32_t)(v >> at % 8) & (uint32_t)((1ull << bits) - 1);
    float f;
    switch (e) {
    case E_F16: return f16_to_f32((uint16_t)u);
    case E_BF16: return bf16_to_f32((uint16_t)u);
    case E_E4M3: return emu_fp8((uint8_t)u, true);
    case E_E5M2: return emu_fp8((uint8_t)u, false);
    case E_E2M3: return (float)narrow_value((uint8_t)u, FORM_E2M3);
    case E_E3M2: return (float)narrow_value((uint8_t)u, FORM_E3M2);
    case E_E2M1: return (float)narrow_value((uint8_t)u, FORM_E2M1);
    case E_U8: return (float)u;
    case E_S8: return (float)(int8_t)u;
    default:
        u &= 0xffffe000u; /* tf32: 19 bits count */
        memcpy(&f, &u, 4);
        return f;
    }
}

/* Elements that 16 bytes of shared memory hold: those of 4 and 6 bits take a byte each, packed to the front, but for the kinds mxf4. */
static uint32_t per_chunk(const struct product *p, enum element e)
{
    if (p->kind == KIND_MXF4 || p->kind == KIND_MXF4NVF4)
        return 32;
    return e == E_TF32 ? 4 : e == E_F16 || e == E_BF16 ? 8 : 16;
}

/* ---- operands ---- */
struct operand {
    struct block *b;
    const struct tensor_descriptor *d;
    enum element type;
    bool across, negative;
    uint32_t rows;
};

/* out[r * row + k * step] for all r and k. */
static bool from_shared(struct warp *w, const struct insn *ip, int lane, const struct product *p, const struct operand *o, float *out,
                        bool columns)
{
    uint32_t per = per_chunk(p, o->type), outer = o->across ? p->k : o->rows, inner = o->across ? o->rows : p->k;
    for (uint32_t x = 0; x < outer; x++)
        for (uint32_t y = 0; y < inner; y += per) {
            uint32_t r = o->across ? y : x, k = o->across ? x : y;
            const uint8_t *chunk =
                tensor_chunk(w, ip, lane, o->b, o->d, o->across ? y / per * 16 : r, o->across ? k : y / per * 16, o->across);
            if (!chunk)
                return false;
            for (uint32_t i = 0; i < per; i++) {
                uint32_t rr = o->across ? r + i : r, kk = o->across ? k : k + i;
                float v = element_at(chunk, i, o->type);
                out[columns ? rr / 8 * 8 * p->k + kk * 8 + rr % 8 : rr * p->k + kk] = o->negative ? -v : v;
            }
        }
    return true;
}

static bool a_from_tensor(struct warp *w, const struct insn *ip, const struct product *p, struct block *b, uint32_t address,
                          enum element type)
{
    struct tensor_memory *t = b->tensor;
    uint32_t bits = element_bits[type] < 8 ? 8 : element_bits[type], columns = p->k * bits / 32, row, lane, column;
    if (!tensor_columns_allow(w, ip, b, address & 0xffff, columns, false))
        return false;
    for (row = 0; row < p->rows; row++) {
        uint8_t bytes[4 * TENSOR_DEPTH];
        product_place(p, ip->list[PRODUCT_STATIONARY] != 0, row, 0, &lane, &column);
        lane = (lane + (address >> 16)) % TENSOR_LANES;
        lane = ip->list[PRODUCT_ASHIFT] ? lane_below(lane) : lane;
        memcpy(bytes, &t->cell[lane][address & 0xffff], 4 * columns);
        for (uint32_t k = 0; k < p->k; k++) {
            float v = element_at(element_bits[type] < 8 ? bytes + k : bytes, element_bits[type] < 8 ? 0 : k, type);
            t->a[row * p->k + k] = p->negative_a ? -v : v;
        }
    }
    return true;
}

static float scale_of(uint8_t v, bool e8m0)
{
    return e8m0 ? v == 255 ? NAN : ldexpf(1, v - 127) : emu_fp8(v & 0x7f, true);
}

/* Scales: row r has its bytes in lane r % 32, column r / 32. Bytes behind the fourth are those of the next columns, 4 for up to 128 rows
 * and else 8 further: PTX ISA, "Layout of the Scale Factor A Matrix for block16 with K=96", and CUTLASS's tmem_sf_frg. */
static bool read_scales(struct warp *w, const struct insn *ip, struct block *b, uint32_t address, uint32_t rows, uint32_t first,
                        uint32_t count, bool e8m0, bool own, float (*out)[TENSOR_SCALES])
{
    uint32_t next = rows > 128 ? 8 : 4, wraps = count > 2 && count != 4, words = wraps ? (first + count + 3) / 4 : 1;
    if (!tensor_columns_allow(w, ip, b, address & 0xffff, (words - 1) * next + (rows + 31) / 32, false))
        return false;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t lane = r % 32 + (own ? r / 32 % 4 * 32 : 0), byte = first + i,
                     column = (address & 0xffff) + r / 32 + (wraps ? byte / 4 * next : 0);
            if (!b->tensor->known[lane][column] && (w->checks & CHECK_KNOWN)) {
                emu_report(w, ip, -1, "uninitialised", "the scale of row %u, in lane %u and column %u of tensor memory, was never written",
                           r, lane, column);
                return false;
            }
            out[r][i] = scale_of((uint8_t)(b->tensor->cell[lane][column] >> 8 * (byte & 3)), e8m0);
        }
    return true;
}

/* Rows of 48 bytes: those that end in the next 128 bytes need the address of these. */
static bool operand_descriptor(struct warp *w, const struct insn *ip, int lane, const struct product *p, uint64_t v,
                               struct tensor_descriptor *d)
{
    if (!tensor_descriptor_read(w, ip, lane, v, d))
        return false;
    bool splits = p->k == 96 && d->swizzle && d->start % d->swizzle + 48 > d->swizzle;
    if (d->absolute ? p->k == 96 && d->swizzle == 128 : !splits)
        return true;
    emu_report(w, ip, lane, "descriptor", "matrix descriptor 0x%llx: %s", (unsigned long long)v,
               d->absolute ? "an absolute leading dimension (bit 52) is for rows of 48 bytes and a swizzle of 128"
                           : "rows of 48 bytes that end in the next atom need its address (bit 52)");
    return false;
}

bool product_operands(struct warp *w, const struct insn *ip, int lane, const struct product *p, uint32_t rank)
{
    const uint32_t *l = ip->list;
    struct block *b = p->of[rank];
    struct tensor_memory *t = b->tensor;
    struct tensor_descriptor da, db;
    uint32_t idesc = SLOT(const uint32_t, w, l[PRODUCT_IDESC])[lane];
    if (!operand_descriptor(w, ip, lane, p, SLOT(const uint64_t, w, l[PRODUCT_B])[lane], &db))
        return false;
    if (l[PRODUCT_A_INSIDE]) {
        uint32_t at = SLOT(const uint32_t, w, l[PRODUCT_A])[lane] + l[PRODUCT_A_AT];
        if (!a_from_tensor(w, ip, p, b, at, (enum element)product_type(p, p->type_a)))
            return false;
    } else {
        struct operand a = {b, &da, (enum element)product_type(p, p->type_a), p->across_a, p->negative_a, p->rows};
        if (!operand_descriptor(w, ip, lane, p, SLOT(const uint64_t, w, l[PRODUCT_A])[lane], &da) ||
            !from_shared(w, ip, lane, p, &a, t->a, false))
            return false;
    }
    for (uint32_t g = 0; g < p->groups; g++) { /* each block of a pair has its part of the columns */
        struct operand o = {p->of[g], &db, (enum element)product_type(p, p->type_b), p->across_b, p->negative_b, p->n / p->groups};
        if (!from_shared(w, ip, lane, p, &o, t->b + g * (p->n / p->groups) * p->k, true))
            return false;
    }
    if (!l[PRODUCT_BLOCK])
        return true;
    uint32_t count = p->k / l[PRODUCT_BLOCK];
    bool e8m0 = p->kind != KIND_MXF4NVF4 || (idesc >> 23 & 1);
    return read_scales(w, ip, b, SLOT(const uint32_t, w, l[PRODUCT_SCALE_A])[lane] + l[PRODUCT_SCALE_A_AT], p->rows, idesc >> 29 & 3, count,
                       e8m0, true, t->scale_a) &&
           read_scales(w, ip, b, SLOT(const uint32_t, w, l[PRODUCT_SCALE_B])[lane] + l[PRODUCT_SCALE_B_AT], p->n, idesc >> 4 & 3, count,
                       e8m0, false, t->scale_b);
}

void product_place(const struct product *p, uint32_t base, uint32_t row, uint32_t n, uint32_t *lane, uint32_t *column)
{
    uint32_t width = p->n / p->parts, at = p->parts > 1 ? row + n / width * p->rows : p->rows == 64 ? row / 16 * 32 + row % 16 : row;
    *lane = (at + (base >> 16)) % TENSOR_LANES;
    *column = n % width + (base & 0xffff);
}

void product_simple(const struct product *p, const struct tensor_memory *t, uint32_t block, uint32_t row, uint32_t n, uint32_t *cell,
                    bool keep)
{
    const float *a = t->a + row * p->k, *b = t->b + n / 8 * 8 * p->k + n % 8;
    float c;
    memcpy(&c, cell, 4);
    if (p->kind == KIND_I8) {
        int64_t sum = keep ? (int32_t)*cell : 0;
        for (uint32_t k = 0; k < p->k; k++)
            sum += (int64_t)a[k] * (int64_t)b[8 * k];
        *cell = whole_result(sum, p->saturate);
        return;
    }
    double sum = keep ? (double)c : 0;
    for (uint32_t first = 0; first < p->k; first += block) {
        double part = 0;
        for (uint32_t k = first; k < first + block; k++)
            part += (double)a[k] * (double)b[8 * k];
        sum += part * (double)t->scale_a[row][first / block] * (double)t->scale_b[n][first / block];
    }
    c = (float)sum;
    memcpy(cell, &c, 4);
}
