/* op/program and op/mask: equal units, the writers of a scratch buffer, moved steps, and the inputs and outputs that a mask marks, against
 * loops written here. */
#include "works.h"
#include "op/shape.h"
#include "op/mask/mask.h"

static const char *const defines_a[] = {"T=1", "U=2"}, *const defines_b[] = {"T=1", "U=3"};

/* Path, include folders, label, defines, code: each tells two units apart. */
static void units_are_told_apart(void **state)
{
    const struct unit same = {
        .path = "a.cu", .include = "inc", .label = "op/a", .defines = (char **)defines_a, .define_count = 2, .code = CODE_CUDA};
    struct unit others[8];
    for (int i = 0; i < 8; i++)
        others[i] = same;
    others[1].path = "b.cu";
    others[2].include = "other";
    others[3].include = NULL;
    others[4].label = "op/b";
    others[5].defines = (char **)defines_b;
    others[6].define_count = 1;
    others[7].path = NULL;
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++)
            assert_true(unit_same(&others[i], &others[k]) == (i == k));
    struct program p = {0};
    for (int i = 0; i < 8; i++)
        assert_int_equal(program_unit(&p, &others[i], false), i);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(program_unit(&p, &others[i], false), i); /* is there */
        assert_true(unit_same(&p.units[i], &others[i]) && p.units[i].defines != others[i].defines);
    }
    assert_int_equal(program_unit(&p, &same, true), 8); /* one of its own */
    assert_int_equal(p.unit_count, 9);
    program_free(&p);
}

#define REF(k) ((struct buffer_ref){.kind = BUFFER_SCRATCH, .index = k})
static struct step uses(bool prepare, int scratch)
{
    struct step s = {.kind = STEP_KERNEL, .prepare = prepare, .arg_count = 2};
    s.args[0] = (struct arg){.kind = ARG_INT};
    s.args[1] = (struct arg){.kind = ARG_BUFFER, .buffer = REF(scratch)};
    return s;
}
static struct step moves(enum step_kind kind, bool prepare, int to, int from)
{
    return (struct step){.kind = kind, .prepare = prepare, .to = REF(to), .from = from < 0 ? (struct buffer_ref){0} : REF(from)};
}

/* Work: no prepare step touches it. Prepared: it is not changed after. State: it is both, or was declared. */
static void who_writes_scratch(void **state)
{
    struct step steps[] = {uses(true, 0),                 /* 0: made by prepare, read by a run */
                           moves(STEP_FILL, true, 1, -1), /* 1: filled by prepare, given to a run */
                           moves(STEP_FILL, true, 2, -1), /* 2: the same, and only copied from */
                           uses(true, 3),                 /* 3: made by prepare, written by a copy of a run */
                           uses(true, 4),                 /* 4: declared */
                           uses(false, 0),
                           uses(false, 1),
                           moves(STEP_COPY, false, 5, 2), /* 5: a run's own */
                           moves(STEP_COPY, false, 3, 5),
                           uses(false, 6),  /* 6: a network's constant */
                           uses(false, 7)}; /* 7: work that was declared state, and nobody prepares */
    struct scratch scratch[8] = {[4] = {.kind = SCRATCH_STATE}, [7] = {.kind = SCRATCH_STATE}};
    struct constant constants[] = {{.scratch = 6}};
    struct program p = {.steps = steps,
                        .step_count = sizeof steps / sizeof *steps,
                        .scratch = scratch,
                        .scratch_count = 8,
                        .constants = constants,
                        .constant_count = 1};
    static const enum scratch_kind want[] = {SCRATCH_PREPARED, SCRATCH_STATE, SCRATCH_PREPARED, SCRATCH_STATE,
                                             SCRATCH_STATE,    SCRATCH_WORK,  SCRATCH_PREPARED, SCRATCH_WORK};
    program_scratch_kinds(&p);
    for (int i = 0; i < 8; i++)
        if (scratch[i].kind != want[i])
            fail_msg("%d is %d, want %d", i, (int)scratch[i].kind, (int)want[i]);
    struct tensor_map map = {.buffer = REF(0)};
    struct step by_map = {.kind = STEP_KERNEL, .arg_count = 1}, by_operand = {.kind = STEP_CALL};
    by_map.args[0] = (struct arg){.kind = ARG_TENSOR_MAP, .map = 0};
    by_operand.operand[OP_MAX_TENSORS - 1] = REF(0);
    p.tensor_maps = &map;
    p.tensor_map_count = 1;
    assert_true(program_step_uses(&p, &by_map, REF(0)) && !program_step_uses(&p, &by_map, REF(1)));
    assert_true(program_step_uses(&p, &by_operand, REF(0)) &&
                !program_step_uses(&p, &by_operand, (struct buffer_ref){.kind = BUFFER_TENSOR}));
    by_map.args[0].map = ARG_NO_MAP;
    assert_false(program_step_uses(&p, &by_map, REF(0)));
    scratch[0] = (struct scratch){.elements = 10, .dtype = DTYPE_F16};
    scratch[1] = (struct scratch){.elements = 3, .dtype = DTYPE_F32};
    p.scratch_count = 2;
    assert_int_equal(program_scratch_bytes(&p), 32);
    struct tensor tensors[2] = {{.dtype = DTYPE_F16, .rank = 3, .dim = {2, 3, 5}}, {.dtype = DTYPE_F32, .rank = 1, .dim = {7}}};
    p.tensors = tensors;
    p.tensor_count = 2;
    assert_int_equal(program_footprint_bytes(&p), 32 + 60 + 28);
}

