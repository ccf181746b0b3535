/* measure/verify/verify: the description of wrong elements is true for all of them: names of axes, periods, whose values they hold, and
 * when there is no description. */
#include "verify_bench.h"
#include <stdio.h>

/* Image, row of it, channel and column of the k-th of some elements, at most three of one row of all channels. */
static void spread(int k, int64_t at[4])
{
    at[0] = k % 48 / 24, at[1] = k % 16, at[2] = k % 24, at[3] = 5 + 3 * (k / 48);
}

/* A guess holds for 95 of 100 elements, not for 94; for four, not for three. */
static void guesses_need_nearly_all(void **state)
{
    for (int strangers = 5; strangers <= 6; strangers++) {
        struct bench *b = start(small(DTYPE_F16, LAYOUT_NHWC), DATA_PART_PRECISION);
        for (int k = 0; k < 100; k++) {
            int64_t at[4];
            spread(k, at);
            put(b, at[0], at[1], at[2], at[3], k < strangers ? 3000 + k : get(b, at[0], at[1], at[2], at[3] - 1));
        }
        look(b);
        assert_int_equal(b->v.wrong, 100);
        assert_true(!strstr(b->v.pattern, ": shifted by 0 rows, 1 columns") == (strangers > 5));
        stop(b);
    }
    for (int count = 3; count <= 4; count++) { /* in the very first row */
        struct bench *b = start(small(DTYPE_F16, LAYOUT_NHWC), DATA_PART_PRECISION);
        for (int c = 0; c < count; c++)
            put(b, 0, 3 * c, 0, 7 + 3 * c, get(b, 0, 3 * c, 0, 6 + 3 * c));
        look(b);
        assert_int_equal(b->v.wrong, count);
        assert_true(!strstr(b->v.pattern, ": shifted by 0 rows, 1 columns") == (count < 4));
        stop(b);
    }
}

/* Channels hold each other's values in a ring, from the first on: eight are named, nine are too many. */
static void rings_of_channels(void **state)
{
    static const char *const says[] = {
        "all in channels 0 to 2: channel 0 holds channel 1, channel 1 holds channel 2, channel 2 holds channel 0",
        ", channel 7 holds channel 0", "all in channels 0 to 8"};
    for (int kind = 0; kind < 3; kind++) {
        int64_t count = kind == 0 ? 3 : 7 + kind;
        struct bench *b = start(small(DTYPE_F16, LAYOUT_NHWC), DATA_PART_PRECISION), *good = start(b->w, DATA_PART_PRECISION);
        for (int64_t i = 0; i < 2 * 24 * 40; i++)
            for (int64_t c = 0; c < count; c++)
                put(b, i / 960, c, i / 40 % 24, i % 40, get(good, i / 960, (c + 1) % count, i / 40 % 24, i % 40));
        look(b);
        if (!strstr(b->v.pattern, says[kind]))
            fail_msg("%s", b->v.pattern);
        assert_true(!strstr(b->v.pattern, "holds") == (kind == 2));
        stop(b), stop(good);
    }
}

/* One explanation is enough: if columns alternate in one channel and in the reverse order in another, the channels are swapped, or one
 * holds the other's values; that they are shifted as well is not said. */
static void what_is_swapped_is_not_shifted(void **state)
{
    for (int swapped = 0; swapped < 2; swapped++) {
        struct bench *b = start(small(DTYPE_F16, LAYOUT_NHWC), DATA_PART_EXACT);
        for (int64_t i = 0; i < 2 * 24 * 40; i++)
            for (int64_t c = 3; c < 6; c += 2) {
                double right = 1 + ((i % 40 + c / 5) & 1);
                b->d.at[SLOT_OUTPUT].reference[((i / 960 * 16 + c) * 24 + i / 40 % 24) * 40 + i % 40] = right;
                put(b, i / 960, c, i / 40 % 24, i % 40, swapped || c == 3 ? 3 - right : right);
            }
        fails(b, (1 + swapped) * 2 * 24 * 40, "");
        assert_string_equal(b->v.pattern,
                            swapped ? "all in channels 3, 5: channels 3 and 5 swapped" : "all in channel 3: channel 3 holds channel 5");
        stop(b);
    }
}

