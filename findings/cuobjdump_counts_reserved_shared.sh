#!/bin/sh
# Behaviour: `cuobjdump -res-usage` adds the 1024 bytes of shared memory that CUDA reserves in each block to a kernel's own from sm_90 on, and not on sm_80 to sm_89,
# where CUDA reserves them as well: 256 bytes are SHARED:256 on sm_89 and SHARED:1280 on sm_90. A kernel without shared memory has SHARED:0 on all chips, although a block
# of it takes the kilobyte too, and SHARED:1024 on sm_90 if its module declares a dynamic array (`.extern .shared`), even an unused one. ptxas -v says 256 bytes or none everywhere.
# So who computes occupancy from cuobjdump must add 1024 on sm_80 to sm_89 and to kernels with SHARED:0, and nothing to the others, and the same source seems to grow from an
# A100 to an H100. ptxas -v also leaves out the constant memory of parameters (cmem[0]) from sm_90 on, which cuobjdump has for all chips.
# Seen with: ptxas and cuobjdump 13.5.37, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install -q --root-user-action=ignore --no-deps --target "$dir/tools" nvidia-cuda-nvcc==13.5.37 nvidia-cuda-cuobjdump==13.5.37
bin=$dir/tools/nvidia/cu13/bin
chmod +x "$bin/ptxas" "$bin/cuobjdump"
for chip in sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120; do
    for dynamic in "" ".extern .shared .align 16 .b8 more[];"; do
    cat >"$dir/k.ptx" <<P
.version 9.0
.target $chip
.address_size 64
$dynamic
.visible .entry with(.param .u64 out)
{
.reg .b64 %at;
.reg .b32 %v;
.shared .align 4 .b8 some[256];
ld.param.u64 %at, [out];
mov.u32 %v, %tid.x;
st.shared.b32 [some], %v;
bar.sync 0;
ld.shared.b32 %v, [some + 4];
st.global.b32 [%at], %v;
ret;
}
.visible .entry without(.param .u64 out)
{
.reg .b64 %at;
ld.param.u64 %at, [out];
st.global.b32 [%at], 1;
ret;
}
P
    "$bin/ptxas" -v -arch $chip "$dir/k.ptx" -o "$dir/k.cubin" 2>"$dir/ptxas"
    "$bin/cuobjdump" -res-usage "$dir/k.cubin" >"$dir/usage"
    smem=$(sed -n 's/.* \([0-9]*\) bytes smem.*/\1/p' "$dir/ptxas" | tr '\n' ' ')
    for kernel in with without; do eval "$kernel=$(grep -A1 "Function $kernel:" "$dir/usage" | sed -n 's/.*SHARED:\([0-9]*\).*/\1/p')"; done
    cmem=$(grep -c 'cmem\[0\]' "$dir/ptxas" || :)
    echo "$chip${dynamic:+ with a dynamic array}: ptxas -v: smem ${smem}(of one kernel), cmem[0] of $cmem kernels; cuobjdump: SHARED $with and $without"
    done
done | tee "$dir/said"
expect() { # expect CHIP KERNELS-WITH-CMEM SHARED-OF-THE-FIRST SHARED-OF-THE-SECOND-BESIDE-A-DYNAMIC-ARRAY
    grep -qx "$1: ptxas -v: smem 256 (of one kernel), cmem\[0\] of $2 kernels; cuobjdump: SHARED $3 and 0" "$dir/said"
    grep -qx "$1 with a dynamic array: ptxas -v: smem 256 (of one kernel), cmem\[0\] of $2 kernels; cuobjdump: SHARED $3 and $4" "$dir/said"
}
for chip in sm_75 sm_80 sm_86 sm_89; do expect $chip 2 256 0; done
for chip in sm_90 sm_100 sm_120; do expect $chip 0 1280 1024; done
