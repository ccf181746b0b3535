/* measure/verify/verify_tiles: accepts kernels that skip whole tiles without a declaration, and nothing else. The test counts tiles itself,
 * output by output. */
#include "verify_bench.h"
#include "noise.h"

#define ROWS 24
#define COLUMNS 40

static struct bench *start_masked(enum mask_pattern pattern, double density, enum dtype dtype, bool shuffled)
{
    struct work w = small(dtype, shuffled ? LAYOUT_NHWC : LAYOUT_NCHW);
    w.mask = (struct mask){.pattern = pattern, .density = density, .radius = 3, .seed = 5};
    if (shuffled)
        add_item(&w, EPILOGUE_DEPTH_TO_SPACE);
    struct bench *b = start(w, DATA_PART_EXACT);
    b->p.uses_mask = b->p.finds_tile = true;
    b->p.inactive = INACTIVE_UNTOUCHED;
    return b;
}

/* Rows and columns of output for one of the mask. */
static int64_t block_of(const struct bench *b)
{
    return b->o.dim[2] / ROWS;
}

static bool is_active(const struct bench *b, int64_t n, int64_t y, int64_t x)
{
    return b->d.mask_out[(n * ROWS + y) * COLUMNS + x] != 0;
}

/* Is any output of the tile of h x w that this one lies in active? */
static bool in_active_tile(const struct bench *b, int64_t n, int64_t y, int64_t x, int64_t h, int64_t w)
{
    for (int64_t i = y / h * h; i < y / h * h + h && i < ROWS; i++)
        for (int64_t k = x / w * w; k < x / w * w + w && k < COLUMNS; k++)
            if (is_active(b, n, i, k))
                return true;
    return false;
}

static void set(struct bench *b, int64_t n, int64_t c, int64_t y, int64_t x, bool written, double value)
{
    if (written)
        put(b, n, c, y, x, value);
    else
        poison(b, n, c, y, x);
}

/* What a kernel of such tiles leaves: right where an output is active, whatever the kernel computes elsewhere in the tile. */
static void leave(struct bench *b, int64_t h, int64_t w)
{
    const double *reference = b->d.at[SLOT_OUTPUT].reference;
    const int64_t block = block_of(b);
    for (int64_t n = 0, i = 0; n < b->o.dim[0]; n++)
        for (int64_t c = 0; c < b->o.dim[1]; c++)
            for (int64_t y = 0; y < b->o.dim[2]; y++)
                for (int64_t x = 0; x < b->o.dim[3]; x++, i++)
                    set(b, n, c, y, x, in_active_tile(b, n, y / block, x / block, h, w),
                        is_active(b, n, y / block, x / block) ? reference[i] : 7);
}

/* The smallest tile whose active ones hold exactly these outputs: by area, then the flatter first, as they are believed. */
static bool smallest(const struct bench *b, int64_t h, int64_t w, int64_t *th, int64_t *tw)
{
    for (int area = 1; area <= 10; area++)
        for (int i = 0; i < 6; i++) {
            int k = area - i;
            if (k < 0 || k > 5)
                continue;
            bool same = true;
            for (int64_t at = 0; at < 2 * ROWS * COLUMNS && same; at++) {
                int64_t n = at / (ROWS * COLUMNS), y = at / COLUMNS % ROWS, x = at % COLUMNS;
                same = is_active(b, n, y, x) || in_active_tile(b, n, y, x, 1 << i, 1 << k) == in_active_tile(b, n, y, x, h, w);
            }
            if (same) {
                *th = 1 << i;
                *tw = 1 << k;
                return true;
            }
        }
    return false;
}

static bool skips(const struct bench *b, int64_t h, int64_t w)
{
    for (int64_t at = 0; at < 2 * ROWS * COLUMNS; at++)
        if (!in_active_tile(b, at / (ROWS * COLUMNS), at / COLUMNS % ROWS, at % COLUMNS, h, w))
            return true;
    return false;
}

static void tiles_are_found(void **state)
{
    for (int kind = 0; kind < 4; kind++)
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 6; k++) {
                struct bench *b =
                    start_masked(kind & 1 ? MASK_IID : MASK_BLOBS, kind & 1 ? 0.004 : 0.05, kind & 1 ? DTYPE_F32 : DTYPE_F16, kind > 1);
                int64_t h = 1 << i, w = 1 << k, th = 1, tw = 1;
                leave(b, h, w);
                look(b);
                bool found = i + k > 0 && smallest(b, h, w, &th, &tw) && (skips(b, th, tw) || (th <= 8 && tw <= 8));
                char *note = text_format("skipped by tiles of %ldx%ld, not one by one%s", (long)th, (long)tw,
                                         skips(b, th, tw) ? "" : ": none to skip here");
                if (b->v.ok != (found || i + k == 0) || (found && !strstr(b->v.note, note)))
                    fail_msg("kind %d, tiles of %ldx%ld: %s; %s; want %s", kind, (long)h, (long)w, b->v.text, b->v.note,
                             found ? note : "a refusal");
                free(note);
                if (found)
                    assert_int_equal(b->v.elements, (int64_t)b->d.at[SLOT_OUTPUT].elements);
                stop(b);
            }
}