/* What is no image has no border: what is wrong all around it is somewhere. */
static void values_have_no_border(void **state)
{
    struct bench *b = start(small(DTYPE_F16, LAYOUT_NCHW), DATA_PART_EXACT);
    for (int64_t i = 0; i < 2 * 16 * 24 * 40; i++) {
        int64_t y = i / 40 % 24, x = i % 40;
        if (!y || !x || y == 23 || x == 39)
            put(b, i / (16 * 960), i / 960 % 16, y, x, 5000);
    }
    fails(b, 2 * 16 * (2 * 40 + 2 * 22), "all in the border of 1 pixel");
    b->p.tensors[program_tensor(&b->p, "output")].layout = LAYOUT_LINEAR; /* lies as NCHW does */
    fails(b, 2 * 16 * (2 * 40 + 2 * 22), "scattered over the whole tensor");
    stop(b);
    b = start(small(DTYPE_F16, LAYOUT_NCHW), DATA_PART_EXACT); /* nor rows and channels */
    for (int64_t i = 0; i < 2 * 16 * 24; i++)
        put(b, i / 384, i / 24 % 16, i % 24, 7, 5000);
    fails(b, 2 * 16 * 24, "all in column 7");
    b->p.tensors[program_tensor(&b->p, "output")].layout = LAYOUT_LINEAR;
    fails(b, 2 * 16 * 24, "all in axis 3 place 7");
    stop(b);
}

/* A ring of five pixels of 24 is a border; six are a quarter of the image. */
static void borders_are_thin(void **state)
{
    for (int64_t wide = 5; wide <= 6; wide++) {
        struct bench *b = start(small(DTYPE_F16, LAYOUT_NCHW), DATA_PART_EXACT);
        for (int64_t i = 0; i < 2 * 16 * 24 * 40; i++) {
            int64_t y = i / 40 % 24, x = i % 40;
            if (y < wide || x < wide || y >= 24 - wide || x >= 40 - wide)
                put(b, i / (16 * 960), i / 960 % 16, y, x, 5000);
        }
        fails(b, 2 * 16 * (24 * 40 - (24 - 2 * wide) * (40 - 2 * wide)),
              wide == 5 ? "all in the border of 5 pixels" : "scattered over all rows, columns and channels");
        stop(b);
    }
}

/* A value that belongs elsewhere is known there as the type holds it, also where it must be exact. */
static void what_belongs_elsewhere_is_of_the_type(void **state)
{
    struct bench *b = start(small(DTYPE_F16, LAYOUT_NCHW), DATA_PART_EXACT);
    for (int64_t i = 0; i < 2 * 16 * 24 * 40; i++)
        b->d.at[SLOT_OUTPUT].reference[i] = (double)(i * 7919 % 1009) / 3;
    for (int64_t i = 0; i < 2 * 16 * 24 * 40; i++)
        put(b, i / (16 * 960), i / 960 % 16, i / 40 % 24, i % 40, b->d.at[SLOT_OUTPUT].reference[i % 40 == 7 ? i - 1 : i]);
    fails(b, 2 * 16 * 24, "all in column 7: shifted by 0 rows, 1 columns");
    stop(b);
}

/* Either order of the channels that become pixels, told by the other; with more channels than pixels, and with fewer. */
static void orders_of_channels(void **state)
{
    for (int mode = D2S_DCR; mode <= D2S_CRD; mode++)
        for (int64_t channels = 2; channels <= 14; channels += 6) { /* 14: behind a convolution */
            struct work right = channels < 14 ? simple_work("depth_to_space", 4 * channels, 8, 12) : conv_work(3, 16, 8, 12, 3), wrong;
            enum d2s_mode other_mode = mode == D2S_DCR ? D2S_CRD : D2S_DCR;
            if (channels == 14)
                add_item(&right, EPILOGUE_DEPTH_TO_SPACE);
            else
                right.block = 2;
            wrong = right;
            right.mode = channels < 14 ? (enum d2s_mode)mode : other_mode; /* which is not asked, where an epilogue has one */
            right.epilogue[0].mode = (enum d2s_mode)mode;
            wrong.mode = wrong.epilogue[0].mode = other_mode;
            struct bench *b = start(right, DATA_PART_PRECISION), *other = start(wrong, DATA_PART_PRECISION);
            memcpy(b->storage, other->storage, tensor_bytes(&b->o));
            look(b);
            assert_non_null(strstr(b->v.pattern, mode == D2S_DCR ? "in the order of CRD, not DCR" : "in the order of DCR, not CRD"));
            stop(b), stop(other);
            b = start(right, DATA_PART_PRECISION);
            for (int64_t i = 0; i < 24; i++)
                put(b, 0, 1, 3, i, 3000 + i); /* what is wrong in another way has no other order */
            fails(b, 24, "");
            assert_null(strstr(b->v.pattern, "in the order"));
            stop(b);
        }
}

