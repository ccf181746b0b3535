#!/bin/sh
# Behaviour: PTX has vmad of unsigned numbers multiply and add them unsigned, and .sat of vadd and vmad clamp the exact sum to 32 bits. ptxas multiplies and adds as signed
# numbers (IMAD.WIDE, the third operand sign-extended) and clamps a sum of vadd.u32.u32.u32.sat at 0 only. On an H200 (driver 580.159.04, CUDA 13.0):
# vmad.u32.u32.u32.sat of 255, 15, 0x80000000 is 0 (PTX: 0x80000ef1), of 1, 0xfffffff1, 0x7fff is 0x7ff0 (0xffffffff); vmad.u32.u32.u32.shr7 of 255,
# 0xdb38, 0xcb352224 is 0xff981efd (0x1981efd); vadd.u32.u32.u32.sat of 0xffffffff, 0xe0dcdb38 is 0xe0dcdb37, the sum's low bits (0xffffffff).
# Seen with: ptxas 13.0.88 and 13.5.37, nvdisasm 13.5.37, sm_75, sm_90 and sm_120, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for v in 13.0.88 13.5.37; do python3 -m pip install -q --root-user-action=ignore --no-deps --target "$work/$v" nvidia-cuda-nvcc==$v; done
python3 -m pip install -q --root-user-action=ignore --no-deps --target "$work/sass" nvidia-cuda-nvdisasm==13.5.37
nvdisasm=$(find "$work/sass" -name nvdisasm -type f)
chmod +x "$nvdisasm"
sass() { # sass PTXAS CHIP INSTRUCTION: the machine code of d = INSTRUCTION of the parameters a, b and c
    cat >"$work/k.ptx" <<P
.version 9.0
.target $2
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 a, .param .u32 b, .param .u32 c)
{
.reg .b64 %at;
.reg .b32 %a, %b, %c, %d;
ld.param.u64 %at, [out];
ld.param.u32 %a, [a];
ld.param.u32 %b, [b];
ld.param.u32 %c, [c];
$3;
st.global.b32 [%at], %d;
ret;
}
P
    "$1" -O3 -arch "$2" "$work/k.ptx" -o "$work/k.cubin"
    "$nvdisasm" -c "$work/k.cubin"
}
for v in 13.0.88 13.5.37; do
    ptxas=$(find "$work/$v" -name ptxas -type f)
    chmod +x "$ptxas"
    for chip in sm_75 sm_90 sm_120; do
        for form in vmad.u32.u32.u32.sat vmad.u32.u32.u32.shr7; do
            product=$(sass "$ptxas" $chip "$form %d, %a, %b, %c" | grep -oE 'U?IMAD\.WIDE(\.U32)?' | sed 's/^U//')
            echo "ptxas $v $chip $form: $(echo $product)"
        done
        product=$(sass "$ptxas" $chip 'mad.wide.u32 %at, %a, %b, %at' | grep -oE 'U?IMAD\.WIDE(\.U32)?' | sed 's/^U//')
        echo "ptxas $v $chip mad.wide.u32: $(echo $product)"
        clamps=$(sass "$ptxas" $chip 'vadd.u32.u32.u32.sat %d, %a, %b' | grep -oE 'U?ISETP\.[A-Z0-9]+' | sed 's/^U//; s/GE$/LE/')
        echo "ptxas $v $chip vadd.u32.u32.u32.sat: compares $(echo $clamps)"
    done
done | tee "$work/said"
for v in 13.0.88 13.5.37; do
    for chip in sm_75 sm_90 sm_120; do
        grep -qx "ptxas $v $chip vmad.u32.u32.u32.sat: IMAD.WIDE" "$work/said"
        grep -qx "ptxas $v $chip vmad.u32.u32.u32.shr7: IMAD.WIDE" "$work/said"
        grep -qx "ptxas $v $chip mad.wide.u32: IMAD.WIDE.U32" "$work/said"
        grep -qx "ptxas $v $chip vadd.u32.u32.u32.sat: compares ISETP.LE" "$work/said"
    done
done