/* Of one tensor that epilogues go on with, and by name. */
static void tensors_are_found(void **state)
{
    struct work w = conv_work(3, 5, 5, 7, 3);
    add_item(&w, EPILOGUE_BIAS);
    finish(&w);
    struct program p = program_of(&w);
    int at = program_result(&p);
    assert_true(at == program_tensor(&p, "output") && at >= 0 && p.tensors[program_tensor(&p, "bias")].role->slot == SLOT_BIAS);
    assert_int_equal(program_tensor(&p, "nothing"), -1);
    assert_true(program_dtype(&p, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = at}) == DTYPE_F16);
    struct step own = {.own_work = true}, other = {.own_work = false};
    assert_true(program_step_work(&p, &own) == &own.work && program_step_work(&p, &other) == &p.work);
    program_free(&p);
}

/* Where outputs are marked, the inputs that any of them reads; where inputs are, the outputs that read any; without a mask all. */
static void masks_reach_as_filters_do(void **state)
{
    static float in[2 * 13 * 17], out[2 * 13 * 17];
    static const int kinds[][4] = {{3, 1, 1, 1}, {3, 1, 0, 1}, {3, 2, 1, 1}, {5, 1, 2, 1}, {3, 1, 2, 2}, {1, 1, 0, 1}, {4, 3, 2, 1}};
    struct error err = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int marks = 0; marks < 3; marks++) {
            struct work w = conv_work(2, 2, 13, 17, kinds[i][0]);
            w.n = 2, w.stride = kinds[i][1], w.pad = kinds[i][2], w.dilation = kinds[i][3];
            if (marks)
                w.mask = (struct mask){.pattern = MASK_IID, .density = 0.06, .seed = 3, .marks_output = marks == 2};
            finish(&w);
            assert_true(mask_both(&w, in, out, &err));
            for (int64_t at = 0; at < w.n * w.h * w.w && marks == 2; at++) {
                bool read = false;
                for (int64_t o = 0; o < w.p * w.q * w.r * w.s; o++) {
                    int64_t p = o / (w.s * w.r * w.q), q = o / (w.s * w.r) % w.q, r = o / w.s % w.r, s = o % w.s;
                    read |= out[at / (w.h * w.w) * w.p * w.q + p * w.q + q] != 0 &&
                            p * w.stride - w.pad + r * w.dilation == at / w.w % w.h && q * w.stride - w.pad + s * w.dilation == at % w.w;
                }
                assert_true((in[at] != 0) == read);
            }
            for (int64_t at = 0; at < w.n * w.p * w.q && marks == 1; at++) {
                int64_t p = at / w.q % w.p, q = at % w.q;
                bool reads = false;
                for (int64_t t = 0; t < w.r * w.s; t++) {
                    int64_t y = p * w.stride - w.pad + t / w.s * w.dilation, x = q * w.stride - w.pad + t % w.s * w.dilation;
                    reads |= y >= 0 && y < w.h && x >= 0 && x < w.w && in[at / (w.p * w.q) * w.h * w.w + y * w.w + x] != 0;
                }
                assert_true((out[at] != 0) == reads);
            }
            for (int64_t at = 0; at < w.n * w.h * w.w && !marks; at++)
                assert_true(in[at] == 1);
            for (int64_t at = 0; at < w.n * w.p * w.q && !marks; at++)
                assert_true(out[at] == 1);
            struct useful useful;
            assert_true(work_useful(&w, &useful, &err));
            double density[2] = {0};
            for (int64_t at = 0; at < w.n * w.h * w.w; at++)
                density[0] += (in[at] != 0) / (double)(w.n * w.h * w.w);
            for (int64_t at = 0; at < w.n * w.p * w.q; at++)
                density[1] += (out[at] != 0) / (double)(w.n * w.p * w.q);
            assert_true(fabs(useful.input_share - density[0]) < 1e-12 && fabs(useful.output_share - density[1]) < 1e-12);
            assert_true(fabs(useful.flop - work_flop(&w) * density[1]) < 1e-6 * useful.flop);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(units_are_told_apart), cmocka_unit_test(who_writes_scratch),
                                       cmocka_unit_test(tensors_are_found), cmocka_unit_test(masks_reach_as_filters_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
