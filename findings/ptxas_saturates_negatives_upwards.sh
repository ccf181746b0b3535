#!/bin/sh
# Behaviour: a video instruction of PTX that saturates to a selected byte or half (`vadd.s32.s32.s32.sat d.b0, a, b, c`; vsub, vmin, .h0 and unsigned types alike) clamps to the range of
# that part by the manual: -5 + -3 is -8, -100 + -100 is -128. ptxas writes an unsigned minimum with the part's largest value, so that every negative result becomes 127 (32767 for .h0;
# 255 for an unsigned byte, where the manual has 0). Saturation of a signed whole register is right.
# Seen with: ptxas 13.0.88 (in NVRTC) and 13.5.37, nvdisasm 13.5.37, sm_75 to sm_120, on 2026-11-30; values on an H200 (driver 580.159.04, CUDA 13.0): as described
# Exit status 0: as described; 1: it has changed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --root-user-action=ignore --no-deps --target "$work/site" nvidia-cuda-nvcc==13.5.37 nvidia-cuda-nvdisasm==13.5.37
ptxas=$(find "$work/site" -name ptxas -type f | head -n 1)
disassemble=$(find "$work/site" -name nvdisasm -type f | head -n 1)
chmod +x "$ptxas" "$disassemble"
changed=0
for chip in sm_75 sm_90 sm_100 sm_120; do
    for form in 'vadd.s32 b0 0x7f' 'vsub.s32 b0 0x7f' 'vadd.s32 h0 0x7fff' 'vadd.u32 b0 0xff'; do
        set -- $form
        cat >"$work/k.ptx" <<P
.version 9.0
.target $chip
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 a, .param .u32 b)
{
    .reg .s32 %x, %y, %zero, %r;
    .reg .u64 %p;
    ld.param.u64 %p, [p];
    ld.param.u32 %x, [a];
    ld.param.u32 %y, [b];
    mov.s32 %zero, 0;
    $1.s32.s32.sat %r.$2, %x, %y, %zero;
    st.global.u32 [%p], %r;
    ret;
}
P
        "$ptxas" -arch $chip "$work/k.ptx" -o "$work/k.cubin"
        # the clamp: an unsigned comparison (or minimum) with the largest value, and no signed one
        seen=$("$disassemble" -c "$work/k.cubin" | grep -oE '(ISETP\.G[TE]|V?IMNMX)[A-Z0-9.]* .*0x(7f|7fff|ff)\b' | awk '{ print $1 }' | sort -u | tr '\n' ' ')
        echo "$chip $1.sat .$2: clamp to $3 by ${seen:-no unsigned comparison}"
        case $seen in *.U32*) ;; *) echo "$chip $1 .$2: changed"; changed=1 ;; esac
    done
done
exit $changed
