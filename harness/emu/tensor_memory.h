/* emu/tensor_memory: the tensor memory of a block, and the instructions tcgen05 of sm_100 and later that use it.
 *
 * Tensor memory has 128 lanes of 512 columns of 32 bits. An address holds the lane in its upper 16 bits, the column in its lower. A warp
 * can access the 32 lanes of its number modulo 4. A product is computed when its instruction is issued; the right to read it comes with the
 * mbarrier of tcgen05.commit. Source of layouts and descriptors: PTX ISA 9.0, "TensorCore 5th generation family". Not compared with a GPU:
 * no machine with tensor memory was available. */
#pragma once

#include "emu/handlers.h"

enum { TENSOR_LANES = 128, TENSOR_COLUMNS = 512, TENSOR_DEPTH = 128 /* most elements along k */, TENSOR_SCALES = 6 /* most of a row */ };

struct tensor_memory {
    uint32_t cell[TENSOR_LANES][TENSOR_COLUMNS];
    uint8_t known[TENSOR_LANES][TENSOR_COLUMNS];                   /* written since the block began */
    uint16_t owner[TENSOR_COLUMNS];                                /* 1 + first column of its allocation; 0: free */
    uint32_t writer[4][TENSOR_COLUMNS], reader[4][TENSOR_COLUMNS]; /* tags (shadow.h) by 32 lanes: the last access */
    const struct insn *made;                                       /* the last allocation */
    bool relinquished;
    uint32_t agent, group; /* of what is issued: id among the block's clocks; groups that tcgen05.commit has ended */
    float a[TENSOR_LANES * TENSOR_DEPTH], b[256 * TENSOR_DEPTH]; /* operands of one product: rows of k; of each 8 columns k rows of 8 */
    float scale_a[TENSOR_LANES][TENSOR_SCALES], scale_b[256][TENSOR_SCALES];
};

/* insn.kind of loads and stores: .32x32b, .16x64b, .16x128b, .16x256b, .16x32bx2. insn.list: columns in each of the repetitions, a part of
 * 16 bits (0 or 1), the distance of the second half, registers, then their slots. */
enum tensor_shape { SHAPE_32X32B, SHAPE_16X64B, SHAPE_16X128B, SHAPE_16X256B, SHAPE_16X32BX2 };
enum { TENSOR_REPEAT, TENSOR_PACKED, TENSOR_SPLIT, TENSOR_COUNT, TENSOR_REDUCED /* where the reduction goes */, TENSOR_HEADER };
/* insn.count of loads: of a reduction */
enum { REDUCE_MAX = 1, REDUCE_SIGNED = 2, REDUCE_FLOAT = 4, REDUCE_ABS = 8, REDUCE_NAN = 16 };
/* insn.kind of copies from shared memory */
enum tensor_copy { COPY_128X256B, COPY_4X256B, COPY_128X128B, COPY_64X128B_02_13, COPY_64X128B_01_23, COPY_32X128B };

/* insn.kind of products */
enum tensor_kind { KIND_F16, KIND_TF32, KIND_F8F6F4, KIND_I8, KIND_MXF8F6F4, KIND_MXF4, KIND_MXF4NVF4 };
/* insn.list of products. Addresses are a slot and an offset. */
enum {
    PRODUCT_D,
    PRODUCT_D_AT,
    PRODUCT_A,
    PRODUCT_A_AT,
    PRODUCT_A_INSIDE, /* a is in tensor memory */
    PRODUCT_ASHIFT,   /* ... and each row of 32 but the last is the next one */
    PRODUCT_B,
    PRODUCT_IDESC,
    PRODUCT_SCALE_A,
    PRODUCT_SCALE_A_AT,
    PRODUCT_SCALE_B,
    PRODUCT_SCALE_B_AT,
    PRODUCT_BLOCK, /* elements of k that share a scale; 0: no scales */
    PRODUCT_STATIONARY,
    PRODUCT_SHIFT, /* c is divided by 2 to that power */
    PRODUCT_MASKS, /* words of disable-output-lane, then their slots */
    PRODUCT_HEADER
};

/* A block begins; a block ends with tensor memory allocated: reported. */
void tensor_memory_begin(struct block *b);
void tensor_memory_end(struct block *b);
/* May the warp access `count` columns from `column` on in the 32 lanes of `quarter`? Reports what is not allocated, not ordered, or (reads)
 * never written. `issued`: by the tensor core, else by the warp itself. */
bool tensor_memory_allows(struct warp *w, const struct insn *ip, struct block *b, uint32_t quarter, uint32_t column, uint32_t count,
                          bool write, bool issued);
