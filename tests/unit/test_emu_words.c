/* emu never ignores a modifier that it does not know: it accepts each instruction of the list as it is, and refuses it with an extra word
 * before, between or behind its modifiers, or in place of one. ptxas 13.5 accepts and refuses the same forms below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"

#define BODY \
    ".global .align 128 .b8 buf[4096];\n.visible .entry k(.param .u64 kp, .param .align 64 .b8 map[128])\n{\n.reg .b32 r<16>; .reg .b64 " \
    "d<16>; " \
    ".reg .b16 h<8>; .reg .pred p<4>; .reg .f32 f<36>; .reg .f64 e<4>; .reg .b128 q<4>; .reg .b32 m<8>; .reg .b64 x<2>;\n.shared .align " \
    "128 " \
    ".b8 s[4096];\n.local .align 8 .b8 l[64];\n%s\nL:\nret;\n}\n"

static bool taken(const char *text, struct error *err)
{
    SCOPED char *ptx = text_format(PTX_HEAD BODY, text);
    *err = (struct error){0};
    return emu_test_takes("GH100", ptx, err);
}

static const char *const rows[] = {
    "add.u32 r1, r2, r3;",
    "add.sat.s32 r1, r2, r3;",
    "add.cc.u32 r1, r2, r3;",
    "addc.u32 r1, r2, r3;",
    "sub.s64 d1, d2, d3;",
    "mul.wide.u32 d1, r2, r3;",
    "mad.lo.s32 r1, r2, r3, r4;",
    "mul24.lo.u32 r1, r2, r3;",
    "sad.u32 r1, r2, r3, r4;",
    "div.s32 r1, r2, r3;",
    "rem.u64 d1, d2, d3;",
    "min.s32 r1, r2, r3;",
    "abs.s32 r1, r2;",
    "neg.s32 r1, r2;",
    "popc.b32 r1, r2;",
    "clz.b32 r1, r2;",
    "bfind.shiftamt.u32 r1, r2;",
    "bfe.u32 r1, r2, r3, r4;",
    "bfi.b32 r1, r2, r3, r4, r5;",
    "prmt.b32.f4e r1, r2, r3, r4;",
    "lop3.b32 r1, r2, r3, r4, 5;",
    "dp4a.u32.s32 r1, r2, r3, r4;",
    "dp2a.lo.u32.u32 r1, r2, r3, r4;",
    "and.b32 r1, r2, r3;",
    "not.pred p1, p2;",
    "shl.b32 r1, r2, r3;",
    "shf.l.wrap.b32 r1, r2, r3, r4;",
    "brev.b32 r1, r2;",
    "bmsk.clamp.b32 r1, r2, r3;",
    "szext.clamp.s32 r1, r2, r3;",
    "fns.b32 r1, r2, r3, r4;",
    "cnot.b32 r1, r2;",
    "setp.lt.and.u32 p1|p2, r1, r2, p3;",
    "set.lt.u32.f32 r1, f1, f2;",
    "selp.b32 r1, r2, r3, p1;",
    "slct.b32.s32 r1, r2, r3, r4;",
    "mov.b32 r1, r2;",
    "cvt.rn.f32.s32 f1, r1;",
    "cvt.rn.satfinite.e4m3x2.f32 h1, f1, f2;",
    "cvt.pack.sat.u8.s32.b32 r1, r2, r3, r4;",
    "add.rn.ftz.f32 f1, f2, f3;",
    "fma.rn.f64 e1, e2, e3, e1;",
    "div.approx.ftz.f32 f1, f2, f3;",
    "sqrt.rn.f32 f1, f2;",
    "rcp.approx.ftz.f64 e1, e2;",
    "ex2.approx.ftz.f32 f1, f2;",
    "tanh.approx.f32 f1, f2;",
    "testp.finite.f32 p1, f1;",
    "copysign.f32 f1, f2, f3;",
    "min.NaN.xorsign.abs.f32 f1, f2, f3;",
    "fma.rn.relu.f16x2 r1, r2, r3, r4;",
    "ld.global.L1::no_allocate.L2::128B.v2.u32 {r1, r2}, [d1];",
    "ld.global.nc.L2::cache_hint.u32 r1, [d1], d3;",
    "ld.relaxed.gpu.global.u32 r1, [d1];",
    "ld.volatile.shared.u32 r1, [r3];",
    "ldu.global.u32 r1, [d1];",
    "st.global.wb.u32 [d1], r1;",
    "st.release.sys.global.L1::evict_last.u32 [d1], r1;",
    "atom.acq_rel.gpu.global.add.L2::cache_hint.u32 r1, [d1], r2, d3;",
    "atom.shared.cas.b32 r1, [r3], r2, r4;",
    "red.release.gpu.global.add.noftz.v2.f16x2 [d1], {r1, r2};",
    "cvta.to.global.u64 d1, d2;",
    "isspacep.shared::cta p1, d1;",
    "discard.global.L2 [d1], 128;",
    "prefetch.global.L2::evict_last [d1];",
    "prefetchu.L1 [d1];",
    "prefetch.param.tensormap [d1];",
    "applypriority.global.L2::evict_normal [d1], 128;",
    "pmevent.mask 7;",
    "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 d1, 1.0;",
    "createpolicy.range.global.L2::evict_last.b64 d1, [d2], 4096, 8192;",
    "createpolicy.cvt.L2.b64 d1, d2;",
    "membar.gl;",
    "membar.proxy.alias;",
    "fence.acq_rel.gpu;",
    "fence.proxy.async.shared::cta;",
    "fence.mbarrier_init.release.cluster;",
    "fence.proxy.tensormap::generic.acquire.gpu [d1], 128;",
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
    "fence.acquire.sync_restrict::shared::cluster.cluster;",
    "fence.alias.sync_restrict::read.release.sys;",
    "fence.proxy.alias.acquire.sys;",
    "griddepcontrol.wait;",
    "griddepcontrol.launch_dependents;",
    "setmaxnreg.inc.sync.aligned.u32 64;",
    "bar.sync 0;",
    "barrier.sync.aligned 0;",
    "bar.red.popc.u32 r1, 0, p1;",
    "bar.warp.sync r1;",
    "barrier.cluster.arrive.release.aligned;",
    "shfl.sync.bfly.b32 r1|p1, r2, r3, r4, r5;",
    "vote.sync.ballot.b32 r1, p1, r2;",
    "match.any.sync.b32 r1, r2, r3;",
    "redux.sync.add.u32 r1, r2, r3;",
    "activemask.b32 r1;",
    "elect.sync r1|p1, r2;",
    "nanosleep.u32 r1;",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {r1, r2, r3, r4}, [r5];",
    "movmatrix.sync.aligned.m8n8.trans.b16 r1, r2;",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f1, f2, f3, f4}, {r1, r2, r3, r4}, {r5, r6}, {f1, f2, f3, f4};",
    "cp.async.cg.shared.global.L2::128B [r1], [d1], 16;",
    "cp.async.commit_group;",
    "cp.async.wait_group 0;",
    "cp.async.mbarrier.arrive.noinc.shared.b64 [r1];",
    "cp.async.bulk.commit_group;",
    "cp.async.bulk.wait_group.read 0;",
    "cp.async.bulk.prefetch.L2.global.L2::cache_hint [d1], 128, d3;",
    "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [d1, {r1, r2}];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [r1], [d1], 128, [r2], d3;",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [r1], [d1, {r2, "
    "r3}], "
    "[r4], h1, d3;",
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [d1, {r2, r3}], [r1];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d1], [r1], 128;",
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [r1], {r2, r3}, [r4];",
    "mbarrier.init.shared::cta.b64 [r1], 1;",
    "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 d1, [r1], r2;",
    "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p1, [r1], r2;",
    "wgmma.fence.sync.aligned;",
    "wgmma.commit_group.sync.aligned;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f1, f2, f3, f4}, d1, d2, p1, 1, 1, 0, 0;",
    "mapa.shared::cluster.u32 r1, r2, r3;",
    "getctarank.shared::cluster.u32 r1, r2;",
    "vadd4.u32.u32.u32.add r1, r2, r3, r4;",
    "bra.uni L;",
};

/* Where the modifiers of a text begin: its points up to the first blank. */
static int points(const char *text, const char *at[20])
{
    int n = 0;
    for (const char *c = text; *c != ' ' && *c != ';'; c++)
        if (*c == '.')
            at[n++] = c;
    return n;
}