/* One output more or less than the tiles have, in one channel of one image, and it is a kernel that writes where it must not. */
static void nearly_tiles_are_none(void **state)
{
    int tried = 0;
    for (int kind = 0; kind < 4; kind += 2)
        for (int64_t at = 0; at < 2 * ROWS * COLUMNS && tried < 40; at += 37) {
            struct bench *b = start_masked(MASK_BLOBS, 0.05, DTYPE_F16, kind > 1);
            int64_t n = at / (ROWS * COLUMNS), y = at / COLUMNS % ROWS, x = at % COLUMNS;
            const int64_t block = block_of(b);
            leave(b, 4, 4);
            if (!in_active_tile(b, n, y, x, 4, 4)) { /* one more: where a tile is skipped */
                set(b, n, at % b->o.dim[1], y * block + block - 1, x * block + block - 1, true, 3);
                look(b);
                assert_false(b->v.ok);
                assert_non_null(strstr(b->v.text, "must not be written"));
                tried++;
            } else if (!is_active(b, n, y, x)) { /* one less, in all channels */
                for (int64_t c = 0; c < b->o.dim[1]; c++)
                    for (int64_t i = 0; i < block * block; i++)
                        set(b, n, c, y * block + i / block, x * block + i % block, false, 0);
                look(b);
                assert_false(b->v.ok);
                tried++;
            }
            stop(b);
        }
    assert_true(tried > 20);
}

/* A kernel that writes everything skips nothing, and may simply ignore the mask. If each tile has an active output, the check accepts that
 * for small tiles only.
 */
static void tiles_that_skip_nothing_are_small(void **state)
{
    static const struct {
        int64_t h, w;
        bool ok;
    } tiles[] = {{8, 8, true}, {4, 8, true}, {8, 16, false}, {16, 8, false}, {4, 32, false}, {32, 4, false}};
    for (int i = 0; i < 6; i++) {
        struct bench *b = start_masked(MASK_BLOBS, 0.05, DTYPE_F16, false);
        for (int64_t at = 0; at < 2 * ROWS * COLUMNS; at++)
            b->d.mask_out[at] = at / COLUMNS % ROWS % tiles[i].h == 0 && at % COLUMNS % tiles[i].w == 0;
        leave(b, tiles[i].h, tiles[i].w);
        look(b);
        assert_int_equal(b->v.ok, tiles[i].ok);
        assert_true(!b->v.ok || strstr(b->v.note, ": none to skip here"));
        stop(b);
    }
}

/* An output is worked on where any of its channels is, be it one alone, and in the first row. */
static void one_channel_is_enough(void **state)
{
    for (int64_t channel = 0; channel < 16; channel++) {
        struct bench *b = start_masked(MASK_BLOBS, 0.05, DTYPE_F16, false);
        b->d.mask_out[1] = 1;
        leave(b, 4, 4);
        for (int64_t at = 0; at < 2 * ROWS * COLUMNS; at++) {
            int64_t n = at / (ROWS * COLUMNS), y = at / COLUMNS % ROWS, x = at % COLUMNS;
            for (int64_t c = 0; c < 16 && !is_active(b, n, y, x); c++)
                if (c != channel)
                    set(b, n, c, y, x, false, 0);
        }
        look(b);
        assert_true(b->v.ok && strstr(b->v.note, "skipped by tiles of 4x4"));
        stop(b);
    }
}

/* In a volume nothing is understood: a tile there has planes, too. */
static void volumes_have_none(void **state)
{
    struct work w = simple_work("conv3d", 3, 0, 8);
    w.n = 1, w.k = 4, w.d = 4, w.plane = 8, w.t = 3, w.r = 3, w.s = 3, w.stride = 1, w.pad = 1, w.dilation = 1;
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.02, .seed = 5};
    struct bench *b = start(w, DATA_PART_EXACT);
    b->p.uses_mask = b->p.finds_tile = true;
    b->p.inactive = INACTIVE_UNTOUCHED;
    look(b); /* it wrote everything, as tiles of an image might */
    assert_true(!b->v.ok && b->v.wrong == b->v.touched_inactive && b->v.wrong > 0);
    stop(b);
}

/* A wrong value within a tile of active outputs is wrong as ever, and a head that declares is not searched for. */
static void wrong_in_a_tile(void **state)
{
    struct bench *b = start_masked(MASK_BLOBS, 0.05, DTYPE_F16, false);
    leave(b, 4, 4);
    int64_t at = 0;
    while (!is_active(b, 1, at / COLUMNS, at % COLUMNS))
        at++;
    set(b, 1, 3, at / COLUMNS, at % COLUMNS, true, 1000);
    look(b);
    assert_true(!b->v.ok && b->v.wrong > 1);
    leave(b, 4, 4);
    b->p.finds_tile = false;
    look(b);
    assert_true(!b->v.ok && b->v.wrong == b->v.touched_inactive);
    b->p.spared = (struct tile){4, 4, 1, 0};
    look(b);
    assert_true(b->v.ok && !b->v.note[0]);
    set(b, 1, 3, at / COLUMNS, at % COLUMNS, true, 1000);
    look(b);
    assert_true(!b->v.ok && b->v.wrong == 1 && b->v.worst_at[0] == 1 && b->v.worst_at[1] == 3);
    stop(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_are_found),       cmocka_unit_test(nearly_tiles_are_none),
                                       cmocka_unit_test(one_channel_is_enough), cmocka_unit_test(tiles_that_skip_nothing_are_small),
                                       cmocka_unit_test(volumes_have_none),     cmocka_unit_test(wrong_in_a_tile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
