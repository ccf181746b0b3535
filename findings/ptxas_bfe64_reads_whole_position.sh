#!/bin/sh
# Behaviour: PTX says that bfe and bfi use the lowest 8 bits of position and length. ptxas does so for 32-bit values. For 64-bit ones, which
# no machine instruction computes, it shifts by the whole register: `bfe.u64` of 0x7f at position 0x101, 4 bits long, is 0, where PTX has
# 15, and `bfi.b64` at 0x104 changes nothing. Constant operands and run-time ones (the shift takes the parameter as it is, no AND with 0xff
# before it) agree. Two packed fields in one register (position | length << 8) work as a 32-bit position and not as a 64-bit one.
# Seen with: ptxas 13.0.88 and 13.5.37, nvdisasm 13.5.37, sm_75 and sm_90, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for v in 13.0.88 13.5.37; do python3 -m pip install -q --root-user-action=ignore --no-deps --target "$work/$v" nvidia-cuda-nvcc==$v; done
python3 -m pip install -q --root-user-action=ignore --no-deps --target "$work/sass" nvidia-cuda-nvdisasm==13.5.37
nvdisasm=$(find "$work/sass" -name nvdisasm -type f)
chmod +x "$nvdisasm"
sass() { # sass PTXAS CHIP < body: the machine code of a kernel with the parameters out, position and length
    {
        printf '.version 8.3\n.target %s\n.address_size 64\n' "$2"
        printf '.visible .entry k(.param .u64 out, .param .u32 position, .param .u32 length)\n{\n'
        cat
        printf 'ret;\n}\n'
    } >"$work/k.ptx"
    "$1" -O3 -arch "$2" "$work/k.ptx" -o "$work/k.cubin"
    "$nvdisasm" -c "$work/k.cubin"
}
for v in 13.0.88 13.5.37; do
    ptxas=$(find "$work/$v" -name ptxas -type f)
    chmod +x "$ptxas"
    for chip in sm_75 sm_90; do
        for bits in 32 64; do
            # by PTX both are 15; HFMA2 writes the two numbers as pairs of 0.00124 and 0.00805
            code=$(sass "$ptxas" $chip <<P
.reg .b64 %at;
.reg .b$bits %v;
.reg .b32 %n, %position;
.reg .pred %right;
ld.param.u64 %at, [out];
mov.b$bits %v, 0x7f;
mov.b32 %position, 0x101;
bfe.u$bits %v, %v, %position, 4;
setp.eq.u$bits %right, %v, 15;
selp.b32 %n, 0x15151515, 0x20202020, %right;
st.global.b32 [%at], %n;
P
)
            case $code in
            *0x15151515* | *0.00124*) said="15, as PTX has it" ;;
            *0x20202020* | *0.00805*) said="not 15" ;;
            *) said="not folded" ;;
            esac
            echo "ptxas $v $chip bfe.u$bits 0x7f, 0x101, 4: $said"
        done
        code=$(sass "$ptxas" $chip <<P
.reg .b64 %at, %v;
.reg .b32 %position;
ld.param.u64 %at, [out];
ld.param.u32 %position, [position];
ld.global.b64 %v, [%at];
bfe.u64 %v, %v, %position, 4;
st.global.b64 [%at], %v;
P
)
        case $code in *0xff[,\ \;]*) said="masked" ;; *SHF.R.U64*) said="shifted by the whole position" ;; *) said="other code" ;; esac
        echo "ptxas $v $chip bfe.u64 at run time: $said"
    done
done | tee "$work/said"
for v in 13.0.88 13.5.37; do
    for chip in sm_75 sm_90; do
        grep -qx "ptxas $v $chip bfe.u32 0x7f, 0x101, 4: 15, as PTX has it" "$work/said"
        grep -qx "ptxas $v $chip bfe.u64 0x7f, 0x101, 4: not 15" "$work/said"
        grep -qx "ptxas $v $chip bfe.u64 at run time: shifted by the whole position" "$work/said"
    done
done