static void none_taken(const char *const *texts, size_t count)
{
    struct error err;
    for (size_t i = 0; i < count; i++)
        if (taken(texts[i], &err))
            fail_msg("%s is taken", texts[i]);
}

static void all_taken(const char *const *texts, size_t count)
{
    struct error err;
    for (size_t i = 0; i < count; i++)
        if (!taken(texts[i], &err))
            fail_msg("%s: %s", texts[i], err.text);
}

static void modifiers_that_do_not_exist(void **state)
{
    struct error err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *at[20];
        int n = points(rows[i], at);
        if (!taken(rows[i], &err))
            fail_msg("%s", err.text);
        for (int k = 0; k < 2 * n + 1; k++) { /* each replaced, each gap */
            const char *from = k < n ? at[k] : k < 2 * n ? at[k - n] : rows[i] + strcspn(rows[i], " ;");
            const char *rest = k < n ? (k + 1 < n ? at[k + 1] : rows[i] + strcspn(rows[i], " ;")) : from;
            SCOPED char *text = text_format("%.*s.banana%s", (int)(from - rows[i]), rows[i], rest);
            if (taken(text, &err))
                fail_msg("%s is taken", text);
        }
    }
}

static void forms_that_do_not_exist(void **state)
{
    static const char *const wrong[] = {"fence.relaxed.gpu;",
                                        "fence.gl;",
                                        "fence.sc;",
                                        "fence.release.sync_restrict::shared::cta.gpu;",
                                        "fence.mbarrier_init.release.cta;",
                                        "fence.proxy.alias.acq_rel;",
                                        "fence.proxy.async.shared;",
                                        "fence.proxy.async.local;",
                                        "fence.proxy;",
                                        "membar.gpu;",
                                        "membar.cluster;",
                                        "membar.proxy.async.global;",
                                        "griddepcontrol;",
                                        "prefetch.shared.L2 [r3];",
                                        "prefetch.global.L9 [d1];",
                                        "prefetch.global.tensormap [d1];",
                                        "prefetchu.L2 [d1];",
                                        "discard.global.L1 [d1], 128;",
                                        "ld.global.cta.u32 r1, [d1];",
                                        "ld.relaxed.global.u32 r1, [d1];",
                                        "ld.release.gpu.u32 r1, [d1];",
                                        "ld.volatile.global.ca.u32 r1, [d1];",
                                        "ld.global.wb.u32 r1, [d1];",
                                        "ld.global.ca.cg.u32 r1, [d1];",
                                        "ld.shared.L1::evict_last.u32 r1, [r3];",
                                        "ld.global.L2::evict_last.u32 r1, [d1];",
                                        "ld.nc.u32 r1, [d1];",
                                        "ld.global.f16 h1, [d1];",
                                        "ld.global.unified.u32 r1, [d1];",
                                        "ldu.global.ca.u32 r1, [d1];",
                                        "st.global.ca.u32 [d1], r1;",
                                        "st.global.nc.u32 [d1], r1;",
                                        "st.global.L2::128B.u32 [d1], r1;",
                                        "st.acquire.gpu.u32 [d1], r1;",
                                        "st.relaxed.u32 [d1], r1;",
                                        "atom.sc.gpu.global.add.u32 r1, [d1], r2;",
                                        "atom.volatile.global.add.u32 r1, [d1], r2;",
                                        "atom.global.add.L1::evict_last.u32 r1, [d1], r2;",
                                        "atom.global.add.f16 h1, [d1], h2;",
                                        "atom.local.add.u32 r1, [d1], r2;",
                                        "red.acquire.gpu.global.add.u32 [d1], r2;",
                                        "movmatrix.sync.aligned.m8n8.b16 r1, r2;",
                                        "ld.global.L1::banana.u32 r1, [d1];",
                                        "st.global.L2::evict_banana.u32 [d1], r1;",
                                        "cp.async.cg.shared.global.L2::banana [r1], [d1], 16;",
                                        "ld.global.L1::evict_last.L2::evict_first.v4.b32 {r1, r2, r3, r4}, [d1];",
                                        "cp.async.bulk.prefetch.L1.global [d1], 128;"};
    static const char *const right[] = {"ld.global.u32 r1, [d1].unified;",
                                        "ld.u32.global r1, [d1];",
                                        "ld.global.L2::128B.L1::no_allocate.u32 r1, [d1];",
                                        "atom.global.v4.f32.add {f0, f1, f2, f3}, [d1], {f0, f1, f2, f3};",
                                        "prefetch.L2::evict_normal [d1];",
                                        "fence.cta;"};
    none_taken(wrong, sizeof wrong / sizeof *wrong);
    all_taken(right, sizeof right / sizeof *right);
}