/* Zeros are all of them. */
static void one_that_is_no_zero(void **state)
{
    for (int stranger = -1; stranger < 48; stranger++) {
        struct bench *b = start(small(DTYPE_F16, LAYOUT_NHWC), DATA_PART_PRECISION);
        for (int k = 0; k < 48; k++) {
            int64_t at[4];
            spread(k, at);
            put(b, at[0], at[1], at[2], at[3], k == stranger ? 3000 : 0);
        }
        look(b);
        assert_true(!strstr(b->v.pattern, ": zero") == (stranger >= 0));
        stop(b);
    }
}

/* Each axis of a volume has its name. */
static void axes_of_volumes(void **state)
{
    static const char *const names[] = {"image", "channel", "plane", "row", "column"};
    struct work w = simple_work("conv3d", 3, 0, 7);
    w.n = 3, w.k = 4, w.d = 5, w.plane = 6, w.t = 3, w.r = 2, w.s = 3, w.stride = 2, w.pad = 1, w.dilation = 1, w.dtype = DTYPE_F32;
    for (int axis = 0; axis < 5; axis++) {
        struct bench *b = start(w, DATA_PART_EXACT);
        int64_t wrong = 0, at[TENSOR_MAX_RANK], last = b->o.dim[axis] - 1;
        char want[64];
        assert_int_equal(b->o.rank, 5);
        for (size_t i = 0; i < b->d.at[SLOT_OUTPUT].elements; i++) {
            tensor_coordinates(&b->o, i, at);
            if (at[axis] != last)
                continue;
            wrong++;
            dtype_set(DTYPE_F32, b->storage, tensor_index(&b->o, i), 5000);
        }
        snprintf(want, sizeof want, "all in %s %d", names[axis], (int)last);
        fails(b, wrong, want);
        stop(b);
    }
}

/* Of two axes without an image the last is a column's, the other a row's; three have numbers. The outermost is said first. */
static void axes_without_images(void **state)
{
    static const struct {
        int rank, axis;
        int64_t columns;
        const char *want;
    } axes[] = {{2, 0, INT64_MAX, "all in row 5"},
                {2, 1, INT64_MAX, "all in column 5"},
                {3, 1, INT64_MAX, "all in axis 1 place 5"},
                {2, 0, 4, "all in row 5, columns 0 to 3"}};
    for (int i = 0; i < 4; i++) {
        struct bench *b = start(small(DTYPE_F32, LAYOUT_NCHW), DATA_PART_EXACT);
        struct tensor *t = &b->p.tensors[program_tensor(&b->p, "output")];
        int64_t rest = 2 * 16 * 24 * 40, wrong = 0, at[TENSOR_MAX_RANK];
        *t = (struct tensor){.role = t->role, .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .written = true, .rank = axes[i].rank};
        for (int axis = 0; axis < t->rank; axis++) {
            t->dim[axis] = axis < t->rank - 1 ? 16 : rest;
            rest /= t->dim[axis];
        }
        for (size_t k = 0; k < tensor_elements(t); k++) {
            dtype_set(DTYPE_F32, b->storage, k, b->d.at[SLOT_OUTPUT].reference[k]);
            tensor_coordinates(t, k, at);
            if (at[axes[i].axis] == 5 && at[t->rank - 1] < axes[i].columns && ++wrong)
                dtype_set(DTYPE_F32, b->storage, k, 50000);
        }
        fails(b, wrong, axes[i].want);
        stop(b);
    }
}

/* What is wrong in these columns, of as many. */
static void columns_are(const char *marks, const char *want)
{
    struct work w = small(DTYPE_F16, LAYOUT_NCHW);
    w.w = (int64_t)strlen(marks);
    struct bench *b = start(w, DATA_PART_EXACT);
    int64_t wrong = 0;
    for (int64_t i = 0; i < 2 * 16 * 24; i++)
        for (int64_t x = 0; x < w.w; x++)
            if (marks[x] == 'x') {
                put(b, i / 384, i / 24 % 16, i % 24, x, 3000 + i % 24);
                wrong++;
            }
    fails(b, wrong, "");
    assert_string_equal(b->v.pattern, want);
    stop(b);
}