/* The same of the tensor core in all lanes. */
bool tensor_columns_allow(struct warp *w, const struct insn *ip, struct block *b, uint32_t column, uint32_t count, bool write);

/* The block, or for cta_group::2 (ip->size 2) both of its pair; false, reported: it has no other one. */
bool tensor_pair(struct warp *w, const struct insn *ip, int lane, struct block *of[2]);

op_handler emu_tensor_alloc, emu_tensor_dealloc, emu_tensor_ld, emu_tensor_st, emu_tensor_cp, emu_tensor_commit, emu_tensor_shift;

/* A descriptor of shared memory as tcgen05 has it; false: a form that emu does not know, reported. */
struct tensor_descriptor {
    uint32_t start, leading, stride; /* bytes */
    uint32_t swizzle;                /* 0, 32, 64 or 128 */
    bool wide;                       /* 128 bytes in atoms of 32 */
    bool absolute;                   /* leading: where a row of 128 bytes goes on when it has ended */
};
/* Offset in shared memory of the 16-byte chunk that tensor_chunk finds, before and after swizzling. Before it, groups of eight rows
 * (`across`: eight k) are `descriptor_step` bytes apart. */
static inline uint32_t descriptor_step(const struct tensor_descriptor *d)
{
    return d->swizzle ? d->swizzle : 16;
}
static inline uint32_t descriptor_swizzled(const struct tensor_descriptor *d, uint32_t at)
{
    const uint32_t w = d->swizzle;
    if (d->wide)
        return at ^ (at >> 7 & 3) << 5;
    return at ^ (at >> 7 & (w == 128 ? 7u : w == 64 ? 3u : w == 32 ? 1u : 0u)) << 4;
}
static inline uint32_t descriptor_plain(const struct tensor_descriptor *d, uint32_t r, uint32_t k, bool across)
{
    uint32_t w = d->swizzle, at = d->start, in_row = at % 128 + k;
    if (d->absolute && in_row >= 128)
        at = d->leading + r / 8 * d->stride + r % 8 * 128 + in_row - 128;
    else if (!across)
        at += !w ? r / 8 * d->stride + r % 8 * 16 + k / 16 * d->leading
                 : r / 8 * d->stride + r % 8 * w + k / w * d->leading + k % w / 16 * 16;
    else if (!w)
        at += r / 16 * d->stride + k % 8 * 16 + k / 8 * d->leading;
    else
        at += r % w / 16 * 16 + r / w * d->leading + k % 8 * w + k / 8 * d->stride;
    return at;
}
static inline uint32_t descriptor_chunk(const struct tensor_descriptor *d, uint32_t r, uint32_t k, bool across)
{
    return descriptor_swizzled(d, descriptor_plain(d, r, k, across));
}
bool tensor_descriptor_read(struct warp *w, const struct insn *ip, int lane, uint64_t v, struct tensor_descriptor *d);
/* The 16 bytes at element (r, byte kb) of a K-major matrix, or of one in which r is contiguous (`across`: k is an element, r a byte). NULL:
 * outside, reported. */
const uint8_t *tensor_chunk(struct warp *w, const struct insn *ip, int lane, struct block *b, const struct tensor_descriptor *d, uint32_t r,
                            uint32_t k, bool across);
/* The operands of a product, as floats: rows of `k` from shared or tensor memory. */
struct product {
    enum tensor_kind kind;
    uint32_t m, n, k, rows; /* rows: of m in one block */
    uint32_t parts;         /* of n: each has lanes of its own in the same columns */
    uint32_t type_a, type_b, type_d;
    bool across_a, across_b, negative_a, negative_b, saturate;
    uint32_t groups; /* blocks of the pair */
    struct block *of[2];
};
bool product_read(struct warp *w, const struct insn *ip, int lane, struct product *p);
bool product_operands(struct warp *w, const struct insn *ip, int lane, const struct product *p, uint32_t rank);
/* The lane that `lane` gets when 32 lanes move down by one; the last stays. */
static inline uint32_t lane_below(uint32_t lane)
{
    return lane % 32 == 31 ? lane : lane + 1;
}
/* Lane and column of row `row` (of one block), column n of the result that begins at address `base`. */
void product_place(const struct product *p, uint32_t base, uint32_t row, uint32_t n, uint32_t *lane, uint32_t *column);
int product_type(const struct product *p, uint32_t type);
/* Sums of whole numbers and of scaled blocks, which are not those of tensor_sum.h. */
void product_simple(const struct product *p, const struct tensor_memory *t, uint32_t block, uint32_t row, uint32_t n, uint32_t *cell,
                    bool keep);