/* The place, and the nearest word. */
static void what_is_said(void **state)
{
    struct error err;
    assert_false(taken("setp.eq.u32 p1, r1, r2;\n  @p1 ld.global.L1::evict_lost.u32 r1, [d1];", &err));
    assert_string_equal(err.text,
                        "taken: PTX line 11, column 16: 'ld.global.L1::evict_lost.u32': emu does not support '.L1::evict_lost' here; the "
                        "nearest is '.L1::evict_last'");
    assert_false(taken("/* a\n comment */ fence.acqrel.gpu;", &err));
    assert_string_equal(
        err.text, "taken: PTX line 11, column 18: 'fence.acqrel.gpu': emu does not support '.acqrel' here; the nearest is '.acq_rel'");
    assert_false(taken("ldmatrx.sync r1, [r2];", &err));
    assert_string_equal(err.text,
                        "taken: PTX line 10, column 1: 'ldmatrx.sync': emu does not support this instruction; the nearest is 'ldmatrix'");
    assert_false(taken("add.u32.stat r1, r2, r3;", &err));
    assert_string_equal(err.text, "taken: PTX line 10, column 8: 'add.u32.stat': emu does not support '.stat' here; the nearest is '.sat'");
    assert_false(taken("@p1 mov.b32 r1, d1;", &err));
    assert_string_equal(err.text, "taken: PTX line 10, column 5: 'mov.b32': operand 'd1' has the wrong size");
    assert_false(taken("  bra nowhere;", &err));
    assert_string_equal(err.text, "taken: PTX line 10, column 3: 'bra' to an unknown label");
    assert_false(taken("setmaxnreg.inc.sync.aligned.u32 100;", &err));
    assert_non_null(strstr(err.text, "registers of a thread go from"));
    SCOPED char *scaled = text_format(".version 9.0\n.target sm_120a\n.address_size 64\n" BODY,
                                      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::2X.f32.e4m3.e4m3.f32.ue8m0 "
                                      "{f1, f2, f3, f4}, {r1, r2, r3, r4}, {r5, r6}, {f1, f2, f3, f4}, r7, {h1, h2}, r8, {h1, h2};");
    assert_false(emu_test_takes("GH100", scaled, &err));
    assert_non_null(strstr(err.text, "'.scale_vec::2X' does not go with the other modifiers"));
}