static void places_that_say_nothing(void **state)
{
    const char *nowhere = "scattered over all rows, columns and channels";
    columns_are("x--xx----x-xxx---x--x--xx----x-xxx---x--", nowhere); /* twice is no period, however much of it there is */
    columns_are("x-xx---x-xxx-x-xx---x-xxx-x-xx---x-xxx-x", "all in columns 0, 2, 3, 7, 9, 10, 11 of every 13");
    columns_are("----------xx-xx-xx--x-------x-----------", "all in columns between 10 and 28");
    columns_are("----------xx-xx-xx--x--------x----------", nowhere); /* half of them, and more */
    columns_are("x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-", "all in every 2nd column from 0");
    columns_are("x-x-x-x-", "all in every 2nd column from 0");
    columns_are("x-x-x-x", "all in columns 0, 2, 4, 6");              /* so few look so by themselves */
    columns_are("x-x---x---x---x---x---x---x---x---x---x-", nowhere); /* but for the first one it would be every fourth */
    columns_are("x--xx----x---------x--------------------", "all in columns 0, 3, 4, 9, 19"); /* named up to six, and no more */
    columns_are("x--xx----x---------x-------x------------", "all in columns 0, 3, 4, 9, 19, 27");
    columns_are("x--xx----x---------x-------x---------x--", nowhere);
}

/* A mask has no channels to name. Of words behind its last column each byte by itself was written, or was not. */
static void places_of_masks_of(int words)
{
    struct work w = conv_work(8, 8, 24, 32 * words - 19, 3);
    w.n = 2;
    w.mask = (struct mask){.pattern = MASK_BLOBS, .density = 0.2, .radius = 4, .seed = 3};
    struct bench *b = start(w, DATA_PART_EXACT);
    int mask = program_tensor(&b->p, "mask_out");
    const struct tensor *t = &b->p.tensors[mask];
    uint32_t *bits = calloc(1, tensor_bytes(t)), *word = &bits[(24 + 6) * words - 1];
    assert_int_equal(tensor_bytes(t), (size_t)(48 * words) * sizeof *bits);
    tensor_pack(t, b->d.mask_out, bits);
    char want[64];
    *word ^= 1u << 9;
    snprintf(want, sizeof want, "mask_out(1,5,%d) = %d, want %d; 1 of ", 32 * words - 23, *word >> 9 & 1, ~*word >> 9 & 1);
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(!b->v.ok && strstr(b->v.text, want) == b->v.text);
    *word ^= 1u << 9;
    b->p.finds_padding = true;
    uint32_t right = *word;
    for (int bit = 16; bit < 32; bit++) {
        int byte = bit / 8 * 8;
        *word = right | (VERIFY_POISON & 0xffu << byte);
        verify_tensor(&b->p, mask, &b->d, bits, &b->v);
        assert_true(b->v.ok && strstr(b->v.note, "not written"));
        *word ^= 1u << bit;
        verify_tensor(&b->p, mask, &b->d, bits, &b->v);
        assert_true(!b->v.ok && b->v.worst_at[0] == 1 && b->v.worst_at[2] == 5);
        assert_true(b->v.worst_at[3] % 32 >= byte && b->v.worst_at[3] % 32 < byte + 8);
    }
    *word = right | (VERIFY_POISON & 0xffu << 16) | (~VERIFY_POISON & 0xffu << 24); /* the first byte was not written, the second was */
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(!b->v.ok && b->v.worst_at[3] % 32 >= 24);
    free(bits);
    stop(b);
}
static void places_of_masks(void **state)
{
    places_of_masks_of(1);
    places_of_masks_of(2);
    places_of_masks_of(40);
}

