#!/bin/sh
# Behaviour: cuda.core's Program compiles CUDA C++ to a cubin on a machine without the driver, as NVRTC does, but not to PTX: after NVRTC has made the PTX,
# compile("ptx") asks the driver for its version, only to warn if that is older than NVRTC, and dies with DynamicLibNotFoundError. With
# link_time_optimization left out, compile("ltoir") returns an object of 0 bytes and reports nothing. So a build machine can make cubins, has no PTX, and
# ships empty LTO-IR.
# Seen with: cuda-core 1.2.2, cuda-bindings 13.5.0, nvidia-cuda-nvrtc 13.2.86, no driver, on 2026-11-30. Exit status 0: as described; 1: it has
# changed; 2: this machine has a driver.
set -eu
if ldconfig -p | grep -q libcuda.so; then
    echo 'this machine has a driver' >&2
    exit 2
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q cuda-core==1.2.2 cuda-bindings==13.5.0 nvidia-cuda-nvrtc==13.2.86
cat >"$folder/kinds.py" <<'P'
from cuda.core import Program, ProgramOptions

SOURCE = "template<class T> __global__ void scale(T *x, T a) { x[threadIdx.x] *= a; }"


def made(kind, **options):
    try:
        code = Program(SOURCE, "c++", ProgramOptions(arch="sm_90", **options)).compile(kind, name_expressions=("scale<float>",)).code
        return "empty" if not len(code) else "code"
    except Exception as error:
        return type(error).__name__


said = {"cubin": made("cubin"), "ptx": made("ptx"), "ltoir": made("ltoir"), "ltoir, link_time_optimization": made("ltoir", link_time_optimization=True)}
for kind, what in said.items():
    print(f"{kind}: {what}")
raise SystemExit(0 if list(said.values()) == ["code", "DynamicLibNotFoundError", "empty", "code"] else 1)
P
"$folder/venv/bin/python" "$folder/kinds.py"