/* What ptxas 13.0 refuses for sm_90a, although the words exist. */
static void what_the_target_has_not(void **state)
{
    static const char *const all[] = {"add.f32x2 d1, d2, d3;",
                                      "ld.global.v8.f32 {f1, f2, f3, f4, f1, f2, f3, f4}, [d1];",
                                      "redux.sync.abs.min.f32 f1, f2, -1;",
                                      "tcgen05.wait::ld.sync.aligned;",
                                      "ex2.approx.ftz.f16x2 r1, r2;",
                                      "popc.b16 r1, h1;",
                                      "cvt.rn.s32.f32 r1, f1;",
                                      "cp.async.cg.shared.global [r1], [d1], 8;",
                                      "fence.proxy.tensormap::generic.acquire.gpu [d1], 64;",
                                      "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {f1, f2, f3, f4}, {r1, r2, r3, r4}, {r1, r2}, "
                                      "{f1, f2, f3, f4};"};
    struct error err;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        err = (struct error){0};
        if (taken(all[i], &err))
            fail_msg("%s runs", all[i]);
        if (strstr(err.text, "unknown"))
            fail_msg("%s", err.text);
    }
    assert_false(taken("min.f32 f1, f2, f3, f4;", &err)); /* of sm_100; what names no chip may have it */
    SCOPED char *anywhere = text_format(".version 9.0\n.target compute_90\n.address_size 64\n" BODY, "min.f32 f1, f2, f3, f4;");
    err = (struct error){0};
    if (!emu_test_takes("GH100", anywhere, &err))
        fail_msg("%s", err.text);
}

/* Types that an instruction does not have, modifiers that it requires, operands that it does not have: emu refuses and accepts what ptxas
 * 13.0 does. */
