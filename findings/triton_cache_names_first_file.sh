#!/bin/sh
# Behaviour: Triton's compile cache keys a kernel by its text, its starting line and its arguments, not by its file. The same kernel at the same line of a second file (a copied checkout, a
# template that several projects fill) is a hit, and its PTX and cubin keep the line table of the first file: a profiler's source view of b.py shows a.py, also after a.py has changed or
# gone. One line more above the kernel in b.py is a miss, and then b.py is named.
# Seen with: Triton 3.6.0 and 3.9.0, sm_90, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/a.py" <<'P'
import triton
import triton.language as tl


@triton.jit
def scale(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) * 2)
P
cp "$folder/a.py" "$folder/b.py"
{ echo '# a line more'; cat "$folder/a.py"; } >"$folder/c.py"
cat >"$folder/show.py" <<'P'
import importlib
import os
import re
import sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

kernel = importlib.import_module(sys.argv[1]).scale
source = ASTSource(fn=kernel, signature={"x": "*fp32", "y": "*fp32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 128})
ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
files = sorted({os.path.basename(f) for f in re.findall(r'\.file\s+\d+ "([^"]*)"', ptx)})
print(triton.__version__, os.environ["WHERE"], sys.argv[1] + ".py", "has lines of", *files)
P
for version in 3.6.0 3.9.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install -q triton==$version
    show() { WHERE=$1 TRITON_CACHE_DIR="$folder/cache-$version-$1" "$folder/$version/bin/python" "$folder/show.py" "$2" 2>/dev/null | tee -a "$folder/said"; }
    show shared a
    show shared b
    show shared c
    show alone b
done
for version in 3.6.0 3.9.0; do
    grep -qx "$version shared a.py has lines of a.py" "$folder/said"
    grep -qx "$version shared b.py has lines of a.py" "$folder/said"
    grep -qx "$version shared c.py has lines of c.py" "$folder/said"
    grep -qx "$version alone b.py has lines of b.py" "$folder/said"
done
