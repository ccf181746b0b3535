#!/bin/sh
# Behaviour: with constant operands, ptxas 13.0 computes `slct.s32.s32` as if its selector were a float. PTX takes the first value if the
# selector, a whole number, is at least 0. ptxas 13.0 takes the second for 0x7f800001 and above (NaN as a float) and the first for
# 0x80000000 (-0 as a float). With a selector that is known at run time only it compares whole numbers, so the result changes with inlining
# and unrolling. u32 and b32 values are folded right. ptxas 13.5 folds all of them right.
# Seen with: ptxas 13.0.88 (wrong) and 13.5.37 (right), sm_90, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for v in 13.0.88 13.5.37; do python3 -m pip install -q --root-user-action=ignore --no-deps --target "$work/$v" nvidia-cuda-nvcc==$v; done
python3 -m pip install -q --root-user-action=ignore --no-deps --target "$work/sass" nvidia-cuda-nvdisasm==13.5.37
nvdisasm=$(find "$work/sass" -name nvdisasm -type f)
chmod +x "$nvdisasm"
for v in 13.0.88 13.5.37; do
    ptxas=$(find "$work/$v" -name ptxas -type f)
    chmod +x "$ptxas"
    for type in s32 u32; do
        for selector in 5 0x7f800000 0x7f800001 0x7ffffffe 0x80000000 0xffffffff; do
            cat >"$work/k.ptx" <<P
.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %v, %first, %second, %selector;
    .reg .b64 %at;
    ld.param.u64 %at, [out];
    mov.b32 %first, 300;
    mov.b32 %second, 400;
    mov.b32 %selector, $selector;
    slct.$type.s32 %v, %first, %second, %selector;
    st.global.b32 [%at], %v;
    ret;
}
P
            "$ptxas" -O3 -arch sm_90 "$work/k.ptx" -o "$work/k.cubin"
            "$nvdisasm" -c "$work/k.cubin" >"$work/k.sass"
            # 300 or 400 as a hexadecimal immediate, or as the half-precision pair that HFMA2 writes
            taken=none
            ! grep -qE '0x190 ?;|2\.384' "$work/k.sass" || taken=second
            ! grep -qE '0x12c[ ,;]|1\.788' "$work/k.sass" || taken=first
            echo "ptxas $v slct.$type.s32 selector $selector: $taken"
        done
    done
done | tee "$work/said"
while read -r v type list; do
    set -- $list
    for selector in 5 0x7f800000 0x7f800001 0x7ffffffe 0x80000000 0xffffffff; do
        grep -qx "ptxas $v slct.$type.s32 selector $selector: $1" "$work/said"
        shift
    done
done <<E2
13.0.88 s32 first first second second first second
13.0.88 u32 first first first first second second
13.5.37 s32 first first first first second second
13.5.37 u32 first first first first second second
E2