static void types_and_what_is_needed(void **state)
{
    static const char *const wrong[] = {"add..f32 f1, f2, f3;", /* an empty word */
                                        "add.f32. f1, f2, f3;",
                                        "setp..eq.f32 p1, f1, f2;",
                                        "cvt..rn.f32.u32 f1, r1;",
                                        "add.f32 f1, f2, 1;",
                                        "st.global.f32 [d1], 0;",
                                        "setp.eq.f32 p1, f1, 0;",
                                        "add.u32 r1, r2, 1.5;",
                                        "st.global.u32 [d1], 0f3F800000;",
                                        "add.s32 r1, f1, r2;",
                                        "cvt.u32.u16 r1, f1;",
                                        "cvt.rn.f32.u32 f1, f2;",
                                        "mov.u32 r1, f1;",
                                        "ld.global.u32 f1, [d1];",
                                        "st.global.u32 [d1], f1;",
                                        "max.u32 r1, f1, r2;",
                                        "barrier.cluster.arrive.acquire;",
                                        "wgmma.commit_group.aligned;",
                                        "and.u32 r1, r2, r3;",
                                        "or.s32 r1, r2, r3;",
                                        "xor.u64 d1, d2, d3;",
                                        "not.u32 r1, r2;",
                                        "shl.u32 r1, r2, 1;",
                                        "popc.u32 r1, r2;",
                                        "clz.u32 r1, r2;",
                                        "brev.u32 r1, r2;",
                                        "bfi.u32 r1, r2, r3, 1, 2;",
                                        "bfe.b32 r1, r2, 1, 2;",
                                        "bfind.b32 r1, r2;",
                                        "prmt.u32 r1, r2, r3, 1;",
                                        "mad.u32 r1, r2, r3, r4;",
                                        "mul.u32 r1, r2, r3;",
                                        "mul.s64 d1, d2, d3;",
                                        "mad.f32 f1, f2, f3, f4;",
                                        "fma.f32 f1, f2, f3, f4;",
                                        "fma.f64 e1, e2, e3, e1;",
                                        "fma.f16 h1, h2, h3, h4;",
                                        "div.f32 f1, f2, f3;",
                                        "div.f64 e1, e2, e3;",
                                        "div.full.f64 e1, e2, e3;",
                                        "sqrt.f32 f1, f2;",
                                        "sqrt.approx.f64 e1, e2;",
                                        "rcp.f32 f1, f2;",
                                        "rcp.approx.f64 e1, e2;",
                                        "rsqrt.f32 f1, f2;",
                                        "rsqrt.rn.f32 f1, f2;",
                                        "lg2.f32 f1, f2;",
                                        "sin.f32 f1, f2;",
                                        "cos.f32 f1, f2;",
                                        "ex2.f32 f1, f2;",
                                        "tanh.f32 f1, f2;",
                                        "add.ftz.f64 e1, e2, e3;",
                                        "add.sat.f64 e1, e2, e3;",
                                        "add.b32 r1, r2, r3;",
                                        "sub.b64 d1, d2, d3;",
                                        "abs.u32 r1, r2;",
                                        "neg.u32 r1, r2;",
                                        "neg.ftz.f64 e1, e2;",
                                        "max.ftz.f64 e1, e2, e3;",
                                        "min.xorsign.f32 f1, f2, f3;",
                                        "setp.lo.s32 p1, r1, r2;",
                                        "setp.lt.b32 p1, r1, r2;",
                                        "setp.num.u32 p1, r1, r2;",
                                        "setp.ltu.s32 p1, r1, r2;",
                                        "setp.lo.f32 p1, f1, f2;",
                                        "setp.ftz.lt.f64 p1, e1, e2;",
                                        "set.ltu.u32.s32 r1, r2, r3;",
                                        "slct.b32.u32 r1, r2, r3, r4;",
                                        "cvt.f32.u32 f1, r1;",
                                        "cvt.u32.f32 r1, f1;",
                                        "cvt.f32.f64 f1, e1;",
                                        "cvt.f16.f32 h1, f1;",
                                        "cvt.rn.f64.f32 e1, f1;",
                                        "cvt.rn.f32.f16 f1, h1;",
                                        "cvt.rzi.u32.u32 r1, r2;",
                                        "cvt.rn.u32.s32 r1, r2;",
                                        "cvt.ftz.f64.f64 e1, e2;",
                                        "atom.global.add.b32 r1, [d1], r2;",
                                        "atom.global.add.s64 d2, [d1], d3;",
                                        "atom.global.and.u32 r1, [d1], r2;",
                                        "atom.global.inc.s32 r1, [d1], r2;",
                                        "atom.global.exch.u32 r1, [d1], r2;",
                                        "atom.global.cas.u32 r1, [d1], r2, r3;",
                                        "atom.global.min.b32 r1, [d1], r2;",
                                        "atom.global.add.b16 h1, [d1], h2;",
                                        "red.global.add.s64 [d1], d2;",
                                        "red.global.or.u32 [d1], r1;",
                                        "bar.sync 16;",
                                        "bar.sync 3, 33;",
                                        "bar.arrive 2;",
                                        "barrier.sync 17;",
                                        "bar.red.and.u32 r1, 1, p1;",
                                        "shfl.sync.idx.u32 r1, r2, 0, 31, -1;",
                                        "match.any.sync.u32 r1, r2, -1;",
                                        "redux.sync.add.b32 r1, r2, -1;",
                                        "redux.sync.and.u32 r1, r2, -1;",
                                        "dp4a.b32.b32 r1, r2, r3, r4;",
                                        "dp2a.u32.u32 r1, r2, r3, r4;",
                                        "lop3.u32 r1, r2, r3, r4, 1;",
                                        "shf.l.b32 r1, r2, r3, 1;",
                                        "shf.r.clamp.u32 r1, r2, r3, 1;",
                                        "bmsk.b32 r1, 1, 2;",
                                        "szext.clamp.b32 r1, r2, 5;",
                                        "fns.u32 r1, r2, 0, 1;",
                                        "testp.finite.f16 p1, h1;",
                                        "nanosleep.s32 5;",
                                        "activemask.u32 r1;",
                                        "griddepcontrol.wait 1;",
                                        "trap 1;",
                                        "exit 0;",
                                        "fence.proxy.tensormap::generic.acquire.gpu [d1];",
                                        "cvt.rn.f32.f32 f1, f2;",
                                        "cvt.rz.f64.f64 e1, e2;",
                                        "bar.red.and.pred p1, 0, 33, p2;",
                                        "selp.f16 h1, h2, h3, p1;",
                                        "mov.f16 h1, h2;",
                                        "ld.global.f32 e1, [d1];",
                                        "st.global.v2.f32 [d1], {e1, e2};"};
    static const char *const right[] = {"mov.b32 r1, 0f3F800000;",
                                        "st.global.b32 [d1], 0f3F800000;",
                                        "mov.f32 f1, 1.5;",
                                        "add.f32 f1, r1, f2;",
                                        "mov.f32 f1, r1;",
                                        "ld.global.f32 r1, [d1];",
                                        "and.b32 f1, f2, f3;",
                                        "shl.b32 f1, f2, 1;",
                                        "selp.b32 r1, 0f3F800000, 1, p1;",
                                        "shr.b32 r1, r2, 1;",
                                        "set.eq.u32.f16 r1, h1, h2;",
                                        "setp.eq.b32 p1, r1, r2;",
                                        "setp.hi.u32 p1, r1, r2;",
                                        "setp.equ.f32 p1, f1, f2;",
                                        "setp.lt.f16x2 p1|p2, r1, r2;",
                                        "cvt.rni.f32.f32 f1, f2;",
                                        "cvt.sat.u32.s32 r1, r2;",
                                        "cvt.f64.f32 e1, f1;",
                                        "cvt.f32.bf16 f1, h1;",
                                        "cvt.rn.bf16.f32 h1, f1;",
                                        "cvt.rzi.u16.f32 h1, f1;",
                                        "cvt.u8.u32 h1, r1;",
                                        "cvt.rn.f16.s8 h1, h2;",
                                        "rcp.approx.ftz.f64 e1, e2;",
                                        "rsqrt.approx.ftz.f64 e1, e2;",
                                        "rsqrt.approx.f64 e1, e2;",
                                        "mad.rn.f32 f1, f2, f3, f4;",
                                        "mul.f16x2 r1, r2, r3;",
                                        "neg.bf16x2 r1, r2;",
                                        "atom.global.add.noftz.f16x2 r1, [d1], r2;",
                                        "atom.global.cas.b16 h1, [d1], h2, h3;",
                                        "red.global.max.s64 [d1], d2;",
                                        "bar.sync 15, 64;",
                                        "bar.red.popc.u32 r1, 1, p1;",
                                        "vote.sync.ballot.b32 r1, p1, -1;",
                                        "ex2.approx.f16 h1, h2;",
                                        "cvt.rn.bf16.f16 h1, h2;",
                                        "bar.red.popc.u32 r1, 0, 64, p1;",
                                        "bar.red.popc.u32 r1, 0, !p1;",
                                        "ld.global.f64 e1, [d1];"};
    none_taken(wrong, sizeof wrong / sizeof *wrong);
    all_taken(right, sizeof right / sizeof *right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(modifiers_that_do_not_exist), cmocka_unit_test(forms_that_do_not_exist),
                                       cmocka_unit_test(what_is_said), cmocka_unit_test(what_the_target_has_not),
                                       cmocka_unit_test(types_and_what_is_needed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
