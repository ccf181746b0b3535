#!/bin/sh
# Behaviour: `mma.sync ... e4m3` is one instruction of the machine on sm_89 and sm_120 only. For sm_90, sm_100, sm_103 and sm_110 ptxas unpacks
# the fp8 operands to f16, issues two f16 products that begin with 0 (elements with k % 4 < 2, then the others), and adds the accumulator with
# an ordinary FADD. So the result differs in its last bits from wgmma's and from sm_89's on the same data, and an fp8 mma.sync on an H100 runs
# at f16's rate at most.
# Seen with: NVRTC 13.0.88 (its ptxas), nvdisasm 13.5.37, on 2026-11-28.
# Exit status 0: as described; 1: it has changed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --root-user-action=ignore --no-deps --target "$work/site" nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-nvdisasm==13.5.37
cat >"$work/fp8.cu" <<'K'
extern "C" __global__ void fp8(unsigned *p)
{
    unsigned *r = p + threadIdx.x * 16;
    float *d = (float *)(r + 8);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]));
}
K
cat >"$work/compile.py" <<'P'
import ctypes, glob, sys
site, source, arch, to = sys.argv[1:]
rtc = ctypes.CDLL(sorted(glob.glob(site + "/nvidia/**/libnvrtc.so.1[0-9]", recursive=True))[0])
prog = ctypes.c_void_p()
rtc.nvrtcCreateProgram(ctypes.byref(prog), open(source, "rb").read(), b"fp8.cu", 0, None, None)
options = (ctypes.c_char_p * 1)(("--gpu-architecture=" + arch).encode())
if rtc.nvrtcCompileProgram(prog, 1, options):
    sys.exit("does not compile for " + arch)
size = ctypes.c_size_t()
rtc.nvrtcGetCUBINSize(prog, ctypes.byref(size))
code = ctypes.create_string_buffer(size.value)
rtc.nvrtcGetCUBIN(prog, code)
open(to, "wb").write(code.raw)
P
disassemble=$(find "$work/site" -name nvdisasm -type f | head -n 1)
chmod +x "$disassemble"
changed=0
for chip in sm_89 sm_90 sm_90a sm_100 sm_103 sm_110 sm_120; do
    python3 "$work/compile.py" "$work/site" "$work/fp8.cu" $chip "$work/$chip.cubin"
    seen=$("$disassemble" -c "$work/$chip.cubin" | grep -oE '\b(QMMA|HMMA|FADD)\b' | sort | uniq -c | awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2 }')
    case $chip in sm_89 | sm_120) want='1 QMMA' ;; *) want='4 FADD, 2 HMMA' ;; esac
    echo "$chip: $seen"
    [ "$seen" = "$want" ] || { echo "$chip: changed, it was: $want"; changed=1; }
done
exit $changed