/* The byte of the last column is a row's own, all of it: unwritten it is wrong, be it that its first bits are as they should be. */
static void the_last_byte_is_written(void **state)
{
    for (int64_t width = 1; width < 64; width++) {
        struct work w = conv_work(8, 8, 3, width, 3);
        w.mask = (struct mask){.pattern = MASK_FULL};
        struct bench *b = start(w, DATA_PART_EXACT);
        int mask = program_tensor(&b->p, "mask_out"), last = (int)((width - 1) / 8 * 8);
        double *row = b->d.at[SLOT_MASK_OUT].reference;
        uint32_t bits[6], poison = VERIFY_POISON;
        for (int64_t x = last; x < width; x++)
            row[x] = poison >> x % 32 & 1;
        memset(bits, 0, sizeof bits);
        for (int64_t i = 0; i < 3 * width; i++)
            bits[i / width * ((width + 31) / 32) + i % width / 32] |= (uint32_t)(row[i] != 0) << i % width % 32;
        b->p.finds_padding = true;
        verify_tensor(&b->p, mask, &b->d, bits, &b->v);
        assert_true(b->v.ok);
        bits[last / 32] = (bits[last / 32] & ~(0xffu << last % 32)) | (poison & 0xffu << last % 32);
        verify_tensor(&b->p, mask, &b->d, bits, &b->v);
        assert_true(b->v.ok == !((poison >> last % 32 & 0xff) >> (width - last)));
        stop(b);
    }
}

/* What an inactive output must be is told: nothing, or what stood there. */
static void inactive_outputs_have_a_value(void **state)
{
    for (int zero = 0; zero < 2; zero++) {
        struct work w = small(DTYPE_F16, LAYOUT_NCHW);
        w.mask = (struct mask){.pattern = MASK_BLOBS, .density = 0.2, .radius = 4, .seed = 3};
        struct bench *b = start(w, DATA_PART_EXACT);
        int64_t first = 0;
        b->p.uses_mask = true;
        b->p.inactive = zero ? INACTIVE_ZERO : INACTIVE_UNTOUCHED;
        while (b->d.mask_out[first] != 0)
            first++;
        for (int64_t i = 0; i < 2 * 24 * 40; i++)
            for (int64_t c = 0; c < 16 && b->d.mask_out[i] == 0; c++)
                if (c == 0 && i == first)
                    put(b, 0, 0, i / 40, i % 40, 5);
                else if (zero)
                    put(b, i / 960, c, i / 40 % 24, i % 40, 0);
                else
                    poison(b, i / 960, c, i / 40 % 24, i % 40);
        fails(b, 1, "that one alone");
        assert_non_null(strstr(b->v.text, zero ? " = 5, want 0; 1 of " : " = 5, but its pixel is inactive and must not be written; 1 of "));
        stop(b);
    }
}

/* An output without elements was not found right, nor was a mask. Of a dense row's pixels those without a mark are not looked at. */
static void nothing_compared(void **state)
{
    struct work w = small(DTYPE_F16, LAYOUT_NHWC);
    for (int masked = 0; masked < 2; masked++) {
        if (masked)
            w.mask = (struct mask){.pattern = MASK_BLOBS, .density = 0.2, .radius = 4, .seed = 3};
        struct bench *b = start(w, DATA_PART_EXACT);
        int tensor = program_tensor(&b->p, masked ? "mask_out" : "output");
        int64_t images = b->p.tensors[tensor].dim[0], active = 0;
        uint32_t none = 0;
        b->p.tensors[tensor].dim[0] = 0;
        verify_tensor(&b->p, tensor, &b->d, &none, &b->v);
        assert_true(!b->v.ok && b->v.elements == 0);
        b->p.tensors[tensor].dim[0] = images;
        b->p.spared = (struct tile){4, 4, 1, 0};
        for (int64_t i = 0; masked && i < 2 * 24 * 40; i++)
            active += b->d.mask_out[i] != 0;
        look(b);
        assert_true(b->v.ok && b->v.elements == 16 * (masked ? active : 2 * 24 * 40));
        stop(b);
    }
}

/* Tiles have up to 32 outputs a side: what leaves columns or rows of 64 alone writes where it must not. */
static void tiles_are_small(void **state)
{
    for (int side = 32; side <= 64; side += 32)
        for (int wide = 0; wide < 2; wide++) {
            struct work w = conv_work(8, 16, wide ? 4 : 70, wide ? 70 : 4, 3);
            w.layout = LAYOUT_NCHW;
            w.mask = (struct mask){.pattern = MASK_PIXEL};
            struct bench *b = start(w, DATA_PART_EXACT);
            b->p.uses_mask = b->p.finds_tile = true;
            b->p.inactive = INACTIVE_UNTOUCHED;
            int64_t h = wide ? 1 : side, across = wide ? side : 1;
            for (int64_t i = 0; i < 280; i++) {
                int64_t y = i / w.w, x = i % w.w;
                bool active = false;
                for (int64_t k = 0; k < 280; k++)
                    active |= k / w.w / h == y / h && k % w.w / across == x / across && b->d.mask_out[k] != 0;
                for (int64_t c = 0; c < 16; c++)
                    if (!active)
                        poison(b, 0, c, y, x);
                    else if (b->d.mask_out[i] == 0)
                        put(b, 0, c, y, x, 7);
            }
            look(b);
            if (b->v.ok != (side == 32) || !strstr(b->v.note, "skipped by tiles of") == b->v.ok)
                fail_msg("%d: %s; %s", side, b->v.text, b->v.note);
            stop(b);
        }
}

