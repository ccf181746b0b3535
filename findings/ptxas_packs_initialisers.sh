#!/bin/sh
# Behaviour: PTX says that initial values may be incomplete as in C, where each inner list begins a row of its own. ptxas writes the values of all
# inner lists one after the other instead, and the zeros at the end: `.u16 u[3][2] = {{1}, {2, 3}, {4}}` has the rows 1 2, 3 4, 0 0 in place of 1 0, 2 3, 4 0.
# A list whose last row alone is incomplete is the same either way. clang and nvcc write complete rows, so this concerns PTX written by hand.
# Seen with: ptxas 13.4.92, sm_90a, on 2026-11-29.
# Exit status 0: as described; 1: it has changed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --root-user-action=ignore --no-deps --target "$work/site" nvidia-cuda-nvcc==13.4.92
cat >"$work/rows.ptx" <<'K'
.version 9.0
.target sm_90a
.address_size 64
.visible .global .align 2 .u16 u[3][2] = {{1}, {2, 3}, {4}};
.visible .entry k() { ret; }
K
ptxas=$(find "$work/site" -name ptxas -type f | head -n 1)
chmod +x "$ptxas"
"$ptxas" -arch=sm_90a "$work/rows.ptx" -o "$work/rows.cubin"
seen=$(python3 - "$work/rows.cubin" <<'P'
import struct, sys
data = open(sys.argv[1], "rb").read()
sections, size, count, names = *struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HHH", data, 58)
headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + size * i) for i in range(count)]
text = headers[names][4]
for h in headers:
    if data[text + h[0]:].split(b"\0", 1)[0] == b".nv.global.init":
        print(*struct.unpack_from("<6H", data, h[4]))
P
)
echo "u[3][2]: $seen"
[ "$seen" = "1 2 3 4 0 0" ] || { echo "changed, it was: 1 2 3 4 0 0"; exit 1; }