/* The next numbers of a type have the next bit patterns: their distance is one unit in the last place, whatever the type. A value that is
 * so near says by how much it misses, and what it was compared with; one that is far off does not. */
static void near_misses_are_counted(void **state)
{
    static const struct {
        enum dtype type;
        int part, units;
        const char *says;
    } table[] = {{DTYPE_BF16, DATA_PART_EXACT, 3, "; off by 3 ulp of bf16, on small integers"},
                 {DTYPE_F16, DATA_PART_EXACT, 1, "; off by 1 ulp of f16, on small integers"},
                 {DTYPE_F32, DATA_PART_EXACT, 7, "; off by 7 ulp of f32, on small integers"},
                 {DTYPE_F16, DATA_PART_EXACT, 17, NULL},
                 {DTYPE_F16, DATA_PART_PRECISION, 9, "ulp of f16, "},
                 {DTYPE_F16, DATA_PART_PRECISION, 300, NULL}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct bench *b = start(small(table[i].type, LAYOUT_NHWC), table[i].part);
        size_t at = 0, count = b->d.at[SLOT_OUTPUT].elements;
        int narrow = dtype_bytes(table[i].type) == 2, exponent, after;
        for (bool inside = false; !inside; at++) { /* a number with so many more of its binade above it */
            assert_true(at < count);
            double want = b->d.at[SLOT_OUTPUT].reference[at], rounding = dtype_unit_roundoff(table[i].type);
            frexp(want, &exponent);
            frexp(want + (table[i].units + 1) * ldexp(rounding, exponent), &after);
            inside = want > 0.25 && after == exponent;
        }
        size_t stored = tensor_index(&b->o, --at);
        if (narrow)
            ((uint16_t *)b->storage)[stored] = (uint16_t)(((uint16_t *)b->storage)[stored] + table[i].units);
        else
            ((uint32_t *)b->storage)[stored] += (uint32_t)table[i].units;
        look(b);
        assert_int_equal(b->v.wrong, 1);
        if (!strstr(b->v.text, table[i].says ? table[i].says : "off by") == (table[i].says != NULL))
            fail_msg("%zu: %s", i, b->v.text);
        double times = b->v.worst_error / b->v.worst_bound, off = table[i].units;
        const char *says = strstr(b->v.text, "off by "); /* the reference is between two numbers of the type */
        SCOPED char *over = text_format("ulp of f16, %.2g times the tolerance", times);
        assert_true(!says || (sscanf(says, "off by %lf ulp", &off) == 1 && fabs(off - table[i].units) <= 0.5));
        assert_true(table[i].part == DATA_PART_EXACT || !table[i].says || (times > 1 && strstr(b->v.text, over)));
        stop(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(guesses_need_nearly_all),  cmocka_unit_test(one_that_is_no_zero),
                                       cmocka_unit_test(axes_of_volumes),          cmocka_unit_test(axes_without_images),
                                       cmocka_unit_test(borders_are_thin),         cmocka_unit_test(what_belongs_elsewhere_is_of_the_type),
                                       cmocka_unit_test(places_that_say_nothing),  cmocka_unit_test(places_of_masks),
                                       cmocka_unit_test(nothing_compared),         cmocka_unit_test(inactive_outputs_have_a_value),
                                       cmocka_unit_test(rings_of_channels),        cmocka_unit_test(what_is_swapped_is_not_shifted),
                                       cmocka_unit_test(values_have_no_border),    cmocka_unit_test(orders_of_channels),
                                       cmocka_unit_test(the_last_byte_is_written), cmocka_unit_test(tiles_are_small),
                                       cmocka_unit_test(near_misses_are_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
